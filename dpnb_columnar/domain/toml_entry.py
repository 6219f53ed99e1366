"""A domain written as an entry of ``datasets.toml``; reading it gives the same domain, to the last digit.

The writer is our own, eighty lines, because people edit the entry: numbers are exact decimals, which tomlkit refuses to
write (it knows floats alone), and a list of hundreds of codes fills its lines, which tomlkit writes on one line of any
length or one value a line. Into a catalogue that is there, ``catalogue_entries`` puts it with tomlkit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from dpnb_columnar.domain.attributes import Numeric
from dpnb_columnar.domain.declaration import Declaration, document_of

WIDEST_LINE = 100
"""Longer lists are broken into lines of about this many characters."""

WHOLE = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)
DECIMAL = re.compile(r"-?\d{1,18}\.\d{1,18}", re.ASCII)


def entry_toml(
    domain: Declaration, beside: Mapping[str, Any] | None = None, remarks: Mapping[str, Sequence[str]] | None = None
) -> str:
    """Write the entry that declares a domain.

    Args:
        domain: The domain, with a label or without.
        beside: Other keys of the entry (``catalogue.ENTRY_KEYS``), such as ``files``.
        remarks: Per attribute, lines of comment to put above it.

    Returns:
        TOML text.
    """
    name, document = _key(domain.name), document_of(domain, defaults=False)
    keys = {key: value for key, value in (beside or {}).items() if not isinstance(value, Mapping)}
    keys |= {key: document[key] for key in ("unit", "available_unit") if key in document}
    if "weight" in document:
        numbers = {key: text for key, text in document["weight"].items() if key != "column"}
        keys["weight"] = document["weight"] | _numbers(numbers, decimals=True)
    sections = [_section(name, keys)]
    sections += [
        _section(f"{name}.{key}", value) for key, value in (beside or {}).items() if isinstance(value, Mapping)
    ]
    if "label" in document:
        texts = ("column", "condition")
        label = {key: value if key in texts else _numbers(value) for key, value in document["label"].items()}
        sections.append(_section(f"{name}.label", label))
    lines = [f"[{name}.attributes]"]
    for attribute in domain.attributes:
        lines += [comment(remark) for remark in (remarks or {}).get(attribute.name, ())]
        body = _numbers(document["attributes"][attribute.name], decimals=isinstance(attribute, Numeric))
        lines.append(f"{_key(attribute.name)} = {_value(body)}")
    sections.append("\n".join(lines))
    for column, labels in document.get("value_labels", {}).items():
        sections.append(_section(f"{name}.value_labels.{_key(column)}", labels))
    return "\n\n".join(sections) + "\n"


def _section(name: str, body: Mapping[str, Any]) -> str:
    return "\n".join([f"[{name}]", *(f"{_key(key)} = {_value(value)}" for key, value in body.items())])


def _numbers(value: Any, *, decimals: bool = False) -> Any:
    """Convert texts that spell numbers to numbers, in nested values as well; keys of tables stay texts."""
    if isinstance(value, Mapping):
        return {key: _numbers(item, decimals=decimals) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item, decimals=decimals) for item in value]
    if WHOLE.fullmatch(value):
        return int(value)
    return Decimal(value) if decimals and DECIMAL.fullmatch(value) else value


def _value(value: Any) -> str:
    """Write a value in TOML."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return _list([_value(item) for item in value])
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | Decimal) else json.dumps(value, ensure_ascii=False)


def _list(items: Sequence[str]) -> str:
    """Write a list on one line, or on several where it is long."""
    if sum(len(item) + 2 for item in items) <= WIDEST_LINE:
        return f"[{', '.join(items)}]"
    lines = [""]
    for item in items:
        if lines[-1] and len(lines[-1]) + len(item) > WIDEST_LINE:
            lines.append("")
        lines[-1] += f"{item}, "
    return "[\n" + "".join(f"    {line.rstrip()}\n" for line in lines) + "]"


def _key(key: str) -> str:
    return key if re.fullmatch(r"[\w-]+", key, re.ASCII) else json.dumps(key, ensure_ascii=False)


def comment(text: str) -> str:
    """Write a comment on one line, whatever the text."""
    return "# " + "".join(letter if letter.isprintable() else "?" for letter in text)
