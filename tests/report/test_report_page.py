"""A report: one well-formed page that needs nothing else, files beside it, and the numbers of its results."""

from __future__ import annotations

import re
import statistics
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.fake_results import BASELINES, PRIVATE, PURE_METHODS, cell, evaluation, report, write_results
from support.report_pages import AWKWARD, EPSILONS, Page, cells, text_of

from dpnb_columnar.errors import DataError, MissingInputError, OutputError, UsageError
from dpnb_columnar.report.figures import COLOURS
from studies.figures import slug
from studies.paper.reproduction_page import Gap, gaps, write_report
from studies.paper.results import read_results

SVG = "{http://www.w3.org/2000/svg}"

FIGURES = ["b", "adult", "log-loss-none", "mean-error", "variance-error", "bounds-adult", "allocation-adult", "runtime"]


def test_structure(whole: Page) -> None:
    assert whole.path.read_text().startswith('<!DOCTYPE html>\n<html lang="en">')
    assert whole.sections() == ["summary", "accuracy", "loss", "errors", "bounds", "allocation", "time", "run"]
    assert whole.figures() == FIGURES
    for figure in whole.root.iter("figure"):
        assert [part.tag for part in figure] == ["h3", "figcaption", "ul", "div", "p", "details"]
        assert all((part.text or "").strip() for part in figure.iter("figcaption"))
    headings = [part.tag for part in whole.root.iter() if re.fullmatch(r"h\d", part.tag)]
    assert headings[0] == "h1"
    assert headings.count("h1") == 1


def test_what_was_run(whole: Page) -> None:
    assert "3 iterations of 2-fold cross-validation" in whole.text
    run = whole.section("run")
    assert run is not None
    facts = dict(zip([part.text for part in run.iter("dt")], [part.text for part in run.iter("dd")], strict=True))
    assert facts == {"mode": "full", "polars": "2.1.0"}
    assert "9f" * 32 in whole.text


def test_names_are_escaped_and_unique(whole: Page) -> None:
    assert AWKWARD in whole.text
    assert AWKWARD not in whole.path.read_text()
    names = [part.attrib["id"] for part in whole.root.iter() if "id" in part.attrib]
    assert len(names) == len(set(names))


def test_nothing_points_outside(whole: Page) -> None:
    page = whole.path.read_text()
    names = {part.get("id") for part in whole.root.iter()}
    files = {f"{whole.path.stem}/{path.name}" for path in whole.written[1:]}
    for part in whole.root.iter():
        assert part.tag not in {"script", "link", "iframe", "img", "image", "object", "base"}
        assert "src" not in part.attrib
        assert not [name for name in part.attrib if name.startswith("on")]
        if target := part.get("href"):
            assert target[1:] in names if target.startswith("#") else target in files
    assert all(target in names for target in re.findall(r"url\(#([^)]+)\)", page))
    assert not re.findall(r"url\((?!#)|@import|https?:|//[a-z]", page)


def test_every_drawing_is_named_and_follows_the_page(whole: Page) -> None:
    drawings = [part for part in whole.root.iter("svg") if part.get("role") == "img"]
    assert len(drawings) == 3 + 1 + 2 + 2 + 2 + 3 + 2 + 1
    for drawing in drawings:
        assert "against" in drawing.attrib["aria-label"]
        colours = {part.get(use) for part in drawing.iter() for use in ("fill", "stroke")} - {None, "none"}
        assert {f"var(--{name})" for name in COLOURS} >= colours > {"var(--ink)", "var(--grid)", "var(--muted)"}
        assert not [part for part in drawing.iter() if "font-family" in part.attrib or "style" in part.attrib]
    assert "@media screen and (prefers-color-scheme: dark)" in whole.path.read_text()


def test_files_beside_the_page(whole: Page) -> None:
    folder = whole.path.with_suffix("")
    assert {path.name for path in folder.iterdir()} == {
        f"{name}.{suffix}" for name in FIGURES for suffix in ("svg", "csv")
    }
    assert set(whole.written) == {whole.path, *folder.iterdir()}
    for path in folder.glob("*.svg"):
        drawing = ElementTree.parse(path).getroot()
        assert [drawing[0].tag, drawing[1].tag] == [f"{SVG}title", f"{SVG}desc"]
        assert drawing[0].text
        assert "var(" not in path.read_text()  # no other program knows the page's colours
        assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg\")", path.read_text())
    assert "&lt;b&gt;&amp;" in (folder / "b.svg").read_text()


def test_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    rows = evaluation(["seeds"], iterations=2, folds=2, epsilons=[0.1], methods=PURE_METHODS[:1])
    pages = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        pages.append([path.read_bytes() for path in report(folder, rows).written])
    assert pages[0] == pages[1]


@pytest.mark.parametrize("study", ["evaluation", "bounds", "allocation"])
def test_absent_sections_are_left_out(tmp_path: Path, study: str) -> None:
    page = report(tmp_path, [cell(study=study)])
    own = {"evaluation": ["summary", "accuracy", "loss"], "bounds": ["bounds"], "allocation": ["allocation"]}[study]
    assert page.sections() == [*own, "run"]
    links = [part.attrib["href"] for part in page.root.findall(".//nav//a")]
    assert links == [f"#{name}" for name in page.sections()]
    assert page.section("missing") is None


def test_baselines_alone_have_no_figure(tmp_path: Path) -> None:
    page = report(tmp_path, [cell(mechanism="none", epsilon=None), cell(mechanism="majority")])
    assert page.figures() == []


def test_missing_cells_are_found(tmp_path: Path) -> None:
    methods = [("smooth", "polyplace", "0"), ("smooth", "gaussian", "1/n"), ("none", None, "0")]
    rows = evaluation(["adult", "mushroom", "seeds"], iterations=3, folds=2, epsilons=[0.1, 1.0], methods=methods)
    gone: list[dict[str, Any]] = [
        row
        for row in rows
        if (
            row["dataset"] == "adult" and row["mechanism"] == "smooth" and row["delta"] == "0" and row["iteration"] == 2
        )
        or (row["dataset"] == "seeds" and row["mechanism"] == "none")
        or (row["dataset"] == "mushroom" and row["delta"] == "1/n")
    ]
    kept = [row | {"mean_error": None} if row["dataset"] == "mushroom" else row for row in rows if row not in gone]
    found = gaps(read_results(write_results(tmp_path / "results.parquet", kept)))
    # Without numeric attributes mushroom has no variant with a delta, so nothing of it is missing.
    assert found == [
        Gap("evaluation", "adult", "smooth", present=8, expected=12, complete=2, iterations=3),
        Gap("evaluation", "seeds", "none", present=0, expected=6, complete=0, iterations=3),
    ]
    assert gaps(read_results(write_results(tmp_path / "results.parquet", rows))) == []


def test_declared_iterations_are_expected_and_data_sets_may_be_split_less_often(tmp_path: Path) -> None:
    metadata = {"iterations": "2", "iterations.adult": "1", "folds": "1"}
    page = report(tmp_path, [cell(), cell(dataset="seeds")], metadata=metadata)
    notice = page.section("missing")
    assert notice is not None
    told = "".join(notice.itertext())
    assert "seeds, evaluation: smooth, 1 of 2 iterations (1 of 2 cells)" in told
    assert "adult" not in told


def test_not_a_number_is_no_error(tmp_path: Path) -> None:
    errors = [float("nan"), float("inf"), 0.25]
    page = report(tmp_path, [cell(fold=fold, mean_error=error) for fold, error in enumerate(errors)])
    assert page.figures() == ["adult", "log-loss-none", "mean-error"]
    assert page.tables("mean-error")["adult"]["smooth", "1"] == "0.25 (0.25 to 0.25)"


def test_like_names_make_different_file_names() -> None:
    taken = {"run"}
    found = [slug(name, taken) for name in ("a b", "a?b", "A-B", "run", "..", "wyoming-1940")]
    assert found == ["a-b", "a-b-2", "A-B-3", "run-2", "figure", "wyoming-1940"]


def test_nothing_is_replaced_unasked(tmp_path: Path) -> None:
    results = write_results(tmp_path / "results.parquet", [cell()])
    output = tmp_path / "out.html"
    write_report(results, output)
    for path in (output, tmp_path / "out" / "adult.csv"):
        before = path.read_bytes()
        output.unlink(missing_ok=path != output)
        if path == output:
            output.write_bytes(before)
        with pytest.raises(OutputError, match="exists already"):
            write_report(results, output)
        assert path.read_bytes() == before
    assert output.exists() is False
    write_report(results, output, overwrite=True)
    assert output.exists()


@pytest.mark.parametrize("name", ["out", "out.pdf"])
def test_output_is_a_page(tmp_path: Path, name: str) -> None:
    results = write_results(tmp_path / "results.parquet", [cell()])
    with pytest.raises(UsageError, match=r"ends in \.html"):
        write_report(results, tmp_path / name)


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    results = write_results(tmp_path / "results.parquet", [cell()])
    (tmp_path / "out").touch()
    with pytest.raises(OutputError, match="is not a folder"):
        write_report(results, tmp_path / "out.html")


def test_inputs_that_are_no_results(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match="no such file"):
        write_report(tmp_path / "results.parquet", tmp_path / "out.html")
    (tmp_path / "text.parquet").write_text("no results")
    with pytest.raises(DataError, match="is not a Parquet file"):
        write_report(tmp_path / "text.parquet", tmp_path / "out.html")
    results = write_results(tmp_path / "results.parquet", [cell()])
    with pytest.raises(DataError, match=r"has no column method; it holds study, dataset"):
        write_report(results, tmp_path / "out.html", results)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.parquet", "text.parquet"]


def test_characters_that_no_page_may_hold_are_escaped(tmp_path: Path) -> None:
    name = "a\x01b\x1b{{ 7 * 7 }}{% raw %}"
    page = report(tmp_path, [cell(dataset=name)], metadata={"note": "\x02</dd><script>"})
    assert "a\\u0001b\\u001b{{ 7 * 7 }}{% raw %}, accuracy" in page.text
    assert "\\u0002</dd><script>" in page.text
    assert not list(page.root.iter("script"))


def test_drawings_have_no_names_that_could_clash(whole: Page) -> None:
    for drawing in whole.root.iter("svg"):
        assert not [part for part in drawing.iter() if "id" in part.attrib]
        assert not [*drawing.iter("style"), *drawing.iter("use")]


Row = dict[str, Any]


def chosen(rows: list[Row], **values: Any) -> list[Row]:
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def by_hand(rows: list[Row]) -> tuple[float, float, float]:
    """Mean over iterations of the mean over folds, and the 5 % and 95 % quantiles over all releases."""
    iterations = sorted({row["iteration"] for row in rows})
    means = [statistics.fmean(row["accuracy"] for row in rows if row["iteration"] == number) for number in iterations]
    low, *_, high = statistics.quantiles([row["accuracy"] for row in rows], n=20, method="inclusive")
    return statistics.fmean(means), low, high


def told(rows: list[Row]) -> str:
    return "{:.3f} ({:.3f})".format(*by_hand(rows))


def test_accuracy_tables(whole: Page, rows: list[Row]) -> None:
    tables = whole.tables("adult")
    assert list(tables) == ["ε-differential privacy", "(ε, δ), δ = 1/n", "(ε, δ), δ = 1/n²"]
    own = chosen(rows, study="evaluation", dataset="adult")
    pure = tables["ε-differential privacy"]
    for mechanism in PRIVATE:
        for epsilon in EPSILONS:
            expected = told(chosen(own, mechanism=mechanism, epsilon=epsilon, delta="0"))
            assert pure[mechanism, f"{epsilon:g}"] == expected
    for panel, delta in (("(ε, δ), δ = 1/n", "1/n"), ("(ε, δ), δ = 1/n²", "1/n^2")):
        for mechanism, noise in (("smooth", "gaussian"), ("smooth", "laplace"), ("paper", "gaussian")):
            expected = told(chosen(own, mechanism=mechanism, noise=noise, epsilon=0.1, delta=delta))
            assert tables[panel][f"{mechanism}, {noise}", "0.1"] == expected
        assert tables[panel]["smooth", "1"] == pure["smooth", "1"]
        assert ("trimmed-mean", "1") not in tables[panel]


def test_each_data_set_has_its_own_numbers(whole: Page, rows: list[Row]) -> None:
    (table,) = whole.tables("b").values()
    own = chosen(rows, study="evaluation", dataset=AWKWARD, mechanism="paper", epsilon=0.1)
    assert table["paper", "0.1"] == told(own)


def test_baselines_are_means_over_everything(whole: Page, rows: list[Row]) -> None:
    pure = whole.tables("adult")["ε-differential privacy"]
    for name, _, _ in BASELINES:
        own = chosen(rows, study="evaluation", dataset="adult", mechanism=name)
        assert pure[name, "0.1"] == f"{statistics.fmean(row['accuracy'] for row in own):.3f}"


def test_folds_count_alike_within_an_iteration_and_iterations_alike(tmp_path: Path) -> None:
    # 0.5 and 0.9 in a whole iteration, 0.3 alone in one cut short: (0.7 + 0.3) / 2, not 1.7 / 3.
    parts = [(0, 0, 0.5), (0, 1, 0.9), (1, 0, 0.3)]
    page = report(tmp_path, [cell(iteration=i, fold=f, accuracy=a) for i, f, a in parts])
    assert page.tables("adult")["ε-differential privacy"]["smooth", "1"] == "0.500 (0.320)"


def test_attribute_weights_have_a_panel_and_a_winner(tmp_path: Path) -> None:
    accuracies = {("smooth", "none"): 0.7, ("smooth", "auto"): 0.8, ("histogram", "none"): 0.75}
    rows = [cell(mechanism=name, attribute_weights=w, accuracy=value) for (name, w), value in accuracies.items()]
    page = report(tmp_path, rows)
    tables = page.tables("adult")
    assert tables["ε-differential privacy"]["smooth", "1"] == "0.700"
    assert tables["ε-differential privacy, attribute weights auto"] == {("smooth", "1"): "0.800"}
    assert "the best mechanism without a δ is smooth with weights auto in 1." in page.text
    summary = page.section("summary")
    assert summary is not None
    assert "smooth auto 0.800" in text_of(summary)


def test_log_losses_are_means(tmp_path: Path) -> None:
    rows = [cell(fold=fold, log_loss=loss) for fold, loss in enumerate((0.25, 0.75))]
    page = report(tmp_path, [*rows, cell(attribute_weights="auto", log_loss=0.125)])
    assert page.tables("log-loss-none")["adult"]["smooth", "1"] == "0.500"
    assert page.tables("log-loss-auto")["adult"]["smooth", "1"] == "0.125"
    assert "Smallest log loss at ε = 1, by data sets: smooth on 1." in page.text


def test_each_released_mean_has_its_errors_and_flattened_attributes_are_counted(tmp_path: Path) -> None:
    errors = [{"attribute": "age", "error": 0.5}, {"attribute": "gain", "error": 200.0}]
    rows = [cell(fold=fold, mean_error=0.5, flattened=fold, released_means=errors) for fold in range(2)]
    page = report(tmp_path, rows)
    assert page.tables("mean-error")["adult"]["smooth", "1"] == "0.5 (0.5 to 0.5)"
    assert page.tables("flattened")["adult"]["smooth", "1"] == "0.50"
    released = page.tables("released-adult")
    assert {name: table["smooth", "1"] for name, table in released.items()} == {
        "age": "0.5 (0.5 to 0.5)",
        "gain": "200 (200 to 200)",
    }
    assert "smooth at ε = 1: from 0.5 deviations for age to 2e+02 for gain." in page.text


def test_winners(whole: Page, rows: list[Row]) -> None:
    summary = whole.section("summary")
    assert summary is not None
    table = next(table for table in summary.iter("table") if table.get("class") == "winners")
    found = cells(table)
    for dataset in ("adult", AWKWARD):
        own = chosen(rows, study="evaluation", dataset=dataset, delta="0")
        ceiling = statistics.fmean(row["accuracy"] for row in chosen(own, mechanism="none"))
        scored = sum(row["rows"] for row in chosen(own, mechanism="smooth", epsilon=0.1, iteration=0))
        for epsilon in EPSILONS:
            here = [row for row in own if row["epsilon"] == epsilon and row["mechanism"] in PRIVATE]
            means = {name: by_hand(chosen(here, mechanism=name))[0] for name in {row["mechanism"] for row in here}}
            best = max(means, key=lambda name: means[name])
            below = f"{means[best] - ceiling:+.3f}".replace("-", "−")
            place = f"{dataset} {scored:,} rows", f"ε = {epsilon:g}"
            low = by_hand(chosen(here, mechanism=best))[1]
            assert found[place] == f"{best} {means[best]:.3f} {below} ({low:.3f})"


def test_sentences_say_where_smooth_gets_close(tmp_path: Path) -> None:
    accuracies = {("smooth", 0.1): 0.7, ("smooth", 1.0): 0.795, ("smooth", 10.0): 0.80, ("histogram", 0.1): 0.75}
    rows = [cell(mechanism=name, epsilon=epsilon, accuracy=value) for (name, epsilon), value in accuracies.items()]
    page = report(tmp_path, [*rows, cell(mechanism="none", epsilon=None, accuracy=0.8)])
    caption = page.section("adult").find("figcaption")  # type: ignore[union-attr]
    assert caption is not None
    assert text_of(caption) == (
        "From ε = 1 on, smooth is within 0.01 of the accuracy without privacy, 0.800. "
        "At ε = 0.1 the best is histogram, 0.750; smooth reaches 0.700."
    )
    assert "the best mechanism without a δ is smooth in 2 and histogram in 1." in page.text
    assert "smooth stays within 0.01 of the accuracy without privacy: on adult from ε = 1." in page.text


def test_an_accuracy_that_falls_again_is_not_reached(tmp_path: Path) -> None:
    values = {0.1: 0.8, 1.0: 0.7}
    rows = [cell(epsilon=epsilon, accuracy=value) for epsilon, value in values.items()]
    page = report(tmp_path, [*rows, cell(mechanism="none", epsilon=None, accuracy=0.8)])
    assert "Up to ε = 1, smooth stays more than 0.01 below the accuracy without privacy, 0.800." in page.text


def test_less_than_the_largest_class_is_said(tmp_path: Path) -> None:
    rows = [cell(accuracy=0.55), cell(mechanism="majority", accuracy=0.6), cell(epsilon=10.0, accuracy=0.7)]
    page = report(tmp_path, rows)
    assert "In 1 of them no mechanism beats always naming the largest class." in page.text
    grey = [part for part in page.root.iter("span") if part.get("class") == "useless"]
    assert [text_of(part) for part in grey] == ["smooth 0.550"]


def test_errors_are_quartiles(whole: Page, rows: list[Row]) -> None:
    for name, column in (("mean-error", "mean_error"), ("variance-error", "variance_error")):
        tables = whole.tables(name)
        assert list(tables) == [AWKWARD, "adult"]
        own = chosen(rows, study="evaluation", dataset="adult", mechanism="paper", epsilon=0.1, delta="0")
        values = [row[column] for row in own]
        low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
        assert tables["adult"]["paper", "0.1"] == f"{middle:.3g} ({low:.3g} to {high:.3g})"
        assert ("histogram", "0.1") not in tables["adult"]


def test_bounds_and_allocation(whole: Page, rows: list[Row]) -> None:
    bounds = whole.tables("bounds-adult")
    assert list(bounds) == ["ε = 0.1", "ε = 1", "ε = 3"]
    own = chosen(rows, study="bounds", bounds=100)
    assert bounds["ε = 1"]["histogram", "100"] == told(chosen(own, mechanism="histogram", epsilon=1.0))
    assert bounds["ε = 1"]["none", "100"] == told(chosen(own, mechanism="none"))
    allocations = whole.tables("allocation-adult")
    assert list(allocations) == ["smooth", "paper"]
    assert list(dict.fromkeys(row for row, _ in allocations["paper"])) == ["1:2:1", "1:1:1", "2:1:1", "3:1:1"]
    own = chosen(rows, study="allocation", mechanism="paper", weights="3:1:1")
    assert allocations["paper"]["3:1:1", "0.3"] == told(chosen(own, epsilon=0.3))


def test_loss_of_loose_bounds(tmp_path: Path) -> None:
    values = {("smooth", 1): 0.8, ("smooth", 100): 0.79, ("histogram", 1): 0.82, ("histogram", 100): 0.5}
    rows = [cell(study="bounds", mechanism=name, bounds=b, accuracy=value) for (name, b), value in values.items()]
    page = report(tmp_path, rows)
    assert "At ε = 1, bounds 100 times too wide cost an accuracy of: smooth 0.010 and histogram 0.320." in page.text


def test_running_times(whole: Page) -> None:
    table = whole.tables("runtime")["From rows to the model"]
    assert table["direct search", "5,000"] == "0.309"
    assert table["direct search", "1,700,000"] == "–"
    assert "direct search takes 4.9 s for 20,000 rows, growing as rows to the power 2.0." in whole.text


def test_every_csv_holds_the_numbers_of_its_figure(whole: Page, rows: list[Row]) -> None:
    folder = whole.path.with_suffix("")
    assert sorted(file.stem for file in folder.glob("*.csv")) == sorted(whole.figures())
    frame = pl.read_csv(folder / "adult.csv")
    assert frame.columns == ["panel", "series", "epsilon", "accuracy", "low", "high"]
    own = chosen(rows, study="evaluation", dataset="adult", mechanism="global", epsilon=0.1)
    found = frame.filter(pl.col("series") == "global", pl.col("epsilon") == 0.1).row(0)
    assert found[3:] == pytest.approx(by_hand(own), abs=1e-14)
    drawn = sum(len({row for row, _ in table}) for table in whole.tables("adult").values())
    assert frame.select("panel", "series").n_unique() == drawn
