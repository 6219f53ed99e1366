"""Databases score odd rows, any names and any number of classes as the model does, probabilities to nine digits."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import date
from decimal import Decimal
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sqlglot import exp
from support.engines import DuckDB, Engine, Postgres, Spark, SQLite
from support.exported import logarithm_error
from support.model_cases import declared, histogram_of, model_of, normal_of, table_of
from support.patience import patience
from support.random_models import models_and_rows
from support.reference_scorer import reference
from support.scored_queries import CLOSE, INFINITY, NAN, compare, kinds_of, numbered
from support.scored_rows import AGE, MIXED, types

import dpnb_columnar as dpnb
from dpnb_columnar.api.model import Model
from dpnb_columnar.dialects.nodes import as_column, integer, sum_of
from dpnb_columnar.dialects.rendering import render
from dpnb_columnar.dialects.scoring_query import scoring_query
from dpnb_columnar.domain import Categorical, Domain, Label
from dpnb_columnar.errors import UsageError
from dpnb_columnar.model.parameters import AttributeWeights, CalibrationLine, Priors, Table
from dpnb_columnar.model.scoring import probability_column
from dpnb_columnar.rows.sources import Dialect

NUMBERS = [
    *(None, NAN, INFINITY, -INFINITY, 0.0, -0.0, -5.0, 0.5, 9.49, 9.5, 33.0, 39.5, 99.5, 100.0, 250.0),
    *(1e-300, 5e-324, 1e-200, 1.7e308, 1e6, 1234.5, 3e5, 999.0),
]


def turns(values: list[Any], rows: int) -> list[Any]:
    return list(islice(cycle(values), rows))


def mixed_rows() -> pa.Table:
    """Every number in every numeric column, beside other numbers and categories of every sort."""
    rows = len(NUMBERS) * 7
    return pa.table(
        {
            "age": pa.array(turns(NUMBERS, rows)),
            "money": pa.array(turns(NUMBERS[3:] + NUMBERS[:4], rows)),
            "hours": pa.array(turns([*NUMBERS[::-1], 12.0, 40.0], rows)),
            "sex": pa.array(turns(["f", "m", None, "x", "F", "", "f "], rows)),
            "job": pa.array(turns(["1", "2", "3", None, "02", "1.0.0"], rows)),
        }
    )


BENT = CalibrationLine(
    1, tuple(-4 + place / 2 for place in range(18)), tuple(-5 + place / 2 + (place % 3) / 10 for place in range(18))
)
"""A line of so many points that queries halve them."""

CALIBRATED = replace(MIXED, attribute_weights=AttributeWeights("calibrated", (0.7,) * 5, (0.0, 0.0), line=BENT))
ODD_MODELS = {
    "as it is": MIXED,
    **{
        f"weighted by {weights[0]}": replace(MIXED, attribute_weights=AttributeWeights("x", weights, (0.5, -0.75)))
        for weights in ((0.5, 1.75, 0.25, 0.0, 1.5), (-0.5, -0.25, -2.0, -1.0, 1e-300))
    },
    "under a line": CALIBRATED,
    "under a line that sums of weights move": replace(CALIBRATED, weighted_classes=Priors((0.2, 0.8))),
}


@pytest.mark.parametrize("name", [*ODD_MODELS, "of columns of unknown kind"])
def test_odd_rows(engine: Engine, name: str) -> None:
    table = mixed_rows()
    assert compare(engine, ODD_MODELS.get(name, MIXED), table, kinds_of(table) if name in ODD_MODELS else {}) <= CLOSE


@pytest.mark.parametrize("evidence", [0.0, 0.6])
@pytest.mark.parametrize("largest", [0, 2])
def test_five_classes_under_a_line(engine: Engine, largest: int, evidence: float) -> None:
    """Missing values, classes that are all but impossible, and others that are given more than the best has."""
    classes = [f"class {index}" for index in range(5)]
    domain = declared({"x": {"lower": 0, "upper": 100, "step": 1}, "sex": {"values": ["f", "m"]}}, classes)
    attributes = [
        normal_of("x", [20.0 * k for k in range(5)], [4 + k / 7 for k in range(5)]),
        table_of("sex", *([(k + 1) / 7, (6 - k) / 7] for k in range(5))),
    ]
    others = tuple(-3 + (place % 5) for place in range(18))
    line = replace(BENT, largest=largest, others=others, evidence=evidence)
    weights = AttributeWeights("calibrated", (0.9,) * 2, (0.0,) * 5, line=line)
    model = replace(model_of(domain, attributes, [0.3, 0.1, 0.4, 0.15, 0.05]), attribute_weights=weights)
    cases = list(product([None, *range(0, 101, 7), 250], ["f", "m", None, "x"]))
    table = pa.table({"x": pa.array([x for x, _ in cases], pa.float64()), "sex": [sex for _, sex in cases]})
    assert compare(engine, model, table, kinds_of(table)) <= CLOSE
    assert model.predict(pl.DataFrame(table))["predicted"].n_unique() > 2


TYPED = {
    "integer": (pa.array([1, 2, 3, -1, None], pa.int16()), True),
    "unsigned": (pa.array([1, 2, 3, 2**64 - 1, None], pa.uint64()), False),
    "float": (pa.array([1.0, 2.0, 2.5, NAN, None, INFINITY, -0.0, 0.0]), False),
    "narrow float": (pa.array([1.0, 2.0, 2.5, NAN, None, INFINITY, -0.0, 1e30], pa.float32()), False),
    "decimal": (pa.array([Decimal("1.50"), Decimal("-0.50"), Decimal("2.00"), None], pa.decimal128(10, 2)), True),
    "boolean": (pa.array([True, False, None]), False),
    "text": (pa.array(["1", "true", "1.50", "it's", "2018-12-31", None]), True),
    "dictionary": (pa.array(["1", "true", "1.50", "it's", None]).dictionary_encode(), True),
    "date": (pa.array([date(2018, 12, 31), date(1, 1, 1), None]), True),
}
VALUES = ["1", "2", "-1", "0", "true", "false", "1.50", "-0.50", "it's", "2018-12-31", "0001-01-01", "x"]


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPED)
def test_categories_of_every_type(engine: Engine, name: str) -> None:
    """Under both declarations of missing values, side by side, each with probabilities of its own."""
    column, _ = TYPED[name]
    body = {"values": VALUES, "missing_values": ["3", "y"]}
    domain = declared({way: {**body, "missing": way} for way in ("drop", "category")})
    tables = []
    for way, shift in (("drop", 7), ("category", 31)):
        size = domain[way].size  # type: ignore[union-attr]
        tables.append(table_of(way, *([(c + k + 1) / 500 for c in range(size)] for k in (0, shift))))
    table = pa.table({"drop": column, "category": column})
    assert compare(engine, model_of(domain, tables, [0.4, 0.6]), table, kinds_of(table)) <= CLOSE


@pytest.mark.parametrize("name", [name for name, (_, alike) in TYPED.items() if alike])
def test_categories_by_their_text_where_the_type_is_unknown(engine: Engine, name: str) -> None:
    column, _ = TYPED[name]
    domain = declared({"x": {"values": VALUES, "missing": "category"}})
    size = domain["x"].size  # type: ignore[union-attr]
    model = model_of(domain, [table_of("x", *([(c + k + 1) / 500 for c in range(size)] for k in (0, 7)))], [0.4, 0.6])
    assert compare(engine, model, pa.table({"x": column}), {}) <= CLOSE


def test_whole_numbers_in_floats_of_unknown_kind_match(engine: Engine) -> None:
    model = model_of(declared({"x": {"values": [7, 8]}}), [table_of("x", [0.5, 0.5], [0.1, 0.9])])
    assert compare(engine, model, pa.table({"x": pa.array([7.0, 8.0, 7.5, None])}), {}) <= CLOSE


@pytest.mark.parametrize("name", ["integer", "unsigned", "narrow float", "decimal", "boolean"])
def test_numbers_of_every_type(engine: Engine, name: str) -> None:
    column, _ = TYPED[name]
    domain = declared(
        {"x": {"lower": 0, "upper": 2, "step": "1/4", "missing_values": [3]}, "y": {"lower": -1, "upper": 3, "step": 1}}
    )
    model = model_of(
        domain,
        [normal_of("x", [0.5, 1.5], [0.5, 0.75]), histogram_of("y", [0, 1, 3, 5], [0.2, 0.3, 0.5], [0.6, 0.3, 0.1])],
    )
    table = pa.table({"x": column, "y": column})
    assert compare(engine, model, table, kinds_of(table)) <= CLOSE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("means", "deviations"),
    [
        ([0.0, 100.0], [0.25, 0.25]),
        ([0.0, 100.0], [100.0, 100.0]),
        ([50.0, 50.0], [0.25, 100.0]),
        ([1e-200, 5e-324], [0.3, 0.3]),
        ([1e-200, 5e-324], [0.3, 100.0]),
    ],
)
@pytest.mark.parametrize("priors", [[1e-300, 1.0], [0.5, 0.5]])
def test_extremes_neither_fail_nor_lose_digits(
    engine: Engine, means: list[float], deviations: list[float], priors: list[float]
) -> None:
    model = model_of(declared({"x": AGE}), [normal_of("x", means, deviations)], priors)
    table = pa.table({"x": pa.array([*NUMBERS, 1e-9, 49.75, 50.25, 99.95])})
    assert compare(engine, model, table, kinds_of(table)) <= CLOSE


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["skip", "category"])
@pytest.mark.parametrize("known", [True, False], ids=["kinds known", "kinds unknown"])
def test_many_cells_are_looked_up(engine: Engine, known: bool, missing: str) -> None:
    """In lists, by their places: values with gaps, in a row, in no order, far apart, and texts; many bins."""
    values = {
        "gaps": list(range(-30, 40, 3)),
        "row": list(range(5, 30)),
        "shuffled": [value * 7 % 23 for value in range(23)],
        "apart": [10**value for value in range(12)],
        "texts": [f"code {value}" for value in range(20)],
    }
    declarations: dict[str, Any] = {name: {"values": each, "missing": missing} for name, each in values.items()}
    domain = declared({**declarations, "binned": AGE})
    tables = []
    for name in values:
        size = domain[name].size  # type: ignore[union-attr]
        tables.append(table_of(name, *([(c * k % 13 + 1) / 300 for c in range(size)] for k in (5, 7))))
    edges = [0, 3, 4, 5, 9, 10, 20, 21, 40, 80, 99, 101]
    shares = ([(k + 1) / 66 for k in range(11)], [(11 - k) / 66 for k in range(11)])
    model = model_of(domain, [*tables, histogram_of("binned", edges, *shares)])
    numbers = [None, -31, -30, -29, 0, 1, 4, 5, 29, 30, 39, 10**11, 10**11 - 1, -(2**63), 2**63 - 1, 3, 6, 100]
    whole = pa.array([*numbers, *range(-40, 110)], pa.int64())
    texts = pa.array([None if value is None else f"code {value}" for value in whole.to_pylist()])
    columns = {name: texts if name == "texts" else whole for name in [*values, "binned"]}
    table = pa.table(columns)
    assert compare(engine, model, table, kinds_of(table) if known else {}) <= CLOSE


def test_bins_that_no_code_reaches(engine: Engine) -> None:
    """Bins of a logarithm may be narrower than the grid."""
    domain = declared({"x": {"lower": 0, "upper": 1000, "step": 1, "transform": "log1p"}})
    edges = [0, 5, 9, 6000, 6575, 6576, 30_000, 65_537]
    model = model_of(domain, [histogram_of("x", edges, [1 / 7] * 7, [(k + 1) / 28 for k in range(7)])])
    table = pa.table({"x": pa.array([None, *range(12), 500, 999, 1000, 2000], pa.int32())})
    assert compare(engine, model, table, kinds_of(table)) <= CLOSE


def test_more_summands_than_expressions_may_nest(light_engine: Engine) -> None:
    """DuckDB and SQLite take no expression deeper than a thousand: the terms of a thousand attributes are one sum."""
    numbers = list(range(1, 1_200))
    query = exp.select(as_column(sum_of(list(map(integer, numbers))), "total"))
    assert light_engine.run(render(query, light_engine.dialect)) == [{"total": sum(numbers)}]


def test_no_rows_give_no_rows(engine: Engine) -> None:
    table = mixed_rows()
    engine.load(table.slice(0, 0))
    assert engine.run(scoring_query(MIXED, engine.dialect, "rows", (), kinds_of(table))) == []


def test_a_view_scores_what_its_table_holds(engine: Engine) -> None:
    if engine.dialect is Dialect.SPARK:
        pytest.skip("Spark makes no lasting view of a table that does not last")
    model = model_of(declared({"x": AGE}), [normal_of("x", [3, 40], [5, 6])])
    table = pa.table({"x": [1.5, None, 70.0], "k": ["a", "b", "c"]})
    for keys in ([], ["k"]):
        engine.load(table)
        expected = engine.run(scoring_query(model, engine.dialect, "rows", keys))
        engine.execute(scoring_query(model, engine.dialect, "rows", keys, view='"odd view"'))
        assert engine.run('SELECT * FROM "odd view"') == expected
        engine.execute('DROP VIEW "odd view"')


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(("type_", "terms"), [(pa.int32(), None), (pa.int32(), "terms"), (pa.string(), "terms")])
def test_spark_compiles_hundreds_of_codes(
    usual_spark: Any, tmp_path: Path, type_: pa.DataType, terms: str | None
) -> None:
    """Spark does without what it cannot compile, and logs that it could not; here it may not."""
    usual_spark.conf.set("spark.sql.codegen.fallback", "false")
    usual_spark.conf.set("spark.sql.codegen.factoryMode", "CODEGEN_ONLY")
    sizes = {"occupation": 529, "birthplace": 224}
    domain = declared({name: {"values": [10 * (value + 1) for value in range(size)]} for name, size in sizes.items()})
    shares = [[[(k + 1) / (size * (size + 1) / 2) for k in range(size)], [1 / size] * size] for size in sizes.values()]
    model = model_of(domain, [table_of(name, *share) for name, share in zip(sizes, shares, strict=True)])
    rows = pa.array([None, *range(0, 6000, 10)], pa.int32()).cast(type_)
    table = numbered(pa.table(dict.fromkeys(sizes, rows)))
    engine = Spark(usual_spark, tmp_path)
    engine.load(table)
    engine.load_terms(model)
    query = scoring_query(model, engine.dialect, "rows", ["id"], kinds_of(table), parameters=terms)
    found = sorted(engine.run(query), key=lambda row: row["id"])
    expected = model.predict(pl.from_arrow(table).lazy()).collect()["probability_no"]  # type: ignore[union-attr]
    assert [row["probability_no"] for row in found] == pytest.approx(expected.to_list(), abs=CLOSE)


@pytest.mark.slow
def test_many_classes(engine: Engine) -> None:
    domain = declared({"x": AGE}, [f"class {index}" for index in range(40)])
    model = model_of(domain, [normal_of("x", [2.5 * k for k in range(40)], [5 + k / 7 for k in range(40)])])
    table = pa.table({"x": pa.array([*range(0, 101, 3), None])})
    assert compare(engine, model, table, kinds_of(table)) <= CLOSE


@pytest.mark.slow
def test_a_thousand_classes_in_duckdb(tmp_path: Path) -> None:
    classes = [f"class {index}" for index in range(1_000)]
    tables = [table_of("x", *([(k % 7 + 1) / 8, (7 - k % 7) / 8] for k in range(1_000)))]
    model = model_of(declared({"x": {"values": [1, 2]}}, classes), tables)
    table = numbered(pa.table({"x": pa.array([1, 2, None], pa.int8())}))
    engine = DuckDB(tmp_path)
    engine.load(table)
    found = engine.run(scoring_query(model, engine.dialect, "rows", ["id"], kinds_of(table)))
    expected = model.predict(pl.DataFrame(table), ["id"]).to_dicts()
    assert [row["predicted"] for row in found] == [row["predicted"] for row in expected]
    for row, other in zip(found, expected, strict=True):
        shares = [other[probability_column(name)] for name in classes]
        assert [row[probability_column(name)] for name in classes] == pytest.approx(shares, abs=CLOSE)


def test_ties_go_to_the_first_class(engine: Engine) -> None:
    model = model_of(declared({"x": {"values": ["a"]}}, ["z", "a", "m"]), [table_of("x", *[[1.0]] * 3)])
    engine.load(pa.table({"x": ["a", None]}))
    assert {row["predicted"] for row in engine.run(scoring_query(model, engine.dialect, "rows"))} == {"z"}


@pytest.mark.parametrize("keys", [[], ["x"]])
def test_a_model_of_the_classes_alone(engine: Engine, keys: list[str]) -> None:
    model = model_of(declared({"x": AGE}), [], [0.25, 0.75])
    engine.load(pa.table({"x": [1, 2, None]}))
    found = engine.run(scoring_query(model, engine.dialect, "rows", keys))
    assert [(row["predicted"], row["skipped"]) for row in found] == [("yes", 0)] * 3
    assert [row["probability_yes"] for row in found] == pytest.approx([0.75] * 3, abs=1e-12)


RESULTS = ["predicted", "probability_no", "probability_yes", "skipped"]


@pytest.mark.parametrize("keys", [[], ["k"], ["x", "k"]])
def test_columns_come_in_the_documented_order(engine: Engine, keys: list[str]) -> None:
    model = model_of(declared({"x": AGE}), [normal_of("x", [3, 4], [5, 6])])
    engine.load(pa.table({"k": ["a", "b"], "x": [1.5, None], "other": [7, 8]}))
    found = engine.run(scoring_query(model, engine.dialect, "rows", keys))
    assert [list(row) for row in found] == [[*(keys or ["k", "x", "other"]), *RESULTS]] * 2
    assert sorted(row["k"] for row in found) == ["a", "b"]
    assert sorted(row["skipped"] for row in found) == [0, 1]


TAKEN = ["total", "largest", "weight_0", "joint_1", "read_0", "VALUE_0", "row", "source", "kept_0", "rows_read"]


@pytest.mark.slow
@pytest.mark.parametrize("name", TAKEN)
def test_a_column_may_be_called_as_a_step_might_be(quick_engine: Engine, name: str) -> None:
    """It comes along as it is, and scores are those of the table without it."""
    check_beside(quick_engine, [name])


def test_columns_may_be_called_as_steps_might_be(engine: Engine) -> None:
    check_beside(engine, TAKEN)


def check_beside(engine: Engine, names: list[str]) -> None:
    """Rows score alike, with columns of these names beside those of the model and without."""
    model = model_of(declared({"x": AGE}), [normal_of("x", [3, 40], [5, 6])])
    table = pa.table({"x": [1.5, None, 70.0]})
    scored = []
    for others in ([], names):
        held = {name: pa.array([7, 8, None]) for name in others}
        engine.load(pa.table({**{name: table[name] for name in table.column_names}, **held}))
        rows = engine.run(scoring_query(model, engine.dialect, "rows"))
        assert [[row[name] for name in others] for row in rows] == [[value] * len(others) for value in (7, 8, None)]
        assert [list(row) for row in rows] == [["x", *others, *RESULTS]] * 3
        scored.append([{name: row[name] for name in ("x", *RESULTS)} for row in rows])
    assert scored[0] == scored[1]


def test_names_of_the_query_are_refused_where_columns_are_known() -> None:
    kinds = {"age": None, "__dpnb_Total": None}
    with pytest.raises(UsageError, match="column '__dpnb_Total' has a name that the query uses; name those to keep"):
        scoring_query(MIXED, Dialect.DUCKDB, "t", kinds=kinds)
    assert scoring_query(MIXED, Dialect.DUCKDB, "t", ["__dpnb_Total"], kinds)


@pytest.mark.xdist_group("postgres")
def test_names_that_postgres_cuts(postgres_connection: Any) -> None:
    """Longer than 63 bytes: read under what is left of them, and refused where two have that in common."""
    long, cut, alike = "a" * 64, "a" * 63, "a" * 63 + "b"
    rows = pa.table({"sex": ["f", "m", None], cut: [10.0, 33.0, 90.0]})
    engine = Postgres(postgres_connection)
    engine.load(rows)
    table = table_of("sex", [0.6, 0.4], [0.35, 0.65])
    model, same = (
        model_of(
            declared({name: AGE, "sex": {"values": ["f", "m"]}}), [normal_of(name, [30, 45.5], [11, 12.25]), table]
        )
        for name in (long, cut)
    )
    query = scoring_query(model, Dialect.POSTGRES, "rows", ["sex"])
    assert engine.run(query) == engine.run(scoring_query(same, Dialect.POSTGRES, "rows", ["sex"]))
    both = model_of(declared({long: AGE, alike: AGE}), [normal_of(name, [30, 45], [11, 12]) for name in (long, alike)])
    with pytest.raises(UsageError, match=r"PostgreSQL cuts names to 63 bytes, so 'a+' and 'a+b' are one there; rename"):
        scoring_query(both, Dialect.POSTGRES)


MEMORY = 3 * 2**30
"""Bytes of address space: ten times what the view needs, and far less than one whose steps are merged."""

PROGRAM = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
import duckdb
with duckdb.connect(config={{"threads": 1}}) as connection:
    connection.execute(f"CREATE TABLE person AS FROM '{{sys.argv[1]}}'")
    connection.execute(open(sys.argv[2], encoding="utf-8").read())
    print(connection.sql('SELECT * FROM scored ORDER BY skipped DESC, "probability_>1000" LIMIT 3').fetchall())
"""


@pytest.mark.slow
def test_ordered_and_limited_view_in_duckdb(census: Path, tmp_path: Path) -> None:
    model = dpnb.train(census, epsilon=1)
    query = model.to_sql("duckdb", table="person").partition("WITH")
    (tmp_path / "view.sql").write_text(f"CREATE VIEW scored AS WITH{query[2]}", encoding="utf-8")
    command = [sys.executable, "-c", PROGRAM, str(census), str(tmp_path / "view.sql")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience(120))
    assert ended.returncode == 0, ended.stderr[-500:]


RELAXED = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
ENGINES = {"duckdb": DuckDB, "sqlite": lambda folder: SQLite()}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
@RELAXED
@given(case=models_and_rows(), known=st.booleans(), whole=st.booleans())
def test_random_models_score_alike(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    case: tuple[Model, list[dict[str, Any]]],
    known: bool,
    whole: bool,
) -> None:
    """Their numbers in columns of floats, or cut down to whole numbers in columns of integers."""
    model, rows, table = _table(*case, whole=whole)
    engine: Engine = ENGINES[name](tmp_path_factory.mktemp("random"))
    allowed = CLOSE + 4 * max(reference(model, row).tolerance for row in rows) + logarithm_error(model)
    assert compare(engine, model, table, kinds_of(table) if known else {}, certain=allowed) <= allowed


def _table(model: Model, rows: list[dict[str, Any]], *, whole: bool) -> tuple[Model, list[dict[str, Any]], pa.Table]:
    """The rows as a table, and as a model reads them from it."""
    names = [attribute.name for attribute in model.domain.attributes]
    assume(len({column.lower() for column in [*names, "id"]}) == len(names) + 1)
    columns = types(model)
    held = [
        {name: row[name] if row[name] is None or _is_number(model, name) else str(row[name]) for name in columns}
        for row in rows
    ]
    frame = pl.DataFrame(held, schema=columns, strict=False)
    if whole:
        frame = frame.with_columns(pl.col(pl.Float64).cast(pl.Int64, strict=False))
        rows = frame.to_dicts()
    return model, rows, frame.to_arrow()


def _is_number(model: Model, name: str) -> bool:
    return not isinstance(model.domain[name], Categorical)


def test_a_class_of_quotes_stays_what_it_is_in_a_table_of_terms(tmp_path: Path) -> None:
    """DuckDB guesses which character quotes a text: a class of two apostrophes was an empty one."""
    label = Label(("Ē▥:", "ĳĞ¼", "''", "0"), "label")
    domain = Domain("test", label, (Categorical("0", ("0", "4", "3")),))
    table = Table("0", ((0.5, 0.25, 0.25), (0.3, 0.3, 0.4), (0.4, 0.4, 0.2), (0.3, 0.3, 0.4)))
    model = model_of(domain, [table])
    rows = pl.DataFrame({"0": ["0", "4", "3", None]}).to_arrow()
    assert compare(DuckDB(tmp_path), model, rows, {}) <= CLOSE


APART = [place * place * 1_000_003 for place in range(200)]
"""Numbers of which no list has a place for each that lies between them."""

COLUMNS = {
    "integer": pa.array([*APART, 1, -1, None, 2**62]),
    "small integer": pa.array([0, 1, 127, -128, None], pa.int8()),
    "unsigned": pa.array([*APART, 1, 2**64 - 1, None], pa.uint64()),
    "float": pa.array([*map(float, APART), 0.5, -0.0, NAN, INFINITY, -INFINITY, None, 1e300]),
    "narrow float": pa.array([0.0, -0.0, 0.5, 1000003.0, NAN, INFINITY, None], pa.float32()),
    "decimal": pa.array([*(Decimal(number) for number in APART), Decimal("0.50"), None], pa.decimal128(20, 2)),
    "text": pa.array([*map(str, APART), "0.5", " 0.50", "1000003.0", "it's", "É", "", "é", "NaN", "1e6", None]),
    "dictionary": pa.array(["0", "-0", "it's", "É", "é", "?", None]).dictionary_encode(),
}


@pytest.mark.parametrize("missing", ["drop", "category"])
@pytest.mark.parametrize("name", COLUMNS)
def test_many_categories_far_apart(tmp_path: Path, name: str, missing: str) -> None:
    values = [*map(str, APART), "0.5", "it's", "É"]
    apart = {"values": values, "missing": missing, "missing_values": ["1"]}
    grouped = {"values": ["few", "it's", "many"], "groups": {"few": ["0-9"], "many": values[5:-2]}, "missing": missing}
    domain = declared({"x": apart, "y": grouped})
    tables = [
        table_of(each.name, *([(c * k % 7 + 1) / 900 for c in range(each.size)] for k in (2, 3)))
        for each in domain.categorical
    ]
    model = model_of(domain, tables, [0.4, 0.6])
    table = pa.table({"x": COLUMNS[name], "y": COLUMNS[name]})
    assert compare(DuckDB(tmp_path), model, table, kinds_of(table)) <= CLOSE
    if name not in ("narrow float", "decimal", "float"):  # of these an unknown kind is another text
        assert compare(DuckDB(tmp_path), model, table, {}) <= CLOSE


@pytest.mark.parametrize("missing", ["drop", "category"])
def test_as_many_texts_as_a_byte_numbers(tmp_path: Path, missing: str) -> None:
    texts = [f"t{place}" for place in range(255)]
    domain = declared(
        {
            "x": {"values": texts, "missing": missing},
            "y": {"values": ["few", "many"], "groups": {"few": texts[1:9], "many": [texts[0], *texts[9:]]}},
        }
    )
    tables = [
        table_of(each.name, *([(c * k % 7 + 1) / 900 for c in range(each.size)] for k in (2, 3)))
        for each in domain.categorical
    ]
    column = pa.array([*texts, "another", None])
    model, table = model_of(domain, tables), pa.table({"x": column, "y": column})
    assert compare(DuckDB(tmp_path), model, table, {}) <= CLOSE
