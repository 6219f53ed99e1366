"""``python -m studies.paper``: the evaluation of the paper, run again, and its report."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpnb_columnar.cli.console import print_line, print_table, print_warning, stage
from dpnb_columnar.cli.main import PlainCommand, run
from dpnb_columnar.runtime.outputs import check_parquet
from dpnb_columnar.runtime.unfinished import exists

if TYPE_CHECKING:
    from studies.paper.reproduction import Progress, Reproduction

LINE_EVERY = 60.0
"""Seconds between two lines of progress where there is no terminal."""

DEFAULT_OUTPUT = Path("results.parquet")

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command(cls=PlainCommand)
def command(
    data: Annotated[
        Path, typer.Option(help="Folder with raw or prepared data sets.", metavar="FOLDER", show_default=False)
    ],
    output: Annotated[Path, typer.Option(help="Results; taken up again if there are any.")] = DEFAULT_OUTPUT,
    quick: Annotated[bool, typer.Option("--quick", help="A few minutes: less of everything.")] = False,
    report: Annotated[
        Path | None,
        typer.Option(help="Write the report; replaced if it exists.", metavar="FILE.html", show_default=False),
    ] = None,
    study: Annotated[
        list[str] | None,
        typer.Option(
            help="evaluation, bounds, allocation or runtime; repeat for more.", metavar="NAME", show_default="all"
        ),
    ] = None,
    dataset: Annotated[
        list[str] | None, typer.Option(help="Data set; repeat for more.", metavar="NAME", show_default="all")
    ] = None,
    mechanism: Annotated[
        list[str] | None, typer.Option(help="Mechanism; repeat for more.", metavar="NAME", show_default="all")
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(min=1, help="Processes side by side.", metavar="INTEGER", show_default="one per processor"),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Start afresh; results there are replaced.")] = False,
) -> None:
    """Run the evaluation of the paper again, and report it.

    Accuracy against epsilon, looser bounds, divisions of the budget, and training
    times. The folder holds raw downloads, as for datasets prepare, or prepared
    files such as adult.parquet, and ipums1940-wyoming.parquet and the like where
    you have them; simulated states stand in for them. Raw files are verified and
    prepared into OUTPUT's .work folder; data sets that are absent are left out.

    A run that was interrupted is taken up where it ended. Training times are
    written beside the results, as OUTPUT's .runtime.parquet. The full run takes
    about half an hour on two processors.

    The results are exact: those on these public data sets may be shown, those on
    other data would be CONFIDENTIAL.

    \b
    Examples:
      python -m studies.paper --data downloads --quick --report quick.html
      python -m studies.paper --data downloads --output results.parquet
      python -m studies.paper --data downloads --study bounds --mechanism smooth
    """
    from dpnb_columnar.errors import MissingInputError
    from dpnb_columnar.runtime.outputs import check_output
    from studies.paper import experiments as plans
    from studies.paper.figure_page import check_page
    from studies.paper.reproduction import locate, resume, run_cells, run_timings
    from studies.paper.reproduction_page import printed_table, write_report

    check_parquet(output)
    check_output(output, overwrite=True)
    plan = (plans.QUICK if quick else plans.FULL).restricted(study or (), dataset or (), mechanism or ())
    if report is not None:
        check_page(report, overwrite=True)
    with stage("finding and preparing data sets"):
        located, absent = locate(plan.datasets.values(), data, output.with_name(f"{output.stem}.work"))
    for each in absent:
        print_warning(f"{each.name}: left out, its files are absent: {each.remedy}")
    if not located and plan.runtime is None:
        raise MissingInputError(f"{data}: holds none of the data sets")
    reproduction = resume(plan, located, output, overwrite=overwrite)
    with _progress(reproduction) as progress:
        cells = run_cells(reproduction, processes or _processors(), progress)
    with stage("timing"):
        run_timings(reproduction)
    header, lines = printed_table(cells)
    if lines:
        print_table(header, lines)
        print_line()
        print_line(
            "accuracy in cross-validation, at epsilon 0.1 / 1, by attribute weights: mean, and 5 % quantile of the "
            "releases; none has no epsilon"
        )
    print_line(f"wrote {output}: {len(cells)} cells")
    if report is not None:
        times = reproduction.runtime.path if reproduction.runtime else None
        write_report(output, report, times if times and exists(times) else None, overwrite=True)
        print_line(f"wrote {report}")


def _processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _progress(reproduction: Reproduction) -> Iterator[Progress]:
    """Show a bar on a terminal, a line a minute elsewhere. Numbers of cells are public."""
    if not sys.stderr.isatty():
        yield _ProgressLines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("evaluating"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=600) as bar:
        task = bar.add_task("evaluating")
        yield lambda done, total: bar.update(task, completed=done, total=total)


class _ProgressLines:
    """Writes a line of progress now and then, with an estimate of the time that is left."""

    def __init__(self) -> None:
        self._begun = self._written = time.monotonic()
        self._done_before: int | None = None

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self._done_before is None:
            self._done_before = done
        if now - self._written >= LINE_EVERY:
            self._written = now
            left = (now - self._begun) / max(done - self._done_before, 1) * (total - done)
            print_warning(f"{done} of {total} cells, about {left / 60:.0f} min left")


if __name__ == "__main__":
    run(program=app, name="python -m studies.paper")
