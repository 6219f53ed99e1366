"""A model's scores as one query: what ``dpnb_columnar.model.predict.score`` computes, in a database's own SQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

from sqlglot import exp

from dpnb_columnar.dialects.nodes import (
    Number,
    at_least,
    below,
    case,
    double,
    equal,
    integer,
    is_null,
    lookup,
    minus,
    named,
    over,
    own_column,
    plus,
    text,
)
from dpnb_columnar.dialects.rendering import header, parse_table, render, table_or_default
from dpnb_columnar.dialects.rules import Kinds, category_code, grid_code, number
from dpnb_columnar.dialects.steps import Step, rows_of_table
from dpnb_columnar.domain import Attribute, Categorical, Numeric, Transform
from dpnb_columnar.domain.names import listed
from dpnb_columnar.domain.value_labels import label_remarks
from dpnb_columnar.errors import UsageError
from dpnb_columnar.model.likelihood import (
    bin_starts,
    cell_terms,
    class_terms,
    missing_terms,
    negligible,
    normal_terms,
)
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, NaiveBayes, Normal, Table
from dpnb_columnar.model.predict import PREDICTED, SKIPPED, probability_column
from dpnb_columnar.rows.database_address import Dialect

# The terms of an attribute, for values that an earlier step of the query has read.


def prepared_value(attribute: Numeric, parameters: Normal | Histogram, value: exp.Expr) -> exp.Expr:
    """Put a number on the attribute's scale, or find its grid code; null where it is null.

    Args:
        attribute: A numeric attribute.
        parameters: Its parameters.
        value: The column as ``rules.number`` reads it.
    """
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
    attribute: Attribute, parameters: AttributeParameters, value: exp.Expr, weight: float = 1.0
) -> list[exp.Expr]:
    """Compute the prepared value's weighted log-likelihood within each class; null where the value is null.

    It is meant up to a number common to all classes.
    """
    if isinstance(parameters, Normal):
        assert isinstance(attribute, Numeric)
        return [term.node for term in normal_terms(attribute, parameters, Number(value), weight)]
    if isinstance(parameters, Histogram):
        assert isinstance(attribute, Numeric)
        starts = [0, *bin_starts(attribute, parameters.edges)]
        return [_bin_term(starts, row, value) for row in cell_terms(parameters, weight)]
    return [
        lookup(value.copy(), [(integer(code), double(term)) for code, term in enumerate(row)])
        for row in cell_terms(parameters, weight)
    ]


def _bin_term(starts: Sequence[int], row: Sequence[float], value: exp.Expr) -> exp.Expr:
    """Look up the term of a grid code's bin from the right, so that a bin that no code can reach is never chosen."""
    branches = [(at_least(value.copy(), integer(start)), double(term)) for start, term in zip(starts, row, strict=True)]
    return case(reversed(branches))


STEP_PREFIX = "__dpnb_"
"""How the names of the steps' columns begin: where all columns of a table are returned, none may begin so."""

SMALLEST_EXPONENT = -700.0
"""A class less likely by this exponent counts as impossible: PostgreSQL fails where exp() is too small for a float."""


def scoring_query(
    model: NaiveBayes,
    dialect: Dialect,
    table: str | None = None,
    keys: Sequence[str] = (),
    kinds: Kinds | None = None,
    view: str | None = None,
) -> str:
    """Write the query that scores every row of a table: its columns, then those of ``score``.

    Args:
        model: A released model.
        dialect: The database.
        table: Name of the table, as ``rendering.parse_table`` reads it; None for the domain's name.
        keys: Columns to carry over, placed first; empty for all.
        kinds: What the columns hold; see ``dialects.rules``.
        view: Name of a view to create; None for a query.

    Raises:
        UsageError: if a name is not the name of a table, a key has the name of a result, a column that is carried over
            has a name of the query's own.
    """
    known = kinds or {}
    results = [PREDICTED, *(probability_column(name) for name in model.domain.classes), SKIPPED]
    if clash := set(results).intersection(keys):
        raise UsageError(f"key {', '.join(sorted(clash))} would stand beside a result of that name; leave it out")
    if not keys and (taken := [name for name in known if name.lower().startswith(STEP_PREFIX)]):
        raise UsageError(f"column {listed(taken)} has a name that the query uses; name those to keep with --key")
    rows = rows_of_table(dialect, table_or_default(table, model.domain.name, dialect), list(dict.fromkeys(keys)))
    query: exp.Expr = rows.query(list(_steps(model, known)), _results(model, results))
    if view is not None:
        query = exp.Create(this=parse_table(view, dialect), kind="VIEW", expression=query)
    return header(_remarks(model, dialect)) + render(query, dialect)


def _steps(model: NaiveBayes, kinds: Kinds) -> Iterator[Step]:
    """The steps from a row's columns to the classes' weights, each computed from the one before."""
    classes = range(len(model.domain.classes))
    if model.attributes:
        yield Step("rows_read", _numbered("read", _read(model, kinds)))
        yield Step("rows_placed", _numbered("value", _placed(model)))
    yield Step("rows_joint", _numbered("joint", _joint(model)))
    joint = [_step_column(f"joint_{klass}") for klass in classes]
    yield Step("rows_largest", [named(exp.Greatest(this=joint[0], expressions=joint[1:]), f"{STEP_PREFIX}largest")])
    yield Step("rows_weighed", _numbered("weight", map(_weight, classes)))
    yield Step(
        "rows_summed", [named(_sum([_step_column(f"weight_{klass}") for klass in classes]), f"{STEP_PREFIX}total")]
    )


def _numbered(name: str, values: Iterable[exp.Expr]) -> list[exp.Alias]:
    return [named(value, f"{STEP_PREFIX}{name}_{place}") for place, value in enumerate(values)]


def _step_column(name: str) -> exp.Column:
    """A column of an earlier step."""
    return own_column(f"{STEP_PREFIX}{name}")


def _read(model: NaiveBayes, kinds: Kinds) -> Iterator[exp.Expr]:
    """The number or the category's code of every attribute."""
    for parameters in model.attributes:
        attribute, kind = model.domain[parameters.attribute], kinds.get(parameters.attribute)
        if isinstance(attribute, Categorical):
            yield category_code(attribute, kind)
        else:
            yield number(attribute.name, kind, attribute.missing_values)


def _placed(model: NaiveBayes) -> Iterator[exp.Expr]:
    """The prepared value of every attribute; see ``prepared_value``."""
    for place, parameters in enumerate(model.attributes):
        attribute, value = model.domain[parameters.attribute], _step_column(f"read_{place}")
        if isinstance(attribute, Numeric) and not isinstance(parameters, Table):
            yield prepared_value(attribute, parameters, value)
        else:
            yield value


def _joint(model: NaiveBayes) -> Iterator[exp.Expr]:
    """Per class, the score, added from the left as ``predict.score`` does."""
    summands: list[list[exp.Expr]] = [[double(term)] for term in class_terms(model)]
    for place, (parameters, weight) in enumerate(zip(model.attributes, model.weights, strict=True)):
        attribute = model.domain[parameters.attribute]
        classes = terms(attribute, parameters, _step_column(f"value_{place}"), weight)
        missing = missing_terms(parameters, weight) or [0.0] * len(summands)
        for summand, term, without in zip(summands, classes, missing, strict=True):
            summand.append(exp.Coalesce(this=term, expressions=[double(without)]))
    for summand in summands:
        yield _sum(summand)


def _sum(summands: Sequence[exp.Expr]) -> exp.Expr:
    """The sum from the left, which SQL's plus is without parentheses."""
    return reduce(lambda left, right: exp.Add(this=left, expression=right), summands)


def _weight(klass: int) -> exp.Expr:
    """The likelihood of a class, relative to that of the likeliest."""
    exponent = minus(_step_column(f"joint_{klass}"), _step_column("largest"))
    return case([(below(exponent, double(SMALLEST_EXPONENT)), double(0))], exp.Exp(this=exponent.copy()))


def _results(model: NaiveBayes, names: Sequence[str]) -> list[exp.Alias]:
    """Class, probabilities and the number of attributes left out."""
    predicted, *probabilities, skipped = names
    total = _step_column("total")
    shares = [over(_step_column(f"weight_{klass}"), total.copy()) for klass in range(len(probabilities))]
    # The largest weight is exp(0), exactly 1. Quotients are compared, since two of them may round to one number.
    likeliest = over(double(1), total)
    branches = [
        (equal(share.copy(), likeliest.copy()), text(name))
        for share, name in zip(shares, model.domain.classes, strict=True)
    ]
    left_out: list[exp.Expr] = [
        case([(is_null(_step_column(f"value_{place}")), integer(1))], integer(0))
        for place, parameters in enumerate(model.attributes)
        if missing_terms(parameters) is None
    ]
    return [
        named(case(branches), predicted),
        *(named(share, name) for share, name in zip(shares, probabilities, strict=True)),
        named(_sum(left_out or [integer(0)]), skipped),
    ]


def _remarks(model: NaiveBayes, dialect: Dialect) -> Sequence[str]:
    domain = model.domain
    columns = [*domain.label.columns, *(parameters.attribute for parameters in model.attributes)]
    return (
        f"Scores rows by a model of {model.domain.name!r} ({dialect.value}). Holds what the model holds, and no row.",
        f"{PREDICTED}: the likeliest class; {SKIPPED}: attributes left out of the row, missing or of unknown category.",
        *label_remarks(domain, columns),
    )
