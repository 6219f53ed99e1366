"""Encode accounts, charges and models as ledger entries, and decode entries. Decoding trusts nothing in the file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dpnb_columnar.budget import Approximate, Concentrated, Neighbours, PrivacyCost, Pure, Spent
from dpnb_columnar.budget.accounting import LARGEST_TOTAL
from dpnb_columnar.budget.amounts import LARGEST_DELTA, LARGEST_EPSILON
from dpnb_columnar.budget.costs import numbers
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.errors import UsageError
from dpnb_columnar.ledger.records import Account, Charge, Entry, Kind, canonical, sha256, written_relation
from dpnb_columnar.version import __version__

LONGEST_AMOUNT = 4000
"""Characters of an amount: the longest decimal of a total in range has fewer."""

LONGEST_TEXT = 2**18
"""Characters of any other text of an entry."""

FORMER_INPUTS = {"weights": "shares"}
"""Inputs that entries of earlier programs hold under another name."""


def account_entry(account: Account, number: int) -> Entry:
    """Encode the entry that opens an account.

    Raises:
        UsageError: if the account is bound to more files than an entry can hold.
    """
    parts = None if account.parts is None else canonical(sorted(account.parts))
    return Entry(
        *_head(number, Kind.ACCOUNT),
        dataset=account.dataset,
        neighbours=written_relation(account.neighbours, account.unit),
        epsilon=number_text(account.limit.epsilon),
        delta=number_text(account.limit.delta),
        parts=None if parts is None else _bounded(parts, "the files that an account is bound to", "name fewer files"),
    )


def inputs_text(charge: Charge) -> str:
    """Encode the inputs of a release as canonical JSON.

    Raises:
        UsageError: if the inputs are longer than an entry can hold.
    """
    return _bounded(
        canonical(charge.inputs),
        f"run id {charge.run}: the names of its files and its other inputs",
        "a folder or pattern stands for every file in it, so name the files to dpnb-columnar aggregate, and give "
        "the sum to dpnb-columnar release",
    )


def spend_entry(charge: Charge, total: Spent, number: int) -> Entry:
    """Encode the entry that charges a release.

    Raises:
        UsageError: if the inputs are longer than an entry can hold.
    """
    inputs = inputs_text(charge)
    stated = {name: number_text(amount) for name, amount in numbers(charge.cost).items()}
    return Entry(
        *_head(number, Kind.SPEND),
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
    return Entry(*_head(number, Kind.MODEL), run=run, model_digest=digest)


def _head(number: int, kind: Kind) -> tuple[int, str, str, str]:
    return number, kind.value, datetime.now(UTC).isoformat(timespec="seconds"), __version__


def _bounded(written: str, what: str, remedy: str) -> str:
    if len(written) > LONGEST_TEXT:
        raise UsageError(f"{what}: more than the {LONGEST_TEXT} characters that an entry of a ledger holds; {remedy}")
    return written


@lru_cache(maxsize=4096)
def amount(written: str | None) -> Fraction:
    """Decode an amount that is not negative.

    Raises:
        ValueError: if the text is no number of 0 or more, or has too many digits.
    """
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
    """Refuse an account's limit that would protect nobody.

    Raises:
        ValueError: if epsilon or delta is larger than any release may spend.
    """
    if not 0 < limit.epsilon <= LARGEST_EPSILON or not 0 <= limit.delta <= LARGEST_DELTA:
        raise ValueError("its limit is out of range")


def account_of(entry: Entry) -> Account:
    """Decode an account, with nothing spent.

    Raises:
        ValueError: if the entry is not an account.
    """
    if entry.dataset is None:
        raise ValueError("it is not an account")
    limit = Approximate(amount(entry.epsilon), amount(entry.delta))
    check_limit(limit)
    neighbours, unit = relation_of(entry)
    return Account(entry.dataset, limit, neighbours, _parts(entry.parts), Spent(), unit)


def relation_of(entry: Entry) -> tuple[Neighbours, tuple[str, ...]]:
    """Decode the neighbouring relation of an account or a spend, and the columns of the unit that it is of.

    Raises:
        ValueError: if the relation is unknown.
    """
    name, of, written = (entry.neighbours or "").partition(" of ")
    columns = _json(written) if of else []
    if name not in [relation.value for relation in Neighbours] or not _are_columns(columns) or bool(of) > bool(columns):
        raise ValueError("its neighbouring relation is unknown")
    return Neighbours(name), tuple(columns)


def _are_columns(columns: Any) -> bool:
    """Return whether a value is a list of distinct texts in order, as ``unit_named`` makes it."""
    return (
        isinstance(columns, list)
        and all(isinstance(name, str) for name in columns)
        and [*columns] == [*unit_named(columns)]
    )


def unit_named(columns: Iterable[str]) -> tuple[str, ...]:
    """Name a unit by its columns, in whatever order they were declared: they divide the rows alike."""
    return tuple(sorted(set(columns)))


def cost_of(entry: Entry) -> PrivacyCost:
    """Decode the privacy cost of a spend.

    Raises:
        ValueError: if epsilon, delta and rho are not those of one kind of guarantee.
    """
    stated = {name: amount(getattr(entry, name)) for name in ("epsilon", "delta", "rho") if getattr(entry, name)}
    kinds: tuple[type[PrivacyCost], ...] = (Pure, Approximate, Concentrated)
    for kind in kinds:
        if [*kind.__dataclass_fields__] == [*stated] and all(stated.values()):
            return kind(**stated)
    raise ValueError("its epsilon, delta and rho state no cost")


def total_of(entry: Entry) -> Spent:
    """Decode the totals of a data set after a spend.

    Raises:
        ValueError: if a total is not an amount.
    """
    return Spent(amount(entry.total_epsilon), amount(entry.total_delta), amount(entry.total_rho))


def charge_of(entry: Entry) -> Charge:
    """Decode the charge of a spend.

    Raises:
        ValueError: if the entry is not a spend.
    """
    inputs = _json(entry.inputs or "")
    if entry.dataset is None or entry.run is None or entry.mechanism is None or not isinstance(inputs, dict):
        raise ValueError("it is not a spend")
    neighbours, unit = relation_of(entry)
    return Charge(
        dataset=entry.dataset,
        run=entry.run,
        cost=cost_of(entry),
        neighbours=neighbours,
        mechanism=entry.mechanism,
        noise=entry.noise,
        inputs={FORMER_INPUTS.get(str(name), str(name)): value for name, value in inputs.items()},
        unit=unit,
    )


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
