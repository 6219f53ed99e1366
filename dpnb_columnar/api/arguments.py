"""Arguments of the Python interface: what they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any, Literal, TypeAlias, Union

from dpnb_columnar.core.budget import parse_rows
from dpnb_columnar.counting.find_domain import ResolvedDomain
from dpnb_columnar.counting.inputs import Engine, Input, opened
from dpnb_columnar.domain import Declaration, Domain
from dpnb_columnar.domain.catalogue import CatalogueEntry
from dpnb_columnar.domain.declaration import read_declaration, read_domain
from dpnb_columnar.domain.declared_domain import document_of
from dpnb_columnar.domain.editing import labelled
from dpnb_columnar.errors import ConfigurationError, UsageError
from dpnb_columnar.options import Charged, DomainSource, LabelledDomain, Terms
from dpnb_columnar.rows.frames import Frame, parse_data
from dpnb_columnar.rows.sources import DataSource, SourceKind
from dpnb_columnar.training import Payment, Plan, payment_for

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]
Data: TypeAlias = Union[Paths, "Frame"]

EngineName: TypeAlias = Literal["local", "spark"] | Engine
"""A text, or a member of the enumeration: a type checker refuses others."""

GIVEN = "the argument domain"
"""Origin of a domain that is given."""


def payment_of(plan: Plan, data: Sequence[str], charged: Charged, run_id: str | None = None) -> Payment | None:
    """Make the payment of a release; None where nobody accounts."""
    if charged.ledger_file is None:
        if (charged.account, charged.witness, run_id) != (None, None, None):
            raise UsageError("account, witness and run_id are for a ledger; name its file with ledger")
        return None
    if run_id is not None and not data:
        raise UsageError(
            "run_id: what is held in memory has no name by which a ledger could tell it from other data; leave run_id "
            "out, or give files"
        )
    return payment_for(plan, charged.ledger_file, data, charged.account, run_id, charged.witness_file)


@contextmanager
def opened_data(data: Data, engine: str, table: str | None = None) -> Iterator[Input]:
    """Open the frame, the files that paths stand for, or a table of a database."""
    if engine not in list(Engine):
        raise UsageError(f"engine: no {engine!r:.80}; known engines: {', '.join(Engine)}")
    with opened(sources_of(data, table, Engine(engine)), table, Engine(engine)) as rows:
        yield rows


def sources_of(data: Data, table: str | None, engine: Engine = Engine.LOCAL) -> Sequence[DataSource]:
    """Parse data; refuse a table, or an engine, that it is not for."""
    sources = parse_data(data, spark=engine is not Engine.LOCAL)
    framed = any(source.kind is SourceKind.FRAME for source in sources)
    if framed and table is not None:
        raise UsageError("table: is of a database that data names, and data is a frame; leave table out")
    if framed and engine is not Engine.LOCAL:
        raise UsageError(f"engine: {engine} counts files; a frame is counted here, so leave engine out")
    if (held := any(source.is_opened for source in sources)) and engine is not Engine.LOCAL:
        raise UsageError(f"engine: {engine} counts files; a table's object is read here, so leave engine out")
    if held and table is not None:
        raise UsageError("table: is of a database that data names, and data is a table itself; leave table out")
    if engine is not Engine.LOCAL and table is not None:
        raise UsageError("table: is of a database that data names; for a table of Spark's, give a frame of its rows")
    if table is None and any(source.kind is SourceKind.DATABASE for source in sources):
        raise UsageError(
            "data: names a database; name its table with table, or give a relation, such as "
            "duckdb.connect(file).table(name), or a frame of its rows"
        )
    return sources


def declared_domain(
    rows: Input, domain: Declaration | Mapping[str, Any] | None, named: LabelledDomain
) -> ResolvedDomain:
    """Return the domain given, as a declaration or a mapping of its tables, or find the domain of the rows."""
    if domain is None:
        return rows.find_domain(named.entry, named.label)
    return ResolvedDomain(checked(given_domain(domain, named), named.label), GIVEN)


def given_domain(domain: Declaration | Mapping[str, Any], named: DomainSource) -> Declaration:
    """Return the domain given, as a declaration or a mapping of its tables."""
    if named.dataset is not None:
        raise UsageError("domain and dataset both name a domain; give one of them")
    return declaration_of(domain) if isinstance(domain, Mapping) else domain


def declaration_of(tables: Mapping[str, Any]) -> Declaration:
    """Read a declaration that is given as a mapping of its tables; without a name it is called data."""
    body = {key: value for key, value in tables.items() if key != "name"}
    return read_declaration(str(tables.get("name", "data")), body, "domain")


def checked(domain: Declaration, label: str | None) -> Domain:
    """Check a domain that was made by hand by the rules of a declared one."""
    try:
        document = document_of(domain if label is None else labelled(domain, label))
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ConfigurationError(f"domain: cannot be written as a declaration ({error}); use read_domain") from None
    return read_domain(domain.name, document, "domain")


def declared_rows(terms: Terms) -> int | None:
    """Check a declared number of rows."""
    if terms.rows is None:
        return None
    if not terms.need_rows:
        raise UsageError(
            "rows: only a rule for delta, mechanism auto and attribute_weights auto depend on them; give delta 1/n or "
            "1/n^2, or leave rows out"
        )
    return parse_rows(terms.rows)


def entry_rows(entry: CatalogueEntry | None) -> int | None:
    """Return the number of rows that a catalogue entry declares, if any."""
    return None if entry is None or entry.rows is None else parse_rows(entry.rows)
