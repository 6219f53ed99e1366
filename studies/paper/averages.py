"""Averages of cells by method and setting, and the series, axes and horizontal lines that figures draw of them.

A method is a mechanism, its noise family, its rule for delta, and how it weights attributes. A setting is what is
repeated over iterations and folds: a method on a data set, with an epsilon, a division of the budget, and a factor of
the bounds.

Figures of the study ``evaluation``: accuracy and log loss, each against epsilon; errors of released means and
variances, and how many attributes are lost. Of ``bounds``, ``allocation`` and ``runtime``: accuracy against the factor
by which every numeric bound was widened; accuracy against epsilon for each division of the budget between attributes;
and seconds against rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from dpnb_columnar.releases.attribute_weights import AUTO
from dpnb_columnar.releases.attribute_weights import NONE as UNWEIGHTED
from dpnb_columnar.report.figures import Axis, Point, Series
from studies.figures import (
    BASELINES,
    NONE,
    ORDERED,
    STYLES,
    Figure,
    LogAxis,
    Panel,
    Reference,
    Style,
    legend_order,
    logarithmic,
    shared_limits,
    style,
)
from studies.paper.experiments import NO_DELTA, WEIGHTED

METHOD = ("mechanism", "noise", "delta", "attribute_weights")
"""Columns that name a method."""

SETTING = ("dataset", *METHOD, "epsilon", "weights", "bounds")
"""Columns that name a setting."""

WITHIN = 0.01
"""Accuracies closer than this count as the same in sentences."""

Method = tuple[str, str | None, str, str]
"""Mechanism, noise, delta and attribute weights."""

WORST = 0.05
"""A release is as bad as this quantile, or worse, once in twenty times: a mean does not show it."""


def accuracies(cells: pl.DataFrame) -> pl.DataFrame:
    """Average the accuracy of each setting, as the paper does, with the quantiles of single releases.

    Returns:
        Columns ``SETTING``, ``accuracy`` and ``log_loss`` (mean over iterations of the mean over folds), ``low`` and
        ``high`` (quantiles of the accuracy over all releases, ``WORST`` from either end), ``releases`` and ``chosen``
        (the attribute weights of a release), sorted.
    """
    accuracy = pl.col("accuracy")
    iterations = cells.group_by(*SETTING, "iteration").agg(accuracy.mean(), pl.col("log_loss").mean())
    means = iterations.group_by(SETTING).agg(accuracy.mean(), pl.col("log_loss").mean())
    releases = cells.group_by(SETTING).agg(
        accuracy.quantile(WORST, "linear").alias("low"),
        accuracy.quantile(1 - WORST, "linear").alias("high"),
        pl.len().alias("releases"),
        pl.col("chosen").drop_nulls().sort().last(),
    )
    return means.join(releases, on=SETTING, nulls_equal=True).sort(SETTING)


def quartiles(cells: pl.DataFrame, error: str) -> pl.DataFrame:
    """Take the quartiles of an error per setting, over all iterations and folds: heavy-tailed noise has no useful mean.

    Returns:
        Columns ``SETTING``, ``low``, ``median`` and ``high``, sorted; settings without the error are left out.
    """
    column = pl.col(error)
    return (
        cells.filter(column.is_not_null())
        .group_by(SETTING)
        .agg(
            column.quantile(0.25, "linear").alias("low"),
            column.median().alias("median"),
            column.quantile(0.75, "linear").alias("high"),
        )
        .sort(SETTING)
    )


def private(frame: pl.DataFrame) -> pl.DataFrame:
    """Select the rows of mechanisms that are no baselines and have an epsilon."""
    return frame.filter(~pl.col("mechanism").is_in(BASELINES), pl.col("epsilon").is_not_null())


def pure(frame: pl.DataFrame) -> pl.DataFrame:
    """Select the rows of private mechanisms without a delta."""
    return private(frame).filter(pl.col("delta") == NO_DELTA)


def weighted(frame: pl.DataFrame, attribute_weights: str) -> pl.DataFrame:
    """Select the rows with these attribute weights, and the baselines, which have none."""
    return frame.filter((pl.col("attribute_weights") == attribute_weights) | pl.col("mechanism").is_in(BASELINES))


def by_dataset(frame: pl.DataFrame) -> list[pl.DataFrame]:
    """Split averages by data set, in the order of their names, leaving out those without a private mechanism."""
    parts = [frame.filter(pl.col("dataset") == name) for name in frame["dataset"].unique().sort()]
    return [part for part in parts if len(private(part))]


def names(frame: pl.DataFrame) -> Mapping[Method, str]:
    """Label the methods of these rows, in the order of legends.

    The noise is named where a delta needs it, or where the mechanism has several; attribute weights are where there are
    several ways.
    """
    methods: list[Method] = [tuple(row) for row in frame.select(METHOD).unique().iter_rows()]
    methods.sort(
        key=lambda method: (
            legend_order(method[0]),
            method[2] != NO_DELTA,
            method[2],
            method[1] or "",
            method[3] == AUTO,
        )
    )
    noises = {(mechanism, noise) for mechanism, noise, delta, _ in methods if delta == NO_DELTA}
    alone = [mechanism for mechanism, _ in noises]
    several = len({weights for mechanism, _, _, weights in methods if mechanism not in BASELINES}) > 1
    labels = {}
    for mechanism, noise, delta, weights in methods:
        words = [mechanism]
        if noise and (delta != NO_DELTA or alone.count(mechanism) > 1):
            words.append(noise)
        if several and weights != UNWEIGHTED:
            words.append(weights)
        labels[mechanism, noise, delta, weights] = ", ".join(words)
    return labels


def of_method(frame: pl.DataFrame, method: Method) -> pl.DataFrame:
    """Select the rows of one method."""
    mechanism, noise, delta, weights = method
    return frame.filter(
        pl.col("mechanism") == mechanism,
        pl.col("noise").eq_missing(pl.lit(noise)),
        pl.col("delta") == delta,
        pl.col("attribute_weights") == weights,
    )


def level(averages: pl.DataFrame, baseline: str, measure: str = "accuracy") -> float | None:
    """Average the accuracy, or another measure, of a baseline over all its settings; None where it was not run."""
    mean = averages.filter(pl.col("mechanism") == baseline)[measure].mean()
    return None if mean is None else float(mean)  # type: ignore[arg-type]


def references(averages: pl.DataFrame, measure: str = "accuracy") -> tuple[Reference, ...]:
    """Make a horizontal line of each baseline that was run."""
    levels = ((name, level(averages, name, measure)) for name in BASELINES)
    return tuple(Reference(name, style(name), value, f"{value:.3f}") for name, value in levels if value is not None)


def lines(averages: pl.DataFrame, x: str, labels: Mapping[Method, str]) -> tuple[Series, ...]:
    """Make one series per method, accuracy against a column."""
    return tuple(
        Series(label, style(method[0], method[1]), accuracy_points(of_method(averages, method), x))
        for method, label in labels.items()
    )


def accuracy_points(averages: pl.DataFrame, x: str) -> tuple[Point, ...]:
    """Make points of accuracy with bars between the quantiles of single releases, sorted by a column."""
    return tuple(_accuracy_point(row, x) for row in averages.sort(x).iter_rows(named=True))


def _accuracy_point(row: Mapping[str, Any], x: str) -> Point:
    accuracy, low, high = row["accuracy"], row["low"], row["high"]
    if row["releases"] == 1:
        return Point(float(row[x]), accuracy, None, None, f"{accuracy:.3f}")
    return Point(float(row[x]), accuracy, low, high, f"{accuracy:.3f} ({low:.3f})")


ACCURACY_BARS = (
    "Mean over iterations of the mean over folds; in parentheses the 5 % quantile over all releases, each scored on "
    "its fold. Bars reach from that quantile to the 95 % quantile."
)
"""How to read the points of ``accuracy_points``."""


def epsilon_axis(values: Iterable[float | None]) -> Axis:
    """Make the axis of the total epsilon, on a logarithmic scale."""
    return logarithmic("epsilon", "total ε", [value for value in values if value is not None])


def accuracy_axis(limits: tuple[float, float]) -> Axis:
    """Make an axis of accuracy between limits, cut to the range of an accuracy."""
    return Axis("accuracy", "accuracy", limits=(max(limits[0], -0.02), min(limits[1], 1.02)))


def listed(words: list[str]) -> str:
    """List words as a sentence does."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


TELLING = 0.1
"""Epsilon that captions on accuracy state; the one nearest to it where it was not run."""

ACCURACY_NOTES = f"{ACCURACY_BARS} none: naive Bayes without privacy. majority: always the largest class."

LOSS_NOTES = (
    "Mean over iterations and folds of -log of the probability of a row's true class, in nats. none: naive Bayes "
    "without privacy. majority: always the largest class."
)


def accuracy_figures(cells: pl.DataFrame) -> list[Figure]:
    """Draw up the paper's figures, accuracy against epsilon: one per data set, in the order of their names."""
    return [_accuracy_figure(averages) for averages in by_dataset(accuracies(cells))]


def _accuracy_figure(averages: pl.DataFrame) -> Figure:
    """Make the figure of one data set: pure mechanisms, then one panel per delta beside the pure ones it replaces."""
    dataset = averages["dataset"][0]
    deltas = sorted(set(private(averages)["delta"]) - {NO_DELTA})
    parts = _by_weights(pure(averages))
    for delta in deltas:
        mechanisms = private(averages).filter(pl.col("delta") == delta)["mechanism"].unique().to_list()
        beside = (pl.col("delta") == delta) | ((pl.col("delta") == NO_DELTA) & pl.col("mechanism").is_in(mechanisms))
        plain = weighted(private(averages), UNWEIGHTED)
        parts.append((f"(ε, δ), δ = {delta.replace('^2', '²')}", plain.filter(beside)))
    levels = references(averages)
    series = [lines(part, "epsilon", names(part)) for _, part in parts]
    y = accuracy_axis(shared_limits(series, [line.value for line in levels]))
    panels = tuple(
        Panel(title, epsilon_axis(averages["epsilon"]), y, drawn, references=levels)
        for (title, _), drawn in zip(parts, series, strict=True)
    )
    return Figure(dataset, f"{dataset}, accuracy", _accuracy_caption(averages), ACCURACY_NOTES, panels)


def _by_weights(averages: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Return the rows of each way to weight attributes, with a title."""
    title = "ε-differential privacy"
    parts = [(title, weighted(averages, UNWEIGHTED)), (f"{title}, attribute weights {AUTO}", weighted(averages, AUTO))]
    return [(name, part) for name, part in parts if len(part)]


def loss_figures(cells: pl.DataFrame) -> list[Figure]:
    """Draw the figures of log loss, where it was measured: one per way to weight attributes, a panel per data set."""
    measured = accuracies(cells.filter(pl.col("log_loss").is_not_null()))
    ways = [weights for weights in WEIGHTED if len(pure(measured).filter(pl.col("attribute_weights") == weights))]
    return [_loss_figure(weighted(measured, weights), weights) for weights in ways]


def _loss_figure(averages: pl.DataFrame, weights: str) -> Figure:
    panels = []
    for own in by_dataset(averages):
        levels = references(own, "log_loss")
        series = tuple(
            Series(label, style(method[0], method[1]), _loss_points(of_method(pure(own), method)))
            for method, label in names(pure(own)).items()
        )
        axis = LogAxis("log_loss", "log loss")
        panels.append(Panel(own["dataset"][0], epsilon_axis(own["epsilon"]), axis, series, references=levels))
    title = f"Log loss, attribute weights {weights}"
    return Figure(f"log-loss-{weights}", title, _loss_caption(pure(averages)), LOSS_NOTES, tuple(panels))


def _loss_points(own: pl.DataFrame) -> tuple[Point, ...]:
    rows = own.sort("epsilon").select("epsilon", "log_loss").iter_rows()
    return tuple(Point(epsilon, loss, None, None, f"{loss:.3f}") for epsilon, loss in rows)


def _loss_caption(frame: pl.DataFrame) -> str:
    """On how many data sets each mechanism has the smallest log loss."""
    epsilon = _nearest(frame["epsilon"].unique().sort(), TELLING)
    leaders = (
        frame.filter(pl.col("epsilon") == epsilon)
        .sort("log_loss", "mechanism")
        .group_by("dataset", maintain_order=True)
        .first()
    )
    return f"Smallest log loss at ε = {epsilon:g}, by data sets: {led(leaders)}."


def led(leaders: pl.DataFrame) -> str:
    """Say of how many data sets each mechanism is ahead."""
    counts = leaders.group_by("mechanism").len().sort(["len", "mechanism"], descending=[True, False])
    return listed([f"{mechanism} on {number}" for mechanism, number in counts.iter_rows()])


def named(mechanism: object, attribute_weights: object) -> str:
    """Name a mechanism with its attribute weights, if it has any."""
    return str(mechanism) if attribute_weights == UNWEIGHTED else f"{mechanism} with weights {attribute_weights}"


def best(averages: pl.DataFrame, epsilon: float) -> dict[str, object] | None:
    """Select the row of the most accurate pure mechanism at an epsilon; None where none was run."""
    rows = pure(averages).filter(pl.col("epsilon") == epsilon)
    return max(rows.to_dicts(), key=lambda row: row["accuracy"], default=None)


def reached(averages: pl.DataFrame, method: Method, ceiling: float) -> float | None:
    """Find the epsilon from which on a method stays within ``WITHIN`` of an accuracy; None where it does not."""
    start: float | None = None
    for row in of_method(averages, method).sort("epsilon", descending=True).to_dicts():
        if row["accuracy"] < ceiling - WITHIN:
            break
        start = row["epsilon"]
    return start


def smooth_method(averages: pl.DataFrame) -> Method | None:
    """Name the pure variant of ``smooth`` without attribute weights; None where it was not run."""
    own = weighted(pure(averages), UNWEIGHTED).filter(pl.col("mechanism") == "smooth")
    return ("smooth", own["noise"][0], NO_DELTA, UNWEIGHTED) if len(own) else None


def _accuracy_caption(averages: pl.DataFrame) -> str:
    """From which epsilon on ``smooth`` comes close to no privacy, and which mechanism is best at a small epsilon."""
    sentences = []
    method, ceiling = smooth_method(averages), level(averages, NONE)
    if method is not None and ceiling is not None:
        start = reached(averages, method, ceiling)
        last = max(averages["epsilon"].drop_nulls())
        sentences.append(
            f"Up to ε = {last:g}, smooth stays more than {WITHIN:g} below the accuracy without privacy, {ceiling:.3f}."
            if start is None
            else f"From ε = {start:g} on, smooth is within {WITHIN:g} of the accuracy without privacy, {ceiling:.3f}."
        )
    epsilon = _nearest(averages["epsilon"].drop_nulls(), TELLING)
    first = best(averages, epsilon)
    if first is not None:
        own = pure(averages).filter(pl.col("epsilon") == epsilon, pl.col("mechanism") == "smooth")["accuracy"]
        beside = "" if first["mechanism"] == "smooth" or own.is_empty() else f"; smooth reaches {max(own):.3f}"
        name = named(first["mechanism"], first["attribute_weights"])
        sentences.append(f"At ε = {epsilon:g} the best is {name}, {first['accuracy']:.3f}{beside}.")
    return " ".join(sentences)


def _nearest(epsilons: pl.Series, wanted: float) -> float:
    """Return the epsilon nearest to another in ratio; the first of several."""
    distances = (epsilons.log() - pl.Series([wanted]).log().item()).abs()
    return float(epsilons.gather(distances.arg_min() or 0).item())


ERROR_NOTES = "Median over all iterations and folds; bars are the quartiles. Noise with heavy tails has no useful mean."

ERRORS = {
    "mean_error": (
        "Error of the released means",
        "standard deviations",
        "Root mean square over numeric attributes and classes of the error of a mean that the model uses, in standard "
        "deviations of the attribute in the class. Attributes without a usable spread, which tell nothing, are left "
        "out; a figure of their own counts them.",
    ),
    "variance_error": (
        "Error of the released variances",
        "|log ratio|",
        "Median over numeric attributes and classes of the absolute logarithm of used over exact variance. Attributes "
        "without a usable spread are left out.",
    ),
}
"""Column, title, label of the vertical axis, and definition."""

ERROR_EPSILON = 1.0
"""Epsilon that captions on errors state; the one nearest to it where it was not run."""


FLATTENED_NOTES = (
    "A numeric attribute none of whose released variances is above that of rounding gets one wide distribution for all "
    "classes, so it tells nothing. Mean number of such attributes over all iterations and folds."
)

RELEASED_NOTES = (
    "Root mean square over classes of the error of a mean as it was released, in standard deviations of the attribute "
    f"in the class, whatever the model makes of it. {ERROR_NOTES}"
)


def error_figures(cells: pl.DataFrame) -> list[Figure]:
    """Draw up the figures of both errors, where there are any: one each, with one panel per data set."""
    plain = weighted(cells, UNWEIGHTED)
    figures = [_error_figure(error, pure(quartiles(plain, error))) for error in ERRORS]
    return [figure for figure in (*figures, _flattened_figure(pure(plain)), *_released_figures(pure(plain))) if figure]


def _flattened_figure(cells: pl.DataFrame) -> Figure | None:
    counted = cells.filter(pl.col("flattened").is_not_null())
    means = counted.group_by(SETTING).agg(pl.col("flattened").cast(pl.Float64).mean().alias("mean")).sort(SETTING)
    if not means["mean"].sum():
        return None
    panels = []
    for dataset in means["dataset"].unique().sort():
        own = means.filter(pl.col("dataset") == dataset)
        series = tuple(
            Series(label, style(method[0], method[1]), _mean_points(of_method(own, method)))
            for method, label in names(own).items()
        )
        panels.append(Panel(dataset, epsilon_axis(own["epsilon"]), Axis("flattened", "attributes"), series))
    title = "Numeric attributes without a usable spread"
    worst = means.sort("mean", descending=True).row(0, named=True)
    caption = (
        f"At most {worst['mean']:.1f} on average: {worst['mechanism']} on {worst['dataset']}, ε = {worst['epsilon']:g}."
    )
    return Figure("flattened", title, caption, FLATTENED_NOTES, tuple(panels))


def _mean_points(own: pl.DataFrame) -> tuple[Point, ...]:
    rows = own.sort("epsilon").select("epsilon", "mean").iter_rows()
    return tuple(Point(epsilon, mean, None, None, f"{mean:.2f}") for epsilon, mean in rows)


def _released_figures(cells: pl.DataFrame) -> list[Figure]:
    """Draw up one figure per data set, with one panel per numeric attribute."""
    long = (
        cells.filter(pl.col("released_means").list.len() > 0)
        .select(*SETTING, pl.col("released_means"))
        .explode("released_means")
        .unnest("released_means")
    )
    figures = []
    for dataset in long["dataset"].unique().sort():
        own = long.filter(pl.col("dataset") == dataset)
        panels = []
        for attribute in own["attribute"].unique(maintain_order=True).sort():
            frame = quartiles(own.filter(pl.col("attribute") == attribute), "error")
            series = tuple(
                Series(label, style(method[0], method[1]), points)
                for method, label in names(frame).items()
                if (points := _error_points(of_method(frame, method)))
            )
            if series:
                axis = LogAxis("error", "standard deviations")
                panels.append(Panel(attribute, epsilon_axis(frame["epsilon"]), axis, series))
        if panels:
            title = f"{dataset}, error of each released mean"
            figures.append(Figure(f"released-{dataset}", title, _released_caption(own), RELEASED_NOTES, tuple(panels)))
    return figures


def _released_caption(long: pl.DataFrame) -> str:
    """Say which attribute's mean ``smooth`` releases worst."""
    own = long.filter(pl.col("mechanism") == "smooth")
    if own.is_empty():
        return "Errors of single attributes differ: a wide declared range, or values far from normal, cost most."
    epsilon = min(own["epsilon"].unique(), key=lambda value: abs(value - ERROR_EPSILON))
    medians = own.filter(pl.col("epsilon") == epsilon).group_by("attribute").agg(pl.col("error").median())
    ordered = medians.sort("error", "attribute", descending=[True, False])
    (worst, most), (first, least) = ordered.row(0), ordered.row(-1)
    return f"smooth at ε = {epsilon:g}: from {least:.2g} deviations for {first} to {most:.2g} for {worst}."


def _error_figure(error: str, frame: pl.DataFrame) -> Figure | None:
    title, axis, definition = ERRORS[error]
    panels = []
    for dataset in frame["dataset"].unique().sort():
        own = frame.filter(pl.col("dataset") == dataset)
        series = tuple(
            Series(label, style(method[0], method[1]), points)
            for method, label in names(own).items()
            if (points := _error_points(of_method(own, method)))
        )
        if series:
            panels.append(Panel(dataset, epsilon_axis(own["epsilon"]), LogAxis(error, axis), series))
    if not panels:
        return None
    notes = f"{definition} {ERROR_NOTES}"
    return Figure(error.replace("_", "-"), title, _error_caption(frame), notes, tuple(panels))


def _error_points(own: pl.DataFrame) -> tuple[Point, ...]:
    """Medians with their quartiles; an error of zero has no place on a logarithmic scale."""
    return tuple(
        Point(
            row["epsilon"],
            row["median"],
            row["low"] if row["low"] > 0 else row["median"],
            row["high"],
            f"{row['median']:.3g} ({row['low']:.3g} to {row['high']:.3g})",
        )
        for row in own.sort("epsilon").iter_rows(named=True)
        if row["median"] > 0
    )


def _error_caption(frame: pl.DataFrame) -> str:
    """On how many data sets each mechanism is the most precise."""
    epsilon = min(frame["epsilon"].unique(), key=lambda value: abs(value - ERROR_EPSILON))
    leaders = (
        frame.filter(pl.col("epsilon") == epsilon)
        .sort("median", "mechanism")
        .group_by("dataset", maintain_order=True)
        .first()
    )
    return f"Smallest error at ε = {epsilon:g}, by data sets: {led(leaders)}."


ALLOCATION_NOTES = f"Allocations are numeric : categorical : class counts, per attribute. {ACCURACY_BARS}"

TIME_NOTES = "Median of the times measured; bars reach from the fastest to the slowest. Both scales are logarithmic."

STAGES = {"seconds": "From rows to the model", "release_seconds": "From counts to the model"}
"""Columns of the training times, and the stage that each one times."""

DIRECT = Style("ink", (3, 2), marker="x")
"""Style of a method that is no mechanism: the paper's quadratic search."""


def bounds_figures(cells: pl.DataFrame) -> list[Figure]:
    """Draw up one figure per data set, with one panel per epsilon."""
    return [_bounds_figure(averages) for averages in by_dataset(accuracies(cells))]


def _bounds_figure(averages: pl.DataFrame) -> Figure:
    dataset = averages["dataset"][0]
    epsilons = private(averages)["epsilon"].unique().sort().to_list()
    series = []
    for epsilon in epsilons:
        own = averages.filter((pl.col("epsilon") == epsilon) | (pl.col("mechanism") == NONE))
        series.append(lines(own, "bounds", names(own)))
    y = accuracy_axis(shared_limits(series))
    x = logarithmic("bounds", "bounds widened, times", [float(value) for value in averages["bounds"]])
    panels = tuple(Panel(f"ε = {epsilon:g}", x, y, drawn) for epsilon, drawn in zip(epsilons, series, strict=True))
    return Figure(f"bounds-{dataset}", f"{dataset}, bounds widened", _bounds_caption(averages), ACCURACY_BARS, panels)


def losses(averages: pl.DataFrame) -> tuple[float, float, dict[str, float]] | None:
    """Compute the accuracy that the widest bounds cost each pure mechanism, at the middle epsilon."""
    epsilons = pure(averages)["epsilon"].unique().sort()
    if not len(epsilons):
        return None
    epsilon, widest = epsilons[len(epsilons) // 2], averages["bounds"].max()
    own = pure(averages).filter(pl.col("epsilon") == epsilon)
    ends = [own.filter(pl.col("bounds") == factor).select("mechanism", "noise", "accuracy") for factor in (1, widest)]
    both = ends[0].join(ends[1], on=["mechanism", "noise"], nulls_equal=True)
    differences = both.select("mechanism", loss=pl.col("accuracy") - pl.col("accuracy_right"))
    by_mechanism = dict(differences.sort("loss", "mechanism").iter_rows())
    return (epsilon, float(widest), by_mechanism) if by_mechanism and widest != 1 else None  # type: ignore[arg-type]


def _bounds_caption(averages: pl.DataFrame) -> str:
    compared = losses(averages)
    if compared is None:
        return ""
    epsilon, widest, lost = compared
    parts = [f"{mechanism} {max(loss, 0):.3f}" for mechanism, loss in lost.items()]
    return f"At ε = {epsilon:g}, bounds {widest:,.0f} times too wide cost an accuracy of: {listed(parts)}."


def allocation_figures(cells: pl.DataFrame) -> list[Figure]:
    """Draw up one figure per data set, with one panel per method."""
    averages = accuracies(cells)
    allocations = sorted(private(averages)["weights"].unique(), key=_proportion)
    return [_allocation_figure(own, allocations) for own in by_dataset(averages)]


def _allocation_figure(averages: pl.DataFrame, allocations: list[str]) -> Figure:
    dataset, own = averages["dataset"][0], private(averages)
    levels = references(averages)
    panels = [(label, _allocation_series(of_method(own, method), allocations)) for method, label in names(own).items()]
    x = epsilon_axis(own["epsilon"])
    y = accuracy_axis(shared_limits([series for _, series in panels], [line.value for line in levels]))
    drawn = tuple(Panel(label, x, y, series, references=levels) for label, series in panels)
    title = f"{dataset}, budget allocations"
    return Figure(f"allocation-{dataset}", title, _allocation_caption(panels), ALLOCATION_NOTES, drawn)


def _allocation_series(own: pl.DataFrame, allocations: list[str]) -> tuple[Series, ...]:
    """Make one series per allocation that was run."""
    return tuple(
        Series(weights, ORDERED[number % len(ORDERED)], points)
        for number, weights in enumerate(allocations)
        if (points := accuracy_points(own.filter(pl.col("weights") == weights), "epsilon"))
    )


def _allocation_caption(panels: list[tuple[str, tuple[Series, ...]]]) -> str:
    """Say where each method's allocations differ most."""
    sentences = []
    for label, series in panels:
        spreads = []
        for x in sorted({point.x for line in series for point in line.points}):
            at_x = [(point.y, line.label) for line in series for point in line.points if point.x == x]
            spreads.append((max(at_x)[0] - min(at_x)[0], -x, max(at_x)[1]))
        spread, x, first = max(spreads)
        sentences.append(f"{label}: allocations differ by at most {spread:.3f}, at ε = {-x:g}, best {first}.")
    return " ".join(sentences)


def _proportion(weights: str) -> tuple[float, str]:
    """Sort key of allocations: the share of a numeric attribute over that of a categorical one; other texts last."""
    try:
        numeric, categorical = (float(part) for part in weights.split(":")[:2])
        return numeric / categorical, weights
    except (ValueError, ZeroDivisionError):
        return float("inf"), weights


def time_figures(times: pl.DataFrame) -> list[Figure]:
    """Draw up the figure of training times, where there are any.

    Args:
        times: Columns ``rows``, ``method``, ``seconds``, and ``release_seconds`` where it was measured.
    """
    parts = [(title, _condensed(times, column)) for column, title in STAGES.items() if column in times.columns]
    drawn = [(title, _time_series(frame)) for title, frame in parts if len(frame)]
    if not drawn:
        return []
    x = LogAxis("rows", "rows", _decades(times["rows"].cast(pl.Float64).to_list()))
    y = LogAxis("seconds", "seconds")
    panels = tuple(Panel(title, x, y, series) for title, series in drawn)
    return [Figure("runtime", "Training time", _time_caption(*drawn[0]), TIME_NOTES, panels)]


def _condensed(times: pl.DataFrame, column: str) -> pl.DataFrame:
    """Median, fastest and slowest time per method and size, sorted."""
    seconds = pl.col(column).cast(pl.Float64)
    return (
        times.filter(seconds > 0, pl.col("rows") > 0)
        .group_by("method", pl.col("rows").cast(pl.Float64))
        .agg(seconds.median().alias("seconds"), seconds.min().alias("low"), seconds.max().alias("high"))
        .sort("method", "rows")
    )


def _time_series(condensed: pl.DataFrame) -> tuple[Series, ...]:
    """Make one series per method."""
    return tuple(
        Series(method, style(method) if method in STYLES else DIRECT, _time_points(condensed, method))
        for method in sorted(condensed["method"].unique(), key=legend_order)
    )


def _time_points(condensed: pl.DataFrame, method: str) -> tuple[Point, ...]:
    return tuple(
        Point(row["rows"], row["seconds"], row["low"], row["high"], f"{row['seconds']:.3g}")
        for row in condensed.filter(pl.col("method") == method).iter_rows(named=True)
    )


def _decades(places: list[float]) -> tuple[tuple[float, str], ...]:
    """Powers of ten around these places."""
    ends = math.floor(math.log10(min(places))), math.ceil(math.log10(max(places)))
    return tuple((10.0**power, f"{10**power:,}") for power in range(ends[0], ends[1] + 1))


def _time_caption(title: str, series: tuple[Series, ...]) -> str:
    """Say the time of the largest run, and the power of rows that time grows with at the large end."""
    parts = []
    for line in series:
        last = line.points[-1]
        growth = ""
        if earlier := [point for point in line.points[:-1] if last.x / point.x <= 10] or line.points[-2:-1]:
            first = earlier[0]
            growth = f", growing as rows to the power {math.log(last.y / first.y) / math.log(last.x / first.x):.1f}"
        parts.append(f"{line.label} takes {last.y:.2g} s for {last.x:,.0f} rows{growth}")
    return f"{title}: {listed(parts)}."
