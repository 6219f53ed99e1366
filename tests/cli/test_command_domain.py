"""``dpnb-columnar domain show`` and ``domain edit``."""

from __future__ import annotations

import json
import re
import tomllib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.people import PEOPLE, people, spoil_rows, write_people
from support.running import Run

from dpnb_columnar.datasets.catalogue import read_catalogue
from dpnb_columnar.domain import Declaration, document_of, read_declaration
from dpnb_columnar.domain.declaration import domain_from_metadata, domain_metadata
from dpnb_columnar.domain.declared_domain import Unit, Weight
from dpnb_columnar.domain.editing import with_unit
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.parquet import copy_with_domain, read_metadata

FILE = "people.parquet"


def carried(path: str | Path) -> Declaration:
    """The domain that a file carries."""
    found = domain_from_metadata(read_metadata(Path(path)), str(path))
    assert found is not None
    return found


def edited(run: Run, *options: str) -> dict[str, Any]:
    """The attributes after some options, as an entry declares them."""
    run("domain", "edit", FILE, "--output", "edited.toml", "--overwrite", *options)
    *_, table = tomllib.loads(Path("edited.toml").read_text(), parse_float=Decimal).values()
    attributes: dict[str, Any] = table["attributes"]
    return attributes


def test_a_table_of_what_is_declared(people_file: Path, run: Run) -> None:
    out = run("domain", "show", people_file).out
    assert "domain people, from the metadata of the data\npredicts income: 2: low, high\n" in out
    assert "age        numeric      0 to 100, step 1  left out" in out
    assert "sex        categorical  2: f, m" in out


def test_only_the_footer_is_read(people_file: Path, run: Run) -> None:
    spoil_rows(people_file)
    run("domain", "show", people_file)
    run("domain", "edit", people_file, "--output", "new.toml", "--drop", "age")


def test_without_a_label_the_table_says_what_is_to_be_done(folder: Path, run: Run) -> None:
    domain = read_declaration("people", {"attributes": PEOPLE["attributes"]}, "x")
    people(9).write_parquet(FILE, metadata=domain_metadata(domain))
    assert '--label "COLUMN > 1000"' in run("domain", "show", FILE).out


@pytest.mark.parametrize("name", ["adult", "census_simulated", "acs2018", "skin"])
def test_printed_entries_are_read_back_as_they_were(name: str, folder: Path, run: Run) -> None:
    before = json.loads(run("domain", "show", "--dataset", name, "--json").out)
    toml = run("domain", "show", "--dataset", name, "--toml").out
    Path("datasets.toml").write_text(toml)
    (entry,) = read_catalogue(Path("datasets.toml"))
    assert json.loads(run("domain", "show", "--dataset", name, "--json").out) == before
    assert {"name": name, **document_of(entry.domain)} == before


def test_an_entry_claims_the_file_it_was_made_from(folder: Path, run: Run) -> None:
    write_people(folder / "people [1].parquet")
    run("domain", "edit", "people [1].parquet", "--output", "datasets.toml", "--bounds", "age=0:90")
    people(50).write_parquet("people [1].parquet")
    assert "datasets.toml, entry people" in run("domain", "show", "people [1].parquet").out


def test_edits_of_attributes(people_file: Path, run: Run) -> None:
    options = ["--bounds", "age=0:90", "--missing-values", "age=99,98.5", "--transform", "hours=log1p"]
    assert edited(run, *options, "--missing", "sex=category", "--missing-values", "sex=?,9") == {
        "age": {"lower": 0, "upper": 90, "step": 1, "missing_values": [99, Decimal("98.5")]},
        "hours": {"lower": 0, "upper": 98, "step": 1, "transform": "log1p"},
        "sex": {"values": ["f", "m"], "missing": "category", "missing_values": ["?", 9]},
    }
    assert edited(run, "--step", "age=0.5", "--values", "hours=1, 2,3", "--bounds", "sex=-1:1") == {
        "age": {"lower": 0, "upper": 100, "step": Decimal("0.5")},
        "hours": {"values": [1, 2, 3]},
        "sex": {"lower": -1, "upper": 1},
    }


def test_codes_are_merged_by_a_map(people_file: Path, run: Run) -> None:
    Path("map.csv").write_text('code,group,why\n20-29,young,x\n"0-19",young,x\n90,old,y\n')
    merged = edited(run, "--merge", "age=map.csv", "--rest", "grown")["age"]
    assert merged["values"] == ["young", "old", "grown"]
    assert merged["groups"]["young"] == ["0-19", "20-29"]
    assert merged["groups"]["grown"][0] == 30
    run("domain", "edit", FILE, "--merge", "age=map.csv", "--rest", "grown", "--output", "merged.parquet")
    assert "3: young (30), old (1), grown (70)" in run("domain", "show", "merged.parquet").out
    kept = edited(run, "--merge", "age=map.csv")["age"]
    assert kept["values"] == ["young", "old", *range(30, 90), *range(91, 101)]
    Path("sexes.csv").write_text("code,group\nf,woman\nm,m\n")
    assert edited(run, "--merge", "sex=sexes.csv")["sex"] == {"values": ["woman", "m"], "groups": {"woman": ["f"]}}


def test_attributes_name_and_label(people_file: Path, run: Run) -> None:
    assert list(edited(run, "--attributes", "sex,age")) == ["sex", "age"]
    assert list(edited(run, "--drop", "sex", "--drop", "hours")) == ["age"]
    options = ["--label", "hours > 35", "--name", "people by hours"]
    assert list(edited(run, *options)) == ["age", "sex", "income"]
    _, entry = read_catalogue(Path("edited.toml"))
    assert (entry.name, entry.domain.classes) == ("people by hours", ("<=35", ">35"))


def test_adult_like_attributes(census: Path, folder: Path, run: Run) -> None:
    ended = run("domain", "edit", census, "--output", "x.toml", "--attributes", "adult-like")
    (entry,) = read_catalogue(Path("x.toml"))
    names = [attribute.name for attribute in entry.domain]
    assert names[0] == "AGE"
    assert {"SEX", "RACE", "MARST"} <= set(names)
    assert "serves as" in ended.err


def test_adult_like_attributes_among_others(census: Path, folder: Path, run: Run) -> None:
    def kept(names: str) -> list[str]:
        run("domain", "edit", census, "--output", "kept.toml", "--attributes", names, "--overwrite")
        (entry,) = read_catalogue(Path("kept.toml"))
        return [attribute.name for attribute in entry.declared.attributes]

    like = kept("adult-like")
    assert kept("SEX, adult-like,AGE") == ["SEX", *(name for name in like if name != "SEX")]
    unknown = ("domain", "edit", census, "--output", "x.toml", "--attributes", "adult-like,NOBODY")
    assert "--attributes NOBODY: the domain has no attribute" in run(*unknown, expected=64).err


def test_a_domain_without_a_column_like_those_of_adult(folder: Path, run: Run) -> None:
    options = ("--dataset", "mushroom", "--output", "x.toml", "--attributes", "adult-like")
    assert "the domain has none of them" in run("domain", "edit", *options, expected=64).err


def test_faults_of_options_are_told_together(people_file: Path, run: Run) -> None:
    options = ["--bounds", "agee=0:9", "--step", "zzz=1", "--missing", "income=category"]
    ended = run("domain", "edit", FILE, "--output", "x.toml", *options, expected=64)
    assert "3 options do not fit the domain" in ended.err
    assert "--bounds agee: the domain has no attribute of this name; did you mean age?" in ended.err


def test_faults_of_the_domain_are_told_together(people_file: Path, run: Run) -> None:
    options = ["--bounds", "age=90:0", "--step", "hours=3", "--transform", "sex=log1p", "--missing-values", "sex=f"]
    ended = run("domain", "edit", FILE, "--output", "x.toml", *options, expected=78)
    for told in (
        "people.attributes.age.lower: lower (90)",
        "hours.step",
        "sex.transform: unknown key",
        "sex.missing_val",
    ):
        assert told in ended.err
    assert not Path("x.toml").exists()


WEIGHT = ["--weight", "hour", "--weight-cap", "40"]


@pytest.mark.parametrize(
    ("code", "told", "options"),
    [
        (64, "end its name in .toml", ["--output", "x.json"]),
        (64, "expected COLUMN=LOWER:UPPER", ["--bounds", "age=3"]),
        (64, "expected COLUMN=...", ["--step", "age"]),
        (64, "age is given twice", ["--step", "age=1", "--step", "age=2"]),
        (64, "give --merge as well", ["--rest", "x"]),
        (64, "has no attribute of this name; did you mean hours?", ["--drop", "hour"]),
        (
            64,
            "--values sex: cannot be combined with --bounds of the column",
            ["--values", "sex=1,2", "--bounds", "sex=0:2"],
        ),
        (64, "give it a name of 1 to 200", ["--name", ""]),
        (64, "give it a name of 1 to 200", ["--name", " "]),
        (64, "declares no column 'wage'", ["--label", "wage > 3"]),
        (64, "--unit 'SERIAL': people.parquet has no such column; it has ", ["--unit", "SERIAL"]),
        (64, "--weight 'hour': people.parquet has no such column; did you mean hours?", WEIGHT),
        (66, "map.csv: cannot be read", ["--merge", "sex=map.csv"]),
        (73, "is an input as well", ["--output", FILE, "--overwrite"]),
        (78, "at least one attribute", ["--drop", "age,hours,sex"]),
    ],
)
def test_refusals(code: int, told: str, options: list[str], people_file: Path, run: Run) -> None:
    output = [] if "--output" in options else ["--output", "x.toml"]
    assert told in run("domain", "edit", FILE, *output, *options, expected=code).err
    assert [path.name for path in Path().iterdir()] == [FILE]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"a,b\n1,2\n", "map.csv: its first line needs the columns code and group"),
        (b"code,group\n", "maps no code"),
        (b"code,group\n1\n", "map.csv, line 2: expected a code and its group"),
        (b"code,group\n1,a\n0-3,b\n", "map.csv, line 3: '1' has the group 'a' already"),
        (b"code,group\n3-1,a\n", "line 2: range '3-1': runs downwards"),
        (b"code,group\n1,\xff\n", "not a CSV file in UTF-8"),
        (b'code,group\n"1,a\n', "not a CSV file in UTF-8"),
        pytest.param(
            b"code,group\n1-900000,a\n900001-1200000,a\n",
            "line 3: more than 1048576 codes",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_faults_of_maps(content: bytes, told: str, people_file: Path, run: Run) -> None:
    Path("map.csv").write_bytes(content)
    assert told in run("domain", "edit", FILE, "--output", "x.toml", "--merge", "age=map.csv", expected=78).err


def test_a_source_has_to_be_named(folder: Path, run: Run) -> None:
    assert "--dataset" in run("domain", "show", expected=64).err
    ended = run("domain", "edit", "--dataset", "adult", "--output", "x.parquet", expected=64)
    assert "name the Parquet file to copy" in ended.err
    assert "give one of them" in run("domain", "show", "--dataset", "adult", "--toml", "--json", expected=64).err


def test_the_unit_is_declared_and_taken_back(people_file: Path, run: Run) -> None:
    """A unit is set, changed in its rows alone, and left; an attribute that names it is dropped in the same edit."""
    run("domain", "edit", FILE, "--output", "one.parquet", "--drop", "age", "--unit", "age")
    run("domain", "edit", "one.parquet", "--output", "two.parquet", "--unit-rows", "2", "--name", "households")
    run("domain", "edit", "two.parquet", "--output", "rows.parquet", "--per-row")
    run("domain", "edit", "rows.parquet", "--output", "three.toml", "--unit-rows", "3")
    one, two, rows = (carried(file) for file in ("one.parquet", "two.parquet", "rows.parquet"))
    assert (one.unit, two.unit) == (Unit(("age",), 1), Unit(("age",), 2))
    assert (rows.unit, rows.available_unit) == (None, ("age",))
    assert tomllib.loads(Path("three.toml").read_text())["households"]["unit"] == {"column": "age", "rows": 3}
    assert "counts by unit: age, of which at most 2 rows count" in run("domain", "show", "two.parquet").out


def test_the_weight_is_declared_and_taken_back(people_file: Path, run: Run) -> None:
    run("domain", "edit", FILE, "--output", "one.parquet", "--drop", "hours", "--weight", "hours", "--weight-cap", "40")
    run("domain", "edit", "one.parquet", "--output", "two.parquet", "--weight-step", "0.5")
    run("domain", "edit", "two.parquet", "--output", "none.parquet", "--unweighted")
    run("domain", "edit", "none.parquet", "--output", "three.toml", "--weight", "hours", "--weight-cap", "20")
    one, two, none = (carried(file) for file in ("one.parquet", "two.parquet", "none.parquet"))
    assert one.weight == Weight("hours", Fraction(40))
    assert two.weight == Weight("hours", Fraction(40), Fraction(1, 2))
    assert (none.weight, none.available_weight) == (None, two.weight)
    (entry,) = read_catalogue(Path("three.toml"))
    assert entry.declared.weight == Weight("hours", Fraction(20), Fraction(1, 2))
    assert entry.declared.available_weight == two.weight
    assert "weight available: hours in steps of 0.5, at most 40" in run("domain", "show", "none.parquet").out


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--unweighted", "--weight-cap", "3"], 64, "--unweighted declares no weight"),
        (["--weight", "hours", "--weight-cap", "40"], 78, "'hours' is an attribute or the label's"),
        (["--weight", "town"], 64, "how much may one row weigh at most"),
        (["--per-row", "--unit", "town"], 64, "--per-row declares no unit"),
        (["--unit-rows", "2"], 64, "rows of which unit"),
        (["--unit", "age"], 78, "'age' is an attribute or the label's"),
        (["--unit", "town"], 64, "--unit 'town': people.parquet has no such column; it has "),
        (["--unit", "town", "--unit-rows", "0"], 78, "a whole number from 1 to 1000"),
    ],
)
def test_a_unit_or_weight_that_cannot_be_is_refused(
    people_file: Path, run: Run, options: list[str], code: int, said: str
) -> None:
    ended = run("domain", "edit", FILE, "--output", "edited.parquet", *options, expected=code)
    assert re.search(said, ended.err)
    assert not Path("edited.parquet").exists()


def test_a_copy_has_the_columns_of_its_domain(people_file: Path) -> None:
    domain = with_unit(carried(FILE), "town", None)
    with pytest.raises(DataError, match=r"people\.parquet: has no column 'town'; take it out of the domain"):
        copy_with_domain(Path(FILE), domain, Path("copy.parquet"))
    assert not Path("copy.parquet").exists()
