"""What is asked of the rows, as one SQL query for each pass: ``query_sql`` writes it for any query of ``query.Query``.

CONFIDENTIAL: the result of the query is exact. That of the first pass is written by ``dialects.statistics_query``;
here stand those of later passes. Scores are whole numbers, so every database counts the same.

*Sums of a round*: ``scores.GradientSums`` by the integer arithmetic of a database. Quotients are computed in 64-bit
floats and rounded down: numerators are below 2^53 and denominators below 2^30, so that no quotient is rounded up to a
whole number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch
from itertools import groupby
from typing import Any

from sqlglot import exp

from dpnb_columnar.counting.query import Query
from dpnb_columnar.counting.scores import (
    CERTAIN,
    LOG_ODDS,
    ROWS,
    UNITS,
    WEIGHT,
    GradientQuery,
    Scores,
    ScoreTable,
    exponentials,
)
from dpnb_columnar.counting.statistics import CellQuery
from dpnb_columnar.dialects.nodes import (
    as_column,
    as_double,
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
from dpnb_columnar.domain import Domain, digest
from dpnb_columnar.domain.database_address import Dialect
from dpnb_columnar.errors import command
from dpnb_columnar.rows.row_rules import number_of_codes
from dpnb_columnar.rows.unit_order import CLASS


@singledispatch
def query_sql(query: Query[Any], kinds: Kinds, table: str | exp.Subquery | None, dialect: Dialect) -> str:
    """Write the SQL query whose result ``statistics_files.answer_of`` reads.

    Args:
        query: What is asked.
        kinds: What the columns hold; see ``rules``.
        table: The table, as ``rendering.rows_or_default`` reads it; None for the domain's name.
        dialect: The database.

    Raises:
        UsageError: if the name is not the name of a table.
        TypeError: if no SQL is registered for this kind of query.
    """
    raise TypeError(f"no SQL is registered for {type(query).__name__}")


@query_sql.register
def _(query: CellQuery, kinds: Kinds, table: str | exp.Subquery | None, dialect: Dialect) -> str:
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


SCORE, KEY, BIN = "score", "key", "bin"


@query_sql.register
def score_counts_query(scores: Scores, kinds: Kinds, table: str | exp.Subquery | None, dialect: Dialect) -> str:
    """Write the query of ``ScoreCounts``, as ``query_sql``: a row per cell with rows in it, in any order.

    Its columns: ``class`` and ``bin`` (positions), ``count`` (rows), ``domain`` and ``scores`` (text: their digests, by
    which a file of the result is recognised).
    """
    domain = scores.domain
    steps = coded_rows(domain, kinds, rows_or_default(table, domain.name, dialect))
    if scores.offsets:
        names = [f"{KEY}_{klass}" for klass in range(scores.bins)]
        add_step(steps, "scored", [own_column(CLASS), *map(as_column, _keys(scores, dialect), names)])
        largest = greatest([*map(own_column, names)], dialect)
        # Twice, since the remainder of a negative number may be negative.
        after = modulo(plus(modulo(largest, scores.bins), integer(scores.bins)), scores.bins)
        place: exp.Expr = minus(integer(scores.bins - 1), after)
    else:
        score = sum_of([attribute_score(each, domain, dialect) for each in scores.tables])
        add_step(steps, "scored", [own_column(CLASS), as_column(score, SCORE)])
        edges = [(below(own_column(SCORE), integer(edge)), integer(bin_)) for bin_, edge in enumerate(scores.edges)]
        place = case(edges, integer(len(edges)))
    add_step(steps, "placed", [own_column(CLASS), as_column(place, BIN)])
    columns = [
        own_column(CLASS),
        own_column(BIN),
        as_column(exp.Count(this=exp.Star()), "count"),
        as_column(text(digest(domain)), "domain"),
        as_column(text(scores.digest), "scores"),
    ]
    query = over_steps(columns, steps).group_by(own_column(CLASS), own_column(BIN))
    return header(_remarks(scores, dialect)) + render(query, dialect)


def _keys(scores: Scores, dialect: Dialect) -> Sequence[exp.Expr]:
    """Per class, its score times their number, plus the number of classes after it: keys that are never equal."""
    keys: list[exp.Expr] = []
    for klass, (offset, tables) in enumerate(zip(scores.offsets, scores.by_class, strict=True)):
        score = sum_of([integer(offset), *(attribute_score(each, scores.domain, dialect) for each in tables)])
        keys.append(plus(times(score, integer(scores.bins)), integer(scores.bins - 1 - klass)))
    return keys


def _remarks(scores: Scores, dialect: Dialect) -> Sequence[str]:
    return (
        f"CONFIDENTIAL: the result of this query ({dialect.value}) is exact counts of rows. Keep it as you keep them.",
        f"Domain {scores.domain.name!r}, SHA-256 {digest(scores.domain)}; scores of a model, SHA-256 {scores.digest}.",
        "Save the result as a CSV file with a header line, then release the weights of the model from it:",
        f"  {command('release', 'RESULT.csv', given='MODEL.json', output='CALIBRATED.json')}",
    )


TOTAL, LIKELIHOOD, ERROR = "total", "likelihood", "error"
DOMAIN, GRADIENT = "domain", "gradient"
"""Columns of the digests of what was summed up, by which a file of the result is recognised."""


@query_sql.register
def gradients_query(query: GradientQuery, kinds: Kinds, table: str | exp.Subquery | None, dialect: Dialect) -> str:
    """Write the query of ``GradientSums``, as ``query_sql``: one row of 64-bit integers and two digests.

    Its columns: ``scores.sum_columns``, then ``domain`` and ``gradient`` (text).
    """
    classes, groups = range(len(query.domain.classes)), range(len(query.groups))
    score_names = [_score(group, klass) for group in groups for klass in classes[1:]]
    kept = [CLASS, *score_names]
    steps = coded_rows(query.domain, kinds, rows_or_default(table, query.domain.name, dialect))
    add_step(steps, "scored", [own_column(CLASS), *_scores(query, dialect)])
    add_step(steps, "clipped", [own_column(CLASS), *_clipped(query, dialect)])
    add_step(steps, "totalled", [*map(own_column, kept), *_totals(query)])
    add_step(steps, "likely", [*map(own_column, kept), *_likelihoods(classes, dialect)])
    add_step(steps, "compared", [*map(own_column, kept), *_errors(classes)])
    weights = [
        _sum(sum_of([times(_error(klass), own_column(_score(group, klass))) for klass in classes[1:]]), WEIGHT, group)
        for group in groups
    ]
    log_odds = [_sum(_error(klass), LOG_ODDS, klass) for klass in classes[1:]]
    rows = [_sum(_is_of(klass, 1), ROWS, klass) for klass in classes]
    digests = [as_column(text(digest(query.domain)), DOMAIN), as_column(text(query.digest), GRADIENT)]
    written = render(over_steps([*weights, *log_odds, *rows, *digests], steps), dialect)
    return header(_gradient_remarks(query, dialect)) + written


def _gradient_remarks(query: GradientQuery, dialect: Dialect) -> Sequence[str]:
    return (
        f"CONFIDENTIAL: the result of this query ({dialect.value}) is exact sums over rows. Keep it as you keep them.",
        f"Domain {query.domain.name!r}, SHA-256 {digest(query.domain)}; a round of weights, SHA-256 {query.digest}.",
        "Save the result as a CSV file with a header line, then release the round from it:",
        f"  {command('release', 'RESULT.csv', given='MODEL.json', output='NEXT.json')}",
    )


def _scores(query: GradientQuery, dialect: Dialect) -> Iterator[exp.Expr]:
    """Write the sum of each group's tables, in each class but the first."""
    for number, group in enumerate(query.groups):
        for klass, tables in enumerate(group.tables, 1):
            score = sum_of([attribute_score(each, query.domain, dialect) for each in tables])
            yield as_column(score, _score(number, klass))


def _clipped(query: GradientQuery, dialect: Dialect) -> Iterator[exp.Expr]:
    """Each group's scores, at most its bound below the largest of all classes, relative to the first."""
    for number, group in enumerate(query.groups):
        names = [_score(number, klass) for klass in range(1, len(group.tables) + 1)]
        largest = greatest([integer(0), *map(own_column, names)], dialect)
        first = greatest([minus(integer(0), largest), integer(-group.clip)], dialect)
        for name in names:
            raised = greatest([minus(own_column(name), largest.copy()), integer(-group.clip)], dialect)
            yield as_column(minus(raised, first.copy()), name)


def _totals(query: GradientQuery) -> Iterator[exp.Expr]:
    """Write the score of each class but the first."""
    for klass, log_odds in enumerate(query.log_odds, 1):
        parts = [
            times(integer(group.weight), own_column(_score(number, klass))) for number, group in enumerate(query.groups)
        ]
        yield as_column(sum_of([integer(log_odds), *parts]), f"{TOTAL}_{klass}")


def _likelihoods(classes: range, dialect: Dialect) -> Iterator[exp.Expr]:
    """Write the likelihood of each class relative to the largest."""
    values = exponentials()
    totals: list[exp.Expr] = [integer(0), *(own_column(f"{TOTAL}_{klass}") for klass in classes[1:])]
    largest = greatest(totals, dialect)
    for klass in classes:
        steps = _quotient(minus(largest.copy(), totals[klass].copy()), integer(UNITS))
        last = integer(len(values) - 1)
        place = case([(exp.GT(this=steps, expression=last), last.copy())], steps.copy())
        yield as_column(number_at(values, place, dialect), f"{LIKELIHOOD}_{klass}")


def _errors(classes: range) -> Iterator[exp.Expr]:
    """Write, for each class but the first, 1 or 0 by the row's class, less that class's probability."""
    likelihoods: list[exp.Expr] = [own_column(f"{LIKELIHOOD}_{klass}") for klass in classes]
    for klass in classes[1:]:
        whole = exp.Paren(this=sum_of([each.copy() for each in likelihoods]))
        probability = _quotient(times(likelihoods[klass].copy(), integer(CERTAIN)), whole)
        yield as_column(minus(_is_of(klass, CERTAIN), probability), f"{ERROR}_{klass}")


def _score(group: int, klass: int) -> str:
    return f"score_{group}_{klass}"


def _error(klass: int) -> exp.Column:
    return own_column(f"{ERROR}_{klass}")


def _is_of(klass: int, number: int) -> exp.Expr:
    """Write the number where the row is of the class, else 0."""
    return exp.cast(case([(equal(own_column(CLASS), integer(klass)), integer(number))], integer(0)), exp.DType.BIGINT)


def _quotient(number: exp.Expr, by: exp.Expr) -> exp.Expr:
    """Write the quotient of two whole numbers from 0 on, rounded down."""
    divided = over(as_double(number), as_double(by))
    return exp.cast(exp.Floor(this=divided), exp.DType.BIGINT)


def _sum(number: exp.Expr, name: str, place: int) -> exp.Expr:
    """Write the sum over all rows as a 64-bit integer; 0 if there is no row."""
    whole = exp.Coalesce(this=exp.Sum(this=number), expressions=[integer(0)])
    return as_column(exp.cast(whole, exp.DType.BIGINT), f"{name}_{place}")
