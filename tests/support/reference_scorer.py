"""Scores by the definition, one row at a time, in fifty digits: independent of Polars and of the program's formulas."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath

from dpnb_columnar.domain import Attribute, Categorical, Missing, Numeric
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.parameters import AttributeParameters, CalibrationLine, Histogram, Normal, Table
from support.model_cases import is_log

DIGITS = 50
ROUNDING = 2.0**-53


@dataclass(frozen=True)
class Reference:
    """What a row should be scored as.

    Attributes:
        probabilities: Per class.
        skipped: Attributes left out.
        tolerance: How far 64-bit floats may be off: 1e-12, and beyond that the rounding of squared distances that
            are not told apart by algebra, as far as the classes concerned can be taken for each other at all.
    """

    probabilities: tuple[float, ...]
    skipped: int
    tolerance: float


def reference(model: Model, row: Mapping[str, Any]) -> Reference:
    """Prior times exp(intercept) times likelihoods to the power of their weights, normalised."""
    intercepts = [0.0] * len(model.domain.classes)
    weights = [1.0] * len(model.attributes)
    if model.attribute_weights is not None:
        intercepts, weights = list(model.attribute_weights.intercepts), list(model.attribute_weights.weights)
    with mpmath.workdps(DIGITS):
        joint = [
            mpmath.log(mpmath.mpf(prior)) + mpmath.mpf(intercept)
            for prior, intercept in zip((model.weighted_classes or model.classes).probability, intercepts, strict=True)
        ]
        rounding = [0.0] * len(joint)
        skipped = 0
        for parameters, weight in zip(model.attributes, weights, strict=True):
            attribute = model.domain[parameters.attribute]
            value = _value(attribute, row[parameters.attribute])
            found = log_likelihoods(attribute, parameters, value, weight, len(joint))
            if found is None:
                skipped += 1
                continue
            joint = [left + mpmath.mpf(weight) * right for left, right in zip(joint, found, strict=True)]
            errors = _rounding(attribute, parameters, value, weight)
            rounding = [left + abs(weight) * right for left, right in zip(rounding, errors, strict=True)]
        if model.attribute_weights is not None and model.attribute_weights.line is not None:
            return Reference(*_by_line(model, model.attribute_weights.line, joint, rounding, skipped))
        largest = max(joint)
        likelihoods = [mpmath.exp(value - largest) for value in joint]
        total = mpmath.fsum(likelihoods)
        exact = [likelihood / total for likelihood in likelihoods]
        # d p = p (d log - sum of p d log): only classes that share the probability can trade it.
        traded = sum(
            float(one * other) * (rounding[first] + rounding[second])
            for first, one in enumerate(exact)
            for second, other in enumerate(exact[:first])
        )
        return Reference(tuple(map(float, exact)), skipped, 1e-12 + traded)


def log_likelihoods(
    attribute: Attribute, parameters: AttributeParameters, value: Any, weight: float, classes: int
) -> list[Any] | None:
    """Per class, what the weight multiplies; None where the attribute is left out."""
    if value is None and attribute.missing is not Missing.CATEGORY:
        return None
    found = [_log_likelihood(attribute, parameters, value, klass) for klass in range(classes)]
    if isinstance(parameters, Normal) and parameters.bound is not None and value is not None:
        extreme = (max if weight >= 0 else min)(parameters.deviation)
        centre = found[parameters.deviation.index(extreme)]
        found = [min(max(each - centre, -parameters.bound), parameters.bound) for each in found]
    return found


def reference_bits(model: Model, row: Mapping[str, Any], one: int, other: int) -> list[tuple[float, float]]:
    """Per attribute, what it says for one class over the other, in bits, and how far floats may be off."""
    bits = []
    with mpmath.workdps(DIGITS):
        for parameters, weight in zip(model.attributes, model.weights, strict=True):
            attribute = model.domain[parameters.attribute]
            value = _value(attribute, row[parameters.attribute])
            found = log_likelihoods(attribute, parameters, value, weight, len(model.domain.classes))
            if found is None:
                bits.append((0.0, 0.0))
                continue
            said = mpmath.mpf(weight) * (found[one] - found[other]) / mpmath.log(2)
            error = sum(_rounding(attribute, parameters, value, weight)) * abs(weight) / float(mpmath.log(2))
            size = abs(weight) * float(abs(found[one]) + abs(found[other]))
            bits.append((float(said), 1e-12 * (1 + size) + 2 * error))
    return bits


def _by_line(
    model: Model, line: CalibrationLine, joint: Sequence[Any], rounding: Sequence[float], skipped: int
) -> tuple[tuple[float, ...], int, float]:
    """The same under a line, as ``CalibrationLine`` describes it."""
    others = [klass for klass in range(len(joint)) if klass != line.largest]
    best = max(others, key=lambda klass: joint[klass])  # the first of equal ones
    margin = joint[best] - joint[line.largest]
    moved, priors = mpmath.mpf(0), model.classes.probability
    if model.weighted_classes is not None:
        priors = model.weighted_classes.probability
        moved = _log_odds_against(priors, line.largest) - _log_odds_against(model.classes.probability, line.largest)
        moved = min(max(moved, -50), 50)
    weights = [mpmath.mpf(1)] * len(joint)
    weights[best] = mpmath.exp(_through(line.margins, line.log_odds, margin) + moved)
    log_prior = [mpmath.log(mpmath.mpf(prior)) for prior in priors]
    likely = [line.evidence * joint[klass] + (1 - line.evidence) * log_prior[klass] for klass in range(len(joint))]
    top = max(likely[klass] for klass in others)
    shares = {klass: mpmath.exp(max(likely[klass] - top, -300)) for klass in others if klass != best}
    for klass, share in shares.items():
        rest = mpmath.exp(_through(line.margins, line.others, margin) + moved)
        weights[klass] = min(weights[best] * (1 - mpmath.mpf(2) ** -20), rest * share / mpmath.fsum(shares.values()))
    slopes = [
        abs(after - before) / (end - start)
        for values in (line.log_odds, line.others)
        for (start, end), (before, after) in zip(pairwise(line.margins), pairwise(values), strict=False)
    ]
    error = (max(slopes) + len(others)) * (sum(rounding) + 1e-14 * float(1 + max(map(abs, joint))))
    second = max([joint[klass] for klass in shares], default=-mpmath.inf)
    # Of two best classes rounding may choose either.
    tolerance = (
        1.0 if joint[best] - second <= 2 * sum(rounding) + 1e-11 * float(1 + abs(joint[best])) else 1e-12 + error
    )
    total = mpmath.fsum(weights)
    return tuple(float(weight / total) for weight in weights), skipped, tolerance


def _log_odds_against(priors: Sequence[float], klass: int) -> Any:
    return mpmath.log(mpmath.fsum(p for place, p in enumerate(priors) if place != klass)) - mpmath.log(priors[klass])


def _through(margins: Sequence[float], values: Sequence[float], margin: Any) -> Any:
    """A function that goes through values at margins: linear between them, flat outside."""
    if margin >= margins[-1]:
        return mpmath.mpf(values[-1])
    for start, end, before, after in zip(margins, margins[1:], values, values[1:], strict=False):
        if margin < end:
            part = (max(margin, mpmath.mpf(start)) - start) / (mpmath.mpf(end) - start)
            return before + part * (mpmath.mpf(after) - before)
    raise AssertionError("margins rise")


def _value(attribute: Attribute, value: Any) -> Any:
    """The value on the attribute's scale (an exact number), the category's code, or None."""
    if isinstance(attribute, Categorical):
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool):
            value = "true" if value else "false"
        if str(value) in attribute.values:
            return attribute.values.index(str(value))
        return len(attribute.values) if attribute.missing is Missing.CATEGORY else None
    if value is None or math.isnan(value):
        return None
    number = float(value) if isinstance(value, Decimal | bool | int) else value
    if number in [float(missing) for missing in attribute.missing_values]:
        return None
    clamped = min(max(number, float(attribute.lower)), float(attribute.upper))
    return clamped


def _log_likelihood(attribute: Attribute, parameters: AttributeParameters, value: Any, klass: int) -> Any:
    if isinstance(parameters, Table):
        return mpmath.log(mpmath.mpf(parameters.probability[klass][value]))
    assert isinstance(attribute, Numeric)
    if attribute.missing is not Missing.CATEGORY:
        return _log_density(attribute, parameters, value, klass)
    assert parameters.presence is not None
    present, missing = map(mpmath.mpf, parameters.presence.probability[klass])
    if value is None:
        return mpmath.log(missing)
    return mpmath.log(present) + _log_density(attribute, parameters, value, klass)


def _log_density(attribute: Numeric, parameters: Normal | Histogram, value: Any, klass: int) -> Any:
    if isinstance(parameters, Histogram):
        position = bin_of(attribute, parameters.edges, value)
        width = parameters.edges[position + 1] - parameters.edges[position]
        return mpmath.log(mpmath.mpf(parameters.probability[klass][position]) / width)
    scale = attribute.scale
    mean, deviation = mpmath.mpf(parameters.mean[klass]), mpmath.mpf(parameters.deviation[klass])
    place = mpmath.log1p(mpmath.mpf(value)) if is_log(attribute) else mpmath.mpf(value)
    return log_density(place, mean, deviation, mpmath.mpf(scale.origin), mpmath.mpf(scale.end))


def log_density(value: Any, mean: Any, deviation: Any, lower: Any, upper: Any) -> Any:
    inside = mpmath.ncdf((upper - mean) / deviation) - mpmath.ncdf((lower - mean) / deviation)
    distance = (value - mean) / deviation
    return -distance * distance / 2 - mpmath.log(deviation * mpmath.sqrt(2 * mpmath.pi) * inside)


def bin_of(attribute: Numeric, edges: Sequence[int], value: float) -> int:
    """The bin of a value: its grid code, on to the scale's code, found among the edges."""
    code = math.floor((value - float(attribute.lower)) / float(attribute.step) + 0.5)
    code = min(max(code, 0), attribute.cells)
    if is_log(attribute):
        place = math.log1p(float(attribute.lower) + code * float(attribute.step))
        code = min(max(math.floor((place - attribute.scale.origin) / attribute.scale.step + 0.5), 0), edges[-1] - 1)
    return max(position for position, edge in enumerate(edges[:-1]) if edge <= code)


def _rounding(attribute: Attribute, parameters: AttributeParameters, value: Any, weight: float) -> list[float]:
    """Per class, a bound on the rounding error of its term, in units of the weight."""
    if isinstance(parameters, Table) or parameters.presence is None:
        return _value_rounding(attribute, parameters, value, weight)
    presence = [4 * ROUNDING * abs(math.log(min(row))) for row in parameters.presence.probability]
    if value is None:
        return presence
    errors = _value_rounding(attribute, parameters, value, weight)
    return [one + other for one, other in zip(presence, errors, strict=True)]


def _value_rounding(attribute: Attribute, parameters: AttributeParameters, value: Any, weight: float) -> list[float]:
    """The same for the part of a value that is present."""
    if not isinstance(parameters, Normal):
        probabilities = parameters.probability
        cells = [row[value] if isinstance(parameters, Table) else min(row) for row in probabilities]
        return [4 * ROUNDING * abs(math.log(cell)) for cell in cells]
    place = math.log1p(value) if is_log(attribute) else value
    # All classes are compared with the widest one; under a negative weight, with the narrowest.
    extreme = max if weight >= 0 else min
    widest_mean, widest = extreme(zip(parameters.mean, parameters.deviation, strict=True), key=lambda pair: pair[1])
    far = abs(place - widest_mean) / widest
    # A logarithm is one rounding off, and a difference too.
    blur = 2 * ROUNDING * (abs(place) if is_log(attribute) else 0.0)
    errors = []
    for mean, deviation in zip(parameters.mean, parameters.deviation, strict=True):
        own = abs(place - mean) / deviation
        shift = float(abs(Fraction(mean) - Fraction(widest_mean)) / Fraction(deviation))
        squares = shift * (far + shift) if deviation == widest else far * far + own * own
        slope = shift / deviation if deviation == widest else far / widest + own / deviation
        errors.append(8 * ROUNDING * (1 + squares) + blur * slope)
    return errors
