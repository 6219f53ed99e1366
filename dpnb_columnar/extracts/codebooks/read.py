"""The search for a codebook, and its reading, whichever form it has.

Layouts, this program's own form of codebook: TOML files with the positions of a fixed-width extract's variables.

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

Data dictionaries of the ACS Public Use Microdata Sample: ``PUMS_Data_Dictionary_YEAR.csv`` of the Census Bureau.

::

    NAME,WKHP,N,2,"Usual hours worked per week past 12 months"
    VAL,WKHP,N,2,"bb","bb","N/A (less than 16 years old/did not work during the past 12 months)"
    VAL,WKHP,N,2,"1","98","1 to 98 usual hours"
    VAL,WKHP,N,2,"99","99","99 or more usual hours"

``C`` marks codes and ``N`` amounts; codes that are all whole numbers are numbers here as well (``01`` becomes 1 in the
data). ``b`` stands for a blank. A variable of the housing and of the person file appears twice, and is kept once. The
data is delimited, so no variable has a position.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpnb_columnar.domain.declaration import read_provenance
from dpnb_columnar.domain.declared_domain import Provenance
from dpnb_columnar.domain.field_reader import FieldReader, parse_toml
from dpnb_columnar.domain.names import quoted
from dpnb_columnar.errors import ConfigurationError, Fault, MissingInputError, excerpt
from dpnb_columnar.extracts.codebooks.codebook import (
    ENCODINGS,
    LONGEST_LABEL,
    Code,
    Codebook,
    Form,
    Measure,
    Variable,
    check_codebook,
    inconsistency_error,
    read_content,
)
from dpnb_columnar.runtime.unfinished import exists, is_file

COLLECTION = "census.gov"
BUREAU = "U.S. Census Bureau"
PUMS_PAGE = "https://www.census.gov/programs-surveys/acs/microdata.html"
BLANK = re.compile("b+")

ADJUSTED = "ADJINC"
"""Variable of every edition, whose codes are the factors of its years: ``2018 factor (1.013097)``."""

YEAR = re.compile(r"((?:19|20)\d\d) factor\b", re.ASCII)
WHOLE = re.compile(r"-?\d+", re.ASCII)


def read_pums_dictionary(path: Path) -> Codebook:
    """Read a PUMS data dictionary."""
    variables: dict[str, Variable] = {}
    codes: dict[str, list[Code]] = {}
    faults = []
    reader = csv.reader(io.StringIO(read_content(path), newline=""), strict=True)
    last = ""
    try:
        for record in reader:
            match record:
                case ["NAME", name, kind, width, label]:
                    variable = _variable(name, kind, width, label)
                    if variables.setdefault(name, variable) != variable:
                        faults.append(Fault(excerpt(name), f"line {reader.line_num} describes it in another way"))
                    codes[name], last = [], name  # the codes follow, once more where the variable appears again
                case ["VAL", name, _, _, first, end, label] if name == last:
                    codes[name].append(_code(first, end, label))
                case []:
                    continue
                case _:
                    raise _not_a_dictionary(path, reader.line_num)
    except csv.Error:
        raise _not_a_dictionary(path, reader.line_num) from None
    if faults:
        raise inconsistency_error(str(path), faults)
    described = tuple(_with_codes(variable, codes[name]) for name, variable in variables.items())
    name, years = path.name.partition(".")[0], _years(codes.get(ADJUSTED, []))
    sample = f"acs{years}" if years else ""
    book = Codebook(str(path), name, COLLECTION, (), None, described, sample=sample, provenance=_provenance(years))
    return check_codebook(book)


def _years(factors: list[Code]) -> str:
    """Write the years whose amounts are adjusted, such as 2018 or 2014-2018; empty where there are none."""
    years = sorted(year[1] for factor in factors if (year := YEAR.match(factor.label)))
    return "-".join(dict.fromkeys([years[0], years[-1]])) if years else ""


def _provenance(years: str) -> Provenance:
    """Cite the sample as the Census Bureau asks for: by its name, below tables and figures."""
    survey = "American Community Survey"
    sample = " ".join(["PUMS", *years.split()])
    citation = " ".join([*years.split(), survey, "Public Use Microdata Sample"])
    return Provenance(survey, BUREAU, "United States", years, sample, f"Source: {BUREAU}, {citation}", PUMS_PAGE)


def _variable(name: str, kind: str, width: str, label: str) -> Variable:
    return Variable(
        name=name,
        form=Form.NUMBER if kind == "N" else Form.TEXT,
        measure=Measure.CONTINUOUS if kind == "N" else Measure.DISCRETE,
        start=None,
        width=int(width) if re.fullmatch(r"\d{1,4}", width, re.ASCII) else None,
        label=label[:LONGEST_LABEL],
    )


def _code(first: str, end: str, label: str) -> Code:
    value = "" if BLANK.fullmatch(first) else first.rstrip()
    return Code(value, label[:LONGEST_LABEL], "" if end == first else end)


def _with_codes(variable: Variable, codes: list[Code]) -> Variable:
    spelled = [text for code in codes for text in (code.value, code.last) if text]
    whole = bool(spelled) and all(WHOLE.fullmatch(text) for text in spelled)
    return replace(variable, form=Form.NUMBER if whole else variable.form, codes=tuple(codes))


def _not_a_dictionary(path: Path, line: int) -> ConfigurationError:
    return ConfigurationError(
        f"{path}: line {line} is no record of a data dictionary (NAME with 5 fields, or VAL with 7 below its NAME); "
        "give PUMS_Data_Dictionary_YEAR.csv of the Census Bureau"
    )


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


LAYOUTS = Path(__file__).parent / "layouts"
"""Layouts that come with the project."""

COMPRESSED = ".gz"


def packaged_layouts() -> tuple[str, ...]:
    """List the names of the layouts that come with the project."""
    return tuple(sorted(path.stem for path in LAYOUTS.glob("*.toml")))


def read_codebook(path: Path | str) -> Codebook:
    """Read a codebook: a file, or a layout that comes with the project.

    Args:
        path: A DDI codebook (``.xml``), a layout (``.toml``) or a PUMS data dictionary (``.csv``), each also compressed
            (``.gz``); or the name of a packaged layout, ``ipums1940``. A file of that name comes first.
    """
    file = Path(path)
    if str(path) in packaged_layouts() and not is_file(file):
        file = LAYOUTS / f"{path}.toml"
    if not exists(file):
        raise MissingInputError(
            f"{file}: no such codebook; give a file, or the name of a packaged layout ({', '.join(packaged_layouts())})"
        )
    match Path(file.name.lower().removesuffix(COMPRESSED)).suffix:
        case ".xml":
            from dpnb_columnar.extracts.codebooks.ddi import read_ddi

            return read_ddi(file)
        case ".toml":
            return read_layout_file(file)
        case ".csv":
            return read_pums_dictionary(file)
    raise ConfigurationError(
        f"{file}: no codebook by its name; give a DDI codebook (.xml), a layout (.toml) or a PUMS data dictionary "
        "(.csv)"
    )


def codebook_beside(extract: Path) -> Path | None:
    """Find the DDI codebook in the folder of an extract; None where there is none.

    ``cps_00421.dat.gz`` goes with ``cps_00421.xml`` or ``cps_00421.ddi.xml``, either of them also compressed.
    """
    name = extract.name.removesuffix(COMPRESSED)
    bases = dict.fromkeys([Path(name).stem, name])  # cps_00421, then cps_00421.dat
    for base in bases:
        for suffix in (".xml", ".ddi.xml"):
            for ending in ("", COMPRESSED):
                beside = extract.with_name(f"{base}{suffix}{ending}")
                if is_file(beside) and beside != extract:
                    return beside
    return None
