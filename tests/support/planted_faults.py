"""Faults that have been made elsewhere, planted into this program by doubles: the audit has to find each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from dpnb_columnar import training
from dpnb_columnar.budget import Division, Pure, Request, Share
from dpnb_columnar.budget.composition import PARALLEL_CLASSES
from dpnb_columnar.counting import statistics
from dpnb_columnar.counting.engines import local, polars
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.domain import Attribute, Domain, Numeric
from dpnb_columnar.errors import DataError
from dpnb_columnar.mechanisms import global_moments, histogram, mechanism, smooth, smooth_moments
from dpnb_columnar.mechanisms.baselines import Majority
from dpnb_columnar.mechanisms.global_moments import CONSTANT_MOMENTS, ConstantMoment
from dpnb_columnar.mechanisms.mechanism import (
    PrivateCounts,
    QueryContext,
    categorical_requests,
    class_counts_request,
    noisy_table,
)
from dpnb_columnar.mechanisms.release_plan import MECHANISMS
from dpnb_columnar.mechanisms.smooth_moments import GRID_BITS, MOMENTS, Moment
from dpnb_columnar.model import postprocessing
from dpnb_columnar.model.parameters import AttributeParameters, ClassCounts
from dpnb_columnar.noise import (
    Laplace,
    NoiseFamily,
    PolyPlace,
    Sampler,
)
from dpnb_columnar.rows.parquet import ParquetSource
from dpnb_columnar.rows.row_rules import category_code, class_code, number, row_fits
from dpnb_columnar.rows.streaming import scan
from dpnb_columnar.sensitivity import RunLengthColumns, search_beta, trimmed_means

Patch = pytest.MonkeyPatch
DOUBLE = "double"
"""Name that a mechanism's double is registered under."""


def register(patch: Patch, mechanism: Any) -> None:
    patch.setitem(MECHANISMS, DOUBLE, mechanism)
    patch.setattr(training, "check_complete", lambda *_: None)  # no reader knows it, and the audit reads no model


def pure(share: Share) -> Fraction:
    assert isinstance(share.row_cost, Pure)
    return share.row_cost.epsilon


# --- sensitivity ----------------------------------------------------------------------------------------------------


class ClassSums(PrivateCounts):
    """Sums of values per class, with noise for the distance of the bounds; as if a label never changed."""

    name = DOUBLE
    summary = "double"
    smooth = False
    division = Division(Fraction(1), Fraction(1), Fraction(1))

    def __init__(self, sensitivity: Callable[[Numeric], Fraction]) -> None:
        self.sensitivity = sensitivity

    def requests(self, domain: Domain, division: Division, noise: str) -> list[Request]:
        sums = [
            Request("sums", attribute.name, len(domain.classes), PARALLEL_CLASSES, "laplace", division.numeric)
            for attribute in domain.numeric
        ]
        return [class_counts_request(domain, division), *sums, *categorical_requests(domain, division.categorical)]

    def attributes(self, context: QueryContext) -> list[AttributeParameters]:
        domain = context.statistics.domain
        found: list[AttributeParameters] = [self.sums(context, attribute) for attribute in domain.numeric]
        return [*found, *(noisy_table(context, attribute) for attribute in domain.categorical)]

    def sums(self, context: QueryContext, attribute: Numeric) -> AttributeParameters:
        noise, sensitivity = Laplace(pure(context.shares["sums", attribute.name])), self.sensitivity(attribute)
        sums = [
            sum((attribute.lower + int(code) * attribute.step) * int(count) for code, count in pairs)
            for column in context.statistics.columns[attribute.name]
            for pairs in [list(zip(column.codes, column.counts, strict=True))]
        ]
        released = [context.draw(Fraction(total), sensitivity, noise, GRID_BITS) for total in sums]
        ones = [Fraction(1)] * len(released)
        return postprocessing.normal(attribute, released, ones, [1.0] * len(released), context.sizes)


def label_change_forgotten(patch: Patch) -> None:
    register(patch, ClassSums(lambda attribute: attribute.upper - attribute.lower))


def label_change_counted(patch: Patch) -> None:
    """The same mechanism as it should be: one row moves the sum of its class by at most the largest value."""
    register(patch, ClassSums(lambda attribute: max(abs(attribute.lower), abs(attribute.upper))))


def one_count_of_two(patch: Patch) -> None:
    """A label change moves two class counts; the noise is made for one."""

    def classes(self: PrivateCounts, data: Statistics, share: Share, draw: Sampler) -> ClassCounts:
        assert isinstance(share.cost, Pure)
        noise = Laplace(share.cost.epsilon)
        released = [int(draw(Fraction(int(count)), Fraction(1), noise)) for count in data.class_counts]
        return postprocessing.class_counts(released)

    patch.setattr(PrivateCounts, "classes", classes)


def literal_mean_sensitivity(patch: Patch) -> None:
    """The paper's (U - x_(k+1))/n at distance k, for the mean of all values: up to half of the truth."""

    def literal(columns: RunLengthColumns, trim: object, beta: np.ndarray) -> list[float]:
        found = []
        for place, (cells, each) in enumerate(zip(columns.cells, beta, strict=True)):
            values = np.repeat(columns[place].codes, columns[place].counts)
            weighed = np.exp(-each * np.arange(len(values))) * (cells - values) / len(values)
            found.append(max(float(weighed.max()), 1e-9))
        return found

    patch.setitem(MOMENTS, "mean", Moment(lambda columns, trim: trimmed_means(columns, 0 * trim), literal))


def beta_too_large(patch: Patch) -> None:
    """A product where a division was meant: the sensitivity is less smooth than the noise allows."""
    patch.setattr(smooth_moments, "search_beta", lambda beta: search_beta(beta) * 4)


def family_too_light(patch: Patch) -> None:
    """A family that allows for a smoother sensitivity than it has noise for; no column of the audit may show it."""
    patch.setattr(PolyPlace, "cost", property(lambda noise: Pure(noise.epsilon * Fraction(99, 100))))


def halved_constant(patch: Patch, query: str) -> None:
    """The sensitivity of a sample's spread for one value moved half the way."""
    right = CONSTANT_MOMENTS[query]

    def halved(size: int, cells: int) -> Fraction:
        return right.sensitivity(size, cells) / 2

    patch.setitem(CONSTANT_MOMENTS, query, ConstantMoment(right.statistics, halved))


def deviation_halved(patch: Patch) -> None:
    halved_constant(patch, "deviation")


def variance_halved(patch: Patch) -> None:
    halved_constant(patch, "variance")


def noise_too_small(patch: Patch) -> None:
    patch.setattr(mechanism, "noisy_counts", _with_noise(lambda epsilon: Laplace(epsilon / Fraction(7, 10))))


def _with_noise(make: Callable[[Fraction], NoiseFamily]) -> Callable[..., list[int]]:
    def noisy_counts(counts: Iterable[int], share: Share, draw: Sampler) -> list[int]:
        return [int(draw(Fraction(int(count)), Fraction(1), make(pure(share)))) for count in counts]

    return noisy_counts


# --- what leaves the release beside the noise -----------------------------------------------------------------------


class ClassesFromRows(Majority):
    """Counts of the classes that have members; the others are not asked about."""

    name = DOUBLE

    def classes(self, data: Statistics, share: Share, draw: Sampler) -> ClassCounts:
        noise = Laplace(pure(share))
        present = [int(count) for count in data.class_counts if count]
        released = [int(draw(Fraction(count), Fraction(1), noise)) for count in present]
        return postprocessing.class_counts([*released, *[0] * (len(data.class_counts) - len(present))])


def classes_from_rows(patch: Patch) -> None:
    register(patch, ClassesFromRows())


class ExactTotal(Majority):
    """Noisy counts, moved so that they add up to the number of rows."""

    name = DOUBLE

    def classes(self, data: Statistics, share: Share, draw: Sampler) -> ClassCounts:
        released = list(super().classes(data, share, draw).released)
        return postprocessing.class_counts([*released[1:], int(data.class_counts.sum()) - sum(released[1:])])


def exact_total(patch: Patch) -> None:
    register(patch, ExactTotal())


class RefusesEmptyClasses(Majority):
    """A helpful error message about a class without rows."""

    name = DOUBLE

    def classes(self, data: Statistics, share: Share, draw: Sampler) -> ClassCounts:
        if not data.class_counts.all():
            raise ValueError("a class has no rows")
        return super().classes(data, share, draw)


def refusal_by_rows(patch: Patch) -> None:
    register(patch, RefusesEmptyClasses())


def empty_cells_left_out(patch: Patch) -> None:
    def noisy_counts(counts: Iterable[int], share: Share, draw: Sampler) -> list[int]:
        noise = Laplace(pure(share))
        return [int(draw(Fraction(int(count)), Fraction(1), noise)) if count else 0 for count in counts]

    patch.setattr(histogram, "noisy_counts", noisy_counts)


def asked_twice(patch: Patch) -> None:
    """A table is answered twice under one share, and the mean of both answers is released."""
    once = mechanism.noisy_counts

    def noisy_counts(counts: Iterable[int], share: Share, draw: Sampler) -> list[int]:
        answers = [once(list(counts), share, draw) for _ in range(2)]
        return [(one + two) // 2 for one, two in zip(*answers, strict=True)]

    patch.setattr(mechanism, "noisy_counts", noisy_counts)


def size_of_the_rows(patch: Patch) -> None:
    """Sample size and trim follow the exact number of rows of a class."""
    for mechanisms in (smooth, global_moments):
        patch.setattr(
            mechanisms, "sample_sizes", lambda context, _: [max(int(n), 8) for n in context.statistics.class_counts]
        )
    patch.setattr(histogram, "pooled_size", lambda context, _: max(int(context.statistics.class_counts.sum()), 8))


def clipping_forgotten(patch: Patch) -> None:
    """Values beyond the bounds are counted as they are."""

    def code(attribute: Attribute, source: ParquetSource) -> pl.Expr:
        if not isinstance(attribute, Numeric):
            return category_code(attribute, source.kinds[attribute.name])
        value = number(attribute.name, source.kinds[attribute.name]).clip(-1e6, 1e6)
        return ((value - float(attribute.lower)) / float(attribute.step) + 0.5).floor().clip(0)

    def count_cells(source: ParquetSource, domain: Domain, attributes: Any, *, classes: bool) -> list[statistics.Cells]:
        rows = scan(source).filter(row_fits(domain, source.kinds))
        label = class_code(domain, source.kinds)
        coded = {each.name: code(each, source) for each in attributes} | ({None: pl.lit(0)} if classes else {})
        found = []
        for name, value in coded.items():
            pairs = rows.select(label.cast(pl.Int64).alias("class"), value.cast(pl.Int64).alias("code"))
            counts = pairs.drop_nulls().group_by("class", "code").agg(pl.len().cast(pl.Int64).alias("count")).collect()
            found.append(statistics.Cells(name, *(counts[field].to_numpy() for field in ("class", "code", "count"))))
        return found

    joined = statistics._joined

    def accepting(name: str | None, parts: Any, classes: int, last: int, *most: int) -> Any:
        return joined(name, parts, classes, 2**32, *most)

    patch.setattr(polars, "count_cells", count_cells)
    patch.setattr(statistics, "_joined", accepting)


def refuses_nan(patch: Patch) -> None:
    """A value that is not a number stops the run, where it should drop its row."""
    count = local.answer

    def answer(source: Any, query: Any) -> Any:
        if isinstance(source, ParquetSource) and scan(source).select(pl.col("number").is_nan().any()).collect().item():
            raise DataError("a value is not a number")
        return count(source, query)

    patch.setattr(local, "answer", answer)
