"""What ``dpnb-columnar ingest`` refuses: by which file, line and name, and with nothing half written."""

from __future__ import annotations

import gzip
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from support.extracts import (
    HOUSEHOLDS,
    PEOPLE,
    PERSONS,
    ROWS,
    SEX,
    TOWNSPEOPLE,
    YEAR,
    archive,
    write_extract,
)
from support.running import Run

from dpnb_columnar.extracts import convert
from dpnb_columnar.extracts.described_extract import read_batches


def rows(path: Path | str) -> list[dict[str, object]]:
    return pl.read_parquet(path).to_dicts()


@pytest.mark.parametrize(("name", "problem"), [("", "give it a name of 1 to 200"), (" a", "without blanks around it")])
def test_a_name_that_no_account_can_have(name: str, problem: str, folder: Path, run: Run) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, PEOPLE)
    assert problem in run("ingest", "town.dat", "--name", name, "--output", "town.parquet", expected=64).err
    write_extract(folder / "long.dat", replace(TOWNSPEOPLE, name="l" * 201), PEOPLE)
    assert "give one with --name" in run("ingest", "long.dat", "--output", "long.parquet", expected=64).err
    write_extract(folder / "bare.csv", None, ["AGE", "3"])
    refused = run("ingest", "bare.csv", "--name", "bare", "--output", "bare.parquet", expected=64)
    assert "no codebook declares one" in refused.err


def test_extracts_of_different_layout_or_domain(folder: Path, run: Run) -> None:
    wide = replace(TOWNSPEOPLE, variables=(replace(YEAR, width=5),))
    write_extract(folder / "a.dat", replace(TOWNSPEOPLE, variables=(YEAR,)), ["2020"])
    write_extract(folder / "b.dat", wide, ["02020"])
    ended = run("ingest", "a.dat", "b.dat", "--output", "out.parquet", expected=65)
    assert "b.dat: YEAR is int32, and int16 in a.dat; give one codebook" in ended.err
    write_extract(folder / "c.dat", replace(TOWNSPEOPLE, variables=(replace(SEX, start=0),)), ["1"])
    one = replace(SEX, start=0, codes=SEX.codes[:1])
    write_extract(folder / "d.dat", replace(TOWNSPEOPLE, variables=(one,)), ["2"])
    ended = run("ingest", "c.dat", "d.dat", "--output", "out.parquet", expected=78)
    assert "d.xml: declares other values than" in ended.err
    run("ingest", "c.dat", "d.dat", "--codebook", "c.xml", "--output", "out.parquet")
    assert rows("out.parquet") == [{"SEX": 1}, {"SEX": 2}]


@pytest.mark.parametrize(
    ("types", "code", "message"),
    [
        ('AGES = "integer"', 64, "--types types.toml: town.csv has no column 'AGES'; did you mean AGE?"),
        ('AGE = "text"', 64, "--types types.toml: the type of 'AGE' is declared already; take the column out"),
        ('MORE = "float"', 78, "types.toml: 'MORE': expected one of integer, number, text, found 'float'"),
        ("MORE", 78, "types.toml: not a TOML file of types"),
        ('MORE = "integer"', 65, "town.csv, row 2: MORE is not a whole number"),
        (None, 66, "types.toml: cannot be read"),
    ],
)
def test_types_that_are_refused(folder: Path, run: Run, types: str | None, code: int, message: str) -> None:
    write_extract(folder / "town.csv", TOWNSPEOPLE, ["AGE,MORE", "34,1.5", "7,"])
    if types is not None:
        (folder / "types.toml").write_text(types)
    ended = run("ingest", "town.csv", "--types", "types.toml", "--output", "out.parquet", expected=code)
    assert message in ended.err
    assert not Path("out.parquet").exists()


def test_an_entry_beside_a_codebook_is_refused(folder: Path, run: Run) -> None:
    write_extract(folder / "town.csv", TOWNSPEOPLE, ["AGE,MORE", "34,1.5", "7,"])
    ended = run("ingest", "town.csv", "--dataset", "town", "--output", "out.parquet", expected=64)
    assert "--dataset 'town': the extracts get the domain of their codebook; drop it" in ended.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--columns", "AGES"], 64, "--columns: the extract has no column 'AGES'; did you mean AGE?"),
        (["--columns", "AGE,AGE"], 64, "AGE is named twice"),
        (["--where", "AG > 1"], 64, "--where: the extract has no column 'AG'; did you mean AGE?"),
        (["--where", "AGE >"], 64, "--where: "),
        (["--where", "AGE = 'x'"], 64, "--where: AGE is integer and cannot be compared with 'x'"),
        (["--codebook", "gone.xml"], 66, "gone.xml"),
        (["--output", "out.csv"], 64, "end its name in .parquet"),
    ],
)
def test_usage(folder: Path, run: Run, arguments: list[str], code: int, message: str) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, PEOPLE)
    output = [] if "--output" in arguments else ["--output", "out.parquet"]
    ended = run("ingest", "town.dat", *output, *arguments, expected=code)
    assert message in ended.err
    assert not Path("out.parquet").exists()


def test_inputs_that_are_refused(folder: Path, run: Run) -> None:
    def refusal(expected: int, *inputs: str) -> str:
        text = run("ingest", *inputs, "--output", "out.parquet", expected=expected).err
        assert sorted(path.name for path in folder.iterdir() if "out" in path.name) == []
        return text

    assert "gone.dat: cannot be read: No such file or directory" in refusal(66, "gone.dat")
    write_extract(folder / "town.dat", None, PEOPLE[:1])
    assert "town.dat: fixed-width text does not name its columns; put its codebook" in refusal(78, "town.dat")
    assert "is given twice" in refusal(64, "town.dat", str(folder / "town.dat"))
    (folder / "town.txt").write_text("x")
    assert "town.txt: its name does not say what it holds" in refusal(64, "town.txt")
    (folder / "town.parquet").write_bytes(b"PAR1")
    assert "town.parquet: not a complete Parquet file" in refusal(65, "town.parquet")
    archive(folder / "csv_hxx.zip", psam_hxx=PERSONS)
    assert "csv_hxx.zip: holds no psam_p*.csv" in refusal(65, "csv_hxx.zip")
    (folder / "csv_pxx.zip").write_bytes(b"PK nothing")
    assert "csv_pxx.zip: cannot be read to the end (damaged or cut short)" in refusal(65, "csv_pxx.zip")
    write_extract(folder / "house.csv", HOUSEHOLDS, ["AGE,SEX", "1,1"])
    assert "which a CSV file does not have" in refusal(78, "house.csv")


def test_damage_leaves_nothing_half_written(folder: Path, run: Run) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, PEOPLE)
    whole = gzip.compress("\n".join(PEOPLE * 20_000).encode("iso-8859-1"))
    damaged = bytearray(whole)
    damaged[-6] ^= 1  # the checksum
    content = archive(folder / "csv_pxx.zip", psam_pxx=PERSONS * 20_000).read_bytes()
    middle = content.index(b"psam_pxx.csv") + 100
    (folder / "csv_pxx.zip").write_bytes(content[:middle] + b"\x00\x01\x02" + content[middle + 3 :])
    (folder / "cut.dat.gz").write_bytes(whole[:-100])
    (folder / "flipped.dat.gz").write_bytes(damaged)
    for name in ("cut.dat.gz", "flipped.dat.gz", "csv_pxx.zip"):
        codebook = () if name.endswith(".zip") else ("--codebook", "town.xml")
        ended = run("ingest", name, *codebook, "--output", "out.parquet", expected=65)
        assert ended.err.startswith(f"dpnb-columnar: {name}: cannot be read to the end (damaged or cut short)")
        assert not [path for path in folder.iterdir() if "out" in path.name]


def test_the_line_of_a_malformed_field_without_what_stands_in_it(folder: Path, run: Run) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, [*PEOPLE, "20209 3z001250Ulm  "])
    ended = run("ingest", "town.dat", "--output", "out.parquet", expected=65)
    assert ended.err.startswith("dpnb-columnar: town.dat, line 5: AGE, characters 6 to 8, is not a number or blanks;")
    assert "3z" not in ended.err
    assert not Path("out.parquet").exists()


def test_an_output_that_exists(folder: Path, run: Run) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, PEOPLE)
    Path("out.parquet").write_bytes(b"mine")
    run("ingest", "town.dat", "--output", "out.parquet", expected=73)
    assert Path("out.parquet").read_bytes() == b"mine"
    run("ingest", "town.dat", "--output", "out.parquet", "--overwrite")
    assert rows("out.parquet") == list(ROWS)


@pytest.mark.parametrize(
    "content", ["35,SECRETNAME,999123\n40,Other,5\n", "35,SECRET,35\n", "SECRET,SECRET\n1,2\n", "SECRET,secret\n1,2\n"]
)
@pytest.mark.parametrize(
    "options", [(), ("--columns", "AGE"), ("--where", "AGE > 3"), ("--codebook", "town.xml")], ids=" ".join
)
def test_first_row_of_a_csv_without_header_is_not_told(
    content: str, options: tuple[str, ...], folder: Path, run: Run
) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, PEOPLE)
    (folder / "people.csv").write_text(content)
    ended = run("ingest", "people.csv", *options, "--output", "out.parquet", expected=65)
    assert "line 1" in ended.err
    assert not any(value in ended.out + ended.err for value in ("SECRET", "secret", "999123", "35"))
    assert not (folder / "out.parquet").exists()


def test_an_unclosed_quote_is_refused_by_its_line(folder: Path, run: Run) -> None:
    (folder / "town.csv").write_text('AGE,SEX\n35,"1\n40,2\n41,1\n')
    assert "town.csv, line 2: has a quote" in run("ingest", "town.csv", "--output", "out.parquet", expected=65).err
    assert not (folder / "out.parquet").exists()


def test_archive_with_two_files_of_one_name(folder: Path, run: Run) -> None:
    with zipfile.ZipFile(folder / "csv_pxx.zip", "w") as target:
        target.writestr("psam_pxx.csv", PERSONS)
        with pytest.warns(UserWarning, match="Duplicate name"):
            target.writestr("psam_pxx.csv", PERSONS)
    ended = run("ingest", "csv_pxx.zip", "--output", "out.parquet", expected=65)
    assert "csv_pxx.zip: holds two files of one name" in ended.err


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_members_packed_in_other_ways_are_refused(method: int, folder: Path, run: Run) -> None:
    """Whole or damaged."""
    with zipfile.ZipFile(folder / "csv_pxx.zip", "w", method) as target:
        target.writestr("psam_pxx.csv", PERSONS * 50)
    content = bytearray((folder / "csv_pxx.zip").read_bytes())
    for damage in (False, True):
        if damage:
            content[60:70] = b"\xff" * 10
            (folder / "csv_pxx.zip").write_bytes(content)
        assert "csv_pxx.zip: " in run("ingest", "csv_pxx.zip", "--output", "out.parquet", expected=65).err


def test_name_of_a_member_is_told_on_one_line(folder: Path, run: Run) -> None:
    archive(folder / "csv_pxx.zip", **{"psam_p\x1b[2J\nx": b"A,B\n1\n"})
    ended = run("ingest", "csv_pxx.zip", "--output", "out.parquet", expected=65)
    assert "\x1b" not in ended.err
    assert len(ended.err.splitlines()) == 1


@pytest.mark.parametrize("change", ["append", "cut", "replace", "touch"])
@pytest.mark.parametrize("packed", [False, True])
def test_an_extract_that_changes_while_it_is_read(
    change: str, packed: bool, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An extract cut at the end of a line, or one that is still written, would be taken for a whole one."""
    file = write_extract(folder / "town.dat", TOWNSPEOPLE, PEOPLE)
    if packed:
        Path("town.dat.gz").write_bytes(gzip.compress(file.read_bytes()))
        Path("town.dat").unlink()
        file = Path("town.dat.gz")
    content = file.read_bytes()

    def changed(*arguments: object) -> object:
        batches = list(read_batches(*arguments))  # type: ignore[arg-type]
        if change == "touch":
            os.utime(file, (1, 1))
        elif change == "replace":
            Path("other").write_bytes(content)
            os.utime("other", ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
            Path("other").replace(file)
        else:
            file.write_bytes(content + content if change == "append" else content[:-1])
        return iter(batches)

    monkeypatch.setattr(convert, "read_batches", changed)
    told = run("ingest", file, "--output", "town.parquet", expected=65).err
    assert "changed while it was read; start again when it is complete" in told
    assert not Path("town.parquet").exists()
    file.write_bytes(content)
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    run("ingest", file, "--output", "town.parquet")
