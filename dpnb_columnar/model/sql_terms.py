"""The terms of a row's score as SQL, in steps: a column of each step is computed from the step before.

``polars_terms`` has the same for Polars. The queries are put together in ``scoring_query`` and ``joined_query``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

from sqlglot import exp

from dpnb_columnar.dialects.nodes import (
    Number,
    at_least,
    below,
    case,
    double,
    integer,
    lookup,
    named,
    own_column,
    plus,
)
from dpnb_columnar.dialects.rules import grid_code
from dpnb_columnar.domain import Attribute, Numeric, Transform
from dpnb_columnar.model.likelihood import bin_starts, cell_terms, negligible, normal_terms
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, NaiveBayes, Normal, Table

STEP_PREFIX = "__dpnb_"
"""How the names of the steps' columns begin: where all columns of a table are returned, none may begin so."""


def numbered(name: str, values: Iterable[exp.Expr]) -> list[exp.Alias]:
    """Name the columns of a step by their places."""
    return [named(value, f"{STEP_PREFIX}{name}_{place}") for place, value in enumerate(values)]


def step_column(name: str) -> exp.Column:
    """Name a column of an earlier step."""
    return own_column(f"{STEP_PREFIX}{name}")


def added(summands: Sequence[exp.Expr]) -> exp.Expr:
    """Add from the left, as SQL's plus does without parentheses."""
    return reduce(lambda left, right: exp.Add(this=left, expression=right), summands)


def placed(model: NaiveBayes) -> Iterator[exp.Expr]:
    """Prepare the value of every attribute, as ``prepared_value`` does; a category's is prepared when it is read."""
    for place, parameters in enumerate(model.attributes):
        attribute, value = model.domain[parameters.attribute], step_column(f"read_{place}")
        if isinstance(attribute, Numeric) and not isinstance(parameters, Table):
            yield prepared_value(attribute, parameters, value)
        else:
            yield value


def prepared_value(attribute: Numeric, parameters: Normal | Histogram, value: exp.Expr) -> exp.Expr:
    """Put a number on the attribute's scale, or find its grid code; null where it is null.

    Args:
        attribute: A numeric attribute.
        parameters: Its parameters.
        value: The column as ``rules.number`` reads it.
    """
    if isinstance(parameters, Histogram):
        return grid_code(attribute, value)
    lower, upper = double(float(attribute.lower)), double(float(attribute.upper))
    small = below(exp.Abs(this=value.copy()), double(negligible(attribute)))
    logarithm = attribute.transform is Transform.LOG1P
    inside = exp.Ln(this=plus(double(1), value.copy())) if logarithm else value
    scale = attribute.scale
    ends = (double(scale.origin), double(scale.end)) if logarithm else (lower, upper)
    return case(
        [
            (exp.LTE(this=value.copy(), expression=lower), ends[0].copy()),
            (at_least(value.copy(), upper), ends[1].copy()),
            (small, double(0)),
        ],
        inside,
    )


def terms(
    attribute: Attribute, parameters: AttributeParameters, value: exp.Expr, weight: float = 1.0
) -> list[exp.Expr]:
    """Compute the prepared value's weighted log-likelihood within each class; null where the value is null.

    It is meant up to a number common to all classes.
    """
    if isinstance(parameters, Normal):
        assert isinstance(attribute, Numeric)
        return [term.node for term in normal_terms(attribute, parameters, Number(value), weight)]
    if isinstance(parameters, Histogram):
        assert isinstance(attribute, Numeric)
        starts = [0, *bin_starts(attribute, parameters.edges)]
        return [_bin_term(starts, row, value) for row in cell_terms(parameters, weight)]
    return [
        lookup(value.copy(), [(integer(code), double(term)) for code, term in enumerate(row)])
        for row in cell_terms(parameters, weight)
    ]


def _bin_term(starts: Sequence[int], row: Sequence[float], value: exp.Expr) -> exp.Expr:
    """Look up the term of a grid code's bin from the right, so that a bin that no code can reach is never chosen."""
    branches = [(at_least(value.copy(), integer(start)), double(term)) for start, term in zip(starts, row, strict=True)]
    return case(reversed(branches))
