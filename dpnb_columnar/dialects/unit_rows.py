"""The choice among the rows of a unit as SQL: steps of a query, by the order that ``rows.unit_order`` defines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from sqlglot import exp

from dpnb_columnar.dialects.nodes import (
    below,
    case,
    identifier,
    integer,
    is_null,
    modulo,
    named,
    own_column,
    plus,
    source_column,
    times,
)
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.condition import in_halves
from dpnb_columnar.rows.unit_order import CLASS, ORDER, PRIME, WEIGHT, is_wide, multiplier, unit_names

RANK = "rank"

Query = TypeVar("Query", bound=exp.Query)

Steps = list[tuple[str, exp.Select]]
"""Names and queries, each over the one before."""


def add_step(steps: Steps, name: str, columns: Iterable[exp.Expr]) -> None:
    """Add a step that computes columns, and has no others, from those of the last step."""
    steps.append((name, exp.select(*columns, copy=False).from_(last_step(steps), copy=False)))


def last_step(steps: Steps) -> exp.Table:
    """Name the last step as the table of another query."""
    return exp.Table(this=identifier(steps[-1][0]))


def with_steps(query: Query, steps: Steps) -> Query:
    """Put the steps before a query that names them."""
    for name, step in steps:
        query = query.with_(identifier(name), as_=step, copy=False)
    return query


def unit_values(domain: Domain) -> list[exp.Expr]:
    """Select the columns of the rows' table that together tell the unit of a row; none for a domain without."""
    columns = [] if domain.unit is None else domain.unit.columns
    return [named(source_column(name), unit) for name, unit in zip(columns, unit_names(domain), strict=True)]


def choose_rows(steps: Steps, domain: Domain) -> None:
    """Add steps that leave of each unit the rows that count, where the domain declares a unit.

    Args:
        steps: Steps whose last has the columns ``class``, null where a row does not count, ``unit_names``, and
            ``code_0``, ``code_1``, ... for the attributes, and ``weight`` where the domain declares one. The last that
            is added has the class, the codes and the weight.
        domain: The domain.
    """
    if domain.unit is None:
        return
    units, codes = unit_names(domain), [f"code_{place}" for place in range(len(domain.attributes))]
    weights = [] if domain.weight is None else [WEIGHT]
    is_united = exp.and_(*(exp.not_(is_null(own_column(name))) for name in units), copy=False)
    terms: list[exp.Expr] = [times(_number(CLASS), integer(multiplier(0)))]
    for place, (attribute, code) in enumerate(zip(domain.attributes, codes, strict=True), 1):
        number = exp.Coalesce(this=plus(_number(code), integer(1)), expressions=[integer(0)])
        term = times(number, integer(multiplier(place)))
        terms.append(modulo(term, PRIME) if is_wide(attribute, domain) else term)
    terms += [times(plus(_number(name), integer(1)), integer(multiplier(len(codes) + 1))) for name in weights]
    power: exp.Expr = own_column(ORDER)
    for _ in range(4):
        power = modulo(times(power, own_column(ORDER)), PRIME)
    # A row that does not count comes after all that do, whatever its unit.
    last = case([(is_null(own_column(CLASS)), integer(1))], integer(0))
    keys = [last, own_column(ORDER), own_column(CLASS), *map(_missing_first, codes), *map(own_column, weights)]
    rank = exp.Window(
        this=exp.RowNumber(),
        partition_by=list(map(own_column, units)),
        order=exp.Order(expressions=[exp.Ordered(this=key) for key in keys]),
    )
    x = named(modulo(in_halves(terms, plus), PRIME), ORDER)
    counted = [*codes, *weights]
    add_step(steps, "united", [named(case([(is_united, own_column(CLASS))]), CLASS), *_columns(*units, *counted)])
    add_step(steps, "summed", [*_columns(CLASS, *units, *counted), x])
    add_step(steps, "ordered", [*_columns(CLASS, *units, *counted), named(power, ORDER)])
    add_step(steps, "ranked", [*_columns(CLASS, *counted), named(rank, RANK)])
    add_step(steps, "chosen", _columns(CLASS, *counted))
    is_first = below(own_column(RANK), integer(domain.unit.rows + 1))
    steps[-1][1].where(exp.not_(is_null(own_column(CLASS))), is_first, copy=False)


def _columns(*names: str) -> list[exp.Expr]:
    return [own_column(name) for name in names]


def _number(name: str) -> exp.Expr:
    return exp.cast(own_column(name), exp.DType.BIGINT)


def _missing_first(name: str) -> exp.Expr:
    """Write a code, or -1 for null, which databases sort differently."""
    return exp.Coalesce(this=own_column(name), expressions=[integer(-1)])
