"""Writes a report: its figures into a folder, and last the page, so that a page is there only with all of it."""

from __future__ import annotations

from pathlib import Path

from dpnb_columnar.errors import OutputError, UsageError
from dpnb_columnar.report import allocation, bounds, evaluation, released_errors
from dpnb_columnar.report import runtime as times
from dpnb_columnar.report.drawing import files, require_matplotlib
from dpnb_columnar.report.figures import Figure, data, slug
from dpnb_columnar.report.page import Section, page
from dpnb_columnar.report.results import Results, read_results
from dpnb_columnar.runtime.outputs import atomic_output, check_output

PAGE_SUFFIX = ".html"


def write_report(results: Path, output: Path, runtime: Path | None = None, *, overwrite: bool = False) -> list[Path]:
    """Write the report of a reproduction as one page, and each figure as files beside it.

    The page ``out.html`` needs nothing but itself. The folder ``out`` holds each figure as SVG and PNG, and its numbers
    as CSV. The same results give the same bytes.

    Args:
        results: File of results, finished or not.
        output: The page, a name that ends in ``.html``.
        runtime: File of running times.
        overwrite: Replace files that exist.

    Returns:
        What was written, the page first.

    Raises:
        UsageError: Matplotlib is not installed, or ``output`` is no name of a page.
        MissingInputError: A file is not there.
        DataError: A file does not hold results.
        OutputError: A file exists or cannot be written.
    """
    require_matplotlib()
    if output.suffix != PAGE_SUFFIX:
        raise UsageError(f"{output}: a report is a page; choose a name that ends in {PAGE_SUFFIX}")
    check_output(output, overwrite)
    folder = output.with_suffix("")
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is no folder, and the figures need one of this name; choose another page")
    found = read_results(results, runtime)
    sections = _sections(found)
    pieces = {
        folder / f"{name}.{suffix}": (figure, suffix)
        for section in sections
        for name, figure in section.figures.items()
        for suffix in ("svg", "png", "csv")
    }
    _make(folder)
    for path in pieces:
        check_output(path, overwrite)
    for section in sections:
        for name, figure in section.figures.items():
            _write_files(folder / name, figure, overwrite)
    with atomic_output(output, overwrite=overwrite) as partial:
        partial.write_text(page(found, sections, folder.name), encoding="utf-8")
    return [output, *pieces]


def _sections(results: Results) -> list[Section]:
    """The sections that these results have figures for; every figure has a name of its own."""
    cells = results.study("evaluation")
    found = [
        ("accuracy", "Accuracy", evaluation.figures(cells)),
        ("errors", "Released means and variances", released_errors.figures(cells)),
        ("bounds", "Loose bounds", bounds.figures(results.study("bounds"))),
        ("allocation", "Allocation of the budget", allocation.figures(results.study("allocation"))),
        ("time", "Training time", times.figures(results.runtime)),
    ]
    taken = {anchor for anchor, _, _ in found} | {"summary", "run"}
    return [
        Section(anchor, title, {slug(figure.name, taken): figure for figure in figures})
        for anchor, title, figures in found
        if figures
    ]


def _make(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be created: {error.strerror}") from None


def _write_files(stem: Path, figure: Figure, overwrite: bool) -> None:
    """One figure as SVG, PNG and CSV."""
    drawing, picture = files(figure)
    numbers = data(figure).write_csv()
    contents = {"svg": drawing.encode(), "png": picture, "csv": numbers.encode()}
    for suffix, content in contents.items():
        with atomic_output(stem.with_name(f"{stem.name}.{suffix}"), overwrite=overwrite) as partial:
            partial.write_bytes(content)
