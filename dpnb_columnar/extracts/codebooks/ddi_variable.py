"""One variable of a DDI codebook: its ``var`` element, put together as the document is read (``ddi``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dpnb_columnar.errors import Fault, excerpt
from dpnb_columnar.extracts.codebooks.checks import LONGEST_LABEL
from dpnb_columnar.extracts.codebooks.codebook import Code, Form, Measure, Variable

MEASURES = {"contin": Measure.CONTINUOUS, "discrete": Measure.DISCRETE}

INSTRUCTED_CODE = re.compile(r"-?\d{1,20}(\.\d{1,20})?", re.ASCII)
"""A code, commas left out, before ``=`` in a line of coding instructions that explains it."""


@dataclass(slots=True)
class VariableElement:
    """One ``var`` element, as far as it has been read.

    Attributes:
        attributes: Attributes of ``var``.
        location: Attributes of ``location``.
        character: Whether the type of ``varFormat`` is ``character``.
        texts: Texts of ``labl``, ``concept``, ``universe`` and ``codInstr``.
        codes: Codes of the ``catgry`` elements that have ended.
        category: ``catValu`` and ``labl`` of the ``catgry`` that is open.
        faults: What is wrong with the variable.
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
        """Name of the variable; empty where it has none."""
        return self.attributes.get("name", "")

    def add_text(self, parent: str, element: str, text: str) -> None:
        """Keep the text of an element."""
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
        """Build the variable; what is wrong with it is added to ``faults``.

        Args:
            hierarchical: Whether the extract has record types. IPUMS may name one in a rectangular extract as well.
        """
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
        """Note what is wrong with the variable."""
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
    """Put a text for people on one line."""
    return " ".join(text.split())[:LONGEST_LABEL].rstrip()
