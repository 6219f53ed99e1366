"""The choice of the weight that class counts are sums of as well: in place of the one that the domain declares."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from dpnb_columnar.domain.declaration import document_of, read_declaration, weight_document
from dpnb_columnar.domain.units import DomainT
from dpnb_columnar.errors import UsageError, excerpt

Number = str | int | float | Decimal | Fraction
"""A number as typed; a float stands for its shortest text."""


def with_weight(domain: DomainT, weight: str | None, cap: Number | None, step: Number | None) -> DomainT:
    """Return a domain whose rows have the weight chosen; as it is declared where none is.

    Args:
        domain: The domain, with a label or without.
        weight: Column of the weight; None for the one that the domain declares, or that of its available weight.
        cap: The most that one row weighs; None for as much as the domain declares of the column.
        step: Width of a step; None for the one that the domain declares of the column, else 1.

    Raises:
        UsageError: if a cap or a step is given, and neither a weight is, nor does the domain declare one; or if no cap
            is known.
        DomainError: if the column is an attribute, the label's or the unit's, or cap and step do not go together.
    """
    if weight is None and cap is None and step is None:
        return domain
    known = [each for each in (domain.weight, domain.available_weight) if each is not None]
    declared = next((each for each in known if weight in (None, each.column)), None)
    if weight is None and declared is None:
        option, typed = ("weight-cap", cap) if cap is not None else ("weight-step", step)
        raise UsageError(f"--{option} {excerpt(typed)}: of which weight? Name its column with --weight, such as PERWT")
    chosen = {"column": weight} if declared is None else weight_document(declared)
    given = {key: _typed(number) for key, number in (("cap", cap), ("step", step)) if number is not None}
    document = {**document_of(domain), "weight": {**chosen, **given}}
    if "cap" not in document["weight"]:
        raise UsageError(
            f"--weight {excerpt(weight)}: how much may one row weigh at most? Give --weight-cap, such as 400, from the "
            "publisher's documentation and not from the rows"
        )
    return replace(domain, weight=read_declaration(domain.name, document, "the weight chosen").weight)


def without_weight(domain: DomainT) -> DomainT:
    """Return a domain whose rows have no weight; the one that it declares stays available.

    Args:
        domain: The domain, with a label or without.
    """
    return replace(domain, weight=None, available_weight=domain.available_weight or domain.weight)


def _typed(number: Number) -> str | int:
    return number if isinstance(number, int | str) else str(number)
