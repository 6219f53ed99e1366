"""The choice of the unit that rows are counted by, and of their weight, in place of what the domain declares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

from dpnb_columnar.domain.declaration import document_of, read_declaration, weight_document
from dpnb_columnar.domain.declared_domain import MOST_UNIT_COLUMNS, Domain, Unit, UnlabelledDomain
from dpnb_columnar.errors import UsageError, excerpt

DomainT = TypeVar("DomainT", bound=Domain | UnlabelledDomain)

DEFAULT_ROWS = 1
"""Rows of a unit that count, unless more are wanted: one has the most accurate models per unit."""


def unit_columns(text: str) -> tuple[str, ...]:
    """Read the columns that together name a unit, set apart by commas.

    Raises:
        UsageError: if there is none, or too many, or one is named twice.
    """
    columns = tuple(name.strip() for name in text.split(","))
    if not all(columns) or len(columns) > MOST_UNIT_COLUMNS or len({*columns}) < len(columns):
        raise UsageError(
            f"unit {excerpt(text)}: name 1 to {MOST_UNIT_COLUMNS} columns, each once, such as SERIAL or YEAR,SERIAL"
        )
    return columns


def with_unit(domain: DomainT, unit: str | Sequence[str] | None, rows: int | None) -> DomainT:
    """Return a domain that is counted by the unit chosen; as it is declared where none is.

    Args:
        domain: The domain, with a label or without.
        unit: Columns of the unit, set apart by commas or in a sequence. None for those that the domain declares, and
            those of its available unit where ``rows`` alone is given.
        rows: The most rows of a unit that count; None for as many as the domain declares, else 1.

    Raises:
        UsageError: if rows are given, and neither a unit is, nor does the domain know of one.
        DomainError: if a column is an attribute or the label's, or the rows are out of range.
    """
    if unit is None and rows is None:
        return domain
    if unit is not None:
        columns = unit_columns(unit) if isinstance(unit, str) else tuple(unit)
    elif domain.unit is not None:
        columns = domain.unit.columns
    elif domain.available_unit:
        columns = domain.available_unit
    else:
        raise UsageError(f"unit rows {excerpt(rows)}: rows of which unit? Name its column as the unit, such as SERIAL")
    declared = domain.unit is not None and domain.unit.columns == columns
    most = rows if rows is not None else domain.unit.rows if declared and domain.unit is not None else DEFAULT_ROWS
    chosen = replace(domain, unit=Unit(columns, most))
    read_declaration(domain.name, document_of(chosen), "the unit chosen")  # refuses what cannot be
    return chosen


def without_unit(domain: DomainT) -> DomainT:
    """Return a domain that is counted row by row; the columns of its unit stay those of an available one.

    Args:
        domain: The domain, with a label or without.
    """
    if domain.unit is None:
        return domain
    return replace(domain, unit=None, available_unit=domain.available_unit or domain.unit.columns)


# The weight that class counts are sums of as well.

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
