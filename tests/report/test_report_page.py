"""What a report is made of: one well-formed page that needs nothing else, and files beside it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from support.fake_results import PURE_METHODS, cell, evaluation, write_results
from support.report_pages import AWKWARD, Page, report

from dpnb_columnar.errors import DataError, MissingInputError, OutputError, UsageError
from dpnb_columnar.report.figures import COLOURS, slug
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


def test_declared_iterations_are_expected_and_gaps_told(tmp_path: Path) -> None:
    page = report(tmp_path, [cell()], metadata={"iterations": "5", "folds": "10"})
    notice = page.section("missing")
    assert notice is not None
    assert "adult, evaluation: smooth, 0 of 5 iterations (1 of 50 cells)" in "".join(notice.itertext())


def test_data_sets_may_be_split_less_often(tmp_path: Path) -> None:
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
