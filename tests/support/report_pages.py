"""A written report, read back: its elements, its tables and its files."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from xml.etree.ElementTree import Element

AWKWARD = '<b>&"'
"""A name that is markup."""

EPSILONS = (0.01, 0.1, 1.0)


@dataclass(frozen=True)
class Page:
    path: Path
    root: Element
    written: tuple[Path, ...]

    @property
    def text(self) -> str:
        return " ".join("".join(self.root.itertext()).split())

    def section(self, anchor: str) -> Element | None:
        return next((part for part in self.root.iter() if part.get("id") == anchor), None)

    def sections(self) -> list[str]:
        return [part.attrib["id"] for part in self.root.iter("section")]

    def figures(self) -> list[str]:
        return [part.attrib["id"] for part in self.root.iter("figure")]

    def tables(self, figure: str) -> dict[str, dict[tuple[str, str], str]]:
        """Tables of a figure by the title above; each by (row, column)."""
        found = self.section(figure)
        details = found.find("details")
        titles = [text_of(part) for part in details.iter("h4")]
        return dict(zip(titles, map(cells, details.iter("table")), strict=True))


def cells(table: Element) -> dict[tuple[str, str], str]:
    header, *rows = ([text_of(cell) for cell in row] for row in table.iter("tr"))
    return {(row[0], name): cell for row in rows for name, cell in zip(header[1:], row[1:], strict=True)}


def text_of(part: Element) -> str:
    """The text of an element, its line breaks as spaces."""
    words = []
    for each in part.iter():
        words += [each.text or ""] + ([] if each is part else [each.tail or ""])
        if each.tag == "br":
            words.insert(-1, " ")
    return " ".join("".join(words).split())


def read(path: Path, written: Sequence[Path] = ()) -> Page:
    return Page(path, ElementTree.fromstring(path.read_text(encoding="utf-8")), tuple(written))


def check_structure(root: Element) -> None:
    """Assert what readers aloud of a page need: headings in order, tables and drawings that say what they are."""
    headings = [int(part.tag[1]) for part in root.iter() if re.fullmatch(r"h\d", part.tag)]
    assert headings[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))
    for table in root.iter("table"):
        assert table.find("caption") is not None
        assert all("scope" in cell.attrib for cell in table.iter("th"))
    for drawing in root.iter("svg"):
        assert "aria-hidden" in drawing.attrib or drawing.attrib["aria-label"]
