"""The search for a codebook, and its reading: a layout (docs/extracts.md), a PUMS dictionary, or DDI Codebook 2.5.

The file is untrusted: document types and entities of XML are refused (defusedxml), which ipumspy's parser expands.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

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

DEEPEST_NESTING = 64
"""Elements inside one another."""

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
    """Read a DDI codebook: elements by their names, since IPUMS has used two namespaces."""
    tree = _VariableTree(path)
    parser = XMLParser(target=tree, forbid_dtd=True)
    try:
        for chunk in read_chunks(path):
            parser.feed(chunk)
        root = parser.close()
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
    if tree.faults:
        raise inconsistency_error(str(path), tree.faults)
    return check_codebook(_codebook_of(path, root, tree.variables))


class _VariableTree(TreeBuilder):
    """A tree without the contents of variables, most of a codebook: each is read and emptied when it ends."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.depth = self.number_of_codes = 0
        self.variables: list[Variable] = []
        self.faults: list[Fault] = []

    def start(self, tag: str, attributes: dict[str, str], /) -> Element:
        name = tag.rpartition("}")[2]
        self.depth += 1
        if self.depth > DEEPEST_NESTING:
            raise _not_ddi(self.path, f"nests more than {DEEPEST_NESTING} elements")
        if self.depth == 1 and name != "codeBook":
            raise _not_ddi(self.path, f"begins with {excerpt(name)}, a DDI codebook with codeBook")
        return super().start(name, attributes)

    def end(self, tag: str, /) -> Element:
        self.depth -= 1
        element = super().end(tag.rpartition("}")[2])
        if element.tag == "catgry":
            self.number_of_codes += 1
        elif element.tag == "var":
            self.variables.append(_ddi_variable(element, self.faults))
            element.clear()
        if len(self.variables) > MOST_VARIABLES or self.number_of_codes > MOST_CODES:
            raise _not_ddi(self.path, f"has more than {MOST_VARIABLES} variables or {MOST_CODES} codes")
        return element


def _not_ddi(path: Path, problem: str) -> ConfigurationError:
    return ConfigurationError(f"{path}: {problem}; give the DDI codebook (.xml) that came with the extract")


def _ddi_variable(element: Element, faults: list[Fault]) -> Variable:
    """Build a variable from its ``var``; what is wrong with it is added to the faults."""
    name = element.get("name", "")

    def number(attributes: Mapping[str, str], key: str) -> int | None:
        text = attributes.get(key)
        if text is not None and not re.fullmatch(r"\d{1,9}", text, re.ASCII):
            faults.append(Fault(excerpt(name), f"expected a whole number as {key}, found {excerpt(text)}"))
            return None
        return None if text is None else int(text)

    location, character = _attributes(element, "location"), _attributes(element, "varFormat").get("type") == "character"
    start, end, width = (number(location, key) for key in ("StartPos", "EndPos", "width"))
    if start is not None and end is not None:
        if width is not None and width != end - start + 1:
            faults.append(Fault(excerpt(name), f"columns {start} to {end} are not its width, {width}"))
        width = end - start + 1
    codes = [  # leading blanks may belong to a code of text; a category without a code is a heading of others
        Code(_text(value).strip("\r\n\t").rstrip(), _line(_text(category.find("labl"))))
        for category in element.iter("catgry")
        if (value := category.find("catValu")) is not None
    ]
    return Variable(
        name=name,
        form=Form.TEXT if character else Form.NUMBER,
        measure=MEASURES.get(element.get("intrvl", ""), Measure.DISCRETE if codes else Measure.CONTINUOUS),
        start=None if start is None else start - 1,
        width=width,
        decimals=0 if character else number(element.attrib, "dcml") or 0,
        record_types=tuple(element.get("rectype", "").split()),
        label=_line(_text(element.find("labl"))),
        concept=_line("; ".join(map(_text, element.iterfind("concept")))),
        universe=_line(" ".join(map(_text, element.iterfind("universe")))),
        codes=tuple(codes or _instructed_codes(map(_text, element.iterfind("codInstr")), width)),
    )


def _attributes(element: Element, tag: str) -> Mapping[str, str]:
    """Return the attributes of the last element of a name; none where there is no such element."""
    return ([{}, *(each.attrib for each in element.iter(tag))])[-1]


def _text(element: Element | None) -> str:
    return "" if element is None else "".join(element.itertext())


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


def _codebook_of(path: Path, root: Element, variables: Sequence[Variable]) -> Codebook:
    """Build the codebook of a document whose variables are read."""
    hierarchical = _attributes(root, "fileStrc").get("type") == "hierarchical"
    groups = [group.attrib for group in root.iter("recGrp")]
    holders = {group.get("recidvar", "") for group in groups} - {""}
    if hierarchical and not groups:
        raise _not_ddi(path, "is of a hierarchical extract, but declares no record group (recGrp)")
    if hierarchical and len(holders) > 1:
        raise _not_ddi(path, "has its record types in more than one variable (recidvar)")
    outermost_first = sorted(groups, key=lambda group: "keyvar" in group)
    _, hyphen, publisher = _attributes(root, "codeBook").get("ID", "").rpartition("-")
    encoding = _attributes(root, "fileType").get("charset", "").lower() or "utf-8"
    file_name = "".join(map(_text, root.findall(".//fileTxt/fileName")[-1:])).strip()
    periods = [each.get("date", "") for each in root.iter("timePrd")][:MOST_SAMPLES]
    return Codebook(
        source=str(path),
        name=file_name.removesuffix(".gz").removesuffix(".dat").removesuffix(".csv") or path.stem,
        collection=publisher if hyphen and re.fullmatch(r"[a-z]+(\.[a-z]+)+", publisher) else "",
        record_types=tuple(group.get("rectype", "") for group in outermost_first) if hierarchical else (),
        record_type_variable=holders.pop() if hierarchical and holders else None,
        variables=tuple(variables if hierarchical else (replace(each, record_types=()) for each in variables)),
        encoding=ENCODINGS.get(encoding, encoding),
        sample=_sample(_attributes(root, "serName").get("abbr", ""), periods),
        provenance=_study_provenance(root, periods),
    )


def _study_provenance(root: Element, periods: Iterable[str]) -> Provenance | None:
    """Read where the rows come from, from elements of the study; None where it has none."""

    def kept(texts: Iterable[str]) -> list[str]:
        return [text[:LONGEST_STUDY_TEXT] for text in texts if text.strip()][:MOST_SAMPLES]

    def texts(path: str) -> list[str]:
        return kept(map(_text, root.iterfind(f".//stdyDscr//{path}")))

    def attributes(key: str, tags: Collection[str]) -> list[str]:
        study = (each for part in root.iter("stdyDscr") for each in part.iter())
        return kept(each.get(key, "") for each in study if each.tag in tags)

    def first(*found: Sequence[str]) -> str:
        return next((text for each in found for text in each), "")

    makers = texts("rspStmt/AuthEnty"), texts("prodStmt/producer"), texts("distStmt/distrbtr")
    affiliation = attributes("affiliation", ("AuthEnty", "producer", "distrbtr"))
    addresses = attributes("URI", ("contact", "holdings"))
    demanded = first(texts("useStmt/citReq"), texts("citation/biblCit"))
    paragraphs = [text for text in PARAGRAPHS.split(demanded) if CITED.search(text) or DOI.search(text)]
    with_doi = [*texts("serStmt/serInfo"), *texts("titlStmt/IDNo"), demanded, *addresses]
    doi = next((found[0] for text in with_doi if (found := DOI.search(text))), "")
    notes = filter(None, (OF_SAMPLE.match(text.strip()) for text in texts("stdyInfo/notes")))
    read = {
        "name": first(texts("serStmt/serName"), texts("titlStmt/titl")),
        "producer": ", ".join(filter(None, dict.fromkeys([first(*makers), first(affiliation)]))),
        "place": "; ".join(dict.fromkeys([*texts("sumDscr/nation"), *texts("sumDscr/geogCover")])),
        "period": "; ".join(_few(periods)),
        "sample": "; ".join(dict.fromkeys(found[1].replace(";", ",") for found in notes)),
        "citation": "\n".join(paragraphs) or demanded,
        "url": f"https://doi.org/{doi}" if doi else first(addresses),
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
