"""``dpnb-columnar aggregate``: the private half of ``train``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.commands import options
from dpnb_columnar.commands.options import say, stage
from dpnb_columnar.commands.outputs import check_parquet, check_target, default_name


def command(
    data: options.Data,
    output: Annotated[
        Path | None, typer.Option(help="Statistics file.", show_default="DATA.statistics.parquet")
    ] = None,
    dataset: options.Dataset = None,
    label: options.Label = None,
    overwrite: options.Overwrite = False,
) -> None:
    """CONFIDENTIAL: count every cell of the domain into a file.

    The private half of train. Nothing is released and no budget is spent. Files
    of parts of the data add up: give all of them to dpnb-columnar release.

    \b
    Examples:
      dpnb-columnar aggregate census.parquet
      dpnb-columnar aggregate oregon.parquet --output oregon.statistics.parquet
    """
    from dpnb_columnar.aggregation.files import save_statistics
    from dpnb_columnar.aggregation.local import aggregate
    from dpnb_columnar.rows.domains import find_domain
    from dpnb_columnar.rows.source import open_source, resolve

    files = resolve(data)
    found = find_domain(files, dataset, label)
    target = output or default_name(data, found.domain.name, ".statistics.parquet")
    check_parquet(target)
    check_target(target, overwrite, files)
    source = open_source(files, found.domain)
    say(f"domain {found.domain.name}, from {found.origin}")
    with stage("counting"):
        statistics = aggregate(source, found.domain)
    save_statistics(statistics, target, overwrite=overwrite)
    say(f"wrote {target}: CONFIDENTIAL, exact counts")
