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
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TypeVar

from dpnb_columnar.domain.numbers import exact_number
from dpnb_columnar.errors import excerpt

Part = TypeVar("Part")


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


def in_halves(parts: Sequence[Part], join: Callable[[Part, Part], Part]) -> Part:
    """Join parts as a balanced tree: a chain of a thousand is nested deeper than databases accept.

    Args:
        parts: At least one.
        join: An associative operation.
    """
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
BOOLEANS = [spelled for word in ("true", "false") for spelled in (word, word.upper(), word.title())]
"""Words that stand for the texts of boolean columns, where a constant is expected."""

KEYWORDS = {"AND", "OR", "NOT", "IN", "BETWEEN"}
LONGEST_CONDITION = 4096
"""Characters; bounds the depth of recursion on text from elsewhere."""
DEEPEST_NESTING = 32


def parse_condition(text: str) -> Condition:
    """Parse a label condition.

    Raises:
        ValueError: If the text is not a condition of the grammar above; the message says where and what is allowed.
    """
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
        return self.combination("OR", self.conjunction)

    def conjunction(self) -> Node:
        return self.combination("AND", self.negation)

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
        if text is None and (boolean := self.take("column", *BOOLEANS)):
            return boolean.lower()
        return text if text is not None else self.number()

    def number(self) -> Decimal:
        number = self.take("number")
        if number is None:
            raise self.syntax_error("a number or a 'text' constant")
        exact_number(number)  # refuses what no 64-bit float can hold
        return Decimal(number)


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Split a text into tokens (kind, value, offset); the last is of kind "end"."""
    offset = _after_space(text, 0)
    while offset < len(text):
        match = TOKEN.match(text, offset)
        if match is None:
            raise ValueError(f"unexpected {text[offset : offset + 10]!r} at character {offset + 1}")
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
    """Find the offset of the next character that is not white space."""
    while position < len(text) and text[position].isspace():
        position += 1
    return position
