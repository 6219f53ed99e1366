"""``dpnb-columnar plan``: what a release would say and how precisely, before anything is opened."""

from __future__ import annotations

from typing import Annotated

import typer

from dpnb_columnar.budget import Neighbours
from dpnb_columnar.commands import options
from dpnb_columnar.commands.composition import composition_table
from dpnb_columnar.commands.options import say

LARGEST_CLASS = 10**12


def command(
    data: options.Data,
    dataset: options.Dataset = None,
    epsilon: options.EpsilonOfData = None,
    delta: options.Delta = "0",
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
) -> None:
    """Show what would be released, at which cost and error.

    Opens no row: the domain is read from the files' metadata or from
    datasets.toml, and no number of rows is looked at. Errors are what 95 % of
    the noise stays below, for classes of --rows rows whose values fill the
    middle tenth of the declared range evenly.

    \b
    Examples:
      dpnb-columnar plan census.parquet
      dpnb-columnar plan census.parquet --epsilon 0.1 --rows 50000
    """
    from dpnb_columnar.boundary.outlook import expected_error
    from dpnb_columnar.boundary.release import plan
    from dpnb_columnar.rows.domains import find_domain
    from dpnb_columnar.rows.source import open_source, resolve

    files = resolve(data)
    found = find_domain(files, dataset)
    spent = options.budget(options.epsilon_for(found, epsilon), delta, neighbours, weights)
    open_source(files, found.domain)
    sizes = rows or [10_000, 1_000_000]
    shares = plan(found.domain, spent, mechanism, noise)
    say(f"domain {found.domain.name}, from {found.origin}")
    if mechanism == "none":
        say("mechanism none: NOT PRIVATE, nothing is protected and nothing is spent")
        return
    say(options.released_under(spent, mechanism))
    say()
    errors = [[f"{expected_error(found.domain, share, size):.3g}" for size in sizes] for share in shares]
    composition_table(shares, [f"error at {size} rows" for size in sizes], errors)
    say()
    say("a count's error is in rows, a variance's in squared units")
