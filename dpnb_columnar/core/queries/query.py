"""A question to the rows is a value, and so is its answer.

A query says what one pass over the rows counts or sums up. It is public: a declared domain fixes that of the *first
pass*, and released values fix those of *later passes*. Its answer is exact, and CONFIDENTIAL.

The kinds are ``statistics.CellQuery``, ``scores.Scores``, ``scores.Margins`` and ``scores.GradientQuery``. A further
kind is a frozen dataclass with the members of ``Query``, another with those of ``Answer``, and what three tables hold
by its type: ``engines.polars.reduce_rows``, ``statistics_query.query_sql`` and ``answer_files.FORMATS``. Every
engine, files and the command line take it from there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, cast

from dpnb_columnar.core.budget import Parallel
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import option

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Answer(Protocol):
    """What the rows answer to a query: a frozen dataclass. Confidential: its repr shows the shape only."""

    @property
    def query(self) -> Query[Self]:
        """What was asked. Public."""

    @property
    def class_counts(self) -> NDArray[np.int64]:
        """Shape (classes,): how many rows of each class were read."""

    @property
    def parts(self) -> frozenset[str]:
        """Digests of the files that were read, or of answers whose rows are not known; empty for a frame."""

    @property
    def whole_units(self) -> bool:
        """Whether no unit with rows here is declared to have rows in what this is added to."""

    @property
    def own_part(self) -> frozenset[str]:
        """The digest of the answer itself, for one whose rows are not known; empty if there is no row."""

    def __add__(self, other: Self, /) -> Self:
        """Return the answer of two sets of rows together, which must be disjoint as far as that can be told."""

    def joined(self, other: Self, /) -> Self:
        """Return the answer to the same query of two sets of rows that are known to be disjoint."""

    def only(self, domain: Domain, /) -> Self:
        """Leave out what is about attributes that a domain lacks."""


AnswerT = TypeVar("AnswerT", bound=Answer)
AnswerT_co = TypeVar("AnswerT_co", bound=Answer, covariant=True)


class Query(Protocol[AnswerT_co]):
    """One question to all rows: a frozen dataclass. Public."""

    @property
    def domain(self) -> Domain:
        """Domain of the rows."""

    @property
    def later(self) -> bool:
        """Whether released values fix what is asked, so that only a later pass can ask it."""

    @property
    def words(self) -> str:
        """What is counted or summed up, for people."""

    @property
    def cells(self) -> int:
        """How many numbers the answer has."""

    @property
    def parallel(self) -> Parallel:
        """What one row that is added or removed changes, as the shares of the budget need it."""

    @property
    def sensitivity(self) -> int:
        """How far one row, added or removed, moves the numbers that noise is added to, together in L1, at most."""

    @property
    def digest(self) -> str:
        """The hexadecimal SHA-256 of all that decides the answer: answers to queries of one digest may be added."""

    def empty(self) -> AnswerT_co:
        """Return the answer where there is no row."""


def with_parts(answer: AnswerT, parts: frozenset[str]) -> AnswerT:
    """Return an answer with other digests of what was read."""
    changed: AnswerT = replace(cast(Any, answer), parts=parts)
    return changed


def with_whole_units(answer: AnswerT, whole_units: bool) -> AnswerT:
    """Return an answer of which it is declared, or not, that no unit has rows in what it is added to."""
    changed: AnswerT = replace(cast(Any, answer), whole_units=whole_units)
    return changed


def check_disjoint(first: Answer, second: Answer, what: str) -> None:
    """Refuse to add up two answers that are not known to be of disjoint rows, or are to different queries."""
    if first.query != second.query:
        raise ValueError(f"{what} cannot be added")
    if first.parts & second.parts:
        raise ValueError("the same rows are in both and would count twice; drop one")
    check_whole_units(first.query.domain, first.whole_units and second.whole_units)


def check_whole_units(domain: Domain, whole_units: bool) -> None:
    """Refuse to add up parts in which rows of one unit may stand apart."""
    if domain.unit is not None and not whole_units:
        raise ValueError(
            "rows are counted by unit, and a unit with rows in several parts would count more of them than it may; "
            "count all parts in one run, or, if no unit has rows in more than one, declare that with "
            f"{option('whole-units')}"
        )


def digest_blocks(kind: str, blocks: Iterable[bytes]) -> str:
    """Return the digest of a sequence of blocks of bytes, which differs for every other division into blocks."""
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(len(block).to_bytes(8, "little") + block)
    return f"{kind}:{digest.hexdigest()}"
