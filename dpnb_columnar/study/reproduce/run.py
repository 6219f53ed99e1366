"""The whole evaluation: what is missing from the results is run, side by side, and added to them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from dpnb_columnar.errors import MissingInputError
from dpnb_columnar.runtime.workers import side_by_side
from dpnb_columnar.study.reproduce.cells import Unit
from dpnb_columnar.study.reproduce.plan import Plan
from dpnb_columnar.study.reproduce.results import ResultsFile, results_file, runtime_file
from dpnb_columnar.study.reproduce.sources import DataSet
from dpnb_columnar.study.reproduce.timing import measure, timings
from dpnb_columnar.study.reproduce.work import Located, Row, run_unit

SAVED_EVERY = 5.0
"""Seconds of work that may be lost when a run is killed, beside the units under way."""

Progress = Callable[[int, int], None]
"""Called with the number of cells that are done and of all cells."""


@dataclass(frozen=True, slots=True)
class Absent:
    """A data set that is not there.

    Attributes:
        name: Its name in the results.
        remedy: What to get, and where to put it.
    """

    name: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A plan on the data sets that are there, with the results so far.

    Attributes:
        plan: What is run.
        located: Data sets by name.
        results: The file of the cells.
        cells: Its rows so far.
        runtime: The file of the training times; None where none are taken.
        times: Its rows so far.
    """

    plan: Plan
    located: dict[str, Located]
    results: ResultsFile
    cells: pl.DataFrame
    runtime: ResultsFile | None
    times: pl.DataFrame

    @property
    def units(self) -> list[Unit]:
        """All units, those of absent data sets left out."""
        return [unit for unit in self.plan.units() if unit.dataset in self.located]

    def missing(self) -> list[Unit]:
        """What is not in the results yet: units with their missing cells."""
        done = self.results.keys(self.cells)
        found = []
        for unit in self.units:
            named = (unit.study, unit.dataset, unit.method.mechanism, unit.method.noise, unit.method.delta)
            where = (*named, unit.weights, unit.bounds, unit.iteration)
            cells = tuple(
                (epsilon, fold)
                for epsilon, fold in unit.cells
                if (*where, None if epsilon is None else float(epsilon), fold) not in done
            )
            if cells:
                found.append(replace(unit, cells=cells))
        return found


def locate(datasets: Iterable[DataSet], data: Path, work: Path) -> tuple[list[Located], list[Absent]]:
    """Find data sets below a folder, or make them.

    Args:
        datasets: What to find.
        data: Folder with raw or prepared files.
        work: Folder for what is prepared and simulated; it is created.

    Raises:
        MissingInputError: ``data`` is no folder.
        DataError: A raw file is not the one that is declared.
        OutputError: A file cannot be written.
    """
    if not data.is_dir():
        raise MissingInputError(f"{data}: no such folder; name the folder of the data sets with --data")
    located, absent = [], []
    for dataset in datasets:
        work.mkdir(exist_ok=True)
        file = dataset.origin.find(dataset.name, data, work)
        if file is None:
            absent.append(Absent(dataset.name, dataset.origin.remedy(dataset.name, data)))
        else:
            located.append(Located(dataset.name, file, dataset.origin.domain(dataset.name), dataset.rows))
    return located, absent


def evaluation(plan: Plan, located: Sequence[Located], output: Path, *, overwrite: bool) -> Evaluation:
    """Take up the results that are there, or begin afresh.

    Raises:
        OutputError: They were made with something else.
    """
    results = results_file(output, plan, located)
    runtime = runtime_file(output, plan) if plan.runtime else None
    cells = results.frame([])
    times = pl.DataFrame() if runtime is None else runtime.frame([])
    if not overwrite:
        results, cells = results.read()
        if runtime is not None:
            runtime, times = runtime.read()
    return Evaluation(plan, {data.name: data for data in located}, results, cells, runtime, times)


def run_cells(found: Evaluation, processes: int, progress: Progress) -> pl.DataFrame:
    """Run the missing cells and add them to the results, which are written every few seconds.

    Returns:
        All rows of the results.
    """
    missing = found.missing()
    total = sum(len(unit.cells) for unit in found.units)
    done = total - sum(len(unit.cells) for unit in missing)
    tasks = [(unit, found.located[unit.dataset]) for unit in missing]
    cells, rows = found.cells, list[Row]()

    def save() -> None:
        nonlocal cells
        cells = pl.concat([cells, found.results.frame(rows)])
        rows.clear()
        found.results.write(cells)

    saved = time.monotonic()
    progress(done, total)
    try:
        with closing(side_by_side(_run, tasks, processes)) as finished:
            for (unit, _), new in finished:
                rows += new
                done += len(unit.cells)
                progress(done, total)
                if time.monotonic() - saved >= SAVED_EVERY:
                    save()
                    saved = time.monotonic()
    finally:
        if rows:
            save()
    if not found.results.path.exists():  # nothing but training times was asked for
        save()
    return cells


def run_timings(found: Evaluation) -> pl.DataFrame:
    """Take the missing training times, in this process alone, and add them to theirs.

    Returns:
        All rows of the training times.
    """
    times = found.times
    if found.runtime is None or found.plan.runtime is None:
        return times
    done = found.runtime.keys(times)
    wanted = [timing for timing in timings(found.plan.runtime) if timing not in done]
    for row in measure(wanted):
        times = pl.concat([times, found.runtime.frame([row])])
        found.runtime.write(times)
    return times


def _run(task: tuple[Unit, Located]) -> list[Row]:
    return run_unit(*task)
