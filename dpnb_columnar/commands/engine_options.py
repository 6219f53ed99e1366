"""Options of the verbs that count rows: which engine counts, and where it finds them."""

from __future__ import annotations

from typing import Annotated

import typer

from dpnb_columnar.inputs import Engine

DataOrTable = Annotated[
    list[str] | None,
    typer.Argument(
        help="Parquet files, folders of them, or quoted patterns; with --engine spark also addresses such as "
        "s3a://census/2018.",
        metavar="DATA...",
        show_default=False,
    ),
]
EngineName = Annotated[
    Engine,
    typer.Option(
        "--engine", help="What counts the rows: this machine, or a cluster (docs/scale.md). The result is the same."
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        help="Cluster of --engine spark, such as spark://HOST:7077, yarn, k8s://https://HOST:6443 or local[4].",
        metavar="URL",
        show_default="Spark's configuration, else local[*]",
    ),
]
Table = Annotated[
    str | None,
    typer.Option(
        help="Table or view of Spark's catalogs in the place of DATA, such as lake.census.person.",
        metavar="NAME",
        show_default=False,
    ),
]
