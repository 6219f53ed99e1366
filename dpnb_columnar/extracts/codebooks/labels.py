"""The meaning of a code by its label: a value, a question that was not asked, or an answer that nobody knows."""

from __future__ import annotations

import re
from enum import StrEnum

from dpnb_columnar.extracts.codebooks.codebook import Code


class Meaning(StrEnum):
    """Meaning of a code."""

    VALUE = "value"
    NOT_IN_UNIVERSE = "not in universe"
    UNKNOWN = "unknown"


NOT_ASKED = re.compile(
    r"(niu|n\.i\.u|not in universe|n/a|n\.a|na|not applicable|inapplicable|not eligible)(?![a-z0-9])", re.IGNORECASE
)
"""The beginning of the labels of questions not asked."""

OR_NONE = re.compile(r"\bor no(ne)?\b", re.IGNORECASE)
"""``N/A or none`` covers people who were asked as well, so it is a value."""

UNKNOWN = re.compile(
    r"""(?:[\w']+\s){0,3}(?:unknown|missing|illegible|blank)(?:\s(?:data|value|equivalent))?
       |(?:[\w']+\s){0,4}not\s(?:reported|identified|identifiable|ascertained|stated|known|recorded|available)
       |(?:[\w']+\s){0,4}could\snot\sbe\sdetermined
       |refus(?:ed|al)|no\sresponse|non-?response|don'?t\sknow|do\snot\sknow
       |uncodable|undetermined|(?:un|non)classifiable|invalid|suppressed\b.*""",
    re.IGNORECASE | re.VERBOSE,
)
"""A part of a label that says that nobody knows."""

PARENTHESIS = re.compile(r"\([^()]*\)")
SEPARATOR = re.compile(r"[/,;]|\bor\b|\band\b", re.IGNORECASE)


def meaning_of(code: Code) -> Meaning:
    """Classify a code by its label.

    A label means "unknown" only if all its parts do: ``Missing/unknown`` and ``Industry not reported`` do, while
    ``Foreign born, citizenship status not reported`` is a value.
    """
    label = PARENTHESIS.sub(" ", code.label.replace("’", "'"))
    if NOT_ASKED.match(code.label.strip()):
        return Meaning.VALUE if OR_NONE.search(label) else Meaning.NOT_IN_UNIVERSE
    parts = [" ".join(part.split()).rstrip(".") for part in SEPARATOR.split(label)]
    words = [part for part in parts if part]
    if words and all(UNKNOWN.fullmatch(part) for part in words):
        return Meaning.UNKNOWN
    return Meaning.VALUE
