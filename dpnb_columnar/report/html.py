"""Elements of a page: well-formed as XML too, and every text escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

VOID = frozenset({"meta", "br", "hr", "img"})
"""Elements without an end tag."""

NOT_ALLOWED = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no document may hold."""


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def escaped(text: str) -> str:
    """A text as content or attribute."""
    return html.escape(NOT_ALLOWED.sub("\ufffd", text))


def element(tag: str, *children: str, **attributes: str | None) -> Html:
    """An element; texts among its children are escaped.

    Args:
        tag: Its name.
        children: Texts and markup.
        attributes: By name; an underscore at the end is left out, others become hyphens. None leaves one out.
    """
    opened = f"<{tag}{_attributes(attributes)}"
    if tag in VOID:
        return Html(f"{opened} />")
    return Html(f"{opened}>{joined(*children)}</{tag}>")


def joined(*children: str) -> Html:
    """Texts and markup one after the other."""
    return Html("".join(child if isinstance(child, Html) else escaped(child) for child in children))


def _attributes(values: Mapping[str, str | None]) -> str:
    return "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escaped(value)}"'
        for name, value in values.items()
        if value is not None
    )
