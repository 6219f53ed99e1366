"""``dpnb-columnar train``: from confidential rows to a released model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.budget import Neighbours
from dpnb_columnar.commands import options
from dpnb_columnar.commands.options import say, stage
from dpnb_columnar.commands.outputs import check_target, default_name


def command(
    data: options.Data,
    dataset: options.Dataset = None,
    label: options.Label = None,
    epsilon: options.EpsilonOfData = None,
    delta: options.Delta = "0",
    declared_rows: options.DeclaredRows = None,
    mechanism: options.Mechanism = "smooth",
    noise: options.Noise = None,
    neighbours: options.Relation = Neighbours.ADD_REMOVE,
    weights: options.SplitWeights = None,
    output: Annotated[
        Path | None, typer.Option(help="Model file, .json or .parquet.", show_default="DATA.model.json")
    ] = None,
    overwrite: options.Overwrite = False,
    seed: options.Seed = None,
) -> None:
    """Train a classifier, and write it with its guarantee.

    The domain comes from the data's own metadata, or from the entry of
    datasets.toml (working directory first, then the packaged one) that claims
    the file's name. What is printed is public: nothing depends on a row except
    through the released model.

    \b
    Examples:
      dpnb-columnar train census.parquet
      dpnb-columnar train "state-*.parquet" --epsilon 0.5 --output model.parquet
      dpnb-columnar train adult.parquet --mechanism histogram --weights 1:1:1
      dpnb-columnar train census.parquet --noise gaussian --delta 1/n^2 --declared-rows 250000
    """
    from dpnb_columnar.aggregation.local import aggregate
    from dpnb_columnar.boundary.release import plan
    from dpnb_columnar.commands.releasing import announce, release_to
    from dpnb_columnar.model.files import check_suffix
    from dpnb_columnar.rows.domains import find_domain
    from dpnb_columnar.rows.source import open_source, resolve

    files = resolve(data)
    found = find_domain(files, dataset, label)
    rows = options.rows_for(found, delta, declared_rows)
    spent = options.budget(options.epsilon_for(found, epsilon), delta, neighbours, weights, rows)
    target = output or default_name(data, found.domain.name, ".model.json")
    check_suffix(target)
    shares = plan(found.domain, spent, mechanism, noise)
    check_target(target, overwrite, files)
    source = open_source(files, found.domain)

    say(f"domain {found.domain.name}, from {found.origin}")
    options.tell_rule(delta, rows)
    announce(spent, mechanism, shares)
    with stage("counting"):
        statistics = aggregate(source, found.domain)
    release_to(target, statistics, spent, mechanism, noise, seed, overwrite)
