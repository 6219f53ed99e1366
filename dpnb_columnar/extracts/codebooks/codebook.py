"""The content of a codebook: the variables of an extract, their positions, and what their codes mean. Public facts."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from dpnb_columnar.domain.declared_domain import Provenance


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
        label: What the code means.
        last: Last code of a range that begins at ``value``; empty for a single code.
    """

    value: str
    label: str
    last: str = ""


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable of an extract.

    Attributes:
        name: Name of the variable and of its column.
        form: What its characters spell.
        measure: Whether its codes are amounts or names.
        start: Offset of its first character in a line, from 0; None in a delimited file.
        width: Number of characters, at least 1; None where the codebook does not say.
        decimals: Implied decimals: how many of the last digits stand behind a decimal point not written. 0 for text.
        record_types: Record types whose lines hold the variable; empty in a rectangular extract.
        label: One line for people.
        concept: Group of the variable, such as ``Technical Variables -- HOUSEHOLD``; empty where there is none.
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

    @property
    def span(self) -> tuple[int, int]:
        """Offsets in the line of the first character and of the one after the last."""
        if self.start is None or self.width is None:
            raise ValueError(f"{self.name} has no position in the line")
        return self.start, self.start + self.width


@dataclass(frozen=True, slots=True)
class Codebook:
    """Everything a codebook declares about one extract.

    Attributes:
        source: File of the codebook, for messages.
        name: Name of the data set, such as ``cps_00421``.
        collection: Publisher of the data set, such as ``cps.ipums.org``; empty where the codebook does not say.
        record_types: Record types of a hierarchical extract, outermost first, such as ``("H", "P")``; empty for a
            rectangular one.
        record_type_variable: Variable that holds a line's record type; None for a rectangular extract.
        variables: Variables in the codebook's order. One that has different positions on different record types appears
            once for each.
        encoding: Character encoding of the data, such as ``iso-8859-1``.
        sample: Name of the sample of persons that the extract is drawn from, such as ``cps_2022-01``; empty where the
            codebook does not say.
        provenance: Who made the data set, of which place and period, and how it is to be cited; None where the codebook
            does not say.
    """

    source: str
    name: str
    collection: str
    record_types: tuple[str, ...]
    record_type_variable: str | None
    variables: tuple[Variable, ...]
    encoding: str = "utf-8"
    sample: str = ""
    provenance: Provenance | None = None

    @property
    def dataset(self) -> str:
        """Name of the data set whose persons the extract describes: its sample, where that is known."""
        return self.sample or self.name

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the extract, in the codebook's order; a name on several record types is one column."""
        return tuple(dict.fromkeys(variable.name for variable in self.variables))

    def in_spelling_of(self, columns: Collection[str]) -> Codebook:
        """Return the codebook with variables named as columns of a file are, such as in lower case by ipumsr.

        Args:
            columns: Columns of the file. One that differs from a variable in case alone gives it its name, if no other
                column and no other variable do.
        """
        spelled: dict[str, list[str]] = {}
        for name in dict.fromkeys([*self.columns, *columns]):
            spelled.setdefault(name.casefold(), []).append(name)
        pairs = [names for names in spelled.values() if len(names) == 2]
        renamed = {own: other for own, other in pairs if own in self.columns and other not in self.columns}
        variables = tuple(replace(each, name=renamed.get(each.name, each.name)) for each in self.variables)
        kind = self.record_type_variable
        return replace(self, variables=variables, record_type_variable=kind and renamed.get(kind, kind))

    def variables_of(self, record_type: str) -> tuple[Variable, ...]:
        """Variables on the lines of a record type; all of them for the empty record type of a rectangular extract."""
        return tuple(v for v in self.variables if not record_type or record_type in v.record_types)

    def column_sources(self) -> dict[str, tuple[str, Variable]]:
        """Per column, the record type whose lines it is read from, and its variable there.

        The record type is empty in a rectangular extract. Of a name that several record types have, the innermost
        counts: it is what the row's own line says.
        """
        sources = {variable.name: ("", variable) for variable in reversed(self.variables)}
        for record_type in self.record_types:
            sources |= {v.name: (record_type, v) for v in reversed(self.variables) if record_type in v.record_types}
        return sources


# The meaning of a code by its label: a value, a question that was not asked, or an answer that nobody knows.


class ImputedValues(StrEnum):
    """What becomes of values that a publisher's flags say were allocated."""

    MISSING = "missing"
    """They are null: only what respondents answered counts."""
    COUNTED = "counted"
    """They count like answers."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag by which the publisher says that a value was allocated: not answered, but taken from another record.

    Any other value of the flag, and a row without one, says nothing of the kind.

    Attributes:
        column: Column of the flag.
        values: Values of the flag that say so, as text.
    """

    column: str
    values: tuple[str, ...]


class Meaning(StrEnum):
    """Meaning of a code."""

    VALUE = "value"
    NOT_IN_UNIVERSE = "not in universe"
    UNKNOWN = "unknown"


NOT_ASKED = re.compile(
    r"(niu|n\.i\.u|not in universe|n/a|n\.a|na|not applicable|inapplicable|not eligible)(?![a-z0-9])", re.IGNORECASE
)
"""The beginning of the labels of questions not asked."""

OR_NONE = re.compile(r"\bor no(ne)?\b", re.IGNORECASE)
"""``N/A or none`` covers people who were asked as well, so it is a value."""

UNKNOWN = re.compile(
    r"""(?:[\w']+\s){0,3}(?:unknown|missing|illegible|blank)(?:\s(?:data|value|equivalent))?
       |(?:[\w']+\s){0,4}not\s(?:reported|identified|identifiable|ascertained|stated|known|recorded|available)
       |(?:[\w']+\s){0,4}could\snot\sbe\sdetermined
       |refus(?:ed|al)|no\sresponse|non-?response|don'?t\sknow|do\snot\sknow
       |uncodable|undetermined|(?:un|non)classifiable|invalid|suppressed\b.*""",
    re.IGNORECASE | re.VERBOSE,
)
"""A part of a label that says that nobody knows."""

PARENTHESIS = re.compile(r"\([^()]*\)")
SEPARATOR = re.compile(r"[/,;]|\bor\b|\band\b", re.IGNORECASE)


def meaning_of(code: Code) -> Meaning:
    """Classify a code by its label.

    A label means "unknown" only if all its parts do: ``Missing/unknown`` and ``Industry not reported`` do, while
    ``Foreign born, citizenship status not reported`` is a value.
    """
    return _meaning_of_label(code.label)


@lru_cache(maxsize=2**14)
def _meaning_of_label(text: str) -> Meaning:
    """Classify a label. Cached: it is asked for more than once for each code, and codes share labels."""
    label = PARENTHESIS.sub(" ", text.replace("’", "'"))
    if NOT_ASKED.match(text.strip()):
        return Meaning.VALUE if OR_NONE.search(label) else Meaning.NOT_IN_UNIVERSE
    words = 0
    for part in SEPARATOR.split(label):
        spelled = " ".join(part.split()).rstrip(".")
        if spelled and not UNKNOWN.fullmatch(spelled):
            return Meaning.VALUE
        words += len(spelled)
    return Meaning.UNKNOWN if words else Meaning.VALUE
