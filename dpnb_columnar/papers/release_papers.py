"""The papers that go with a model to whoever signs its release: record, ledger's account, released scores, audit.

Each is read and compared with the model before a page says anything of it. Public.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from dpnb_columnar.domain.groupings import SplitPart, kept_apart, read_parts
from dpnb_columnar.errors import DataError, MissingInputError, command
from dpnb_columnar.evaluation.released_scores import ReleasedScores, load_scores, scores_document
from dpnb_columnar.ledger.accounts import Ledger
from dpnb_columnar.ledger.records import Account, Entry
from dpnb_columnar.model.document import document_digest, to_json
from dpnb_columnar.model.document_part import InvalidPartError, Part
from dpnb_columnar.model.model_files import parse_document
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.papers.release_record import ReleaseRecord, read_record, record_of
from dpnb_columnar.releases.attribute_weights import NONE

AUDIT_FORMAT, AUDIT_VERSION = "dpnb_columnar audit", 1
"""Those of ``extensions.audit.attacks.to_document``."""

LARGEST_AUDIT = 2**26
"""Bytes; a larger file is not opened."""

BOUNDS = ("exhaustive_loss", "number_bound", "model_bound")
LARGEST_BOUND = 1e6
"""Largest epsilon of an audit that is read as a number."""


@dataclass(frozen=True, slots=True)
class Attacked:
    """What an audit measured of one way to release, on synthetic rows. Public.

    Attributes:
        mechanism, noise, weights: The way; noise and weights are None where there are none.
        neighbours: The relation, as text.
        protected: What is protected as a whole.
        claimed: Epsilon, as text.
        loss: Largest epsilon of any pair, from exact distributions; None where it is infinite.
        bound: Largest lower bound on epsilon from releases; None where it is infinite.
        pairs, releases: How many were compared and released.
        holds: Whether every check passed.
    """

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
    """What an audit of the program found, on synthetic rows. Public.

    Attributes:
        version: Version of the program that was audited.
        confidence: Probability that all bounds hold together.
        holds: Whether every check passed.
        attacked: Every way to release that was attacked.
    """

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
    """What goes with a model to whoever signs its release. Public.

    Attributes:
        record: What the curator states; empty where nothing is.
        account: What a ledger holds about the model's data set; None where none was given.
        charged: Whether the model is one of that account's releases.
        scores: Released scores of this very model; None where none were given.
        apart: Columns of the units that ``split`` kept apart between the rows that the model was trained on and those
            that were scored, by what the ledger holds of both runs; empty for rows by themselves, None if unknown.
        audit: What an audit of the program found; None where none was given.
    """

    record: ReleaseRecord = field(default_factory=ReleaseRecord)
    account: Account | None = None
    charged: bool = False
    scores: ReleasedScores | None = None
    apart: tuple[str, ...] | None = None
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
    papers = ReleasePapers(
        record=_record_of(record),
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


def _record_of(given: Path | Mapping[str, Any] | None) -> ReleaseRecord:
    if given is None:
        return ReleaseRecord()
    return read_record(given) if isinstance(given, Path) else record_of(given, "record")


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
    try:
        if file.stat().st_size > LARGEST_AUDIT:
            raise DataError(f"{file}: not the report of an audit: larger than {LARGEST_AUDIT} bytes")
        document = Part(parse_document(file.read_bytes()))
    except OSError as error:
        raise MissingInputError(f"{file}: cannot be opened: {error.strerror or 'no such file'}") from None
    except (ValueError, RecursionError):
        raise DataError(f"{file}: not the report of an audit: not a JSON file") from None
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
