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
    among,
    case,
    equal,
    integer,
    is_null,
    minus,
    number_at,
    source_column,
)
from dpnb_columnar.dialects.rules import category_code, grid_code, number
from dpnb_columnar.domain import Attribute, Categorical, Missing, Numeric
from dpnb_columnar.model.likelihood import missing_terms
from dpnb_columnar.model.parameters import AttributeParameters, Normal
from dpnb_columnar.model.polars_terms import terms_of_numbers
from dpnb_columnar.model.sql_terms import MOST_LISTED, code_terms, codes_of_integers
from dpnb_columnar.rows.column_kinds import LARGEST_KEY, Kind
from dpnb_columnar.rows.database_address import Dialect


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
    """Find the place of a whole number between bounds."""
    column = source_column(attribute.name)
    whole = [integer(int(value)) for value in map(float, attribute.missing_values) if value.is_integer()]
    absent = exp.or_(is_null(column), among(column.copy(), whole)) if whole else is_null(column)
    least = exp.Least(this=column.copy(), expressions=[integer(last)], ignore_nulls=True)
    within = exp.Greatest(this=least, expressions=[integer(first)], ignore_nulls=True)
    return case([(absent, _last(lists))], _from(first, within))


def _from(first: int, column: exp.Expr) -> exp.Expr:
    """Count from the first number on: in 64 bits, and so that DuckDB refuses a column that holds no whole numbers."""
    return minus(column, exp.cast(integer(first), exp.DType.BIGINT))


def _place_of_category(attribute: Categorical, kind: Kind | None, lists: Sequence[Sequence[float]]) -> exp.Expr:
    """Find the code of a category, or the place of a row without one."""
    absent = len(lists[0]) - 1
    codes = codes_of_integers(attribute) if kind is Kind.INTEGER else None
    if codes is None:
        return category_code(attribute, kind, absent)
    if attribute.missing is Missing.CATEGORY:
        absent = len(attribute.values)
    first, last, column = min(codes), max(codes), source_column(attribute.name)
    found = [codes.get(key, absent) for key in range(first, last + 1)]
    place = _from(first, column)
    if found != list(range(len(found))):
        place = number_at(found, place, Dialect.DUCKDB)
    bounds = exp.Between(this=column.copy(), low=integer(first), high=integer(last))
    return case([(bounds, place)], integer(absent))
