"""Both engines count what a row-by-row reading of the rules counts: shapes of domains, odd names."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from support.aggregation_cases import CATEGORICAL_BODIES, LABEL, MIXED, NUMERIC_BODIES, WRITERS, check, total
from support.rows_in_python import Document


@pytest.mark.slow
@pytest.mark.parametrize(
    "attributes",
    [NUMERIC_BODIES, CATEGORICAL_BODIES, NUMERIC_BODIES | CATEGORICAL_BODIES],
    ids=["numeric", "categorical", "both"],
)
@pytest.mark.parametrize("classes", [["no", "yes"], ["never", "yes", "no"], ["never", "nor this"]])
def test_domains_of_one_kind_and_classes_without_rows(tmp_path: Path, attributes: Document, classes: list[str]) -> None:
    check(tmp_path, MIXED, {"label": {"column": "y", "classes": classes}, "attributes": attributes})


# Names and values that mean something to an engine.

ODD_NAMES = [
    *('a"b', '"', "it's", "@column", "@fits @@", "$files", "${class}", "x; DROP TABLE t; --", "-- name: cells", "/* x"),
    *("class", "attribute_0", "labelled", "cell", "rows", "count", "code", "constant_0", "read_parquet", "filename"),
    *("file_row_number", "rowid", "select", "*", "^.*$", "^x", "a.b", " ", "日本", "%s{0}", "\\", "NaN", "x" * 256),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_column_names(tmp_path: Path, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    numeric, category, flag = pa.array([1.5, None, 4.0, 2.5]), pa.array(["u", "v", None, "u"]), pa.array([3, 1, 2, 5])
    others = {"other": {"lower": 0, "upper": 5, "step": 1}, "attribute_1": {"values": ["u", "v"]}}
    table = pa.table({name: numeric, "other": flag, "attribute_1": category, "y": ["yes", "no", "yes", "yes"]})
    check(
        tmp_path,
        table,
        {"label": LABEL, "attributes": {**others, name: {"lower": 0, "upper": 5, "step": 1}}},
        writers=WRITERS[:1],
    )
    whole = table.set_column(0, name, pa.array([3, None, 2, 9], pa.int16()))
    for body in ({"lower": 0, "upper": 5, "step": 1}, {"values": [2, 3], "missing": "category"}):
        check(tmp_path, whole, {"label": LABEL, "attributes": {**others, name: body}}, writers=WRITERS[:1])
    table = table.set_column(0, name, category)
    check(
        tmp_path,
        table,
        {"label": LABEL, "attributes": {name: {"values": ["u"], "missing": "category"}, **others}},
        writers=WRITERS[:1],
    )
    label = {"condition": f"{quoted} = 'u' OR {quoted} = 'w'", "classes": ["no", "yes"]}
    check(tmp_path, table, {"label": label, "attributes": others}, writers=WRITERS[:1])
    check(
        tmp_path, table, {"label": {"column": name, "classes": ["v", "u"]}, "attributes": others}, writers=WRITERS[:1]
    )


@pytest.mark.slow
def test_odd_values(tmp_path: Path) -> None:
    """Every odd name as a category, a class, a missing value and a text of a condition."""
    column = pa.array([*ODD_NAMES, None, "else"])
    table = pa.table({"x": column, "y": column, "z": column})
    half = ODD_NAMES[::2]
    attributes = {
        "x": {"values": ODD_NAMES},
        "z": {"values": half, "missing_values": ODD_NAMES[1::2], "missing": "category"},
    }
    label: Document = {"column": "y", "classes": half, "missing_values": ODD_NAMES[1::2]}
    assert total(check(tmp_path, table, {"label": label, "attributes": attributes})) == len(half)
    texts = ", ".join("'" + name.replace("'", "''") + "'" for name in half)
    label = {"condition": f"y IN ({texts})", "classes": ["no", "yes"]}
    assert total(check(tmp_path, table, {"label": label, "attributes": attributes})) == len(ODD_NAMES) + 1
