"""``python -m benchmarks.peers``: what other libraries are given, and what is said of made-up measurements.

No library has to be installed: those that are not are skipped.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks import peers
from benchmarks.contenders.declared_rows import Rows, read_rows
from benchmarks.contenders.fit_folds import area_under_curve, figures, score
from benchmarks.contenders.roster import CONTENDERS, Contender
from benchmarks.peer_tables import AHEAD, END, START, Measured, ahead_table, put_into, summary, tables
from dpnb_columnar.domain import read_domain
from dpnb_columnar.domain.declaration import domain_metadata

DOCS = Path(__file__).parents[2] / "docs"
LIBRARIES = ("diffprivlib", "interpret", "dpmm", "opendp", "mbi", "sklearn", "pandas", "dpnb_columnar", "polars")


@pytest.fixture(scope="module")
def rows(census: Path) -> Rows:
    made: Rows = peers.read_data(census, most=2_000)
    return made


def test_what_is_passed_on_stays_within_what_is_declared(rows: Rows) -> None:
    lower, upper = map(np.array, rows.bounds())
    ordinal = rows.ordinal()
    assert ((ordinal >= lower) & (ordinal <= upper)).all()
    assert np.linalg.norm(rows.one_hot(), axis=1) == pytest.approx(rows.norm())
    binned, bins = rows.binned(), np.array([each.bins for each in rows.columns])
    assert ((binned >= 0) & (binned < bins)).all()
    assert {each.numeric for each in rows.columns} == {True, False}
    assert np.bincount(rows.folds).tolist() == [200] * peers.FOLDS


def test_bounds_do_not_depend_on_the_rows(rows: Rows) -> None:
    few = rows.of(np.arange(len(rows.classes)) < 3)
    assert few.bounds() == rows.bounds()
    assert few.one_hot().shape[1] == rows.one_hot().shape[1]


@pytest.fixture(scope="module")
def lacking(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """Rows of which some lack a number or a category, each of whose absence is declared to be a category."""
    hours = {"lower": 1, "upper": 99, "step": 1, "missing": "category"}
    wages = {"lower": 0, "upper": 99999, "step": 1, "missing": "category", "missing_values": [99999]}
    job = {"values": ["a", "b"], "missing": "category"}
    label = {"column": "y", "classes": ["no", "yes"]}
    domain = read_domain(
        "lacking", {"label": label, "attributes": {"hours": hours, "wages": wages, "job": job}}, "test"
    )
    frame = pl.DataFrame(
        {
            "hours": [1, None, 99, 40, None] * 4,
            "wages": [0, 10, 99999, None, 99998] * 4,
            "job": ["a", "b", None, "c", "a"] * 4,
            "y": ["no", "yes", "no", "yes", "no"] * 4,
        }
    )
    path = tmp_path_factory.mktemp("lacking") / "lacking.parquet"
    frame.write_parquet(path, metadata=domain_metadata(domain))
    made: Rows = peers.read_data(path)
    return made


def test_a_missing_number_is_one_more_cell(lacking: Rows) -> None:
    hours, wages, job = lacking.columns
    assert (hours.missing, wages.missing, job.missing) == (True, True, False)
    assert (hours.codes, wages.codes, job.codes) == (99, 100_000, 3)
    assert lacking.codes[:5].tolist() == [[0, 0, 0], [99, 10, 1], [98, 100_000, 2], [39, 100_000, 2], [99, 99_998, 0]]
    binned, bins = lacking.binned(), [each.bins for each in lacking.columns]
    assert bins == [peers.BINS + 1, peers.BINS + 1, 3]
    alone = np.flatnonzero(binned[:, 0] == peers.BINS)
    assert alone.tolist() == [row for row in range(20) if row % 5 in (1, 4)]
    assert np.linalg.norm(lacking.one_hot(), axis=1) == pytest.approx(lacking.norm())
    scaled = lacking.ordinal()
    lower, upper = map(np.array, lacking.bounds())
    assert ((scaled >= lower) & (scaled <= upper)).all()
    assert (scaled[:, 0] == 0).tolist() == [row % 5 in (1, 4) for row in range(20)]  # below every number, 1 included
    assert scaled[0, 0] > 0
    assert scaled[0, 1] > scaled[2, 1] == 0


def test_own_models_get_a_missing_number_as_missing(lacking: Rows) -> None:
    from benchmarks.contenders.own_models import Default

    frame = Default()._frame(lacking)
    assert frame["hours"].to_list()[:5] == [1, None, 99, 40, None]
    assert frame["wages"].to_list()[:5] == [0, 10, None, None, 99998]
    assert frame["job"].to_list()[:5] == ["a", "b", None, None, "a"]


@pytest.mark.parametrize("made", ["rows", "lacking"])
def test_rows_are_read_as_they_were_written(made: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    rows: Rows = request.getfixturevalue(made)
    rows.write(tmp_path / "rows.npz")
    read = read_rows(tmp_path / "rows.npz")
    assert (read.columns, read.class_names, read.domain) == (rows.columns, rows.class_names, rows.domain)
    for one, other in ((read.codes, rows.codes), (read.classes, rows.classes), (read.folds, rows.folds)):
        assert np.array_equal(one, other)


def test_every_adapter_is_made_without_its_library() -> None:
    code = (
        "import json, sys\nfrom benchmarks.contenders.roster import CONTENDERS\n"
        "made = [each.classifier() for each in CONTENDERS.values()]\n"
        "assert all(callable(each.fit) and callable(each.probabilities) for each in made)\n"
        "print(json.dumps([*sys.modules]))"
    )
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, env=peers.environment(), capture_output=True, text=True, check=True)
    assert not set(LIBRARIES) & set(json.loads(ended.stdout))


@pytest.mark.slow
@pytest.mark.parametrize("contender", CONTENDERS.values(), ids=str)
def test_an_adapter_fits_where_its_library_is_installed(contender: Contender, rows: Rows) -> None:
    pytest.importorskip(contender.package, reason="needs an environment of its own: benchmarks/contenders/peers-*.txt")
    # Threads of OpenMP wait for each other in loops: on processors that other tests use, for minutes.
    threads = pytest.importorskip("threadpoolctl").threadpool_limits(1)
    with threads:
        scored = score(contender.classifier(), rows, 1.0, 0)
    assert set(scored) == {"accuracy", "log_loss", "auc", "seconds", "cpu_seconds"}
    accuracy = scored["accuracy"]
    assert accuracy is not None
    assert 0.5 < accuracy <= 1


@pytest.mark.slow
def test_a_session_goes_on_where_it_was(census: Path, tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="pip install '.[sklearn]'")
    command = [sys.executable, "-m", "benchmarks.peers", str(census), "--rows", "500", "--epsilon", "1"]
    command += ["--only", "dpnb-columnar (default),AIM + logistic regression", "--cache", str(tmp_path / "cache.jsonl")]

    def session(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *more], env=peers.environment(), capture_output=True, text=True, check=True)

    first = session()
    assert "AIM + logistic regression: left out, dpmm is in no interpreter named" in first.stderr
    assert "census, 500 rows" in first.stdout
    lines = (tmp_path / "cache.jsonl").read_text().splitlines(keepends=True)
    assert [json.loads(line)["fold"] for line in lines] == list(range(peers.FOLDS))
    (tmp_path / "cache.jsonl").write_text("".join(lines)[:-20])  # stopped as it wrote its last line
    again = session()
    assert [json.loads(line)["fold"] for line in again.stderr.splitlines() if line.startswith("{")] == [9]
    assert session().stdout == again.stdout


def test_figures_by_hand() -> None:
    probabilities = np.array([[0.75, 0.25], [0.5, 0.5], [1.0, 0.0], [0.0, 1.0]])
    scored = figures(probabilities, np.array([0, 0, 1, 1]))
    assert scored["accuracy"] == 0.75
    assert scored["log_loss"] == pytest.approx(-(np.log(0.75) + np.log(0.5) + np.log(1e-6)) / 4)
    assert scored["auc"] == 0.5  # the row of 1 beats both, that of 0 neither
    assert figures(np.full((4, 3), 1 / 3), np.array([0, 1, 2, 0]))["auc"] is None


def test_the_area_under_the_curve_is_the_part_of_pairs_in_order() -> None:
    generator = np.random.default_rng(7)
    scores, positive = generator.integers(0, 9, 200) / 8, generator.random(200) < 0.3  # with many ties
    pairs = scores[positive][:, None] - scores[~positive][None, :]
    assert area_under_curve(scores, positive) == pytest.approx(np.mean((pairs > 0) + 0.5 * (pairs == 0)))
    assert area_under_curve(positive.astype(float), positive) == 1.0
    assert area_under_curve(np.zeros(200), positive) == 0.5


def measured(contender: str, epsilon: str, accuracies: list[float], seconds: float) -> list[Measured]:
    one = Measured("made", 1_000, contender, epsilon, 0, 0.0, 0.5, 9.0, seconds, 0.875)
    return [replace(one, fold=fold, accuracy=accuracy) for fold, accuracy in enumerate(accuracies)]


MADE = [
    *measured("dpnb-columnar (default)", "0.1", [0.8] * 9 + [0.7], 0.5),
    *measured("dpnb-columnar (default)", "1", [0.9] * 10, 0.5),
    *measured("AIM + logistic regression", "1", [0.8, 0.9], 50.0),
    *measured("MST + logistic regression", "0.1", [0.7], 50.0),
    *measured("MST + logistic regression", "1", [0.8, 0.9], 50.0),
    *measured("gradient boosting", "none", [0.95] * 10, 1.0),
]


def test_the_tables_of_made_up_measurements() -> None:
    lines = tables(MADE).splitlines()
    assert lines[0] == "made, 1,000 rows"
    assert lines[2] == "|  | ε = 0.1 | ε = 1 | folds | s per fit | times |"
    own = "| dpnb-columnar (default) | 0.790 (0.745), 0.875, 0.500 | 0.900 (0.900), 0.875, 0.500 | 10 | 0.50 | 1.0 |"
    assert lines[4] == own
    assert lines[5] == "| AIM + logistic regression |  | 0.850, 0.875, 0.500 | 2 | 50.00 | 100.0 |"
    assert (
        lines[6] == "| MST + logistic regression | 0.700, 0.875, 0.500 | 0.850, 0.875, 0.500 | 1 or 2 | 50.00 | 100.0 |"
    )
    boosting = "| gradient boosting | 0.950 (0.950), 0.875, 0.500 | 0.950 (0.950), 0.875, 0.500 | 10 | 1.00 | 2.0 |"
    assert lines[7] == boosting
    assert "| gradient boosting | no guarantee |  |" in lines
    assert any(line.startswith("| AIM + logistic regression | 1e-06 | ") for line in lines)
    assert not any(line.startswith("| DP-EBM") for line in lines)  # not measured


def test_a_peer_is_ahead_where_it_is_better_on_the_folds_of_both() -> None:
    assert AHEAD in tables(MADE)
    assert ahead_table(MADE) == "Nowhere."  # 0.8 and 0.9 against 0.9 and 0.9; boosting has no guarantee
    better = [replace(each, log_loss=0.49, auc=0.8) for each in MADE if each.contender == "AIM + logistic regression"]
    assert ahead_table([*MADE, *[replace(each, contender="DP-EBM", accuracy=0.91) for each in better]]).splitlines()[
        2:
    ] == ["| made | 1 | DP-EBM | +0.010 |  | -0.010 | 2 | 1e-06 |"]
    # Fold 9 of the default is worse than the others: only a peer that has that fold may be compared with it.
    lucky = [replace(each, epsilon="0.1", fold=9, accuracy=0.75) for each in better[:1]]
    unlucky = [replace(each, fold=8) for each in lucky]
    assert "| made | 0.1 | AIM + logistic regression | +0.050 |  | -0.010 | 1 | 1e-06 |" in ahead_table([*MADE, *lucky])
    assert "| made | 0.1 | AIM + logistic regression |  |  | -0.010 | 1 | 1e-06 |" in ahead_table([*MADE, *unlucky])


def test_the_most_folds_of_a_session_and_of_a_contender() -> None:
    contender = CONTENDERS["AIM + logistic regression"]
    point = ("made", 1_000, contender.name, "1")
    assert peers.missing_folds([], point, contender) == [0, 1]
    assert peers.missing_folds([], point, contender, 1) == [0]
    assert peers.missing_folds(MADE, point, contender, 1) == []
    assert len(peers.missing_folds([], point, CONTENDERS["DP-EBM"], 3)) == 3


def test_the_overview_of_made_up_measurements() -> None:
    other = [replace(each, data="other", epsilon="3") for each in MADE if each.epsilon == "1"]
    lines = summary([*MADE, *other]).splitlines()
    assert lines[0] == "| accuracy | made, ε = 0.1 | made, ε = 1 | other, ε = 0.1 | other, ε = 1 |"
    assert lines[2] == "| dpnb-columnar (default) | 0.790 | 0.900 |  |  |"
    assert lines[3] == "| AIM + logistic regression |  | -0.050 |  |  |"
    assert lines[4] == "| MST + logistic regression | -0.100 | -0.050 |  |  |"  # of fold 0 alone, .7 and .8
    assert lines[5] == "| gradient boosting | +0.160 | +0.050 |  |  |"
    assert lines[7] == AHEAD


@pytest.mark.parametrize(
    ("name", "make"), [("journal/peers.md", tables), ("results.md", summary)], ids=["journal", "results"]
)
def test_the_document_has_a_place_for_the_tables_and_keeps_the_rest(
    name: str, make: Callable[[Sequence[Measured]], str], tmp_path: Path
) -> None:
    document = tmp_path / "document.md"
    text = (DOCS / name).read_text()
    document.write_text(text)
    put_into(document, make(MADE))
    filled = document.read_text()
    assert "made" in filled.split(START)[1].split(END)[0]
    assert filled.split(START)[0] == text.split(START)[0]
    assert filled.split(END)[1] == text.split(END)[1]
    (tmp_path / "bare.md").write_text("nothing")
    with pytest.raises(SystemExit, match=r"bare\.md has no"):
        put_into(tmp_path / "bare.md", "")


def test_own_folds_are_those_of_the_other_benchmarks(census: Path) -> None:
    from benchmarks.tuning import folds

    (split,) = folds(census, 1, 1)
    rows = peers.read_data(census)
    for number, fold in enumerate(split):
        assert np.array_equal(rows.classes[rows.folds == number], fold.held_out.classes)
