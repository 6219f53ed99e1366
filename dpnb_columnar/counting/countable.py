"""Rows that can be asked: checked against a domain first, then answered by the engine that opened them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from dpnb_columnar.core.queries.query import Answer, AnswerT, Query
    from dpnb_columnar.domain import Domain

KnownT = TypeVar("KnownT", bound="Answer")


class CheckedRows(Protocol):
    """Rows that have every column of a domain."""

    @property
    def repeatable(self) -> bool:
        """Whether the rows can be read again, for a later pass."""

    def answer(self, query: Query[AnswerT]) -> AnswerT:
        """Ask the rows. Confidential."""


class Rows(Protocol):
    """Rows that can be asked in a domain."""

    @property
    def repeatable(self) -> bool:
        """Whether the rows can be read again, for a later pass."""

    def check(self, domain: Domain) -> CheckedRows:
        """Check that the rows have the domain's columns, in types that the domain can be read from. Opens no row."""


@dataclass(frozen=True, slots=True, repr=False)
class OpenedRows:
    """Rows that have every column of a domain, and the engine that answers.

    Attributes:
        source: The rows, as the engine has opened them. Confidential.
        engine: Answers a query over the source.
        repeatable: Whether the rows can be read again.
    """

    source: Any
    engine: Callable[[Any, Query[Any]], Any]
    repeatable: bool = True

    def answer(self, query: Query[AnswerT]) -> AnswerT:
        """Ask the rows. Confidential."""
        answer: AnswerT = self.engine(self.source, query)
        return answer


@dataclass(frozen=True, slots=True, repr=False)
class AskedRows(Generic[KnownT]):
    """Rows that have been asked before, and are not here: they answer that one query. Confidential.

    Attributes:
        known: What they have answered.
    """

    known: KnownT
    repeatable: ClassVar[bool] = False

    def check(self, domain: Domain) -> AskedRows[KnownT]:
        """Leave out what is about attributes that the domain has not; whoever asked the rows has checked them."""
        return AskedRows(self.known.only(domain))

    def answer(self, query: Query[AnswerT]) -> AnswerT:
        """Return the answer. Confidential."""
        if query.digest != self.known.query.digest:
            raise ValueError("these rows were asked something else, and cannot be read again")
        known: Any = self.known
        answer: AnswerT = known
        return answer
