"""Released scores as users hold them: noisy counts by class and bin, their document and their file.

Of two classes bins are ranges of the log-odds of the second; of more they are the predicted classes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpnb_columnar.budget import Pure, Share
from dpnb_columnar.domain import Domain, document_of, read_domain
from dpnb_columnar.errors import DataError, MissingInputError, excerpt
from dpnb_columnar.model.document_part import InvalidPartError, Part
from dpnb_columnar.model.guarantee import statement
from dpnb_columnar.model.model_document import guarantee_document, to_json
from dpnb_columnar.model.score_values import EDGES, ScoreValues, released_bins
from dpnb_columnar.runtime.outputs import atomic_output

if TYPE_CHECKING:
    from dpnb_columnar.model.score_figures import ScoreFigures

FORMAT = "dpnb_columnar scores"
VERSION = 1

LEAST_EPSILON = Fraction(1, 10**12)
"""Far below what one row of any release may cost."""

LARGEST_FILE = 2**28
"""Bytes; a larger file is not opened."""


class ReleasedScores(ScoreValues):
    """Noisy counts of labelled rows by class, and by what a model says of them, with the figures that follow. Public.

    Its attributes are those of ``ScoreValues``.
    """

    __slots__ = ()

    @classmethod
    def of(cls, values: ScoreValues) -> ReleasedScores:
        """Give released values the figures, and a file."""
        return cls(values.domain, values.model, values.guarantee, values.counts, values.software)

    def __repr__(self) -> str:
        figures = self.figures
        low, high = figures.rows_interval
        largest = f"{figures.majority} by always predicting {excerpt(figures.majority_class)}"
        return "\n".join(
            [
                f"ReleasedScores of {self.domain.name}: figures of {low:.0f} to {high:.0f} rows ({figures.level:.0%} "
                "confidence intervals, noise included)",
                f"accuracy {figures.accuracy}; {largest}",
                f"balanced accuracy {figures.balanced_accuracy}"
                + ("" if figures.auc is None else f", AUC {figures.auc}"),
                statement(self.guarantee),
            ]
        )

    @property
    def figures(self) -> ScoreFigures:
        """Accuracy, of two classes also ranking and calibration, with intervals that include the noise."""
        from dpnb_columnar.model.score_figures import score_figures

        return score_figures(self)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the scores, and the figures that follow from them, as JSON.

        Scores without a guarantee are as confidential as the rows, so their file is readable by the owner alone.

        Raises:
            dpnb_columnar.errors.OutputError: if the file exists, or cannot be written.
        """
        confidential = not self.guarantee.private
        with atomic_output(Path(path), overwrite=overwrite, confidential=confidential) as partial:
            partial.write_text(to_json(scores_document(self)), encoding="utf-8")


def _bins(domain: Domain) -> tuple[str, list[Any]]:
    """Return the key of what tells the bins in a document, and its value."""
    return ("predicted", list(domain.classes)) if len(domain.classes) > 2 else ("log_odds", list(EDGES))


def scores_document(scores: ReleasedScores) -> dict[str, Any]:
    """Write the document of released scores. Equal scores have equal documents, key order included."""
    name, bins = _bins(scores.domain)
    return {
        "format": FORMAT,
        "version": VERSION,
        "software": dict(sorted(scores.software.items())),
        "guarantee": guarantee_document(scores.guarantee),
        "domain": {"name": scores.domain.name, **document_of(scores.domain)},
        "model": scores.model,
        name: bins,
        "released": [list(row) for row in scores.counts],
        "figures": figures_document(scores),
    }


def figures_document(scores: ReleasedScores) -> dict[str, Any]:
    """Write the figures of released scores as JSON values."""
    return {name: _listed(value) for name, value in asdict(scores.figures).items()}


def read_scores(document: object, source: str) -> ReleasedScores:
    """Read the scores that a document describes. Its figures are not read: they are computed again.

    Raises:
        DataError: if it is not one of released scores, is of an unknown version, or contradicts itself.
        DomainError: if the domain in it has faults.
    """
    from dpnb_columnar.model.document_reader import SHA256
    from dpnb_columnar.model.guarantee_reader import read_guarantee, read_software

    part = Part(document)
    try:
        kind, version = part.entry("format").value, part.entry("version").value
        if kind != FORMAT or version != VERSION:
            raise part.invalid(f"expected format {FORMAT!r} of version {VERSION}")
        if not SHA256.fullmatch(part["model"].text()):
            raise part["model"].invalid("expected 64 hexadecimal digits")
        declaration = {key: entry for key, entry in part["domain"].mapping().items() if key != "name"}
        domain = read_domain(part["domain"]["name"].text(), declaration, f"{source}: domain")
        name, bins = _bins(domain)
        if part[name].value != bins:
            raise part[name].invalid("other bins than this program's, or other classes than the domain's")
        released = tuple(row.counts(released_bins(domain)) for row in part["released"].items(len(domain.classes)))
        guarantee = read_guarantee(part["guarantee"], domain.unit)
        if len(guarantee.composition) != 1 or not _is_countable(guarantee.composition[0]):
            raise part["guarantee"].invalid("expected one query, of pure noise")
        return ReleasedScores(
            domain=domain,
            model=part["model"].text(),
            guarantee=guarantee,
            counts=released,
            software=read_software(part["software"]),
        )
    except InvalidPartError as error:
        raise DataError(f"{source}: not valid scores: {error}; restore the file as it was written") from None


def _is_countable(share: Share) -> bool:
    """Return whether the noise of a share's counts has a variance that a float holds."""
    return isinstance(share.row_cost, Pure) and share.row_cost.epsilon >= LEAST_EPSILON


def holds_scores(path: Path) -> bool:
    """Return whether a file begins like one of released scores; False where it cannot be opened."""
    try:
        with path.open("rb") as stream:
            return f'"format": "{FORMAT}"'.encode() in stream.read(100)
    except OSError:
        return False


def load_scores(path: Path) -> ReleasedScores:
    """Read a file of released scores.

    Raises:
        MissingInputError: if the file cannot be opened.
        DataError: if it does not hold released scores.
    """
    from dpnb_columnar.model.model_files import parsed_json

    try:
        if path.stat().st_size > LARGEST_FILE:
            raise DataError(f"{path}: not a file of released scores: larger than {LARGEST_FILE} bytes")
        document = parsed_json(path.read_bytes())
    except OSError as error:
        raise MissingInputError(f"{path}: cannot be opened: {error.strerror or 'no such file'}") from None
    except (ValueError, RecursionError):
        raise DataError(f"{path}: not a file of released scores: not a JSON file") from None
    return read_scores(document, str(path))


def edge_probability(edge: float) -> float:
    """Return the probability of the second class at an edge."""
    return 1 / (1 + math.exp(-edge))


def _listed(value: Any) -> Any:
    """Return JSON values: lists in place of tuples, at any depth."""
    if isinstance(value, Mapping):
        return {key: _listed(item) for key, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, list | tuple) else value
