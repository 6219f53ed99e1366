"""Faults of available cases: what a missing value must not do. The audit has to find each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from dpnb_columnar.counting.engines import local, polars
from dpnb_columnar.counting.statistics import Cells, Statistics, assemble
from dpnb_columnar.dialects import cells_query, statistics_query
from dpnb_columnar.domain import Attribute, Categorical, Domain, Missing, Numeric
from dpnb_columnar.mechanisms import global_moments, mechanism, model_release, smooth
from dpnb_columnar.mechanisms.mechanism import QueryContext
from dpnb_columnar.model import postprocessing
from dpnb_columnar.model.parameters import Presence, Table
from dpnb_columnar.noise import Sampler

Patch = pytest.MonkeyPatch


# --- counting -------------------------------------------------------------------------------------------------------


def dropping(domain: Domain) -> Domain:
    """The domain in which a blank category drops the row, whatever was declared."""
    attributes = [
        replace(each, missing=Missing.ROW) if isinstance(each, Categorical) else each for each in domain.attributes
    ]
    return replace(domain, attributes=tuple(attributes))


def polars_drops_rows(patch: Patch) -> None:
    """A blank category takes the row's number with it, in Polars only."""
    count = polars.count_rows

    def count_rows(
        rows: pl.LazyFrame, types: Mapping[str, Any], domain: Domain, attributes: Sequence[Attribute], *, classes: bool
    ) -> list[Cells]:
        return count(rows, types, dropping(domain), attributes, classes=classes)

    patch.setattr(polars, "count_rows", count_rows)


def duckdb_drops_rows(patch: Patch) -> None:
    """A blank category takes the row's number with it, in DuckDB only."""
    write = cells_query.cells_query

    def query(domain: Domain, *others: Any) -> str:
        return write(dropping(domain), *others)

    patch.setattr(cells_query, "cells_query", query)


def queries_drop_rows(patch: Patch) -> None:
    """A blank category takes the row's number with it, in the queries for databases only."""
    needed = statistics_query.required_columns

    def dropping_needed(domain: Domain) -> list[str]:
        return needed(dropping(domain))

    patch.setattr(statistics_query, "required_columns", dropping_needed)


def classes_from_a_table(patch: Patch) -> None:
    """The classes are counted as the sums of a table, over the rows that have a category."""

    def assembled(domain: Domain, cells: Iterable[Cells], *parts: Any) -> Statistics:
        tables = [cell for cell in cells if cell.attribute is not None]
        (table,) = [cell for cell in tables if cell.attribute == "category"]
        return assemble(domain, [replace(table, attribute=None, codes=np.zeros_like(table.codes)), *tables], *parts)

    patch.setattr(local, "assemble", assembled)


# --- releasing ------------------------------------------------------------------------------------------------------


def size_of_the_values(patch: Patch) -> None:
    """A sample is as large as its column, whatever size was released: the class's, or the number of values."""

    def sizes(context: QueryContext, attribute: Numeric) -> list[int]:
        return [max(column.size, 8) for column in context.statistics.columns[attribute.name]]

    for mechanisms in (smooth, global_moments):
        patch.setattr(mechanisms, "sample_sizes", sizes)


def presence_without_noise(patch: Patch) -> None:
    """The numbers of values are exact."""

    def exact(statistics: Statistics, shares: object, draw: Sampler) -> dict[str, Sequence[Sequence[int]]]:
        return {each.name: mechanism.presence_counts(statistics, each) for each in statistics.domain.numeric}

    patch.setattr(model_release, "noisy_presence", exact)


def present_rows_counted_twice(patch: Patch) -> None:
    """The second count is of all rows: a row with a value is in both cells."""

    def counts(statistics: Statistics, attribute: Numeric) -> list[list[int]]:
        columns = statistics.columns[attribute.name]
        return [[each.size, int(rows)] for each, rows in zip(columns, statistics.class_counts, strict=True)]

    patch.setattr(mechanism, "presence_counts", counts)


def exact_probability_of_missing_numbers(patch: Patch) -> None:
    """Counts of numbers present and missing are released with noise; their probability is that of the exact ones."""

    def presence(context: QueryContext, attribute: Numeric) -> Presence:
        exact = postprocessing.truncated_presence(mechanism.presence_counts(context.statistics, attribute))
        return Presence(tuple(map(tuple, context.presence[attribute.name])), exact.probability)

    patch.setattr(smooth, "presence", presence)


def exact_probability_of_missing_categories(patch: Patch) -> None:
    """A table is released with noise; its probabilities, the category of missing values among them, are exact."""

    def table(context: QueryContext, attribute: Categorical) -> Table:
        released = mechanism.table_counts(context, attribute)
        exact = [[int(count) for count in row] for row in context.statistics.tables[attribute.name]]
        probability = postprocessing.truncated_table(attribute, exact).probability
        return Table(attribute.name, tuple(map(tuple, released)), probability)

    patch.setattr(smooth, "noisy_table", table)
