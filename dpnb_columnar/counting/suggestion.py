"""Draft a domain from the profiles of columns: attributes, and remarks for the curator. CONFIDENTIAL.

A domain is public: the curator replaces what a draft discloses of the rows by public facts. Text columns whose texts
are numbers are profiled as numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial

import polars as pl

from dpnb_columnar.domain import Attribute, Categorical, Numeric
from dpnb_columnar.domain.attributes import DEFAULT_CELLS, MAXIMUM_CELLS
from dpnb_columnar.domain.column_kinds import LARGEST_KEY, Kind, kind_of, type_name
from dpnb_columnar.domain.declaration import LARGEST_BOUND, DeclarationReader
from dpnb_columnar.domain.declared_domain import attribute_document
from dpnb_columnar.domain.names import identity
from dpnb_columnar.errors import DataError, option
from dpnb_columnar.rows.input_files import unread_columns
from dpnb_columnar.rows.parquet import NamedRows, check_read, size_of, store_failure
from dpnb_columnar.rows.row_rules import column, number
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.row_progress import begin_pass, begin_work, report_rows

MEASURED = frozenset({Kind.INTEGER, Kind.UNSIGNED, Kind.FLOAT, Kind.DECIMAL})
"""Kinds whose values are compared as numbers."""

Number = int | float
MOST_COLUMNS = 10_000
"""Columns that are profiled: each takes some 60 KiB and ten milliseconds, and nobody corrects a draft of more."""

PASSES = 3  # how often all columns are read: texts, all others, and what lies below codes of nines
NEARLY_ALL_NUMBERS = 0.9
"""Share of numbers among a column's texts from which on the others are taken for remarks, which are missing values."""


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """Profile of one column of some rows. Confidential."""

    name: str
    kind: Kind | None  # None where no attribute can be made of it
    type_name: str
    present: int  # rows with a value other than NaN
    distinct: int  # approximately; exactly where ``values`` are given
    values: tuple[str, ...] | None  # as text, in order; None where there are many
    smallest: Number | None  # finite; None where there is no number
    largest: Number | None
    ordinary: Number | None  # greatest below the codes of nines of its length
    nines: tuple[int, ...]  # codes that occur: 97 to 99, 997 to 999, ...


@confined()
def profile(given: Sequence[NamedRows], most_values: int) -> tuple[ColumnProfile, ...]:
    """Profile every column in the first file's order; memory follows the number of columns."""
    if (width := max(len(each.types) for each in given)) > MOST_COLUMNS:
        raise DataError(
            f"{given[0].name}: has {width} columns, and at most {MOST_COLUMNS} are looked at; give a file, or a view, "
            "of those that may become attributes"
        )
    try:
        rows = pl.concat([each.rows for each in given], how="vertical_relaxed")
        schema = pl.Schema({**rows.collect_schema(), **{name: pl.Unknown() for name in unread_columns(given[0].types)}})
        kinds = {name: kind for name, type_ in schema.items() if (kind := kind_of(type_)) is not None}
        advance = begin_pass(partial(size_of, given), PASSES)
        shown = rows if advance is None else report_rows(rows, advance)
        numbers, kinds = _numeric_texts(shown, kinds, most_values)
        shown, rows = shown.with_columns(numbers), rows.with_columns(numbers)
        counted = shown.select(pl.lit(0), **_counts(kinds)).collect(engine="streaming").row(0, named=True)
        second = shown.select(pl.lit(0), *_below_nines(kinds, counted)).collect(engine="streaming").row(0, named=True)
        profiles, advance = [], begin_work(len(schema), "columns")
        for name, type_ in schema.items():
            kind = kinds.get(name)
            values = None if kind is None else _few_values(rows, name, kind, counted[f"distinct {name}"], most_values)
            largest = counted.get(f"largest {name}")
            profiles.append(
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
                    nines=tuple(code for code in _codes_of_nines(largest) if second.get(f"is {code} {name}")),
                )
            )
            if advance is not None:
                advance(1)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        # The engine's own text may quote values.
        raise store_failure(given) or DataError(
            f"{given[0].name}: cannot be read to the end, or the files beside it have other columns; copy it again, or "
            "give files of one layout"
        ) from None
    check_read(given)
    return tuple(profiles)


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
    """Return the greatest ordinary number of each column whose largest number may be a code, and which codes occur."""
    expressions = []
    for name, kind in kinds.items():
        if codes := _codes_of_nines(counted.get(f"largest {name}")):
            value = _value(name, kind)
            expressions.append(pl.when(value < min(codes)).then(value).max().alias(f"ordinary {name}"))
            expressions += [(value == code).any().alias(f"is {code} {name}") for code in codes]
    return expressions


def _few_values(rows: pl.LazyFrame, name: str, kind: Kind, approximate: int, most: int) -> tuple[str, ...] | None:
    if approximate > 2 * most:
        return None
    value = _value(name, kind)
    values = rows.select(value.alias("value")).drop_nulls().unique().collect(engine="streaming")["value"].sort()
    if len(values) > most or (kind in MEASURED and not all(float(number).is_integer() for number in values)):
        return None
    if kind in MEASURED:
        return tuple(str(int(number)) for number in values)
    texts = [str(item).lower() if kind is Kind.BOOLEAN else str(item) for item in values]
    return tuple({identity(text): text for text in reversed(texts)}.values())[::-1]  # one text for each number


def _value(name: str, kind: Kind) -> pl.Expr:
    """Return a column with NaN as null, and with names as text, which has an order."""
    if kind is Kind.TEXT:
        return column(name).cast(pl.String)
    return column(name).fill_nan(None) if kind is Kind.FLOAT else column(name)


def _number(value: object) -> Number | None:
    return None if value is None else value if isinstance(value, int | float) else float(str(value))


def _codes_of_nines(largest: object) -> tuple[int, ...]:
    """Return the codes for "missing" of the largest number's length, if that is one: 997, 998 and 999 for 998."""
    if not isinstance(largest, int | float) or largest != int(largest) or largest < 97:
        return ()
    top = 10 ** len(str(int(largest))) - 1
    return (top - 2, top - 1, top) if largest >= top - 2 else ()


def _numeric_texts(
    rows: pl.LazyFrame, kinds: Mapping[str, Kind], most_values: int
) -> tuple[list[pl.Expr], dict[str, Kind]]:
    """Read text columns of numbers as numbers: those of numbers alone, and those of many values, most of them so."""
    texts = [name for name, kind in kinds.items() if kind is Kind.TEXT]
    found = rows.select(pl.lit(0), *(count for name in texts for count in _text_counts(name)))
    counted = found.collect(engine="streaming").row(0, named=True)
    numbers: dict[str, Kind] = {}
    for name in texts:
        present, spelled = counted[f"present {name}"], counted[f"spelled {name}"]
        many = counted[f"distinct {name}"] > most_values and spelled >= NEARLY_ALL_NUMBERS * present
        if spelled and (spelled == present or many):
            numbers[name] = Kind.INTEGER if counted[f"whole {name}"] == spelled else Kind.FLOAT
    read = [
        number(name, Kind.TEXT).cast(pl.Int64 if kind is Kind.INTEGER else pl.Float64).alias(name)
        for name, kind in numbers.items()
    ]
    return read, {**kinds, **numbers}


def _text_counts(name: str) -> list[pl.Expr]:
    """Count the texts of a column, distinct ones, numbers and whole numbers among them; a blank one is no text."""
    value, text = number(name, Kind.TEXT), column(name).cast(pl.String)
    text = pl.when(text.str.contains("[^ ]")).then(text)  # to strip it would copy it for each row
    whole = (value == value.floor()) & (value.abs() <= LARGEST_KEY)
    return [
        text.count().alias(f"present {name}"),
        text.drop_nulls().approx_n_unique().alias(f"distinct {name}"),
        value.count().alias(f"spelled {name}"),
        whole.sum().alias(f"whole {name}"),
    ]


FAR = 2  # A code for "missing" is at least this many times the largest ordinary number
NEARLY_ALL = 0.9  # share of distinct values among a column's rows from which on the column is taken for an identifier


@dataclass(frozen=True, slots=True)
class Draft:
    """Draft of a domain. Confidential."""

    attributes: tuple[Attribute, ...]  # bounds rounded outwards
    remarks: dict[str, list[str]]  # what the curator should check
    left_out: dict[str, str]  # the reason, by column


def draft(columns: Sequence[ColumnProfile]) -> Draft:
    """Suggest an attribute for each column that can be one, by the columns' profiles, which are confidential."""
    attributes: list[Attribute] = []
    remarks: dict[str, list[str]] = {}
    left_out: dict[str, str] = {}
    for profile in columns:
        if reason := _unfit(profile):
            left_out[profile.name] = reason
            continue
        attribute = (
            _numeric(profile, profile.largest) if profile.values is None else Categorical(profile.name, profile.values)
        )
        reader = DeclarationReader("the rows")
        reader.attribute(attribute.name, attribute_document(attribute, defaults=False), "")
        if reader.faults:
            left_out[profile.name] = "; ".join(fault.problem for fault in reader.faults)
            continue
        attributes.append(attribute)
        if profile.values is not None:
            code = _stray_code(profile.values) if profile.kind in MEASURED else None
            if code is not None:
                remarks[profile.name] = [
                    f'{code} may be a code for "missing": if so, move it from values to missing_values = [{code}]'
                ]
        elif profile.nines and profile.ordinary is not None and profile.ordinary * FAR <= min(profile.nines):
            codes = ", ".join(map(str, profile.nines))
            upper = _numeric(profile, profile.ordinary).upper
            remarks[profile.name] = [
                f'{codes} may mean "missing": if so, add missing_values = [{codes}], and upper = {upper} or so'
            ]
    return Draft(tuple(attributes), remarks, left_out)


def _unfit(column: ColumnProfile) -> str | None:
    if column.kind is None:
        return f"type {column.type_name} can be no attribute; cast it"
    if not column.present:
        return "no value in any row"
    if column.values is not None:
        if any(not value.isprintable() for value in column.values):
            return "holds control characters; clean it"
        return "one value only" if column.distinct == 1 else None
    if column.kind not in (Kind.FLOAT, Kind.DECIMAL) and column.distinct >= NEARLY_ALL * column.present:
        return "another value in nearly every row: an identifier?"
    if column.kind not in MEASURED:
        return f"many values: group them by a public map, or raise {option('most-values')}"
    if column.smallest is None or max(abs(column.smallest), abs(column.largest or 0)) > LARGEST_BOUND:
        return "numbers beyond every sensible range"
    return "one value only" if column.smallest == column.largest else None


def _numeric(column: ColumnProfile, largest: Number | None) -> Numeric:
    assert column.smallest is not None
    assert largest is not None
    lower, upper = outward(column.smallest, largest)
    step = (upper - lower) / DEFAULT_CELLS
    if column.kind in (Kind.INTEGER, Kind.UNSIGNED):
        step = Fraction(1)
        while (upper - lower) / step > MAXIMUM_CELLS:
            step *= 10
    return Numeric(column.name, lower, upper, step)


def outward(smallest: Number, largest: Number) -> tuple[Fraction, Fraction]:
    """Round bounds outwards, to 1, 2 or 5 times a power of ten, or to multiples of one where zero is far away."""
    low, high = Fraction(smallest), Fraction(largest)
    if low > 0 and 2 * low > high:
        unit = _round_above(high - low) if high > low else _round_above(high) / 10
        return Fraction(low // unit * unit), -(-high // unit) * unit
    return (-_round_above(-low) if low < 0 else Fraction(0)), (_round_above(high) if high > 0 else Fraction(0))


def _round_above(number: Fraction) -> Fraction:
    exponent = (Decimal(number.numerator) / Decimal(number.denominator)).adjusted() - 1
    steps = (factor * Fraction(10) ** (exponent + more) for more in range(4) for factor in (1, 2, 5))
    return next(step for step in steps if step >= number)


def _stray_code(values: Sequence[str]) -> str | None:
    """Return the last of few whole numbers in order if it is of nines and leaves a gap: the 9 of 1, 2, 3, 9."""
    last = values[-1]
    if len(values) < 2 or set(last) != {"9"} or not values[-2].lstrip("-").isdigit():
        return None
    return last if int(last) - int(values[-2]) > 1 else None
