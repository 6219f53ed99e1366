"""The catalogue of data sets: ``datasets.toml`` in the working directory, then the packaged one.

Entries are read, written from a domain, and put into a catalogue that people edit. A catalogue's comments and its other
entries stay, byte for byte.
"""

from __future__ import annotations

import fnmatch
import json
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpnb_columnar.domain.attributes import Numeric
from dpnb_columnar.domain.declaration import document_of, read_declaration
from dpnb_columnar.domain.declared_domain import Declaration, Domain
from dpnb_columnar.domain.documents import parse_toml
from dpnb_columnar.domain.editing import no_label
from dpnb_columnar.domain.names import LONGEST_NAME, did_you_mean, is_printable, named, quoted
from dpnb_columnar.domain.numbers import exact_number
from dpnb_columnar.errors import ConfigurationError, Fault, MissingInputError, OutputError, UsageError, excerpt, option
from dpnb_columnar.runtime.locks import output_lock
from dpnb_columnar.runtime.outputs import CONFIDENTIAL_MODE, atomic_output, check_output
from dpnb_columnar.runtime.paths import exists, is_file
from dpnb_columnar.runtime.resources import resource

if TYPE_CHECKING:
    from tomlkit.items import AbstractTable


CATALOGUE_NAME = "datasets.toml"
ENTRY_KEYS = ("title", "source", "files", "epsilon", "rows", "raw")
"""Keys of an entry beside those of its domain."""

LARGEST_CATALOGUE = 16 * 2**20
"""Bytes."""

LONGEST_LINE = 1000
"""Characters of a title or a source."""


@dataclass(frozen=True)
class Entry:
    """One data set of a catalogue.

    Attributes:
        name: Key of the entry in the catalogue.
        catalogue: File of the catalogue.
        table: The entry as parsed; its fields are read on first use, so that a fault in one entry does not stop the
            use of another.
    """

    name: str
    catalogue: Path
    table: Mapping[str, Any] = field(repr=False)

    def __str__(self) -> str:
        """Name the entry for messages."""
        return f"{self.catalogue.name}, entry {self.name}"

    @property
    def title(self) -> str:
        """Title of the data set, one line.

        Raises:
            ConfigurationError: If the title is not one line of text.
        """
        return self._line("title", self.name)

    @property
    def source(self) -> str:
        """Origin of the data and documentation of its domain, one line.

        Raises:
            ConfigurationError: If the source is not one line of text.
        """
        return self._line("source", "")

    @property
    def files(self) -> tuple[str, ...]:
        """Patterns of file names that belong to the entry.

        Raises:
            ConfigurationError: If there is no list of texts. (A bare text would be a pattern for each letter.)
        """
        patterns = self.table.get("files", [])
        if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
            raise self._fault("files", f'expected a list of patterns such as ["{self.name}*.parquet"]')
        return tuple(patterns)

    @property
    def raw(self) -> Mapping[str, str]:
        """Hexadecimal SHA-256 of each raw file that ``datasets prepare`` reads, by its path below the folder given.

        Raises:
            ConfigurationError: If ``raw`` is not a table.
        """
        raw = self.table.get("raw", {})
        if not isinstance(raw, Mapping):
            raise self._fault("raw", "expected a table of paths and checksums")
        return {str(path): str(checksum) for path, checksum in raw.items()}

    @property
    def epsilon(self) -> Fraction | None:
        """Declared privacy budget, if any.

        Raises:
            ConfigurationError: If it is not a number.
        """
        if "epsilon" not in self.table:
            return None
        try:
            return exact_number(self.table["epsilon"])
        except ValueError as error:
            raise self._fault("epsilon", str(error)) from None

    @property
    def rows(self) -> int | None:
        """Declared number of rows of the whole data set, if any: a published fact, whatever a file of it holds.

        Raises:
            ConfigurationError: If it is not a whole number.
        """
        rows = self.table.get("rows")
        if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int)):
            raise self._fault("rows", f"expected a whole number, found {excerpt(rows)}")
        return rows

    @cached_property
    def declared(self) -> Declaration:
        """The declared domain, with a label or without.

        Raises:
            DomainError: If the declaration has faults.
        """
        return read_declaration(self.name, self.table, str(self.catalogue), other_keys=ENTRY_KEYS)

    @property
    def domain(self) -> Domain:
        """The declared domain, which has a label.

        Raises:
            DomainError: If the declaration has faults.
            ConfigurationError: If the declaration has no label.
        """
        if not isinstance(self.declared, Domain):
            raise no_label(self.declared, str(self))
        return self.declared

    def claims(self, path: Path) -> bool:
        """Return whether a file belongs to the entry by its name."""
        return path.stem == self.name or any(fnmatch.fnmatchcase(path.name, pattern) for pattern in self.files)

    def _line(self, key: str, default: str) -> str:
        text = self.table.get(key, default)
        if not isinstance(text, str) or not is_printable(text) or len(text) > LONGEST_LINE:
            raise self._fault(key, f"expected one line of at most {LONGEST_LINE} characters, found {excerpt(text)}")
        return text

    def _fault(self, key: str, problem: str) -> ConfigurationError:
        return ConfigurationError(f"{self.catalogue}: {Fault(f'{quoted(self.name)}.{key}', problem)}")


def read_catalogue(path: Path) -> tuple[Entry, ...]:
    """Read all entries of one catalogue file.

    Raises:
        MissingInputError: If the file cannot be read.
        ConfigurationError: If the file is not TOML, or an entry is not a table.
    """
    try:
        with path.open("rb") as stream:
            content = stream.read(LARGEST_CATALOGUE + 1)
        if len(content) > LARGEST_CATALOGUE:
            raise ConfigurationError(f"{path}: larger than {LARGEST_CATALOGUE >> 20} MiB; not a catalogue")
        document = parse_toml(content)
    except OSError as error:
        raise MissingInputError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ConfigurationError(f"{path}: not a TOML file: {error}") from None
    for name, table in document.items():
        if not is_printable(name) or len(name) > LONGEST_NAME:
            raise ConfigurationError(
                f"{path}: {excerpt(name)}: an entry's name is printable and no longer than a column's"
            )
        if not isinstance(table, dict):
            raise ConfigurationError(
                f"{path}: {name}: expected a table such as [{quoted(name)}] with label and attributes"
            )
    return tuple(Entry(name, path, table) for name, table in document.items())


def packaged_entries() -> tuple[Entry, ...]:
    """Read the entries of the packaged catalogue, once unless its file changes: that is a tenth of a small training."""
    path = resource(CATALOGUE_NAME)
    status = path.stat()
    return _read_once(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1)
def _read_once(path: Path, _modified: int, _size: int) -> tuple[Entry, ...]:
    return read_catalogue(path)


def catalogues() -> list[Path]:
    """List the catalogue files in search order: the working directory's, the packaged one."""
    local = Path.cwd() / CATALOGUE_NAME
    packaged = resource(CATALOGUE_NAME)
    return [path for path in dict.fromkeys([local, packaged]) if is_file(path)]


def entries(catalogue: Path | None = None) -> list[Entry]:
    """Read every entry of every catalogue; one in the working directory hides a packaged one of the same name.

    Args:
        catalogue: The one file to read instead.

    Raises:
        MissingInputError: If a file cannot be read.
        ConfigurationError: If a file is not TOML, or an entry is not a table.
    """
    if catalogue is not None:
        return list(read_catalogue(catalogue))
    by_name: dict[str, Entry] = {}
    packaged = resource(CATALOGUE_NAME)
    for path in catalogues():
        for entry in packaged_entries() if path == packaged else read_catalogue(path):
            by_name.setdefault(entry.name, entry)
    return list(by_name.values())


def entry_named(name: str, catalogue: Path | None = None) -> Entry:
    """Return the entry of a name, of one catalogue or of any.

    Raises:
        UsageError: If there is none; the message suggests a name, or lists the known ones.
    """
    known = {entry.name: entry for entry in entries(catalogue)}
    if name in known:
        return known[name]
    hint = did_you_mean(name, known, f"known names: {named(known)}" if known else "it has no entry")
    place = "" if catalogue is None else f"{catalogue}: "
    raise UsageError(f"{place}no data set named {excerpt(name)}; {hint}")


def entry_declaring(domain: Declaration, catalogue: Path | None = None) -> Entry | None:
    """Return the entry of a domain's name if it declares this domain, and epsilon or rows beside it; else None.

    By whatever unit and weight rows are counted: the facts beside a domain are of the whole data.
    """
    entry = next((entry for entry in entries(catalogue) if entry.name == domain.name), None)
    if entry is None or (entry.epsilon is None and entry.rows is None):
        return None
    counted = replace(entry.declared, unit=None, weight=None)
    return entry if counted == replace(domain, unit=None, weight=None) else None


def entry_for(paths: Sequence[Path], catalogue: Path | None = None) -> Entry | None:
    """Return the first entry to which all of some files belong by their names, or None."""
    return next((entry for entry in entries(catalogue) if all(entry.claims(path) for path in paths)), None)


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
    check_output(path, overwrite=exists(path))
    if not exists(path):
        return None
    if not path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise OutputError(f"{path}: is read-only; make it writable, or choose another {option('output')}")
    entries = read_catalogue(path)
    if entries and not any(ATTRIBUTES in entry.table for entry in entries):
        raise ConfigurationError(
            f"{path}: is no catalogue: no table of it declares attributes; choose another {option('output')}"
        )
    replaced = next((entry for entry in entries if entry.name == name), None)
    if replaced is not None and not overwrite:
        raise OutputError(
            f"{path}: has an entry {quoted(name)} already; replace that entry with {option('overwrite')}, or choose "
            f"another {option('output')} or {option('name')}"
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
        there = exists(target)
        text = target.read_bytes().decode("utf-8") if there else ""
        private = there and stat.S_IMODE(target.stat().st_mode) == CONFIDENTIAL_MODE
        try:
            merged = with_entry(text, name, entry)
        except ValueError as error:
            raise ConfigurationError(f"{path}: {error}; write the entry to another {option('output')}") from None
        with atomic_output(target, overwrite=there, confidential=private) as partial:
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
    keys |= {
        key: document[key] for key in ("unit", "available_unit", "available_person", "universe") if key in document
    }
    for key in [each for each in ("weight", "available_weight") if each in document]:
        numbers = {name: text for name, text in document[key].items() if name != "column"}
        keys[key] = document[key] | _numbers(numbers, decimals=True)
    if "available_imputed" in document:
        keys["available_imputed"] = document["available_imputed"]
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
    sections += [_section(f"{name}.{key}", document[key]) for key in ("provenance", "titles") if key in document]
    for column, labels in document.get("value_labels", {}).items():
        sections.append(_section(f"{name}.value_labels.{_key(column)}", labels))
    return "\n\n".join(sections) + "\n"


def _section(name: str, body: Mapping[str, Any]) -> str:
    return "\n".join([f"[{name}]", *(f"{_key(key)} = {_value(value)}" for key, value in body.items())])


def _numbers(value: Any, *, decimals: bool = False) -> Any:
    """Convert texts that spell numbers to numbers, in nested values as well; keys of tables stay texts."""
    if isinstance(value, Mapping):
        return {
            key: item if key == "column" else _numbers(item, decimals=decimals and key != "imputed")
            for key, item in value.items()
        }
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
