"""``dpnb-columnar train``; what is printed on the way to a model is public: it depends on no row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.mechanisms import MECHANISMS
from support.odd_rows import ROWS
from support.people import DECLARATION, PEOPLE, people, spoil_rows, write_people
from support.running import Run

from dpnb_columnar.api import load_model
from dpnb_columnar.domain.declared_domain import document_of

ENTRY = DECLARATION.replace("[people]\n", '[people]\nepsilon = "0.25"\n')


def document(path: str = "people.model.json") -> Any:
    return json.loads(Path(path).read_text())


def test_model_in_the_working_directory_is_named_after_the_data(census: Path, folder: Path, run: Run) -> None:
    ended = run("train", census)
    assert ended.out.splitlines()[-1] == "wrote census.model.json"
    assert [path.name for path in folder.iterdir()] == ["census.model.json"]
    model = load_model(folder / "census.model.json")
    assert model.guarantee.private
    assert model.guarantee.epsilon == 1
    assert [found.attribute for found in model.attributes] == [found.name for found in model.domain.attributes]


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (["people.parquet"], "people.model.json"),
        (["./people.parquet"], "people.model.json"),
        (["part-1.parquet", "part-2.parquet"], "people.model.json"),
        (["part-*.parquet"], "people.model.json"),
        (["extracts/2018"], "2018.model.json"),
        (["extracts/2018/../2018"], "2018.model.json"),
        (["."], "work.model.json"),
        (["extracts/.."], "work.model.json"),
    ],
    ids=str,
)
def test_default_name(data: list[str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    work = tmp_path / "work"
    (work / "extracts" / "2018").mkdir(parents=True)
    monkeypatch.chdir(work)
    for rows, path in enumerate(("people.parquet", "part-1.parquet", "part-2.parquet", "extracts/2018/1.parquet"), 20):
        write_people(Path(path), people(rows))
    assert f"wrote {name}\n" in run("train", *data).out
    assert (work / name).is_file()


def test_model_as_parquet_holds_the_same(people_file: Path, run: Run) -> None:
    run("train", people_file, "--seed", 3, "--output", "people.json")
    run("train", people_file, "--seed", 3, "--output", "people.model.parquet")
    assert load_model(Path("people.json")) == load_model(Path("people.model.parquet"))


def test_failed_training_keeps_the_model_there_was(people_file: Path, run: Run) -> None:
    run("train", people_file)
    first = Path("people.model.json").read_bytes()
    spoil_rows(people_file)
    run("train", people_file, "--overwrite", expected=65)
    assert Path("people.model.json").read_bytes() == first
    assert sorted(path.name for path in Path().iterdir()) == ["people.model.json", "people.parquet"]


def test_every_file_is_counted_once(folder: Path, run: Run) -> None:
    write_people(folder / "one.parquet")
    run("train", "one.parquet", "--mechanism", "none", "--output", "once.json")
    run("train", "one.parquet", "./one.parquet", "*.parquet", ".", "--mechanism", "none", "--output", "often.json")
    assert document("once.json")["classes"] == document("often.json")["classes"]


# Noise


def test_two_trainings_differ(people_file: Path, run: Run) -> None:
    for name in ("first.json", "second.json"):
        run("train", people_file, "--mechanism", "smooth", "--output", name)
    first, second = document("first.json"), document("second.json")
    assert first["guarantee"] == second["guarantee"]
    assert first["guarantee"]["private"] is True
    assert first["attributes"]["age"]["mean"] != second["attributes"]["age"]["mean"]


def test_two_trainings_with_a_seed_are_alike_and_carry_no_guarantee(people_file: Path, run: Run) -> None:
    for name in ("first.json", "second.json"):
        assert "NO GUARANTEE" in run("train", people_file, "--seed", 5, "--output", name).err
    assert Path("first.json").read_bytes() == Path("second.json").read_bytes()
    assert "5" not in str(document("first.json")["guarantee"]["seeded"])
    assert document("first.json")["guarantee"]["private"] is False
    assert "NO GUARANTEE" in run("show", "first.json").out
    run("train", people_file, "--seed", 6, "--output", "third.json")
    assert Path("first.json").read_bytes() != Path("third.json").read_bytes()


def test_mechanism_without_privacy_says_so(people_file: Path, run: Run) -> None:
    ended = run("train", people_file, "--mechanism", "none")
    assert "NOT PRIVATE" in ended.out
    assert "NO GUARANTEE" in ended.err
    assert document()["guarantee"]["epsilon"] is None


def test_noise_and_shares_reach_the_guarantee(people_file: Path, run: Run) -> None:
    run("train", people_file, "--mechanism", "smooth", "--epsilon", "1", "--noise", "cauchy", "--shares", "3:1:2")
    assert document()["guarantee"]["noise"] == "cauchy"
    shares = {(each["query"], each["attribute"]): each["share"]["epsilon"] for each in document()["measurements"]}
    # Two numeric attributes at 3, one categorical at 1 and the class counts at 2 make 9 parts.
    assert shares[("class counts", None)] == "2/9"
    assert shares[("counts", "sex")] == "1/9"
    assert shares[("mean", "age")] == shares[("variance", "hours")] == "1/6"


# Epsilon: the option's, else the entry's, else 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entry", "typed", "used"),
    [(None, None, "1"), (ENTRY, None, "0.25"), (ENTRY, "2", "2"), (None, "1e-1", "0.1"), (None, " 1/3 ", "1/3")],
)
def test_epsilon(entry: str | None, typed: str | None, used: str, folder: Path, run: Run) -> None:
    write_people(folder / "people.parquet", document=PEOPLE if entry is None else None)
    if entry is not None:
        Path("datasets.toml").write_text(entry)
    option = [] if typed is None else ["--epsilon", typed]
    assert f"epsilon {used} (add-remove neighbours)" in run("plan", "people.parquet", *option).out
    assert f"epsilon {used} (add-remove neighbours)" in run("train", "people.parquet", *option).out
    assert document()["guarantee"]["epsilon"] == used


def test_the_declared_epsilon_goes_with_the_domain_wherever_it_is_read_from(people_file: Path, run: Run) -> None:
    Path("datasets.toml").write_text(ENTRY)
    assert "epsilon 0.25 " in run("train", people_file).out
    assert "epsilon 0.25 " in run("train", people_file, "--overwrite", "--dataset", "people").out
    run("aggregate", people_file)
    assert "epsilon 0.25 " in run("release", "people.statistics.parquet", "--output", "again.json").out


def test_an_entry_of_that_name_with_another_domain_lends_no_epsilon(people_file: Path, run: Run) -> None:
    Path("datasets.toml").write_text(ENTRY.replace("upper = 100", "upper = 50"))
    assert "epsilon 1 " in run("train", people_file).out


# Domain: the one named, else the file's own, else the catalogue's


def test_domain_of_the_file_comes_before_the_catalogue(people_file: Path, run: Run) -> None:
    Path("datasets.toml").write_text(DECLARATION.replace("upper = 100", "upper = 50"))
    assert "from the metadata of the data" in run("train", people_file).out
    assert document()["domain"]["attributes"]["age"]["upper"] == "100"


def test_named_entry_comes_before_the_domain_of_the_file(people_file: Path, run: Run) -> None:
    Path("datasets.toml").write_text(DECLARATION.replace("upper = 100", "upper = 50"))
    assert "domain people, from datasets.toml, entry people" in run("train", people_file, "--dataset", "people").out
    assert document()["domain"]["attributes"]["age"]["upper"] == "50"


@pytest.mark.parametrize("name", ["people.parquet", "people-2018.parquet"])
def test_entry_of_the_working_directory_claims_a_file_by_its_name(name: str, folder: Path, run: Run) -> None:
    Path("datasets.toml").write_text(DECLARATION)
    write_people(Path(name), document=None)
    assert "from datasets.toml, entry people" in run("train", name, "--output", "model.json").out
    run("train", str(folder / name), "--output", "again.json")


def test_entry_of_the_working_directory_hides_the_packaged_one(folder: Path, run: Run) -> None:
    write_people(folder / "adult.parquet", document=None)
    assert "missing column" in run("train", "adult.parquet", expected=65).err, "the packaged domain of Adult"
    Path("datasets.toml").write_text(DECLARATION.replace("people", "adult"))
    run("train", "adult.parquet")
    model = load_model(folder / "adult.model.json")
    assert list(document_of(model.domain)["attributes"]) == ["age", "hours", "sex"]


def test_entry_elsewhere_in_the_catalogue_may_be_faulty(folder: Path, run: Run) -> None:
    Path("datasets.toml").write_text("[broken.label]\ncolumn = 1\n" + DECLARATION)
    write_people(folder / "people.parquet", document=None)
    run("train", "people.parquet")


FILE = Path("people.parquet")

TRAINED = """\
domain people, from the metadata of the data
epsilon 0.5 (add-remove neighbours), mechanism smooth, 6 queries
wrote people.model.json
"""


@pytest.mark.parametrize("rows", ROWS)
def test_train_prints_public_facts_alone(rows: str, folder: Path, run: Run) -> None:
    write_people(FILE, ROWS[rows])
    ended = run("train", FILE, "--mechanism", "smooth", "--epsilon", "0.5")
    assert (ended.out, ended.err) == (TRAINED, "")


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["auto", *MECHANISMS])
@pytest.mark.parametrize("verb", ["train", "plan"])
def test_text_does_not_depend_on_rows(verb: str, mechanism: str, folder: Path, run: Run) -> None:
    texts = set()
    for frame in ROWS.values():
        write_people(FILE, frame)
        ended = run(verb, FILE, "--mechanism", mechanism, *(["--overwrite"] if verb == "train" else []))
        texts.add((ended.out, ended.err))
    assert len(texts) == 1


def test_text_does_not_depend_on_how_rows_are_spread_over_files(folder: Path, run: Run) -> None:
    texts = set()
    for parts in (1, 3):
        for part in range(parts):
            write_people(folder / f"people-{part}.parquet", people(100, seed=part))
        texts.add(run("train", "people-*.parquet", "--overwrite").out)
    assert len(texts) == 1
