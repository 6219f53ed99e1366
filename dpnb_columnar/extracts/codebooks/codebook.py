"""What a codebook says about an extract: its variables, where they stand, and what their codes mean. Public facts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Form(StrEnum):
    """What the characters of a variable spell."""

    NUMBER = "number"
    TEXT = "text"


class Measure(StrEnum):
    """Whether a variable's codes are amounts or names."""

    CONTINUOUS = "continuous"
    DISCRETE = "discrete"


@dataclass(frozen=True, slots=True)
class Code:
    """One labelled code, or a range of whole numbers under one label.

    Attributes:
        value: The code as the codebook writes it, such as ``01``; empty for a blank, which is null in the data.
        label: What it means.
        last: Last code of a range that begins at ``value``; empty where it is one code.
    """

    value: str
    label: str
    last: str = ""


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable of an extract.

    Attributes:
        name: Its name, and its column's.
        form: What its characters spell.
        measure: Whether its codes are amounts or names.
        start: Offset of its first character in a line, from 0; None in a delimited file.
        width: Number of characters, at least 1; None where the codebook does not say.
        decimals: Implied decimals: the last digits that stand behind a decimal point not written. 0 for text.
        record_types: Record types whose lines hold it; empty in a rectangular extract.
        label: One line for people.
        concept: Group it belongs to, such as ``Technical Variables -- HOUSEHOLD``; empty where there is none.
        universe: Who was asked, as the codebook says; empty where it does not.
        codes: Labelled codes, in the codebook's order; none for a plain number.
    """

    name: str
    form: Form
    measure: Measure
    start: int | None
    width: int | None
    decimals: int = 0
    record_types: tuple[str, ...] = ()
    label: str = ""
    concept: str = ""
    universe: str = ""
    codes: tuple[Code, ...] = ()


@dataclass(frozen=True, slots=True)
class Codebook:
    """Everything a codebook declares about one extract.

    Attributes:
        source: The codebook's file, for messages.
        name: Name of the data set, such as ``cps_00421``.
        collection: Who publishes it, such as ``cps.ipums.org``; empty where it does not say.
        record_types: Record types of a hierarchical extract, outermost first, such as ``("H", "P")``; empty where it is
            rectangular.
        record_type_variable: The variable that tells a line's record type; None where the extract is rectangular.
        variables: In the codebook's order. A variable that stands at different places on different record types appears
            once for each.
        encoding: Character encoding of the data, such as ``iso-8859-1``.
    """

    source: str
    name: str
    collection: str
    record_types: tuple[str, ...]
    record_type_variable: str | None
    variables: tuple[Variable, ...]
    encoding: str = "utf-8"
