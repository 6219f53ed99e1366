"""What ``plan`` says of its rehearsal: what to expect of the planned release, and which mechanism to choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpnb_columnar.cli.console import print_line, print_table
from dpnb_columnar.domain.numbers import number_text

if TYPE_CHECKING:
    from dpnb_columnar.advice.expectation import Expectation, Remedy
    from dpnb_columnar.advice.recommendation import Advice, Prospect
    from dpnb_columnar.mechanisms.plan import ReleasePlan

FIGURES = ("mean error", "variance error", "ratio error", "accuracy")
ALSO_NAMED = 2
"""Number of mechanisms named beside the recommended one."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a rehearsal says. Public facts alone.

    Attributes:
        plan: The planned release.
        expectations: What is expected of it, by scenario.
        worst: The scenario in which it is furthest below the largest class; None if it is nowhere.
        remedies: What would help there.
        advice: The advice on mechanisms.
    """

    plan: ReleasePlan
    expectations: Sequence[Expectation]
    worst: Expectation | None
    remedies: Sequence[Remedy]
    advice: Advice

    @property
    def warning(self) -> str | None:
        """Say in a sentence that models are expected to be worse than the largest class, and what helps; or nothing."""
        if self.worst is None:
            return None
        outcome = self.worst.outcome
        found = (
            f"expected to be worse than always predicting the largest class where {_circumstances(self.worst)}: "
            f"accuracy {outcome.accuracy:.3f} in place of {outcome.largest_class:.3f}; "
        )
        helpful = [f"{self._options(remedy)} ({remedy.accuracy:.3f})" for remedy in self.remedies]
        return found + ("to be better: " + ", or ".join(helpful) if helpful else "nothing that was rehearsed is better")

    def _options(self, remedy: Remedy) -> str:
        """Write the options that differ from the plan's."""
        options = []
        if remedy.mechanism != self.plan.mechanism.name:
            options.append(f"--mechanism {remedy.mechanism}")
        if remedy.weights != (self.plan.attribute_weights or "none"):
            options.append(f"--attribute-weights {remedy.weights}")
        if remedy.epsilon != self.plan.budget.epsilon:
            options.append(f"--epsilon {number_text(remedy.epsilon)}")
        return " ".join(options)


def rehearse(plan: ReleasePlan, rows: int, class_shares: str | None) -> Rehearsal:
    """Rehearse a planned release and the mechanisms to choose among.

    Args:
        plan: The release, of a private mechanism.
        rows: Public number of rows.
        class_shares: Published sizes of the classes, as typed; None where they are not known.

    Raises:
        UsageError: if the class shares are not as many positive numbers as there are classes.
    """
    from dpnb_columnar.advice.expectation import expect, remedies, worst
    from dpnb_columnar.advice.population import parse_class_sizes
    from dpnb_columnar.advice.recommendation import advise

    sizes = None if class_shares is None else parse_class_sizes(class_shares, plan.domain)
    # What a public file says of the attributes' dependence holds for real rows, not for made-up ones.
    expectations = expect(plan, rows, sizes) if plan.public is None else ()
    below = worst(expectations)
    helpful = [] if below is None else remedies(plan, below, rows)
    return Rehearsal(plan, expectations, below, helpful, advise(plan.domain, plan.budget, rows, sizes))


def print_rehearsal(rehearsal: Rehearsal, origin: str) -> None:
    """Print what to expect, a warning if it is bad, and the recommended mechanism.

    Args:
        rehearsal: The rehearsal.
        origin: Where its number of rows is declared.
    """
    from dpnb_columnar.advice.expectation import WIDE

    print_line(f"expected on made-up rows of this domain: {rehearsal.advice.rows} ({origin})")
    print_line()
    if rehearsal.expectations:
        print_table(
            ["attributes", "bounds", "largest class", "accuracy", "5 % below", ""],
            [_expected_row(each) for each in rehearsal.expectations],
        )
        print_line()
    if rehearsal.warning:
        print_line(rehearsal.warning)
        print_line()
    print_line("rehearsed, each mechanism with its default noise and the attribute weights that suit it best:")
    print_line()
    header = ["mechanism", "attribute weights", *(column for figure in FIGURES for column in (figure, "wide"))]
    best, *others = rehearsal.advice.ranked
    print_table(header, [_row(prospect) for prospect in (best, *others)])
    print_line()
    beside = ", ".join(f"{other.mechanism} {other.accuracy:.3f}" for other in others[:ALSO_NAMED])
    print_line(
        f"recommended: {best.mechanism} with attribute weights {best.weights} (accuracy on average {best.accuracy:.3f}"
        f"{beside and '; ' + beside})"
    )
    print_line(
        f"wide: the same with bounds {WIDE} times too wide. Errors: of means in standard deviations of a class, of"
    )
    print_line(
        "logarithms of variances and of likelihood ratios, compared with a model without noise. They hold for the"
    )
    print_line("made-up rows; the real ones were not read")


def rehearsal_document(rehearsal: Rehearsal | None) -> dict[str, object]:
    """Make the part of a plan's JSON that says what the rehearsal found; nothing where it is left out."""
    if rehearsal is None:
        document: dict[str, object] = dict.fromkeys(("warning", "recommended", "recommended_attribute_weights"))
        return {"expected": [], **document, "accuracy_lost": {}}
    advice = rehearsal.advice
    return {
        "expected": [
            {
                "like_attributes": each.outcome.family,
                "bounds_too_wide": each.scenario.looseness,
                "largest_class": each.outcome.largest_class,
                "accuracy": each.outcome.accuracy,
                "accuracy_5_percent_below": each.outcome.low,
                "releases": len(each.outcome.accuracies),
                "below_majority": each.worse,
            }
            for each in rehearsal.expectations
        ],
        "warning": rehearsal.warning,
        "recommended": advice.recommended,
        "recommended_attribute_weights": advice.recommended_weights,
        "accuracy_lost": {one.mechanism: one.lost for one in advice.ranked},
    }


def _dependence(expected: Expectation) -> str:
    family = expected.outcome.family
    return "independent" if family == 1 else f"in families of {family}"


def _bounds(expected: Expectation) -> str:
    looseness = expected.scenario.looseness
    return "tight" if looseness == 1 else f"{looseness} times too wide"


def _circumstances(expected: Expectation) -> str:
    outcome, looseness = expected.outcome, expected.scenario.looseness
    parts = [f"the largest class has {outcome.largest_class:.0%} of the rows"]
    if outcome.family > 1:
        parts.insert(0, f"attributes come in families of {outcome.family} that say much the same")
    if looseness > 1:
        parts.append(f"bounds are {looseness} times too wide")
    return ", ".join(parts[:-1]) + " and " * (len(parts) > 1) + parts[-1]


def _expected_row(expected: Expectation) -> list[object]:
    outcome = expected.outcome
    figures = (outcome.largest_class, outcome.accuracy, outcome.low)
    verdict = "worse than the largest class" if expected.worse else ""
    return [_dependence(expected), _bounds(expected), *(f"{figure:.3f}" for figure in figures), verdict]


def _row(prospect: Prospect) -> list[object]:
    """Cells of a prospect: every figure on tight bounds, then on wide ones if there are numeric attributes."""
    columns = [
        [
            *("" if error is None else f"{error:.2g}" for error in (errors.mean, errors.variance, errors.ratio)),
            f"{outcome.accuracy:.3f}",
        ]
        for errors, outcome in zip(prospect.errors, prospect.outcomes, strict=True)
    ]
    tight, wide = columns[0], columns[-1]
    return [prospect.mechanism, prospect.weights, *(cell for pair in zip(tight, wide, strict=True) for cell in pair)]
