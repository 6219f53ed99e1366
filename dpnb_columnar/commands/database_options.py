"""Options of the verbs that read from a database, and the database among their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.databases.address import Database, database_at
from dpnb_columnar.errors import UsageError

Table = Annotated[
    str | None,
    typer.Option(help="Table or view of the database.", metavar="NAME", show_default=False),
]
Query = Annotated[
    Path | None,
    typer.Option(help="File with the SELECT to run in the database.", metavar="FILE.sql", show_default=False),
]


def database_in(arguments: Sequence[str], table: str | None, query: Path | None) -> Database | None:
    """The database among some arguments, or None where they are all files.

    Raises:
        UsageError: A database beside something else, --table or --query without one, or a password in an address.
    """
    databases = [database for argument in arguments if (database := database_at(argument))]
    if not databases:
        if table is not None or query is not None:
            raise UsageError(
                "--table and --query are for a database: give a DuckDB file (.duckdb) or postgresql://USER@HOST/NAME"
            )
        return None
    if len(arguments) > 1:
        raise UsageError(f"{databases[0]}: a database is read alone; run the command once for each input")
    return databases[0]
