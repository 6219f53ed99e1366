"""Counting file by file is counting all at once, whatever is found in the folder of checkpoints."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.aggregation_cases import BOTH, declared
from support.people import PEOPLE as DOCUMENT
from support.people import people, people_domain

from dpnb_columnar.counting import checkpoints
from dpnb_columnar.counting import file_parts as file_parts_module
from dpnb_columnar.counting.engines import local
from dpnb_columnar.counting.file_parts import file_parts
from dpnb_columnar.counting.statistics import CellQuery, Statistics
from dpnb_columnar.counting.statistics_files import load_statistics, save_answer
from dpnb_columnar.errors import DataError, OutputError
from dpnb_columnar.rows.parquet import ParquetSource, open_parquet

MIXED = declared(BOTH)
counted_at_once = local.answer
"""The engine, which some tests replace."""

PEOPLE = people_domain()

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "age": st.none() | st.integers(-5, 120),
            "wage": st.none() | st.floats(-1, 11, width=32) | st.just(float("nan")),
            "sex": st.sampled_from([None, "m", "f", "x"]),
            "code": st.sampled_from([None, 1, 2, 3, 4]),
            "y": st.sampled_from([None, "no", "yes", "other"]),
        }
    ),
    max_size=6,
)
SCHEMA = pl.Schema({"age": pl.Int16, "wage": pl.Float64, "sex": pl.String, "code": pl.Int64, "y": pl.String})


@pytest.fixture
def source(tmp_path: Path) -> ParquetSource:
    """Five files of people."""
    (tmp_path / "data").mkdir()
    for number in range(5):
        people(50 + number, number).write_parquet(tmp_path / "data" / f"part-{number}.parquet")
    return open_parquet(sorted((tmp_path / "data").iterdir()), PEOPLE)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files that are counted, as they are."""
    names: list[str] = []

    def answer(source: ParquetSource, query: CellQuery) -> Statistics:
        names.extend(file.name for file in source.files)
        return once(source, query)

    once = counted_at_once
    monkeypatch.setattr(local, "answer", answer)
    return names


def assert_same(found: Statistics, expected: Statistics) -> None:
    """Bit for bit, in the order of cells as well."""
    assert found == expected
    assert found.parts == expected.parts
    for one, other in zip(found.cells(), expected.cells(), strict=True):
        for field in ("classes", "codes", "counts"):
            mine, theirs = getattr(one, field), getattr(other, field)
            assert mine.dtype == theirs.dtype
            assert mine.tobytes() == theirs.tobytes()


def kept(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(files=st.lists(ROWS, min_size=1, max_size=4), seen=st.sets(st.integers(0, 3)))
def test_any_split_counts_as_all_at_once(files: Sequence[list[dict[str, object]]], seen: set[int]) -> None:
    """With no checkpoint, with those of some files, and with all; empty files and copies among them."""
    with tempfile.TemporaryDirectory() as name:
        folder, paths = Path(name), [Path(name) / f"{number}.parquet" for number in range(len(files))]
        for path, rows in zip(paths, files, strict=True):
            pl.DataFrame(rows, SCHEMA).write_parquet(path)
        source = open_parquet(paths, MIXED)
        expected = counted_at_once(source, CellQuery(MIXED))
        if some := [path for number, path in enumerate(paths) if number in seen]:
            checkpoints.answer(open_parquet(some, MIXED), CellQuery(MIXED), folder / "kept")
        for _ in range(2):
            assert_same(checkpoints.answer(source, CellQuery(MIXED), folder / "kept"), expected)


def test_a_second_run_counts_nothing_and_writes_the_same_file(
    source: ParquetSource, tmp_path: Path, counted: list[str]
) -> None:
    save_answer(counted_at_once(source, CellQuery(PEOPLE)), tmp_path / "once.parquet")
    for number in range(2):
        save_answer(checkpoints.answer(source, CellQuery(PEOPLE), tmp_path / "kept"), tmp_path / f"{number}.parquet")
        assert (tmp_path / f"{number}.parquet").read_bytes() == (tmp_path / "once.parquet").read_bytes()
    assert len(counted) == len(source.files)


def test_checkpoints_are_private(source: ParquetSource, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        checkpoints.answer(source, CellQuery(PEOPLE), tmp_path / "kept")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "kept").stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in kept(tmp_path / "kept")} == {0o600}
    assert len(kept(tmp_path / "kept")) == len(source.files)


@pytest.mark.parametrize("mode", [0o750, 0o704, 0o710, 0o701, 0o777, 0o1777])
def test_a_folder_that_is_open_to_others_is_refused(source: ParquetSource, tmp_path: Path, mode: int) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept").chmod(mode)
    with pytest.raises(OutputError, match=r"kept: is open to others, and checkpoints are confidential; chmod 700 "):
        checkpoints.answer(source, CellQuery(PEOPLE), tmp_path / "kept")
    assert kept(tmp_path / "kept") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone can give folders away, and write to those of others")
def test_a_folder_of_another_user_is_refused(source: ParquetSource, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir(mode=0o700)
    os.chown(tmp_path / "kept", 65534, 65534)
    with pytest.raises(OutputError, match=r"kept: belongs to another user, and checkpoints are confidential"):
        checkpoints.answer(source, CellQuery(PEOPLE), tmp_path / "kept")
    assert kept(tmp_path / "kept") == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("file", "is not a folder"),
        ("missing/kept", "cannot be created: No such file"),
        ("file/kept", "cannot be created: Not a directory"),
    ],
)
def test_places_that_are_no_folder(source: ParquetSource, tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=f"{name}: {reason}.*name another checkpoint"):
        checkpoints.answer(source, CellQuery(PEOPLE), tmp_path / name)


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["empty", "cut", "text", "folder", "link to nowhere"])
def test_a_damaged_checkpoint_is_counted_anew(
    source: ParquetSource, tmp_path: Path, counted: list[str], damage: str
) -> None:
    expected = checkpoints.answer(source, CellQuery(PEOPLE), tmp_path / "kept")
    one = kept(tmp_path / "kept")[2]
    whole = one.read_bytes()
    one.unlink()
    match damage:
        case "empty":
            one.touch()
        case "cut":
            one.write_bytes(whole[:-20])
        case "text":
            one.write_text("PAR1 and nothing else PAR1")
        case "folder":
            one.mkdir()
        case _:
            one.symlink_to("nowhere")
    counted.clear()
    if damage == "folder":
        with pytest.raises(OutputError, match="is a folder"):
            checkpoints.answer(source, CellQuery(PEOPLE), tmp_path / "kept")
        return
    for _ in range(2):
        assert_same(checkpoints.answer(source, CellQuery(PEOPLE), tmp_path / "kept"), expected)
    assert len(counted) == 1
    assert one.read_bytes() == whole


@pytest.mark.slow
def test_no_flipped_bit_changes_a_count(source: ParquetSource, tmp_path: Path) -> None:
    one = ParquetSource(source.files[:1], source.types)
    expected = checkpoints.answer(one, CellQuery(PEOPLE), tmp_path / "kept")
    (checkpoint,) = kept(tmp_path / "kept")
    whole = checkpoint.read_bytes()
    draw = np.random.default_rng(5)
    for place in draw.choice(len(whole), 60, replace=False):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(draw.integers(8))
        checkpoint.write_bytes(damaged)
        assert_same(checkpoints.answer(one, CellQuery(PEOPLE), tmp_path / "kept"), expected)


def test_counts_that_add_up_but_are_not_those_that_were_kept_are_found_out(
    source: ParquetSource, tmp_path: Path
) -> None:
    one = ParquetSource(source.files[:1], source.types)
    expected = checkpoints.answer(one, CellQuery(PEOPLE), tmp_path / "kept")
    (checkpoint,) = kept(tmp_path / "kept")
    saved = load_statistics(checkpoint)
    moved = saved.tables["sex"]
    moved[0] = moved[0][::-1].copy()
    save_answer(saved, checkpoint, overwrite=True)
    assert_same(checkpoints.answer(one, CellQuery(PEOPLE), tmp_path / "kept"), expected)


def test_a_checkpoint_of_another_file_or_domain_is_not_taken(source: ParquetSource, tmp_path: Path) -> None:
    expected = checkpoints.answer(source, CellQuery(PEOPLE), tmp_path / "kept")
    first, second, *_ = kept(tmp_path / "kept")
    shutil.copy(first, second)
    assert_same(checkpoints.answer(source, CellQuery(PEOPLE), tmp_path / "kept"), expected)
    attributes = {**DOCUMENT["attributes"], "sex": {"values": ["m", "f"]}}
    other = declared({**DOCUMENT, "attributes": attributes})
    assert_same(
        checkpoints.answer(source, CellQuery(other), tmp_path / "kept"), counted_at_once(source, CellQuery(other))
    )
    assert len(kept(tmp_path / "kept")) == 2 * len(source.files)


def test_a_file_that_changed_is_counted_anew(source: ParquetSource, tmp_path: Path, counted: list[str]) -> None:
    """Also where it has the same length and footer, as after a value was corrected in place."""
    frame = people(50, 0)
    plain = {
        "compression": "uncompressed",
        "statistics": False,
        "use_pyarrow": True,
        "pyarrow_options": {"use_dictionary": False},
    }
    frame.write_parquet(source.files[0], **plain)
    checkpoints.answer(source, CellQuery(PEOPLE), tmp_path / "kept")
    part = file_parts(source.files[:1])
    corrected = frame.with_columns(pl.col("age").reverse() // 2)
    corrected.write_parquet(source.files[0], **plain)
    os.utime(source.files[0], ns=(0, 10**18))
    assert file_parts(source.files[:1]) == part
    counted.clear()
    found = checkpoints.answer(source, CellQuery(PEOPLE), tmp_path / "kept")
    assert counted == ["part-0.parquet"]
    assert_same(found, counted_at_once(source, CellQuery(PEOPLE)))


def test_a_value_changed_behind_the_beginning_is_counted_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: list[str]
) -> None:
    """Neither length, footer nor beginning tell of it: the time when the file was last written does."""
    monkeypatch.setattr(file_parts_module, "BEGINNING", 16)
    file = tmp_path / "rows.parquet"
    incomes = [["low", "low", "high"], ["low", "high", "high"]]
    for written, income in enumerate(incomes):
        people(3).with_columns(income=pl.Series(income)).write_parquet(file, compression="uncompressed")
        os.utime(file, ns=(0, 10**18 + written))
        source = open_parquet([file], PEOPLE)
        found = checkpoints.answer(source, CellQuery(PEOPLE), tmp_path / "kept")
        assert found.class_counts.tolist() == [income.count("low"), income.count("high")]
    assert counted == ["rows.parquet", "rows.parquet"]
    assert len(kept(tmp_path / "kept")) == 2


def test_a_file_in_a_folder_of_another_value_is_counted_anew(tmp_path: Path) -> None:
    """Its bytes and its time are the same; the value of a column is another one."""
    folder = tmp_path / "sex=f"
    folder.mkdir()
    people(5).drop("sex").write_parquet(folder / "rows.parquet")
    for value in PEOPLE["sex"].values:
        folder = folder.rename(tmp_path / f"sex={value}")
        source = open_parquet([folder / "rows.parquet"], PEOPLE)
        assert_same(
            checkpoints.answer(source, CellQuery(PEOPLE), tmp_path / "kept"), counted_at_once(source, CellQuery(PEOPLE))
        )
    assert len(kept(tmp_path / "kept")) == 2


def test_files_of_equal_footers_and_times_have_their_own_checkpoints(tmp_path: Path) -> None:
    """As small files may have that were unpacked from an archive."""
    frame = people(3)
    files = [tmp_path / "first.parquet", tmp_path / "second.parquet"]
    for file, income in zip(files, (["low", "low", "high"], ["low", "high", "high"]), strict=True):
        frame.with_columns(income=pl.Series(income)).write_parquet(file, compression="uncompressed")
        os.utime(file, ns=(0, 10**18))
    assert len(file_parts(files)) == 1
    source = open_parquet(files, PEOPLE)
    assert_same(
        checkpoints.answer(source, CellQuery(PEOPLE), tmp_path / "kept"), counted_at_once(source, CellQuery(PEOPLE))
    )


def test_a_file_that_changes_while_it_is_counted_is_refused(
    source: ParquetSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(one: ParquetSource, query: CellQuery) -> Statistics:
        found = once(one, query)
        people(60, 9).write_parquet(one.files[0])
        return found

    once = counted_at_once
    monkeypatch.setattr(local, "answer", answer)
    with pytest.raises(DataError, match=r"part-0.parquet: changed while it was read"):
        checkpoints.answer(source, CellQuery(PEOPLE), tmp_path / "kept")
    assert kept(tmp_path / "kept") == []


def test_copies_count_as_they_do_all_at_once(source: ParquetSource, tmp_path: Path) -> None:
    shutil.copy(source.files[0], tmp_path / "copy.parquet")
    both = ParquetSource((*source.files, tmp_path / "copy.parquet"), source.types)
    assert_same(
        checkpoints.answer(both, CellQuery(PEOPLE), tmp_path / "kept"), counted_at_once(both, CellQuery(PEOPLE))
    )


def test_damaged_rows_are_named_by_their_file(source: ParquetSource, tmp_path: Path) -> None:
    damaged = bytearray(source.files[3].read_bytes())
    damaged[4:200] = bytes(196)
    source.files[3].write_bytes(damaged)
    with pytest.raises(DataError, match=r"part-3.parquet: cannot be read to the end"):
        checkpoints.answer(source, CellQuery(PEOPLE), tmp_path / "kept")
    assert len(kept(tmp_path / "kept")) == 3


def test_what_a_killed_run_left_unfinished_is_removed(source: ParquetSource, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir(0o700)
    (tmp_path / "kept" / ".a.statistics.parquet.0123456789ab.partial").write_text("counts")
    checkpoints.answer(source, CellQuery(PEOPLE), tmp_path / "kept")
    assert not [file for file in kept(tmp_path / "kept") if file.name.startswith(".")]


KILLED = """
import os, signal, sys
sys.path[:0] = {paths!r}
from pathlib import Path
from test_checkpoints import PEOPLE
from dpnb_columnar.counting.statistics import CellQuery
from dpnb_columnar.counting import checkpoints
from dpnb_columnar.rows.parquet import open_parquet
save, saved = checkpoints.save_answer, []
def save_and_die(*arguments, **options):
    if len(saved) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    saved.append(save(*arguments, **options))
checkpoints.save_answer = save_and_die
source = open_parquet(sorted(Path("data").iterdir()), PEOPLE)
checkpoints.answer(source, CellQuery(PEOPLE), Path("kept"))
"""


@pytest.mark.slow
def test_a_killed_run_is_resumed(source: ParquetSource, tmp_path: Path, counted: list[str]) -> None:
    here = Path(__file__).parent
    program = KILLED.format(paths=[str(here), str(here.parent)])
    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert_same(
        checkpoints.answer(source, CellQuery(PEOPLE), tmp_path / "kept"), counted_at_once(source, CellQuery(PEOPLE))
    )
    assert counted == ["part-3.parquet", "part-4.parquet"]
