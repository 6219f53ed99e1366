"""What ``plan`` says of units: the guarantee for one row and the one for one unit, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from dpnb_columnar.budget import Pure
from dpnb_columnar.domain.description import table_lines
from dpnb_columnar.domain.names import named
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.mechanisms.expected_error import expected_error

if TYPE_CHECKING:
    from dpnb_columnar.mechanisms.plan import ReleasePlan

UNIT_SIZES = (1, 2, 5)
"""Numbers of rows of units whose guarantees are shown."""

USUAL_ROWS = (1, 2)
"""Numbers of rows of a unit that may count, beside the planned one."""


def unit_lines(plan: ReleasePlan) -> Iterator[str]:
    """Yield both guarantees for whole units; nothing where the data are not declared to have units, or noise is impure.

    Args:
        plan: The release, of a private mechanism.
    """
    unit = plan.domain.unit
    columns = plan.domain.available_unit if unit is None else unit.columns
    spent, counts = plan.total, plan.shares[0]
    if not columns or not isinstance(spent, Pure) or not isinstance(counts.cost, Pure):
        return
    rows: list[list[str]] = []
    for most in (None, *sorted({*USUAL_ROWS, *(() if unit is None else [unit.rows])})):
        row_cost = Pure(counts.cost.epsilon / (plan.budget.neighbours.rows * (most or 1)))
        error = expected_error(plan.domain, replace(counts, row_cost=row_cost), 1)
        each = [number_text(spent.epsilon * (size if most is None else 1)) for size in UNIT_SIZES]
        planned = " (planned)" * (most == (None if unit is None else unit.rows))
        counted = "all" if most is None else f"at most {most} of each unit"
        protected = "one row" if most is None else f"one unit, {most} row{'s' * (most > 1)}"
        rows.append([protected + planned, counted, *each, f"{error:.3g}"])
    yield f"guarantees for whole units of {named(columns)}, such as households, by what counts (--unit-rows):"
    yield ""
    sizes = [f"epsilon of a unit of {size}" for size in UNIT_SIZES]
    yield from table_lines(["guarantee is for", "rows that count", *sizes, "error of a class count"], rows)
    yield ""
