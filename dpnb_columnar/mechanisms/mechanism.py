"""The interface of a mechanism, and the queries that the private ones share: counts of classes, cells and values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from dpnb_columnar.budget import Division, Parallel, Pure, Request, RowEffect, Share, SharesRule
from dpnb_columnar.budget.composition import PARALLEL_CELLS
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.domain import Categorical, Domain, Missing, Numeric
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_noise
from dpnb_columnar.model import postprocessing
from dpnb_columnar.core.measurement import CLASS_COUNTS as CLASS_COUNTS
from dpnb_columnar.core.measurement import COUNTS as COUNTS
from dpnb_columnar.core.measurement import LAPLACE as LAPLACE
from dpnb_columnar.core.measurement import PRESENCE as PRESENCE
from dpnb_columnar.core.measurement import WEIGHTED_COUNTS as WEIGHTED_COUNTS
from dpnb_columnar.model.parameters import AttributeParameters, ClassCounts, Presence, Table
from dpnb_columnar.core.measurement import within_largest
from dpnb_columnar.model.tuning import cell_prior
from dpnb_columnar.noise import Laplace, NoiseFamily, Sampler


@dataclass(frozen=True, slots=True, repr=False)
class QueryContext:
    """Confidential statistics, with the shares and the sampler that every query on them must use.

    Attributes:
        statistics: Exact counts. Confidential.
        sizes: Released class counts, public.
        presence: Per numeric attribute with a query ``values present``, and per class, its released counts. Public.
        shares: Shares of the budget by query and attribute. Public.
        draw: Sampler of all noise.
    """

    statistics: Statistics
    sizes: tuple[int, ...]
    presence: Mapping[str, Sequence[Sequence[int]]]
    shares: Mapping[tuple[str, str | None], Share]
    draw: Sampler


class Mechanism(Protocol):
    """A way to make a model's parameters from noisy answers to queries.

    Claim of a private mechanism: ``classes``, ``weighted_classes`` and ``attributes`` together spend what the shares of
    its ``requests``, and that of the weighted counts, say and no more, under the add-remove relation, each share's
    ``row_cost`` being the loss of its query.
    """

    @property
    def name(self) -> str:
        """Name on the command line and in the model."""

    @property
    def summary(self) -> str:
        """One line for the command line's help."""

    @property
    def private(self) -> bool:
        """Whether a model made by it carries a guarantee."""

    @property
    def smooth(self) -> bool:
        """Whether it draws noise for smooth sensitivity, so that a noise family may be chosen."""

    @property
    def binned(self) -> bool:
        """Whether its models hold numeric attributes as histograms."""

    @property
    def truncated(self) -> bool:
        """Whether counts below zero are truncated, and nothing else is made of them."""

    @property
    def default_noise(self) -> str:
        """Noise family for smooth sensitivity where none is chosen."""

    @property
    def division(self) -> Division:
        """Division of the budget among attributes by their kind, and class counts, where none is chosen."""

    @property
    def shares_rule(self) -> SharesRule:
        """How the part of all attributes is divided among them where that is not chosen."""

    def requests(self, domain: Domain, division: Division, noise: str) -> list[Request]:
        """List the queries, the class counts first."""

    def classes(self, statistics: Statistics, share: Share, draw: Sampler) -> ClassCounts:
        """Make noisy class counts and priors.

        Args:
            statistics: Exact counts. Confidential.
        """

    def weighted_classes(self, statistics: Statistics, share: Share, draw: Sampler) -> ClassCounts:
        """Make noisy sums of weights per class, in steps, and priors; asked where the domain declares sums.

        Args:
            statistics: Exact counts. Confidential.
            share: Share of the budget for these sums.
        """

    def attributes(self, context: QueryContext) -> list[AttributeParameters]:
        """Make the noisy parameters of every attribute that the mechanism models."""


# Queries that the private mechanisms share: noisy class counts and contingency tables (docs/privacy.md, section 2).
# Released counts are exact counts with noise, rounded to whole numbers.

SENSITIVITY = Fraction(1)
"""One row changes one cell of a table by 1. Every cell that the domain declares is released, zero counts included, so
that no absence reveals anything."""


def constant(share: Share) -> bool:
    """Say whether a share's noise is admissible only for a sensitivity that is a public constant."""
    return share.noise == LAPLACE and isinstance(share.row_cost, Pure)


def constant_noise(share: Share) -> NoiseFamily:
    """Calibrate the noise of numbers whose sensitivity is a public constant to the share's loss for one row.

    A constant is its own smooth sensitivity for every beta, so families for smooth sensitivity are admissible as well.
    """
    if constant(share):
        assert isinstance(share.row_cost, Pure)
        return Laplace(share.row_cost.epsilon)
    return smooth_noise(share.noise, share.row_cost)


def noisy_counts(counts: Iterable[int], share: Share, draw: Sampler, sensitivity: Fraction = SENSITIVITY) -> list[int]:
    """Add noise to counts of disjoint cells, or to sums of weights over these.

    Together they cost the share's ``row_cost`` under add-remove: one row changes one number by the sensitivity at most.

    Args:
        counts: Exact counts. Confidential.
        sensitivity: The most that one row changes a number by. Public.
    """
    noise = constant_noise(share)
    return [int(draw(Fraction(int(count)), sensitivity, noise)) for count in counts]


class PrivateCounts:
    """Base of the private mechanisms: noisy class counts, weighted or not."""

    private = True
    binned = False
    truncated = False
    default_noise = NOISE_FAMILIES[0]
    shares_rule = SharesRule.BY_SIZE

    def classes(self, statistics: Statistics, share: Share, draw: Sampler) -> ClassCounts:
        """Draw the class counts, and make priors of them."""
        return postprocessing.class_counts(noisy_counts(statistics.class_counts, share, draw))

    def weighted_classes(self, statistics: Statistics, share: Share, draw: Sampler) -> ClassCounts:
        """Draw the sums of weights per class, and make priors of them."""
        sums, steps = weight_sums(statistics)
        return postprocessing.class_counts(noisy_counts(sums, share, draw, Fraction(steps)), steps)


def weight_sums(statistics: Statistics) -> tuple[list[int], int]:
    """Return the sums of weights per class, confidential, and the most that one row adds, public; both in steps."""
    declared, sums = statistics.domain.weight, statistics.weight_sums
    assert declared is not None
    assert sums is not None
    return [int(each) for each in sums], declared.steps


def class_counts_request(domain: Domain, division: Division, noise: str = LAPLACE) -> Request:
    """Make the query for the number of rows of each class, the first of every mechanism."""
    return Request(CLASS_COUNTS, None, len(domain.classes), PARALLEL_CELLS, noise, division.counts)


def weighted_counts_request(domain: Domain, class_counts: Request) -> Request:
    """Make the query for the sums of each class (``Domain.weight``): one share, with the noise of the class counts.

    A row adds from 0 to the cap, so a row that is replaced by one of its class moves one sum, by the difference of two
    such numbers: at most the cap, once.
    """
    assert domain.weight is not None
    reason = f"one row changes one of these sums by at most {number_text(domain.weight.cap)}"
    return replace(class_counts, query=WEIGHTED_COUNTS, parallel=Parallel(reason, RowEffect.ONE_DRAW))


def counts_request(attribute: str, domain: Domain, cells: int, weight: Fraction) -> Request:
    """Make the query for an attribute's table of ``cells`` counts within each class."""
    return Request(COUNTS, attribute, len(domain.classes) * cells, PARALLEL_CELLS, LAPLACE, weight)


def categorical_requests(domain: Domain, weight: Fraction) -> list[Request]:
    """Make the query for one contingency table per categorical attribute."""
    return [counts_request(attribute.name, domain, attribute.size, weight) for attribute in domain.categorical]


def noisy_table(context: QueryContext, attribute: Categorical) -> Table:
    """Draw the contingency table of a categorical attribute with the classes."""
    prior = cell_prior(context.shares[COUNTS, attribute.name])
    return postprocessing.table(attribute, table_counts(context, attribute), context.sizes, prior)


def table_counts(context: QueryContext, attribute: Categorical) -> list[list[int]]:
    """Draw the counts of a contingency table, per class: every cell, empty or not."""
    share = context.shares[COUNTS, attribute.name]
    return [noisy_counts(row, share, context.draw) for row in context.statistics.tables[attribute.name]]


def presence_requests(domain: Domain, division: Division, *, samples: bool = True) -> list[Request]:
    """Make the query for how many values numeric attributes have, per attribute that declares it.

    Args:
        samples: Whether the mechanism uses samples of public size: an attribute that rows without a value merely skip
            needs the number of its values for nothing else.
    """
    columns = {Missing.CATEGORY: 2} | ({Missing.SKIP: 1} if samples else {})
    return [
        Request(
            PRESENCE, each.name, len(domain.classes) * columns[each.missing], PARALLEL_CELLS, LAPLACE, division.counts
        )
        for each in domain.numeric
        if each.missing in columns
    ]


def presence_counts(statistics: Statistics, attribute: Numeric) -> list[list[int]]:
    """Count, per class, the rows with a value and, where to be missing is a category, those without. Confidential."""
    columns = statistics.columns[attribute.name]
    counts = [
        [column.size, int(rows) - column.size] for column, rows in zip(columns, statistics.class_counts, strict=True)
    ]
    return counts if attribute.missing is Missing.CATEGORY else [[present] for present, _ in counts]


def noisy_presence(
    statistics: Statistics, shares: Iterable[Share], draw: Sampler
) -> dict[str, Sequence[Sequence[int]]]:
    """Draw the counts of every query ``values present``, by attribute and class, before any other query about one."""
    queried = {share.attribute: share for share in shares if share.query == PRESENCE}
    return {
        attribute.name: [
            [within_largest(count) for count in noisy_counts(row, queried[attribute.name], draw)]
            for row in presence_counts(statistics, attribute)
        ]
        for attribute in statistics.domain.numeric
        if attribute.name in queried
    }


def presence(context: QueryContext, attribute: Numeric) -> Presence | None:
    """Make the probabilities of having a value; None where there is no query about it."""
    if attribute.name not in context.presence:
        return None
    prior = cell_prior(context.shares[PRESENCE, attribute.name])
    return postprocessing.presence(context.presence[attribute.name], context.sizes, prior)
