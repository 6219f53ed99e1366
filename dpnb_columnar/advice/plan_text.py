"""What a planned release says of itself: its composition, its weights, what missing values do. Public facts alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from dpnb_columnar.core.budget import Share, total
from dpnb_columnar.core.budget.composition import budget_part, composition_table
from dpnb_columnar.core.budget.costs import cost_parameters
from dpnb_columnar.domain import Missing, Unit
from dpnb_columnar.domain.declared_domain import Declaration, Titles, table_lines, weighs_by, with_title
from dpnb_columnar.domain.names import named
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.model.guarantee import relation_text

if TYPE_CHECKING:
    from dpnb_columnar.advice.expected_error import SmallCells, WideRange
    from dpnb_columnar.core.mechanisms.public_weights import PublicWeights
    from dpnb_columnar.core.mechanisms.release import ReleasePlan
    from dpnb_columnar.model.parameters import PublicSource

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


def asked_lines(plan: ReleasePlan) -> Iterator[str]:
    """Yield one line per query to the rows: what it asks, what one row changes, and its part of the budget."""
    from dpnb_columnar.advice.rows_asked import asked_table, unit_remark

    yield from table_lines(*asked_table(plan.domain, plan.shares))
    if remark := unit_remark(plan.domain):
        yield remark


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


def shares_line(plan: ReleasePlan) -> str:
    """Say how the attributes' part of the budget is divided among them by their size."""
    from dpnb_columnar.core.mechanisms.attribute_shares import NUMERIC_CELLS

    numeric = f", of which a numeric one has at most {NUMERIC_CELLS}" if plan.released.numeric else ""
    return f"shares by size: an attribute's part is in proportion to the cube root of the number of its cells{numeric}"


def missing_lines(plan: ReleasePlan) -> Iterator[str]:
    """Yield one line per treatment of missing values: the attributes that have it, what it does, and its cost."""
    from dpnb_columnar.core.mechanisms.mechanism import PRESENCE

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
    from dpnb_columnar.core.mechanisms.attribute_weights import FEWEST_TEMPERED, tempered_weight

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
    from dpnb_columnar.model.model_document import DECLARED_PUBLIC

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
