"""``dpnb-columnar ingest``: extracts to one Parquet file."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import stat
import zipfile
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from dpnb_columnar.counting.answer_files import load_statistics
from dpnb_columnar.releases import plan as release_plan
from dpnb_columnar.releases.automatic_choice import MechanismChoice
from support.codebook_cases import variable
from support.extracts import (
    HOUSEHOLD_ROWS,
    HOUSEHOLDS,
    HOUSES,
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

import dpnb_columnar as dpnb
from dpnb_columnar import aggregate
from dpnb_columnar.domain.declaration import domain_from_metadata
from dpnb_columnar.extracts import convert
from dpnb_columnar.extracts.codebooks.codebook import Measure
from dpnb_columnar.extracts.described_extract import read_batches


def rows(path: Path | str) -> list[dict[str, object]]:
    return pl.read_parquet(path).to_dicts()


@pytest.mark.parametrize("name", ["town.dat", "town.dat.gz"])
def test_fixed_width_with_the_codebook_beside_it(folder: Path, run: Run, name: str) -> None:
    write_extract(folder / name, TOWNSPEOPLE, PEOPLE)
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
    write_extract(folder / "town.dat", TOWNSPEOPLE, PEOPLE)
    run("ledger", "init", "town.ledger", "--dataset", "town", "--epsilon", "1")
    for output in ("town.parquet", "renamed.parquet"):
        run("ingest", "town.dat", "--output", output)
        run("train", output, "--label", "SEX", "--epsilon", "0.5", "--ledger", "town.ledger")
    Path("renamed.parquet").rename("again.parquet")
    again = ("train", "again.parquet", "--label", "SEX", "--epsilon", "0.5", "--ledger", "town.ledger")
    assert "data set town: limit epsilon 1, spent 1" in run(*again, expected=77).err


def test_a_name_of_ones_own_claims_other_persons(folder: Path, run: Run) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, PEOPLE)
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
    write_extract(folder / "town.dat", described, PEOPLE)
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


def test_hierarchical(folder: Path, run: Run) -> None:
    write_extract(folder / "town.dat", HOUSEHOLDS, HOUSES)
    run("ingest", "town.dat", "--output", "out.parquet")
    assert rows("out.parquet") == list(HOUSEHOLD_ROWS)


def test_the_codebook_given_comes_before_the_one_beside(folder: Path, run: Run) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, PEOPLE)
    write_extract(folder / "other.dat", replace(TOWNSPEOPLE, variables=(YEAR,)), PEOPLE)
    run("ingest", "other.dat", "--codebook", "town.xml", "--output", "out.parquet")
    assert rows("out.parquet") == list(ROWS)
    both = replace(TOWNSPEOPLE, variables=(replace(SEX, start=0),))
    write_extract(folder / "both.dat", both, ["1"])
    write_extract(folder / "one.dat", replace(both, variables=(replace(SEX, start=0, codes=SEX.codes[:1]),)), ["2"])
    run("ingest", "both.dat", "one.dat", "--codebook", "both.xml", "--output", "sexes.parquet")
    assert rows("sexes.parquet") == [{"SEX": 1}, {"SEX": 2}]


def test_columns_and_rows_wanted(folder: Path, run: Run) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, PEOPLE)
    where = "SEX IN (1, 2) AND (AGE >= 16 OR TOWN = '12345')"
    ended = run("ingest", "town.dat", "--columns", "PERWT, AGE", "--where", where, "--output", "out.parquet")
    assert "wrote out.parquet: 2 columns" in ended.out
    assert rows("out.parquet") == [{"PERWT": 12.5, "AGE": 34}, {"PERWT": 1234.56, "AGE": None}]
    run("ingest", "town.dat", "--where", "NOT SEX = 1", "--output", "women.parquet")
    assert rows("women.parquet") == [ROWS[1]]


def test_adult_like_columns_and_one_more(folder: Path, run: Run) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, PEOPLE)
    ended = run("ingest", "town.dat", "--columns", "adult-like,PERWT", "--output", "out.parquet")
    assert sorted(rows("out.parquet")[0]) == ["AGE", "PERWT", "SEX"]
    assert "no column for: " in ended.out


def _moved(by: int) -> list[object]:
    return [replace(one, start=(one.start or 0) + by) for one in TOWNSPEOPLE.variables]


def test_several_extracts_become_one_file_in_their_order(folder: Path, run: Run) -> None:
    later = replace(TOWNSPEOPLE, name="later", variables=(variable("NEW"), *_moved(1)))
    write_extract(folder / "a.dat.gz", TOWNSPEOPLE, PEOPLE)
    write_extract(folder / "b.dat", later, [f"7{line}" for line in PEOPLE])
    names = "YEAR,SEX,AGE,PERWT,TOWN"
    ended = run("ingest", "b.dat", "a.dat.gz", "--columns", names, "--output", "both.parquet")
    assert "wrote both.parquet: 5 columns, domain later+town" in ended.out
    assert rows("both.parquet") == [*ROWS, *ROWS]
    refused = run("ingest", "b.dat", "a.dat.gz", "--output", "all.parquet", expected=65)
    assert "a.dat.gz: has no column NEW, as b.dat has; choose columns" in refused.err


@pytest.mark.parametrize("name", ["town.csv", "town.csv.gz"])
def test_csv_with_a_codebook_gives_what_fixed_width_gives(folder: Path, run: Run, name: str) -> None:
    write_extract(folder / "fixed.dat", TOWNSPEOPLE, PEOPLE)
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


def test_types_of_columns_without_a_codebook(folder: Path, run: Run) -> None:
    archive(folder / "csv_pxx.zip", psam_pxx=PERSONS)
    (folder / "types.toml").write_text('AGEP = "integer"\nPWGTP = "number"\nRT = "text"\n')
    ended = run("ingest", "csv_pxx.zip", "--types", "types.toml", "--output", "out.parquet")
    assert "not declared by a codebook: SERIALNO, PUMA: kept as text" in ended.out
    frame = pl.read_parquet("out.parquet")
    assert list(frame.schema.values()) == [pl.String, pl.String, pl.String, pl.Int64, pl.Float64]
    assert frame["AGEP"].to_list() == [41, None]


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


def test_what_is_printed_does_not_depend_on_the_rows(folder: Path, run: Run) -> None:
    said = []
    for lines in (PEOPLE, PEOPLE[:1] * 1000, ()):
        write_extract(folder / "town.dat", TOWNSPEOPLE, lines, last_end="\n" if lines else "")
        said.append(run("ingest", "town.dat", "--output", "out.parquet", "--overwrite").out)
    assert len(set(said)) == 1


def test_ranges_that_noise_drowns_are_named_with_the_command_that_narrows_them(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where auto takes moments; bins bear them."""
    monkeypatch.setattr(release_plan, "resolved_mechanism", lambda *_: MechanismChoice("smooth", "this is a test"))
    book = replace(TOWNSPEOPLE, variables=(SEX, variable("RENTS", start=5, width=9, measure=Measure.CONTINUOUS)))
    write_extract(folder / "town.dat", book, ["    1000000800", "    2000000950"])
    printed = run("ingest", "town.dat", "--output", "out.parquet").out
    (line,) = [line for line in printed.splitlines() if line.startswith("declared too widely: ")]
    assert "at 10000 rows in each class and epsilon 1, noise hides all differences in RENTS (up to " in line
    declared, _, typed = line.rsplit("leave the attribute out: declare ", 1)[1].partition(
        " in out.domain.toml, which is written by: "
    )
    command = shlex.split(typed)
    assert command == ["dpnb-columnar", "domain", "edit", "out.parquet"]
    run(*command[1:])
    entry = Path("out.domain.toml").read_text()
    (old,) = [line for line in entry.splitlines() if line.startswith("RENTS = ")]
    Path("out.domain.toml").write_text(entry.replace(old, declared.replace(" }", ", step = 1 }")))
    assert "declared too widely" not in run("plan", "out.parquet", "--no-advice").out
    events = run(
        "ingest", "town.dat", "--output", "out.parquet", "--overwrite", "--log-format", "json"
    ).out.splitlines()
    (event,) = [event for event in map(json.loads, events) if event["event"] == "wide ranges"]
    assert (event["attributes"], shlex.split(event["command"])) == (["RENTS"], command)


DICTIONARY = """NAME,AGEP,N,2,"Age"
VAL,AGEP,N,2,0,99,"Age"
NAME,SEX,C,1,"Sex"
VAL,SEX,C,1,1,1,"Male"
VAL,SEX,C,1,2,2,"Female"
NAME,WKHP,N,2,"Usual hours worked per week"
VAL,WKHP,N,2,bb,bb,"N/A (less than 16 years old/did not work)"
VAL,WKHP,N,2,1,99,"Hours"
"""


def test_who_did_not_work_is_counted(folder: Path, run: Run) -> None:
    archive(folder / "csv_pvt.zip", psam_p50=b"SEX,AGEP,WKHP\n1,41,40\n2,70,\n2,8,\n1,33,20\n")
    (folder / "dictionary.csv").write_text(DICTIONARY)
    printed = run("ingest", "csv_pvt.zip", "--codebook", "dictionary.csv", "--output", "vt.parquet").out
    assert "a missing value of WKHP is a category of its own: " in printed
    statistics = aggregate(["vt.parquet"], label="SEX")
    assert statistics.class_counts.tolist() == [2, 2]
    assert [sum(column.counts) for column in statistics.columns["WKHP"]] == [2, 0]
    assert [sum(column.counts) for column in statistics.columns["AGEP"]] == [2, 2]


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
