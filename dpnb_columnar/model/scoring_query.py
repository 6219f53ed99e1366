"""A model's scores as one query: what ``dpnb_columnar.model.scoring.score`` computes, in a database's own SQL.

*DuckDB* looks up a row's place in lists of constants, one per class. The place is never null: behind those of the
values there is one for rows without a value. So a row costs one look-up per class, where a CASE, and a COALESCE around
each term, cost several times as much. Whole numbers are listed by themselves: their terms are the very numbers of
``predict``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpnb_columnar.dialects.nodes import (
    Branch,
    as_text,
    below,
    case,
    double,
    enum_code,
    equal,
    integer,
    is_in,
    is_null,
    minus,
    number_at,
    number_list,
    source_column,
    sum_of,
)
from dpnb_columnar.dialects.rendering import header, parse_table, rename_source_columns, render, table_or_default
from dpnb_columnar.dialects.rules import Kinds, category_code, category_number, grid_code, number
from dpnb_columnar.dialects.steps import CommonTableExpression, Rows, RowsAndScalars, Step, rows_of_table
from dpnb_columnar.domain import Attribute, Categorical, Missing, Numeric
from dpnb_columnar.domain.column_kinds import LARGEST_KEY, Kind, category_keys, number_keys
from dpnb_columnar.domain.database_address import Dialect
from dpnb_columnar.domain.declared_domain import label_remarks
from dpnb_columnar.domain.names import listed
from dpnb_columnar.errors import UsageError, option
from dpnb_columnar.model.joined_query import is_complete, joined_steps, model_terms
from dpnb_columnar.model.likelihood import (
    class_terms,
    missing_terms,
)
from dpnb_columnar.model.parameters import AttributeParameters, NaiveBayes, Normal
from dpnb_columnar.model.polars_terms import SKIPPED, terms_of_numbers
from dpnb_columnar.model.score_steps import (
    number_skipped,
    result_columns,
    value_read,
    weight_steps,
)
from dpnb_columnar.model.scoring import PREDICTED, probability_column
from dpnb_columnar.model.sql_terms import (
    MOST_LISTED,
    STEP_PREFIX,
    ComputedTerms,
    code_terms,
    codes_of_integers,
    numbered_columns,
    step_column,
)


@dataclass(frozen=True, slots=True)
class ListedTerms:
    """Terms that are looked up; see ``sql_terms.ComputedTerms``.

    Attributes:
        read: The place, as read from the row; or the number that the place is found from.
        attribute: The attribute as declared, where its grid code is the place; None where the place is read.
        lists: Per class, the term of every place.
    """

    read: exp.Expr
    attribute: Numeric | None
    lists: Sequence[Sequence[float]]

    def value(self, read: exp.Expr) -> exp.Expr:
        """Find the place from the column that holds ``read``."""
        if self.attribute is None:
            return read
        return exp.Coalesce(this=grid_code(self.attribute, read), expressions=[_last(self.lists)])

    def terms(self, place: exp.Expr) -> list[exp.Expr | None]:
        """Return a term per class for the column that holds the place; None where all are 0."""
        return [
            number_at(terms, place.copy(), Dialect.DUCKDB, exp.DType.DOUBLE) if any(terms) else None
            for terms in self.lists
        ]

    def left_out(self, place: exp.Expr) -> exp.Expr:
        """Test whether the row has no value (never null)."""
        return equal(place, _last(self.lists))


def listed_terms(
    attribute: Attribute, parameters: AttributeParameters, weight: float, kind: Kind | None
) -> ListedTerms | None:
    """List the terms of an attribute; None where there are too many, or no cells to list them by.

    Args:
        attribute: The attribute as declared.
        parameters: Its parameters.
        weight: Its weight.
        kind: What its column holds.
    """
    classes = len(parameters.mean if isinstance(parameters, Normal) else parameters.probability)
    missing = missing_terms(parameters, weight) or [0.0] * classes
    if isinstance(attribute, Numeric):
        first, last = math.floor(float(attribute.lower)), math.ceil(float(attribute.upper))
        few = (last - first + 1) * classes <= MOST_LISTED
        small = max(map(abs, [first, last, *map(float, attribute.missing_values)])) <= LARGEST_KEY
        if kind is Kind.INTEGER and few and small:
            numbers = terms_of_numbers(attribute, parameters, weight, range(first, last + 1))
            lists = _with_missing_place(numbers, missing)
            return ListedTerms(_place_of_number(attribute, first, last, lists), None, lists)
    if isinstance(parameters, Normal) or (codes := code_terms(attribute, parameters, weight)) is None:
        return None
    lists = _with_missing_place(codes, missing)
    if isinstance(attribute, Numeric):
        return ListedTerms(number(attribute.name, kind, attribute.missing_values), attribute, lists)
    return ListedTerms(_place_of_category(attribute, kind, lists), None, lists)


def _with_missing_place(rows: Sequence[Sequence[float]], missing: Sequence[float]) -> list[list[float]]:
    """Add the place of a row without a value."""
    return [[*row, without] for row, without in zip(rows, missing, strict=True)]


def _last(lists: Sequence[Sequence[float]]) -> exp.Expr:
    return integer(len(lists[0]) - 1)


def _place_of_number(attribute: Numeric, first: int, last: int, lists: Sequence[Sequence[float]]) -> exp.Expr:
    """Find the place of a whole number: the nearest between bounds.

    By CASE: GREATEST and LEAST take DuckDB several times as long, and a test that a file's own bounds decide, nothing.
    """
    column = source_column(attribute.name)
    whole = [int(value) for value in map(float, attribute.missing_values) if value.is_integer()]
    inside, outside = ([value for value in whole if (first <= value <= last) is within] for within in (True, False))
    branches = [
        *_missing(column, inside, lists),
        (exp.Between(this=column.copy(), low=integer(first), high=integer(last)), _from(first, column)),
        *_missing(column, outside, lists),
        (below(column.copy(), integer(first)), integer(0)),
        (exp.GT(this=column.copy(), expression=integer(last)), integer(last - first)),
    ]
    return case(branches, _last(lists))  # of a null no test holds


def _missing(column: exp.Expr, values: Sequence[int], lists: Sequence[Sequence[float]]) -> list[Branch]:
    """Send declared missing values, if there are any, to the place of a row without a value."""
    return [(is_in(column.copy(), list(map(integer, values))), _last(lists))] if values else []


def _from(first: int, column: exp.Expr) -> exp.Expr:
    """Count from the first number on: in 64 bits, and so that DuckDB refuses a column that holds no whole numbers."""
    return minus(column, exp.cast(integer(first), exp.DType.BIGINT))


def _place_of_category(attribute: Categorical, kind: Kind | None, lists: Sequence[Sequence[float]]) -> exp.Expr:
    """Find the code of a category, or the place of a row without one."""
    absent = len(attribute.values) if attribute.missing is Missing.CATEGORY else len(lists[0]) - 1
    if kind in (Kind.TEXT, None):
        # The declared texts first, since most texts are: only the others are read as numbers.
        spelled = [_by_number(attribute, kind)] if number_keys(attribute.members) else []
        return exp.Coalesce(this=_by_text(attribute), expressions=[*spelled, integer(absent)])
    codes = codes_of_integers(attribute) if kind is Kind.INTEGER else None
    if codes is None:
        if kind in (Kind.BOOLEAN, Kind.DATE):
            return category_code(attribute, kind, absent)
        return exp.Coalesce(this=_by_number(attribute, kind), expressions=[integer(absent)])
    first, last, column = min(codes), max(codes), source_column(attribute.name)
    positions = [codes.get(key, absent) for key in range(first, last + 1)]
    place = _from(first, column)
    if positions != list(range(len(positions))):
        place = number_at(positions, place, Dialect.DUCKDB)
    bounds = exp.Between(this=column.copy(), low=integer(first), high=integer(last))
    return case([(bounds, place)], integer(absent))


def _by_text(attribute: Categorical) -> exp.Expr:
    """Find the code of a category by its text; null where it is none.

    The texts are an ENUM, in which DuckDB looks a text up at once, as ``row_rules`` has Polars do: a CASE compares one
    after the other, and takes a second to plan if they are hundreds.
    """
    codes, column = category_keys(attribute, Kind.TEXT), as_text(source_column(attribute.name))
    return _code_at(exp.cast(enum_code(column, map(str, codes)), exp.DType.INT), list(codes.values()))


def _by_number(attribute: Categorical, kind: Kind | None) -> exp.Expr:
    """Find the code of a category by its number; null where it is none."""
    codes = number_keys(attribute.members)
    numbers = number_list(list(codes), exp.DType.DOUBLE)
    position = exp.Anonymous(this="LIST_POSITION", expressions=[numbers, category_number(attribute.name, kind)])
    return _code_at(minus(position, integer(1)), list(codes.values()))


def _code_at(place: exp.Expr, codes: Sequence[int]) -> exp.Expr:
    """Return the code at a place among the values of the categories."""
    return place if codes == list(range(len(codes))) else number_at(codes, place, Dialect.DUCKDB)


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
    """Write the query that scores every row of a table: its columns, then those of ``score``.

    Args:
        model: A released model.
        dialect: The database.
        table: Name of the table, as ``rendering.parse_table`` reads it; None for the domain's name.
        keys: Columns to carry over, placed first; empty for all.
        kinds: What the columns hold; see ``dialects.rules``.
        view: Name of a view to create; None for a query.
        parameters: Name of a table of the model's terms (``joined_query``) that the query joins; None for a query
            that holds them.
        names: The table's name of each column that it spells otherwise than model and keys do.

    Raises:
        UsageError: if a name is not the name of a table, or is that of both tables; a key has the name of a result; a
            column that is carried over has a name of the query's own; or SQLite is to join a table to rows of which it
            returns every column.
    """
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
        attributes = list(_attribute_terms(model, known, dialect))
        left_out = [terms.left_out(step_column(f"value_{place}")) for place, terms in enumerate(attributes)]
        steps = [*_steps(model, attributes), *weight_steps(model, dialect)]
        given: Sequence[CommonTableExpression] = ()
    elif isinstance(rows, RowsAndScalars):
        raise UsageError(
            f"SQLite cannot return every column of rows that are joined; name those to keep with {option('key')}"
        )
    else:
        joins, joined = joined_steps(model, known, dialect)
        steps = [*joined, *weight_steps(model, dialect, is_complete(model, parameters, dialect))]
        given = [model_terms(model, parameters, dialect), *joins]
        left_out = [is_null(step_column(f"value_{place}")) for place, _ in enumerate(model.attributes)]
    skipped = number_skipped(model, left_out, dialect)
    columns = result_columns(model, results, skipped)
    query = rows.query(steps, columns, given) if isinstance(rows, Rows) else rows.query(steps, columns)
    rename_source_columns(query, names or {})
    if view is not None:
        query = exp.Create(this=parse_table(view, dialect), kind="VIEW", expression=query)
    return header(_remarks(model, dialect)) + render(query, dialect, joined=parameters is not None)


def _attribute_terms(model: NaiveBayes, kinds: Kinds, dialect: Dialect) -> Iterator[ComputedTerms | ListedTerms]:
    """Choose how the terms of every attribute are obtained from its column."""
    for parameters, weight in zip(model.attributes, model.weights, strict=True):
        attribute, kind = model.domain[parameters.attribute], kinds.get(parameters.attribute)
        terms = listed_terms(attribute, parameters, weight, kind) if dialect is Dialect.DUCKDB else None
        yield terms or ComputedTerms(value_read(attribute, kind, dialect), attribute, parameters, weight, dialect)


def _steps(model: NaiveBayes, attributes: Sequence[ComputedTerms | ListedTerms]) -> Iterator[Step]:
    """Return the steps from a row's columns to the classes' scores, each computed from the one before."""
    values = [terms.value(step_column(f"read_{place}")) for place, terms in enumerate(attributes)]
    if attributes:
        yield Step("rows_read", numbered_columns("read", (terms.read for terms in attributes)))
        yield Step("rows_placed", numbered_columns("value", values))
    classes = [terms.terms(step_column(f"value_{place}")) for place, terms in enumerate(attributes)]
    # Added from the left, as ``scoring.score`` does of models that are not wide.
    summands = zip(map(double, class_terms(model)), *classes, strict=True)
    joint = (sum_of([term for term in terms if term is not None]) for terms in summands)
    yield Step("rows_joint", numbered_columns("joint", joint))


def _remarks(model: NaiveBayes, dialect: Dialect) -> Sequence[str]:
    domain = model.domain
    columns = [*domain.label.columns, *(parameters.attribute for parameters in model.attributes)]
    return (
        f"Scores rows by a model of {model.domain.name!r} ({dialect.value}). Holds what the model holds, and no row.",
        f"{PREDICTED}: the likeliest class; {SKIPPED}: attributes left out of the row, missing or of unknown category.",
        *label_remarks(domain, columns),
    )
