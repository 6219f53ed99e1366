"""``evaluate --epsilon``: noisy counts of scores, and what is said of them."""

from __future__ import annotations

import json
import re
import stat
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from support.ledger_cases import spent_epsilon
from support.people import PEOPLE, people, spoil_rows, write_people
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.api import load_model
from dpnb_columnar.errors import UsageError
from dpnb_columnar.evaluation.released_scores import load_scores
from dpnb_columnar.model.document import document_digest

SCORES = Path("rest.scores.json")
REST = Path("rest.parquet")


@pytest.fixture
def model_file(people_file: Path, run: Run) -> Path:
    """A model with a guarantee."""
    run("train", people_file, "--mechanism", "histogram", "--output", "people.model.json")
    return Path("people.model.json")


@pytest.fixture
def rest(model_file: Path) -> Path:
    """Rows that the model was not trained on."""
    return write_people(REST, people(2000, seed=5))


def test_no_exact_figure_is_printed_or_written(rest: Path, model_file: Path, run: Run) -> None:
    """The noise, of scale 1,000, is that of a seed, so that none of it is 0 by chance."""
    exact = json.loads(run("evaluate", model_file, rest, "--json").out)
    ended = run("evaluate", model_file, rest, "--epsilon", "0.001", "--seed", "1")
    written = json.loads(SCORES.read_text())
    printed = ended.out + SCORES.read_text()
    for name in ("accuracy", "majority", "balanced_accuracy", "auc"):
        assert f"{exact[name]:.4f}" not in printed
    for released, row in zip(written["figures"]["confusion"], exact["confusion"], strict=True):
        assert not set(released) & set(row)
    assert written["figures"]["rows"] != exact["rows"]
    assert "CONFIDENTIAL" not in ended.out


def test_figures_are_near_the_exact_ones(rest: Path, model_file: Path, run: Run) -> None:
    seeded = ("--epsilon", "1000", "--seed", "1")
    run("train", "people.parquet", "--output", model_file, "--seed", "3", "--overwrite")
    exact = json.loads(run("evaluate", model_file, rest, "--json").out)
    text = run("evaluate", model_file, rest, *seeded)
    assert "these scores carry NO GUARANTEE" in text.err
    assert stat.S_IMODE(SCORES.stat().st_mode) == 0o600
    found = json.loads(run("evaluate", model_file, rest, *seeded, "--json", "--overwrite").out)
    assert found == json.loads(SCORES.read_text())
    figures = found["figures"]
    assert figures["rows"] == 2000
    assert figures["accuracy"]["value"] == pytest.approx(exact["accuracy"], abs=0.003)
    assert figures["majority"]["value"] == exact["majority"]
    assert figures["auc"]["value"] == pytest.approx(exact["auc"], abs=0.01)
    assert figures["gain"]["value"] == pytest.approx(exact["gain"], abs=0.003)
    low, high = figures["accuracy"]["interval"]
    assert f"accuracy           {figures['accuracy']['value']:.4f}  ({low:.4f} to {high:.4f})\n" in text.out
    for name, counts in zip(("low", "high"), figures["confusion"], strict=True):
        assert any(line.split() == [name, *map(str, counts)] for line in text.out.splitlines())


def test_text_before_the_figures_is_public(model_file: Path, run: Run) -> None:
    """No rows, rows without labels and many rows: the same lines, exit code and number of counts."""
    texts = set()
    frames = [people(0), people(2000), people(30).with_columns(income=pl.lit(None, pl.String))]
    for frame in frames:
        write_people(REST, frame)
        ended = run("evaluate", model_file, REST, "--epsilon", "1", "--overwrite")
        texts.add((ended.out.partition("\nrows ")[0], ended.err))
        assert [len(row) for row in load_scores(SCORES).counts] == [58, 58]
    ((text, _),) = texts
    assert text.startswith(
        "domain people, from the model\n"
        "epsilon 1 (add-remove neighbours), score counts in 116 cells\n"
        "wrote rest.scores.json\n\n1-differentially private"
    )


def test_a_ledger_pays_once_for_a_run(rest: Path, model_file: Path, ledger: Path, run: Run) -> None:
    paid = ("--epsilon", "0.5", "--ledger", ledger, "--run-id", "scores")
    first = run("evaluate", model_file, rest, *paid)
    assert f"run scores, charged to people in {ledger}" in first.out
    scores = SCORES.read_bytes()
    assert spent_epsilon(ledger, "people") == Fraction(1, 2)
    again = run("evaluate", model_file, spoil_rows(rest), *paid)
    assert f"{SCORES} is what run scores released; nothing is spent again" in again.out
    assert again.out.endswith(first.out.partition("\n\n")[2])
    SCORES.unlink()
    assert "as run scores released it" in run("evaluate", model_file, rest, *paid).out
    assert SCORES.read_bytes() == scores
    assert spent_epsilon(ledger, "people") == Fraction(1, 2)
    other = run("evaluate", model_file, rest, *paid[2:], "--epsilon", "0.4", "--overwrite", expected=64)
    assert "scores" in other.err
    SCORES.unlink()
    over = run("evaluate", model_file, rest, "--epsilon", "1.6", "--ledger", ledger, expected=77)
    assert "epsilon" in over.err
    assert not SCORES.exists()
    shown = run("ledger", "show", ledger).out
    assert "score counts" in shown


def test_python_releases_the_same(rest: Path, model_file: Path, ledger: Path) -> None:
    model, draws = dpnb.load_model(model_file), {"epsilon": "0.25", "ledger": ledger}
    scores = dpnb.release_scores(model, rest, **draws, run_id="scores")  # type: ignore[arg-type]
    assert scores.guarantee.private
    assert re.fullmatch(
        r"ReleasedScores of people: figures of \d+ to \d+ rows \(95% confidence intervals, noise included\)\n"
        r"accuracy 0\.\d{4} \(.* to .*\); 0\.\d{4} \(.*\) by always predicting 'low'\n"
        r"balanced accuracy .*, AUC .*\n0\.25-differentially private for one row added or removed.*",
        repr(scores),
    )
    assert dpnb.release_scores(model, rest, **draws, run_id="scores") == scores  # type: ignore[arg-type]
    assert dpnb.release_scores(model, pl.read_parquet(rest), **draws).model == scores.model  # type: ignore[arg-type]
    assert spent_epsilon(ledger, "people") == Fraction(1, 2)
    assert scores.figures.accuracy.interval[0] < scores.figures.accuracy.interval[1]
    with pytest.raises(UsageError, match="run_id are for a ledger; name its file"):
        dpnb.release_scores(model, rest, epsilon=1, run_id="scores")


def test_a_log_has_the_figures_as_fields(rest: Path, model_file: Path, run: Run) -> None:
    ended = run("evaluate", model_file, rest, "--epsilon", "0.5", "--log-format", "json")
    events = [json.loads(line) for line in ended.out.splitlines()]
    assert [event["event"] for event in events if not event["event"].startswith("stage")] == [
        *("started", "domain", "budget", "written", "scores", "finished")
    ]
    figures = next(event["figures"] for event in events if event["event"] == "scores")
    assert figures == json.loads(SCORES.read_text())["figures"]


def test_a_table_is_scored_as_the_file_of_its_rows(rest: Path, model_file: Path, run: Run) -> None:
    seeded = ("--epsilon", "1", "--seed", "7")
    run("evaluate", model_file, rest, *seeded)
    with duckdb.connect("rest.duckdb") as connection:
        connection.execute(f"CREATE TABLE held_out AS FROM '{rest}'")
    run("evaluate", model_file, "rest.duckdb", "--table", "held_out", *seeded, "--output", "table.json")
    assert Path("table.json").read_bytes() == SCORES.read_bytes()


def test_scores_are_shown_again_for_nothing(rest: Path, model_file: Path, run: Run) -> None:
    text = run("evaluate", model_file, rest, "--epsilon", "0.5").out
    assert text.endswith(run("show", SCORES).out)
    assert json.loads(run("show", SCORES, "--json").out) == json.loads(SCORES.read_text())
    assert run("show", SCORES, "--html", "page.html").out == "wrote page.html\n"
    assert f"SHA-256 {load_scores(SCORES).model[:12]}" in Path("page.html").read_text()
    assert "leave it out" in run("show", SCORES, "--html", "other.html", "--ledger", "x", expected=64).err
    assert dpnb.load_scores(SCORES) == load_scores(SCORES)


def test_another_model_is_another_run(rest: Path, people_file: Path, model_file: Path, ledger: Path, run: Run) -> None:
    paid = ("--epsilon", "0.5", "--ledger", ledger, "--run-id", "scores")
    run("evaluate", model_file, rest, *paid)
    run("train", people_file, "--output", "other.json")
    assert "scores" in run("evaluate", "other.json", rest, *paid, "--overwrite", expected=64).err
    assert load_scores(SCORES).model == document_digest(load_model(model_file))


def test_a_dry_run_opens_no_row(rest: Path, model_file: Path, ledger: Path, run: Run) -> None:
    ended = run("evaluate", model_file, spoil_rows(rest), "--epsilon", "0.5", "--ledger", ledger, "--dry-run")
    assert "score counts" in ended.out
    assert "sum of the shares: epsilon 0.5" in ended.out
    assert ended.out.endswith(
        "the ledger admits this release; no row was opened, nothing is spent, nothing is written\n"
    )
    assert not SCORES.exists()
    assert spent_epsilon(ledger, "people") == 0


@pytest.mark.slow
def test_more_classes_are_counted_by_predicted_class(folder: Path, run: Run) -> None:
    """Of a file, of the database table of its rows, and of few rows: the same text before the figures, no AUC."""
    document = {**PEOPLE, "label": {"column": "income", "classes": ["low", "high", "none"]}}
    old = (pl.col("age") > 60) & (pl.col("income") == "high")
    frame = people(2000).with_columns(income=pl.when(old).then(pl.lit("none")).otherwise("income"))
    write_people(REST, frame, document)
    run("train", REST, "--epsilon", "100", "--seed", "1", "--output", "m.json")
    run("evaluate", "m.json", REST, "--epsilon", "1", expected=64)
    exact = json.loads(run("evaluate", "m.json", REST, "--json").out)
    seeded = ("--epsilon", "1000", "--seed", "1")
    ended = run("evaluate", "m.json", REST, *seeded, "--html", "page.html")
    assert "score counts in 9 cells" in ended.out
    assert "Of more than two classes rows are counted by predicted class alone: no AUC" in ended.out
    assert "AUC  " not in ended.out
    written = json.loads(SCORES.read_text())
    assert written["predicted"] == ["low", "high", "none"]
    moved = sum(
        abs(count - other)
        for released, row in zip(written["released"], exact["confusion"], strict=True)
        for count, other in zip(released, row, strict=True)
    )
    assert moved <= 4  # rows between two equally likely classes
    assert written["figures"]["accuracy"]["value"] == pytest.approx(exact["accuracy"], abs=0.002)
    assert written["figures"]["balanced_accuracy"]["value"] == pytest.approx(exact["balanced_accuracy"], abs=0.004)
    assert (written["figures"]["auc"], written["figures"]["roc"], written["figures"]["calibration"]) == (None, [], [])
    page = Path("page.html").read_text()
    assert "no ROC curve" in page
    assert 'id="roc"' not in page
    assert "#calibration" not in page
    assert ended.out.endswith(run("show", SCORES).out)
    run("show", SCORES, "--html", "again.html")
    assert "no ROC curve" in Path("again.html").read_text()
    with duckdb.connect("rest.duckdb") as connection:
        connection.execute(f"CREATE TABLE held_out AS FROM '{REST}'")
    run("evaluate", "m.json", "rest.duckdb", "--table", "held_out", *seeded, "--output", "table.json")
    assert Path("table.json").read_bytes() == SCORES.read_bytes()
    write_people(REST, frame[:1], document)
    few = run("evaluate", "m.json", REST, *seeded, "--overwrite", "--html", "page.html")
    assert few.out.partition("\nrows ")[0] == ended.out.partition("\nrows ")[0]
    assert "balanced accuracy" in repr(dpnb.load_scores(SCORES))
    assert "AUC" not in repr(dpnb.load_scores(SCORES))


def test_released_confusions_of_many_classes_are_folded(folder: Path, run: Run) -> None:
    """The eight largest classes, and all others together; the file has every one."""
    names = [f"c{number:02}" for number in range(20)]
    document = {"label": {"column": "c", "classes": names}, "attributes": {"x": {"lower": 0, "upper": 19, "step": 1}}}
    rows = [(number, name) for number, name in enumerate(names) for _ in range(5 + number)]
    write_people(REST, pl.DataFrame(rows, schema=["x", "c"], orient="row"), document)
    run("train", REST, "--epsilon", "1000", "--seed", "1", "--output", "m.json")
    text = run("evaluate", "m.json", REST, "--epsilon", "1000", "--seed", "1", "--html", "page.html").out
    header = next(line for line in text.splitlines() if "true \\ predicted" in line)
    assert header.split()[3:] == [*names[12:], "12", "others"]
    assert "and 12 classes of fewer rows; all of them in the file" in text
    assert "12 classes of fewer rows are taken together" in Path("page.html").read_text()
    assert np.shape(load_scores(SCORES).counts) == (20, 20)
    assert int(np.sum(load_scores(SCORES).counts)) == len(rows)


def test_confusions_of_many_classes_are_folded(folder: Path, run: Run) -> None:
    """The eight largest classes, and all others together."""
    names = [f"c{number:02}" for number in range(20)]
    Path("datasets.toml").write_text(
        f"[many]\nlabel = {{ column = 'c', classes = {names} }}\n"
        "[many.attributes]\nx = { lower = 0, upper = 19, step = 1 }\n"
    )
    rows = [(number, name) for number, name in enumerate(names) for _ in range(5 + number)]
    pl.DataFrame(rows, schema=["x", "c"], orient="row").write_parquet("many.parquet")
    run("train", "many.parquet", "--mechanism", "none")
    folded, whole = (run("evaluate", "many.model.json", "many.parquet", *more).out for more in ((), ("--all",)))
    header = next(line for line in folded.splitlines() if "true \\ predicted" in line)
    assert header.split()[3:] == [*names[12:], "12", "others"]
    assert "and 12 classes of fewer rows; all of them with --all" in folded
    table = folded[folded.index(header) :].split("\n\n")[0].splitlines()[2:]
    assert sum(int(count) for line in table for count in line.replace("12 others", "x").split()[1:]) == len(rows)
    assert " c00 " in whole
    assert "others" not in whole
