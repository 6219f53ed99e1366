"""The outlook of a planned release: what it costs, how wrong it is expected to be, what would be better.

Public facts alone. What rehearses releases is imported where one is rehearsed: ``train`` and ``show`` do without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from dpnb_columnar.core.budget import Pure, Share, total
from dpnb_columnar.core.budget.amounts import DeclaredRowCount
from dpnb_columnar.core.budget.composition import budget_part, composition_table
from dpnb_columnar.core.budget.costs import cost_parameters
from dpnb_columnar.core.measurement import PRESENCE
from dpnb_columnar.domain import Missing, Unit
from dpnb_columnar.domain.declared_domain import Declaration, Titles, weight_document
from dpnb_columnar.domain.domain_text import (
    html_fragment,
    label_relatives,
    predicts,
    table_lines,
    weighs_by,
    whose_rows,
    with_title,
)
from dpnb_columnar.domain.names import named, number_text
from dpnb_columnar.errors import command, option
from dpnb_columnar.model.document import DECLARED_PUBLIC
from dpnb_columnar.model.guarantee_text import relation_text, scope
from dpnb_columnar.model.parameters import FEWEST_TEMPERED, tempered_weight
from dpnb_columnar.runtime.row_progress import track_work

if TYPE_CHECKING:
    from dpnb_columnar.advice.expected_error import SmallCells, WideRange
    from dpnb_columnar.advice.rehearsal import Advice, Expectation, Prospect, Remedy
    from dpnb_columnar.model.parameters import PublicSource
    from dpnb_columnar.releases.attribute_weights import PublicWeights
    from dpnb_columnar.releases.model_plan import ReleasePlan


EFFECTS = {
    None: "leaves it out of the row (undeclared, for attributes that few rows lack)",
    Missing.SKIP: "leaves it out of the row",
    Missing.CATEGORY: "is a category of its own",
    Missing.ROW: "drops the whole row",
}
"""What a missing value does, by its declared treatment."""


def budget_line(plan: ReleasePlan) -> str:
    """Return one line on the budget that a release spends, and its mechanism."""
    budget = plan.budget
    delta = f", delta {number_text(budget.delta)}" if budget.delta else ""
    relation, mechanism = budget.neighbours, plan.mechanism.name
    mechanism += " (auto)" if plan.mechanism_reason is not None else ""
    weights = "" if plan.attribute_weights is None else f", attribute weights {plan.attribute_weights}"
    if plan.reserved is not None:
        weights += " (left for a second release)"
    weights += " (auto)" if weights and plan.automatic else ""
    unit = plan.domain.unit
    of = f"{relation} neighbours" if unit is None else f"for {relation_text(relation, unit)}"
    return f"epsilon {number_text(budget.epsilon)}{delta} ({of}), mechanism {mechanism}{weights}"


def mechanism_line(plan: ReleasePlan) -> str:
    """Say which mechanism auto took, and why."""
    return f"mechanism {plan.mechanism.name}: chosen by auto, since {plan.mechanism_reason}"


def composition_lines(
    shares: Sequence[Share],
    header: Sequence[str] = (),
    cells: Sequence[Sequence[str]] | None = None,
    titles: Titles = MappingProxyType({}),
) -> Iterator[str]:
    """Yield one line per share, with further columns, and the sum."""
    names, rows = composition_table(shares)
    place = names.index("attribute")
    for row in rows:
        row[place] = with_title(str(row[place]), titles)
    further = [()] * len(rows) if cells is None else cells
    yield from table_lines([*names, *header], [[*row, *more] for row, more in zip(rows, further, strict=True)])
    spent = [f"{name} {number_text(number)}" for name, number in cost_parameters(total(shares)).items()]
    yield f"  sum of the shares: {', '.join(spent)}"


def composition_facts(shares: Sequence[Share]) -> list[dict[str, object]]:
    """Return what ``composition_lines`` prints as one record per share, amounts exact, as text."""
    names, rows = composition_table(shares)
    return [dict(zip(names, row, strict=True)) for row in rows]


def missing_lines(plan: ReleasePlan) -> Iterator[str]:
    """Yield one line per treatment of missing values: the attributes that have it, what it does, and its cost."""
    for treatment, effect in EFFECTS.items():
        names = [attribute.name for attribute in plan.domain.attributes if attribute.missing is treatment]
        parts = {s.attribute: budget_part(s.cost, plan.total) for s in plan.shares if s.query == PRESENCE}
        costly, free = ([name for name in names if (name in parts) is costs] for costs in (True, False))
        if costly:
            part = sum(parts[name] for name in costly)
            counted = f"{part:.1%} of the budget, to count the values present"
            others = f"; of {named(free)}: free" if free else ""
            yield f"a missing value of {named(costly)} {effect}: {counted}{others}"
        elif free:
            yield f"a missing value of {named(free)} {effect}: free"


def hidden_ranges(wide: Sequence[WideRange], circumstances: str) -> str:
    """Say which attributes a release would say nothing about."""
    hidden = ", ".join(f"{one.attribute.name} (up to {float(f'{one.hidden:.2g}'):.0f})" for one in wide)
    return (
        f"declared too widely: {circumstances}, noise hides all differences in {hidden}; narrow the range by a public "
        "source, such as a published table, or leave the attribute out"
    )


def small_cells_line(small: SmallCells, class_rows: int) -> str:
    """Say that noise hides what the categories of an attribute have on average, and what helps."""
    return (
        f"too many categories: at {class_rows} rows in each class, the {small.categories} categories of "
        f"{small.attribute} have {small.rows:.3g} rows each on average, and noise of up to {small.error:.3g} rows; "
        "merge values with groups, such as places into regions, or leave the attribute out"
    )


IN_ITS_DECLARATION = "in its declaration"
"""Where a domain is changed that no file is known to declare, as in Python."""


def narrower_ranges(wide: Sequence[WideRange]) -> str:
    """Write narrower ranges of attributes as a domain declares them."""
    return ", ".join(
        f"{one.attribute.name} = {{ lower = {number_text(one.suggested[0])}, upper = {number_text(one.suggested[1])} }}"
        for one in wide
    )


def weights_line(plan: ReleasePlan) -> str:
    """Say what the attributes will weigh, and why."""
    if plan.public is not None:
        return public_line(plan.public)
    count = len(plan.domain.attributes)
    if plan.rounds:
        spent = sum(budget_part(share.cost, plan.total) for share in (plan.calibration, *plan.rounds) if share)
        return (
            f"a weight of each of {count} attributes and an intercept are fitted in {len(plan.rounds)} further passes "
            f"over the rows, and how probabilities follow from the score in one more: {spent:.1%} of the budget"
        )
    if plan.calibration is not None:
        return (
            f"how probabilities follow from the score, in which each of {count} attributes weighs "
            f"{tempered_weight(count):.3g}, is fitted in a second pass over the rows, given the first: "
            f"{budget_part(plan.calibration.cost, plan.total):.1%} of the budget"
        )
    reason = f"since correlated ones say the same twice ({count}^(-1/4))"
    if count < FEWEST_TEMPERED:
        reason = f"as in ordinary naive Bayes, since they are fewer than {FEWEST_TEMPERED}"
    return f"each of {count} attributes weighs {tempered_weight(count):.3g}, {reason}: free"


def source_text(source: PublicSource) -> str:
    """Return what is known of a public file, and which attributes it leaves out."""
    left_out = f"; left out, since they tell nothing: {named(source.left_out)}" if source.left_out else ""
    return f"{source.name} (SHA-256 {source.digest}, {DECLARED_PUBLIC}){left_out}"


def public_line(public: PublicWeights) -> str:
    """Return one line on the weights that a public file gives."""
    weights = ", ".join(f"{name} {weight:g}" for name, weight in public.weights.items())
    return f"weights and shares, free, from {source_text(public.source)}; weights: {weights}"


def prior_line(domain: Declaration) -> str:
    """Say what the prior of a model is made of, where rows have a weight."""
    assert domain.weight is not None
    return f"prior: noisy sums of {weighs_by(domain.weight)}; all else is of unweighted rows"


def unit_facts(unit: Unit | None) -> dict[str, object] | None:
    """Return a unit as facts, for a log and for JSON; None where the guarantee is for one row."""
    if unit is None:
        return None
    return {"columns": list(unit.columns), "rows": unit.rows}


def public_facts(public: PublicWeights) -> dict[str, object]:
    """Return the same as facts, for a log and for JSON."""
    source = public.source
    return {
        "name": source.name,
        "sha256": source.digest,
        "left_out": list(source.left_out),
        "weights": dict(public.weights),
        "shift": public.shift,
    }


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
        place: Where the domain is declared, for what is to be changed in it.
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
    place: str

    @property
    def small(self) -> Sequence[SmallCells]:
        """Tables whose noise hides what a category has on average."""
        from dpnb_columnar.advice.expected_error import small_cells

        return small_cells(self.plan.domain, self.plan.shares, self.class_rows) if self.plan.mechanism.private else ()

    @property
    def class_rows(self) -> int:
        """Rows of a class of average size."""
        return max(self.assumed.rows // len(self.plan.domain.classes), 1)

    def __repr__(self) -> str:
        return "\n".join(outlook_lines(self))

    def _repr_html_(self) -> str:
        """Show the outlook in a notebook."""
        return html_fragment(outlook_lines(self))


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a rehearsal says; ``worst`` is None where no scenario is below the largest class. Public facts alone."""

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
        found = f"{_below(self.worst)}; "
        helpful = [f"{self._options(remedy)} ({remedy.accuracy:.3f})" for remedy in self.remedies]
        return found + ("to be better: " + ", or ".join(helpful) if helpful else "nothing that was rehearsed is better")

    def _options(self, remedy: Remedy) -> str:
        options = []
        if remedy.mechanism != self.plan.mechanism.name:
            options.append(option("mechanism", remedy.mechanism))
        if remedy.weights != (self.plan.attribute_weights or "none"):
            options.append(option("attribute-weights", remedy.weights))
        if remedy.epsilon != self.plan.budget.epsilon:
            options.append(option("epsilon", number_text(remedy.epsilon)))
        return " ".join(options)


def rehearse(plan: ReleasePlan, rows: int, class_shares: str | None, known: int | None) -> Rehearsal:
    """Rehearse a planned release and the mechanisms to choose among."""
    from dpnb_columnar.advice.population import parse_class_sizes
    from dpnb_columnar.advice.rehearsal import (
        advise,
        expect,
        rehearsals,
        releases,
        releases_to_advise,
        remedies,
        what_auto_takes,
        worst,
    )

    automatic = what_auto_takes(plan.domain, plan.budget, known, plan.noise if plan.budget.delta else None)
    if plan.mechanism_reason is not None:
        automatic = replace(automatic, mechanism=plan.mechanism.name)
    sizes = None if class_shares is None else parse_class_sizes(class_shares, plan.domain)
    domain = plan.domain
    # What a public file says of the attributes' dependence holds for real rows, not for made-up ones.
    expected = len(rehearsals(domain, sizes)) * releases(domain) if plan.public is None else 0
    with track_work(expected + releases_to_advise(domain, sizes, automatic), "releases"):
        expectations = expect(plan, rows, sizes) if plan.public is None else ()
        advice = advise(domain, plan.budget, rows, sizes, automatic)
    below = worst(expectations)
    helpful = [] if below is None else remedies(plan, below, rows, automatic.mechanism)
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
    place: str = IN_ITS_DECLARATION,
    class_shares: str | None = None,
    rehearsed: bool = True,
) -> Outlook:
    """Look ahead to a planned release."""
    from dpnb_columnar.advice.expected_error import USUAL_SIZES, expected_error, wide_ranges

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
        rehearsal=rehearse(plan, assumed.rows, class_shares, None if known is None else known.rows)
        if private and rehearsed
        else None,
        place=place,
    )


def _below(expected: Expectation) -> str:
    outcome = expected.outcome
    return (
        f"expected to be worse than always predicting the largest class where {circumstances(expected)}: "
        f"accuracy {outcome.accuracy:.3f} in place of {outcome.largest_class:.3f}"
    )


def below_line(expected: Expectation) -> str:
    """Say where a release is expected to be worse than always predicting the largest class."""
    return f"{_below(expected)}, on invented rows; see {command('plan')} for what would be better"


def circumstances(expected: Expectation) -> str:
    """Say of which made-up rows a scenario is."""
    outcome, looseness = expected.outcome, expected.scenario.looseness
    parts = [f"the largest class has {outcome.largest_class:.0%} of the rows"]
    if outcome.family > 1:
        parts.insert(0, f"attributes come in families of {outcome.family} that say much the same")
    if looseness > 1:
        parts.append(f"bounds are {looseness} times too wide")
    return ", ".join(parts[:-1]) + " and " * (len(parts) > 1) + parts[-1]


FIGURES = ("mean error", "variance error", "ratio error", "accuracy")
ALSO_NAMED = 2
"""Number of mechanisms named beside the recommended one."""

UNIT_SIZES = (1, 2, 5)
"""Numbers of rows of units whose guarantees are shown."""

USUAL_ROWS = (1, 2)
"""Numbers of rows of a unit that may count, beside the planned one."""


def outlook_lines(outlook: Outlook) -> Iterator[str]:
    """Yield the lines of an outlook for people."""
    from dpnb_columnar.advice.expected_error import asked_table, unit_remark
    from dpnb_columnar.releases.attribute_weights import NUMERIC_CELLS

    planned = outlook.plan
    yield f"domain {planned.domain.name}, from {outlook.origin}"
    if outlook.label_chosen:
        yield predicts(planned.domain)
        yield from (f"{heading}: {text}" for heading, text in whose_rows(planned.domain))
    else:
        yield (
            "no label is chosen yet: planned for two classes, every column an attribute; to plan for yours, name "
            f'what to predict, such as {option("label")} "COLUMN > 1000"'
        )
    if outlook.rule is not None and outlook.known is not None:
        yield f"delta {outlook.rule}, n = {outlook.known.rows} from {outlook.known.origin}"
    if not planned.mechanism.private:
        yield "mechanism none: NOT PRIVATE, nothing is protected and nothing is spent"
        return
    yield budget_line(planned)
    if planned.domain.weight is not None:
        yield prior_line(planned.domain)
    elif (available := planned.domain.available_weight) is not None:
        by = f"{option('weight')} {named([available.column])}"
        yield f"prior: of rows; with {by} of noisy sums of {weighs_by(available)}"
    if planned.mechanism_reason is not None:
        yield mechanism_line(planned)
    if planned.automatic:
        known = outlook.known
        rows = "no declared number of rows" if known is None else f"{known.rows} rows declared by {known.origin}"
        yield (
            f"attribute weights {planned.attribute_weights or 'none'}: chosen by auto for "
            f"{len(planned.domain.attributes)} attributes, {rows}, and epsilon {number_text(planned.budget.epsilon)}"
        )
    yield ""
    yield from _unit_lines(planned)
    yield from table_lines(*asked_table(planned.domain, planned.shares))
    if remark := unit_remark(planned.domain):
        yield remark
    yield ""
    cells = [[f"{error:.3g}" for error in row] for row in outlook.errors]
    header = [f"error at {size} rows" for size in outlook.sizes]
    yield from composition_lines(planned.shares, header, cells, planned.domain.titles)
    yield ""
    if planned.by_size and planned.public is None:
        numeric = f", of which a numeric one has at most {NUMERIC_CELLS}" if planned.released.numeric else ""
        size = "an attribute's part is in proportion to the cube root of the number of its cells"
        yield f"shares by size: {size}{numeric}"
    yield "error: what 95% of the noise stays below, in classes of so many rows; that of variances is squared"
    if planned.domain.weight is not None:
        yield f"the error of a weighted class count is in units of {named([planned.domain.weight.column])}"
    if planned.rounds:
        yield "a weight gradient's error is in units of its bound, which the released tables decide"
    if planned.mechanism.binned:
        yield "a histogram has as many bins as its released rows are good for: its values are the most there may be"
    yield from scope(planned.domain)
    yield from missing_lines(planned)
    if planned.attribute_weights is not None:
        yield weights_line(planned)
    relatives = label_relatives(planned.domain) if outlook.label_chosen else None
    if relatives is not None:
        yield ""
        yield f"{relatives}; to leave them out, take {named(relatives.names)} out of attributes {outlook.place}"
    if outlook.wide:
        yield ""
        epsilon = number_text(planned.budget.epsilon)
        found_at = f"at {outlook.class_rows} rows in each class and epsilon {epsilon}"
        yield f"{hidden_ranges(outlook.wide, found_at)}: {narrower(outlook)}"
    for one in outlook.small:
        yield ""
        yield small_cells_line(one, outlook.class_rows)
    if outlook.rehearsal is not None:
        yield ""
        yield from _rehearsal_lines(outlook.rehearsal, outlook)


def _unit_lines(plan: ReleasePlan) -> Iterator[str]:
    """Yield both guarantees for whole units; nothing if the data declare no units, or noise is impure."""
    from dpnb_columnar.advice.expected_error import expected_error

    unit = plan.domain.unit
    columns = plan.domain.available_unit if unit is None else unit.columns
    spent, counts = plan.total, plan.shares[0]
    if not columns or not isinstance(spent, Pure) or not isinstance(counts.cost, Pure):
        return
    rows: list[list[str]] = []
    for most in (None, *sorted({*USUAL_ROWS, *(() if unit is None else [unit.rows])})):
        row_cost = Pure(counts.cost.epsilon / (plan.budget.neighbours.rows * (most or 1)))
        error = expected_error(plan.domain, replace(counts, row_cost=row_cost), 1)
        each = [number_text(spent.epsilon * (size if most is None else 1)) for size in UNIT_SIZES]
        planned = " (planned)" * (most == (None if unit is None else unit.rows))
        counted = "all" if most is None else f"at most {most} of each unit"
        protected = "one row" if most is None else f"one unit, {most} row{'s' * (most > 1)}"
        rows.append([protected + planned, counted, *each, f"{error:.3g}"])
    yield f"guarantees for whole units of {named(columns)}, such as households, by what counts ({option('unit-rows')}):"
    yield ""
    sizes = [f"epsilon of a unit of {size}" for size in UNIT_SIZES]
    yield from table_lines(["guarantee is for", "rows that count", *sizes, "error of a class count"], rows)
    yield ""


def narrower(outlook: Outlook) -> str | None:
    """Say which ranges to declare in place of those that are too wide; None where none is."""
    return f"declare {narrower_ranges(outlook.wide)} {outlook.place}" if outlook.wide else None


def _rehearsal_lines(rehearsal: Rehearsal, outlook: Outlook) -> Iterator[str]:
    """Yield what to expect, a warning if it is bad, and the recommended mechanism."""
    from dpnb_columnar.advice.rehearsal import WIDE

    yield f"expected on {rehearsal.advice.rows} made-up rows of this domain ({outlook.assumed.origin}):"
    yield ""
    if rehearsal.expectations:
        yield from table_lines(
            ["attributes", "bounds", "largest class", "accuracy", "5 % below", ""],
            [_expected_row(each) for each in rehearsal.expectations],
        )
        yield ""
    if rehearsal.warning:
        yield rehearsal.warning
        yield ""
    yield "rehearsed, each mechanism with its default noise and the attribute weights that suit it best:"
    yield ""
    header = ["mechanism", "attribute weights", *(column for figure in FIGURES for column in (figure, "wide"))]
    best, *others = rehearsal.advice.ranked
    automatic = rehearsal.advice.automatic.mechanism
    yield from table_lines(header, [_row(prospect) for prospect in (best, *others)])
    yield ""
    beside = ", ".join(f"{other.mechanism} {other.accuracy:.3f}" for other in others[:ALSO_NAMED])
    worse = f"; auto takes {automatic}, which is expected to be worse than the largest class"
    yield (
        f"recommended: {best.mechanism} with attribute weights {best.weights} (accuracy on average {best.accuracy:.3f}"
        f"{beside and '; ' + beside}){'' if best.mechanism == automatic else worse}"
    )
    yield f"wide: the same with bounds {WIDE} times too wide. Errors: of means in standard deviations of a class, of"
    yield "logarithms of variances and of likelihood ratios, compared with a model without noise. They hold for the"
    yield "made-up rows; the real ones were not read"


def outlook_document(outlook: Outlook) -> dict[str, object]:
    """Make a document of an outlook; numbers that must be exact are texts."""
    from dpnb_columnar.advice.expected_error import rows_asked

    planned = outlook.plan
    domain, budget = planned.domain, planned.budget
    relatives = label_relatives(domain)
    return {
        "domain": domain.name,
        "origin": outlook.origin,
        "label_chosen": outlook.label_chosen,
        "label_relatives": list(relatives.names) if outlook.label_chosen and relatives is not None else [],
        "classes": list(domain.classes) if outlook.label_chosen else len(domain.classes),
        "epsilon": number_text(budget.epsilon),
        "delta": number_text(budget.delta),
        "neighbours": budget.neighbours.value,
        "unit": unit_facts(domain.unit),
        "weight": None if domain.weight is None else weight_document(domain.weight),
        "mechanism": planned.mechanism.name,
        "mechanism_reason": planned.mechanism_reason,
        "attribute_weights": planned.attribute_weights or "none",
        "shares": planned.shares_rule,
        "public": None if planned.public is None else public_facts(planned.public),
        "private": planned.mechanism.private,
        "rows": outlook.assumed.rows,
        "asked": [
            {
                "of_the_rows": asked.query.words,
                "passes": asked.passes,
                "numbers": asked.query.cells,
                "one_row": asked.query.parallel.reason,
                "rows_of_a_unit": 1 if domain.unit is None else domain.unit.rows,
                "part_of_budget": asked.part,
            }
            for asked in (rows_asked(domain, planned.shares) if planned.mechanism.private else ())
        ],
        "queries": [
            {
                "query": share.query,
                "attribute": share.attribute,
                "values": share.values,
                "cost": {name: number_text(number) for name, number in cost_parameters(share.cost).items()},
                "noise": share.noise,
                "errors": {str(size): error for size, error in zip(outlook.sizes, errors, strict=True)},
            }
            for share, errors in zip(planned.shares if outlook.errors else (), outlook.errors, strict=True)
        ],
        "missing": {one.name: one.missing and one.missing.value for one in domain.attributes},
        "wide_ranges": [
            {
                "attribute": one.attribute.name,
                "hidden": one.hidden,
                "suggested": [number_text(bound) for bound in one.suggested],
            }
            for one in outlook.wide
        ],
        "small_cells": [asdict(one) for one in outlook.small],
        "edit": narrower(outlook),
        **_rehearsal_document(outlook.rehearsal),
    }


def _rehearsal_document(rehearsal: Rehearsal | None) -> dict[str, object]:
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
                "below_majority": each.outcome.worse,
            }
            for each in rehearsal.expectations
        ],
        "warning": rehearsal.warning,
        "recommended": advice.best.mechanism,
        "recommended_attribute_weights": advice.best.weights,
        "accuracy_lost": {one.mechanism: one.lost for one in advice.ranked},
    }


def _expected_row(expected: Expectation) -> list[object]:
    outcome, looseness = expected.outcome, expected.scenario.looseness
    dependence = "independent" if outcome.family == 1 else f"in families of {outcome.family}"
    bounds = "tight" if looseness == 1 else f"{looseness} times too wide"
    figures = (outcome.largest_class, outcome.accuracy, outcome.low)
    verdict = "worse than the largest class" if outcome.worse else ""
    return [dependence, bounds, *(f"{figure:.3f}" for figure in figures), verdict]


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
