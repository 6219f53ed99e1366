"""``dpnb-columnar domain show`` and ``domain edit``, and ``--label``: what to predict, chosen on the command line."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import polars as pl
import pytest
from support.people import DECLARATION, PEOPLE, people, spoil_rows, write_people
from support.running import Run

from dpnb_columnar.api import load_model
from dpnb_columnar.counting.answer_files import load_statistics
from dpnb_columnar.domain import Declaration
from dpnb_columnar.domain.catalogue import read_catalogue
from dpnb_columnar.domain.declaration import domain_metadata, read_declaration
from dpnb_columnar.domain.declared_domain import document_of


def test_a_table_of_what_is_declared(people_file: Path, run: Run) -> None:
    out = run("domain", "show", people_file).out
    assert "domain people, from the metadata of the data\npredicts income: 2: low, high\n" in out
    assert "age        numeric      0 to 100, step 1  left out" in out
    assert "sex        categorical  2: f, m" in out


def test_only_the_footer_is_read(people_file: Path, run: Run) -> None:
    spoil_rows(people_file)
    run("domain", "show", people_file)
    run("domain", "edit", people_file)


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
    Path("datasets.toml").write_text(run("domain", "show", "people [1].parquet", "--toml").out)
    people(50).write_parquet("people [1].parquet")
    assert "datasets.toml, entry people" in run("domain", "show", "people [1].parquet").out


def change(old: str, new: str, path: Path = Path("people.domain.toml")) -> None:
    """Edit a declaration, as in an editor."""
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_a_domain_is_edited_beside_its_file(people_file: Path, run: Run) -> None:
    before = run("domain", "show", people_file, "--json").out
    content = people_file.read_bytes()
    ended = run("domain", "edit", people_file)
    assert ended.out == (
        "wrote people.domain.toml: domain people, 3 attributes\ntrain: dpnb-columnar train people.parquet\n"
    )
    assert run("domain", "show", people_file, "--json").out == before
    change("upper = 100", "upper = 90")
    change('files = ["people.parquet"]', "rows = 1000\nepsilon = 2")
    assert "domain people, from people.domain.toml, entry people\n" in run("domain", "show", people_file).out
    assert "age        numeric      0 to 90, step 1" in run("domain", "show", people_file).out
    assert "epsilon 2 " in run("train", people_file, "--output", "model.json").out
    assert [attribute.upper for attribute in load_model(Path("model.json")).domain.attributes[:1]] == [90]
    assert people_file.read_bytes() == content


def test_a_label_is_chosen_and_what_was_edited_stays(people_file: Path, run: Run) -> None:
    run("domain", "edit", people_file)
    change("upper = 100", "upper = 90")
    assert "exists already" in run("domain", "edit", people_file, "--label", "hours > 35", expected=73).err
    run("domain", "edit", people_file, "--label", "hours > 35", "--overwrite")
    (entry,) = read_catalogue(Path("people.domain.toml"))
    assert entry.domain.classes == ("<=35", ">35")
    assert (entry.domain["age"].cells, list(entry.domain.columns)) == (90, ["hours", "age", "sex", "income"])


def test_an_entry_of_another_name_is_trained_by_its_catalogue(people_file: Path, run: Run) -> None:
    ended = run("domain", "edit", people_file, "--label", "hours > 35", "--output", "wages.toml")
    command = shlex.split(ended.out.splitlines()[-1].removeprefix("train: dpnb-columnar "))
    assert command == ["train", "people.parquet", "--dataset", "wages.toml:people"]
    run(*command, "--output", "model.json")
    assert load_model(Path("model.json")).domain.classes == ("<=35", ">35")


FILE = Path("people.parquet")
ATTRIBUTES = {**PEOPLE["attributes"], "income": {"values": ["low", "high"]}}
EXTRACT: Declaration = read_declaration("people", {"attributes": ATTRIBUTES}, "test")


@pytest.fixture
def extract(folder: Path) -> Path:
    """``people.parquet`` with a domain that has no label."""
    people(500).write_parquet(FILE, metadata=domain_metadata(EXTRACT))
    return FILE


def test_the_same_model_as_with_the_label_declared(extract: Path, run: Run) -> None:
    run("train", extract, "--label", "income", "--seed", 1, "--output", "chosen.json")
    write_people(FILE, people(500))
    run("train", FILE, "--seed", 1, "--output", "declared.json")
    assert Path("chosen.json").read_text() == Path("declared.json").read_text()


def test_entries_may_leave_the_label_out(folder: Path, run: Run) -> None:
    people(100).write_parquet(FILE)
    entry = DECLARATION.replace('[people.label]\ncolumn = "income"\nclasses = ["low", "high"]\n', "")
    Path("datasets.toml").write_text(entry.replace("[people]\n", '[people]\nepsilon = "2"\n'))
    assert "datasets.toml, entry people: declares no label" in run("train", FILE, expected=78).err
    assert "epsilon 2 " in run("train", FILE, "--label", "hours > 40").out
    listed = next(line for line in run("datasets", "list").out.splitlines() if line.startswith("  people "))
    assert listed.split()[1:4] == ["2", "1", "0"]


def test_codes_for_missing_are_in_no_class(folder: Path, run: Run) -> None:
    attributes = {**ATTRIBUTES, "hours": {"lower": 0, "upper": 98, "step": 1, "missing_values": [999]}}
    domain = read_declaration("people", {"attributes": attributes}, "test")
    frame = people(500).with_columns(hours=pl.when(pl.col("age") < 40).then(999).otherwise("hours"))
    frame.write_parquet(FILE, metadata=domain_metadata(domain))
    run("aggregate", FILE, "--label", "hours > 40")
    found = load_statistics(Path("people.statistics.parquet"))
    known = frame.filter(pl.col("hours") != 999)["hours"]
    assert list(found.class_counts) == [(known <= 40).sum(), (known > 40).sum()]
    assert found.domain.classes == ("<=40", ">40")
