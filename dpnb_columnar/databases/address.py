"""Where a database is: a DuckDB file or a PostgreSQL server, as typed on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from dpnb_columnar.dialects.names import Dialect
from dpnb_columnar.errors import UsageError

DUCKDB_PREFIX = "duckdb:"
DUCKDB_SUFFIXES = (".duckdb", ".ddb")
POSTGRES_SCHEMES = ("postgresql://", "postgres://")


@dataclass(frozen=True, slots=True)
class Database:
    """A database to read from.

    Attributes:
        dialect: Its SQL: DuckDB's or PostgreSQL's.
        address: Path of a DuckDB file, or the connection URI of a PostgreSQL server, which holds no password.
    """

    dialect: Dialect
    address: str

    def __str__(self) -> str:
        return self.address


def database_at(text: str) -> Database | None:
    """The database that an argument names, or None where it names none (a file, a folder, a pattern).

    A PostgreSQL URI may leave anything out that libpq's environment variables, password file or service file supply.

    Raises:
        UsageError: The address holds a password, which every user of the machine could read in the list of processes.
    """
    if text.startswith(DUCKDB_PREFIX):
        return Database(Dialect.DUCKDB, text.removeprefix(DUCKDB_PREFIX))
    if text.lower().endswith(DUCKDB_SUFFIXES):
        return Database(Dialect.DUCKDB, text)
    if not text.startswith(POSTGRES_SCHEMES):
        return None
    if _password(text):
        raise UsageError(
            "a password in a database address can be read by every user of the machine; leave it out and set "
            "PGPASSWORD, or use ~/.pgpass or a service file"
        )
    return Database(Dialect.POSTGRES, text)


def _password(uri: str) -> bool:
    """Whether a connection URI holds a password (or cannot be taken apart, when it might)."""
    try:
        parts = urlsplit(uri)
        names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
        return parts.password is not None or any(map(_is_secret, names))
    except ValueError:
        return True


def _is_secret(name: str) -> bool:
    """Whether a parameter of libpq is one, such as ``sslpassword``, ``oauth_client_secret`` or ``scram_client_key``."""
    return any(word in name.lower() for word in ("password", "secret", "scram"))
