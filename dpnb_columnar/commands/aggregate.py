"""``dpnb-columnar aggregate``: the private half of ``train``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.commands import options
from dpnb_columnar.commands.options import say, stage


def command(
    data: options.Data,
    output: Annotated[
        Path | None, typer.Option(help="Statistics file.", show_default="DATA.statistics.parquet")
    ] = None,
    dataset: options.Dataset = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Count every cell of the domain into a CONFIDENTIAL statistics file.

    Nothing is released and no budget is spent. Files of parts of the data add
    up: give all of them to dpnb-columnar release.

    \b
    Examples:
      dpnb-columnar aggregate census.parquet
      dpnb-columnar aggregate oregon.parquet --output oregon.statistics.parquet
    """
    from dpnb_columnar.aggregate.files import save_statistics
    from dpnb_columnar.aggregate.local import aggregate
    from dpnb_columnar.files import check_output
    from dpnb_columnar.rows.domains import find_domain
    from dpnb_columnar.rows.source import open_source, resolve

    files = resolve(data)
    found = find_domain(files, dataset)
    target = output or options.default_name(data, found.domain.name, ".statistics.parquet")
    check_output(target, overwrite)
    source = open_source(files, found.domain)
    say(f"domain {found.domain.name}, from {found.origin}")
    with stage("counting"):
        statistics = aggregate(source, found.domain)
    save_statistics(statistics, target, overwrite=overwrite)
    say(f"wrote {target}: CONFIDENTIAL, exact counts")
