"""``dpnb-columnar datasets``, and catalogues: no command replaces one of several, ``--dataset`` names where to look."""

from __future__ import annotations

import gzip
import hashlib
import json
from contextlib import nullcontext
from pathlib import Path

import polars as pl
import pytest
from support.people import DECLARATION, people, write_people
from support.running import Run
from support.watching import Watching

import dpnb_columnar as dpnb
from dpnb_columnar.cli import console
from dpnb_columnar.domain.catalogue import entries, read_catalogue
from dpnb_columnar.errors import ConfigurationError, UsageError

ROWS = b"3\t4\t5\t1\r\n6\t7\t8\t2\r\n"
SKIN = f"""
[skin]
title = "Two pixels"

[skin.raw]
"skin.txt" = "{hashlib.sha256(ROWS).hexdigest()}"

[skin.label]
column = "skin"
classes = [1, 2]

[skin.attributes]
B = {{ lower = 0, upper = 255, step = 1 }}
"""


@pytest.fixture
def raw(folder: Path) -> Path:
    """A folder with the raw file of a small data set, declared in the working directory."""
    Path("datasets.toml").write_text(SKIN)
    Path("downloads").mkdir()
    Path("downloads/skin.txt").write_bytes(ROWS)
    return Path("downloads")


def test_list_names_every_data_set(folder: Path, run: Run) -> None:
    lines = run("datasets", "list").out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == [entry.name for entry in entries()]


def test_prepare_writes_a_file_that_train_takes(raw: Path, run: Run) -> None:
    assert run("datasets", "prepare", "skin", "--from", raw).out == "wrote skin.parquet: 2 rows, checksums verified\n"
    assert pl.read_parquet("skin.parquet").rows() == [(3, 1), (6, 2)]
    Path("datasets.toml").unlink()
    assert "from the metadata of the data" in run("train", "skin.parquet").out


@pytest.mark.parametrize("name", ["skin.txt", "skin.txt.gz"])
def test_prepare_tells_the_share_of_the_bytes_read(
    name: str, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every byte is read twice, to be verified and to be converted."""
    watching = Watching()
    monkeypatch.setattr(console, "_watcher", lambda stage: nullcontext(watching))
    Path("datasets.toml").write_text(SKIN.replace("skin.txt", name))
    Path(name).write_bytes(gzip.compress(ROWS) if name.endswith(".gz") else ROWS)
    run("datasets", "prepare", "skin", "--from", ".")
    assert (watching.totals, watching.units) == ([2 * Path(name).stat().st_size], ["bytes"])
    assert sum(watching.done) == watching.total / 2  # what a small file is converted in is no long step


CATALOGUE = DECLARATION + "\n[villages]\nlabel = { column = 'x', classes = [1, 2] }\nattributes.y = { values = [1] }\n"


@pytest.fixture
def catalogue(people_file: Path) -> Path:
    """A catalogue of two data sets in the working directory."""
    path = Path("datasets.toml")
    path.write_text(CATALOGUE)
    return path


def test_a_domain_replaces_no_catalogue(catalogue: Path, run: Run) -> None:
    edit = ("domain", "edit", "people.parquet", "--output", catalogue, "--overwrite")
    assert "has other entries, which would be lost" in run(*edit, expected=73).err
    assert catalogue.read_text() == CATALOGUE


def test_a_draft_replaces_no_catalogue(catalogue: Path, run: Run) -> None:
    suggest = ("suggest-domain", "people.parquet", "--output", catalogue, "--overwrite")
    assert "has other entries, which the draft would replace" in run(*suggest, expected=73).err
    assert catalogue.read_text() == CATALOGUE
    ended = run("suggest-domain", "people.parquet", "--output", "draft.toml")
    assert "train people.parquet --dataset draft.toml:people --label" in ended.out
    run("suggest-domain", "people.parquet", "--output", "draft.toml", "--overwrite")


# --- --dataset FILE --------------------------------------------------------------------------------------------------


@pytest.fixture
def wages(people_file: Path) -> Path:
    """A catalogue of another name, whose entry declares other bounds than the file carries."""
    Path("wages.toml").write_text(DECLARATION.replace("upper = 98", "upper = 70"))
    return Path("wages.toml")


def test_every_verb_looks_in_the_catalogue_that_is_named(wages: Path, run: Run) -> None:
    named = ("people.parquet", "--dataset", wages)
    for verb in ("plan", "check", "aggregate", "train"):
        options = {"plan": ["--no-advice"], "train": ["--dry-run"]}.get(verb, [])
        assert "domain people, from wages.toml, entry people" in run(verb, *named, *options).out
    run("train", *named)
    assert "70" in run("sql", "statistics", *named, "--dialect", "duckdb").out
    assert "70" in run("domain", "show", *named).out
    (line,) = run("datasets", "list", wages).out.splitlines()[2:]
    assert line.split() == ["people", "2", "1", "2", "people"]
    run("release", "people.statistics.parquet", "--dataset", wages, "--output", "model.json")
    document = json.loads(Path("model.json").read_text())
    assert document["domain"] == json.loads(Path("people.model.json").read_text())["domain"]


def test_python_takes_the_file_of_a_catalogue(wages: Path, people_file: Path) -> None:
    counted = dpnb.aggregate(people_file, dataset=wages)
    assert counted.domain == read_catalogue(wages)[0].domain
    assert dpnb.aggregate(people(1000), dataset=f"{wages}:people") == counted
    assert dpnb.aggregate(people(1000), dataset=wages) == counted
    assert dpnb.train(people_file, epsilon=1, dataset=wages).domain == counted.domain
    with pytest.raises(UsageError, match="domain and dataset both name a domain"):
        dpnb.train(people_file, epsilon=1, dataset=wages, domain=counted.domain)
    with pytest.raises(ConfigurationError, match=r"wages\.toml: no entry of it claims"):
        dpnb.train(write_people(Path("folk.parquet")), epsilon=1, dataset=wages)


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (["--dataset", "false.toml"], 78, "false.toml: not a TOML file"),
        (["--dataset", "empty.toml"], 78, "empty.toml: no entry of it claims people.parquet; name one with --dataset"),
        (["--dataset", "empty.toml:adult"], 64, "no data set named 'adult'; it has no entry"),
        (["--dataset", "mark.toml"], 78, "mark.toml: not a TOML file: it begins with a byte order mark; save it as"),
        (["--dataset", "digits.toml"], 78, "digits.toml: not a TOML file: a number in it has too many digits\n"),
    ],
)
def test_refusals(options: list[str], code: int, told: str, wages: Path, run: Run) -> None:
    Path("empty.toml").touch()
    Path("false.toml").write_bytes(Path("people.parquet").read_bytes())
    Path("mark.toml").write_text(wages.read_text(), encoding="utf-8-sig")
    Path("digits.toml").write_text(f"[wages]\nrows = {'9' * 5000}\n")
    assert told in run("train", "people.parquet", *options, expected=code).err


def test_the_file_of_a_data_set_declares_the_domain_of_another_file(wages: Path, run: Run) -> None:
    write_people(Path("folk.parquet"))
    wages.rename("people.domain.toml")
    assert (
        "from people.domain.toml, entry people" in run("train", "folk.parquet", "--dataset", "people.domain.toml").out
    )
    Path("people.domain.toml").write_text(CATALOGUE)
    refused = run("train", "folk.parquet", "--dataset", "people.domain.toml", "--overwrite", expected=78).err
    assert "people.domain.toml: no entry of it claims folk.parquet" in refused


def test_a_file_of_several_entries_says_nothing_of_rows_without_a_name(catalogue: Path) -> None:
    with pytest.raises(ConfigurationError, match=r'has not one entry; name one with dataset="datasets\.toml:NAME"'):
        dpnb.aggregate(people(1000), dataset=catalogue)


def test_what_a_check_proposes_goes_to_the_catalogue_in_use(wages: Path, run: Run) -> None:
    write_people(Path("people.parquet"), people(1000).with_columns(hours=people(1000)["hours"] + 50))
    checked = run("check", "people.parquet", "--dataset", wages).out
    (note,) = [line for line in checked.splitlines() if "hours: values beyond" in line]
    assert note.endswith("declare lower and upper, or missing_values, in wages.toml")
