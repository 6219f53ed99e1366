"""The rules of a row (docs/privacy.md, section 1) as SQL: numbers, grid codes, category codes and the class.

The rules of ``dpnb_columnar/rows/row_rules.py``, in what every database understands. A text
that is no number is missing, never an error: a query that failed at such a text would reveal that there is one.
What a column holds may be unknown (its kind None). Then it is read as text, and as a number where it is one. A NaN is
then an unknown category rather than a missing one.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction
from functools import partial

from sqlglot import exp

from dpnb_columnar.dialects.nodes import (
    Branch,
    as_double,
    as_text,
    at_least,
    below,
    case,
    double,
    float_of,
    integer,
    is_in,
    is_null,
    lookup,
    minus,
    number_or_null,
    over,
    plus,
    source_column,
    text,
)
from dpnb_columnar.domain import Categorical, Label, Missing, Numeric, Weight
from dpnb_columnar.domain.column_kinds import Key, Kind, category_keys, number_keys, value_keys
from dpnb_columnar.domain.condition import Combination, Comparison, Negation, Node, in_halves
from dpnb_columnar.domain.names import NUMBER_WORDS
from dpnb_columnar.rows.row_rules import missing_numbers

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
    if kind is Kind.BOOLEAN:
        return _null_if_missing(
            case([(column, double(1)), (exp.Not(this=column.copy()), double(0))]), None, missing_values
        )
    if kind in (Kind.TEXT, None):
        words: dict[float, list[exp.Expr]] = {}
        for word, meant in NUMBER_WORDS.items():
            words.setdefault(meant, []).append(text(word))
        by_word = case((is_in(as_text(column.copy()), each), double(meant)) for meant, each in words.items())
        value: exp.Expr = exp.Coalesce(this=_spelled(name, kind), expressions=[by_word])
    elif kind is Kind.FLOAT:
        value = float_of(column)
    else:  # decimals by their text: DuckDB's direct cast is off by one unit in the last place beyond 2^53
        value = as_double(as_text(column) if kind is Kind.DECIMAL else column)
    return _null_if_missing(value, exp.IsNan(this=value.copy()) if kind in (Kind.FLOAT, None) else None, missing_values)


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
            return _comparison(node, kinds.get(node.column), missing_values)


def _comparison(node: Comparison, kind: Kind | None, missing_values: Sequence[str]) -> exp.Expr:
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


def _null_if_missing(value: exp.Expr, absent: exp.Expr | None, missing_values: Sequence[Fraction]) -> exp.Expr:
    """Write the value, null where it is absent or a declared missing value."""
    branches = [] if absent is None else [(absent, exp.null())]
    if missing_values:
        branches.append((is_in(value.copy(), [double(float(missing)) for missing in missing_values]), exp.null()))
    return case(branches, value) if branches else value


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
