"""Attack one released model by rows that trained it and rows that did not. CONFIDENTIAL: every figure is exact.

*Membership.* Rows are ranked by several scores, those of members above the others where the attack succeeds. A naive
Bayes model tells P(x, y); what it tells of a row beyond the population is the ratio of that to the P(x, y) of other
rows, summed over attributes in logarithms, the test of Homer et al. (2008) as Sankararaman, Obozinski, Jordan and
Halperin (2009) bound it. The population's part is estimated from half of the others. The scores of classifiers in
general are ranked beside it: confidence and entropy (Yeom et al. 2018), modified entropy (Song and Mittal 2021). Best
score and thresholds are chosen on one half of the rows, by a bit of each row's digest, and measured on the other.

*Attributes.* Given a row's class the attributes of a naive Bayes model are independent, so that no other attribute says
more: the guess is the likeliest value of the class, of a normal distribution within ``NEAR`` of its mean. It depends on
the model alone, so that all rows measure it; a correct guess counts as a flag (Yeom et al. 2018, section 5).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from dpnb_columnar.core.guarantee import Guarantee
from dpnb_columnar.domain import Attribute, Numeric, Unit
from dpnb_columnar.domain.column_kinds import Kind
from dpnb_columnar.domain.names import listed
from dpnb_columnar.errors import DataError, UsageError, command, option
from dpnb_columnar.evaluation.exact_evaluation import Ranking, ranking
from dpnb_columnar.extensions.attack.attack_figures import AttackReport, Flagged, Guessed, Implied, RankedScore, Rate
from dpnb_columnar.extensions.attack.membership_bounds import (
    contradicted,
    largest_advantage,
    largest_area,
    largest_curve,
    largest_rate,
    surprise,
)
from dpnb_columnar.model import intervals
from dpnb_columnar.model.guarantee_text import relation_text, statement
from dpnb_columnar.model.likelihood import log_normalisation, missing_terms, present_terms
from dpnb_columnar.model.parameters import AttributeParameters, NaiveBayes, Normal, Table
from dpnb_columnar.model.polars_terms import prepared_value
from dpnb_columnar.model.scoring import probability_column, score, small_batches
from dpnb_columnar.releases.model_plan import software
from dpnb_columnar.rows.frames import Frame, open_frame, to_polars
from dpnb_columnar.rows.holdout import row_words
from dpnb_columnar.rows.parquet import BATCH_ROWS, Batches
from dpnb_columnar.rows.row_rules import INTEGER_RANGES, class_code, row_fits
from dpnb_columnar.rows.streaming import NAME, failed_query, query_errors
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.row_progress import begin_pass

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

ERROR = 0.01
"""Probability that a report says of any figure that it exceeds the bound of a guarantee that holds."""

AIMS = (None, 0.1, 0.01, 0.001)
"""Rates of false positives that thresholds are chosen for; None for the largest advantage."""

LEAST = 20
"""Members, and others, of each half."""

CELLS = 4096
"""Even cells of a scale that the numbers of a normal attribute are put into."""

NEAR = 0.025
"""Part of the width of the bounds within which a guessed number is right."""

POINTS = 200
"""Points of a ROC curve that are kept."""

LIKELIHOOD_RATIO = "likelihood ratio"
WEIGHTED_JOINT = "weighted log P(x, y)"


@confined()
def attack(
    model: NaiveBayes, members: Batches, others: Batches, sensitive: Collection[str] = (), error: float = ERROR
) -> AttackReport:
    """Attack a model. Some hundred bytes of each row are held in memory, and a few for each attribute."""
    tables = [_table(model, place) for place in _guessed_places(model, sensitive)]
    attributes = [_table(model, place) for place in range(len(model.attributes))]
    columns = _key_columns(model.domain.unit, members, others)
    trained, fresh = (_read(model, attributes, rows, columns) for rows in (members, others))
    both = int(np.isin(fresh.keys, trained.keys).sum())
    whole_units = model.domain.unit is not None
    if both:
        raise DataError(_overlap(members.name, others.name, columns, whole_units=whole_units))
    every = len(trained.keys) + len(fresh.keys)
    trained, fresh = (rows.kept(_attacked(rows.keys, whole_units=whole_units)) for rows in (trained, fresh))
    halves = [(rows.kept(_first_half(rows.keys)), rows.kept(~_first_half(rows.keys))) for rows in (trained, fresh)]
    for rows, parts in zip((members, others), halves, strict=True):
        if min(len(part.keys) for part in parts) < LEAST:
            raise DataError(
                f"{rows.name}: too few rows can be attacked: {LEAST} in each half are needed that fit the domain and "
                "equal no other row; where equal rows are different persons, number the rows before they are split"
            )
    (chosen_members, tested_members), (chosen_others, tested_others) = halves
    reference = _reference(model, attributes, chosen_others)
    themselves = _reference(model, attributes, chosen_others, without=1)
    first = [
        _scores(model, attributes, population, rows)
        for population, rows in ((reference, chosen_members), (themselves, chosen_others))
    ]
    second = [_scores(model, attributes, reference, rows) for rows in (tested_members, tested_others)]
    areas = {name: _ranking(first[0][name], first[1][name]).area for name in first[0]}
    best = max(areas, key=lambda name: areas[name])
    implied = _implied(model.guarantee)
    part = len(trained.keys) / (len(trained.keys) + len(fresh.keys))
    flagged = tuple(
        _flagged(name, aim, [each[name] for each in first], [each[name] for each in second], implied, part)
        for name in dict.fromkeys((LIKELIHOOD_RATIO, best))
        for aim in AIMS
    )
    guessed = tuple(_guessed(table, trained, fresh, implied, part) for table in tables if table.cells > 1)
    limit, delta = error / (len(flagged) + len(guessed)), 0.0 if implied is None else implied.delta
    counted = [
        (each.members.hits, each.others.hits, each.members.rows + each.others.rows) for each in flagged + guessed
    ]
    strongest = next(each for each in flagged if each.score == best)
    measured = {name: _ranking(second[0][name], second[1][name]) for name in areas}
    return AttackReport(
        guarantee=statement(model.guarantee),
        relation="" if implied is None else _relation(model.guarantee),
        members=len(trained.keys),
        others=len(fresh.keys),
        left_out=every - len(trained.keys) - len(fresh.keys),
        chosen_on=(len(chosen_members.keys), len(chosen_others.keys)),
        implied=implied,
        scores=tuple(RankedScore(name, each.area, each.interval, name == best) for name, each in measured.items()),
        advantage=strongest.members.share - strongest.others.share,
        advantage_interval=intervals.difference(
            *((rate.hits, rate.rows) for rate in (strongest.members, strongest.others))
        ),
        flagged=flagged,
        guessed=guessed,
        contradicted=max(contradicted(one, one + other, rows, part, limit, delta) for one, other, rows in counted),
        roc={name: _curve(second[0][name], second[1][name]) for name in dict.fromkeys((LIKELIHOOD_RATIO, best))},
        error=error,
        level=intervals.LEVEL,
    )


def batches_of_frame(frame: Frame, name: str = NAME) -> Batches:
    """Return the rows of a frame; a lazy one is computed once."""
    try:
        rows = to_polars(frame).lazy().collect().to_arrow()
    except query_errors():
        raise failed_query(name) from None
    return Batches(name, rows.schema, iter(rows.to_batches(BATCH_ROWS)), lambda: len(rows))


def to_document(report: AttackReport, model: str) -> dict[str, Any]:
    """Make the document of an attack, for archives and for other programs. CONFIDENTIAL.

    Version 1 holds ``confidential``, true; the fields of ``AttackReport`` and of its parts by their names; ``format``,
    ``version``, ``software`` and ``model``, the SHA-256 of the model's document; and ``holds``, whether nothing exceeds
    the bound, null without a bound, and ``exceeded``, what does.
    """
    return {
        "confidential": True,
        "format": "dpnb_columnar attack on a model",
        "version": 1,
        "software": software(),
        "model": model,
        "holds": None if report.implied is None else not report.exceeded,
        "exceeded": report.exceeded,
        **asdict(report),
    }


@dataclass(frozen=True, slots=True, eq=False)
class _LogTable:
    """An attribute of the model as a table of logarithms.

    Attributes:
        attribute: The attribute as declared.
        parameters: Its parameters.
        place: Its place among the model's cells.
        logs: Shape (classes, cells + 1): the log-probability of each cell; last, of no value, 0 where that is left out.
        right: Shape (classes, cells): the cells in which a guess from the class is right.
    """

    attribute: Attribute
    parameters: AttributeParameters
    place: int
    logs: Floats
    right: Flags

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.right[0])

    @property
    def counts_missing(self) -> bool:
        """Whether to have no value says something, and stands in no cell of the table."""
        return missing_terms(self.parameters) is not None

    def cell(self, kind: Kind) -> pl.Expr:
        """Return the cell of a row; the number of cells where it has no value."""
        value = prepared_value(self.attribute, self.parameters, kind)
        if isinstance(self.parameters, Normal):
            assert isinstance(self.attribute, Numeric)
            scale = self.attribute.scale
            value = ((value - scale.origin) / (scale.end - scale.origin) * CELLS).floor().clip(0, CELLS - 1)
        small = next(type_ for type_ in (pl.Int8, pl.Int16, pl.Int32) if self.cells <= INTEGER_RANGES[type_][1])
        return value.cast(pl.Int32).fill_null(self.cells).cast(small)


def _guessed_places(model: NaiveBayes, sensitive: Collection[str]) -> list[int]:
    """Return the places of the attributes to guess."""
    names = [parameters.attribute for parameters in model.attributes]
    if unknown := [name for name in sensitive if name not in names]:
        raise UsageError(
            f"{option('sensitive')}: {listed(unknown)} is no attribute of the model; its attributes are {listed(names)}"
        )
    return [place for place, name in enumerate(names) if not sensitive or name in sensitive]


def _table(model: NaiveBayes, place: int) -> _LogTable:
    parameters = model.attributes[place]
    attribute = model.domain[parameters.attribute]
    if isinstance(parameters, Normal):
        assert isinstance(attribute, Numeric)
        middles, width = _middles(attribute)
        logs = _normal_logs(attribute, parameters.mean, parameters.deviation)
        near = NEAR * width * CELLS
        right = np.array([np.abs(middles - mean) <= near for mean in parameters.mean])
    else:
        probability = np.array(parameters.probability)
        logs, right = np.log(probability), probability == probability.max(axis=1, keepdims=True)
        right &= right.cumsum(axis=1) == 1  # of several the first
    missing = np.zeros(len(logs))
    if not isinstance(parameters, Table):
        logs = logs + np.array(present_terms(parameters))[:, None]
        if missing_terms(parameters) is not None and parameters.presence is not None:
            missing = np.log([without for _, without in parameters.presence.probability])
    return _LogTable(attribute, parameters, place, np.column_stack([logs, missing]), right)


def _middles(attribute: Numeric) -> tuple[Floats, float]:
    """Return the middles of the cells of a scale, and their width."""
    width = (attribute.scale.end - attribute.scale.origin) / CELLS
    middles = np.linspace(attribute.scale.origin + width / 2, attribute.scale.end - width / 2, CELLS)
    return middles, width


def _normal_logs(attribute: Numeric, means: Sequence[float], deviations: Sequence[float]) -> Floats:
    """Return the log-probability of each cell, shape (classes, cells), by the density in its middle."""
    middles, width = _middles(attribute)
    origin, end = attribute.scale.origin, attribute.scale.end
    return np.array(
        [
            log_normalisation(mean, deviation, origin, end) + math.log(width) - ((middles - mean) / deviation) ** 2 / 2
            for mean, deviation in zip(means, deviations, strict=True)
        ]
    )


@dataclass(frozen=True, slots=True, eq=False)
class _AttackedRows:
    """Rows as arrays. Confidential.

    Attributes:
        keys: A number of each row, or of its unit: equal where these are.
        classes: The class of each row.
        cells: Per attribute of the model, the cell of each row (``_LogTable.cell``).
        odds: Log-odds of the row's own class.
        confidences: More scores by name, which are functions of the probabilities.
    """

    keys: NDArray[np.uint64]
    classes: NDArray[np.int16]
    cells: Sequence[NDArray[Any]]
    odds: Floats
    confidences: Mapping[str, Floats]

    def kept(self, chosen: Flags) -> _AttackedRows:
        """Return some of the rows."""
        return _AttackedRows(
            self.keys[chosen],
            self.classes[chosen],
            [cells[chosen] for cells in self.cells],
            self.odds[chosen],
            {name: values[chosen] for name, values in self.confidences.items()},
        )


def _key_columns(unit: Unit | None, members: Batches, others: Batches) -> tuple[str, ...]:
    """Choose the columns by which rows are told apart: those of the unit, or all that both have."""
    if unit is None:
        return tuple(name for name in members.schema.names if name in others.schema.names)
    for rows in (members, others):
        if absent := [name for name in unit.columns if name not in rows.schema.names]:
            raise DataError(f"{rows.name}: has no column {listed(absent)}, which names the unit of the guarantee")
    return tuple(unit.columns)


def _read(model: NaiveBayes, tables: Sequence[_LogTable], rows: Batches, columns: Sequence[str]) -> _AttackedRows:
    """Read the rows that training counts, batch by batch."""
    advance, parts = begin_pass(rows.size), []
    with small_batches(model):
        for batch in rows.batches:
            parts.append(_read_batch(model, tables, batch, columns, rows.name))
            if advance is not None:
                advance(len(batch))
    if not sum(len(part.keys) for part in parts):
        raise DataError(
            f"{rows.name}: no row fits the model's domain; compare its values with what domain show and check print"
        )
    return _AttackedRows(
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.classes for part in parts]),
        [np.concatenate([part.cells[place] for part in parts]) for place in range(len(tables))],
        np.concatenate([part.odds for part in parts]),
        {name: np.concatenate([part.confidences[name] for part in parts]) for name in parts[0].confidences},
    )


def _read_batch(
    model: NaiveBayes, tables: Sequence[_LogTable], batch: pa.RecordBatch, columns: Sequence[str], name: str
) -> _AttackedRows:
    domain = model.domain.per_row
    named = dict(zip(batch.schema.names, batch.columns, strict=True))
    keys = row_words({column: named[column] for column in columns}, len(batch), "attack")
    try:
        read = [column for column in batch.schema.names if column in domain.counted_columns]
        opened = open_frame(pl.DataFrame(pl.from_arrow(batch.select(read))), domain, name)
        kinds = opened.kinds
        values = opened.rows.select(
            row_fits(domain, kinds).alias("fits"),
            class_code(domain, kinds).fill_null(0).cast(pl.Int16).alias("class"),
            *(table.cell(kinds[table.attribute.name]).alias(f"cell {table.place}") for table in tables),
        ).collect()
        scored = score(model, opened.rows.collect()).lazy().collect()
    except query_errors():
        raise DataError(f"{name}: cannot be read: damaged, or a text of it is not UTF-8") from None
    fits, classes = values["fits"].to_numpy(), values["class"].to_numpy()
    probabilities = np.array([scored[probability_column(klass)].to_numpy() for klass in domain.classes])
    return _AttackedRows(
        keys,
        classes,
        [values[f"cell {table.place}"].to_numpy() for table in tables],
        *_confidences(probabilities, classes),
    ).kept(fits)


def _confidences(probabilities: Floats, classes: NDArray[np.int16]) -> tuple[Floats, dict[str, Floats]]:
    """Return the log-odds of the true class, and the other scores that are functions of the probabilities.

    Of two classes margin and modified entropy rank rows as the log-odds do; of any number loss and confidence do.

    Args:
        probabilities: Shape (classes, rows).
    """
    rows = np.arange(len(classes))
    own = probabilities[classes, rows]
    rest = probabilities.copy()
    rest[classes, rows] = 0
    tiny = np.finfo(np.float64).tiny
    logs = np.log(np.maximum(probabilities, tiny))
    odds = logs[classes, rows] - np.log(np.maximum(rest.sum(axis=0), tiny))
    scores = {"entropy of the prediction, reversed": (probabilities * logs).sum(axis=0)}
    if len(probabilities) > 2:
        scores["margin of the true class"] = own - rest.max(axis=0)
        spread = (rest * np.log(np.maximum(1 - rest, tiny))).sum(axis=0)
        scores["modified entropy, reversed"] = (1 - own) * logs[classes, rows] + spread
    return odds, scores


def _overlap(members: str, others: str, columns: Sequence[str], *, whole_units: bool) -> str:
    what = "rows are of units" if whole_units else "rows equal rows"
    by = listed(columns) if whole_units else "in every column"
    remedy = (
        f"hold out whole units, such as {command('split', by='COLUMN')} does"
        if whole_units
        else "leave them out of one of the two; where equal rows are different persons, number the rows first"
    )
    return f"CONFIDENTIAL: {others}: {what} of {members} ({by}), so they are no others; {remedy}"


def _attacked(keys: NDArray[np.uint64], *, whole_units: bool) -> Flags:
    """Choose the rows that came to be members by themselves: one of each unit, or those that equal no other row."""
    _, firsts, place, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    if not whole_units:
        alone: Flags = counts[place] == 1
        return alone
    chosen = np.zeros(len(keys), np.bool_)
    chosen[firsts] = True
    return chosen


def _first_half(keys: NDArray[np.uint64]) -> Flags:
    return (keys & np.uint64(1)).astype(np.bool_)


def _reference(
    model: NaiveBayes, tables: Sequence[_LogTable], rows: _AttackedRows, *, without: int = 0
) -> tuple[Floats, list[Floats]]:
    """Estimate what the population has: log-priors, and per attribute logarithms in the form of ``_LogTable.logs``.

    Args:
        without: 1 for what the rows would say without the very row that is looked up: it must not speak for itself.
    """
    size = len(model.priors)
    counts = np.bincount(rows.classes, minlength=size)
    logs = []
    for table in tables:
        cells = table.cells
        places = rows.classes * np.int64(cells + 1) + rows.cells[table.place]
        joint: Floats = np.bincount(places, minlength=size * (cells + 1)).reshape(size, cells + 1).astype(np.float64)
        present, missing = joint[:, :cells], joint[:, cells:]
        pooled: Floats = present.sum(axis=0)
        if isinstance(table.parameters, Normal):
            estimated = _normal_reference(table, present, pooled)
        else:  # half a row a cell, spread as those of all classes together are
            spread = (np.maximum(pooled - without, 0) + 0.5) / (max(pooled.sum() - without, 0) + 0.5 * cells)
            own = np.maximum(present - without, 0) + 0.5 * cells * spread
            estimated = np.log(own / (np.maximum(present.sum(axis=1, keepdims=True) - without, 0) + 0.5 * cells))
        absent = np.zeros((size, 1))
        if table.counts_missing:
            lacking = (missing + 0.5) / (joint.sum(axis=1, keepdims=True) + 1)
            estimated, absent = estimated + np.log1p(-lacking), np.log(lacking)
        logs.append(np.hstack([estimated, absent]))
    priors: Floats = np.log((counts + 0.5) / (counts.sum() + 0.5 * size))
    return priors, logs


def _normal_reference(table: _LogTable, present: Floats, pooled: Floats) -> Floats:
    """Fit a normal distribution to each class, with two rows of all classes together added to its own."""
    assert isinstance(table.attribute, Numeric)
    middles, width = _middles(table.attribute)
    share = 2 * pooled / max(pooled.sum(), 1.0)
    if not pooled.sum():
        share = np.full(CELLS, 2 / CELLS)
    weights = present + share
    means = weights @ middles / weights.sum(axis=1)
    variances = np.array([each @ (middles - mean) ** 2 / each.sum() for each, mean in zip(weights, means, strict=True)])
    return _normal_logs(table.attribute, means.tolist(), np.sqrt(variances + (width / 2) ** 2).tolist())


def _scores(
    model: NaiveBayes, tables: Sequence[_LogTable], reference: tuple[Floats, list[Floats]], rows: _AttackedRows
) -> dict[str, Floats]:
    """Compute the scores of rows, by name: the larger, the more a row looks like a member."""
    classes = rows.classes
    joint, ratio = np.log(model.classes.probability)[classes], -reference[0][classes]
    ratio = ratio + joint
    weighted = (np.log(model.priors) + np.array(model.intercepts))[classes]
    for table, weight, population in zip(tables, model.weights, reference[1], strict=True):
        own = table.logs[classes, rows.cells[table.place]]
        joint = joint + own
        ratio += own - population[classes, rows.cells[table.place]]
        weighted += weight * own
    return {
        LIKELIHOOD_RATIO: ratio,
        "log P(x, y)": joint,
        **({} if model.attribute_weights is None else {WEIGHTED_JOINT: weighted}),
        "confidence of the true class": rows.odds,
        **rows.confidences,
    }


def _ranking(members: Floats, others: Floats) -> Ranking:
    """Compute the area under the ROC curve, with ties."""
    values, places = np.unique(np.concatenate([members, others]), return_inverse=True)
    own = np.arange(len(places)) < len(members)
    frame = pl.DataFrame({"own": own, "bin": places}).group_by("own", "bin").len("rows")
    result = ranking(frame.with_columns(pl.col("rows").cast(pl.Int64), least=pl.lit(0.0), largest=pl.lit(0.0)))
    assert result is not None, len(values)
    return result


def _threshold(members: Floats, others: Floats, aim: float | None) -> float:
    """Choose the threshold above which rows are flagged."""
    falling = np.sort(others)[::-1]
    if aim is not None:
        return float(falling[min(int(aim * len(falling)), len(falling) - 1)])
    candidates = np.unique(np.concatenate([members, others]))
    above = [len(part) - np.searchsorted(np.sort(part), candidates, side="right") for part in (members, others)]
    return float(candidates[np.argmax(above[0] / len(members) - above[1] / len(others))])


def _flagged(
    name: str,
    aim: float | None,
    chosen: Sequence[Floats],
    tested: Sequence[Floats],
    implied: Implied | None,
    part: float,
) -> Flagged:
    threshold = _threshold(chosen[0], chosen[1], aim)
    members, others = (_rate(int((values > threshold).sum()), len(values)) for values in tested)
    if implied is None:
        return Flagged(name, aim, members, others, None, None)
    bound = largest_rate(others.interval[1], implied.epsilon, implied.delta)
    return Flagged(name, aim, members, others, bound, _surprise(members, others, implied, part))


def _guessed(
    table: _LogTable, members: _AttackedRows, others: _AttackedRows, implied: Implied | None, part: float
) -> Guessed:
    rates = []
    for rows in (members, others):
        cells = rows.cells[table.place]
        known = cells < table.cells
        rates.append(_rate(int(table.right[rows.classes[known], cells[known]].sum()), int(known.sum())))
    one, other = rates
    return Guessed(
        table.attribute.name,
        one,
        other,
        (one.share if one.rows else 0.0) - (other.share if other.rows else 0.0),
        intervals.difference((one.hits, max(one.rows, 1)), (other.hits, max(other.rows, 1))),
        None if implied is None else _surprise(one, other, implied, part),
    )


def _surprise(members: Rate, others: Rate, implied: Implied, part: float) -> float:
    rows = members.rows + others.rows
    return surprise(members.hits, members.hits + others.hits, rows, part, implied.epsilon, implied.delta)


def _rate(hits: int, rows: int) -> Rate:
    tail = (1 - intervals.LEVEL) / 2
    if not rows:
        return Rate(0, 0, (0.0, 1.0))
    low, high = (bound(hits, rows, tail) for bound in (intervals.lower_bound, intervals.upper_bound))
    return Rate(hits, rows, (float(low), float(high)))


def _curve(members: Floats, others: Floats) -> tuple[tuple[float, float], ...]:
    """Return points (FPR, TPR) of a ROC curve, from the highest threshold to the lowest."""
    falling = np.unique(np.concatenate([members, others]))[::-1]
    falling = falling[np.unique(np.linspace(0, len(falling) - 1, POINTS).astype(np.int64))]
    rates = [1 - np.searchsorted(np.sort(part), falling, side="left") / len(part) for part in (others, members)]
    return ((0.0, 0.0), *zip(*(rate.tolist() for rate in rates), strict=True))


def _implied(guarantee: Guarantee) -> Implied | None:
    """Compute the bounds of a guarantee; of seeded noise as well, since the attack does not know the seed."""
    if guarantee.epsilon is None:
        return None
    epsilon, delta = float(guarantee.epsilon), float(guarantee.delta or 0)
    return Implied(
        epsilon,
        delta,
        largest_advantage(epsilon, delta),
        largest_area(epsilon, delta),
        largest_curve(epsilon, delta),
    )


def _relation(guarantee: Guarantee) -> str:
    assert guarantee.neighbours is not None
    return relation_text(guarantee.neighbours, guarantee.unit)
