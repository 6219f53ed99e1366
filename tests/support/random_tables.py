"""Strategies: random tables under random domains."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from support.rows_in_python import INFINITY, NAN, Document

KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "int8": (pa.int8(), st.integers(-9, 9) | st.sampled_from([-128, 127])),
    "int64": (pa.int64(), st.integers(-9, 9) | st.sampled_from([-(2**63), 2**53, 2**63 - 1])),
    "uint16": (pa.uint16(), st.integers(0, 9) | st.just(2**16 - 1)),
    "uint64": (pa.uint64(), st.integers(0, 9) | st.sampled_from([2**53, 2**53 - 1, 2**64 - 1])),
    "float32": (pa.float32(), st.sampled_from([0.0, -0.0, 1, 2.5, 7, NAN, INFINITY, -INFINITY]) | st.floats(width=32)),
    "float64": (pa.float64(), st.sampled_from([0.0, -0.0, 1, 2.5, 7, NAN, INFINITY, -INFINITY]) | st.floats(-9, 9)),
    "decimal": (pa.decimal128(12, 2), st.decimals(-9, 9, places=2)),
    "boolean": (pa.bool_(), st.booleans()),
    "text": (
        pa.string(),
        st.sampled_from(["", "a", "7", "007", " 7.", "+1", "-3.0", "1e0", "true", "é", "'", "2.5"])
        | st.text(st.characters(codec="utf-8")),
    ),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), st.sampled_from(["", "a", "7", "é", "'"])),
    "date": (pa.date32(), st.integers(0, 5).map(lambda days: date(2018, 12, 31) + timedelta(days))),
}
RANDOM_VALUES = ["", "a", "7", "é", "'", "0", "1", "-3", "true", "false", "2018-12-31", "2.50", "9007199254740991"]
HELD: dict[str, list[str]] = {
    "boolean": ["true", "false"],
    "date": ["2018-12-31"],
    "text": RANDOM_VALUES,
    "dictionary": RANDOM_VALUES,
    "decimal": ["7", "0", "1", "-3", "2.50", "9007199254740991"],
}
"""Values that a column of each kind may declare; of whole numbers and of floats those below."""
WHOLE = ["7", "0", "1", "-3", "9007199254740991"]
MEASURED = ("int8", "int64", "uint16", "uint64", "float32", "float64", "decimal", "boolean")

TREATMENTS = st.sampled_from([{}, *({"missing": treatment} for treatment in ("skip", "category", "row"))])


@st.composite
def bodies(draw: st.DrawFn, kind: str) -> Document:
    if kind in (*MEASURED, "text") and draw(st.booleans()):
        step = draw(st.sampled_from([Fraction(1), Fraction(1, 10), Fraction(1, 3), Fraction(5, 2)]))
        lower = draw(st.integers(-9, 5))
        missing = draw(st.lists(st.sampled_from([0, 7, -3, Decimal("2.5")]), unique=True, max_size=2))
        upper = lower + step * draw(st.integers(1, 60))
        return {"lower": lower, "upper": upper, "step": step, "missing_values": missing, **draw(TREATMENTS)}
    missing = draw(st.lists(st.sampled_from(["", "7", "0", "é"]), unique=True))
    values = draw(st.permutations([value for value in HELD.get(kind, WHOLE) if value not in missing]))
    merged = draw(st.integers(0, 6))
    named = {f"group {number}": values[number:merged:2] for number in range(2)}
    groups = {name: members for name, members in named.items() if members}
    return {"values": [*groups, *values[merged:]], "groups": groups, "missing_values": missing, **draw(TREATMENTS)}


@st.composite
def conditions(draw: st.DrawFn) -> str:
    test = st.sampled_from(
        [
            *("n > 2.5", "n <= 0", "n <> 7", "n BETWEEN -3 AND 7", "n NOT IN (0, 1)", "t = 'a'", "t <> '7'"),
            "t IN ('', 'é')",
        ]
    )
    joined = st.recursive(
        test,
        lambda part: (
            part.map("NOT ({})".format)
            | st.tuples(part, st.sampled_from(["AND", "OR"]), part).map("({0[0]} {0[1]} {0[2]})".format)
        ),
        max_leaves=5,
    )
    return draw(joined)


UNITS = {
    "int64": st.sampled_from([-(2**63), 1, 2, 2**63 - 1]),
    "uint64": st.sampled_from([0, 1, 2**63, 2**64 - 1]),
    "text": st.sampled_from(["", "1", "01", "1 ", "é"]),
    "decimal": st.sampled_from([Decimal("0.50"), Decimal("-1.00"), Decimal("1.00")]),
    "date": KINDS["date"][1],
    "boolean": st.booleans(),
}
"""Values of the columns of a unit, by kind; few, so that units have several rows."""


@st.composite
def united(draw: st.DrawFn) -> tuple[list[pa.Table], Document]:
    """Tables of rows that belong to units, in any order or in that of the units."""
    tables, document = draw(frames())
    kinds = draw(st.lists(st.sampled_from(sorted(UNITS)), min_size=1, max_size=2))
    names = [f"u{position}" for position in range(len(kinds))]
    in_order = draw(st.booleans())
    for place, table in enumerate(tables):
        rows = [draw(st.tuples(*(st.none() | UNITS[kind] for kind in kinds))) for _ in range(len(table))]
        if in_order:
            rows.sort(key=lambda row: [(value is not None, 0 if value is None else value) for value in row])
        for name, kind, values in zip(names, kinds, zip(*rows, strict=True) if rows else [[]] * 2, strict=False):
            table = table.append_column(name, pa.array(values, KINDS[kind][0]))
        tables[place] = table
    most = draw(st.integers(1, 3))
    return tables, {**document, "unit": {"columns": names, "rows": most}}


@st.composite
def weighted(draw: st.DrawFn) -> tuple[list[pa.Table], Document]:
    """Tables of rows that have a weight, of any type that numbers have, and perhaps belong to units."""
    tables, document = draw(frames() | united())
    kind = draw(st.sampled_from((*MEASURED, "text")))
    step = draw(st.sampled_from([Fraction(1), Fraction(1, 10), Fraction(1, 3), Fraction(5, 2)]))
    steps = draw(st.integers(1, 60))
    for place, table in enumerate(tables):
        values = draw(st.lists(st.none() | KINDS[kind][1], min_size=len(table), max_size=len(table)))
        tables[place] = table.append_column("w", pa.array(values, KINDS[kind][0]))
    missing = draw(st.integers(0, steps)) * step
    return tables, {**document, "weight": {"column": "w", "cap": step * steps, "step": step, "missing": missing}}


@st.composite
def frames(draw: st.DrawFn) -> tuple[list[pa.Table], Document]:
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3))
    measure = draw(st.sampled_from(MEASURED))
    columns = {f"x{position}": kind for position, kind in enumerate(kinds)} | {"n": measure, "t": "text"}
    attributes = {f"x{position}": draw(bodies(kind)) for position, kind in enumerate(kinds)}
    label: Document = {"missing_values": draw(st.sampled_from([[], ["7"], ["0", "a"]]))}
    if draw(st.booleans()):
        label |= {"condition": draw(conditions()), "classes": ["no", "yes"]}
    else:
        column = draw(st.sampled_from(["n", "t"]))
        classes = [value for value in HELD.get(columns[column], WHOLE) if value not in label["missing_values"]]
        label |= {"column": column, "classes": classes}
        if len(classes) > 2 and draw(st.booleans()):
            label |= {"classes": ["few", *classes[2:]], "groups": {"few": classes[:2]}}
    tables = []
    for rows in draw(st.lists(st.integers(0, 12), min_size=1, max_size=3)):
        arrays = {
            name: pa.array(draw(st.lists(st.none() | KINDS[kind][1], min_size=rows, max_size=rows)), KINDS[kind][0])
            for name, kind in columns.items()
        }
        tables.append(pa.table(arrays).select(draw(st.permutations(list(columns)))))
    return tables, {"label": label, "attributes": attributes}
