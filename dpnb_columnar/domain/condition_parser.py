"""Read a condition from its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal

from dpnb_columnar.domain.condition import Combination, Comparison, Condition, Negation, Node
from dpnb_columnar.domain.numbers import TRUTHS, exact_number
from dpnb_columnar.errors import excerpt

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
    """Split a text into tokens (kind, value, offset); the last is of kind "end"."""
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
    """Find the offset of the next character that is not white space."""
    while position < len(text) and text[position].isspace():
        position += 1
    return position
