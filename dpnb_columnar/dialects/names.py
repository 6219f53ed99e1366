"""The databases that queries are written for."""

from __future__ import annotations

from enum import StrEnum

from dpnb_columnar.errors import UsageError


class Dialect(StrEnum):
    """A database's SQL, by the name sqlglot knows it under."""

    DUCKDB = "duckdb"
    POSTGRES = "postgres"
    SPARK = "spark"
    BIGQUERY = "bigquery"
    SNOWFLAKE = "snowflake"
    SQLITE = "sqlite"


def dialect_named(name: str) -> Dialect:
    """The dialect of this name.

    Raises:
        UsageError: There is none; the message lists the names there are.
    """
    try:
        return Dialect(name)
    except ValueError:
        raise UsageError(f"no dialect {name!r:.80}; known: {', '.join(Dialect)}") from None
