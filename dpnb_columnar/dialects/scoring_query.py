"""A model's scores as one query: what ``dpnb_columnar.model.scoring.score`` computes, in a database's own SQL.

The terms of categories and bins stand in the query, or in a public table that rows are joined with (``COLUMNS``), one
row per class: then the query stays small however many cells the model has. A category is looked up by its text, and by
its number where that finds nothing: each is one join with the rows of the table that belong to the attribute.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from sqlglot import exp

from dpnb_columnar.dialects.nodes import (
    CommonTableExpression,
    Kinds,
    Number,
    QueryRows,
    RowsAndScalars,
    Step,
    as_column,
    as_text,
    at_least,
    below,
    by_start,
    case,
    category_code,
    double,
    equal,
    grid_code,
    identifier,
    integer,
    is_null,
    lookup,
    minus,
    number,
    number_at,
    number_or_null,
    over,
    own_column,
    plus,
    rows_of_table,
    source_column,
    sum_of,
    table_reference,
    text,
    times,
)
from dpnb_columnar.dialects.rendering import header, parse_table, rename_source_columns, render, table_or_default
from dpnb_columnar.dialects.statistics_query import SPELLED, columns_like, dialect_like
from dpnb_columnar.domain import Attribute, Categorical, Missing, Numeric, Transform
from dpnb_columnar.domain.column_kinds import Kind, category_keys, category_texts, kind_of, number_keys
from dpnb_columnar.domain.domain_text import label_remarks
from dpnb_columnar.domain.names import listed
from dpnb_columnar.errors import DataError, UsageError, option
from dpnb_columnar.model.document import to_document, to_json
from dpnb_columnar.model.likelihood import (
    BELOW_BEST,
    LEAST_EXPONENT,
    LineTerms,
    Pieces,
    bin_starts,
    cell_terms,
    class_terms,
    line_terms,
    missing_terms,
    negligible,
    normal_terms,
    reference_class,
)
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, NaiveBayes, Normal, Table
from dpnb_columnar.model.score_batches import SKIPPED
from dpnb_columnar.model.scoring import PREDICTED, probability_column, score
from dpnb_columnar.rows.sources import Dialect, Spelling
from dpnb_columnar.runtime.outputs import atomic_output, parquet_writer

STEP_PREFIX = "__dpnb_"
"""How the names of the steps' columns begin: where all columns of a table are returned, none may begin so."""


MOST_BRANCHES = 8
"""Of a CASE; what has more cases is looked up in a list, at once instead of one after the other."""

MOST_LISTED = 4096
"""Numbers of a list."""

MOST_APART = 16
"""Numbers of a list of codes for each that is one: a number that is none takes a tenth of the text of a branch."""

NO_CODE = -1
"""Stands in a list of codes where a number is no category."""


def numbered_columns(name: str, values: Iterable[exp.Expr]) -> list[exp.Alias]:
    """Name the columns of a step by their places."""
    return [as_column(value, f"{STEP_PREFIX}{name}_{place}") for place, value in enumerate(values)]


def step_column(name: str) -> exp.Column:
    """Name a column of an earlier step."""
    return own_column(f"{STEP_PREFIX}{name}")


def prepared_value(attribute: Attribute, parameters: AttributeParameters, value: exp.Expr) -> exp.Expr:
    """Put a number on the attribute's scale, or find its grid code; null where it is null."""
    if isinstance(attribute, Categorical):
        return value  # prepared when it is read
    if isinstance(parameters, Histogram):
        return grid_code(attribute, value)
    lower, upper = double(float(attribute.lower)), double(float(attribute.upper))
    small = below(exp.Abs(this=value.copy()), double(negligible(attribute)))
    logarithm = attribute.transform is Transform.LOG1P
    inside = exp.Ln(this=plus(double(1), value.copy())) if logarithm else value
    scale = attribute.scale
    ends = (double(scale.origin), double(scale.end)) if logarithm else (lower, upper)
    return case(
        [
            (exp.LTE(this=value.copy(), expression=lower), ends[0].copy()),
            (at_least(value.copy(), upper), ends[1].copy()),
            (small, double(0)),
        ],
        inside,
    )


def terms(
    attribute: Attribute, parameters: AttributeParameters, value: exp.Expr, weight: float, dialect: Dialect
) -> list[exp.Expr]:
    """Compute the weighted log-likelihoods of the prepared value, up to a common number; null where it is null."""
    if isinstance(parameters, Normal):
        assert isinstance(attribute, Numeric)
        return [term.node for term in normal_terms(attribute, parameters, weight).of(Number(value))]
    rows = cell_terms(parameters, weight)
    if isinstance(parameters, Histogram):
        assert isinstance(attribute, Numeric)
        starts = [0, *bin_starts(attribute, parameters.edges)]
        if attribute.cells >= MOST_LISTED or len(parameters.edges) <= MOST_BRANCHES + 1:
            # From the right, so that a bin that no code can reach is never chosen.
            reached = [at_least(value, integer(start)) for start in reversed(starts)]
            return [
                case((start.copy(), double(term)) for start, term in zip(reached, reversed(row), strict=True))
                for row in rows
            ]
        bins = [bisect_right(starts, code) - 1 for code in range(attribute.cells + 1)]
        rows = [[row[place] for place in bins] for row in rows]
    if len(rows[0]) <= MOST_BRANCHES:
        return [lookup(value.copy(), [(integer(code), double(term)) for code, term in enumerate(row)]) for row in rows]
    return [number_at(row, value.copy(), dialect, exp.DType.DOUBLE) for row in rows]


def code_of_integer(attribute: Categorical, dialect: Dialect) -> exp.Expr | None:
    """Find the code of a whole number by its place; None for few categories, or where they are too far apart."""
    keys = {int(key): code for key, code in category_keys(attribute, Kind.INTEGER).items() if isinstance(key, int)}
    if len(keys) <= MOST_BRANCHES or max(keys) - min(keys) >= MOST_APART * len(keys):
        return None
    first, last, column = min(keys), max(keys), source_column(attribute.name)
    codes = [keys.get(key, NO_CODE) for key in range(first, last + 1)]
    whole = exp.cast(column, exp.DType.BIGINT)
    place = minus(whole, integer(first)) if first >= 0 else plus(whole, integer(-first))
    code: exp.Expr = place
    if codes != list(range(len(codes))):
        code = exp.Nullif(this=number_at(codes, place, dialect), expression=integer(NO_CODE))
    bounds = exp.Between(this=column.copy(), low=exp.Literal.number(first), high=exp.Literal.number(last))
    code = case([(exp.and_(bounds, equal(column.copy(), whole.copy())), code)])
    missing = attribute.missing is Missing.CATEGORY
    return exp.Coalesce(this=code, expressions=[integer(len(attribute.values))]) if missing else code


SMALLEST_EXPONENT = -700.0
"""A class less likely by this exponent counts as impossible: PostgreSQL fails where exp() is too small for a float."""


def weight_steps(model: NaiveBayes, dialect: Dialect, complete: exp.Expr | None = None) -> Iterator[Step]:
    """Return the steps from the classes' scores to their weights, and their sum; null unless ``complete`` holds."""
    classes = range(len(model.domain.classes))
    weights = [step_column(f"weight_{klass}") for klass in classes]
    if (line := line_terms(model)) is not None:
        yield from _line_steps(line, dialect)
        most = [as_column(extreme(exp.Greatest, weights, dialect), f"{STEP_PREFIX}likeliest")]
    else:
        largest = extreme(exp.Greatest, [step_column(f"joint_{klass}") for klass in classes], dialect)
        yield Step("rows_largest", [as_column(largest, f"{STEP_PREFIX}largest")])
        weighed = []
        for klass in classes:  # the likelihood of each, relative to that of the likeliest
            exponent = minus(step_column(f"joint_{klass}"), step_column("largest"))
            weight: exp.Expr = exp.Exp(this=exponent)
            if dialect is not Dialect.DUCKDB:
                weight = case([(below(exponent.copy(), double(SMALLEST_EXPONENT)), double(0))], weight)
            weighed.append(weight)
        yield Step("rows_weighed", numbered_columns("weight", weighed))
        most = []  # exp(0), exactly 1
    total = sum_of(weights)
    total = total if complete is None else case([(complete, total)])
    yield Step("rows_summed", [as_column(total, f"{STEP_PREFIX}total"), *most])


def extreme(function: type[exp.Greatest] | type[exp.Least], values: Sequence[exp.Expr], dialect: Dialect) -> exp.Expr:
    """Write the largest or the smallest of some values, of which none is null."""
    # Nothing need test for nulls, as sqlglot otherwise has DuckDB do.
    return function(this=values[0], expressions=values[1:], ignore_nulls=dialect is Dialect.DUCKDB)


def _line_steps(line: LineTerms, dialect: Dialect) -> Iterator[Step]:
    """Return the steps from the classes' scores to their weights by a line (``LineTerms``)."""
    largest, others = step_column(f"joint_{line.largest}"), [step_column(f"joint_{klass}") for klass in line.others]
    margin = step_column("margin")
    odds, one = exp.Exp(this=_at(line.odds, margin)), double(1)
    if line.rest is None:
        yield Step("rows_margin", [as_column(minus(others[0], largest), f"{STEP_PREFIX}margin")])
        yield Step("rows_weighed", numbered_columns("weight", [odds, one] if line.largest else [one, odds]))
        return
    likely = [step_column(f"likely_{index}") for index in range(len(others))]
    pulls = (
        (line.evidence * Number(other) + constant).node for other, constant in zip(others, line.constants, strict=True)
    )
    best = as_column(extreme(exp.Greatest, others, dialect), f"{STEP_PREFIX}best")
    yield Step("rows_likely", [best, *numbered_columns("likely", pulls)])
    chosen = case((equal(other.copy(), step_column("best")), integer(index)) for index, other in enumerate(others))
    above = as_column(minus(step_column("best"), largest), f"{STEP_PREFIX}margin")
    top = as_column(extreme(exp.Greatest, likely, dialect), f"{STEP_PREFIX}top")
    yield Step("rows_margin", [above, as_column(chosen, f"{STEP_PREFIX}chosen"), top])
    pulled = numbered_columns("share", (_share(index, each) for index, each in enumerate(likely)))
    yield Step("rows_shared", [as_column(odds, f"{STEP_PREFIX}odds"), *pulled])
    shares = [step_column(f"share_{index}") for index in range(len(others))]
    shared = times(
        exp.Exp(this=_at(line.rest, margin)), exp.Paren(this=over(double(1), exp.Paren(this=sum_of(shares))))
    )
    most = times(double(BELOW_BEST), step_column("odds"))
    yield Step("rows_limited", [as_column(shared, f"{STEP_PREFIX}shared"), as_column(most, f"{STEP_PREFIX}most")])
    weights: list[exp.Expr] = [
        case(
            [(_is_chosen(index), step_column("odds"))],
            extreme(exp.Least, [step_column("most"), times(step_column("shared"), share)], dialect),
        )
        for index, share in enumerate(shares)
    ]
    weights.insert(line.largest, one)
    yield Step("rows_weighed", numbered_columns("weight", weights))


def _share(index: int, likely: exp.Expr) -> exp.Expr:
    """Return what one of the other classes has of the weight of all of them but the best."""
    exponent = minus(likely, step_column("top"))
    negligible = (below(exponent.copy(), double(LEAST_EXPONENT)), double(math.exp(LEAST_EXPONENT)))
    return case([(_is_chosen(index), double(0)), negligible], exp.Exp(this=exponent))


def _is_chosen(index: int) -> exp.Expr:
    return equal(step_column("chosen"), integer(index))


def _at(pieces: Pieces, margin: exp.Expr) -> exp.Expr:
    """Compute a function of a margin."""
    number = Number(margin)
    values = [
        (slope * (number - origin) + value).node if slope else double(value)
        for origin, value, slope in zip(pieces.origins, pieces.values, pieces.slopes, strict=True)
    ]
    return by_start(margin, list(map(double, pieces.starts)), values)


def result_columns(model: NaiveBayes, names: Sequence[str], number_skipped: exp.Expr) -> list[exp.Alias]:
    """Return class, probabilities and the number of attributes left out."""
    predicted, *probabilities, skipped = names
    total = step_column("total")
    shares = [over(step_column(f"weight_{klass}"), total.copy()) for klass in range(len(model.domain.classes))]
    # Quotients are compared, since two of them may round to one number.
    likeliest = over(double(1) if line_terms(model) is None else step_column("likeliest"), total)
    branches = [
        (equal(share.copy(), likeliest.copy()), text(name))
        for share, name in zip(shares, model.domain.classes, strict=True)
    ]
    return [
        as_column(case(branches), predicted),
        *(as_column(share, name) for share, name in zip(shares, probabilities, strict=True)),
        as_column(number_skipped, skipped),
    ]


def number_skipped(model: NaiveBayes, dialect: Dialect) -> exp.Expr:
    """Count the attributes that are left out of a row, since it has no value for them."""
    # Each sum of whole numbers is tested for overflow in DuckDB, and takes three times that of floats.
    type_ = exp.DType.DOUBLE if dialect is Dialect.DUCKDB else exp.DType.INT
    counted: list[exp.Expr] = [
        exp.cast(is_null(step_column(f"value_{place}")), type_)
        for place, parameters in enumerate(model.attributes)
        if missing_terms(parameters) is None
    ]
    number_skipped = sum_of(counted or [integer(0)])
    return number_skipped if type_ is exp.DType.INT else exp.cast(number_skipped, exp.DType.INT)


COLUMNS = {
    "model": exp.DType.TEXT,  # ``model_key``: a table may hold several models
    "attribute": exp.DType.TEXT,
    "value": exp.DType.TEXT,  # the category as declared, or a grid code of an attribute with bins (``listed_codes``)
    "number": exp.DType.DOUBLE,  # what ``value`` matches by if it is a number (001, 1 and 1.0 are one); else null
    "class": exp.DType.TEXT,
    "term": exp.DType.DOUBLE,  # the weighted log-likelihood, up to a number that all classes have in common
}
"""The table's columns and their types."""

SUFFIXES = (".sql", ".csv", ".parquet")
"""Ends of the names of its files."""

MOST_ROWS = 1024
"""Grid codes of a numeric attribute that are listed one by one; of one with more, the first code of every bin is."""

ROWS_PER_INSERT = 500

Row = tuple[str, str, str, float | None, str, float]


def model_key(model: NaiveBayes) -> str:
    """Compute what tells a model from others: the first 16 digits of the SHA-256 of its JSON file."""
    return hashlib.sha256(to_json(to_document(model)).encode()).hexdigest()[:16]


def listed_codes(attribute: Numeric, parameters: Histogram) -> Sequence[int]:
    """List the grid codes of an attribute with bins that have rows: all, or the first of every bin that one reaches."""
    if attribute.cells < MOST_ROWS:
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
    rows = (exp.Tuple(expressions=list(map(exp.convert, row))) for row in table_rows(model))
    insert = f"INSERT INTO {render(target, dialect, pretty=False)} VALUES"
    while inserted := [render(row, dialect, pretty=False) for row in islice(rows, ROWS_PER_INSERT)]:
        yield f"{insert}\n" + ",\n".join(inserted)


def write_table(model: NaiveBayes, output: Path, table: str, dialect: Dialect, *, overwrite: bool = False) -> None:
    """Write the table as statements of a dialect, as CSV with a header line, or as Parquet, by the name's suffix."""
    suffix = check_suffix(output)
    with atomic_output(output, overwrite=overwrite, confidential=not model.guarantee.private) as partial:
        if suffix == ".sql":
            with partial.open("w", encoding="utf-8") as file:
                file.writelines(f"{statement};\n" for statement in table_statements(model, table, dialect))
        elif suffix == ".csv":
            with partial.open("w", encoding="utf-8", newline="") as file:
                file.writelines(f"{','.join(map(_csv_cell, row))}\n" for row in (COLUMNS, *table_rows(model)))
        else:
            import pyarrow as pa

            types = {exp.DType.TEXT: pa.string(), exp.DType.DOUBLE: pa.float64()}
            schema = pa.schema([(name, types[type_]) for name, type_ in COLUMNS.items()])
            with parquet_writer(partial, schema) as writer:
                rows = [dict(zip(COLUMNS, row, strict=True)) for row in table_rows(model)]
                writer.write_table(pa.Table.from_pylist(rows, schema))


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
    """The terms of the attribute with cells at a place of the model, looked up in the table."""

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
            return [VALUE, NUMBER]  # by text first, as ``nodes.category_code``: only other texts are read as numbers
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
    """Write the steps from a row's columns to the classes' scores, and the queries that they join but the first."""
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


def scoring_query(
    model: NaiveBayes,
    dialect: Dialect,
    table: str | None = None,
    keys: Sequence[str] = (),
    kinds: Kinds | None = None,
    view: str | None = None,
    parameters: str | None = None,
    *,
    names: Mapping[str, str] | None = None,
) -> str:
    """Write the query of every row's columns and those of ``score``; it joins a table of terms if one is named."""
    known = kinds or {}
    results = [PREDICTED, *(probability_column(name) for name in model.domain.classes), SKIPPED]
    if clash := set(results).intersection(keys):
        raise UsageError(f"key {', '.join(sorted(clash))} would stand beside a result of that name; leave it out")
    if not keys and (taken := [name for name in known if name.lower().startswith(STEP_PREFIX)]):
        raise UsageError(
            f"column {listed(taken)} has a name that the query uses; name those to keep with {option('key')}"
        )
    source = table_or_default(table, model.domain.name, dialect)
    if parameters is not None and parse_table(parameters, dialect) == source:
        raise UsageError(f"table {parameters!r:.80}: cannot be that of the rows and that of the model's terms")
    rows = rows_of_table(dialect, source, list(dict.fromkeys(keys)))
    if parameters is None:
        steps = [*_steps(model, known, dialect), *weight_steps(model, dialect)]
        given: Sequence[CommonTableExpression] = ()
    elif isinstance(rows, RowsAndScalars):
        raise UsageError(
            f"SQLite cannot return every column of rows that are joined; name those to keep with {option('key')}"
        )
    else:
        joins, joined = joined_steps(model, known, dialect)
        steps = [*joined, *weight_steps(model, dialect, is_complete(model, parameters, dialect))]
        given = [model_terms(model, parameters, dialect), *joins]
    columns = result_columns(model, results, number_skipped(model, dialect))
    query = rows.query(steps, columns, given) if isinstance(rows, QueryRows) else rows.query(steps, columns)
    rename_source_columns(query, names or {})
    if view is not None:
        query = exp.Create(this=parse_table(view, dialect), kind="VIEW", expression=query)
    read = [*model.domain.label.columns, *(parameters.attribute for parameters in model.attributes)]
    remarks = (
        f"Scores rows by a model of {model.domain.name!r} ({dialect.value}). Holds what the model holds, and no row.",
        f"{PREDICTED}: the likeliest class; {SKIPPED}: attributes left out of the row, missing or of unknown category.",
        *label_remarks(model.domain, read),
    )
    return header(remarks) + render(query, dialect, joined=parameters is not None)


def _steps(model: NaiveBayes, kinds: Kinds, dialect: Dialect) -> Iterator[Step]:
    """Return the steps from a row's columns to the classes' scores, each computed from the one before."""
    reads, values = [], []
    classes: list[list[exp.Expr | None]] = []  # a term per class, never null; None for that of no terms
    for place, (parameters, weight) in enumerate(zip(model.attributes, model.weights, strict=True)):
        attribute, kind = model.domain[parameters.attribute], kinds.get(parameters.attribute)
        if isinstance(attribute, Categorical):
            listed = code_of_integer(attribute, dialect) if kind is Kind.INTEGER else None
            reads.append(listed or category_code(attribute, kind))
        else:
            reads.append(number(attribute.name, kind, attribute.missing_values))
        values.append(prepared_value(attribute, parameters, step_column(f"read_{place}")))
        own = terms(attribute, parameters, step_column(f"value_{place}"), weight, dialect)
        own = [
            exp.Coalesce(this=term, expressions=[double(without)])
            for term, without in zip(own, missing_terms(parameters, weight) or [0.0] * len(own), strict=True)
        ]
        reference = reference_class(parameters, weight)
        classes.append([None if klass == reference else term for klass, term in enumerate(own)])
    if model.attributes:
        yield Step("rows_read", numbered_columns("read", reads))
        yield Step("rows_placed", numbered_columns("value", values))
    # Added from the left, as ``scoring.score`` does of models that are not wide.
    summands = zip(map(double, class_terms(model)), *classes, strict=True)
    joint = (sum_of([term for term in terms if term is not None]) for terms in summands)
    yield Step("rows_joint", numbered_columns("joint", joint))


def sql_columns(
    model: NaiveBayes,
    dialect: Dialect | None,
    like: str | None,
    table: str | None,
    keys: Sequence[str],
    names: Spelling | None,
) -> tuple[Dialect, Kinds | None, Mapping[str, str]]:
    """Return the dialect of a query that scores a table's rows, the kinds of its columns, and the table's names."""
    dialect = dialect_like(dialect, like)
    wanted = [*(parameters.attribute for parameters in model.attributes), *keys]
    if like is None:
        spell = SPELLED[names or Spelling.DECLARED]
        return dialect, None, {name: spell(name) for name in wanted}
    import polars as pl

    source, spelled, types = columns_like(like, table, model.domain.name, wanted, names)
    try:
        score(model, pl.LazyFrame(schema=dict(types)), keys)
    except DataError as error:
        raise DataError(f"{source}: {error}") from None
    return dialect, {name: kind_of(type_) for name, type_ in types.items()}, spelled
