"""A model's scores as one query: what ``dpnb_columnar.model.scoring.score`` computes, in a database's own SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from dpnb_columnar.dialects.joined_query import is_complete, joined_steps, model_terms
from dpnb_columnar.dialects.nodes import (
    CommonTableExpression,
    QueryRows,
    RowsAndScalars,
    Step,
    double,
    is_null,
    rows_of_table,
    sum_of,
)
from dpnb_columnar.dialects.rendering import header, parse_table, rename_source_columns, render, table_or_default
from dpnb_columnar.dialects.rules import Kinds
from dpnb_columnar.dialects.sql_terms import (
    STEP_PREFIX,
    ComputedSqlTerms,
    number_skipped,
    numbered_columns,
    result_columns,
    step_column,
    value_read,
    weight_steps,
)
from dpnb_columnar.domain.domain_text import label_remarks
from dpnb_columnar.domain.names import listed
from dpnb_columnar.errors import UsageError, option
from dpnb_columnar.model.likelihood import (
    class_terms,
)
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.model.polars_terms import SKIPPED
from dpnb_columnar.model.scoring import PREDICTED, probability_column
from dpnb_columnar.rows.sources import Dialect


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
        parameters: Name of a table of the model's terms (``joined_query``) that the query joins; None for a query
            that holds them.
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
        attributes = [
            ComputedSqlTerms(value_read(attribute, kind, dialect), attribute, parameters, weight, dialect)
            for parameters, weight in zip(model.attributes, model.weights, strict=True)
            for attribute, kind in [(model.domain[parameters.attribute], known.get(parameters.attribute))]
        ]
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
    query = rows.query(steps, columns, given) if isinstance(rows, QueryRows) else rows.query(steps, columns)
    rename_source_columns(query, names or {})
    if view is not None:
        query = exp.Create(this=parse_table(view, dialect), kind="VIEW", expression=query)
    return header(_remarks(model, dialect)) + render(query, dialect, joined=parameters is not None)


def _steps(model: NaiveBayes, attributes: Sequence[ComputedSqlTerms]) -> Iterator[Step]:
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
