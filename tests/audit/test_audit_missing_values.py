"""All pairs of small databases whose rows may lack a value: no loss beyond the claim, and planted faults are found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from support.mechanisms import PRIVATE

from dpnb_columnar.audit import exhaustive
from dpnb_columnar.audit.exhaustive import Compared
from dpnb_columnar.audit.findings import Configuration
from dpnb_columnar.audit.neighbours import groups
from dpnb_columnar.audit.recording import remembered_searches
from dpnb_columnar.audit.universe import Universe
from dpnb_columnar.budget import Budget, Neighbours, Share
from dpnb_columnar.counting.statistics import Cells, Statistics
from dpnb_columnar.domain import Missing, Numeric, read_domain
from dpnb_columnar.mechanisms import queries, release, smooth
from dpnb_columnar.noise import Sampler

CODES = (None, 0, 2)


def universe(missing: Missing | None) -> Universe:
    """Two classes, and in each a row without a value and rows with the smallest and the largest one."""
    declared = {"lower": 1900, "upper": 1904, "step": 2} | ({"missing": missing.value} if missing else {})
    document = {"label": {"column": "label", "classes": ["a", "b"]}, "attributes": {"number": declared}}
    kinds = list(product((0, 1), CODES))
    return Universe(
        read_domain("gaps", document, "test"),
        tuple(("ab"[klass], None if code is None else 1900.0 + 2 * code, None) for klass, code in kinds),
        tuple(_counts(klass, code) for klass, code in kinds),
    )


def _counts(klass: int, code: int | None) -> tuple[Cells, ...]:
    one = np.ones(1, dtype=np.int64)
    counted = Cells(None, klass * one, 0 * one, one)
    return (counted,) if code is None else (counted, Cells("number", klass * one, code * one, one))


def compared(mechanism: str, missing: Missing | None, relation: Neighbours) -> Compared:
    configuration, rows = Configuration(mechanism, None, Budget(Fraction(1), relation)), universe(missing)
    with remembered_searches():
        claim = exhaustive.claim_of(configuration, rows)
        return exhaustive.compare(configuration, rows, groups(rows, relation, 2, (12,), 3), claim)


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("missing", [None, Missing.SKIP, Missing.CATEGORY])
@pytest.mark.parametrize("mechanism", PRIVATE)
def test_rows_without_a_value_cost_no_more_than_the_claim(
    mechanism: str, missing: Missing | None, relation: Neighbours
) -> None:
    found = compared(mechanism, missing, relation)
    assert found.findings == ()
    assert 0 < found.loss <= 1 + 1e-6


def counted_without_noise(patch: pytest.MonkeyPatch) -> None:
    """The size of a sample is the exact number of values."""

    def exact(statistics: Statistics, shares: Iterable[Share], draw: Sampler) -> dict[str, Sequence[Sequence[int]]]:
        return {each.name: queries.presence_counts(statistics, each) for each in statistics.domain.numeric}

    patch.setattr(release, "noisy_presence", exact)


def sizes_of_the_columns(patch: pytest.MonkeyPatch) -> None:
    """The number of values is released, and the sample is as large as the column all the same."""
    patch.setattr(
        smooth,
        "sample_sizes",
        lambda context, attribute: [max(each.size, 8) for each in context.statistics.columns[attribute.name]],
    )


def present_rows_counted_twice(patch: pytest.MonkeyPatch) -> None:
    """The second count is of all rows: a row with a value is in both."""

    def counts(statistics: Statistics, attribute: Numeric) -> list[list[int]]:
        columns = statistics.columns[attribute.name]
        return [[each.size, int(rows)] for each, rows in zip(columns, statistics.class_counts, strict=True)]

    patch.setattr(queries, "presence_counts", counts)


@pytest.mark.parametrize(
    ("plant", "check"),
    [
        (counted_without_noise, exhaustive.POST_PROCESSING),
        (sizes_of_the_columns, exhaustive.POST_PROCESSING),
        (present_rows_counted_twice, exhaustive.LOSS),
    ],
)
def test_a_fault_in_the_values_present_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], check: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    found = compared("smooth", Missing.CATEGORY, Neighbours.ADD_REMOVE)
    assert check in {finding.check for finding in found.findings}
