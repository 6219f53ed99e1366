"""Figures of docs/performance.md: seconds and memory beside each other, against one size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from benchmarks.findings import Findings


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure.

    Attributes:
        series: Whose runs.
        size: What is on the horizontal axis.
        label: Its name there.
        axis: Scale of the size.
        logarithmic: Whether what is measured is on a logarithmic scale.
        memory: Whether memory is drawn beside.
    """

    series: str
    size: str
    label: str
    axis: str = "log"
    logarithmic: bool = False
    memory: bool = True


FIGURES: Mapping[str, Figure] = {
    "rows": Figure("train", "rows", "rows", logarithmic=True),
    "attributes": Figure("attributes", "attributes", "attributes, half of them numeric", "linear"),
    "classes": Figure("classes", "classes", "classes, 13 attributes", "linear"),
    "grid": Figure("grid", "grid", "cells of each of 5 numeric attributes"),
    "search": Figure("search", "rows", "values of the column", logarithmic=True, memory=False),
}
"""By the name of the file."""


def draw(figure: Figure, findings: Findings, file: Path) -> None:
    """One line per contender: medians of the turns, and the largest peak."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "performance", "svg.fonttype": "none"}
    from matplotlib import pyplot

    summary = findings.summary(figure.series)
    several = summary["contender"].n_unique() > 1
    fields = {"seconds": "seconds"} | ({"peak_mib": "MiB at most"} if figure.memory else {})
    drawn, panels = pyplot.subplots(
        1, len(fields), figsize=(4.5 * len(fields) + 2 * several, 3.6), layout="constrained", squeeze=False
    )
    for axes, (field, unit) in zip(panels[0], fields.items(), strict=True):
        for contender in summary["contender"].unique(maintain_order=True):
            points = summary.filter(pl.col("contender") == contender)
            axes.plot(points[figure.size], points[field], marker="o", markersize=4, label=contender)
        axes.set(xscale=figure.axis, xlabel=figure.label, ylabel=unit)
        if figure.logarithmic:
            axes.set_yscale("log")
        else:
            axes.set_ylim(0, 1.1 * max(summary[field].to_list()))
            sizes = summary[figure.size].unique(maintain_order=True).to_list()
            axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
            axes.minorticks_off()
        axes.grid(alpha=0.3)
    if several:
        drawn.legend(*panels[0][0].get_legend_handles_labels(), loc="outside right upper", fontsize="small")
    drawn.savefig(file, metadata={"Date": None, "Creator": None})
    pyplot.close(drawn)
