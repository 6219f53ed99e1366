"""Lists and columns of objects are read value by value: no row changes how another one counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.rows.row_rules import series_of, text_of
from dpnb_columnar.sklearn import SmoothNaiveBayes
from dpnb_columnar.training import carry_out

Row = tuple[Any, Any, Any]

DECLARED: dict[str, Any] = {
    "bounds": {0: (0, 8, 1)},
    "categories": {1: [1, 2, 3, "true", "a", "2018-12-31"]},
    "classes": [0, 1],
}
ROWS: list[Row] = [(row % 8, 1 + row % 3, int(row % 5 > 1)) for row in range(40)]
HUGE = 10**5000
ODD = [
    *(None, float("nan"), "word", "2", "2.0", " 2", "", 2.0, 2.5, True, False, -0.0, float("inf"), 2**53, HUGE, -HUGE),
    *(np.float32(2), np.int64(2), np.bool_(True), np.str_("2"), np.float64("nan"), np.timedelta64(2, "D")),
    *(np.datetime64("2018-12-31"), date(2018, 12, 31), datetime(2018, 12, 31), pd.NA, pd.NaT),
    *(Decimal(2), Decimal("sNaN"), Decimal("1e999999"), Fraction(2), Fraction(HUGE), 2j),
    *(b"2", [2], [], [[1], [2, 3]], {"a": 1}, object(), "\ud800"),
]
FORMS: dict[str, Callable[[list[Any], list[Any]], tuple[Any, Any]]] = {
    "lists": lambda X, y: (X, y),
    "tuples": lambda X, y: (tuple(map(tuple, X)), tuple(y)),
    "rows of arrays": lambda X, y: ([objects(row) for row in X], objects(y)),
    "array": lambda X, y: (objects(value for row in X for value in row).reshape(-1, 2), objects(y)),
    "pandas": lambda X, y: (
        pd.DataFrame({f"x{place}": objects(row[place] for row in X) for place in range(2)}, dtype=object),
        pd.Series(objects(y), dtype=object),
    ),
}


def objects(values: Iterable[Any]) -> np.ndarray[Any, Any]:
    return np.fromiter(values, dtype=object)


def fitted(rows: list[Row], form: str = "lists", **declared: Any) -> SmoothNaiveBayes:
    X, y = FORMS[form]([list(row[:2]) for row in rows], [row[2] for row in rows])
    return SmoothNaiveBayes(**{**DECLARED, **declared}, mechanism="none").fit(X, y)


def counts(rows: list[Row], monkeypatch: pytest.MonkeyPatch, form: str = "lists") -> Counter[tuple[Any, ...]]:
    """Count what the estimator gives to the training: rows by attribute, class and code."""
    counted: Counter[tuple[Any, ...]] = Counter()

    def count(plan: Any, rows: Any, *arguments: Any, **named: Any) -> Any:
        for cell in rows.check(plan.domain).answer(CellQuery(plan.domain)).cells():
            for label, code, number in zip(cell.classes, cell.codes, cell.counts, strict=True):
                counted[cell.attribute, int(label), int(code)] += int(number)
        return carry_out(plan, rows, *arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr("dpnb_columnar.sklearn.carry_out", count)
        fitted(rows, form)
    return counted


CELLS = st.sampled_from(ODD) | st.integers(-2, 9) | st.floats() | st.text(max_size=2)
LIKELY = st.sampled_from([1, 1.0, "1", np.int8(1), Decimal("1.0")])


@pytest.mark.slow
@pytest.mark.parametrize("form", ["lists", "pandas"])
@pytest.mark.parametrize("place", range(3), ids=["number", "category", "label"])
def test_one_odd_value_changes_the_counts_of_its_row_only(
    form: str, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = counts(ROWS, monkeypatch, form)
    for value in ODD:
        odd: Any = (*ROWS[0][:place], value, *ROWS[0][place + 1 :])
        assert counts([odd, *ROWS], monkeypatch, form) - others == counts([odd], monkeypatch, form), value


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS | LIKELY, CELLS | LIKELY), min_size=1, max_size=8))
def test_rows_are_counted_one_by_one(rows: list[Row]) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        alone = sum((counts([row], monkeypatch) for row in rows), Counter())
        assert all(counts(rows, monkeypatch, form) == alone for form in FORMS)


def test_rows_are_predicted_one_by_one() -> None:
    model = fitted(ROWS)
    rows = [[one, other] for one in ODD for other in (1, "a", one)]
    alone = np.concatenate([model.predict_proba([row]) for row in rows])
    assert np.array_equal(model.predict_proba(rows), alone)
    assert np.array_equal(model.predict(rows), [model.predict([row])[0] for row in rows])


@pytest.mark.parametrize(
    ("value", "text", "number"),
    [
        (None, None, None),
        (float("nan"), None, None),
        (7, "7", 7),
        (7.0, "7", 7),
        (Decimal("7.00"), "7", 7),
        (Fraction(14, 2), "7", 7),
        (0.5, "0.5", 0.5),
        (Decimal("0.50"), "0.5", 0.5),
        (-1e-7, "-0.0000001", -1e-7),
        (True, "true", 1),
        (np.False_, "false", 0),
        ("7", "7", 7),
        ("0.50", "0.50", 0.5),
        (" 007.50 ", " 007.50 ", 7.5),
        ("1e5", "1e5", 1e5),
        ("inf", "inf", float("inf")),
        ("true", "true", 1),
        ("False", "False", 0),
        (2**53, "9007199254740992", 2**53),
        (-Fraction(HUGE), "-1" + 60 * "0", float("-inf")),
        (date(2018, 12, 31), "2018-12-31", None),
        (datetime(2018, 12, 31), None, None),
        (np.timedelta64(7, "D"), None, None),
        (pd.NA, None, None),
        (b"7", None, None),
        ([7], None, None),
        ("\ud800", "\ufffd", None),
    ],
)
def test_a_value_is_read_by_itself(value: Any, text: str | None, number: float | None) -> None:
    assert text_of(value) == text
    assert series_of(objects([value]), "x", numeric=True).to_list() == [number]


@pytest.mark.parametrize("spelling", ["001", " 1", "+1.0", 1, 1.0, Decimal("1.00")], ids=repr)
def test_a_number_matches_a_category_and_a_class_by_its_value(spelling: Any) -> None:
    rows = [(spelling, spelling, spelling), *ROWS]
    assert fitted(rows).model_ == fitted([(1, 1, 1), *ROWS]).model_


def test_labels_in_lists_of_their_own() -> None:
    X, y = [list(row[:2]) for row in ROWS], [[row[2]] for row in ROWS]
    assert SmoothNaiveBayes(**DECLARED, mechanism="none").fit(X, y).model_ == fitted(ROWS).model_


def test_the_classes_of_a_domain_are_numbers_whatever_a_label_in_a_list_is() -> None:
    domain = fitted(ROWS).model_.domain
    for odd in (0, "0", None, "word", 0.5):
        rows = [(1, 1, odd), *ROWS]
        by_domain = fitted(rows, domain=domain, bounds=None, categories=None, classes=None)
        assert by_domain.classes_.tolist() == [0, 1]
        assert by_domain.model_.class_counts[1] == fitted(ROWS).model_.class_counts[1]


@pytest.mark.parametrize("odd", [True, "1", None], ids=str)
def test_public_labels_of_lists(odd: Any) -> None:
    rows = [*ROWS, (1, 1, odd)]
    if odd is None:
        assert fitted(rows, classes="public").classes_.tolist() == [0, 1]
    else:
        with pytest.raises(ValueError, match="labels in y are of several types"):
            fitted(rows, classes="public")


def test_rows_of_unequal_length_are_an_error_of_shape() -> None:
    with pytest.raises(ValueError, match="are all rows equally long"):
        SmoothNaiveBayes(**DECLARED).fit([[1, 2], [1]], [0, 1])
    for rows in ([], [1, 2], [[1, 2], 3], [[1, 2], "ab"]):
        with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
            SmoothNaiveBayes(**DECLARED).fit(rows, [0, 1])
