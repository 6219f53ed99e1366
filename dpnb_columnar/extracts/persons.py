"""The weight that ``ingest`` writes for a unit: how many of its rows the file holds, times the row's own weight.

Both are capped at declared numbers. So the weight is a function of the rows of the unit alone, and a release by this
unit, of which one row counts, is as private as one of any weight (docs/privacy.md, Lemma 2.12).

Rows of a unit stand together, and are counted as they stream by. Where some unit comes after a larger one, the written
file is read again, to see that none comes twice. CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from dpnb_columnar.domain.declaration import UNIT_WEIGHT, read_declaration
from dpnb_columnar.domain.declared_domain import MOST_WEIGHT_STEPS, Declaration, Weight, document_of
from dpnb_columnar.domain.editing import Number, with_unit, with_weight
from dpnb_columnar.domain.names import named
from dpnb_columnar.errors import DataError, UsageError, excerpt, option

if TYPE_CHECKING:
    import polars as pl

    from dpnb_columnar.domain.column_kinds import Kind

SHARE_UNITS = 2**21
"""Units that are looked at together, about, where they are in no order."""

DeclarationT = TypeVar("DeclarationT", bound=Declaration)


@dataclass(frozen=True, slots=True)
class Persons:
    """What the weight is made of; ``own`` is that of a row itself, None where a row is one person. Public."""

    unit: tuple[str, ...]
    cap: int
    own: Weight | None
    declared: Weight

    @property
    def columns(self) -> tuple[str, ...]:
        return self.unit if self.own is None else (*self.unit, self.own.column)

    @property
    def field(self) -> pa.Field:
        return pa.field(UNIT_WEIGHT, pa.int64() if self.declared.step.denominator == 1 else pa.float64())


def with_persons(
    domain: DeclarationT, unit: str | None, cap: int, weight: str | None, weight_cap: Number | None
) -> tuple[DeclarationT, Persons]:
    """Declare the unit, one row of which counts, and the weight that is written for it."""
    if not 1 <= cap <= MOST_WEIGHT_STEPS:
        raise UsageError(
            f"{option('persons-cap', cap)}: choose a whole number from 1 to {MOST_WEIGHT_STEPS}, such as 8"
        )
    chosen = with_weight(with_unit(domain, unit, 1), weight, weight_cap)
    own = chosen.weight
    assert chosen.unit is not None
    made = Weight(UNIT_WEIGHT, Fraction(cap)) if own is None else replace(own, column=UNIT_WEIGHT, missing=Fraction(0))
    declared = replace(made, unit=chosen.unit.columns)
    written = replace(chosen, weight=declared)
    read_declaration(domain.name, document_of(written), "the weight of a unit")  # refuses what cannot be
    return written, Persons(declared.unit, cap, own, declared)


class PersonCounts:
    """The weights of rows that stream by."""

    def __init__(self, persons: Persons, kinds: Mapping[str, Kind]) -> None:
        from dpnb_columnar.domain.column_kinds import NUMERIC_KINDS

        if persons.own is not None and kinds.get(persons.own.column) not in NUMERIC_KINDS:
            raise DataError(f"{option('weight')}: the column {excerpt(persons.own.column)} holds no numbers; cast it")
        self._persons, self._kinds = persons, kinds
        self._waiting: pa.Table | None = None
        self._handed_on = 0
        self._end: pl.DataFrame | None = None
        self._checked: pl.DataFrame | None = None
        self._units = 0
        self._in_order = True

    def counted(self, batches: Iterable[pa.RecordBatch]) -> Generator[pa.RecordBatch]:
        """Yield the rows with their weight, in their order. Confidential."""
        for batch in batches:
            yield from self._complete(pa.Table.from_batches([batch])).to_batches()
        if self._waiting is not None:
            yield from self._weighed(self._waiting, np.full(len(self._waiting), len(self._waiting))).to_batches()

    def check(self, file: Path) -> None:
        """Refuse a written file in which the rows of some unit do not stand together."""
        import polars as pl
        import pyarrow.parquet as pq

        shares = 0 if self._in_order else self._units // SHARE_UNITS + 1
        for share in range(shares):
            found, end = [], None
            for batch in pq.ParquetFile(file).iter_batches(columns=[*self._persons.unit]):
                keys = self._keys(pa.Table.from_batches([batch]))
                starts = _starts(keys)
                is_new = end is None or not keys[:1].equals(end)
                first, end = keys[starts if is_new else starts[1:]].drop_nulls(), keys[-1:]
                found.append(first.filter(first.hash_rows(seed=1) % shares == share))
            if pl.concat(found).is_duplicated().any():
                unit = named(self._persons.unit)
                raise DataError(
                    f"{option('persons-cap')}: rows of one unit of {unit} do not stand together, so they are not "
                    f"counted; sort the extract by {unit}, or name more columns with {option('unit')}, such as "
                    "SAMPLE,SERIAL"
                )

    def _keys(self, rows: pa.Table) -> pl.DataFrame:
        import polars as pl

        return pl.DataFrame(pl.from_arrow(rows.select([*self._persons.unit])))

    def _complete(self, rows: pa.Table) -> pa.Table:
        """Return the rows so far, and their weight, but those whose unit may have more rows that count."""
        if self._waiting is not None:
            rows = pa.concat_tables([self._waiting, rows])
        if not len(rows):
            return self._weighed(rows, np.zeros(0, dtype=np.int64))
        keys = self._keys(rows)
        starts = _starts(keys)
        sizes = np.diff(starts, append=len(rows))
        numbers = sizes.copy()
        is_known = self._end is not None and keys[:1].equals(self._end)
        numbers[0] += self._handed_on if is_known else 0
        self._look_at(keys[starts[1:] if is_known else starts])
        self._end = keys[-1:]
        is_full = numbers[-1] >= self._persons.cap
        end = len(rows) if is_full else int(starts[-1])
        self._handed_on = int(numbers[-1]) if is_full else 0
        self._waiting = None if is_full else rows.slice(end)
        return self._weighed(rows.slice(0, end), np.repeat(numbers, sizes)[:end])

    def _look_at(self, units: pl.DataFrame) -> None:
        import polars as pl

        units = units.drop_nulls()
        self._units += len(units)
        both = units if self._checked is None else pl.concat([self._checked, units])
        stays = pl.Series([True])
        for column in reversed(both.get_columns()):
            after, before = column[1:], column[:-1]
            stays = (after < before) | ((after == before) & stays)
        self._in_order = self._in_order and not stays[: max(len(both) - 1, 0)].any()
        self._checked = both[-1:] if len(both) else None

    def _weighed(self, rows: pa.Table, numbers: np.ndarray) -> pa.Table:
        import polars as pl

        from dpnb_columnar.rows.row_rules import weight_steps

        own, declared = self._persons.own, self._persons.declared
        frame = pl.DataFrame(pl.from_arrow(rows.select([*self._persons.columns])))
        has_unit = pl.all_horizontal(pl.col(*self._persons.unit).is_not_null())
        steps = pl.lit(1, pl.Int64) if own is None else weight_steps(own, self._kinds[own.column])
        number = pl.lit(pl.Series(UNIT_WEIGHT, np.minimum(numbers, self._persons.cap), pl.Int64))
        product = (number * steps).clip(upper_bound=declared.steps)
        whole = declared.step.denominator == 1
        value = product * (int(declared.step) if whole else float(declared.step))
        weights = frame.select(pl.when(has_unit).then(value).alias(UNIT_WEIGHT)).to_series()
        return rows.append_column(self._persons.field, weights.to_arrow().cast(self._persons.field.type))


def _starts(keys: pl.DataFrame) -> np.ndarray:
    """Return where runs of equal units begin, the first row included."""
    import polars as pl

    differs = keys.select(pl.any_horizontal(pl.all().ne_missing(pl.all().shift()))).to_series().to_numpy()
    return np.flatnonzero(np.append(True, differs[1:])[: len(keys)])
