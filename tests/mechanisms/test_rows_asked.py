"""What a plan says that it asks of the rows is what the release then asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest
from dpnb_columnar.advice.rows_asked import asked_table, rows_asked, unit_remark
from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.budget.composition import row_effect
from dpnb_columnar.core.queries.query import Query
from dpnb_columnar.releases.plan import plan
from support.mechanisms import MECHANISMS
from support.people import PEOPLE, people, people_domain

from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.domain import Domain
from dpnb_columnar.training import train

THREE = {**PEOPLE, "label": {"column": "income", "classes": ["low", "high", "none"]}}


@dataclass
class Listening:
    """Rows that remember what they were asked."""

    rows: Any
    heard: list[Query[Any]] = field(default_factory=list)
    repeatable = True

    def check(self, domain: Domain) -> Listening:
        return Listening(self.rows.check(domain), self.heard)

    def answer(self, query: Query[Any]) -> Any:
        self.heard.append(query)
        return self.rows.answer(query)


@pytest.mark.parametrize(
    ("document", "weights"),
    [(PEOPLE, "none"), (PEOPLE, "calibrated"), (PEOPLE, "learned"), (THREE, "none"), (THREE, "calibrated")],
)
def test_a_release_asks_what_its_plan_lists(document: dict[str, Any], weights: str) -> None:
    domain = people_domain(document)
    planned = plan(domain, Budget(Fraction(1)), "histogram", attribute_weights=weights)
    rows = Listening(FrameInput(people(60)))
    train(planned, rows)
    listed = rows_asked(domain, planned.shares)
    assert [(type(query), query.words, query.cells, query.parallel) for query in rows.heard] == [
        (type(asked.query), asked.query.words, asked.query.cells, asked.query.parallel)
        for asked in listed
        for _ in range(asked.passes)
    ]
    assert sum(asked.part for asked in listed) == pytest.approx(1)


@pytest.mark.parametrize("mechanism", [name for name in MECHANISMS if name != "none"])
def test_shares_state_what_the_queries_do(mechanism: str) -> None:
    """Every share of a later pass is of as many values, and of the effect of one row, that the query itself states."""
    weights = "none" if mechanism == "majority" else "calibrated"
    planned = plan(people_domain(), Budget(Fraction(1)), mechanism, attribute_weights=weights)
    first, *later = rows_asked(planned.domain, planned.shares)
    assert not first.query.later
    assert first.part == pytest.approx(1 if mechanism == "majority" else 0.9)
    assert all(asked.query.later for asked in later)
    for asked, share in zip(later, [share for share in planned.shares if share is planned.calibration], strict=True):
        assert (asked.query.cells, asked.query.parallel.effect) == (share.values, row_effect(share.query))


def test_what_a_unit_changes_is_said_beside_the_table() -> None:
    domain = people_domain({**PEOPLE, "unit": {"columns": ["house"], "rows": 3}})
    planned = plan(domain, Budget(Fraction(1)), "histogram")
    header, rows = asked_table(domain, planned.shares)
    assert len(rows[0]) == len(header)
    assert unit_remark(domain) == "one unit (house) changes as much as 3 of its rows"
    assert unit_remark(people_domain()) == ""
