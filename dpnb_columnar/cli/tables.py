"""Tables that several verbs print: the composition of a release, its wide ranges, a domain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from dpnb_columnar.budget import Share, total
from dpnb_columnar.budget.composition import composition_table
from dpnb_columnar.budget.costs import PrivacyCost, numbers
from dpnb_columnar.cli.console import print_line, print_table
from dpnb_columnar.domain import Declaration, Domain, Missing, Unit
from dpnb_columnar.domain.description import (
    ATTRIBUTE_HEADER,
    LABEL_HEADER,
    attribute_row,
    condition_text,
    counts_by,
    label_rows,
    missing_text,
    values_text,
)
from dpnb_columnar.domain.names import named
from dpnb_columnar.domain.numbers import number_text

if TYPE_CHECKING:
    from dpnb_columnar.mechanisms.plan import ReleasePlan
    from dpnb_columnar.mechanisms.public_weights import PublicWeights
    from dpnb_columnar.mechanisms.wide_ranges import WideRange
    from dpnb_columnar.model.parameters import PublicSource


def print_composition(shares: Sequence[Share], header: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    """Print one line per share, with further columns, and the sum.

    Args:
        shares: The shares. The budget that one row costs has a column where it differs from the share.
        header: Names of the further columns.
        cells: Their cells, share by share.
    """
    names, rows = composition_table(shares)
    print_table([*names, *header], [[*row, *more] for row, more in zip(rows, cells, strict=True)])
    spent = [f"{name} {number_text(number)}" for name, number in numbers(total(shares)).items()]
    print_line(f"  sum of the shares: {', '.join(spent)}")


EFFECTS = {
    None: "leaves it out of the row (undeclared, for attributes that few rows lack)",
    Missing.SKIP: "leaves it out of the row",
    Missing.CATEGORY: "is a category of its own",
    Missing.ROW: "drops the whole row",
}
"""What a missing value does, by its declared treatment."""


def print_missing(plan: ReleasePlan) -> None:
    """Print one line per treatment of missing values: the attributes that have it, what it does, and its cost."""
    from dpnb_columnar.mechanisms.queries import PRESENCE

    for treatment, effect in EFFECTS.items():
        names = [attribute.name for attribute in plan.domain.attributes if attribute.missing is treatment]
        parts = [budget_part(s.cost, plan.total) for s in plan.shares if s.query == PRESENCE and s.attribute in names]
        if names:
            cost = f"{sum(parts):.1%} of the budget, to count the values present" if parts else "free"
            print_line(f"a missing value of {named(names)} {effect}: {cost}")


def budget_part(cost: PrivacyCost, whole: PrivacyCost) -> float:
    """Divide a share by the sum of all, by their epsilons or their rhos."""
    return float(next(iter(numbers(cost).values())) / next(iter(numbers(whole).values())))


def print_wide_ranges(wide: Sequence[WideRange], circumstances: str, source: str) -> None:
    """Print the attributes that a release would say nothing about, and the command that mends it; nothing for none.

    Args:
        wide: Attributes whose declared range is too wide.
        circumstances: Rows and budget for which they are.
        source: Arguments of ``domain edit`` that name the domain.
    """
    if not wide:
        return
    hidden = ", ".join(f"{one.attribute.name} (up to {float(f'{one.hidden:.2g}'):.0f})" for one in wide)
    edit = wide_ranges_edit(wide, source)
    print_line(
        f"declared too widely: {circumstances}, noise hides all differences in {hidden}; narrow the range by a public "
        f"source, such as a published table, or leave the attribute out: {edit}",
        "wide ranges",
        attributes=[one.attribute.name for one in wide],
        command=edit,
    )


def wide_ranges_edit(wide: Sequence[WideRange], source: str) -> str:
    """Write the command that narrows the ranges of attributes."""
    bounds = [f"{one.attribute.name}={number_text(one.suggested[0])}:{number_text(one.suggested[1])}" for one in wide]
    options = " ".join(f"--bounds {quote(text)}" for text in bounds)
    return f"dpnb-columnar domain edit {source} {options} --output datasets.toml"


def print_domain_table(domain: Declaration, *, every: bool = False) -> None:
    """Print the label and one line per attribute; with ``every``, also every value with its value label."""
    if isinstance(domain, Domain):
        label = domain.label
        source = label.column if label.condition is None else condition_text(domain)
        classes = values_text(label.classes, label.groups, domain.class_labels)
        print_line(f"predicts {source}: {classes}{missing_text(label.missing_values, domain.class_labels)}")
    else:
        print_line('predicts nothing yet: name what to predict, such as --label "COLUMN > 1000"')
    if domain.unit is not None:
        print_line(f"counts by unit: {counts_by(domain.unit)}")
    if domain.available_unit:
        print_line(f"unit available: {named(domain.available_unit)}")
    print_line()
    labels = domain.value_labels
    print_table(ATTRIBUTE_HEADER, [attribute_row(each, labels.get(each.name, {})) for each in domain.attributes])
    if every:
        print_line()
        print_table(LABEL_HEADER, label_rows(domain))


def source_text(source: PublicSource) -> str:
    """Return what is known of a public file, and which attributes it leaves out."""
    from dpnb_columnar.domain.names import named
    from dpnb_columnar.model.model_document import DECLARED_PUBLIC

    left_out = f"; left out, since they tell nothing: {named(source.left_out)}" if source.left_out else ""
    return f"{source.name} (SHA-256 {source.digest}, {DECLARED_PUBLIC}){left_out}"


def public_line(public: PublicWeights) -> str:
    """Return one line on the weights that a public file gives."""
    weights = ", ".join(f"{name} {weight:g}" for name, weight in public.weights.items())
    return f"weights and shares, free, from {source_text(public.source)}; weights: {weights}"


def unit_facts(unit: Unit | None) -> dict[str, object] | None:
    """Return a unit as facts, for a log and for JSON; None where the guarantee is for one row."""
    return None if unit is None else {"columns": list(unit.columns), "rows": unit.rows}


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


def awaits(share: Share, path: Path) -> str:
    """Say what a model that left a share of its budget needs, in one line."""
    amounts = ", ".join(f"{name} {number_text(number)}" for name, number in numbers(share.cost).items())
    return (
        f"its attribute weights wait for a second pass, which costs {amounts} more: count the rows with "
        f"dpnb-columnar aggregate DATA --given {path}, or sql statistics --given {path}, and release the result with "
        f"--given {path}"
    )


def weights_line(plan: ReleasePlan) -> str:
    """Say what the attributes will weigh, and why."""
    from dpnb_columnar.mechanisms.attribute_weights import FEWEST_TEMPERED, LEARNED, tempered_weight

    if plan.public is not None:
        return public_line(plan.public)
    count = len(plan.domain.attributes)
    if plan.rounds:
        spent = sum(budget_part(share.cost, plan.total) for share in (plan.calibration, *plan.rounds) if share)
        each = plan.attribute_weights == LEARNED
        return (
            f"{'a weight of each' if each else 'one weight'} of {count} attributes and an intercept for each class are "
            f"fitted in {len(plan.rounds)} further passes over the rows{', after a calibration' * each}: {spent:.1%} "
            "of the budget"
        )
    if plan.calibration is not None:
        return (
            f"one weight of all {count} attributes and an intercept are fitted in a second pass over the rows, given "
            f"the first: {budget_part(plan.calibration.cost, plan.total):.1%} of the budget"
        )
    reason = f"since correlated ones say the same twice ({count}^(-1/4))"
    if count < FEWEST_TEMPERED:
        reason = f"as in ordinary naive Bayes, since they are fewer than {FEWEST_TEMPERED}"
    return f"each of {count} attributes weighs {tempered_weight(count):.3g}, {reason}: free"
