"""DuckDB counts joint tables in arrays, whatever the footers of the files say of the values, and marginals add up."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.aggregation_cases import Document, by_duckdb, check, declared, labelled
from support.rows_in_python import counts_of, expected_counts

from dpnb_columnar.counting.local import SESSION
from dpnb_columnar.dialects.statistics_query import FILES, KEY_BITS, cells_query, joint_keys
from dpnb_columnar.domain import Domain
from dpnb_columnar.rows.parquet import ParquetSource, open_parquet

LABEL: Document = {"column": "y", "classes": ["no", "yes"]}
CODES = [1, 2, 3, None, 13, 0, 14, 7]
ROWS = labelled(
    byte=pa.array([127, -128, None, 0, 126, -127, 1, 5], pa.int8()),
    edge=pa.array([127, -128, None, 0, 126, -127, 1, 5], pa.int8()),
    small=pa.array(CODES, pa.int16()),
    apart=pa.array([0, 1_000_000, None, 1, 999_999, 500, 7, -1], pa.int32()),
    large=pa.array([2**40, 2**40 + 1, None, 0, 2**40 + 2, -(2**40), 1, 2], pa.int64()),
    unsigned=pa.array([2**64 - 1, 2**63, None, 0, 7, 8, 1, 2], pa.uint64()),
    text=pa.array(["a", "b", None, "", "é", "a ", "A", "b"]),
    dictionary=pa.array(["1", "01", None, "1.0", "2", "x", "2", "3"]).dictionary_encode(),
    owner=pa.array([True, False, None, True, False, None, True, True]),
    wage=pa.array([0, 1, None, 3, 4, 5, 2, 9], pa.int32()),
    rate=pa.array([0.5, float("nan"), None, 1.0, 2.0, -0.0, 0.0, 0.5]),
)
BODIES: Document = {
    "byte": {"values": [*range(-127, 127)], "missing": "category"},
    "edge": {"values": [-128, 0, 127]},
    "small": {"values": [*range(1, 14)]},
    "apart": {"values": [0, 1, 1_000_000], "missing": "category"},
    "large": {"values": [0, 2**40, 2**40 + 1]},
    "unsigned": {"values": [0, 1, 7]},
    "text": {"values": ["a", "b", "é"], "missing": "category"},
    "dictionary": {"values": [1, "x", 3]},
    "owner": {"values": [True, False], "missing": "category"},
    "rate": {"values": [0, "0.5", 1]},
}


def plan_of(source: ParquetSource, domain: Domain) -> str:
    keys = joint_keys(domain, source.kinds, domain.categorical)
    query = cells_query(domain, source.kinds, keys)
    with duckdb.connect() as connection:
        connection.execute(SESSION)
        ((_, plan),) = connection.execute(f"EXPLAIN {query}", {FILES: [str(file) for file in source.files]}).fetchall()
    return str(plan)


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("condition", [None, "wage > 2"])
def test_every_joint_table_is_an_array(tmp_path: Path, condition: str | None, statistics: bool) -> None:
    file = tmp_path / "rows.parquet"
    pq.write_table(ROWS, file, write_statistics=statistics)
    label = LABEL if condition is None else {"condition": condition, "classes": ["no", "yes"]}
    domain = declared({"label": label, "attributes": BODIES})
    source = open_parquet([file], domain)
    plan = plan_of(source, domain)
    keys = joint_keys(domain, source.kinds, domain.categorical)
    assert 1 < len(keys) < len(domain.categorical)
    assert plan.count("Perfect Hash Group By") == len(keys)
    assert plan.count("Hash Group By") == len(keys)
    assert plan.count("Read Parquet") == 1


@pytest.mark.slow
def test_odd_values_of_every_type(tmp_path: Path) -> None:
    counts = check(tmp_path, [ROWS, ROWS.slice(3, 4)], {"label": LABEL, "attributes": BODIES})
    assert {name for name, _, _ in counts} == {None, *BODIES}
    dropping = {name: {**body, "missing": "row"} for name, body in BODIES.items() if name in ("small", "owner")}
    check(tmp_path, ROWS, {"label": LABEL, "attributes": {**BODIES, **dropping}})


def test_an_attribute_that_fills_no_key_has_one_for_itself(tmp_path: Path) -> None:
    """Beside it others share a key; each attribute is in one."""
    values = [f"t{place}" for place in range(2**9)]
    table = pa.table({"x": [*values, None, "t"], "few": ["a"] * 514, "y": [str(place % 300) for place in range(514)]})
    attributes: Document = {"x": {"values": values, "missing": "category"}, "few": {"values": ["a", "b"]}}
    label: Document = {"column": "y", "classes": [str(each) for each in range(300)]}
    domain = declared({"label": label, "attributes": attributes})
    file = tmp_path / "rows.parquet"
    pq.write_table(table, file)
    source = open_parquet([file], domain)
    keys = joint_keys(domain, source.kinds, domain.attributes)
    assert [[digit.attribute.name for digit in key.digits] for key in keys] == [["x"], ["few"]]
    assert [key.bits <= KEY_BITS for key in keys] == [False, True]
    assert counts_of(by_duckdb(source, domain)) == expected_counts(table.to_pylist(), domain)


@pytest.mark.parametrize("type_", [pa.int32(), pa.int64()])
def test_footers_that_lie(tmp_path: Path, type_: pa.DataType) -> None:
    """A footer that calls a column narrower than it is makes no count wrong."""
    largest = 0x01020304
    codes = CODES * 40
    table = labelled(x=pa.array([*codes, largest], type_), z=pa.array([*codes[::-1], largest], type_))
    domain = declared({"label": LABEL, "attributes": {name: {"values": [*range(14)]} for name in "xz"}})
    file = tmp_path / "rows.parquet"
    pq.write_table(table, file)
    content = file.read_bytes()
    size = type_.bit_width // 8
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    is_, said = (number.to_bytes(size, "little") for number in (largest, 2))
    assert content[footer:].count(is_) >= 2
    file.write_bytes(content[:footer] + content[footer:].replace(is_, said))
    with duckdb.connect() as connection:
        ((stated,),) = connection.execute("SELECT max(stats(x).max) FROM read_parquet($1)", [str(file)]).fetchall()
    assert int(stated) == 2
    expected = Counter(expected_counts(table.to_pylist(), domain))
    assert counts_of(by_duckdb(open_parquet([file], domain), domain)) == expected
