"""The interface of a mechanism: the queries it makes, and the model parameters it makes of their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dpnb_columnar.budget import Division, Request, Share
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.domain import Domain
from dpnb_columnar.model.parameters import AttributeParameters, ClassCounts
from dpnb_columnar.noise import Sampler

CLASS_COUNTS = "class counts"

WEIGHTED_COUNTS = "weighted class counts"
"""Query for the sums of the rows' weights, per class."""


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
    def default_noise(self) -> str:
        """Noise family for smooth sensitivity where none is chosen."""

    @property
    def division(self) -> Division:
        """Division of the budget where none is chosen."""

    def requests(self, domain: Domain, division: Division, noise: str) -> list[Request]:
        """List the queries, the class counts first.

        Args:
            domain: The declared domain.
            division: Division of the budget.
            noise: Noise family for smooth sensitivity.
        """

    def classes(self, statistics: Statistics, share: Share, draw: Sampler) -> ClassCounts:
        """Make noisy class counts and priors.

        Args:
            statistics: Exact counts. Confidential.
            share: Share of the budget for the class counts.
            draw: Sampler of the noise.
        """

    def weighted_classes(self, statistics: Statistics, share: Share, draw: Sampler) -> ClassCounts:
        """Make noisy sums of weights per class, in steps, and priors; asked where the domain declares a weight.

        Args:
            statistics: Exact counts. Confidential.
            share: Share of the budget for these sums.
            draw: Sampler of the noise.
        """

    def attributes(self, context: QueryContext) -> list[AttributeParameters]:
        """Make the noisy parameters of every attribute that the mechanism models."""
