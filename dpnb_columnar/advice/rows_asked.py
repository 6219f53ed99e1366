"""What a release asks of the rows: the queries themselves, and the part of the budget that each spends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpnb_columnar.core.budget import Share, total
from dpnb_columnar.core.budget.composition import GRADIENT, budget_part
from dpnb_columnar.core.measurement import CALIBRATION
from dpnb_columnar.core.queries.query import Answer, Query
from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.names import named
from dpnb_columnar.model.score_calibration import planned_margins
from dpnb_columnar.model.weight_rounds import planned_gradient


@dataclass(frozen=True, slots=True)
class Asked:
    """A query to the rows, as a release plans it. Public.

    Attributes:
        query: What the rows are asked. That of a later pass lacks what only released values tell: its scores.
        passes: How many passes over the rows ask so, each given what the one before released.
        part: The part of the whole budget that is spent on the answers.
    """

    query: Query[Answer]
    passes: int
    part: float

    @property
    def words(self) -> str:
        """What is asked."""
        return self.query.words if self.passes == 1 else f"in {self.passes} passes, {self.query.words}"


def rows_asked(domain: Domain, shares: Sequence[Share]) -> list[Asked]:
    """List what a release asks of the rows, in order.

    Args:
        shares: The composition table: each share draws noise on a part of one pass's answer.
    """
    by_query: dict[Query[Answer], list[Share]] = {}
    for share in shares:
        by_query.setdefault(_asked(domain, share), []).append(share)
    whole = total(shares)
    return [
        Asked(query, len(own) if query.later else 1, sum(budget_part(share.cost, whole) for share in own))
        for query, own in by_query.items()
    ]


def _asked(domain: Domain, share: Share) -> Query[Answer]:
    """Return the query whose answer a share draws noise on."""
    if share.query == CALIBRATION:
        return planned_margins(domain)
    if share.query.startswith(GRADIENT):
        return planned_gradient(domain, share.values - 1)
    return CellQuery(domain)


def asked_table(domain: Domain, shares: Sequence[Share]) -> tuple[list[str], list[list[object]]]:
    """Write what is asked of the rows as a header and rows."""
    header = ["asked of the rows", "numbers", "what one row changes", "of the budget"]
    return header, [
        [asked.words, asked.query.cells, asked.query.parallel.reason, f"{asked.part:.1%}"]
        for asked in rows_asked(domain, shares)
    ]


def unit_remark(domain: Domain) -> str:
    """Say what a whole unit changes; nothing where the guarantee is for one row."""
    unit = domain.unit
    return "" if unit is None else f"one unit ({named(unit.columns)}) changes as much as {unit.rows} of its rows"
