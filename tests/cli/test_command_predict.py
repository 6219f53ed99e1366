"""``dpnb-columnar predict``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from support.people import people, write_people
from support.running import Run

from dpnb_columnar.model.model import load_model

SCORED = Path("scored.parquet")
RESULTS = ["predicted", "probability_low", "probability_high", "skipped"]


def test_every_row_is_scored_in_order(model_file: Path, people_file: Path, run: Run) -> None:
    ended = run("predict", model_file, people_file, "--output", SCORED, "--key", "age", "--key", "hours")
    assert ended.out == "wrote scored.parquet; its column skipped counts the attributes that a row's score leaves out\n"
    scored, rows = pl.read_parquet(SCORED), pl.read_parquet(people_file)
    assert scored.columns == ["age", "hours", *RESULTS]
    assert scored.select("age", "hours").equals(rows.select("age", "hours"))
    assert np.allclose(scored["probability_low"] + scored["probability_high"], 1)
    likelier = scored.select(pl.when(pl.col("probability_high") > 0.5).then(pl.lit("high")).otherwise(pl.lit("low")))
    assert scored["predicted"].equals(likelier.to_series().alias("predicted"))
    assert (scored["predicted"] == rows["income"]).sum() > 800


def test_scores_are_those_of_the_model(model_file: Path, people_file: Path, run: Run) -> None:
    run("predict", model_file, people_file, "--output", SCORED)
    expected = load_model(model_file).predict(pl.scan_parquet(people_file)).collect()
    assert pl.read_parquet(SCORED).equals(expected)


def test_label_is_not_needed(model_file: Path, run: Run) -> None:
    write_people(Path("new.parquet"), people(5).drop("income"), document=None)
    run("predict", model_file, "new.parquet", "--output", SCORED)
    assert pl.read_parquet(SCORED).columns == RESULTS


def test_missing_and_unknown_values_are_skipped_and_counted(model_file: Path, run: Run) -> None:
    frame = pl.DataFrame({"age": [30, None, 30, None], "hours": [40, 40, 40, None], "sex": ["f", "m", "x", None]})
    write_people(Path("new.parquet"), frame, document=None)
    run("predict", model_file, "new.parquet", "--output", SCORED)
    scored = pl.read_parquet(SCORED)
    assert scored["skipped"].to_list() == [0, 1, 1, 3]
    priors = load_model(model_file).classes.probability
    assert scored.row(3)[1:3] == pytest.approx(priors)


def test_several_files_follow_one_another(model_file: Path, run: Run) -> None:
    for name, rows in (("a", 3), ("b", 2)):
        write_people(Path(f"new-{name}.parquet"), people(rows).with_columns(file=pl.lit(name)))
    run("predict", model_file, "new-*.parquet", "--output", SCORED, "--key", "file")
    assert pl.read_parquet(SCORED)["file"].to_list() == ["a", "a", "a", "b", "b"]


def test_no_row_is_no_fault(model_file: Path, run: Run) -> None:
    write_people(Path("new.parquet"), people(0))
    run("predict", model_file, "new.parquet", "--output", SCORED)
    assert pl.read_parquet(SCORED).columns == RESULTS
    assert pl.read_parquet(SCORED).is_empty()


def test_what_is_printed_does_not_depend_on_the_rows(model_file: Path, run: Run) -> None:
    texts = set()
    for rows in (0, 1, 100):
        write_people(Path("new.parquet"), people(rows))
        ended = run("predict", model_file, "new.parquet", "--output", SCORED, "--overwrite")
        texts.add((ended.out, ended.err))
    assert len(texts) == 1


def test_model_as_parquet_scores_alike(people_file: Path, run: Run) -> None:
    for name in ("model.json", "model.parquet"):
        run("train", people_file, "--seed", 1, "--output", name)
        run("predict", name, people_file, "--output", f"{name}.scored.parquet")
    first, second = (pl.read_parquet(f"{name}.scored.parquet") for name in ("model.json", "model.parquet"))
    assert first.equals(second)


@pytest.mark.parametrize(
    ("frame", "keys", "told"),
    [
        (people(5).drop("hours"), [], ["missing column 'hours'", "age, sex, income"]),
        (people(5), ["SERIAL"], ["missing column 'SERIAL'"]),
        (people(5).with_columns(age=pl.date(2018, 1, 1)), [], ["'age'", "Date", "cast it"]),
        (people(5).with_columns(predicted=pl.lit(1)), ["predicted"], ["predicted", "rename it"]),
    ],
    ids=["column", "key", "type", "name"],
)
def test_rows_that_do_not_fit_are_refused(
    frame: pl.DataFrame, keys: list[str], told: list[str], model_file: Path, run: Run
) -> None:
    write_people(Path("new.parquet"), frame, document=None)
    options = [text for key in keys for text in ("--key", key)]
    ended = run("predict", model_file, "new.parquet", "--output", SCORED, *options, expected=65)
    assert all(text in ended.err for text in told)
    assert not SCORED.exists()


@pytest.mark.parametrize("verb", ["predict", "evaluate", "show"])
@pytest.mark.parametrize(
    ("name", "content", "code", "told"),
    [
        ("nothing.json", None, 66, "nothing.json"),
        ("model.txt", "{}", 64, "model.txt"),
        ("broken.json", '{"format"', 65, "broken.json: not a model"),
        ("other.json", "{}", 65, "other.json"),
        ("list.json", "[1]", 65, "list.json"),
        ("broken.parquet", "PAR1", 65, "broken.parquet: not a model"),
        ("people.parquet", None, 65, "people.parquet: not a model"),
    ],
)
def test_what_is_no_model_is_refused(
    verb: str, name: str, content: str | None, code: int, told: str, people_file: Path, run: Run
) -> None:
    if content is not None:
        Path(name).write_text(content)
    data = {"predict": (people_file, "--output", SCORED), "evaluate": (people_file,), "show": ()}[verb]
    assert told in run(verb, name, *data, expected=code).err
    assert not SCORED.exists()


def test_damaged_rows_leave_no_scores(model_file: Path, run: Run) -> None:
    content = write_people(Path("new.parquet")).read_bytes()
    Path("new.parquet").write_bytes(content[:4] + b"\xff" * 4000 + content[4004:])
    assert "new.parquet" in run("predict", model_file, "new.parquet", "--output", SCORED, expected=65).err
    assert sorted(path.name for path in Path().iterdir()) == ["new.parquet", "people.model.json", "people.parquet"]
