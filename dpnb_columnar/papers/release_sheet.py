"""The release sheet: one page on a released model, for those who sign the release. Public: released values alone.

Guarantees of other bodies are as published: none is converted or added up. Those of the Privacy Deployments Registry
were read in its data (github.com/opendp/deployments-registry-data).
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
from dpnb_columnar.core.budget import Neighbours, Remaining, Share, Spent, total
from dpnb_columnar.core.budget.composition import Guarantee, budget_part, composition_table
from dpnb_columnar.core.budget.costs import cost_parameters
from dpnb_columnar.core.measurement import CLASS_COUNTS, COUNTS, WEIGHTED_COUNTS
from dpnb_columnar.core.mechanisms.mechanism import constant
from dpnb_columnar.domain import Categorical, Domain, Numeric, Transform, Unit
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
from dpnb_columnar.evaluation.evaluation import BY_CHANCE
from dpnb_columnar.evaluation.released_scores import ReleasedScores, rows_text
from dpnb_columnar.ledger.records import Account
from dpnb_columnar.ledger.refusals import format_amount
from dpnb_columnar.mechanisms import record_named
from dpnb_columnar.model.document import DECLARED_PUBLIC
from dpnb_columnar.model.guarantee_text import scope, statement
from dpnb_columnar.model.likelihood import log_normalisation, log_ratios
from dpnb_columnar.model.parameters import (
    CALIBRATED,
    LEARNED,
    PUBLIC,
    TEMPERED,
    Histogram,
    NaiveBayes,
    Normal,
    Table,
    prior_header,
    prior_rows,
)
from dpnb_columnar.model.probability_intervals import prior_intervals
from dpnb_columnar.model.query_noise import in_unit, query_noise
from dpnb_columnar.papers.release_papers import NO_PAPERS, WORDS, AuditReport, ReleasePapers
from dpnb_columnar.report.evaluation_page import group_parts
from dpnb_columnar.report.figures import PLAIN, Page, single_page, write_single_page
from dpnb_columnar.report.informative_attributes import TINY, beyond_noise, bin_texts, informative_attributes, line_text

HEADER = ("who", "what", "protects", "amounts, as published", "source")

PUBLISHED_CHOICES = (
    (
        "U.S. Census Bureau",
        "2020 Census redistricting data (2021)",
        "one person's record, or one housing unit's, changed; state populations are exact",
        "persons: rho 2.56, epsilon 17.14 at delta 1e-10; housing units: rho 0.07, epsilon 2.47 at delta 1e-10",
        "Privacy Deployments Registry; Abowd et al. 2022, arXiv:2204.08986",
    ),
    (
        "U.S. Census Bureau",
        "2020 Census Demographic and Housing Characteristics File (2023)",
        "one person's record, or one housing unit's, changed; state populations are exact",
        "persons: rho 4.96, epsilon 26.34 at delta 1e-10; housing units: rho 7.70, epsilon 34.33 at delta 1e-10",
        "Privacy Deployments Registry; Cumings-Menon et al. 2023, arXiv:2312.10863",
    ),
    (
        "Ministry of Health, Israel",
        "microdata of live births in 2014 (2024)",
        "one birth",
        "epsilon 9.98",
        "Hod and Canetti 2024, arXiv:2405.00267",
    ),
    (
        "Wikimedia Foundation",
        "views of each page by country (2023)",
        "one device on one day",
        "rho 0.015 a day",
        "Privacy Deployments Registry; Adeleye et al. 2023, arXiv:2308.16298",
    ),
)
"""Published guarantees: rows below ``HEADER``."""

REMARK = (
    "Amounts compare only where unit, relation and delta are alike. That others chose them does not make them right "
    "for these persons: the choice is the signer's."
)


NOISE_WORDS: Mapping[str, str] = {
    "laplace": "the Laplace distribution",
    "classical-laplace": "the Laplace distribution, scaled by the constants of 2007",
    "gaussian": "the normal distribution",
    "classical-gaussian": "the normal distribution, scaled by the constants of 2007",
    "polyplace": "a distribution with long tails (Hladik and Tetek 2025)",
    "cauchy": "the Cauchy distribution, as the algorithm is printed",
    "nissim-cauchy": "the Cauchy distribution (Nissim, Raskhodnikova and Smith 2007)",
    "laplace-log-normal": "a Laplace variable times a log-normal one (Bun and Steinke 2019)",
    "uniform-log-normal": "a uniform variable times a log-normal one (Bun and Steinke 2019)",
    "arsinh-normal": "the inverse hyperbolic sine of a normal variable (Bun and Steinke 2019)",
}
"""Distributions that noise is drawn from, by the name of their family."""

WEIGHT_WORDS: Mapping[str, str] = {
    TEMPERED: "one weight below 1 for all attributes, chosen by their number alone, since columns of a census repeat "
    "one another; it costs nothing",
    CALIBRATED: "one weight below 1 for all attributes, and probabilities corrected by noisy counts of how often the "
    "score was right; these counts were paid from the budget",
    LEARNED: "a weight of its own for each attribute, fitted by noisy further looks at the rows that were paid from "
    "the budget",
    PUBLIC: "a weight of its own for each attribute, learned from a file that the curator declares public; it costs "
    "nothing",
}
"""How attributes are weighted, by the name of the method."""

NO_WEIGHTS = "no weights: every attribute counts in full, as in ordinary naive Bayes"

UNRECORDED_REASON = (
    "The model records what was chosen, not who chose it or whether the program did by its own rule (auto): for that, "
    "see the record of the release."
)


def mechanism_words(guarantee: Guarantee) -> str:
    """Say what the mechanism of a release releases."""
    known = record_named(guarantee.mechanism)
    return guarantee.mechanism if known is None else known.words


def noise_words(share: Share) -> str:
    """Say what distribution a query's noise has."""
    family = share.noise
    if family.startswith("student-"):
        return f"Student's t distribution with {family.removeprefix('student-')} degrees of freedom"
    return NOISE_WORDS.get(family, family)


def weight_words(model: NaiveBayes) -> str:
    """Say how the attributes of a model are weighted."""
    weights = model.attribute_weights
    return NO_WEIGHTS if weights is None else WEIGHT_WORDS.get(weights.method, weights.method)


def unit_words(domain: Domain) -> str:
    """Name what is protected as a whole."""
    if domain.unit is None:
        return "one row"
    return f"all rows of one unit, such as a household, that {named(domain.unit.columns)} names"


def neighbour_words(neighbours: Neighbours, unit: Unit | None) -> str:
    """Say what changes between the two data sets that nobody may tell apart."""
    whose = "one row" if unit is None else f"one unit of {named(unit.columns)}"
    if neighbours is Neighbours.ADD_REMOVE:
        return f"the data with {whose}, or without"
    return f"the data as they are, or with {whose} changed in any way"


def amount_words(amounts: Spent | Remaining) -> str:
    """Write what was spent, or is left; numbers that are 0 are left out."""
    numbers: Mapping[str, Fraction] = {"epsilon": amounts.epsilon, "delta": amounts.delta, "rho": amounts.rho}
    stated = [f"{name} {format_amount(number)}" for name, number in numbers.items() if number]
    return ", ".join(stated) or "nothing"


def account_words(account: Account) -> list[tuple[str, str]]:
    """State the account of a data set in a ledger."""
    whose = "one row" if not account.unit else f"one unit of {named(account.unit)}"
    change = "added or removed" if account.neighbours is Neighbours.ADD_REMOVE else "changed"
    delta = f", delta {format_amount(account.limit.delta)}" if account.limit.delta else ""
    return [
        ("data set", account.dataset),
        ("amounts are for", f"{whose} {change}"),
        ("all releases may cost", f"epsilon {format_amount(account.limit.epsilon)}{delta}"),
        ("they have cost", amount_words(account.spent)),
        ("one more may cost", amount_words(account.remaining)),
    ]


def glossary(model: NaiveBayes, *, scores: bool = False) -> list[tuple[str, str]]:
    """Explain the words of a model's sheet: those alone that stand on it."""
    guarantee = model.guarantee
    terms = [
        (
            "differential privacy",
            "a promise about how a release was made: with or without any one person's data, each possible outcome is "
            "nearly as likely. It holds whatever else a reader knows, now or later.",
        ),
        ("epsilon", "how much more likely at most: by the factor exp(epsilon). The smaller, the stronger."),
        ("delta", "a probability with which the promise of epsilon may fail; 0 where none is stated."),
        (
            "rho",
            "another measure of the same (zero-concentrated differential privacy, zCDP), in which many noisy answers "
            "add up better. It implies pairs of an epsilon and a delta.",
        ),
        ("noise", "a random number that is added to an exact one; the sum alone is released."),
        ("budget", "the epsilon that all noisy answers together may cost. Each answer is given a share of it."),
        ("declared", "written down by the curator before the rows were read, and public."),
        ("missing", "without a value, by the rules that were declared."),
        (
            "bits",
            "how much of the uncertainty about the class an attribute takes away by itself: 0 for nothing; 1 bit is "
            "the whole uncertainty of two equally large classes.",
        ),
        ("mechanism", f"the way in which noisy answers are made. This one releases {mechanism_words(guarantee)}."),
    ]
    families = {share.noise: noise_words(share) for share in guarantee.composition}
    terms += [(family, f"noise that is drawn from {words}.") for family, words in families.items() if words != family]
    if model.attribute_weights is not None and model.attribute_weights.method in WEIGHT_WORDS:
        terms.append((f"{model.attribute_weights.method} weights", f"{weight_words(model)}."))
    if scores:
        terms.append(
            (
                "95 % interval",
                "of a hundred such intervals, some 95 hold the figure of the population that the scored rows were "
                "drawn from. It counts the noise, and that the rows are a sample.",
            )
        )
    return terms


AUDIT_HEADER = ("noise", "weights", "protects", "neighbours", "claimed epsilon", "largest found", "lower bound", "held")


def signing_content(model: NaiveBayes, papers: ReleasePapers) -> dict[str, object]:
    """Return the variables of the template that a signer's questions need."""
    record = papers.record
    approvals = [[each.role, each.name, each.date, ""] for each in record.approvals]
    return {
        "head": record.stated("author", "date", "published", "contact"),
        "approval_header": ("as", "name", "date", "signature"),
        "approvals": approvals or [[""] * 4] * 2,  # lines to fill in
        "stated_for": [
            *record.stated("purpose", "out_of_scope", "rows", "region", "period", "source", "citation", "sector"),
            *([("curators", "; ".join(each.name for each in record.curators))] if record.curators else []),
            *record.stated("actors"),
        ],
        "stated_why": record.stated("justification", "preparation", "releases", "new_rows", "further_releases"),
        "chosen": chosen(model),
        "unrecorded_reason": UNRECORDED_REASON,
        "published": (HEADER, [_own_choice(model, papers), *PUBLISHED_CHOICES]),
        "published_remark": REMARK,
        "score": None if papers.scores is None else score_rows(papers.scores),
        "groups": group_parts(papers.scores.figures.groups if papers.scores else (), model.domain),
        "by_chance": BY_CHANCE,
        "score_cost": "" if papers.scores is None else epsilon_text(papers.scores.guarantee),
        "apart": apart_words(papers),
        "holdout": record.texts.get("holdout", ""),
        "scores_paid": papers.account is not None,
        "audit": papers.audit,
        "audit_table": None if papers.audit is None else audit_rows(model, papers.audit),
        "made_by": model.software.get("dpnb-columnar", "unknown"),
        "output_check": record.texts.get("output_check", ""),
        "limitations": record.texts.get("limitations", ""),
        "account": None if papers.account is None else account_words(papers.account),
        "charged": papers.charged,
        "glossary": glossary(model, scores=papers.scores is not None),
        "not_stated": [WORDS[key] for key in record.beside(model.domain).not_stated],
    }


def _own_choice(model: NaiveBayes, papers: ReleasePapers) -> tuple[str, ...]:
    """State the model's guarantee as a row below ``HEADER``."""
    curators = "; ".join(each.name for each in papers.record.curators)
    product = papers.record.texts.get("title", model.domain.name)
    protects = unit_words(model.domain) if model.guarantee.private else "nobody"
    return curators or "this release", product, protects, epsilon_text(model.guarantee), "this model"


def epsilon_text(guarantee: Guarantee) -> str:
    """State the amounts of a guarantee."""
    if guarantee.epsilon is None:
        return "none: the mechanism protects nobody"
    delta = f", delta {format_amount(guarantee.delta)}" if guarantee.delta else ""
    rho = "" if guarantee.rho is None else f"; implied by rho {format_amount(guarantee.rho)}"
    seeded = "; void, since the noise came from a seed and can be subtracted" if guarantee.seeded else ""
    return f"epsilon {format_amount(guarantee.epsilon)}{delta}{rho}{seeded}"


def chosen(model: NaiveBayes) -> list[tuple[str, str]]:
    """List what was chosen for a release, in the office's words."""
    guarantee = model.guarantee
    facts = [("strength", epsilon_text(guarantee))]
    if guarantee.neighbours is not None:
        facts.append(("protected as a whole", unit_words(model.domain)))
        facts.append(("what nobody can tell apart", neighbour_words(guarantee.neighbours, guarantee.unit)))
    facts.append(("released", f"{mechanism_words(guarantee)} (mechanism {guarantee.mechanism})"))
    families = {share.noise: noise_words(share) for share in guarantee.composition}
    if families:
        facts.append(("noise", "; ".join(f"{words} ({name})" for name, words in families.items())))
    facts.append(("weights of attributes", weight_words(model)))
    return facts


def score_rows(scores: ReleasedScores) -> tuple[str, list[list[str]]]:
    """State the figures of released scores: a caption, and rows of a figure and its value with its interval."""
    figures = scores.figures
    low, high = figures.rows_interval
    rows = [
        ["accuracy", str(figures.accuracy)],
        [f"accuracy of always predicting {figures.majority_class}", str(figures.majority)],
        ["difference of the two", str(figures.gain)],
        ["balanced accuracy", str(figures.balanced_accuracy)],
    ]
    if figures.auc is not None:
        rows.append(["AUC: how often a row of the second class is ranked above one of the first", str(figures.auc)])
    return f"Figures of {low:,.0f} to {high:,.0f} {rows_text(scores.domain)}, with {figures.level:.0%} intervals", rows


def apart_words(papers: ReleasePapers) -> str:
    """Say what a ledger knows of how scored rows were held out; empty where it knows nothing."""
    if papers.apart is None:
        return ""
    whole = f"No unit of {named(papers.apart)}" if papers.apart else "No row"
    together = "" if papers.apart else "; rows that are equal in all columns were kept together"
    return (
        f"{whole} is both among those that the model was trained on and among those that were scored: split divided "
        f"them, by what the files told when the ledger was charged{together}."
    )


def audit_rows(model: NaiveBayes, report: AuditReport) -> tuple[tuple[str, ...], list[list[str]]]:
    """State what an audit measured of the model's mechanism: a header, and rows."""
    return AUDIT_HEADER, [
        [
            each.noise or "its own",
            each.weights or "none",
            each.protected,
            each.neighbours,
            each.claimed,
            _bound(each.loss),
            _bound(each.bound),
            "yes" if each.holds else "NO",
        ]
        for each in report.of(model)
    ]


def _bound(epsilon: float | None) -> str:
    return "infinite" if epsilon is None else f"{epsilon:.3f}"


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
    """One released share of a class: its text, and in percent the bar and both ends of the noise's mark."""

    text: str
    length: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Bars:
    """The released shares of an attribute's categories or bins within each class that is drawn."""

    rows: list[tuple[str, list[Bar]]]
    omitted: int
    note: str


@dataclass(frozen=True, slots=True)
class Curves:
    """The released normal distributions of an attribute, an SVG path and a row of moments for each class drawn."""

    paths: list[str]
    ticks: list[str]
    rows: list[list[str]]
    note: str


def _counts_noise(domain: Domain, share: Share | None) -> float | None:
    """Compute the rows below which 95 % of the noise of released counts stays."""
    return None if share is None or query_noise(domain, share) is None else expected_error(domain, share, 1)


def _bars(
    model: NaiveBayes, part: Table | Histogram, shares: Shares, classes: Sequence[int], spoken: Sequence[int | None]
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
    noise = _counts_noise(model.domain, share)
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
    """Make the bar of a share of the class; the longest bar is as long as ``whole``."""
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
    """Write the release sheet as one page that needs nothing else; confidential if the model has no guarantee."""
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
    noise = _counts_noise(domain, shares.get((CLASS_COUNTS, None)))
    weight_noise = _counts_noise(domain, shares.get((WEIGHTED_COUNTS, None)))
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
                _curves(model, part, shares, codes)
                if isinstance(part := parts[each.name], Normal)
                else _bars(model, part, shares, codes, each.values),
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
    bound = Decimal(math.exp(guarantee.epsilon)).normalize(Context(prec=3, rounding=ROUND_CEILING))  # never less
    aside = f", a probability of {number_text(guarantee.delta)} aside" if guarantee.delta else ""
    return (
        f"Whatever someone concludes from this model about {whose}, they are at most "
        f"{bound:f} times as likely to conclude it as they would be had {it} {other}"
        f"{aside}, whatever else they know."
    )


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
