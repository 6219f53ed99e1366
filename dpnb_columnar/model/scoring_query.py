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
from dpnb_columnar.domain import Attribute, Categorical
from dpnb_columnar.domain.column_kinds import Kind
from dpnb_columnar.domain.database_address import Dialect
from dpnb_columnar.domain.declared_domain import label_remarks
from dpnb_columnar.domain.names import listed
from dpnb_columnar.errors import UsageError
from dpnb_columnar.model.joined_query import is_complete, joined_steps, model_terms
from dpnb_columnar.model.likelihood import class_terms, missing_terms
from dpnb_columnar.model.listed_terms import ListedTerms, listed_terms
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.model.score_batches import SKIPPED
from dpnb_columnar.model.scoring import PREDICTED, probability_column
from dpnb_columnar.model.sql_terms import STEP_PREFIX, ComputedTerms, code_of_integer, numbered, step_column

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
        attributes = list(_attribute_terms(model, known, dialect))
        left_out = [terms.left_out(step_column(f"value_{place}")) for place, terms in enumerate(attributes)]
        steps = _steps(model, attributes)
        query = rows.query([*steps, *_weighed(model, dialect)], _results(model, results, left_out, dialect))
    elif isinstance(rows, RowsAndScalars):
        raise UsageError("SQLite cannot return every column of rows that are joined; name those to keep with --key")
    else:
        given, joined = joined_steps(model, known, dialect)
        weighed = _weighed(model, dialect, is_complete(model, parameters, dialect))
        terms = model_terms(model, parameters, dialect)
        left_out = [is_null(step_column(f"value_{place}")) for place, _ in enumerate(model.attributes)]
        query = rows.query([*joined, *weighed], _results(model, results, left_out, dialect), [terms, *given])
    if view is not None:
        query = exp.Create(this=parse_table(view, dialect), kind="VIEW", expression=query)
    return header(_remarks(model, dialect)) + render(query, dialect, joined=parameters is not None)


def _attribute_terms(model: NaiveBayes, kinds: Kinds, dialect: Dialect) -> Iterator[ComputedTerms | ListedTerms]:
    """Choose how the terms of every attribute are obtained from its column."""
    for parameters, weight in zip(model.attributes, model.weights, strict=True):
        attribute, kind = model.domain[parameters.attribute], kinds.get(parameters.attribute)
        terms = listed_terms(attribute, parameters, weight, kind) if dialect is Dialect.DUCKDB else None
        yield terms or ComputedTerms(_read(attribute, kind, dialect), attribute, parameters, weight, dialect)


def _read(attribute: Attribute, kind: Kind | None, dialect: Dialect) -> exp.Expr:
    """Read the number or the category's code."""
    if isinstance(attribute, Categorical):
        listed = code_of_integer(attribute, dialect) if kind is Kind.INTEGER else None
        return listed or category_code(attribute, kind)
    return number(attribute.name, kind, attribute.missing_values)


def _steps(model: NaiveBayes, attributes: Sequence[ComputedTerms | ListedTerms]) -> Iterator[Step]:
    """Return the steps from a row's columns to the classes' scores, each computed from the one before."""
    values = [terms.value(step_column(f"read_{place}")) for place, terms in enumerate(attributes)]
    if attributes:
        yield Step("rows_read", numbered("read", (terms.read for terms in attributes)))
        yield Step("rows_placed", numbered("value", values))
    classes = [terms.terms(step_column(f"value_{place}")) for place, terms in enumerate(attributes)]
    # Added from the left, as ``scoring.score`` does of models that are not wide.
    summands = zip(map(double, class_terms(model)), *classes, strict=True)
    joint = (added([term for term in terms if term is not None]) for terms in summands)
    yield Step("rows_joint", numbered("joint", joint))


def _weighed(model: NaiveBayes, dialect: Dialect, complete: exp.Expr | None = None) -> Iterator[Step]:
    """Return the steps from the classes' scores to their weights, and their sum; null unless ``complete`` holds."""
    classes = range(len(model.domain.classes))
    joint = [step_column(f"joint_{klass}") for klass in classes]
    # There are no nulls: nothing need test for them, as sqlglot otherwise has DuckDB do.
    largest = exp.Greatest(this=joint[0], expressions=joint[1:], ignore_nulls=dialect is Dialect.DUCKDB)
    yield Step("rows_largest", [named(largest, f"{STEP_PREFIX}largest")])
    yield Step("rows_weighed", numbered("weight", (_weight(klass, dialect) for klass in classes)))
    total = added([step_column(f"weight_{klass}") for klass in classes])
    total = total if complete is None else case([(complete, total)])
    yield Step("rows_summed", [named(total, f"{STEP_PREFIX}total")])


def _weight(klass: int, dialect: Dialect) -> exp.Expr:
    """Return the likelihood of a class, relative to that of the likeliest."""
    exponent = minus(step_column(f"joint_{klass}"), step_column("largest"))
    weight = exp.Exp(this=exponent)
    if dialect is Dialect.DUCKDB:
        return weight
    return case([(below(exponent.copy(), double(SMALLEST_EXPONENT)), double(0))], weight)


def _results(
    model: NaiveBayes, names: Sequence[str], left_out: Sequence[exp.Expr], dialect: Dialect
) -> list[exp.Alias]:
    """Return class, probabilities and the number of attributes left out.

    Args:
        model: The model.
        names: Names of these columns.
        left_out: Per attribute, whether the row has no value for it.
        dialect: The database.
    """
    predicted, *probabilities, skipped = names
    total = step_column("total")
    shares = [over(step_column(f"weight_{klass}"), total.copy()) for klass in range(len(probabilities))]
    # The largest weight is exp(0), exactly 1. Quotients are compared, since two of them may round to one number.
    likeliest = over(double(1), total)
    branches = [
        (equal(share.copy(), likeliest.copy()), text(name))
        for share, name in zip(shares, model.domain.classes, strict=True)
    ]
    # Each sum of whole numbers is tested for overflow in DuckDB, and takes three times that of floats.
    type_ = exp.DType.DOUBLE if dialect is Dialect.DUCKDB else exp.DType.INT
    counted: list[exp.Expr] = [
        exp.cast(absent, type_)
        for absent, parameters in zip(left_out, model.attributes, strict=True)
        if missing_terms(parameters) is None
    ]
    number_skipped = added(counted or [integer(0)])
    return [
        named(case(branches), predicted),
        *(named(share, name) for share, name in zip(shares, probabilities, strict=True)),
        named(number_skipped if type_ is exp.DType.INT else exp.cast(number_skipped, exp.DType.INT), skipped),
    ]


def _remarks(model: NaiveBayes, dialect: Dialect) -> Sequence[str]:
    domain = model.domain
    columns = [*domain.label.columns, *(parameters.attribute for parameters in model.attributes)]
    return (
        f"Scores rows by a model of {model.domain.name!r} ({dialect.value}). Holds what the model holds, and no row.",
        f"{PREDICTED}: the likeliest class; {SKIPPED}: attributes left out of the row, missing or of unknown category.",
        *label_remarks(domain, columns),
    )
