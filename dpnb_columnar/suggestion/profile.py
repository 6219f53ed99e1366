"""CONFIDENTIAL. What the columns of some Parquet files hold, in as far as a draft of a domain needs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.expressions import column
from dpnb_columnar.rows.kinds import Kind, kind_of, type_name
from dpnb_columnar.suggestion.missing_codes import nines

MEASURED = frozenset({Kind.INTEGER, Kind.UNSIGNED, Kind.FLOAT, Kind.DECIMAL})
Number = int | float


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """One column. Confidential.

    Attributes:
        name: Its name.
        kind: What it holds; None where no attribute can be made of it.
        type_name: Its type, for messages.
        present: Number of rows with a value; NaN is none.
        distinct: About how many values differ; exact where ``values`` are given.
        values: Its values as text, in order, where there are few; None where there are many.
        smallest, largest: Least and greatest finite number; None where there is none, and for what is no number.
        ordinary: Greatest number below the codes 97, 98, 99 (997, ...) of the largest's length, if the largest is one.
        nines: Which of these codes occur.
    """

    name: str
    kind: Kind | None
    type_name: str
    present: int
    distinct: int
    values: tuple[str, ...] | None
    smallest: Number | None
    largest: Number | None
    ordinary: Number | None
    nines: tuple[int, ...]


def profile(files: Sequence[Path], most_values: int) -> tuple[ColumnProfile, ...]:
    """Look at every column of some Parquet files, in the order of the first file's columns.

    The files are streamed a few times; memory follows the number of columns.

    Args:
        files: At least one file.
        most_values: Most values that are listed.

    Raises:
        DataError: A file is damaged, or the files do not have the same columns.
    """
    try:
        rows = pl.concat([pl.scan_parquet(file, glob=False) for file in files], how="vertical_relaxed")
        schema = rows.collect_schema()
        kinds = {name: kind for name, type_ in schema.items() if (kind := kind_of(type_)) is not None}
        counted = rows.select(pl.lit(0), **_counts(kinds)).collect(engine="streaming").row(0, named=True)
        second = rows.select(pl.lit(0), *_below_nines(kinds, counted)).collect(engine="streaming").row(0, named=True)
        found = []
        for name, type_ in schema.items():
            kind = kinds.get(name)
            values = None if kind is None else _few(rows, name, kind, counted[f"distinct {name}"], most_values)
            largest = counted.get(f"largest {name}")
            present_nines = [code for code in nines(largest) if second.get(f"is {code} {name}")]
            found.append(
                ColumnProfile(
                    name=name,
                    kind=kind,
                    type_name=type_name(type_),
                    present=0 if kind is None else counted[f"present {name}"],
                    distinct=counted.get(f"distinct {name}", 0) if values is None else len(values),
                    values=values,
                    smallest=_number(counted.get(f"smallest {name}")),
                    largest=_number(largest),
                    ordinary=_number(second.get(f"ordinary {name}")),
                    nines=tuple(present_nines),
                )
            )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        # The engine's own text may quote values.
        raise DataError(
            f"{files[0]}: cannot be read to the end, or the files beside it have other columns; copy it again, or give "
            "files of one layout"
        ) from None
    return tuple(found)


def _counts(kinds: dict[str, Kind]) -> dict[str, pl.Expr]:
    expressions = {}
    for name, kind in kinds.items():
        value = _value(name, kind)
        expressions[f"present {name}"] = value.count()
        expressions[f"distinct {name}"] = value.drop_nulls().approx_n_unique()
        if kind in MEASURED:
            finite = pl.when(value.is_finite()).then(value) if kind is Kind.FLOAT else value
            expressions |= {f"smallest {name}": finite.min(), f"largest {name}": finite.max()}
    return expressions


def _below_nines(kinds: dict[str, Kind], counted: dict[str, object]) -> list[pl.Expr]:
    """The greatest ordinary number of each column whose greatest of all may be a code, and which codes occur."""
    found = []
    for name, kind in kinds.items():
        if codes := nines(counted.get(f"largest {name}")):
            value = _value(name, kind)
            found.append(pl.when(value < min(codes)).then(value).max().alias(f"ordinary {name}"))
            found += [(value == code).any().alias(f"is {code} {name}") for code in codes]
    return found


def _few(rows: pl.LazyFrame, name: str, kind: Kind, about: int, most: int) -> tuple[str, ...] | None:
    """The values of a column as the domain writes them, if there are few."""
    if about > 2 * most:
        return None
    value = _value(name, kind)
    found = rows.select(value.alias("value")).drop_nulls().unique().collect(engine="streaming")["value"].sort()
    if len(found) > most or (kind in MEASURED and any(number != int(number) for number in found)):
        return None
    if kind in MEASURED:
        return tuple(str(int(number)) for number in found)
    return tuple(str(item).lower() if kind is Kind.BOOLEAN else str(item) for item in found)


def _value(name: str, kind: Kind) -> pl.Expr:
    """The column with NaN as null, and everything that is a name as text where that has an order."""
    if kind is Kind.TEXT:
        return column(name).cast(pl.String)
    return column(name).fill_nan(None) if kind is Kind.FLOAT else column(name)


def _number(value: object) -> Number | None:
    return None if value is None else value if isinstance(value, int | float) else float(str(value))
