"""Accuracy, log loss, confusion and calibration of a model on labelled rows.

CONFIDENTIAL: every figure is computed from the rows without noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import DataError
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.model.predict import PREDICTED, probability_column, score
from dpnb_columnar.rows.parquet import ParquetSource, open_parquet
from dpnb_columnar.rows.row_rules import attribute_fits, class_code, row_fits
from dpnb_columnar.runtime.confinement import confined

CALIBRATION_BINS = 10
LEAST_PROBABILITY = 1e-15
"""Probabilities below this count as this in the log loss, so that one row cannot make it infinite."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The rows whose predicted class had a probability in one tenth of [0, 1]. Confidential.

    Attributes:
        lower: Lower end of the tenth.
        upper: Upper end of the tenth.
        rows: Number of rows.
        mean_probability: Mean probability of the predicted class.
        accuracy: Part of the rows whose class is predicted correctly.
    """

    lower: float
    upper: float
    rows: int
    mean_probability: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Figures over the rows that count (``rows.row_rules.row_fits``). Confidential.

    Attributes:
        rows: Number of rows evaluated.
        lacking: Number of these rows without a value of an attribute, by each attribute that some of them lack.
        accuracy: Part of the rows whose class is predicted correctly.
        majority: Part of the rows in their largest class: the accuracy of always predicting it.
        log_loss: Mean of minus the logarithm of the true class's probability, in nats.
        confusion: Rows by true class (outer) and predicted class (inner), in declared order.
        calibration: Tenths of [0, 1] with rows in them, in order.
    """

    rows: int
    lacking: Mapping[str, int]
    accuracy: float
    majority: float
    log_loss: float
    confusion: tuple[tuple[int, ...], ...]
    calibration: tuple[Calibration, ...]


@confined()
def evaluate(model: NaiveBayes, files: Sequence[Path]) -> Evaluation:
    """Score labelled rows and compare the predicted class with the true one.

    Args:
        model: A released model.
        files: Parquet files with the columns of the model's domain, the label's among them. The rows are those that
            training counts.

    Raises:
        DataError: if a file does not fit the domain, or no row does.
    """
    domain = model.domain
    source = open_parquet(files, domain)
    scored = pl.concat([_scored(model, file, source) for file in source.files])
    probabilities = [pl.col(probability_column(name)) for name in domain.classes]
    own = pl.coalesce(pl.when(pl.col("true") == code).then(value) for code, value in enumerate(probabilities))
    top = pl.max_horizontal(*probabilities)
    tenth = (top * CALIBRATION_BINS).floor().clip(0, CALIBRATION_BINS - 1).cast(pl.Int32)
    grouped = scored.group_by("true", PREDICTED, tenth.alias("tenth")).agg(
        pl.len().alias("rows"),
        -own.clip(LEAST_PROBABILITY, 1).log().sum().alias("loss"),
        top.sum().alias("probability"),
    )
    lacking = [(~attribute_fits(each, source.kinds[each.name])).sum().alias(each.name) for each in domain.attributes]
    counted = pl.concat([_counted(domain, file, source).select(lacking) for file in source.files]).sum()
    try:
        cells, lacked = pl.collect_all([grouped, counted], engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        # The engine's own text may quote values.
        raise source.unreadable() from None
    if not cells["rows"].sum():
        raise DataError(f"{source.names}: no row fits the model's domain; run dpnb-columnar check on it")
    return _summary(cells, domain.classes, {name: rows for name, rows in lacked.row(0, named=True).items() if rows})


def _counted(domain: Domain, file: Path, source: ParquetSource) -> pl.LazyFrame:
    """The rows of one file that training counts."""
    return pl.scan_parquet(file, glob=False).filter(row_fits(domain, source.kinds))


def _scored(model: NaiveBayes, file: Path, source: ParquetSource) -> pl.LazyFrame:
    """Scores of the rows of one file that training counts, beside the code of their class (``true``)."""
    domain = model.domain
    truth = "true ".join(["", *domain.columns])  # longer than the name of any column the model reads
    labelled = _counted(domain, file, source).with_columns(class_code(domain, source.kinds).alias(truth))
    return score(model, labelled, keep=[truth]).rename({truth: "true"})


def _summary(grouped: pl.DataFrame, classes: Sequence[str], lacking: Mapping[str, int]) -> Evaluation:
    """The figures from sums over cells of (true class, predicted class, tenth)."""
    rows = int(grouped["rows"].sum())
    right = grouped["true"] == grouped[PREDICTED].replace_strict(classes, range(len(classes)), return_dtype=pl.Int32)
    grouped = grouped.with_columns(right.alias("right"))
    cells = grouped.group_by("true", PREDICTED).agg(pl.col("rows").sum())
    counts = {(true, name): count for true, name, count in cells.rows()}
    confusion = tuple(tuple(int(counts.get((true, name), 0)) for name in classes) for true in range(len(classes)))
    return Evaluation(
        rows=rows,
        lacking=lacking,
        accuracy=sum(confusion[index][index] for index in range(len(classes))) / rows,
        majority=max(sum(row) for row in confusion) / rows,
        log_loss=float(grouped["loss"].sum()) / rows,
        confusion=confusion,
        calibration=tuple(_calibration(int(tenth), grouped) for tenth in grouped["tenth"].unique().sort()),
    )


def _calibration(tenth: int, grouped: pl.DataFrame) -> Calibration:
    part = grouped.filter(pl.col("tenth") == tenth)
    rows = int(part["rows"].sum())
    return Calibration(
        lower=tenth / CALIBRATION_BINS,
        upper=(tenth + 1) / CALIBRATION_BINS,
        rows=rows,
        mean_probability=float(part["probability"].sum()) / rows,
        accuracy=int(part.filter("right")["rows"].sum()) / rows,
    )
