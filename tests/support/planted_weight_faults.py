"""Faults of weights, as surveys and libraries have them: the audit has to find each of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from dpnb_columnar.budget import Share
from dpnb_columnar.counting import statistics
from dpnb_columnar.counting.engines import polars
from dpnb_columnar.counting.statistics import WEIGHT_CODE, Cells, Integers, Statistics
from dpnb_columnar.domain import Categorical, Domain, Weight
from dpnb_columnar.domain.column_kinds import Kind
from dpnb_columnar.mechanisms import mechanism
from dpnb_columnar.mechanisms.mechanism import PrivateCounts, QueryContext, noisy_counts, weight_sums
from dpnb_columnar.model import postprocessing
from dpnb_columnar.model.parameters import ClassCounts
from dpnb_columnar.noise import Sampler
from dpnb_columnar.rows import unit_order
from dpnb_columnar.rows.row_rules import number

Patch = pytest.MonkeyPatch


def uncapped(patch: Patch) -> None:
    """A row weighs what its column says, and nobody looks at the sums."""

    def weight_steps(weight: Weight, kind: Kind) -> pl.Expr:
        value = number(weight.column, kind)
        return pl.when(value >= 0).then((value + 0.5).floor().cast(pl.Int64)).otherwise(weight.missing_steps)

    def class_counts(domain: Domain, parts: list[Cells]) -> tuple[Integers, Integers]:
        rows, sums = statistics._dense(None, parts, len(domain.classes), WEIGHT_CODE + 1).T.copy()
        return rows, sums

    patch.setattr(unit_order, "weight_steps", weight_steps)
    patch.setattr(statistics, "_class_counts", class_counts)


def normalised(patch: Patch) -> None:
    """Weights are divided by their mean, which depends on all rows."""

    def cells(sums: polars._WeightSums) -> Cells:
        classes = np.arange(len(sums.sums))
        mean = max(int(sums.sums.sum()), 1)
        return Cells(None, classes, np.full_like(classes, WEIGHT_CODE), 3 * sums.sums // mean)

    patch.setattr(polars._WeightSums, "cells", cells)


def noise_of_a_count(patch: Patch) -> None:
    """The sums have noise for a row that counts once, not up to the cap."""

    def weighted_classes(_: PrivateCounts, counted: Statistics, share: Share, draw: Sampler) -> ClassCounts:
        sums, steps = weight_sums(counted)
        return postprocessing.class_counts(noisy_counts(sums, share, draw), steps)

    patch.setattr(PrivateCounts, "weighted_classes", weighted_classes)


def weighted_likelihoods(patch: Patch) -> None:
    """Weights enter the counts of a table as well, whose noise is that of unweighted rows."""

    def table_counts(context: QueryContext, attribute: Categorical) -> list[list[int]]:
        share, counted = context.shares[mechanism.COUNTS, attribute.name], context.statistics
        assert counted.weight_sums is not None
        mean = (counted.weight_sums // np.maximum(counted.class_counts, 1)).tolist()
        table = counted.tables[attribute.name]
        return [noisy_counts(row * weight, share, context.draw) for row, weight in zip(table, mean, strict=True)]

    patch.setattr(mechanism, "table_counts", table_counts)


def prior_of_the_exact_sums(patch: Patch) -> None:
    """What is released has noise, and the prior has not."""

    def weighted_classes(_: PrivateCounts, counted: Statistics, share: Share, draw: Sampler) -> ClassCounts:
        sums, steps = weight_sums(counted)
        released = tuple(noisy_counts(sums, share, draw, Fraction(steps)))
        return ClassCounts(released, postprocessing.class_counts(sums, steps).probability)

    patch.setattr(PrivateCounts, "weighted_classes", weighted_classes)


def sums_without_noise(patch: Patch) -> None:
    """The share of the sums is stated and nothing is drawn."""

    def weighted_classes(_: PrivateCounts, counted: Statistics, share: Share, draw: Sampler) -> ClassCounts:
        return postprocessing.class_counts(*weight_sums(counted))

    patch.setattr(PrivateCounts, "weighted_classes", weighted_classes)
