"""``dpnb-columnar plan``: the queries of a release, their costs and expected errors, before any row is opened."""

from __future__ import annotations

from typing import Annotated

import typer

from dpnb_columnar.budget import Neighbours, is_rule
from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import print_line, stage
from dpnb_columnar.cli.tables import print_composition
from dpnb_columnar.errors import UsageError

LARGEST_CLASS = 10**12


def command(
    data: options.Data,
    dataset: options.Dataset = None,
    catalogue: options.Catalogue = None,
    label: options.Label = None,
    epsilon: options.OptionalEpsilon = None,
    delta: options.Delta = "0",
    declared_rows: Annotated[
        int | None,
        typer.Option(
            help="Public number of rows, such as the codebook's: for the advice, and the n of --delta 1/n or 1/n^2. It "
            "is never counted.",
            metavar="INTEGER",
            show_default="the entry's in datasets.toml; for the advice, else the first of --rows in each class",
        ),
    ] = None,
    mechanism: options.Mechanism = "smooth",
    noise: options.Noise = None,
    neighbours: options.Relation = Neighbours.ADD_REMOVE,
    weights: options.SplitWeights = None,
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
    no_advice: Annotated[
        bool, typer.Option("--no-advice", help="Leave the advice out; it takes a second or so per ten attributes.")
    ] = False,
) -> None:
    """Show what would be released, at which cost and error.

    Opens no row: the domain is read from the files' metadata or from
    datasets.toml, and no number of rows is looked at. Errors are what 95 % of
    the noise stays below, for classes of --rows rows whose values fill the
    middle tenth of the declared range evenly.

    Advises which mechanism to choose, from a rehearsal: each is released from
    made-up rows that fill the declared bounds, and from such that fill a tenth
    of them. It depends on nothing but domain, budget and the number of rows.

    \b
    Examples:
      dpnb-columnar plan census.parquet
      dpnb-columnar plan census.parquet --epsilon 0.1 --rows 50000
      dpnb-columnar plan census.parquet --declared-rows 250000
    """
    from dpnb_columnar.advice.recommendation import advise
    from dpnb_columnar.cli.tables import print_advice
    from dpnb_columnar.counting.find_domain import find_domain
    from dpnb_columnar.mechanisms.expected_error import expected_error
    from dpnb_columnar.mechanisms.plan import plan
    from dpnb_columnar.rows.parquet import open_parquet, resolve_files

    files = resolve_files(data)
    found = find_domain(files, dataset, label, catalogue=catalogue)
    if no_advice and declared_rows is not None and not is_rule(delta):
        raise UsageError("declared rows: nothing depends on them with --no-advice; leave one of the two out")
    known = options.declared_row_count(found, declared_rows)
    budget = options.parse_budget(options.effective_epsilon(found, epsilon), delta, neighbours, weights, known)
    open_parquet(files, found.domain)
    sizes = rows or [10_000, 1_000_000]
    planned = plan(found.domain, budget, mechanism, noise)
    print_line(f"domain {found.domain.name}, from {found.origin}")
    options.print_rule(delta, known)
    if not planned.mechanism.private:
        print_line("mechanism none: NOT PRIVATE, nothing is protected and nothing is spent")
        return
    print_line(options.budget_line(planned))
    print_line()
    errors = [[f"{expected_error(found.domain, share, size):.3g}" for size in sizes] for share in planned.shares]
    print_composition(planned.shares, [f"error at {size} rows" for size in sizes], errors)
    print_line()
    print_line("a count's error is in rows, a variance's in squared units")
    if mechanism in {"histogram", "adaptive-histogram"}:
        print_line(
            "a histogram has as many bins as its released rows are good for: its values are the most there may be"
        )
    if no_advice:
        return
    print_line()
    with stage("rehearsing"):
        assumed = known or options.DeclaredRowCount(sizes[0] * len(found.domain.classes), "--rows in each class")
        advice = advise(found.domain, budget, assumed.rows)
    print_advice(advice, assumed.origin)
