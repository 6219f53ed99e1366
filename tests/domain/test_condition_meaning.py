"""What parses means what SQL means by it."""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpnb_columnar.domain.condition import Combination, Comparison, Negation, Node
from dpnb_columnar.domain.condition_parser import parse_condition

# Random trees are judged by the rules of SQL written out here, and so is what the parser makes of their text.

NUMBER_COLUMNS = ("age", "INCWAGE", "hours per week", 'in "quotes"')
TEXT_COLUMNS = ("sex", "not", "größe")
COMPARE = {
    "=": operator.eq,
    "<>": operator.ne,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
Row = Mapping[str, float | str | None]
Truth = bool | None


def both(truths: Sequence[Truth]) -> Truth:
    """SQL's AND; None is null."""
    return False if False in truths else None if None in truths else True


def either(truths: Sequence[Truth]) -> Truth:
    """SQL's OR."""
    return True if True in truths else None if None in truths else False


def opposite(truth: Truth) -> Truth:
    """SQL's NOT."""
    return None if truth is None else not truth


def compared(value: float | str | None, symbol: str, constant: Decimal | str) -> Truth:
    """A value of a row against a constant; numbers meet as 64-bit floats."""
    if value is None:
        return None
    return bool(COMPARE[symbol](value, constant if isinstance(constant, str) else float(constant)))


class Style:
    """The many ways to write the same thing, chosen at random."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def word(self, keyword: str) -> str:
        return self.random.choice([keyword, keyword.lower(), keyword.title()])

    def space(self) -> str:
        return self.random.choice(["", " ", "\n  "])

    def name(self, column: str) -> str:
        plain = column.isidentifier() and column != "not"
        quoted = '"' + column.replace('"', '""') + '"'
        return self.random.choice([column, quoted]) if plain else quoted

    def constant(self, constant: Decimal | str) -> str:
        if isinstance(constant, str):
            return "'" + constant.replace("'", "''") + "'"
        return self.random.choice([f"{constant}", f"{constant:f}", f"{constant:+}", f"{constant:e}"])

    def enclosed(self, tree: Tree, needed: bool) -> str:
        inner = tree.written(self)
        return f"({self.space()}{inner}{self.space()})" if needed or self.random.random() < 0.2 else inner


class Tree(ABC):
    """A condition as a person thinks of it."""

    @abstractmethod
    def judged(self, row: Row) -> Truth:
        """SQL's answer for a row."""

    @abstractmethod
    def written(self, style: Style) -> str:
        """Its text, with parentheses where precedence asks for them and sometimes where it does not."""


@dataclass(frozen=True)
class Compare(Tree):
    column: str
    symbol: str
    constant: Decimal | str

    def judged(self, row: Row) -> Truth:
        return compared(row[self.column], self.symbol, self.constant)

    def written(self, style: Style) -> str:
        return style.space().join([style.name(self.column), self.symbol, style.constant(self.constant)])


@dataclass(frozen=True)
class Member(Tree):
    column: str
    negated: bool
    constants: tuple[Decimal | str, ...]

    def judged(self, row: Row) -> Truth:
        found = either([compared(row[self.column], "=", constant) for constant in self.constants])
        return opposite(found) if self.negated else found

    def written(self, style: Style) -> str:
        words = [style.name(self.column), *([style.word("NOT")] if self.negated else []), style.word("IN")]
        return f"{' '.join(words)}{style.space()}({','.join(map(style.constant, self.constants))}{style.space()})"


@dataclass(frozen=True)
class Between(Tree):
    column: str
    negated: bool
    low: Decimal
    high: Decimal

    def judged(self, row: Row) -> Truth:
        found = both([compared(row[self.column], ">=", self.low), compared(row[self.column], "<=", self.high)])
        return opposite(found) if self.negated else found

    def written(self, style: Style) -> str:
        words = [style.name(self.column), *([style.word("NOT")] if self.negated else []), style.word("BETWEEN")]
        return " ".join([*words, style.constant(self.low), style.word("AND"), style.constant(self.high)])


@dataclass(frozen=True)
class Not(Tree):
    part: Tree

    def judged(self, row: Row) -> Truth:
        return opposite(self.part.judged(row))

    def written(self, style: Style) -> str:
        return f"{style.word('NOT')} {style.enclosed(self.part, isinstance(self.part, And | Or))}"


@dataclass(frozen=True)
class And(Tree):
    parts: tuple[Tree, ...]

    def judged(self, row: Row) -> Truth:
        return both([part.judged(row) for part in self.parts])

    def written(self, style: Style) -> str:
        return f" {style.word('AND')} ".join(style.enclosed(part, isinstance(part, Or)) for part in self.parts)


@dataclass(frozen=True)
class Or(Tree):
    parts: tuple[Tree, ...]

    def judged(self, row: Row) -> Truth:
        return either([part.judged(row) for part in self.parts])

    def written(self, style: Style) -> str:
        return f" {style.word('OR')} ".join(style.enclosed(part, False) for part in self.parts)


def judged(node: Node, row: Row) -> Truth:
    """What a parsed condition says of a row."""
    match node:
        case Comparison():
            return compared(row[node.column], node.operator, node.constant)
        case Negation():
            return opposite(judged(node.part, row))
        case Combination():
            truths = [judged(part, row) for part in node.parts]
            return both(truths) if node.operator == "AND" else either(truths)


NUMBERS = st.integers(-4, 4).map(Decimal) | st.decimals(-4, 4, places=1)
TEXTS = st.sampled_from(["a", "it's", "''", "", "1", 'say "x"', "-- ;", "β"])
TESTS = st.one_of(
    st.builds(Compare, st.sampled_from(NUMBER_COLUMNS), st.sampled_from(list(COMPARE)), NUMBERS),
    st.builds(Compare, st.sampled_from(TEXT_COLUMNS), st.sampled_from(["=", "<>", "!="]), TEXTS),
    st.builds(
        Member, st.sampled_from(NUMBER_COLUMNS), st.booleans(), st.lists(NUMBERS, min_size=1, max_size=4).map(tuple)
    ),
    st.builds(Member, st.sampled_from(TEXT_COLUMNS), st.booleans(), st.lists(TEXTS, min_size=1, max_size=4).map(tuple)),
    st.builds(Between, st.sampled_from(NUMBER_COLUMNS), st.booleans(), NUMBERS, NUMBERS),
)


def joined(trees: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    several = st.lists(trees, min_size=2, max_size=4).map(tuple)
    return st.builds(Not, trees) | st.builds(And, several) | st.builds(Or, several)


TREES: st.SearchStrategy[Tree] = st.recursive(TESTS, joined, max_leaves=10)
ROWS = st.fixed_dictionaries(
    {
        **{name: st.none() | NUMBERS.map(float) | st.just(math.inf) for name in NUMBER_COLUMNS},
        **{name: st.none() | TEXTS for name in TEXT_COLUMNS},
    }
)


@pytest.mark.slow
@settings(deadline=None)
@given(TREES, st.randoms(use_true_random=False), st.lists(ROWS, min_size=5, max_size=20))
def test_text_means_what_the_tree_means(tree: Tree, random: Random, rows: list[Row]) -> None:
    text = tree.written(Style(random))
    root = parse_condition(text).root
    assert [judged(root, row) for row in rows] == [tree.judged(row) for row in rows], text
