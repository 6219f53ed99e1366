"""The evaluation of a model on labelled rows, streamed. CONFIDENTIAL: every figure is exact, without noise.

The area under the ROC curve is computed from rows counted by the class's log-odds, of all rows and of each group alike:
by the log-odds themselves of ``EXACT_ROWS`` rows or fewer, else in bins, whose rows count as tied. So memory does not
grow with more rows, and every area of bins has a bound on its error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, reduce
from operator import add
from statistics import fmean
from typing import TypeAlias

import numpy as np
import polars as pl

from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.column_kinds import kinds_of
from dpnb_columnar.domain.groupings import Divisions
from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.evaluation.evaluation import (
    EDGES,
    Calibration,
    ClassFigures,
    DivisionFigures,
    Estimate,
    Evaluation,
    GroupTables,
    WeightedFigures,
    division_figures,
)
from dpnb_columnar.model import query_noise as intervals
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.model.query_noise import QUANTILE, Interval
from dpnb_columnar.model.scoring import PREDICTED, probability_column, score, small_batches
from dpnb_columnar.rows.frames import Frame, is_frame, open_frame
from dpnb_columnar.rows.input_files import DataFile
from dpnb_columnar.rows.parquet import ParquetSource, open_parquet
from dpnb_columnar.rows.row_rules import attribute_fits, class_code, row_fits, step_score, weight_steps
from dpnb_columnar.rows.streaming import OpenedFrame, Source, stream
from dpnb_columnar.runtime.confinement import confined

WEIGHT = "weight"
"""Column of the steps of weight: of a row, or of the rows of a cell together."""

GROUP = "group"
"""Column of a row's group in a division; with a number, of its group by one column."""

WEIGHED = "weighed "
"""Prefix of the names of sums whose summands are multiplied by the row's weight."""

RESOLUTION = 8192
"""Bins for each unit of the inverse hyperbolic sine of the log-odds: next to zero a bin is 1/8192 wide, at log-odds x
about x/8192."""

EXACT_ROWS = 2**20
"""Most rows that are ranked without bins: as many counts are held at most, in less than 500 MB."""

LARGEST_LOG_ODDS = 746.0
"""Above the logarithm of every ratio of positive floats of which the larger is at most 1: with ``RESOLUTION`` there are
at most 2 asinh(746) 8192, or 120,000, bins."""

_COUNTS = (
    pl.len().cast(pl.Int64).alias("rows"),
    pl.col("odds").min().alias("least"),
    pl.col("odds").max().alias("largest"),
)
"""What is known of the rows of a bin."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The area under the ROC curve of a class's probability, its error by binning and its interval. Confidential."""

    area: float
    error: float
    interval: Interval | None


def bin_by_log_odds(
    scored: pl.LazyFrame,
    own: pl.Expr,
    probability: pl.Expr,
    others: Sequence[pl.Expr],
    sums: Sequence[pl.Expr] = (),
    *,
    exact: bool = False,
) -> pl.LazyFrame:
    """Count rows in bins of a class's log-odds, or by each exact value: probabilities that round to 1 stay apart."""
    odds = _log_odds(probability, others)
    return (
        scored.select(own.alias("own"), odds.alias("odds"), *{name for each in sums for name in each.meta.root_names()})
        .group_by("own", _bin(exact=exact))
        .agg(*_COUNTS, *sums)
    )


def _bin(*, exact: bool) -> pl.Expr:
    """Return the bin of a row by its log-odds, in their order."""
    odds = pl.col("odds")
    return (odds if exact else (odds.arcsinh() * RESOLUTION).floor().cast(pl.Int32)).alias("bin")


def _log_odds(probability: pl.Expr, others: Sequence[pl.Expr]) -> pl.Expr:
    """Compute the log-odds of a class from its probability and those of all others."""
    return (probability.log() - reduce(add, others).log()).clip(-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)


def score_counts(bins: pl.DataFrame, edges: Sequence[float]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Count rows between rising public edges of the log-odds: those of other classes, then the class's own."""
    place = pl.sum_horizontal((pl.col("least") > edge).cast(pl.Int64) for edge in edges)
    counts = bins.group_by("own", place.alias("place")).agg(pl.col("rows").sum())
    known = {(own, bin_): rows for own, bin_, rows in counts.rows()}
    others, own = (tuple(known.get((kind, bin_), 0) for bin_ in range(len(edges) + 1)) for kind in (False, True))
    return others, own


def ranking(bins: pl.DataFrame) -> Ranking | None:
    """Compute the area under the ROC curve and its interval from ``bin_by_log_odds`` rows.

    With the bins in order, P and N rows of the class and of all others, p and n of them in a bin and P' and N' in all
    bins before it: the area is the mean over the class's rows of v = (N' + n/2) / N, which is that over the other rows
    of w = (P - P' - p/2) / P. Its variance is estimated by var(v) / P + var(w) / N (DeLong, DeLong and Clarke-Pearson
    1988, Biometrics 44; in one pass over sorted scores, Sun and Xu 2014, IEEE Signal Processing Letters 21), and the
    interval is the normal one, cut at 0 and 1. It has no width where all rows are ranked without a fault.
    """
    own, rows = pl.col("own"), pl.col("rows")
    both = bins.group_by("bin").agg(
        rows.filter(own).sum().alias("p"),
        rows.filter(~own).sum().alias("n"),
        (pl.col("least").min() < pl.col("largest").max()).alias("mixed"),
    )
    p, n = pl.col("p"), pl.col("n")
    # Whole numbers, 2 N v and 2 P w, so that the area is one division of exact sums.
    ranks = both.sort("bin").with_columns(
        (2 * n.cum_sum() - n).alias("v"), (2 * (p.sum() - p.cum_sum()) + p).alias("w")
    )
    positive, negative = int(ranks["p"].sum()), int(ranks["n"].sum())
    if not positive or not negative:
        return None
    area = int((ranks["p"] * ranks["v"]).sum()) / (2 * positive * negative)
    tied = int(ranks.select((p * n).filter("mixed").sum()).item())
    interval = None
    if positive > 1 and negative > 1:
        spread = ranks.select(
            (p * (pl.col("v") / (2 * negative) - area) ** 2).sum() / (positive - 1) / positive,
            (n * (pl.col("w") / (2 * positive) - area) ** 2).sum() / (negative - 1) / negative,
        )
        half = QUANTILE * math.sqrt(sum(spread.row(0)))
        interval = max(area - half, 0.0), min(area + half, 1.0)
    return Ranking(area, tied / (2 * positive * negative), interval)


CALIBRATION_BINS = 10
LEAST_PROBABILITY = 1e-15
"""Probabilities below this count as this in the log loss, so that one row cannot make it infinite."""

ScoreCounts: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""Rows of others, and a class's own, by bin of its log-odds."""

Figures: TypeAlias = tuple[
    pl.DataFrame, list[Ranking | None], list[ScoreCounts], list[float | None], pl.DataFrame, list[pl.DataFrame]
]
"""Sums over cells (``_cells``); per class that is ranked the ranking, counts of scores and, of weighted rows, the area;
per attribute the rows that lack it; and per division into groups sums over cells (``_group_cells``)."""

MOST_GROUP_CELLS = 2**20
"""Most counts of the groups of one division: a group has one per true and predicted class."""


@confined()
def evaluate(
    model: NaiveBayes, data: Sequence[DataFile] | Frame | Source, divisions: Divisions | None = None
) -> Evaluation:
    """Score labelled rows, and compare the predicted class and the probabilities with the true class."""
    classes = model.domain.classes
    if divisions is not None and max(divisions.sizes) * len(classes) ** 2 > MOST_GROUP_CELLS:
        raise UsageError(
            f"by: {max(divisions.sizes)} groups of {len(classes)} true and predicted classes are more than the "
            f"{MOST_GROUP_CELLS} counts of one division; name fewer columns, or columns of fewer values"
        )
    source = _open_rows(data, model.domain if divisions is None else divisions.domain)
    crossed = () if divisions is None else divisions.crossed
    passes = 2 + len(_ranked_classes(classes)) + len(crossed)
    compute = partial(_figures, types=source.types, model=model, divisions=divisions)
    with small_batches(model):
        cells, rankings, counted, areas, lacked, by_group = stream(source, compute, passes=passes)
    if not cells["rows"].sum():
        if not stream(source, lambda rows: len(rows.head(1).collect(engine="streaming")), shown=False):
            raise DataError(f"{source.names}: has no row to compare predictions with")
        raise DataError(
            f"{source.names}: no row fits the model's domain; compare its values with what domain show and check print"
        )
    by_class = rankings if len(classes) > 2 else rankings * len(classes)
    without = {name: rows for name, rows in lacked.row(0, named=True).items() if rows}
    scores = dict(zip(classes[-len(counted) :], counted, strict=True))
    weight, weighted = model.domain.row_weight, None
    cells = _with_prediction(cells, classes)
    if weight is not None and weight.column in source.types:
        weighted = weighted_figures(cells, len(classes), weight.step, areas)
    summary = _summary(cells, classes, by_class, without, scores, weighted)
    if divisions is None:
        return summary
    figures = (_division_figures(*each, divisions, classes) for each in zip(crossed, by_group, strict=True))
    return replace(summary, groups=tuple(figures))


def open_evaluated(open_rows: Callable[[Domain], Source], domain: Domain) -> Source:
    """Open labelled rows, with the weight of a model's domain where they have it as a column of numbers."""
    weight = domain.row_weight
    try:
        return open_rows(replace(domain, unit=None, weight=weight))
    except DataError:
        if weight is None:
            raise
        return open_rows(domain.per_row)  # whatever else is wrong with the rows is found again


def _open_rows(data: Sequence[DataFile] | Frame | Source, domain: Domain) -> Source:
    """Open the rows of files or of a frame; rows that are checked already stay as they are."""
    if isinstance(data, ParquetSource | OpenedFrame):
        return data
    opener = partial(open_frame, data) if is_frame(data) else partial(open_parquet, data)
    return open_evaluated(opener, domain)


def _figures(
    rows: pl.LazyFrame, types: Mapping[str, pl.DataType], model: NaiveBayes, divisions: Divisions | None
) -> Figures:
    domain, kinds = model.domain, kinds_of(types)
    # The rows that training counts, with the values that it counts.
    counted = rows.filter(row_fits(domain, kinds))
    lacking = counted.select(
        (~attribute_fits(each, kinds[each.name])).sum().alias(each.name) for each in domain.attributes
    )
    added = {"true": class_code(domain, kinds)}
    if (weight := domain.row_weight) is not None and (kind := kinds.get(weight.column)) is not None:
        added[WEIGHT] = weight_steps(weight, kind)
    for place, each in enumerate(() if divisions is None else divisions.groupings):
        column, steps = types[each.attribute.name], range(len(each.starts))
        added[f"{GROUP} {place}"] = step_score(each.attribute, column, each.starts, steps, each.missing)
    names = {name: f"{name} ".join(["", *domain.columns]) for name in added}  # longer than any that the model reads
    labelled = counted.with_columns(value.alias(names[name]) for name, value in added.items())
    scored = score(model, labelled, keep=[*names.values()]).lazy()
    scored = scored.rename({long: name for name, long in names.items()})
    weighted = [pl.col(WEIGHT).sum()] if WEIGHT in added else []
    # One after the other: queries that share their rows would keep the rows for the slower one.
    cells = _cells(scored, domain.classes, weighted=bool(weighted)).collect(engine="streaming")
    exact = int(cells["rows"].sum()) <= EXACT_ROWS
    rankings, counts, areas = [], [], []
    probabilities = [pl.col(probability_column(name)) for name in domain.classes]
    for code in _ranked_classes(domain.classes):
        own, others = probabilities[code], probabilities[:code] + probabilities[code + 1 :]
        query = bin_by_log_odds(scored, pl.col("true") == code, own, others, weighted, exact=exact)
        bins = query.collect(engine="streaming")
        rankings.append(ranking(bins))
        counts.append(score_counts(bins, EDGES))
        areas.append(weighted_area(bins) if weighted else None)
    by_group = []
    if divisions is not None:
        queries = (_group_cells(scored, domain.classes, divisions, each, exact=exact) for each in divisions.crossed)
        by_group = [query.collect(engine="streaming") for query in queries]
    return cells, rankings, counts, areas, lacking.collect(engine="streaming"), by_group


def _group_cells(
    scored: pl.LazyFrame, classes: Sequence[str], divisions: Divisions, division: Sequence[int], *, exact: bool
) -> pl.LazyFrame:
    """Count rows by group, true and predicted class and, of two classes, bin of the log-odds, with sums of these."""
    number = pl.lit(0, pl.Int64)  # of the row's group, in the order of ``Divisions.values``
    for place in division:
        number = number * divisions.groupings[place].size + pl.col(f"{GROUP} {place}")
    keys = [number.alias(GROUP), pl.col("true"), pl.col(PREDICTED)]
    if len(classes) > 2:
        return scored.select(keys).group_by(GROUP, "true", PREDICTED).agg(_COUNTS[0])
    first, second = (pl.col(probability_column(name)) for name in classes)
    squares = (pl.col("expected") - pl.col("true")) ** 2
    return (
        scored.select(*keys, second.alias("expected"), _log_odds(second, [first]).alias("odds"))
        .group_by(GROUP, "true", PREDICTED, _bin(exact=exact))
        .agg(*_COUNTS, pl.col("expected").sum(), squares.sum().alias("squares"))
    )


def _division_figures(
    division: Sequence[int], cells: pl.DataFrame, divisions: Divisions, classes: Sequence[str]
) -> DivisionFigures:
    """Compute the figures of a division's groups from ``_group_cells``."""
    columns, values, cells = divisions.columns(division), divisions.values(division), _with_prediction(cells, classes)
    counts = np.zeros((len(values), len(classes), len(classes)), dtype=np.int64)
    np.add.at(
        counts, tuple(cells[name].to_numpy() for name in (GROUP, "true", "predicted code")), cells["rows"].to_numpy()
    )
    if len(classes) > 2:
        return division_figures(classes, columns, values, GroupTables(counts, None))
    expected, squares = (np.zeros(len(values)) for _ in range(2))
    rankings: dict[int, Ranking | None] = {}
    binned = cells.with_columns((pl.col("true") == 1).alias("own"))
    for (group,), part in binned.group_by(GROUP):
        place = int(str(group))
        expected[place], squares[place] = part["expected"].sum(), part["squares"].sum()
        rankings[place] = ranking(part)
    figures = division_figures(classes, columns, values, GroupTables(counts, expected, squares))
    groups = list(figures.groups)
    for place, area in rankings.items():
        if area is not None and area.interval is not None:
            groups[place] = replace(groups[place], auc=Estimate(area.area, area.interval), auc_error=area.error)
    return replace(figures, groups=tuple(groups))


def _cells(scored: pl.LazyFrame, classes: Sequence[str], *, weighted: bool) -> pl.LazyFrame:
    """Sums over cells of (true class, predicted class, tenth of the predicted class's probability)."""
    probabilities = [pl.col(probability_column(name)) for name in classes]
    own = pl.coalesce(pl.when(pl.col("true") == code).then(value) for code, value in enumerate(probabilities))
    loss = -own.clip(LEAST_PROBABILITY, 1).log()
    squares = [(value - (pl.col("true") == code)) ** 2 for code, value in enumerate(probabilities)]
    distance = reduce(add, squares) / (2 if len(classes) == 2 else 1)
    top = pl.max_horizontal(*probabilities)
    tenth = (top * CALIBRATION_BINS).floor().clip(0, CALIBRATION_BINS - 1).cast(pl.Int32)
    by_code = {f"probability_{code}": value for code, value in enumerate(probabilities)}
    values = {"loss": loss, "distance": distance, "top": top, **by_code}
    weight = pl.col(WEIGHT)
    by_weight = [weight.sum(), *((value * weight).sum().alias(WEIGHED + name) for name, value in values.items())]
    return scored.group_by("true", PREDICTED, tenth.alias("tenth")).agg(
        _COUNTS[0],
        *(value.sum().alias(name) for name, value in values.items()),
        (loss**2).sum().alias("loss_square"),
        (distance**2).sum().alias("distance_square"),
        *(value.sum().alias(f"distance_{code}") for code, value in enumerate(squares)),
        *(by_weight if weighted else ()),
    )


def _with_prediction(cells: pl.DataFrame, classes: Sequence[str]) -> pl.DataFrame:
    """Add the code of the predicted class, and whether it is right."""
    predicted = cells[PREDICTED].replace_strict(classes, range(len(classes)), return_dtype=pl.Int32)
    return cells.with_columns(predicted.alias("predicted code"), (cells["true"] == predicted).alias("right"))


def _ranked_classes(classes: Sequence[str]) -> Sequence[int]:
    """Return the classes that rows are ranked by; of two the second alone, since the first ranks in reverse."""
    return range(len(classes)) if len(classes) > 2 else [1]


def _summary(
    cells: pl.DataFrame,
    classes: Sequence[str],
    rankings: Sequence[Ranking | None],
    lacking: Mapping[str, int],
    scores: Mapping[str, ScoreCounts],
    weighted: WeightedFigures | None,
) -> Evaluation:
    """Compute the figures from sums over cells and one ranking per class."""
    rows = int(cells["rows"].sum())
    counted = cells.group_by("true", "predicted code").agg(pl.col("rows").sum())
    counts = {(true, code): count for true, code, count in counted.rows()}
    codes = range(len(classes))
    confusion = tuple(tuple(int(counts.get((true, code), 0)) for code in codes) for true in codes)
    sizes, hits = [sum(row) for row in confusion], [confusion[code][code] for code in codes]
    right, largest = sum(hits), max(codes, key=lambda code: sizes[code])
    present = [(hit, size) for hit, size in zip(hits, sizes, strict=True) if size]
    areas = [each for each in rankings if each is not None]
    tenths = tuple(_calibration(int(tenth), cells) for tenth in cells["tenth"].unique().sort())
    return Evaluation(
        rows=rows,
        lacking=lacking,
        accuracy=right / rows,
        majority=sizes[largest] / rows,
        majority_class=classes[largest],
        gain=(right - sizes[largest]) / rows,
        below_majority=right < sizes[largest],
        balanced_accuracy=fmean(hit / size for hit, size in present),
        auc=fmean(each.area for each in areas) if areas else None,
        auc_error=fmean(each.error for each in areas) if areas else None,
        log_loss=float(cells["loss"].sum()) / rows,
        brier_score=float(cells["distance"].sum()) / rows,
        calibration_error=sum(each.rows * abs(each.mean_probability - each.accuracy) for each in tenths) / rows,
        level=intervals.LEVEL,
        intervals={
            "accuracy": intervals.wilson_interval(right, rows),
            "gain": intervals.paired_difference(right - hits[largest], sizes[largest] - hits[largest], rows),
            "balanced_accuracy": intervals.mean_of_probabilities(present),
            "auc": areas[0].interval if areas and len(classes) == 2 else None,
            "log_loss": intervals.mean(float(cells["loss"].sum()), float(cells["loss_square"].sum()), rows),
            "brier_score": intervals.mean(float(cells["distance"].sum()), float(cells["distance_square"].sum()), rows),
        },
        confusion=confusion,
        classes=tuple(_class(code, classes[code], cells, confusion, rankings[code]) for code in codes),
        calibration=tenths,
        scores=scores,
        weighted=weighted,
    )


def _class(
    code: int, name: str, cells: pl.DataFrame, confusion: Sequence[Sequence[int]], area: Ranking | None
) -> ClassFigures:
    """Compute the figures of one class against the rest."""
    rows, size, hits = int(cells["rows"].sum()), sum(confusion[code]), confusion[code][code]
    predicted = sum(row[code] for row in confusion)
    return ClassFigures(
        name=name,
        rows=size,
        predicted=predicted,
        recall=hits / size if size else None,
        recall_interval=intervals.wilson_interval(hits, size) if size else None,
        precision=hits / predicted if predicted else None,
        mean_probability=float(cells[f"probability_{code}"].sum()) / rows,
        auc=None if area is None else area.area,
        auc_error=None if area is None else area.error,
        auc_interval=None if area is None else area.interval,
        brier_score=float(cells[f"distance_{code}"].sum()) / rows,
    )


def _calibration(tenth: int, cells: pl.DataFrame) -> Calibration:
    part = cells.filter(pl.col("tenth") == tenth)
    rows, right = int(part["rows"].sum()), int(part.filter("right")["rows"].sum())
    return Calibration(
        lower=tenth / CALIBRATION_BINS,
        upper=(tenth + 1) / CALIBRATION_BINS,
        rows=rows,
        mean_probability=float(part["top"].sum()) / rows,
        accuracy=right / rows,
        interval=intervals.wilson_interval(right, rows),
    )


def weighted_area(bins: pl.DataFrame) -> float | None:
    """Compute the area under the ROC curve of weighted rows, those of one bin tied; None where all are of one kind."""
    own, weight = pl.col("own"), pl.col(WEIGHT).cast(pl.Float64)
    both = bins.group_by("bin").agg(weight.filter(own).sum().alias("p"), weight.filter(~own).sum().alias("n"))
    p, n = (both.sort("bin")[name] for name in ("p", "n"))
    pairs = float(p.sum()) * float(n.sum())
    return float((p * (n.cum_sum() - n / 2)).sum()) / pairs if pairs else None


def weighted_figures(
    cells: pl.DataFrame, classes: int, step: Fraction, areas: Sequence[float | None]
) -> WeightedFigures | None:
    """Compute the figures from sums over cells and weighted areas; None where no row has a weight above 0."""
    total = int(cells[WEIGHT].sum())
    if not total:
        return None
    summed = cells.group_by("true", "predicted code").agg(pl.col(WEIGHT).sum())
    steps = {(true, code): int(weight) for true, code, weight in summed.rows()}
    confusion = [[steps.get((true, code), 0) for code in range(classes)] for true in range(classes)]
    sizes, hits = [sum(row) for row in confusion], [confusion[code][code] for code in range(classes)]
    recalls = [hit / size if size else None for hit, size in zip(hits, sizes, strict=True)]
    tenths = [cells.filter(pl.col("tenth") == tenth) for tenth in cells["tenth"].unique().sort()]
    weights = [int(tenth[WEIGHT].sum()) for tenth in tenths]
    calibration = [
        (_sum(tenth, "top") / weight, int(tenth.filter("right")[WEIGHT].sum()) / weight) if weight else None
        for tenth, weight in zip(tenths, weights, strict=True)
    ]
    distances = [0 if each is None else abs(each[0] - each[1]) for each in calibration]
    ranked = [area for area in areas if area is not None]
    return WeightedFigures(
        weight=float(total * step),
        accuracy=sum(hits) / total,
        majority=max(sizes) / total,
        balanced_accuracy=fmean(recall for recall in recalls if recall is not None),
        auc=fmean(ranked) if ranked else None,
        log_loss=_sum(cells, "loss") / total,
        brier_score=_sum(cells, "distance") / total,
        calibration_error=sum(weight * distance for weight, distance in zip(weights, distances, strict=True)) / total,
        confusion=tuple(tuple(float(count * step) for count in row) for row in confusion),
        shares=tuple(size / total for size in sizes),
        mean_probabilities=tuple(_sum(cells, f"probability_{code}") / total for code in range(classes)),
        recalls=tuple(recalls),
        calibration=tuple(calibration),
    )


def _sum(cells: pl.DataFrame, name: str) -> float:
    return float(cells[WEIGHED + name].sum())
