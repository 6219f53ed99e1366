"""Groups of rows by what is declared of a column: the same groups whatever the rows hold. Public.

A *grouping* is the groups of one column; every row that counts is in exactly one of them, rows without a declared value
in a group of their own. A *division* is the groups of one column, or those of several columns crossed: ``SEX,RACE``
names two divisions, ``SEX:RACE`` one, of every value of the one with every value of the other.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import TypeAlias, TypedDict

from dpnb_columnar.domain.attributes import Attribute, Categorical, Missing, Numeric
from dpnb_columnar.domain.declared_domain import Domain
from dpnb_columnar.domain.domain_text import value_with_label
from dpnb_columnar.domain.field_reader import LARGEST_DECLARATION, LONGEST_VALUE
from dpnb_columnar.domain.names import (
    LONGEST_NAME,
    did_you_mean,
    exact_number,
    identity,
    is_printable,
    named,
    number_text,
)
from dpnb_columnar.errors import UsageError, excerpt, option, printable


@dataclass(frozen=True, slots=True)
class Grouping:
    """The groups of one column."""

    attribute: Attribute
    starts: tuple[int, ...]  # first code of every group, rising from 0
    values: tuple[str | None, ...]  # where a row that counts may have no declared value, None comes last

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def missing(self) -> int:
        return self.size - 1


@dataclass(frozen=True, slots=True)
class Divisions:
    """How rows are divided into groups."""

    domain: Domain  # with the columns of groups that the model's lacks
    groupings: tuple[Grouping, ...]  # each once
    crossed: tuple[tuple[int, ...], ...]  # per division, the places of its columns

    def columns(self, division: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.groupings[place].attribute.name for place in division)

    def values(self, division: Sequence[int]) -> tuple[tuple[str | None, ...], ...]:
        """List the groups of a division: one value per column, those of the last column changing first."""
        return tuple(product(*(self.groupings[place].values for place in division)))

    @property
    def sizes(self) -> list[int]:
        return [math.prod(self.groupings[place].size for place in division) for division in self.crossed]


PART_KEY = b"dpnb_columnar.part"
"""Key, in the metadata of a file, of the splits that made its rows: a JSON list, the latest last."""

TRAIN, VALIDATION, TEST = "train", "validation", "test"
PARTS = (TRAIN, VALIDATION, TEST)


class SplitPart(TypedDict):
    """A part of a split."""

    split: str  # digest of all that divides rows: seed, share, columns, and the splits before
    part: str  # one of ``PARTS``
    by: list[str]  # columns of the units which were kept together; none for rows by themselves


def read_parts(text: str | bytes) -> list[SplitPart]:
    """Read a list of parts that somebody may have written; empty where it is something else."""
    try:
        parts = json.loads(text)
    except (ValueError, RecursionError):
        return []
    valid = isinstance(parts, list) and all(
        isinstance(each, dict)
        and {*each} == {*SplitPart.__annotations__}
        and isinstance(each["split"], str)
        and each["part"] in PARTS
        and isinstance(each["by"], list)
        and all(isinstance(name, str) for name in each["by"])
        for each in parts
    )
    return parts if valid else []


def parts_in(metadata: Mapping[bytes, bytes]) -> list[SplitPart]:
    """Read the parts that a file's metadata name."""
    return read_parts(metadata.get(PART_KEY, b"[]"))


def kept_apart(first: Sequence[SplitPart], second: Sequence[SplitPart]) -> tuple[str, ...] | None:
    """Return by which units a split kept two files apart; empty for rows by themselves, None if none did."""
    for part in first:
        for other in second:
            if part["split"] == other["split"] and part["part"] != other["part"]:
                return tuple(part["by"])
    return None


MOST_RANGES = 8
"""Equal ranges that the declared range of a numeric attribute is divided into, where nothing else is typed."""

MOST_DIVISIONS = 16  # divisions of one evaluation: each has a part of the budget
By: TypeAlias = str | Iterable[str | Sequence[str]]  # which groups are asked for, as ``divisions_of`` reads it
NO_VALUE = "no declared value"  # what the group of rows without a declared value is called


def group_text(domain: Domain, columns: Sequence[str], values: Sequence[str | None], longest: int) -> str:
    """Write what a group is called, with the value labels of its values."""
    return ", ".join(
        NO_VALUE if value is None else printable(value_with_label(value, domain.value_labels.get(column, {}), longest))
        for column, value in zip(columns, values, strict=True)
    )


def declared_grouping(attribute: Attribute, bounds: Sequence[str] = ()) -> Grouping:
    """Make the groups of a declared attribute: categories, or a grid divided at ``bounds``, else into equal ranges."""
    missing = () if attribute.missing is Missing.ROW else (None,)
    if isinstance(attribute, Categorical):
        if bounds:
            raise UsageError(
                f"by: {named([attribute.name])} is declared with its values, which are its groups; leave = and what "
                "follows it out"
            )
        size = len(attribute.values) + (attribute.missing is Missing.CATEGORY)
        return Grouping(attribute, tuple(range(size)), (*attribute.values, *missing))
    codes = attribute.cells + 1
    ranges = min(MOST_RANGES, codes)
    starts = [place * codes // ranges for place in range(ranges)]
    if bounds:
        starts = [0, *(code for bound in bounds if (code := _code(attribute, bound)) > 0)]
        if any(one >= other for one, other in pairwise(starts)):
            raise UsageError(f"by: {named([attribute.name])}: name the first value of each group once, rising")
    ends = [*starts[1:], codes]
    names = [_range_text(attribute, start, end - 1) for start, end in zip(starts, ends, strict=True)]
    return Grouping(attribute, tuple(starts), (*names, *missing))


def _code(attribute: Numeric, bound: str) -> int:
    try:
        place = (exact_number(bound) - attribute.lower) / attribute.step
    except ValueError:
        place = None
    if place is None or not 0 <= place <= attribute.cells or place.denominator != 1:
        lower, upper, step = map(number_text, (attribute.lower, attribute.upper, attribute.step))
        raise UsageError(
            f"by: {named([attribute.name])} is declared from {lower} to {upper} in steps of {step}, and "
            f"{excerpt(bound)} is not such a number; name the first value of each group"
        )
    return int(place)


def _range_text(attribute: Numeric, first: int, last: int) -> str:
    low, high = (attribute.lower + code * attribute.step for code in (first, last))
    texts = [number_text(end) if end.denominator == 1 else f"{float(end):.6g}" for end in (low, high)]
    return texts[0] if first == last else f"{texts[0]} to {texts[1]}"


def divisions_of(asked: By | None, domain: Domain) -> Divisions | None:
    """Read which groups are asked for, of texts as typed after ``--by`` or of lists of columns that are crossed."""
    groupings: dict[str, Grouping] = {}
    crossed: list[tuple[str, ...]] = []
    known = {attribute.name for attribute in domain.attributes}
    if asked is None:
        return None
    for text in [asked] if isinstance(asked, str) else asked:
        if not isinstance(text, str):
            crossed.append(tuple(text))
            continue
        named_columns, typed, values = (text, "", "") if text in known else text.partition("=")
        divisions = [(text,)] if text in known else [tuple(each.split(":")) for each in named_columns.split(",")]
        if typed:
            column = divisions[-1][-1]
            groupings[column] = _typed_grouping(column, values, domain)
        crossed += divisions
    for columns in crossed:
        for column in columns:
            if column not in groupings:
                groupings[column] = _grouping(column, domain)
        if len(set(columns)) < len(columns) or not columns:
            raise UsageError(f"by: a division names each of its columns once, not {named(columns)}")
    crossed = list(dict.fromkeys(crossed))
    if not 1 <= len(crossed) <= MOST_DIVISIONS:
        raise UsageError(f"by: 1 to {MOST_DIVISIONS} divisions into groups at once, not {len(crossed)}; name fewer")
    places = {column: place for place, column in enumerate(groupings)}
    added = tuple(each.attribute for column, each in groupings.items() if column not in known)
    return Divisions(
        replace(domain, attributes=(*domain.attributes, *added)) if added else domain,
        tuple(groupings.values()),
        tuple(tuple(places[column] for column in columns) for columns in crossed),
    )


def _grouping(column: str, domain: Domain) -> Grouping:
    _check_column(column, domain)
    if not column:
        raise UsageError("by: a name of a column is empty; type COLUMN, COLUMN,COLUMN, or COLUMN:COLUMN")
    declared = {attribute.name: attribute for attribute in domain.attributes}
    if column not in declared:
        remedy = f"add the values that make its groups, such as {option('by', f'{column}=1,2,3')}"
        raise UsageError(
            f"by: {named([column])} is no attribute of the model, so its values are not declared; "
            f"{did_you_mean(column, declared, remedy)}"
        )
    return declared_grouping(declared[column])


def _typed_grouping(column: str, values: str, domain: Domain) -> Grouping:
    _check_column(column, domain)
    texts = tuple(text.strip() for text in values.split(","))
    for attribute in domain.attributes:
        if attribute.name == column:
            return declared_grouping(attribute, texts)
    if not column or len(column) > LONGEST_NAME or not is_printable(values + column):
        raise UsageError(f"by: {excerpt(column)} is no name of a column; type COLUMN=VALUE,VALUE")
    known = {identity(text) for text in texts if 0 < len(text) <= LONGEST_VALUE}
    if len(known) < len(texts) or len(texts) > LARGEST_DECLARATION:
        raise UsageError(
            f"by: {named([column])}: name each of its values once, separated by commas, at most {LARGEST_DECLARATION} "
            f"of at most {LONGEST_VALUE} characters"
        )
    return declared_grouping(Categorical(column, texts))


def _check_column(column: str, domain: Domain) -> None:
    if column in domain.label.columns:
        raise UsageError(
            f"by: the label is read from {named([column])}, so a group would hold rows of one class, or of few; the "
            "recalls and false positives of each class say how the model does there"
        )
    unit = () if domain.unit is None else domain.unit.columns
    weight = () if domain.weight is None else (domain.weight.column,)
    if column in (*unit, *weight):
        what = "unit" if column in unit else "weight"
        raise UsageError(f"by: {named([column])} is the {what} of the rows, and makes no groups; name another column")
