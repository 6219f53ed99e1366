"""What the estimator refuses, with a remedy, and without a word about the rows."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support.flowers import COLOURS, MEASURES, SPECIES, estimator, flowers, measures
from support.people import people_domain
from support.running import in_python

import dpnb_columnar
from dpnb_columnar.sklearn import SmoothNaiveBayes

PACKAGE = Path(dpnb_columnar.__file__).parent
SECRET = 31415.9


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"bounds": None}, "columns 'sepal length', .*, 'petal width': not declared. Give bounds="),
        ({"bounds": {"sepal width": (0, 9)}}, "columns 'sepal length', 'petal length', 'petal width': not declared"),
        ({"categories": None}, "column 'colour': not declared.*categories={'colour': "),
        ({"categories": {"color": COLOURS}}, "categories: there is no column 'color'; the columns are sepal length"),
        ({"categories": {"colour": COLOURS, 5: [1]}}, "categories: there is no column 5"),
        ({"categories": {"colour": COLOURS, 4: [1]}}, "categories: column 'colour' is declared twice"),
        ({"categories": ["colour"]}, "categories: expected a mapping of columns, found list"),
        ({"categories": {"colour": "blue"}}, "colour.values: expected at least one value, found 'blue'"),
        ({"categories": {"colour": [None]}}, "colour.values: expected text or a whole number, found None"),
        ({"bounds": dict.fromkeys([*MEASURES, "colour"], (0, 1))}, "'colour': declared in bounds and in categories"),
        ({"bounds": (9, 0)}, r"lower \(9\) must be below upper \(0\)"),
        ({"bounds": (0, 1, 0.3)}, "must be positive and divide upper - lower"),
        ({"bounds": (0, float("inf"))}, "upper: expected a finite number"),
        ({"bounds": 5}, r"bounds: expected \(lower, upper\) or \(lower, upper, step\), found 5"),
        ({"bounds": "01"}, r"bounds: expected \(lower, upper\)"),
        ({"classes": None}, 'classes: expected a list of labels, found None.*"public" where it is public which'),
        ({"classes": ["setosa"]}, "at least two class names"),
        ({"classes": ["setosa", "setosa"]}, "'setosa' appear more than once"),
        ({"classes": [1, 2]}, None),
        ({"classes": "publik"}, "classes: expected a list of labels, found 'publik'"),
        ({"classes": 3}, "classes: expected a list of labels, found 3"),
        ({"domain": people_domain()}, "domain: leave bounds, categories and classes out"),
        ({"epsilon": 0}, "epsilon: must be above 0"),
        ({"delta": 1e-6}, "delta: mechanism histogram spends none"),
        ({"neighbours": "friends"}, "known relations: add-remove, replace-one"),
        ({"noise": "gauss"}, "known families"),
    ],
    ids=str,
)
def test_faulty_declarations(parameters: dict[str, Any], told: str | None) -> None:
    X, y = flowers(30)
    if told is None:  # no label of y is declared: no row counts, and nothing says so
        assert estimator(**parameters).fit(X, y).classes_.tolist() == parameters["classes"]
    else:
        with pytest.raises(ValueError, match=told):
            estimator(**parameters).fit(X, y)


def test_columns_that_do_not_fit_the_declarations() -> None:
    X, y = flowers(30)
    with pytest.raises(ValueError, match="'sepal width' has type Date, but is declared numeric: cast it"):
        estimator().fit(X.with_columns(pl.date(2018, 1, 1).alias("sepal width")), y)
    with pytest.raises(ValueError, match="'colour' has type Int32, which cannot hold the declared"):
        estimator().fit(X.with_columns(colour=1), y)
    with pytest.raises(ValueError, match="has type Float64, which cannot hold the declared"):
        estimator().fit(X, np.linspace(0, 1, 30))
    with pytest.raises(ValueError, match="missing column 'age', 'hours', 'sex'"):
        SmoothNaiveBayes(domain=people_domain()).fit(X, y)
    for domain in (None, people_domain()):
        with pytest.raises(ValueError, match=r"X: expected unique column names; drop all but one of those named 'age'"):
            SmoothNaiveBayes(domain=domain).fit(pd.DataFrame(np.ones((30, 2)), columns=["age", "age"]), y)


OF_PANDAS: dict[str, tuple[Any, str]] = {
    "Float64": (pd.array([0.5] * 30, dtype="Float64"), "Float64, which cannot hold"),
    "Int64": (pd.array([None] * 30, dtype="Int64"), "Int64, which cannot hold"),
    "boolean": (pd.array([True] * 30, dtype="boolean"), "Boolean, which cannot hold"),
    "double[pyarrow]": (pd.array([0.5] * 30, dtype="double[pyarrow]"), "Float64, which cannot hold"),
    "date32[pyarrow]": (pd.array([None] * 30, dtype=pd.ArrowDtype(pa.date32())), "Date, which cannot hold"),
    "timestamp[pyarrow]": (pd.array([None] * 30, dtype=pd.ArrowDtype(pa.timestamp("us"))), "Datetime: cast it"),
    "datetime64": (pd.date_range("2018-01-01", periods=30), "Datetime: cast it"),
    "datetime64 with a zone": (pd.date_range("2018-01-01", periods=30, tz="UTC"), "Datetime: cast it"),
    "timedelta64": (pd.timedelta_range("1 day", periods=30), "Duration: cast it"),
    "period": (pd.period_range("2018-01-01", periods=30), "Object: cast it"),
    "interval": (pd.interval_range(0, 30), "Object: cast it"),
    "sparse": (pd.arrays.SparseArray([0.5] * 30), "Float64, which cannot hold"),
}
"""Columns of pandas' types in the place of categories that are words, and the refusal: that of a file of this type."""


@pytest.mark.parametrize("type_", OF_PANDAS)
def test_columns_of_pandas_types_are_refused_as_those_of_files_are(type_: str) -> None:
    column, told = OF_PANDAS[type_]
    X, y = flowers(30)
    frame = X.to_pandas().assign(colour=column)
    with pytest.raises(ValueError, match=f"column 'colour' has type {told}"):
        estimator().fit(frame, y)
    fitted = estimator().fit(X, y)
    with pytest.raises(ValueError, match="colour"):
        fitted.predict(frame)


def test_texts_and_categories_of_pandas_are_read_by_their_values() -> None:
    X, y = flowers(60)
    expected = estimator(mechanism="none").fit(X, y).model_
    for type_ in ("str", "category", "string[pyarrow]", pd.ArrowDtype(pa.string()), "object"):
        frame = X.to_pandas().astype({"colour": type_})
        assert estimator(mechanism="none").fit(frame, y).model_.attributes == expected.attributes


@pytest.mark.parametrize(
    "fit",
    [
        lambda: estimator().fit([[SECRET], [SECRET, 1]] * 7, ["setosa"] * 14),
        lambda: estimator().fit(np.full(14, SECRET), ["setosa"] * 14),
        lambda: estimator().fit(np.full((14, 2, 2), SECRET), ["setosa"] * 14),
        lambda: estimator().fit(np.empty((14, 0)), ["setosa"] * 14),
        lambda: estimator().fit(flowers(14)[0], ["setosa"] * 13),
        lambda: estimator().fit(flowers(14)[0], np.array([["setosa", "lily"]] * 14)),
        lambda: estimator().fit(flowers(14)[0], np.full(14, SECRET)),
        lambda: estimator(classes="public").fit(flowers(14)[0], np.full(14, SECRET)),
        lambda: estimator(classes="public").fit(flowers(14)[0], np.array([1, "lily"] * 7, dtype=object)),
        lambda: estimator().fit(
            flowers(14)[0].with_columns(pl.lit(str(SECRET).encode()).alias(MEASURES[0])), ["lily"] * 14
        ),
        lambda: estimator().fit(
            flowers(14)[0].with_columns(pl.lit(1 + 2j, dtype=pl.Object).alias("colour")), ["a"] * 14
        ),
        lambda: SmoothNaiveBayes(bounds=(0, 1), classes=SPECIES).fit(np.full((14, 1), 1j * SECRET), ["setosa"] * 14),
    ],
)
def test_no_refusal_tells_a_value_or_a_number_of_rows(fit: Any) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        fit()
    for secret in ("31415", "14", "13", "lily", "rose"):
        assert secret not in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__cause__ or caught.value.__suppress_context__


def test_odd_cells_are_no_errors() -> None:
    rows, species = measures(40)
    odd: Any = rows.astype(object)
    odd[0, 0], odd[1, 1], odd[2, 2], odd[3, 3] = {"a": 1}, "text", [1, 2], None
    labels: Any = species.astype(object)
    labels[4], labels[5] = 3.5, {"a": 1}.keys
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = SmoothNaiveBayes(bounds=(0, 10), classes=SPECIES, mechanism="none").fit(odd, labels)
    labelled = np.arange(40) // 2 != 2
    assert sum(fitted.model_.class_counts) == sum(labelled)
    for place, attribute in enumerate(fitted.model_.attributes):
        kept = labelled & (np.arange(40) != place)
        alone = SmoothNaiveBayes(bounds=(0, 10), classes=SPECIES, mechanism="none").fit(rows[kept], species[kept])
        assert attribute == alone.model_.attributes[place]


@pytest.mark.parametrize("rows", [pl.LazyFrame({"a": [1]}), pd.DataFrame({"a": [1]}).to_numpy], ids=["lazy", "method"])
def test_what_is_no_table(rows: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"collect it first|Reshape your data"):
        SmoothNaiveBayes(bounds=(0, 1), classes=[0, 1]).fit(rows, [0])


def test_without_scikit_learn_the_import_tells_the_remedy() -> None:
    program = """
import sys
sys.modules["sklearn"] = None
try:
    import dpnb_columnar.sklearn
except ImportError as error:
    print(error)
"""
    ended = in_python("-c", program)
    assert "pip install 'dpnb-columnar[sklearn]'" in ended.stdout, ended.stderr


@pytest.mark.slow
def test_no_other_module_imports_scikit_learn() -> None:
    importing = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name == "sklearn" or name.startswith(("sklearn.", "dpnb_columnar.sklearn")) for name in names):
                importing.append(path.relative_to(PACKAGE).as_posix())
    assert set(importing) == {"sklearn.py"}
