"""The terms of a row's score as SQL, in steps: a column of each step is computed from the step before.

``polars_terms`` has the same for Polars. The queries are put together in ``scoring_query`` and ``joined_query``.

The steps from a row's columns to its class and probabilities: one tree, for every database.

``scoring_query`` makes a query of it. A step's columns are computed from those of the steps before it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpnb_columnar.dialects.nodes import (
    Number,
    Step,
    as_column,
    at_least,
    below,
    by_start,
    case,
    double,
    equal,
    integer,
    is_null,
    lookup,
    minus,
    number_at,
    over,
    own_column,
    plus,
    source_column,
    sum_of,
    text,
    times,
)
from dpnb_columnar.dialects.rules import category_code, grid_code, number
from dpnb_columnar.domain import Attribute, Categorical, Missing, Numeric, Transform
from dpnb_columnar.domain.column_kinds import Kind, category_keys
from dpnb_columnar.model.likelihood import (
    BELOW_BEST,
    LEAST_EXPONENT,
    LineTerms,
    Pieces,
    bin_starts,
    cell_terms,
    line_terms,
    missing_terms,
    negligible,
    normal_terms,
    reference_class,
)
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, NaiveBayes, Normal, Table
from dpnb_columnar.rows.sources import Dialect

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
class ComputedSqlTerms:
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


SMALLEST_EXPONENT = -700.0
"""A class less likely by this exponent counts as impossible: PostgreSQL fails where exp() is too small for a float."""


def value_read(attribute: Attribute, kind: Kind | None, dialect: Dialect) -> exp.Expr:
    """Read the number or the category's code."""
    if isinstance(attribute, Categorical):
        listed = code_of_integer(attribute, dialect) if kind is Kind.INTEGER else None
        return listed or category_code(attribute, kind)
    return number(attribute.name, kind, attribute.missing_values)


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
        yield Step("rows_weighed", numbered_columns("weight", (_weight(klass, dialect) for klass in classes)))
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
    yield Step(
        "rows_margin",
        [
            as_column(minus(step_column("best"), largest), f"{STEP_PREFIX}margin"),
            as_column(chosen, f"{STEP_PREFIX}chosen"),
            as_column(extreme(exp.Greatest, likely, dialect), f"{STEP_PREFIX}top"),
        ],
    )
    yield Step(
        "rows_shared",
        [
            as_column(odds, f"{STEP_PREFIX}odds"),
            *numbered_columns("share", (_share(index, each) for index, each in enumerate(likely))),
        ],
    )
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


def _weight(klass: int, dialect: Dialect) -> exp.Expr:
    """Return the likelihood of a class, relative to that of the likeliest."""
    exponent = minus(step_column(f"joint_{klass}"), step_column("largest"))
    weight = exp.Exp(this=exponent)
    if dialect is Dialect.DUCKDB:
        return weight
    return case([(below(exponent.copy(), double(SMALLEST_EXPONENT)), double(0))], weight)


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


def number_skipped(model: NaiveBayes, left_out: Sequence[exp.Expr], dialect: Dialect) -> exp.Expr:
    """Count the attributes that are left out of a row, given per attribute whether the row has no value for it."""
    # Each sum of whole numbers is tested for overflow in DuckDB, and takes three times that of floats.
    type_ = exp.DType.DOUBLE if dialect is Dialect.DUCKDB else exp.DType.INT
    counted: list[exp.Expr] = [
        exp.cast(absent, type_)
        for absent, parameters in zip(left_out, model.attributes, strict=True)
        if missing_terms(parameters) is None
    ]
    number_skipped = sum_of(counted or [integer(0)])
    return number_skipped if type_ is exp.DType.INT else exp.cast(number_skipped, exp.DType.INT)
