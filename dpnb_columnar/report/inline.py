"""SVG files made fit to stand inside a page: its fonts, its colours for light and dark, no name used twice."""

from __future__ import annotations

import re

from dpnb_columnar.report.html import Html, escaped
from dpnb_columnar.report.styles import COLOURS


def inlined(svg: str, prefix: str, description: str) -> Html:
    """The drawing as an element of a page.

    Args:
        svg: What matplotlib wrote.
        prefix: Put before every name inside; one of its own per drawing.
        description: Read aloud in place of the drawing.
    """
    view, body = _parts(svg, prefix)
    return Html(f'<svg viewBox="{view}" role="img" aria-label="{escaped(description)}">{body}</svg>')


def symbol(svg: str, name: str) -> Html:
    """The drawing as a symbol, to be shown by its name."""
    view, body = _parts(svg, f"{name}-")
    return Html(f'<symbol id="{name}" viewBox="{view}">{body}</symbol>')


def _parts(svg: str, prefix: str) -> tuple[str, str]:
    """View box and elements of a drawing."""
    _, _, rest = svg.partition("<svg ")
    head, _, inside = rest.partition(">")
    return _attribute(head, "viewBox"), _plain(inside.rpartition("</svg>")[0], prefix)


def _attribute(head: str, name: str) -> str:
    found = re.search(rf'{name}="([^"]*)"', head)
    return found[1] if found else ""


def _plain(body: str, prefix: str) -> str:
    """The drawing's elements without what only a file needs."""
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", body, flags=re.DOTALL)
    body = body.replace("xlink:href=", "href=")
    used = {*re.findall(r'href="#([^"]+)"', body), *re.findall(r"url\(#([^)]+)\)", body)}
    body = re.sub(r' id="([^"]+)"', lambda found: f' id="{prefix}{found[1]}"' if found[1] in used else "", body)
    body = re.sub(r'href="#', f'href="#{prefix}', body)
    body = re.sub(r"url\(#", f"url(#{prefix}", body)
    for name, (light, _) in COLOURS.items():
        body = body.replace(light, f"var(--{name})")
    body = re.sub(r'font: (?:(bold|\d00) )?([\d.]+)px [^;"]*', _font, body)  # before matplotlib 3.11
    body = re.sub(r'font-family: [^;"]*;? ?', "", body)
    return re.sub(r">\s+<", "><", body).strip()


def _font(found: re.Match[str]) -> str:
    """Size and weight only: the family is the page's."""
    weight = f"font-weight: {found[1]}; " if found[1] else ""
    return f"{weight}font-size: {found[2]}px"
