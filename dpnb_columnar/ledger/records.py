"""What a ledger holds: entries as they are stored, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from dpnb_columnar.budget import Approximate, Loss, Neighbours, Remaining, Spent, remaining


class Kind(StrEnum):
    """What an entry tells."""

    ACCOUNT = "account"
    """A data set's limit, and the relation that it refers to. It never changes."""
    SPEND = "spend"
    """What one release costs, written before its noise is drawn."""
    MODEL = "model"
    """What a run has released."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What a release asks of a ledger.

    Attributes:
        dataset: Name of the account.
        run: Run id; the same release asked for twice under one id is charged once.
        loss: Total loss of the release.
        neighbours: The relation that the loss is stated in.
        mechanism: Name of the mechanism.
        noise: Name of the noise family, None for the mechanism's own.
        inputs: Everything else that makes the release what it is, as JSON values. Public facts only.
    """

    dataset: str
    run: str
    loss: Loss
    neighbours: Neighbours
    mechanism: str
    noise: str | None
    inputs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Account:
    """The budget of one data set.

    Attributes:
        dataset: Its name.
        limit: What all releases together may cost; delta 0 for pure ones only.
        neighbours: The relation that every release from it is stated in.
        parts: Digests of the files it is bound to (``aggregation.parts.parts_of``), confidential; None if it is not.
        spent: What all releases have cost so far.
    """

    dataset: str
    limit: Approximate
    neighbours: Neighbours
    parts: frozenset[str] | None
    spent: Spent

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
        neighbours: Of an account or a spend.
        epsilon, delta, rho: The limit of an account; the loss of a spend, None where its kind of loss has none.
        mechanism, noise: Of a spend.
        inputs, inputs_digest: Of a spend: canonical JSON, and its SHA-256.
        total_epsilon, total_delta, total_rho: Of a spend: ``Spent`` of its data set after it.
        parts: Of an account that is bound to files: their digests, a sorted JSON list.
        model_digest: Of a model.
        digest: SHA-256 of the digest before and of all fields above (``chain.link``).
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
