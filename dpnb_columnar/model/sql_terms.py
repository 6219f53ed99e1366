"""What one attribute says about a row, as trees: the algebra of ``dpnb_columnar/model/terms.py``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

from sqlglot import exp

from dpnb_columnar.dialects.nodes import at_least, below, case, double, integer, lookup, minus, over, plus, times
from dpnb_columnar.dialects.rules import grid_code
from dpnb_columnar.domain import Attribute, Numeric, Transform
from dpnb_columnar.model.likelihood import log_normalisation
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, Normal
from dpnb_columnar.model.terms import thresholds

NEGLIGIBLE = 1e-60
"""Of the scale's width: a number so close to zero counts as zero. Its square would be too small for a float, where
PostgreSQL fails; what it says about a row is the same to all digits."""


def placed(attribute: Numeric, parameters: Normal | Histogram, value: exp.Expr) -> exp.Expr:
    """The value on the attribute's scale, or its grid code; null where the value is.

    Args:
        attribute: A numeric attribute.
        parameters: Its parameters.
        value: The column as ``values.number`` reads it.
    """
    if isinstance(parameters, Histogram):
        return grid_code(attribute, value)
    lower, upper = double(float(attribute.lower)), double(float(attribute.upper))
    small = below(exp.Abs(this=value.copy()), double(_negligible(attribute)))
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


def terms(attribute: Attribute, parameters: AttributeParameters, value: exp.Expr) -> Iterator[exp.Expr]:
    """Per class, the logarithm of the value's likelihood, up to a number common to all classes; null where it is."""
    if isinstance(parameters, Normal):
        assert isinstance(attribute, Numeric)
        yield from _normal_terms(attribute, parameters, value)
    elif isinstance(parameters, Histogram):
        assert isinstance(attribute, Numeric)
        widths = [high - low for low, high in pairwise(parameters.edges)]
        starts = thresholds(attribute, parameters.edges)
        for row in parameters.probability:
            yield _bin_term(starts, _logarithms(row, widths), value)
    else:
        for row in parameters.probability:
            cells = enumerate(_logarithms(row, [1] * len(row)))
            yield lookup(value.copy(), [(integer(code), double(term)) for code, term in cells])


def _logarithms(probabilities: Sequence[float], widths: Sequence[int]) -> list[float]:
    return [math.log(cell) - math.log(width) for cell, width in zip(probabilities, widths, strict=True)]


def _bin_term(starts: Sequence[int], logarithms: Sequence[float], value: exp.Expr) -> exp.Expr:
    """The term of a bin, found from the right: a bin that no code can reach comes to nothing."""
    firsts = [0, *starts]
    branches = [
        (at_least(value.copy(), integer(first)), double(term)) for first, term in zip(firsts, logarithms, strict=True)
    ]
    return case(reversed(branches))


def _normal_terms(attribute: Numeric, parameters: Normal, value: exp.Expr) -> Iterator[exp.Expr]:
    """Log-likelihoods relative to the class of the widest distribution; see ``model.terms``."""
    scale = attribute.scale
    classes = list(zip(parameters.mean, parameters.deviation, strict=True))
    widest_mean, widest = max(classes, key=lambda each: each[1])
    constant = log_normalisation(widest_mean, widest, scale.origin, scale.end)
    distance = _distance(attribute, value, widest_mean, widest)
    for mean, deviation in classes:
        if deviation == widest:
            apart = Fraction(_place(attribute, mean)) - Fraction(_place(attribute, widest_mean))
            shift = float(apart / Fraction(deviation))
            gained = times(double(shift), minus(distance.copy(), double(shift / 2)))
        else:
            own = _distance(attribute, value, mean, deviation)
            gained = times(double(0.5), minus(_squared(distance), _squared(own)))
        yield plus(gained, double(log_normalisation(mean, deviation, scale.origin, scale.end) - constant))


def _distance(attribute: Numeric, value: exp.Expr, mean: float, deviation: float) -> exp.Expr:
    return over(minus(value.copy(), double(_place(attribute, mean))), double(deviation))


def _squared(value: exp.Expr) -> exp.Expr:
    return times(value.copy(), value.copy())


def _place(attribute: Numeric, mean: float) -> float:
    """The mean, by the rule that holds for values."""
    return 0.0 if abs(mean) < _negligible(attribute) else mean


def _negligible(attribute: Numeric) -> float:
    return NEGLIGIBLE * (attribute.scale.end - attribute.scale.origin)
