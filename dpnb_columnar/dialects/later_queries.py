"""What is asked of the rows, as one SQL query for each pass: ``query_sql`` writes it for any query of ``query.Query``.

CONFIDENTIAL: the result of the query is exact. That of the first pass is written by ``dialects.statistics_query``;
here stand those of later passes. Scores are whole numbers, so every database counts the same.

*Sums of a round*: ``scores.GradientSums`` by the integer arithmetic of a database. Quotients of numbers from 0 on are
computed in 64-bit floats and rounded down. An exact quotient a/b that is no whole number is at least 1/b below the next
one, and with a below 2^53 a float is off by less than that: none is rounded up to a whole number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch
from itertools import groupby
from typing import Any

from sqlglot import exp

from dpnb_columnar.core.code_limits import UNITS
from dpnb_columnar.core.queries.query import Query
from dpnb_columnar.core.queries.scores import (
    CERTAIN,
    ClassScores,
    GradientQuery,
    Margins,
    ScoreTable,
    probabilities,
    sum_columns,
)
from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.dialects.nodes import (
    as_column,
    as_double,
    at_least,
    below,
    by_start,
    case,
    double,
    equal,
    integer,
    is_null,
    minus,
    modulo,
    number_at,
    over,
    own_column,
    plus,
    sum_of,
    text,
    times,
)
from dpnb_columnar.dialects.rendering import header, render, rows_or_default
from dpnb_columnar.dialects.rules import Kinds
from dpnb_columnar.dialects.statistics_query import (
    Steps,
    add_step,
    coded_rows,
    is_there,
    last_step,
    statistics_query,
    with_steps,
)
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declared_domain import digest
from dpnb_columnar.errors import command
from dpnb_columnar.rows.row_rules import CLASS, WEIGHT, number_of_codes
from dpnb_columnar.rows.sources import Dialect


@singledispatch
def query_sql(query: Query[Any], kinds: Kinds, table: str | exp.Subquery | None, dialect: Dialect) -> str:
    """Write the SQL query whose result ``statistics_files.answer_of`` reads."""
    raise TypeError(f"no SQL is registered for {type(query).__name__}")


@query_sql.register
def _cells_sql(query: CellQuery, kinds: Kinds, table: str | exp.Subquery | None, dialect: Dialect) -> str:
    return statistics_query(query.domain, kinds, table, dialect)


# Steps of the queries of all later passes: a row's codes, and the scores that tables of whole numbers give them.

MOST_ARGUMENTS = 100
"""Numbers that are compared at once: SQLite's functions take no more than 127, or 1,000 of late."""

MOST_BRANCHES = 256
"""Steps that become branches; of more, regular ones become a list."""


def over_steps(columns: Iterable[exp.Expr], steps: Steps) -> exp.Select:
    """Write the query of columns over those rows of the last step that count."""
    return with_steps(exp.select(*columns).from_(last_step(steps)).where(is_there(CLASS)), steps)


def greatest(numbers: Sequence[exp.Expr], dialect: Dialect) -> exp.Expr:
    """Write the largest of numbers that are never null, without the tests for null that sqlglot adds for DuckDB."""
    if len(numbers) == 1:  # SQLite takes the largest of one number for that of all rows
        return numbers[0]
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
        firsts = [integer(starts[run.start]) for run in runs[1:]]
        score = number_at(scores, by_start(own_column(column), firsts, places), dialect)
    else:
        # Neighbouring steps of one score are one step.
        merged = [next(group) for _, group in groupby(zip(starts, scores, strict=True), lambda step: step[1])]
        firsts = [integer(start) for start, _ in merged[1:]]
        score = by_start(own_column(column), firsts, [integer(number) for _, number in merged])
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
    """Write the place of a code's step within a run of steps of one width."""
    if len(run) == 1:
        return integer(run.start)
    # Exact: codes are below 2^33, so that no quotient is rounded up to a whole number.
    width = starts[run.start + 1] - starts[run.start]
    steps = over(as_double(minus(own_column(column), integer(starts[run.start]))), double(width))
    return plus(integer(run.start), exp.cast(exp.Floor(this=steps), exp.DType.BIGINT))


SCORE, KEY, LARGEST, MARGIN, BEST, BIN, GROUP = "score", "key", "largest", "margin", "best", "bin", "group"


@query_sql.register
def score_counts_query(scores: ClassScores, kinds: Kinds, table: str | exp.Subquery | None, dialect: Dialect) -> str:
    """Write the query of ``ScoreCounts``, as ``query_sql``: a row per cell with rows in it, in any order.

    Its columns: ``class`` and ``bin`` (positions), ``count`` (rows, or steps of their weights), ``domain`` and
    ``scores`` (text: their digests, by which a file of the result is recognised).
    """
    domain, factor = scores.domain, scores.factor
    steps = coded_rows(domain, kinds, rows_or_default(table, domain.name, dialect))
    keys = {klass: as_column(_key(scores, klass, dialect), f"{KEY}_{klass}") for klass in scores.compared}
    own = [as_column(_class_score(scores, scores.largest, dialect), SCORE)] if isinstance(scores, Margins) else []
    grouped = [attribute_score(each, domain, dialect) for each in scores.group_tables]
    group = [as_column(sum_of(grouped), GROUP)] if grouped else []
    weight = [own_column(WEIGHT)] if scores.weighted else []
    kept = [CLASS, *(each.alias for each in group), *(each.name for each in weight)]
    add_step(steps, "scored", [own_column(CLASS), *group, *weight, *keys.values(), *own])
    largest = as_column(greatest([own_column(key.alias) for key in keys.values()], dialect), LARGEST)
    add_step(steps, "compared", [*map(own_column, kept), largest, *(own_column(each.alias) for each in own)])
    # Twice, since the remainder of a negative number may be negative.
    after = modulo(plus(modulo(own_column(LARGEST), factor), integer(factor)), factor)
    place: exp.Expr = minus(integer(factor - 1), after)
    if isinstance(scores, Margins):
        score = own_column(SCORE) if factor == 1 else times(integer(factor), own_column(SCORE))
        best = [as_column(place, BEST)] if scores.columns > 2 else []
        margin = as_column(minus(own_column(LARGEST), score), MARGIN)
        add_step(steps, "best", [*map(own_column, kept), margin, *best])
        place = _margin_bin(scores)
    if grouped:
        place = plus(times(own_column(GROUP), integer(scores.group_bins)), place)
    add_step(steps, "placed", [own_column(CLASS), *weight, as_column(place, BIN)])
    count = exp.cast(exp.Sum(this=weight[0]), exp.DType.BIGINT) if weight else exp.Count(this=exp.Star())
    columns = [
        own_column(CLASS),
        own_column(BIN),
        as_column(count, "count"),
        as_column(text(digest(domain)), "domain"),
        as_column(text(scores.digest), "scores"),
    ]
    query = over_steps(columns, steps).group_by(own_column(CLASS), own_column(BIN))
    return header(_remarks(scores, dialect)) + render(query, dialect)


def _class_score(scores: ClassScores, klass: int, dialect: Dialect) -> exp.Expr:
    """Write the score of a class."""
    tables = scores.by_class[klass]
    return sum_of([integer(scores.offsets[klass]), *(attribute_score(each, scores.domain, dialect) for each in tables)])


def _key(scores: ClassScores, klass: int, dialect: Dialect) -> exp.Expr:
    """Write the key of a class that is compared (``ClassScores.factor``)."""
    factor, score = scores.factor, _class_score(scores, klass, dialect)
    return score if factor == 1 else plus(times(score, integer(factor)), integer(factor - 1 - klass))


def _margin_bin(scores: Margins) -> exp.Expr:
    """Write the bin of a row, from its class, the best other class, and the margin of keys.

    That is the margin of the scores times the factor, or more by less than the factor.
    """
    factor = scores.factor
    edges = [
        (below(own_column(MARGIN), integer(factor * edge)), integer(place)) for place, edge in enumerate(scores.edges)
    ]
    range_ = case(edges, integer(len(edges)))
    if scores.columns == 2:
        return range_
    own = equal(own_column(CLASS), integer(scores.largest))
    other = equal(own_column(CLASS), own_column(BEST))
    return plus(range_, case([(own, integer(0)), (other, integer(0))], integer(scores.ranges)))


def _remarks(scores: ClassScores, dialect: Dialect) -> Sequence[str]:
    return (
        f"CONFIDENTIAL: the result of this query ({dialect.value}) is exact counts of rows. Keep it as you keep them.",
        f"Domain {scores.domain.name!r}, SHA-256 {digest(scores.domain)}; scores of a model, SHA-256 {scores.digest}.",
        "Save the result as a CSV file with a header line, then release the weights of the model from it:",
        f"  {command('release', 'RESULT.csv', given='MODEL.json', output='CALIBRATED.json')}",
    )


TOTAL, SIZE, AGAINST, SCALE, FACTOR = "total", "size", "against", "scale", "factor"
DOMAIN, GRADIENT = "domain", "gradient"
"""Columns of the digests of what was summed up, by which several results are added up."""


@query_sql.register
def gradients_query(query: GradientQuery, kinds: Kinds, table: str | exp.Subquery | None, dialect: Dialect) -> str:
    """Write the query of ``GradientSums``, as ``query_sql``: one row of 64-bit integers and two digests.

    Its columns: ``scores.sum_columns``, then ``domain`` and ``gradient`` (text).
    """
    names = [f"score_{place}" for place in range(len(query.tables))]
    kept, domain = [CLASS, *names], query.domain
    steps = coded_rows(domain, kinds, rows_or_default(table, domain.name, dialect))
    scores = [attribute_score(each, domain, dialect) for each in query.tables]
    add_step(steps, "scored", [own_column(CLASS), *map(as_column, scores, names)])
    products = [times(integer(weight), own_column(name)) for weight, name in zip(query.weights, names, strict=True)]
    total = sum_of([integer(query.log_odds), *products])
    size = sum_of([exp.Abs(this=own_column(name)) for name in names])
    add_step(steps, "totalled", [*map(own_column, kept), as_column(total, TOTAL), as_column(size, SIZE)])
    compared = [as_column(_against(dialect), AGAINST), as_column(_scale(query.bound), SCALE)]
    add_step(steps, "compared", [*map(own_column, kept), own_column(TOTAL), *compared])
    add_step(steps, "scaled", [*map(own_column, kept), as_column(_factor(), FACTOR)])
    sums = [*(times(own_column(FACTOR), own_column(name)) for name in names), times(own_column(FACTOR), integer(UNITS))]
    weight_columns, row_columns = sum_columns(query)
    rows = [_is_of(klass, 1) for klass in range(len(row_columns))]
    digests = [as_column(text(digest(domain)), DOMAIN), as_column(text(query.digest), GRADIENT)]
    columns = [*map(_sum, (*sums, *rows), (*weight_columns, *row_columns)), *digests]
    return render(over_steps(columns, steps), dialect)


def _against(dialect: Dialect) -> exp.Expr:
    """Write the probability of the class that the score speaks against."""
    values = probabilities()
    steps, last = _quotient(exp.Abs(this=own_column(TOTAL)), integer(UNITS)), integer(len(values) - 1)
    return number_at(values, case([(exp.GT(this=steps, expression=last), last.copy())], steps.copy()), dialect)


def _scale(bound: int) -> exp.Expr:
    """Write what part of it the row counts for."""
    within = (exp.LTE(this=own_column(SIZE), expression=integer(bound)), integer(CERTAIN))
    return case([within], _quotient(integer(bound * CERTAIN), own_column(SIZE)))


def _factor() -> exp.Expr:
    """Write what the row's scores are multiplied by, rounded down in size whatever its sign."""
    second, favoured = equal(own_column(CLASS), integer(1)), at_least(own_column(TOTAL), integer(0))
    # The probability of the class which the row is not of.
    others = minus(integer(CERTAIN), own_column(AGAINST))
    error = case(
        [
            (exp.And(this=second, expression=favoured), own_column(AGAINST)),
            (exp.Or(this=second.copy(), expression=favoured.copy()), others),
        ],
        own_column(AGAINST),
    )
    sign = case([(second.copy(), integer(1))], integer(-1))
    return times(_quotient(times(error, own_column(SCALE)), integer(CERTAIN)), sign)


def _is_of(klass: int, number: int) -> exp.Expr:
    """Write the number where the row is of the class, else 0."""
    return exp.cast(case([(equal(own_column(CLASS), integer(klass)), integer(number))], integer(0)), exp.DType.BIGINT)


def _quotient(number: exp.Expr, by: exp.Expr) -> exp.Expr:
    """Write the quotient of two whole numbers from 0 on, rounded down."""
    divided = over(as_double(number), as_double(by))
    return exp.cast(exp.Floor(this=divided), exp.DType.BIGINT)


def _sum(number: exp.Expr, name: str) -> exp.Expr:
    """Write the sum over all rows as a 64-bit integer; 0 if there is no row."""
    whole = exp.Coalesce(this=exp.Sum(this=number), expressions=[integer(0)])
    return as_column(exp.cast(whole, exp.DType.BIGINT), name)
