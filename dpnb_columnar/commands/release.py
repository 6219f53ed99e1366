"""``dpnb-columnar release``: the other half of ``train``."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.budget import Neighbours
from dpnb_columnar.commands import options
from dpnb_columnar.commands.options import say, stage, warn
from dpnb_columnar.errors import DataError


def command(
    statistics: Annotated[list[Path], typer.Argument(help="Statistics files; they are added up.", show_default=False)],
    output: Annotated[Path, typer.Option(help="Model file, .json or .parquet.", show_default=False)],
    epsilon: options.Epsilon = None,
    mechanism: options.Mechanism = "smooth",
    noise: options.Noise = None,
    neighbours: options.Relation = Neighbours.ADD_REMOVE,
    weights: options.SplitWeights = None,
    overwrite: options.Overwrite = False,
    seed: options.Seed = None,
) -> None:
    """Release a model from statistics files; train = aggregate + release.

    Every release from the same rows spends budget again.

    \b
    Examples:
      dpnb-columnar release census.statistics.parquet --output census.model.json
      dpnb-columnar release oregon.statistics.parquet washington.statistics.parquet \\
          --epsilon 0.5 --output northwest.model.parquet
    """
    from dpnb_columnar.aggregate.files import load_statistics
    from dpnb_columnar.boundary.release import plan
    from dpnb_columnar.boundary.release import release as released
    from dpnb_columnar.commands.releasing import announce, random_bits
    from dpnb_columnar.files import check_output
    from dpnb_columnar.model.files import check_suffix, save_model

    check_suffix(output)
    check_output(output, overwrite)
    if len({path.resolve() for path in statistics}) < len(statistics):
        raise DataError("a statistics file is named twice; its rows would count twice")
    spent = options.budget(epsilon or options.DEFAULT_EPSILON, neighbours, weights)
    parts = [load_statistics(path) for path in statistics]
    try:
        total = reduce(lambda left, right: left + right, parts)
    except ValueError as error:
        raise DataError(f"{', '.join(map(str, statistics))}: {error}") from None
    shares = plan(total.domain, spent, mechanism, noise)
    say(f"domain {total.domain.name}, from the statistics")
    announce(spent, mechanism, shares)
    with stage("releasing"):
        model = released(total, spent, mechanism, noise, random_bits(seed))
    save_model(model, output, overwrite=overwrite)
    if not model.guarantee.private:
        warn("this model carries NO GUARANTEE; it is as confidential as the rows")
    say(f"wrote {output}")
