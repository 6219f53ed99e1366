"""Values that are looked up give the very numbers that the expressions give row by row, whatever a column can hold."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from math import inf, nan, nextafter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.model_cases import (
    UNCHECKED,
    declared,
    histogram_of,
    model_of,
    normal_of,
    numeric_declarations,
    parameters_for,
    table_of,
)
from support.random_models import values_for
from support.scored_rows import MIXED

from dpnb_columnar.api.model import Model
from dpnb_columnar.model import polars_terms
from dpnb_columnar.model.polars_terms import SKIPPED

SIGNED, UNSIGNED = (pl.Int8, pl.Int16, pl.Int32, pl.Int64), (pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
LIMITS: dict[Any, tuple[int, int]] = {
    pl.Boolean: (0, 1),
    **{type_: (-(2**bits), 2**bits - 1) for type_, bits in zip(SIGNED, (7, 15, 31, 63), strict=True)},
    **{type_: (0, 2**bits - 1) for type_, bits in zip(UNSIGNED, (8, 16, 32, 64), strict=True)},
}
CODES = {
    "age": {"lower": 0, "upper": 100, "step": 1, "missing_values": [99, 120]},
    "below": {"lower": -40, "upper": "-20.5", "step": "0.5", "missing_values": [-41]},
    "wage": {"lower": 0, "upper": 200, "step": 1, "transform": "log1p", "missing_values": [0]},
    "hours": {"lower": "0.5", "upper": "99.25", "step": "0.25"},
    "far": {"lower": 70_000, "upper": 70_100, "step": 1},
    "beyond": {"lower": 3_000_000_000, "upper": 3_000_000_100, "step": 1},
    "inexact": {"lower": 2**60, "upper": 2**60 + 2**12, "step": 2**10, "missing_values": [2**60 + 2**12]},
    "job": {"values": [1, 2, 5, 6], "missing": "category"},
    "place": {"values": [10, 11, 13], "missing_values": [12, 15]},
    "group": {"values": ["Young", "Old"], "groups": {"Young": ["0-39"], "Old": ["60-90"]}},
    "true": {"values": ["true", "1"]},
}


def by_rows(model: Model, frame: pl.DataFrame) -> pl.DataFrame:
    """Predictions by the expressions, none looked up."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polars_terms, "MOST_CELLS", 0)
        query = replace(model).predict(frame.lazy())  # without what the model has kept
    return query.collect()


def reads_rows(model: Model, type_: Any) -> bool:
    """Whether a query takes logarithms of its rows."""
    name = model.attributes[0].attribute
    return "log1p" in model.predict(pl.LazyFrame(schema={name: type_})).explain()


def around(marks: Sequence[int], type_: Any) -> list[int | None]:
    """Numbers of a type: the marks, those beside them, and the extremes."""
    low, high = LIMITS[type_]
    near = {mark + step for mark in (*marks, low, high, 0, 2**31, 2**53, -(2**53)) for step in range(-2, 3)}
    return [*sorted(number for number in near if low <= number <= high), None]


def coded(type_: Any) -> Model:
    """A model of the attributes above that can be read from columns of this type."""
    three = {"job": 5, "place": 3, "group": 2, "true": 2}
    chosen = {name: entry for name, entry in CODES.items() if (type_ == pl.Boolean) is (name == "true")}
    if type_ == pl.Boolean:
        chosen["age"] = CODES["age"]
    parameters: list[Any] = []
    for name in chosen:
        if name in three:
            cells = range(1, three[name] + 1)
            total = sum(cells)
            parameters.append(
                table_of(name, [cell / total for cell in cells], [cell / total for cell in reversed(cells)])
            )
        elif name == "hours":
            parameters.append(histogram_of(name, [0, 10, 150, 396], [0.25, 0.25, 0.5], [0.5, 0.125, 0.375]))
        else:
            scale = declared({name: CODES[name]})[name].scale  # type: ignore[union-attr]
            width = scale.end - scale.origin
            means = [scale.origin + width / 3, scale.origin + width / 1.7]
            parameters.append(normal_of(name, means, [width / 7, width / 3]))
    return model_of(declared(chosen), parameters, [0.3, 0.7])


@pytest.mark.parametrize("type_", LIMITS, ids=str)
def test_every_kind_of_attribute_in_every_type_of_whole_numbers(type_: Any) -> None:
    model = coded(type_)
    names = [parameters.attribute for parameters in model.attributes]
    marks = [0, 12, 39, 60, 90, 99, 100, 120, 200, -20, -41, 70_000, 70_100, 3_000_000_050, 2**60, 2**60 + 2**12]
    marks += [2**60 + 2**12 + 2**power for power in range(6, 10)]
    values = pl.Series(around(marks, type_), dtype=pl.Int128).cast(type_)
    frame = pl.DataFrame({name: values.shuffle(seed) for seed, name in enumerate(names)})
    found, expected = model.predict(frame), by_rows(model, frame)
    assert found.equals(expected)
    assert found[SKIPPED].n_unique() > 1


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_few_floats_score_by_numpy_as_by_polars(data: st.DataObject) -> None:
    """Whatever rounds, overflows, vanishes or is missing; and a row alone scores as among others."""
    domain = declared({"x": data.draw(numeric_declarations())})
    (attribute,) = domain.numeric
    lower, step = float(attribute.lower), float(attribute.step)
    halves = [lower + (code + 0.5) * step for code in (0, 1, attribute.cells // 2, attribute.cells - 1)]
    hard = [*halves, *(nextafter(half, side) for half in halves for side in (-inf, inf))]
    hard += [-0.0, 5e-324, -5e-324, 1e-200, 1.7e308, -1.7e308, inf, -inf, nan, float(attribute.upper), lower, None]
    values = hard + data.draw(st.lists(values_for(attribute), max_size=6))
    model = model_of(domain, [data.draw(parameters_for(attribute, 2))])
    for type_ in (pl.Float64, pl.Float32):
        frame = pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64).cast(type_)})
        found = model.predict(frame)
        assert found.equals(by_rows(model, frame))
        place = data.draw(st.integers(0, len(values) - 1))
        assert model.predict(frame[place : place + 1]).equals(found[place : place + 1])


def test_texts_dates_and_fractions_are_read_as_ever() -> None:
    domain = declared(
        {
            "sex": {"values": ["f", "m"], "missing": "category"},
            "day": {"values": ["2018-12-31", "2020-02-29"]},
            "hours": CODES["hours"],
            "wage": CODES["wage"],
        }
    )
    halves = [0.5, 0.5], [0.125, 0.875]
    model = model_of(
        domain,
        [
            table_of("sex", [0.25, 0.25, 0.5], [0.5, 0.25, 0.25]),
            table_of("day", *halves),
            histogram_of("hours", [0, 10, 396], *halves),
            normal_of("wage", [1.5, 3.25], [0.5, 1]),
        ],
    )
    frame = pl.DataFrame(
        {
            "sex": ["f", None, "stranger", "m"],
            "day": pl.Series(["2018-12-31", "2020-02-29", "2019-01-01", None]).str.to_date(),
            "hours": [2.9, 3.1, None, float("nan")],
            "wage": [-1.0, 17.25, 0.0, None],
        }
    )
    found = model.predict(frame)
    assert found.equals(by_rows(model, frame))
    assert found[SKIPPED].to_list() == [0, 0, 3, 3]


def test_what_is_looked_up_is_bounded() -> None:
    """A wide grid, or many classes, would make tables that no cache holds: these rows are read one by one."""
    wage = {"lower": 0, "upper": 60_000, "step": 1, "transform": "log1p"}
    two = model_of(declared({"wage": wage}), [normal_of("wage", [2, 3], [1, 1])])
    assert not reads_rows(two, pl.Int32)
    assert not reads_rows(two, pl.UInt64)
    assert reads_rows(two, pl.Float64)
    three = model_of(declared({"wage": wage}, ["a", "b", "c"]), [normal_of("wage", [2, 3, 4], [1, 1, 1])])
    assert reads_rows(three, pl.Int32)
    wide = model_of(declared({"wage": wage | {"missing_values": [999_999]}}), [normal_of("wage", [2, 3], [1, 1])])
    assert reads_rows(wide, pl.Int32)
    assert not reads_rows(wide, pl.Int8)


MODULES_PROBE = f"""{UNCHECKED}
import sys
from dpnb_columnar.cli.main import exit_code
code = exit_code(sys.argv[2:])
found = set(sys.argv[1].split()).intersection(sys.modules)
sys.exit(f"{{code}} {{sorted(found)}}" if code or found else 0)
"""


def test_predict_loads_no_library_that_it_does_not_use(tmp_path: Path) -> None:
    MIXED.save(tmp_path / "model.json")
    pl.DataFrame({"age": [30], "money": [12], "hours": [40], "sex": ["m"], "job": [1]}).write_parquet(
        tmp_path / "rows.parquet"
    )
    heavy = "pyarrow duckdb scipy sqlglot flint sqlite3 rich pydantic sklearn pyspark jinja2"
    rooms = " ".join(f"dpnb_columnar.{room}" for room in ("ledger", "mechanisms", "noise"))
    words = ["predict", "model.json", "rows.parquet", "--output", "scored.parquet"]
    ended = subprocess.run(
        [sys.executable, "-c", MODULES_PROBE, f"{heavy} {rooms}", *words],
        cwd=tmp_path,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
