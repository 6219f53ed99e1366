"""Values that nobody means, as JSON and TOML write them, and as plain text."""

from __future__ import annotations

import json
from random import Random

FORGED = "FORGED line"
"""No line of output may begin with it: a name with a line feed would have written a line of its own."""

TEXTS = (
    *("", " ", "../../x", "/etc/passwd", "a'; DROP TABLE person; --", "\"; ATTACH 'x.db' AS y; --", "$(touch x)"),
    *("\x00", "\x1b[31mred", f"\n{FORGED}", "\u202e", "\u2028", "1/0", "1/3", "1e9999999999", "1" * 3000, "${HOME}"),
    *("{0}", "%s%n", "NaN", "-0", "0x1F", "AGE > 10", "age > 50 OR " * 300, "(" * 5000, "[" * 200, "1-999999999999999"),
    *("predicted", "skipped", "__kept_0", "class", "file:///etc/passwd", "b" * 300, "x" * 100_000, "é" * 3000),
)

NUMBERS = (
    *("0", "-1", "1", "2", "0.5", "-0.0", "1e308", "-1e308", "1e999", "1e-400", "5e-324", "255", "65536"),
    *("2147483648", "9223372036854775807", "9223372036854775808", "18446744073709551616", "9" * 400, "9" * 5000),
    "0.1234567890123456",
)

JSON_ONLY = ("NaN", "Infinity", "-Infinity", "null", '"\\ud800"', '{"a": 1, "a": 2}')
TOML_ONLY = ("nan", "inf", "1979-05-27", "07:32:00", "0xFFFFFFFFFFFFFFFF", "1e99999999999999999999", "'''\n\n'''")

SHAPES = ("true", "false", "[]", "{}", "[[]]", '["a", "a"]', "[1, 2, 3]", "[" + "0, " * 20_000 + "0]")


def hostile_text(random: Random) -> str:
    return "".join(random.choices(TEXTS, k=random.choice((1, 1, 1, 2))))


def hostile_literal(random: Random, toml: bool) -> str:
    kind = random.randrange(4)
    if kind == 0:
        return json.dumps(hostile_text(random))
    if kind == 1:
        return random.choice(NUMBERS)
    if kind == 2:
        return random.choice(TOML_ONLY if toml else JSON_ONLY)
    depth = random.choice((2, 50, 990, 100_000))
    nested = "[" * depth + "]" * depth
    return random.choice((*SHAPES, nested))
