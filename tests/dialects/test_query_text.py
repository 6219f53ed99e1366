"""The text of queries in all six dialects: whatever names and values hold, it says what the tree says."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp
from support.golden_queries import golden_queries
from support.model_cases import declared, histogram_of, model_of, table_of
from support.scored_rows import AGE, MIXED

from dpnb_columnar.api.model import Model
from dpnb_columnar.core.queries.scores import GradientQuery, Margins, ScoreTable
from dpnb_columnar.dialects.rendering import (
    CATALOGUE,
    LARGE_EXPONENT,
    NAMED_TYPES,
    NUMBER_TYPES,
    OTHER_CHARACTERS,
    SHORT,
    SPARK_PATTERN,
    parse_table,
    select_columns,
)
from dpnb_columnar.dialects.scoring_query import scoring_query, table_rows, table_statements
from dpnb_columnar.dialects.statistics_query import query_sql, statistics_query
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declared_domain import digest
from dpnb_columnar.domain.names import NUMBER_WORDS, SPELLED_NUMBER
from dpnb_columnar.errors import UsageError
from dpnb_columnar.rows.row_rules import number_of_codes
from dpnb_columnar.rows.sources import Dialect

HOSTILE = [
    *("it's", '"', "`", "\\", "a\\", "\\'", "\\`", "'; DROP TABLE x; --", '"; DROP TABLE x; --'),
    *("`; DROP TABLE x; --", "*/ SELECT 1 /*", "-- x", "${env:HOME}", "{{ x }}", "\\n", "\\u0027", "%s", ":x", "?"),
    *("$$", "''", "日本 é😀", " "),
]


def statements(text: str, dialect: Dialect) -> list[exp.Expr | None]:
    return sqlglot.parse(text, read=dialect.value)


def read_back(text: str, dialect: Dialect) -> exp.Expr:
    """The one statement that a text is, which written again is the same text but for its comments."""
    (tree,) = statements(text, dialect)
    again = tree.sql(dialect=dialect.value, pretty=True, comments=False)
    code = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("--"))
    assert " ".join(again.split()) == " ".join(code.split())
    return tree


def texts_in(tree: exp.Expr) -> set[str]:
    return {literal.name for literal in tree.find_all(exp.Literal) if literal.is_string}


def names_in(tree: exp.Expr) -> set[str]:
    return {identifier.name for identifier in tree.find_all(exp.Identifier)}


def only_quoted(tree: exp.Expr) -> bool:
    """Whether every name is quoted, but for the schema and the types of PostgreSQL's catalogue."""
    return {each.name for each in tree.find_all(exp.Identifier) if not each.quoted} <= {CATALOGUE, *NAMED_TYPES}


def hostile_model(name: str) -> Model:
    domain = declared({name: {"values": [name, "x"], "missing_values": [name + "y"]}, "n": AGE}, [name + "0", "other"])
    table = table_of(name, [0.5, 0.5], [0.1, 0.9])
    return model_of(replace(domain, name=name), [table, histogram_of("n", [0, 50, 101], [0.5, 0.5], [0.3, 0.7])])


@pytest.mark.slow
@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("name", HOSTILE)
def test_names_and_values_stay_names_and_values(name: str, dialect: Dialect) -> None:
    model = hostile_model(name)
    scoring = read_back(scoring_query(model, dialect, None, [name + "k"]), dialect)
    assert {name, name + "k", f"probability_{name}0"} <= names_in(scoring)
    assert scoring.find_all(exp.Table)
    counting = read_back(statistics_query(model.domain, {}, None, dialect), dialect)
    assert name in names_in(counting)
    assert only_quoted(counting)
    if dialect is Dialect.SPARK and "${" in name:
        return  # written as a sum of two texts, which Spark puts no variable into
    assert {name, "x", name + "0", "other"} <= texts_in(scoring) | texts_in(counting)
    assert {text for text in texts_in(counting) if len(text) > 3} <= _expected(name, model.domain)


def scores_of(domain: Domain) -> Margins:
    """A margin that every attribute moves, of as many steps as there can be."""
    tables = []
    for attribute in domain.attributes:
        codes = number_of_codes(attribute)
        starts = tuple(range(0, codes, -(-codes // 4096)))
        tables.append(ScoreTable(attribute.name, starts, tuple(start * 7919 % 4001 - 2000 for start in starts)))
    return Margins(domain, (tuple(tables),), (0, 0), 0, (-3000, 0, 3000))


def gradient_of(domain: Domain) -> GradientQuery:
    """The gradient of a weight for each of these scores."""
    (tables,) = scores_of(domain).tables
    return GradientQuery(domain, tables, (256,) * len(tables), -500, 4096)


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize(
    "name",
    ["it's", *(pytest.param(name, marks=pytest.mark.slow) for name in ("x; DROP TABLE rows; --", "class", 'a"b`c'))],
)
def test_second_passes_name_what_the_first_one_names(name: str, dialect: Dialect) -> None:
    domain = hostile_model(name).domain
    for query in (query_sql(scores_of(domain), {}, None, dialect), query_sql(gradient_of(domain), {}, None, dialect)):
        tree = read_back(query, dialect)
        assert name in names_in(tree)
        assert only_quoted(tree)
        known = _expected(name, domain) | {scores_of(domain).digest, gradient_of(domain).digest}
        others = {text for text in texts_in(tree) - known if len(text) > 3}
        assert all(re.fullmatch(r"[-0-9.,{}\[\] ]+", text) for text in others), others


def _expected(name: str, domain: Domain) -> set[str]:
    """The long texts of a counting query."""
    types = {type_ for types in NUMBER_TYPES.values() for type_ in types}
    numbers = {
        "100.0",
        "0.25",
        *(sign + bound for sign in ("", "-") for bound in ("1.7976931348623158e308", "5e-324")),
        *NUMBER_WORDS,
        SPELLED_NUMBER,
        SPARK_PATTERN,
        OTHER_CHARACTERS,
        LARGE_EXPONENT,
        SHORT,
        *types,
    }
    return {name, name + "0", name + "y", "other", digest(domain), *numbers}


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize(
    "name",
    [
        "it's",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("\\'; DROP TABLE x; --", "*/ SELECT 1 /*", "a${env:HOME}b", "日本 é😀", "")
        ),
    ],
)
def test_a_table_of_terms_holds_what_names_are(name: str, dialect: Dialect) -> None:
    model = hostile_model(name or " ")
    joined = read_back(scoring_query(model, dialect, None, ["k"], parameters="s.terms"), dialect)
    assert "s.terms" in {table.sql() for table in joined.find_all(exp.Table)}
    create, *inserts = table_statements(model, "s.terms", dialect)
    assert isinstance(read_back(create, dialect), exp.Create)
    trees = [tree for insert in inserts for tree in statements(insert, dialect)]
    assert len(trees) == len(inserts)
    listed = [row for tree in trees if isinstance(tree, exp.Insert) for row in tree.expression.expressions]
    assert len(listed) == len(list(table_rows(model)))
    if dialect is not Dialect.SPARK or "${" not in name:
        found = [[cell.name for cell in row.expressions[1:3]] for row in listed]
        assert found == [[row[1], row[2]] for row in table_rows(model)]


@pytest.mark.slow
@pytest.mark.parametrize("dialect", Dialect)
def test_hundreds_of_codes_leave_a_joined_query_small(dialect: Dialect) -> None:
    sizes = {"occupation": 529, "birthplace": 224, "education": 24, "sex": 2, "race": 9}
    domain = declared({name: {"values": list(range(size))} for name, size in sizes.items()})
    rising = {name: [2 * (code + 1) / size / (size + 1) for code in range(size)] for name, size in sizes.items()}
    model = model_of(domain, [table_of(name, shares, shares[::-1]) for name, shares in rising.items()])
    assert len(scoring_query(model, dialect, "t", ["k"], parameters="terms")) < 20_000
    assert len(scoring_query(model, dialect, "t", ["k"], parameters="terms")) < 0.3 * len(
        scoring_query(model, dialect, "t", ["k"])
    )


def test_rows_and_terms_are_two_tables() -> None:
    with pytest.raises(UsageError, match="'t': cannot be that of the rows and that of the model's terms"):
        scoring_query(MIXED, Dialect.DUCKDB, "t", ["k"], parameters="t")


@pytest.mark.parametrize("dialect", Dialect)
def test_spark_finds_no_variable_in_a_text(dialect: Dialect) -> None:
    text = statistics_query(hostile_model("a${env:HOME}b").domain, {}, "t", dialect)
    code = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("--"))
    assert ("'a${env" in code) is (dialect is not Dialect.SPARK)


@pytest.mark.parametrize("dialect", Dialect)
def test_a_comment_is_not_ended_by_a_name(dialect: Dialect) -> None:
    """Declarations from files hold no line break; a domain made in Python might."""
    domain = replace(hostile_model("z").domain, name="a\nSELECT 1;\r*/\u2028DROP TABLE x; --\x85x\x0by")
    text = statistics_query(domain, {}, "t", dialect)
    head = text.partition("WITH")[0]
    assert all(line.startswith("-- ") for line in head.splitlines())
    assert "CONFIDENTIAL" in head
    assert digest(domain) in head
    assert "dpnb-columnar release RESULT.csv" in head
    assert len(statements(text, dialect)) == 1
    model = replace(hostile_model("z"), domain=domain)
    assert len(statements(scoring_query(model, dialect, "t", ["k"]), dialect)) == 1


ACCEPTED = {"person": ["person"], "census.person": ["census", "person"], "a.b.c": ["a", "b", "c"]}


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("name", ACCEPTED)
def test_names_of_tables_stay_as_typed(name: str, dialect: Dialect) -> None:
    assert [part.name for part in parse_table(name, dialect).parts] == ACCEPTED[name]
    assert select_columns(name, ["x"], dialect).split()[-1] == name


@pytest.mark.parametrize("dialect", Dialect)
def test_a_quoted_name_of_a_table_may_hold_anything(dialect: Dialect) -> None:
    assert parse_table('"odd name; --"', dialect).name == "odd name; --"


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize(
    "name",
    [
        *("", " ", "a, b", "a b", "a; DROP TABLE b", "(SELECT 1)", "read_parquet('x')", "a.b.c.d", "a AS b", "a@b"),
        *("?", "a WHERE 1", "a PIVOT(SUM(x) FOR y IN (1))", "*", "a.*", ":x", "$1", "@x", "unnest(x)", "'", '"'),
        *("a /* b", "/", "a TABLESAMPLE (10 PERCENT)", "SELECT", "x'y'", "1e5", "a\x00b"),
    ],
)
def test_what_is_no_name_of_a_table_is_refused(name: str, dialect: Dialect) -> None:
    try:
        found = parse_table(name, dialect)
    except UsageError as error:
        assert "expected the name of a table" in str(error)  # noqa: PT017
    else:  # some dialects allow more within a name; it is a name all the same
        assert [type(part) for part in found.parts] == [exp.Identifier]
        assert read_back(select_columns(name, None, dialect), dialect).find(exp.Table) == found


def test_names_of_results_are_not_carried_over() -> None:
    with pytest.raises(UsageError, match="key predicted would stand beside a result"):
        scoring_query(MIXED, Dialect.DUCKDB, "t", ["predicted"])


@pytest.mark.parametrize("dialect", Dialect)
def test_lists_of_thousands_of_steps_are_short(dialect: Dialect) -> None:
    wide = {f"n{k}": {"lower": 0, "upper": 10**6, "step": 1} for k in range(6)}
    domain = declared(wide)
    query = query_sql(scores_of(domain), {}, "t", dialect)
    assert len(query) < 200_000


def test_the_model_writes_its_query() -> None:
    assert MIXED.to_sql("postgres", "census.person", ["age"]) == scoring_query(
        MIXED, Dialect.POSTGRES, "census.person", ["age"]
    )
    assert 'FROM "test" AS "source"' in MIXED.to_sql("duckdb")
    with pytest.raises(UsageError, match="no dialect 'oracle'; known: duckdb, postgres, spark"):
        MIXED.to_sql("oracle")


FOLDER = Path(__file__).parents[2] / "sql" / "queries"
GOLDEN = dict(golden_queries())


@pytest.mark.parametrize("name", GOLDEN)
def test_a_query_is_what_stands_in_its_file(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == GOLDEN[name], "run python tests/golden/write_queries.py"


def test_there_is_no_other_file() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {*GOLDEN, "README.md"}
