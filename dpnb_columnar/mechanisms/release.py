"""``release(Statistics, Budget) -> Model``: the only code that sees both sides; all noise is drawn under it.

Claim: under the budget's neighbouring relation the model is (epsilon, delta)-differentially private, as
the sum of the composition table says. Proof in docs/privacy.md, sections 2 to 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from importlib.metadata import version

from dpnb_columnar.budget import Budget, Concentrated, Loss, Pure, Share, compose, total
from dpnb_columnar.budget.losses import numbers
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.numbers import exact_number
from dpnb_columnar.errors import UsageError
from dpnb_columnar.mechanisms.adaptive_histogram import AdaptiveHistogram
from dpnb_columnar.mechanisms.baselines import Majority, Plain
from dpnb_columnar.mechanisms.histogram import BinCounts
from dpnb_columnar.mechanisms.laplace import Global, GlobalVariance
from dpnb_columnar.mechanisms.mechanism import CLASS_COUNTS, Mechanism, Release
from dpnb_columnar.mechanisms.moments import MOMENTS
from dpnb_columnar.mechanisms.queries import COUNTS
from dpnb_columnar.mechanisms.smooth import Paper, Smooth, TrimmedMean
from dpnb_columnar.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family, smooth_noise
from dpnb_columnar.model.guarantee import Guarantee
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.parameters import AttributeParameters, Histogram
from dpnb_columnar.noise import ExactSampler, Sampler, SystemBits
from dpnb_columnar.sensitivity.search import SMALLEST_BETA
from dpnb_columnar.version import __version__

MECHANISMS: dict[str, Mechanism] = {
    mechanism.name: mechanism
    for mechanism in (
        Smooth(),
        Paper(),
        TrimmedMean(),
        Global(),
        GlobalVariance(),
        AdaptiveHistogram(),
        BinCounts(),
        Majority(),
        Plain(),
    )
}
"""Every mechanism by its name on the command line; the first is the default."""

LIBRARIES = ("numpy", "python-flint")
"""Packages that compute or draw released values; their versions are noted in the model beside the program's own."""


def release(
    statistics: Statistics,
    budget: Budget,
    mechanism: str = "smooth",
    noise: str | None = None,
    draw: Sampler | None = None,
) -> Model:
    """Release a model.

    Args:
        statistics: Exact counts. Confidential.
        budget: What may be spent, and under which relation.
        mechanism: Name of a mechanism.
        noise: Noise family for a mechanism that uses smooth sensitivity; None for its default.
        draw: Where all noise comes from; None for exact draws from the operating system's generator, the only ones that
            give a guarantee.

    Raises:
        UsageError: Unknown mechanism or noise family, or a budget too small for the number of queries.
    """
    chosen = mechanism_named(mechanism)
    draw = ExactSampler(SystemBits()) if draw is None else draw
    shares = plan(statistics.domain, budget, mechanism, noise)
    asked = {(share.query, share.attribute): share for share in shares}
    classes = chosen.classes(statistics, asked[CLASS_COUNTS, None], draw)
    attributes = chosen.attributes(Release(statistics, classes.released, asked, draw))
    guarantee = Guarantee(
        mechanism=chosen.name,
        noise=noise_named(chosen, noise) if chosen.smooth else None,
        epsilon=budget.epsilon if chosen.private else None,
        delta=budget.delta if chosen.private else None,
        neighbours=budget.neighbours if chosen.private else None,
        composition=_answered(shares, attributes) if chosen.private else (),
        seeded=not draw.private,
        rho=spent.rho if chosen.private and isinstance(spent := total(shares), Concentrated) else None,
    )
    return Model(statistics.domain, guarantee, classes, tuple(attributes), dict(software()))


def plan(domain: Domain, budget: Budget, mechanism: str = "smooth", noise: str | None = None) -> tuple[Share, ...]:
    """The composition table of a release, from public facts alone; its first row is the class counts.

    Raises:
        UsageError: As ``release``.
    """
    chosen = mechanism_named(mechanism)
    family = noise_named(chosen, noise)
    weights = budget.weights or chosen.weights
    requests = chosen.requests(domain, weights, family)
    _check_delta(chosen, family, budget, {request.kind for request in requests} != {Pure})
    shares = compose(requests, budget)
    _check_digits(shares)
    smooth = [share for share in shares if chosen.smooth and share.query in MOMENTS]
    if smooth and min(_beta(share) for share in smooth) < SMALLEST_BETA:
        raise UsageError(
            f"epsilon is too small for {len(shares)} queries: the smallest share is "
            f"{min(float(_size(share.loss)) for share in smooth):.2g}; raise --epsilon, declare fewer attributes, or "
            "choose other --weights"
        )
    return shares


def _answered(shares: Sequence[Share], attributes: Sequence[AttributeParameters]) -> tuple[Share, ...]:
    """The composition table with as many bins as there are; before the release only the most there may be are known."""
    bins = {each.attribute: sum(map(len, each.released)) for each in attributes if isinstance(each, Histogram)}
    return tuple(
        replace(share, values=bins[share.attribute]) if share.query == COUNTS and share.attribute in bins else share
        for share in shares
    )


@cache
def software() -> dict[str, str]:
    """Versions of the program and of what computes or draws released values.

    Cached: looking them up takes longer than a small release.
    """
    return {"dpnb-columnar": __version__, **{name: version(name) for name in LIBRARIES}}


def mechanism_named(name: str) -> Mechanism:
    """The mechanism of this name.

    Raises:
        UsageError: There is none.
    """
    if name not in MECHANISMS:
        raise UsageError(f"mechanism: no {name!r}; known mechanisms: {', '.join(MECHANISMS)}")
    return MECHANISMS[name]


def noise_named(mechanism: Mechanism, name: str | None) -> str:
    """The noise family for smooth releases, the default if none is named.

    Raises:
        UsageError: Unknown, or the mechanism uses none.
    """
    if name is not None and not mechanism.smooth:
        raise UsageError(f"noise: mechanism {mechanism.name!r} takes no noise family; leave --noise out")
    return smooth_family(mechanism.default_noise if name is None else name).name


def _check_delta(mechanism: Mechanism, family: str, budget: Budget, needed: bool) -> None:
    """Refuse a delta that nothing needs, and the lack of one."""
    if needed and not budget.delta:
        raise UsageError(f"noise: {family} spends a delta, and none is given; give --delta, such as 1e-6")
    if budget.delta and not needed:
        whose = f"noise {family}" if mechanism.smooth else f"mechanism {mechanism.name}"
        able = ", ".join(name for name in NOISE_FAMILIES if smooth_family(name).kind is not Pure)
        raise UsageError(f"delta: {whose} spends none; leave --delta out, or choose mechanism smooth with noise {able}")


def _check_digits(shares: Sequence[Share]) -> None:
    """Refuse shares of more digits than a model file holds."""
    try:
        for share in shares:
            for loss in (share.loss, share.row_loss):
                for number in numbers(loss).values():
                    exact_number(number)
    except ValueError:
        raise UsageError(
            "epsilon: a share has more digits than a model file holds; give epsilon, delta and weights fewer digits"
        ) from None


def _beta(share: Share) -> Fraction:
    """The smoothness that a share's noise allows for.

    Raises:
        UsageError: The noise is not admissible for so large a share.
    """
    try:
        return smooth_noise(share.noise, share.row_loss).beta
    except ValueError as error:
        raise UsageError(f"noise: {error}; lower --epsilon, or choose other noise") from None


def _size(loss: Loss) -> Fraction:
    return loss.rho if isinstance(loss, Concentrated) else loss.epsilon
