"""The terms of a row's score as SQL, in steps: a column of each step is computed from the step before.

``polars_terms`` has the same for Polars. The queries are put together in ``scoring_query`` and ``joined_query``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpnb_columnar.dialects.nodes import (
    Number,
    as_column,
    at_least,
    below,
    case,
    double,
    equal,
    integer,
    is_null,
    lookup,
    minus,
    number_at,
    own_column,
    plus,
    source_column,
)
from dpnb_columnar.dialects.rules import grid_code
from dpnb_columnar.domain import Attribute, Categorical, Missing, Numeric, Transform
from dpnb_columnar.domain.column_kinds import Kind, category_keys
from dpnb_columnar.domain.database_address import Dialect
from dpnb_columnar.model.likelihood import (
    bin_starts,
    cell_terms,
    missing_terms,
    negligible,
    normal_terms,
    reference_class,
)
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, Normal, Table

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


@dataclass(frozen=True, slots=True)
class ComputedTerms:
    """The terms of an attribute in any database, computed step by step.

    Attributes:
        read: The number, or the category's code, as read from the row; null where it has none.
        attribute: The attribute as declared.
        parameters: Its parameters.
        weight: Its weight.
        dialect: The database.
    """

    read: exp.Expr
    attribute: Attribute
    parameters: AttributeParameters
    weight: float
    dialect: Dialect

    def value(self, read: exp.Expr) -> exp.Expr:
        """Prepare the value, as ``prepared_value`` does; a category's is prepared when it is read."""
        if isinstance(self.attribute, Numeric) and not isinstance(self.parameters, Table):
            return prepared_value(self.attribute, self.parameters, read)
        return read

    def terms(self, value: exp.Expr) -> list[exp.Expr | None]:
        """Return a term per class for the column that holds the value, never null; None for that of no terms."""
        classes = terms(self.attribute, self.parameters, value, self.weight, self.dialect)
        missing = missing_terms(self.parameters, self.weight) or [0.0] * len(classes)
        reference = reference_class(self.parameters, self.weight)
        return [
            None if klass == reference else exp.Coalesce(this=term, expressions=[double(without)])
            for klass, (term, without) in enumerate(zip(classes, missing, strict=True))
        ]

    def left_out(self, value: exp.Expr) -> exp.Expr:
        """Test whether the row has no value (never null)."""
        return is_null(value)


def prepared_value(attribute: Numeric, parameters: Normal | Histogram, value: exp.Expr) -> exp.Expr:
    """Put a number on the attribute's scale, or find its grid code; null where it is null."""
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
    attribute: Attribute,
    parameters: AttributeParameters,
    value: exp.Expr,
    weight: float,
    dialect: Dialect,
) -> list[exp.Expr]:
    """Compute the prepared value's weighted log-likelihood within each class; null where the value is null.

    It is meant up to a number common to all classes.
    """
    if isinstance(parameters, Normal):
        assert isinstance(attribute, Numeric)
        return [term.node for term in normal_terms(attribute, parameters, weight).of(Number(value))]
    rows = code_terms(attribute, parameters, weight)
    if rows is None or (isinstance(parameters, Histogram) and len(parameters.edges) <= MOST_BRANCHES + 1):
        assert isinstance(attribute, Numeric)
        assert isinstance(parameters, Histogram)
        starts = [0, *bin_starts(attribute, parameters.edges)]
        return [_bin_term(starts, row, value) for row in cell_terms(parameters, weight)]
    if len(rows[0]) <= MOST_BRANCHES:
        return [lookup(value.copy(), [(integer(code), double(term)) for code, term in enumerate(row)]) for row in rows]
    return [number_at(row, value.copy(), dialect, exp.DType.DOUBLE) for row in rows]


def code_terms(attribute: Attribute, parameters: Table | Histogram, weight: float) -> list[list[float]] | None:
    """Compute the terms of every code, per class; None where the codes of a grid are too many to list."""
    rows = cell_terms(parameters, weight)
    if isinstance(parameters, Table):
        return rows
    assert isinstance(attribute, Numeric)
    if attribute.cells >= MOST_LISTED:
        return None
    starts = [0, *bin_starts(attribute, parameters.edges)]
    bins = [bisect_right(starts, code) - 1 for code in range(attribute.cells + 1)]
    return [[row[place] for place in bins] for row in rows]


def code_of_integer(attribute: Categorical, dialect: Dialect) -> exp.Expr | None:
    """Find the code of a whole number by its place, as ``rules.category_code`` does by comparisons."""
    keys = codes_of_integers(attribute)
    if keys is None or len(keys) <= MOST_BRANCHES:
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


def codes_of_integers(attribute: Categorical) -> dict[int, int] | None:
    """Map the categories that are whole numbers to their codes; None where there are none, or too far apart."""
    keys = {int(key): code for key, code in category_keys(attribute, Kind.INTEGER).items() if isinstance(key, int)}
    return keys if keys and max(keys) - min(keys) < MOST_APART * len(keys) else None


def _bin_term(starts: Sequence[int], row: Sequence[float], value: exp.Expr) -> exp.Expr:
    """Look up the term of a grid code's bin from the right, so that a bin that no code can reach is never chosen."""
    branches = [(at_least(value.copy(), integer(start)), double(term)) for start, term in zip(starts, row, strict=True)]
    return case(reversed(branches))
