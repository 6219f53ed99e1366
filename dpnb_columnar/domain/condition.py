"""Label conditions: a small, safe part of SQL that every engine evaluates alike.

Grammar (keywords in any case, ``"quoted names"`` for columns that are not plain words)::

    condition  = and { OR and }
    and        = not { AND not }
    not        = NOT not | '(' condition ')' | test
    test       = column ( = | <> | != | < | <= | > | >= ) constant
               | column [NOT] IN '(' constant { ',' constant } ')'
               | column [NOT] BETWEEN number AND number
    constant   = number | 'text' | TRUE | FALSE

Numbers compare with the column as a 64-bit float, text compares with the column as text (equality only); TRUE and
FALSE are the texts of boolean columns. Nulls follow SQL's three-valued logic. Nothing else parses, so a condition in a
file from elsewhere can call no function and read no table, and every engine is given the tree below, never the text.

The parser is in ``domain.field_reader``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import count, pairwise, product
from typing import TypeVar

from dpnb_columnar.domain.names import exact_number, identity, number_of_text

Part = TypeVar("Part")

COMPARE: Mapping[str, Callable[[Fraction | float, Fraction], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """``column operator constant``; the operator is one of ``= <> < <= > >=``."""

    column: str
    operator: str
    constant: Decimal | str


@dataclass(frozen=True, slots=True)
class Combination:
    """Conditions joined by ``AND`` or ``OR``."""

    operator: str
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """``NOT part``."""

    part: Node


Node = Comparison | Combination | Negation


@dataclass(frozen=True)
class Condition:
    """A parsed condition together with its text."""

    text: str
    root: Node

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Columns in the condition, in order of appearance."""
        return tuple(dict.fromkeys(comparison.column for comparison in comparisons(self.root)))


def comparisons(node: Node) -> Iterator[Comparison]:
    """Iterate over the comparisons of a condition, from left to right."""
    match node:
        case Comparison():
            yield node
        case Combination(parts=parts):
            for part in parts:
                yield from comparisons(part)
        case Negation(part=part):
            yield from comparisons(part)


MOST_CASES = 2**16  # cases that a condition is tried on; of one with more, whether it tells rows apart is not known
Value = Fraction | str  # a number, or a text, that a column may hold


def only_outcome(condition: Condition, values: Mapping[str, Collection[Value]]) -> bool | None:
    """Return the outcome that a condition has whatever its columns hold; None where it has both, or is not decided.

    *Why it is right.* An outcome depends on a column through the outcomes of that column's comparisons alone. So each
    combination of these is tried once, with those of every other column, by values such as ``possible_values`` gives;
    rows where the condition is null do not count.
    """
    cases: list[list[dict[Comparison, bool | None]]] = []
    number = 1
    for column in condition.columns:
        tests = [each for each in dict.fromkeys(comparisons(condition.root)) if each.column == column]
        if len(tests) * len(values[column]) > MOST_CASES:
            return None
        compared = [[_compare(value, test) for value in values[column]] for test in tests]
        outcomes = dict.fromkeys(zip(*compared, strict=True))
        cases.append([dict(zip(tests, each, strict=True)) for each in outcomes])
        number *= len(outcomes)
    if number > MOST_CASES:
        return None
    tried = ({test: outcome for part in case for test, outcome in part.items()} for case in product(*cases))
    reached = {_outcome(condition.root, case) for case in tried} - {None}
    return reached.pop() if len(reached) == 1 else None


def possible_values(
    condition: Condition, column: str, lower: Fraction | None = None, upper: Fraction | None = None
) -> list[Value]:
    """List values of a column, one at least for every combination of outcomes of its comparisons.

    Of numbers these change at the constants alone: the constants within the bounds, the bounds, a number between each
    two of these, and one beyond where there is no bound. Of texts: the constants, and another one.
    """
    constants = [each.constant for each in comparisons(condition.root) if each.column == column]
    texts = [constant for constant in constants if isinstance(constant, str)]
    others = [next(text for text in map(str, count()) if text not in texts)] if texts else []
    numbers = [exact_number(constant) for constant in constants if not isinstance(constant, str)]
    first = min(numbers, default=Fraction(0)) - 1 if lower is None else lower
    last = max(numbers, default=Fraction(0)) + 1 if upper is None else upper
    points = sorted({first, last, *(each for each in numbers if first <= each <= last)})
    return [*texts, *others, *points, *((one + other) / 2 for one, other in pairwise(points))]


def _outcome(node: Node, compared: Mapping[Comparison, bool | None]) -> bool | None:
    """Evaluate a condition as SQL does: null is neither."""
    match node:
        case Comparison():
            return compared[node]
        case Negation(part=part):
            outcome = _outcome(part, compared)
            return None if outcome is None else not outcome
        case Combination(operator=joined, parts=parts):
            outcomes = [_outcome(part, compared) for part in parts]
            decisive = joined == "OR"
            if decisive in outcomes:
                return decisive
            return None if None in outcomes else not decisive


def _compare(value: Value, test: Comparison) -> bool | None:
    """Compare a value; a text that is no number is null where it is compared with one."""
    constant = test.constant
    if isinstance(constant, str):
        return (identity(value) == identity(constant)) is (test.operator == "=") if isinstance(value, str) else None
    number = number_of_text(value) if isinstance(value, str) else value
    return None if number is None else COMPARE[test.operator](number, exact_number(constant))


def in_halves(parts: Sequence[Part], join: Callable[[Part, Part], Part]) -> Part:
    """Join parts as a balanced tree: a chain of a thousand is nested deeper than databases accept."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return join(in_halves(parts[:middle], join), in_halves(parts[middle:], join))
