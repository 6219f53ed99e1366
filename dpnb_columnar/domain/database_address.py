"""Name a database: its SQL dialect, and its address as typed on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import parse_qsl, urlencode

from dpnb_columnar.errors import UsageError, option
from dpnb_columnar.runtime.paths import is_file

POSTGRES_SCHEMES = ("postgresql://", "postgres://")

SQLITE_MAGIC = b"SQLite format 3\0"
DUCKDB_MAGIC = b"DUCK"
DUCKDB_MAGIC_PLACE = 8
"""Bytes that a file of a database is known by, whatever its name; those of DuckDB follow a checksum."""

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

    @classmethod
    def _missing_(cls, value: object) -> Dialect | None:
        """Take PostgreSQL's own name, and any name in upper case."""
        name = str(value).lower()
        return {"postgresql": cls.POSTGRES, **{each.value: each for each in cls}}.get(name)


class Spelling(StrEnum):
    """How a table's columns are spelled, by the names of a domain."""

    LOWER = "lower"
    UPPER = "upper"
    DECLARED = "declared"


DialectName: TypeAlias = (
    Literal["duckdb", "postgres", "postgresql", "spark", "bigquery", "snowflake", "sqlite"] | Dialect
)
"""A text, or a member of the enumeration: a type checker refuses others."""

FILES = {
    Dialect.DUCKDB: ("duckdb:", (".duckdb", ".ddb")),
    Dialect.SQLITE: ("sqlite:", (".sqlite", ".sqlite3")),
}
"""The prefix, and the suffixes, by which a path is that of a database."""


@dataclass(frozen=True, slots=True)
class Database:
    """A database to read from.

    Attributes:
        dialect: Its SQL: DuckDB's, SQLite's or PostgreSQL's.
        address: Path of a file, or the connection URI of a PostgreSQL server as typed.
        name: What is printed and recorded: the path, or the URI written anew without user information.
    """

    dialect: Dialect
    address: str
    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def file(self) -> Path | None:
        """The file that the database is; None for a server's."""
        return Path(self.address) if self.dialect in FILES else None


def parse_dialect(name: str) -> Dialect:
    """Return the dialect of a name."""
    try:
        return Dialect(name)
    except ValueError:
        raise UsageError(f"no dialect {name!r:.80}; known: {', '.join(Dialect)}") from None


def parse_spelling(name: str) -> Spelling:
    """Return the spelling of a name."""
    try:
        return Spelling(name)
    except ValueError:
        raise UsageError(f"{option('names')}: no spelling {name!r:.80}; known: {', '.join(Spelling)}") from None


def parse_database(text: str) -> Database | None:
    """Return the database that a command-line argument names, or None where it names a file, a folder or a pattern.

    A PostgreSQL URI may leave out what libpq's environment variables, password file or service file supply.
    """
    for dialect, (prefix, suffixes) in FILES.items():
        if text.startswith(prefix) or text.lower().endswith(suffixes):
            path = text.removeprefix(prefix)
            return Database(dialect, path, path)
    if not text.startswith(POSTGRES_SCHEMES):
        dialect_of_file = _dialect_of_file(Path(text))
        return None if dialect_of_file is None else Database(dialect_of_file, text, text)
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


def _dialect_of_file(path: Path) -> Dialect | None:
    """Tell by the first bytes of a file whether it is a database's, and whose."""
    try:
        if not is_file(path):
            return None
        with path.open("rb") as stream:
            head = stream.read(len(SQLITE_MAGIC))
    except (OSError, ValueError):  # also a name that no file can have
        return None
    if head == SQLITE_MAGIC:
        return Dialect.SQLITE
    return Dialect.DUCKDB if head[DUCKDB_MAGIC_PLACE:].startswith(DUCKDB_MAGIC) else None


def _is_secret(name: str) -> bool:
    """Test whether a libpq parameter is secret, as ``sslpassword``, ``oauth_client_secret``, ``scram_client_key``."""
    return any(word in name.lower() for word in ("password", "secret", "scram"))
