"""``dpnb-columnar domain show`` and ``domain edit``."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from support.people import PEOPLE, people, spoil_rows, write_people
from support.running import Run

from dpnb_columnar.api import load_model
from dpnb_columnar.domain.catalogue import read_catalogue
from dpnb_columnar.domain.declaration import domain_metadata, read_declaration
from dpnb_columnar.domain.declaration_document import document_of

FILE = "people.parquet"


def test_a_table_of_what_is_declared(people_file: Path, run: Run) -> None:
    out = run("domain", "show", people_file).out
    assert "domain people, from the metadata of the data\npredicts income: 2: low, high\n" in out
    assert "age        numeric      0 to 100, step 1  left out" in out
    assert "sex        categorical  2: f, m" in out


def test_only_the_footer_is_read(people_file: Path, run: Run) -> None:
    spoil_rows(people_file)
    run("domain", "show", people_file)
    run("domain", "edit", people_file)


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
