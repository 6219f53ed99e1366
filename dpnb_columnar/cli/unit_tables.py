"""What ``plan`` says of units: the guarantee for one row and the one for one unit, side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpnb_columnar.budget import Pure
from dpnb_columnar.cli.console import print_line, print_table
from dpnb_columnar.domain.names import named
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.mechanisms.expected_error import expected_error

if TYPE_CHECKING:
    from dpnb_columnar.mechanisms.plan import ReleasePlan

UNIT_SIZES = (1, 2, 5)
"""Numbers of rows of units whose guarantees are shown."""

USUAL_ROWS = (1, 2)
"""Numbers of rows of a unit that may count, beside the planned one."""


def print_units(plan: ReleasePlan) -> None:
    """Print both guarantees for whole units; nothing where the data are not declared to have units, or noise is impure.

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
        names = (
            ["one row", "all"] if most is None else [f"one unit, --unit-rows {most}", f"at most {most} of each unit"]
        )
        rows.append([names[0] + planned, names[1], *each, f"{error:.3g}"])
    print_line(f"guarantees for whole units of {named(columns)}, such as households, by what counts:")
    print_line()
    sizes = [f"epsilon of a unit of {size}" for size in UNIT_SIZES]
    print_table(["guarantee is for", "rows that count", *sizes, "error of a class count"], rows)
    print_line()
