"""A model's terms as a table that a query joins: of every category and of every bin, one row per class.

Like the model, it is public. Its columns are in ``COLUMNS``:

* ``model``: ``model_key``, so that a table may hold several models, and a query finds its own;
* ``attribute``: the attribute's name;
* ``value``: the category as declared, or a grid code of a numeric attribute with bins (``listed_codes``);
* ``number``: what ``value`` matches by where it is a number (001, 1 and 1.0 are one); else null;
* ``class``: the class's name;
* ``term``: the weighted log-likelihood, up to a number that all classes have in common.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from sqlglot import exp

from dpnb_columnar.dialects.rendering import header, parse_table, render
from dpnb_columnar.domain import Attribute, Categorical, Numeric
from dpnb_columnar.domain.database_address import Dialect
from dpnb_columnar.domain.numbers import declared_number
from dpnb_columnar.errors import UsageError
from dpnb_columnar.model.likelihood import bin_starts, cell_terms
from dpnb_columnar.model.model_document import to_document, to_json
from dpnb_columnar.model.parameters import Histogram, NaiveBayes, Normal, Table
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
        for value, number, cell in _cells(attribute, parameters):
            yield from ((key, attribute.name, value, number, name, row[cell]) for name, row in classes)


def _cells(attribute: Attribute, parameters: Table | Histogram) -> Iterator[tuple[str, float | None, int]]:
    """List an attribute's values, with the number that each matches by, and its category's or bin's position."""
    if isinstance(attribute, Categorical):
        yield from ((value, declared_number(value), code) for value, code in attribute.members.items())
        return
    assert isinstance(parameters, Histogram)
    starts = [0, *bin_starts(attribute, parameters.edges)]
    place = 0
    for code in listed_codes(attribute, parameters):
        while place + 1 < len(starts) and starts[place + 1] <= code:
            place += 1
        yield str(code), float(code), place


def table_statements(model: NaiveBayes, table: str, dialect: Dialect) -> Iterator[str]:
    """Write the statements that create the table and fill it, without semicolons.

    Args:
        model: A released model.
        table: Name of the table, as ``rendering.parse_table`` reads it.
        dialect: The database.

    Raises:
        UsageError: if the name is not the name of a table.
    """
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
        model: A released model.
        output: File to write; confidential if the model has no guarantee.
        table: Name of the table, for statements.
        dialect: The database, for statements.
        overwrite: Whether an existing file is replaced.

    Raises:
        UsageError: if the name ends otherwise, or the table's name is not one.
        OutputError: if the file exists, or cannot be written.
    """
    suffix = check_suffix(output)
    with atomic_output(output, overwrite=overwrite, confidential=not model.guarantee.private) as partial:
        if suffix == ".sql":
            with partial.open("w", encoding="utf-8") as file:
                file.writelines(f"{statement};\n" for statement in table_statements(model, table, dialect))
        elif suffix == ".csv":
            with partial.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(COLUMNS)
                writer.writerows(table_rows(model))
        else:
            _write_parquet(model, partial)


def check_suffix(output: Path) -> str:
    """Return the suffix of the table's file.

    Raises:
        UsageError: if it is none of ``SUFFIXES``.
    """
    suffix = output.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{output}: the table is written as {', '.join(SUFFIXES)}; end its name in one of them")
    return suffix


def _write_parquet(model: NaiveBayes, path: Path) -> None:
    import pyarrow as pa

    from dpnb_columnar.runtime.parquet_output import parquet_writer

    types = {exp.DType.TEXT: pa.string(), exp.DType.DOUBLE: pa.float64()}
    schema = pa.schema([(name, types[type_]) for name, type_ in COLUMNS.items()])
    columns = list(zip(*table_rows(model), strict=True)) or [()] * len(COLUMNS)
    with parquet_writer(path, schema) as writer:
        writer.write_table(
            pa.table([pa.array(c, t) for c, t in zip(columns, schema.types, strict=True)], schema=schema)
        )
