"""``python -m benchmarks.peers``: what other libraries are given, and what is said of made-up measurements.

No library has to be installed: those that are not are skipped.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import peers
from benchmarks.contenders.declared_rows import Rows, read_rows
from benchmarks.contenders.fit_folds import accuracy_and_loss, score
from benchmarks.contenders.roster import CONTENDERS, Contender
from benchmarks.peer_tables import END, START, Measured, put_into, tables

DOCS = Path(__file__).parents[2] / "docs"
LIBRARIES = ("diffprivlib", "interpret", "dpmm", "sklearn", "pandas", "dpnb_columnar", "polars")


@pytest.fixture(scope="module")
def rows(census: Path) -> Rows:
    """Two thousand rows of the simulated census."""
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


def test_rows_are_read_as_they_were_written(rows: Rows, tmp_path: Path) -> None:
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
    assert set(scored) == {"accuracy", "log_loss", "seconds", "cpu_seconds"}
    assert 0.5 < scored["accuracy"] <= 1


@pytest.mark.slow
def test_a_session_goes_on_where_it_was(census: Path, tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="pip install '.[sklearn]'")
    command = [sys.executable, "-m", "benchmarks.peers", str(census), "--rows", "500", "--epsilon", "1"]
    command += ["--only", "dpnb-columnar histogram,AIM + logistic regression", "--cache", str(tmp_path / "cache.jsonl")]

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


@pytest.mark.parametrize("option", ["--only", "--again"])
def test_an_unknown_contender_is_refused(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["peers", option, "oracle", "--cache", str(tmp_path / "cache.jsonl")])
    with pytest.raises(SystemExit, match="2"):
        peers.main()
    assert "no oracle; the contenders are dpnb-columnar histogram, " in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_a_contender_that_fails_is_reported_and_the_others_go_on(
    rows: Rows, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    point = ("census", 2_000, "DP-EBM", "1")
    assert [*peers.run(sys.executable, tmp_path / "missing.npz", point, [0])] == []
    assert "DP-EBM on census at 1 failed: FileNotFoundError" in capsys.readouterr().err


def test_accuracy_and_loss_by_hand() -> None:
    probabilities = np.array([[0.75, 0.25], [0.5, 0.5], [1.0, 0.0], [0.0, 1.0]])
    scored = accuracy_and_loss(probabilities, np.array([0, 0, 1, 1]))
    assert scored["accuracy"] == 0.75
    assert scored["log_loss"] == pytest.approx(-(np.log(0.75) + np.log(0.5) + np.log(1e-6)) / 4)


def measured(contender: str, epsilon: str, accuracies: list[float], seconds: float) -> list[Measured]:
    one = Measured("made", 1_000, contender, epsilon, 0, 0.0, 0.5, 9.0, seconds)
    return [replace(one, fold=fold, accuracy=accuracy) for fold, accuracy in enumerate(accuracies)]


MADE = [
    *measured("dpnb-columnar histogram", "0.1", [0.8] * 9 + [0.7], 0.5),
    *measured("dpnb-columnar histogram", "1", [0.9] * 10, 0.5),
    *measured("AIM + logistic regression", "1", [0.8, 0.9], 50.0),
    *measured("MST + logistic regression", "0.1", [0.7], 50.0),
    *measured("MST + logistic regression", "1", [0.8, 0.9], 50.0),
    *measured("gradient boosting", "none", [0.95] * 10, 1.0),
]


def test_the_tables_of_made_up_measurements() -> None:
    lines = tables(MADE).splitlines()
    assert lines[0] == "made, 1,000 rows"
    assert lines[2] == "|  | ε = 0.1 | ε = 1 | folds | s per fit | times |"
    assert lines[4] == "| dpnb-columnar histogram | 0.790 (0.745), 0.500 | 0.900 (0.900), 0.500 | 10 | 0.50 | 1.0 |"
    assert lines[5] == "| AIM + logistic regression |  | 0.850, 0.500 | 2 | 50.00 | 100.0 |"
    assert lines[6] == "| MST + logistic regression | 0.700, 0.500 | 0.850, 0.500 | 1 or 2 | 50.00 | 100.0 |"
    assert lines[7] == "| gradient boosting | 0.950 (0.950), 0.500 | 0.950 (0.950), 0.500 | 10 | 1.00 | 2.0 |"
    assert "| gradient boosting | no guarantee |  |" in lines
    assert any(line.startswith("| AIM + logistic regression | 1e-06 | ") for line in lines)
    assert not any(line.startswith("| DP-EBM") for line in lines)  # not measured


def test_the_document_has_a_place_for_the_tables_and_keeps_the_rest(tmp_path: Path) -> None:
    document = tmp_path / "peers.md"
    text = (DOCS / "journal" / "peers.md").read_text()
    document.write_text(text)
    put_into(document, tables(MADE))
    filled = document.read_text()
    assert "made, 1,000 rows" in filled
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
