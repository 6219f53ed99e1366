"""The catalogue of data sets: ``datasets.toml`` in the working directory, then the packaged one.

A file's own domain stands in ``NAME.domain.toml`` beside it, a catalogue of one entry. People edit catalogues; no
command changes one.
"""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from dpnb_columnar.domain.attributes import Numeric
from dpnb_columnar.domain.declaration import read_declaration
from dpnb_columnar.domain.declared_domain import Declaration, Domain, document_of
from dpnb_columnar.domain.editing import no_label
from dpnb_columnar.domain.field_reader import parse_toml
from dpnb_columnar.domain.names import (
    LONGEST_NAME,
    did_you_mean,
    entry_and_file,
    exact_number,
    is_printable,
    named,
    quoted,
)
from dpnb_columnar.errors import ConfigurationError, Fault, MissingInputError, UsageError, excerpt, option
from dpnb_columnar.runtime.resources import resource
from dpnb_columnar.runtime.unfinished import exists, is_file

CATALOGUE_NAME = "datasets.toml"
ENTRY_KEYS = ("title", "source", "files", "epsilon", "rows", "raw")  # keys of an entry beside those of its domain
LARGEST_CATALOGUE = 16 * 2**20  # bytes
LONGEST_LINE = 1000  # characters of a title or a source


@dataclass(frozen=True)
class CatalogueEntry:
    """One data set of a catalogue."""

    name: str
    catalogue: Path
    table: Mapping[str, Any] = field(repr=False)  # read on first use: one fault stops no other entry

    def __str__(self) -> str:
        return f"{self.catalogue.name}, entry {self.name}"

    @property
    def title(self) -> str:
        return self._line("title", self.name)

    @property
    def source(self) -> str:
        """Origin of the data and documentation of its domain, one line."""
        return self._line("source", "")

    @property
    def files(self) -> tuple[str, ...]:
        patterns = self.table.get("files", [])
        if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
            raise self._fault("files", f'expected a list of patterns such as ["{self.name}*.parquet"]')
        return tuple(patterns)

    @property
    def raw(self) -> Mapping[str, str]:
        """Hexadecimal SHA-256 of each raw file that ``datasets prepare`` reads, by its path below the folder given."""
        raw = self.table.get("raw", {})
        if not isinstance(raw, Mapping):
            raise self._fault("raw", "expected a table of paths and checksums")
        return {str(path): str(checksum) for path, checksum in raw.items()}

    @property
    def epsilon(self) -> Fraction | None:
        if "epsilon" not in self.table:
            return None
        try:
            return exact_number(self.table["epsilon"])
        except ValueError as error:
            raise self._fault("epsilon", str(error)) from None

    @property
    def rows(self) -> int | None:
        """Declared number of rows of the whole data set, if any: a published fact, whatever a file of it holds."""
        rows = self.table.get("rows")
        if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int)):
            raise self._fault("rows", f"expected a whole number, found {excerpt(rows)}")
        return rows

    @cached_property
    def declared(self) -> Declaration:
        return read_declaration(self.name, self.table, str(self.catalogue), other_keys=ENTRY_KEYS)

    @property
    def domain(self) -> Domain:
        if not isinstance(self.declared, Domain):
            raise no_label(self.declared, str(self))
        return self.declared

    def claims(self, path: Path) -> bool:
        return path.stem == self.name or any(fnmatch.fnmatchcase(path.name, pattern) for pattern in self.files)

    def _line(self, key: str, default: str) -> str:
        text = self.table.get(key, default)
        if not isinstance(text, str) or not is_printable(text) or len(text) > LONGEST_LINE:
            raise self._fault(key, f"expected one line of at most {LONGEST_LINE} characters, found {excerpt(text)}")
        return text

    def _fault(self, key: str, problem: str) -> ConfigurationError:
        return ConfigurationError(f"{self.catalogue}: {Fault(f'{quoted(self.name)}.{key}', problem)}")


def read_catalogue(path: Path) -> tuple[CatalogueEntry, ...]:
    """Read all entries of one catalogue file."""
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
    return tuple(CatalogueEntry(name, path, table) for name, table in document.items())


def packaged_entries() -> tuple[CatalogueEntry, ...]:
    """Read the entries of the packaged catalogue, once unless its file changes: that is a tenth of a small training."""
    path = resource(CATALOGUE_NAME)
    status = path.stat()
    return _read_once(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1)
def _read_once(path: Path, _modified: int, _size: int) -> tuple[CatalogueEntry, ...]:
    return read_catalogue(path)


def catalogues() -> list[Path]:
    """List the catalogue files in search order: the working directory's, the packaged one."""
    local = Path.cwd() / CATALOGUE_NAME
    packaged = resource(CATALOGUE_NAME)
    return [path for path in dict.fromkeys([local, packaged]) if is_file(path)]


def entries(catalogue: Path | None = None) -> list[CatalogueEntry]:
    """Read every entry of every catalogue; one in the working directory hides a packaged one of the same name."""
    if catalogue is not None:
        return list(read_catalogue(catalogue))
    by_name: dict[str, CatalogueEntry] = {}
    packaged = resource(CATALOGUE_NAME)
    for path in catalogues():
        for entry in packaged_entries() if path == packaged else read_catalogue(path):
            by_name.setdefault(entry.name, entry)
    return list(by_name.values())


def entry_named(dataset: str, files: Sequence[Path] = ()) -> CatalogueEntry:
    """Return the entry of ``NAME``, ``FILE.toml:NAME`` or ``FILE.toml``: the one that claims the files, or the only."""
    name, catalogue = entry_and_file(dataset)
    known = {entry.name: entry for entry in entries(catalogue)}
    if name is None:
        chosen = [entry for entry in known.values() if files and all(entry.claims(path) for path in files)]
        if not chosen and len(known) == 1 and (not files or str(catalogue).endswith(DOMAIN_SUFFIX)):
            chosen = [*known.values()]
        if chosen:
            return chosen[0]
        lacks = f"no entry of it claims {named(list(map(str, files)))}" if files else "has not one entry"
        raise ConfigurationError(
            f"{catalogue}: {lacks}; name one with {option('dataset', f'{catalogue}:NAME')} "
            f"(its entries: {named(known) or 'none'})"
        )
    if name in known:
        return known[name]
    hint = did_you_mean(name, known, f"known names: {named(known)}" if known else "it has no entry")
    place = "" if catalogue is None else f"{catalogue}: "
    raise UsageError(f"{place}no data set named {excerpt(name)}; {hint}")


def entry_declaring(domain: Declaration) -> CatalogueEntry | None:
    """Return the entry of a domain's name that declares it, by whatever unit and weight, with epsilon or rows."""
    entry = next((entry for entry in entries() if entry.name == domain.name), None)
    if entry is None or (entry.epsilon is None and entry.rows is None):
        return None
    counted = replace(entry.declared, unit=None, weight=None)
    return entry if counted == replace(domain, unit=None, weight=None) else None


DOMAIN_SUFFIX = ".domain.toml"  # how the name of the file ends that declares the domain of the file beside it


def domain_file(path: Path) -> Path:
    """Return the file that declares the domain of a file beside it: ``NAME.domain.toml`` for ``NAME.parquet``."""
    return path.with_name(f"{path.stem}{DOMAIN_SUFFIX}")


def entry_of_file(path: Path) -> CatalogueEntry | None:
    """Return the one entry of the file that declares the domain of a file beside it; None where there is none."""
    declaring = domain_file(path)
    if not exists(declaring):
        return None
    declared = read_catalogue(declaring)
    if len(declared) != 1:
        raise ConfigurationError(
            f"{declaring}: has {len(declared)} entries, and declares the domain of {path.name} alone; keep one entry, "
            f"and move the others to {CATALOGUE_NAME}"
        )
    return declared[0]


def entry_for(paths: Sequence[Path]) -> CatalogueEntry | None:
    """Return the first entry to which all of some files belong by their names, or None."""
    return next((entry for entry in entries() if all(entry.claims(path) for path in paths)), None)


# The writer of an entry is our own, since people edit it: Python has none, numbers are exact decimals, and a list of
# hundreds of codes fills its lines. Reading what is written gives the same domain, to the last digit.

WIDEST_LINE = 100  # longer lists are broken into lines of about this many characters
WHOLE = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)
DECIMAL = re.compile(r"-?\d{1,18}\.\d{1,18}", re.ASCII)


def entry_toml(
    domain: Declaration, beside: Mapping[str, Any] | None = None, remarks: Mapping[str, Sequence[str]] | None = None
) -> str:
    """Write the entry that declares a domain, with lines of comment above attributes."""
    name, document = _key(domain.name), document_of(domain, defaults=False)
    keys = {key: value for key, value in (beside or {}).items() if not isinstance(value, Mapping)}
    keys |= {
        key: document[key] for key in ("unit", "available_unit", "available_person", "universe") if key in document
    }
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
    sections += [_section(f"{name}.{key}", document[key]) for key in ("provenance", "titles") if key in document]
    for column, labels in document.get("value_labels", {}).items():
        sections.append(_section(f"{name}.value_labels.{_key(column)}", labels))
    return "\n\n".join(sections) + "\n"


def _section(name: str, body: Mapping[str, Any]) -> str:
    return "\n".join([f"[{name}]", *(f"{_key(key)} = {_value(value)}" for key, value in body.items())])


def _numbers(value: Any, *, decimals: bool = False) -> Any:
    """Convert texts that spell numbers to numbers, in nested values as well; keys of tables stay texts."""
    if isinstance(value, Mapping):
        return {key: item if key == "column" else _numbers(item, decimals=decimals) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item, decimals=decimals) for item in value]
    if WHOLE.fullmatch(value):
        return int(value)
    return Decimal(value) if decimals and DECIMAL.fullmatch(value) else value


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return _list([_value(item) for item in value])
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | Decimal) else json.dumps(value, ensure_ascii=False)


def _list(items: Sequence[str]) -> str:
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
