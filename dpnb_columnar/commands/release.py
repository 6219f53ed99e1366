"""``dpnb-columnar release``: the other half of ``train``."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.budget import Neighbours
from dpnb_columnar.commands import options
from dpnb_columnar.commands.options import say
from dpnb_columnar.commands.outputs import check_target
from dpnb_columnar.errors import DataError, UsageError


def command(
    statistics: Annotated[
        list[Path],
        typer.Argument(help="Statistics files; they are added up.", metavar="STATISTICS", show_default=False),
    ],
    output: Annotated[Path, typer.Option(help="Model file, .json or .parquet.", show_default=False)],
    epsilon: options.EpsilonOfData = None,
    delta: options.Delta = "0",
    declared_rows: options.DeclaredRows = None,
    mechanism: options.Mechanism = "smooth",
    noise: options.Noise = None,
    neighbours: options.Relation = Neighbours.ADD_REMOVE,
    weights: options.SplitWeights = None,
    overwrite: options.Overwrite = False,
    seed: options.Seed = None,
) -> None:
    """Release a model from statistics files, the other half of train.

    train = aggregate + release. Files are added up. Every release from the same
    rows spends budget again.

    \b
    Examples:
      dpnb-columnar release census.statistics.parquet --output census.model.json
      dpnb-columnar release oregon.statistics.parquet washington.statistics.parquet \\
          --epsilon 0.5 --output northwest.model.parquet
    """
    from dpnb_columnar.aggregation.files import load_statistics
    from dpnb_columnar.boundary.release import plan
    from dpnb_columnar.commands.releasing import announce, release_to
    from dpnb_columnar.domain.catalogue import entry_declaring
    from dpnb_columnar.model.files import check_suffix
    from dpnb_columnar.rows.domains import FoundDomain

    check_suffix(output)
    check_target(output, overwrite, statistics)
    _refuse_repeated(statistics)
    parts = [load_statistics(path) for path in statistics]
    try:
        total = reduce(lambda left, right: left + right, parts)
    except ValueError as error:
        raise DataError(f"{', '.join(map(str, statistics))}: {error}") from None
    found = FoundDomain(total.domain, "the statistics", entry_declaring(total.domain))
    rows = options.rows_for(found, delta, declared_rows)
    spent = options.budget(options.epsilon_for(found, epsilon), delta, neighbours, weights, rows)
    shares = plan(total.domain, spent, mechanism, noise)
    say(f"domain {total.domain.name}, from {found.origin}")
    options.tell_rule(delta, rows)
    announce(spent, mechanism, shares)
    release_to(output, total, spent, mechanism, noise, seed, overwrite)


def _refuse_repeated(files: list[Path]) -> None:
    """Refuse a file that is named twice, by whatever names and links: its rows would count twice."""
    seen: dict[tuple[int, int], Path] = {}
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue  # what is not there is reported when it is read
        identity = (status.st_dev, status.st_ino)
        if identity in seen:
            raise UsageError(f"{seen[identity]}: named twice (again as {file}); its rows would count twice, drop one")
        seen[identity] = file
