"""Rank the attributes of a released model by what they tell about the class. Public: from released values alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.domain import Attribute, Numeric, Transform
from dpnb_columnar.domain.attributes import is_complete
from dpnb_columnar.domain.declared_domain import class_texts, value_with_label
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.mechanisms.log_ratios import LogRatios, model_log_ratios
from dpnb_columnar.model.intervals import LEVEL
from dpnb_columnar.model.likelihood import bin_starts, margin_above, population_line
from dpnb_columnar.model.mechanism_rules import RULES
from dpnb_columnar.core.measurement import CLASS_COUNTS, COUNTS, LAPLACE, PRESENCE, WEIGHTED_COUNTS
from dpnb_columnar.model.parameters import LARGEST_MARGIN, AttributeParameters, NaiveBayes, Normal, Table
from dpnb_columnar.model.postprocessing import NORMALS, ClassSizes, class_sizes
from dpnb_columnar.model.query_noise import Key, QueryNoise, model_noise
from dpnb_columnar.model.tuning import positive_sum, sample_size
from dpnb_columnar.report.noisy_tables import (
    LARGEST_RATIO,
    TINY,
    Bits,
    Evidence,
    NoisyTable,
    information,
    speaking_values,
)

Floats = NDArray[np.float64]

Noises = Mapping[Key, QueryNoise | None]
"""Of the queries of a model; without an entry where there is no noise, and None where it is not told."""


WITHIN_NOISE = "within the noise"
"""In place of bits: noise alone may be all that they are."""

NOISE_NOT_TOLD = "noise not told"
"""Beside bits from which nothing could be subtracted: the size of the noise follows the rows, and is confidential."""

LONG_TAILS = "noise not subtracted"
"""Beside bits of counts whose noise has no variance, or hardly any: its mean cannot be told from one release."""

NOTHING = "-"
"""In place of a value: none speaks for the class beyond the noise."""

SIMULATED = 200
"""Simulated releases of the moments of an attribute."""

PLACES = np.linspace(0, 1, 513)
"""Places on an attribute's scale at which simulated normal distributions are compared."""


@dataclass(frozen=True, slots=True)
class InformativeAttribute:
    """What an attribute tells about the class, beyond the noise of the release.

    Attributes:
        name: Attribute name.
        bits: Mutual information of the class and the attribute: how much of the class's entropy knowing the value
            takes away, on average; less what noise adds on average. As it is in the model where that is not known.
        interval: Ends between which the bits of the exact numbers are, for 95 % of all draws of the noise; the low one
            is 0 where noise alone may be all that there is. None where noise could not be subtracted.
        weight: Weight of the attribute in the score.
        telling: Per class, the value, or range of values, that speaks for it most often, and how many times as likely
            it is within this class as in all rows, at least and at most; ``NOTHING`` where all that may be noise. Of an
            attribute released as mean and deviation, the class's released mean (``mean_texts``).
        values: Per class, the place of the value that ``telling`` names, a missing one last; None where it names none.
        remark: Why noise could not be subtracted: ``NOISE_NOT_TOLD`` or ``LONG_TAILS``; empty where it was.
    """

    name: str
    bits: float
    interval: tuple[float, float] | None
    weight: float
    telling: tuple[str, ...]
    values: tuple[int | None, ...]
    remark: str = ""

    @property
    def bits_text(self) -> str:
        """The bits with their interval, or that they are within the noise, or that its size is not told."""
        if self.interval is None:
            return f"{self.bits:.3f}, {self.remark}"
        low, high = self.interval
        if low == high:
            return f"{self.bits:.3f}"
        return f"{self.bits:.3f} ({low:.3f} to {high:.3f})" if low > 0 else WITHIN_NOISE

    @property
    def moves(self) -> float:
        """How far the attribute moves the score, by bits beyond the noise times size of the weight."""
        return 0.0 if self.interval is not None and self.interval[0] <= 0 else self.bits * abs(self.weight)


def informative_attributes(model: NaiveBayes) -> list[InformativeAttribute]:
    """List the attributes of a model, those that move its score most first: by bits times size of the weight.

    What noise adds is subtracted from the bits, and values are named where they are beyond it (``noisy_tables``).
    """
    noises = model_noise(model)
    shares = {(share.query, share.attribute): share for share in model.guarantee.composition}
    sizes = (
        class_sizes(model.domain, model.classes.released, model.attributes, shares)
        if noises.get((CLASS_COUNTS, None)) is not None
        else None
    )
    tables = [_noisy_table(model, part, noises, sizes) for part in model.attributes]
    with np.errstate(all="ignore"):  # a file may hold counts and moments beyond all that rows give
        evidence = iter(speaking_values([table for table in tables if table is not None]))
        nothing = [None] * len(model.priors)
        ranked = [
            _described(model, noises, part, steps, weight, table, nothing if table is None else next(evidence))
            for part, steps, weight, table in zip(
                model.attributes, model_log_ratios(model), model.weights, tables, strict=True
            )
        ]
    return sorted(ranked, key=lambda each: -each.moves)


def beyond_noise(ranked: Sequence[InformativeAttribute]) -> str:
    """Say what the intervals of some attributes are of."""
    text = (
        "intervals: what the noise of this release allows, 95 %, of the rows that were counted; "
        f"{NOTHING!r}: no value speaks for the class beyond the noise"
    )
    remarks = {
        NOISE_NOT_TOLD: "its size follows the rows and is confidential, so that these figures may be noise",
        LONG_TAILS: "it has such long tails that nothing can be said about them, so that these figures may be noise",
    }
    found = {each.remark for each in ranked}
    return "; ".join([text, *(f"{remark}: {why}" for remark, why in remarks.items() if remark in found)])


def line_text(model: NaiveBayes) -> str:
    """Say how a model's probabilities follow from its scores; empty where they are those of the scores."""
    line = population_line(model)
    if line is None:
        return ""
    name, crossing = class_texts(model.domain)[line.largest], margin_above(line, 0.0, reached=line.largest > 0)
    rows = "every row" if crossing == LARGEST_MARGIN else f"rows of a margin up to {crossing:.2f}"
    predicted = f"it is predicted for {rows}" if crossing > -LARGEST_MARGIN else "it is predicted for no row"
    other = "the other class" if len(model.domain.classes) == 2 else "the best other class"
    return (
        f"the odds of {other} to {name} follow a line through {len(line.margins)} points from the margin, by how "
        f"much its score is the larger; {predicted}"
    )


def mutual_information(prior: Floats, probability: Floats) -> float:
    """Compute the mutual information of a class and a discrete value, in bits.

    Args:
        prior: Shape (classes,): probability of each class.
        probability: Shape (classes, values): probability of each value within each class.
    """
    joint = prior[:, None] * probability
    positive = joint > 0
    # Logarithms are subtracted: the product of two tiny probabilities would be 0.
    overall = np.broadcast_to(joint.sum(axis=0), joint.shape)[positive]
    return float((joint[positive] * (np.log2(probability[positive]) - np.log2(overall))).sum())


def _noisy_table(
    model: NaiveBayes, part: AttributeParameters, noises: Noises, sizes: ClassSizes | None
) -> NoisyTable | None:
    """Return the released counts of an attribute's values, missing ones last, with their noise.

    Of an attribute released as mean and deviation they are those of the rows with a value, and without one.

    Args:
        sizes: What all counts say of the classes' sizes; None without noise.
    """
    released = [] if isinstance(part, Normal) else [(COUNTS, np.array(part.released))]
    presence = None if isinstance(part, Table) or part.presence is None else np.array(part.presence.released)
    if presence is not None and presence.shape[1] == 2:
        released.append((PRESENCE, presence if isinstance(part, Normal) else presence[:, 1:]))
    scales = [_scale(noises, query, part.attribute) for query, _ in released]
    sums, query = model.classes, CLASS_COUNTS
    if model.weighted_classes is not None:
        sums, query = model.weighted_classes, WEIGHTED_COUNTS
    prior_scale = _scale(noises, query)
    if not released or prior_scale is None or None in scales:
        return None
    # Every row of a class is in the table of a complete attribute: all counts say how many there are.
    complete = is_complete(model.domain[part.attribute]) or released[-1][0] == PRESENCE
    return NoisyTable(
        np.hstack([counts for _, counts in released]).astype(np.float64),
        np.repeat(np.array(scales, dtype=np.float64), [counts.shape[1] for _, counts in released]),
        np.array(model.priors),
        prior_scale / max(positive_sum(sums.released), 1),
        np.array(sizes.rows) if complete and sizes is not None else None,
        sizes.deviation if complete and sizes is not None else 0.0,
    )


def _scale(noises: Noises, query: str, attribute: str | None = None) -> float | None:
    """Return the scale of the Laplace noise in counts: 0 for none, None for other noise."""
    if (query, attribute) not in noises:
        return 0.0
    noise = noises[query, attribute]
    return noise.scale() if noise is not None and noise.family == LAPLACE else None


def _described(
    model: NaiveBayes,
    noises: Noises,
    part: AttributeParameters,
    steps: LogRatios,
    weight: float,
    table: NoisyTable | None,
    evidence: Sequence[Evidence | None],
) -> InformativeAttribute:
    """Describe an attribute: what is counted of it by its table, and what is released as mean and deviation.

    The information of the latter is that of having a value and, times the part of the rows that have one, that of the
    value among these (the chain rule); the noises in the two are independent.

    Args:
        evidence: Per class, what in the table speaks for it.
    """
    attribute, labels = model.domain[part.attribute], model.domain.value_labels.get(part.attribute, {})
    prior, counted = np.array(model.priors), None if table is None else information(table)
    if isinstance(part, Normal):
        present = prior * (1 - steps.absent)
        bits, means = _normal_bits(model, noises, part, steps), mean_texts(model, part, noises)
        if bits is not None and steps.absent.any():
            bits = None if counted is None else counted.plus(bits, present.sum())
        texts = [
            f"{mean}{'' if each is None or each.value == 0 else f'; missing ({ratio_text(each)})'}"
            for mean, each in zip(means, evidence, strict=True)
        ]
        values: tuple[int | None, ...] = (None,) * len(prior)
    else:
        bits = counted
        texts = [
            NOTHING
            if each is None
            else f"{value_with_label(_value_text(attribute, steps.starts, each.value), labels)} ({ratio_text(each)})"
            for each in evidence
        ]
        values = tuple(None if each is None else each.value for each in evidence)
    if bits is None:
        plain = mutual_information(prior, np.column_stack([steps.probability, steps.absent]))
        known = all(noise is not None for (_, name), noise in noises.items() if name == part.attribute)
        return InformativeAttribute(
            part.attribute, plain, None, weight, tuple(texts), values, LONG_TAILS if known else NOISE_NOT_TOLD
        )
    return InformativeAttribute(part.attribute, bits.estimate, (bits.low, bits.high), weight, tuple(texts), values)


def ratio_text(evidence: Evidence) -> str:
    """Write an interval of ratios above 1: to two digits, rounded outwards, or to as many as tell its ends from 1."""
    low, high = evidence.low, evidence.high
    if low == high:
        return f"{low:.2g} times"
    digits = 1 - min(math.floor(math.log10(max(each, 1e-9))) for each in (low - 1, high / low - 1, 0.1))
    if high >= LARGEST_RATIO:
        return f"{_rounded(low, digits, math.floor)} times or more"
    return f"{_rounded(low, digits, math.floor)} to {_rounded(high, digits, math.ceil)} times"


def _rounded(number: float, digits: int, rounding: Callable[[float], int]) -> str:
    """Write a number above 0 with so many significant digits, rounded up or down."""
    unit = 10.0 ** (math.floor(math.log10(number)) + 1 - digits)
    rounded = rounding(round(number / unit, 6)) * unit
    return f"{rounded:.0f}" if unit >= 1 else f"{rounded:.{digits}g}"


def _normal_bits(model: NaiveBayes, noises: Noises, part: Normal, steps: LogRatios) -> Bits | None:
    """Estimate what the value of an attribute released as mean and deviation tells of the class, among rows with one.

    Where the noise is public, releases are simulated: noise is added to the released moments, and parameters are made
    of them as the release does. What noise adds to the bits of the model on average is subtracted from them. It is
    reckoned twice, as is the interval: first about the released moments, then about moments that tell as many bits as
    are left, moved towards those that all classes have in common (the bits grow with the square of the distance).

    Returns:
        The bits; None where the size of the noise is confidential.
    """
    attribute, mechanism = model.domain[part.attribute], model.guarantee.mechanism
    assert isinstance(attribute, Numeric)
    mean, deviation = np.array(part.mean), np.array(part.deviation)
    present, values = steps.probability.sum(axis=1), steps.probability
    prior = np.array(model.priors) * present
    prior /= prior.sum()  # among the rows that have a value
    plain = mutual_information(prior, values / present[:, None])
    queries = [(query, part.attribute) for query in RULES[mechanism].moments] if mechanism in RULES else []
    if not any(query in noises for query in queries):
        return Bits(plain, plain, plain)
    drawn = [noises.get(query) for query in queries]
    if None in drawn or len(drawn) != 2:
        return None
    share = next(each for each in model.guarantee.composition if (each.query, each.attribute) == queries[1])
    sizes = model.classes.released if part.presence is None else [present for present, *_ in part.presence.released]
    public, scale = list(map(sample_size, sizes)), attribute.scale
    generator = np.random.default_rng(len(prior))
    errors = [
        np.column_stack([noise.draws(generator, SIMULATED, klass) for klass in range(len(prior))])
        for noise in drawn
        if noise is not None
    ]
    power = 1 if queries[1][0] == "deviation" else 2

    def simulated(part_left: float) -> Floats:
        """Return the errors of the bits about moments between common ones and the released."""
        common = prior @ mean, math.sqrt(prior @ (deviation**2 + (mean - prior @ mean) ** 2))
        true_mean = common[0] + part_left * (mean - common[0])
        true_deviation = common[1] + part_left * (deviation - common[1])
        parameters = [
            NORMALS[mechanism](attribute, means.tolist(), spreads.tolist(), public, share)
            for means, spreads in zip(
                (true_mean + errors[0] - scale.origin) / scale.step,
                (true_deviation**power + errors[1]) / scale.step**power,
                strict=True,
            )
        ]
        found = _normal_information(
            attribute,
            prior,
            np.array([each.mean for each in parameters]),
            np.array([each.deviation for each in parameters]),
        )
        return found - _normal_information(attribute, prior, true_mean, true_deviation)

    left = max(plain - float(simulated(1.0).mean()), 0.0)
    added = simulated(math.sqrt(min(left / plain, 1.0)) if plain > 0 else 0.0)
    low, high = (plain - float(np.quantile(added, each)) for each in ((1 + LEVEL) / 2, (1 - LEVEL) / 2))
    if not np.isfinite(added).all():
        return None  # moments that no rows have
    return Bits(max(plain - float(added.mean()), 0.0), max(low, 0.0), max(high, 0.0))


def mean_texts(model: NaiveBayes, part: Normal, noises: Noises) -> list[str]:
    """Write the released mean of each class, clamped to the declared bounds; of log(1 + x) under a logarithm.

    The interval, where the scale of the noise is public, holds the mean of the sample of public size in 95 % of all
    draws. Padding or cutting the sample moves its mean from that of the rows: by half of the attribute's width at most,
    divided by the size, for each row that the size is off. Let the mean have the noise b Z, Z of the Laplace
    distribution, and the size the same share. Then the mean of the rows is off by b (Z + Z'/2) at most, and by more
    than half of the interval, -b log 0.05, with a probability of at most (0.05 - 0.05^2/4)/(1 - 1/4), 6.6 %.
    """
    attribute, rules = model.domain[part.attribute], RULES.get(model.guarantee.mechanism)
    assert isinstance(attribute, Numeric)
    scale, noise = attribute.scale, noises.get(("mean", part.attribute))
    name = "trimmed mean" if rules is not None and rules.smooth else "mean"
    name += " of log(1 + x)" if attribute.transform is Transform.LOG1P else ""
    texts = []
    for klass, released in enumerate(part.released_mean):
        ends = (released, released) if noise is None else noise.interval(released, klass=klass)
        mean, low, high = (min(max(scale.origin, each), scale.end) for each in (released, *ends))
        if noise is None:
            texts.append(f"{name} {mean:.4g}")
            continue
        digits = min(max(1 - math.floor(math.log10(high - low or 1.0)), 0), 9)  # of the width the first two
        low, high = (
            rounding(round(end * 10**digits, 6)) / 10**digits
            for rounding, end in ((math.floor, low), (math.ceil, high))
        )
        texts.append(f"{name} {mean:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})")
    return texts


def _normal_information(attribute: Numeric, prior: Floats, means: Floats, deviations: Floats) -> Floats:
    """Compute the bits that truncated normal distributions tell.

    Args:
        prior: Shape (classes,).
        means: Shape (..., classes), on the attribute's scale.

    Returns:
        Shape (...).
    """
    scale = attribute.scale
    values = scale.origin + (scale.end - scale.origin) * PLACES
    logarithms = -0.5 * ((values - means[..., None]) / deviations[..., None]) ** 2
    probability = np.exp(logarithms - logarithms.max(axis=-1, keepdims=True))
    probability /= probability.sum(axis=-1, keepdims=True)
    overall = np.einsum("c,...cv->...v", prior, probability)
    bits: Floats = prior @ np.moveaxis(
        (probability * np.log2(np.maximum(probability, TINY) / np.maximum(overall[..., None, :], TINY))).sum(axis=-1),
        -1,
        0,
    )
    return bits


def bin_texts(attribute: Numeric, edges: Sequence[int]) -> list[str]:
    """Name the values of every bin of a histogram, whose edges are codes of the attribute's scale."""
    starts = [0, *bin_starts(attribute, edges)]
    return [_value_text(attribute, starts, place) for place in range(len(starts))]


def _value_text(attribute: Attribute, starts: Sequence[int], place: int) -> str:
    """Name the values of a step: a category, a number, or the first and the last number; beyond the last, missing."""
    if not isinstance(attribute, Numeric):
        return attribute.values[place] if place < len(attribute.values) else "missing"
    if place == len(starts):
        return "missing"
    end = starts[place + 1] if place + 1 < len(starts) else attribute.cells + 1
    # On a logarithmic scale a bin may hold no number of the grid.
    codes = starts[place], max(end - 1, starts[place])
    first, last = (number_text(attribute.lower + attribute.step * code) for code in codes)
    return first if first == last else f"{first} to {last}"
