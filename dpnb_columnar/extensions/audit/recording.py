"""Recorded releases: samplers that note each draw, and a model or its scores as named numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from random import Random
from typing import Any

from dpnb_columnar.core.mechanisms.smooth import MOMENTS
from dpnb_columnar.core.noise import ExactSampler, NoiseFamily, Sampler, SystemBits
from dpnb_columnar.core.sensitivity import RunLengthColumns, end_to_end
from dpnb_columnar.counting.countable import Rows
from dpnb_columnar.evaluation.evaluation import ScoreValues
from dpnb_columnar.model.parameters import Histogram, NaiveBayes, Normal, Presence, Table
from dpnb_columnar.training import Plan, Release, carry_out

COUNTS = (-40, -2, 0, 1, 3, 8, 60, 1000)
"""Forced answers to counts."""

LARGEST = 100_000
"""Number of remembered results at which all are forgotten."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One call of the sampler: the arguments of ``location + scale * Z``, and the answer."""

    location: Fraction
    scale: Fraction
    noise: NoiseFamily
    grid_bits: int
    answer: Fraction


@dataclass(frozen=True, slots=True)
class Answers:
    """A sampler whose answers are forced: each depends on its place in the order of draws, and on nothing else.

    Attributes:
        sizes: Answers to the first draws: the class counts, then the numbers of values, where they are released.
        seed: Seed of all other answers, counts and moments of every size and sign.
        period: Number of draws after which other answers recur, so that tables of copies agree; None for never.
        draws: The calls so far.
    """

    sizes: Sequence[int]
    seed: int
    period: int | None = None
    draws: list[Drawn] = field(default_factory=list)
    private: bool = True

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        """Answer a draw, and note it."""
        place = len(self.draws)
        answer = Fraction(self.sizes[place] if place < len(self.sizes) else self._number(place, grid_bits))
        self.draws.append(Drawn(location, scale, noise, grid_bits, answer))
        return answer

    def _number(self, place: int, grid_bits: int) -> Fraction:
        if self.period is not None:
            place = len(self.sizes) + (place - len(self.sizes)) % self.period
        return _forced(self.seed * 1000 + place, grid_bits)


@lru_cache(maxsize=LARGEST)
def _forced(seed: int, grid_bits: int) -> Fraction:
    """Make up the answer to a count or, where it has bits after the point, to a moment: the same in all releases."""
    random = Random(seed)
    if not grid_bits:
        return Fraction(random.choice(COUNTS))
    return Fraction(random.randrange(-1, 10) * random.getrandbits(random.choice((16, 20, 36))), 2**grid_bits)


@dataclass(frozen=True, slots=True)
class RecordingSampler:
    """A sampler that draws as releases do by default, from the system's random bits, and notes each draw."""

    draws: list[Drawn] = field(default_factory=list)
    sampler: Sampler = field(default_factory=lambda: ExactSampler(SystemBits()))

    @property
    def private(self) -> bool:
        """Whether the sampler's noise protects."""
        return self.sampler.private

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        """Draw, and note it."""
        answer = self.sampler(location, scale, noise, grid_bits)
        self.draws.append(Drawn(location, scale, noise, grid_bits, answer))
        return answer


@dataclass(frozen=True, slots=True)
class Record:
    """One release: its draws, and the model or the scores, or the kind of exception that it ended with."""

    draws: tuple[Drawn, ...]
    release: Release | None
    failure: str = ""


def record(plan: Plan, rows: Rows, sampler: Answers | RecordingSampler | None) -> Record:
    """Carry out a release and record it. An exception is an outcome as well: whoever sees it, learns from it."""
    release, failure = None, ""
    try:
        release = carry_out(plan, rows, draw=sampler)
    except Exception as error:
        failure = type(error).__name__
    return Record(() if sampler is None else tuple(sampler.draws), release, failure)


def numbers(release: NaiveBayes | ScoreValues) -> dict[str, float]:
    """Name every released number and every parameter computed from them: all that the receiver of a release sees."""
    return dict(_scores(release) if isinstance(release, ScoreValues) else _numbers(release))


def is_drawn(name: str) -> bool:
    """Tell from a number's name whether it was drawn, rather than computed from drawn ones."""
    return not name.endswith("*")


def _numbers(model: NaiveBayes) -> Iterator[tuple[str, float]]:
    for klass, (count, prior) in enumerate(zip(model.classes.released, model.classes.probability, strict=True)):
        yield f"count of class {klass}", count
        yield f"prior of class {klass} *", prior
    if (weighted := model.weighted_classes) is not None:
        for klass, (total, prior) in enumerate(zip(weighted.released, weighted.probability, strict=True)):
            yield f"sum of weights of class {klass}", total
            yield f"weighted prior of class {klass} *", prior
    if model.attribute_weights is not None:
        for klass, intercept in enumerate(model.intercepts):
            yield f"intercept of class {klass} *", intercept
        if (line := model.attribute_weights.line) is not None:
            yield "evidence of the line *", line.evidence
            for part in ("margins", "log_odds", "others"):
                for place, number in enumerate(getattr(line, part)):
                    yield f"{part} of the line, point {place} *", number
    for parameters, weight in zip(model.attributes, model.weights, strict=True):
        name = parameters.attribute
        if model.attribute_weights is not None:
            yield f"weight of {name} *", weight
        if not isinstance(parameters, Table) and parameters.presence is not None:
            yield from _cells(f"presence of {name}", parameters.presence)
        if isinstance(parameters, Normal):
            for part, drawn_numbers in (("released_mean", parameters.released_mean), parameters.released_spread):
                for klass, number in enumerate(drawn_numbers):
                    yield f"{part} of {name}, class {klass}", number
            for part in ("mean", "deviation"):
                for klass, number in enumerate(getattr(parameters, part)):
                    yield f"{part} of {name}, class {klass} *", number
            continue
        yield from _cells(name, parameters)


def _scores(scores: ScoreValues) -> Iterator[tuple[str, float]]:
    """Name the counts of scores, and those and the sums of each group; the figures follow from them."""
    for klass, counts in enumerate(scores.counts):
        for place, count in enumerate(counts):
            yield f"count of bin {place}, class {klass}", count
    for division in scores.groups:
        columns = ":".join(division.columns)
        for group, by_class in enumerate(division.counts):
            for klass, predicted in enumerate(by_class):
                for place, count in enumerate(predicted):
                    yield f"count of {columns} {group}, class {klass} predicted as {place}", count
        for group, total in enumerate(division.expected or ()):
            yield f"sum of probabilities of {columns} {group}", total


def _cells(name: str, cells: Table | Histogram | Presence) -> Iterator[tuple[str, float]]:
    for klass, (counts, shares) in enumerate(zip(cells.released, cells.probability, strict=True)):
        for cell, (count, share) in enumerate(zip(counts, shares, strict=True)):
            yield f"count of {name} {cell}, class {klass}", count
            yield f"probability of {name} {cell}, class {klass} *", share


@contextmanager
def remembered_searches() -> Iterator[None]:
    """Let releases in this block look up moments and sensitivities that they have computed before.

    An audit releases the same few columns thousands of times. Moments and sensitivities are functions of the sample and
    of public numbers, so no result changes.
    """
    original = dict(MOMENTS)
    MOMENTS.update(
        {
            query: replace(moment, statistics=_Remembered(moment.statistics), search=_Remembered(moment.search))
            for query, moment in original.items()
        }
    )
    try:
        yield
    finally:
        MOMENTS.update(original)


class _Remembered:
    """A function of columns and public numbers of each that remembers its results by column."""

    def __init__(self, function: Callable[..., list[Any]]) -> None:
        self._function = function
        self._results: dict[tuple[Any, ...], Any] = {}

    def __call__(self, columns: RunLengthColumns, *public: Any) -> list[Any]:
        numbers = zip(columns.cells.tolist(), *(array.tolist() for array in public), strict=True)
        each = [columns[place] for place in range(len(columns))]
        keys = [
            (column.codes.tobytes(), column.counts.tobytes(), *key) for column, key in zip(each, numbers, strict=True)
        ]
        if len(self._results) + len(keys) > LARGEST:
            self._results.clear()
        new = [place for place, key in enumerate(keys) if key not in self._results]
        if new:
            asked = end_to_end([each[place] for place in new], columns.cells[new].tolist())
            results = self._function(asked, *(array[new] for array in public))
            self._results.update(zip((keys[place] for place in new), results, strict=True))
        return [self._results[key] for key in keys]
