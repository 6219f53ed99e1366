"""Attribute weights: how much each attribute's log-likelihood counts in a model's score (``model.likelihood``).

Naive Bayes takes attributes for independent within a class, and adds up their log-likelihood ratios r_i, i = 1 to d,
as if each told something new. Let all r_i have variance v within a class and correlation c with each other. Their sum s
then has variance d v (1 + (d - 1) c), of which naive Bayes knows only d v. Where s is normal within both classes, the
true log-odds are a multiple of s, the distance of the class means over the variance, and naive Bayes, which has the
distance right, is too certain by the factor 1 + (d - 1) c. One weight for all attributes, w = 1/(1 + (d - 1) c), mends
it: 1 for independent attributes, 1/d for d copies of one. One weight for all is the least form of attribute weighting
(Zaidi, Cerquides, Carman and Webb 2013, "Alleviating naive Bayes attribute independence assumption by attribute
weighting"), which learns one per attribute, or one per attribute value, from the rows.

``tempered`` sees no row, so it spends nothing: w = d^(-1/4). Columns of a census come in families, such as marital
status, relationship and sex, or a code and its recodes; families of about d^(1/4) attributes that say the same give
this weight. Logistic regression of the class on s, without noise, would choose .45 for Adult (d = 14, d^(-1/4) = .52),
.58 for the ACS, .71 for ACS income (15, .51), .56 for Mushroom (22, .46), and 1 for Skin, which has 3 attributes: below
``FEWEST_TEMPERED`` attributes w is 1. The intercepts are 0, so the priors count more. That helps where classes are
unequal; of more than two classes it helps some at the cost of others.

``calibrated`` and ``learned`` spend a part of the budget on later passes, in which the rows themselves are asked: how
the odds of the classes follow from the margin of the tempered score (``model.score_calibration``), or about a
weight of each attribute (``model.weight_rounds``). ``learned`` is for two classes alone: it starts from their
calibration, and without one a bad start is not held back (docs/journal/weights.md).

``auto``, the default, chooses one of these from public facts alone: mechanism, classes, number of attributes, epsilon
times the declared number of rows, and how the rows can be read. docs/journal/weights.md has the measurements.

Shares by size: the part of the budget that all attributes have together, divided by the number of their cells.

An attribute of K_i cells whose counts have noise of scale 1/e_i has a log-ratio with an error whose variance grows with
K_i / e_i^2, and w_i times that error enters the score, where w_i is the attribute's weight. Of all divisions of one sum
of e_i, the sum of w_i^2 K_i / e_i^2 is least where its derivatives, -2 w_i^2 K_i / e_i^3, are equal: where e_i is in
proportion to (w_i^2 K_i)^(1/3). Without public weights every w_i is 1.

Weights, domain and mechanism are public facts, and nothing else enters: the division costs nothing, as any other that
is chosen before a row is read (docs/privacy.md, Lemmas 2.3 and 7.2).

Attribute weights and shares from a public sample: what is known of the attributes before a confidential row is.

A public-use sample in the same domain says how much each attribute tells beside the others. Its weights are public
facts, and so is the division of the budget by them (``divide_by_size``): neither costs anything (docs/privacy.md,
Lemma 7.2). An attribute of hardly any weight is not released at all.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpnb_columnar.core.budget import Request
from dpnb_columnar.core.measurement import PRESENCE
from dpnb_columnar.core.mechanisms.mechanism import Mechanism
from dpnb_columnar.domain import Attribute, Categorical, Domain
from dpnb_columnar.domain.words import select_attributes
from dpnb_columnar.errors import UsageError, option
from dpnb_columnar.mechanisms import record_named
from dpnb_columnar.model.parameters import CALIBRATED as CALIBRATED
from dpnb_columnar.model.parameters import FEWEST_TEMPERED as FEWEST_TEMPERED
from dpnb_columnar.model.parameters import LEARNED as LEARNED
from dpnb_columnar.model.parameters import PUBLIC as PUBLIC
from dpnb_columnar.model.parameters import TEMPERED as TEMPERED
from dpnb_columnar.model.parameters import AttributeWeights, PublicSource
from dpnb_columnar.model.parameters import tempered_weight as tempered_weight

LEAST_WEIGHT = 0.15
"""Attributes of a smaller weight get no share."""


@dataclass(frozen=True, slots=True)
class PublicWeights:
    """What a public file says about a release. All of it is public.

    Attributes:
        source: The file.
        weights: Weight by attribute, in declared order, of those that are released.
        shift: What is added to the log-odds of the second class.
    """

    source: PublicSource
    weights: Mapping[str, float]
    shift: float

    def counted(self, domain: Domain) -> Domain:
        """Return the domain of the attributes that are released, or that decide which rows count."""
        return _only(domain, {*self.weights, *(each.name for each in domain.row_dropping)})

    def released(self, domain: Domain) -> Domain:
        """Return the domain of the attributes that are released."""
        return _only(domain, self.weights)

    @property
    def attribute_weights(self) -> AttributeWeights:
        """The weights as a model holds them."""
        return AttributeWeights(PUBLIC, tuple(self.weights.values()), (0.0, self.shift), self.source)

    @property
    def shares_by(self) -> Mapping[str, float]:
        """The weights that shares go by: fitted again without the attributes that are left out, one may be smaller."""
        return {name: max(weight, LEAST_WEIGHT) for name, weight in self.weights.items()}


def _only(domain: Domain, names: Collection[str]) -> Domain:
    """Leave out the other attributes of a domain."""
    kept = select_attributes(domain, [each.name for each in domain.attributes if each.name in names])
    assert isinstance(kept, Domain)
    return kept


NUMERIC_CELLS = 40
"""Cells of a numeric attribute, if its scale has as many: the bins that histograms of censuses come to."""

PARTS = 1000
"""Cube roots are taken in whole parts of this size, so that shares have few digits."""


def divide_by_size(
    requests: Sequence[Request], domain: Domain, weights: Mapping[str, float] | None = None
) -> list[Request]:
    """Divide anew what the tables and moments of all attributes are given together; other queries keep theirs.

    Several queries of one attribute divide its part as they did before.
    """
    names = [sized_attribute(each) for each in requests]
    sums: dict[str, Fraction] = defaultdict(Fraction)
    for each, name in zip(requests, names, strict=True):
        if name is not None:
            sums[name] += each.weight
    parts = {name: _cube_root(cells(domain[name]), 1.0 if weights is None else weights[name]) for name in sums}
    whole, all_parts = sum(sums.values(), Fraction(0)), sum(parts.values())
    return [
        each if name is None else replace(each, weight=each.weight / sums[name] * whole * parts[name] / all_parts)
        for each, name in zip(requests, names, strict=True)
    ]


def sized_attribute(request: Request) -> str | None:
    """Return the attribute whose table, bins or moments a query is for; None for class counts and values present."""
    return None if request.query == PRESENCE else request.attribute


def cells(attribute: Attribute) -> int:
    """Count the cells that an attribute's share is for: categories, a missing one included, or bins."""
    return attribute.size if isinstance(attribute, Categorical) else min(attribute.scale.cells + 1, NUMERIC_CELLS)


def _cube_root(size: int, weight: float) -> int:
    """Compute (w^2 K)^(1/3) in whole parts, at least one."""
    return max(round(PARTS * math.cbrt(weight**2 * size)), 1)


AUTO = "auto"
NONE = "none"
METHODS = (NONE, TEMPERED, CALIBRATED, LEARNED)
"""Ways to weight attributes; ``AUTO`` names one of them."""

MOST_LEARNED = 1000
"""Attributes that may each have a weight: the time of a step grows with the cube of their number."""

LEAST_CALIBRATED = 1_000
"""Least number of rows times epsilon for ``auto`` to calibrate: with fewer, the noise in the later pass costs accuracy
as often as its weights bring it."""

LEAST_CALIBRATED_FEW = 3_000
"""The same for fewer than ``FEWEST_TEMPERED`` attributes, which ordinary naive Bayes weighs nearly right."""

LEAST_LEARNED = 200
"""The same for ``auto`` to learn weights, times the number of attributes to the power of 1.5: so grows the noise in all
weights together, of which each has a part, and each row's bound grows with their number."""

MOST_LEARNED_UNASKED = 24
"""Most attributes of which ``auto`` learns weights: where more of them code the same answers again, the released model
knows too little of how they depend on each other (Census-Income at epsilon 3: of 40 attributes .944 learned and .948
calibrated, of 30 .946 and .949)."""

LEAST_TEMPERED = 3_000
"""The same for ``auto`` to temper: with fewer, noise in the class counts weighs more than the attributes do."""


def resolved_method(
    method: str, mechanism: Mechanism, domain: Domain, epsilon: Fraction, rows: int | None, *, repeatable: bool
) -> str | None:
    """Return how attributes are weighted: what was asked for, or what ``auto`` chooses; None for ordinary naive Bayes.

    Where no number of rows is declared, they are taken for enough where attributes are many: the weights that are
    fitted to few rows stay near the tempered one.
    """
    if method == LEARNED and not repeatable:
        raise UsageError(
            "attribute weights: learned reads the rows four times, and these can be read once; train on the rows, or "
            f"release from statistics with {option('attribute-weights', 'calibrated')}"
        )
    if method != AUTO:
        return check_method(method, mechanism, domain)
    record = record_named(mechanism.name)
    if not mechanism.private or record is None or not record.attributes:
        return None
    many, classes = len(domain.attributes) >= FEWEST_TEMPERED, len(domain.classes)
    learnable = classes == 2 and many and len(domain.attributes) <= MOST_LEARNED_UNASKED
    enough = rows is not None and rows * epsilon >= LEAST_LEARNED * len(domain.attributes) ** 1.5
    if repeatable and learnable and enough:
        return LEARNED
    evidence = (math.inf if many else 0) if rows is None else rows * epsilon
    if repeatable and evidence >= (LEAST_CALIBRATED if many else LEAST_CALIBRATED_FEW):
        return CALIBRATED
    return TEMPERED if classes == 2 and many and mechanism.binned and evidence >= LEAST_TEMPERED else None


def uncalibrated_line() -> str:
    """Say what to do where ``auto`` would have calibrated, had it been given the rows."""
    return (
        "calibrated weights are left out, since they need the rows a second time; train from the rows, or release with "
        f"{option('attribute-weights', 'calibrated')}, which leaves a part of the budget for them (docs/batch.md)"
    )


def check_method(method: str, mechanism: Mechanism, domain: Domain) -> str | None:
    """Return how attributes are weighted, if that suits the release; None for ordinary naive Bayes."""
    if method not in METHODS:
        known = ", ".join((AUTO, *METHODS))
        raise UsageError(f"attribute weights: no {method!r:.80}; known ways: {known}, or a Parquet file of public rows")
    if method == TEMPERED and not mechanism.binned:
        raise UsageError(
            f"attribute weights: tempered is for histograms, and mechanism {mechanism.name} makes none; choose "
            f"histogram or adaptive-histogram, or leave {option('attribute-weights')} out"
        )
    if method in (TEMPERED, LEARNED) and len(domain.classes) != 2:
        raise UsageError(
            f"attribute weights: {method} is for two classes, and the domain declares {len(domain.classes)}; choose "
            f"calibrated, or leave {option('attribute-weights')} out"
        )
    return None if method == NONE else method


def attribute_weights(method: str | None, attributes: int, classes: int) -> AttributeWeights | None:
    """Make the weights and intercepts that need no row; None for ordinary naive Bayes, and before a later pass."""
    if method != TEMPERED:
        return None
    return AttributeWeights(TEMPERED, (tempered_weight(attributes),) * attributes, (0.0,) * classes)
