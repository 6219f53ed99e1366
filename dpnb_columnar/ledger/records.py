"""Entries of a ledger as they are stored, the names in them, and the chain of their digests.

Accounts, charges and models are encoded as entries. Decoding trusts nothing in the file.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from dpnb_columnar.core.budget import Approximate, Neighbours, PrivacyCost, Remaining, Spent, remaining
from dpnb_columnar.core.budget.amounts import LARGEST_DELTA, LARGEST_EPSILON
from dpnb_columnar.core.budget.costs import LARGEST_TOTAL, cost_of_numbers, cost_parameters
from dpnb_columnar.domain.names import number_text
from dpnb_columnar.errors import UsageError, command, excerpt
from dpnb_columnar.version import __version__


class EntryKind(StrEnum):
    """The kind of an entry."""

    ACCOUNT = "account"  # A data set's limit, and the relation that it refers to. It never changes.
    SPEND = "spend"  # what one release costs, written before its noise is drawn
    MODEL = "model"  # what a run has released
    WITNESS = "witness"  # A witness was begun, or first used: every later run needs one


@dataclass(frozen=True, slots=True)
class Charge:
    """The charge for one release, whose parts are public facts only."""

    dataset: str
    run: str  # asked for twice under one id, a release is charged once
    cost: PrivacyCost
    neighbours: Neighbours
    mechanism: str
    noise: str | None  # None for the mechanism's own
    inputs: Mapping[str, Any]  # all else that makes the release what it is, as JSON values
    unit: tuple[str, ...] = ()  # columns of the relation's unit, in order of their names; empty where it is of rows


@dataclass(frozen=True, slots=True)
class Account:
    """The budget of one data set."""

    dataset: str
    limit: Approximate  # delta 0 for pure releases only
    neighbours: Neighbours
    parts: frozenset[str] | None  # digests of the files it is bound to; confidential
    spent: Spent
    unit: tuple[str, ...] = ()  # guarantees of different units do not add up

    @property
    def remaining(self) -> Remaining:
        return remaining(self.limit, self.spent)


@dataclass(frozen=True, slots=True)
class Run:
    """A release that has been charged; document and its SHA-256 are None while the run is unfinished."""

    charge: Charge
    document: str | None = None
    digest: str | None = None


class Entry(NamedTuple):
    """One row of the chain as it is stored: amounts, lists and mappings are text."""

    number: int  # from 1 on
    kind: str  # an ``EntryKind``
    time: str  # UTC, to the second
    version: str  # of the program that wrote it
    dataset: str | None = None  # of an account or a spend
    run: str | None = None  # of a spend or a model
    neighbours: str | None = None  # of an account or a spend (``written_relation``)
    epsilon: str | None = None  # the limit of an account; the cost of a spend, as ``delta`` and ``rho``
    delta: str | None = None
    rho: str | None = None
    mechanism: str | None = None  # of a spend, as ``noise``
    noise: str | None = None
    inputs: str | None = None  # of a spend: canonical JSON; of a witness: its path
    inputs_digest: str | None = None  # SHA-256 of a spend's inputs
    total_epsilon: str | None = None  # of a spend, as the next two: ``Spent`` of its data set after it
    total_delta: str | None = None
    total_rho: str | None = None
    parts: str | None = None  # of an account that is bound to files: their digests, a sorted JSON list
    model_digest: str | None = None
    digest: str = ""  # SHA-256 of the digest before and of all fields above (``link``)


def written_relation(neighbours: Neighbours, unit: tuple[str, ...]) -> str:
    """Write a relation as entries and tables hold it: of rows ``add-remove``, of units ``add-remove of ["SERIAL"]``."""
    return f"{neighbours.value} of {canonical([*unit])}" if unit else neighbours.value


# The chain of digests, and the canonical texts that are digested.
ORIGIN = "0" * 64  # the digest that the first entry is linked to
COLUMNS = Entry._fields
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value: Any) -> str:
    """Write a value as canonical JSON: sorted keys, no blanks, ASCII."""
    return _ENCODER.encode(value)


def sha256(text: str) -> str:
    """Compute the SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def link(previous: str, entry: Entry) -> str:
    """Compute the digest of an entry from the previous entry's digest and all of its own other fields."""
    fields = entry._asdict()
    del fields["digest"]
    return sha256(previous + canonical(fields))


def with_digest(previous: str, entry: Entry) -> Entry:
    """Return the entry with its digest filled in."""
    return entry._replace(digest=link(previous, entry))


LONGEST_NAME = 200  # characters


def check_run(run: str) -> str:
    """Return a run id, checked; those of Airflow fit."""
    if not re.fullmatch(rf"[A-Za-z0-9._:+@=-]{{1,{LONGEST_NAME}}}", run):
        raise UsageError(
            f"run id {excerpt(run)}: give 1 to {LONGEST_NAME} letters, digits and . _ : + @ = -, such as "
            "night-2026-11-21"
        )
    return run


def fresh_run() -> str:
    """Make a run id that no other run has: the time and random digits."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}-{secrets.token_hex(6)}"


LONGEST_AMOUNT = 4000  # characters of an amount: the longest decimal of a total in range has fewer
LONGEST_TEXT = 2**18  # characters of any other text of an entry


def account_entry(account: Account, number: int) -> Entry:
    """Encode the entry that opens an account."""
    parts = None
    if account.parts is not None:
        listed = canonical(sorted(account.parts))
        parts = _check_length(listed, "the files that an account is bound to", "name fewer files")
    return Entry(
        *_head(number, EntryKind.ACCOUNT),
        dataset=account.dataset,
        neighbours=written_relation(account.neighbours, account.unit),
        epsilon=number_text(account.limit.epsilon),
        delta=number_text(account.limit.delta),
        parts=parts,
    )


def inputs_text(charge: Charge) -> str:
    """Encode the inputs of a release as canonical JSON."""
    return _check_length(
        canonical(charge.inputs),
        f"run id {charge.run}: the names of its files and its other inputs",
        f"a folder or pattern stands for every file in it, so name the files to {command('aggregate')}, and give "
        f"the sum to {command('release')}",
    )


def spend_entry(charge: Charge, total: Spent, number: int) -> Entry:
    """Encode the entry that charges a release."""
    inputs = inputs_text(charge)
    stated = {name: number_text(amount) for name, amount in cost_parameters(charge.cost).items()}
    return Entry(
        *_head(number, EntryKind.SPEND),
        dataset=charge.dataset,
        run=charge.run,
        neighbours=written_relation(charge.neighbours, charge.unit),
        epsilon=stated.get("epsilon"),
        delta=stated.get("delta"),
        rho=stated.get("rho"),
        mechanism=charge.mechanism,
        noise=charge.noise,
        inputs=inputs,
        inputs_digest=sha256(inputs),
        total_epsilon=number_text(total.epsilon),
        total_delta=number_text(total.delta),
        total_rho=number_text(total.rho),
    )


def model_entry(run: str, digest: str, number: int) -> Entry:
    """Encode the entry that records the digest of a run's released model."""
    return Entry(*_head(number, EntryKind.MODEL), run=run, model_digest=digest)


def witness_entry(path: Path, number: int) -> Entry:
    """Encode the entry that records that the ledger has a witness, and its path."""
    return Entry(*_head(number, EntryKind.WITNESS), inputs=canonical({"path": str(path.absolute())}))


def _head(number: int, kind: EntryKind) -> tuple[int, str, str, str]:
    return number, kind.value, datetime.now(UTC).isoformat(timespec="seconds"), __version__


def _check_length(written: str, what: str, remedy: str) -> str:
    if len(written) > LONGEST_TEXT:
        raise UsageError(f"{what}: more than the {LONGEST_TEXT} characters that an entry of a ledger holds; {remedy}")
    return written


@lru_cache(maxsize=4096)
def amount(written: str | None) -> Fraction:
    """Decode an amount that is not negative."""
    if written is None or len(written) > LONGEST_AMOUNT or not re.fullmatch(r"\d+(\.\d+|/\d+)?", written, re.ASCII):
        raise ValueError("an amount is not a number")
    try:
        number = Fraction(written)
    except ZeroDivisionError:
        raise ValueError("an amount is not a number") from None
    if max(number.numerator, number.denominator) > LARGEST_TOTAL:
        raise ValueError("an amount has more than a thousand digits")
    return number


def check_limit(limit: Approximate) -> None:
    """Refuse an account's limit that would protect nobody."""
    if not 0 < limit.epsilon <= LARGEST_EPSILON or not 0 <= limit.delta <= LARGEST_DELTA:
        raise ValueError("its limit is out of range")


def account_of(entry: Entry) -> Account:
    """Decode an account, with nothing spent."""
    if entry.dataset is None:
        raise ValueError("it is not an account")
    limit = Approximate(amount(entry.epsilon), amount(entry.delta))
    check_limit(limit)
    neighbours, unit = relation_of(entry)
    return Account(entry.dataset, limit, neighbours, _parts(entry.parts), Spent(), unit)


def relation_of(entry: Entry) -> tuple[Neighbours, tuple[str, ...]]:
    """Decode the neighbouring relation of an account or a spend, and the columns of the unit that it is of."""
    name, of, written = (entry.neighbours or "").partition(" of ")
    columns = _json(written) if of else []
    known = (
        name in [relation.value for relation in Neighbours] and isinstance(columns, list) and bool(columns) == bool(of)
    )
    if not known or not all(isinstance(each, str) for each in columns) or columns != [*unit_named(columns)]:
        raise ValueError("its neighbouring relation is unknown")
    return Neighbours(name), tuple(columns)


def unit_named(columns: Iterable[str]) -> tuple[str, ...]:
    """Name a unit by its columns, in whatever order they were declared: they divide the rows alike."""
    return tuple(sorted(set(columns)))


def cost_of(entry: Entry) -> PrivacyCost:
    """Decode the privacy cost of a spend."""
    stated = {name: amount(getattr(entry, name)) for name in ("epsilon", "delta", "rho") if getattr(entry, name)}
    return cost_of_numbers(stated)


def total_of(entry: Entry) -> Spent:
    """Decode the totals of a data set after a spend."""
    return Spent(amount(entry.total_epsilon), amount(entry.total_delta), amount(entry.total_rho))


def charge_of(entry: Entry) -> Charge:
    """Decode the charge of a spend."""
    inputs = _json(entry.inputs or "")
    if entry.dataset is None or entry.run is None or entry.mechanism is None or not isinstance(inputs, dict):
        raise ValueError("it is not a spend")
    neighbours, unit = relation_of(entry)
    return Charge(entry.dataset, entry.run, cost_of(entry), neighbours, entry.mechanism, entry.noise, inputs, unit)


def witness_of(entry: Entry) -> Path:
    """Decode the path of a witness."""
    match _json(entry.inputs or ""):
        case {"path": str(path)}:
            return Path(path)
    raise ValueError("it names no witness")


def _parts(written: str | None) -> frozenset[str] | None:
    parts = None if written is None else _json(written)
    if parts is None:
        return None
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ValueError("its parts are not a list of digests")
    return frozenset(parts)


def _json(written: str) -> Any:
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        raise ValueError("it holds a text that is not JSON") from None
