"""What speed and memory should be, each beside what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from benchmarks.findings import Findings
from benchmarks.series.growth import INTEGERS
from benchmarks.series.predicting import PREDICT_PROBA
from benchmarks.series.releasing import CENSUS_ATTRIBUTES, MANY_ATTRIBUTES, MANY_CLASSES, RELEASE
from benchmarks.series.scale import MILLION
from benchmarks.series.starting import FEW, IMPORTS, TYPER_HELP
from benchmarks.series.training import COUNTS_DUCKDB, COUNTS_POLARS, PARTIAL_FIT, TRAIN

MANY = 100 * MILLION
PARTIAL_FIT_LIMITS = {17 * MILLION // 10: 0.6, 10 * MILLION: 0.4, MANY: 0.33}
SCORED_ROWS = (17 * MILLION // 10, 10 * MILLION)
FLOATS_ROWS = 17 * MILLION // 10
COUNTS_LIMIT, PEAK_LIMIT, PREDICT_LEAST = 1.25, 400, 3
RELEASE_LIMIT, MANY_RELEASE_LIMIT, FLOATS_LIMIT = 0.1, 1, 1.5
HELP_LIMIT, FEW_ROWS_LIMIT = 2, 0.6


@dataclass(frozen=True, slots=True)
class Target:
    """One target.

    Attributes:
        what: In words.
        limit: What it may be at most, or at least.
        measured: What it is; None if that was not measured.
        unit: Of both.
        least: Whether the limit is a lower one.
    """

    what: str
    limit: float
    measured: float | None
    unit: str = ""
    least: bool = False

    @property
    def verdict(self) -> str:
        """met, missed, or not measured."""
        if self.measured is None:
            return "not measured"
        met = self.measured >= self.limit if self.least else self.measured <= self.limit
        return "met" if met else "missed"


def targets(findings: Findings) -> Iterator[Target]:
    """Every target, in the order of the document."""
    for rows, limit in PARTIAL_FIT_LIMITS.items():
        beside = findings.of("train", PARTIAL_FIT, rows=rows)
        yield Target(f"`train` / `GaussianNB.partial_fit`, {millions(rows)} rows", limit, _ratio(beside))
    counts = [findings.of("train", name, rows=MANY) for name in (COUNTS_POLARS, COUNTS_DUCKDB)]
    fastest = min((found for found in counts if found), key=lambda found: float(found["seconds"]), default=None)
    name = f" ({fastest['contender'].removeprefix('bare grouped counts, ')})" if fastest else ""
    yield Target(f"`train` / bare grouped counts{name}, {millions(MANY)} rows", COUNTS_LIMIT, _ratio(fastest))
    trained = findings.of("train", TRAIN, rows=MANY)
    peak = None if trained is None else float(trained["peak_mib"])
    yield Target(f"`train`, peak at {millions(MANY)} rows", PEAK_LIMIT, peak, "MiB")
    for rows in SCORED_ROWS:
        beside = findings.of("predict", PREDICT_PROBA, rows=rows)
        faster = 1 / beside["ratio"] if beside else None
        what = f"rows a second of `predict` / of `GaussianNB.predict_proba`, {millions(rows)} rows"
        yield Target(what, PREDICT_LEAST, faster, least=True)
    releases = findings.summary("release").filter(pl.col("contender") == RELEASE)
    few, many = (releases.filter(attributes=number) for number in (CENSUS_ATTRIBUTES, MANY_ATTRIBUTES))
    most = f", up to {millions(max(few['rows'].to_list()))} rows" if few.height else ""
    yield Target(f"release, 13 attributes x 2 classes{most}", RELEASE_LIMIT, _slowest(few), "s")
    what = f"release, {MANY_ATTRIBUTES} numeric attributes x {MANY_CLASSES} classes"
    yield Target(what, MANY_RELEASE_LIMIT, _slowest(many), "s")
    integers = findings.of("floats", INTEGERS, rows=FLOATS_ROWS)
    what = f"`train`, five columns of floats / of integers, {millions(FLOATS_ROWS)} rows"
    yield Target(what, FLOATS_LIMIT, _ratio(integers))
    yield Target("`--help` / that of a bare typer program", HELP_LIMIT, _ratio(findings.of("start", TYPER_HELP)))
    more = findings.difference("start", FEW, IMPORTS, "cpu_seconds")
    yield Target("`train` on 1,000 rows, processor time beyond importing polars and duckdb", FEW_ROWS_LIMIT, more, "s")


def millions(rows: int) -> str:
    """A number of rows in words."""
    return f"{rows / MILLION:g} M" if rows >= MILLION // 10 else f"{rows:,}"


def _ratio(found: dict[str, float] | None) -> float | None:
    return None if found is None else found["ratio"]


def _slowest(releases: pl.DataFrame) -> float | None:
    return None if releases.is_empty() else max(releases["seconds"].to_list())
