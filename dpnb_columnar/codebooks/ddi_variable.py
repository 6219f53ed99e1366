"""One ``var`` element of a DDI codebook: what was heard inside it, and the variable it describes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dpnb_columnar.codebooks.codebook import Code, Form, Measure, Variable
from dpnb_columnar.codebooks.consistency import LONGEST_LABEL
from dpnb_columnar.errors import Fault, shown

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
