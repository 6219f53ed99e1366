"""The page of an attack on one model: what an output checker reads. CONFIDENTIAL."""

from __future__ import annotations

from pathlib import Path

from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.domain_text import predicts
from dpnb_columnar.extensions.attack import attack_figures as figures
from dpnb_columnar.extensions.attack.attack_figures import AttackReport
from dpnb_columnar.report.evaluation_page import EXACT, Plot, square_panel
from dpnb_columnar.report.figures import PLAIN, Point, Series
from dpnb_columnar.report.page import write_single_page

TABULATED = 20
"""Points of each curve in the table beneath the drawing."""


def write_attack_page(
    report: AttackReport, domain: Domain, output: Path, name: str, *, overwrite: bool = False
) -> None:
    """Write the report as one page that needs nothing else, readable by its owner alone.

    Args:
        report: The report. Confidential.
    """
    attributes = [("attributes", "Attributes")] if report.guessed else []
    content = {
        "title": f"Attack on a model: {domain.name}",
        "lead": f"The model {name} {predicts(domain)}.",
        "confidential": EXACT,
        "verdict": figures.verdict(report),
        "exceeded": report.exceeded,
        "parts": [
            ("attacked", "What was attacked"),
            ("membership", "Membership"),
            *attributes,
            ("reading", "How to read it"),
        ],
        "pairs": list(figures.facts(report)),
        "scores": figures.score_table(report),
        "flagged": figures.flagged_table(report),
        "roc": _curves(report),
        "guessed": figures.guessed_table(report, report.guessed) if report.guessed else None,
        "notes": list(figures.notes(report)),
    }
    write_single_page(output, __package__, "attack.html.j2", content, overwrite=overwrite, confidential=True)


def _curves(report: AttackReport) -> Plot:
    """Draw the ROC curves, and the edge of what the guarantee allows."""
    curves = {**report.roc, **({} if report.implied is None else {"bound of the guarantee": report.implied.curve})}
    lines = [
        Series(label, look, tuple(Point(*point) for point in points))
        for (label, points), look in zip(curves.items(), PLAIN, strict=False)
    ]
    tables = []
    for label, points in curves.items():
        shown = points[:: -(-len(points) // TABULATED)]
        rows = [[f"{false:.4f}", f"{true:.4f}"] for false, true in shown]
        tables.append((f"{label}: points of the curve", ["FPR", "TPR"], rows))
    return Plot(
        square_panel("ROC curve", "part of the others flagged (FPR)", "part of the members flagged (TPR)", lines),
        "On the diagonal rows are flagged by lot. The guarantee keeps the expected curve of every attack below its "
        "bound; a measured one differs from that by chance.",
        tables,
    )
