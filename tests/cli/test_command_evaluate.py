"""``dpnb-columnar evaluate``, which says by a ledger when the rows that it scores are those that trained the model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from support.people import DECLARATION, people, write_people
from support.running import Run
from support.tables import into_duckdb, into_sqlite


def test_text_tells_the_same(model_file: Path, people_file: Path, run: Run) -> None:
    found = json.loads(run("evaluate", model_file, people_file, "--json").out)
    ended = run("evaluate", model_file, people_file)
    assert ended.out.startswith("CONFIDENTIAL: computed from the rows without noise; do not release.\n")
    lines = [line for line in ended.out.splitlines() if line]
    assert f"rows               {found['rows']}\n" in ended.out
    for name, key in [
        *(("accuracy", "accuracy"), ("difference", "gain"), ("balanced accuracy", "balanced_accuracy"), ("AUC", "auc")),
        *(("log loss", "log_loss"), ("Brier score", "brier_score")),
    ]:
        lower, upper = found["intervals"][key]
        assert f"\n{name:<18} {found[key]:.4f}  ({lower:.4f} to {upper:.4f})\n" in ended.out
    assert f"\nlargest class      {found['majority']:.4f}  (always predicting 'low')\n" in ended.out
    assert f"\ncalibration error  {found['calibration_error']:.4f}\n" in ended.out
    assert found["below_majority"] == ("worse than always predicting" in ended.out)
    for each in found["classes"]:
        assert any(line.split()[:3] == [each["name"], str(each["rows"]), str(each["predicted"])] for line in lines)
    for name, counts in zip(("low", "high"), found["confusion"], strict=True):
        assert any(line.split() == [name, *map(str, counts)] for line in ended.out.splitlines())


@pytest.mark.parametrize(
    ("wrong", "told"), [(0, None), (1, "; the difference may be chance"), (60, "")], ids=["none", "one", "most"]
)
def test_a_model_below_the_largest_class_is_told(wrong: int, told: str | None, model_file: Path, run: Run) -> None:
    hours = pl.Series([60] * wrong + [5] * (100 - wrong))
    frame = people(100).with_columns(hours=hours, income=pl.lit("low"))
    write_people(Path("new.parquet"), frame)
    found = run("evaluate", model_file, "new.parquet").out
    assert f"accuracy           {1 - wrong / 100:.4f}" in found
    if told is None:
        assert "worse" not in found
    else:
        assert f"\n                   worse than always predicting 'low'{told}\n" in found


def test_each_of_several_classes_is_ranked_against_the_rest(folder: Path, run: Run) -> None:
    classes = "abc"
    Path("datasets.toml").write_text(
        '[letters]\nlabel = { column = "letter", classes = ["a", "b", "c"] }\n'
        "[letters.attributes]\nsize = { lower = 0, upper = 9, step = 1 }\n"
    )
    rows = [((code * 3 + row) % 10, name) for code, name in enumerate(classes) for row in range(5)]
    pl.DataFrame(rows, schema=["size", "letter"], orient="row").write_parquet("letters.parquet")
    run("train", "letters.parquet", "--mechanism", "none")
    found = json.loads(run("evaluate", "letters.model.json", "letters.parquet", "--json").out)
    areas = [each["auc"] for each in found["classes"]]
    assert found["auc"] == pytest.approx(sum(areas) / 3)
    assert found["intervals"]["auc"] is None
    out = run("evaluate", "letters.model.json", "letters.parquet").out
    assert f"AUC                {found['auc']:.4f}\n" in out
    for each in found["classes"]:
        lower, upper = each["auc_interval"]
        assert f"{each['auc']:.4f}  ({lower:.4f} to {upper:.4f})  {each['brier_score']:.4f}\n" in out
    assert (found["below_majority"], "worse than" in out) == (False, False)
    pl.DataFrame({"size": [0, 1, 2, 6] * 9, "letter": ["c"] * 36}).write_parquet("others.parquet")
    found = json.loads(run("evaluate", "letters.model.json", "others.parquet", "--json").out)
    assert found["below_majority"]
    assert found["gain"] < 0
    assert "worse than always predicting 'c'\n" in run("evaluate", "letters.model.json", "others.parquet").out


def test_rows_that_lack_attributes_are_one_line(folder: Path, run: Run) -> None:
    lacking = {f"x{n}": [None if row % (n + 3) == 0 else row % 10 for row in range(840)] for n in range(6)}
    pl.DataFrame({"klass": ["a", "b"] * 420, **lacking}).write_parquet("town.parquet")
    entry = "[town]\nlabel = { column = 'klass', classes = ['a', 'b'] }\n[town.attributes]\n"
    entry += "".join(f"x{n} = {{ lower = 0, upper = 9, step = 1 }}\n" for n in range(6))
    Path("datasets.toml").write_text(entry, encoding="utf-8")
    run("train", "town.parquet", "--dataset", "town", "--output", "model.json")
    told = [line for line in run("evaluate", "model.json", "town.parquet").out.splitlines() if " without '" in line]
    assert [line.strip() for line in told] == [
        "280 of them without 'x0', 210 without 'x1', 168 without 'x2', as many or fewer without 3 others (--json)"
    ]
    assert len(json.loads(run("evaluate", "model.json", "town.parquet", "--json").out)["lacking"]) == 6


TOLD = "people.parquet: run first counted these rows to train this model, and training rows score too well"


@pytest.fixture
def trained(people_file: Path, ledger: Path, run: Run) -> Path:
    run("train", people_file, "--output", "m.json", "--ledger", ledger, "--run-id", "first")
    write_people(Path("rest.parquet"), people(500, seed=9))
    return Path("m.json")


def test_files_that_the_run_counted_are_named(trained: Path, ledger: Path, people_file: Path, run: Run) -> None:
    Path("link.parquet").symlink_to(people_file)
    for data in ("people.parquet", "link.parquet"):
        ended = run("evaluate", trained, data, "--ledger", ledger)
        assert ended.err.startswith(f"dpnb-columnar: {TOLD}; evaluate rows that it has not seen")
        assert ended.err.count("\n") == 1
    released = run("evaluate", trained, people_file, "--ledger", ledger, "--epsilon", "0.5")
    assert released.err.startswith(f"dpnb-columnar: {TOLD}")
    assert "people.parquet, " not in run("evaluate", trained, people_file).err


def test_other_files_are_not(trained: Path, ledger: Path, run: Run) -> None:
    assert run("evaluate", trained, "rest.parquet", "--ledger", ledger).err == ""


def test_a_copy_is_known_to_a_bound_account(people_file: Path, run: Run) -> None:
    """Its digests are confidential, so only the curator's exact figures come with what they say."""
    init = ("ledger", "init", "bound.ledger", "--dataset", "people", "--epsilon", "3")
    run(*init, "--bind", people_file)
    run("train", people_file, "--output", "m.json", "--ledger", "bound.ledger")
    shutil.copy(people_file, "copy.parquet")
    ended = run("evaluate", "m.json", "copy.parquet", "--ledger", "bound.ledger")
    assert "copy.parquet: the account of people, which paid for this model, is bound to these rows" in ended.err
    assert run("evaluate", "m.json", "copy.parquet", "--ledger", "bound.ledger", "--epsilon", "0.5").err == ""


def test_a_ledger_without_the_model_cannot_tell(trained: Path, ledger: Path, people_file: Path, run: Run) -> None:
    run("train", people_file, "--output", "other.json")
    ended = run("evaluate", "other.json", people_file, "--ledger", ledger)
    assert "no run in it released this model, so it cannot tell" in ended.err
    assert run("evaluate", trained, people_file, "--ledger", "none.ledger", expected=66).out == ""


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_a_table_that_the_run_counted_is_named(dialect: str, folder: Path, ledger: Path, run: Run) -> None:
    Path("datasets.toml").write_text(DECLARATION)
    file, into = Path(f"census.{dialect}"), into_duckdb if dialect == "duckdb" else into_sqlite
    for table, seed in (("person", 1), ("held_out", 2)):
        into(file, people(300, seed=seed), table)
    paid = ("--ledger", ledger, "--run-id", "first")
    run("train", file, "--table", "person", "--dataset", "people", "--output", "m.json", *paid)
    for name in ("person", "main.person", "PERSON"):
        told = run("evaluate", "m.json", file, "--table", name, "--ledger", ledger).err
        assert told.startswith(f"dpnb-columnar: {file}, table {name}: run first counted this table to train this model")
    assert run("evaluate", "m.json", file, "--table", "held_out", "--ledger", ledger).err == ""
    into(other := Path(f"other.{dialect}"), people(300), "person")
    assert run("evaluate", "m.json", other, "--table", "person", "--ledger", ledger).err == ""
    write_people(Path("people.parquet"))
    run("train", "people.parquet", "--output", "alone.json")
    told = run("evaluate", "alone.json", file, "--table", "person", "--ledger", ledger).err
    assert "no run in it released this model, so it cannot tell" in told
