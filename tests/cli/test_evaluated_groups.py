"""``evaluate --by``: for whom a model is worse, for the curator or released."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import polars as pl
import pytest
from dpnb_columnar.evaluation import exact_evaluation
from dpnb_columnar.evaluation.released_scores import load_scores
from support.ledger_cases import spent_epsilon
from support.people import people, write_people
from support.running import Run

import dpnb_columnar as dpnb

SCORES, REST = Path("rest.scores.json"), Path("rest.parquet")


@pytest.fixture
def model_file(people_file: Path, run: Run) -> Path:
    run("train", people_file, "--mechanism", "histogram", "--output", "people.model.json")
    return Path("people.model.json")


@pytest.fixture
def rest(model_file: Path) -> Path:
    region = pl.Series(["n", "s", "e", None] * 500)
    return write_people(REST, people(2000, seed=5).with_columns(region=region))


def test_groups_are_printed_for_the_curator(rest: Path, model_file: Path, run: Run) -> None:
    ended = run("evaluate", model_file, rest, "--by", "sex,age=30,60", "--by", "region=n,s", "--html", "page.html")
    for line in ("30 to 59", "no declared value", "Accuracy below that of all rows by the whole interval: "):
        assert line in ended.out
    page = Path("page.html")
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    text = page.read_text()
    assert "For whom is it worse" in text
    assert "no declared value" in text
    found = json.loads(run("evaluate", model_file, rest, "--by", "region=n,s", "--json").out)
    (division,) = found["groups"]
    assert [(group["values"], group["rows"]) for group in division["groups"]] == [
        (["n"], 500),
        (["s"], 500),
        ([None], 1000),
    ]
    assert "groups" not in json.loads(run("evaluate", model_file, rest, "--json").out)


def test_areas_of_bins_have_their_bound_beside_them(
    rest: Path, model_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact_evaluation, "RESOLUTION", 8)
    command = ("evaluate", model_file, rest, "--by", "sex")
    assert "ranked in bins" not in run(*command, "--html", "exact.html").out + Path("exact.html").read_text()
    monkeypatch.setattr(exact_evaluation, "EXACT_ROWS", 0)
    found = json.loads(run(*command, "--json").out)
    error = max(group["auc_error"] or 0 for group in found["groups"][0]["groups"])
    told = [f"give or take {each:.4f}: rows are ranked in bins" for each in (found["auc_error"], error)]
    out, page = run(*command, "--html", "bins.html").out, Path("bins.html").read_text()
    assert out.count("ranked in bins") == page.count("ranked in bins") == 2
    assert all(each in out and each in page for each in told)


def test_no_exact_figure_of_a_group_is_released(rest: Path, model_file: Path, run: Run) -> None:
    """Figures are compared with all their digits: of those that a page prints, some are an exact one's by chance."""
    exact = json.loads(run("evaluate", model_file, rest, "--by", "sex:region=n,s", "--json").out)["groups"][0]
    ended = run(
        *("evaluate", model_file, rest, "--by", "sex:region=n,s", "--epsilon", "0.001", "--seed", "2"),
        *("--html", "released.html"),
    )
    printed = ended.out + SCORES.read_text() + Path("released.html").read_text()
    for group in exact["groups"]:
        for name in ("accuracy", "majority", "calibration"):
            value = group[name]["value"]
            assert value in (None, 0.0, 0.5, 1.0) or repr(value) not in printed
    scores = load_scores(SCORES)
    assert len(scores.groups[0].values) == len(exact["groups"]) == 9
    assert not {rows for each in scores.figures.groups[0].groups for rows in [each.rows]} & {500, 250}
    assert "CONFIDENTIAL" not in ended.out


def test_text_before_the_figures_tells_of_no_row(model_file: Path, run: Run) -> None:
    texts = set()
    for frame in (people(0), people(2000), people(30).with_columns(sex=pl.lit(None, pl.String))):
        write_people(REST, frame)
        ended = run("evaluate", model_file, REST, "--by", "sex,age", "--epsilon", "1", "--overwrite")
        texts.add((ended.out.partition("\nrows ")[0], ended.err))
        scores = load_scores(SCORES)
        assert [values for (values,) in scores.groups[0].values] == ["f", "m", None]
        assert [len(each.counts) for each in scores.groups] == [3, 9]
    assert len(texts) == 1
    assert "5 queries" not in next(iter(texts))[0]
    assert "and 4 queries of groups" in next(iter(texts))[0]


def test_a_ledger_charges_all_shares_once_and_a_run_id_is_of_its_groups(rest: Path, model_file: Path, run: Run) -> None:
    run("ledger", "init", "people.ledger", "--dataset", "people", "--epsilon", "2")
    paid = ("--epsilon", "1", "--ledger", "people.ledger", "--run-id", "one")
    run("evaluate", model_file, rest, "--by", "sex,age", *paid)
    assert spent_epsilon(Path("people.ledger"), "people") == 1
    first = SCORES.read_text()
    SCORES.unlink()
    assert "nothing is spent again" in run("evaluate", model_file, rest, "--by", "sex,age", *paid).out
    assert SCORES.read_text() == first
    for by in (["--by", "sex"], ["--by", "sex,age=30"], []):
        run("evaluate", model_file, rest, *by, *paid, "--overwrite", expected=64)
    assert spent_epsilon(Path("people.ledger"), "people") == 1


def test_python_has_the_same_groups(rest: Path, model_file: Path) -> None:
    model = dpnb.load_model(model_file)
    exact = dpnb.evaluate(model, rest, by=["sex", ("sex", "hours")])
    again = dpnb.evaluate(model, pl.read_parquet(rest), by=["sex,sex:hours"])
    for one, two in zip(exact.groups, again.groups, strict=True):
        assert one.columns == two.columns
        assert [(each.values, each.accuracy) for each in one.groups] == [
            (each.values, each.accuracy) for each in two.groups
        ]
    released = dpnb.release_scores(model, rest, epsilon=1000, by="region=n,s")
    (division,) = released.figures.groups
    assert [group.rows for group in division.groups] == pytest.approx([500, 500, 1000], abs=3)
    assert division.columns == ("region",)
