"""Entries of ``datasets.toml``: written from a domain, and put into a catalogue that people edit.

A catalogue's comments and its other entries stay, byte for byte.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpnb_columnar.domain.attributes import Numeric
from dpnb_columnar.domain.catalogue import Entry, read_catalogue
from dpnb_columnar.domain.declaration import Declaration, document_of
from dpnb_columnar.domain.documents import parse_toml
from dpnb_columnar.domain.names import quoted
from dpnb_columnar.errors import ConfigurationError, OutputError
from dpnb_columnar.runtime.locks import output_lock
from dpnb_columnar.runtime.outputs import CONFIDENTIAL_MODE, atomic_output, check_output

if TYPE_CHECKING:
    from tomlkit.items import AbstractTable

ATTRIBUTES = "attributes"
"""Key of the table whose order counts: it is that of the attributes in a model."""


def check_entry_output(path: Path, name: str, *, overwrite: bool) -> Entry | None:
    """Refuse a catalogue into which an entry cannot be put.

    Args:
        path: The catalogue; it need not exist.
        name: Name of the entry.
        overwrite: Whether an entry of this name may be replaced.

    Returns:
        The entry that will be replaced, if any.

    Raises:
        OutputError: if the file cannot be written, or has an entry of this name that may not be replaced.
        ConfigurationError: if there is a file, and it is no catalogue.
    """
    check_output(path, overwrite=path.exists())
    if not path.exists():
        return None
    if not path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise OutputError(f"{path}: is read-only; make it writable, or choose another --output")
    entries = read_catalogue(path)
    if entries and not any(ATTRIBUTES in entry.table for entry in entries):
        raise ConfigurationError(
            f"{path}: is no catalogue: no table of it declares attributes; choose another --output"
        )
    replaced = next((entry for entry in entries if entry.name == name), None)
    if replaced is not None and not overwrite:
        raise OutputError(
            f"{path}: has an entry {quoted(name)} already; replace that entry with --overwrite, or choose another "
            "--output or --name"
        )
    return replaced


def put_entry(path: Path, name: str, entry: str, *, overwrite: bool = False) -> None:
    """Write an entry into a catalogue, which is made if it is not there; through a link, into the file it leads to.

    Args:
        path: The catalogue.
        name: Name of the entry.
        entry: The entry in TOML, as ``entry_toml`` writes it.
        overwrite: Whether to replace an entry of this name.

    Raises:
        OutputError: if the file cannot be written, or has an entry of this name that may not be replaced.
        ConfigurationError: if there is a file, and it is no catalogue.
        BusyError: if another run writes to the catalogue.
    """
    check_entry_output(path, name, overwrite=overwrite)
    target = path.resolve()
    with output_lock(target):
        check_entry_output(path, name, overwrite=overwrite)
        exists = target.exists()
        text = target.read_bytes().decode("utf-8") if exists else ""
        private = exists and stat.S_IMODE(target.stat().st_mode) == CONFIDENTIAL_MODE
        try:
            merged = with_entry(text, name, entry)
        except ValueError as error:
            raise ConfigurationError(f"{path}: {error}; write the entry to another --output") from None
        with atomic_output(target, overwrite=exists, confidential=private) as partial:
            partial.write_bytes(merged.encode("utf-8"))


def with_entry(text: str, name: str, entry: str) -> str:
    """Return the text of a catalogue with an entry added, or put in the place of the one of its name.

    Of an entry that is replaced, the comments stay, and so do the lines of keys whose values are the same.

    Raises:
        ValueError: if the entry in the text cannot be replaced without touching others.
    """
    before, new = parse_toml(text), parse_toml(entry)
    newline = "\r\n" if "\r\n" in text else "\n"
    entry = entry.replace("\n", newline)
    lines = text if not text or text.endswith("\n") else text + newline
    if name in before:
        merged = _with_replaced(lines, name, entry)
    else:
        merged = lines + (newline if lines.strip() else "") + entry
    after = parse_toml(merged)
    others = [{key: value for key, value in each.items() if key != name} for each in (before, after)]
    orders = [list(each[name].get(ATTRIBUTES, ())) for each in (new, after)]
    # The text of a mapping tells order and types, too. Of a replaced entry only the order of attributes means anything.
    if after != {**before, **new} or repr(others[0]) != repr(others[1]) or orders[0] != orders[1]:
        raise ValueError(f"the tables of {quoted(name)} stand apart, or among those of other entries")
    return merged


def _with_replaced(text: str, name: str, entry: str) -> str:
    """Replace an entry; the result is still to be compared with what it should declare."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError
    from tomlkit.items import Table

    try:
        document, new = tomlkit.parse(text), tomlkit.parse(entry)[name]
        old = document[name]
        if not isinstance(old, Table) or not isinstance(new, Table) or document.as_string() != text:
            raise ValueError(f"{quoted(name)} is not written as one table [{quoted(name)}] with tables below it")
        body = _body(old)
        following: list[Any] = []
        while body and body[-1][0] is None:  # comments and blank lines before the next entry
            following.insert(0, body.pop())
        _replace(old, new, parse_toml(text)[name], parse_toml(entry)[name], [*old])
        _body(old).extend(following)
        return document.as_string()
    except (TOMLKitError, RecursionError) as error:
        raise ValueError(f"{quoted(name)} cannot be replaced there: {error!s:.200}") from None


def _body(table: AbstractTable) -> list[Any]:
    """Return the body of the table that ends last: the table's own, or that of the last table below it."""
    from tomlkit.items import Table

    body: list[Any] = table.value.body
    return _body(body[-1][1]) if body and isinstance(body[-1][1], Table) else body


def _replace(
    old: AbstractTable,
    new: AbstractTable,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    order: Sequence[str],
) -> None:
    """Give a table of a document the keys of another; comments stay before the keys they stood before.

    Args:
        old: The table to change.
        new: The table with the keys to set.
        before: The values of the old table, exact: tomlkit knows floats alone.
        after: The values of the new table.
        order: Keys in the order wanted; others of the new table follow.
    """
    from tomlkit.items import Table

    leading: list[Any] = []
    places: dict[str, tuple[list[Any], Any, Any]] = {}
    for key, item in old.value.body:
        if key is None:
            leading.append((key, item))
        elif key.key in places:
            places[key.key][0].extend(leading)
            leading = []
        else:
            places[key.key] = leading, key, item
            leading = []
    body: list[Any] = []
    items = {key.key: (key, item) for key, item in new.value.body if key is not None}
    names = dict.fromkeys([*(name for name in order if name in items), *items])
    for name in sorted(names, key=lambda name: isinstance(items[name][1], Table)):  # no key goes below a table
        key, item = items[name]
        comments, kept_key, kept = places.pop(key.key, ([], None, None))
        body += comments
        if isinstance(kept, Table) and isinstance(item, Table) and not kept_key.is_dotted():
            _replace(kept, item, before[key.key], after[key.key], () if key.key == ATTRIBUTES else [*kept])
            body.append((kept_key, kept))
        elif kept is not None and repr(before[key.key]) == repr(after[key.key]):
            body.append((kept_key, kept))
        else:
            if kept is not None and not isinstance(item, Table):
                item.trivia.comment_ws, item.trivia.comment = kept.trivia.comment_ws, kept.trivia.comment
            body.append((key, item))
    old.value.body[:] = [*body, *(line for comments, _, _ in places.values() for line in comments), *leading]


# The writer of an entry is our own, since people edit it: numbers are exact decimals, which tomlkit refuses to write
# (it knows floats alone), and a list of hundreds of codes fills its lines, which tomlkit writes on one line of any
# length or one value a line. Reading what is written gives the same domain, to the last digit.

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
    for key in [each for each in ("weight", "available_weight") if each in document]:
        numbers = {name: text for name, text in document[key].items() if name != "column"}
        keys[key] = document[key] | _numbers(numbers, decimals=True)
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
