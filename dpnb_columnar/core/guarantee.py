"""The guarantee of a release: the total privacy loss, and its composition."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpnb_columnar.core.budget import Neighbours, Share
from dpnb_columnar.domain import Unit
from dpnb_columnar.domain.names import number_text


@dataclass(frozen=True, slots=True, repr=False)
class Guarantee:
    """What a release promises about every row, or about every unit.

    Attributes:
        mechanism: Name of the mechanism.
        noise: Noise family of the smooth releases; None where there is none.
        epsilon: Total privacy loss, exact; None where the mechanism is not private.
        delta: Total delta, exact, 0 for a pure guarantee; None where the mechanism is not private.
        neighbours: The relation that epsilon refers to; None where the mechanism is not private.
        composition: Every query with its share; the shares add up to epsilon and delta, or to rho, exactly.
        seeded: The noise came from a seed, so it can be repeated and protects nobody.
        rho: Total concentrated loss, which implies (epsilon, delta); None unless the shares are concentrated.
        reserved: The share that is left for a later release, given this model; no part of the composition, and not
            spent. None for none.
        unit: The unit that the relation is of; None where it is of rows.
    """

    mechanism: str
    noise: str | None
    epsilon: Fraction | None
    delta: Fraction | None
    neighbours: Neighbours | None
    composition: tuple[Share, ...]
    seeded: bool
    rho: Fraction | None = None
    reserved: Share | None = None
    unit: Unit | None = None

    @property
    def private(self) -> bool:
        """Whether the model carries a guarantee at all."""
        return self.epsilon is not None and not self.seeded

    @property
    def shares(self) -> tuple[Share, ...]:
        """Every share of the budget, that which is left last."""
        return self.composition if self.reserved is None else (*self.composition, self.reserved)

    def __repr__(self) -> str:
        """Name what is promised, and of how many queries it is composed, in one line; ``guarantee_text`` says more."""
        mechanism = f"mechanism {self.mechanism}" + (f", noise {self.noise}" if self.noise else "")
        if self.epsilon is None or self.seeded:
            return f"Guarantee: NO GUARANTEE, {mechanism}"
        delta = f", delta {number_text(self.delta)}" if self.delta else ""
        counted = f"rows of {self.neighbours}" if self.unit is None else f"units of {self.neighbours}"
        return (
            f"Guarantee: epsilon {number_text(self.epsilon)}{delta} for {counted}, {mechanism}, composition of "
            f"{len(self.composition)}" + ("" if self.reserved is None else ", a share reserved")
        )
