"""Label conditions: what parses, and nothing else does; what parses means what SQL means by it."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpnb_columnar.domain.condition import Combination, Comparison, Negation, Node, comparisons
from dpnb_columnar.domain.field_reader import DEEPEST_NESTING, LONGEST_CONDITION, parse_condition

A, B, C = (Comparison(name, "=", Decimal(1)) for name in "abc")


def parsed(text: str) -> Node:
    return parse_condition(text).root


def all_of(*parts: Node) -> Combination:
    return Combination("AND", parts)


def any_of(*parts: Node) -> Combination:
    return Combination("OR", parts)


@pytest.mark.parametrize(
    ("written", "meant"), [("=", "="), ("<>", "<>"), ("!=", "<>"), ("<", "<"), ("<=", "<="), (">", ">"), (">=", ">=")]
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
        ("x = true", Comparison("x", "=", "true")),
        ("x <> FALSE", Comparison("x", "<>", "false")),
        ("true = True", Comparison("true", "=", "true")),
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
        ("x BETWEEN 1 AND 2", all_of(Comparison("x", ">=", Decimal(1)), Comparison("x", "<=", Decimal(2)))),
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


@pytest.mark.parametrize(
    "text",
    [
        *("", "   ", "x", "1 = 1", "x = y", "'x' = 'x'", "x = NULL", "x IS NULL", "x LIKE 'a%'", "x ==1", "x = = 1"),
        *("x > 1 > 0", "x + 1 = 2", "x = 1 + 1", "x = 1 -1", "x = --1", "AND", "x = 1 AND", "x = 1 OR OR y = 2"),
        *("NOT", "x NOT = 1", "x NOT", "(x = 1", "x = 1)", "()", "x IN ()", "x IN (1,)", "x IN 1", "x IN (1"),
        *("x IN (y)", "x BETWEEN 1", "x BETWEEN 1 OR 2", "x BETWEEN 'a' AND 'b'", "x BETWEEN 1 AND", "x < 'a'"),
        *("x >= 'a'", "x = 'open", 'x = "y"', '"" = 1', '"open = 1', "x = 12abc", "x = 1.2.3", "x = 1e"),
        *("x = 1e5000", "x = 1_000", "x = 0x10", "x = ٣", "x = 1e301", "x = -1e999", "x = 1e-301"),
        *("x = " + "9" * 400, "x = nan", "x = inf", "abs(x) = 1", "read_csv('/etc/passwd') = 1"),
        *("x = getenv('HOME')", "x = 1; DROP TABLE people", "x = 1;", "x = 1 -- AND y = 2", "x = 1 /* hidden */"),
        *("x = 1 # hidden", "x = (SELECT 1)", "x IN (SELECT y FROM people)", "EXISTS (SELECT 1)", "x = $1", "x = ?"),
        *("x = @constant_0", "x = :name", "x = {{ name }}", "people.x = 1", "x::int = 1", "x[1] = 1", "x = E'\\n'"),
        *("x = $$a$$", "x = 'a' 'b'", "x = 'a' || 'b'", "CASE WHEN x = 1 THEN 1 END = 1", "CAST(x AS int) = 1"),
        *("* = 1", "x = 1 UNION SELECT 1", "x = 1\0", "\\x = 1", "`x` = 1"),
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


# Random conditions are judged by the rules of SQL written out here, and so is what the parser makes of their text.

NUMBER_COLUMNS = ("age", "INCWAGE", "hours per week", 'in "quotes"')
TEXT_COLUMNS = ("sex", "not", "größe")
COMPARE = {
    **{"=": operator.eq, "<>": operator.ne, "!=": operator.ne},
    **{"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
}
Row = Mapping[str, float | str | None]
Truth = bool | None


def both(truths: Sequence[Truth]) -> Truth:
    """SQL's AND; None is null."""
    return False if False in truths else None if None in truths else True


def either(truths: Sequence[Truth]) -> Truth:
    return True if True in truths else None if None in truths else False


def opposite(truth: Truth) -> Truth:
    return None if truth is None else not truth


def compared(value: float | str | None, symbol: str, constant: Decimal | str) -> Truth:
    """A value of a row against a constant; numbers meet as 64-bit floats."""
    if value is None:
        return None
    return bool(COMPARE[symbol](value, constant if isinstance(constant, str) else float(constant)))


def judged(node: Node, row: Row) -> Truth:
    match node:
        case Comparison():
            return compared(row[node.column], node.operator, node.constant)
        case Negation():
            return opposite(judged(node.part, row))
        case Combination():
            truths = [judged(part, row) for part in node.parts]
            return both(truths) if node.operator == "AND" else either(truths)


class Written(NamedTuple):
    """A condition in one of the many ways to write it, SQL's answer for a row, and the word that joins its parts."""

    text: str
    judged: Callable[[Row], Truth]
    joined_by: str = ""


NUMBERS = st.integers(-2, 2).map(Decimal) | st.decimals(-2, 2, places=1)
TEXTS = st.sampled_from(["a", "it's", "''", "", "1", 'say "x"', "-- ;", "β"])
SPACES = st.sampled_from(["", " ", "\n  "])
NOT, IN, BETWEEN, AND, OR = (
    st.sampled_from([word, word.lower(), word.title()]) for word in ("NOT", "IN", "BETWEEN", "AND", "OR")
)


@st.composite
def single_test(draw: st.DrawFn) -> Written:
    is_number = draw(st.booleans())
    column = draw(st.sampled_from(NUMBER_COLUMNS if is_number else TEXT_COLUMNS))
    constants = draw(st.lists(NUMBERS if is_number else TEXTS, min_size=2, max_size=4))
    quoted = '"' + column.replace('"', '""') + '"'
    name = draw(st.sampled_from([column, quoted])) if column.isidentifier() and column != "not" else quoted
    written = [
        "'" + each.replace("'", "''") + "'"
        if isinstance(each, str)
        else draw(st.sampled_from([f"{each}", f"{each:f}", f"{each:+}", f"{each:e}"]))
        for each in constants
    ]
    kind = draw(st.sampled_from(["compare", "in", "between"][: 2 + is_number]))
    if kind == "compare":
        symbol = draw(st.sampled_from([*COMPARE][: None if is_number else 3]))
        text = draw(SPACES).join([name, symbol, written[0]])
        return Written(text, lambda row: compared(row[column], symbol, constants[0]))
    negated, space = draw(st.booleans()), draw(SPACES)
    name = f"{name} {draw(NOT)}" if negated else name

    def found(row: Row) -> Truth:
        if kind == "in":
            truth = either([compared(row[column], "=", each) for each in constants])
        else:
            truth = both(
                [compared(row[column], symbol, each) for symbol, each in zip((">=", "<="), constants[:2], strict=True)]
            )
        return opposite(truth) if negated else truth

    if kind == "in":
        return Written(f"{name} {draw(IN)}{space}({','.join(written)}{space})", found)
    return Written(f"{name} {draw(BETWEEN)} {written[0]} {draw(AND)} {written[1]}", found)


@st.composite
def joined(draw: st.DrawFn, parts: st.SearchStrategy[Written]) -> Written:
    """With parentheses where precedence asks for them, and sometimes where it does not."""
    kind = draw(st.sampled_from(["NOT", "AND", "OR"]))
    some = draw(st.lists(parts, min_size=1 + (kind != "NOT"), max_size=1 if kind == "NOT" else 4))
    texts = []
    for part in some:
        needed = part.joined_by and (kind == "NOT" or (kind, part.joined_by) == ("AND", "OR"))
        space = draw(SPACES)
        texts.append(f"({space}{part.text}{space})" if needed or draw(st.integers(0, 4)) == 0 else part.text)
    if kind == "NOT":
        return Written(f"{draw(NOT)} {texts[0]}", lambda row: opposite(some[0].judged(row)))
    rule = both if kind == "AND" else either
    return Written(
        f" {draw(AND if kind == 'AND' else OR)} ".join(texts),
        lambda row: rule([each.judged(row) for each in some]),
        kind,
    )


ROWS = st.fixed_dictionaries(
    {
        **{name: st.none() | st.integers(-2, 2).map(float) | st.just(math.inf) for name in NUMBER_COLUMNS},
        **{name: st.none() | TEXTS for name in TEXT_COLUMNS},
    }
)


@pytest.mark.slow
@settings(deadline=None)
@given(st.recursive(single_test(), joined, max_leaves=10), st.lists(ROWS, min_size=5, max_size=20))
def test_text_means_what_the_tree_means(written: Written, rows: list[Row]) -> None:
    root = parse_condition(written.text).root
    assert [judged(root, row) for row in rows] == [written.judged(row) for row in rows], written.text
