"""A guarantee from the document of what was released: its shares must add up to what it states."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from fractions import Fraction

from dpnb_columnar.budget import Approximate, Concentrated, Neighbours, PrivacyCost, Pure, RowEffect, Share, total
from dpnb_columnar.budget.composition import recorded_effect
from dpnb_columnar.budget.costs import implies, numbers, within
from dpnb_columnar.domain import Unit
from dpnb_columnar.domain.names import LONGEST_NAME, is_printable
from dpnb_columnar.errors import excerpt
from dpnb_columnar.model.document_part import Part
from dpnb_columnar.model.guarantee import Guarantee, corrected

LARGEST_DENOMINATOR = 10**1000
"""Of sums of shares: three weights and a budget of 300 digits each make no more."""

LOSSES: tuple[type[PrivacyCost], ...] = (Concentrated, Approximate, Pure)
"""The kind of a loss is recognised by its numbers; those with more of them come first."""


def read_software(part: Part) -> dict[str, str]:
    """Read versions by the names of libraries.

    Raises:
        InvalidPartError: if a name or a version cannot be one.
    """
    return {_library(name, entry): entry.text() for name, entry in part.entries().items()}


def _library(name: str, entry: Part) -> str:
    if len(name) > LONGEST_NAME or not is_printable(name):
        raise entry.invalid("not the name of a library")
    return name


def read_guarantee(part: Part, unit: Unit | None) -> Guarantee:
    """Read a guarantee, its parts in agreement: for one row, or for the unit of the domain.

    One that an earlier program reckoned too low is returned with the loss that is true (``corrected``).

    Raises:
        InvalidPartError: if they are not.
    """
    neighbours = _neighbours(part["neighbours"])
    rows = None if neighbours is None else neighbours.rows * (1 if unit is None else unit.rows)
    guarantee = Guarantee(
        mechanism=part["mechanism"].text(),
        noise=part["noise"].text_or_none(),
        epsilon=part["epsilon"].amount_or_none(),
        delta=part["delta"].amount_or_none(),
        neighbours=neighbours,
        composition=tuple(_share(share, rows) for share in part["composition"].items()),
        seeded=part["seeded"].flag(),
        rho=part.entry("rho").amount_or_none(),
        reserved=_reserved(part.entry("reserved"), rows),
        unit=unit,
    )
    if unit is not None and guarantee.delta:
        raise part["delta"].invalid("must be 0, since the guarantee is for whole units")
    if len({guarantee.epsilon is None, guarantee.delta is None, neighbours is None}) > 1:
        raise part.invalid("epsilon, delta and neighbours are stated together, or none of them is")
    _check_total(part, guarantee)
    if part["private"].flag() is not guarantee.private:
        raise part["private"].invalid("contradicts epsilon and seeded")
    return corrected(guarantee)


def _reserved(part: Part, rows: int | None) -> tuple[Share, ...]:
    """Shares that are left: one, several in a list, or none."""
    if part.value is None:
        return ()
    return tuple(_share(share, rows) for share in (part.items() if isinstance(part.value, list) else [part]))


def _neighbours(part: Part) -> Neighbours | None:
    value = part.text_or_none()
    if value is not None and value not in list(Neighbours):
        raise part.invalid(f"{excerpt(value)} is not a neighbouring relation")
    return None if value is None else Neighbours(value)


def _share(part: Part, rows: int | None) -> Share:
    """Read a share; neighbours are so many rows apart, None where nothing is promised.

    Earlier programs took every query for one of which a row moves one draw: what they wrote is read, and corrected.
    """
    cost, row_cost = _loss(part, ""), _loss(part, "row_")
    if rows is not None and not within(row_cost, rows, cost, RowEffect.ONE_DRAW):
        raise part[f"row_{next(iter(numbers(row_cost)))}"].invalid("costs more than the share")
    return Share(
        query=(query := part["query"].text()),
        attribute=part["attribute"].text_or_none(),
        values=part["values"].count(),
        composition=part["composition"].text(),
        noise=part["noise"].text(),
        cost=cost,
        row_cost=row_cost,
        effect=recorded_effect(query),
    )


def _loss(part: Part, prefix: str) -> PrivacyCost:
    """Read the loss whose numbers stand in a share under names with this prefix."""
    names = {kind: [prefix + field.name for field in dataclasses.fields(kind)] for kind in LOSSES}
    kind = next((kind for kind in LOSSES if part.mapping().keys() >= set(names[kind])), Pure)
    amounts = [amount for name in names[kind] if (amount := part[name].amount_or_none())]
    if len(amounts) < len(names[kind]):
        raise part.invalid(f"a share has {' and '.join(names[kind])} above 0")
    return kind(*amounts)


def _check_total(part: Part, guarantee: Guarantee) -> None:
    """Check that the shares add up to what is stated, and that a concentrated total implies it.

    Raises:
        InvalidPartError: if they do not.
    """
    if guarantee.epsilon == 0:
        raise part["epsilon"].invalid("must be above 0")
    epsilon, delta = guarantee.epsilon or Fraction(0), guarantee.delta or Fraction(0)
    if delta >= 1:
        raise part["delta"].invalid("must be below 1")
    shares, composition = guarantee.composition, part["composition"]
    reserved = guarantee.reserved
    if not _have_common_denominator((*shares, *reserved)):
        raise composition.invalid("the shares have no common denominator")
    if len({isinstance(share.cost, Concentrated) for share in (*shares, *reserved)}) > 1:
        raise composition.invalid("concentrated shares do not add up with others")
    spent = total(shares)
    if (guarantee.rho is not None) is not isinstance(spent, Concentrated):
        raise part.entry("rho").invalid("is stated where the shares are concentrated, and only there")
    if isinstance(spent, Concentrated):
        if spent.rho != guarantee.rho:
            raise composition.invalid("the shares do not add up to rho")
        # What is reserved is spent under the same statement.
        at_most = total((*shares, *reserved))
        assert isinstance(at_most, Concentrated)
        if not (epsilon and delta) or not implies(at_most.rho, Approximate(epsilon, delta)):
            raise part["rho"].invalid("does not imply epsilon and delta")
    elif spent != (Approximate(epsilon, delta) if delta else Pure(epsilon)):
        raise composition.invalid("the shares do not add up to epsilon" + (" and delta" * bool(delta)))


def _have_common_denominator(shares: Sequence[Share]) -> bool:
    """Test whether some budget divides into these shares: adding thousands of unrelated long fractions takes hours."""
    sums: dict[str, Fraction] = {}
    for share in shares:
        for name, number in numbers(share.cost).items():
            sums[name] = sums.get(name, Fraction(0)) + number
            if sums[name].denominator > LARGEST_DENOMINATOR:
                return False
    return True
