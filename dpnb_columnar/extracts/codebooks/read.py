"""The search for a codebook, and its reading, whichever form it has: a layout, a PUMS dictionary, or DDI.

*Layouts*, this program's own form of codebook: TOML files with the positions of a fixed-width extract's variables.

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

*Data dictionaries* of the ACS Public Use Microdata Sample: ``PUMS_Data_Dictionary_YEAR.csv`` of the Census Bureau.

::

    NAME,WKHP,N,2,"Usual hours worked per week past 12 months"
    VAL,WKHP,N,2,"bb","bb","N/A (less than 16 years old/did not work during the past 12 months)"
    VAL,WKHP,N,2,"1","98","1 to 98 usual hours"
    VAL,WKHP,N,2,"99","99","99 or more usual hours"

``C`` marks codes and ``N`` amounts; codes that are all whole numbers are numbers here as well (``01`` becomes 1 in the
data). ``b`` stands for a blank. A variable of the housing and of the person file appears twice, and is kept once. The
data is delimited, so no variable has a position.

*DDI*: XML of the Data Documentation Initiative (DDI Codebook 2.5), as IPUMS ships one with each extract.

The file is untrusted: a document type or an entity is refused (defusedxml), and the file is read as a stream of which
only the facts below are kept, so memory does not grow with it. Elements are known by their names, whatever their
namespace (IPUMS has used two). IPUMS's own reader, ipumspy, builds the whole tree with a parser that expands entities.

=====================================  ==============================================================================
``codeBook/@ID``                       the collection, after the last hyphen: ``cps.ipums.org``
``fileTxt/fileName``                   the extract's name, without ``.dat``
``serName``, ``serName/@abbr``         the series of its samples: IPUMS CPS, ``cps``
``sumDscr/timePrd/@date``              the period of one of its samples: ``2022-01``
``fileStrc/@type``                     ``hierarchical`` or rectangular
``recGrp/@rectype @recidvar @keyvar``  a record type, the variable that holds it; the type without key is outermost
``fileType/@charset``                  encoding of the data
``var/@name @dcml @intrvl @rectype``   name, implied decimals, ``contin`` or ``discrete``, record types
``location/@StartPos @EndPos @width``  first and last column of the line, from 1, both inclusive
``labl``, ``concept``, ``universe``    texts for people
``catgry/catValu``, ``catgry/labl``    one code and its meaning
``titl``, ``AuthEnty``, ``producer``,  of the study: its title, and by whom it is published (``@affiliation``)
``distrbtr``
``nation``, ``geogCover``              its place
``stdyInfo/notes``                     of IPUMS: the names of its samples
``citReq``, ``biblCit``                how it must be cited
``serInfo``, ``IDNo``, ``holdings``,   its DOI, else an address of the study
``contact/@URI``
``codInstr``                           lines ``999 = NIU``: the codes of a variable that has no ``catgry``
``varFormat/@type``                    ``numeric`` or ``character``
=====================================  ==============================================================================

Several codes of one variable may have the same label, so codes are never identified by their labels.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import XMLParser

from dpnb_columnar.domain.declaration import read_provenance
from dpnb_columnar.domain.declared_domain import Provenance
from dpnb_columnar.domain.field_reader import FieldReader, parse_toml
from dpnb_columnar.domain.names import quoted
from dpnb_columnar.domain.words import LONGEST, one_line
from dpnb_columnar.errors import ConfigurationError, Fault, MissingInputError, excerpt
from dpnb_columnar.extracts.codebooks.codebook import (
    ENCODINGS,
    LONGEST_LABEL,
    MOST_CODES,
    MOST_VARIABLES,
    Code,
    Codebook,
    Form,
    Measure,
    Variable,
    check_codebook,
    inconsistency_error,
    read_chunks,
    read_content,
)
from dpnb_columnar.runtime.unfinished import exists, is_file

MEASURES = {"contin": Measure.CONTINUOUS, "discrete": Measure.DISCRETE}

INSTRUCTED_CODE = re.compile(r"-?\d{1,20}(\.\d{1,20})?", re.ASCII)
"""A code, commas left out, before ``=`` in a line of coding instructions that explains it."""


@dataclass(slots=True)
class VariableElement:
    """One ``var`` element, as far as it has been read; ``category`` is the ``catgry`` that is open."""

    attributes: Mapping[str, str]
    location: Mapping[str, str] = field(default_factory=dict)
    character: bool = False
    texts: dict[str, list[str]] = field(default_factory=dict)
    codes: list[Code] = field(default_factory=list)
    category: dict[str, str] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name of the variable; empty where it has none."""
        return self.attributes.get("name", "")

    def add_text(self, parent: str, element: str, text: str) -> None:
        if parent != "catgry":
            self.texts.setdefault(element, []).append(text)
        elif element == "catValu":  # leading blanks may belong to a code of text; trailing ones never do
            self.category.setdefault(element, text.strip("\r\n\t").rstrip())
        else:
            self.category.setdefault(element, _line(text))

    def end_category(self) -> None:
        """Keep the code of the ``catgry`` that ends; one without a code is a heading of others."""
        if "catValu" in self.category:
            self.codes.append(Code(self.category["catValu"], self.category.get("labl", "")))

    def to_variable(self, hierarchical: bool) -> Variable:
        """Build the variable; what is wrong with it is added to ``faults``."""
        start, end, width = (self.number(self.location, key) for key in ("StartPos", "EndPos", "width"))
        if start is not None and end is not None:
            if width is not None and width != end - start + 1:
                self.fault(f"columns {start} to {end} are not its width, {width}")
            width = end - start + 1
        default = Measure.DISCRETE if self.codes else Measure.CONTINUOUS
        return Variable(
            name=self.name,
            form=Form.TEXT if self.character else Form.NUMBER,
            measure=MEASURES.get(self.attributes.get("intrvl", ""), default),
            start=None if start is None else start - 1,
            width=width,
            decimals=0 if self.character else self.number(self.attributes, "dcml") or 0,
            record_types=tuple(self.attributes.get("rectype", "").split()) if hierarchical else (),
            label=_line(self.texts.get("labl", [""])[0]),
            concept=_line("; ".join(self.texts.get("concept", ()))),
            universe=_line(" ".join(self.texts.get("universe", ()))),
            codes=tuple(self.codes or _instructed_codes(self.texts.get("codInstr", ()), width)),
        )

    def number(self, attributes: Mapping[str, str], key: str) -> int | None:
        """Read an attribute that is a whole number; None where it is absent."""
        text = attributes.get(key)
        if text is None:
            return None
        if re.fullmatch(r"\d{1,9}", text, re.ASCII):
            return int(text)
        self.fault(f"expected a whole number as {key}, found {excerpt(text)}")
        return None

    def fault(self, problem: str) -> None:
        self.faults.append(Fault(excerpt(self.name), problem))


def _instructed_codes(instructions: Iterable[str], width: int | None) -> list[Code]:
    """Read the codes that coding instructions explain, as far as they fit into the variable's width."""
    codes = []
    for text in instructions:
        for line in text.splitlines():
            left, _, label = line.partition("=")
            value = left.strip().replace(",", "")
            if INSTRUCTED_CODE.fullmatch(value) and (width is None or len(value.replace(".", "")) <= width):
                codes.append(Code(value, _line(label)))
    return codes


def _line(text: str) -> str:
    return " ".join(text.split())[:LONGEST_LABEL].rstrip()


DEEPEST_NESTING = 64
"""Elements inside one another."""

TEXTS: Mapping[str, Collection[str]] = MappingProxyType(
    {
        "titlStmt": frozenset({"titl", "IDNo"}),
        "rspStmt": frozenset({"AuthEnty"}),
        "prodStmt": frozenset({"producer"}),
        "distStmt": frozenset({"distrbtr"}),
        "serStmt": frozenset({"serName", "serInfo"}),
        "citation": frozenset({"biblCit"}),
        "sumDscr": frozenset({"nation", "geogCover"}),
        "stdyInfo": frozenset({"notes"}),
        "useStmt": frozenset({"citReq"}),
        "fileTxt": frozenset({"fileName"}),
        "var": frozenset({"labl", "concept", "universe", "codInstr"}),
        "catgry": frozenset({"catValu", "labl"}),
    }
)
"""Elements whose text is kept, by their parent element."""

FACTS = frozenset(
    {
        *("codeBook", "serName", "timePrd", "fileStrc", "recGrp", "fileType", "var", "location", "varFormat"),
        *("AuthEnty", "producer", "distrbtr", "contact", "holdings"),
    }
)
"""Elements whose attributes are kept. ``catgry`` has none: most elements of a large codebook are of codes."""

MOST_SAMPLES = 10_000

LONGEST_STUDY_TEXT = 10_000
"""Characters that are kept of a text about the study."""

MOST_PERIODS = 4
"""Periods that a name lists."""

PARAGRAPHS = re.compile(r"\n\s*\n")
DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"'<>]*[\w/]", re.ASCII)
CITED = re.compile(r"\[(dataset|database|data ?set|computer file)\]", re.IGNORECASE)
"""What stands in a citation, and not in the sentences around it."""

OF_SAMPLE = re.compile(r"Additional notes on a sample that is part of this study:\s*(.*)")
"""A note of IPUMS, whose first line names a sample."""

SERIES = re.compile(r"[a-z]{1,20}", re.ASCII)
PERIOD = re.compile(r"[0-9][0-9-]{0,20}", re.ASCII)


def read_ddi(path: Path) -> Codebook:
    """Read a DDI codebook."""
    document = _DocumentElements(path)
    parser = XMLParser(target=document, forbid_dtd=True)
    try:
        for chunk in read_chunks(path):
            parser.feed(chunk)
        parser.close()
    except ParseError as error:
        line, column = error.position
        raise ConfigurationError(
            f"{path}: not well-formed XML at line {line}, column {column + 1}; get the codebook again"
        ) from None
    except DefusedXmlException:
        raise ConfigurationError(
            f"{path}: declares a document type or an entity, which no codebook needs; get it again from its publisher"
        ) from None
    except (LookupError, ValueError):  # the parser raises them for a declared encoding that it does not know
        raise ConfigurationError(
            f"{path}: in a character encoding that XML parsers do not know; save it as UTF-8"
        ) from None
    return check_codebook(document.codebook())


class _DocumentElements:
    """Target of the XML parser: gathers the facts of one document without keeping a tree."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.elements: list[str] = []  # open elements, outermost first
        self.text: list[str] | None = None  # pieces of the text that is being gathered
        self.text_depth = 0
        self.identifier = self.file_name = self.structure = self.encoding = self.series = ""
        self.periods: list[str] = []
        self.study: dict[str, list[str]] = {}  # texts that say where the rows come from, by their element
        self.groups: list[dict[str, str]] = []
        self.variable: VariableElement | None = None
        self.variables: list[Variable] = []
        self.number_of_codes = 0
        self.faults: list[Fault] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name, elements = tag.rpartition("}")[2], self.elements
        parent = elements[-1] if elements else ""
        elements.append(name)
        if self.text is None and parent in TEXTS and name in TEXTS[parent]:
            self.text, self.text_depth = [], len(elements)
        if name == "catgry":
            if self.variable is not None:
                self.variable.category = {}
        elif name in FACTS:
            self._take_attributes(name, attributes)
        if len(elements) > DEEPEST_NESTING:
            raise self.refusal(f"nests more than {DEEPEST_NESTING} elements")
        if not parent and name != "codeBook":
            raise self.refusal(f"begins with {excerpt(name)}, a DDI codebook with codeBook")

    def _take_attributes(self, name: str, attributes: dict[str, str]) -> None:
        match name:
            case "codeBook":
                self.identifier = attributes.get("ID", "")
            case "serName":
                self.series = attributes.get("abbr", "")
            case "timePrd" if len(self.periods) < MOST_SAMPLES:
                self.periods.append(attributes.get("date", ""))
            case "fileStrc":
                self.structure = attributes.get("type", "")
            case "recGrp":
                self.groups.append(attributes)
            case "fileType":
                self.encoding = attributes.get("charset", "")
            case "var":
                self.variable = VariableElement(attributes)
            case "location" if self.variable is not None:
                self.variable.location = attributes
            case "AuthEnty" | "producer" | "distrbtr" if self.of_study:
                self.add_study_text("affiliation", attributes.get("affiliation", ""))
            case "contact" | "holdings" if self.of_study:
                self.add_study_text("URI", attributes.get("URI", ""))
            case "varFormat" if self.variable is not None:
                self.variable.character = attributes.get("type") == "character"

    @property
    def of_study(self) -> bool:
        """Whether the innermost element is of the study, not of the codebook as a document."""
        return "stdyDscr" in self.elements

    def add_study_text(self, element: str, text: str) -> None:
        texts = self.study.setdefault(element, [])
        if text.strip() and len(texts) < MOST_SAMPLES:
            texts.append(text[:LONGEST_STUDY_TEXT])

    def data(self, text: str) -> None:
        """Take characters of the innermost open element."""
        if self.text is not None:
            self.text.append(text)

    def end(self, tag: str) -> None:
        name = self.elements.pop()
        if self.text is not None and len(self.elements) < self.text_depth:
            text, self.text = "".join(self.text), None
            if name == "fileName":
                self.file_name = text.strip()
            elif self.variable is not None:
                self.variable.add_text(self.elements[-1], name, text)
            elif self.of_study:
                self.add_study_text(name, text)
        if self.variable is None or name not in ("catgry", "var"):
            return
        if name == "catgry":
            self.variable.end_category()
            self.number_of_codes += 1
        else:
            self.variables.append(self.variable.to_variable(self.structure == "hierarchical"))
            self.faults += self.variable.faults
            self.variable = None
        if len(self.variables) > MOST_VARIABLES or self.number_of_codes > MOST_CODES:
            raise self.refusal(f"has more than {MOST_VARIABLES} variables or {MOST_CODES} codes")

    def close(self) -> None:
        """Take the end of the document."""

    def codebook(self) -> Codebook:
        if self.faults:
            raise inconsistency_error(str(self.path), self.faults)
        hierarchical = self.structure == "hierarchical"
        if hierarchical and not self.groups:
            raise self.refusal("is of a hierarchical extract, but declares no record group (recGrp)")
        outermost_first = sorted(self.groups, key=lambda group: "keyvar" in group)
        holders = {group.get("recidvar", "") for group in self.groups} - {""}
        if hierarchical and len(holders) > 1:
            raise self.refusal("has its record types in more than one variable (recidvar)")
        _, hyphen, publisher = self.identifier.rpartition("-")
        encoding = self.encoding.lower() or "utf-8"
        return Codebook(
            source=str(self.path),
            name=self.file_name.removesuffix(".gz").removesuffix(".dat").removesuffix(".csv") or self.path.stem,
            collection=publisher if hyphen and re.fullmatch(r"[a-z]+(\.[a-z]+)+", publisher) else "",
            record_types=tuple(group.get("rectype", "") for group in outermost_first) if hierarchical else (),
            record_type_variable=holders.pop() if hierarchical and holders else None,
            variables=tuple(self.variables),
            encoding=ENCODINGS.get(encoding, encoding),
            sample=_sample(self.series, self.periods),
            provenance=_study_provenance(self.study, self.periods),
        )

    def refusal(self, problem: str) -> ConfigurationError:
        return ConfigurationError(f"{self.path}: {problem}; give the DDI codebook (.xml) that came with the extract")


def _study_provenance(study: Mapping[str, Sequence[str]], periods: Iterable[str]) -> Provenance | None:
    """Say where the rows come from, by the texts of a study; None where it has none."""

    def first(*elements: str) -> str:
        return next((text for element in elements for text in study.get(element, ())), "")

    demanded = first("citReq", "biblCit")
    paragraphs = [text for text in PARAGRAPHS.split(demanded) if CITED.search(text) or DOI.search(text)]
    texts = [*study.get("serInfo", ()), *study.get("IDNo", ()), demanded, *study.get("URI", ())]
    doi = next((found[0] for text in texts if (found := DOI.search(text))), "")
    samples = [
        found[1].replace(";", ",") for text in study.get("notes", ()) if (found := OF_SAMPLE.match(text.strip()))
    ]
    makers = dict.fromkeys([first("AuthEnty", "producer", "distrbtr"), first("affiliation")])
    read = {
        "name": first("serName", "titl"),
        "producer": ", ".join(text for text in makers if text),
        "place": "; ".join(dict.fromkeys([*study.get("nation", ()), *study.get("geogCover", ())])),
        "period": "; ".join(_few(periods)),
        "sample": "; ".join(dict.fromkeys(samples)),
        "citation": "\n".join(paragraphs) or demanded,
        "url": f"https://doi.org/{doi}" if doi else first("URI"),
    }
    lines = {key: one_line(text, LONGEST[key]) for key, text in read.items()}
    return Provenance(**lines) if any(lines.values()) else None


def _few(periods: Iterable[str]) -> list[str]:
    """Sort distinct periods; of many, the first, the last and their number."""
    distinct = sorted({*periods} - {""})
    many = len(distinct) > MOST_PERIODS
    return [f"{distinct[0]} to {distinct[-1]} ({len(distinct)} samples)"] if many else distinct


def _sample(series: str, periods: Iterable[str]) -> str:
    """Name the samples of an extract by their series and periods; two of one period share a name, and so an account."""
    distinct = sorted(set(periods))
    if not SERIES.fullmatch(series) or not distinct or not all(map(PERIOD.fullmatch, distinct)):
        return ""
    if len(distinct) > MOST_PERIODS:
        distinct = [distinct[0], "to", distinct[-1], str(len(distinct)), "samples"]
    return "_".join([series, *distinct])


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
    found = sorted(year[1] for factor in codes.get(ADJUSTED, []) if (year := YEAR.match(factor.label)))
    name, years = path.name.partition(".")[0], "-".join(dict.fromkeys([found[0], found[-1]])) if found else ""
    sample = f"acs{years}" if years else ""
    book = Codebook(str(path), name, COLLECTION, (), None, described, sample=sample, provenance=_provenance(years))
    return check_codebook(book)


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
    """Read a codebook: a file, or a layout that comes with the project."""
    file = Path(path)
    if str(path) in packaged_layouts() and not is_file(file):
        file = LAYOUTS / f"{path}.toml"
    if not exists(file):
        raise MissingInputError(
            f"{file}: no such codebook; give a file, or the name of a packaged layout ({', '.join(packaged_layouts())})"
        )
    match Path(file.name.lower().removesuffix(COMPRESSED)).suffix:
        case ".xml":
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
    """Find the DDI codebook in the folder of an extract, also compressed; None where there is none."""
    name = extract.name.removesuffix(COMPRESSED)
    bases = dict.fromkeys([Path(name).stem, name])  # cps_00421, then cps_00421.dat
    for base in bases:
        for suffix in (".xml", ".ddi.xml"):
            for ending in ("", COMPRESSED):
                beside = extract.with_name(f"{base}{suffix}{ending}")
                if is_file(beside) and beside != extract:
                    return beside
    return None
