"""The page that reports a reproduction: conclusions, figures with their tables, and what was run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from dpnb_columnar.report.page import check_page, named_sections, unbroken, write_page
from dpnb_columnar.study.error_figures import error_figures
from dpnb_columnar.study.evaluation_figures import accuracy_figures, loss_figures
from dpnb_columnar.study.results import DOMAIN, ITERATIONS, ROWS, Results, read_results
from dpnb_columnar.study.setting_figures import allocation_figures, bounds_figures, time_figures
from dpnb_columnar.study.summary import conclusions, gaps, standings

TITLE = "Differentially private naive Bayes: how accurate it is"

PER_DATASET = (ROWS, ITERATIONS, DOMAIN)
"""Prefixes of metadata that is about one data set."""

SHOWN_GAPS = 6
"""Missing parts named before the rest is folded away."""


def write_report(results: Path, output: Path, runtime: Path | None = None, *, overwrite: bool = False) -> list[Path]:
    """Write the report of a reproduction as one page, and each figure as files beside it, as ``write_page`` does.

    Args:
        results: File of results, finished or not.
        output: The page, a name that ends in ``.html``.
        runtime: File of training times.
        overwrite: Replace files that exist.

    Returns:
        The files that were written, the page first.

    Raises:
        UsageError: if the ``report`` extra is not installed, or ``output`` does not end in ``.html``.
        MissingInputError: if a file does not exist.
        DataError: if a file does not hold results.
        OutputError: if a file exists or cannot be written.
    """
    check_page(output, overwrite)
    measured = read_results(results, runtime)
    evaluation = measured.study("evaluation")
    parts = [
        ("accuracy", "Accuracy", accuracy_figures(evaluation)),
        ("loss", "Log loss", loss_figures(evaluation)),
        ("errors", "Released means and variances", error_figures(evaluation)),
        ("bounds", "Loose bounds", bounds_figures(measured.study("bounds"))),
        ("allocation", "Allocation of the budget", allocation_figures(measured.study("allocation"))),
        ("time", "Training time", time_figures(measured.runtime)),
    ]
    sections = named_sections(parts, reserved=("summary", "run"))
    return write_page(output, "reproduction.html.j2", sections, _content(measured), overwrite=overwrite)


def _content(results: Results) -> dict[str, object]:
    """Return the variables of the template."""
    places = standings(results)
    epsilons = sorted({epsilon for standing in places for epsilon in standing.winners})
    return {
        "title": TITLE,
        "lead": _lead(results),
        "missing": gaps(results),
        "gaps_shown": SHOWN_GAPS,
        "standings": places,
        "conclusions": conclusions(results, places),
        "epsilons": epsilons,
        "epsilon_titles": [unbroken(f"ε = {epsilon:g}") for epsilon in epsilons],
        "studies": _studies(results.cells),
        "facts": sorted((key, value) for key, value in results.metadata.items() if not key.startswith(PER_DATASET)),
        "origins": _origins(results.metadata),
    }


def _lead(results: Results) -> str:
    """Say how much was run, in a sentence or two."""
    cells = results.cells
    mechanisms, datasets = cells["mechanism"].n_unique(), cells["dataset"].n_unique()
    epsilons = cells["epsilon"].drop_nulls()
    text = f"{len(cells):,} models by {mechanisms} mechanisms, each scored on a fold it has not seen, "
    text += f"on {datasets} public or simulated data sets"
    if len(epsilons):
        text += f", total ε from {min(epsilons):g} to {max(epsilons):g}"
    iterations, folds = cells["iteration"].n_unique(), cells["fold"].n_unique()
    repeated = f"up to {iterations} iterations" if iterations > 1 else "1 iteration"
    text += f"; {repeated} of {folds}-fold cross-validation."
    return f"{text} The releases took {_duration(float(cells['seconds'].sum()))} of computing in all."


def _duration(seconds: float) -> str:
    """Write a time in a unit that suits it."""
    for size, unit in ((3600, "hours"), (60, "minutes")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} seconds"


def _studies(cells: pl.DataFrame) -> list[list[str]]:
    """Return per study its name, its models, its data sets, and the time of its releases."""
    counts = (
        cells.group_by("study")
        .agg(pl.len().alias("cells"), pl.col("dataset").n_unique(), pl.col("seconds").sum())
        .sort("study")
    )
    return [
        [study, f"{number:,}", str(datasets), _duration(seconds)]
        for study, number, datasets, seconds in counts.iter_rows()
    ]


def _origins(metadata: Mapping[str, str]) -> list[list[str]]:
    """Return per data set its name, rows, iterations and digest, as far as the metadata holds them."""
    names = sorted({key.partition(".")[2] for key in metadata if key.startswith(PER_DATASET)})
    return [[name, *(metadata.get(f"{prefix}{name}", "–") for prefix in PER_DATASET)] for name in names]
