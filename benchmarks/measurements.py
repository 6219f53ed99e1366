"""Measured runs summed up, and the targets of speed and memory beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from benchmarks.runs import MACHINE_KEY
from benchmarks.scale import MILLION
from benchmarks.series import (
    CALL,
    CENSUS_ATTRIBUTES,
    COUNTS_DUCKDB,
    ESTIMATOR_CALL,
    FINE,
    IMPORTS,
    INTEGERS,
    LEARNED,
    MANY_ATTRIBUTES,
    MANY_CLASSES,
    PARTIAL_FIT,
    PREDICT_PROBA,
    RELEASE,
    SHOW,
    SQL_SCORES,
    TYPER_HELP,
    UNWEIGHTED,
)
from benchmarks.wide_series import (
    BY_HOUSEHOLDS,
    BY_ROWS,
    CODEBOOK_VARIABLES,
    FILES,
    INGEST,
    MANY_FILES,
    MANY_TEXTS,
    MOST_CATEGORIES,
    ONE_FILE,
    OTHER_TYPES,
    PASSES,
    PLAN,
    PLANNED_ATTRIBUTES,
    PREDICT,
    SHUFFLED,
    TEXT_ROWS,
    TEXTS,
    TRAIN,
    WIDE_MODELS,
)
from benchmarks.wide_series import INTEGERS as INTEGER_CATEGORIES

SIZES = ("rows", "attributes", "classes", "grid")
OWN, OTHERS = pl.col("cpu_seconds"), pl.col("cpu_seconds_right")
WALL, OTHER_WALL = pl.col("seconds"), pl.col("seconds_right")
MEDIANS = ("seconds", "cpu_seconds", "ratio", "cpu_ratio")
READ = ("read_mib", "input_mib")

MANY = 100 * MILLION
PARTIAL_FIT_LIMITS = {17 * MILLION // 10: 0.6, 10 * MILLION: 0.4}
MANY_LIMITS = {TRAIN: {COUNTS_DUCKDB: 1.05, PARTIAL_FIT: 0.42}, UNWEIGHTED: {COUNTS_DUCKDB: 0.75, PARTIAL_FIT: 0.3}}
LEARNED_ROWS, LEARNED_LIMIT, PEAK_LIMIT = 10 * MILLION, 2.2, 330
PREDICT_LEAST = {17 * MILLION // 10: 3, 10 * MILLION: 4}
SQL_LIMIT, WIDE_PEAK_LIMIT = 1.5, 500
FLOATS_ROWS = 17 * MILLION // 10
RELEASE_LIMIT, MANY_RELEASE_LIMIT, FLOATS_LIMIT, FINE_LIMIT = 0.1, 1, 1.5, 5
PASS_LEAST = 10
MANY_TEXTS_LIMIT, TEXTS_LIMIT, TYPES_LIMIT, MANY_CELLS_LIMIT = 5, 1.3, 2, 5
FILES_LIMIT, CODEBOOK_LIMIT, PLAN_LIMIT, UNITS_LIMIT = 0.0023, 5, 10, 2
HELP_LIMIT, FEW_ROWS_LIMIT, START_LIMIT, CALL_LIMIT = 1.6, 0.6, 1.3, 0.002


@dataclass(frozen=True, slots=True)
class Measurements:
    """Runs of one machine.

    Attributes:
        runs: One row per measured run: series, rows, attributes, classes, grid, contender, turn, inside, seconds,
            cpu_seconds, peak_mib, read_mib, input_mib.
        machine: Description of the machine.
    """

    runs: pl.DataFrame
    machine: Mapping[str, str]

    def summary(self, series: str) -> pl.DataFrame:
        """Sum up a series: one row per size and contender, in the order of their turns.

        Returns:
            The sizes, contender, turns, medians of seconds and cpu_seconds, of ratio and cpu_ratio (those of the first
            contender over those of this one in the same turn), the largest peak_mib, and times_read: what is read more
            than of the smallest input, over what is there more to read. So modules do not count. NaN of that input.
        """
        times = pl.col("seconds", "cpu_seconds")
        ratios = times.first().over(*SIZES, "turn") / times
        runs = self.runs.filter(pl.col("series") == series)
        runs = runs.with_columns(ratios.name.map(lambda name: name.replace("seconds", "ratio")))
        more_read, more_to_read = (pl.col(name) - pl.col(name).first().over("contender") for name in READ)
        return (
            runs.group_by(*SIZES, "contender", maintain_order=True)
            .agg(pl.len().alias("turns"), pl.median(*MEDIANS, *READ), pl.max("peak_mib"))
            .sort(*SIZES, maintain_order=True)
            .with_columns((more_read / more_to_read).alias("times_read"))
            .drop(READ)
        )

    def of(self, series: str, contender: str, **sizes: int) -> dict[str, Any] | None:
        """Sum up a contender at one size; None where it was not measured."""
        rows = self.summary(series).filter(pl.col("contender") == contender, **sizes)
        return rows.row(0, named=True) if rows.height else None

    def paired(self, series: str, contender: str, other: str, compared: pl.Expr, **sizes: int) -> float | None:
        """Compute the median over turns of a comparison of two contenders, of all sizes or of those given.

        Args:
            series: Their series.
            contender: The one.
            other: The other, whose columns have the suffix ``_right``.
            compared: The comparison, such as ``OWN / OTHERS``.
            sizes: Sizes of the points to compare at.
        """
        runs = self.runs.filter(pl.col("series") == series, **sizes)
        own, others = (runs.filter(pl.col("contender") == name) for name in (contender, other))
        median = own.join(others, on=[*SIZES, "turn"]).select(compared.median()).item()
        return None if median is None else float(median)


def read_measurements(file: Path) -> Measurements:
    """Read a Parquet file that ``python -m benchmarks`` has written."""
    metadata = pq.read_metadata(file).metadata or {}
    return Measurements(pl.read_parquet(file), json.loads(metadata[MACHINE_KEY]))


@dataclass(frozen=True, slots=True)
class Target:
    """One target.

    Attributes:
        what: Plain text.
        limit: The limit, an upper or a lower one.
        measured: The measured value; None if it was not measured.
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
        """Verdict: met, missed, or not measured."""
        if self.measured is None:
            return "not measured"
        met = self.measured >= self.limit if self.least else self.measured <= self.limit
        return "met" if met else "missed"


def targets(measurements: Measurements) -> Iterator[Target]:
    """Yield every target, in the order of the document."""
    for rows, limit in PARTIAL_FIT_LIMITS.items():
        beside = measurements.of("train", PARTIAL_FIT, rows=rows)
        yield Target(f"`train` / `GaussianNB.partial_fit`, {millions(rows)} rows", limit, _ratio(beside))
    for name, limits in MANY_LIMITS.items():
        for other, limit in limits.items():
            compared = measurements.paired("train", name, other, OWN / OTHERS, rows=MANY)
            yield Target(f"`{name}` / `{other}`, processor time, {millions(MANY)} rows", limit, compared)
        peak = _figure(measurements.of("train", name, rows=MANY), "peak_mib")
        yield Target(f"`{name}`, peak at {millions(MANY)} rows", PEAK_LIMIT, peak, "MiB")
    compared = measurements.paired("train", LEARNED, UNWEIGHTED, OWN / OTHERS, rows=LEARNED_ROWS)
    yield Target(
        f"`{LEARNED}` / `{UNWEIGHTED}`, processor time, {millions(LEARNED_ROWS)} rows", LEARNED_LIMIT, compared
    )
    for name in [*PASSES.values()][1:]:
        passed = measurements.of("passes", name)
        rate = None if passed is None else passed["rows"] / passed["seconds"] / MILLION
        yield Target(f"{name}, 13 attributes", PASS_LEAST, rate, "million rows a second", least=True)
    for name in (BY_HOUSEHOLDS, SHUFFLED):
        compared = measurements.paired("units", name, BY_ROWS, OWN / OTHERS)
        yield Target(f"`aggregate` {name} / by rows, processor time", UNITS_LIMIT, compared)
    for rows, least in PREDICT_LEAST.items():
        beside = measurements.of("predict", PREDICT_PROBA, rows=rows)
        faster = 1 / beside["ratio"] if beside else None
        what = f"rows a second of `predict` / of `GaussianNB.predict_proba`, {millions(rows)} rows"
        yield Target(what, least, faster, least=True)
        queried = measurements.of("predict", SQL_SCORES, rows=rows)
        what = f"the query for DuckDB / `predict`, processor time, {millions(rows)} rows"
        yield Target(what, SQL_LIMIT, None if queried is None else 1 / queried["cpu_ratio"])
    for numeric, categorical, classes, rows in WIDE_MODELS:
        attributes = numeric + categorical
        scored = measurements.of("wide", PREDICT, rows=rows, attributes=attributes, classes=classes)
        what = f"`predict`, peak with {attributes:,} attributes and {classes:,} classes, {millions(rows)} rows"
        yield Target(what, WIDE_PEAK_LIMIT, _figure(scored, "peak_mib"), "MiB")
    more = measurements.paired("files", MANY_FILES, ONE_FILE, (OWN - OTHERS) / FILES)
    what = f"`predict`, {FILES:,} files, processor time of each beyond that of the same rows in one"
    yield Target(what, FILES_LIMIT, more, "s")
    releases = measurements.summary("release").filter(pl.col("contender") == RELEASE)
    few, many = (releases.filter(attributes=number) for number in (CENSUS_ATTRIBUTES, MANY_ATTRIBUTES))
    most = f", up to {millions(max(few['rows'].to_list()))} rows" if few.height else ""
    yield Target(f"release, 13 attributes x 2 classes{most}", RELEASE_LIMIT, _slowest(few), "s")
    what = f"release, {MANY_ATTRIBUTES} numeric attributes x {MANY_CLASSES} classes"
    yield Target(what, MANY_RELEASE_LIMIT, _slowest(many), "s")
    integers = measurements.of("floats", INTEGERS, rows=FLOATS_ROWS)
    what = f"`train`, five columns of floats / of integers, {millions(FLOATS_ROWS)} rows"
    yield Target(what, FLOATS_LIMIT, _ratio(integers))
    fine = measurements.of("floats", FINE, rows=FLOATS_ROWS)
    yield Target(f"`train`, {FINE}, {millions(FLOATS_ROWS)} rows", FINE_LIMIT, _figure(fine, "seconds"), "s")
    scored = measurements.of("categories", PREDICT, rows=TEXT_ROWS, attributes=MANY_TEXTS)
    what = f"`predict`, peak with {MANY_TEXTS} attributes of text, {millions(TEXT_ROWS)} rows"
    yield Target(what, WIDE_PEAK_LIMIT, _figure(scored, "peak_mib"), "MiB")
    texts = measurements.of("categories", TRAIN, rows=TEXT_ROWS, attributes=MANY_TEXTS)
    what = f"`train`, {MANY_TEXTS} attributes of text, {millions(TEXT_ROWS)} rows"
    yield Target(what, MANY_TEXTS_LIMIT, _figure(texts, "seconds"), "s")
    table = measurements.of("categories", TRAIN, rows=MILLION, grid=MOST_CATEGORIES)
    what = f"`train`, {MOST_CATEGORIES:,} categories x 2 classes, {millions(MILLION)} rows"
    yield Target(what, MANY_CELLS_LIMIT, _figure(table, "seconds"), "s")
    compared = measurements.paired("categories", TEXTS, INTEGER_CATEGORIES, WALL / OTHER_WALL)
    yield Target(f"`train`, {TEXTS} / of integers", TEXTS_LIMIT, compared)
    for name in OTHER_TYPES:
        compared = measurements.paired("categories", name, INTEGER_CATEGORIES, OWN / OTHERS)
        yield Target(f"`train`, {name} / of integers, processor time", TYPES_LIMIT, compared)
    ingested = measurements.of("declared", INGEST, attributes=CODEBOOK_VARIABLES)
    yield Target("`ingest` with a codebook of 46 MB", CODEBOOK_LIMIT, _figure(ingested, "seconds"), "s")
    planned = measurements.of("declared", PLAN, attributes=PLANNED_ATTRIBUTES)
    yield Target(f"`plan`, {PLANNED_ATTRIBUTES} attributes", PLAN_LIMIT, _figure(planned, "seconds"), "s")
    yield Target("`--help` / that of a bare typer program", HELP_LIMIT, _ratio(measurements.of("start", TYPER_HELP)))
    for name in (TRAIN, PREDICT, SHOW):
        what = f"`{name.split()[-1]}`, 1,000 rows / `{IMPORTS}`, processor time"
        yield Target(what, START_LIMIT, measurements.paired("start", name, IMPORTS, OWN / OTHERS))
    more = measurements.paired("start", TRAIN, IMPORTS, OWN - OTHERS)
    yield Target("`train`, 1,000 rows, processor time beyond these imports", FEW_ROWS_LIMIT, more, "s")
    for name in (CALL, ESTIMATOR_CALL):
        seconds = _figure(measurements.of("calls", name), "cpu_seconds")
        yield Target(f"`{name}`, 10 rows, from the second call on, processor time", CALL_LIMIT, seconds, "s")


def millions(rows: int) -> str:
    """Format a number of rows."""
    return f"{rows / MILLION:g} M" if rows >= MILLION // 10 else f"{rows:,}"


def _ratio(summary: dict[str, float] | None) -> float | None:
    return None if summary is None else summary["ratio"]


def _figure(summary: dict[str, float] | None, name: str) -> float | None:
    return None if summary is None else float(summary[name])


def _slowest(releases: pl.DataFrame) -> float | None:
    return None if releases.is_empty() else max(releases["seconds"].to_list())
