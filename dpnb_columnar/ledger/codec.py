"""Between entries as they are stored and what they mean. Reading trusts nothing: a ledger is a file like any other."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dpnb_columnar.budget import Approximate, Concentrated, Loss, Neighbours, Pure, Spent
from dpnb_columnar.budget.accounting import LARGEST_TOTAL
from dpnb_columnar.budget.amounts import LARGEST_DELTA, LARGEST_EPSILON
from dpnb_columnar.budget.losses import numbers
from dpnb_columnar.domain.numbers import text
from dpnb_columnar.errors import UsageError
from dpnb_columnar.ledger.records import Account, Charge, Entry, Kind, canonical, sha256
from dpnb_columnar.version import __version__

LONGEST_AMOUNT = 4000
"""Characters of an amount: the longest decimal of a total in range has fewer."""

LONGEST_TEXT = 2**18
"""Characters of any other text of an entry."""


def account_entry(account: Account, number: int) -> Entry:
    """The entry that opens an account.

    Raises:
        UsageError: It is bound to more files than an entry holds.
    """
    parts = None if account.parts is None else canonical(sorted(account.parts))
    return Entry(
        *_head(number, Kind.ACCOUNT),
        dataset=account.dataset,
        neighbours=account.neighbours.value,
        epsilon=text(account.limit.epsilon),
        delta=text(account.limit.delta),
        parts=None if parts is None else _bounded(parts, "the files that an account is bound to", "name fewer files"),
    )


def inputs_text(charge: Charge) -> str:
    """The inputs of a release as its entry holds them: canonical JSON.

    Raises:
        UsageError: They are more than an entry holds.
    """
    return _bounded(
        canonical(charge.inputs),
        f"run id {charge.run}: the names of its files and its other inputs",
        "a folder or pattern stands for every file in it, so name the files to dpnb-columnar aggregate, and give "
        "the sum to dpnb-columnar release",
    )


def spend_entry(charge: Charge, total: Spent, number: int) -> Entry:
    """The entry that charges a release.

    Raises:
        UsageError: Its inputs are more than an entry holds.
    """
    inputs = inputs_text(charge)
    stated = {name: text(amount) for name, amount in numbers(charge.loss).items()}
    return Entry(
        *_head(number, Kind.SPEND),
        dataset=charge.dataset,
        run=charge.run,
        neighbours=charge.neighbours.value,
        epsilon=stated.get("epsilon"),
        delta=stated.get("delta"),
        rho=stated.get("rho"),
        mechanism=charge.mechanism,
        noise=charge.noise,
        inputs=inputs,
        inputs_digest=sha256(inputs),
        total_epsilon=text(total.epsilon),
        total_delta=text(total.delta),
        total_rho=text(total.rho),
    )


def model_entry(run: str, digest: str, number: int) -> Entry:
    """The entry that says what a run has released."""
    return Entry(*_head(number, Kind.MODEL), run=run, model_digest=digest)


def _head(number: int, kind: Kind) -> tuple[int, str, str, str]:
    return number, kind.value, datetime.now(UTC).isoformat(timespec="seconds"), __version__


def _bounded(written: str, what: str, remedy: str) -> str:
    if len(written) > LONGEST_TEXT:
        raise UsageError(f"{what}: more than the {LONGEST_TEXT} characters that an entry of a ledger holds; {remedy}")
    return written


@lru_cache(maxsize=4096)
def amount(written: str | None) -> Fraction:
    """An amount that is not negative.

    Raises:
        ValueError: It is no such number, or has too many digits.
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
    """Refuse the limit of an account that protects nobody.

    Raises:
        ValueError: It is beyond what any release may cost.
    """
    if not 0 < limit.epsilon <= LARGEST_EPSILON or not 0 <= limit.delta <= LARGEST_DELTA:
        raise ValueError("its limit is out of every sensible range")


def account_of(entry: Entry) -> Account:
    """An account before anything was spent.

    Raises:
        ValueError: It is none.
    """
    if entry.dataset is None:
        raise ValueError("it is no account")
    limit = Approximate(amount(entry.epsilon), amount(entry.delta))
    check_limit(limit)
    return Account(entry.dataset, limit, neighbours_of(entry), _parts(entry.parts), Spent())


def neighbours_of(entry: Entry) -> Neighbours:
    """The relation of an account or a spend.

    Raises:
        ValueError: It is none.
    """
    if entry.neighbours not in [relation.value for relation in Neighbours]:
        raise ValueError("its neighbouring relation is unknown")
    return Neighbours(entry.neighbours)


def loss_of(entry: Entry) -> Loss:
    """What a spend costs.

    Raises:
        ValueError: Its amounts state no loss.
    """
    stated = {name: amount(getattr(entry, name)) for name in ("epsilon", "delta", "rho") if getattr(entry, name)}
    kinds: tuple[type[Loss], ...] = (Pure, Approximate, Concentrated)
    for kind in kinds:
        if [*kind.__dataclass_fields__] == [*stated] and all(stated.values()):
            return kind(**stated)
    raise ValueError("its epsilon, delta and rho state no loss")


def total_of(entry: Entry) -> Spent:
    """The totals of a spend's data set after it.

    Raises:
        ValueError: They are no amounts.
    """
    return Spent(amount(entry.total_epsilon), amount(entry.total_delta), amount(entry.total_rho))


def charge_of(entry: Entry) -> Charge:
    """The charge of a spend.

    Raises:
        ValueError: It is none.
    """
    inputs = _json(entry.inputs or "")
    if entry.dataset is None or entry.run is None or entry.mechanism is None or not isinstance(inputs, dict):
        raise ValueError("it is no spend")
    return Charge(
        dataset=entry.dataset,
        run=entry.run,
        loss=loss_of(entry),
        neighbours=neighbours_of(entry),
        mechanism=entry.mechanism,
        noise=entry.noise,
        inputs=inputs,
    )


def _parts(written: str | None) -> frozenset[str] | None:
    parts = None if written is None else _json(written)
    if parts is None:
        return None
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ValueError("its parts are no list of digests")
    return frozenset(parts)


def _json(written: str) -> Any:
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        raise ValueError("it holds a text that is no JSON") from None
