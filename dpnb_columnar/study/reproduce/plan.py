"""The studies of the paper's evaluation, and their size in a full and in a quick run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from dpnb_columnar.errors import UsageError
from dpnb_columnar.mechanisms.release import mechanism_named, noise_named
from dpnb_columnar.study.reproduce import sources
from dpnb_columnar.study.reproduce.cells import NO_DELTA, OWN, Method, Unit, grid
from dpnb_columnar.study.reproduce.sources import DataSet

RUNTIME = "runtime"
"""The study of training times, kept in a file of its own."""


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
    """

    name: str
    datasets: tuple[DataSet, ...]
    methods: tuple[tuple[str, str | None, str], ...]
    epsilons: tuple[str, ...]
    weights: tuple[str, ...] = (OWN,)
    bounds: tuple[int, ...] = (1,)

    def units(self, iterations: int, folds: int) -> Iterator[Unit]:
        """All units: by data set, then by split, so that a process reads and splits rarely."""
        for dataset in self.datasets:
            numeric = bool(dataset.origin.domain(dataset.name).numeric)
            # Without numeric attributes nothing takes a delta: the variants would be the pure mechanism once more.
            methods = [_method(*method) for method in self.methods if numeric or method[2] == NO_DELTA]
            for iteration, bounds, weights, method in product(range(iterations), self.bounds, self.weights, methods):
                cells = tuple(grid(folds, self.epsilons, method.private))
                yield Unit(self.name, dataset.name, method, weights, bounds, iteration, folds, cells)


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
    """Everything that is run.

    Attributes:
        mode: Name of the plan, noted in the results.
        iterations: Number of random splits of every data set.
        folds: Number of folds of each split.
        studies: The studies that have cells.
        runtime: Training times; None to leave them out.
    """

    mode: str
    iterations: int
    folds: int
    studies: tuple[Study, ...]
    runtime: Runtime | None

    def units(self) -> Iterator[Unit]:
        """All units of all studies, in order."""
        for study in self.studies:
            yield from study.units(self.iterations, self.folds)

    @property
    def datasets(self) -> Mapping[str, DataSet]:
        """Every data set of the studies, once."""
        return {dataset.name: dataset for study in self.studies for dataset in study.datasets}

    def restricted(self, studies: Sequence[str], datasets: Sequence[str], mechanisms: Sequence[str]) -> Plan:
        """The plan with these alone; an empty sequence stands for all.

        Raises:
            UsageError: The plan has none of that name.
        """
        names = [*(study.name for study in self.studies), *([RUNTIME] if self.runtime else [])]
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


def _method(mechanism: str, noise: str | None, delta: str) -> Method:
    chosen = mechanism_named(mechanism)
    return Method(mechanism, noise_named(chosen, noise) if chosen.smooth else None, delta, chosen.private)


def _known(what: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise UsageError(f"--{what}: this run has no {name!r}; it has {', '.join(known)}")


PURE = tuple(
    (mechanism, None, NO_DELTA)
    for mechanism in (
        "smooth",
        "paper",
        "trimmed-mean",
        "global",
        "global-variance",
        "histogram",
        "adaptive-histogram",
        "none",
    )
)
APPROXIMATE = tuple(
    (mechanism, noise, delta)
    for mechanism, noise in (("smooth", "gaussian"), ("smooth", "laplace"), ("paper", "gaussian"))
    for delta in ("1/n", "1/n^2")
)
EVALUATED = (*PURE, ("majority", None, NO_DELTA), *APPROXIMATE)
ALLOCATED = (("smooth", None, NO_DELTA), ("paper", None, NO_DELTA))
ALLOCATIONS = ("1:2:1", "1:1:1", "2:1:1", "3:1:1")
"""Divisions numeric:categorical:counts of the appendix."""

EPSILONS = ("0.01", "0.03", "0.05", "0.1", "0.3", "1", "3", "10")

FULL = Plan(
    mode="full",
    iterations=5,
    folds=10,
    studies=(
        Study(
            "evaluation",
            (
                sources.ADULT,
                sources.MUSHROOM,
                sources.SKIN,
                sources.SEEDS,
                sources.GLASS,
                sources.ACS,
                sources.ACS_INCOME,
                sources.NEVADA,
                sources.WYOMING,
                sources.OREGON,
                sources.WASHINGTON,
                *sources.STATES,
            ),
            EVALUATED,
            EPSILONS,
        ),
        Study(
            "bounds",
            (sources.ADULT, sources.ACS, sources.WASHINGTON),
            PURE,
            ("0.1", "1", "3"),
            bounds=(1, 10, 100, 1000),
        ),
        Study(
            "allocation",
            (sources.ADULT, sources.NUMERIC_TELLS, sources.CATEGORICAL_TELLS),
            ALLOCATED,
            EPSILONS,
            weights=ALLOCATIONS,
        ),
    ),
    runtime=Runtime(
        rows=(1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 1_700_000),
        largest_direct=20_000,
        repetitions=3,
    ),
)
"""Five iterations of ten-fold cross-validation, as in the paper."""

QUICK = Plan(
    mode="quick",
    iterations=1,
    folds=10,
    studies=(
        Study(
            "evaluation",
            (
                sources.ADULT,
                sources.MUSHROOM,
                sources.SKIN,
                sources.SEEDS,
                sources.GLASS,
                sources.SMALL_NEVADA,
            ),
            EVALUATED,
            ("0.1", "1"),
        ),
        Study("bounds", (sources.SMALL_NEVADA,), PURE, ("0.1", "1"), bounds=(1, 100)),
        Study(
            "allocation",
            (sources.NUMERIC_TELLS, sources.CATEGORICAL_TELLS),
            ALLOCATED,
            ("0.1", "1"),
            weights=ALLOCATIONS,
        ),
    ),
    runtime=Runtime(rows=(1_000, 10_000, 100_000), largest_direct=1_000, repetitions=2),
)
"""A look at everything in a few minutes."""
