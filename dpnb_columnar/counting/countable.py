"""Rows that can be counted: checked against a domain first, then counted by the engine that opened them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from dpnb_columnar.counting.statistics import Statistics
    from dpnb_columnar.domain import Domain


class CheckedRows(Protocol):
    """Rows that have every column of a domain."""

    def count(self) -> Statistics:
        """Count every cell of the domain. Confidential."""


class Rows(Protocol):
    """Rows that can be counted in a domain."""

    def check(self, domain: Domain) -> CheckedRows:
        """Check that the rows have the domain's columns, in types that the domain can be read from. Opens no row."""


@dataclass(frozen=True, slots=True, repr=False)
class OpenedRows:
    """Rows that have every column of a domain, and the engine that counts them.

    Attributes:
        source: The rows, as the engine has opened them. Confidential.
        domain: The domain to count in.
        aggregate: Counts every cell of the domain over the source.
    """

    source: Any
    domain: Domain
    aggregate: Callable[[Any, Domain], Statistics]

    def count(self) -> Statistics:
        """Count every cell of the domain. Confidential."""
        return self.aggregate(self.source, self.domain)


@dataclass(frozen=True, slots=True, repr=False)
class Counted:
    """Rows that have been counted before. Confidential."""

    statistics: Statistics

    def check(self, domain: Domain) -> Counted:
        """Check nothing: whoever counted the rows has checked them."""
        return self

    def count(self) -> Statistics:
        """Return the statistics. Confidential."""
        return self.statistics
