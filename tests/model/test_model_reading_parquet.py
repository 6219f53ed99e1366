"""A Parquet file that is no model, edited, or damaged is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.golden_model import golden_model, loaded_or_refused

from dpnb_columnar.api import load_model
from dpnb_columnar.errors import DataError
from dpnb_columnar.model.model_files import MODEL_KEY, save_model

pytestmark = pytest.mark.usefixtures("invented_models")


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    path = tmp_path / "model.parquet"
    save_model(golden_model(), path)
    return path


def parquet_refused(path: Path, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        load_model(path)
    assert str(caught.value).startswith(f"{path}: ")


def rewrite(path: Path, table: pa.Table, document: Any = None) -> None:
    """Write other rows, or another document, under the same name."""
    if document is not None:
        table = table.replace_schema_metadata(
            {MODEL_KEY: document if isinstance(document, bytes) else json.dumps(document)}
        )
    pq.write_table(table, path)


def test_parquet_without_our_metadata_is_refused(parquet: Path) -> None:
    table = pq.read_table(parquet)
    rewrite(parquet, table.replace_schema_metadata(None))
    parquet_refused(parquet, "its metadata does not fit its rows")
    for document in (
        b"not JSON",
        b"[" * 100_000,
        [],
        {},
        {"domain": {}},
        {"domain": [], "classes": 3, "attributes": ""},
    ):
        rewrite(parquet, table, document)
        parquet_refused(parquet, "its metadata does not fit its rows")


def test_parquet_rows_in_another_order_or_number_are_refused(parquet: Path) -> None:
    table = pq.read_table(parquet)
    order = list(range(table.num_rows))
    order[3], order[4] = order[4], order[3]
    rewrite(parquet, table.take(order))
    parquet_refused(parquet, "its rows do not follow its metadata")
    for part in (table[:-1], table[:0], pa.concat_tables([table, table[:1]])):
        rewrite(parquet, part)
        parquet_refused(parquet, "its metadata does not fit its rows")
    for column in table.column_names:
        rewrite(parquet, table.drop_columns([column]))
        parquet_refused(parquet, "a table of other columns")


@pytest.mark.parametrize(
    ("column", "row", "value", "words"),
    [
        ("value", 0, 0.5, "classes.probability: probabilities do not add up to 1"),
        ("value", 0, None, "classes.probability: None is not a possible value"),
        ("value", 2, float("nan"), "attributes.age.mean: nan is not"),
        ("value", 3, -1.0, "attributes.age.deviation: -1.0 is not"),
        ("released", 0, 0.5, "classes.released: 0.5 is not a possible value"),
        ("released", 0, float("inf"), "classes.released: inf is not"),
        ("released", 2, float("nan"), "attributes.age.released_mean: nan is not"),
        ("class", 0, "yes", "its rows do not follow its metadata"),
        ("attribute", 0, "age", "its rows do not follow its metadata"),
        ("cell", 14, "5", "its rows do not follow its metadata"),
        ("parameter", 3, "variance", "its rows do not follow its metadata"),
    ],
)
def test_edited_parquet_rows_are_refused(parquet: Path, column: str, row: int, value: object, words: str) -> None:
    table = pq.read_table(parquet)
    values = table[column].to_pylist()
    values[row] = value
    edited = pa.array(values, table.schema.field(column).type)
    rewrite(parquet, table.set_column(table.column_names.index(column), column, edited))
    parquet_refused(parquet, words)


@pytest.mark.parametrize("type_", [pa.string(), pa.bool_(), pa.binary(), pa.list_(pa.float64())], ids=str)
def test_numbers_of_another_type_are_refused(parquet: Path, type_: pa.DataType) -> None:
    table = pq.read_table(parquet)
    other = {pa.string(): "1", pa.bool_(): True, pa.binary(): b"1"}.get(type_, [1.0])
    column = pa.array([other] * table.num_rows, type_)
    rewrite(parquet, table.set_column(5, "value", column))
    parquet_refused(parquet, "is not a possible value")


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_parquet_model_is_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "model.parquet"
    save_model(golden_model(), path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.sampled_from([len(content), len(content) // 2, len(content) - 1]))])
    loaded_or_refused(path)
