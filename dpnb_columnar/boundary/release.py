"""``release(Statistics, Budget) -> Model``: the only code that sees both sides; all noise is drawn under it.

Claim: under the budget's neighbouring relation the model is epsilon-differentially private, epsilon being the sum of
the composition table. Proof in docs/privacy.md, sections 2 to 6.
"""

from __future__ import annotations

from fractions import Fraction
from importlib.metadata import version

from dpnb_columnar import __version__
from dpnb_columnar.aggregation.statistics import Statistics
from dpnb_columnar.boundary.baselines import Majority, Plain
from dpnb_columnar.boundary.histogram import BinCounts
from dpnb_columnar.boundary.mechanism import CLASS_COUNTS, Mechanism, Release
from dpnb_columnar.boundary.smooth import Smooth
from dpnb_columnar.boundary.tuning import NOISE_FAMILIES
from dpnb_columnar.budget import Budget, Request, Share, compose
from dpnb_columnar.budget.composition import PARALLEL_CELLS
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import UsageError
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.parameters import Guarantee
from dpnb_columnar.noise import ExactSampler, Sampler, SystemBits
from dpnb_columnar.sensitivity.accuracy import SMALLEST_BETA

MECHANISMS: dict[str, Mechanism] = {
    mechanism.name: mechanism for mechanism in (Smooth(), BinCounts(), Majority(), Plain())
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
        noise=smooth_family(chosen, noise) if chosen.smooth else None,
        epsilon=budget.epsilon if chosen.private else None,
        delta=Fraction(0) if chosen.private else None,
        neighbours=budget.neighbours if chosen.private else None,
        composition=shares if chosen.private else (),
        seeded=not draw.private,
    )
    software = {"dpnb-columnar": __version__, **{name: version(name) for name in LIBRARIES}}
    return Model(statistics.domain, guarantee, classes, tuple(attributes), software)


def plan(domain: Domain, budget: Budget, mechanism: str = "smooth", noise: str | None = None) -> tuple[Share, ...]:
    """The composition table of a release, from public facts alone; its first row is the class counts.

    Raises:
        UsageError: As ``release``.
    """
    chosen = mechanism_named(mechanism)
    weights = budget.weights or chosen.weights
    counts = Request(CLASS_COUNTS, None, len(domain.classes), PARALLEL_CELLS, "laplace", weights.counts)
    shares = compose([counts, *chosen.requests(domain, weights, smooth_family(chosen, noise))], budget)
    smallest = min(shares, key=lambda share: share.row_epsilon)
    if chosen.smooth and smallest.row_epsilon < 8 * SMALLEST_BETA:
        raise UsageError(
            f"epsilon is too small for {len(shares)} queries: the smallest share is {float(smallest.epsilon):.2g}; "
            "raise --epsilon, or declare fewer attributes"
        )
    return shares


def mechanism_named(name: str) -> Mechanism:
    """The mechanism of this name.

    Raises:
        UsageError: There is none.
    """
    if name not in MECHANISMS:
        raise UsageError(f"mechanism: no {name!r}; known mechanisms: {', '.join(MECHANISMS)}")
    return MECHANISMS[name]


def smooth_family(mechanism: Mechanism, name: str | None) -> str:
    """The noise family for smooth releases, the default if none is named.

    Raises:
        UsageError: Unknown, or the mechanism uses none.
    """
    if name is None:
        return NOISE_FAMILIES[0]
    if not mechanism.smooth:
        raise UsageError(f"noise: mechanism {mechanism.name!r} takes no noise family; leave --noise out")
    if name not in NOISE_FAMILIES:
        hint = "; laplace needs a constant sensitivity, and is what counts get" if name == "laplace" else ""
        raise UsageError(
            f"noise: no {name!r} for smooth sensitivity; known families: {', '.join(NOISE_FAMILIES)}{hint}"
        )
    return name
