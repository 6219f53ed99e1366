"""The papers that go with a model to whoever signs its release: record, ledger's account, released scores, audit.

Each is read and compared with the model before a page says anything of it. Public.

The record of a release, ``release.toml``, is what its curator states: what for, where, whose rows, who sees what, why,
and who approves. Pages print it as it is written, and list what it leaves open as not stated.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declared_domain import Provenance
from dpnb_columnar.domain.domain_text import whose_rows
from dpnb_columnar.domain.field_reader import LONGEST_VALUE, FieldReader, first_faults, parse_toml
from dpnb_columnar.domain.groupings import SplitPart, kept_apart, read_parts
from dpnb_columnar.errors import ConfigurationError, DataError, MissingInputError, command, excerpt, faults_text
from dpnb_columnar.evaluation.released_scores import ReleasedScores, load_json, load_scores, scores_document
from dpnb_columnar.ledger.accounts import Ledger
from dpnb_columnar.ledger.records import Account, Entry
from dpnb_columnar.model.document import InvalidPartError, Part, document_digest, to_json
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.releases.attribute_weights import NONE

LARGEST_RECORD = 2**20  # bytes
MOST_ENTRIES = 100  # curators, approvals or authors of one record

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

CHOICES = {"sector": "sector", "releases": "one release, or many", "new_rows": "whether new rows come in"}
"""Keys that are one of a few words, with the words that pages have for them."""

ALLOWED = {
    "sector": ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance"),
    "releases": ("One release", "Many releases"),
    "new_rows": ("Static", "Dynamic"),
    "kind": ("Government", "Industry", "Nonprofit"),
}
"""The words of ``CHOICES``, and of the kind of body that publishes a release, as the registry names them."""

LISTS = {"curators": "curators", "approvals": "approvals", "record_authors": "authors of the record"}
"""Keys that are lists, with the words that pages have for them."""

WORDS: Mapping[str, str] = {**TEXTS, **DATES, **CHOICES, **LISTS}


@dataclass(frozen=True, slots=True)
class Curator:
    """A body that publishes the release."""

    name: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Approval:
    """Somebody who approves the release on a day (year-month-day); empty are lines to fill in."""

    role: str
    name: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseRecord:
    """What a curator states of a release under the keys of ``WORDS``; ``source`` is its file, for errors. Public."""

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


class _RecordReader(FieldReader):
    """Reader of a record; faults are noted at their key."""

    def record(self, document: Mapping[str, Any]) -> ReleaseRecord:
        self.table(document, "release", [*WORDS])
        texts = {key: text for key in TEXTS if (text := self._text(document, key, "release"))}
        dates = {key: text for key in DATES if (text := self._date(document, key, "release"))}
        choices = {key: word for key in CHOICES if (word := self._word(document, key, "release"))}
        curators = (
            Curator(self._needed(entry, "name", place), self._word(entry, "kind", place))
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

    def _word(self, table: Mapping[str, Any], key: str, place: str) -> str:
        """Read one of the words that a key allows; empty where there is none."""
        if key not in table or table[key] in ALLOWED[key]:
            return str(table.get(key, ""))
        self.fault(f"{place}.{key}", f"expected one of {', '.join(ALLOWED[key])}, found {excerpt(table[key])}")
        return ""

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


AUDIT_FORMAT, AUDIT_VERSION = "dpnb_columnar audit", 1
"""Those of ``extensions.audit.attacks.to_document``."""

LARGEST_AUDIT = 2**26  # bytes; a larger file is not opened
BOUNDS = ("exhaustive_loss", "number_bound", "model_bound")
LARGEST_BOUND = 1e6  # largest epsilon of an audit that is read as a number


@dataclass(frozen=True, slots=True)
class Attacked:
    """What an audit measured of one way to release, on synthetic rows; an infinite epsilon is None. Public."""

    mechanism: str
    noise: str | None
    weights: str | None
    neighbours: str
    protected: str
    claimed: str
    loss: float | None
    bound: float | None
    pairs: int
    releases: int
    holds: bool


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What an audit of the program found, on synthetic rows; all bounds hold with one confidence. Public."""

    version: str
    confidence: float
    holds: bool
    attacked: tuple[Attacked, ...]

    def of(self, model: NaiveBayes) -> list[Attacked]:
        """List what was attacked of the model's own mechanism, and of its noise where it has one."""
        guarantee = model.guarantee
        return [
            each
            for each in self.attacked
            if each.mechanism == guarantee.mechanism and guarantee.noise in (None, each.noise)
        ]


@dataclass(frozen=True, slots=True)
class ReleasePapers:
    """What goes with a model to whoever signs its release. Public."""

    record: ReleaseRecord = field(default_factory=ReleaseRecord)
    account: Account | None = None
    charged: bool = False
    scores: ReleasedScores | None = None
    apart: tuple[str, ...] | None = None
    """Columns of the units that ``split`` kept apart between training and scoring; empty: rows; None: unknown."""
    audit: AuditReport | None = None


NO_PAPERS = ReleasePapers()


def read_papers(
    model: NaiveBayes,
    *,
    record: Path | Mapping[str, Any] | None = None,
    ledger: Path | None = None,
    scores: Path | ReleasedScores | None = None,
    audit: Path | None = None,
) -> ReleasePapers:
    """Read the papers of a model."""
    stated = ReleaseRecord()
    if record is not None:
        stated = read_record(record) if isinstance(record, Path) else record_of(record, "record")
    papers = ReleasePapers(
        record=stated,
        scores=None if scores is None else _scores_of(model, scores),
        audit=None if audit is None else read_audit(audit),
    )
    if ledger is None:
        return papers
    with Ledger(ledger) as opened:
        account = opened.account(model.domain.name)
        spend = opened.spend_of(document_digest(model))
        charged = spend is not None and spend.dataset == account.dataset
        papers = replace(papers, account=account, charged=charged)
        if papers.scores is None:
            return papers
        # The document as this program writes it, or as another version wrote the file.
        paid = opened.spend_of(sha256(to_json(scores_document(papers.scores)).encode()).hexdigest())
        if paid is None and isinstance(scores, Path):
            paid = opened.spend_of(sha256(scores.read_bytes()).hexdigest())
    if paid is None or paid.dataset != account.dataset:
        raise DataError(
            f"{_name(scores)}: not among the releases of data set {account.dataset} in {ledger}; give the ledger that "
            "paid for these scores, or the file as it was released"
        )
    return replace(papers, apart=None if spend is None else kept_apart(_parts(spend), _parts(paid)))


def _parts(run: Entry) -> list[SplitPart]:
    """Read which splits made the rows of a run."""
    return read_parts(json.dumps(json.loads(run.inputs or "{}").get("parts", [])))


def _scores_of(model: NaiveBayes, given: Path | ReleasedScores) -> ReleasedScores:
    """Return the released scores of a model."""
    scores = load_scores(given) if isinstance(given, Path) else given
    if scores.model != document_digest(model):
        raise DataError(
            f"{_name(given)}: scores of another model (SHA-256 {scores.model[:12]}...); release those of this one: "
            f"{command('evaluate', 'MODEL', 'DATA', epsilon='E')}"
        )
    if not scores.guarantee.private:
        raise DataError(f"{_name(given)}: scores without a guarantee are as confidential as the rows; leave them out")
    return scores


def _name(scores: Path | ReleasedScores | None) -> str:
    return str(scores) if isinstance(scores, Path) else "scores"


def read_audit(file: Path) -> AuditReport:
    """Read what ``audit --output`` wrote. Nothing else is taken for it: reports on real rows are confidential."""
    document = Part(load_json(file, "the report of an audit", LARGEST_AUDIT))
    try:
        if (document.entry("format").value, document.entry("version").value) != (AUDIT_FORMAT, AUDIT_VERSION):
            raise document.invalid(f"expected format {AUDIT_FORMAT!r} of version {AUDIT_VERSION}")
        return AuditReport(
            document["software"]["dpnb-columnar"].text(),
            document["confidence"].number(1, 0),
            document["holds"].flag(),
            tuple(map(_attacked, document["configurations"].items())),
        )
    except InvalidPartError as error:
        raise DataError(
            f"{file}: not the public report of an audit: {error}; give what this wrote: "
            f"{command('audit', output='audit.json')}"
        ) from None


def _attacked(part: Part) -> Attacked:
    rows, weights = part["unit_rows"], part["attribute_weights"].text()
    bounds = [None if part[name].value is None else part[name].number(LARGEST_BOUND, 0) for name in BOUNDS]
    known = [bound for bound in bounds[1:] if bound is not None]
    return Attacked(
        mechanism=part["mechanism"].text(),
        noise=part["noise"].text_or_none(),
        weights=None if weights == NONE else weights,
        neighbours=part["neighbours"].text(),
        protected="one row" if rows.value is None else f"a unit of {rows.count()}",
        claimed=part["epsilon"].text(),
        loss=bounds[0],
        bound=max(known) if len(known) == len(bounds) - 1 else None,
        pairs=part["pairs"].count(),
        releases=part["releases"].count(),
        holds=not part["findings"].values(),
    )
