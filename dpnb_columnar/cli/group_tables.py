"""Figures of groups on the terminal: for whom a model is worse. As confidential as the figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpnb_columnar.cli.console import print_line, print_table
from dpnb_columnar.domain.declared_domain import SHORT, class_texts
from dpnb_columnar.domain.names import named

if TYPE_CHECKING:
    from dpnb_columnar.domain import Domain
    from dpnb_columnar.model.group_figures import DivisionFigures
    from dpnb_columnar.model.noisy_intervals import Estimate


def print_groups(divisions: Sequence[DivisionFigures], domain: Domain) -> None:
    """Print two tables of each division, and the groups for which the model is worse by the whole interval."""
    from dpnb_columnar.domain.groupings import group_text
    from dpnb_columnar.model.group_figures import BY_CHANCE, figure_tables

    for division in divisions:
        names = [group_text(domain, division.columns, each.values, SHORT) for each in division.known]
        columns = named(division.columns)
        for table in figure_tables(division, class_texts(domain, SHORT)):
            print_line()
            header = [columns, "rows", *(cell for name in table.header for cell in (name, ""))]
            rows = zip(names, division.known, table.figures, strict=True)
            print_table(
                header,
                [
                    [name, group.rows, *(cell for figure in figures for cell in _cells(figure))]
                    for name, group, figures in rows
                ],
            )
        if division.remark:
            print_line(f"  {division.remark}")
        worse = [group_text(domain, division.columns, each.values, SHORT) for each in division.worse]
        print_line(f"Accuracy below that of all rows by the whole interval: {'; '.join(worse) or 'no group'}.")
    if divisions:
        print_line(BY_CHANCE)


def _cells(estimate: Estimate | None) -> tuple[str, str]:
    """Write a figure and its interval."""
    from dpnb_columnar.model.group_figures import is_known

    if estimate is None or not is_known(estimate):
        return "none", ""
    return f"{estimate.value:.4f}", f"({estimate.interval[0]:.4f} to {estimate.interval[1]:.4f})"
