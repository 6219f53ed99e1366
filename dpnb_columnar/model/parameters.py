"""What a model holds: released numbers, the parameters made of them, and the guarantee they were released under.

Nothing here is confidential. No exact count, no sensitivity, no trimmed statistic of the rows and no seed has a place
here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpnb_columnar.budget import Neighbours, Share

LARGEST_COUNT = 2**53
"""Released counts are cut off here, so that both file formats hold them exactly."""


SPREADS = ("released_variance", "released_deviation", "released_square")
"""What the spread of a numeric attribute may have been drawn as: every ``Normal`` has one of them."""


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """The classes' released counts and the prior probabilities made of them.

    Attributes:
        released: Per class, the noisy count as it was drawn; may be negative.
        probability: Per class, positive, adding up to 1.
    """

    released: tuple[int, ...]
    probability: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Normal:
    """A numeric attribute as one truncated normal distribution per class, on the attribute's scale.

    Attributes:
        attribute: Attribute name.
        released_mean: Per class, the noisy mean as it was drawn, in the scale's unit.
        released_variance: Per class, the noisy variance as it was drawn, in the scale's unit squared; may be negative.
            None where the spread was drawn as something else.
        mean: Per class, location of the distribution, within the declared bounds.
        deviation: Per class, its scale, positive and at most the width of the declared bounds.
        released_deviation: Per class, the noisy standard deviation as it was drawn, in the scale's unit; may be
            negative. None unless the spread was drawn so.
        released_square: Per class, the noisy mean of the squared distances from the scale's origin as it was drawn, in
            the scale's unit squared; may be negative. None unless the spread was drawn so.
    """

    attribute: str
    released_mean: tuple[float, ...]
    released_variance: tuple[float, ...] | None
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    released_deviation: tuple[float, ...] | None = None
    released_square: tuple[float, ...] | None = None

    @property
    def released_spread(self) -> tuple[str, tuple[float, ...]]:
        """What the spread was drawn as, by the name of its attribute."""
        found = [(name, drawn) for name in SPREADS if (drawn := getattr(self, name)) is not None]
        (spread,) = found
        return spread


@dataclass(frozen=True, slots=True)
class Table:
    """A categorical attribute as one probability per class and category.

    Attributes:
        attribute: Attribute name.
        released: Per class, the noisy count of every category as it was drawn; may be negative.
        probability: Per class, the probability of every category: positive, adding up to 1 within a class.
    """

    attribute: str
    released: tuple[tuple[int, ...], ...]
    probability: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Histogram:
    """A numeric attribute as one histogram per class over public bins.

    Attributes:
        attribute: Attribute name.
        edges: Bin b holds the scale's codes ``edges[b] <= code < edges[b + 1]``; from 0 to the last code plus 1.
        released: Per class, the noisy count of every bin as it was drawn.
        probability: Per class, the probability of every bin: positive, adding up to 1 within a class.
    """

    attribute: str
    edges: tuple[int, ...]
    released: tuple[tuple[int, ...], ...]
    probability: tuple[tuple[float, ...], ...]


AttributeParameters = Normal | Table | Histogram


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What a release promises about every row.

    Attributes:
        mechanism: Name of the mechanism.
        noise: Noise family of the smooth releases; None where there is none.
        epsilon: Total privacy loss, exact; None where the mechanism is not private.
        delta: Total delta, exact, 0 for a pure guarantee; None where the mechanism is not private.
        neighbours: The relation that epsilon refers to; None where the mechanism is not private.
        composition: Every query with its share; the shares add up to epsilon and delta, or to rho, exactly.
        seeded: The noise came from a seed, so it can be repeated and protects nobody.
        rho: Total concentrated loss, which implies (epsilon, delta); None unless the shares are concentrated.
    """

    mechanism: str
    noise: str | None
    epsilon: Fraction | None
    delta: Fraction | None
    neighbours: Neighbours | None
    composition: tuple[Share, ...]
    seeded: bool
    rho: Fraction | None = None

    @property
    def private(self) -> bool:
        """Whether the model carries a guarantee at all."""
        return self.epsilon is not None and not self.seeded
