"""A model's scores as one query: what ``dpnb_columnar.model.predict.score`` computes, in a database's own SQL."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from dpnb_columnar.dialects.nodes import (
    SOURCE,
    below,
    case,
    double,
    equal,
    identifier,
    integer,
    is_null,
    minus,
    named,
    over,
    own_column,
    source_column,
    text,
)
from dpnb_columnar.dialects.rules import Kinds, category_code, check_texts, number
from dpnb_columnar.dialects.write import header, table_named, table_or, written
from dpnb_columnar.domain import Categorical, Numeric
from dpnb_columnar.domain.names import listed
from dpnb_columnar.errors import UsageError
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.parameters import Table
from dpnb_columnar.model.predict import PREDICTED, SKIPPED, probability_column
from dpnb_columnar.model.sql_terms import placed, terms
from dpnb_columnar.rows.database_address import Dialect

# MERGED FROM dpnb_columnar/model/sql.py: How a query computes in steps and still returns no column but the rows' own
# and the results. A step can only use columns of the step before, so what is computed on the way becomes columns.
# Where the rows' columns are named, the last step names them again. Where all of them are wanted, nobody knows their
# names, and databases differ in how the columns on the way are left out.

ROW = "row"
OUTERMOST = "scored"


@dataclass(frozen=True, slots=True)
class Step:
    """Columns computed from those of the step before.

    Attributes:
        name: What the step is called in the query.
        columns: Each under a name that no other step uses.
    """

    name: str
    columns: Sequence[exp.Alias]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows a query is about, and the columns of them that it returns.

    Attributes:
        table: Where they are.
        first: What the first step takes of them, beside what it computes.
        last: What the last step makes of that.
        hides: Whether ``last`` leaves out the columns on the way, once told their names.
    """

    table: exp.Table
    first: Sequence[exp.Expr]
    last: Sequence[exp.Expr]
    hides: bool = False

    def query(self, steps: Sequence[Step], results: Sequence[exp.Alias]) -> exp.Expr:
        """Select the rows' columns and the results, which use the columns of the steps."""
        names = [column.alias for step in steps for column in step.columns]
        last = [exp.Star(except_=list(map(identifier, names)))] if self.hides else self.last
        start = exp.select(*self.first).from_(_aliased(self.table))
        return _over_steps([*last, *results], start, steps)


@dataclass(frozen=True, slots=True)
class RowsOfScalars:
    """All columns of rows where no column can be left out of them: each result is a query of its own about one row."""

    table: exp.Table

    def query(self, steps: Sequence[Step], results: Sequence[exp.Alias]) -> exp.Expr:
        """As ``Rows.query``."""
        scalars = [
            named(exp.Subquery(this=_over_steps([result.this], exp.Select(), steps)), result.alias)
            for result in results
        ]
        return exp.select(_all_of_source(), *scalars).from_(_aliased(self.table))


def rows_of(dialect: Dialect, table: exp.Table, keys: Sequence[str]) -> Rows | RowsOfScalars:
    """The rows of a table with these columns, or with all where none is named."""
    if keys:
        kept = [f"kept_{place}" for place in range(len(keys))]
        first = [named(source_column(key), name) for key, name in zip(keys, kept, strict=True)]
        return Rows(table, first, [named(own_column(name), key) for key, name in zip(keys, kept, strict=True)])
    match dialect:
        case Dialect.SQLITE:
            return RowsOfScalars(table)
        case Dialect.POSTGRES:  # a row is a value there, which can be taken along and apart
            # Alone, the table's name would be a column of that name if there is one; as an argument it is the row.
            whole = named(exp.Coalesce(this=_all_of_source(), expressions=[]), ROW)
            return Rows(table, [whole], [exp.Dot(this=exp.Paren(this=own_column(ROW)), expression=exp.Star())])
        case _:
            return Rows(table, [_all_of_source()], [], hides=True)


def _over_steps(columns: Sequence[exp.Expr], start: exp.Select, steps: Sequence[Step]) -> exp.Select:
    """Select columns of the last step; the first adds its own to ``start``, each other one to the step before."""
    query = exp.select(*columns).from_(_table(steps[-1].name))
    before = start
    for step in steps:
        query = query.with_(identifier(step.name), as_=before.select(*step.columns), copy=False)
        before = exp.select(exp.Star()).from_(_table(step.name))
    return query


def _table(name: str) -> exp.Table:
    return exp.Table(this=identifier(name))


def _aliased(table: exp.Table) -> exp.Expr:
    return exp.alias_(table, identifier(SOURCE), table=True)


def _all_of_source() -> exp.Column:
    return exp.Column(this=exp.Star(), table=identifier(SOURCE))


ON_THE_WAY = "__dpnb_"
"""How the names of columns on the way to a result begin: all columns of a table may come along, none is so called."""

SMALLEST_EXPONENT = -700.0
"""What is less likely by this exponent counts as impossible: PostgreSQL fails where exp() is too small for a float."""


def scoring_query(
    model: Model,
    dialect: Dialect,
    table: str | None = None,
    keys: Sequence[str] = (),
    kinds: Kinds | None = None,
    view: str | None = None,
) -> str:
    """The query that scores every row of a table: its columns, then those of ``score``.

    Args:
        model: A released model.
        dialect: The database.
        table: Name of the table as ``write.table_named`` takes it; None for the domain's name.
        keys: Columns to carry over, placed first; none for all.
        kinds: What the columns hold; see ``values``.
        view: Name of a view to create.

    Raises:
        UsageError: A name is none, a key has the name of a result, a column that comes along has a name of the query's
            own, or a column holds what the database does not write exactly.
    """
    asked = [model.domain[parameters.attribute] for parameters in model.attributes]
    known = kinds or {}
    check_texts(asked, None, known, dialect)
    results = [PREDICTED, *(probability_column(name) for name in model.domain.classes), SKIPPED]
    if clash := set(results).intersection(keys):
        raise UsageError(f"key {', '.join(sorted(clash))} would stand beside a result of that name; leave it out")
    if not keys and (taken := [name for name in known if name.lower().startswith(ON_THE_WAY)]):
        raise UsageError(f"column {listed(taken)} has a name that the query uses; name those to keep with --key")
    rows = rows_of(dialect, table_or(table, model.domain.name, dialect), list(dict.fromkeys(keys)))
    query: exp.Expr = rows.query(list(_steps(model, known)), _results(model, results))
    if view is not None:
        query = exp.Create(this=table_named(view, dialect), kind="VIEW", expression=query)
    return header(_remarks(model, dialect)) + written(query, dialect)


def _steps(model: Model, kinds: Kinds) -> Iterator[Step]:
    """What is computed from the rows, and from what was computed before."""
    classes = range(len(model.domain.classes))
    if model.attributes:
        yield Step("rows_read", _numbered("read", _read(model, kinds)))
        yield Step("rows_placed", _numbered("value", _placed(model)))
    yield Step("rows_joint", _numbered("joint", _joint(model)))
    joint = [_own(f"joint_{klass}") for klass in classes]
    yield Step("rows_largest", [named(exp.Greatest(this=joint[0], expressions=joint[1:]), f"{ON_THE_WAY}largest")])
    yield Step("rows_weighed", _numbered("weight", map(_weight, classes)))
    yield Step("rows_summed", [named(_sum([_own(f"weight_{klass}") for klass in classes]), f"{ON_THE_WAY}total")])


def _numbered(name: str, values: Iterable[exp.Expr]) -> list[exp.Alias]:
    return [named(value, f"{ON_THE_WAY}{name}_{place}") for place, value in enumerate(values)]


def _own(name: str) -> exp.Column:
    """A column on the way."""
    return own_column(f"{ON_THE_WAY}{name}")


def _read(model: Model, kinds: Kinds) -> Iterator[exp.Expr]:
    """The number or the category's code of every attribute."""
    for parameters in model.attributes:
        attribute, kind = model.domain[parameters.attribute], kinds.get(parameters.attribute)
        if isinstance(attribute, Categorical):
            yield category_code(attribute, kind)
        else:
            yield number(attribute.name, kind, attribute.missing_values)


def _placed(model: Model) -> Iterator[exp.Expr]:
    """The prepared value of every attribute."""
    for place, parameters in enumerate(model.attributes):
        attribute, value = model.domain[parameters.attribute], _own(f"read_{place}")
        if isinstance(attribute, Numeric) and not isinstance(parameters, Table):
            yield placed(attribute, parameters, value)
        else:
            yield value


def _joint(model: Model) -> Iterator[exp.Expr]:
    """Per class, the joint log-likelihood, added from the left as ``score`` does."""
    summands: list[list[exp.Expr]] = [[double(math.log(prior))] for prior in model.classes.probability]
    for place, parameters in enumerate(model.attributes):
        attribute = model.domain[parameters.attribute]
        found = terms(attribute, parameters, _own(f"value_{place}"))
        for summand, term in zip(summands, found, strict=True):
            summand.append(exp.Coalesce(this=term, expressions=[double(0)]))
    for summand in summands:
        yield _sum(summand)


def _sum(summands: Sequence[exp.Expr]) -> exp.Expr:
    """The sum from the left, which SQL's plus is without parentheses."""
    return reduce(lambda left, right: exp.Add(this=left, expression=right), summands)


def _weight(klass: int) -> exp.Expr:
    exponent = minus(_own(f"joint_{klass}"), _own("largest"))
    return case([(below(exponent, double(SMALLEST_EXPONENT)), double(0))], exp.Exp(this=exponent.copy()))


def _results(model: Model, names: Sequence[str]) -> list[exp.Alias]:
    """Class, probabilities and the number of attributes left out."""
    predicted, *probabilities, skipped = names
    total = _own("total")
    shares = [over(_own(f"weight_{klass}"), total.copy()) for klass in range(len(probabilities))]
    # The largest weight is exp(0), exactly 1. Quotients are compared, since two of them may round to one number.
    likeliest = over(double(1), total)
    branches = [
        (equal(share.copy(), likeliest.copy()), text(name))
        for share, name in zip(shares, model.domain.classes, strict=True)
    ]
    left_out: list[exp.Expr] = [
        case([(is_null(_own(f"value_{place}")), integer(1))], integer(0)) for place in range(len(model.attributes))
    ]
    return [
        named(case(branches), predicted),
        *(named(share, name) for share, name in zip(shares, probabilities, strict=True)),
        named(_sum(left_out or [integer(0)]), skipped),
    ]


def _remarks(model: Model, dialect: Dialect) -> Sequence[str]:
    return (
        f"Scores rows by a model of {model.domain.name!r} ({dialect.value}). Holds what the model holds, and no row.",
        f"{PREDICTED}: the likeliest class; {SKIPPED}: attributes left out of the row, missing or of unknown category.",
    )
