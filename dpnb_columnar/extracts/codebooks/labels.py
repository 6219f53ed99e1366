"""What the label of a code says about the person: a value, that the question was not asked, or that nobody knows."""

from __future__ import annotations

import re
from enum import StrEnum

from dpnb_columnar.extracts.codebooks.codebook import Code


class Meaning(StrEnum):
    """What a code stands for."""

    VALUE = "value"
    NOT_IN_UNIVERSE = "not in universe"
    UNKNOWN = "unknown"


NOT_ASKED = re.compile(
    r"(niu|n\.i\.u|not in universe|n/a|n\.a|na|not applicable|inapplicable|not eligible)(?![a-z0-9])", re.IGNORECASE
)
"""How labels of questions not asked begin."""

OR_NONE = re.compile(r"\bor no(ne)?\b", re.IGNORECASE)
"""``N/A or none`` counts those who were asked as well, so it is a value."""

UNKNOWN = re.compile(
    r"""(?:[\w']+\s){0,3}(?:unknown|missing|illegible|blank)(?:\s(?:data|value|equivalent))?
       |(?:[\w']+\s){0,4}not\s(?:reported|identified|identifiable|ascertained|stated|known|recorded|available)
       |(?:[\w']+\s){0,4}could\snot\sbe\sdetermined
       |refus(?:ed|al)|no\sresponse|non-?response|don'?t\sknow|do\snot\sknow
       |uncodable|undetermined|(?:un|non)classifiable|invalid|suppressed\b.*""",
    re.IGNORECASE | re.VERBOSE,
)
"""One part of a label that says that nobody knows."""

PARENTHESIS = re.compile(r"\([^()]*\)")
SEPARATOR = re.compile(r"[/,;]|\bor\b|\band\b", re.IGNORECASE)


def meaning_of(code: Code) -> Meaning:
    """What a code stands for, by its label.

    A label means "unknown" only if all its parts do: ``Missing/unknown`` and ``Industry not reported`` do, while
    ``Foreign born, citizenship status not reported`` tells something.
    """
    label = PARENTHESIS.sub(" ", code.label.replace("’", "'"))
    if NOT_ASKED.match(code.label.strip()):
        return Meaning.VALUE if OR_NONE.search(label) else Meaning.NOT_IN_UNIVERSE
    parts = [" ".join(part.split()).rstrip(".") for part in SEPARATOR.split(label)]
    said = [part for part in parts if part]
    if said and all(UNKNOWN.fullmatch(part) for part in said):
        return Meaning.UNKNOWN
    return Meaning.VALUE
