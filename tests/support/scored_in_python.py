"""The second pass once more, one row at a time, in exact rational arithmetic."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpnb_columnar.counting.scores import Integers, Scores
from dpnb_columnar.domain import Missing
from support.rows_in_python import Row, class_of, code_of


def expected_score_counts(rows: Sequence[Row], scores: Scores, unit: Fraction = Fraction(1, 256)) -> Integers:
    """Rows per bin and class."""
    domain = scores.domain
    counts = np.zeros((scores.bins, len(domain.classes)), dtype=np.int64)
    for row in rows:
        klass = class_of(row, domain.label)
        codes = {attribute.name: code_of(row, attribute) for attribute in domain.attributes}
        if klass is None or any(codes[each.name] is None for each in domain.attributes if each.missing is Missing.ROW):
            continue
        score = Fraction(0)
        for table in scores.tables:
            code = codes[table.attribute]
            step = table.missing if code is None else table.scores[bisect_right(table.starts, code) - 1]
            score += step * unit
        counts[sum(score >= edge * unit for edge in scores.edges), klass] += 1
    return counts
