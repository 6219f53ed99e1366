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

``calibrated`` spends a part of the budget on a second pass, which the rows themselves are asked in
(``mechanisms.score_calibration``).
"""

from __future__ import annotations

from dataclasses import replace

from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import UsageError
from dpnb_columnar.mechanisms.mechanism import Mechanism
from dpnb_columnar.model.parameters import AttributeParameters, AttributeWeights, Normal

NONE = "none"
TEMPERED = "tempered"
CALIBRATED = "calibrated"
METHODS = (NONE, TEMPERED, CALIBRATED)
"""Names of ``--attribute-weights``; the first is the default."""

FEWEST_TEMPERED = 8
"""Fewer attributes are taken for independent."""

POWER = -0.25

LARGEST_LOG_RATIO = 3.0
"""In nats: twenty to one is the most that a normal distribution of two classes, weighted, says of one value."""


def check_method(method: str, mechanism: Mechanism, domain: Domain) -> str | None:
    """Return how attributes are weighted, if that suits the release; None for ordinary naive Bayes.

    Raises:
        UsageError: if it is unknown, if there are other than two classes, or if it is ``tempered`` and the mechanism
            has no histograms.
    """
    if method not in METHODS:
        raise UsageError(
            f"attribute weights: no {method!r:.80}; known ways: {', '.join(METHODS)}, or a Parquet file of public rows"
        )
    if method == TEMPERED and not mechanism.binned:
        raise UsageError(
            f"attribute weights: tempered is for histograms, and mechanism {mechanism.name} makes none; choose "
            "histogram or adaptive-histogram, or leave --attribute-weights out"
        )
    if method != NONE and len(domain.classes) != 2:
        raise UsageError(
            f"attribute weights: {method} is for two classes, and the domain declares {len(domain.classes)}; leave "
            "--attribute-weights out"
        )
    return None if method == NONE else method


def tempered_weight(attributes: int) -> float:
    """Choose the one weight of all attributes from their number.

    Args:
        attributes: Number of attributes that are released.
    """
    return attributes**POWER if attributes >= FEWEST_TEMPERED else 1.0


def attribute_weights(method: str | None, attributes: int, classes: int) -> AttributeWeights | None:
    """Make the weights and intercepts that need no row; None for ordinary naive Bayes, and before a second pass.

    Args:
        method: What ``check_method`` returns.
        attributes: Number of attributes that are released.
        classes: Number of classes.
    """
    if method != TEMPERED:
        return None
    return AttributeWeights(TEMPERED, (tempered_weight(attributes),) * attributes, (0.0,) * classes)


def bounded(parameters: AttributeParameters, classes: int) -> AttributeParameters:
    """Bound the log-ratios of a normal attribute between two classes; others, and more classes, stay as they are.

    A log-ratio of normal distributions grows with the square of the distance, and one released variance that is far too
    small lets a few values outvote all other attributes, whatever their weights. Tables and histograms have no tails to
    go wrong: their counts say how much a cell can tell.
    """
    if classes != 2 or not isinstance(parameters, Normal):
        return parameters
    return replace(parameters, bound=LARGEST_LOG_RATIO)
