"""Render a query's tree as a database's own text, parse names of tables that users type, and ask for a table's size.

A tree means the same in every database but for a few kinds of node, each rewritten below for the databases that differ.

*Numbers.* Each database tests in its own SQL whether a text is a number (``domain.names.SPELLED_NUMBER``): a rewrite
writes ``nodes.number_or_null`` as the cast of what is a number. A column of text is tested by its text, one of unknown
kind by its type, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any

import sqlglot
from sqlglot import exp

from dpnb_columnar.dialects.nodes import (
    SOURCE,
    Branch,
    as_double,
    as_text,
    case,
    double,
    function,
    identifier,
    integer,
    is_in,
    lookup,
    over,
    text,
    times,
)
from dpnb_columnar.domain.field_reader import LONGEST_VALUE
from dpnb_columnar.domain.names import LONGEST_SPELLING, SPELLED_NUMBER
from dpnb_columnar.errors import UsageError, excerpt
from dpnb_columnar.rows.sources import Dialect
from dpnb_columnar.runtime.resources import sections
from dpnb_columnar.version import __version__

NUMBER_TYPES: Mapping[Dialect, Sequence[str]] = {
    Dialect.DUCKDB: ("DOUBLE", "FLOAT"),
    Dialect.POSTGRES: ("double precision", "real", "numeric", "bigint", "integer", "smallint"),
    Dialect.SPARK: ("double", "float"),
    Dialect.SNOWFLAKE: ("DOUBLE", "DECIMAL", "INTEGER"),
    Dialect.SQLITE: ("real", "integer"),
}
"""Each database's names for types whose values are numbers, but may be written as no ``SPELLED_NUMBER``."""

SPARK_PATTERN = "(?s)" + SPELLED_NUMBER.replace("$", "(?!.)")
"""``SPELLED_NUMBER`` for Java, where ``$`` also matches before a line break."""

SHORT = f"^.{{1,{LONGEST_SPELLING}}}$"
"""A text that is not too long for a number, for DuckDB."""

LONGEST_READ = 4 * LONGEST_VALUE
"""Bytes of the longest text that is read of a database's row: no declared value has more, in UTF-8 or UTF-16."""

OTHER_CHARACTERS = "*[^0-9.+eE -]*"
"""Any text with a character that no number has, as SQLite's GLOB matches it."""

LARGE_EXPONENT = "*[eE]*[1-9][0-9][0-9]*"
"""Any text of an exponent of 100 or more in size, as SQLite's GLOB matches it."""


def number_of_duckdb(node: exp.Expr) -> exp.Expr:
    """Cast what is a number. Its own cast would take ``1_0`` and ``inf`` for numbers."""
    if not isinstance(node, exp.TryCast) or not node.is_type(exp.DType.DOUBLE):  # to an ENUM, it is what it is
        return node
    if _is_text(node.this):  # cut out by functions, which are computed once for each entry of a column's dictionary
        number = node.this
        for pattern in (SPELLED_NUMBER, SHORT):
            number = function("REGEXP_EXTRACT", number, text(pattern))
        return exp.TryCast(this=number, to=node.to.copy(), safe=True)
    return _number_if(node, Dialect.DUCKDB, "TYPEOF", _matches(node.this, SPELLED_NUMBER), node.copy())


def number_of_postgres(node: exp.Expr) -> exp.Expr:
    """Cast what is a number by its text: PostgreSQL has no cast that gives null, and none of a date to a number."""
    if not isinstance(node, exp.TryCast):
        return node
    written = _text_of(node.this)
    number: exp.Expr = as_double(written)
    if not _is_text(node.this):
        numeric = exp.cast(written, exp.DType.DECIMAL)
        branches = [(text("numeric"), _nearest_float(numeric, written))]
        number = lookup(_type_name("PG_TYPEOF", node.this), branches, number)
    return _number_if(node, Dialect.POSTGRES, "PG_TYPEOF", _matches(node.this, SPELLED_NUMBER), number)


def float_of_postgres(node: exp.Expr) -> exp.Expr:
    """Write ``nodes.float_of``: PostgreSQL's own cast fails at a ``numeric`` that no float holds."""
    if type(node) is not exp.Cast or not node.args.get("safe"):
        return node
    return _nearest_float(node.this, node.this)


def _nearest_float(value: exp.Expr, cast: exp.Expr) -> exp.Expr:
    """Cast a value to the nearest 64-bit float, infinite or 0 too: a query that failed would reveal such a row."""
    # Bare constants are ``numeric``, or compared with floats as the largest one and the smallest above 0.
    largest, smallest = exp.Literal.number("1.7976931348623158e308"), exp.Literal.number("5e-324")
    is_number = exp.NEQ(this=as_text(cast.copy()), expression=text("NaN"))  # which is above all numbers

    def compared(operator: str, constant: exp.Expr) -> exp.Expr:
        """Compare by PostgreSQL's own operator: one of another schema could fit the types better."""
        return exp.Operator(this=value.copy(), operator=f"{CATALOGUE}.{operator}", expression=constant.copy())

    is_above = exp.and_(compared(">", largest), is_number)
    is_below = compared("<", exp.Neg(this=largest))
    is_least = exp.and_(compared(">", exp.Neg(this=smallest)), compared("<", smallest))
    branches = [(is_above, double(math.inf)), (is_below, double(-math.inf)), (is_least, double(0))]
    return case(branches, as_double(cast.copy()))


def text_of_postgres(node: exp.Expr) -> exp.Expr:
    """Compare texts by their characters: by the collation of a column in PostgreSQL, others may be equal."""
    if not isinstance(node, exp.Cast) or not _is_text(node) or not isinstance(node.this, exp.Column):
        return node
    if node.this.table != SOURCE:
        return node
    return exp.Collate(this=node, expression=exp.column(identifier("C"), table=CATALOGUE))


def number_of_spark(node: exp.Expr) -> exp.Expr:
    """Cast what is a number, by way of its text: a date has no cast to a number."""
    if not isinstance(node, exp.TryCast):
        return node
    number = exp.TryCast(this=_text_of(node.this), to=node.to.copy(), safe=True)
    return _number_if(node, Dialect.SPARK, "TYPEOF", _matches(node.this, SPARK_PATTERN), number)


def number_of_bigquery(node: exp.Expr) -> exp.Expr:
    """Cast what is a number: JSON quotes texts, and infinity, which is missing where a kind is unknown."""
    if not isinstance(node, exp.TryCast):
        return node
    branches = [_number_of_trimmed(node)]
    if not _is_text(node.this):
        json = function("TO_JSON_STRING", node.this.copy())
        branches.insert(0, (exp.not_(exp.StartsWith(this=json, expression=text('"'))), node.copy()))
    return case(branches)


def number_of_snowflake(node: exp.Expr) -> exp.Expr:
    """Cast what is a number: Snowflake tries casts of texts alone."""
    if not isinstance(node, exp.TryCast):
        return node
    branches = [_number_of_trimmed(node)]
    if not _is_text(node.this):
        type_ = function("TYPEOF", function("TO_VARIANT", node.this.copy()))
        is_number = is_in(type_, list(map(text, NUMBER_TYPES[Dialect.SNOWFLAKE])))
        branches.insert(0, (is_number, as_double(node.this.copy())))  # first: texts of floats lack digits
    return case(branches)


def _number_of_trimmed(node: exp.TryCast) -> Branch:
    """Read a text that is a number, without its blanks, which not every cast passes over."""
    number = exp.TryCast(this=exp.Trim(this=_text_of(node.this)), to=node.to.copy(), safe=True, requires_string=True)
    return _matches(node.this, SPELLED_NUMBER), number


def number_of_sqlite(node: exp.Expr) -> exp.Expr:
    """Cast what is a number: SQLite has no regular expressions, but compares other texts as larger than 9e999."""
    if not isinstance(node, exp.TryCast):
        return node
    written = _text_of(node.this)
    others = [exp.Glob(this=written.copy(), expression=text(each)) for each in (OTHER_CHARACTERS, LARGE_EXPONENT)]
    spelled = exp.and_(
        _is_short(written),
        *(exp.Not(this=exp.Paren(this=each)) for each in others),
        exp.LTE(this=written.copy(), expression=infinite()),
    )
    return _number_if(node, Dialect.SQLITE, "TYPEOF", spelled, as_double(node.this.copy()))


def _number_if(node: exp.TryCast, dialect: Dialect, type_of: str, spelled: exp.Expr, number: exp.Expr) -> exp.Expr:
    """Read what is a number by its type, or by its text; null otherwise."""
    if _is_text(node.this):
        return case([(spelled, number)])
    type_ = _type_name(type_of, node.this)
    return case([(exp.or_(is_in(type_, list(map(text, NUMBER_TYPES[dialect]))), spelled), number)])


def _type_name(type_of: str, value: exp.Expr) -> exp.Expr:
    return as_text(function(type_of, value.copy()))


def _matches(value: exp.Expr, pattern: str) -> exp.Expr:
    """Test whether a value's text is short and matches a regular expression."""
    written = _text_of(value)
    return exp.and_(_is_short(written), exp.RegexpLike(this=written.copy(), expression=text(pattern)))


def _is_short(written: exp.Expr) -> exp.Expr:
    return exp.LTE(this=exp.Length(this=written.copy()), expression=integer(LONGEST_SPELLING))


def _text_of(value: exp.Expr) -> exp.Expr:
    """Write the text of a value."""
    return value.copy() if _is_text(value) else as_text(value.copy())


def _is_text(value: exp.Expr) -> bool:
    return isinstance(value, exp.Cast) and value.is_type(exp.DType.TEXT)


def infinite() -> exp.Expr:
    """Write infinity for SQLite: a number that is too large."""
    return as_double(exp.Literal.number("9e999"))


Rewrite = Callable[[exp.Expr], exp.Expr]

POSTGRES_NAME = 63
"""Bytes of a name, in UTF-8, that PostgreSQL reads."""

LARGEST_SHIFT = 62
"""Two to this power is the largest that a 64-bit integer holds."""

CATALOGUE = "pg_catalog"
"""The schema of PostgreSQL's own functions and types."""

GRAMMAR = frozenset({"COALESCE", "GREATEST", "GROUPING", "LEAST", "NULLIF"})
"""What PostgreSQL's grammar knows, and looks up in no schema."""

NAMED_TYPES = frozenset({"DATE", "OID", "TEXT", "TID"})
"""Types of PostgreSQL's that are looked up by name, as functions are; its grammar knows ``BIGINT`` and the like."""

UNQUOTED = re.compile(r"[\w$-]+")
DEFAULT_PARTS = ("this", "db", "catalog")
"""The parts of a table's name, from the last to the first."""


def render(query: exp.Expr, dialect: Dialect, *, pretty: bool = True, joined: bool = False) -> str:
    """Render a query as text of the dialect, without a semicolon; the tree is changed on the way."""
    if dialect is Dialect.POSTGRES:
        _check_names(query)
    for rewrite in REWRITES[dialect]:
        if joined and rewrite is _rows_apart:
            rewrite = _steps_apart
        query = query.transform(rewrite, copy=False)
    written_for = _qualified_postgres() if dialect is Dialect.POSTGRES else dialect.value
    return query.sql(dialect=written_for, pretty=pretty, copy=False)


@cache
def _qualified_postgres() -> type[sqlglot.Dialect]:
    """Return PostgreSQL's dialect with the schema before each function and type.

    A bare ``length(x)`` is looked up in every schema of the search path, where another user may have created a function
    whose arguments fit better: it would be called with the values of rows.
    """
    from sqlglot.dialects.postgres import Postgres
    from sqlglot.generators.postgres import PostgresGenerator

    class QualifiedPostgres(Postgres):
        class Generator(PostgresGenerator):
            def func(self, name: str, *args: Any, **layout: Any) -> str:
                written: str = super().func(name, *args, **layout)
                return written if name.upper() in GRAMMAR else f"{CATALOGUE}.{written}"

            def datatype_sql(self, expression: exp.DataType) -> str:
                written: str = super().datatype_sql(expression)
                return f"{CATALOGUE}.{written}" if written in NAMED_TYPES else written

    return QualifiedPostgres


def _check_names(query: exp.Expr) -> None:
    """Refuse names that PostgreSQL would take for one: it cuts each."""
    names: dict[bytes, str] = {}
    for node in query.find_all(exp.Identifier):
        first = names.setdefault(node.name.encode()[:POSTGRES_NAME], node.name)
        if first != node.name:
            raise UsageError(
                f"PostgreSQL cuts names to {POSTGRES_NAME} bytes, so {excerpt(first)} and {excerpt(node.name)} are one "
                "there; rename one of these columns or classes"
            )


def in_duckdb(value: exp.Expr) -> exp.Expr:
    """Rewrite a value of a row for DuckDB, as ``render`` does; the tree is changed on the way."""
    return value.transform(_nan_by_type, copy=False).transform(number_of_duckdb, copy=False)


def header(lines: Sequence[str]) -> str:
    """Write comment lines, each with its names by ``repr``, the program's version in the first."""
    return "".join(f"-- {line}\n" for line in (f"Written by dpnb-columnar {__version__}.", *lines))


def select_columns(
    table: str, columns: Sequence[str] | None, dialect: Dialect, bounded: Collection[str] = frozenset()
) -> str:
    """Write the query for some columns of a table in order, or for all of them (None)."""
    chosen: list[exp.Expr] = [exp.Star()]
    if columns is not None:
        chosen = [_bounded(name, dialect) if name in bounded else exp.column(identifier(name)) for name in columns]
    return render(exp.select(*chosen).from_(parse_table(table, dialect)), dialect)


def _bounded(name: str, dialect: Dialect) -> exp.Expr:
    """Write a column's value; null in place of a text longer than ``LONGEST_READ``: it is no category, no number."""
    value = exp.column(identifier(name))
    if dialect is Dialect.SQLITE:  # its length of a text ends at a NUL, that of a BLOB does not
        size: exp.Expr = exp.Length(this=exp.cast(value.copy(), "BLOB"))
    else:
        size = function("STRLEN" if dialect is Dialect.DUCKDB else "OCTET_LENGTH", as_text(value.copy()))
    short = exp.LTE(this=size, expression=integer(LONGEST_READ))
    return exp.alias_(case([(short, value)]), name, quoted=True)


def renamed_table(table: str | exp.Table, names: Mapping[str, str], dialect: Dialect) -> exp.Subquery:
    """Build the query for some columns of a table under other names."""
    columns = [exp.alias_(exp.column(identifier(own)), name, quoted=True) for name, own in names.items()]
    rows = parse_table(table, dialect) if isinstance(table, str) else table
    return exp.select(*columns).from_(rows).subquery()


def rename_source_columns(query: exp.Expr, names: Mapping[str, str]) -> None:
    """Name the columns of the rows' table as the table does; the tree is changed."""
    for column in query.find_all(exp.Column):
        if column.table == SOURCE and column.name in names:
            column.set("this", identifier(names[column.name]))


def parse_table(name: str, dialect: Dialect) -> exp.Table:
    """Parse a table's name as typed, such as ``census.person`` or ``"odd name"``; without quotes, it stays without."""
    problem = UsageError(
        f'table {name!r:.80}: expected the name of a table such as census.person or "odd name", quoted as the database '
        "quotes names"
    )
    try:
        parsed = sqlglot.parse_one(name, into=exp.Table, dialect=dialect.value)
    except sqlglot.errors.SqlglotError:
        raise problem from None
    plain = type(parsed) is exp.Table and not any(
        value for part, value in parsed.args.items() if part not in DEFAULT_PARTS
    )
    parts = parsed.parts if plain else []
    if not 1 <= len(parts) <= len(DEFAULT_PARTS) or parsed.comments or not all(map(_is_name, parts)):
        raise problem
    named = zip(DEFAULT_PARTS, reversed(parts), strict=False)
    return exp.Table(**{place: exp.to_identifier(part.name, quoted=_is_quoted(part)) for place, part in named})


def table_or_default(name: str | None, default: str, dialect: Dialect) -> exp.Table:
    """Parse a table's name as typed; without one, take the table named exactly like the default."""
    return exp.Table(this=identifier(default)) if name is None else parse_table(name, dialect)


def rows_or_default(rows: str | exp.Subquery | None, default: str, dialect: Dialect) -> exp.Table | exp.Subquery:
    """Parse a table's name as ``table_or_default`` does; a query in its place (``renamed_table``) stays as it is."""
    return rows.copy() if isinstance(rows, exp.Subquery) else table_or_default(rows, default, dialect)


def _is_name(part: exp.Expr) -> bool:
    return isinstance(part, exp.Identifier) and (_is_quoted(part) or UNQUOTED.fullmatch(part.name) is not None)


def _is_quoted(part: exp.Expr) -> bool:
    return bool(part.args.get("quoted"))


def _nan_by_order(node: exp.Expr) -> exp.Expr:
    """Test for NaN by its order: it is the largest number (PostgreSQL, Spark, Snowflake), or compares as false."""
    if not isinstance(node, exp.IsNan):
        return node
    infinity = exp.cast(text("inf"), exp.DType.DOUBLE)
    return exp.Not(this=exp.Paren(this=exp.LTE(this=node.this, expression=infinity)))


def _nan_by_type(node: exp.Expr) -> exp.Expr:
    """Test for NaN by ISFINITE and ISINF: DuckDB decides isnan() by a file's statistics, which leave NaN out."""
    if not isinstance(node, exp.IsNan):
        return node
    finite, infinite = (function(name, node.this.copy()) for name in ("ISFINITE", "ISINF"))
    return exp.Not(this=exp.Paren(this=exp.Or(this=finite, expression=infinite)))


def _nan_never(node: exp.Expr) -> exp.Expr:
    """Never find NaN: SQLite stores it as null."""
    return exp.false() if isinstance(node, exp.IsNan) else node


def _exact_double(node: exp.Expr) -> exp.Expr:
    """Write a float as a whole number times a power of two: SQLite does not read every decimal to the nearest float."""
    if not isinstance(node, exp.Cast) or not node.is_type(exp.DType.DOUBLE) or not node.this.is_string:
        return node
    value = float(node.this.name)
    if math.isinf(value):
        return exp.Neg(this=infinite()) if value < 0 else infinite()
    mantissa, power = math.frexp(value)
    whole, power = int(mantissa * 2**53), power - 53
    while whole and whole % 2 == 0 and power < 0:
        whole, power = whole // 2, power + 1
    number: exp.Expr = as_double(integer(whole))
    while whole and power:
        shift = min(abs(power), LARGEST_SHIFT)
        number = (over if power < 0 else times)(number, integer(2**shift))
        power += shift if power < 0 else -shift
    return exp.Paren(this=number) if isinstance(number, exp.Binary) else number


def _floor_by_cast(node: exp.Expr) -> exp.Expr:
    """Round down by a cast, since not every SQLite has floor(): the same for numbers from zero on, as all are here."""
    return exp.cast(node.this, exp.DType.BIGINT) if isinstance(node, exp.Floor) else node


def _one_type(node: exp.Expr) -> exp.Expr:
    """Divide numbers of one type: PostgreSQL has no remainder of two types, and would take anybody's that fits."""
    if isinstance(node, exp.Mod):
        for part in ("this", "expression"):
            node.set(part, exp.cast(node.args[part], exp.DType.BIGINT))
    return node


def _steps_apart(node: exp.Expr) -> exp.Expr:
    """Keep the steps of a query apart by OFFSET: merged, a value would be computed once for each use in the next."""
    if isinstance(node, exp.CTE) and isinstance(node.this, exp.Select):
        node.set("this", node.this.offset(0, copy=False))
    return node


def _rows_apart(node: exp.Expr) -> exp.Expr:
    """Keep the rows that a query reads apart from its steps in DuckDB, by a join with one row of nothing."""
    # It merges the steps where the result is ordered and limited, until no memory is left. An OFFSET would give all
    # rows to one thread, so that they keep their order, and copy them at every step.
    if isinstance(node, exp.CTE) and isinstance(node.this, exp.Select) and node.this.args["from_"].this.alias == SOURCE:
        nothing = exp.alias_(exp.select(integer(0)).subquery(), identifier("nothing"), table=True)
        node.this.append("joins", exp.Join(this=nothing, kind="CROSS"))
    return node


def _limit_for_offset(node: exp.Expr) -> exp.Expr:
    """Add a LIMIT: SQLite has no OFFSET without one. Below zero it limits nothing."""
    if isinstance(node, exp.CTE):
        node.set("this", node.this.limit(-1, copy=False))
    return node


def _no_variables(node: exp.Expr) -> exp.Expr:
    """Split texts within ``${``: Spark substitutes variables for ``${name}``, even there."""
    if not isinstance(node, exp.Literal) or not node.is_string or "${" not in node.name:
        return node
    parts = node.name.replace("${", "$\0{").split("\0")
    return exp.Paren(this=exp.Concat(expressions=list(map(text, parts)), safe=True, coalesce=False))


REWRITES: Mapping[Dialect, Sequence[Rewrite]] = {
    Dialect.DUCKDB: [_nan_by_type, number_of_duckdb, _rows_apart],
    Dialect.POSTGRES: [_nan_by_order, float_of_postgres, number_of_postgres, text_of_postgres, _one_type, _steps_apart],
    Dialect.SPARK: [_nan_by_order, number_of_spark, _no_variables],
    Dialect.BIGQUERY: [_nan_by_order, number_of_bigquery],
    Dialect.SNOWFLAKE: [_nan_by_order, number_of_snowflake],
    Dialect.SQLITE: [_nan_never, number_of_sqlite, _exact_double, _floor_by_cast, _steps_apart, _limit_for_offset],
}


COUNTED = "counted"
"""Stands for the table in a query."""


def size_query(table: str, dialect: Dialect) -> str:
    """Write the query for about how many rows a table has in DuckDB, SQLite or PostgreSQL; nothing of a view."""
    return _about(table, dialect.value, dialect)


def pages_query(table: str) -> str:
    """Write the query for the pages of each partition of a table of PostgreSQL's; null if ranges cannot be read."""
    return _about(table, "pages", Dialect.POSTGRES)


def lock_statement(table: str) -> str:
    """Write the statement that keeps a table of PostgreSQL's as it is while its ranges are read."""
    name = parse_table(table, Dialect.POSTGRES).sql(dialect=Dialect.POSTGRES.value)
    return sections("table_size")["lock"].replace(COUNTED, name)


def rows_in_range(table: str, names: Mapping[str, str]) -> exp.Subquery:
    """Build the query for some columns of the rows in a range of pages, which ``rows.databases`` sets."""
    rows = renamed_table(table, names, Dialect.POSTGRES)
    rows.this.where(sections("table_size")["in_range"], dialect=Dialect.POSTGRES.value, copy=False)
    return rows


def _about(table: str, name: str, dialect: Dialect) -> str:
    """Fill a table's name into a query of ``sql/table_size.sql``."""
    parsed = parse_table(table, dialect)
    query = exp.replace_placeholders(
        sqlglot.parse_one(sections("table_size")[name], dialect=dialect.value),
        name=text(parsed.name),
        db=text(parsed.db) if parsed.db else exp.null(),
        catalog=text(parsed.catalog) if parsed.catalog else exp.null(),
        table=text(parsed.sql(dialect=dialect.value)),
    )
    for counted in query.find_all(exp.Table):
        if counted.name == COUNTED:
            counted.replace(parsed)
    return render(query, dialect, pretty=False)
