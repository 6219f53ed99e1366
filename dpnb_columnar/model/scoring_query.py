"""A model's scores as one query: what ``dpnb_columnar.model.scoring.score`` computes, in a database's own SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from dpnb_columnar.dialects.nodes import (
    added,
    below,
    case,
    double,
    equal,
    integer,
    is_null,
    minus,
    named,
    over,
    text,
)
from dpnb_columnar.dialects.rendering import header, parse_table, render, table_or_default
from dpnb_columnar.dialects.rules import Kinds, category_code, number
from dpnb_columnar.dialects.steps import RowsAndScalars, Step, rows_of_table
from dpnb_columnar.domain import Categorical
from dpnb_columnar.domain.names import listed
from dpnb_columnar.domain.value_labels import label_remarks
from dpnb_columnar.errors import UsageError
from dpnb_columnar.model.joined_query import is_complete, joined_steps, model_terms
from dpnb_columnar.model.likelihood import class_terms, missing_terms
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.model.scoring import PREDICTED, SKIPPED, probability_column
from dpnb_columnar.model.sql_terms import STEP_PREFIX, code_of_integer, numbered, placed, step_column, terms
from dpnb_columnar.rows.column_kinds import Kind
from dpnb_columnar.rows.database_address import Dialect

SMALLEST_EXPONENT = -700.0
"""A class less likely by this exponent counts as impossible: PostgreSQL fails where exp() is too small for a float."""


def scoring_query(
    model: NaiveBayes,
    dialect: Dialect,
    table: str | None = None,
    keys: Sequence[str] = (),
    kinds: Kinds | None = None,
    view: str | None = None,
    parameters: str | None = None,
) -> str:
    """Write the query that scores every row of a table: its columns, then those of ``score``.

    Args:
        model: A released model.
        dialect: The database.
        table: Name of the table, as ``rendering.parse_table`` reads it; None for the domain's name.
        keys: Columns to carry over, placed first; empty for all.
        kinds: What the columns hold; see ``dialects.rules``.
        view: Name of a view to create; None for a query.
        parameters: Name of a table of the model's terms (``parameters_table``) that the query joins; None for a query
            that holds them.

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
        raise UsageError(f"column {listed(taken)} has a name that the query uses; name those to keep with --key")
    source = table_or_default(table, model.domain.name, dialect)
    if parameters is not None and parse_table(parameters, dialect) == source:
        raise UsageError(f"table {parameters!r:.80}: cannot be that of the rows and that of the model's terms")
    rows = rows_of_table(dialect, source, list(dict.fromkeys(keys)))
    if parameters is None:
        query = rows.query([*_steps(model, known, dialect), *_weighed(model)], _results(model, results))
    elif isinstance(rows, RowsAndScalars):
        raise UsageError("SQLite cannot return every column of rows that are joined; name those to keep with --key")
    else:
        given, steps = joined_steps(model, known, dialect)
        weighed = _weighed(model, is_complete(model, parameters, dialect))
        terms = model_terms(model, parameters, dialect)
        query = rows.query([*steps, *weighed], _results(model, results), [terms, *given])
    if view is not None:
        query = exp.Create(this=parse_table(view, dialect), kind="VIEW", expression=query)
    return header(_remarks(model, dialect)) + render(query, dialect, of_rows=parameters is None)


def _steps(model: NaiveBayes, kinds: Kinds, dialect: Dialect) -> Iterator[Step]:
    """Return the steps from a row's columns to the classes' scores, each computed from the one before."""
    if model.attributes:
        yield Step("rows_read", numbered("read", _read(model, kinds, dialect)))
        yield Step("rows_placed", numbered("value", placed(model)))
    yield Step("rows_joint", numbered("joint", _joint(model, dialect)))


def _weighed(model: NaiveBayes, complete: exp.Expr | None = None) -> Iterator[Step]:
    """The steps from the classes' scores to their weights, and the sum of those; null unless ``complete`` holds."""
    classes = range(len(model.domain.classes))
    joint = [step_column(f"joint_{klass}") for klass in classes]
    yield Step("rows_largest", [named(exp.Greatest(this=joint[0], expressions=joint[1:]), f"{STEP_PREFIX}largest")])
    yield Step("rows_weighed", numbered("weight", map(_weight, classes)))
    total = added([step_column(f"weight_{klass}") for klass in classes])
    total = total if complete is None else case([(complete, total)])
    yield Step("rows_summed", [named(total, f"{STEP_PREFIX}total")])


def _read(model: NaiveBayes, kinds: Kinds, dialect: Dialect) -> Iterator[exp.Expr]:
    """Return the number or the category's code of every attribute."""
    for parameters in model.attributes:
        attribute, kind = model.domain[parameters.attribute], kinds.get(parameters.attribute)
        if isinstance(attribute, Categorical):
            listed = code_of_integer(attribute, dialect) if kind is Kind.INTEGER else None
            yield listed or category_code(attribute, kind)
        else:
            yield number(attribute.name, kind, attribute.missing_values)


def _joint(model: NaiveBayes, dialect: Dialect) -> Iterator[exp.Expr]:
    """Per class, the score, added from the left as ``scoring.score`` does."""
    summands: list[list[exp.Expr]] = [[double(term)] for term in class_terms(model)]
    for place, (parameters, weight) in enumerate(zip(model.attributes, model.weights, strict=True)):
        attribute = model.domain[parameters.attribute]
        classes = terms(attribute, parameters, step_column(f"value_{place}"), weight, dialect)
        missing = missing_terms(parameters, weight) or [0.0] * len(summands)
        for summand, term, without in zip(summands, classes, missing, strict=True):
            summand.append(exp.Coalesce(this=term, expressions=[double(without)]))
    for summand in summands:
        yield added(summand)


def _weight(klass: int) -> exp.Expr:
    """Return the likelihood of a class, relative to that of the likeliest."""
    exponent = minus(step_column(f"joint_{klass}"), step_column("largest"))
    return case([(below(exponent, double(SMALLEST_EXPONENT)), double(0))], exp.Exp(this=exponent.copy()))


def _results(model: NaiveBayes, names: Sequence[str]) -> list[exp.Alias]:
    """Class, probabilities and the number of attributes left out."""
    predicted, *probabilities, skipped = names
    total = step_column("total")
    shares = [over(step_column(f"weight_{klass}"), total.copy()) for klass in range(len(probabilities))]
    # The largest weight is exp(0), exactly 1. Quotients are compared, since two of them may round to one number.
    likeliest = over(double(1), total)
    branches = [
        (equal(share.copy(), likeliest.copy()), text(name))
        for share, name in zip(shares, model.domain.classes, strict=True)
    ]
    left_out: list[exp.Expr] = [
        exp.cast(is_null(step_column(f"value_{place}")), exp.DType.INT)
        for place, parameters in enumerate(model.attributes)
        if missing_terms(parameters) is None
    ]
    return [
        named(case(branches), predicted),
        *(named(share, name) for share, name in zip(shares, probabilities, strict=True)),
        named(added(left_out or [integer(0)]), skipped),
    ]


def _remarks(model: NaiveBayes, dialect: Dialect) -> Sequence[str]:
    domain = model.domain
    columns = [*domain.label.columns, *(parameters.attribute for parameters in model.attributes)]
    return (
        f"Scores rows by a model of {model.domain.name!r} ({dialect.value}). Holds what the model holds, and no row.",
        f"{PREDICTED}: the likeliest class; {SKIPPED}: attributes left out of the row, missing or of unknown category.",
        *label_remarks(domain, columns),
    )
