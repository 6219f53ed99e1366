"""What the release sheet draws of an attribute: bars of released shares, or curves of released normal distributions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dpnb_columnar.budget import Share
from dpnb_columnar.domain import Categorical, Domain, Numeric, Transform
from dpnb_columnar.domain.value_labels import class_texts, worded
from dpnb_columnar.errors import UsageError
from dpnb_columnar.mechanisms.expected_error import expected_error
from dpnb_columnar.mechanisms.log_ratios import log_ratios
from dpnb_columnar.mechanisms.mechanism import COUNTS, constant
from dpnb_columnar.mechanisms.smooth_noise import smooth_family
from dpnb_columnar.model.likelihood import log_normalisation
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, NaiveBayes, Normal, Table
from dpnb_columnar.report.informative_attributes import TINY, bin_texts

MOST_CELLS = 16
"""Categories or bins drawn of one attribute: those in which the classes differ most."""

POINTS = np.linspace(0, 1, 121)
"""Places of a curve along the attribute's scale, beside those around its peak."""

AROUND = np.linspace(-4, 4, 33)
"""Further places of a curve, in deviations from its peak."""

WIDTH, HEIGHT = 1000, 240
"""The box that curves are drawn in."""

Shares = Mapping[tuple[str, str | None], Share]
"""Rows of the composition table, by query and attribute."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One released share of a class.

    Attributes:
        text: The share, with what the noise may have added to it where that is public.
        length: Length of the bar, in percent.
        low, high: Ends of the noise's mark, in percent; equal where there is none.
    """

    text: str
    length: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Bars:
    """The released shares of an attribute's categories or bins within each class.

    Attributes:
        rows: Name of each category or bin, and a bar for each class that is drawn.
        omitted: Categories or bins that are not drawn.
        note: The noise's size, in words.
    """

    rows: list[tuple[str, list[Bar]]]
    omitted: int
    note: str


@dataclass(frozen=True, slots=True)
class Curves:
    """The released normal distributions of an attribute, one for each class that is drawn.

    Attributes:
        paths: Per class, an SVG path.
        ticks: Values from the lower to the upper bound, evenly apart on the attribute's scale.
        rows: Per class, its released mean, with the noise where that is public, the place of its peak and the
            deviation before it is cut off at the bounds.
        note: The scale, and the noise's size, in words.
    """

    paths: list[str]
    ticks: list[str]
    rows: list[list[str]]
    note: str


def drawn(model: NaiveBayes, part: AttributeParameters, shares: Shares, classes: Sequence[int]) -> Bars | Curves:
    """Draw an attribute of a released model.

    Args:
        model: The model.
        part: One of its attributes.
        shares: Its composition table.
        classes: Codes of the classes to draw.
    """
    if isinstance(part, Normal):
        return _curves(model, part, shares, classes)
    return _bars(model, part, shares, classes)


def counts_noise(domain: Domain, share: Share | None) -> float | None:
    """Compute the rows below which 95 % of the noise of released counts stays.

    Returns:
        The bound; None where there is no noise, or where the model was made with noise that this version does not know.
    """
    if share is None:
        return None
    if not constant(share):
        try:
            family = smooth_family(share.noise)
        except UsageError:
            return None
        if not isinstance(share.row_cost, family.kind):
            return None
    return expected_error(domain, share, 1)


def _bars(model: NaiveBayes, part: Table | Histogram, shares: Shares, classes: Sequence[int]) -> Bars:
    attribute, labels = model.domain[part.attribute], model.domain.value_labels.get(part.attribute, {})
    steps = log_ratios(attribute, part)
    probability = steps.probability
    if isinstance(part, Histogram):
        assert isinstance(attribute, Numeric)
        names = bin_texts(attribute, part.edges)
    else:
        assert isinstance(attribute, Categorical)
        names = [*(worded(value, labels) for value in attribute.values), "missing"][: attribute.size]
    if steps.absent.any():
        probability, names = np.column_stack([probability, steps.absent]), [*names, "missing"]
    prior = np.array(model.priors)[:, None]
    overall = (prior * probability).sum(axis=0)
    # Parts of the mutual information: what of it would be lost with this category.
    telling = (prior * probability * np.log(np.maximum(probability, TINY) / np.maximum(overall, TINY))).sum(axis=0)
    kept = sorted(np.argsort(-telling, kind="stable")[:MOST_CELLS].tolist())
    share = shares.get((COUNTS, part.attribute))
    noise = counts_noise(model.domain, share)
    errors = [(noise or 0.0) / max(model.classes.released[klass], 1) for klass in classes]
    shown = probability[np.ix_(list(classes), kept)]
    whole = float((shown + np.array(errors)[:, None]).max())
    cells = [
        (
            names[place],
            [
                _bar(float(shown[row, column]), None if noise is None else errors[row], whole)
                for row in range(len(classes))
            ],
        )
        for column, place in enumerate(kept)
    ]
    if share is None:
        note = "No noise was added to these counts."
    elif noise is None:
        note = f"Noise of each count: {share.noise}."
    else:
        note = (
            f"Noise of each count: {share.noise}, in 95 % of all draws less than {noise:.3g} rows. The mark at the end "
            "of a bar is that many rows, as a part of the class's noisy count."
        )
    return Bars(cells, len(names) - len(kept), note)


def _bar(share: float, error: float | None, whole: float) -> Bar:
    """Make the bar of a share of the class; ``whole`` is as long as a bar gets."""
    text, length = f"{share:.3f}", 100 * share / whole
    if error is None:
        return Bar(text, length, length, length)
    low, high = max(share - error, 0) / whole, min(share + error, whole) / whole
    return Bar(f"{text} ± {min(error, 1):.2g}", length, 100 * low, 100 * high)


def _curves(model: NaiveBayes, part: Normal, shares: Shares, classes: Sequence[int]) -> Curves:
    attribute = model.domain[part.attribute]
    assert isinstance(attribute, Numeric)
    scale = attribute.scale
    width = scale.end - scale.origin
    curves = []
    for klass in classes:
        mean, deviation = part.mean[klass], part.deviation[klass]
        around = (mean + AROUND * deviation - scale.origin) / width
        places = np.unique(np.concatenate([POINTS, around[(around > 0) & (around < 1)]]))
        distances = (scale.origin + places * width - mean) / deviation
        constant_part = log_normalisation(mean, deviation, scale.origin, scale.end) + math.log(width)
        curves.append((places, np.exp(constant_part - distances**2 / 2)))
    highest = max(float(density.max()) for _, density in curves)
    paths = [
        "M" + " L".join(f"{WIDTH * x:.1f},{HEIGHT * (1 - 0.97 * y / highest):.1f}" for x, y in zip(*curve, strict=True))
        for curve in curves
    ]
    values = [scale.origin + width * place / 4 for place in range(5)]
    logarithmic = attribute.transform is Transform.LOG1P
    ticks = [f"{math.expm1(value) if logarithmic else value:.4g}" for value in values]
    share = shares.get(("mean", part.attribute))
    public = share is not None and constant(share)
    sizes = model.classes.released if part.presence is None else [row[0] for row in part.presence.released]
    rows, names = [], class_texts(model.domain)
    for klass in classes:
        noise = f" ± {expected_error(model.domain, share, max(sizes[klass], 1)):.2g}" if share and public else ""
        moments = (f"{part.released_mean[klass]:.4g}{noise}", f"{part.mean[klass]:.4g}", f"{part.deviation[klass]:.4g}")
        rows.append([names[klass], *moments])
    note = "The curve is cut off at the declared bounds, so that its mean is not its peak. "
    note += "All three numbers are of log(1 + value). " if logarithmic else ""
    if share is None:
        note += "No noise was added to these moments."
    elif public:
        note += "95 % of the noise of a mean stays within its mark."
    else:
        note += (
            f"The noise ({share.noise}) follows the sensitivity of the rows themselves. Its size is confidential, so "
            "no mark shows it."
        )
    return Curves(paths, ticks, rows, note)
