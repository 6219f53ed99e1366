"""The second pass once more, one row at a time, in exact rational arithmetic."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from dpnb_columnar.counting.scores import (
    ClassScores,
    GradientQuery,
    GradientSums,
    Integers,
    Margins,
    Scores,
    ScoreTable,
    probabilities,
)
from dpnb_columnar.domain import Attribute, Domain, Missing
from dpnb_columnar.rows.row_rules import number_of_codes
from support.rows_in_python import Row, chosen, class_of, code_of, weight_of

NUMBERS = st.integers(-300, 300)
WIDE = st.integers(-1500, 1500)


@st.composite
def scores_of(draw: st.DrawFn, domain: Domain) -> Scores | Margins:
    """Any steps of any attributes, few or as many as there are codes: of every class, or with any largest and edges.

    Rows are counted in one group, or by groups of one attribute or two crossed.
    """
    classes, predicts = len(domain.classes), draw(st.booleans())
    tables = tuple(
        tuple(draw(_tables_of(attribute)) for attribute in domain.attributes)
        for _ in range(classes if predicts else classes - 1)
    )
    offsets = tuple(draw(NUMBERS) for _ in range(classes))
    tables_of_groups, groups = draw(_groups_of(domain))
    counted: Any = {"group_tables": tables_of_groups, "groups": groups}
    counted["weighted"] = domain.weight is not None and draw(st.booleans())
    if predicts:
        return Scores(domain, tables, offsets, **counted)
    largest, edges = draw(st.integers(0, classes - 1)), draw(st.sets(NUMBERS, min_size=1, max_size=7))
    return Margins(domain, tables, offsets, largest, tuple(sorted(edges)), **counted)


@st.composite
def _groups_of(draw: st.DrawFn, domain: Domain) -> tuple[tuple[ScoreTable, ...], int]:
    tables, groups = [], 1
    for attribute in domain.attributes[: draw(st.integers(0, 2))]:
        starts = (0, *sorted(draw(st.sets(st.integers(1, number_of_codes(attribute)), max_size=3))))
        numbers = tuple(groups * place for place in range(len(starts)))
        tables.append(ScoreTable(attribute.name, starts, numbers, groups * len(starts)))
        groups *= len(starts) + 1
    return tuple(tables), groups


@st.composite
def _tables_of(draw: st.DrawFn, attribute: Attribute) -> ScoreTable:
    codes = number_of_codes(attribute)
    inner = draw(st.sets(st.integers(1, codes), max_size=5))
    starts = [0, *sorted(inner)]
    if codes > 300 and draw(st.booleans()):  # regular ones, whose place is computed
        width = draw(st.integers(-(-codes // 4096), max(codes // 300, 1)))
        starts = list(range(0, codes, width))
    if len(starts) < 10:
        steps = draw(st.lists(NUMBERS, min_size=len(starts), max_size=len(starts)))
    else:
        factor = draw(st.integers(1, 10**6))
        steps = [start * factor % 601 - 300 for start in starts]
    return ScoreTable(attribute.name, tuple(starts), tuple(steps), draw(NUMBERS))


@st.composite
def queries_of(draw: st.DrawFn, domain: Domain) -> GradientQuery:
    """Any steps, any weights, and bounds that scale most rows down, some, or none."""
    tables = []
    for attribute in domain.attributes:
        starts = [0, *sorted(draw(st.sets(st.integers(1, number_of_codes(attribute)), max_size=4)))]
        steps = st.lists(WIDE, min_size=len(starts), max_size=len(starts))
        tables.append(ScoreTable(attribute.name, tuple(starts), tuple(draw(steps)), draw(WIDE)))
    weights = tuple(draw(st.integers(-128, 512)) for _ in tables)
    log_odds, bound = draw(st.integers(-(2**19), 2**19)), draw(st.integers(1, 3000))
    return GradientQuery(domain, tuple(tables), weights, log_odds, bound)


def listed(sums: GradientSums) -> tuple[list[int], list[int]]:
    return sums.sums.tolist(), sums.rows.tolist()


def expected_score_counts(rows: Sequence[Row], scores: ClassScores) -> Integers:
    """Rows per bin and class, or the steps of their weights."""
    domain = scores.domain
    counts = np.zeros((scores.bins, len(domain.classes)), dtype=np.int64)
    for row in chosen(rows, domain):
        klass = class_of(row, domain.label)
        codes = {attribute.name: code_of(row, attribute) for attribute in domain.attributes}
        if klass is None or any(codes[each.name] is None for each in domain.attributes if each.missing is Missing.ROW):
            continue
        tables = scores.tables if isinstance(scores, Scores) else [(), *scores.tables]
        found = [offset + _score(each, codes) for offset, each in zip(scores.offsets, tables, strict=True)]
        if isinstance(scores, Margins):
            own, others = found[scores.largest], [each for k, each in enumerate(found) if k != scores.largest]
            other = next(k for k, each in enumerate(found) if k != scores.largest and each == max(others))
            place = sum(max(others) - own >= edge for edge in scores.edges)
            place += 0 if klass in (scores.largest, other) else len(scores.edges) + 1
        else:
            place = found.index(max(found))
        steps = weight_of(row, domain.weight) if scores.weighted and domain.weight is not None else 1
        counts[place + _score(scores.group_tables, codes) * scores.group_bins, klass] += steps
    return counts


def _score(tables: Sequence[ScoreTable], codes: Mapping[str, int | None]) -> int:
    score = 0
    for table in tables:
        code = codes[table.attribute]
        score += table.missing if code is None else table.scores[bisect_right(table.starts, code) - 1]
    return score


def expected_gradients(rows: Sequence[Row], query: GradientQuery) -> tuple[list[int], list[int]]:
    """The sums of a round, per attribute and of the log-odds, and the rows of each class."""
    domain, table = query.domain, probabilities()
    sums, counts = [0] * (len(query.tables) + 1), [0 for _ in domain.classes]
    for row in chosen(rows, domain):
        klass = class_of(row, domain.label)
        codes = {attribute.name: code_of(row, attribute) for attribute in domain.attributes}
        if klass is None or any(codes[each.name] is None for each in domain.attributes if each.missing is Missing.ROW):
            continue
        counts[klass] += 1
        scores = [_score([each], codes) for each in query.tables]
        total = query.log_odds + sum(weight * score for weight, score in zip(query.weights, scores, strict=True))
        probability = Fraction(table[min(abs(total) // 256, len(table) - 1)], 2**16)  # of the second class
        if total >= 0:
            probability = 1 - probability
        size = sum(map(abs, scores))
        scaled = 1 if size <= query.bound else Fraction(2**16 * query.bound // size, 2**16)
        # int() rounds towards 0.
        factor = int(2**16 * ((klass == 1) - probability) * scaled)
        sums = [each + factor * score for each, score in zip(sums, (*scores, 256), strict=True)]
    return sums, counts
