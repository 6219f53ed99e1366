"""The steps from a row's columns to its class and probabilities: one tree, for every database.

``scoring_query`` makes a query of it. A step's columns are computed from those of the steps before it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sqlglot import exp

from dpnb_columnar.dialects.nodes import (
    Number,
    as_column,
    below,
    by_start,
    case,
    double,
    equal,
    integer,
    minus,
    over,
    sum_of,
    text,
    times,
)
from dpnb_columnar.dialects.rules import category_code, number
from dpnb_columnar.dialects.steps import Step
from dpnb_columnar.domain import Attribute, Categorical
from dpnb_columnar.domain.column_kinds import Kind
from dpnb_columnar.domain.database_address import Dialect
from dpnb_columnar.model.likelihood import BELOW_BEST, LEAST_EXPONENT, LineTerms, Pieces, line_terms, missing_terms
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.model.sql_terms import STEP_PREFIX, code_of_integer, numbered_columns, step_column

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
