"""No row is counted twice, whatever form the statistics of the same rows come in; copies of a file are refused."""

from __future__ import annotations

import gzip
import json
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.people import DECLARATION, PEOPLE, people, people_domain, spoil_rows, write_people
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.core.queries.query import digest_blocks
from dpnb_columnar.core.queries.scores import Margins, ScoreTable
from dpnb_columnar.core.queries.statistics import Statistics
from dpnb_columnar.counting import local
from dpnb_columnar.counting.answer_files import CellFormat, load_statistics, save_answer
from dpnb_columnar.counting.countable import file_parts, refuse_copies
from dpnb_columnar.domain.declaration import domain_metadata
from dpnb_columnar.domain.declared_domain import digest
from dpnb_columnar.errors import DataError

STATISTICS = Path("people.statistics.parquet")
OPTIONS = ("--dataset", "people", "--output", "model.json")


def result_of(statistics: Path) -> pl.DataFrame:
    """What the statistics query returns about the rows of a statistics file."""
    cells = pl.read_parquet(statistics).with_columns(pl.col("attribute").cast(pl.String))
    return cells.with_columns(domain=pl.lit(digest(people_domain())))


@pytest.fixture
def counted(people_file: Path, run: Run) -> Path:
    """Statistics of ``people.parquet``; the catalogue declares its domain."""
    Path("datasets.toml").write_text(DECLARATION)
    run("aggregate", people_file)
    return STATISTICS


PARTS = ((slice(0, 10), "a"), (slice(10, 21), "b"), (slice(21, 33), "c"))
"""Rows, and the digest of the file that they stand in."""


def shard(rows: slice) -> Statistics:
    return dpnb.aggregate(people(60)[rows], domain=people_domain())


@pytest.mark.parametrize("name", ["parts", "parts.parquet", "parts.csv", "year=2020"])
def test_folder_of_statistics_is_refused(name: str, counted: Path, run: Run) -> None:
    folder = Path(name)
    folder.mkdir()
    for part in "ab":
        shutil.copy(counted, folder / f"{part}.parquet")
        result_of(counted).write_csv(folder / f"{part}.csv")
    assert f"{name}: is a folder; name the files" in run("release", name, *OPTIONS, expected=65).err
    assert not Path("model.json").exists()


def test_a_folder_name_is_no_column(counted: Path, run: Run) -> None:
    folder = Path("count=7")
    folder.mkdir()
    shutil.copy(counted, folder)
    run("release", folder / counted, *OPTIONS, "--seed", 1)
    run("release", counted, "--dataset", "people", "--output", "same.json", "--seed", 1)
    assert Path("model.json").read_bytes() == Path("same.json").read_bytes()


def test_a_name_is_no_pattern(counted: Path, run: Run) -> None:
    result = result_of(counted)
    for name in ("a.csv", "b.csv", "[ab].csv"):
        result.write_csv(name)
    run("release", "[ab].csv", *OPTIONS, "--seed", 1)
    run("release", counted, "--dataset", "people", "--output", "same.json", "--seed", 1)
    assert Path("model.json").read_bytes() == Path("same.json").read_bytes()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_result_with_a_cell_twice_is_refused(suffix: str, counted: Path, run: Run) -> None:
    result = result_of(counted)
    for name, rows in (
        ("doubled", result),
        ("split", result.with_columns(count=pl.lit(0, pl.Int64))),
        ("once", result[5:6]),
    ):
        file = f"{name}.{suffix}"
        twice = pl.concat([result, rows])
        twice.write_csv(file) if suffix == "csv" else twice.write_parquet(file)
        assert "more than one row" in run("release", file, *OPTIONS, expected=65).err


def test_result_with_a_count_below_zero_is_refused(counted: Path, run: Run) -> None:
    """Even where the sums would be right."""
    result = result_of(counted)
    age = result.filter(pl.col("attribute") == "age")
    klass, code, count = age["class"][0], age["code"][0], age["count"][0]
    unused = min({*range(101)} - {*age.filter(pl.col("class") == klass)["code"]})
    of_one = (pl.col("attribute") == "age") & (pl.col("class") == klass) & (pl.col("code") == code)
    wrong = result.with_columns(count=pl.when(of_one).then(count + 9).otherwise("count"))
    odd = pl.DataFrame([("age", klass, unused, -9, result["domain"][0])], schema=result.schema, orient="row")
    pl.concat([wrong, odd]).write_csv("odd.csv")
    assert "a count is below zero" in run("release", "odd.csv", *OPTIONS, expected=65).err


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_statistics_and_a_query_result_of_the_same_rows_are_refused(suffix: str, counted: Path, run: Run) -> None:
    file = f"counts.{suffix}"
    result = result_of(counted)
    result.write_csv(file) if suffix == "csv" else result.write_parquet(file)
    for files in ((counted, file), (file, counted)):
        assert "count twice" in run("release", *files, *OPTIONS, expected=65).err


def test_the_same_rows_in_a_file_written_otherwise_are_refused(counted: Path, people_file: Path, run: Run) -> None:
    rows = pq.read_table(people_file)
    pq.write_table(rows, "people-anew.parquet", row_group_size=10, compression="none")
    run("aggregate", "people-anew.parquet")
    assert "count twice" in run("release", counted, "people-anew.statistics.parquet", *OPTIONS, expected=65).err


def test_a_frame_is_not_added_to_itself() -> None:
    statistics = shard(slice(0, 60))
    with pytest.raises(ValueError, match="count twice"):
        statistics + statistics
    with pytest.raises(ValueError, match="count twice"):
        statistics + shard(slice(0, 60))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_sums_know_all_they_are_made_of(data: st.DataObject) -> None:
    """Shards of different counts add up once, in any order; a sum that shares one is refused."""
    shards = [shard(rows) for rows in (slice(0, 10), slice(10, 21), slice(21, 33), slice(33, 60))]

    def total(places: list[int]) -> Statistics:
        found = shards[places[0]]
        for place in places[1:]:
            found = found + shards[place] if data.draw(st.booleans()) else shards[place] + found
        return found

    some = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True))
    others = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True))
    first, second = total(some), total(others)
    if {*some} & {*others}:
        with pytest.raises(ValueError, match="count twice"):
            first + second
    else:
        assert first + second == total(data.draw(st.permutations([*some, *others])))
        assert (first + second - second) + second == first + second


def test_a_sum_and_one_count_of_all_of_it_are_refused(tmp_path: Path) -> None:
    """A sum's own counts are known as well, and what it is made of is kept in its file."""
    first, second, whole = shard(slice(0, 25)), shard(slice(25, 60)), shard(slice(0, 60))
    save_answer(first + second, tmp_path / "sum.parquet")
    kept = load_statistics(tmp_path / "sum.parquet")
    for other in (first, second, whole):
        with pytest.raises(ValueError, match="count twice"):
            kept + other
        with pytest.raises(ValueError, match="count twice"):
            other + kept


def test_a_file_is_counted_once_whatever_its_counts() -> None:
    """A part is known by its digest in a sum of sums as well, and is forgotten when its rows are taken away."""
    first, second, third = (replace(shard(rows), parts=frozenset(part)) for rows, part in PARTS)
    other = replace(shard(slice(40, 60)), parts=second.parts)
    for known in (second, first + second, second + first, (first + second) + third):
        assert known.parts >= second.parts
        for one, two in ((known, other), (other, known)):
            with pytest.raises(ValueError, match="count twice"):
                one + two
    without = (first + second) - second
    assert without.parts == first.parts
    assert (without + other).parts == first.parts | other.parts


@pytest.mark.parametrize("declared", [(True, False), (False, True), (False, False)])
def test_units_of_both_sides_have_to_be_declared_whole(declared: tuple[bool, bool]) -> None:
    domain = people_domain({**PEOPLE, "unit": {"columns": ["u"], "rows": 1}})
    rows = people(20).with_columns(u=pl.int_range(pl.len()))
    first, second = (dpnb.aggregate(part, domain=domain) for part in (rows[:10], rows[10:]))
    scores = Margins(domain, ((ScoreTable("age", (0,), (1,)),),), (0, 0), 0, (0,))
    counted = [local.answer(part, scores) for part in (rows[:10], rows[10:])]
    for one, two in ((first, second), counted):
        with pytest.raises(ValueError, match="rows are counted by unit"):
            replace(one, whole_units=declared[0]) + replace(two, whole_units=declared[1])
        both = replace(one, whole_units=True) + replace(two, whole_units=True)
        assert both.whole_units


def test_a_digest_tells_how_blocks_are_divided() -> None:
    divisions = [[b"ab", b"c"], [b"a", b"bc"], [b"abc"], [b"abc", b""], [b"", b"abc"]]
    assert len({digest_blocks("kind", blocks) for blocks in divisions}) == len(divisions)
    assert digest_blocks("kind", [b"abc"]) != digest_blocks("other", [b"abc"])


def test_no_rows_are_added_any_number_of_times() -> None:
    none, some = shard(slice(0, 0)), shard(slice(0, 9))
    assert none + none + some + none == some


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        *(
            (
                {"version": each},
                f"a statistics file of version {each}; dpnb-columnar 0.2.0 reads it; make it again with",
            )
            for each in (2, 3)
        ),
        ({"version": 5}, "of version 5, which this program does not know .it reads version 4."),
        ({"version": "4"}, "of version '4', which this program does not know"),
        *(({"summands": each}, "not a statistics file") for each in ("abc", [1], None, {"a": 1})),
    ],
)
def test_statistics_of_another_version_are_refused(changed: dict[str, object], words: str, tmp_path: Path) -> None:
    """And those whose digests are none."""
    path = tmp_path / "statistics.parquet"
    save_answer(shard(slice(0, 60)), path)
    table, key = pq.read_table(path), CellFormat.key.encode()
    header = json.loads(table.schema.metadata[key]) | changed
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, key: json.dumps(header).encode()}), path)
    with pytest.raises(DataError, match=f"statistics.parquet: .*{words}"):
        load_statistics(path)


def test_shards_of_different_people_add_up(folder: Path, run: Run) -> None:
    rows = people(400)
    for name, part in (("one", rows[:150]), ("two", rows[150:])):
        write_people(Path(f"{name}.parquet"), part)
        run("aggregate", f"{name}.parquet")
    Path("datasets.toml").write_text(DECLARATION)
    result_of(Path("two.statistics.parquet")).write_csv("two.csv")
    run("release", "one.statistics.parquet", "two.csv", *OPTIONS, "--seed", 2)
    write_people(Path("whole.parquet"), rows)
    run("train", "whole.parquet", "--seed", 2, "--output", "whole.json")
    assert Path("model.json").read_bytes() == Path("whole.json").read_bytes()


ROWS = ["AGE,SEX", *(f"{age},{age % 2}" for age in range(200))]


@pytest.fixture
def shards(folder: Path) -> Path:
    """A folder of three files, the last a copy of the first; whoever reads a row of these two fails."""
    place = folder / "shards"
    place.mkdir()
    spoil_rows(write_people(place / "a.parquet"))
    write_people(place / "b.parquet", people(300, 2))
    shutil.copy(place / "a.parquet", place / "copy.parquet")
    return place


@pytest.mark.parametrize(
    "arguments",
    [
        ("train", "shards/a.parquet", "shards/copy.parquet", "--output", "model.json"),
        ("train", "shards", "--output", "model.json"),
        ("train", "shards/*.parquet", "--output", "model.json", "--dry-run"),
        ("aggregate", "shards", "--output", "counted.parquet"),
        ("check", "shards"),
    ],
    ids=" ".join,
)
def test_copies_are_refused_at_every_door(arguments: tuple[str, ...], shards: Path, folder: Path, run: Run) -> None:
    told = run(*arguments, expected=65).err
    assert "shards/a.parquet and shards/copy.parquet are copies (of equal size, footer and beginning)" in told
    assert "drop one, or, if they hold different people, write these into one file" in told
    assert list(folder.iterdir()) == [shards]


def test_copies_are_refused_from_python(shards: Path) -> None:
    with pytest.raises(DataError, match="are copies"):
        dpnb.aggregate([shards / "copy.parquet", shards / "a.parquet"], domain=people_domain())
    with pytest.raises(DataError, match="are copies"):
        dpnb.train(shards, epsilon=1)


def test_a_ledger_pays_nothing_for_copies(shards: Path, run: Run) -> None:
    run("ledger", "init", "books.ledger", "--dataset", "people", "--epsilon", 1)
    run("train", shards, "--ledger", "books.ledger", "--run-id", "nightly", "--output", "model.json", expected=65)
    (shards / "copy.parquet").unlink()
    write_people(shards / "a.parquet")
    run("train", shards, "--ledger", "books.ledger", "--run-id", "nightly", "--output", "model.json", "--epsilon", 1)


def test_scores_of_a_copy_are_wanted(people_file: Path, run: Run) -> None:
    run("train", people_file, "--seed", 1)
    shutil.copy(people_file, "copy.parquet")
    run("evaluate", "people.model.json", people_file, "copy.parquet")
    run("predict", "people.model.json", people_file, "copy.parquet", "--output", "scored.parquet")
    assert pl.scan_parquet("scored.parquet").select(pl.len()).collect().item() == 2000


def test_files_of_equal_size_are_no_copies(tmp_path: Path) -> None:
    files = [tmp_path / f"{age}.parquet" for age in (30, 31)]
    for file in files:
        write_people(file, people(1).with_columns(age=pl.lit(int(file.stem))))
    assert files[0].stat().st_size == files[1].stat().st_size
    assert dpnb.aggregate(files).class_counts.sum() == 2


def test_files_of_equal_footers_are_no_copies(tmp_path: Path) -> None:
    """Small files of different people may have the same lengths and extremes."""
    frame = people(3)
    files = [tmp_path / "first.parquet", tmp_path / "second.parquet"]
    for file, rows in zip(files, (frame, frame.reverse()), strict=True):
        rows.write_parquet(file, compression="uncompressed", metadata=domain_metadata(people_domain()))
    assert len(file_parts(files)) == 1
    assert dpnb.aggregate(files).class_counts.sum() == 6


def test_files_of_equal_footers_and_other_lengths_have_other_digests(tmp_path: Path) -> None:
    """Room between the last page and the footer is no part of a footer; a copy has none more."""
    file, longer = tmp_path / "first.parquet", tmp_path / "longer.parquet"
    written = write_people(file, people(3)).read_bytes()
    footer = int.from_bytes(written[-8:-4], "little") + 8
    longer.write_bytes(written[:-footer] + bytes(7) + written[-footer:])
    assert pl.read_parquet(longer).equals(pl.read_parquet(file))
    assert len(file_parts([file, longer])) == 2


def test_files_without_rows_are_no_copies(tmp_path: Path) -> None:
    files = [write_people(tmp_path / f"{name}.parquet", people(0)) for name in "abc"]
    assert dpnb.aggregate(files).class_counts.sum() == 0
    assert file_parts(files) == dpnb.aggregate(files).parts == frozenset()


def test_a_copy_written_otherwise_is_not_detected(people_file: Path) -> None:
    """As docs/privacy.md says: its footer is another one."""
    pq.write_table(pq.read_table(people_file), "anew.parquet", compression="none")
    assert dpnb.aggregate([people_file, "anew.parquet"], domain=people_domain()).class_counts.sum() == 2000


def test_footers_are_read_of_files_of_equal_size_alone(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a", "bb", "empty")]
    for file in files:
        file.write_bytes(file.name.encode())  # no Parquet file
    refuse_copies(files[:2])
    with pytest.raises(DataError, match="not a complete Parquet file"):
        refuse_copies([*files, shutil.copy(files[2], tmp_path / "other")])


@pytest.mark.parametrize("name", ["copy.csv", "copy.csv.gz", "csv_pxx.zip"])
def test_an_extract_and_its_copy_are_refused(name: str, folder: Path, run: Run) -> None:
    content = "\n".join(ROWS).encode()
    Path("people.csv").write_bytes(content)
    if name.endswith(".zip"):
        with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("psam_pxx.csv", content)
    else:
        Path(name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    told = run("ingest", "people.csv", name, "--output", "out.parquet", expected=65).err
    assert f"people.csv and {name}" in told
    assert "have the same content: each row belongs into the output once; drop one" in told
    assert sorted(path.name for path in folder.iterdir()) == sorted(["people.csv", name])


@pytest.mark.parametrize("changed", [1, -1])
def test_extracts_of_equal_size_are_no_copies(changed: int, folder: Path, run: Run) -> None:
    """Whether they differ at the beginning or after it."""
    lines = ROWS[:1] + ROWS[1:] * 100
    Path("people.csv").write_text("\n".join(lines))
    lines[changed] = lines[changed][:-1] + "7"
    Path("others.csv").write_text("\n".join(lines))
    run("ingest", "people.csv", "others.csv", "--output", "out.parquet")
    assert pl.scan_parquet("out.parquet").select(pl.len()).collect().item() == 40_000
