"""The statistics of a table as one query, run by the database that holds it.

CONFIDENTIAL: the result of the query is exact counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpnb_columnar.dialects.nodes import (
    SOURCE,
    case,
    identifier,
    integer,
    is_null,
    lookup,
    named,
    own_column,
    text,
)
from dpnb_columnar.dialects.rendering import header, parse_table, render, rows_or_default
from dpnb_columnar.dialects.rules import Kinds, category_code, class_code, grid_code, number, weight_steps
from dpnb_columnar.dialects.unit_rows import Steps, add_step, choose_rows, last_step, unit_values, with_steps
from dpnb_columnar.domain import Domain, Missing, Numeric, digest
from dpnb_columnar.domain.declared_domain import WEIGHT_CODE
from dpnb_columnar.domain.value_labels import label_remarks
from dpnb_columnar.rows.database_address import Dialect
from dpnb_columnar.rows.unit_order import CLASS, WEIGHT, unit_names

PLACE = "place"


def statistics_query(domain: Domain, kinds: Kinds, table: str | exp.Subquery | None, dialect: Dialect) -> str:
    """Write the query whose result is the table of ``Statistics``, in any order, cells without rows left out.

    Its columns: ``attribute`` (text, null for the class counts), ``class`` and ``code`` (positions in the domain; code
    0 for the class counts, 1 for the weights of a class), ``count`` (rows; steps of weight), ``domain`` (text: the
    domain's digest, by which a file of it is recognised). The integers are those of the local engine.

    Args:
        domain: The declared domain.
        kinds: What the columns hold; see ``rules``.
        table: The table, as ``rendering.rows_or_default`` reads it; None for the domain's name.
        dialect: The database.

    Raises:
        UsageError: if the name is not the name of a table.
    """
    table_of_rows = rows_or_default(table, domain.name, dialect)
    query = (_exploded if dialect is Dialect.SPARK else _united)(domain, kinds, table_of_rows)
    return header(_remarks(domain, dialect)) + render(query, dialect)


def places_query(domain: Domain, kinds: Kinds, table: str) -> str:
    """Write the query of the same counts for Spark in numbers alone: columns ``place``, ``class``, ``code``, ``count``.

    ``place`` is 0 for the class counts, one more than an attribute's position in the domain for its cells, and one more
    than that of the last attribute for the weights, whose code is 1.

    Args:
        domain: The declared domain.
        kinds: What the columns hold; see ``rules``.
        table: Name of the table, as ``rendering.parse_table`` reads it.

    Raises:
        UsageError: if the name is not the name of a table.
    """
    return render(_by_place(domain, kinds, parse_table(table, Dialect.SPARK)), Dialect.SPARK)


def _united(domain: Domain, kinds: Kinds, table: exp.Table | exp.Subquery) -> exp.Expr:
    """One grouping for each attribute, of the rows that have a value of it; their codes are computed once."""
    names = _numbered(domain, "code")
    codes = [named(code, name) for code, name in zip(codes_read(domain), names, strict=True)]
    steps: Steps = [("read", read_values(domain, kinds, table))]
    add_step(steps, "coded", [own_column(CLASS), *map(own_column, unit_names(domain)), *codes, *weights_read(domain)])
    steps[-1][1].where(*map(is_there, needed(domain)), copy=False)
    choose_rows(steps, domain)
    rows = last_step(steps)
    counts = [_counts(domain, rows, _classes(), None)]
    if domain.weight is not None:
        counts.append(_weights(domain, rows))
    counts += [
        _counts(domain, rows, text(attribute.name), code)
        for attribute, code in zip(domain.attributes, names, strict=True)
    ]
    query: exp.Query = exp.union(*counts, distinct=False, copy=False) if len(counts) > 1 else counts[0]
    return with_steps(query, steps)


def _exploded(domain: Domain, kinds: Kinds, table: exp.Table | exp.Subquery) -> exp.Expr:
    """Select the counts by place, with each attribute's name in place of its number."""
    names = [(integer(place), text(attribute.name)) for place, attribute in enumerate(domain.attributes, 1)]
    attribute = lookup(own_column(PLACE), names) if names else _classes()
    return (
        exp.select(
            named(attribute, "attribute"),
            *map(own_column, (CLASS, "code", "count")),
            named(text(digest(domain)), "domain"),
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
    fits: exp.Expr = exp.and_(*map(is_there, needed(domain)))
    codes, weights = codes_read(domain), weights_read(domain)
    if domain.unit is not None:
        steps = coded_rows(domain, kinds, table)
        fits = is_there(CLASS)
        codes = [own_column(name) for name in _numbered(domain, "code")]
        weights = [own_column(WEIGHT) for _ in weights]
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
        exp.select(*keys, named(count, "count"))
        .from_(exp.Table(this=identifier("cells")))
        .where(is_there("code"))
        .group_by(*keys)
    )
    return with_steps(query, steps)


def coded_rows(domain: Domain, kinds: Kinds, table: exp.Table | exp.Subquery) -> Steps:
    """Write the steps that compute every row's class, null where it does not count, and ``code_0``, ``code_1``, ...

    Where the domain declares a weight, also its steps, ``weight``; where it declares a unit, the last step has those
    rows alone that count.

    Args:
        domain: The domain; the codes are of its attributes, in order.
        kinds: What the columns hold; see ``rules``.
        table: The table.
    """
    counts = case([(exp.and_(*map(is_there, needed(domain))), own_column(CLASS))])
    codes = [named(code, name) for code, name in zip(codes_read(domain), _numbered(domain, "code"), strict=True)]
    steps: Steps = [("read", read_values(domain, kinds, table))]
    add_step(
        steps, "coded", [named(counts, CLASS), *map(own_column, unit_names(domain)), *codes, *weights_read(domain)]
    )
    choose_rows(steps, domain)
    return steps


def read_values(domain: Domain, kinds: Kinds, table: exp.Table | exp.Subquery) -> exp.Select:
    """Every row's class, unit, weight, and number or category code of every attribute; null where it has none."""
    source = exp.alias_(table, SOURCE, table=True, quoted=True)
    read = (
        number(attribute.name, kinds.get(attribute.name), attribute.missing_values)
        if isinstance(attribute, Numeric)
        else category_code(attribute, kinds.get(attribute.name))
        for attribute in domain.attributes
    )
    values = [named(value, name) for value, name in zip(read, _numbered(domain, "value"), strict=True)]
    columns = [named(class_code(domain.label, kinds), CLASS), *unit_values(domain), *values]
    if domain.weight is not None:
        columns.append(named(number(domain.weight.column, kinds.get(domain.weight.column)), WEIGHT))
    return exp.select(*columns, copy=False).from_(source, copy=False)


def codes_read(domain: Domain) -> list[exp.Expr]:
    """Write the code of every attribute, from the columns of ``read_values``."""
    return [
        grid_code(attribute, own_column(value)) if isinstance(attribute, Numeric) else own_column(value)
        for attribute, value in zip(domain.attributes, _numbered(domain, "value"), strict=True)
    ]


def weights_read(domain: Domain) -> list[exp.Expr]:
    """Write the row's weight in steps, from the columns of ``read_values``; nothing where the domain has no weight."""
    return [] if domain.weight is None else [named(weight_steps(domain.weight, own_column(WEIGHT)), WEIGHT)]


def _numbered(domain: Domain, name: str) -> list[str]:
    return [f"{name}_{position}" for position in range(len(domain.attributes))]


def needed(domain: Domain) -> list[str]:
    """Name the columns of ``read_values`` that a row needs a value of to count."""
    values = zip(domain.attributes, _numbered(domain, "value"), strict=True)
    return [CLASS, *(value for attribute, value in values if attribute.missing is Missing.ROW)]


def is_there(name: str) -> exp.Expr:
    """Test whether a column of an earlier step has a value."""
    return exp.not_(is_null(own_column(name)))


def _counts(domain: Domain, rows: exp.Table, attribute: exp.Expr, code: str | None) -> exp.Select:
    """Rows of every class and code of one attribute, or of every class, in a step of the query."""
    keys = [own_column(CLASS)] if code is None else [own_column(CLASS), own_column(code)]
    return (
        exp.select(
            named(attribute, "attribute"),
            own_column(CLASS),
            named(integer(0) if code is None else own_column(code), "code"),
            named(exp.Count(this=exp.Star()), "count"),
            named(text(digest(domain)), "domain"),
        )
        .from_(rows.copy())
        .where(*([] if code is None else [is_there(code)]))
        .group_by(*keys)
    )


def _weights(domain: Domain, rows: exp.Table) -> exp.Select:
    """Steps of weight of every class, in a step of the query."""
    return (
        exp.select(
            named(_classes(), "attribute"),
            own_column(CLASS),
            named(integer(WEIGHT_CODE), "code"),
            named(exp.cast(exp.Sum(this=own_column(WEIGHT)), exp.DType.BIGINT), "count"),
            named(text(digest(domain)), "domain"),
        )
        .from_(rows.copy())
        .group_by(own_column(CLASS))
    )


def _classes() -> exp.Expr:
    """Write a null in place of the attribute's name, for counts of classes."""
    return exp.cast(exp.null(), exp.DType.TEXT)


def _remarks(domain: Domain, dialect: Dialect) -> Sequence[str]:
    return (
        f"CONFIDENTIAL: the result of this query ({dialect.value}) is exact counts of rows. Keep it as you keep them.",
        f"Domain {domain.name!r}, SHA-256 {digest(domain)}.",
        "Save the result as a CSV file with a header line, then release a model from it:",
        "  dpnb-columnar release RESULT.csv --dataset NAME --output MODEL.json",
        *label_remarks(domain, domain.columns),
    )
