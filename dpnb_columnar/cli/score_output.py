"""The file of released scores that ``evaluate --epsilon`` writes, and what it prints of them. Public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpnb_columnar.advice.plan_text import composition_facts, unit_facts
from dpnb_columnar.cli.console import is_json, log_event, print_line, print_table, print_warning
from dpnb_columnar.cli.file_output import FileOutput
from dpnb_columnar.domain.names import named
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.domain.value_labels import SHORT, class_texts, worded
from dpnb_columnar.errors import excerpt
from dpnb_columnar.mechanisms.score_release import SCORES, ScorePlan
from dpnb_columnar.model.evaluation import folded, shown_classes
from dpnb_columnar.model.guarantee import relation_text, statement
from dpnb_columnar.model.model_document import to_json
from dpnb_columnar.model.released_scores import ReleasedScores, figures_document, load_scores, scores_document
from dpnb_columnar.model.score_figures import UNRANKED

if TYPE_CHECKING:
    from dpnb_columnar.model.noisy_intervals import Estimate
    from dpnb_columnar.training import Payment


@dataclass(frozen=True, slots=True)
class ScoreOutput(FileOutput[ScorePlan, ReleasedScores]):
    """A file of released scores, and the lines on the way to it.

    Attributes:
        silent: Whether no line is printed, since the scores are printed as JSON.
    """

    silent: bool

    def read(self) -> ReleasedScores:
        """Read the file."""
        return load_scores(self.path)

    def write(self, released: ReleasedScores) -> None:
        """Write the file."""
        released.save(self.path, overwrite=self.overwrite)

    def say(self, line: str, event: str = "note", **fields: object) -> None:
        """Print a line on the way to the file, unless JSON is printed."""
        if not self.silent:
            print_line(line, event, **fields)

    def announce(self, plan: ScorePlan, payment: Payment[ReleasedScores] | None) -> None:
        """Say in which domain rows are counted, what the release spends, and who pays."""
        self.say(f"domain {plan.domain.name}, from the model", "domain", domain=plan.domain.name, origin="the model")
        epsilon, relation, unit = number_text(plan.budget.epsilon), plan.budget.neighbours, plan.domain.unit
        facts: dict[str, object] = {"epsilon": epsilon, "delta": "0", "neighbours": str(relation)}
        facts["composition"] = composition_facts(plan.shares)
        if unit is not None:
            facts["unit"] = unit_facts(unit)
        of = f"{relation} neighbours" if unit is None else f"for {relation_text(relation, unit)}"
        line = f"epsilon {epsilon} ({of}), {SCORES} in {plan.shares[0].values} cells"
        self.say(line, "budget", mechanism=SCORES, queries=1, **facts)
        if plan.domain.weight is not None:
            self.say(
                f"released scores are of rows: the weight {named([plan.domain.weight.column])} does not enter them"
            )
        self.say_charge(payment)

    def keep(self, released: ReleasedScores) -> None:
        """Write the file.

        Raises:
            OutputError: if the file cannot be written.
        """
        self.write(released)
        if not released.guarantee.private:
            print_warning("these scores carry NO GUARANTEE; they are as confidential as the rows")
        self.say(f"wrote {self.path}", "written", output=str(self.path))


def print_json(scores: ReleasedScores) -> None:
    """Print the document of released scores."""
    print_line(to_json(scores_document(scores)).rstrip())


def print_scores(scores: ReleasedScores) -> None:
    """Print the figures of released scores; as one event where events are printed."""
    figures = scores.figures
    if is_json():
        log_event("scores", statement(scores.guarantee), figures=figures_document(scores))
        return
    print_line()
    print_line(statement(scores.guarantee))
    print_line()
    low, high = figures.rows_interval
    print_line(f"rows               {figures.rows}  ({low:.0f} to {high:.0f})")
    _print_figure("accuracy", figures.accuracy)
    domain, names = scores.domain, class_texts(scores.domain)
    largest = excerpt(worded(figures.majority_class, domain.class_labels))
    _print_figure("largest class", figures.majority, f"always predicting {largest}")
    _print_figure("difference", figures.gain)
    _print_figure("balanced accuracy", figures.balanced_accuracy)
    if figures.auc is not None:
        _print_figure("AUC", figures.auc)
    print_line(f"Brackets hold {figures.level:.0%} confidence intervals, noise and sampling of rows included.")
    if figures.auc is None:
        print_line(UNRANKED)
    print_line()
    shown = shown_classes([sum(row) for row in figures.confusion], every=False)
    others, short = len(names) - len(shown), class_texts(domain, SHORT)
    rest = [f"{others} others"] if others else []
    confused = zip([*(names[code] for code in shown), *rest], folded(figures.confusion, shown), strict=True)
    print_table(
        ["true \\ predicted", *(short[code] for code in shown), *rest], [[name, *row] for name, row in confused]
    )
    print_line()
    rows = [[names[code], *_cells(figures.recall[code]), *_cells(figures.precision[code])] for code in shown]
    print_table(["class", "recall", "", "precision", ""], rows)
    if others:
        print_line(f"  and {others} classes of fewer rows; all of them in the file")
    if not figures.calibration:
        return
    print_line()
    print_table(
        [f"probability of {domain.classes[1]}", "rows", f"part that is {domain.classes[1]}", ""],
        [
            [f"{band.lower:.4f} to {band.upper:.4f}", band.rows, *_cells(band.share)]
            for band in reversed(figures.calibration)
        ],
    )


def _print_figure(name: str, estimate: Estimate, remark: str = "") -> None:
    value, ends = _cells(estimate)
    print_line(f"{name:<18} {value}  {ends}" + (f"  {remark}" if remark else ""))


def _cells(estimate: Estimate) -> tuple[str, str]:
    """Write a figure and its interval."""
    value = "none  " if estimate.value is None else f"{estimate.value:.4f}"
    return value, f"({estimate.interval[0]:.4f} to {estimate.interval[1]:.4f})"
