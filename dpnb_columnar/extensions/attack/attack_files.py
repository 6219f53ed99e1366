"""An attack on one model by files of rows, printed and written: ``audit --model``. CONFIDENTIAL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dpnb_columnar.cli.console import print_confidential, print_line, print_table, print_text, stage
from dpnb_columnar.counting.inputs import local_files
from dpnb_columnar.extensions.attack import attack_figures as figures
from dpnb_columnar.extensions.attack.attack_figures import AttackReport
from dpnb_columnar.extensions.attack.model_attack import attack, to_document
from dpnb_columnar.model.document import document_digest, to_json
from dpnb_columnar.model.model_files import read_model
from dpnb_columnar.report.page import check_single_page
from dpnb_columnar.rows.input_files import DataFile
from dpnb_columnar.runtime.outputs import atomic_output, check_target


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
        from dpnb_columnar.extensions.attack.attack_page import write_attack_page

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
