"""Scoring with Polars expressions: every row of any frame, streamed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path

import polars as pl

from dpnb_columnar.domain import Categorical, Domain, Numeric, Transform
from dpnb_columnar.errors import DataError
from dpnb_columnar.files import atomic_output
from dpnb_columnar.model.likelihood import log_normalisation
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, Normal, Table
from dpnb_columnar.rows.expressions import category_code, grid_code, number
from dpnb_columnar.rows.kinds import NUMBERS, Kind, keys, kind_of
from dpnb_columnar.rows.source import read_metadata

PREDICTED = "predicted"
SKIPPED = "skipped"


def probability_column(name: str) -> str:
    """Name of the column with the probability of a class."""
    return f"probability_{name}"


def score(model: Model, frame: pl.LazyFrame, keep: Sequence[str] = ()) -> pl.LazyFrame:
    """Class and class probabilities of every row, in the order of the rows.

    A null or NaN attribute, and a category outside the domain, is left out of that row's likelihood and counted.
    Numbers outside the declared bounds count as the nearest bound.

    Args:
        model: A released model.
        frame: Rows with a column for each attribute of the model.
        keep: Columns to carry over, placed first.

    Returns:
        A lazy frame: the kept columns, ``predicted`` (string), ``probability_CLASS`` (float64) per class adding up to
        1, and ``skipped`` (uint16), the number of attributes left out.

    Raises:
        DataError: A column is missing, has a type the attribute cannot be read from, or a kept column has the name of a
            result.
    """
    schema = frame.collect_schema()
    kinds = _kinds(model, schema, keep)
    terms = [_terms(model.domain, parameters, kinds) for parameters in model.attributes]
    prepared = frame.select(*keep, *(value.alias(f"__value_{index}") for index, (value, _) in enumerate(terms)))
    values = [pl.col(f"__value_{index}") for index in range(len(terms))]
    logs = []
    for position, prior in enumerate(model.classes.probability):
        likelihoods = [logarithms(value)[position] for value, (_, logarithms) in zip(values, terms, strict=True)]
        logs.append(reduce(lambda left, right: left + right, likelihoods, pl.lit(math.log(prior))))
    return _normalised(model, prepared, logs, values, keep)


def _normalised(
    model: Model, frame: pl.LazyFrame, logs: Sequence[pl.Expr], values: Sequence[pl.Expr], keep: Sequence[str]
) -> pl.LazyFrame:
    """Probabilities from joint log-likelihoods, the largest taken out first so that none overflows."""
    classes = model.domain.classes
    joint = [pl.col(f"__joint_{index}") for index in range(len(classes))]
    weights = [pl.col(f"__weight_{index}") for index in range(len(classes))]
    skipped = pl.sum_horizontal(*(value.is_null() for value in values)) if values else pl.lit(0)
    predicted: pl.Expr = pl.lit(classes[-1])
    for name, value in reversed(list(zip(classes[:-1], joint[:-1], strict=True))):
        predicted = pl.when(value == pl.col("__largest")).then(pl.lit(name)).otherwise(predicted)
    return (
        frame.with_columns(
            *(value.alias(f"__joint_{index}") for index, value in enumerate(logs)),
            skipped.cast(pl.UInt16).alias(SKIPPED),
        )
        .with_columns(pl.max_horizontal(*joint).alias("__largest"))
        .with_columns((value - pl.col("__largest")).exp().alias(f"__weight_{i}") for i, value in enumerate(joint))
        .with_columns(pl.sum_horizontal(*weights).alias("__total"))
        .select(
            *keep,
            predicted.alias(PREDICTED),
            *(
                (weight / pl.col("__total")).alias(probability_column(name))
                for name, weight in zip(classes, weights, strict=True)
            ),
            SKIPPED,
        )
    )


class _Logarithms:
    """Log-likelihoods of one attribute, per class, as expressions of its prepared value; 0 where that is null."""

    def __init__(self, parameters: AttributeParameters, domain: Domain) -> None:
        self.parameters = parameters
        self.domain = domain

    def __call__(self, value: pl.Expr) -> list[pl.Expr]:
        parameters = self.parameters
        if isinstance(parameters, Normal):
            attribute = self.domain[parameters.attribute]
            assert isinstance(attribute, Numeric)
            scale = attribute.scale
            return [
                (
                    log_normalisation(mean, deviation, scale.origin, scale.end)
                    - 0.5 * ((value - mean) / deviation) ** 2
                ).fill_null(0.0)
                for mean, deviation in zip(parameters.mean, parameters.deviation, strict=True)
            ]
        widths = [1] * len(parameters.probability[0])
        if isinstance(parameters, Histogram):
            widths = [high - low for low, high in zip(parameters.edges, parameters.edges[1:], strict=False)]
        return [
            value.replace_strict(
                list(range(len(row))),
                [math.log(cell / width) for cell, width in zip(row, widths, strict=True)],
                default=0.0,
                return_dtype=pl.Float64,
            )
            for row in parameters.probability
        ]


def _terms(domain: Domain, parameters: AttributeParameters, kinds: Mapping[str, Kind]) -> tuple[pl.Expr, _Logarithms]:
    """The prepared value of an attribute (its number, category code or bin), and its log-likelihoods per class."""
    attribute = domain[parameters.attribute]
    kind = kinds[attribute.name]
    if isinstance(parameters, Table):
        assert isinstance(attribute, Categorical)
        return category_code(attribute, kind), _Logarithms(parameters, domain)
    assert isinstance(attribute, Numeric)
    if isinstance(parameters, Normal):
        return _on_scale(attribute, kind), _Logarithms(parameters, domain)
    code = grid_code(attribute, kind)
    if attribute.transform is not Transform.IDENTITY:
        scale = attribute.scale
        gridded = code * float(attribute.step) + float(attribute.lower)
        code = ((gridded.log1p() - scale.origin) / scale.step + 0.5).floor().clip(0, scale.cells).cast(pl.Int64)
    inner = pl.Series(parameters.edges[1:-1], dtype=pl.Int64)
    found = pl.lit(inner).search_sorted(code, side="right")
    return pl.when(code.is_not_null()).then(found).cast(pl.Int32), _Logarithms(parameters, domain)


def _on_scale(attribute: Numeric, kind: Kind) -> pl.Expr:
    """The value on the scale of the moments: clamped to the bounds, then transformed."""
    value = number(attribute.name, kind, attribute.missing_values).clip(float(attribute.lower), float(attribute.upper))
    return value.log1p() if attribute.transform is Transform.LOG1P else value


def _kinds(model: Model, schema: Mapping[str, pl.DataType], keep: Sequence[str]) -> dict[str, Kind]:
    wanted = [parameters.attribute for parameters in model.attributes]
    missing = [name for name in (*keep, *wanted) if name not in schema]
    if missing:
        raise DataError(f"missing column {', '.join(map(repr, missing))}; the columns are {', '.join(schema)}")
    results = {PREDICTED, SKIPPED, *(probability_column(name) for name in model.domain.classes)}
    if clash := results.intersection(keep):
        raise DataError(f"column {', '.join(sorted(clash))} would stand beside a result of that name; rename it first")
    found = {}
    for name in wanted:
        kind, attribute = kind_of(schema[name]), model.domain[name]
        fits = (
            kind in NUMBERS
            if isinstance(attribute, Numeric)
            else kind is not None and bool(keys(attribute.values, kind))
        )
        if kind is None or not fits:
            raise DataError(
                f"column {name!r} has type {schema[name]}, which does not fit the model's attribute; cast it first"
            )
        found[name] = kind
    return found


def write_scores(
    model: Model, files: Sequence[Path], output: Path, keep: Sequence[str], *, overwrite: bool = False
) -> tuple[int, int]:
    """Score Parquet files into one Parquet file, streamed: memory does not grow with the rows.

    Returns:
        Rows written, and attribute values left out.

    Raises:
        DataError: A file is not Parquet or lacks a column.
        OutputError: The output exists, or cannot be written.
    """
    frames = [score(model, _scan(file), keep) for file in files]
    with atomic_output(output, overwrite=overwrite) as partial:
        try:
            pl.concat(frames).sink_parquet(partial, compression="zstd")
        except pl.exceptions.PolarsError:
            raise DataError(f"{files[0]}: cannot be read to the end (damaged or cut short); copy it again") from None
        totals = pl.scan_parquet(partial).select(pl.len(), pl.col(SKIPPED).cast(pl.Int64).sum()).collect()
    rows, skipped = totals.row(0)
    return int(rows), int(skipped)


def _scan(file: Path) -> pl.LazyFrame:
    """A Parquet file as a lazy frame, checked to be one."""
    read_metadata(file)
    return pl.scan_parquet(file, glob=False)
