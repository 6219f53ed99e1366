"""Entries of a ledger as they are stored, the names in them, and the chain of their digests."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any, NamedTuple

from dpnb_columnar.budget import Approximate, Concentrated, Neighbours, PrivacyCost, Remaining, Spent, admits, remaining
from dpnb_columnar.errors import UsageError, excerpt


class Kind(StrEnum):
    """The kind of an entry."""

    ACCOUNT = "account"
    """A data set's limit, and the relation that it refers to. It never changes."""
    SPEND = "spend"
    """What one release costs, written before its noise is drawn."""
    MODEL = "model"
    """What a run has released."""


@dataclass(frozen=True, slots=True)
class Charge:
    """The charge for one release.

    Attributes:
        dataset: Name of the account.
        run: Run id; the same release asked for twice under one id is charged once.
        cost: Total cost of the release.
        neighbours: The relation that the cost is stated in.
        mechanism: Name of the mechanism.
        noise: Name of the noise family, None for the mechanism's own.
        inputs: Everything else that makes the release what it is, as JSON values. Public facts only.
        unit: Columns that name the unit which the relation is of, in order of their names; empty where it is of rows.
    """

    dataset: str
    run: str
    cost: PrivacyCost
    neighbours: Neighbours
    mechanism: str
    noise: str | None
    inputs: Mapping[str, Any]
    unit: tuple[str, ...] = ()


class Correction(NamedTuple):
    """A release that cost more than it was charged (``former_charges``).

    Attributes:
        run: Its run id.
        charged: What its entry says.
        true: What it has cost.
    """

    run: str
    charged: Concentrated
    true: Concentrated


@dataclass(frozen=True, slots=True)
class Account:
    """The budget of one data set.

    Attributes:
        dataset: Its name.
        limit: What all releases together may cost; delta 0 for pure ones only.
        neighbours: The relation that every release from it is stated in.
        parts: Digests of the files it is bound to (``counting.file_parts``), confidential; None if it is not.
        spent: What all releases have cost so far, in truth.
        unit: As of a ``Charge``: guarantees of different units do not add up.
        corrections: The releases that cost more than they were charged; ``spent`` counts what they cost.
    """

    dataset: str
    limit: Approximate
    neighbours: Neighbours
    parts: frozenset[str] | None
    spent: Spent
    unit: tuple[str, ...] = ()
    corrections: tuple[Correction, ...] = ()

    @property
    def recorded(self) -> Spent:
        """What the entries add up to."""
        return replace(self.spent, rho=self.spent.rho - self._uncharged)

    def corrected(self, recorded: Spent) -> Account:
        """Return the account with another total of its entries."""
        return replace(self, spent=replace(recorded, rho=recorded.rho + self._uncharged))

    @property
    def _uncharged(self) -> Fraction:
        return sum((each.true.rho - each.charged.rho for each in self.corrections), Fraction(0))

    @property
    def exceeded(self) -> bool:
        """Whether the releases have cost more than the limit. No charge is admitted that exceeds it: corrections do."""
        return not admits(self.limit, self.spent)

    @property
    def remaining(self) -> Remaining:
        """What one more release may cost at most."""
        return remaining(self.limit, self.spent)


@dataclass(frozen=True, slots=True)
class Run:
    """A release that has been charged.

    Attributes:
        charge: As it was made.
        document: The released model's document; None while the run is unfinished.
        digest: SHA-256 of the document, in hexadecimal; None while the run is unfinished.
    """

    charge: Charge
    document: str | None = None
    digest: str | None = None


class Entry(NamedTuple):
    """One row of the chain as it is stored: amounts, lists and mappings are text.

    Attributes:
        number: From 1 on.
        kind: A ``Kind``.
        time: UTC, to the second.
        version: Of the program that wrote it.
        dataset: Of an account or a spend.
        run: Of a spend or a model.
        neighbours: Of an account or a spend: the relation, and the unit that it is of (``written_relation``).
        epsilon, delta, rho: The limit of an account; the cost of a spend, None where its kind of cost has none.
        mechanism, noise: Of a spend.
        inputs, inputs_digest: Of a spend: canonical JSON, and its SHA-256.
        total_epsilon, total_delta, total_rho: Of a spend: ``Spent`` of its data set after it.
        parts: Of an account that is bound to files: their digests, a sorted JSON list.
        model_digest: Of a model.
        digest: SHA-256 of the digest before and of all fields above (``link``).
    """

    number: int
    kind: str
    time: str
    version: str
    dataset: str | None = None
    run: str | None = None
    neighbours: str | None = None
    epsilon: str | None = None
    delta: str | None = None
    rho: str | None = None
    mechanism: str | None = None
    noise: str | None = None
    inputs: str | None = None
    inputs_digest: str | None = None
    total_epsilon: str | None = None
    total_delta: str | None = None
    total_rho: str | None = None
    parts: str | None = None
    model_digest: str | None = None
    digest: str = ""


def written_relation(neighbours: Neighbours, unit: tuple[str, ...]) -> str:
    """Write a relation as entries and tables hold it: of rows ``add-remove``, of units ``add-remove of ["SERIAL"]``."""
    return f"{neighbours.value} of {canonical([*unit])}" if unit else neighbours.value


# The chain of digests, and the canonical texts that are digested.


ORIGIN = "0" * 64
"""The digest that the first entry is linked to."""

COLUMNS = Entry._fields


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value: Any) -> str:
    """Write a value as canonical JSON: sorted keys, no blanks, ASCII.

    Raises:
        ValueError, TypeError: if the value cannot be written as JSON.
    """
    return _ENCODER.encode(value)


def sha256(text: str) -> str:
    """Compute the SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def link(previous: str, entry: Entry) -> str:
    """Compute the digest of an entry from the previous entry's digest and all of its own other fields."""
    fields = entry._asdict()
    del fields["digest"]
    return sha256(previous + canonical(fields))


def linked(previous: str, entry: Entry) -> Entry:
    """Return the entry with its digest filled in."""
    return entry._replace(digest=link(previous, entry))


# Names of runs.


LONGEST_NAME = 200
"""Characters."""


def check_run(run: str) -> str:
    """Return a run id, checked; those of Airflow fit.

    Raises:
        UsageError: if the id is not 1 to 200 letters, digits and ``._:+@=-``.
    """
    if not re.fullmatch(rf"[A-Za-z0-9._:+@=-]{{1,{LONGEST_NAME}}}", run):
        raise UsageError(
            f"run id {excerpt(run)}: give 1 to {LONGEST_NAME} letters, digits and . _ : + @ = -, such as "
            "night-2026-11-21"
        )
    return run


def fresh_run() -> str:
    """Make a run id that no other run has: the time and random digits."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}-{secrets.token_hex(6)}"
