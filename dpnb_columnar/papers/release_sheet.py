"""The release sheet: one page on a released model, for whoever signs the release. Public: released values alone.

An attribute is drawn as bars of released shares, or as curves of released normal distributions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np

from dpnb_columnar.advice.expected_error import asked_table, expected_error, unit_remark
from dpnb_columnar.core.budget import Neighbours, Share, total
from dpnb_columnar.core.budget.composition import budget_part, composition_table
from dpnb_columnar.core.budget.costs import cost_parameters
from dpnb_columnar.core.guarantee import Guarantee
from dpnb_columnar.core.measurement import CLASS_COUNTS, COUNTS, WEIGHTED_COUNTS
from dpnb_columnar.core.mechanisms.mechanism import constant
from dpnb_columnar.domain import Categorical, Domain, Numeric, Transform
from dpnb_columnar.domain.declared_domain import digest
from dpnb_columnar.domain.domain_text import (
    ATTRIBUTE_HEADER,
    attribute_rows,
    class_texts,
    condition_text,
    label_relatives,
    predicts,
    value_with_label,
    values_text,
    weighs_by,
    whose_rows,
    with_title,
)
from dpnb_columnar.domain.names import named, number_text
from dpnb_columnar.domain.words import LONGEST_TITLE
from dpnb_columnar.errors import command
from dpnb_columnar.model.document import DECLARED_PUBLIC
from dpnb_columnar.model.guarantee_text import scope, statement
from dpnb_columnar.model.likelihood import log_normalisation
from dpnb_columnar.model.log_ratios import log_ratios
from dpnb_columnar.model.parameters import (
    AttributeParameters,
    Histogram,
    NaiveBayes,
    Normal,
    Table,
    prior_header,
    prior_rows,
)
from dpnb_columnar.model.probability_intervals import prior_intervals
from dpnb_columnar.model.query_noise import in_unit, query_noise
from dpnb_columnar.papers.release_papers import NO_PAPERS, ReleasePapers
from dpnb_columnar.papers.signing import signing_content
from dpnb_columnar.report.figures import PLAIN, Page, single_page, write_single_page
from dpnb_columnar.report.informative_attributes import TINY, beyond_noise, bin_texts, informative_attributes, line_text

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


def draw_attribute(
    model: NaiveBayes,
    part: AttributeParameters,
    shares: Shares,
    classes: Sequence[int],
    spoken: Sequence[int | None] = (),
) -> Bars | Curves:
    """Draw an attribute of a released model."""
    if isinstance(part, Normal):
        return _curves(model, part, shares, classes)
    return _bars(model, part, shares, classes, spoken)


def counts_noise(domain: Domain, share: Share | None) -> float | None:
    """Compute the rows below which 95 % of the noise of released counts stays."""
    noise = None if share is None else query_noise(domain, share)
    return None if noise is None or share is None else expected_error(domain, share, 1)


def _bars(
    model: NaiveBayes,
    part: Table | Histogram,
    shares: Shares,
    classes: Sequence[int],
    spoken: Sequence[int | None],
) -> Bars:
    attribute, labels = model.domain[part.attribute], model.domain.value_labels.get(part.attribute, {})
    steps = log_ratios(attribute, part)
    probability = steps.probability
    if isinstance(part, Histogram):
        assert isinstance(attribute, Numeric)
        names = bin_texts(attribute, part.edges)
    else:
        assert isinstance(attribute, Categorical)
        names = [*(value_with_label(value, labels) for value in attribute.values), "missing"][: attribute.size]
    if steps.absent.any():
        probability, names = np.column_stack([probability, steps.absent]), [*names, "missing"]
    prior = np.array(model.priors)[:, None]
    overall = (prior * probability).sum(axis=0)
    # Parts of the mutual information: what of it would be lost with this category.
    telling = (prior * probability * np.log(np.maximum(probability, TINY) / np.maximum(overall, TINY))).sum(axis=0)
    telling[[place for place in spoken if place is not None]] = math.inf
    kept = sorted(np.argsort(-telling, kind="stable")[:MOST_CELLS].tolist())
    share = shares.get((COUNTS, part.attribute))
    noise = counts_noise(model.domain, share)
    errors = [(noise or 0.0) / max(model.class_counts[klass], 1) for klass in classes]
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
    sizes = model.sizes(part.attribute)
    rows, names = [], class_texts(model.domain)
    for klass in classes:
        noise = f" ± {expected_error(model.domain, share, max(sizes[klass], 1)):.2g}" if share and public else ""
        drawn = in_unit(model.domain, "mean", part.attribute, model.measured["mean", part.attribute].column[klass])
        moments = (f"{drawn:.4g}{noise}", f"{part.mean[klass]:.4g}", f"{part.deviation[klass]:.4g}")
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


MOST_ATTRIBUTES = 10
"""Attributes whose distributions are drawn: those that tell most about the class."""

MOST_CLASSES = len(PLAIN)
"""Classes whose distributions are drawn: the largest."""

TEMPLATE = "release_sheet.html.j2"

LARGEST_WORDED = 20
"""Largest epsilon whose exponential is written as a number."""


def write_release_sheet(
    model: NaiveBayes,
    name: str,
    sha256: str,
    output: Path,
    papers: ReleasePapers = NO_PAPERS,
    *,
    overwrite: bool = False,
) -> None:
    """Write the release sheet of a model as one page that needs nothing else.

    A model without a guarantee is as confidential as the rows, so its sheet is readable by the owner alone.
    """
    content = _content(model, name, sha256, papers)
    confidential = not model.guarantee.private
    write_single_page(output, __package__, TEMPLATE, content, overwrite=overwrite, confidential=confidential)


def release_sheet(model: NaiveBayes, name: str, sha256: str, papers: ReleasePapers = NO_PAPERS) -> Page:
    """Make the release sheet of a model; see ``write_release_sheet``."""
    return single_page(__package__, TEMPLATE, _content(model, name, sha256, papers))


def _content(model: NaiveBayes, name: str, sha256: str, papers: ReleasePapers) -> dict[str, object]:
    """Return the variables of the template."""
    guarantee, domain, weights = model.guarantee, model.domain, model.attribute_weights
    sizes = sorted(range(len(domain.classes)), key=lambda code: -model.priors[code])
    codes = sorted(sizes[:MOST_CLASSES])
    ranked = informative_attributes(model)
    parts = {part.attribute: part for part in model.attributes}
    shares = {(share.query, share.attribute): share for share in guarantee.composition}
    texts = class_texts(domain)
    header, rows = composition_table(guarantee.composition)
    whole = total(guarantee.composition)
    noise = counts_noise(domain, shares.get((CLASS_COUNTS, None)))
    weight_noise = counts_noise(domain, shares.get((WEIGHTED_COUNTS, None)))
    # A name that begins with a hyphen would be an option.
    path = f"./{name}" if name.startswith("-") else name
    return {
        **signing_content(model, papers),
        "title": f"Release sheet: {papers.record.texts.get('title', domain.name)}",
        "lead": f"The model {predicts(domain)}.",
        "guarantee": guarantee,
        "statement": statement(guarantee),
        "scope": " ".join(scope(domain)),
        "in_words": guarantee_in_words(guarantee),
        "household": None if guarantee.epsilon is None else number_text(5 * guarantee.epsilon),
        "asked": asked_table(domain, guarantee.composition) if guarantee.composition else None,
        "unit_remark": unit_remark(domain),
        "composition": (
            [*header[:3], "of the budget", *header[3:], "why one share is enough"],
            [
                [*row[:3], f"{budget_part(share.cost, whole):.1%}", *row[3:], share.composition]
                for row, share in zip(rows, guarantee.composition, strict=True)
            ],
        ),
        "total": _listed(cost_parameters(total(guarantee.composition))) if guarantee.composition else "",
        "reserved": None if guarantee.reserved is None else _listed(cost_parameters(guarantee.reserved.cost)),
        "population": list(population_facts(model)),
        "attributes": (ATTRIBUTE_HEADER, attribute_rows(domain)),
        "classes": [texts[code] for code in codes],
        "omitted_classes": len(domain.classes) - len(codes),
        "beyond_noise": beyond_noise(ranked) if guarantee.composition else "",
        "ranking": [
            [
                with_title(each.name, domain.titles),
                each.bits_text,
                f"{each.weight:.3g}",
                *(each.telling[code] for code in codes),
            ]
            for each in ranked
        ],
        "figures": [
            (
                with_title(each.name, domain.titles, LONGEST_TITLE),
                draw_attribute(model, parts[each.name], shares, codes, each.values),
            )
            for each in ranked[:MOST_ATTRIBUTES]
        ],
        "styles": PLAIN,
        "prior": (
            [*prior_header(model), "without noise (95 %)", "intercept"],
            [
                [
                    *(f"{cell:,}" if isinstance(cell, int) else cell for cell in row),
                    "" if ends is None else f"{ends[0]:.4f} to {ends[1]:.4f}",
                    f"{intercept:.3g}",
                ]
                for row, ends, intercept in zip(
                    prior_rows(model), prior_intervals(model), model.intercepts, strict=True
                )
            ],
        ),
        "prior_noise": None if noise is None else f"{noise:.3g}",
        "sums": None if domain.weight is None else domain.weight.column,
        "weight_noise": None if weight_noise is None else f"{weight_noise:.3g}",
        "weights": weights,
        "line": line_text(model),
        "bounds": sorted({part.bound for part in model.attributes if isinstance(part, Normal) and part.bound}),
        "declared_public": DECLARED_PUBLIC,
        "left_out": "" if weights is None or weights.source is None else named(weights.source.left_out),
        "commands": command("predict", path, "rows.parquet", output="scored.parquet"),
        "python": f"import dpnb_columnar as dpnb\n\nscored = dpnb.load_model({path!r}).predict(rows)",
        "sql": command("sql", path, dialect="postgres", table="person", output="score.sql"),
        "digests": [("model file", name), ("its SHA-256", sha256), ("digest of the domain", digest(domain))]
        + [(f"version of {part}", version) for part, version in model.software.items()],
    }


def _listed(amounts: Mapping[str, Fraction]) -> str:
    return ", ".join(f"{name} {number_text(number)}" for name, number in amounts.items())


def guarantee_in_words(guarantee: Guarantee) -> str:
    """Say the guarantee without a formula; empty where there is none, or no number would mean anything."""
    if not guarantee.private or guarantee.epsilon is None or guarantee.epsilon > LARGEST_WORDED:
        return ""
    other = "been left out" if guarantee.neighbours is Neighbours.ADD_REMOVE else "said something else"
    whose, it = "a person who has one row in the data", "that row"
    if guarantee.unit is not None:
        whose, it = "a unit, such as a household, or anybody in it", "all rows of that unit"
    aside = f", a probability of {number_text(guarantee.delta)} aside" if guarantee.delta else ""
    return (
        f"Whatever someone concludes from this model about {whose}, they are at most "
        f"{_rounded_up(math.exp(guarantee.epsilon))} times as likely to conclude it as they would be had {it} {other}"
        f"{aside}, whatever else they know."
    )


def _rounded_up(bound: float) -> str:
    """Write a bound by three digits at most, none of which says less than it: 1.23 for 1.2214."""
    return f"{Decimal(bound).normalize(Context(prec=3, rounding=ROUND_CEILING)):f}"


def population_facts(model: NaiveBayes) -> Iterator[tuple[str, str]]:
    """Say which rows count, by the declared domain."""
    domain = model.domain
    yield from whose_rows(domain)
    label = domain.label
    missing = f"; these values mean missing: {named(label.missing_values)}" if label.missing_values else ""
    if label.condition is not None:
        negative, positive = label.classes
        yield "what is predicted", f"whether {condition_text(domain)}"
        yield "classes", f"{positive} where that is true, {negative} where it is false"
        yield (
            "rows that count",
            f"those of which the condition is true or false: missing values may make it neither{missing}",
        )
    else:
        yield "what is predicted", f"the column {with_title(str(label.column), domain.titles)}"
        yield "classes", values_text(label.classes, label.groups, domain.class_labels)
        yield "rows that count", f"those whose {label.column} is one of the classes{missing}"
    if (relatives := label_relatives(domain)) is not None:
        yield "predicted from its own parts", str(relatives)
    if domain.row_dropping:
        yield "rows left out", f"those without a value of {named([each.name for each in domain.row_dropping])}"
    if model.guarantee.private:
        whole = "one row" if domain.unit is None else f"one unit of {named(domain.unit.columns)}, whatever its rows"
        yield "unit of protection", whole
    if domain.unit is not None:
        yield "rows of a unit that count", f"at most {domain.unit.rows}; rows without a unit do not count"
    if domain.weight is not None:
        yield "weight of a row, in the prior and in released scores", weighs_by(domain.weight)
    if unused := [each.name for each in domain.attributes if each.name not in {p.attribute for p in model.attributes}]:
        yield "attributes not released", named(unused)
