"""``evaluate --html``: what the page says, whom it is for, and how people see it."""

from __future__ import annotations

import json
import math
import stat
import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from support.hostile_names import write_hostile_rows
from support.people import people, write_people
from support.report_pages import check_structure
from support.running import Run

from dpnb_columnar.evaluation.evaluation import proportion
from dpnb_columnar.report.evaluation_page import ScoreHistogram, calibration_plot, histogram_plot, roc_plot
from dpnb_columnar.report.figures import embedded_panel

BINS = 58


def page_of(path: Path) -> tuple[ElementTree.Element, str]:
    """A page's elements, and its text with single blanks."""
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    body = root.find("body")
    assert body is not None
    return root, " ".join("".join(body.itertext()).split())


@pytest.fixture
def rest(model_file: Path) -> Path:
    return write_people(Path("rest.parquet"), people(600, seed=5))


def test_exact_figures_are_confidential(rest: Path, model_file: Path, run: Run) -> None:
    ended = run("evaluate", model_file, rest, "--html", "page.html")
    assert ended.out.endswith("\nwrote page.html\n")
    assert stat.S_IMODE(Path("page.html").stat().st_mode) == 0o600
    found = json.loads(run("evaluate", model_file, rest, "--html", "page.html", "--overwrite", "--json").out)
    assert "scores" not in found
    root, text = page_of(Path("page.html"))
    assert text.index("CONFIDENTIAL. Computed from the rows without noise") < text.index("The model people.model.json")
    assert "600 rows were scored." in text
    for name in ("accuracy", "auc", "log_loss"):
        lower, upper = found["intervals"][name]
        assert f"{found[name]:.4f}({lower:.4f} to {upper:.4f})" in text
    check_structure(root)
    assert "Guarantee" not in text


def test_the_page_of_released_scores_is_public(rest: Path, people_file: Path, run: Run) -> None:
    run("train", people_file, "--mechanism", "histogram", "--output", "m.json")
    options = ("--epsilon", "0.01", "--html", "page.html", "--overwrite")
    ended = run("evaluate", "m.json", rest, *options)
    assert "wrote page.html\n" in ended.out
    assert stat.S_IMODE(Path("page.html").stat().st_mode) & 0o044
    _, text = page_of(Path("page.html"))
    assert "CONFIDENTIAL" not in text
    assert "0.01-differentially private for one row added or removed" in text
    assert "Every number on this page follows from counts of rows to which noise was added." in text
    written = json.loads(Path("rest.scores.json").read_text())
    assert f"About {written['figures']['rows']:,} rows were scored" in text
    run("evaluate", "m.json", rest, *options, "--seed", "1")
    assert stat.S_IMODE(Path("page.html").stat().st_mode) == 0o600
    assert "CONFIDENTIAL. The noise came from a seed" in page_of(Path("page.html"))[1]


def test_of_many_classes_the_largest_are_drawn(folder: Path, run: Run) -> None:
    town, catalogue = write_hostile_rows(folder), folder / "datasets.toml"
    run("train", town, "--dataset", f"{catalogue}:town", "--output", "m.json")
    run("evaluate", "m.json", town, "--html", "page.html")
    root, text = page_of(Path("page.html"))
    assert not [*root.iter("script")]
    assert "CONFIDENTIAL" in text
    names = [f"c{number:02}" for number in range(12)]
    Path("datasets.toml").write_text(
        f"[many]\nlabel = {{ column = 'c', classes = {names} }}\n"
        "[many.attributes]\nx = { lower = 0, upper = 11, step = 1 }\n"
    )
    rows = [(number, name) for number, name in enumerate(names) for _ in range(5 + number)]
    pl.DataFrame(rows, schema=["x", "c"], orient="row").write_parquet("many.parquet")
    run("train", "many.parquet", "--mechanism", "none")
    run("evaluate", "many.model.json", "many.parquet", "--html", "many.html")
    _, text = page_of(Path("many.html"))
    assert "4 others" in text
    assert "The 5 largest classes are drawn; 7 are not." in text
    assert "Predicted probability of c11" in text
    assert "Predicted probability of c06" not in text


# What is drawn.


def test_noise_without_rows_is_drawn_as_well() -> None:
    """Counts below zero, no rows at all, and one class without rows."""
    for own in ([0] * BINS, [-2] * BINS, [5] * BINS):
        scores = ScoreHistogram("a", [0] * BINS, own)
        for variance in (0.0, 2.0):
            for plot in (roc_plot([scores], ["none"], variance), calibration_plot([scores], variance)):
                values = [part for point in plot.panel.series[0].points for part in (point.x, point.low, point.high)]
                assert all(value is None or 0 <= value <= 1 for value in values)
                assert "nan" not in embedded_panel(plot.panel)
            assert all(0 <= point.y <= 1 for point in roc_plot([scores], ["none"], variance).panel.series[0].points)
        drawn = histogram_plot(scores).panel
        assert all(math.isfinite(point.y) for series in drawn.series for point in series.points)
        assert "nan" not in embedded_panel(drawn)


def test_a_curve_goes_from_corner_to_corner_and_rises() -> None:
    scores = ScoreHistogram("a", [10] * 20 + [0] * 38, [0] * 15 + [10] * 43)
    line, diagonal = roc_plot([scores], ["0.98"], 0.0).panel.series
    points = [(point.x, point.y) for point in line.points]
    assert points[0] == (1, 1)
    assert points[-1] == (0, 0)
    assert all(one[0] >= two[0] and one[1] >= two[1] for one, two in pairwise(points))
    assert (line.label, diagonal.label) == ("a, AUC 0.98", "")
    caption, _, rows = calibration_plot([scores], 0.0).tables[0]
    assert caption == "a: calibration"
    estimate = proportion(0, 10, (1, 1), 0.0)
    assert rows[0][2].startswith(f"{estimate.value:.4f} (")
