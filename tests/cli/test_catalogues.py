"""Catalogues: ``domain edit`` puts one entry into a file of several, and ``--catalogue`` names the file to look in."""

from __future__ import annotations

import json
import shlex
import stat
from contextvars import Context
from pathlib import Path

import pytest
from support.people import DECLARATION, people, write_people
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.datasets.catalogue import read_catalogue
from dpnb_columnar.errors import ConfigurationError, UsageError
from dpnb_columnar.runtime.locks import output_lock

CATALOGUE = """\
# Data sets of the office. Ask Ada before you change one.

[towns]  # 1930
rate = 1.50

[towns.label]
column = "rich"
classes = [ "no", 'yes' ]

[towns.attributes]
size = { upper = 1e3, lower = 0.0 }

# Persons, as of 2020.
[people]
title = "People"   # for lists
files = ["people*.parquet"]
epsilon = 2

[people.label]
column = "income"
classes = ["low", "high"]

[people.attributes]
# Codebook, page 4.
age = { lower = 0, upper = 100, step = 1 }  # topcoded
hours = { lower = 0, upper = 98, step = 1 }
sex = { values = ["f", "m"] }

# The last one is old.
[villages]
label = { column = "x", classes = [1, 2] }
attributes.y = { values = [1, 2] }
"""


@pytest.fixture
def catalogue(people_file: Path) -> Path:
    """A catalogue of three data sets in the working directory."""
    path = Path("datasets.toml")
    path.write_text(CATALOGUE)
    return path


def next_command(out: str) -> list[str]:
    """Return the command that the last line tells the user to type."""
    return shlex.split(out.splitlines()[-1].removeprefix("train: dpnb-columnar "))


# --- domain edit --------------------------------------------------------------------------------------------------


def test_an_entry_is_replaced_and_all_else_stays(catalogue: Path, run: Run) -> None:
    run("domain", "edit", "--dataset", "people", "--bounds", "age=0:90", "--output", catalogue, "--overwrite")
    assert catalogue.read_text() == CATALOGUE.replace("upper = 100", "upper = 90")
    run("domain", "edit", "--dataset", "people", "--drop", "hours", "--output", catalogue, "--overwrite")
    lines = CATALOGUE.replace("upper = 100", "upper = 90").splitlines(keepends=True)
    assert catalogue.read_text() == "".join(line for line in lines if not line.startswith("hours"))


def test_an_entry_is_added_at_the_end(catalogue: Path, run: Run) -> None:
    edit = ("domain", "edit", "people.parquet", "--output", catalogue, "--name", "new people", "--drop", "sex")
    ended = run(*edit)
    text = catalogue.read_text()
    assert text.startswith(f'{CATALOGUE}\n["new people"]\n')
    assert [entry.name for entry in read_catalogue(catalogue)] == ["towns", "people", "villages", "new people"]
    assert "wrote datasets.toml: domain new people, 2 attributes" in ended.out
    assert 'datasets.toml: has an entry "new people" already; replace that entry with' in run(*edit, expected=73).err
    assert catalogue.read_text() == text


def test_keys_beside_the_domain_stay_with_an_entry(catalogue: Path, run: Run) -> None:
    write_people(Path("folk.parquet"), people(500, seed=7))
    run("domain", "edit", "--dataset", "people", "--drop", "sex", "--output", catalogue, "--overwrite")
    ended = run("domain", "edit", "folk.parquet", "--step", "age=5", "--output", catalogue, "--overwrite")
    assert "note: the entry replaced was not the one edited, which came from the metadata of the data" in ended.err
    (entry,) = [entry for entry in read_catalogue(catalogue) if entry.name == "people"]
    assert (entry.title, entry.epsilon, entry.files) == ("People", 2, ("people*.parquet", "folk.parquet"))


@pytest.mark.parametrize("output", ["datasets.toml", "wages of all.toml", "sub/datasets.toml"])
def test_the_command_that_is_printed_trains_by_the_entry_written(output: str, people_file: Path, run: Run) -> None:
    Path("sub").mkdir()
    ended = run("domain", "edit", people_file, "--bounds", "age=0:90", "--label", "hours > 35", "--output", output)
    command = next_command(ended.out)
    assert ("--catalogue" in command) == (output != "datasets.toml")
    run(*command, "--output", "model.json")
    model = dpnb.load_model("model.json")
    assert model.domain.classes == ("<=35", ">35")
    assert "90" in run("domain", "show", *command[1:]).out


def test_a_command_without_a_label_asks_for_one(folder: Path, run: Run) -> None:
    run("domain", "edit", "--dataset", "adult", "--output", "x.toml")
    text = Path("x.toml").read_text()
    before, after = text.index("[adult.label]"), text.index("[adult.attributes]")
    Path("x.toml").write_text(text[:before] + text[after:])
    ended = run("domain", "edit", "--dataset", "adult", "--catalogue", "x.toml", "--output", "y.toml")
    assert next_command(ended.out)[-2:] == ["--label", "..."]


def test_a_catalogue_is_written_through_a_link_and_stays_private(catalogue: Path, run: Run) -> None:
    Path("shared").mkdir()
    real = catalogue.rename("shared/real.toml")
    real.chmod(0o600)
    catalogue.symlink_to(real.resolve())
    run("domain", "edit", "--dataset", "people", "--bounds", "age=0:90", "--output", catalogue, "--overwrite")
    assert catalogue.is_symlink()
    assert "upper = 90" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("content", "code", "told"),
    [
        ("[people\n", 78, "other.toml: not a TOML file"),
        ("[train]\nepsilon = 1\n", 78, "other.toml: is no catalogue: no table of it declares attributes"),
        ("[people.attributes]\nage.lower = 0\n[x]\n[people.label]\na = 1\n", 78, "people is not written as one table"),
        ("people = { attributes = { x = 1 } }\n", 78, "write the entry to another --output"),
    ],
)
def test_a_file_that_cannot_take_the_entry_stays_as_it_is(
    content: str, code: int, told: str, people_file: Path, run: Run
) -> None:
    other = Path("other.toml")
    other.write_text(content)
    assert told in run("domain", "edit", people_file, "--output", other, "--overwrite", expected=code).err
    assert other.read_text() == content
    assert sorted(path.name for path in Path().iterdir()) == ["other.toml", "people.parquet"]


def test_a_catalogue_that_is_read_only_or_being_written_is_refused(catalogue: Path, run: Run) -> None:
    edit = ("domain", "edit", "--dataset", "people", "--output", catalogue, "--overwrite")
    with output_lock(catalogue.resolve()):
        Context().run(run, *edit, expected=75)  # as another run, which does not hold the lock
    catalogue.chmod(0o444)
    assert "is read-only; make it writable" in run(*edit, expected=73).err
    catalogue.unlink()
    catalogue.symlink_to("nowhere.toml")
    assert "exists already" in run("domain", "edit", "--dataset", "adult", "--output", catalogue, expected=73).err


def test_a_draft_replaces_no_catalogue(catalogue: Path, run: Run) -> None:
    suggest = ("suggest-domain", "people.parquet", "--output", catalogue, "--overwrite")
    assert "has other entries, which the draft would replace" in run(*suggest, expected=73).err
    assert catalogue.read_text() == CATALOGUE
    ended = run("suggest-domain", "people.parquet", "--output", "draft.toml")
    assert "train people.parquet --catalogue draft.toml --dataset people --label" in ended.out
    run("suggest-domain", "people.parquet", "--output", "draft.toml", "--overwrite")


# --- --catalogue --------------------------------------------------------------------------------------------------


@pytest.fixture
def wages(people_file: Path) -> Path:
    """A catalogue of another name, whose entry declares other bounds than the file carries."""
    Path("wages.toml").write_text(DECLARATION.replace("upper = 98", "upper = 70"))
    return Path("wages.toml")


def test_every_verb_looks_in_the_catalogue_that_is_named(wages: Path, run: Run) -> None:
    named = ("people.parquet", "--catalogue", wages)
    for verb in ("plan", "check", "aggregate", "train"):
        options = {"plan": ["--no-advice"], "train": ["--dry-run"]}.get(verb, [])
        assert "domain people, from wages.toml, entry people" in run(verb, *named, *options).out
    run("train", *named)
    assert "70" in run("sql", "statistics", *named, "--dialect", "duckdb").out
    assert "70" in run("domain", "show", *named).out
    (line,) = run("datasets", "list", "--catalogue", wages).out.splitlines()[2:]
    assert line.split() == ["people", "2", "1", "2", "people"]
    run("release", "people.statistics.parquet", "--catalogue", wages, "--output", "model.json")
    document = json.loads(Path("model.json").read_text())
    assert document["domain"] == json.loads(Path("people.model.json").read_text())["domain"]


def test_python_takes_a_catalogue(wages: Path, people_file: Path) -> None:
    counted = dpnb.aggregate(people_file, catalogue=wages)
    assert counted.domain == read_catalogue(wages)[0].domain
    assert dpnb.aggregate(people(1000), dataset="people", catalogue=str(wages)) == counted
    assert dpnb.train(people_file, epsilon=1, catalogue=wages).domain == counted.domain
    with pytest.raises(UsageError, match="domain and catalogue both name a domain"):
        dpnb.train(people_file, epsilon=1, catalogue=wages, domain=counted.domain)
    with pytest.raises(ConfigurationError, match=r"wages\.toml: no entry of it claims"):
        dpnb.train(write_people(Path("folk.parquet")), epsilon=1, catalogue=wages)


def test_a_job_file_and_the_environment_name_a_catalogue(
    wages: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("job.toml").write_text('[train]\ndata = "people.parquet"\ncatalogue = "wages.toml"\n')
    lines = [line.split() for line in run("train", "--config", "job.toml", "--dry-run").out.splitlines()]
    assert ["--catalogue", "wages.toml", "job.toml"] in lines
    monkeypatch.setenv("DPNB_CATALOGUE", str(wages))
    assert "from wages.toml, entry people" in run("train", "people.parquet").out


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (["--catalogue", "none.toml"], 66, "none.toml: cannot be read"),
        (["--catalogue", "people.parquet"], 78, "people.parquet: not a TOML file"),
        (["--catalogue", "wages.toml", "--dataset", "adult"], 64, "wages.toml: no data set named 'adult'; known names"),
        (["--catalogue", "empty.toml", "--dataset", "adult"], 64, "no data set named 'adult'; it has no entry"),
        (["--catalogue", "mark.toml"], 78, "mark.toml: not a TOML file: it begins with a byte order mark; save it as"),
        (["--catalogue", "digits.toml"], 78, "digits.toml: not a TOML file: a number in it has too many digits\n"),
        (["--catalogue", "wages.toml", "--output", "wages.toml"], 64, "end its name"),
    ],
)
def test_refusals(options: list[str], code: int, told: str, wages: Path, run: Run) -> None:
    Path("empty.toml").touch()
    Path("mark.toml").write_text(wages.read_text(), encoding="utf-8-sig")
    Path("digits.toml").write_text(f"[wages]\nrows = {'9' * 5000}\n")
    assert told in run("train", "people.parquet", *options, expected=code).err


def test_a_catalogue_that_does_not_claim_the_file_is_not_passed_over(wages: Path, run: Run) -> None:
    write_people(Path("folk.parquet"))
    refused = run("train", "folk.parquet", "--catalogue", wages, expected=78).err
    assert "wages.toml: no entry of it claims folk.parquet; name one with --dataset (its entries: people)" in refused
    run("train", "folk.parquet", "--catalogue", wages, "--dataset", "people")


def test_the_edits_that_a_check_proposes_go_to_the_catalogue_in_use(wages: Path, run: Run) -> None:
    out = run("check", "people.parquet", "--catalogue", wages, "--json").out
    write_people(Path("people.parquet"), people(1000).with_columns(hours=people(1000)["hours"] + 50))
    out = run("check", "people.parquet", "--catalogue", wages).out
    (note,) = [line for line in out.splitlines() if "domain edit" in line and "hours" in line]
    assert "domain edit people.parquet --catalogue wages.toml --output wages.toml --overwrite --bounds" in note
