"""The terms of an attribute as lists of constants, one per class, in which DuckDB looks up a row by a place.

The place is never null: behind those of the values there is one for rows without a value. So a row costs one look-up
per class, where a CASE, and a COALESCE around each term, cost several times as much. Whole numbers are listed by
themselves: their terms are the very numbers of ``predict``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpnb_columnar.dialects.nodes import (
    Branch,
    among,
    as_text,
    below,
    case,
    enum_code,
    equal,
    integer,
    minus,
    number_at,
    number_list,
    source_column,
)
from dpnb_columnar.dialects.rules import category_code, grid_code, number
from dpnb_columnar.domain import Attribute, Categorical, Missing, Numeric
from dpnb_columnar.domain.column_kinds import LARGEST_KEY, Kind, number_keys
from dpnb_columnar.domain.database_address import Dialect
from dpnb_columnar.model.likelihood import missing_terms
from dpnb_columnar.model.parameters import AttributeParameters, Normal
from dpnb_columnar.model.polars_terms import terms_of_numbers
from dpnb_columnar.model.sql_terms import MOST_LISTED, code_terms, codes_of_integers


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
            lists = _closed(numbers, missing)
            return ListedTerms(_place_of_number(attribute, first, last, lists), None, lists)
    if isinstance(parameters, Normal) or (codes := code_terms(attribute, parameters, weight)) is None:
        return None
    lists = _closed(codes, missing)
    if isinstance(attribute, Numeric):
        return ListedTerms(number(attribute.name, kind, attribute.missing_values), attribute, lists)
    return ListedTerms(_place_of_category(attribute, kind, lists), None, lists)


def _closed(rows: Sequence[Sequence[float]], missing: Sequence[float]) -> list[list[float]]:
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
    return [(among(column.copy(), list(map(integer, values))), _last(lists))] if values else []


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
    found = [codes.get(key, absent) for key in range(first, last + 1)]
    place = _from(first, column)
    if found != list(range(len(found))):
        place = number_at(found, place, Dialect.DUCKDB)
    bounds = exp.Between(this=column.copy(), low=integer(first), high=integer(last))
    return case([(bounds, place)], integer(absent))


def _by_text(attribute: Categorical) -> exp.Expr:
    """Find the code of a category by its text; null where it is none.

    The texts are an ENUM, in which DuckDB looks a text up at once, as ``row_rules`` has Polars do: a CASE compares one
    after the other, and takes a second to plan if they are hundreds.
    """
    codes, column = attribute.members, as_text(source_column(attribute.name))
    return _code_at(exp.cast(enum_code(column, codes), exp.DType.INT), list(codes.values()))


def _by_number(attribute: Categorical, kind: Kind | None) -> exp.Expr:
    """Find the code of a category by its number; null where it is none."""
    codes = number_keys(attribute.members)
    numbers = number_list(list(codes), exp.DType.DOUBLE)
    position = exp.Anonymous(this="LIST_POSITION", expressions=[numbers, number(attribute.name, kind)])
    return _code_at(minus(position, integer(1)), list(codes.values()))


def _code_at(place: exp.Expr, codes: Sequence[int]) -> exp.Expr:
    """Return the code at a place among the values of the categories."""
    return place if codes == list(range(len(codes))) else number_at(codes, place, Dialect.DUCKDB)
