"""Databases count odd rows, numbers by value and weights as the local engine does, integer for integer."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.aggregation_cases import CONDITIONS, LABEL, TEN_ROWS, declared, held, labelled
from support.counted_queries import check, statistics_of
from support.engines import DuckDB, Engine, Postgres, SQLite
from support.people import PEOPLE, people, people_domain
from support.rows_in_python import INFINITY, NAN, Document
from support.running import Run
from support.servers import PostgresServer
from support.weights import RULES, WEIGHTS

from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.counting import local
from dpnb_columnar.dialects.nodes import Kinds
from dpnb_columnar.dialects.statistics_query import statistics_query
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.catalogue import entry_toml
from dpnb_columnar.domain.column_kinds import Kind, kinds_of
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.domain.names import identity, spelled_number
from dpnb_columnar.rows.parquet import open_parquet

TENTHS = {"lower": 0, "upper": 9, "step": 1}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_conditions_of_conditions(engine: Engine, tmp_path: Path, part: int) -> None:
    condition = " OR ".join(f"({first} AND NOT ({second}))" for first, second in pairwise(CONDITIONS[part::4]))
    label = {"condition": condition, "classes": ["no", "yes"], "missing_values": ["99", "NIU"]}
    check(engine, tmp_path, TEN_ROWS, declared({"label": label, "attributes": {"x": TENTHS}}))


@pytest.mark.slow
def test_the_longest_conditions(light_engine: Engine) -> None:
    """A list of constants as long as a condition may be counts as the same list without repetitions."""
    light_engine.load(TEN_ROWS)
    counts = []
    for constants in (["1"] * 1500 + ["3"], ["1", "3"]):
        label = {"condition": f"x IN ({','.join(constants)})", "classes": ["no", "yes"]}
        domain = declared({"label": label, "attributes": {"hours": TENTHS}})
        rows = light_engine.run(statistics_query(domain, {}, "rows", light_engine.dialect))
        counts.append({(row["attribute"], row["class"], row["code"], row["count"]) for row in rows})
    assert counts[0] == counts[1] != set()


GRIDS = [
    ("0", "100", "0.1"),
    ("-0.3", "99.7", "0.1"),
    ("0", "30", "1/3"),
    ("6646019912052364/3", "6646019912052368/3", "1/3"),  # floats are so far apart that the last code is 5 of 4
    ("30186166659543923/10", "30186166659544007/10", "7/10"),  # and 11 of 12
]


@pytest.mark.slow
def test_values_half_way_between_grid_points(engine: Engine, tmp_path: Path) -> None:
    attributes, columns = {}, {}
    for number, (lower, upper, step) in enumerate(GRIDS):
        low, width = float(Fraction(lower)), float(Fraction(step))
        points = [(position + 0.5) * width + low for position in range(300)]
        points += [low + position * width + width / 2 for position in range(300)]
        points += [math.nextafter(point, side) for point in points[:300] for side in (-INFINITY, INFINITY)]
        points += [low + (round(position * 0.05, 2)) for position in range(300)]
        attributes[f"x{number}"] = {"lower": lower, "upper": upper, "step": step}
        columns[f"x{number}"] = pa.array(points)
    check(engine, tmp_path, labelled(**columns), declared({"label": LABEL, "attributes": attributes}))


UNKNOWN: Kinds = {}


def test_kinds_that_are_not_known(engine: Engine, tmp_path: Path) -> None:
    """Whole numbers match as whole numbers and as floats, everything else by its text."""
    table = labelled(
        number=pa.array([1.5, None, NAN, 3.0, 250.0, 7.0]),
        whole=pa.array([1, 2, 3, None, 7, 7], pa.int32()),
        float=pa.array([1.0, 7.0, None, 2.5, 7.0, 7.0]),
        text=pa.array(["a", "b", None, "x", "a", "a"]),
    )
    attributes = {
        "number": {"lower": 0, "upper": 5, "step": "1/2", "missing_values": [7]},
        "whole": {"values": [1, 2, 7], "missing": "category"},
        "float": {"values": [7, 1], "missing": "category"},
        "text": {"values": ["a", "b"], "missing": "category"},
    }
    for names in (["number"], ["whole"], ["float"], ["text"], list(attributes)):
        domain = declared({"label": LABEL, "attributes": {name: attributes[name] for name in names}})
        check(engine, tmp_path, table, domain, UNKNOWN)
    label = {"condition": "float = '7' OR float <> '1' AND NOT whole > 2", "classes": ["no", "yes"]}
    check(engine, tmp_path, table, declared({"label": label, "attributes": {"text": attributes["text"]}}), UNKNOWN)


ODD_NAMES = [
    *("it's", "\\", "`", "a`b", "x; DROP TABLE rows; --", "*/", "class", "code", "count", "domain", "read", "value_0"),
    *("code_1", "source", "coded", "select", "日本 é😀", "%s{0}", "$1", "a b", "UPPER", "[x]", ":x", "?", 'a"b', '"'),
    *("@column", "@fits @@", "$files", "${class}", "-- name: cells", "/* x", "attribute_0", "labelled", "cell", "rows"),
    *("constant_0", "read_parquet", "filename", "file_row_number", "rowid", "*", "^.*$", "^x", "a.b", " ", "NaN"),
]


def test_odd_names_and_values(engine: Engine, tmp_path: Path) -> None:
    check_names(engine, tmp_path, ODD_NAMES[:8])


def test_more_odd_names_and_values(quick_engine: Engine, tmp_path: Path) -> None:
    check_names(quick_engine, tmp_path, ODD_NAMES)


def check_names(engine: Engine, folder: Path, names: list[str]) -> None:
    """Each name as a column, a category of every column, a missing value, a class, and in a condition."""
    columns = {name: [*names[position:], *names[:position]] for position, name in enumerate(names)}
    table = pa.table({**columns, "other": [3] * len(names), "y": names})
    bodies: dict[str, Any] = {name: {"values": names[1:], "missing": "category"} for name in names[:3]}
    bodies |= {name: {"values": names[::2], "missing_values": names[1::2]} for name in names[3:]}
    label = {"column": "y", "classes": names[::2], "missing_values": names[1::2]}
    found = check(engine, folder, table, declared({"label": label, "attributes": {**bodies, "other": TENTHS}}))
    assert found.class_counts.sum() > 0
    text = names[0].replace("'", "''")
    tests = ['"' + name.replace('"', '""') + f"\" = '{text}'" for name in names[1:]]
    label = {"condition": " OR ".join(tests), "classes": ["no", "yes"]}
    check(engine, folder, table, declared({"label": label, "attributes": {"other": TENTHS}}))


def test_categories_merged_by_a_public_map(engine: Engine, tmp_path: Path) -> None:
    """Groups of attributes and of classes, whole numbers by range, with the kinds of the columns and without."""
    table = pa.table(
        {
            "age": pa.array([1, 17, 18, 65, 99, 100, None, 5], pa.int32()),
            "job": pa.array(["clerk", "typist", "smith", "?", None, "x", "smith", "clerk"]),
            "y": pa.array([1, 2, 3, 4, 1, 2, 3, 9], pa.int32()),
        }
    )
    attributes = {
        "age": {"values": ["young", "old"], "groups": {"young": ["0-17"], "old": ["18-99"]}, "missing": "category"},
        "job": {"values": ["office", "smith"], "groups": {"office": ["clerk", "typist"]}, "missing_values": ["?"]},
    }
    label = {"column": "y", "classes": ["few", "many"], "groups": {"few": [1, 2], "many": ["3-5"]}}
    domain = declared({"label": label, "attributes": attributes})
    counts = check(engine, tmp_path, table, domain)
    assert counts.class_counts.tolist() == [4, 3]
    assert counts.lacking() == {"age": 2, "job": 3}
    check(engine, tmp_path, table, domain, UNKNOWN)


TEXTS = [
    *("7", " 7 ", "-3.5", "007", ".5", "+2", "5.", "abc", "", " ", "7abc", "1-2", "--1", "1e", "5 6", None, "1e2"),
    *(" +2.5E-1 ", "1.e+001", "1e-99", "True", "FALSE", "inf", "-Infinity"),
]
READ = [7, 7, -3.5, 7, 0.5, 2, 5, 100, 0.25, 10, 0, 1, 0, INFINITY, -INFINITY]
"""What the first and the last of them spell; the others are no numbers."""


FAULTS = [
    *("1e999", "1e100", "1e0100", "1e", "e1", "1e+", "1e1.5", "1e1e1", "tRue", "infinity", " True"),
    *("9" * 400, "0x1p", "\u0661", "7;", "a\nb"),
]


def test_texts_that_are_no_numbers_are_missing(engine: Engine, tmp_path: Path) -> None:
    """Whether the query succeeds tells nothing about a row: none of them makes it fail."""
    bounds = {"lower": -10, "upper": 200, "step": "1/4"}
    label = {"condition": "y > 1", "classes": ["no", "yes"]}
    domain = declared({"label": label, "attributes": {"x": bounds}})
    texts = pa.array([*TEXTS, *FAULTS], pa.string())
    engine.load(pa.table({"x": texts, "y": texts}))
    found = statistics_of(domain, engine.run(statistics_query(domain, {}, "rows", engine.dialect)))
    numbers = pa.array(READ, pa.float64())
    file = tmp_path / "numbers.parquet"
    pq.write_table(pa.table({"x": numbers, "y": numbers}), file)
    assert found == local.answer(open_parquet([file], domain), CellQuery(domain))


def test_numbers_of_unknown_kind_are_read_whatever_their_size(engine: Engine, tmp_path: Path) -> None:
    numbers = pa.array([1.7e308, -1.7e308, 5e-324, 2.0**60, None, NAN, INFINITY, 0.1])
    domain = declared({"label": LABEL, "attributes": {"x": {"lower": -1, "upper": 1, "step": "1/4"}}})
    assert check(engine, tmp_path, labelled(x=numbers), domain, {}).lacking() == {"x": 2}


CENSUS = {
    "age": {"lower": 0, "upper": 90, "step": 1, "missing_values": [999]},
    "hours": {"lower": 1, "upper": 99, "step": 7},
    "sex": {"values": [1, 2], "missing": "category"},
    "job": {"values": ["1", "clerk", "Clerk"], "missing": "category"},
    "owner": {"values": [True, False], "missing": "category"},
    "rate": {"values": [0, "0.5"], "missing": "category"},
}
"""Whole numbers, texts and truth values, whose values are counted, and floats, whose codes are."""

PERSONS = pa.table(
    {
        "age": pa.array([0, -5, -(2**31), 2**31 - 1, 998, 999, 1000, None, 90, 91, 45, 45] * 5, pa.int32()),
        "hours": pa.array([1, 0, 2, 99, 100, None, 50, 50, 4, 5, 8, 2**62] * 5, pa.int64()),
        "sex": pa.array([1, 2, 3, 0, None, 1, 2, 2, -1, 2**15 - 1, 1, 1] * 5, pa.int16()),
        "job": ["clerk", "Clerk", "CLERK", "1", " 1.0 ", "01", "1 ", "", None, "clerk ", "smith", "1e0"] * 5,
        "owner": [True, False, None, True, True, False] * 10,
        "rate": pa.array([0.0, -0.0, 0.5, NAN, None, INFINITY, -INFINITY, 0.25, 0.5, 0.5] * 6),
        "weight": pa.array([0.25, 1.0, 7.0, -1.0, NAN, None] * 10),
        "y": ["a", "b", "c", None, "d"] * 12,
    }
)


@pytest.mark.parametrize("classes", [2, 3, 9])
def test_values_that_are_counted_before_the_rule(quick_engine: Engine, tmp_path: Path, classes: int) -> None:
    """Whatever form the query has for so many classes; with weights, and where a missing value drops the row."""
    label = {"column": "y", "classes": [*"abcdefghi"[:classes]]}
    check(quick_engine, tmp_path, PERSONS, declared({"label": label, "attributes": CENSUS}))
    dropping = {name: {**body, "missing": "row"} for name, body in CENSUS.items() if name in ("age", "job")}
    weight = {"column": "weight", "cap": 5, "step": "1/4"}
    document = {"label": label, "attributes": CENSUS | dropping, "weight": weight}
    assert check(quick_engine, tmp_path, PERSONS, declared(document)).class_counts.sum() > 0


@pytest.mark.xdist_group("postgres")
def test_postgres_sorts_no_rows(postgres_connection: Any) -> None:
    """Every set of groups is counted in memory, whatever PostgreSQL guesses of the number of groups."""
    engine = Postgres(postgres_connection)
    engine.load(pa.concat_tables([PERSONS] * 2000))
    kinds = kinds_of(pl.DataFrame(PERSONS).schema)
    domain = declared({"label": LABEL | {"classes": ["a", "b"]}, "attributes": CENSUS})
    query = statistics_query(domain, kinds, "rows", engine.dialect)
    engine.execute("CREATE TEMPORARY TABLE plans (line text)")
    engine.execute(EXPLAINED.format(query=query.replace("'", "''")))
    plan = [row["line"] for row in engine.run("SELECT line FROM plans")]
    assert sum("Hash Key:" in line for line in plan) >= len(CENSUS)
    assert not any("Sort Key: coded" in line for line in plan)


EXPLAINED = """
DO $explained$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN {query}' LOOP INSERT INTO plans VALUES (line); END LOOP;
END $explained$
"""


@pytest.mark.xdist_group("postgres")
def test_postgres_counts_texts_by_their_characters(postgres_connection: Any, tmp_path: Path) -> None:
    """A column's collation may take others for equal, and has no regular expressions then."""
    engine = Postgres(postgres_connection)
    engine.load(PERSONS)
    try:
        engine.execute("CREATE COLLATION careless (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
    except engine.connection.Error:
        pytest.skip("this PostgreSQL has no ICU")
    engine.execute("ALTER TABLE rows ALTER COLUMN job TYPE text COLLATE careless")
    domain = declared({"label": {"column": "y", "classes": ["a", "b"]}, "attributes": {"job": CENSUS["job"]}})
    file = tmp_path / "rows.parquet"
    pq.write_table(PERSONS, file)
    source = open_parquet([file], domain)
    found = statistics_of(domain, engine.run(statistics_query(domain, source.kinds, "rows", engine.dialect)))
    assert found == local.answer(source, CellQuery(domain))


NUMBERS = ["1", "001", "1.0", "01.", "+1", " 1 ", "2", "-2", "-02.0", "0", "-0", "0.5", ".5", "00.50", "-.5", "99"]
WORDS = [
    *("AB", "1E2", "1e2", "5e-1", "1e100", "e1", "1 2", "", " ", "-", ".", "+.", "1_0", "0x1", "nan", "inf", "-Inf"),
    *("True", "FALSE", "true", "1,5", "--1", "\u0661", "1-", "7\n"),
]
HUGE = ["9" * 16, "9007199254740991", "9007199254740993", "1" * 64, "1" * 65, "0" * 62 + "1", "0" * 70 + "1"]
COLUMNS: dict[str, pa.Array] = {
    "text": pa.array([*NUMBERS, *WORDS, *HUGE, None]),
    "odd text": pa.array(["é", "e\u0301", "'", '"', "\\", "''; DROP TABLE rows; --", "${x}", "7", " ", None]),
    "integers": pa.array([1, 2, -2, 0, 99, None, 2**53 - 1, 2**53, 2**62, -(2**63)]),
    "unsigned": pa.array([2**53 - 1, 2**53, 2**64 - 1, 99, 1, None], pa.uint64()),
    "floats": pa.array([1.0, 0.5, -0.5, -2.0, 0.0, -0.0, 0.1, 99.0, NAN, INFINITY, -INFINITY, None, 1e300, 5e-324]),
    "narrow floats": pa.array([0.1, 0.5, -0.0, 1.0, 1e30, NAN, INFINITY, -INFINITY, None], pa.float32()),
    "decimals": pa.array([Decimal("1.00"), Decimal("0.50"), Decimal("-0.50"), Decimal("99.00"), None]),
    "booleans": pa.array([True, False, None, True]),
    "dates": pa.array([date(2018, 12, 31), date(1, 1, 1), date(9999, 12, 31), None]),
}
VALUES = [
    *("001", "0.5", "-2.0", "0", "-.50", "9007199254740991", "9007199254740993", "AB", "1E2", "", "True", "false"),
    *("é", "'", '"', "\\", "''; DROP TABLE rows; --", "${x}", " ", "2018-12-31", "0001-01-01"),
]
BOUNDS: dict[str, dict[str, Any]] = {
    "halves": {"lower": -3, "upper": 5, "step": "1/2", "missing": "row", "missing_values": [99]},
    "sevenths": {"lower": 0, "upper": "7.7", "step": "0.7", "missing_values": [3, -1, "0.25"]},
    "wide": {"lower": -(2**60), "upper": 2**60, "step": 2**30},
    "log1p": {"lower": 0, "upper": 8, "transform": "log1p", "missing_values": [0]},
}


def of(**attributes: Document) -> Domain:
    return declared({"label": LABEL, "attributes": attributes})


@pytest.mark.parametrize("name", COLUMNS)
def test_categories_in_every_type(engine: Engine, tmp_path: Path, name: str) -> None:
    column = COLUMNS[name]
    for missing in ("row", "category", "skip"):
        body = {"values": held(VALUES, column.type), "missing": missing, "missing_values": ["99", "NIU"]}
        check(engine, tmp_path, labelled(x=column), of(x=body))


@pytest.mark.slow
@pytest.mark.parametrize("name", COLUMNS)
def test_labels_and_conditions_in_every_type(engine: Engine, tmp_path: Path, name: str) -> None:
    column = COLUMNS[name]
    table = pa.table({"y": column, "x": pa.array(range(len(column)), pa.int16())})
    places = {"x": {"lower": 0, "upper": 50, "step": 1, "missing": "row"}}
    label: Document = {"column": "y", "classes": held(VALUES, column.type), "missing_values": ["99"]}
    check(engine, tmp_path, table, declared({"label": label, "attributes": places}))
    for condition in ("y = '01'", "y <> '1.0'", "y > 0.25 OR y = '-2'", "NOT y IN (1, 99)"):
        if name in ("text", "integers", "floats", "decimals"):
            label = {"condition": condition, "classes": ["no", "yes"], "missing_values": ["0", "99"]}
            check(engine, tmp_path, table, declared({"label": label, "attributes": places}))


@pytest.mark.parametrize("name", [name for name in COLUMNS if name not in ("odd text", "dates")])
def test_numbers_of_every_type(engine: Engine, tmp_path: Path, name: str) -> None:
    """With a missing value that drops the row, and in rows that all count."""
    for names in (["halves"], ["sevenths", "wide", "log1p"]):
        check(engine, tmp_path, labelled(**dict.fromkeys(names, COLUMNS[name])), of(**{n: BOUNDS[n] for n in names}))


def test_columns_of_unknown_kind(engine: Engine, tmp_path: Path) -> None:
    """As text, and as a number where it is one."""
    for name in ("text", "integers"):
        body = {"values": ["001", "-2.0", "0", "9007199254740991"], "missing": "row"}
        check(engine, tmp_path, labelled(x=COLUMNS[name]), of(x=body), {})
        bounds = {"lower": -3, "upper": 5, "step": "1/2", "missing": "row"}
        check(engine, tmp_path, labelled(x=COLUMNS[name]), of(x=bounds), {})


ANY_TEXTS = st.one_of(
    st.from_regex(r" {0,2}[-+]?0{0,3}[0-9]{0,2}(\.[0-9]{0,3})? {0,2}", fullmatch=True),
    st.sampled_from([*NUMBERS, *WORDS, *HUGE]),
    st.text(st.sampled_from("0123456789.+-eE _"), max_size=8),
    st.floats(-1e20, 1e20).map(repr),
    st.sampled_from(["True", "TRUE", "false", "inf", "-Infinity", "1e+05", "1E-5", "1e0099"]),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.none() | ANY_TEXTS, min_size=1, max_size=40),
    st.sets(ANY_TEXTS.filter(str.isprintable), min_size=1, max_size=6),
)
def test_any_texts(tmp_path_factory: pytest.TempPathFactory, texts: list[Any], values: set[str]) -> None:
    folder = tmp_path_factory.mktemp("texts")
    one_each = {identity(value): value for value in values}
    body = {"values": sorted(one_each.values()), "missing": "category"}
    bounds = {"lower": -10, "upper": 10, "step": "1/4", "missing": "row"}
    table = labelled(x=pa.array(texts, pa.string()), z=pa.array(texts, pa.string()))
    for engine in (DuckDB(folder), SQLite()):
        check(engine, folder, table, of(x=body, z=bounds))


@pytest.mark.slow
@given(ANY_TEXTS)
def test_what_a_text_spells(text: str) -> None:
    """A text that Python reads as a finite number without underscore, and no other."""
    try:
        number = None if len(text) > 64 or set("_\n\u0661") & set(text) else float(text)
        number = None if "e" in text.lower() and abs(int(text.lower().partition("e")[2])) > 99 else number
    except ValueError:
        number = None
    assert spelled_number(text) == (None if number in (None, INFINITY, -INFINITY) or number != number else number)


ROWS = max(map(len, WEIGHTS))


@pytest.mark.slow
@pytest.mark.parametrize("unit", [None, {"column": "u", "rows": 1}], ids=["rows", "units"])
def test_weights_of_every_type(engine: Engine, tmp_path: Path, unit: dict[str, object] | None) -> None:
    rows = people(ROWS).with_columns(u=pl.Series(range(ROWS)) // 2)
    for place, weights in enumerate(WEIGHTS):
        column = pl.concat([weights, weights.clear(ROWS - len(weights))])
        table = rows.with_columns(column.alias("w")).to_arrow()
        rule = {"column": "w", **RULES[place % len(RULES)]}
        domain = people_domain({**PEOPLE, "weight": rule, **({} if unit is None else {"unit": unit})})
        counted = check(engine, tmp_path, table, domain)
        if engine.dialect != "postgres":  # which casts no boolean to a number unless it knows the column
            assert check(engine, tmp_path, table, domain, {}) == counted, f"{weights.dtype}, columns not known"


def test_the_largest_weights_add_up(engine: Engine, tmp_path: Path) -> None:
    """Sums are whole numbers of 64 bits in every database, whatever type its own sums have."""
    table = people(900).with_columns(w=pl.lit(2**20 - 1)).to_arrow()
    domain = people_domain({**PEOPLE, "weight": {"column": "w", "cap": 2**20}})
    counted = check(engine, tmp_path, table, domain)
    assert counted.weight_sums.sum() == counted.class_counts.sum() * (2**20 - 1)


# Were a query to fail at a number that no 64-bit float holds, a single row would decide whether there is a model, and
# the exit code would tell.
BEYOND = ("1e400", "-1e400", "1e-400", "-1e-400", "NaN", "2.5", "-2.5", "1e308", "5e-324", "-5e-324", "0", "3")
DECLARED = {
    "label": {"column": "income", "classes": ["low", "high"]},
    "attributes": {
        "amount": {"lower": "-3", "upper": "3", "step": "0.5"},
        "code": {"values": ["0", "3", "2.5"], "missing": "category"},
    },
    "weight": {"column": "w", "cap": 5, "step": "0.5", "missing": 2},
}


def write_numbers(server: PostgresServer) -> pl.DataFrame:
    """Make a table of each number in three columns; return its rows as floats."""
    from adbc_driver_postgresql import dbapi

    labels = people(len(BEYOND))["income"].replace({None: "low"}).to_list()
    rows = ", ".join(f"('{label}', '{n}', '{n}', '{n}')" for label, n in zip(labels, BEYOND, strict=True))
    with dbapi.connect(server.uri, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS beyond")
        cursor.execute("CREATE TABLE beyond (income text, amount numeric, code numeric, w numeric)")
        cursor.execute(f"INSERT INTO beyond VALUES {rows}")
    numbers = pl.Series([float(number) for number in BEYOND])
    return pl.DataFrame({"income": labels, "amount": numbers, "code": numbers, "w": numbers})


@pytest.mark.slow
@pytest.mark.xdist_group("postgres")
def test_numbers_that_no_float_holds_count_as_the_nearest_floats(postgres: PostgresServer) -> None:
    from adbc_driver_postgresql import dbapi

    domain = read_domain("beyond", DECLARED, "test")
    expected = local.answer(write_numbers(postgres), CellQuery(domain))
    known = {"income": Kind.TEXT, "amount": Kind.FLOAT, "code": Kind.FLOAT, "w": Kind.FLOAT}
    with dbapi.connect(postgres.uri, autocommit=True) as connection:
        for kinds in (known, {}):
            query = statistics_query(domain, kinds, "beyond", Postgres.dialect)
            assert statistics_of(domain, Postgres(connection).run(query)) == expected, query


@pytest.mark.slow
@pytest.mark.xdist_group("postgres")
def test_no_row_decides_the_exit_code_of_a_training(postgres: PostgresServer, folder: Path, run: Run) -> None:
    write_numbers(postgres)
    Path("datasets.toml").write_text(entry_toml(read_domain("beyond", DECLARED, "test")))
    run("train", postgres.uri, "--table", "beyond", "--dataset", "beyond", "--epsilon", 1, "--output", "model.json")
    run("evaluate", "model.json", postgres.uri, "--table", "beyond")
