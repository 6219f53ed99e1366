"""Name a database: its SQL dialect, and its address as typed on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import parse_qsl, urlencode

from dpnb_columnar.errors import UsageError

DUCKDB_PREFIX = "duckdb:"
DUCKDB_SUFFIXES = (".duckdb", ".ddb")
POSTGRES_SCHEMES = ("postgresql://", "postgres://")

PLACE = ("host", "hostaddr", "port", "dbname", "service")
"""Parameters of a connection URI that say where the database is."""


class Dialect(StrEnum):
    """SQL of a database that queries are written for, by the name that sqlglot gives it."""

    DUCKDB = "duckdb"
    POSTGRES = "postgres"
    SPARK = "spark"
    BIGQUERY = "bigquery"
    SNOWFLAKE = "snowflake"
    SQLITE = "sqlite"


@dataclass(frozen=True, slots=True)
class Database:
    """A database to read from.

    Attributes:
        dialect: Its SQL: DuckDB's or PostgreSQL's.
        address: Path of a DuckDB file, or the connection URI of a PostgreSQL server as typed.
        name: What is printed and recorded: the path, or the URI written anew without user information.
    """

    dialect: Dialect
    address: str
    name: str

    def __str__(self) -> str:
        return self.name


def parse_dialect(name: str) -> Dialect:
    """Return the dialect of a name.

    Raises:
        UsageError: if no dialect has this name; the message lists the names.
    """
    try:
        return Dialect(name)
    except ValueError:
        raise UsageError(f"no dialect {name!r:.80}; known: {', '.join(Dialect)}") from None


def parse_database(text: str) -> Database | None:
    """Return the database that a command-line argument names, or None where it names a file, a folder or a pattern.

    A PostgreSQL URI may leave out what libpq's environment variables, password file or service file supply.

    Raises:
        UsageError: if the address holds a password, which every user of the machine could read in the list of
            processes.
    """
    if text.startswith(DUCKDB_PREFIX):
        text = text.removeprefix(DUCKDB_PREFIX)
        return Database(Dialect.DUCKDB, text, text)
    if text.lower().endswith(DUCKDB_SUFFIXES):
        return Database(Dialect.DUCKDB, text, text)
    if not text.startswith(POSTGRES_SCHEMES):
        return None
    scheme, _, rest = text.partition("://")
    user, _, place = rest.rpartition("@")
    location, _, query = place.partition("?")
    parameters = parse_qsl(query, keep_blank_values=True)
    # libpq takes a colon before the last @ for the beginning of a password in more cases than a parser of URIs does.
    if ":" in user or any(_is_secret(name) for name, _ in [*parameters, *parse_qsl(user.partition("?")[2])]):
        raise UsageError(
            "a password in a database address can be read by every user of the machine; leave it out and set "
            "PGPASSWORD, or use ~/.pgpass (PGPASSFILE) or a service file"
        )
    shown = urlencode([(name, value) for name, value in parameters if name in PLACE], safe="/")
    return Database(Dialect.POSTGRES, text, f"{scheme}://{location}{'?' if shown else ''}{shown}")


def _is_secret(name: str) -> bool:
    """Test whether a libpq parameter is secret, as ``sslpassword``, ``oauth_client_secret``, ``scram_client_key``."""
    return any(word in name.lower() for word in ("password", "secret", "scram"))
