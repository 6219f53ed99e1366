"""Released scores as users hold them: noisy counts by class and bin, their document and their file. Public."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dpnb_columnar.core.budget import Concentrated, Pure, Share
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.domain.declared_domain import document_of
from dpnb_columnar.domain.domain_text import html_fragment
from dpnb_columnar.errors import DataError, MissingInputError, check_version, excerpt, printable
from dpnb_columnar.evaluation.evaluation import (
    EDGES,
    PARTS,
    UNLIMITED,
    DivisionFigures,
    Estimate,
    GroupedCounts,
    GroupTables,
    ScoreValues,
    area,
    difference,
    division_figures,
    exact_sum_interval,
    largest_quantiles,
    mean,
    proportion,
    released_bins,
)
from dpnb_columnar.model.document import InvalidPartError, Part, guarantee_document, to_json
from dpnb_columnar.model.guarantee_text import statement
from dpnb_columnar.model.query_noise import LEVEL, Interval, count_variance
from dpnb_columnar.runtime.outputs import atomic_output

FORMAT = "dpnb_columnar scores"
VERSION = 3

LEAST_EPSILON = Fraction(1, 10**12)  # far below what one row of any release may cost
LARGEST_FILE = 2**28  # bytes; a larger file is not opened


class ReleasedScores(ScoreValues):
    """Noisy counts of labelled rows by class, and by what a model says of them, with the figures that follow. Public.

    Its attributes are those of ``ScoreValues``.
    """

    __slots__ = ()

    @classmethod
    def of(cls, values: ScoreValues) -> ReleasedScores:
        """Give released values the figures, and a file."""
        return cls(values.domain, values.model, values.guarantee, values.counts, values.software, values.groups)

    def __repr__(self) -> str:
        figures = self.figures
        low, high = figures.rows_interval
        largest = f"{figures.majority} by always predicting {excerpt(figures.majority_class)}"
        return "\n".join(
            [
                f"ReleasedScores of {self.domain.name}: figures of {low:.0f} to {high:.0f} {rows_text(self.domain)} "
                f"({figures.level:.0%} confidence intervals, noise included)",
                f"accuracy {figures.accuracy}; {largest}",
                f"balanced accuracy {figures.balanced_accuracy}"
                + ("" if figures.auc is None else f", AUC {figures.auc}"),
                statement(self.guarantee),
            ]
        )

    def _repr_html_(self) -> str:
        """Show the figures in a notebook."""
        figures = self.figures
        low, high = figures.rows_interval
        lines = [
            f"Released scores of {self.domain.name}: figures of {low:,.0f} to {high:,.0f} {rows_text(self.domain)}",
            statement(self.guarantee),
        ]
        estimates = {
            "accuracy": figures.accuracy,
            f"always predicting {excerpt(figures.majority_class)}": figures.majority,
            "balanced accuracy": figures.balanced_accuracy,
            **({} if figures.auc is None else {"AUC": figures.auc}),
        }
        return html_fragment(lines, ["figure", f"value, {figures.level:.0%} confidence interval"], estimates.items())

    @property
    def in_draws(self) -> tuple[tuple[tuple[float, ...], ...], float]:
        """The counts in units of the cap c of a row's weight, 1 without one, and the variance of their noise in these.

        A row of the weight n_i <= c is one draw, not n_i. So the sum T(a) of ``evaluation`` varies by the sum of
        n_i^2 in place of n_i, at most c times V(a), as if each row stood for c that are alike. In units of c T(a) is
        1/c, and V(a), computed of counts as it stands, 1/c of itself: c times what 1/c^2 would make of it. So no
        interval is too narrow for any weights; it holds too often where most of them are far below the cap.
        """
        most = _most_steps(self.domain)
        variance = _variance(self.guarantee.composition[0], most)
        return self.counts if most == 1 else tuple(tuple(each / most for each in row) for row in self.counts), variance

    @property
    def figures(self) -> ScoreFigures:
        """Accuracy, of two classes also ranking and calibration, with intervals that include the noise."""
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


def _most_steps(domain: Domain) -> int:
    """Return the most that one row adds to a count: the steps of the largest weight, else 1."""
    return 1 if domain.weight is None else domain.weight.steps


def largest_weight(domain: Domain) -> float:
    """Return the most that one row adds to a figure in rows: the cap of its weight, else 1."""
    return 1.0 if domain.weight is None else float(domain.weight.cap)


def rows_text(domain: Domain) -> str:
    """Say what the numbers of rows are: rows, or sums of their weights."""
    return "rows" if domain.weight is None else f"rows by {printable(domain.weight.column)}"


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
        **({"groups": [_listed(asdict(each)) for each in scores.groups]} if scores.groups else {}),
        "figures": figures_document(scores),
    }


def figures_document(scores: ReleasedScores) -> dict[str, Any]:
    """Write the figures of released scores as JSON values; those of groups where there are some."""
    figures = asdict(scores.figures)
    return {name: _listed(value) for name, value in figures.items() if name != "groups" or value}


def read_scores(document: object, source: str) -> ReleasedScores:
    """Read the scores that a document describes. Its figures are not read: they are computed again."""
    from dpnb_columnar.model.document_reader import SHA256, read_guarantee, read_software

    part = Part(document)
    try:
        kind, version = part.entry("format").value, part.entry("version").value
        if kind != FORMAT:
            raise part.invalid(f"expected format {FORMAT!r}")
        remedy = "use it with that version, or release scores again"
        check_version(source, "a file of released scores", version, VERSION, remedy)
        if not SHA256.fullmatch(part["model"].text()):
            raise part["model"].invalid("expected 64 hexadecimal digits")
        declaration = {key: entry for key, entry in part["domain"].mapping().items() if key != "name"}
        domain = read_domain(part["domain"]["name"].text(), declaration, f"{source}: domain")
        name, bins = _bins(domain)
        if part[name].value != bins:
            raise part[name].invalid("other bins than this program's, or other classes than the domain's")
        released = tuple(row.counts(released_bins(domain)) for row in part["released"].items(len(domain.classes)))
        guarantee = read_guarantee(part["guarantee"], domain.unit)
        divisions = part.entry("groups")
        groups = () if divisions.value is None else tuple(_read_groups(each, domain) for each in divisions.items())
        costs = [share.row_cost for share in guarantee.composition]
        # The noise of each has a variance that a float holds.
        if not all(isinstance(cost, Pure) and cost.epsilon >= LEAST_EPSILON for cost in costs):
            raise part["guarantee"].invalid("expected queries of pure noise")
        if [share.values for share in guarantee.composition] != _numbers_released(domain, groups):
            raise part["guarantee"].invalid("expected a query for each table of released numbers, of as many as it has")
        return ReleasedScores(
            domain=domain,
            model=part["model"].text(),
            guarantee=guarantee,
            counts=released,
            software=read_software(part["software"]),
            groups=groups,
        )
    except InvalidPartError as error:
        raise DataError(f"{source}: not valid scores: {error}; restore the file as it was written") from None


def _read_groups(part: Part, domain: Domain) -> GroupedCounts:
    """Read the counts of one division into groups."""
    columns, classes = tuple(each.text() for each in part["columns"].items()), len(domain.classes)
    if not columns or len(set(columns)) < len(columns):
        raise part["columns"].invalid("expected the names of columns, each once")
    values = tuple(tuple(each.text_or_none() for each in group.items(len(columns))) for group in part["values"].items())
    if not values or len(set(values)) < len(values):
        raise part["values"].invalid("expected groups, each once")
    counts = tuple(
        tuple(row.counts(classes) for row in group.items(classes)) for group in part["counts"].items(len(values))
    )
    expected = part["expected"].counts(len(values)) if classes == 2 else None
    return GroupedCounts(columns, values, counts, expected)


def _numbers_released(domain: Domain, groups: Sequence[GroupedCounts]) -> list[int]:
    """Count the numbers that each query released, in order."""
    numbers, classes = [released_bins(domain) * len(domain.classes)], len(domain.classes)
    for each in groups:
        numbers += [len(each.values) * classes**2, *([] if each.expected is None else [len(each.values)])]
    return numbers


def holds_scores(path: Path) -> bool:
    """Return whether a file begins like one of released scores; False where it cannot be opened."""
    try:
        with path.open("rb") as stream:
            return f'"format": "{FORMAT}"'.encode() in stream.read(100)
    except OSError:
        return False


def load_scores(path: Path) -> ReleasedScores:
    """Read a file of released scores."""
    return read_scores(load_json(path, "a file of released scores", LARGEST_FILE), str(path))


def load_json(path: Path, what: str, largest: int) -> object:
    """Read a JSON file of so many bytes at most; ``what`` it is, for errors."""
    from dpnb_columnar.model.model_files import parse_document

    try:
        if path.stat().st_size > largest:
            raise DataError(f"{path}: not {what}: larger than {largest} bytes")
        return parse_document(path.read_bytes())
    except OSError as error:
        raise MissingInputError(f"{path}: cannot be opened: {error.strerror or 'no such file'}") from None
    except (ValueError, RecursionError):
        raise DataError(f"{path}: not {what}: not a JSON file") from None


def edge_probability(edge: float) -> float:
    """Return the probability of the second class at an edge."""
    return 1 / (1 + math.exp(-edge))


def _listed(value: Any) -> Any:
    """Return JSON values: lists in place of tuples, at any depth."""
    if isinstance(value, Mapping):
        return {key: _listed(item) for key, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, list | tuple) else value


BOUNDARY = EDGES.index(0) + 1
"""Bins below it are predicted to be of the first class."""

BANDS = (-8.0, -6.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
"""Edges between the ranges of probability in which calibration is looked at, in log-odds; and points of the ROC curve.
"""

UNRANKED = "Of more than two classes rows are counted by predicted class alone: no AUC, no ROC curve, no calibration."


@dataclass(frozen=True, slots=True)
class Band:
    """Noisy rows whose predicted probability of the second class is above lower, up to upper. Public."""

    lower: float
    upper: float
    rows: int
    share: Estimate


@dataclass(frozen=True, slots=True)
class Threshold:
    """A point of the ROC curve: rows of a larger probability are taken for the second class. Public."""

    probability: float
    false_positives: Estimate
    true_positives: Estimate


@dataclass(frozen=True, slots=True)
class ScoreFigures:
    """Figures of noisy counts. Public.

    Attributes:
        level: Level of all confidence intervals, which include the noise and the sampling of rows.
        noise: Standard deviation of the noise in one count.
        rows: Noisy number of rows, or sum of their weights where the domain declares one; so are all numbers of rows.
        rows_interval: Between which the exact number lies.
        accuracy: Part of the rows whose class is predicted correctly.
        majority_class: The largest class by the noisy counts.
        majority: Part of the rows in it: the accuracy of always predicting it.
        gain: Accuracy less ``majority``.
        balanced_accuracy: Mean of the recalls.
        auc: Area under the ROC curve; rows of one bin count as tied. None of more than two classes.
        confusion: Noisy counts by true class (outer) and predicted class (inner).
        recall: Per class, the part of its rows that are predicted to be its own.
        precision: Per class, the part of the rows it is predicted for that are its own.
        calibration: By predicted probability, the part of the rows that are of the second class; empty of more classes.
        roc: Points of the ROC curve, thresholds rising; empty of more classes.
        groups: Figures of groups, one for each division of the rows that was asked for.
    """

    level: float
    noise: float
    rows: int
    rows_interval: Interval
    accuracy: Estimate
    majority_class: str
    majority: Estimate
    gain: Estimate
    balanced_accuracy: Estimate
    auc: Estimate | None
    confusion: tuple[tuple[int, ...], ...]
    recall: tuple[Estimate, ...]
    precision: tuple[Estimate, ...]
    calibration: tuple[Band, ...]
    roc: tuple[Threshold, ...]
    groups: tuple[DivisionFigures, ...] = ()


def score_figures(scores: ReleasedScores) -> ScoreFigures:
    """Compute the figures of released scores: post-processing of noisy counts, and nothing else."""
    most, (counts, variance) = largest_weight(scores.domain), scores.in_draws
    classes, bins = range(len(counts)), len(counts[0])
    # Counts of a class that a cell of the confusion is the sum of, by predicted class.
    widths = (BOUNDARY, bins - BOUNDARY) if len(classes) == 2 else (1,) * bins
    starts = [sum(widths[:place]) for place in classes]
    confusion = tuple(
        tuple(sum(row[start : start + width]) for start, width in zip(starts, widths, strict=True)) for row in counts
    )
    sizes, correct = [sum(row) for row in confusion], [confusion[place][place] for place in classes]
    predicted = [sum(column) for column in zip(*confusion, strict=True)]
    rows, hits, others = sum(sizes), sum(correct), (len(classes) - 1) * bins
    largest, (low, high) = sizes.index(max(sizes)), largest_quantiles(sizes, bins, variance)
    # Against always predicting the largest class, the model wins the rows of other classes that it finds.
    won, lost, apart = hits - correct[largest], sizes[largest] - correct[largest], bins - widths[largest]
    recall, unlimited = (
        [
            proportion(
                correct[place], sizes[place] - correct[place], (widths[place], bins - widths[place]), variance, limits
            )
            for place in classes
        ]
        for limits in ((0.0, 1.0), UNLIMITED)
    )
    return ScoreFigures(
        level=LEVEL,
        noise=variance**0.5 * most,
        rows=round(rows * most),
        rows_interval=_times(exact_sum_interval(rows, len(classes) * bins, variance), most),
        accuracy=proportion(hits, rows - hits, (bins, others), variance),
        majority_class=scores.domain.classes[largest],
        majority=proportion(sizes[largest], rows - sizes[largest], (bins, others), variance, quantiles=(low, high)),
        gain=difference(won, lost, rows - won - lost, (apart, apart, bins + others - 2 * apart), variance, (high, low)),
        balanced_accuracy=mean(unlimited),
        auc=area(counts[0], counts[1], variance) if len(classes) == 2 else None,
        confusion=tuple(tuple(round(each * most) for each in row) for row in confusion),
        recall=tuple(recall),
        precision=tuple(
            proportion(
                correct[place],
                predicted[place] - correct[place],
                (widths[place], (len(classes) - 1) * widths[place]),
                variance,
            )
            for place in classes
        ),
        calibration=bands(counts[0], counts[1], variance, most) if len(classes) == 2 else (),
        roc=roc_points(counts, variance, BANDS) if len(classes) == 2 else (),
        groups=tuple(_group_figures(scores)),
    )


def _variance(share: Share, sensitivity: int = 1) -> float:
    """Compute the variance of a share's noise, in the unit that one row changes a number by."""
    assert not isinstance(share.row_cost, Concentrated)
    return count_variance(float(share.row_cost.epsilon) / sensitivity) / sensitivity**2


def _times(interval: Interval, factor: float) -> Interval:
    return interval[0] * factor, interval[1] * factor


def _group_figures(scores: ReleasedScores) -> Iterator[DivisionFigures]:
    """Compute the figures of the groups of each division, of counts as in ``ReleasedScores.in_draws``."""
    shares, steps = iter(scores.guarantee.composition[1:]), _most_steps(scores.domain)
    most = largest_weight(scores.domain)
    for each in scores.groups:
        counts, variance = np.array(each.counts) / steps, _variance(next(shares), steps)
        tables = GroupTables(counts, None, count_variance=variance)
        if each.expected is not None:
            expected = np.array(each.expected, dtype=np.float64) / (PARTS * steps)
            tables = replace(tables, expected=expected, sum_variance=_variance(next(shares), PARTS * steps))
        figures = division_figures(scores.domain.classes, each.columns, each.values, tables)
        groups = (
            replace(group, rows=round(group.rows * most), rows_interval=_times(group.rows_interval, most))
            for group in figures.groups
        )
        yield replace(figures, groups=tuple(groups), least_rows=figures.least_rows * most)


def roc_points(
    counts: Sequence[Sequence[float]], variance: float, edges: Sequence[float] = EDGES
) -> tuple[Threshold, ...]:
    """Estimate points of the ROC curve, given the variance of the noise in a count; confidential where that is 0."""
    return tuple(Threshold(edge_probability(edge), *_beyond(counts, EDGES.index(edge) + 1, variance)) for edge in edges)


def _beyond(counts: Sequence[Sequence[float]], place: int, variance: float) -> tuple[Estimate, Estimate]:
    """Estimate, per class, the part of its rows in the bins from a place on."""
    parts = [proportion(sum(row[place:]), sum(row[:place]), (len(row) - place, place), variance) for row in counts]
    return parts[0], parts[1]


def bands(first: Sequence[float], second: Sequence[float], variance: float, rows: float = 1) -> tuple[Band, ...]:
    """Estimate calibration in ranges of probability, given the noise's variance; confidential where that is 0."""
    starts = [0, *(EDGES.index(edge) + 1 for edge in BANDS)]
    merged = []
    for start, end in zip(starts, [*starts[1:], len(first)], strict=True):
        lower: float = 0.0 if start == 0 else edge_probability(EDGES[start - 1])
        upper: float = 1.0 if end == len(first) else edge_probability(EDGES[end - 1])
        misses, hits = sum(first[start:end]), sum(second[start:end])
        share = proportion(hits, misses, (end - start, end - start), variance)
        merged.append(Band(lower, upper, round((misses + hits) * rows), share))
    return tuple(merged)
