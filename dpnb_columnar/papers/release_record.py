"""The record of a release, ``release.toml``: what its curator states beside what the model holds. Public.

It says what for, where, whose rows, who sees what, why, and who approves. The release sheet, the entry of a registry
and the model card print it as it is written. Nothing is taken from elsewhere: what it leaves open is listed as not
stated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declared_domain import Provenance
from dpnb_columnar.domain.domain_text import whose_rows
from dpnb_columnar.domain.field_reader import LONGEST_VALUE, FieldReader, first_faults, parse_toml
from dpnb_columnar.errors import ConfigurationError, MissingInputError, excerpt, faults_text

LARGEST_RECORD = 2**20
"""Bytes."""

MOST_ENTRIES = 100
"""Curators, approvals or authors of one record."""

DATES = {"date": "date", "published": "published on"}
"""Keys that are dates, with the words that pages have for them."""

TEXTS = {
    "title": "title",
    "author": "author",
    "contact": "contact",
    "purpose": "purpose",
    "out_of_scope": "not meant for",
    "rows": "what the rows are",
    "region": "region",
    "period": "period",
    "source": "source",
    "citation": "citation",
    "actors": "who sees what, and who is trusted",
    "preparation": "how rows and settings were prepared",
    "justification": "why it was chosen so",
    "further_releases": "further releases",
    "holdout": "how scored rows were held out",
    "output_check": "output check",
    "limitations": "known limitations",
}
"""Keys that are texts, with the words that pages have for them."""

CHOICES = {
    "sector": "sector",
    "releases": "one release, or many",
    "new_rows": "whether new rows come in",
}
"""Keys that are one of a few words, with the words that pages have for them."""

LISTS = {
    "curators": "curators",
    "approvals": "approvals",
    "record_authors": "authors of the record",
}
"""Keys that are lists, with the words that pages have for them."""

WORDS: Mapping[str, str] = {**TEXTS, **DATES, **CHOICES, **LISTS}


class Sector(StrEnum):
    """The sector that a release is about, as the registry names it."""

    TECHNOLOGY = "Technology"
    HEALTHCARE = "Healthcare"
    EDUCATION = "Education"
    GOVERNMENT = "Government"
    ENERGY = "Energy"
    FINANCE = "Finance"


class Releases(StrEnum):
    """How often the product is published, as the registry names it."""

    ONE = "One release"
    MANY = "Many releases"


class RowsOverTime(StrEnum):
    """Whether new rows come in over time, as the registry names it."""

    STATIC = "Static"
    DYNAMIC = "Dynamic"


class CuratorKind(StrEnum):
    """What kind of body publishes a release, as the registry names it."""

    GOVERNMENT = "Government"
    INDUSTRY = "Industry"
    NONPROFIT = "Nonprofit"


@dataclass(frozen=True, slots=True)
class Curator:
    """A body that publishes the release.

    Attributes:
        name: Its name.
        kind: What kind of body it is; None where that is not stated.
    """

    name: str
    kind: CuratorKind | None = None


@dataclass(frozen=True, slots=True)
class Approval:
    """Somebody who approves the release.

    Attributes:
        role: As what, such as "Disclosure officer".
        name: Their name; empty for a line to fill in.
        date: When they did, as year-month-day; empty for a line to fill in.
    """

    role: str
    name: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseRecord:
    """What a curator states of a release. Public.

    Attributes:
        texts: What is stated under the keys of ``TEXTS``, ``DATES`` and ``CHOICES``; dates as year-month-day.
        curators: Who publishes it.
        approvals: Who approves it.
        record_authors: Who wrote the record.
        source: File of the record, for errors; empty where nothing is stated.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    curators: tuple[Curator, ...] = ()
    approvals: tuple[Approval, ...] = ()
    record_authors: tuple[str, ...] = ()
    source: str = field(default="", compare=False)

    def stated(self, *keys: str) -> list[tuple[str, str]]:
        """List what is stated under some keys of ``texts``, each below its words."""
        return [(WORDS[key], self.texts[key]) for key in keys if key in self.texts]

    def beside(self, domain: Domain) -> ReleaseRecord:
        """Return what is stated here and, where this is silent, what a domain holds of whose rows these are."""
        known = dict(whose_rows(domain))
        provenance = domain.provenance or Provenance()
        held = {
            "rows": known.get("persons", ""),
            "region": provenance.place,
            "period": provenance.period,
            "source": known.get("source", ""),
            "citation": provenance.citation,
        }
        return replace(self, texts={key: text for key, text in held.items() if text} | dict(self.texts))

    @property
    def not_stated(self) -> list[str]:
        """The keys that are left open."""
        known = [*self.texts, *(key for key in LISTS if getattr(self, key))]
        return [key for key in WORDS if key not in known]


def read_record(path: Path) -> ReleaseRecord:
    """Read the record of a release."""
    try:
        with path.open("rb") as stream:
            content = stream.read(LARGEST_RECORD + 1)
    except OSError as error:
        raise MissingInputError(f"{path}: cannot be read: {error.strerror or 'no such file'}") from None
    if len(content) > LARGEST_RECORD:
        raise ConfigurationError(f"{path}: larger than {LARGEST_RECORD >> 10} KiB; not the record of a release")
    try:
        document = parse_toml(content)
    except ValueError as error:
        raise ConfigurationError(f"{path}: not a TOML file: {error}") from None
    return record_of(document, str(path))


def record_of(document: Mapping[str, Any], source: str) -> ReleaseRecord:
    """Read the record that a document states."""
    reader = _RecordReader()
    record = reader.record(document)
    if reader.faults:
        raise ConfigurationError(faults_text(source, "the record of the release", first_faults(reader.faults)))
    return replace(record, source=source)


Kind = TypeVar("Kind", bound=StrEnum)


class _RecordReader(FieldReader):
    """Reader of a record; faults are noted at their key."""

    def record(self, document: Mapping[str, Any]) -> ReleaseRecord:
        self.table(document, "release", [*WORDS])
        texts = {key: text for key in TEXTS if (text := self._text(document, key, "release"))}
        dates = {key: text for key in DATES if (text := self._date(document, key, "release"))}
        kinds = {"sector": Sector, "releases": Releases, "new_rows": RowsOverTime}
        choices = {
            key: member.value
            for key, kind in kinds.items()
            if (member := self._member(document, key, kind, "release")) is not None
        }
        curators = (
            Curator(self._needed(entry, "name", place), self._member(entry, "kind", CuratorKind, place))
            for place, entry in self._entries(document, "curators", ("name", "kind"))
        )
        approvals = (
            Approval(
                self._needed(entry, "role", place), self._text(entry, "name", place), self._date(entry, "date", place)
            )
            for place, entry in self._entries(document, "approvals", ("role", "name", "date"))
        )
        authors = document.get("record_authors", [])
        return ReleaseRecord(
            texts | dates | choices,
            tuple(curators),
            tuple(approvals),
            self.texts(authors, "release.record_authors", 'a list of names such as ["A. Author"]', most=MOST_ENTRIES),
        )

    def _text(self, table: Mapping[str, Any], key: str, place: str) -> str:
        """Read a text, which may have several lines; empty where there is none."""
        text = table.get(key)
        if text is None:
            return ""
        if not isinstance(text, str) or not text.strip():
            self.fault(f"{place}.{key}", f"expected a text, found {excerpt(text)}; leave the key out to leave it open")
            return ""
        if len(text) > LONGEST_VALUE:
            self.fault(f"{place}.{key}", f"a text of {len(text)} characters; at most {LONGEST_VALUE} are accepted")
            return ""
        for line in text.split("\n"):
            self.check_printable(line.removesuffix("\r"), f"{place}.{key}")
        return text.replace("\r\n", "\n").strip()

    def _needed(self, table: Mapping[str, Any], key: str, place: str) -> str:
        """Read a text that must be there."""
        if key not in table:
            self.fault(f"{place}.{key}", "missing")
        return self._text(table, key, place)

    def _date(self, table: Mapping[str, Any], key: str, place: str) -> str:
        """Read a date, as TOML writes one or as text; empty where there is none."""
        day = table.get(key)
        if day is None:
            return ""
        if isinstance(day, date) and not isinstance(day, datetime):
            return day.isoformat()
        try:
            if isinstance(day, str) and len(day) == len("2026-11-24"):
                return date.fromisoformat(day).isoformat()
        except ValueError:
            pass
        self.fault(f"{place}.{key}", f"expected a date such as 2026-11-24, found {excerpt(day)}")
        return ""

    def _member(self, table: Mapping[str, Any], key: str, kind: type[Kind], place: str) -> Kind | None:
        """Read a member of an enumeration; None where there is none."""
        return self.choice(table, key, kind, next(iter(kind)), place) if key in table else None

    def _entries(
        self, document: Mapping[str, Any], key: str, keys: Sequence[str]
    ) -> list[tuple[str, Mapping[str, Any]]]:
        """Read a list of tables, each with its place."""
        entries = document.get(key, [])
        if not isinstance(entries, list) or len(entries) > MOST_ENTRIES:
            self.fault(f"release.{key}", f"expected at most {MOST_ENTRIES} tables under [[{key}]]")
            return []
        read = []
        for number, entry in enumerate(entries, start=1):
            place = f"release.{key}.{number}"
            if (table := self.table(entry, place, keys)) is not None:
                read.append((place, table))
        return read
