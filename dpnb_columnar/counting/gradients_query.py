"""The sums of a round of weights as one query: ``gradients`` by the integer arithmetic of a database.

CONFIDENTIAL: the result of the query is exact sums over rows. Quotients are computed in 64-bit floats and rounded down:
numerators are below 2^53 and denominators below 2^30, so that no quotient is rounded up to a whole number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from dpnb_columnar.counting.gradients import CERTAIN, LOG_ODDS, ROWS, WEIGHT, GradientQuery, exponentials
from dpnb_columnar.counting.score_counts_query import attribute_score, greatest, over_steps
from dpnb_columnar.counting.scores import UNITS
from dpnb_columnar.dialects.nodes import (
    added,
    as_double,
    case,
    equal,
    integer,
    minus,
    named,
    number_at,
    over,
    own_column,
    text,
    times,
)
from dpnb_columnar.dialects.rendering import header, render, rows_or_default
from dpnb_columnar.dialects.rules import Kinds
from dpnb_columnar.dialects.statistics_query import add_step, coded_rows
from dpnb_columnar.domain import digest
from dpnb_columnar.domain.database_address import Dialect
from dpnb_columnar.rows.unit_order import CLASS

TOTAL, LIKELIHOOD, ERROR = "total", "likelihood", "error"
DOMAIN, GRADIENT = "domain", "gradient"
"""Columns of the digests of what was summed up, by which a file of the result is recognised."""


def gradients_query(query: GradientQuery, kinds: Kinds, table: str | exp.Subquery | None, dialect: Dialect) -> str:
    """Write the query whose one row holds the numbers of ``GradientSums``, as 64-bit integers, and two digests.

    Its columns: ``gradients.sum_columns``, then ``domain`` and ``gradient`` (text).

    Args:
        query: What to sum up.
        kinds: What the columns hold; see ``rules``.
        table: The table, as ``rendering.rows_or_default`` reads it; None for the domain's name.
        dialect: The database.

    Raises:
        UsageError: if the name is not the name of a table.
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
        _sum(added([times(_error(klass), own_column(_score(group, klass))) for klass in classes[1:]]), WEIGHT, group)
        for group in groups
    ]
    log_odds = [_sum(_error(klass), LOG_ODDS, klass) for klass in classes[1:]]
    rows = [_sum(_is_of(klass, 1), ROWS, klass) for klass in classes]
    digests = [named(text(digest(query.domain)), DOMAIN), named(text(query.digest), GRADIENT)]
    written = render(over_steps([*weights, *log_odds, *rows, *digests], steps), dialect)
    return header(_remarks(query, dialect)) + written


def _remarks(query: GradientQuery, dialect: Dialect) -> Sequence[str]:
    return (
        f"CONFIDENTIAL: the result of this query ({dialect.value}) is exact sums over rows. Keep it as you keep them.",
        f"Domain {query.domain.name!r}, SHA-256 {digest(query.domain)}; a round of weights, SHA-256 {query.digest}.",
        "Save the result as a CSV file with a header line, then release the round from it:",
        "  dpnb-columnar release RESULT.csv --given MODEL.json --output NEXT.json",
    )


def _scores(query: GradientQuery, dialect: Dialect) -> Iterator[exp.Expr]:
    """Write the sum of each group's tables, in each class but the first."""
    for number, group in enumerate(query.groups):
        for klass, tables in enumerate(group.tables, 1):
            score = added([attribute_score(each, query.domain, dialect) for each in tables])
            yield named(score, _score(number, klass))


def _clipped(query: GradientQuery, dialect: Dialect) -> Iterator[exp.Expr]:
    """Each group's scores, at most its bound below the largest of all classes, relative to the first."""
    for number, group in enumerate(query.groups):
        names = [_score(number, klass) for klass in range(1, len(group.tables) + 1)]
        largest = greatest([integer(0), *map(own_column, names)], dialect)
        first = greatest([minus(integer(0), largest), integer(-group.clip)], dialect)
        for name in names:
            raised = greatest([minus(own_column(name), largest.copy()), integer(-group.clip)], dialect)
            yield named(minus(raised, first.copy()), name)


def _totals(query: GradientQuery) -> Iterator[exp.Expr]:
    """Write the score of each class but the first."""
    for klass, log_odds in enumerate(query.log_odds, 1):
        parts = [
            times(integer(group.weight), own_column(_score(number, klass))) for number, group in enumerate(query.groups)
        ]
        yield named(added([integer(log_odds), *parts]), f"{TOTAL}_{klass}")


def _likelihoods(classes: range, dialect: Dialect) -> Iterator[exp.Expr]:
    """Write the likelihood of each class relative to the largest."""
    values = exponentials()
    totals: list[exp.Expr] = [integer(0), *(own_column(f"{TOTAL}_{klass}") for klass in classes[1:])]
    largest = greatest(totals, dialect)
    for klass in classes:
        steps = _quotient(minus(largest.copy(), totals[klass].copy()), integer(UNITS))
        last = integer(len(values) - 1)
        place = case([(exp.GT(this=steps, expression=last), last.copy())], steps.copy())
        yield named(number_at(values, place, dialect), f"{LIKELIHOOD}_{klass}")


def _errors(classes: range) -> Iterator[exp.Expr]:
    """Write, for each class but the first, 1 or 0 by the row's class, less that class's probability."""
    likelihoods: list[exp.Expr] = [own_column(f"{LIKELIHOOD}_{klass}") for klass in classes]
    for klass in classes[1:]:
        whole = exp.Paren(this=added([each.copy() for each in likelihoods]))
        probability = _quotient(times(likelihoods[klass].copy(), integer(CERTAIN)), whole)
        yield named(minus(_is_of(klass, CERTAIN), probability), f"{ERROR}_{klass}")


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
    return named(exp.cast(whole, exp.DType.BIGINT), f"{name}_{place}")
