"""The statistics of a second pass as one query: rows of each class in each bin of a score that a released model gives.

CONFIDENTIAL: the result of the query is exact counts. Scores are whole numbers, so every database counts the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpnb_columnar.counting.score_steps import added, attribute_score, greatest, over_steps
from dpnb_columnar.counting.scores import Scores
from dpnb_columnar.dialects.nodes import below, case, integer, minus, modulo, named, own_column, plus, text, times
from dpnb_columnar.dialects.rendering import header, render, rows_or_default
from dpnb_columnar.dialects.rules import Kinds
from dpnb_columnar.dialects.statistics_query import coded_rows
from dpnb_columnar.dialects.unit_rows import add_step
from dpnb_columnar.domain import digest
from dpnb_columnar.rows.database_address import Dialect
from dpnb_columnar.rows.unit_order import CLASS

SCORE, KEY, BIN = "score", "key", "bin"


def score_counts_query(scores: Scores, kinds: Kinds, table: str | exp.Subquery | None, dialect: Dialect) -> str:
    """Write the query whose result is the table of ``ScoreCounts``, in any order, cells without rows left out.

    Its columns: ``class`` and ``bin`` (positions), ``count`` (rows), ``domain`` and ``scores`` (text: their digests, by
    which a file of the result is recognised). The integers are those of the local engine.

    Args:
        scores: What to count.
        kinds: What the columns hold; see ``rules``.
        table: The table, as ``rendering.rows_or_default`` reads it; None for the domain's name.
        dialect: The database.

    Raises:
        UsageError: if the name is not the name of a table.
    """
    domain = scores.domain
    steps = coded_rows(domain, kinds, rows_or_default(table, domain.name, dialect))
    if scores.offsets:
        names = [f"{KEY}_{klass}" for klass in range(scores.bins)]
        add_step(steps, "scored", [own_column(CLASS), *map(named, _keys(scores, dialect), names)])
        largest = greatest([*map(own_column, names)], dialect)
        # Twice, since the remainder of a negative number may be negative.
        after = modulo(plus(modulo(largest, scores.bins), integer(scores.bins)), scores.bins)
        place: exp.Expr = minus(integer(scores.bins - 1), after)
    else:
        score = added([attribute_score(each, domain, dialect) for each in scores.tables])
        add_step(steps, "scored", [own_column(CLASS), named(score, SCORE)])
        edges = [(below(own_column(SCORE), integer(edge)), integer(bin_)) for bin_, edge in enumerate(scores.edges)]
        place = case(edges, integer(len(edges)))
    add_step(steps, "placed", [own_column(CLASS), named(place, BIN)])
    columns = [
        own_column(CLASS),
        own_column(BIN),
        named(exp.Count(this=exp.Star()), "count"),
        named(text(digest(domain)), "domain"),
        named(text(scores.digest), "scores"),
    ]
    query = over_steps(columns, steps).group_by(own_column(CLASS), own_column(BIN))
    return header(_remarks(scores, dialect)) + render(query, dialect)


def _keys(scores: Scores, dialect: Dialect) -> Sequence[exp.Expr]:
    """Per class, its score times their number, plus the number of classes after it: keys that are never equal."""
    keys: list[exp.Expr] = []
    for klass, (offset, tables) in enumerate(zip(scores.offsets, scores.by_class, strict=True)):
        score = added([integer(offset), *(attribute_score(each, scores.domain, dialect) for each in tables)])
        keys.append(plus(times(score, integer(scores.bins)), integer(scores.bins - 1 - klass)))
    return keys


def _remarks(scores: Scores, dialect: Dialect) -> Sequence[str]:
    return (
        f"CONFIDENTIAL: the result of this query ({dialect.value}) is exact counts of rows. Keep it as you keep them.",
        f"Domain {scores.domain.name!r}, SHA-256 {digest(scores.domain)}; scores of a model, SHA-256 {scores.digest}.",
        "Save the result as a CSV file with a header line, then release the weights of the model from it:",
        "  dpnb-columnar release RESULT.csv --given MODEL.json --output CALIBRATED.json",
    )
