"""What a mechanism is: the queries it makes, and the parameters it makes of their answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from dpnb_columnar.budget import Request, Share, Weights
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.domain import Domain
from dpnb_columnar.model.parameters import AttributeParameters, ClassCounts
from dpnb_columnar.noise import Sampler

CLASS_COUNTS = "class counts"


@dataclass(frozen=True, slots=True)
class Release:
    """What a mechanism is given to release the attributes.

    Attributes:
        statistics: Exact counts. Confidential.
        sizes: Released class counts, public.
        shares: Shares by query and attribute.
        draw: Where all noise comes from.
    """

    statistics: Statistics
    sizes: tuple[int, ...]
    shares: Mapping[tuple[str, str | None], Share]
    draw: Sampler


class Mechanism(Protocol):
    """One way to release a model.

    Claim of a private mechanism: ``attributes`` spends what the shares of its ``requests`` say and no more, under the
    add-remove relation, each share's ``row_loss`` being the loss of its query.
    """

    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str:
        """One line for the command line's help."""

    @property
    def private(self) -> bool:
        """Whether a model made by it carries a guarantee."""

    @property
    def smooth(self) -> bool:
        """Whether it takes a noise family for smooth sensitivity."""

    @property
    def default_noise(self) -> str:
        """The family it takes if none is named."""

    @property
    def weights(self) -> Weights:
        """Its own division of the budget."""

    def requests(self, domain: Domain, weights: Weights, noise: str) -> list[Request]:
        """The queries it makes, the class counts first."""

    def classes(self, statistics: Statistics, share: Share, draw: Sampler) -> ClassCounts:
        """Release the class counts."""

    def attributes(self, release: Release) -> list[AttributeParameters]:
        """Release the attributes."""
