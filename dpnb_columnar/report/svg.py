"""Drawings embedded in a page: matplotlib's SVG with the page's fonts and its colours for light and dark."""

from __future__ import annotations

from xml.etree.ElementTree import Element, tostring

from defusedxml.ElementTree import fromstring

from dpnb_columnar.report.styles import COLOURS

SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"

VARIABLES = {light: f"var(--{name})" for name, (light, _) in COLOURS.items()}
"""CSS variables of the page by the light colour that a drawing holds in their place."""


def embedded(svg: str, description: str) -> str:
    """Make an element of a page from a drawing.

    Args:
        svg: Matplotlib's output. Its references are unique within a page if ``svg.hashsalt`` was.
        description: Read aloud in place of the drawing.
    """
    drawing = _themed(svg)
    return _markup("svg", drawing, viewBox=drawing.get("viewBox", ""), role="img", **{"aria-label": description})


def symbol(svg: str, name: str) -> str:
    """Make a symbol of a page from a drawing, to be shown by ``<use>`` and its name."""
    drawing = _themed(svg)
    return _markup("symbol", drawing, id=name, viewBox=drawing.get("viewBox", ""))


def _markup(tag: str, drawing: Element, **attributes: str) -> str:
    outer = Element(tag, attributes)
    outer.extend(drawing)
    return tostring(outer, encoding="unicode")


def _themed(svg: str) -> Element:
    """Parse a drawing, and leave out what only a file needs: style sheet, groups' names, fonts and white space."""
    drawing: Element = fromstring(svg)
    for element in [*drawing.iter()]:
        element.tag = element.tag.removeprefix(SVG)
        for child in element.findall(f"{SVG}style"):  # would apply to the whole page
            element.remove(child)
        if element.tag == "g":
            element.attrib.pop("id", None)  # counted from 1 in every drawing, and nothing refers to it
        if LINK in element.attrib:
            element.set("href", element.attrib.pop(LINK))
        if "d" in element.attrib:
            element.set("d", " ".join(element.attrib["d"].split()))
        if "style" in element.attrib:
            element.set("style", _themed_style(element.attrib["style"]))
        if element.tag != "text" and (element.text or "").isspace():
            element.text = None
        element.tail = None
    return drawing


def _themed_style(style: str) -> str:
    """Replace colours by the page's variables; the font family is the page's."""
    declarations = (part.partition(":") for part in style.split(";") if part.strip())
    values = {name.strip(): value.strip() for name, _, value in declarations}
    values.pop("font-family", None)
    return "; ".join(f"{name}: {VARIABLES.get(value, value)}" for name, value in values.items())
