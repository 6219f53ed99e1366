"""Layouts, this program's own form of codebook: TOML files with the positions of a fixed-width extract's variables.

::

    name = "town1930"                     # of the data set
    collection = ""                       # who publishes it
    encoding = "utf-8"
    record_types = ["H", "P"]             # outermost first; left out for a rectangular extract
    record_type_variable = "KIND"
    provenance = { name = "Census of Town", producer = "Town", period = "1930", citation = "Town. Census of 1930." }

    [[variable]]
    name = "KIND"
    columns = [1, 1]                      # first and last column of the line, from 1, both inclusive
    record_types = ["H", "P"]
    form = "text"                         # or "number", the default

    [[variable]]
    name = "SEX"
    columns = [2, 2]
    record_types = ["P"]
    label = "Sex"
    codes = { 1 = "Male", 2 = "Female", 9 = "Unknown" }

``decimals`` counts implied decimals. ``measure`` is ``continuous`` (amounts) or ``discrete`` (names); left out, a
variable with codes is discrete and one without is continuous. ``columns`` is left out of every variable of a delimited
extract. A variable that has different positions on different record types is declared once for each. ``concept`` and
``universe`` are texts for people.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpnb_columnar.domain.documents import parse_toml
from dpnb_columnar.domain.field_reader import FieldReader
from dpnb_columnar.domain.names import quoted
from dpnb_columnar.domain.words import read_provenance
from dpnb_columnar.errors import ConfigurationError, excerpt
from dpnb_columnar.extracts.codebooks.checks import (
    ENCODINGS,
    LONGEST_LABEL,
    check_codebook,
    inconsistency_error,
    read_content,
)
from dpnb_columnar.extracts.codebooks.codebook import Code, Codebook, Form, Measure, Variable

KEYS = ("name", "collection", "encoding", "record_types", "record_type_variable", "provenance", "variable")
VARIABLE_KEYS = (
    *("name", "columns", "record_types", "form", "measure", "decimals", "label", "concept", "universe", "codes"),
)


def read_layout_file(path: Path) -> Codebook:
    """Read a layout."""
    try:
        document = parse_toml(read_content(path))
    except ValueError as error:
        raise ConfigurationError(f"{path}: not a TOML file: {error}") from None
    reader = _LayoutReader()
    codebook = reader.codebook(document, path)
    if reader.faults:
        raise inconsistency_error(str(path), reader.faults)
    return check_codebook(codebook)


class _LayoutReader(FieldReader):
    """Reader of one layout."""

    def codebook(self, document: Mapping[str, Any], path: Path) -> Codebook:
        self.table(document, "layout", KEYS)
        encoding = self.text(document, "encoding", "layout", "utf-8").lower()
        variables = document.get("variable", [])
        if not isinstance(variables, list):
            self.fault("variable", f"expected tables [[variable]], found {excerpt(variables)}")
            variables = []
        return Codebook(
            source=str(path),
            name=self.text(document, "name", "layout", path.name.partition(".")[0]),
            collection=self.text(document, "collection", "layout"),
            record_types=self.texts(document.get("record_types", []), "record_types", "a list of record types"),
            record_type_variable=self.text(document, "record_type_variable", "layout") or None,
            variables=tuple(self.variable(body, f"variable {place}") for place, body in enumerate(variables, 1)),
            encoding=ENCODINGS.get(encoding, encoding),
            provenance=read_provenance(self, document.get("provenance"), "provenance"),
        )

    def variable(self, document: object, place: str) -> Variable:
        if isinstance(document, Mapping) and "name" in document:
            place = excerpt(document["name"])
        table = self.table(document, place, VARIABLE_KEYS) or {}
        start, width = self.columns(table.get("columns"), place)
        decimals = table.get("decimals", 0)
        if not isinstance(decimals, int) or isinstance(decimals, bool):
            self.fault(f"{place}.decimals", f"expected a whole number, found {excerpt(decimals)}")
            decimals = 0
        codes = self.codes(table.get("codes", {}), f"{place}.codes")
        return Variable(
            name=self.text(table, "name", place),
            form=self.choice(table, "form", Form, Form.NUMBER, place),
            measure=self.choice(table, "measure", Measure, Measure.DISCRETE if codes else Measure.CONTINUOUS, place),
            start=start,
            width=width,
            decimals=decimals,
            record_types=self.texts(table.get("record_types", []), f"{place}.record_types", "a list of record types"),
            label=self.text(table, "label", place)[:LONGEST_LABEL],
            concept=self.text(table, "concept", place)[:LONGEST_LABEL],
            universe=self.text(table, "universe", place)[:LONGEST_LABEL],
            codes=codes,
        )

    def columns(self, value: object, place: str) -> tuple[int | None, int | None]:
        """Read the first and last column of a variable as its offset and width."""
        match value:
            case None:
                return None, None
            case [int(first), int(last)] if not isinstance(first, bool) and not isinstance(last, bool):
                return first - 1, last - first + 1
        self.fault(f"{place}.columns", f"expected its first and last column such as [5, 7], found {excerpt(value)}")
        return None, None

    def codes(self, document: object, place: str) -> tuple[Code, ...]:
        if not isinstance(document, Mapping):
            self.fault(place, f'expected a table such as {{ 1 = "Male", 2 = "Female" }}, found {excerpt(document)}')
            return ()
        return tuple(Code(value, self.text(document, value, place)[:LONGEST_LABEL]) for value in document)

    def text(self, table: Mapping[str, Any], key: str, place: str, default: str = "") -> str:
        value = table.get(key, default)
        if isinstance(value, str):
            return value
        self.fault(f"{place}.{quoted(key)}", f"expected text, found {excerpt(value)}")
        return default
