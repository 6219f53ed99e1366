"""``dpnb-columnar plan``: the queries of a release, their costs and expected errors, before any row is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from dpnb_columnar.budget import Neighbours
from dpnb_columnar.budget.costs import numbers
from dpnb_columnar.cli import budget_options, options
from dpnb_columnar.cli.console import print_line, stage
from dpnb_columnar.cli.tables import (
    print_composition,
    print_missing,
    print_wide_ranges,
    public_facts,
    unit_facts,
    weights_line,
    wide_ranges_edit,
)
from dpnb_columnar.domain.numbers import number_text

if TYPE_CHECKING:
    from dpnb_columnar.cli.advice_tables import Rehearsal
    from dpnb_columnar.counting.find_domain import ResolvedDomain
    from dpnb_columnar.mechanisms.plan import ReleasePlan
    from dpnb_columnar.mechanisms.wide_ranges import WideRange

LARGEST_CLASS = 10**12


def command(
    data: options.Data,
    dataset: options.Dataset = None,
    catalogue: options.Catalogue = None,
    label: options.Label = None,
    unit: options.Unit = None,
    unit_rows: options.UnitRows = None,
    epsilon: options.OptionalEpsilon = None,
    delta: options.Delta = "0",
    declared_rows: Annotated[
        int | None,
        typer.Option(
            help="Public number of rows, such as the codebook's: for the advice, for too wide ranges, and the n "
            "of --delta 1/n or 1/n^2. It is never counted.",
            metavar="INTEGER",
            show_default="the entry's in datasets.toml; but for --delta, else the first of --rows in each class",
        ),
    ] = None,
    mechanism: options.Mechanism = "smooth",
    noise: options.Noise = None,
    attribute_weights: options.AttributeWeights = "auto",
    neighbours: options.Relation = Neighbours.ADD_REMOVE,
    shares: options.Shares = None,
    weights: options.FormerShares = None,
    rows: Annotated[
        list[int] | None,
        typer.Option(
            min=100,
            max=LARGEST_CLASS,
            help="Rows per class to expect errors for; repeat for more.",
            metavar="INTEGER",
            show_default="10000, 1000000",
        ),
    ] = None,
    class_shares: Annotated[
        str | None,
        typer.Option(
            help="Published shares of the classes, in the domain's order, such as 94:6: for the rehearsal. They are "
            "never counted.",
            metavar="A:B:...",
            show_default="3:1, and 15:1",
        ),
    ] = None,
    no_advice: Annotated[
        bool, typer.Option("--no-advice", help="Leave the rehearsal out; it takes a second or so per ten attributes.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Show what would be released, at which cost and error.

    Opens no row: the domain is read from the files' metadata or from
    datasets.toml, and no number of rows is looked at. Errors are what 95 % of
    the noise stays below, for classes of --rows rows whose values fill the
    middle tenth of the declared range evenly.

    Names attributes whose declared range is so wide that noise hides what they
    say, with the command that narrows it. Without a label, two classes stand in
    for it, and every column is planned as an attribute.

    Rehearses the release on made-up rows: attributes that are independent or
    come in families, as a census has them, unequal classes, tight and wide
    bounds. Says how accurate models are expected to be, warns where they are
    worse than always predicting the largest class, and advises which mechanism
    and attribute weights to choose. It depends on nothing but domain, budget,
    the number of rows and --class-shares.

    \b
    Examples:
      dpnb-columnar plan census.parquet
      dpnb-columnar plan census.parquet --epsilon 0.1 --rows 50000
      dpnb-columnar plan census.parquet --declared-rows 250000 --class-shares 94:6
    """
    from dpnb_columnar.cli.advice_tables import rehearse
    from dpnb_columnar.counting.find_domain import find_domain_to_plan
    from dpnb_columnar.mechanisms.expected_error import expected_error
    from dpnb_columnar.mechanisms.plan import plan
    from dpnb_columnar.mechanisms.public_sample import weights_chosen
    from dpnb_columnar.mechanisms.wide_ranges import wide_ranges
    from dpnb_columnar.rows.parquet import open_parquet, resolve_files

    files = resolve_files(data)
    resolved = find_domain_to_plan(files, dataset, label, catalogue).by_unit(unit, unit_rows)
    known = budget_options.declared_row_count(resolved, declared_rows)
    spent, division = budget_options.effective_epsilon(resolved, epsilon), budget_options.shares_typed(shares, weights)
    budget = budget_options.parse_budget(spent, delta, neighbours, division, known)
    open_parquet(files, resolved.domain)
    sizes = rows or [options.USUAL_SIZE, 1_000_000]
    chosen = weights_chosen(attribute_weights, resolved.domain, mechanism, files, label)
    planned = plan(resolved.domain, budget, mechanism, noise, chosen, None if known is None else known.rows)
    classes = len(resolved.domain.classes)
    assumed = known or budget_options.DeclaredRowCount(sizes[0] * classes, "--rows in each class")
    outlook = _Outlook(resolved, planned, sizes, assumed, known, quote(str(files[0])) + _named(dataset))
    if planned.mechanism.private:
        outlook.errors = [[expected_error(resolved.domain, share, size) for size in sizes] for share in planned.shares]
        outlook.wide = wide_ranges(planned, outlook.class_rows)
        if not no_advice:
            with stage("rehearsing"):
                outlook.rehearsal = rehearse(planned, assumed.rows, class_shares)
    if json:
        print_line(_as_json(outlook))
    else:
        _print(outlook, budget_options.rule_line(delta, known))


@dataclass
class _Outlook:
    """What a plan says. Public facts alone.

    Attributes:
        resolved: The domain, perhaps with classes that stand in for a label.
        plan: The plan of the release.
        sizes: Rows of a class to expect errors for.
        assumed: Declared number of all rows, or the first size in each class.
        known: Declared number of all rows, if there is one.
        source: Arguments of ``domain edit`` that name the domain.
        errors: Per share, the expected error for each size; none without privacy.
        wide: Attributes whose declared range is too wide.
        rehearsal: What a rehearsal says, if wanted.
    """

    resolved: ResolvedDomain
    plan: ReleasePlan
    sizes: Sequence[int]
    assumed: budget_options.DeclaredRowCount
    known: budget_options.DeclaredRowCount | None
    source: str
    errors: Sequence[Sequence[float]] = ()
    wide: Sequence[WideRange] = ()
    rehearsal: Rehearsal | None = None

    @property
    def class_rows(self) -> int:
        """Rows of a class of average size."""
        return max(self.assumed.rows // len(self.resolved.domain.classes), 1)


def _named(dataset: str | None) -> str:
    return "" if dataset is None else f" --dataset {quote(dataset)}"


def _print(outlook: _Outlook, rule: str | None) -> None:
    """Print a plan for people."""
    from dpnb_columnar.cli.unit_tables import print_units

    resolved, planned = outlook.resolved, outlook.plan
    print_line(f"domain {resolved.domain.name}, from {resolved.origin}")
    if not resolved.label_chosen:
        print_line(
            "no label is chosen yet: planned for two classes, every column an attribute; to plan for yours, name "
            'what to predict, such as --label "COLUMN > 1000"'
        )
    if rule:
        print_line(rule)
    if not planned.mechanism.private:
        print_line("mechanism none: NOT PRIVATE, nothing is protected and nothing is spent")
        return
    print_line(budget_options.budget_line(planned))
    if planned.automatic:
        print_line(_automatic_line(outlook))
    print_line()
    print_units(planned)
    cells = [[f"{error:.3g}" for error in row] for row in outlook.errors]
    print_composition(planned.shares, [f"error at {size} rows" for size in outlook.sizes], cells)
    print_line()
    print_line("a count's error is in rows, a variance's in squared units")
    if planned.rounds:
        print_line("a weight gradient's error is in units of its bound, which the released tables decide")
    if planned.mechanism.name in {"histogram", "adaptive-histogram"}:
        print_line(
            "a histogram has as many bins as its released rows are good for: its values are the most there may be"
        )
    print_missing(planned)
    if planned.attribute_weights is not None:
        print_line(weights_line(planned))
    if outlook.wide:
        print_line()
        epsilon = number_text(planned.budget.epsilon)
        circumstances = f"at {outlook.class_rows} rows in each class and epsilon {epsilon}"
        print_wide_ranges(outlook.wide, circumstances, outlook.source)
    if outlook.rehearsal is not None:
        from dpnb_columnar.cli.advice_tables import print_rehearsal

        print_line()
        print_rehearsal(outlook.rehearsal, outlook.assumed.origin)


def _automatic_line(outlook: _Outlook) -> str:
    """Say which attribute weights auto chose, and from what."""
    planned, known = outlook.plan, outlook.known
    rows = "no declared number of rows" if known is None else f"{known.rows} rows declared by {known.origin}"
    return (
        f"attribute weights {planned.attribute_weights or 'none'}: chosen by auto for {len(planned.domain.attributes)} "
        f"attributes, {rows}, and epsilon {number_text(planned.budget.epsilon)}"
    )


def _as_json(outlook: _Outlook) -> str:
    """Write a plan as JSON; numbers that must be exact are texts."""
    from json import dumps

    from dpnb_columnar.cli.advice_tables import rehearsal_document

    resolved, planned = outlook.resolved, outlook.plan
    budget = planned.budget
    document = {
        "domain": resolved.domain.name,
        "origin": resolved.origin,
        "label_chosen": resolved.label_chosen,
        "classes": list(resolved.domain.classes) if resolved.label_chosen else len(resolved.domain.classes),
        "epsilon": number_text(budget.epsilon),
        "delta": number_text(budget.delta),
        "neighbours": budget.neighbours.value,
        "unit": unit_facts(planned.domain.unit),
        "mechanism": planned.mechanism.name,
        "attribute_weights": planned.attribute_weights or "none",
        "public": None if planned.public is None else public_facts(planned.public),
        "private": planned.mechanism.private,
        "rows": outlook.assumed.rows,
        "queries": [
            {
                "query": share.query,
                "attribute": share.attribute,
                "values": share.values,
                "cost": {name: number_text(number) for name, number in numbers(share.cost).items()},
                "noise": share.noise,
                "errors": {str(size): error for size, error in zip(outlook.sizes, errors, strict=True)},
            }
            for share, errors in zip(planned.shares if outlook.errors else (), outlook.errors, strict=True)
        ],
        "missing": {one.name: one.missing and one.missing.value for one in planned.domain.attributes},
        "wide_ranges": [
            {
                "attribute": one.attribute.name,
                "hidden": one.hidden,
                "suggested": [number_text(bound) for bound in one.suggested],
            }
            for one in outlook.wide
        ],
        "edit": wide_ranges_edit(outlook.wide, outlook.source) if outlook.wide else None,
        **rehearsal_document(outlook.rehearsal),
    }
    return dumps(document, ensure_ascii=False, indent=2)
