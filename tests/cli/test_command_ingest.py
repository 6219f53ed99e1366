"""``dpnb-columnar ingest``: extracts, or Parquet with a codebook, to one Parquet file."""

from __future__ import annotations

import gzip
import os
import shutil
import stat
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.codebook_cases import codebook, codes, ddi_of, variable
from support.extracts import PEOPLE as LINES
from support.extracts import (
    PERSONS,
    ROWS,
    SEX,
    TOWNSPEOPLE,
    YEAR,
    archive,
    write_extract,
)
from support.people import DECLARATION, PEOPLE, people, people_domain, spoil_rows, write_people
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.api import load_model
from dpnb_columnar.counting import local
from dpnb_columnar.counting.answer_files import load_statistics
from dpnb_columnar.domain.declaration import domain_from_metadata
from dpnb_columnar.domain.declared_domain import Declaration
from dpnb_columnar.extracts import convert
from dpnb_columnar.extracts.codebooks.codebook import Form, Measure
from dpnb_columnar.extracts.convert import read_batches
from dpnb_columnar.releases import plan as release_plan
from dpnb_columnar.releases.plan import MechanismChoice
from dpnb_columnar.rows.holdout import parts_of


def rows(path: Path | str) -> list[dict[str, object]]:
    return pl.read_parquet(path).to_dicts()


@pytest.mark.parametrize("name", ["town.dat", "town.dat.gz"])
def test_fixed_width_with_the_codebook_beside_it(folder: Path, run: Run, name: str) -> None:
    write_extract(folder / name, TOWNSPEOPLE, LINES)
    ended = run("ingest", name, "--output", "out.parquet")
    first, *_, last = ended.out.splitlines()
    assert first == "wrote out.parquet: 5 columns, domain town"
    assert last == 'train: dpnb-columnar train out.parquet --label "..."'
    assert ended.err == ""
    assert rows("out.parquet") == list(ROWS)
    domain = domain_from_metadata(pl.read_parquet_metadata("out.parquet"), "out.parquet")
    assert domain is not None
    assert {"SEX", "AGE"} <= set(domain.columns)
    assert stat.S_IMODE(Path("out.parquet").stat().st_mode) == 0o600


def test_the_name_of_the_output_opens_no_second_budget(folder: Path, run: Run) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, LINES)
    run("ledger", "init", "town.ledger", "--dataset", "town", "--epsilon", "1")
    for output in ("town.parquet", "renamed.parquet"):
        run("ingest", "town.dat", "--output", output)
        run("train", output, "--label", "SEX", "--epsilon", "0.5", "--ledger", "town.ledger")
    Path("renamed.parquet").rename("again.parquet")
    again = ("train", "again.parquet", "--label", "SEX", "--epsilon", "0.5", "--ledger", "town.ledger")
    assert "data set town: limit epsilon 1, spent 1" in run(*again, expected=77).err


def test_a_name_of_ones_own_claims_other_persons(folder: Path, run: Run) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, LINES)
    run("ledger", "init", "town.ledger", "--dataset", "town", "--epsilon", "1")
    ended = run("ingest", "town.dat", "--name", "village", "--output", "town.parquet")
    assert "wrote town.parquet: 5 columns, domain village" in ended.out
    train = ("train", "town.parquet", "--label", "SEX", "--epsilon", "0.5", "--ledger", "town.ledger")
    refused = run(*train, expected=78).err
    known, new = refused.split(". A new account claims that none of them is in any other account: ")
    assert known.endswith("if these persons are accounted for already, under whatever name, charge --account town")
    assert new == "dpnb-columnar ledger init town.ledger --dataset village --epsilon NUMBER\n"
    run(*train, "--account", "town")


def test_the_weight_is_in_persons_once_it_is_asked_for(folder: Path, run: Run) -> None:
    """Two implied decimals: 12.50 counts as 13 persons, 0.99 as 1, and 1234.56 as the cap of 400."""
    described = replace(TOWNSPEOPLE, collection="usa.ipums.org")
    write_extract(folder / "town.dat", described, LINES)
    assert "weight available: PERWT, at most 400 each: " in run("ingest", "town.dat", "--output", "town.parquet").out
    planned = run("plan", "town.parquet", "--label", "SEX", "--no-advice").out
    assert "prior: of rows; with --weight PERWT of noisy sums of PERWT, at most 400 each" in planned
    run("aggregate", "town.parquet", "--label", "SEX", "--output", "rows.parquet")
    run("aggregate", "town.parquet", "--label", "SEX", "--weight", "PERWT", "--output", "persons.parquet")
    plain, weighted = (load_statistics(Path(name)) for name in ("rows.parquet", "persons.parquet"))
    assert plain.weight_sums is None
    assert weighted.weight_sums is not None
    assert dict(zip(weighted.domain.classes, weighted.weight_sums.tolist(), strict=True))["1"] == 413
    assert weighted.weight_sums.sum() == 414


def test_the_codebook_given_comes_before_the_one_beside(folder: Path, run: Run) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, LINES)
    write_extract(folder / "other.dat", replace(TOWNSPEOPLE, variables=(YEAR,)), LINES)
    run("ingest", "other.dat", "--codebook", "town.xml", "--output", "out.parquet")
    assert rows("out.parquet") == list(ROWS)
    both = replace(TOWNSPEOPLE, variables=(replace(SEX, start=0),))
    write_extract(folder / "both.dat", both, ["1"])
    write_extract(folder / "one.dat", replace(both, variables=(replace(SEX, start=0, codes=SEX.codes[:1]),)), ["2"])
    run("ingest", "both.dat", "one.dat", "--codebook", "both.xml", "--output", "sexes.parquet")
    assert rows("sexes.parquet") == [{"SEX": 1}, {"SEX": 2}]


def test_columns_and_rows_wanted(folder: Path, run: Run) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, LINES)
    where = "SEX IN (1, 2) AND (AGE >= 16 OR TOWN = '12345')"
    ended = run("ingest", "town.dat", "--columns", "PERWT, AGE", "--where", where, "--output", "out.parquet")
    assert "wrote out.parquet: 2 columns" in ended.out
    assert rows("out.parquet") == [{"PERWT": 12.5, "AGE": 34}, {"PERWT": 1234.56, "AGE": None}]
    run("ingest", "town.dat", "--where", "NOT SEX = 1", "--output", "women.parquet")
    assert rows("women.parquet") == [ROWS[1]]


def test_adult_like_columns_and_one_more(folder: Path, run: Run) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, LINES)
    ended = run("ingest", "town.dat", "--columns", "adult-like,PERWT", "--output", "out.parquet")
    assert sorted(rows("out.parquet")[0]) == ["AGE", "PERWT", "SEX"]
    assert "no column for: " in ended.out


def _moved(by: int) -> list[object]:
    return [replace(one, start=(one.start or 0) + by) for one in TOWNSPEOPLE.variables]


def test_several_extracts_become_one_file_in_their_order(folder: Path, run: Run) -> None:
    later = replace(TOWNSPEOPLE, name="later", variables=(variable("NEW"), *_moved(1)))
    write_extract(folder / "a.dat.gz", TOWNSPEOPLE, LINES)
    write_extract(folder / "b.dat", later, [f"7{line}" for line in LINES])
    names = "YEAR,SEX,AGE,PERWT,TOWN"
    ended = run("ingest", "b.dat", "a.dat.gz", "--columns", names, "--output", "both.parquet")
    assert "wrote both.parquet: 5 columns, domain later+town" in ended.out
    assert rows("both.parquet") == [*ROWS, *ROWS]
    refused = run("ingest", "b.dat", "a.dat.gz", "--output", "all.parquet", expected=65)
    assert "a.dat.gz: has no column NEW, as b.dat has; choose columns" in refused.err


@pytest.mark.parametrize("name", ["town.csv", "town.csv.gz"])
def test_csv_with_a_codebook_gives_what_fixed_width_gives(folder: Path, run: Run, name: str) -> None:
    write_extract(folder / "fixed.dat", TOWNSPEOPLE, LINES)
    fields = [["" if field is None else f'"{field}"' for field in row.values()] for row in ROWS]
    write_extract(folder / name, TOWNSPEOPLE, [",".join(ROWS[0]), *map(",".join, fields)])
    run("ingest", "fixed.dat", "--output", "fixed.parquet")
    ended = run("ingest", name, "--output", "csv.parquet")
    assert "5 columns, domain town" in ended.out
    fixed, csv = pl.read_parquet("fixed.parquet"), pl.read_parquet("csv.parquet")
    assert fixed.equals(csv)
    assert fixed.schema == csv.schema


def test_archives_without_a_dictionary(folder: Path, run: Run) -> None:
    archive(folder / "csv_pxx.zip", psam_pxxa=PERSONS, psam_pxxb=PERSONS.replace(b"00300", b"0030A"))
    ended = run("ingest", "csv_pxx.zip", "--output", "out.parquet")
    assert ended.out.splitlines() == [
        "wrote out.parquet: 5 columns, no domain",
        "not declared by a codebook: RT, SERIALNO, PUMA, AGEP and 1 more: kept as text; numbers match by value",
        "to train, declare its domain in datasets.toml, or ingest it again with --codebook",
    ]
    frame = pl.read_parquet("out.parquet")
    assert set(frame.schema.values()) == {pl.String}
    assert frame["PUMA"].to_list() == ["00200", "00300", "00200", "0030A"]
    assert frame["AGEP"].to_list() == ["041", None, "041", None]


def test_types_and_domain_of_a_catalogue(folder: Path, run: Run) -> None:
    archive(folder / "csv_pxx.zip", psam_pxx=PERSONS)
    attributes = "AGEP = { lower = 0, upper = 99, step = 1 }\nPUMA = { values = [200, 300] }\n"
    label = 'label = { condition = "PWGTP > 5", classes = ["few", "many"] }\n'
    (folder / "datasets.toml").write_text(f"[town]\n{label}[town.attributes]\n{attributes}")
    ended = run("ingest", "csv_pxx.zip", "--dataset", "town", "--output", "out.parquet")
    assert ended.out.splitlines()[0] == "wrote out.parquet: 5 columns, domain town"
    assert ended.out.splitlines()[-1] == "train: dpnb-columnar train out.parquet"
    frame = pl.read_parquet("out.parquet")
    assert list(frame.schema.values()) == [pl.String, pl.String, pl.String, pl.Float64, pl.String]
    (folder / "datasets.toml").unlink()
    run("train", "out.parquet", "--dry-run")


def test_undeclared_columns_beside_declared_ones(folder: Path, run: Run) -> None:
    write_extract(folder / "town.csv", TOWNSPEOPLE, ["AGE,MORE", "34,1.5", "7,", "8,x"])
    ended = run("ingest", "town.csv", "--where", "MORE > 1", "--output", "out.parquet")
    assert "wrote out.parquet: 2 columns, domain town" in ended.out
    assert "not declared by a codebook: MORE: kept as text" in ended.out
    assert rows("out.parquet") == [{"AGE": 34, "MORE": "1.5"}]


def test_ranges_that_noise_drowns_are_named_with_the_command_that_narrows_them(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where auto takes moments; bins bear them. What the command does, ``plan`` shows."""
    monkeypatch.setattr(release_plan, "resolved_mechanism", lambda *_: MechanismChoice("smooth", "this is a test"))
    book = replace(TOWNSPEOPLE, variables=(SEX, variable("RENTS", start=5, width=9, measure=Measure.CONTINUOUS)))
    write_extract(folder / "town.dat", book, ["    1000000800", "    2000000950"])
    printed = run("ingest", "town.dat", "--output", "out.parquet").out
    (line,) = [line for line in printed.splitlines() if line.startswith("declared too widely: ")]
    assert "at 10000 rows in each class and epsilon 1, noise hides all differences in RENTS (up to " in line
    assert "in out.domain.toml, which is written by: dpnb-columnar domain edit out.parquet" in line


UCI = "|C4.5 names file\n>50K, <=50K.\n\nage: continuous.\nworkclass: Private, State-gov.\n"
"""As adult.names of UCI: comments, the classes, and a line for each column but the last."""


@pytest.mark.parametrize("names", [UCI, "age\nworkclass\n\nclass\n"], ids=["uci", "one a line"])
def test_csv_as_uci_hands_it_out(names: str, folder: Path, run: Run) -> None:
    Path("adult.csv").write_text("39, State-gov, <=50K\n 50 ,Private ,>50K\n, ,  >50K\n")
    Path("adult.names").write_text(names)
    Path("types.toml").write_text('age = "integer"\n')
    run(
        "ingest", "adult.csv", "--no-header", "--names", "adult.names", "--types", "types.toml", "--output", "a.parquet"
    )
    rows = [(39, "State-gov", "<=50K"), (50, "Private", ">50K"), (None, None, ">50K")]
    assert pl.read_parquet("a.parquet").rows() == rows
    assert pl.read_parquet("a.parquet").columns == ["age", "workclass", "class"]
    Path("headed.csv").write_text("age, workclass, class\n" + Path("adult.csv").read_text())
    run("ingest", "headed.csv", "--types", "types.toml", "--output", "b.parquet")
    assert pl.read_parquet("b.parquet").equals(pl.read_parquet("a.parquet"))
    made = dpnb.ingest("adult.csv", "c.parquet", header=False, names="adult.names", types="types.toml")
    assert pl.read_parquet(made.output).rows() == rows


# What is refused, with nothing half written.


def test_damage_leaves_nothing_half_written(folder: Path, run: Run) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, LINES)
    whole = gzip.compress("\n".join(LINES * 20_000).encode("iso-8859-1"))
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


@pytest.mark.parametrize(
    "content", ["35,SECRETNAME,999123\n40,Other,5\n", "35,SECRET,35\n", "SECRET,SECRET\n1,2\n", "SECRET,secret\n1,2\n"]
)
@pytest.mark.parametrize(
    "options", [(), ("--columns", "AGE"), ("--where", "AGE > 3"), ("--codebook", "town.xml")], ids=" ".join
)
def test_first_row_of_a_csv_without_header_is_not_told(
    content: str, options: tuple[str, ...], folder: Path, run: Run
) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, LINES)
    (folder / "people.csv").write_text(content)
    ended = run("ingest", "people.csv", *options, "--output", "out.parquet", expected=65)
    assert "line 1" in ended.err
    assert not any(value in ended.out + ended.err for value in ("SECRET", "secret", "999123", "35"))
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


@pytest.mark.parametrize("change", ["append", "cut", "replace", "touch"])
@pytest.mark.parametrize("packed", [False, True])
def test_an_extract_that_changes_while_it_is_read(
    change: str, packed: bool, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An extract cut at the end of a line, or one that is still written, would be taken for a whole one."""
    file = write_extract(folder / "town.dat", TOWNSPEOPLE, LINES)
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


def domain_in(path: str) -> Declaration:
    found = domain_from_metadata(pl.read_parquet_metadata(path), path)
    assert found is not None
    return found


@pytest.mark.parametrize("inputs", [["a/1.parquet", "a/STATE=06/2.parquet"], ["a/**/*.parquet"], ["a"]])
def test_files_a_pattern_and_a_folder_keep_rows_and_domain(folder: Path, run: Run, inputs: list[str]) -> None:
    first, second = people(30), people(20, seed=2)
    Path("a/STATE=06").mkdir(parents=True)
    write_people(Path("a/1.parquet"), first)
    write_people(Path("a/STATE=06/2.parquet"), second)
    run("ingest", *inputs, "--output", "out.parquet")
    assert pl.read_parquet("out.parquet").sort(pl.all()).equals(pl.concat([first, second]).sort(pl.all()))
    assert domain_in("out.parquet") == people_domain()


def test_columns_of_every_type_and_of_folders_stay_as_they_are(folder: Path, run: Run) -> None:
    table = pa.table(
        {
            "word": pa.array(["a", None, "b"] * 4).dictionary_encode(),
            "day": pa.array([1, None, 3] * 4, pa.date32()),
            "list": pa.array([[1], None, []] * 4),
            "amount": pa.array([None, 1, 2] * 4, pa.decimal128(9, 2)),
        }
    )
    Path("STATE=06").mkdir()
    pq.write_table(table, "STATE=06/odd.parquet", row_group_size=5)
    assert "no domain" in run("ingest", "STATE=06/odd.parquet", "--output", "out.parquet").out
    assert pq.read_table("out.parquet").equals(table.append_column("STATE", [["06"] * 12]))
    run("ingest", "STATE=06", "--columns", "STATE,amount", "--where", "word = 'b'", "--output", "few.parquet")
    assert pl.read_parquet("few.parquet").rows() == [("06", 2)] * 4
    error = run("ingest", "STATE=06", "--where", "list = 1", "--output", "none.parquet", expected=64).err
    assert "list is list<element: int64> and cannot be compared" in error


def test_a_codebook_beside_parquet_and_one_that_is_typed(folder: Path, run: Run) -> None:
    """A file that carries a domain keeps it, unless a codebook is typed; the rows' universe stays."""
    book = codebook(
        [
            variable("sex", form=Form.TEXT, codes=codes(f="Female", m="Male")),
            variable("age", start=1, codes=codes(_1="A", _2="B")),
        ]
    )
    write_people(Path("own.parquet"), people(20))
    write_people(Path("bare.parquet"), people(20).with_columns(pl.col("sex").cast(pl.Categorical)), None)
    for name in ("own.xml", "bare.xml"):
        Path(name).write_text(ddi_of(book))
    run("ingest", "own.parquet", "--where", "age > 0", "--output", "kept.parquet")
    assert domain_in("kept.parquet") == people_domain()
    taken = run("ingest", "bare.parquet", "--output", "taken.parquet").out
    assert "left out of the domain: hours, income: not in the codebook" in taken
    assert "kept as text" not in taken
    assert domain_in("taken.parquet").columns == ("age", "sex")
    run("ingest", "kept.parquet", "--codebook", "own.xml", "--output", "replaced.parquet")
    replaced = domain_in("replaced.parquet")
    assert (replaced.columns, replaced.universe) == (("age", "sex"), "age > 0")
    assert pl.read_parquet("replaced.parquet").equals(people(20).filter(pl.col("age") > 0))


def test_the_domain_of_a_catalogue(folder: Path, run: Run) -> None:
    Path("datasets.toml").write_text(DECLARATION)
    write_people(Path("town.parquet"), people(20), None)
    run("ingest", "town.parquet", "--dataset", "people", "--output", "out.parquet")
    assert domain_in("out.parquet") == people_domain()
    assert pl.read_parquet("out.parquet").equals(people(20))


def test_some_columns_take_their_part_of_the_domain(folder: Path, run: Run) -> None:
    write_people(Path("town.parquet"), people(20))
    run("ingest", "town.parquet", "--columns", "income,sex", "--output", "out.parquet")
    assert domain_in("out.parquet").columns == ("income", "sex")
    error = run("ingest", "town.parquet", "--columns", "sex,age", "--output", "none.parquet", expected=64).err
    assert "town.parquet carries a domain that needs income as well" in error


def test_parts_of_a_split_stay_parts(folder: Path, run: Run) -> None:
    write_people(Path("people.parquet"), people(200))
    run("split", "people.parquet", "--seed", "1")
    run("ingest", "people.train.parquet", "--output", "train.parquet")
    assert parts_of([Path("train.parquet")]) == parts_of([Path("people.train.parquet")]) != []
    run("ingest", "people.train.parquet", "people.test.parquet", "--output", "both.parquet")
    assert parts_of([Path("both.parquet")]) == []


def test_parquet_that_is_refused(folder: Path, run: Run) -> None:
    """Before a row is read, and without an output."""

    def refusal(expected: int, *inputs: str) -> str:
        return run("ingest", *inputs, "--output", "out.parquet", expected=expected).err

    Path("names.txt").write_text("age\n")
    spoil_rows(write_people(Path("town.parquet")))
    write_people(Path("other.parquet"), people(20), {**PEOPLE, "attributes": {"sex": {"values": ["f"]}}})
    write_people(Path("typed.parquet"), people(20).with_columns(pl.col("age").cast(pl.String)))
    assert "do not all carry the same domain" in refusal(78, "town.parquet", "other.parquet")
    assert "typed.parquet: age is large_string, and int64 in town.parquet" in refusal(
        65, "town.parquet", "typed.parquet"
    )
    assert "--no-header is for CSV; this is Parquet" in refusal(
        78, "town.parquet", "--no-header", "--names", "names.txt"
    )
    Path("types.toml").write_text('age = "text"')
    assert "the type of 'age' is declared already" in refusal(64, "town.parquet", "--types", "types.toml")
    write_extract(folder / "lines.dat", TOWNSPEOPLE, LINES)
    assert "has no column age" in refusal(65, "town.parquet", "lines.dat")
    Path("lake/_delta_log").mkdir(parents=True)
    shutil.copy("town.parquet", "lake/part.parquet")
    assert "lake" in refusal(65, "lake/part.parquet")
    assert "cannot be read to the end" in refusal(65, "town.parquet")
    assert "an input as well" in run("ingest", "t*.parquet", "--output", "town.parquet", "--overwrite", expected=73).err
    shutil.copy("town.parquet", "copy.parquet")
    assert "have the same content" in refusal(65, "town.parquet", "copy.parquet")
    assert not Path("out.parquet").exists()


TOWN = """
[town]
label = { column = "KIND", classes = ["001", "002"] }
[town.attributes]
AGE = { lower = 0, upper = 90, step = 1 }
RATE = { values = ["0.5", "1", "-2"] }
"""


@pytest.mark.parametrize("more", ["AB,7,1", "001,old,1", "001,7,AB", "1e2,1e2,1e2", ",,"])
def test_one_row_changes_the_reading_of_no_other(more: str, folder: Path, run: Run) -> None:
    """A value is read by its declaration, in an extract without a codebook: 001 is 1 with that row and without it."""
    Path("datasets.toml").write_text(TOWN)
    lines = [f"00{1 + row % 2},{row % 90:03d},{('.50', '1.0', '-2')[row % 3]}" for row in range(2000)]
    counts = []
    for name, rows in (("plain", []), ("more", [more])):
        Path(f"{name}.csv").write_text("\n".join(["KIND,AGE,RATE", *lines, *rows]) + "\n")
        run("ingest", f"{name}.csv", "--output", f"{name}.parquet")
        run("aggregate", f"{name}.parquet", "--dataset", "town", "--output", f"{name}.statistics.parquet")
        counts.append(pl.read_parquet(f"{name}.statistics.parquet").filter(pl.col("attribute").is_null())["count"])
        run("train", f"{name}.parquet", "--dataset", "town", "--output", f"{name}.json")
    assert counts[1].sum() - counts[0].sum() in (0, 1)
    assert counts[0].to_list() == [1000, 1000]


def trained(run: Run, file: str, *more: str) -> Any:
    ended = run("train", file, "--dataset", "town", "--seed", 3, "--output", "town.json", "--overwrite", *more)
    model = load_model(Path("town.json"))
    return ended.out, model.classes, model.attributes, model.attribute_weights


@pytest.mark.slow
@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("small", [2**22, 0], ids=["Polars", "DuckDB"])
@pytest.mark.parametrize("columns", [["KIND"], ["AGE"], ["RATE"], ["KIND", "AGE", "RATE"]], ids=str)
def test_a_text_that_is_not_utf_8_is_in_no_category(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, columns: list[str], small: int, dictionary: bool
) -> None:
    """As if that row had no value there: the same counts, exit code and text."""
    Path("datasets.toml").write_text(TOWN)
    monkeypatch.setattr(local, "SMALL", small)
    table = pa.table({"KIND": ["1", "2"] * 50, "AGE": ["7", "8"] * 50, "RATE": ["1", ".5"] * 50})
    spoilt = missing = table
    for column in columns:
        place, values = table.column_names.index(column), table[column].to_pylist()
        binary = pa.array([b"\xff\xfe", *(value.encode() for value in values[1:])])
        missing = missing.set_column(place, column, pa.array([None, *values[1:]]))
        spoilt = spoilt.set_column(place, column, pa.Array.from_buffers(pa.string(), len(binary), binary.buffers()))
    pq.write_table(missing, "missing.parquet", row_group_size=30)
    pq.write_table(spoilt, "spoilt.parquet", row_group_size=30, use_dictionary=dictionary)
    out, *model = trained(run, "missing.parquet")
    found, *other = trained(run, "spoilt.parquet")
    assert model == other
    assert found == out
    second = ("--attribute-weights", "calibrated")
    assert trained(run, "missing.parquet", *second)[1:] == trained(run, "spoilt.parquet", *second)[1:]
    for reading in (("check", "--dataset", "town"), ("evaluate", "town.json")):
        assert run(*reading, "spoilt.parquet").out == run(*reading, "missing.parquet").out
