"""The reading of single fields of a declaration: faults are gathered with their places, and none stops the reading.

TOML, JSON and conditions of labels written by others: exact decimals, size and nesting bounded, errors short.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from fractions import Fraction
from typing import Any, NoReturn, TypeVar

from dpnb_columnar.domain.condition import Combination, Comparison, Condition, Negation, Node
from dpnb_columnar.domain.names import LONGEST_NAME, TRUTHS, did_you_mean, exact_number, is_printable, listed, quoted
from dpnb_columnar.errors import Fault, excerpt

LARGEST_DOCUMENT = 16 * 2**20  # characters, or bytes, of one document

CHAIN = re.compile(
    r"(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')(?:[ \t]*\.[ \t]*(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')){32}", re.ASCII
)
"""A TOML key of more than 32 parts. The parser's time and memory grow with the square of their number."""

OF_PYTHON = "set_int_max_str_digits"  # what Python advises its programmers where a whole number has thousands of digits
LONGEST_PROBLEM = 200  # characters of a parser's error message that are passed on


def parse_toml(text: str | bytes) -> dict[str, Any]:
    """Parse TOML, its fractions as decimals; a ValueError says that it is none, too large or nested too deep."""
    if isinstance(text, bytes):
        try:
            return parse_toml(text.decode("utf-8"))
        except UnicodeDecodeError as error:
            line = text.count(b"\n", 0, error.start) + 1
            raise ValueError(f"line {line} is not text in UTF-8; save the file as such") from None
    _check_text(text)
    if any(CHAIN.match(line.lstrip(" \t[")) for line in text.splitlines() if line.count(".") >= 32):
        raise ValueError("a key of more than 32 parts")
    with _short_errors():
        return tomllib.loads(text, parse_float=Decimal)


def parse_json(text: str) -> Any:
    """Parse JSON with its fractions as decimals; a repeated key and NaN are refused, as TOML refuses the former."""
    _check_text(text)
    with _short_errors():
        return json.loads(text, parse_float=Decimal, parse_constant=_refuse_constant, object_pairs_hook=distinct_keys)


def distinct_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Build the mapping of a JSON object; with a repeated key two readers could see two different documents."""
    mapping: dict[str, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise ValueError(f"the key {excerpt(key)} is repeated")
        mapping[key] = value
    return mapping


def _check_text(text: str) -> None:
    if text.startswith("\ufeff"):
        raise ValueError("it begins with a byte order mark; save it as UTF-8 without one")
    if len(text) > LARGEST_DOCUMENT:
        raise ValueError(f"larger than {LARGEST_DOCUMENT >> 20} MiB")


@contextmanager
def _short_errors() -> Iterator[None]:
    """Raise whatever a parser raises as a ValueError of one short text."""
    try:
        yield
    except InvalidOperation:  # an exponent beyond what even a Decimal holds
        raise ValueError("a number in it is out of every range") from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except ValueError as error:
        problem = "a number in it has too many digits" if OF_PYTHON in str(error) else f"{error!s:.{LONGEST_PROBLEM}}"
        raise ValueError(problem) from None


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")


LARGEST_DECLARATION = 10_000
"""Most attributes, classes, and values of a list but the categories: bounds what a file from elsewhere can ask for."""

LARGEST_TABLE = 2**20
"""Most counts of an attribute of more than ``LARGEST_DECLARATION`` values: its categories times the classes."""

LONGEST_VALUE = 8192  # characters of a category or a class, which may be named after a condition
MOST_FAULTS = 20  # faults that are reported together
Choice = TypeVar("Choice", bound=StrEnum)

OTHER_WORDS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("min", "minimum", "low", "from"), ("lower",)),
    **dict.fromkeys(("max", "maximum", "high", "to"), ("upper",)),
    **dict.fromkeys(("resolution", "precision", "width"), ("step",)),
    **dict.fromkeys(("categories", "levels", "codes"), ("values", "classes")),
    **dict.fromkeys(("na", "nan", "null", "na_values", "null_values"), ("missing_values",)),
    **dict.fromkeys(("target", "outcome", "y"), ("label", "column")),
    **dict.fromkeys(("name", "variable"), ("column",)),
    **dict.fromkeys(("values", "labels"), ("classes", "value_labels")),
    **dict.fromkeys(("variable_labels", "column_labels", "descriptions"), ("titles",)),
    **dict.fromkeys(("features", "columns", "variables", "fields"), ("attributes",)),
}
"""What others call the keys of a declaration, in lower case, with the keys that may be meant, the likeliest first."""


class FieldReader:
    """Reader of single fields, which gathers every fault in the order of reading."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def fault(self, place: str, problem: str) -> None:
        """Note what is wrong at a place, such as ``adult.attributes.age.lower``."""
        self.faults.append(Fault(place, problem))

    def unknown(self, place: str, problem: str, name: str, known: Sequence[str], otherwise: str) -> None:
        """Note an unknown name; the closest known one, slow to find among thousands, only if it will be reported."""
        is_reported = len(self.faults) < MOST_FAULTS
        hint = did_you_mean(name, known, otherwise) if is_reported else otherwise
        self.fault(place, f"{problem}; {hint}" if hint else problem)

    def table(self, document: object, place: str, keys: Sequence[str]) -> Mapping[str, Any] | None:
        """Read a mapping, all of whose keys are known; None where it is no mapping."""
        if not isinstance(document, Mapping):
            self.fault(place, f"expected a table, found {excerpt(document)}")
            return None
        for key in document:
            if key not in keys:
                name = str(key)
                meant = next((other for other in OTHER_WORDS.get(name.casefold(), ()) if other in keys), name)
                self.unknown(f"{place}.{quoted(name)}", "unknown key", meant, keys, f"known keys: {', '.join(keys)}")
        return document

    def number(self, table: Mapping[str, Any], key: str, place: str) -> Fraction | None:
        """Read a number that must be there; None where it is not, or is no number."""
        if key not in table:
            self.fault(f"{place}.{key}", "missing: bounds are declared, never taken from the rows")
            return None
        return self.exact(table[key], f"{place}.{key}")

    def exact(self, value: object, place: str) -> Fraction | None:
        """Read an exact number; None where it is none."""
        try:
            return exact_number(value)
        except ValueError as error:
            self.fault(place, str(error))
            return None

    def numbers(self, table: Mapping[str, Any], key: str, place: str) -> tuple[Fraction, ...]:
        values = table.get(key, [])
        if not isinstance(values, list) or len(values) > LARGEST_DECLARATION:
            self.fault(f"{place}.{key}", f"expected a list of at most {LARGEST_DECLARATION} numbers")
            return ()
        read = [self.exact(value, f"{place}.{key}") for value in values]
        return tuple(number for number in read if number is not None)

    def texts(
        self, values: object, place: str, what: str, least: int = 0, most: int = LARGEST_DECLARATION
    ) -> tuple[str, ...]:
        """Read a list of distinct texts; whole numbers and booleans are read as their text."""
        if not isinstance(values, list) or len(values) < least:
            self.fault(place, f"expected {what}, found {excerpt(values)}")
            return ()
        if len(values) > most:
            self.fault(place, f"{len(values)} values; at most {most} are accepted")
            return ()
        texts: list[str] = []
        for value in values:
            if isinstance(value, bool):
                texts.append("true" if value else "false")
            elif isinstance(value, str) or (isinstance(value, int) and abs(value) < 2**64):
                texts.append(str(value))
            else:
                self.fault(place, f"expected text or a whole number, found {excerpt(value)}; quote it if it is a name")
        for text in texts:
            self.check_printable(text, place)
        if repeated := [text for text, times in Counter(texts).items() if times > 1]:
            self.fault(place, f"{listed(repeated)} appear more than once")
        return tuple(texts)

    def choice(self, table: Mapping[str, Any], key: str, kind: type[Choice], default: Choice, place: str) -> Choice:
        value = table.get(key, default.value)
        for member in kind:
            if member.value == value:
                return member
        known = ", ".join(member.value for member in kind)
        self.fault(f"{place}.{key}", f"expected one of {known}, found {excerpt(value)}")
        return default

    def check_name(self, name: str, place: str) -> None:
        self.check_printable(name, place)
        if len(name) > LONGEST_NAME:
            self.fault(place, f"a name of {len(name)} characters; at most {LONGEST_NAME} are accepted")

    def check_printable(self, text: str, place: str) -> None:
        """Note control characters and lone surrogates: they could forge lines of output, or not be written at all."""
        if len(text) > LONGEST_VALUE:
            self.fault(place, f"a text of {len(text)} characters; at most {LONGEST_VALUE} are accepted")
        if not is_printable(text):
            self.fault(place, f"{excerpt(text)} holds a control character or is not valid Unicode")


def first_faults(faults: Sequence[Fault]) -> list[Fault]:
    """Select the first faults, and say how many more there are: a file from elsewhere may have one at every key."""
    more = len(faults) - MOST_FAULTS
    return [*faults[:MOST_FAULTS], *([Fault("...", f"and {more} more")] if more > 0 else [])]


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
    """Parse a label condition; a ValueError says where it leaves the grammar of ``domain.condition``."""
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
    offset = 0
    while (offset := len(text) - len(text[offset:].lstrip())) < len(text):
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
        offset = match.end()
    yield "end", "", len(text)
