"""The studies of the paper's evaluation, in a full and in a quick run.

A cell is one release scored on one fold; a unit is the cells of one method on one split, which one process runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from dpnb_columnar.core.budget import Budget, SharesRule, parse_delta, parse_epsilon, parse_shares
from dpnb_columnar.errors import UsageError, option
from dpnb_columnar.releases.attribute_weights import AUTO, NONE
from dpnb_columnar.releases.plan import mechanism_named, noise_named
from studies.figures import BASELINES
from studies.paper import data_sets
from studies.paper.data_sets import DataSet

OWN = "own"
"""Weights: the division of the budget that goes with a method. As in the paper, attributes of a kind have equal shares
where they have no weights; what has the default's weights has the default's shares."""

NO_DELTA = "0"
WEIGHTED = (NONE, AUTO)
"""Attribute weights of the evaluation: as in the paper, and the default."""


@dataclass(frozen=True, slots=True)
class Method:
    """How a model is released.

    Attributes:
        mechanism: Name of the mechanism.
        noise: Noise family; None where the mechanism takes none.
        delta: Rule for delta, ``NO_DELTA`` or one that ``parse_delta`` knows.
        private: Whether it spends a budget at all; if not, it is run once per fold, whatever the epsilons.
        attribute_weights: How attributes are weighted (``releases.attribute_weights``).
    """

    mechanism: str
    noise: str | None = None
    delta: str = NO_DELTA
    private: bool = True
    attribute_weights: str = NONE


@dataclass(frozen=True, slots=True)
class Unit:
    """Cells of one method on one split of a data set.

    Attributes:
        study: The study it belongs to.
        dataset: Name of the data set.
        method: How models are released.
        weights: Division of the budget, ``OWN`` or text such as ``2:1:1``.
        bounds: How many times as wide as declared the numeric ranges are.
        iteration: Number of the random split, from 0.
        folds: Number of folds of the split.
        cells: Pairs of epsilon (as typed, None where nothing is spent) and fold.
    """

    study: str
    dataset: str
    method: Method
    weights: str
    bounds: int
    iteration: int
    folds: int
    cells: tuple[tuple[str | None, int], ...]

    def budget(self, epsilon: str | None, rows: int) -> Budget:
        """Make the budget of a cell.

        Args:
            rows: Public number of rows of the data set.
        """
        own = SharesRule.EQUAL if self.method.attribute_weights == NONE else None
        division = own if self.weights == OWN else parse_shares(self.weights)
        return Budget(parse_epsilon(epsilon or "1"), division=division, delta=parse_delta(self.method.delta, rows))

    def seed(self, epsilon: str | None, fold: int) -> int:
        """Derive the seed of a cell's noise from the cell's identity alone, whatever runs before it.

        Attribute weights are no part of it.
        """
        method = self.method
        return _seed(
            "noise",
            self.study,
            self.dataset,
            method.mechanism,
            method.noise,
            method.delta,
            self.weights,
            self.bounds,
            epsilon,
            self.folds,
            self.iteration,
            fold,
        )


def split_seed(dataset: str, folds: int, iteration: int) -> int:
    """Derive the seed of a random split, the same for all methods and studies: they are compared on the same rows."""
    return _seed("split", dataset, folds, iteration)


def _seed(*identity: str | int | None) -> int:
    return int.from_bytes(hashlib.sha256(json.dumps(identity).encode()).digest()[:16], "big")


RUNTIME = "runtime"
"""The study of training times; they are written to a file of their own."""


@dataclass(frozen=True, slots=True)
class Study:
    """Every combination of what is listed.

    Attributes:
        name: Its name in the results.
        datasets: Data sets, small ones first: what is finished first is seen first.
        methods: (mechanism, noise, rule for delta); noise None for the mechanism's own.
        epsilons: Budgets as typed.
        weights: Divisions of the budget.
        bounds: How many times as wide as declared the numeric ranges are.
        attribute_weights: Ways to weight attributes; a method that releases none, or without noise, has the first only.
    """

    name: str
    datasets: tuple[DataSet, ...]
    methods: tuple[tuple[str, str | None, str], ...]
    epsilons: tuple[str, ...]
    weights: tuple[str, ...] = (OWN,)
    bounds: tuple[int, ...] = (1,)
    attribute_weights: tuple[str, ...] = (NONE,)

    def units(self, iterations: int, folds: int) -> Iterator[Unit]:
        """Yield all units: by data set, then by split, so that a process reads and splits rarely."""
        for dataset in self.datasets:
            methods = self._methods(numeric=bool(dataset.origin.domain(dataset.name).numeric))
            times = range(data_sets.splits(dataset.rows, iterations))
            for iteration, bounds, weights, method in product(times, self.bounds, self.weights, methods):
                # A method that spends nothing is run once per fold, under no epsilon.
                epsilons = self.epsilons if method.private else (None,)
                cells = tuple(product(epsilons, range(folds)))
                yield Unit(self.name, dataset.name, method, weights, bounds, iteration, folds, cells)

    def _methods(self, *, numeric: bool) -> list[Method]:
        """List the methods, on data with or without numeric attributes."""
        methods = []
        for mechanism, noise, delta in self.methods:
            # Without numeric attributes nothing takes a delta: the variants would be the pure mechanism once more.
            if numeric or delta == NO_DELTA:
                ways = self.attribute_weights[:1] if mechanism in BASELINES else self.attribute_weights
                methods += [_method(mechanism, noise, delta, attribute_weights) for attribute_weights in ways]
        return methods


@dataclass(frozen=True, slots=True)
class Runtime:
    """How training is timed.

    Attributes:
        rows: Sizes of the simulated censuses.
        largest_direct: The direct search is run up to this size.
        repetitions: How often each is timed.
    """

    rows: tuple[int, ...]
    largest_direct: int
    repetitions: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Studies, and how often each of their settings is repeated.

    Attributes:
        mode: Name of the plan, noted in the results.
        iterations: Number of random splits of a data set, fewer of large ones (``data_sets.splits``).
        folds: Number of folds of each split.
        studies: The studies that have cells; parts of one have its name.
        runtime: Training times; None to leave them out.
    """

    mode: str
    iterations: int
    folds: int
    studies: tuple[Study, ...]
    runtime: Runtime | None

    def units(self) -> Iterator[Unit]:
        """Yield all units of all studies, in order."""
        for study in self.studies:
            yield from study.units(self.iterations, self.folds)

    @property
    def datasets(self) -> Mapping[str, DataSet]:
        """Every data set of the studies, once."""
        return {dataset.name: dataset for study in self.studies for dataset in study.datasets}

    def restricted(self, studies: Sequence[str], datasets: Sequence[str], mechanisms: Sequence[str]) -> Plan:
        """Restrict the plan to some studies, data sets and mechanisms; an empty sequence stands for all."""
        names = list(dict.fromkeys([*(study.name for study in self.studies), *([RUNTIME] if self.runtime else [])]))
        _known("study", studies, names)
        _known("dataset", datasets, list(self.datasets))
        known = {mechanism: None for study in self.studies for mechanism, _, _ in study.methods}
        _known("mechanism", mechanisms, list(known))
        chosen = tuple(
            replace(
                study,
                datasets=tuple(each for each in study.datasets if not datasets or each.name in datasets),
                methods=tuple(each for each in study.methods if not mechanisms or each[0] in mechanisms),
            )
            for study in self.studies
            if not studies or study.name in studies
        )
        wanted = RUNTIME in studies if studies else not (datasets or mechanisms)
        return replace(self, studies=chosen, runtime=self.runtime if wanted else None)


def _method(mechanism: str, noise: str | None, delta: str, attribute_weights: str) -> Method:
    chosen = mechanism_named(mechanism)
    noise = noise_named(chosen, noise) if chosen.smooth else None
    return Method(mechanism, noise, delta, chosen.private, attribute_weights)


def _known(what: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise UsageError(f"{option(what)}: this run has no {name!r}; it has {', '.join(known)}")


PURE = tuple(
    (mechanism, None, NO_DELTA)
    for mechanism in (
        *("smooth", "paper", "trimmed-mean", "global", "global-variance"),
        *("histogram", "adaptive-histogram", "none"),
    )
)
APPROXIMATE = tuple(
    (mechanism, noise, delta)
    for mechanism, noise in (("smooth", "gaussian"), ("smooth", "laplace"), ("paper", "gaussian"))
    for delta in ("1/n", "1/n^2")
)
EVALUATED = (*PURE, ("majority", None, NO_DELTA))
ALLOCATED = (("smooth", None, NO_DELTA), ("paper", None, NO_DELTA))
ALLOCATIONS = ("1:2:1", "1:1:1", "2:1:1", "3:1:1")
"""Divisions numeric:categorical:counts of the appendix."""

EPSILONS = ("0.01", "0.03", "0.05", "0.1", "0.3", "1", "3", "10")

BENCHMARKS = (data_sets.ADULT, data_sets.MUSHROOM, data_sets.SKIN, data_sets.SEEDS, data_sets.GLASS)
"""The paper's published data sets."""

SYNTHETIC = (data_sets.NUMERIC_TELLS, data_sets.CATEGORICAL_TELLS)
SURVEYS = (data_sets.CENSUS_INCOME_NO_RECODES, data_sets.CENSUS_INCOME, data_sets.ACS, data_sets.ACS_INCOME)
CENSUSES = (data_sets.NEVADA, data_sets.WYOMING, data_sets.OREGON, data_sets.WASHINGTON, *data_sets.STATES)
LOOSE = (data_sets.ADULT, data_sets.ACS, data_sets.WASHINGTON)

FULL = Plan(
    mode="full",
    iterations=3,
    folds=10,
    studies=(
        Study("evaluation", (*BENCHMARKS, *SURVEYS, *CENSUSES), EVALUATED, EPSILONS, attribute_weights=WEIGHTED),
        Study("evaluation", (*BENCHMARKS, *SURVEYS, *CENSUSES), APPROXIMATE, ("0.1", "1", "3")),
        Study("bounds", LOOSE, PURE, ("0.1", "1", "3"), bounds=(1, 10, 100, 1000)),
        Study("allocation", (data_sets.ADULT, *SYNTHETIC), ALLOCATED, EPSILONS, weights=ALLOCATIONS),
    ),
    runtime=Runtime(
        rows=(1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 1_700_000),
        largest_direct=20_000,
        repetitions=3,
    ),
)
"""Ten-fold cross-validation, up to three times: 30 releases of each setting. The paper has five times."""

SMALL = (*BENCHMARKS, data_sets.SMALL_NEVADA)
QUICK = Plan(
    mode="quick",
    iterations=1,
    folds=10,
    studies=(
        Study("evaluation", SMALL, EVALUATED, ("0.1", "1"), attribute_weights=WEIGHTED),
        Study("evaluation", SMALL, APPROXIMATE, ("0.1", "1")),
        Study("bounds", (data_sets.SMALL_NEVADA,), PURE, ("0.1", "1"), bounds=(1, 100)),
        Study("allocation", SYNTHETIC, ALLOCATED, ("0.1", "1"), weights=ALLOCATIONS),
    ),
    runtime=Runtime(rows=(1_000, 10_000, 100_000), largest_direct=1_000, repetitions=2),
)
"""Every study in a few minutes."""
