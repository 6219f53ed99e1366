"""The query of each pass over rows, run by the database that holds them. CONFIDENTIAL: its result is exact counts.

*The local pass* counts Parquet files by sums of a few joint tables. Several attributes and the class are one number of
16 bits, and DuckDB counts these numbers: a type of 16 bits is narrow enough for an array of counters in the place of a
hash table. No statistics of the files can make it count wrongly: of a bitwise OR DuckDB knows nothing but the type. It
computes a function, unlike a CASE, once for each entry of a column's dictionary, so a rule is written as functions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, cast

import polars as pl
from sqlglot import exp

from dpnb_columnar.core.code_limits import UNITS
from dpnb_columnar.core.queries.query import Query
from dpnb_columnar.core.queries.scores import (
    CERTAIN,
    ClassScores,
    GradientQuery,
    Margins,
    ScoreTable,
    probabilities,
    sum_columns,
)
from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.dialects.nodes import (
    SOURCE,
    Kinds,
    as_column,
    as_double,
    as_text,
    at_least,
    below,
    by_start,
    case,
    category_code,
    class_code,
    condition_holds,
    double,
    enum_code,
    equal,
    function,
    grid_code,
    identifier,
    integer,
    is_null,
    lookup,
    minus,
    modulo,
    number,
    number_at,
    over,
    own_column,
    plus,
    source_column,
    sum_of,
    table_reference,
    text,
    times,
    weight_steps,
)
from dpnb_columnar.dialects.rendering import (
    header,
    in_duckdb,
    parse_table,
    render,
    rows_or_default,
    select_columns,
    table_or_default,
)
from dpnb_columnar.domain import Attribute, Categorical, Domain, Missing, Numeric
from dpnb_columnar.domain.column_kinds import Kind, category_keys
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
    matched_columns,
    multiplier,
    number_of_codes,
    unit_names,
)
from dpnb_columnar.rows.sources import Database, Dialect, Spelling, parse_database

COUNT = "count"

FILES = "files"
"""Parameter of the query: the Parquet files, their columns matched by name and widened to one type."""

KEY_BITS = 16
"""Bits of a key of several attributes: as many counters as that take half a MiB in each thread."""

FEW_VALUES = 2**8
"""So far apart may two declared whole numbers be, or twice as far as there are, and all between them are counted."""


@dataclass(frozen=True, slots=True)
class Digit:
    """Where the values of one attribute stand in a key."""

    attribute: Attribute
    value: exp.Expr  # a whole number from 0 on for every row
    size: int  # how many numbers there are
    codes: Sequence[int] | None = None  # of each number, one beyond the attribute's for none; None where they are these
    shift: int = 0  # bits of the key below these

    @property
    def bits(self) -> int:
        """Bits of the key that the number takes."""
        return (self.size - 1).bit_length()


@dataclass(frozen=True, slots=True)
class Key:
    """A whole number of the class, in its lowest bits, and digits of attributes; the rows of each are counted."""

    class_bits: int
    digits: tuple[Digit, ...] = ()

    @property
    def bits(self) -> int:
        """Bits of all."""
        return self.class_bits + sum(digit.bits for digit in self.digits)

    @property
    def type(self) -> exp.DType:
        """The key's type: DuckDB counts one of 16 bits in an array, whatever the files say of themselves."""
        return exp.DType.USMALLINT if self.bits <= KEY_BITS else exp.DType.BIGINT


def joint_keys(domain: Domain, kinds: Kinds, attributes: Sequence[Attribute]) -> list[Key]:
    """Divide attributes among keys, as many in each as ``KEY_BITS`` hold; what is wider has a key for itself."""
    none = Key((len(domain.classes) - 1).bit_length())
    keys: list[Key] = []
    digits = [_digit(attribute, kinds[attribute.name]) for attribute in attributes]
    for digit in sorted(digits, key=lambda digit: digit.bits, reverse=True):
        place = next((place for place, key in enumerate(keys) if key.bits + digit.bits <= KEY_BITS), len(keys))
        key = keys[place] if place < len(keys) else none
        key = Key(key.class_bits, (*key.digits, replace(digit, shift=key.bits)))  # above the others
        keys[place:] = [key, *keys[place + 1 :]]
    return keys or [none]


def cells_query(domain: Domain, kinds: Kinds, keys: Sequence[Key]) -> str:
    """Write the query on ``$files`` that counts rows by ``key_0``, ``key_1``, ..., of which all but one are null."""
    if domain.label.condition is None:
        class_ = _by_dictionary(class_code(domain.label, kinds))
    else:  # evaluated once, since DuckDB casts a truth value to a number
        class_ = in_duckdb(condition_holds(domain.label, kinds))
    read, joined = [as_column(class_, CLASS)], []
    for place, key in enumerate(keys):
        number: exp.Expr = exp.cast(own_column(CLASS), key.type)
        for position, digit in enumerate(key.digits):
            name = f"digit_{place}_{position}"
            read.append(as_column(exp.cast(digit.value, key.type), name))
            above = times(own_column(name), exp.cast(integer(2**digit.shift), key.type))
            number = exp.BitwiseOr(this=number, expression=exp.Paren(this=above))
        joined.append(as_column(number, f"key_{place}"))
    given = [
        as_column(_by_dictionary(_value(each, kinds)), f"given_{place}")
        for place, each in enumerate(domain.row_dropping)
    ]
    options = {"union_by_name": exp.true(), "hive_partitioning": exp.false()}
    written = [exp.PropertyEQ(this=exp.to_identifier(name), expression=value) for name, value in options.items()]
    files = function("READ_PARQUET", exp.Parameter(this=exp.var(FILES)), *written)
    steps: Steps = [("read", exp.select(*read, *given).from_(exp.alias_(files, SOURCE, quoted=True)))]
    add_step(steps, "coded", joined)
    steps[-1][1].where(*map(is_there, (CLASS, *(each.alias for each in given))), copy=False)
    names = _columns(*(each.alias for each in joined))
    query = exp.select(*names, as_column(exp.Count(this=exp.Star()), COUNT)).from_(last_step(steps))
    sets = [exp.Tuple(expressions=[name.copy()]) for name in names]
    query = with_steps(query.group_by(exp.GroupingSets(expressions=sets)), steps)
    return query.sql(dialect=Dialect.DUCKDB.value, pretty=True, copy=False)


def _digit(attribute: Attribute, kind: Kind | None) -> Digit:
    """Write a number for each value of an attribute that has a code of its own, and one for all others and null."""
    if isinstance(attribute, Numeric):
        value = in_duckdb(grid_code(attribute, number(attribute.name, kind, attribute.missing_values)))
        return _or_last(attribute, value, attribute.cells + 1)
    absent = len(attribute.values)
    if kind in (Kind.INTEGER, Kind.BOOLEAN):
        known = {int(cast(int, key)): code for key, code in category_keys(attribute, kind).items()}
        before, after = min(known) - 1, max(known) + 1
        if after - before < max(FEW_VALUES, 2 * len(known)) and max(-before, after) < 2**30:
            column: exp.Expr = source_column(attribute.name)
            column = exp.cast(column, exp.DType.TINYINT) if kind is Kind.BOOLEAN else column
            codes = [known.get(value, absent) for value in range(before, after + 1)]
            # How far it is above the number before the first declared one, within 0 and the most; 0 for null.
            bounded = function("LEAST", function("GREATEST", column, integer(before)), integer(after))
            return Digit(attribute, minus(exp.cast(bounded, exp.DType.INT), integer(before)), len(codes), codes)
    return _or_last(attribute, _by_dictionary(category_code(replace(attribute, missing=None), kind)), absent)


def _or_last(attribute: Attribute, code: exp.Expr, absent: int) -> Digit:
    """Write a code, and the number after the last where it is null: DuckDB's LEAST leaves null out."""
    return Digit(attribute, function("LEAST", code, integer(absent)), absent + 1)


def _by_dictionary(value: exp.Expr) -> exp.Expr:
    """Write a value for DuckDB; ``CASE key WHEN constant THEN code ... ELSE otherwise END`` as a function."""
    return _lookup(in_duckdb(value))


def _lookup(code: exp.Expr) -> exp.Expr:
    """Rewrite such a CASE as a lookup: by an ENUM of texts or whole numbers, by a list of other constants."""
    if not isinstance(code, exp.Case) or code.this is None:
        return code
    constants = [branch.this for branch in code.args["ifs"]]
    codes = [branch.args["true"] for branch in code.args["ifs"]]
    is_place = [each.name for each in codes] == [str(place) for place in range(len(codes))]
    if all(isinstance(each, exp.Literal) for each in constants):
        key = code.this if all(each.is_string for each in constants) else as_text(code.this)
        result: exp.Expr = enum_code(key, [each.name for each in constants])
        place: exp.Expr = exp.Add(this=exp.cast(result, exp.DType.INT), expression=integer(1))
    else:
        place = function("LIST_POSITION", exp.Array(expressions=constants), code.this)
        result = exp.Sub(this=place, expression=integer(1))
    if not is_place:
        result = function("LIST_EXTRACT", exp.Array(expressions=codes), place)
    otherwise = code.args.get("default")
    return exp.Coalesce(this=result, expressions=[_lookup(otherwise)]) if otherwise else result


SPELLED: Mapping[Spelling, Callable[[str], str]] = {
    Spelling.LOWER: str.lower,
    Spelling.UPPER: str.upper,
    Spelling.DECLARED: str,
}


def columns_like(
    like: str, table: str | None, default: str, wanted: Iterable[str], names: Spelling | None
) -> tuple[str, Mapping[str, str], Mapping[str, pl.DataType]]:
    """Return a table's (or a Parquet file's) source, and the names and types of its columns by those wanted."""
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
    return source, spelled, {name: types[column] for name, column in own.items()}


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

Selection = TypeVar("Selection", bound=exp.Query)

Steps = list[tuple[str, exp.Select]]
"""Names and queries, each over the one before."""


def add_step(steps: Steps, name: str, columns: Iterable[exp.Expr]) -> None:
    """Add a step that computes columns, and has no others, from those of the last step."""
    steps.append((name, exp.select(*columns, copy=False).from_(last_step(steps), copy=False)))


def last_step(steps: Steps) -> exp.Table:
    """Name the last step as the table of another query."""
    return table_reference(steps[-1][0])


def with_steps(query: Selection, steps: Steps) -> Selection:
    """Put the steps before a query that names them."""
    for name, step in steps:
        query = query.with_(identifier(name), as_=step, copy=False)
    return query


def choose_rows(steps: Steps, domain: Domain) -> None:
    """Add steps that leave of each unit the rows that count, where a unit is declared: class, codes and weight."""
    if domain.unit is None:
        return
    units, codes, most = unit_names(domain), _numbered_names(domain, "code"), domain.unit.rows
    weights = [] if domain.weight is None else [WEIGHT]
    is_united = exp.and_(*(exp.not_(is_null(own_column(name))) for name in units), copy=False)
    wide = {name: exp.cast(own_column(name), exp.DType.BIGINT) for name in (CLASS, *codes, *weights)}
    terms: list[exp.Expr] = [times(wide[CLASS], integer(multiplier(0)))]
    for place, (attribute, code) in enumerate(zip(domain.attributes, codes, strict=True), 1):
        number = exp.Coalesce(this=plus(wide[code], integer(1)), expressions=[integer(0)])
        term = times(number, integer(multiplier(place)))
        terms.append(modulo(term, PRIME) if is_wide(attribute, domain) else term)
    terms += [times(plus(wide[name], integer(1)), integer(multiplier(len(codes) + 1))) for name in weights]
    power: exp.Expr = own_column(ORDER)
    for _ in range(4):
        power = modulo(times(power, own_column(ORDER)), PRIME)
    # A row that does not count comes after all that do, whatever its unit.
    last = case([(is_null(own_column(CLASS)), integer(1))], integer(0))
    # Databases sort null differently.
    coded = [exp.Coalesce(this=own_column(name), expressions=[integer(-1)]) for name in codes]
    keys = [last, *_columns(ORDER, CLASS), *coded, *_columns(*weights)]
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


PLACE = "place"


def statistics_query(domain: Domain, kinds: Kinds, table: str | exp.Subquery | None, dialect: Dialect) -> str:
    """Write the query of the table of ``Statistics``, in any order, cells without rows left out.

    Its columns: ``attribute`` (null for the class counts), ``class`` and ``code`` (positions in the domain; code 0 for
    the class counts, 1 for the weights of a class), ``count`` (rows; steps of weight), ``domain`` (the digest).
    """
    rows, few = rows_or_default(table, domain.name, dialect), 0 < len(domain.attributes) <= MOST_SETS
    # The form that measured best: SQLite has no grouping sets, and some databases were not measured.
    if dialect is Dialect.SPARK:
        query = _named_counts(domain, kinds, rows)
    elif few and len(domain.classes) <= MOST_COUNTS and dialect in (Dialect.DUCKDB, Dialect.POSTGRES):
        query = _grouping_sets(domain, kinds, rows, dialect)
    else:
        query = _union_of_groupings(domain, kinds, rows)
    remarks = (
        f"CONFIDENTIAL: the result of this query ({dialect.value}) is exact counts of rows. Keep it as you keep them.",
        f"Domain {domain.name!r}, SHA-256 {digest(domain)}.",
        "Save the result as a CSV file with a header line, then release a model from it:",
        f"  {command('release', 'RESULT.csv', dataset='NAME', output='MODEL.json')}",
        *label_remarks(domain, domain.columns),
    )
    return header(remarks) + render(query, dialect)


MOST_SETS = 64
"""Attributes that have a grouping set each: PostgreSQL counts so many at once in the memory that it has by itself."""

MOST_COUNTS = 8
"""Classes that have a column of counts each."""


def places_query(domain: Domain, kinds: Kinds, table: str) -> str:
    """Write the query of the same counts for Spark: the place of an attribute is 1 or more, of the weights the last."""
    return render(_by_place(domain, kinds, parse_table(table, Dialect.SPARK)), Dialect.SPARK)


def _grouping_sets(domain: Domain, kinds: Kinds, table: exp.Table | exp.Subquery, dialect: Dialect) -> exp.Expr:
    """One grouping set for each attribute, in one pass: of its values where they are few, and the rule comes after."""
    # A class is a column of counts, not a key: PostgreSQL takes what is computed for 200 values, and sorts all rows for
    # each set whose groups would then fill its memory.
    values, names = counted_values(domain, kinds, dialect), _numbered_names(domain, "code")
    steps = coded_rows(domain, kinds, table, values)
    places = [
        (exp.Anonymous(this="GROUPING", expressions=_columns(name)), integer(place))
        for place, name in enumerate(names, 1)
    ]
    numbers: dict[str, exp.Expr] = {"count": exp.Count(this=exp.Star())}
    if domain.weight is not None:
        numbers[WEIGHT] = exp.Sum(this=own_column(WEIGHT))
    classes = range(len(domain.classes))
    of_classes = [
        as_column(
            exp.Filter(this=number.copy(), expression=exp.Where(this=equal(own_column(CLASS), integer(klass)))),
            f"{name}_{klass}",
        )
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
    counts = _cells(domain, last_step(steps), _attribute_name(domain), own_column("code"), _total("count"))
    query: exp.Query = counts.where(is_there("code"), occurs).group_by(*_columns(PLACE, CLASS, "code"))
    if domain.weight is not None:
        weights = _cells(domain, last_step(steps), _classes(), integer(WEIGHT_CODE), _total(WEIGHT))
        weights = weights.where(equal(own_column(PLACE), integer(0)), occurs.copy()).group_by(own_column(CLASS))
        query = exp.union(query, weights, distinct=False, copy=False)
    return with_steps(query, steps)


def counted_values(domain: Domain, kinds: Kinds, dialect: Dialect) -> dict[str, exp.Expr]:
    """Write what is counted in the place of codes: values of columns whose rules tell few apart, by attribute."""
    values: dict[str, exp.Expr] = {}
    for attribute in domain.attributes if domain.unit is None else ():
        column, kind = source_column(attribute.name), kinds.get(attribute.name)
        told_apart = distinguished_range(attribute, pl.Int64()) if kind is Kind.INTEGER else None
        if attribute.missing is Missing.ROW:
            continue
        if told_apart is not None and told_apart[1] - told_apart[0] < MOST_LOOKED_UP:
            # Others are the nearest of these, so that there are no more groups than the domain allows. Null stays null,
            # as it does not under every database's greatest().
            first, last = map(integer, told_apart)
            is_above = exp.GT(this=column.copy(), expression=last)
            bounds = [(below(column.copy(), first), first.copy()), (is_above, last.copy())]
            values[attribute.name] = case(bounds, column)
        elif kind is Kind.BOOLEAN:
            values[attribute.name] = column
        elif kind is Kind.TEXT and dialect is Dialect.POSTGRES:
            # Distinct texts may be as many as rows: it puts them on disk then, which DuckDB may not here.
            values[attribute.name] = as_text(column)
    return values


def _rule(attribute: Attribute, kinds: Kinds, name: str) -> exp.Expr:
    """Write the code of an attribute's value that a column of this name holds."""
    value = _value(attribute, kinds)
    code = grid_code(attribute, value) if isinstance(attribute, Numeric) else value
    return code.transform(lambda node: own_column(name) if isinstance(node, exp.Column) else node, copy=False)


def _cells(domain: Domain, rows: exp.Table, attribute: exp.Expr, code: exp.Expr, count: exp.Expr) -> exp.Select:
    """Select cells of the table of ``Statistics``."""
    cell = [as_column(attribute, "attribute"), own_column(CLASS), as_column(code, "code")]
    return exp.select(*cell, as_column(count.copy(), "count"), as_column(text(digest(domain)), "domain")).from_(rows)


def _total(name: str) -> exp.Expr:
    """Add up a column of counts or weights as 64-bit integers."""
    return exp.cast(exp.Sum(this=own_column(name)), exp.DType.BIGINT)


def _union_of_groupings(domain: Domain, kinds: Kinds, table: exp.Table | exp.Subquery) -> exp.Expr:
    """One grouping for each attribute, of the rows that have a value of it; their codes are computed once."""
    names = _numbered_names(domain, "code")
    steps = coded_rows(domain, kinds, table, {})
    rows = last_step(steps)
    count: exp.Expr = exp.Count(this=exp.Star())
    counts = [_cells(domain, rows, _classes(), integer(0), count).group_by(own_column(CLASS))]
    if domain.weight is not None:
        weights = _cells(domain, rows, _classes(), integer(WEIGHT_CODE), _total(WEIGHT))
        counts.append(weights.group_by(own_column(CLASS)))
    for attribute, code in zip(domain.attributes, names, strict=True):
        cells = _cells(domain, rows, text(attribute.name), own_column(code), count)
        counts.append(cells.where(is_there(code)).group_by(*_columns(CLASS, code)))
    query: exp.Query = exp.union(*counts, distinct=False, copy=False) if len(counts) > 1 else counts[0]
    return with_steps(query, steps)


def _named_counts(domain: Domain, kinds: Kinds, table: exp.Table | exp.Subquery) -> exp.Expr:
    """Select the counts by place, with each attribute's name in place of its number."""
    steps: Steps = [("counted", _by_place(domain, kinds, table))]
    columns = [as_column(_attribute_name(domain), "attribute"), *_columns(CLASS, "code", "count")]
    return with_steps(exp.select(*columns, as_column(text(digest(domain)), "domain")).from_(last_step(steps)), steps)


def _by_place(domain: Domain, kinds: Kinds, table: exp.Table | exp.Subquery) -> exp.Select:
    """One grouping for all attributes, of rows read once: each becomes a row of three numbers per attribute."""
    # A row that does not count has no array of codes, and so becomes no cell; a missing value has no code. (With a
    # filter on the rows, Spark would compute every value twice, and generate a program too long for Java to compile.)
    steps: Steps = [("read", read_values(domain, kinds, table))]
    fits: exp.Expr = exp.and_(*map(is_there, required_columns(domain)))
    codes, weights = code_columns(domain), weight_columns(domain)
    if domain.unit is not None:
        steps = coded_rows(domain, kinds, table)
        fits = is_there(CLASS)
        codes = _columns(*_numbered_names(domain, "code"))
        weights = [] if domain.weight is None else _columns(WEIGHT)
    numbers = [integer(0), *codes, *(integer(WEIGHT_CODE) for _ in weights)]
    array = exp.Array(expressions=[exp.cast(number, exp.DType.BIGINT) for number in numbers])
    cell = exp.Aliases(
        this=exp.Posexplode(this=case([(fits, array)])), expressions=[identifier(PLACE), identifier("code")]
    )
    add_step(steps, "cells", [own_column(CLASS), *weights, cell])
    # The last cell of a row is that of its weight: a row counts there as so many steps.
    steps_or_row = lookup(own_column(PLACE), [(integer(len(codes) + 1), own_column(WEIGHT))], integer(1))
    count = exp.Sum(this=steps_or_row) if weights else exp.Count(this=exp.Star())
    keys = _columns(PLACE, CLASS, "code")
    query = exp.select(*keys, as_column(count, "count")).from_(last_step(steps))
    return with_steps(query.where(is_there("code")).group_by(*keys), steps)


def coded_rows(
    domain: Domain, kinds: Kinds, table: exp.Table | exp.Subquery, values: Mapping[str, exp.Expr] | None = None
) -> Steps:
    """Write the steps to the class, codes and weight of rows: null as the class of one that does not count.

    Where ``values`` are given, each takes the place of an attribute's code, and rows that do not count are left out.
    """
    steps: Steps = [("read", read_values(domain, kinds, table, values or {}))]
    required = [*map(is_there, required_columns(domain))]
    class_ = as_column(case([(exp.and_(*required), own_column(CLASS))]), CLASS) if values is None else own_column(CLASS)
    codes = map(as_column, code_columns(domain, values or {}), _numbered_names(domain, "code"))
    add_step(steps, "coded", [class_, *_columns(*unit_names(domain)), *codes, *weight_columns(domain)])
    if values is not None:
        steps[-1][1].where(*required, copy=False)
    choose_rows(steps, domain)
    return steps


def read_values(
    domain: Domain, kinds: Kinds, table: exp.Table | exp.Subquery, values: Mapping[str, exp.Expr] = MappingProxyType({})
) -> exp.Select:
    """Every row's class, unit, weight, and number or category code of every attribute; null where it has none."""
    source = exp.alias_(table, SOURCE, table=True, quoted=True)
    read = (values.get(attribute.name) or _value(attribute, kinds) for attribute in domain.attributes)
    named = [as_column(value, name) for value, name in zip(read, _numbered_names(domain, "value"), strict=True)]
    units = () if domain.unit is None else domain.unit.columns
    united = [as_column(source_column(name), unit) for name, unit in zip(units, unit_names(domain), strict=True)]
    columns = [as_column(class_code(domain.label, kinds), CLASS), *united, *named]
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


def _classes() -> exp.Expr:
    """Write a null in place of the attribute's name, for counts of classes."""
    return exp.cast(exp.null(), exp.DType.TEXT)


def _attribute_name(domain: Domain) -> exp.Expr:
    """Look up the attribute's name by its place; null for counts and weights of classes."""
    names = [(integer(place), text(attribute.name)) for place, attribute in enumerate(domain.attributes, 1)]
    return lookup(own_column(PLACE), names) if names else _classes()


@singledispatch
def query_sql(query: Query[Any], kinds: Kinds, table: str | exp.Subquery | None, dialect: Dialect) -> str:
    """Write the SQL query whose result ``answer_files.answer_of`` reads."""
    raise TypeError(f"no SQL is registered for {type(query).__name__}")


@query_sql.register
def _cells_sql(query: CellQuery, kinds: Kinds, table: str | exp.Subquery | None, dialect: Dialect) -> str:
    return statistics_query(query.domain, kinds, table, dialect)


# Steps of the queries of all later passes: a row's codes, and the scores that tables of whole numbers give them.

MOST_ARGUMENTS = 100
"""Numbers that are compared at once: SQLite's functions take no more than 127, or 1,000 of late."""

MOST_BRANCHES = 256
"""Steps that become branches; of more, regular ones become a list."""


def over_steps(columns: Iterable[exp.Expr], steps: Steps) -> exp.Select:
    """Write the query of columns over those rows of the last step that count."""
    return with_steps(exp.select(*columns).from_(last_step(steps)).where(is_there(CLASS)), steps)


def greatest(numbers: Sequence[exp.Expr], dialect: Dialect) -> exp.Expr:
    """Write the largest of numbers that are never null, without the tests for null that sqlglot adds for DuckDB."""
    if len(numbers) == 1:  # SQLite takes the largest of one number for that of all rows
        return numbers[0]
    if len(numbers) > MOST_ARGUMENTS:
        parts = range(0, len(numbers), MOST_ARGUMENTS)
        numbers = [greatest(numbers[start : start + MOST_ARGUMENTS], dialect) for start in parts]
    wide = [exp.cast(number.copy(), exp.DType.BIGINT) for number in numbers]
    return exp.Greatest(this=wide[0], expressions=wide[1:], ignore_nulls=dialect is Dialect.DUCKDB)


def attribute_score(table: ScoreTable, domain: Domain, dialect: Dialect) -> exp.Expr:
    """Write the score of one attribute, by its code among ``coded_rows``, as a 64-bit integer."""
    place = next(place for place, each in enumerate(domain.attributes) if each.name == table.attribute)
    column, codes = f"code_{place}", number_of_codes(domain.attributes[place])
    missing = (is_null(own_column(column)), integer(table.missing))
    starts, scores = table.starts, table.scores
    if len(starts) > MOST_BRANCHES and len(runs := _runs(starts, codes)) <= MOST_BRANCHES:
        places = [_place(column, run, starts) for run in runs]
        firsts = [integer(starts[run.start]) for run in runs[1:]]
        score = number_at(scores, by_start(own_column(column), firsts, places), dialect)
    else:
        # Neighbouring steps of one score are one step.
        merged = [next(group) for _, group in groupby(zip(starts, scores, strict=True), lambda step: step[1])]
        firsts = [integer(start) for start, _ in merged[1:]]
        score = by_start(own_column(column), firsts, [integer(number) for _, number in merged])
    return exp.cast(case([missing], score), exp.DType.BIGINT)


def _runs(starts: Sequence[int], codes: int) -> list[range]:
    """Divide steps into runs of one width, the last step of a run at most as wide as the others."""
    runs, first = [], 0
    ends = [*starts[1:], codes]
    while first < len(starts):
        last, width = first, ends[first] - starts[first]
        while last + 1 < len(starts) and ends[last] - starts[last] == width >= ends[last + 1] - starts[last + 1]:
            last += 1
        runs.append(range(first, last + 1))
        first = last + 1
    return runs


def _place(column: str, run: range, starts: Sequence[int]) -> exp.Expr:
    """Write the place of a code's step within a run of steps of one width."""
    if len(run) == 1:
        return integer(run.start)
    # Exact: codes are below 2^33, so that no quotient is rounded up to a whole number.
    width = starts[run.start + 1] - starts[run.start]
    steps = over(as_double(minus(own_column(column), integer(starts[run.start]))), double(width))
    return plus(integer(run.start), exp.cast(exp.Floor(this=steps), exp.DType.BIGINT))


SCORE, KEY, LARGEST, MARGIN, BEST, BIN, GROUP = "score", "key", "largest", "margin", "best", "bin", "group"


@query_sql.register
def score_counts_query(scores: ClassScores, kinds: Kinds, table: str | exp.Subquery | None, dialect: Dialect) -> str:
    """Write the query of ``ScoreCounts``: ``class``, ``bin``, ``count``, and digests ``domain`` and ``scores``."""
    domain, factor = scores.domain, scores.factor
    steps = coded_rows(domain, kinds, rows_or_default(table, domain.name, dialect))
    keys = []
    for klass in scores.compared:
        key = _class_score(scores, klass, dialect)
        key = key if factor == 1 else plus(times(key, integer(factor)), integer(factor - 1 - klass))
        keys.append(as_column(key, f"{KEY}_{klass}"))
    own = [as_column(_class_score(scores, scores.largest, dialect), SCORE)] if isinstance(scores, Margins) else []
    grouped = [attribute_score(each, domain, dialect) for each in scores.group_tables]
    group = [as_column(sum_of(grouped), GROUP)] if grouped else []
    weight = [own_column(WEIGHT)] if scores.weighted else []
    kept = [CLASS, *(each.alias for each in group), *(each.name for each in weight)]
    add_step(steps, "scored", [own_column(CLASS), *group, *weight, *keys, *own])
    largest = as_column(greatest([own_column(key.alias) for key in keys], dialect), LARGEST)
    add_step(steps, "compared", [*_columns(*kept), largest, *(own_column(each.alias) for each in own)])
    # Twice, since the remainder of a negative number may be negative.
    after = modulo(plus(modulo(own_column(LARGEST), factor), integer(factor)), factor)
    place: exp.Expr = minus(integer(factor - 1), after)
    if isinstance(scores, Margins):
        score = own_column(SCORE) if factor == 1 else times(integer(factor), own_column(SCORE))
        best = [as_column(place, BEST)] if scores.columns > 2 else []
        margin = as_column(minus(own_column(LARGEST), score), MARGIN)
        add_step(steps, "best", [*map(own_column, kept), margin, *best])
        place = _margin_bin(scores)
    if grouped:
        place = plus(times(own_column(GROUP), integer(scores.group_bins)), place)
    add_step(steps, "placed", [own_column(CLASS), *weight, as_column(place, BIN)])
    count = exp.cast(exp.Sum(this=weight[0]), exp.DType.BIGINT) if weight else exp.Count(this=exp.Star())
    columns = [
        own_column(CLASS),
        own_column(BIN),
        as_column(count, "count"),
        as_column(text(digest(domain)), "domain"),
        as_column(text(scores.digest), "scores"),
    ]
    query = over_steps(columns, steps).group_by(own_column(CLASS), own_column(BIN))
    remarks = (
        f"CONFIDENTIAL: the result of this query ({dialect.value}) is exact counts of rows. Keep it as you keep them.",
        f"Domain {domain.name!r}, SHA-256 {digest(domain)}; scores of a model, SHA-256 {scores.digest}.",
        "Save the result as a CSV file with a header line, then release the weights of the model from it:",
        f"  {command('release', 'RESULT.csv', given='MODEL.json', output='CALIBRATED.json')}",
    )
    return header(remarks) + render(query, dialect)


def _class_score(scores: ClassScores, klass: int, dialect: Dialect) -> exp.Expr:
    """Write the score of a class."""
    tables = scores.by_class[klass]
    return sum_of([integer(scores.offsets[klass]), *(attribute_score(each, scores.domain, dialect) for each in tables)])


def _margin_bin(scores: Margins) -> exp.Expr:
    """Write the bin of a row by the margin of keys: that of the scores times the factor, or more by less than it."""
    factor = scores.factor
    edges = [
        (below(own_column(MARGIN), integer(factor * edge)), integer(place)) for place, edge in enumerate(scores.edges)
    ]
    range_ = case(edges, integer(len(edges)))
    if scores.columns == 2:
        return range_
    own = equal(own_column(CLASS), integer(scores.largest))
    other = equal(own_column(CLASS), own_column(BEST))
    return plus(range_, case([(own, integer(0)), (other, integer(0))], integer(scores.ranges)))


TOTAL, SIZE, AGAINST, SCALE, FACTOR = "total", "size", "against", "scale", "factor"
DOMAIN, GRADIENT = "domain", "gradient"
"""Columns of the digests of what was summed up, by which several results are added up."""


@query_sql.register
def gradients_query(query: GradientQuery, kinds: Kinds, table: str | exp.Subquery | None, dialect: Dialect) -> str:
    """Write the query of ``GradientSums``: one row of ``sum_columns``, and digests ``domain`` and ``gradient``."""
    names = [f"score_{place}" for place in range(len(query.tables))]
    kept, domain = [CLASS, *names], query.domain
    steps = coded_rows(domain, kinds, rows_or_default(table, domain.name, dialect))
    scores = [attribute_score(each, domain, dialect) for each in query.tables]
    add_step(steps, "scored", [own_column(CLASS), *map(as_column, scores, names)])
    products = [times(integer(weight), own_column(name)) for weight, name in zip(query.weights, names, strict=True)]
    total = sum_of([integer(query.log_odds), *products])
    size = sum_of([exp.Abs(this=own_column(name)) for name in names])
    add_step(steps, "totalled", [*map(own_column, kept), as_column(total, TOTAL), as_column(size, SIZE)])
    within = (exp.LTE(this=own_column(SIZE), expression=integer(query.bound)), integer(CERTAIN))
    scale = case([within], _quotient(integer(query.bound * CERTAIN), own_column(SIZE)))  # what part the row counts for
    compared = [as_column(_against(dialect), AGAINST), as_column(scale, SCALE)]
    add_step(steps, "compared", [*map(own_column, kept), own_column(TOTAL), *compared])
    add_step(steps, "scaled", [*map(own_column, kept), as_column(_factor(), FACTOR)])
    sums = [*(times(own_column(FACTOR), own_column(name)) for name in names), times(own_column(FACTOR), integer(UNITS))]
    weight_columns, row_columns = sum_columns(query)
    rows = [
        exp.cast(case([(equal(own_column(CLASS), integer(klass)), integer(1))], integer(0)), exp.DType.BIGINT)
        for klass, _ in enumerate(row_columns)
    ]
    digests = [as_column(text(digest(domain)), DOMAIN), as_column(text(query.digest), GRADIENT)]
    columns = [*map(_sum, (*sums, *rows), (*weight_columns, *row_columns)), *digests]
    return render(over_steps(columns, steps), dialect)


def _against(dialect: Dialect) -> exp.Expr:
    """Write the probability of the class that the score speaks against."""
    values = probabilities()
    steps, last = _quotient(exp.Abs(this=own_column(TOTAL)), integer(UNITS)), integer(len(values) - 1)
    return number_at(values, case([(exp.GT(this=steps, expression=last), last.copy())], steps.copy()), dialect)


def _factor() -> exp.Expr:
    """Write what the row's scores are multiplied by, rounded down in size whatever its sign."""
    second, favoured = equal(own_column(CLASS), integer(1)), at_least(own_column(TOTAL), integer(0))
    # The probability of the class which the row is not of.
    others = minus(integer(CERTAIN), own_column(AGAINST))
    error = case(
        [
            (exp.And(this=second, expression=favoured), own_column(AGAINST)),
            (exp.Or(this=second.copy(), expression=favoured.copy()), others),
        ],
        own_column(AGAINST),
    )
    sign = case([(second.copy(), integer(1))], integer(-1))
    return times(_quotient(times(error, own_column(SCALE)), integer(CERTAIN)), sign)


def _quotient(number: exp.Expr, by: exp.Expr) -> exp.Expr:
    """Write the quotient of two whole numbers from 0 on, rounded down.

    An exact quotient a/b that is no whole number is at least 1/b below the next one, and with a below 2^53 a 64-bit
    float is off by less than that: none is rounded up to a whole number.
    """
    divided = over(as_double(number), as_double(by))
    return exp.cast(exp.Floor(this=divided), exp.DType.BIGINT)


def _sum(number: exp.Expr, name: str) -> exp.Expr:
    """Write the sum over all rows as a 64-bit integer; 0 if there is no row."""
    whole = exp.Coalesce(this=exp.Sum(this=number), expressions=[integer(0)])
    return as_column(exp.cast(whole, exp.DType.BIGINT), name)
