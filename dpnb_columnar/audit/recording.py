"""Samplers that note what a release asks of them, with forced answers or with real ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random

from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.mechanisms.plan import ReleasePlan
from dpnb_columnar.mechanisms.release import release
from dpnb_columnar.model.model import Model
from dpnb_columnar.noise import ExactSampler, NoiseFamily, Sampler, SystemBits

COUNTS = (-40, -2, 0, 1, 3, 8, 60, 1000)
MOMENT_BITS = 20


@dataclass(frozen=True, slots=True)
class Drawn:
    """One call of the sampler: what ``location + scale * Z`` was asked for, and what was answered."""

    location: Fraction
    scale: Fraction
    noise: NoiseFamily
    grid_bits: int
    answer: Fraction


@dataclass(frozen=True, slots=True)
class Answers:
    """A sampler whose answers are fixed: they depend on the place in the order of draws, and on nothing else.

    Attributes:
        sizes: Answers to the first draws, the class counts.
        seed: The answers to all others, counts and moments of every size and sign.
        draws: What was asked.
    """

    sizes: Sequence[int]
    seed: int
    draws: list[Drawn] = field(default_factory=list)
    private: bool = True

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        place = len(self.draws)
        answer = Fraction(self.sizes[place] if place < len(self.sizes) else self._number(place, grid_bits))
        self.draws.append(Drawn(location, scale, noise, grid_bits, answer))
        return answer

    def _number(self, place: int, grid_bits: int) -> Fraction:
        random = Random(self.seed * 1000 + place)
        if not grid_bits:
            return Fraction(random.choice(COUNTS))
        return Fraction(random.randrange(-1, 10) * random.getrandbits(random.choice((16, 20, 36))), 2**grid_bits)


@dataclass(frozen=True, slots=True)
class Witness:
    """A sampler that draws as releases do by default, from the system's random bits, and notes everything."""

    draws: list[Drawn] = field(default_factory=list)
    sampler: Sampler = field(default_factory=lambda: ExactSampler(SystemBits()))

    @property
    def private(self) -> bool:
        return self.sampler.private

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        answer = self.sampler(location, scale, noise, grid_bits)
        self.draws.append(Drawn(location, scale, noise, grid_bits, answer))
        return answer


@dataclass(frozen=True, slots=True)
class Record:
    """One release: all it drew, and the model, or the kind of exception that it ended with."""

    draws: tuple[Drawn, ...]
    model: Model | None
    failure: str = ""


def record(plan: ReleasePlan, statistics: Statistics, sampler: Answers | Witness | None) -> Record:
    """Release a model and note what happened. An exception is an outcome as well: who sees it, learns from it.

    Without a sampler the release has its own, and nobody sees what it draws.
    """
    model, failure = None, ""
    try:
        model = release(statistics, plan, sampler)
    except Exception as error:
        failure = type(error).__name__
    return Record(() if sampler is None else tuple(sampler.draws), model, failure)
