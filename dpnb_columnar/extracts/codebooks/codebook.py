"""The content of a codebook: the variables of an extract, their positions, and what their codes mean. Public facts."""

from __future__ import annotations

import gzip
import re
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, cast

from dpnb_columnar.domain.declared_domain import Provenance
from dpnb_columnar.domain.field_reader import LARGEST_DECLARATION, MOST_FAULTS
from dpnb_columnar.domain.names import is_printable, listed
from dpnb_columnar.errors import ConfigurationError, Fault, MissingInputError, excerpt


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
    """One labelled code, such as ``01``, empty for a blank; or a range of whole numbers under one label."""

    value: str
    label: str
    last: str = ""


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable of an extract; ``start`` counts from 0, None in a delimited file, and decimals are implied ones."""

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
    """Everything a codebook declares about one extract; record types are those of a hierarchical one, outermost first.

    A variable that has different positions on different record types appears once for each.
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

    @property
    def by_name(self) -> dict[str, Variable]:
        """Variables by name: of a name on several record types the first."""
        first = {variable.name: variable for variable in reversed(self.variables)}
        return {name: first[name] for name in self.columns}

    def in_spelling_of(self, columns: Collection[str]) -> Codebook:
        """Return the codebook with variables named as columns of a file are, such as in lower case by ipumsr."""
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
        """Per column, the record type that it is read from, the innermost of several (empty if rectangular)."""
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
    """A flag by which the publisher says that a value was allocated: not answered, but taken from another record."""

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


@lru_cache(maxsize=2**14)  # codes share labels
def meaning_of(text: str) -> Meaning:
    """Classify a code by its label, which means "unknown" only if all its parts do."""
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


LONGEST_NAME = 256
"""Characters of a variable's name, a record type or a code."""

LONGEST_LABEL = 2000
"""Characters of a label; a longer one is cut, since labels are for people."""

MOST_VARIABLES = LARGEST_DECLARATION

MOST_CODES = 1_000_000
"""Codes of all variables together."""

LONGEST_LINE = 1_000_000
"""Characters of a line of data; no variable may lie beyond them."""

MOST_DECIMALS = 18
"""Implied decimals; a 64-bit float holds no more digits."""

ENCODINGS = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "iso-8859-1": "iso-8859-1",
    "latin-1": "iso-8859-1",
    "us-ascii": "ascii",
    "ascii": "ascii",
    "windows-1252": "windows-1252",
}
"""Encodings that a codebook may name, in lower case, and their names in ``Codebook.encoding``."""


def inconsistency_error(source: str, faults: Sequence[Fault]) -> ConfigurationError:
    """Build the error for a codebook with faults."""
    lines = "".join(f"\n  {fault}" for fault in faults[:MOST_FAULTS])
    more = f"\n  and {len(faults) - MOST_FAULTS} more" if len(faults) > MOST_FAULTS else ""
    return ConfigurationError(
        f"{source}: the codebook does not fit any extract; get it again from where the extract comes from, or correct "
        "it:"
        f"{lines}{more}"
    )


def check_codebook(codebook: Codebook) -> Codebook:
    """Check a codebook, and return it."""
    faults = [*_codebook_faults(codebook)]
    for variable in codebook.variables:
        faults += [Fault(excerpt(variable.name), text) for text in _variable_faults(variable, codebook.record_types)]
    if not faults:  # positions are compared only where each of them is valid
        for record_type in codebook.record_types or ("",):
            faults += _record_faults(codebook, record_type)
    if faults:
        raise inconsistency_error(codebook.source, faults)
    return codebook


def _codebook_faults(codebook: Codebook) -> Iterator[Fault]:
    variables = codebook.variables
    if not _is_name(codebook.name):
        yield Fault("name", f"the data set's name is printable text of at most {LONGEST_NAME} characters")
    if not variables:
        yield Fault("variables", "there is none")
    if len(variables) > MOST_VARIABLES:
        yield Fault("variables", f"more than {MOST_VARIABLES}")
    if sum(len(variable.codes) for variable in variables) > MOST_CODES:
        yield Fault("codes", f"more than {MOST_CODES} of all variables together")
    unplaced = [variable.name for variable in variables if variable.start is None]
    if 0 < len(unplaced) < len(variables):
        yield Fault("variables", f"{listed(unplaced)} have no place in the line, others have one")
    if codebook.encoding not in ENCODINGS.values():
        yield Fault("encoding", f"expected one of {', '.join(ENCODINGS)}, found {excerpt(codebook.encoding)}")
    if codebook.provenance is not None and not all(map(is_printable, codebook.provenance.known().values())):
        yield Fault("source", "its name, producer, place or citation holds a control character")
    for record_type in codebook.record_types:
        if not _is_name(record_type):
            yield Fault("record types", f"{excerpt(record_type)} is no record type; give printable text")
    if len(set(codebook.record_types)) < len(codebook.record_types):
        yield Fault("record types", "one appears twice")
    if codebook.record_types and codebook.record_type_variable is None:
        yield Fault("record types", "no variable holds a line's record type")


def _variable_faults(variable: Variable, record_types: Sequence[str]) -> Iterator[str]:
    if not _is_name(variable.name):
        yield f"a name is printable text of at most {LONGEST_NAME} characters"
    if variable.width is not None and variable.width < 1:
        yield f"its width is {variable.width}; a variable has at least one character"
    if variable.start is not None:
        if variable.width is None:
            yield "its place in the line has no end"
        elif variable.start < 0 or variable.start + variable.width > LONGEST_LINE:
            yield f"it lies outside of columns 1 to {LONGEST_LINE} of the line"
    if variable.decimals < 0 or (variable.width is not None and variable.decimals > variable.width):
        yield f"it has {excerpt(variable.decimals)} implied decimals in {variable.width} characters"
    if variable.decimals > MOST_DECIMALS:
        yield f"it has more than {MOST_DECIMALS} implied decimals"
    if variable.form is Form.TEXT and variable.decimals:
        yield "text has no implied decimals"
    if record_types and not variable.record_types:
        yield f"it is on no record type; the codebook has {listed(record_types)}"
    if unknown := [kind for kind in variable.record_types if kind not in record_types]:
        known = f"has {listed(record_types)}" if record_types else "is of a rectangular extract"
        yield f"record type {listed(unknown)} is unknown; the codebook {known}"
    if wrong := [code.value for code in variable.codes if code.value and not _is_name(code.value)]:
        yield f"{listed(wrong)} is no code: printable text of at most {LONGEST_NAME} characters"
    if not all(map(is_printable, (variable.label, variable.concept, variable.universe))):
        yield "its label, concept or universe holds a control character"
    if not all(is_printable(code.label) for code in variable.codes):
        yield "the label of a code holds a control character"


def _record_faults(codebook: Codebook, record_type: str) -> Iterator[Fault]:
    """Find the faults among the variables of one record type, or of a rectangular extract."""
    variables = codebook.variables_of(record_type)
    on = f" on record type {excerpt(record_type)}" if record_type else ""
    by_case = defaultdict(list)
    for variable in variables:  # engines do not distinguish AGE and age
        by_case[variable.name.casefold()].append(variable.name)
    for names in by_case.values():
        if len(names) > 1:
            yield Fault(excerpt(names[0]), f"{len(names)} variables of this name{on}")
    if record_type:
        yield from _record_type_variable_faults(codebook, record_type, variables)
    spans = sorted((*variable.span, variable.name) for variable in variables if variable.start is not None)
    for (_, end, before), (start, _, after) in pairwise(spans):
        if start < end:
            yield Fault(excerpt(after), f"column {start + 1} of the line belongs to {excerpt(before)} as well{on}")


def _record_type_variable_faults(
    codebook: Codebook, record_type: str, variables: Sequence[Variable]
) -> Iterator[Fault]:
    """Find the faults of the variable that holds the record type: every line must have it at the same position."""
    name = codebook.record_type_variable
    places = {(variable.start, variable.width) for variable in codebook.variables if variable.name == name}
    if all(variable.name != name for variable in variables):
        yield Fault(
            excerpt(name), f"it holds the record type of a line, but is not on record type {excerpt(record_type)}"
        )
    elif len(places) > 1:
        yield Fault(excerpt(name), "it holds the record type of a line, but has more than one position in the line")


def _is_name(text: str) -> bool:
    return 0 < len(text) <= LONGEST_NAME and not text.isspace() and is_printable(text)


# The content of a codebook file, decompressed, and never more of it than a codebook can sensibly have.

LARGEST_CODEBOOK = 64 * 2**20
"""Bytes after decompression; the codebook of every variable of IPUMS USA has a tenth of that."""

GZIP_SIGNATURE = b"\x1f\x8b"
CHUNK = 2**24
"""Bytes of a piece. An XML parser scans an unfinished token again with every piece, so pieces must not be many."""


def read_chunks(path: Path) -> Iterator[bytes]:
    """Read a codebook file piece by piece, decompressed where its first bytes are those of gzip."""
    total = 0
    try:
        with path.open("rb") as raw:
            compressed = raw.read(len(GZIP_SIGNATURE)) == GZIP_SIGNATURE
            raw.seek(0)
            file = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if compressed else raw
            while chunk := file.read(CHUNK):
                total += len(chunk)
                if total > LARGEST_CODEBOOK:
                    raise ConfigurationError(
                        f"{path}: larger than {LARGEST_CODEBOOK >> 20} MiB; give the codebook, not the data"
                    )
                yield chunk
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise ConfigurationError(f"{path}: ends early or is damaged; get the codebook again") from None
    except OSError as error:
        raise MissingInputError(f"{path}: cannot be read: {error.strerror}; give the extract's codebook") from None


def read_content(path: Path) -> str:
    """Read a whole codebook file as text."""
    try:
        return b"".join(read_chunks(path)).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: not UTF-8 text; save the codebook as UTF-8") from None
