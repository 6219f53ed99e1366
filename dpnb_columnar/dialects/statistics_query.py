"""The statistics of a table as one query, run by the database that holds it.

CONFIDENTIAL: the result of the query is exact counts. Where a unit is declared, steps of the query choose among its
rows, by the order that ``rows.row_rules`` defines.

What the columns of a table hold and are called, by a database's catalogue or a file like the table: no row is read.

Names of a domain are matched but for upper and lower case: PostgreSQL folds names without quotes to lower case,
Snowflake to upper case.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import polars as pl
from sqlglot import exp

from dpnb_columnar.dialects.nodes import (
    SOURCE,
    as_column,
    as_text,
    below,
    case,
    equal,
    identifier,
    integer,
    is_null,
    lookup,
    modulo,
    own_column,
    plus,
    source_column,
    text,
    times,
)
from dpnb_columnar.dialects.rendering import (
    header,
    parse_table,
    render,
    rows_or_default,
    select_columns,
    table_or_default,
)
from dpnb_columnar.dialects.rules import (
    Kinds,
    category_code,
    class_code,
    grid_code,
    number,
    weight_steps,
)
from dpnb_columnar.domain import Attribute, Categorical, Domain, Missing, Numeric
from dpnb_columnar.domain.column_kinds import Kind
from dpnb_columnar.domain.condition import in_halves
from dpnb_columnar.domain.declared_domain import WEIGHT_CODE, digest
from dpnb_columnar.domain.domain_text import label_remarks
from dpnb_columnar.errors import UsageError, command, option
from dpnb_columnar.rows.row_rules import (
    CLASS,
    MOST_LOOKED_UP,
    ORDER,
    PRIME,
    WEIGHT,
    distinguished_range,
    is_wide,
    multiplier,
    unit_names,
)
from dpnb_columnar.rows.sources import Database, Dialect, Spelling, parse_database

SPELLED: Mapping[Spelling, Callable[[str], str]] = {
    Spelling.LOWER: str.lower,
    Spelling.UPPER: str.upper,
    Spelling.DECLARED: str,
}


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Columns of a table under the names that a domain, or who typed them, has for them.

    Attributes:
        source: What tells of them, for messages.
        names: The table's name of each column.
        types: Type of each column.
    """

    source: str
    names: Mapping[str, str]
    types: Mapping[str, pl.DataType]


def columns_like(
    like: str, table: str | None, default: str, wanted: Iterable[str], names: Spelling | None
) -> TableColumns:
    """Read the columns of a database's table, or of a Parquet file with columns of its types. No row is read."""
    from dpnb_columnar.rows.column_checks import matched_columns
    from dpnb_columnar.rows.databases import query_columns
    from dpnb_columnar.rows.parquet import read_schema

    database = parse_database(like)
    types: Mapping[str, pl.DataType]
    if database is None:
        source, types = like, read_schema(Path(like))
    elif names is not None:
        raise UsageError(f"{option('names')}: {database} tells how the columns of its table are spelled; leave it out")
    else:
        called = table or table_or_default(None, default, database.dialect).sql(dialect=database.dialect.value)
        source = f"{database}, table {called}"
        types = query_columns(database, select_columns(called, None, database.dialect), table=called)
    own = matched_columns(wanted, types, source)
    spelled = own if names is None else {name: SPELLED[names](name) for name in own}
    return TableColumns(source, spelled, {name: types[column] for name, column in own.items()})


def dialect_like(dialect: Dialect | None, like: str | None) -> Dialect:
    """Return the dialect of a query: that which is named, or that of the database whose table it is to read."""
    database: Database | None = None if like is None else parse_database(like)
    if database is None:
        if dialect is None:
            raise UsageError(
                f"which database is to run the query? Name it with {option('dialect', 'duckdb')}, or give its address "
                f"with {option('like')}; known: {', '.join(Dialect)}"
            )
        return dialect
    if dialect not in (None, database.dialect):
        raise UsageError(f"{option('dialect', str(dialect))}: {database} reads {database.dialect.value}; leave it out")
    return database.dialect


RANK = "rank"

Query = TypeVar("Query", bound=exp.Query)

Steps = list[tuple[str, exp.Select]]
"""Names and queries, each over the one before."""


def add_step(steps: Steps, name: str, columns: Iterable[exp.Expr]) -> None:
    """Add a step that computes columns, and has no others, from those of the last step."""
    steps.append((name, exp.select(*columns, copy=False).from_(last_step(steps), copy=False)))


def last_step(steps: Steps) -> exp.Table:
    """Name the last step as the table of another query."""
    return exp.Table(this=identifier(steps[-1][0]))


def with_steps(query: Query, steps: Steps) -> Query:
    """Put the steps before a query that names them."""
    for name, step in steps:
        query = query.with_(identifier(name), as_=step, copy=False)
    return query


def unit_values(domain: Domain) -> list[exp.Expr]:
    """Select the columns of the rows' table that together tell the unit of a row; none for a domain without."""
    columns = [] if domain.unit is None else domain.unit.columns
    return [as_column(source_column(name), unit) for name, unit in zip(columns, unit_names(domain), strict=True)]


def choose_rows(steps: Steps, domain: Domain) -> None:
    """Add steps that leave of each unit the rows that count, where the domain declares a unit.

    Args:
        steps: Steps whose last has the columns ``class``, null where a row does not count, ``unit_names``, and
            ``code_0``, ``code_1``, ... for the attributes, and ``weight`` where the domain declares one. The last that
            is added has the class, the codes, and the weight.
    """
    if domain.unit is None:
        return
    units, codes, most = unit_names(domain), _numbered_names(domain, "code"), domain.unit.rows
    weights = [] if domain.weight is None else [WEIGHT]
    is_united = exp.and_(*(exp.not_(is_null(own_column(name))) for name in units), copy=False)
    terms: list[exp.Expr] = [times(_number(CLASS), integer(multiplier(0)))]
    for place, (attribute, code) in enumerate(zip(domain.attributes, codes, strict=True), 1):
        number = exp.Coalesce(this=plus(_number(code), integer(1)), expressions=[integer(0)])
        term = times(number, integer(multiplier(place)))
        terms.append(modulo(term, PRIME) if is_wide(attribute, domain) else term)
    terms += [times(plus(_number(name), integer(1)), integer(multiplier(len(codes) + 1))) for name in weights]
    power: exp.Expr = own_column(ORDER)
    for _ in range(4):
        power = modulo(times(power, own_column(ORDER)), PRIME)
    # A row that does not count comes after all that do, whatever its unit.
    last = case([(is_null(own_column(CLASS)), integer(1))], integer(0))
    keys = [last, own_column(ORDER), own_column(CLASS), *map(_missing_first, codes), *map(own_column, weights)]
    rank = exp.Window(
        this=exp.RowNumber(),
        partition_by=list(map(own_column, units)),
        order=exp.Order(expressions=[exp.Ordered(this=key) for key in keys]),
    )
    x = as_column(modulo(in_halves(terms, plus), PRIME), ORDER)
    counted = [*codes, *weights]
    add_step(steps, "united", [as_column(case([(is_united, own_column(CLASS))]), CLASS), *_columns(*units, *counted)])
    add_step(steps, "summed", [*_columns(CLASS, *units, *counted), x])
    add_step(steps, "ordered", [*_columns(CLASS, *units, *counted), as_column(power, ORDER)])
    add_step(steps, "ranked", [*_columns(CLASS, *counted), as_column(rank, RANK)])
    add_step(steps, "chosen", _columns(CLASS, *counted))
    is_first = below(own_column(RANK), integer(most + 1))
    steps[-1][1].where(exp.not_(is_null(own_column(CLASS))), is_first, copy=False)


def _columns(*names: str) -> list[exp.Expr]:
    return [own_column(name) for name in names]


def _number(name: str) -> exp.Expr:
    return exp.cast(own_column(name), exp.DType.BIGINT)


def _missing_first(name: str) -> exp.Expr:
    """Write a code, or -1 for null, which databases sort differently."""
    return exp.Coalesce(this=own_column(name), expressions=[integer(-1)])


PLACE = "place"


def statistics_query(domain: Domain, kinds: Kinds, table: str | exp.Subquery | None, dialect: Dialect) -> str:
    """Write the query whose result is the table of ``Statistics``, in any order, cells without rows left out.

    Its columns: ``attribute`` (text, null for the class counts), ``class`` and ``code`` (positions in the domain; code
    0 for the class counts, 1 for the weights of a class), ``count`` (rows; steps of weight), ``domain`` (text: the
    domain's digest, by which a file of it is recognised). The integers are those of the local engine.
    """
    table_of_rows = rows_or_default(table, domain.name, dialect)
    query = _form(domain, dialect)(domain, kinds, table_of_rows)
    return header(_remarks(domain, dialect)) + render(query, dialect)


MOST_SETS = 64
"""Attributes that have a grouping set each: PostgreSQL counts so many at once in the memory that it has by itself."""

MOST_COUNTS = 8
"""Classes that have a column of counts each."""


def _form(domain: Domain, dialect: Dialect) -> Callable[[Domain, Kinds, exp.Table | exp.Subquery], exp.Expr]:
    """Choose the form that measured best: SQLite has no grouping sets, and some databases were not measured."""
    if dialect is Dialect.SPARK:
        return _named_counts
    few = 0 < len(domain.attributes) <= MOST_SETS and len(domain.classes) <= MOST_COUNTS
    if few and dialect in (Dialect.DUCKDB, Dialect.POSTGRES):
        return partial(_grouping_sets, dialect=dialect)
    return _union_of_groupings


def places_query(domain: Domain, kinds: Kinds, table: str) -> str:
    """Write the query of the same counts for Spark in numbers alone: columns ``place``, ``class``, ``code``, ``count``.

    ``place`` is 0 for the class counts, one more than an attribute's position in the domain for its cells, and one more
    than that of the last attribute for the weights, whose code is 1.
    """
    return render(_by_place(domain, kinds, parse_table(table, Dialect.SPARK)), Dialect.SPARK)


def _grouping_sets(domain: Domain, kinds: Kinds, table: exp.Table | exp.Subquery, *, dialect: Dialect) -> exp.Expr:
    """One grouping set for each attribute, in one pass: of its values where they are few, and the rule comes after.

    A class is a column of counts, not a key: PostgreSQL takes whatever is computed for 200 values, and sorts all rows
    for each set whose groups would then fill its memory.
    """
    values, names = counted_values(domain, kinds, dialect), _numbered_names(domain, "code")
    steps = _coded(domain, kinds, table, values)
    places = [
        (exp.Anonymous(this="GROUPING", expressions=_columns(name)), integer(place))
        for place, name in enumerate(names, 1)
    ]
    numbers: dict[str, exp.Expr] = {"count": exp.Count(this=exp.Star())}
    if domain.weight is not None:
        numbers[WEIGHT] = exp.Sum(this=own_column(WEIGHT))
    classes = range(len(domain.classes))
    of_classes = [
        as_column(exp.Filter(this=number.copy(), expression=exp.Where(this=_is_class(klass))), f"{name}_{klass}")
        for name, number in numbers.items()
        for klass in classes
    ]
    add_step(
        steps, "groups", [as_column(lookup(integer(0), places, integer(0)), PLACE), *_columns(*names), *of_classes]
    )
    sets = [exp.Tuple(), *(exp.Paren(this=own_column(name)) for name in names)]
    steps[-1][1].group_by(exp.GroupingSets(expressions=sets), copy=False)
    rules = [
        (integer(place), _rule(attribute, kinds, name) if attribute.name in values else own_column(name))
        for place, (attribute, name) in enumerate(zip(domain.attributes, names, strict=True), 1)
    ]
    own = [
        as_column(
            lookup(own_column(CLASS), [(integer(klass), own_column(f"{name}_{klass}")) for klass in classes]), name
        )
        for name in numbers
    ]
    code = lookup(own_column(PLACE), [(integer(0), integer(0)), *rules])
    add_step(steps, "cells", [*_columns(PLACE, CLASS), as_column(code, "code"), *own])
    every = exp.union(*(exp.select(as_column(integer(klass), CLASS)) for klass in classes), distinct=False, copy=False)
    joined = exp.alias_(every.subquery(copy=False), identifier("classes"), table=True)
    steps[-1][1].append("joins", exp.Join(this=joined, kind="CROSS"))
    occurs = exp.GT(this=own_column("count"), expression=integer(0))
    counts = _cells(domain, last_step(steps), _attribute_name(domain), own_column("code"), "count")
    query: exp.Query = counts.where(is_there("code"), occurs).group_by(*_columns(PLACE, CLASS, "code"))
    if domain.weight is not None:
        weights = _cells(domain, last_step(steps), _classes(), integer(WEIGHT_CODE), WEIGHT)
        weights = weights.where(equal(own_column(PLACE), integer(0)), occurs.copy()).group_by(own_column(CLASS))
        query = exp.union(query, weights, distinct=False, copy=False)
    return with_steps(query, steps)


def counted_values(domain: Domain, kinds: Kinds, dialect: Dialect) -> dict[str, exp.Expr]:
    """Write what is counted in the place of codes: values of columns whose rules tell few apart, by attribute.

    Whole numbers beyond those that the rule tells apart are the nearest of these, so that there are no more groups than
    the domain allows. Distinct texts may be as many as rows: PostgreSQL puts them on disk then, which DuckDB may not
    here. It counts texts by their bytes: by a column's collation others may be equal. Of each unit the codes themselves
    tell the rows that count, and of a row that an attribute may drop its value.
    """
    values: dict[str, exp.Expr] = {}
    for attribute in domain.attributes if domain.unit is None else ():
        column, kind = source_column(attribute.name), kinds.get(attribute.name)
        told_apart = distinguished_range(attribute, pl.Int64()) if kind is Kind.INTEGER else None
        if attribute.missing is Missing.ROW:
            continue
        if told_apart is not None and told_apart[1] - told_apart[0] < MOST_LOOKED_UP:
            values[attribute.name] = _within(column, *told_apart)
        elif kind is Kind.BOOLEAN:
            values[attribute.name] = column
        elif kind is Kind.TEXT and dialect is Dialect.POSTGRES:
            values[attribute.name] = as_text(column)
    return values


def _within(value: exp.Expr, first: int, last: int) -> exp.Expr:
    """Write a whole number within bounds; null stays null, as it does not under every database's greatest()."""
    below_first = (below(value.copy(), integer(first)), integer(first))
    return case([below_first, (exp.GT(this=value.copy(), expression=integer(last)), integer(last))], value)


def _rule(attribute: Attribute, kinds: Kinds, name: str) -> exp.Expr:
    """Write the code of an attribute's value that a column of this name holds."""
    value = _value(attribute, kinds)
    code = grid_code(attribute, value) if isinstance(attribute, Numeric) else value
    return code.transform(lambda node: own_column(name) if isinstance(node, exp.Column) else node, copy=False)


def _is_class(klass: int) -> exp.Expr:
    return equal(own_column(CLASS), integer(klass))


def _cells(domain: Domain, table: exp.Table, attribute: exp.Expr, code: exp.Expr, number: str) -> exp.Select:
    """Select cells of the table of ``Statistics``, whose counts or weights are a column to be added up."""
    return exp.select(
        as_column(attribute, "attribute"),
        own_column(CLASS),
        as_column(code, "code"),
        as_column(exp.cast(exp.Sum(this=own_column(number)), exp.DType.BIGINT), "count"),
        as_column(text(digest(domain)), "domain"),
    ).from_(table)


def _union_of_groupings(domain: Domain, kinds: Kinds, table: exp.Table | exp.Subquery) -> exp.Expr:
    """One grouping for each attribute, of the rows that have a value of it; their codes are computed once."""
    names = _numbered_names(domain, "code")
    steps = _coded(domain, kinds, table, {})
    rows = last_step(steps)
    counts = [_counts(domain, rows, _classes(), None)]
    if domain.weight is not None:
        weights = _cells(domain, rows, _classes(), integer(WEIGHT_CODE), WEIGHT)
        counts.append(weights.group_by(own_column(CLASS)))
    counts += [
        _counts(domain, rows, text(attribute.name), code)
        for attribute, code in zip(domain.attributes, names, strict=True)
    ]
    query: exp.Query = exp.union(*counts, distinct=False, copy=False) if len(counts) > 1 else counts[0]
    return with_steps(query, steps)


def _coded(domain: Domain, kinds: Kinds, table: exp.Table | exp.Subquery, values: Mapping[str, exp.Expr]) -> Steps:
    """Write the steps that leave the rows that count, with ``code_0``, ``code_1``, ...: codes, or values."""
    codes = zip(code_columns(domain, values), _numbered_names(domain, "code"), strict=True)
    steps: Steps = [("read", read_values(domain, kinds, table, values))]
    columns = [*_columns(CLASS, *unit_names(domain)), *(as_column(*code) for code in codes), *weight_columns(domain)]
    add_step(steps, "coded", columns)
    steps[-1][1].where(*map(is_there, required_columns(domain)), copy=False)
    choose_rows(steps, domain)
    return steps


def _named_counts(domain: Domain, kinds: Kinds, table: exp.Table | exp.Subquery) -> exp.Expr:
    """Select the counts by place, with each attribute's name in place of its number."""
    return (
        exp.select(
            as_column(_attribute_name(domain), "attribute"),
            *map(own_column, (CLASS, "code", "count")),
            as_column(text(digest(domain)), "domain"),
        )
        .from_(exp.Table(this=identifier("counted")))
        .with_(identifier("counted"), as_=_by_place(domain, kinds, table), copy=False)
    )


def _by_place(domain: Domain, kinds: Kinds, table: exp.Table | exp.Subquery) -> exp.Query:
    """One grouping for all attributes, of rows that are read once: each becomes a row of three numbers per attribute.

    A row that does not count has no array of codes, and so becomes no cell; a missing value has no code. (With a filter
    on the rows, Spark would compute every value twice, and generate a program that is too long for Java to compile.)
    """
    steps: Steps = [("read", read_values(domain, kinds, table))]
    fits: exp.Expr = exp.and_(*map(is_there, required_columns(domain)))
    codes, weights = code_columns(domain), weight_columns(domain)
    if domain.unit is not None:
        steps = coded_rows(domain, kinds, table)
        fits = is_there(CLASS)
        codes = [own_column(name) for name in _numbered_names(domain, "code")]
        weights = [] if domain.weight is None else [own_column(WEIGHT)]
    numbers = [integer(0), *codes, *(integer(WEIGHT_CODE) for _ in weights)]
    array = exp.Array(expressions=[exp.cast(number, exp.DType.BIGINT) for number in numbers])
    cell = exp.Aliases(
        this=exp.Posexplode(this=case([(fits, array)])), expressions=[identifier(PLACE), identifier("code")]
    )
    add_step(steps, "cells", [own_column(CLASS), *weights, cell])
    # The last cell of a row is that of its weight: a row counts there as so many steps.
    steps_or_row = lookup(own_column(PLACE), [(integer(len(codes) + 1), own_column(WEIGHT))], integer(1))
    count = exp.Sum(this=steps_or_row) if weights else exp.Count(this=exp.Star())
    keys = [own_column(name) for name in (PLACE, CLASS, "code")]
    query = (
        exp.select(*keys, as_column(count, "count"))
        .from_(exp.Table(this=identifier("cells")))
        .where(is_there("code"))
        .group_by(*keys)
    )
    return with_steps(query, steps)


def coded_rows(domain: Domain, kinds: Kinds, table: exp.Table | exp.Subquery) -> Steps:
    """Write the steps that compute every row's class, null where it does not count, and ``code_0``, ``code_1``, ...

    Where the domain declares a weight, also its steps, ``weight``; where it declares a unit, the last step has those
    rows alone that count.
    """
    counts = case([(exp.and_(*map(is_there, required_columns(domain))), own_column(CLASS))])
    codes = [
        as_column(code, name) for code, name in zip(code_columns(domain), _numbered_names(domain, "code"), strict=True)
    ]
    steps: Steps = [("read", read_values(domain, kinds, table))]
    add_step(
        steps,
        "coded",
        [as_column(counts, CLASS), *map(own_column, unit_names(domain)), *codes, *weight_columns(domain)],
    )
    choose_rows(steps, domain)
    return steps


def read_values(
    domain: Domain, kinds: Kinds, table: exp.Table | exp.Subquery, values: Mapping[str, exp.Expr] = MappingProxyType({})
) -> exp.Select:
    """Every row's class, unit, weight, and number or category code of every attribute; null where it has none."""
    source = exp.alias_(table, SOURCE, table=True, quoted=True)
    read = (values.get(attribute.name) or _value(attribute, kinds) for attribute in domain.attributes)
    named = [as_column(value, name) for value, name in zip(read, _numbered_names(domain, "value"), strict=True)]
    columns = [as_column(class_code(domain.label, kinds), CLASS), *unit_values(domain), *named]
    if domain.weight is not None:
        columns.append(as_column(number(domain.weight.column, kinds.get(domain.weight.column)), WEIGHT))
    return exp.select(*columns, copy=False).from_(source, copy=False)


def _value(attribute: Attribute, kinds: Kinds) -> exp.Expr:
    """Write a row's number, or category code, of an attribute."""
    kind = kinds.get(attribute.name)
    if isinstance(attribute, Numeric):
        return number(attribute.name, kind, attribute.missing_values)
    return category_code(attribute, kind)


def code_columns(domain: Domain, values: Collection[str] = ()) -> list[exp.Expr]:
    """Write the code of every attribute from the columns of ``read_values``, or its value there for those of some."""
    return [
        own_column(value)
        if isinstance(attribute, Categorical) or attribute.name in values
        else grid_code(attribute, own_column(value))
        for attribute, value in zip(domain.attributes, _numbered_names(domain, "value"), strict=True)
    ]


def weight_columns(domain: Domain) -> list[exp.Expr]:
    """Write the row's weight in steps, from the columns of ``read_values``; nothing where the domain has no weight."""
    return [] if domain.weight is None else [as_column(weight_steps(domain.weight, own_column(WEIGHT)), WEIGHT)]


def _numbered_names(domain: Domain, name: str) -> list[str]:
    return [f"{name}_{position}" for position in range(len(domain.attributes))]


def required_columns(domain: Domain) -> list[str]:
    """Name the columns of ``read_values`` that a row needs a value of to count."""
    values = zip(domain.attributes, _numbered_names(domain, "value"), strict=True)
    return [CLASS, *(value for attribute, value in values if attribute.missing is Missing.ROW)]


def is_there(name: str) -> exp.Expr:
    """Test whether a column of an earlier step has a value."""
    return exp.not_(is_null(own_column(name)))


def _counts(domain: Domain, rows: exp.Table, attribute: exp.Expr, code: str | None) -> exp.Select:
    """Rows of every class and code of one attribute, or of every class, in a step of the query."""
    keys = [own_column(CLASS)] if code is None else [own_column(CLASS), own_column(code)]
    return (
        exp.select(
            as_column(attribute, "attribute"),
            own_column(CLASS),
            as_column(integer(0) if code is None else own_column(code), "code"),
            as_column(exp.Count(this=exp.Star()), "count"),
            as_column(text(digest(domain)), "domain"),
        )
        .from_(rows.copy())
        .where(*([] if code is None else [is_there(code)]))
        .group_by(*keys)
    )


def _classes() -> exp.Expr:
    """Write a null in place of the attribute's name, for counts of classes."""
    return exp.cast(exp.null(), exp.DType.TEXT)


def _attribute_name(domain: Domain) -> exp.Expr:
    """Look up the attribute's name by its place; null for counts and weights of classes."""
    names = [(integer(place), text(attribute.name)) for place, attribute in enumerate(domain.attributes, 1)]
    return lookup(own_column(PLACE), names) if names else _classes()


def _remarks(domain: Domain, dialect: Dialect) -> Sequence[str]:
    return (
        f"CONFIDENTIAL: the result of this query ({dialect.value}) is exact counts of rows. Keep it as you keep them.",
        f"Domain {domain.name!r}, SHA-256 {digest(domain)}.",
        "Save the result as a CSV file with a header line, then release a model from it:",
        f"  {command('release', 'RESULT.csv', dataset='NAME', output='MODEL.json')}",
        *label_remarks(domain, domain.columns),
    )
