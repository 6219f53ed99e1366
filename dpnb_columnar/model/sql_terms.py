"""The terms of an attribute as SQL expressions, for values that an earlier step of the query has read."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpnb_columnar.dialects.nodes import Number, at_least, below, case, double, integer, lookup, plus
from dpnb_columnar.dialects.rules import grid_code
from dpnb_columnar.domain import Attribute, Numeric, Transform
from dpnb_columnar.model.likelihood import bin_starts, cell_terms, negligible, normal_terms
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, Normal


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


def terms(attribute: Attribute, parameters: AttributeParameters, value: exp.Expr) -> list[exp.Expr]:
    """Compute the prepared value's log-likelihood within each class, up to a number common to all; null where it is."""
    if isinstance(parameters, Normal):
        assert isinstance(attribute, Numeric)
        return [term.node for term in normal_terms(attribute, parameters, Number(value))]
    if isinstance(parameters, Histogram):
        assert isinstance(attribute, Numeric)
        starts = [0, *bin_starts(attribute, parameters.edges)]
        return [_bin_term(starts, row, value) for row in cell_terms(parameters)]
    return [
        lookup(value.copy(), [(integer(code), double(term)) for code, term in enumerate(row)])
        for row in cell_terms(parameters)
    ]


def _bin_term(starts: Sequence[int], row: Sequence[float], value: exp.Expr) -> exp.Expr:
    """Look up the term of a grid code's bin from the right, so that a bin that no code can reach is never chosen."""
    branches = [(at_least(value.copy(), integer(start)), double(term)) for start, term in zip(starts, row, strict=True)]
    return case(reversed(branches))
