"""``dpnb-columnar split``: rows held out, whole units, the same by the same seed."""

from __future__ import annotations

import itertools
import stat
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.people import people, write_people
from support.running import Run

from dpnb_columnar.counting.find_domain import find_domain
from dpnb_columnar.domain.groupings import kept_apart
from dpnb_columnar.rows import holdout
from dpnb_columnar.rows.holdout import batches_of_files, parts_of

TRAIN, TEST = Path("people.train.parquet"), Path("people.test.parquet")


def households(rows: int) -> pl.DataFrame:
    """People in households of one to five, some without one."""
    serial = [place // (1 + place % 5) if place % 11 else None for place in range(rows)]
    return people(rows).with_columns(SERIAL=pl.Series(serial, dtype=pl.Int64), row=pl.int_range(rows))


def divided(run: Run, *options: object) -> tuple[pl.DataFrame, pl.DataFrame]:
    run("split", "people.parquet", "--overwrite", *options)
    return pl.read_parquet(TRAIN), pl.read_parquet(TEST)


def test_every_row_is_in_one_of_two_files_that_keep_the_domain(folder: Path, run: Run) -> None:
    write_people(Path("people.parquet"), households(5000))
    assert run("split", "people.parquet").out == f"wrote {TRAIN} to train on, and {TEST} to evaluate on\n"
    parts = [pl.read_parquet(TRAIN), pl.read_parquet(TEST)]
    assert pl.concat(parts).sort("row").equals(pl.read_parquet("people.parquet"))
    assert all(part["row"].is_sorted() for part in parts)
    assert 0.17 < len(parts[1]) / 5000 < 0.23
    whole = find_domain([Path("people.parquet")], None, None).domain
    for path in (TRAIN, TEST):
        assert find_domain([path], None, None).domain == whole
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    run("train", TRAIN, "--output", "model.json")
    run("evaluate", "model.json", TEST)


@pytest.mark.parametrize("data", ["p*.parquet", "folder", "."])
def test_files_of_a_pattern_or_a_folder_get_plain_names(data: str, folder: Path, run: Run) -> None:
    (folder / "folder").mkdir()
    for path in ("people.parquet", "folder/b.parquet"):
        write_people(Path(path), people(100))
    name = {"p*.parquet": "people", "folder": "folder", ".": folder.name}[data]
    told = run("split", data).out
    assert told == f"wrote {name}.train.parquet to train on, and {name}.test.parquet to evaluate on\n"


@pytest.mark.parametrize("by", [(), ("--by", "SERIAL"), ("--by", "SERIAL", "--by", "sex")])
def test_the_seed_alone_decides(by: tuple[str, ...], folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write_people(Path("people.parquet"), households(900))
    first = divided(run, *by, "--seed", 7)
    monkeypatch.setattr(holdout, "BATCH_ROWS", 13)
    again, other = divided(run, *by, "--seed", 7), divided(run, *by, "--seed", 8)
    assert all(one.equals(two) for one, two in zip(first, again, strict=True))
    assert not other[1].equals(first[1])


@pytest.mark.parametrize("unit", [pl.Datetime(), pl.Duration(), pl.Time(), pl.Binary(), pl.List(pl.Int64)], ids=str)
def test_a_unit_of_any_type_goes_to_one_side(unit: pl.DataType, folder: Path, run: Run) -> None:
    serial = pl.col("SERIAL").reshape((-1, 1)).arr.to_list() if unit == pl.List else pl.col("SERIAL")
    rows = households(300).with_columns(VISIT=(serial.cast(pl.String) if unit == pl.Binary() else serial).cast(unit))
    write_people(Path("people.parquet"), rows)
    train, test = divided(run, "--by", "VISIT")
    assert not set(train["SERIAL"].drop_nulls()) & set(test["SERIAL"].drop_nulls())


@pytest.mark.parametrize("most", [1, 4000, 2**30])
def test_long_texts_that_rows_share_are_written_out_for_few_rows_at_a_time(
    most: int, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first row group has short ones only; the second one's rows share two of 1,000 bytes."""
    short, long = ["a", None, "", "b"] * 250, ["x" * 1000, "short", None, "y" * 1000] * 250
    kinds = {"text": pa.string(), "wide": pa.large_string(), "bytes": pa.binary(), "large": pa.large_binary()}
    columns: dict[str, object] = {name: pa.array(short + long).cast(type_) for name, type_ in kinds.items()}
    columns["entries"] = columns["text"].dictionary_encode()  # type: ignore[attr-defined]
    columns["short"] = pa.array(short * 2)
    rows = pa.table({**columns, "row": range(2000)})
    pq.write_table(rows, "people.parquet", row_group_size=1000)
    plain = divided(run, "--seed", 3)
    monkeypatch.setattr(holdout, "TEXT_BYTES", most)
    parts = divided(run, "--seed", 3)
    assert all(one.equals(two) for one, two in zip(plain, parts, strict=True))
    assert pl.concat(parts).sort("row").equals(pl.from_arrow(rows))  # type: ignore[arg-type]
    assert pq.read_schema(TRAIN).remove_metadata() == rows.schema
    sizes = []
    for batch in batches_of_files([Path("people.parquet")]).batches:
        texts = sum(sum(map(len, filter(None, batch[name].to_pylist()))) for name in kinds)
        assert texts <= max(most, 2000) or len(batch) == 1
        sizes.append(len(batch))
    assert sum(sizes) == 2000
    assert (min(sizes) < 10) == (most < 2**30)


def test_files_and_their_odd_columns_stay_as_they_are(folder: Path, run: Run) -> None:
    table = pa.table(
        {
            "kind": pa.array(["a", "b"] * 50).dictionary_encode(),
            "odd": pa.array([[1], None] * 50),
            "text": pa.Array.from_buffers(pa.string(), 100, pa.array([b"\xff"] * 100).buffers()),
        }
    )
    Path("parts").mkdir()
    for name in ("a", "b"):
        pq.write_table(table, f"parts/{name}.parquet")
    run("split", "parts", "--test", "1/4")
    parts = [pq.read_table(f"parts.{side}.parquet") for side in ("train", "test")]
    assert sum(map(len, parts)) == 200
    assert all(part.schema.remove_metadata() == table.schema for part in parts)


@pytest.mark.parametrize("by", [(), ("--by", "SERIAL")])
def test_a_third_part_to_choose_by(by: tuple[str, ...], folder: Path, run: Run) -> None:
    rows = households(3000)
    write_people(Path("people.parquet"), rows)
    train, test = divided(run, *by)
    third = Path("people.validation.parquet")
    done = run("split", "people.parquet", *by, "--validation", ".3", "--overwrite")
    assert done.out == f"wrote {TRAIN} to train on, {third} to choose by, and {TEST} to evaluate on\n"
    parts = [pl.read_parquet(path) for path in (TRAIN, third, TEST)]
    assert parts[2].equals(test)
    assert pl.concat(parts[:2]).sort("row").equals(train)
    assert pl.concat(parts).sort("row").equals(pl.read_parquet("people.parquet"))
    assert 0.25 < len(parts[1]) / 3000 < 0.35
    assert stat.S_IMODE(third.stat().st_mode) == 0o600
    told = [parts_of([path]) for path in (TRAIN, third, TEST)]
    assert [part["part"] for part, *_ in told] == ["train", "validation", "test"]
    assert all(kept_apart(one, two) == by[1:] for one, two in itertools.permutations(told, 2))
    # A third of a part is again divided by other numbers.
    run("split", third, *by, "--test", "0.5", "--train-output", "1.parquet", "--test-output", "2.parquet")
    assert 0.35 < pl.read_parquet("2.parquet").height / len(parts[1]) < 0.65


def test_a_part_without_rows_is_told(folder: Path, run: Run) -> None:
    write_people(Path("people.parquet"), households(2000))
    assert not run("split", "people.parquet").err
    pl.read_parquet(TRAIN).write_parquet("other.parquet")  # another program keeps no metadata
    told = run("split", "other.parquet").err
    assert told.startswith("dpnb-columnar: CONFIDENTIAL: other.test.parquet has no row; ")
    assert "then give another --seed" in told
    told = run("split", "other.parquet", "--test", "0.4", "--overwrite").err
    assert told.startswith("dpnb-columnar: CONFIDENTIAL: other.test.parquet has fewer rows than --test 0.4 asks for; ")
    assert not run("split", "other.parquet", "--seed", 2, "--overwrite").err
    write_people(Path("people.parquet"), households(0))
    assert not run("split", "people.parquet", "--overwrite").err
    run("train", TRAIN, "--output", "model.json")
    told = run("evaluate", "model.json", TEST, expected=65).err
    assert f"{TEST}: has no row to compare predictions with" in told
