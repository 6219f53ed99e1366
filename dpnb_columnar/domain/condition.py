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

The parser is our own because a library's would read too much: sqlglot reads all of SQL, nearly all of which would have
to be refused, and its import takes 0.3 seconds in every command that reads a domain (this module's takes 0.06).

Read a condition from its text.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import count, pairwise, product
from typing import TypeVar

from dpnb_columnar.domain.names import TRUTHS, exact_number, identity, number_of_text
from dpnb_columnar.errors import excerpt

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


TOKEN = re.compile(
    r"""(?P<number>[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?)(?![\w.])
      |(?P<word>[^\W\d]\w*)
      |"(?P<quoted>(?:[^"]|"")+)"
      |'(?P<text>(?:[^']|'')*)'
      |(?P<symbol><=|>=|<>|!=|[=<>(),])""",
    re.VERBOSE,
)
MISSPELT = {"==": "=", "=>": ">=", "=<": "<=", "!==": "<>", "><": "<>"}
"""Comparisons of other languages, and how they are written here."""

KEYWORDS = {"AND", "OR", "NOT", "IN", "BETWEEN"}
LONGEST_CONDITION = 4096  # characters; bounds the depth of recursion on text from elsewhere
DEEPEST_NESTING = 32


def parse_condition(text: str) -> Condition:
    """Parse a label condition; a ValueError says where it leaves the grammar above, and what is allowed."""
    if len(text) > LONGEST_CONDITION:
        raise ValueError(f"a condition has at most {LONGEST_CONDITION} characters, this one has {len(text)}")
    return Condition(text, _Parser(text).parse())


class _Parser:
    """Recursive-descent parser of one condition: one method for each rule of the grammar."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(_tokens(text))
        self.position = 0
        self.depth = 0

    def parse(self) -> Node:
        node = self.disjunction()
        if self.kind() != "end":
            raise self.syntax_error("AND, OR or the end")
        return node

    def kind(self) -> str:
        return self.tokens[self.position][0]

    def take(self, kind: str, *values: str) -> str | None:
        """Consume the current token if it is of a kind, and one of the values given; return its value, else None."""
        token_kind, value, _ = self.tokens[self.position]
        if token_kind != kind or (values and value not in values):
            return None
        self.position += 1
        return value

    def syntax_error(self, what: str) -> ValueError:
        kind, value, offset = self.tokens[self.position]
        actual = "the end" if kind == "end" else excerpt(value)
        return ValueError(
            f"expected {what} at character {offset + 1}, found {actual}; a condition compares columns with constants, "
            "for example: INCWAGE > 1500 AND NOT SEX = 'Female'"
        )

    def disjunction(self) -> Node:
        return self.combination("OR", lambda: self.combination("AND", self.negation))

    def combination(self, keyword: str, part: Callable[[], Node]) -> Node:
        parts = [part()]
        while self.take("keyword", keyword):
            parts.append(part())
        return parts[0] if len(parts) == 1 else Combination(keyword, tuple(parts))

    def negation(self) -> Node:
        self.depth += 1
        if self.depth > DEEPEST_NESTING:
            raise ValueError(f"a condition nests at most {DEEPEST_NESTING} deep")
        node: Node
        if self.take("keyword", "NOT"):
            node = Negation(self.negation())
        elif self.take("symbol", "("):
            node = self.disjunction()
            if not self.take("symbol", ")"):
                raise self.syntax_error("')'")
        else:
            node = self.test()
        self.depth -= 1
        return node

    def test(self) -> Node:
        column = self.take("column")
        if column is None:
            raise self.syntax_error("a column name, NOT or '('")
        if operator := self.take("symbol", "=", "<>", "!=", "<", "<=", ">", ">="):
            if right := MISSPELT.get(operator + str(self.tokens[self.position][1])):
                place = self.tokens[self.position - 1][2] + 1
                raise ValueError(f"write {right} in place of the comparison at character {place}")
            return self.comparison(column, "<>" if operator == "!=" else operator)
        negated = self.take("keyword", "NOT")
        node: Node
        if self.take("keyword", "IN"):
            node = self.membership(column)
        elif self.take("keyword", "BETWEEN"):
            low = Comparison(column, ">=", self.number())
            if not self.take("keyword", "AND"):
                raise self.syntax_error("AND")
            node = Combination("AND", (low, Comparison(column, "<=", self.number())))
        else:
            raise self.syntax_error("a comparison, IN or BETWEEN")
        return Negation(node) if negated else node

    def comparison(self, column: str, operator: str) -> Comparison:
        constant = self.constant()
        if isinstance(constant, str) and operator not in ("=", "<>"):
            raise ValueError(f"text has no order here: use = or <> with {excerpt(constant)}, or compare with a number")
        return Comparison(column, operator, constant)

    def membership(self, column: str) -> Node:
        if not self.take("symbol", "("):
            raise self.syntax_error("'('")
        parts: list[Node] = [Comparison(column, "=", self.constant())]
        while self.take("symbol", ","):
            parts.append(Comparison(column, "=", self.constant()))
        if not self.take("symbol", ")"):
            raise self.syntax_error("',' or ')'")
        return parts[0] if len(parts) == 1 else Combination("OR", tuple(parts))

    def constant(self) -> Decimal | str:
        text = self.take("text")
        if text is None and (boolean := self.take("column", *TRUTHS)):
            return boolean.lower()
        return text if text is not None else self.number()

    def number(self) -> Decimal:
        number = self.take("number")
        if number is None:
            raise self.syntax_error("a number or a 'text' constant")
        exact_number(number)  # refuses what no 64-bit float can hold
        return Decimal(number)


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    offset = _after_space(text, 0)
    while offset < len(text):
        match = TOKEN.match(text, offset)
        if match is None:
            raise ValueError(
                f"unexpected {text[offset : offset + 10]!r} at character {offset + 1}; a condition compares columns "
                "with constants, and joins comparisons by AND, OR and NOT"
            )
        kind = match.lastgroup or ""
        value = match[kind]
        if kind == "word":
            keyword = value.isascii() and value.upper() in KEYWORDS
            yield ("keyword", value.upper(), offset) if keyword else ("column", value, offset)
        elif kind == "quoted":
            yield "column", value.replace('""', '"'), offset
        elif kind == "text":
            yield "text", value.replace("''", "'"), offset
        else:
            yield kind, value, offset
        offset = _after_space(text, match.end())
    yield "end", "", len(text)


def _after_space(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position
