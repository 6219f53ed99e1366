"""The rules of counting once more, one row at a time, in Python's own arithmetic.

None stands for null, ``OTHER`` for a value that can be no category.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from operator import itemgetter, mul
from typing import Any

from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.domain import Categorical, Domain, Group, Label, Missing, Numeric, Weight
from dpnb_columnar.domain.condition import Combination, Negation, Node

Row = Mapping[str, Any]
Document = dict[str, Any]
Counts = dict[tuple[str | None, int, int], int]

NAN, INFINITY = math.nan, math.inf
OTHER = object()
BEYOND_FLOATS = 2**53
TRUTHS = {"true": ("true", "True", "TRUE"), "false": ("false", "False", "FALSE")}
NUMBER_WORDS = {
    **dict.fromkeys(TRUTHS["true"], 1.0),
    **dict.fromkeys(TRUTHS["false"], 0.0),
    **dict.fromkeys(("inf", "Inf", "Infinity"), INFINITY),
    **dict.fromkeys(("-inf", "-Inf", "-Infinity"), -INFINITY),
}


def number_of(value: Any, missing: Sequence[Fraction]) -> float | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    number = NUMBER_WORDS.get(value, spelled(value)) if isinstance(value, str) else float(value)
    return None if number is None or number in [float(declared) for declared in missing] else number


def spelled(text: str) -> float | None:
    """The number that a text is, character by character."""
    rest, _, power = text.strip(" ").lower().partition("e")
    exponent = power[1:] if power[:1] in ("+", "-") else power
    if "e" in text.lower() and not (exponent.isascii() and exponent.isdigit() and int(exponent) < 100):
        return None
    rest = rest[1:] if rest[:1] in ("+", "-") else rest
    digits = set("0123456789")
    if len(text) > 64 or rest.count(".") > 1 or not set(rest) <= digits | {"."} or not set(rest) & digits:
        return None
    return float(text)


class Exponent(str):
    """A text of the data that is itself, where that is declared, else the number with an exponent that it spells."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) if isinstance(other, str) else spelled(self) == other

    def __ne__(self, other: object) -> bool:
        return not self == other


def declared(text: str) -> Any:
    """What a declared value matches: a number of at most 2^53 - 1, a truth value, else its text."""
    number = None if "e" in text.lower() else spelled(text)
    truth = next((truth for truth, words in TRUTHS.items() if text in words), text)
    return truth if number is None or abs(number) >= BEYOND_FLOATS else number


def text_of(value: Any, missing: Sequence[str]) -> Any:
    """What a value of the data matches, as ``declared``."""
    found: Any = OTHER
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        found = "true" if value else "false"
    elif isinstance(value, int | float | Decimal):
        found = float(value) if abs(value) < BEYOND_FLOATS else OTHER
    else:
        found = value.isoformat() if isinstance(value, date) else declared(value)
        if isinstance(found, str) and spelled(found) is not None:
            found = Exponent(found)
    return None if found in list(map(declared, missing)) else found


def truth_of(node: Node, row: Row, label: Label) -> bool | None:
    """SQL's three-valued logic: None is unknown."""
    if isinstance(node, Negation):
        part = truth_of(node.part, row, label)
        return None if part is None else not part
    if isinstance(node, Combination):
        parts = [truth_of(part, row, label) for part in node.parts]
        decisive = node.operator == "OR"
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    value, constant = row[node.column], node.constant
    if isinstance(constant, str):
        found = text_of(value, label.missing_values)
    else:
        found = number_of(value, [Fraction(text) for text in label.missing_values if re.fullmatch(r"[-\d.]+", text)])
        constant = float(constant)  # type: ignore[assignment]
    constant = declared(constant) if isinstance(constant, str) else constant
    if found is None:
        return None
    return {
        "=": lambda: found == constant,
        "<>": lambda: found != constant,
        "<": lambda: found < constant,
        "<=": lambda: found <= constant,
        ">": lambda: found > constant,
        ">=": lambda: found >= constant,
    }[node.operator]()


def class_of(row: Row, label: Label) -> int | None:
    if label.condition is not None:
        truth = truth_of(label.condition.root, row, label)
        return None if truth is None else int(truth)
    return category_of(text_of(row[label.columns[0]], label.missing_values), label.classes, label.groups)


def category_of(text: Any, values: Sequence[str], groups: Sequence[Group]) -> int | None:
    """The place of the category: the group that has the text as a member, else the value it is."""
    if isinstance(text, Exponent):
        itself = category_of(str.__str__(text), values, groups)
        return category_of(spelled(text), values, groups) if itself is None else itself
    for group in groups:
        if text in list(map(declared, group.members)):
            return values.index(group.name)
    names = [group.name for group in groups]
    alone = [position for position, value in enumerate(values) if value not in names and declared(value) == text]
    return alone[0] if alone else None


def code_of(row: Row, attribute: Numeric | Categorical) -> int | None:
    value = row[attribute.name]
    if isinstance(attribute, Numeric):
        number = number_of(value, attribute.missing_values)
        if number is None:
            return None
        lower, upper, step = float(attribute.lower), float(attribute.upper), float(attribute.step)
        return min(math.floor((min(max(number, lower), upper) - lower) / step + 0.5), attribute.cells)
    category = category_of(text_of(value, attribute.missing_values), attribute.values, attribute.groups)
    return len(attribute.values) if category is None and attribute.missing is Missing.CATEGORY else category


def weight_of(row: Row, weight: Weight) -> int:
    number = number_of(row[weight.column], ())
    if number is None or number < 0 or math.isinf(number):
        return int(weight.missing / weight.step)
    most = int(weight.cap / weight.step)
    return min(math.floor(min(number, float(weight.cap)) / float(weight.step) + 0.5), most)


def chosen(rows: Sequence[Row], domain: Domain) -> Sequence[Row]:
    """Of each unit its first rows among those that count; without a unit every row, whether it counts or not."""
    if domain.unit is None:
        return rows
    units: dict[tuple[Any, ...], list[tuple[list[int], Row]]] = {}
    for row in rows:
        unit, klass = tuple(row[name] for name in domain.unit.columns), class_of(row, domain.label)
        codes = [code_of(row, attribute) for attribute in domain.attributes]
        drops = [code is None and each.missing == "row" for code, each in zip(codes, domain.attributes, strict=True)]
        if klass is not None and None not in unit and not any(drops):
            numbers = [klass, *(0 if code is None else code + 1 for code in codes)]
            numbers += [] if domain.weight is None else [weight_of(row, domain.weight) + 1]
            units.setdefault(unit, []).append(([order_of(numbers), *numbers], row))
    return [row for each in units.values() for _, row in sorted(each, key=itemgetter(0))[: domain.unit.rows]]


def order_of(numbers: Sequence[int]) -> int:
    prime = 2**31 - 1
    digests = [sha256(f"dpnb-columnar unit order {place}".encode()).digest() for place in range(len(numbers))]
    multipliers = [1 + int.from_bytes(digest[:8], "big") % (prime - 1) for digest in digests]
    return pow(sum(map(mul, multipliers, numbers)), 5, prime)


def expected_counts(rows: Sequence[Row], domain: Domain) -> Counts:
    found: Counts = Counter()
    for row in chosen(rows, domain):
        klass = class_of(row, domain.label)
        codes = {attribute: code_of(row, attribute) for attribute in domain.attributes}
        if klass is None or any(
            codes[attribute] is None for attribute in domain.attributes if attribute.missing == "row"
        ):
            continue
        found[None, klass, 0] += 1
        if domain.weight is not None:
            found[None, klass, 1] += weight_of(row, domain.weight)
        for attribute, code in codes.items():
            if code is not None:
                found[attribute.name, klass, code] += 1
    return {cell: count for cell, count in found.items() if count}


def counts_of(statistics: Statistics) -> Counts:
    return {
        (cells.attribute, int(klass), int(code)): int(count)
        for cells in statistics.cells()
        for klass, code, count in zip(cells.classes, cells.codes, cells.counts, strict=True)
    }
