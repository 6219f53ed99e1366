"""An attack on one model by files of rows, printed and written: ``audit --model``. CONFIDENTIAL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dpnb_columnar.cli.console import print_confidential, print_line, print_table, print_text, stage
from dpnb_columnar.counting.inputs import local_files
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.domain_text import predicts
from dpnb_columnar.extensions.attack import model_attack as figures
from dpnb_columnar.extensions.attack.model_attack import AttackReport, attack, to_document
from dpnb_columnar.model.document import document_digest, to_json
from dpnb_columnar.model.model_files import read_model
from dpnb_columnar.report.evaluation_page import EXACT, Plot, square_panel
from dpnb_columnar.report.figures import PLAIN, Point, Series, check_single_page, write_single_page
from dpnb_columnar.rows.input_files import DataFile
from dpnb_columnar.runtime.outputs import atomic_output, check_target

TABULATED = 20
"""Points of each curve in the table beneath the drawing."""

READING = ("reading", "How to read it")


def write_attack_page(
    report: AttackReport, domain: Domain, output: Path, name: str, *, overwrite: bool = False
) -> None:
    """Write the report as one page that needs nothing else, readable by its owner alone. Confidential."""
    attributes = [("attributes", "Attributes")] if report.guessed else []
    content = {
        "title": f"Attack on a model: {domain.name}",
        "lead": f"The model {name} {predicts(domain)}.",
        "confidential": EXACT,
        "verdict": figures.verdict(report),
        "exceeded": report.exceeded,
        "parts": [("attacked", "What was attacked"), ("membership", "Membership"), *attributes, READING],
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


@dataclass(frozen=True, slots=True)
class Written:
    """What an attack writes: a page and a document, each None for none."""

    html: Path | None
    output: Path | None
    overwrite: bool

    def check(self, inputs: Sequence[DataFile]) -> None:
        """Refuse outputs that could not be written, before any row is read."""
        if self.html is not None:
            check_single_page(self.html, self.overwrite)
        for output in (self.html, self.output):
            if output is not None:
                check_target(output, self.overwrite, inputs)


def attack_files(
    model: Path,
    members: Sequence[str],
    others: Sequence[str],
    sensitive: Sequence[str],
    written: Written,
    as_json: bool,
) -> bool:
    """Attack one model, print the report, write what is asked for, and return whether a bound is exceeded."""
    rows = [local_files(data, "members" if place == 0 else "others") for place, data in enumerate((members, others))]
    loaded = read_model(model)
    written.check([model, *(file for each in rows for file in each.files)])
    with stage("attacking"):
        report = attack(loaded, rows[0].batches(), rows[1].batches(), sensitive)
    document = to_document(report, document_digest(loaded))
    if written.html is not None:
        write_attack_page(report, loaded.domain, written.html, model.name, overwrite=written.overwrite)
    if written.output is not None:
        with atomic_output(written.output, overwrite=written.overwrite, confidential=True) as partial:
            partial.write_text(to_json(document), encoding="utf-8")
    if as_json:
        print_text(to_json(document).rstrip())
    else:
        print_confidential()
        _print_attack(report)
        for path in (written.html, written.output):
            if path is not None:
                print_line(f"wrote {path}", "written", output=str(path))
    return bool(report.exceeded)


def _print_attack(report: AttackReport) -> None:
    for line in figures.summary(report):
        print_line(line)
    print_line()
    print_table(*figures.score_table(report))
    print_line()
    print_table(*figures.flagged_table(report))
    if report.guessed:
        shown = figures.shown_guesses(report)
        print_line()
        print_table(*figures.guessed_table(report, shown))
        if others := len(report.guessed) - len(shown):
            print_line(f"  and {others} attributes of smaller differences; all of them with --json")
    print_line()
    for line in figures.notes(report):
        print_line(line)
