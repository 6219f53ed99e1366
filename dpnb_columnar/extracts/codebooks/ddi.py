"""Codebooks in XML of the Data Documentation Initiative (DDI Codebook 2.5), as IPUMS ships one with each extract.

The file is untrusted: it may hold no document type and no entity, and it is read as a stream of which only the facts
below are kept, so its size is no burden. Names of elements count, their namespace does not (IPUMS has used two).

=====================================  ==============================================================================
``codeBook/@ID``                       the collection, after the last hyphen: ``cps.ipums.org``
``fileTxt/fileName``                   the data set's name, without ``.dat``
``fileStrc/@type``                     ``hierarchical`` or rectangular
``recGrp/@rectype @recidvar @keyvar``  a record type, the variable that tells it; a record type without key is outermost
``fileType/@charset``                  encoding of the data
``var/@name @dcml @intrvl @rectype``   name, implied decimals, ``contin`` or ``discrete``, record types
``location/@StartPos @EndPos @width``  first and last column of the line, from 1, both inclusive
``labl``, ``concept``, ``universe``    texts for people
``catgry/catValu``, ``catgry/labl``    one code and its meaning
``codInstr``                           lines ``999 = NIU``: the codes of a variable that has no ``catgry``
``varFormat/@type``                    ``numeric`` or ``character``
=====================================  ==============================================================================

Several codes of one variable may have the same label, so codes are never told apart by their labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import XMLParser

from dpnb_columnar.errors import ConfigurationError, Fault, shown
from dpnb_columnar.extracts.codebooks.checks import (
    ENCODINGS,
    LONGEST_LABEL,
    MOST_CODES,
    MOST_VARIABLES,
    checked,
    chunks,
    inconsistent,
)
from dpnb_columnar.extracts.codebooks.codebook import Code, Codebook, Form, Measure, Variable

# MERGED FROM dpnb_columnar/extracts/codebooks/ddi.py: One ``var`` element of a DDI codebook: what was heard inside
# it, and the variable it describes.

MEASURES = {"contin": Measure.CONTINUOUS, "discrete": Measure.DISCRETE}

INSTRUCTED_CODE = re.compile(r"-?\d{1,20}(\.\d{1,20})?", re.ASCII)
"""What stands before ``=`` in a line of coding instructions that explains one code, commas left out."""


@dataclass(slots=True)
class Heard:
    """What the elements inside one ``var`` said so far.

    Attributes:
        attributes: Those of ``var``.
        location: Attributes of ``location``.
        character: Whether ``varFormat`` says so.
        texts: Texts of ``labl``, ``concept``, ``universe`` and ``codInstr``.
        codes: Those of ``catgry`` elements that have ended.
        category: ``catValu`` and ``labl`` of the one that is open.
        faults: What is wrong.
    """

    attributes: Mapping[str, str]
    location: Mapping[str, str] = field(default_factory=dict)
    character: bool = False
    texts: dict[str, list[str]] = field(default_factory=dict)
    codes: list[Code] = field(default_factory=list)
    category: dict[str, str] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The variable's name; empty where it has none."""
        return self.attributes.get("name", "")

    def take(self, around: str, element: str, text: str) -> None:
        """Note the text of an element."""
        if around != "catgry":
            self.texts.setdefault(element, []).append(text)
        elif element == "catValu":  # leading blanks may belong to a code of text; trailing ones never do
            self.category.setdefault(element, text.strip("\r\n\t").rstrip())
        else:
            self.category.setdefault(element, _line(text))

    def end_category(self) -> None:
        """The open ``catgry`` ends. One without a code groups others, and is none itself."""
        if "catValu" in self.category:
            self.codes.append(Code(self.category["catValu"], self.category.get("labl", "")))

    def variable(self, hierarchical: bool) -> Variable:
        """The variable described; what is wrong is added to ``faults``.

        Args:
            hierarchical: Whether the extract has record types. IPUMS may name one in a rectangular extract as well.
        """
        start, end, width = (self.number(self.location, key) for key in ("StartPos", "EndPos", "width"))
        if start is not None and end is not None:
            if width is not None and width != end - start + 1:
                self.fault(f"columns {start} to {end} are not its width, {width}")
            width = end - start + 1
        unsaid = Measure.DISCRETE if self.codes else Measure.CONTINUOUS
        return Variable(
            name=self.name,
            form=Form.TEXT if self.character else Form.NUMBER,
            measure=MEASURES.get(self.attributes.get("intrvl", ""), unsaid),
            start=None if start is None else start - 1,
            width=width,
            decimals=0 if self.character else self.number(self.attributes, "dcml") or 0,
            record_types=tuple(self.attributes.get("rectype", "").split()) if hierarchical else (),
            label=_line(self.texts.get("labl", [""])[0]),
            concept=_line("; ".join(self.texts.get("concept", ()))),
            universe=_line(" ".join(self.texts.get("universe", ()))),
            codes=tuple(self.codes or _instructed(self.texts.get("codInstr", ()), width)),
        )

    def number(self, attributes: Mapping[str, str], key: str) -> int | None:
        """An attribute that is a whole number; None where it is absent."""
        text = attributes.get(key)
        if text is None:
            return None
        if re.fullmatch(r"\d{1,9}", text, re.ASCII):
            return int(text)
        self.fault(f"expected a whole number as {key}, found {shown(text)}")
        return None

    def fault(self, problem: str) -> None:
        self.faults.append(Fault(shown(self.name), problem))


def _instructed(instructions: Iterable[str], width: int | None) -> list[Code]:
    """Codes that the coding instructions explain, as far as they fit into the variable's characters."""
    found = []
    for text in instructions:
        for line in text.splitlines():
            left, _, label = line.partition("=")
            value = left.strip().replace(",", "")
            if INSTRUCTED_CODE.fullmatch(value) and (width is None or len(value.replace(".", "")) <= width):
                found.append(Code(value, _line(label)))
    return found


def _line(text: str) -> str:
    """A text for people on one line."""
    return " ".join(text.split())[:LONGEST_LABEL].rstrip()


DEEPEST_NESTING = 64
"""Elements inside one another."""

TEXTS = {
    ("fileTxt", "fileName"),
    ("var", "labl"),
    ("var", "concept"),
    ("var", "universe"),
    ("var", "codInstr"),
    ("catgry", "catValu"),
    ("catgry", "labl"),
}
"""Elements whose text is kept, with the element around them."""


def read_ddi(path: Path) -> Codebook:
    """Read a DDI codebook.

    Args:
        path: The XML file, which may be compressed with gzip.

    Raises:
        MissingInputError: The file cannot be read.
        ConfigurationError: It is no DDI codebook, or what it says fits no extract.
    """
    listener = _Listener(path)
    parser = XMLParser(target=listener, forbid_dtd=True)
    try:
        for chunk in chunks(path):
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
    except (LookupError, ValueError):  # what the parser says to a declared encoding that it does not know
        raise ConfigurationError(
            f"{path}: in a character encoding that XML parsers do not know; save it as UTF-8"
        ) from None
    return checked(listener.codebook())


class _Listener:
    """Hears the elements of one document; keeps no tree."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.elements: list[str] = []
        self.collected: list[str] | None = None
        self.depth_of_text = 0
        self.identifier = self.file_name = self.structure = self.encoding = ""
        self.groups: list[dict[str, str]] = []
        self.heard: Heard | None = None
        self.variables: list[Variable] = []
        self.number_of_codes = 0
        self.faults: list[Fault] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        name = tag.rpartition("}")[2]
        around = self.elements[-1] if self.elements else ""
        self.elements.append(name)
        if len(self.elements) > DEEPEST_NESTING:
            raise self.refusal(f"nests more than {DEEPEST_NESTING} elements")
        if not around and name != "codeBook":
            raise self.refusal(f"begins with {shown(name)}, a DDI codebook with codeBook")
        if self.collected is None and (around, name) in TEXTS:
            self.collected, self.depth_of_text = [], len(self.elements)
        match name:
            case "codeBook":
                self.identifier = attributes.get("ID", "")
            case "fileStrc":
                self.structure = attributes.get("type", "")
            case "recGrp":
                self.groups.append(attributes)
            case "fileType":
                self.encoding = attributes.get("charset", "")
            case "var":
                self.heard = Heard(attributes)
            case "location" if self.heard is not None:
                self.heard.location = attributes
            case "varFormat" if self.heard is not None:
                self.heard.character = attributes.get("type") == "character"
            case "catgry" if self.heard is not None:
                self.heard.category = {}

    def data(self, text: str) -> None:
        """Characters of the element that is open."""
        if self.collected is not None:
            self.collected.append(text)

    def end(self, tag: str) -> None:
        """An element ends."""
        name = self.elements[-1]
        if self.collected is not None and len(self.elements) == self.depth_of_text:
            text, self.collected = "".join(self.collected), None
            if name == "fileName":
                self.file_name = text.strip()
            elif self.heard is not None:
                self.heard.take(self.elements[-2], name, text)
        self.elements.pop()
        if self.heard is not None and name == "catgry":
            self.heard.end_category()
            self.number_of_codes += 1
        elif self.heard is not None and name == "var":
            self.variables.append(self.heard.variable(self.structure == "hierarchical"))
            self.faults += self.heard.faults
            self.heard = None
        if len(self.variables) > MOST_VARIABLES or self.number_of_codes > MOST_CODES:
            raise self.refusal(f"has more than {MOST_VARIABLES} variables or {MOST_CODES} codes")

    def close(self) -> None:
        """The document ends."""

    def codebook(self) -> Codebook:
        """What was heard, when the document has ended."""
        if self.faults:
            raise inconsistent(str(self.path), self.faults)
        hierarchical = self.structure == "hierarchical"
        if hierarchical and not self.groups:
            raise self.refusal("is of a hierarchical extract, but declares no record group (recGrp)")
        outermost_first = sorted(self.groups, key=lambda group: "keyvar" in group)
        told_by = {group.get("recidvar", "") for group in self.groups} - {""}
        if hierarchical and len(told_by) > 1:
            raise self.refusal("tells record types by more than one variable (recidvar)")
        _, hyphen, publisher = self.identifier.rpartition("-")
        encoding = self.encoding.lower() or "utf-8"
        return Codebook(
            source=str(self.path),
            name=self.file_name.removesuffix(".gz").removesuffix(".dat").removesuffix(".csv") or self.path.stem,
            collection=publisher if hyphen and re.fullmatch(r"[a-z]+(\.[a-z]+)+", publisher) else "",
            record_types=tuple(group.get("rectype", "") for group in outermost_first) if hierarchical else (),
            record_type_variable=told_by.pop() if hierarchical and told_by else None,
            variables=tuple(self.variables),
            encoding=ENCODINGS.get(encoding, encoding),
        )

    def refusal(self, problem: str) -> ConfigurationError:
        return ConfigurationError(f"{self.path}: {problem}; give the DDI codebook (.xml) that came with the extract")
