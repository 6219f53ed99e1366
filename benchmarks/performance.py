"""Tables and figures of docs/performance.md and docs/journal/speed.md, from the runs of ``python -m benchmarks``.

Usage: python -m benchmarks.performance performance.parquet [--docs docs]

Without ``--docs`` the tables are printed. With it they are put between the markers of both pages, and figures into the
folder beside journal/speed.md; where a series was not measured, the pages stay as they are.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from math import isnan
from pathlib import Path

import polars as pl

from benchmarks.measurements import Measurements, millions, read_measurements, targets
from benchmarks.series import COUNTS_DUCKDB, DIFFPRIVLIB, IPUMSPY, LIGHTGBM, PARTIAL_FIT, PREDICT_PROBA, UNWEIGHTED
from benchmarks.wide_series import INGEST, PREDICT, TRAIN
from dpnb_columnar.report.figures import Axis, Point, Series
from studies.figures import DISTINCT, LogAxis, Panel, figure_file
from studies.figures import Figure as Drawing

SUMMARY, DOCUMENT = "performance.md", "journal/speed.md"
"""The page with the summary, and the one with every other table."""
FOLDER = "speed"
"""Folder of the figures, beside ``DOCUMENT``."""

SUMMARIZED: Mapping[str, Sequence[str]] = {
    "train": (TRAIN, UNWEIGHTED, PARTIAL_FIT, DIFFPRIVLIB, LIGHTGBM, COUNTS_DUCKDB),
    "predict": (PREDICT, PREDICT_PROBA),
    "ingest": (INGEST, IPUMSPY),
}
"""Contenders of the summary by their series."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the contenders of a series.

    Attributes:
        series: Its name.
        sizes: Sizes that the points differ in.
        rate: Whether to state the rows per second.
        reads: Whether to state how often the file was read.
    """

    series: str
    sizes: Sequence[str] = ("rows",)
    rate: bool = False
    reads: bool = False

    def lines(self, measurements: Measurements) -> list[str]:
        """Make the table."""
        summary = measurements.summary(self.series)
        alone = summary["contender"].n_unique() == 1
        header = [*self.sizes, "", "seconds", "processor seconds", "peak MiB", "turns"]
        header += ["rows a second"] * self.rate + ["times read"] * self.reads
        header += ["ratio", "of processor seconds"] * (not alone)
        rows, previous = [], None
        for run in summary.iter_rows(named=True):
            size = [number(name, run[name]) for name in self.sizes]
            line = [*(size if size != previous else [""] * len(size)), run["contender"]]
            line += [significant(run["seconds"]), significant(run["cpu_seconds"]), f"{run['peak_mib']:.0f}"]
            line += [str(run["turns"])]
            line += [f"{run['rows'] / run['seconds']:,.0f}"] * self.rate
            line += [_times(run["times_read"])] * self.reads
            ratios = [significant(run[name]) for name in ("ratio", "cpu_ratio")]
            line += ([""] * 2 if size != previous else ratios) * (not alone)
            rows.append(line)
            previous = size
        return markdown(header, rows)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of seconds and memory side by side, against one size.

    Attributes:
        series: Name of the series.
        size: The size on the horizontal axis.
        label: Label of that axis.
        axis: Scale of that axis.
        logarithmic: Whether the vertical axes are logarithmic.
        memory: Whether memory is drawn beside the seconds.
    """

    series: str
    size: str
    label: str
    axis: str = "log"
    logarithmic: bool = False
    memory: bool = True


TABLES = {
    "train": Table("train", reads=True),
    "steps": Table("steps"),
    "stages": Table("stages"),
    "duckdb": Table("duckdb"),
    "postgresql": Table("postgresql"),
    "predict": Table("predict", rate=True, reads=True),
    "passes": Table("passes", rate=True),
    "units": Table("units"),
    "wide": Table("wide", ("rows", "attributes", "classes"), rate=True),
    "files": Table("files"),
    "ingest": Table("ingest", rate=True),
    "release": Table("release", ("rows", "attributes", "classes", "grid")),
    "search": Table("search"),
    "start": Table("start"),
    "calls": Table("calls"),
    "floats": Table("floats", ("rows", "grid")),
    "categories": Table("categories", ("rows", "attributes", "grid")),
    "declared": Table("declared", ("attributes",)),
}
"""Tables of contenders by the name of their place in the document; others are ``machine``, ``targets``, ``summary``."""

FIGURES: Mapping[str, Figure] = {
    "rows": Figure("train", "rows", "rows", logarithmic=True),
    "attributes": Figure("attributes", "attributes", "attributes, half of them numeric", "linear"),
    "classes": Figure("classes", "classes", "classes, 13 attributes", "linear"),
    "grid": Figure("grid", "grid", "cells of each of 5 numeric attributes"),
    "search": Figure("search", "rows", "values of the column", logarithmic=True, memory=False),
}
"""By the name of the file."""

PARTS = {"seconds": "Time", "peak_mib": "Memory"}
"""Titles of panels by their column."""


def main() -> None:
    """Print the tables, or put them into the document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--docs", type=Path, help="folder of the pages")
    options = parser.parse_args()
    measurements = read_measurements(options.runs)
    tables = tables_of(measurements)
    if options.docs is None:
        for name, lines in tables.items():
            print("\n".join(["", name, "", *lines]))
        return
    if "summary" in tables:
        page = options.docs / SUMMARY
        page.write_text(replaced(page.read_text(), {"summary": tables.pop("summary")}))
    document = options.docs / DOCUMENT
    document.write_text(replaced(document.read_text(), tables))
    figures = document.parent / FOLDER
    figures.mkdir(exist_ok=True)
    for name, figure in FIGURES.items():
        if has_series(measurements, figure.series):
            draw(figure, measurements, figures / f"{name}.svg")


def tables_of(measurements: Measurements) -> dict[str, list[str]]:
    """Make every table whose series was measured, by name, as lines of Markdown."""
    contenders = {
        name: table.lines(measurements) for name, table in TABLES.items() if has_series(measurements, table.series)
    }
    made = {"machine": machine_table(measurements), "targets": target_table(measurements), **contenders}
    if all(has_series(measurements, series) for series in SUMMARIZED):
        made["summary"] = summary_table(measurements)
    return made


def has_series(measurements: Measurements, series: str) -> bool:
    """Tell whether a series was measured."""
    return series in measurements.runs["series"]


def machine_table(measurements: Measurements) -> list[str]:
    """Tabulate the machine and the versions."""
    return markdown(("measured on", ""), [[name, value] for name, value in measurements.machine.items()])


def summary_table(measurements: Measurements) -> list[str]:
    """Tabulate seconds and peak memory of the main commands and their peers, by the numbers of rows of ``train``."""
    sizes = sorted(set(measurements.runs.filter(pl.col("series") == "train")["rows"]))
    rows = []
    for series, contenders in SUMMARIZED.items():
        for contender in contenders:
            runs = [measurements.of(series, contender, rows=size) for size in sizes]
            cells = [f"{significant(run['seconds'])} s, {run['peak_mib']:.0f} MiB" if run else "" for run in runs]
            rows.append([contender, *cells])
    return markdown(["", *(f"{millions(size)} rows" for size in sizes)], rows)


def target_table(measurements: Measurements) -> list[str]:
    """Tabulate every target beside its measured value."""
    rows = [
        [
            each.what,
            f"{'at least' if each.least else 'at most'} {each.limit:g} {each.unit}".rstrip(),
            "" if each.measured is None else f"{significant(each.measured)} {each.unit}".rstrip(),
            each.verdict,
        ]
        for each in targets(measurements)
    ]
    return markdown(("what", "target", "measured", ""), rows)


def replaced(text: str, tables: dict[str, list[str]]) -> str:
    """Put each table between its markers in a document.

    Raises:
        SystemExit: if the document has no markers for a table.
    """
    for name, lines in tables.items():
        begin, end = f"<!-- table {name} -->", f"<!-- end {name} -->"
        if begin not in text or end not in text:
            raise SystemExit(f"the document has no place for the table {name}: put {begin} and {end} there")
        before, _, rest = text.partition(begin)
        after = rest.partition(end)[2]
        text = "\n".join([f"{before}{begin}", "", *lines, "", f"{end}{after}"])
    return text


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Make the lines of a table; columns of numbers are aligned to the right."""
    rule = ["---:" if _are_numbers(column) else "---" for column in zip(*rows, strict=True)]
    return [f"| {' | '.join(line)} |" for line in (header, rule, *rows)]


def number(name: str, value: int) -> str:
    """Format a size."""
    return "" if not value else millions(value) if name == "rows" else f"{value:,}"


def significant(value: float) -> str:
    """Format a number in three digits, without an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}" if value >= 0.001 else f"{value:.5f}"


def _times(value: float | None) -> str:
    return "" if value is None or isnan(value) else f"{value:.2f}"


def _are_numbers(column: Sequence[str]) -> bool:
    cells = [cell.removesuffix(" M").replace(",", "").replace(".", "") for cell in column if cell]
    return bool(cells) and all(cell.isdigit() for cell in cells)


def draw(figure: Figure, measurements: Measurements, file: Path) -> None:
    """Draw one line per contender: medians of the turns, and the largest peak."""
    summary = measurements.summary(figure.series)
    fields = {"seconds": "seconds", **({"peak_mib": "MiB at most"} if figure.memory else {})}
    sizes = summary[figure.size].unique(maintain_order=True).to_list()
    contenders = [(name, own) for (name,), own in summary.group_by("contender", maintain_order=True)]
    panels = []
    for field, unit in fields.items():
        series = tuple(
            Series(contender, look, tuple(Point(*point) for point in own.select(figure.size, field).iter_rows()))
            for (contender, own), look in zip(contenders, cycle(DISTINCT), strict=False)
        )
        ticks = () if figure.axis == "log" else tuple((size, f"{size:,}") for size in sizes)
        limits = None if figure.logarithmic else (0.0, 1.1 * max(summary[field].to_list()))
        x = (LogAxis if figure.axis == "log" else Axis)(figure.size, figure.label, ticks)
        y = (LogAxis if figure.logarithmic else Axis)(field, unit, (), limits)
        panels.append(Panel(PARTS[field], x, y, series))
    title = f"{' and '.join(PARTS[field] for field in fields)} against {figure.label}".capitalize()
    caption = "Medians of the turns, and the largest peak."
    file.write_text(figure_file(Drawing(file.stem, title, caption, "", tuple(panels))), encoding="utf-8")


if __name__ == "__main__":
    main()
