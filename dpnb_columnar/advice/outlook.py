"""The outlook of a planned release: what it costs, how wrong it is expected to be, what would be better.

Public facts alone: it is a function of domain, budget and public numbers of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpnb_columnar.advice.expectation import Expectation, Remedy, expect, rehearsals, releases, remedies, worst
from dpnb_columnar.advice.population import parse_class_sizes
from dpnb_columnar.advice.recommendation import Advice, advise, releases_to_advise
from dpnb_columnar.budget.amounts import DeclaredRowCount
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.mechanisms.expected_error import (
    USUAL_SIZES,
    SmallCells,
    WideRange,
    expected_error,
    small_cells,
    wide_ranges,
)
from dpnb_columnar.mechanisms.release_plan import ReleasePlan
from dpnb_columnar.runtime.row_progress import working


@dataclass(frozen=True, slots=True, repr=False)
class Outlook:
    """What a planned release would cost, with which errors, and what a rehearsal says. Public facts alone.

    Printed, it says all that.

    Attributes:
        plan: The plan of the release.
        origin: Where its domain is declared.
        label_chosen: Whether the label is one to train for; otherwise two classes stand in for it.
        sizes: Rows of a class to expect errors for.
        errors: Per share, the error that 95 % of the noise stays below, for each size; none without privacy.
        assumed: Number of all rows that the advice is for.
        known: Declared number of all rows, if there is one.
        rule: The rule for delta, if delta is one.
        wide: Attributes whose declared range is too wide.
        rehearsal: What a rehearsal says, if wanted.
        edit: The command that edits the domain; None where the domain is no file's.
    """

    plan: ReleasePlan
    origin: str
    label_chosen: bool
    sizes: Sequence[int]
    errors: Sequence[Sequence[float]]
    assumed: DeclaredRowCount
    known: DeclaredRowCount | None
    rule: str | None
    wide: Sequence[WideRange]
    rehearsal: Rehearsal | None
    edit: str | None

    @property
    def small(self) -> Sequence[SmallCells]:
        """Tables whose noise hides what a category has on average."""
        return small_cells(self.plan.domain, self.plan.shares, self.class_rows) if self.plan.mechanism.private else ()

    @property
    def class_rows(self) -> int:
        """Rows of a class of average size."""
        return max(self.assumed.rows // len(self.plan.domain.classes), 1)

    def __repr__(self) -> str:
        from dpnb_columnar.advice.outlook_text import outlook_lines
        from dpnb_columnar.wording import in_python

        return "\n".join(map(in_python, outlook_lines(self)))


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
            f"expected to be worse than always predicting the largest class where {circumstances(self.worst)}: "
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
    sizes = None if class_shares is None else parse_class_sizes(class_shares, plan.domain)
    domain = plan.domain
    # What a public file says of the attributes' dependence holds for real rows, not for made-up ones.
    expected = len(rehearsals(domain, sizes)) * releases(domain) if plan.public is None else 0
    with working(expected + releases_to_advise(domain, sizes), "releases"):
        expectations = expect(plan, rows, sizes) if plan.public is None else ()
        advice = advise(domain, plan.budget, rows, sizes)
    below = worst(expectations)
    helpful = [] if below is None else remedies(plan, below, rows)
    return Rehearsal(plan, expectations, below, helpful, advice)


def outlook(
    plan: ReleasePlan,
    origin: str,
    sizes: Sequence[int] | None,
    known: DeclaredRowCount | None,
    *,
    sizes_from: str,
    label_chosen: bool = True,
    rule: str | None = None,
    edit: str | None = None,
    class_shares: str | None = None,
    rehearsed: bool = True,
) -> Outlook:
    """Look ahead to a planned release.

    Args:
        plan: The release.
        origin: Where its domain is declared.
        sizes: Rows of a class to expect errors for; the first is assumed of every class where no rows are declared.
            None for the average class of the declared rows, or for ``USUAL_SIZES``.
        known: Declared number of all rows, if there is one.
        sizes_from: Where the sizes come from, for the text.
        label_chosen: Whether the label is one to train for.
        rule: The rule for delta, if delta is one.
        edit: The command that edits the domain.
        class_shares: Published sizes of the classes, as typed; None where they are not known.
        rehearsed: Whether to rehearse the release, which takes a second or so per ten attributes.

    Raises:
        UsageError: if the class shares are not as many positive numbers as there are classes.
    """
    classes = len(plan.domain.classes)
    if sizes is None:
        sizes = USUAL_SIZES if known is None else (max(known.rows // classes, 1),)
    assumed = known or DeclaredRowCount(sizes[0] * classes, sizes_from)
    private = plan.mechanism.private
    return Outlook(
        plan=plan,
        origin=origin,
        label_chosen=label_chosen,
        sizes=sizes,
        errors=[[expected_error(plan.domain, share, size) for size in sizes] for share in plan.shares * private],
        assumed=assumed,
        known=known,
        rule=rule,
        wide=wide_ranges(plan, max(assumed.rows // classes, 1)) if private else (),
        rehearsal=rehearse(plan, assumed.rows, class_shares) if private and rehearsed else None,
        edit=edit,
    )


def circumstances(expected: Expectation) -> str:
    """Say of which made-up rows a scenario is."""
    outcome, looseness = expected.outcome, expected.scenario.looseness
    parts = [f"the largest class has {outcome.largest_class:.0%} of the rows"]
    if outcome.family > 1:
        parts.insert(0, f"attributes come in families of {outcome.family} that say much the same")
    if looseness > 1:
        parts.append(f"bounds are {looseness} times too wide")
    return ", ".join(parts[:-1]) + " and " * (len(parts) > 1) + parts[-1]
