"""``advise(domain, budget, rows) -> Advice``: what each mechanism would lose, and which one to choose."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from dpnb_columnar.advice.population import population
from dpnb_columnar.advice.rehearsal import Outcome, rehearse
from dpnb_columnar.budget import Budget
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import UsageError
from dpnb_columnar.sensitivity.column import LARGEST_SIZE

WIDE = 10
"""How many times too wide bounds are in the second population."""

PREFERRED = ("adaptive-histogram", "histogram", "smooth")
"""Chosen first among mechanisms that are as good; then the others in their order."""

TIE = 0.002
"""Mechanisms whose accuracies are no further apart are as good."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """One mechanism on both populations.

    Attributes:
        mechanism: Its name.
        tight: On values that fill the declared bounds.
        wide: On bounds that are ``WIDE`` times too wide.
    """

    mechanism: str
    tight: Outcome
    wide: Outcome

    @property
    def lost(self) -> float:
        """Accuracy lost, averaged over both."""
        return (self.tight.lost + self.wide.lost) / 2


@dataclass(frozen=True, slots=True)
class Advice:
    """What a rehearsal says.

    Attributes:
        rows: Rows of the invented populations.
        prospects: Every private mechanism that the budget suffices for, with its default noise.
    """

    rows: int
    prospects: tuple[Prospect, ...]

    @property
    def ranked(self) -> tuple[Prospect, ...]:
        """The recommended one, then the others from the best to the worst."""
        order = {name: place for place, name in enumerate(PREFERRED)}
        losses = sorted(self.prospects, key=lambda prospect: prospect.lost)
        best = losses[0].lost
        tied = [prospect for prospect in losses if prospect.lost <= best + TIE]
        chosen = min(tied, key=lambda prospect: order.get(prospect.mechanism, len(order)))
        return (chosen, *(prospect for prospect in losses if prospect is not chosen))

    @property
    def recommended(self) -> str:
        """Name of the mechanism to choose."""
        return self.ranked[0].mechanism


@lru_cache
def advise(domain: Domain, budget: Budget, rows: int) -> Advice:
    """Rehearse every private mechanism on invented populations.

    The same arguments give the same advice. It spends nothing, and holds for the invented rows: no real
    row is read. It takes about a second per ten attributes, and is cached: plans of several mechanisms need the same.

    Args:
        domain: The declared domain.
        budget: What the release may spend. Its delta is left aside: every mechanism draws its default noise, which
            needs none.
        rows: Public number of rows.

    Raises:
        UsageError: if the budget is too small for every mechanism.
    """
    pure = replace(budget, delta=Fraction(0))
    rows = min(rows, LARGEST_SIZE)
    tight, wide = (rehearse(population(domain, looseness), pure, rows) for looseness in (1, WIDE))
    if not tight:
        raise UsageError("epsilon is too small for every mechanism; raise --epsilon, or declare fewer attributes")
    return Advice(rows, tuple(Prospect(name, outcome, wide[name]) for name, outcome in tight.items()))
