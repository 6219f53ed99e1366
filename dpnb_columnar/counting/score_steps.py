"""Steps of the queries of a second pass: a row's codes, and the scores that tables of whole numbers give them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import groupby

from sqlglot import exp

from dpnb_columnar.counting.scores import ScoreTable
from dpnb_columnar.dialects.nodes import (
    as_double,
    below,
    case,
    double,
    integer,
    is_null,
    minus,
    over,
    own_column,
    plus,
)
from dpnb_columnar.dialects.number_lists import number_at
from dpnb_columnar.dialects.statistics_query import is_there
from dpnb_columnar.dialects.unit_rows import Steps, last_step, with_steps
from dpnb_columnar.domain import Domain
from dpnb_columnar.rows.cell_codes import number_of_codes
from dpnb_columnar.rows.database_address import Dialect
from dpnb_columnar.rows.unit_order import CLASS

FEW_STEPS = 8
"""Steps that are looked for one after the other; more are halved first, so that a row takes few comparisons."""

MOST_ARGUMENTS = 100
"""Numbers that are compared at once: SQLite's functions take no more than 127, or 1,000 of late."""

MOST_BRANCHES = 256
"""Steps that become branches; of more, regular ones become a list."""


def over_steps(columns: Iterable[exp.Expr], steps: Steps) -> exp.Select:
    """Write the query of columns over those rows of the last step that count."""
    return with_steps(exp.select(*columns).from_(last_step(steps)).where(is_there(CLASS)), steps)


def added(summands: Sequence[exp.Expr]) -> exp.Expr:
    """Add up numbers."""
    return reduce(lambda left, right: exp.Add(this=left, expression=right), summands)


def greatest(numbers: Sequence[exp.Expr], dialect: Dialect) -> exp.Expr:
    """The largest of numbers that are never null: DuckDB's function would be guarded by tests for null otherwise."""
    if len(numbers) > MOST_ARGUMENTS:
        parts = range(0, len(numbers), MOST_ARGUMENTS)
        numbers = [greatest(numbers[start : start + MOST_ARGUMENTS], dialect) for start in parts]
    wide = [exp.cast(number.copy(), exp.DType.BIGINT) for number in numbers]
    return exp.Greatest(this=wide[0], expressions=wide[1:], ignore_nulls=dialect is Dialect.DUCKDB)


def attribute_score(table: ScoreTable, domain: Domain, dialect: Dialect) -> exp.Expr:
    """Write the score of one attribute, by its code among ``coded_rows``, as a 64-bit integer."""
    place = next(place for place, each in enumerate(domain.attributes) if each.name == table.attribute)
    column, codes = f"code_{place}", number_of_codes(domain.attributes[place])
    missing = (is_null(own_column(column)), integer(table.missing))
    starts, scores = table.starts, table.scores
    if len(starts) > MOST_BRANCHES and len(runs := _runs(starts, codes)) <= MOST_BRANCHES:
        places = [_place(column, run, starts) for run in runs]
        score = number_at(scores, _by_start(column, [starts[run.start] for run in runs], places), dialect)
    else:
        # Neighbouring steps of one score are one step.
        merged = [next(group) for _, group in groupby(zip(starts, scores, strict=True), lambda step: step[1])]
        score = _by_start(column, [start for start, _ in merged], [integer(number) for _, number in merged])
    return exp.cast(case([missing], score), exp.DType.BIGINT)


def _runs(starts: Sequence[int], codes: int) -> list[range]:
    """Divide steps into runs of one width, the last step of a run at most as wide as the others."""
    runs, first = [], 0
    ends = [*starts[1:], codes]
    while first < len(starts):
        last, width = first, ends[first] - starts[first]
        while last + 1 < len(starts) and ends[last] - starts[last] == width >= ends[last + 1] - starts[last + 1]:
            last += 1
        runs.append(range(first, last + 1))
        first = last + 1
    return runs


def _place(column: str, run: range, starts: Sequence[int]) -> exp.Expr:
    """The place of a code's step, by the widths of a run of them."""
    if len(run) == 1:
        return integer(run.start)
    # Exact: codes are below 2^33, so that no quotient is rounded up to a whole number.
    width = starts[run.start + 1] - starts[run.start]
    steps = over(as_double(minus(own_column(column), integer(starts[run.start]))), double(width))
    return plus(integer(run.start), exp.cast(exp.Floor(this=steps), exp.DType.BIGINT))


def _by_start(column: str, starts: Sequence[int], values: Sequence[exp.Expr]) -> exp.Expr:
    """Look up the value of the last start that the code reaches; each start is above the one before, or equal to it."""
    if len(starts) > FEW_STEPS:
        half = len(starts) // 2
        below_half = below(own_column(column), integer(starts[half]))
        otherwise = _by_start(column, starts[half:], values[half:])
        return case([(below_half, _by_start(column, starts[:half], values[:half]))], otherwise)
    pairs = zip(starts[1:], values[:-1], strict=True)
    branches = [(below(own_column(column), integer(start)), value) for start, value in pairs]
    return case(branches, values[-1]) if branches else values[-1]
