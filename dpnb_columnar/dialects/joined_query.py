"""The scores of rows by joins with a table of the model's terms: the query stays small however many cells it has.

A category is looked up by its text, and by its number where that finds nothing: each is one join with the rows of the
table that belong to the attribute. A normal attribute is a formula, as in ``scoring_query``.

*The table*: of every category and of every bin, one row per class. Like the model, it is public. Its columns are in
``COLUMNS``:

* ``model``: ``model_key``, so that a table may hold several models, and a query finds its own;
* ``attribute``: the attribute's name;
* ``value``: the category as declared, or a grid code of a numeric attribute with bins (``listed_codes``);
* ``number``: what ``value`` matches by where it is a number (001, 1 and 1.0 are one); else null;
* ``class``: the class's name;
* ``term``: the weighted log-likelihood, up to a number that all classes have in common.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from sqlglot import exp

from dpnb_columnar.dialects.nodes import (
    CommonTableExpression,
    Step,
    as_column,
    as_text,
    at_least,
    case,
    double,
    equal,
    identifier,
    integer,
    is_null,
    number_or_null,
    own_column,
    source_column,
    sum_of,
    table_reference,
    text,
)
from dpnb_columnar.dialects.rendering import header, parse_table, render
from dpnb_columnar.dialects.rules import Kinds, number
from dpnb_columnar.dialects.sql_terms import (
    STEP_PREFIX,
    numbered_columns,
    prepared_value,
    step_column,
    terms,
)
from dpnb_columnar.domain import Attribute, Categorical, Missing, Numeric
from dpnb_columnar.domain.column_kinds import Kind, category_texts, number_keys
from dpnb_columnar.errors import UsageError
from dpnb_columnar.model.document import to_document, to_json
from dpnb_columnar.model.likelihood import bin_starts, cell_terms, class_terms, missing_terms
from dpnb_columnar.model.parameters import Histogram, NaiveBayes, Normal, Table
from dpnb_columnar.rows.sources import Dialect
from dpnb_columnar.runtime.outputs import atomic_output

COLUMNS = {
    "model": exp.DType.TEXT,
    "attribute": exp.DType.TEXT,
    "value": exp.DType.TEXT,
    "number": exp.DType.DOUBLE,
    "class": exp.DType.TEXT,
    "term": exp.DType.DOUBLE,
}
"""The table's columns and their types."""

SUFFIXES = (".sql", ".csv", ".parquet")
"""Ends of the names of its files."""

MOST_LISTED = 1024
"""Grid codes of a numeric attribute that are listed one by one; of one with more, the first code of every bin is."""

ROWS_PER_INSERT = 500

Row = tuple[str, str, str, float | None, str, float]


def model_key(model: NaiveBayes) -> str:
    """Compute what tells a model from others: the first 16 digits of the SHA-256 of its JSON file."""
    return hashlib.sha256(to_json(to_document(model)).encode()).hexdigest()[:16]


def listed_codes(attribute: Numeric, parameters: Histogram) -> Sequence[int]:
    """List the grid codes of an attribute with bins that have rows: all, or the first of every bin.

    Bins that begin with the same code, since no code can reach the earlier ones, are listed once.
    """
    if attribute.cells < MOST_LISTED:
        return range(attribute.cells + 1)
    starts = [0, *bin_starts(attribute, parameters.edges)]
    return sorted({start for start in starts if start <= attribute.cells})


def table_rows(model: NaiveBayes) -> Iterator[Row]:
    """List the rows of the table, in the order of ``COLUMNS``."""
    key = model_key(model)
    for parameters, weight in zip(model.attributes, model.weights, strict=True):
        if isinstance(parameters, Normal):
            continue
        attribute = model.domain[parameters.attribute]
        classes = list(zip(model.domain.classes, cell_terms(parameters, weight), strict=True))
        for value, exact, cell in _cells(attribute, parameters):
            yield from ((key, attribute.name, value, exact, name, row[cell]) for name, row in classes)


def _cells(attribute: Attribute, parameters: Table | Histogram) -> Iterator[tuple[str, float | None, int]]:
    """List an attribute's values, with the number that each matches by, and its category's or bin's position."""
    if isinstance(attribute, Categorical):
        yield from category_texts(attribute)
        return
    assert isinstance(parameters, Histogram)
    starts = [0, *bin_starts(attribute, parameters.edges)]
    place = 0
    for code in listed_codes(attribute, parameters):
        while place + 1 < len(starts) and starts[place + 1] <= code:
            place += 1
        yield str(code), float(code), place


def table_statements(model: NaiveBayes, table: str, dialect: Dialect) -> Iterator[str]:
    """Write the statements that create the table and fill it, without semicolons."""
    columns = [exp.ColumnDef(this=exp.to_identifier(name), kind=type_.into_expr()) for name, type_ in COLUMNS.items()]
    create = exp.Create(this=exp.Schema(this=parse_table(table, dialect), expressions=columns), kind="TABLE")
    target = exp.Schema(this=parse_table(table, dialect), expressions=list(map(exp.to_identifier, COLUMNS)))
    remark = f"Terms of a model of {model.domain.name!r} ({dialect.value}), for the query that joins this table."
    yield header([remark]) + render(create, dialect)
    rows = (exp.Tuple(expressions=list(map(_literal, row))) for row in table_rows(model))
    insert = f"INSERT INTO {render(target, dialect, pretty=False)} VALUES"
    while inserted := [render(row, dialect, pretty=False) for row in islice(rows, ROWS_PER_INSERT)]:
        yield f"{insert}\n" + ",\n".join(inserted)


def _literal(cell: str | float | None) -> exp.Expr:
    if cell is None:
        return exp.null()
    if isinstance(cell, str):
        return exp.Literal.string(cell)
    number = exp.Literal.number(repr(abs(cell)))
    return exp.Neg(this=number) if cell < 0 else number


def write_table(model: NaiveBayes, output: Path, table: str, dialect: Dialect, *, overwrite: bool = False) -> None:
    """Write the table as statements of a dialect, as CSV with a header line, or as Parquet, by the name's suffix.

    Args:
        output: File to write; confidential if the model has no guarantee.
    """
    suffix = check_suffix(output)
    with atomic_output(output, overwrite=overwrite, confidential=not model.guarantee.private) as partial:
        if suffix == ".sql":
            with partial.open("w", encoding="utf-8") as file:
                file.writelines(f"{statement};\n" for statement in table_statements(model, table, dialect))
        elif suffix == ".csv":
            with partial.open("w", encoding="utf-8", newline="") as file:
                file.writelines(f"{','.join(map(_csv_cell, row))}\n" for row in (COLUMNS, *table_rows(model)))
        else:
            _write_parquet(model, partial)


def _csv_cell(value: str | float | None) -> str:
    """Write a cell of CSV: every text in double quotes, so that no reader which guesses takes others for quotes."""
    if value is None:
        return ""
    return f'"{value.replace(chr(34), 2 * chr(34))}"' if isinstance(value, str) else repr(value)


def check_suffix(output: Path) -> str:
    """Return the suffix of the table's file."""
    suffix = output.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{output}: the table is written as {', '.join(SUFFIXES)}; end its name in one of them")
    return suffix


def _write_parquet(model: NaiveBayes, partial: Path) -> None:
    import pyarrow as pa

    from dpnb_columnar.runtime.outputs import parquet_writer

    types = {exp.DType.TEXT: pa.string(), exp.DType.DOUBLE: pa.float64()}
    schema = pa.schema([(name, types[type_]) for name, type_ in COLUMNS.items()])
    columns = list(zip(*table_rows(model), strict=True)) or [()] * len(COLUMNS)
    with parquet_writer(partial, schema) as writer:
        writer.write_table(
            pa.table([pa.array(c, t) for c, t in zip(columns, schema.types, strict=True)], schema=schema)
        )


TERMS = f"{STEP_PREFIX}terms"
"""Name of the query that has a row per attribute and value of the table, and a column per class."""

VALUE, NUMBER = "value", "number"
"""Columns of the table that rows are looked up by."""

MATCHED_AS_NUMBERS = frozenset({Kind.INTEGER, Kind.UNSIGNED, Kind.FLOAT, Kind.DECIMAL})
"""Kinds of columns whose categories are found by their number alone."""


def model_terms(model: NaiveBayes, table: str, dialect: Dialect) -> CommonTableExpression:
    """Select the model's terms of the table, a column per class."""
    keys = [_column("attribute"), exp.Coalesce(this=as_text(_column(VALUE)), expressions=[text("")]), _column(NUMBER)]
    columns = [
        exp.Max(this=case([(equal(_column("class"), text(name)), _column("term"))])) for name in model.domain.classes
    ]
    query = (
        exp.select(
            *(as_column(key.copy(), name) for key, name in zip(keys, ("attribute", VALUE, NUMBER), strict=True)),
            *(as_column(column, f"term_{klass}") for klass, column in enumerate(columns)),
        )
        .from_(parse_table(table, dialect))
        .where(equal(_column("model"), text(model_key(model))))
        .group_by(*keys)
    )
    return CommonTableExpression(TERMS, query)


def _column(name: str) -> exp.Column:
    """Name a column of the table, without quotes: a database that folds names has folded it in the table as well."""
    return exp.column(name)


def is_complete(model: NaiveBayes, table: str, dialect: Dialect) -> exp.Expr:
    """Test that the table holds the model's rows, each once: scores would be wrong, and look right, without some."""
    rows = exp.select(exp.Count(this=exp.Star())).from_(parse_table(table, dialect))
    counted = rows.where(equal(_column("model"), text(model_key(model))))
    return equal(exp.Subquery(this=counted), integer(sum(1 for _ in table_rows(model))))


@dataclass(frozen=True, slots=True)
class JoinedTerms:
    """The terms of an attribute with cells, looked up in the table.

    Attributes:
        place: Its place in the model.
        attribute: The attribute as declared.
        parameters: Its parameters.
        weight: Its weight.
        kind: What its column holds.
    """

    place: int
    attribute: Attribute
    parameters: Table | Histogram
    weight: float
    kind: Kind | None

    @property
    def columns(self) -> list[str]:
        """The columns of the table that a row is looked up by, one after the other."""
        if not isinstance(self.attribute, Categorical) or self.kind in MATCHED_AS_NUMBERS:
            return [NUMBER]
        if self.kind in (Kind.TEXT, None) and number_keys(self.attribute.members):
            return [VALUE, NUMBER]  # by text first, as ``rules.category_code``: only other texts are read as numbers
        return [VALUE]

    def read(self) -> exp.Expr:
        """Read from the row what its keys are made of."""
        name = self.attribute.name
        if isinstance(self.attribute, Numeric):
            return number(name, self.kind, self.attribute.missing_values)
        if self.kind in MATCHED_AS_NUMBERS:
            return number(name, self.kind)
        column = source_column(name)
        if self.kind is Kind.BOOLEAN:
            return case([(column, text("true")), (exp.Not(this=column.copy()), text("false"))])
        return column if self.kind is None else as_text(column)

    def term_queries(self) -> Iterator[CommonTableExpression]:
        """Select the attribute's terms, with each column that a row is looked up by."""
        classes = [f"term_{klass}" for klass in range(len(self.parameters.probability))]
        for column in self.columns:
            query = exp.select(*map(own_column, [column, *classes])).from_(table_reference(TERMS))
            query = query.where(equal(own_column("attribute"), text(self.attribute.name)))
            yield CommonTableExpression(self._alias(column), query)

    def joins(self) -> Iterator[exp.Join]:
        """Join them to the step that holds the attribute's value."""
        for column in self.columns:
            key = self._key(column)
            if column == NUMBER and VALUE in self.columns:
                key = case([(is_null(self._term(VALUE, 0)), key)])
            table = table_reference(self._alias(column))
            yield exp.Join(this=table, side="LEFT", on=equal(self._joined_column(column, column), key))

    def terms(self) -> list[exp.Expr]:
        """Return a term per class; null where the attribute is left out of the row."""
        if isinstance(self.parameters, Table):
            with_missing = isinstance(self.attribute, Categorical) and self.attribute.missing is Missing.CATEGORY
            missing = [row[-1] for row in cell_terms(self.parameters, self.weight)] if with_missing else None
        else:
            missing = missing_terms(self.parameters, self.weight)
        terms: list[exp.Expr] = []
        for klass in range(len(self.parameters.probability)):
            candidates: list[exp.Expr] = [self._term(column, klass) for column in self.columns]
            candidates += [] if missing is None else [double(missing[klass])]
            terms.append(
                exp.Coalesce(this=candidates[0], expressions=candidates[1:]) if len(candidates) > 1 else candidates[0]
            )
        return terms

    def _key(self, column: str) -> exp.Expr:
        """Compute what a row is looked up by."""
        if isinstance(self.parameters, Histogram):
            assert isinstance(self.attribute, Numeric)
            code, codes = step_column(f"value_{self.place}"), listed_codes(self.attribute, self.parameters)
            if len(codes) == self.attribute.cells + 1:
                return code
            return case((at_least(code.copy(), integer(start)), integer(start)) for start in reversed(codes))
        read = step_column(f"read_{self.place}")
        if column == NUMBER:
            # NaN is no number of the table, so it needs no test here.
            return read if self.kind in MATCHED_AS_NUMBERS else number_or_null(as_text(read) if self.kind else read)
        return as_text(read) if self.kind is None else read

    def _alias(self, column: str) -> str:
        return f"{STEP_PREFIX}{column}_{self.place}"

    def _joined_column(self, column: str, name: str) -> exp.Column:
        return exp.column(identifier(name), table=identifier(self._alias(column)))

    def _term(self, column: str, klass: int) -> exp.Column:
        return self._joined_column(column, f"term_{klass}")


def joined_steps(model: NaiveBayes, kinds: Kinds, dialect: Dialect) -> tuple[list[CommonTableExpression], list[Step]]:
    """Write the steps from a row's columns to the classes' scores, and the queries that they join but the first.

    The value of an attribute is null where it is left out of the row.
    """
    given: list[CommonTableExpression] = []
    joins: list[exp.Join] = []
    read, prepared, values = [], [], []
    said: list[list[exp.Expr]] = []
    for place, (parameters, weight) in enumerate(zip(model.attributes, model.weights, strict=True)):
        attribute, kind = model.domain[parameters.attribute], kinds.get(parameters.attribute)
        value = f"{STEP_PREFIX}value_{place}"
        if isinstance(parameters, Normal):
            assert isinstance(attribute, Numeric)
            read.append(number(attribute.name, kind, attribute.missing_values))
            classes = terms(attribute, parameters, own_column(value), weight, dialect)
            if missing := missing_terms(parameters, weight):
                classes = [
                    exp.Coalesce(this=term, expressions=[double(without)])
                    for term, without in zip(classes, missing, strict=True)
                ]
        else:
            joined = JoinedTerms(place, attribute, parameters, weight, kind)
            given += joined.term_queries()
            joins += joined.joins()
            read.append(joined.read())
            classes = joined.terms()
        if isinstance(attribute, Numeric):
            assert not isinstance(parameters, Table)
            prepared.append(as_column(prepared_value(attribute, parameters, step_column(f"read_{place}")), value))
        else:
            values.append(as_column(classes[0].copy(), value))
        said.append([exp.Coalesce(this=term, expressions=[double(0)]) for term in classes])
    first = (
        [Step("rows_read", numbered_columns("read", read)), Step("rows_placed", prepared)] if model.attributes else []
    )
    summands = zip(map(double, class_terms(model)), *said, strict=True)
    joint = numbered_columns("joint", (sum_of(terms) for terms in summands))
    return given, [*first, Step("rows_joint", [*values, *joint], joins)]
