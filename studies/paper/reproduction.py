"""A run of the whole evaluation: runs the cells missing from the results, in parallel, and adds them to the file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from dpnb_columnar.errors import MissingInputError, option
from dpnb_columnar.runtime.unfinished import exists, is_folder
from dpnb_columnar.runtime.workers import run_in_processes
from studies.paper.accuracy import Located, Row, run_unit
from studies.paper.data_sets import DataSet, complete_rows
from studies.paper.experiments import Plan, Unit
from studies.paper.results import ResultsFile, results_file, runtime_file
from studies.paper.timing import measure, timings

SAVED_EVERY = 5.0
"""Seconds of work that may be lost when a run is killed, beside the units under way."""

Progress = Callable[[int, int], None]
"""Called with the number of finished cells and the number of all cells."""


@dataclass(frozen=True, slots=True)
class Absent:
    """A data set whose files do not exist.

    Attributes:
        name: Its name in the results.
        remedy: Which files to get, and where to put them.
    """

    name: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A plan on the data sets whose files exist, with the results so far.

    Attributes:
        plan: The studies to run.
        located: Data sets by name.
        results: The file of the cells.
        cells: Its rows so far.
        runtime: The file of the training times; None where training is not timed.
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
        """All units but those of absent data sets."""
        return [unit for unit in self.plan.units() if unit.dataset in self.located]

    def missing(self) -> list[Unit]:
        """Select the units with cells that are not in the results yet, and those cells alone."""
        done = self.results.keys(self.cells)
        units = []
        for unit in self.units:
            method = unit.method
            named = (unit.study, unit.dataset, method.mechanism, method.noise, method.delta)
            where = (*named, unit.weights, method.attribute_weights, unit.bounds, unit.iteration)
            cells = tuple(
                (epsilon, fold)
                for epsilon, fold in unit.cells
                if (*where, None if epsilon is None else float(epsilon), fold) not in done
            )
            if cells:
                units.append(replace(unit, cells=cells))
        return units


def locate(datasets: Iterable[DataSet], data: Path, work: Path) -> tuple[list[Located], list[Absent]]:
    """Locate data sets below a folder, preparing or simulating files where needed."""
    if not is_folder(data):
        raise MissingInputError(f"{data}: no such folder; name the folder of the data sets with {option('data')}")
    located, absent = [], []
    for dataset in datasets:
        work.mkdir(exist_ok=True)
        file = dataset.origin.find(dataset.name, data, work)
        if file is None:
            absent.append(Absent(dataset.name, dataset.origin.remedy(dataset.name, data)))
        else:
            domain = complete_rows(dataset.origin.domain(dataset.name))
            located.append(Located(dataset.name, file, domain, dataset.rows))
    return located, absent


def resume(plan: Plan, located: Sequence[Located], output: Path, *, overwrite: bool) -> Reproduction:
    """Resume the run whose results are in a file, or start a new one."""
    results = results_file(output, plan, located)
    runtime = runtime_file(output, plan) if plan.runtime else None
    cells = results.frame([])
    times = pl.DataFrame() if runtime is None else runtime.frame([])
    if not overwrite:
        results, cells = results.read()
        if runtime is not None:
            runtime, times = runtime.read()
    return Reproduction(plan, {data.name: data for data in located}, results, cells, runtime, times)


def run_cells(reproduction: Reproduction, processes: int, progress: Progress) -> pl.DataFrame:
    """Run the missing cells and add them to the results, which are written every few seconds."""
    missing = reproduction.missing()
    total = sum(len(unit.cells) for unit in reproduction.units)
    done = total - sum(len(unit.cells) for unit in missing)
    tasks = [(unit, reproduction.located[unit.dataset]) for unit in missing]
    cells, rows = reproduction.cells, list[Row]()

    def save() -> None:
        nonlocal cells
        cells = pl.concat([cells, reproduction.results.frame(rows)])
        rows.clear()
        reproduction.results.write(cells)

    saved = time.monotonic()
    progress(done, total)
    try:
        with closing(run_in_processes(_run, tasks, processes)) as finished:
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
    if not exists(reproduction.results.path):  # the plan holds nothing but training times
        save()
    return cells


def run_timings(reproduction: Reproduction) -> pl.DataFrame:
    """Take the missing training times, in this process alone, and add them to their file."""
    times = reproduction.times
    if reproduction.runtime is None or reproduction.plan.runtime is None:
        return times
    done = reproduction.runtime.keys(times)
    wanted = [timing for timing in timings(reproduction.plan.runtime) if timing not in done]
    for row in measure(wanted):
        times = pl.concat([times, reproduction.runtime.frame([row])])
        reproduction.runtime.write(times)
    return times


def _run(task: tuple[Unit, Located]) -> list[Row]:
    return run_unit(*task)
