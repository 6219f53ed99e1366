"""The statistics of a second pass as one query: rows of each class in each bin of a score that a released model gives.

CONFIDENTIAL: the result of the query is exact counts. Scores are whole numbers, so every database counts the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import groupby

from sqlglot import exp

from dpnb_columnar.counting.scores import Scores, ScoreTable
from dpnb_columnar.dialects.nodes import (
    as_double,
    below,
    case,
    double,
    identifier,
    integer,
    is_null,
    minus,
    named,
    over,
    own_column,
    plus,
    text,
)
from dpnb_columnar.dialects.number_lists import number_at
from dpnb_columnar.dialects.rendering import header, render, table_or_default
from dpnb_columnar.dialects.rules import Kinds
from dpnb_columnar.dialects.statistics_query import CLASS, codes_read, is_there, needed, read_values
from dpnb_columnar.domain import digest
from dpnb_columnar.rows.cell_codes import number_of_codes
from dpnb_columnar.rows.database_address import Dialect

SCORE, BIN = "score", "bin"

FEW_STEPS = 8
"""Steps that are looked for one after the other; more are halved first, so that a row takes few comparisons."""

MOST_BRANCHES = 256
"""Steps that become branches; of more, regular ones become a list."""


def score_counts_query(scores: Scores, kinds: Kinds, table: str | None, dialect: Dialect) -> str:
    """Write the query whose result is the table of ``ScoreCounts``, in any order, cells without rows left out.

    Its columns: ``class`` and ``bin`` (positions), ``count`` (rows), ``domain`` and ``scores`` (text: their digests, by
    which a file of the result is recognised). The integers are those of the local engine.

    Args:
        scores: What to count.
        kinds: What the columns hold; see ``rules``.
        table: Name of the table as ``rendering.parse_table`` reads it; None for the domain's name.
        dialect: The database.

    Raises:
        UsageError: if the name is not the name of a table.
    """
    domain = scores.domain
    columns = {each.name: f"code_{place}" for place, each in enumerate(domain.attributes)}
    coded = exp.select(
        named(case([(exp.and_(*map(is_there, needed(domain))), own_column(CLASS))]), CLASS),
        *(named(code, name) for code, name in zip(codes_read(domain), columns.values(), strict=True)),
    ).from_(_table("read"))
    parts = [
        _score(each, number_of_codes(domain[each.attribute]), columns[each.attribute], dialect)
        for each in scores.tables
    ]
    score = reduce(lambda left, right: exp.Add(this=left, expression=right), parts)
    scored = exp.select(own_column(CLASS), named(score, SCORE)).from_(_table("coded"))
    edges = [(below(own_column(SCORE), integer(edge)), integer(place)) for place, edge in enumerate(scores.edges)]
    placed = exp.select(own_column(CLASS), named(case(edges, integer(len(edges))), BIN)).from_(_table("scored"))
    keys = [own_column(CLASS), own_column(BIN)]
    query = (
        exp.select(
            *keys,
            named(exp.Count(this=exp.Star()), "count"),
            named(text(digest(domain)), "domain"),
            named(text(scores.digest), "scores"),
        )
        .from_(_table("placed"))
        .where(is_there(CLASS))
        .group_by(*keys)
    )
    read = read_values(domain, kinds, table_or_default(table, domain.name, dialect))
    for name, step in (("read", read), ("coded", coded), ("scored", scored), ("placed", placed)):
        query = query.with_(identifier(name), as_=step, copy=False)
    return header(_remarks(scores, dialect)) + render(query, dialect)


def _score(table: ScoreTable, codes: int, column: str, dialect: Dialect) -> exp.Expr:
    """The score of one attribute, by its code; 64 bits hold the sum of all attributes' scores."""
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


def _table(name: str) -> exp.Table:
    return exp.Table(this=identifier(name))


def _remarks(scores: Scores, dialect: Dialect) -> Sequence[str]:
    return (
        f"CONFIDENTIAL: the result of this query ({dialect.value}) is exact counts of rows. Keep it as you keep them.",
        f"Domain {scores.domain.name!r}, SHA-256 {digest(scores.domain)}; scores of a model, SHA-256 {scores.digest}.",
        "Save the result as a CSV file with a header line, then release the weights of the model from it:",
        "  dpnb-columnar release RESULT.csv --given MODEL.json --output CALIBRATED.json",
    )
