"""Nodes of a query's tree: every name is quoted, every constant is a node of its own, nothing is pasted into text.

*Rules of a row* (docs/privacy.md, section 1), those of ``rows.row_rules``, are here as SQL of every database. A text
that is no number is missing, never an error: a query that failed at such a text would reveal that there is one. A
column of unknown kind (None) is read as text, and as a number where it is one; a NaN is an unknown category there.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import partial, reduce

from sqlglot import exp

from dpnb_columnar.domain import Categorical, Label, Missing, Numeric, Weight
from dpnb_columnar.domain.column_kinds import Key, Kind, category_keys, number_keys, value_keys
from dpnb_columnar.domain.condition import Combination, Comparison, Negation, Node, in_halves
from dpnb_columnar.domain.names import NUMBER_WORDS
from dpnb_columnar.rows.row_rules import missing_numbers
from dpnb_columnar.rows.sources import Dialect

SOURCE = "source"
"""Alias of the rows' table within a query, so that its columns and the query's own cannot be confused."""

MOST_SUMMANDS = 256
"""Of one sum: each nests another expression, of which DuckDB and SQLite take no more than a thousand."""

Branch = tuple[exp.Expr, exp.Expr]


def identifier(name: str) -> exp.Identifier:
    """Quote a name."""
    return exp.to_identifier(name, quoted=True)


def source_column(name: str) -> exp.Column:
    """Name a column of the rows' table."""
    return exp.column(identifier(name), table=identifier(SOURCE))


def own_column(name: str) -> exp.Column:
    """Name a column that an earlier step of the query computed."""
    return exp.column(identifier(name))


def as_column(value: exp.Expr, name: str) -> exp.Alias:
    """Select a value as a column of this name."""
    return exp.Alias(this=value, alias=identifier(name))


def double(value: float) -> exp.Cast:
    """Write a 64-bit float: its shortest text, cast, since a bare 0.1 would be a decimal in some databases."""
    return exp.cast(exp.Literal.string(repr(float(value))), exp.DType.DOUBLE)


def integer(value: int) -> exp.Expr:
    """Write a whole number."""
    return exp.Literal.number(value)


def text(value: str) -> exp.Literal:
    """Write a text."""
    return exp.Literal.string(value)


def as_double(value: exp.Expr) -> exp.Cast:
    """Cast a value to a 64-bit float."""
    return exp.cast(value, exp.DType.DOUBLE)


def float_of(value: exp.Expr) -> exp.Cast:
    """Cast a column of floats, or of PostgreSQL's ``numeric``, to the nearest 64-bit float, however large or small."""
    return exp.Cast(this=value, to=exp.DType.DOUBLE.into_expr(), safe=True)


def number_or_null(value: exp.Expr) -> exp.TryCast:
    """Read a value as a 64-bit float; null where it is a text that is no number by ``domain.names``."""
    return exp.TryCast(this=value, to=exp.DType.DOUBLE.into_expr(), safe=True)


def as_text(value: exp.Expr) -> exp.Cast:
    """Cast a value to text."""
    return exp.cast(value, exp.DType.TEXT)


def case(branches: Iterable[Branch], otherwise: exp.Expr | None = None) -> exp.Case:
    """Write ``CASE WHEN condition THEN value ... ELSE otherwise END``; without ``otherwise``, null where none holds."""
    return exp.Case(ifs=[exp.If(this=when, true=then) for when, then in branches], default=otherwise)


FEW_STEPS = 8
"""Values that are looked for one after the other; more are halved first, so that a row takes few comparisons."""


def by_start(number: exp.Expr, starts: Sequence[exp.Expr], values: Sequence[exp.Expr]) -> exp.Expr:
    """Look up the value of the last of rising starts that a number reaches; the first value where it reaches none."""
    if len(values) > FEW_STEPS:
        half = len(values) // 2
        first = by_start(number, starts[: half - 1], values[:half])
        return case([(below(number.copy(), starts[half - 1]), first)], by_start(number, starts[half:], values[half:]))
    branches = [(below(number.copy(), start), value) for start, value in zip(starts, values[:-1], strict=True)]
    return case(branches, values[-1]) if branches else values[-1]


def lookup(value: exp.Expr, branches: Iterable[Branch], otherwise: exp.Expr | None = None) -> exp.Case:
    """Write ``CASE value WHEN constant THEN result ... ELSE otherwise END``; null where nothing else is given."""
    return exp.Case(this=value, ifs=[exp.If(this=when, true=then) for when, then in branches], default=otherwise)


def is_in(value: exp.Expr, constants: Sequence[exp.Expr]) -> exp.In:
    """Write ``value IN (constants)``."""
    return exp.In(this=value, expressions=list(constants))


def is_null(value: exp.Expr) -> exp.Is:
    """Write ``value IS NULL``."""
    return exp.Is(this=value, expression=exp.null())


def plus(left: exp.Expr, right: exp.Expr) -> exp.Add:
    """Add two numbers."""
    return exp.Add(this=_operand(left), expression=_operand(right))


def sum_of(summands: Sequence[exp.Expr]) -> exp.Expr:
    """Add numbers from the left, as SQL's plus does without parentheses; sums of them, where they are many."""
    while len(summands) > MOST_SUMMANDS:
        parts = [summands[start : start + MOST_SUMMANDS] for start in range(0, len(summands), MOST_SUMMANDS)]
        summands = [exp.Paren(this=sum_of(part)) for part in parts]
    return reduce(lambda left, right: exp.Add(this=left, expression=right), summands)


def minus(left: exp.Expr, right: exp.Expr) -> exp.Sub:
    """Subtract two numbers."""
    return exp.Sub(this=_operand(left), expression=_operand(right))


def times(left: exp.Expr, right: exp.Expr) -> exp.Mul:
    """Multiply two numbers."""
    return exp.Mul(this=_operand(left), expression=_operand(right))


def modulo(value: exp.Expr, divisor: int) -> exp.Mod:
    """Write the remainder of a whole number; of a number below 0 it is 0 or below 0."""
    return exp.Mod(this=_operand(value), expression=integer(divisor))


def over(left: exp.Expr, right: exp.Expr) -> exp.Div:
    """Divide two 64-bit floats."""
    return exp.Div(this=_operand(left), expression=_operand(right), typed=True, safe=False)


def _operand(value: exp.Expr) -> exp.Expr:
    """Put parentheses around a value with an operator of its own: floats must not be grouped in another way."""
    return exp.Paren(this=value) if isinstance(value, exp.Binary) else value


def at_least(left: exp.Expr, right: exp.Expr) -> exp.GTE:
    """Write ``left >= right``."""
    return exp.GTE(this=left, expression=right)


def below(left: exp.Expr, right: exp.Expr) -> exp.LT:
    """Write ``left < right``."""
    return exp.LT(this=left, expression=right)


def equal(left: exp.Expr, right: exp.Expr) -> exp.EQ:
    """Write ``left = right``."""
    return exp.EQ(this=left, expression=right)


@dataclass(frozen=True, slots=True)
class Number:
    """A 64-bit float of a query with Python's operators, so that a formula reads as it does elsewhere."""

    node: exp.Expr

    def __add__(self, other: Number | float) -> Number:
        return Number(plus(self.node.copy(), _node(other)))

    def __sub__(self, other: Number | float) -> Number:
        return Number(minus(self.node.copy(), _node(other)))

    def __mul__(self, other: Number | float) -> Number:
        return Number(times(self.node.copy(), _node(other)))

    def __rmul__(self, other: float) -> Number:
        return Number(times(double(other), self.node.copy()))

    def clip(self, least: float, largest: float) -> Number:
        """Put a number between bounds; null stays null, as it does not under every database's greatest()."""
        branches = [
            (below(self.node.copy(), double(least)), double(least)),
            (at_least(self.node.copy(), double(largest)), double(largest)),
        ]
        return Number(case(branches, self.node.copy()))


def _node(value: Number | float) -> exp.Expr:
    return value.node.copy() if isinstance(value, Number) else double(value)


# Databases have no common form of a list. Each form below is one constant, folded when the query is planned, so that a
# row costs one step however long the list is; a CASE of thousands of branches takes minutes to write, and to plan.


def number_at(
    numbers: Sequence[int] | Sequence[float], place: exp.Expr, dialect: Dialect, type_: exp.DType = exp.DType.BIGINT
) -> exp.Expr:
    """Write the number at a place of a list, from 0 on and below its length; null where the place is null."""
    listed = ",".join(map(str, numbers))
    after = plus(place, integer(1))
    match dialect:
        case Dialect.DUCKDB | Dialect.POSTGRES:
            written = f"[{listed}]" if dialect is Dialect.DUCKDB else f"{{{listed}}}"
            array = exp.DataType(this=exp.DType.ARRAY, expressions=[type_.into_expr()], nested=True)
            return exp.Bracket(this=exp.Paren(this=exp.cast(text(written), array)), expressions=[after], offset=1)
        case Dialect.SQLITE:
            # Characters of a text are counted from its beginning, bytes are not.
            width = max(len(str(number)) for number in numbers)
            padded = exp.cast(text("".join(f"{number:>{width}}" for number in numbers)), "BLOB")
            start = plus(times(place, integer(width)), integer(1))
            found: exp.Expr = exp.Substring(this=padded, start=start, length=integer(width))
        case Dialect.SPARK:
            position = exp.cast(after, exp.DType.INT)
            at = exp.cast(function("ELEMENT_AT", function("SPLIT", text(listed), text(",")), position), type_)
            # Spark takes an element of a list without nulls for one that is never null, even where the place is.
            return case([(exp.not_(is_null(place.copy())), at)])
        case Dialect.BIGQUERY:
            found = exp.Bracket(this=function("SPLIT", text(listed), text(",")), expressions=[place], offset=0)
        case Dialect.SNOWFLAKE:
            found = function("GET", function("SPLIT", text(listed), text(",")), place)
    return exp.cast(found, type_)


def enum_code(value: exp.Expr, texts: Iterable[str]) -> exp.Expr:
    """Find the place of a text among others in DuckDB; null where it is none, 8 or 16 bits: to add 1 may overflow."""
    members = exp.DataType(this=exp.DType.ENUM, expressions=list(map(text, texts)))
    return function("ENUM_CODE", exp.TryCast(this=value, to=members))


def function(name: str, *arguments: exp.Expr) -> exp.Expr:
    """Call a function that sqlglot need not know."""
    return exp.Anonymous(this=name, expressions=list(arguments))


ROW = "row"


@dataclass(frozen=True, slots=True)
class Step:
    """Columns, each under a name of its own, computed from the step before and from what it joins, one row at most."""

    name: str
    columns: Sequence[exp.Alias]
    joins: Sequence[exp.Join] = ()


@dataclass(frozen=True, slots=True)
class CommonTableExpression:
    """A query whose result steps may join, written before them."""

    name: str
    query: exp.Select


@dataclass(frozen=True, slots=True)
class QueryRows:
    """The rows a query is about, and the columns of them that it returns."""

    table: exp.Table
    first: Sequence[exp.Expr]  # what the first step selects of them, besides what it computes
    last: Sequence[exp.Expr] | None  # what the last step makes of that; None for every column but those of the steps

    def query(
        self, steps: Sequence[Step], results: Sequence[exp.Alias], given: Sequence[CommonTableExpression] = ()
    ) -> exp.Expr:
        """Build the query for the rows' columns and the results, which use the columns of the steps."""
        names = [column.alias for step in steps for column in step.columns]
        last = [exp.Star(except_=list(map(identifier, names)))] if self.last is None else self.last
        return _over_steps([*last, *results], exp.select(*self.first).from_(_as_source(self.table)), steps, given)


@dataclass(frozen=True, slots=True)
class RowsAndScalars:
    """All columns of the rows, where a database cannot leave one out: each result is a scalar subquery on one row."""

    table: exp.Table

    def query(self, steps: Sequence[Step], results: Sequence[exp.Alias]) -> exp.Expr:
        """Build the query, as ``QueryRows.query`` does."""
        scalars = [
            as_column(exp.Subquery(this=_over_steps([result.this], exp.Select(), steps)), result.alias)
            for result in results
        ]
        return exp.select(_all_of(SOURCE), *scalars).from_(_as_source(self.table))


def rows_of_table(dialect: Dialect, table: exp.Table, keys: Sequence[str]) -> QueryRows | RowsAndScalars:
    """Choose how a query returns the rows of a table."""
    if keys:
        kept = [f"kept_{place}" for place in range(len(keys))]
        first = [as_column(source_column(key), name) for key, name in zip(keys, kept, strict=True)]
        return QueryRows(table, first, [as_column(own_column(name), key) for key, name in zip(keys, kept, strict=True)])
    match dialect:
        case Dialect.SQLITE:
            return RowsAndScalars(table)
        case Dialect.POSTGRES:  # a row is a value there, which can be taken along and apart
            # Alone, the table's name would be a column of that name if there is one; as an argument it is the row.
            whole = as_column(exp.Coalesce(this=_all_of(SOURCE), expressions=[]), ROW)
            return QueryRows(table, [whole], [exp.Dot(this=exp.Paren(this=own_column(ROW)), expression=exp.Star())])
        case _:
            return QueryRows(table, [_all_of(SOURCE)], None)


def _over_steps(
    columns: Sequence[exp.Expr], start: exp.Select, steps: Sequence[Step], given: Sequence[CommonTableExpression] = ()
) -> exp.Select:
    """Select columns of the last step; the first step adds its own to ``start``, each other one to the step before."""
    query = exp.select(*columns).from_(table_reference(steps[-1].name))
    for each in given:
        query = query.with_(identifier(each.name), as_=each.query, copy=False)
    before = start
    for number, step in enumerate(steps):
        if step.joins:
            name = steps[number - 1].name
            before = exp.select(_all_of(name)).from_(table_reference(name))
            before.set("joins", list(step.joins))
        query = query.with_(identifier(step.name), as_=before.select(*step.columns), copy=False)
        before = exp.select(exp.Star()).from_(table_reference(step.name))
    return query


def table_reference(name: str) -> exp.Table:
    """Name a step, or what is given, as a table."""
    return exp.Table(this=identifier(name))


def _as_source(table: exp.Table) -> exp.Expr:
    return exp.alias_(table, identifier(SOURCE), table=True)


def _all_of(name: str) -> exp.Column:
    return exp.Column(this=exp.Star(), table=identifier(name))


Kinds = Mapping[str, Kind | None]
"""What each column holds; a column that is not in it is of unknown kind."""

COMPARISONS: Mapping[str, type[exp.Binary]] = {
    "=": exp.EQ,
    "<>": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}


def number(name: str, kind: Kind | None, missing_values: Sequence[Fraction] = ()) -> exp.Expr:
    """Read a column as 64-bit floats; null where null, NaN or a declared missing value."""
    column = source_column(name)
    value: exp.Expr
    if kind is Kind.BOOLEAN:
        value = case([(column, double(1)), (exp.Not(this=column.copy()), double(0))])
    elif kind in (Kind.TEXT, None):
        words: dict[float, list[exp.Expr]] = {}
        for word, meant in NUMBER_WORDS.items():
            words.setdefault(meant, []).append(text(word))
        by_word = case((is_in(as_text(column.copy()), each), double(meant)) for meant, each in words.items())
        value = exp.Coalesce(this=_spelled(name, kind), expressions=[by_word])
    elif kind is Kind.FLOAT:
        value = float_of(column)
    else:  # decimals by their text: DuckDB's direct cast is off by one unit in the last place beyond 2^53
        value = as_double(as_text(column) if kind is Kind.DECIMAL else column)
    absent: list[exp.Expr] = [exp.IsNan(this=value.copy())] if kind in (Kind.FLOAT, None) else []
    if missing_values:
        absent.append(is_in(value.copy(), [double(float(missing)) for missing in missing_values]))
    return case([(each, exp.null()) for each in absent], value) if absent else value


def _spelled(name: str, kind: Kind | None) -> exp.Expr:
    """Read a column of texts, or of unknown kind, as numbers; no word is one."""
    column = source_column(name)
    return number_or_null(as_text(column) if kind else column)


def grid_code(attribute: Numeric, value: exp.Expr) -> exp.Expr:
    """Compute the grid code 0..cells of a number, by the floating-point operations of ``rows.row_rules.grid_code``."""
    lower, upper, step = float(attribute.lower), float(attribute.upper), float(attribute.step)
    offset = minus(value, double(lower))
    code: exp.Expr = exp.cast(exp.Floor(this=plus(over(offset, double(step)), double(0.5))), exp.DType.BIGINT)
    last = math.floor((upper - lower) / step + 0.5)
    if last > attribute.cells:  # where the floats around a bound are hardly closer than the grid
        code = case([(exp.GT(this=code, expression=integer(attribute.cells)), integer(attribute.cells))], code.copy())
    # Far below half a step the quotient is not computed: PostgreSQL fails where one is too small for a float.
    first = (below(offset.copy(), double(step / 4)), integer(0))
    return case([first, (at_least(value.copy(), double(upper)), integer(min(last, attribute.cells)))], code)


def weight_steps(weight: Weight, value: exp.Expr) -> exp.Expr:
    """Compute the weight of a row in whole steps (never null), as ``rows.row_rules.weight_steps`` does."""
    is_finite = exp.LTE(this=value.copy(), expression=double(sys.float_info.max))
    is_weight = exp.and_(at_least(value.copy(), double(0)), is_finite, copy=False)
    return case([(is_weight, grid_code(weight.grid, value))], integer(weight.missing_steps))


def category_code(attribute: Categorical, kind: Kind | None) -> exp.Expr:
    """Find the position of the row's category, or the last code, where it is missing as ``row_rules`` says."""
    branches: list[Branch]
    otherwise: exp.Expr | None = None
    if attribute.missing is Missing.CATEGORY:
        otherwise = integer(len(attribute.values))
    # The declared texts first, since most texts are: only the others are read as numbers.
    if kind in (Kind.TEXT, None) and (numbers := number_keys(attribute.members)):
        branches = [(double(key), integer(position)) for key, position in numbers.items()]
        otherwise = lookup(_spelled(attribute.name, kind), branches, otherwise)
    known = category_keys(attribute, kind or Kind.TEXT)
    branches = [(_constant(key, kind), integer(position)) for key, position in known.items()]
    return lookup(_key(attribute.name, kind), branches, otherwise)


def class_code(label: Label, kinds: Kinds) -> exp.Expr:
    """Find the position of the row's class, null where the label is missing or in no class."""
    if label.condition is None:
        return category_code(label.categories, kinds.get(label.categories.name))
    holds = condition_holds(label, kinds)
    return case([(holds, integer(1)), (exp.not_(holds.copy(), copy=False), integer(0))])


def condition_holds(label: Label, kinds: Kinds) -> exp.Expr:
    """Evaluate the condition of a label that has one, by three-valued logic."""
    assert label.condition is not None
    return _condition(label.condition.root, kinds, label.missing_values)


def _condition(node: Node, kinds: Kinds, missing_values: Sequence[str]) -> exp.Expr:
    match node:
        case Negation(part=part):
            return exp.not_(_condition(part, kinds, missing_values), copy=False)
        case Combination(operator=operator, parts=parts):
            join = partial(exp.and_ if operator == "AND" else exp.or_, copy=False)
            return in_halves([_condition(part, kinds, missing_values) for part in parts], join)
        case Comparison():
            kind = kinds.get(node.column)
    if not isinstance(node.constant, str):
        value = number(node.column, kind, missing_numbers(missing_values))
        return COMPARISONS[node.operator](this=value, expression=double(float(node.constant)))
    equal = _is_one_of(node.column, kind, [node.constant])
    if _constants(missing_values, kind):
        equal = case([(exp.not_(_is_one_of(node.column, kind, missing_values), copy=False), equal)])
    return equal if node.operator == "=" else exp.not_(equal, copy=False)


def _is_one_of(name: str, kind: Kind | None, values: Sequence[str]) -> exp.Expr:
    """Test whether a row has one of some declared values; null where it has no value."""
    test: exp.Expr = is_in(_key(name, kind), _constants(values, kind))
    if kind not in (Kind.TEXT, None) or not (numbers := number_keys(dict.fromkeys(values, 0))):
        return test
    value = _spelled(name, kind)
    spelled = exp.and_(exp.not_(is_null(value)), is_in(value.copy(), list(map(double, numbers))))
    return exp.Paren(this=exp.or_(test, spelled))


def _key(name: str, kind: Kind | None) -> exp.Expr:
    """Write the column in the form of its kind's keys; null where null or NaN."""
    if kind in (Kind.FLOAT, Kind.DECIMAL):
        return number(name, kind)
    column = source_column(name)
    return as_text(column) if kind in (Kind.TEXT, None) else column


def _constants(values: Sequence[str], kind: Kind | None) -> list[exp.Expr]:
    """Write the declared values as constants of a column of this kind, but for those that it cannot hold."""
    return [_constant(key, kind) for key in value_keys(values, kind or Kind.TEXT)]


def _constant(key: Key, kind: Kind | None) -> exp.Expr:
    if isinstance(key, bool):
        return exp.Boolean(this=key)
    if isinstance(key, date):
        return exp.cast(text(key.isoformat()), exp.DType.DATE)
    if isinstance(key, int | float):
        return double(key) if kind in (Kind.FLOAT, Kind.DECIMAL) else integer(int(key))
    return text(key)
