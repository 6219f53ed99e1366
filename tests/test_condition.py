"""Label conditions: what parses means what SQL means by it, and nothing else parses."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpnb_columnar.domain.condition import (
    DEEPEST_NESTING,
    LONGEST_CONDITION,
    Combination,
    Comparison,
    Negation,
    Node,
    comparisons,
    parse_condition,
)

A, B, C = (Comparison(name, "=", Decimal(1)) for name in "abc")


def parsed(text: str) -> Node:
    return parse_condition(text).root


def all_of(*parts: Node) -> Combination:
    return Combination("AND", parts)


def any_of(*parts: Node) -> Combination:
    return Combination("OR", parts)


# --- grammar ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "meant"),
    [("=", "="), ("<>", "<>"), ("!=", "<>"), ("<", "<"), ("<=", "<="), (">", ">"), (">=", ">=")],
)
@pytest.mark.parametrize("space", ["", " ", "\n\t "])
def test_operators(written: str, meant: str, space: str) -> None:
    assert parsed(f"INCWAGE{space}{written}{space}1500") == Comparison("INCWAGE", meant, Decimal(1500))


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("x = 'Female'", Comparison("x", "=", "Female")),
        ("x != ''", Comparison("x", "<>", "")),
        ("x = 'it''s'", Comparison("x", "=", "it's")),
        ("x = ''''", Comparison("x", "=", "'")),
        ("x = '1'", Comparison("x", "=", "1")),
        ('"capital gain" > 0', Comparison("capital gain", ">", Decimal(0))),
        ('"say ""hi""" > 0', Comparison('say "hi"', ">", Decimal(0))),
        ('"and" = 1', Comparison("and", "=", Decimal(1))),
        ('"a.b;--" = 1', Comparison("a.b;--", "=", Decimal(1))),
        ("größe = 1", Comparison("größe", "=", Decimal(1))),
        ("ın = 1", Comparison("ın", "=", Decimal(1))),  # Upper case of the dotless i is I, but this is no keyword.
        ("_x1 = 1", Comparison("_x1", "=", Decimal(1))),
        ("x IN (1)", Comparison("x", "=", Decimal(1))),
        ("x IN (1, 'b')", any_of(Comparison("x", "=", Decimal(1)), Comparison("x", "=", "b"))),
        ("x NOT IN (1)", Negation(Comparison("x", "=", Decimal(1)))),
        (
            "x BETWEEN 1 AND 2",
            all_of(Comparison("x", ">=", Decimal(1)), Comparison("x", "<=", Decimal(2))),
        ),
        (
            "x not between -1 and +2",
            Negation(all_of(Comparison("x", ">=", Decimal(-1)), Comparison("x", "<=", Decimal(2)))),
        ),
        (" \n x = 1 \t", Comparison("x", "=", Decimal(1))),
    ],
)
def test_tests(text: str, node: Node) -> None:
    assert parsed(text) == node


@pytest.mark.parametrize("number", ["0", "7", "-7", "+7", "1.5", "1.", ".5", "-.5", "1e3", "1.5E-3", "2e+03", "1e300"])
def test_numbers_are_exact(number: str) -> None:
    node = parsed(f"x = {number}")
    assert isinstance(node, Comparison)
    assert node.constant == Decimal(number)


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("a = 1 AND b = 1", all_of(A, B)),
        ("a = 1 OR b = 1 OR c = 1", any_of(A, B, C)),
        ("a = 1 OR b = 1 AND c = 1", any_of(A, all_of(B, C))),
        ("a = 1 AND b = 1 OR c = 1", any_of(all_of(A, B), C)),
        ("(a = 1 OR b = 1) AND c = 1", all_of(any_of(A, B), C)),
        ("NOT a = 1 AND b = 1", all_of(Negation(A), B)),
        ("NOT (a = 1 AND b = 1)", Negation(all_of(A, B))),
        ("NOT NOT a = 1", Negation(Negation(A))),
        ("((a = 1))", A),
        (
            "a BETWEEN 1 AND 2 AND b = 1",
            all_of(all_of(Comparison("a", ">=", Decimal(1)), Comparison("a", "<=", Decimal(2))), B),
        ),
        ("a=1and b=1", None),
        ("a = 1 aNd b = 1 oR nOt c = 1", any_of(all_of(A, B), Negation(C))),
    ],
)
def test_precedence(text: str, node: Node | None) -> None:
    if node is None:
        with pytest.raises(ValueError, match="unexpected '1and"):
            parse_condition(text)
    else:
        assert parsed(text) == node


def test_columns_and_text_are_kept() -> None:
    text = "b > 1 AND NOT (a = 'x' OR \"b\" < 3) AND c IN (1, 2)"
    condition = parse_condition(text)
    assert condition.text == text
    assert condition.columns == ("b", "a", "c")
    assert [found.column for found in comparisons(condition.root)] == ["b", "a", "b", "c", "c"]


# --- refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "x",
        "1 = 1",
        "x = y",
        "'x' = 'x'",
        "x = NULL",
        "x IS NULL",
        "x LIKE 'a%'",
        "x = TRUE",
        "x ==1",
        "x = = 1",
        "x > 1 > 0",
        "x + 1 = 2",
        "x = 1 + 1",
        "x = 1 -1",
        "x = --1",
        "AND",
        "x = 1 AND",
        "x = 1 OR OR y = 2",
        "NOT",
        "x NOT = 1",
        "x NOT",
        "(x = 1",
        "x = 1)",
        "()",
        "x IN ()",
        "x IN (1,)",
        "x IN 1",
        "x IN (1",
        "x IN (y)",
        "x BETWEEN 1",
        "x BETWEEN 1 OR 2",
        "x BETWEEN 'a' AND 'b'",
        "x BETWEEN 1 AND",
        "x < 'a'",
        "x >= 'a'",
        "x = 'open",
        'x = "y"',
        '"" = 1',
        '"open = 1',
        "x = 12abc",
        "x = 1.2.3",
        "x = 1e",
        "x = 1e5000",
        "x = 1_000",
        "x = 0x10",
        "x = ٣",
        "x = 1e301",
        "x = -1e999",
        "x = 1e-301",
        "x = " + "9" * 400,
        "x = nan",
        "x = inf",
        # from elsewhere, with other intentions
        "abs(x) = 1",
        "read_csv('/etc/passwd') = 1",
        "x = getenv('HOME')",
        "x = 1; DROP TABLE people",
        "x = 1;",
        "x = 1 -- AND y = 2",
        "x = 1 /* hidden */",
        "x = 1 # hidden",
        "x = (SELECT 1)",
        "x IN (SELECT y FROM people)",
        "EXISTS (SELECT 1)",
        "x = $1",
        "x = ?",
        "x = @constant_0",
        "x = :name",
        "x = {{ name }}",
        "people.x = 1",
        "x::int = 1",
        "x[1] = 1",
        "x = E'\\n'",
        "x = $$a$$",
        "x = 'a' 'b'",
        "x = 'a' || 'b'",
        "CASE WHEN x = 1 THEN 1 END = 1",
        "CAST(x AS int) = 1",
        "* = 1",
        "x = 1 UNION SELECT 1",
        "x = 1\0",
        "\\x = 1",
        "`x` = 1",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as caught:
        parse_condition(text)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("INCWAGE", "expected a comparison, IN or BETWEEN at character 8, found the end"),
        ("x = 1 y", "expected AND, OR or the end at character 7, found 'y'"),
        ("abs(x) = 1", r"expected a comparison, IN or BETWEEN at character 4, found '\('"),
        ("x =              ; 1", "unexpected '; 1' at character 18"),
        ("x IN (1 2)", r"expected ',' or '\)' at character 9"),
        ("x < 'a'", "text has no order here: use = or <> with 'a'"),
        ("x = 1e301", "out of every sensible range"),
    ],
)
def test_refusals_say_where_and_what(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_condition(text)


@pytest.mark.parametrize(
    ("before", "after"), [("(", ")"), ("NOT ", ""), ("NOT(", ")")], ids=["parentheses", "not", "both"]
)
def test_nesting_is_bounded(before: str, after: str) -> None:
    per_level = 2 if before == "NOT(" else 1
    deepest = (DEEPEST_NESTING - 1) // per_level
    parse_condition(before * deepest + "x = 1" + after * deepest)
    for levels in (deepest + 1, 600):
        with pytest.raises(ValueError, match="nests at most 32 deep"):
            parse_condition(before * levels + "x = 1" + after * levels)


def test_nesting_counts_depth_not_length() -> None:
    assert len(list(comparisons(parsed(" AND ".join(["NOT (x = 1)"] * 200))))) == 200


def test_length_is_bounded() -> None:
    longest = "x = 1".ljust(LONGEST_CONDITION)
    assert parsed(longest) == Comparison("x", "=", Decimal(1))
    with pytest.raises(ValueError, match="at most 4096 characters, this one has 4097"):
        parse_condition(longest + " ")


@settings(deadline=None)
@given(st.text(max_size=200) | st.text("xX1.'\"()=<>!, \nNOTANDRIBEW", max_size=80))
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        condition = parse_condition(text)
    except ValueError:
        return
    assert condition.columns


# --- meaning ------------------------------------------------------------------------------------------------------
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


class Tree:
    """A condition as a person thinks of it."""

    def judged(self, row: Row) -> Truth:
        """SQL's answer for a row."""
        raise NotImplementedError

    def written(self, style: Style) -> str:
        """Its text, with parentheses where precedence asks for them and sometimes where it does not."""
        raise NotImplementedError


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


@settings(deadline=None)
@given(TREES, st.randoms(use_true_random=False), st.lists(ROWS, min_size=5, max_size=20))
def test_text_means_what_the_tree_means(tree: Tree, random: Random, rows: list[Row]) -> None:
    text = tree.written(Style(random))
    root = parsed(text)
    assert [judged(root, row) for row in rows] == [tree.judged(row) for row in rows], text
