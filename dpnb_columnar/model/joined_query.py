"""The scores of rows by joins with a table of the model's terms: the query stays small however many cells it has.

A category is looked up by its text, and by its number where that finds nothing: each is one join with the rows of the
table that belong to the attribute. A normal attribute is a formula, as in ``scoring_query``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from dpnb_columnar.dialects.nodes import (
    added,
    as_text,
    at_least,
    case,
    double,
    equal,
    identifier,
    integer,
    is_null,
    named,
    number_or_null,
    own_column,
    source_column,
    text,
)
from dpnb_columnar.dialects.rendering import parse_table
from dpnb_columnar.dialects.rules import Kinds, number
from dpnb_columnar.dialects.steps import Given, Step, table_named
from dpnb_columnar.domain import Attribute, Categorical, Missing, Numeric
from dpnb_columnar.domain.column_kinds import Kind, number_keys
from dpnb_columnar.domain.database_address import Dialect
from dpnb_columnar.model.likelihood import cell_terms, class_terms, missing_terms
from dpnb_columnar.model.parameters import Histogram, NaiveBayes, Normal, Table
from dpnb_columnar.model.parameters_table import listed_codes, model_key, table_rows
from dpnb_columnar.model.sql_terms import STEP_PREFIX, numbered, prepared_value, step_column, terms

TERMS = f"{STEP_PREFIX}terms"
"""Name of the query that has a row per attribute and value of the table, and a column per class."""

VALUE, NUMBER = "value", "number"
"""Columns of the table that rows are looked up by."""

MATCHED_AS_NUMBERS = frozenset({Kind.INTEGER, Kind.UNSIGNED, Kind.FLOAT, Kind.DECIMAL})
"""Kinds of columns whose categories are found by their number alone."""


def model_terms(model: NaiveBayes, table: str, dialect: Dialect) -> Given:
    """Select the model's terms of the table, a column per class."""
    keys = [_column("attribute"), exp.Coalesce(this=as_text(_column(VALUE)), expressions=[text("")]), _column(NUMBER)]
    columns = [
        exp.Max(this=case([(equal(_column("class"), text(name)), _column("term"))])) for name in model.domain.classes
    ]
    query = (
        exp.select(
            *(named(key.copy(), name) for key, name in zip(keys, ("attribute", VALUE, NUMBER), strict=True)),
            *(named(column, f"term_{klass}") for klass, column in enumerate(columns)),
        )
        .from_(parse_table(table, dialect))
        .where(equal(_column("model"), text(model_key(model))))
        .group_by(*keys)
    )
    return Given(TERMS, query)


def _column(name: str) -> exp.Column:
    """Name a column of the table, without quotes: a database that folds names has folded it in the table as well."""
    return exp.column(name)


def is_complete(model: NaiveBayes, table: str, dialect: Dialect) -> exp.Expr:
    """Test that the table holds the model's rows, each once: scores would be wrong, and look right, without some."""
    rows = exp.select(exp.Count(this=exp.Star())).from_(parse_table(table, dialect))
    counted = rows.where(equal(_column("model"), text(model_key(model))))
    return equal(exp.Subquery(this=counted), integer(sum(1 for _ in table_rows(model))))


@dataclass(frozen=True, slots=True)
class JoinedTerms:
    """The terms of an attribute with cells, looked up in the table.

    Attributes:
        place: Its place in the model.
        attribute: The attribute as declared.
        parameters: Its parameters.
        weight: Its weight.
        kind: What its column holds.
    """

    place: int
    attribute: Attribute
    parameters: Table | Histogram
    weight: float
    kind: Kind | None

    @property
    def columns(self) -> list[str]:
        """The columns of the table that a row is looked up by, one after the other."""
        if not isinstance(self.attribute, Categorical) or self.kind in MATCHED_AS_NUMBERS:
            return [NUMBER]
        if self.kind in (Kind.TEXT, None) and number_keys(self.attribute.members):
            return [VALUE, NUMBER]  # by text first, as ``rules.category_code``: only other texts are read as numbers
        return [VALUE]

    def read(self) -> exp.Expr:
        """Read from the row what its keys are made of."""
        name = self.attribute.name
        if isinstance(self.attribute, Numeric):
            return number(name, self.kind, self.attribute.missing_values)
        if self.kind in MATCHED_AS_NUMBERS:
            return number(name, self.kind)
        column = source_column(name)
        if self.kind is Kind.BOOLEAN:
            return case([(column, text("true")), (exp.Not(this=column.copy()), text("false"))])
        return column if self.kind is None else as_text(column)

    def given(self) -> Iterator[Given]:
        """Select the attribute's terms, with each column that a row is looked up by."""
        classes = [f"term_{klass}" for klass in range(len(self.parameters.probability))]
        for column in self.columns:
            query = exp.select(*map(own_column, [column, *classes])).from_(table_named(TERMS))
            query = query.where(equal(own_column("attribute"), text(self.attribute.name)))
            yield Given(self._alias(column), query)

    def joins(self) -> Iterator[exp.Join]:
        """Join them to the step that holds the attribute's value."""
        for column in self.columns:
            key = self._key(column)
            if column == NUMBER and VALUE in self.columns:
                key = case([(is_null(self._term(VALUE, 0)), key)])
            table = table_named(self._alias(column))
            yield exp.Join(this=table, side="LEFT", on=equal(self._found(column, column), key))

    def terms(self) -> list[exp.Expr]:
        """Return a term per class; null where the attribute is left out of the row."""
        if isinstance(self.parameters, Table):
            with_missing = isinstance(self.attribute, Categorical) and self.attribute.missing is Missing.CATEGORY
            missing = [row[-1] for row in cell_terms(self.parameters, self.weight)] if with_missing else None
        else:
            missing = missing_terms(self.parameters, self.weight)
        terms: list[exp.Expr] = []
        for klass in range(len(self.parameters.probability)):
            found: list[exp.Expr] = [self._term(column, klass) for column in self.columns]
            found += [] if missing is None else [double(missing[klass])]
            terms.append(exp.Coalesce(this=found[0], expressions=found[1:]) if len(found) > 1 else found[0])
        return terms

    def _key(self, column: str) -> exp.Expr:
        """Compute what a row is looked up by."""
        if isinstance(self.parameters, Histogram):
            assert isinstance(self.attribute, Numeric)
            code, codes = step_column(f"value_{self.place}"), listed_codes(self.attribute, self.parameters)
            if len(codes) == self.attribute.cells + 1:
                return code
            return case((at_least(code.copy(), integer(start)), integer(start)) for start in reversed(codes))
        read = step_column(f"read_{self.place}")
        if column == NUMBER:
            # NaN is no number of the table, so it needs no test here.
            return read if self.kind in MATCHED_AS_NUMBERS else number_or_null(as_text(read) if self.kind else read)
        return as_text(read) if self.kind is None else read

    def _alias(self, column: str) -> str:
        return f"{STEP_PREFIX}{column}_{self.place}"

    def _found(self, column: str, name: str) -> exp.Column:
        return exp.column(identifier(name), table=identifier(self._alias(column)))

    def _term(self, column: str, klass: int) -> exp.Column:
        return self._found(column, f"term_{klass}")


def joined_steps(model: NaiveBayes, kinds: Kinds, dialect: Dialect) -> tuple[list[Given], list[Step]]:
    """Write the steps from a row's columns to the classes' scores, and the queries that they join but the first.

    The value of an attribute is null where it is left out of the row.
    """
    given: list[Given] = []
    joins: list[exp.Join] = []
    read, prepared, values = [], [], []
    summands: list[list[exp.Expr]] = [[double(term)] for term in class_terms(model)]
    for place, (parameters, weight) in enumerate(zip(model.attributes, model.weights, strict=True)):
        attribute, kind = model.domain[parameters.attribute], kinds.get(parameters.attribute)
        value = f"{STEP_PREFIX}value_{place}"
        if isinstance(parameters, Normal):
            assert isinstance(attribute, Numeric)
            read.append(number(attribute.name, kind, attribute.missing_values))
            classes = terms(attribute, parameters, own_column(value), weight, dialect)
            if missing := missing_terms(parameters, weight):
                classes = [
                    exp.Coalesce(this=term, expressions=[double(without)])
                    for term, without in zip(classes, missing, strict=True)
                ]
        else:
            joined = JoinedTerms(place, attribute, parameters, weight, kind)
            given += joined.given()
            joins += joined.joins()
            read.append(joined.read())
            classes = joined.terms()
        if isinstance(attribute, Numeric):
            assert not isinstance(parameters, Table)
            prepared.append(named(prepared_value(attribute, parameters, step_column(f"read_{place}")), value))
        else:
            values.append(named(classes[0].copy(), value))
        for summand, term in zip(summands, classes, strict=True):
            summand.append(exp.Coalesce(this=term, expressions=[double(0)]))
    first = [Step("rows_read", numbered("read", read)), Step("rows_placed", prepared)] if model.attributes else []
    joint = Step("rows_joint", [*values, *numbered("joint", map(added, summands))], joins)
    return given, [*first, joint]
