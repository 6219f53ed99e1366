"""Delimited and fixed-width text with fields and lines changed."""

from __future__ import annotations

from random import Random

from hostile_values import NUMBERS, hostile_text


def mutated_lines(random: Random, content: bytes) -> bytes:
    """The text with one to three of its fields or lines changed."""
    lines = content.split(b"\n")
    for _ in range(random.choice((1, 1, 2, 3))):
        place = random.randrange(len(lines))
        kind = random.randrange(6)
        if kind < 3:
            lines[place] = _field_changed(random, lines[place])
        elif kind == 3:
            lines.insert(random.randrange(len(lines) + 1), lines[place])
        elif kind == 4 and len(lines) > 1:
            del lines[place]
        else:
            lines[place] += random.choice(
                (b"\r", b"\x00", b" " * 5000, b'"', b",,", "ü".encode("latin-1"), b"\xef\xbb\xbf")
            )
    return b"\n".join(lines)


def _field_changed(random: Random, line: bytes) -> bytes:
    fields = line.split(b",")
    place = random.randrange(len(fields))
    new = random.choice((hostile_text(random), random.choice(NUMBERS))).encode("utf-8", "surrogatepass")
    if len(fields) == 1 and line:  # fixed width: the line keeps its length
        start = random.randrange(len(line))
        return (line[:start] + new[:8] + line[start + 8 :])[: len(line)]
    fields[place] = new
    return b",".join(fields)
