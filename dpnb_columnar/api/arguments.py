"""What the arguments of the Python interface stand for: rows, a domain, a budget, a payment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from dpnb_columnar.budget import Budget, Neighbours, is_rule, parse_delta, parse_division, parse_epsilon, parse_rows
from dpnb_columnar.counting.find_domain import ResolvedDomain
from dpnb_columnar.counting.inputs import Engine, FrameInput, Input, LocalInput, local_input, opened_input
from dpnb_columnar.datasets.catalogue import Entry
from dpnb_columnar.domain import Declaration, Domain, document_of, labelled, read_declaration, read_domain
from dpnb_columnar.domain.database_address import parse_database
from dpnb_columnar.errors import ConfigurationError, UsageError
from dpnb_columnar.mechanisms.attribute_weights import AUTO
from dpnb_columnar.mechanisms.release_plan import ReleasePlan
from dpnb_columnar.mechanisms.score_release import ScorePlan
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.released_scores import ReleasedScores
from dpnb_columnar.rows.frames import Frame, is_frame
from dpnb_columnar.training import Payment, payment_for, payment_for_scores

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]
Data: TypeAlias = "Paths | Frame"
Epsilon = str | int | float | Decimal | Fraction

GIVEN = "the argument domain"
"""Origin of a domain that is given."""

MAPPED = "data"
"""Name of a domain that is given as a mapping without one."""


def payment_of(
    plan: ReleasePlan,
    data: Sequence[str],
    ledger: str | PathLike[str] | None,
    account: str | None,
    run_id: str | None,
) -> Payment[Model] | None:
    """Make the payment of a release; None where nobody accounts.

    Raises:
        UsageError: if arguments do not go together, or as ``payment_for``.
    """
    _check_payment(data, ledger, account, run_id)
    return None if ledger is None else payment_for(plan, Path(ledger), data, account, run_id)


def score_payment_of(
    plan: ScorePlan,
    data: Sequence[str],
    ledger: str | PathLike[str] | None,
    account: str | None,
    run_id: str | None,
) -> Payment[ReleasedScores] | None:
    """Make the payment of a release of scores; None where nobody accounts.

    Raises:
        UsageError: if arguments do not go together, or as ``payment_for_scores``.
    """
    _check_payment(data, ledger, account, run_id)
    return None if ledger is None else payment_for_scores(plan, Path(ledger), data, account, run_id)


def _check_payment(
    data: Sequence[str], ledger: str | PathLike[str] | None, account: str | None, run_id: str | None
) -> None:
    """Refuse arguments of a payment that do not go together.

    Raises:
        UsageError: if they do not.
    """
    if ledger is None and (account is not None or run_id is not None):
        raise UsageError("account and run_id are for a ledger; name its file with ledger")
    if run_id is not None and not data:
        raise UsageError(
            "run_id: what is held in memory has no name by which a ledger could tell it from other data; leave run_id "
            "out, or give files"
        )


@contextmanager
def opened_data(data: Data, engine: str, table: str | None = None) -> Iterator[Input]:
    """Open the frame, the files that paths stand for, or a table of a database.

    Raises:
        UsageError: if the engine is unknown, or counts files and is given a frame; or if arguments do not go together.
    """
    if engine not in list(Engine):
        raise UsageError(f"engine: no {engine!r:.80}; known engines: {', '.join(Engine)}")
    if is_frame(data):
        refuse_table(table)
        if engine != Engine.LOCAL:
            raise UsageError(f"engine: {engine} counts files; a frame is counted here, so leave engine out")
        yield FrameInput(data)
        return
    if engine == Engine.LOCAL:
        yield opened_paths(data, table)
        return
    if table is not None:
        raise UsageError("table: is of a database that data names; for a table of Spark's, give a frame of its rows")
    with opened_input(Engine(engine), paths_of(data), None, None) as rows:
        yield rows


def opened_paths(data: Paths, table: str | None) -> LocalInput:
    """Open the files that paths stand for, or a table of a database.

    Raises:
        UsageError: if there is a database without a table, or a table without a database.
    """
    paths = paths_of(data)
    if table is None and any(map(parse_database, paths)):
        raise UsageError(
            "data: names a database; name its table with table, or give a relation, such as "
            "duckdb.connect(file).table(name), or a frame of its rows"
        )
    return local_input(paths, table)


def refuse_table(table: str | None) -> None:
    """Refuse a table beside a frame.

    Raises:
        UsageError: if one is named.
    """
    if table is not None:
        raise UsageError("table: is of a database that data names, and data is a frame; leave table out")


def paths_of(data: Paths, argument: str = "data") -> list[str]:
    """List the names of files that are one, or several.

    Raises:
        UsageError: if they are neither.
    """
    paths = [data] if isinstance(data, str | PathLike) else data
    if not isinstance(paths, Sequence) or not all(isinstance(path, str | PathLike) for path in paths):
        beside = " nor a frame of a known library (Polars, Arrow, pandas, DuckDB and the like)" * (argument == "data")
        raise UsageError(f"{argument}: {'neither' if beside else 'not'} names of files{beside}")
    return [str(path) for path in paths]


def declared_domain(
    rows: Input,
    domain: Declaration | Mapping[str, Any] | None,
    dataset: str | None,
    catalogue: str | PathLike[str] | None,
    label: str | None,
) -> ResolvedDomain:
    """Return the domain given, as a declaration or a mapping of its tables, or find the domain of the rows.

    Raises:
        UsageError: if two domains are named.
    """
    if domain is None:
        return rows.find_domain(dataset, label, None if catalogue is None else Path(catalogue))
    return ResolvedDomain(checked(given_domain(domain, dataset, catalogue), label), GIVEN)


def given_domain(
    domain: Declaration | Mapping[str, Any], dataset: str | None, catalogue: str | PathLike[str] | None
) -> Declaration:
    """Return the domain given, as a declaration or a mapping of its tables.

    Raises:
        UsageError: if two domains are named.
        DomainError: if a mapping has faults.
    """
    if dataset is not None or catalogue is not None:
        other = "catalogue" if dataset is None else "dataset"
        raise UsageError(f"domain and {other} both name a domain; give one of them")
    return declaration_of(domain) if isinstance(domain, Mapping) else domain


def declaration_of(tables: Mapping[str, Any]) -> Declaration:
    """Read a declaration that is given as a mapping of its tables, perhaps with its name.

    Raises:
        DomainError: if it has faults; the error holds all of them.
    """
    body = {key: value for key, value in tables.items() if key != "name"}
    return read_declaration(str(tables.get("name", MAPPED)), body, "domain")


def checked(domain: Declaration, label: str | None) -> Domain:
    """Check a domain that was made by hand by the rules of a declared one.

    Raises:
        ConfigurationError: if the domain breaks them.
    """
    try:
        document = document_of(domain if label is None else labelled(domain, label))
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ConfigurationError(f"domain: cannot be written as a declaration ({error}); use read_domain") from None
    return read_domain(domain.name, document, "domain")


def budget_of(
    epsilon: Epsilon, delta: Epsilon, neighbours: str, rows: int | None = None, shares: str | None = None
) -> Budget:
    """Make the budget that arguments of ``release`` stand for.

    Raises:
        UsageError: if an argument is faulty.
    """
    known = [relation.value for relation in Neighbours]
    if neighbours not in known:
        raise UsageError(f"neighbours: no {neighbours!r}; known relations: {', '.join(known)}")
    division = None if shares is None else parse_division(shares)
    return Budget(parse_epsilon(epsilon), Neighbours(neighbours), division, parse_delta(delta, rows))


def declared_rows(rows: int | None, delta: Epsilon, attribute_weights: str | PathLike[str]) -> int | None:
    """Check a declared number of rows.

    Raises:
        UsageError: if it is out of range, or nothing depends on it.
    """
    if rows is None:
        return None
    if attribute_weights != AUTO and not is_rule(delta):
        raise UsageError(
            "rows: only a rule for delta and attribute_weights auto depend on them; give delta 1/n or 1/n^2, or leave "
            "rows out"
        )
    return parse_rows(rows)


def entry_rows(entry: Entry | None) -> int | None:
    """Return the number of rows that a catalogue entry declares, if any."""
    return None if entry is None or entry.rows is None else parse_rows(entry.rows)
