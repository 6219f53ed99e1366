"""Lemma 2.13 attacked: each part of a split is made of what each row, or unit, alone puts there."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.people import people, people_domain, write_people
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.domain.split_parts import kept_apart
from dpnb_columnar.rows import holdout
from dpnb_columnar.rows.parquet import BATCH_ROWS

Row = tuple[Any, ...]

SCHEMA = pl.Schema({"HOME": pl.Int64, "age": pl.Float64, "sex": pl.String, "visits": pl.List(pl.Int64)})

ROWS: list[Row] = [
    (1, 30.0, "f", [1]),
    (1, 30.0, "m", None),
    (2, -0.0, None, []),
    (2, 0.0, None, []),  # equal to the row above
    (None, 30.0, "f", [1]),
    (None, float("nan"), "m", [2, None]),
    (None, None, None, None),
]
"""Rows of a unit, of another, and of none; some alike, some with nothing in them."""


def parts(rows: Sequence[Row], **options: Any) -> tuple[Counter[str], ...]:
    divided = dpnb.split(pl.DataFrame(rows, SCHEMA, orient="row"), **options)
    return tuple(Counter(map(repr, part.rows())) for part in divided)


def check_rows_decide_alone(divide: Callable[[Sequence[Row]], tuple[Counter[str], ...]], most: int) -> None:
    """Compare the parts of every table of so many rows, in two orders, with those of its rows one by one.

    So no row that is added, removed or replaced moves another: the parts of all neighbours are sums of the same terms.
    """
    alone = [divide([row]) for row in ROWS]
    for size in range(most + 1):
        for chosen in itertools.combinations_with_replacement(range(len(ROWS)), size):
            for order in (chosen, chosen[::-1]):
                divided = divide([ROWS[place] for place in order])
                for side in range(len(divided)):
                    expected = sum((alone[place][side] for place in chosen), Counter[str]())
                    assert divided[side] == expected, order


@pytest.mark.parametrize("by", [(), ("HOME",), ("HOME", "sex")], ids=str)
@pytest.mark.parametrize(("seed", "most"), [(1, 2), pytest.param(2, 4, marks=pytest.mark.slow)])
def test_parts_of_every_small_table_are_those_of_its_rows(by: tuple[str, ...], seed: int, most: int) -> None:
    sides: list[bool] = []

    def divide(rows: Sequence[Row]) -> tuple[Counter[str], ...]:
        divided = parts(rows, test=0.5, by=by, seed=seed)
        sides.append(bool(divided[0]))
        return (*divided, *parts(rows, test=0.3, validation=0.3, by=by, seed=seed))

    check_rows_decide_alone(divide, most)
    assert {*sides} == {True, False}


def test_rows_of_a_unit_go_together() -> None:
    for seed in range(20):
        train, test = dpnb.split(pl.DataFrame(ROWS, SCHEMA, orient="row"), test=0.5, by="HOME", seed=seed)
        assert not {*train["HOME"].drop_nulls()} & {*test["HOME"].drop_nulls()}


@pytest.mark.slow
def test_a_fault_planted_into_the_decision_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the place of a row, by the number of rows, by how many are alike, by the first row; null units by place."""
    right = holdout._places

    def by_place(columns: Any, rows: int, split: Any) -> Any:
        return np.random.PCG64(split.seed).random_raw(rows) >> np.uint64(63)

    def by_number(columns: Any, rows: int, split: Any) -> Any:
        return right(columns, rows, holdout.Split(split.test, split.by, split.seed + rows))

    def by_rank(columns: Any, rows: int, split: Any) -> Any:
        words = holdout.row_words(columns, rows, split.key)
        return (np.argsort(np.argsort(words)) < rows // 2).astype(int)

    def by_another(columns: Any, rows: int, split: Any) -> Any:
        held_out = right(columns, rows, split)
        return held_out ^ int(held_out[:1].any())

    def null_units_by_place(columns: Any, rows: int, split: Any) -> Any:
        lost = np.array([each is None for each in columns["HOME"].to_pylist()], bool)
        return np.where(lost, by_place(columns, rows, split), right(columns, rows, split))

    for fault in (by_place, by_number, by_rank, by_another, null_units_by_place):
        monkeypatch.setattr(holdout, "_places", fault)
        with pytest.raises(AssertionError):
            check_rows_decide_alone(lambda rows: parts(rows, test=0.5, by="HOME", seed=1), 3)


def files_of(rows: pl.DataFrame) -> Iterable[list[Path]]:
    """The same rows in files of other orders, row groups, numbers of files, types and encodings."""
    folder = Path("written")
    folder.mkdir(exist_ok=True)
    whole = write_people(folder / "a.parquet", rows)
    yield [whole]
    yield [write_people(folder / "b.parquet", rows.reverse())]
    yield [write_people(folder / "c.parquet", rows.slice(100)), write_people(folder / "d.parquet", rows.head(100))]
    yield [write_people(folder / "e.parquet", rows.select(reversed(rows.columns)))]
    casts: Any = {"age": pl.Float32, "hours": pl.Decimal(20, 3), "sex": pl.Categorical, "row": pl.UInt16}
    yield [write_people(folder / "f.parquet", rows.cast(casts))]
    pq.write_table(pq.read_table(whole), folder / "g.parquet", row_group_size=7, use_dictionary=False)
    yield [folder / "g.parquet"]
    pq.write_table(
        pq.read_table(whole).cast(pa.schema([(name, pa.string()) for name in rows.columns])), folder / "h.parquet"
    )
    yield [folder / "h.parquet"]


def held_out(run: Run, files: Sequence[Path], *options: object) -> set[int]:
    """The numbers of the rows that are held out; none is lost, and none is in both files."""
    run("split", *files, "--train-output", "1.parquet", "--test-output", "2.parquet", "--overwrite", *options)
    sides = [pl.read_parquet(f"{side}.parquet")["row"].cast(pl.Int64) for side in (1, 2)]
    assert sorted([*sides[0], *sides[1]]) == sorted(
        place for file in files for place in pl.read_parquet(file)["row"].cast(pl.Int64)
    )
    return {*sides[1]}


NULLS = [place // 3 if place % 4 else None for place in range(300)]


@pytest.mark.parametrize("by", [(), ("--by", "HOME")], ids=["rows", "units"])
def test_no_file_moves_a_row(by: tuple[str, ...], folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = people(300).with_columns(row=pl.int_range(300), HOME=pl.Series(NULLS, dtype=pl.Int64))
    first, *others = files_of(rows)
    expected = held_out(run, first, *by)
    assert 30 < len(expected) < 90
    for files in others:
        assert held_out(run, files, *by) == expected, files
    monkeypatch.setattr(holdout, "BATCH_ROWS", 13)
    assert holdout.BATCH_ROWS != BATCH_ROWS
    assert held_out(run, first, *by) == expected
    assert {*dpnb.split(rows, by=by[1:]).test["row"]} == expected
    assert {*dpnb.split(rows.to_arrow(), by=by[1:]).test["row"].to_pylist()} == expected
    pytest.importorskip("pandas", reason="pandas is not installed")
    assert {*dpnb.split(rows.to_pandas(), by=by[1:]).test["row"]} == expected


@pytest.mark.parametrize("by", [(), ("--by", "HOME")], ids=["rows", "units"])
def test_one_row_more_less_or_other_moves_no_other(by: tuple[str, ...], folder: Path, run: Run) -> None:
    rows = people(300).with_columns(row=pl.int_range(300), HOME=pl.Series(NULLS, dtype=pl.Int64))
    expected = held_out(run, [write_people(Path("a.parquet"), rows)], *by)
    other = rows.slice(7, 1).with_columns(
        age=pl.lit(99, pl.Int64), HOME=pl.lit(None, pl.Int64), row=pl.lit(300, pl.Int64)
    )
    for place in (0, 1, 150, 299):
        neighbours = {
            "less": pl.concat([rows.head(place), rows.slice(place + 1)]),
            "more": pl.concat([rows.head(place), other, rows.slice(place)]),
            "other": pl.concat([rows.head(place), other, rows.slice(place + 1)]),
        }
        for name, neighbour in neighbours.items():
            moved = held_out(run, [write_people(Path("b.parquet"), neighbour)], *by) ^ expected
            assert moved <= ({place, 300} if name != "more" else {300}), (name, place)


def test_what_is_counted_of_a_part_moves_by_one_row_of_the_extract() -> None:
    """The statistics that a release is made of: by one in one class, under either relation by its own measure."""
    rows = people(16)
    domain = people_domain()

    def counted(table: pl.DataFrame) -> np.ndarray[Any, Any]:
        return np.array([dpnb.aggregate(part, domain=domain).class_counts for part in dpnb.split(table, test=0.5)])

    whole = counted(rows)
    for place in range(16):
        less = counted(pl.concat([rows.head(place), rows.slice(place + 1)]))
        assert np.abs(whole - less).sum() == 1
        other = counted(pl.concat([rows.head(place), people(1, place + 7), rows.slice(place + 1)]))
        assert np.abs(whole - other).sum() <= 2


def test_a_unit_of_the_extract_moves_rows_of_its_own_alone() -> None:
    """Also where rows are split one by one, and a unit's rows go to both parts."""
    rows = people(60).with_columns(HOME=pl.int_range(60) // 3, row=pl.int_range(60))
    for by in ((), ("HOME",)):
        whole = [{*part["row"]} for part in dpnb.split(rows, test=0.5, by=by)]
        for unit in range(20):
            less = [{*part["row"]} for part in dpnb.split(rows.filter(pl.col("HOME") != unit), test=0.5, by=by)]
            for before, after in zip(whole, less, strict=True):
                assert after == before - {3 * unit, 3 * unit + 1, 3 * unit + 2}


@pytest.mark.parametrize("by", [(), ("--by", "HOME")], ids=["rows", "units"])
def test_a_part_is_split_again_by_the_same_seed(by: tuple[str, ...], folder: Path, run: Run) -> None:
    """Its metadata tells that it is a part: it is divided by other numbers, always the same."""
    rows = people(600).with_columns(row=pl.int_range(600), HOME=pl.int_range(600) // 2)
    write_people(Path("a.parquet"), rows)
    run("split", "a.parquet", *by, "--test", "0.25")
    again = [held_out(run, [Path("a.train.parquet")], *by, "--test", "0.25") for _ in range(2)]
    assert again[0] == again[1]
    train = pl.read_parquet("a.train.parquet").height
    assert 0.12 < len(again[0]) / train < 0.4
    assert held_out(run, [Path("a.train.parquet")], *by, "--test", "0.25", "--seed", 2) != again[0]
    # Taken together again, the parts are told apart from the extract, and no order of theirs matters.
    both = [Path("a.train.parquet"), Path("a.test.parquet")]
    assert held_out(run, both, *by) == held_out(run, both[::-1], *by)
    write_people(Path("b.parquet"), rows.with_columns(pl.col("row") + 600, pl.col("HOME") + 300))
    run("split", "b.parquet", *by, "--seed", 9)
    both = [Path("a.train.parquet"), Path("b.train.parquet")]
    assert held_out(run, both, *by) == held_out(run, both[::-1], *by)
    both[1] = Path("b.parquet")
    assert held_out(run, both, *by) == held_out(run, both[::-1], *by)


def test_few_rows_may_leave_a_part_empty(folder: Path, run: Run) -> None:
    """The part is a share of all rows that could be, not of those that are there."""
    sizes = []
    for seed in range(12):
        write_people(Path("a.parquet"), people(2))
        run("split", "a.parquet", "--seed", seed, "--overwrite")
        sizes.append(pl.read_parquet("a.test.parquet").height)
    assert {0, 1} <= {*sizes}
    assert pl.read_parquet("a.test.parquet").columns == people(1).columns


def test_splits_by_other_units_keep_no_rows_apart(folder: Path, run: Run) -> None:
    """They share seed and shares, and yet rows that one trains on are tested on by another."""
    rows = people(300).with_columns(row=pl.int_range(300), HOME=pl.int_range(300) // 3, STREET=pl.int_range(300) // 9)
    write_people(Path("a.parquet"), rows)
    splits = {by: (Path(f"train-{by}.parquet"), Path(f"test-{by}.parquet")) for by in ("", "HOME", "STREET")}
    for by, (train, test) in splits.items():
        units = ("--by", by) if by else ()
        run("split", "a.parquet", *units, "--train-output", train, "--test-output", test)
    for (by, (train, _)), (other, (_, test)) in itertools.product(splits.items(), repeat=2):
        shared = {*pl.read_parquet(train)["row"]} & {*pl.read_parquet(test)["row"]}
        known = kept_apart(holdout.parts_of([train]), holdout.parts_of([test]))
        assert known == (((by,) if by else ()) if by == other else None)
        assert bool(shared) == (by != other)


def test_files_of_different_parts_are_no_part_of_a_split(folder: Path, run: Run) -> None:
    """Nor is what is split of them: it has rows of both."""
    write_people(Path("a.parquet"), people(300).with_columns(row=pl.int_range(300)))
    run("split", "a.parquet")
    train, test, again = (Path(f"{name}.parquet") for name in ("a.train", "a.test", "again"))
    (part,) = holdout.parts_of([train])
    assert holdout.parts_of([train, train]) == [part]
    assert not holdout.parts_of([train, test])
    assert not holdout.parts_of([train, Path("a.parquet")])
    run("split", train, test, "--seed", 3, "--train-output", again, "--test-output", "rest.parquet")
    assert {*pl.read_parquet(again)["row"]} & {*pl.read_parquet(test)["row"]}
    assert kept_apart(holdout.parts_of([again]), holdout.parts_of([test])) is None
    assert [each["part"] for each in holdout.parts_of([again])] == ["train"]


def test_moments_of_nanoseconds_name_a_unit_without_pandas() -> None:
    """Python has no nanoseconds, and Arrow hands such values to pandas, which is no dependency."""
    for type_ in (pa.time64("ns"), pa.timestamp("ns"), pa.timestamp("ns", "UTC"), pa.duration("ns")):
        assert holdout._python_values(pa.array([1, None, 1_000], pa.int64()).cast(type_)) == [1, None, 1_000]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([b"\xff", b"a", None], pa.binary()).view(pa.string()),
        pa.array([10**18, 0, None], pa.int64()).cast(pa.timestamp("us")),
        pa.array([10**8, 0, None], pa.int32()).cast(pa.date32()),
        pa.array([2**62, 0, None], pa.int64()).cast(pa.duration("s")),
        pa.array([10**18 + 1, 0, None], pa.int64()).cast(pa.timestamp("ns")).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
def test_values_that_python_does_not_have_name_units(column: pa.Array) -> None:
    first, second, missing = holdout._units(column)
    assert None not in (first, second)
    assert first != second
    assert missing is None
