"""What a noisy table tells beyond its noise: 1,000 releases of random tables, of which the exact ones are known."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from dpnb_columnar.report.informative_attributes import Evidence, NoisyTable, information, speaking_values, tail

Floats = np.ndarray


@dataclass(frozen=True)
class Case:
    """A table of rows, and its release. Whether the attribute has to do with the class."""

    rows: Floats
    noisy: NoisyTable
    related: bool

    @property
    def ratios(self) -> Floats:
        """How many times as likely each value is within each class as in all rows; 0 where there is no row."""
        shares = self.rows / self.rows.sum(axis=1, keepdims=True)
        overall = self.rows.sum(axis=1) / self.rows.sum() @ shares
        return np.divide(shares, overall, out=np.zeros_like(shares), where=overall > 0)

    @property
    def clear(self) -> Floats:
        """Per class, whether a value of two rows in a hundred is 1.5 times as likely in it as in all rows."""
        shares = self.rows / self.rows.sum(axis=1, keepdims=True)
        return ((self.ratios > 1.5) & (shares > 0.02)).any(axis=1)


def released(rows: Floats, epsilon: float, generator: np.random.Generator) -> NoisyTable:
    """Noise of scale 1/epsilon, rounded, in the table and in the class counts."""
    noisy, sizes = (
        exact + np.rint(generator.laplace(scale=1 / epsilon, size=exact.shape)) for exact in (rows, rows.sum(axis=1))
    )
    sizes = np.maximum(sizes, 1)
    return NoisyTable(noisy, np.full(rows.shape[1], 1 / epsilon), sizes / sizes.sum(), 1 / epsilon / sizes.sum())


def case(generator: np.random.Generator) -> Case:
    """Two to five classes, mostly two; 2 to 60 values, some rare, a fifth without rows; epsilon from 0.05 to 3."""
    classes = 2 if generator.random() < 0.7 else int(generator.integers(3, 6))
    values = round(math.exp(generator.uniform(math.log(2), math.log(60))))
    prior = np.maximum(generator.dirichlet(np.full(classes, 3.0)), 0.02)
    base = generator.dirichlet(np.full(values, generator.choice([0.2, 0.5, 1, 3])))
    base[1:][generator.random(values - 1) < 0.2] = 0
    related = generator.random() < 0.5
    shares = np.tile(base + np.eye(values)[0] * 1e-9, (classes, 1))
    if related:
        shares *= np.exp(generator.choice([0.1, 0.3, 1]) * generator.normal(size=shares.shape))
    rows = math.exp(generator.uniform(math.log(2000), math.log(200_000)))
    sizes = np.maximum(generator.multinomial(int(rows), prior / prior.sum()), 5)
    table = np.array([generator.multinomial(n, row / row.sum()) for n, row in zip(sizes, shares, strict=True)], float)
    return Case(table, released(table, math.exp(generator.uniform(math.log(0.05), math.log(3))), generator), related)


@cache
def cases() -> list[Case]:
    generator = np.random.default_rng(29)
    return [case(generator) for _ in range(1000)]


def names(noisy: list[NoisyTable], together: int) -> list[list[Evidence | None]]:
    """What speaks in tables that are looked at by so many."""
    return [
        found for place in range(0, len(noisy), together) for found in speaking_values(noisy[place : place + together])
    ]


@cache
def by_classes(together: int) -> list[tuple[Case, int, Evidence | None]]:
    """What speaks for each class of each case; one model has tables of one number of classes."""
    found = []
    for classes in range(2, 6):
        some = [each for each in cases() if len(each.rows) == classes]
        for each, evidence in zip(some, names([each.noisy for each in some], together), strict=True):
            found += [(each, klass, one) for klass, one in enumerate(evidence)]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("together", [1, 40])
def test_of_the_named_values_few_point_the_wrong_way_or_have_no_row(together: int) -> None:
    named = [(each, klass, one) for each, klass, one in by_classes(together) if one is not None]
    wrong = [each.ratios[klass, one.value] <= 1 for each, klass, one in named]
    held = [one.low <= each.ratios[klass, one.value] * (1 + 1e-9) <= one.high for each, klass, one in named]
    assert len(named) > 1000
    assert np.mean(wrong) < 0.02
    assert np.mean(held) > 0.95


@pytest.mark.slow
def test_clear_differences_are_named() -> None:
    """Whoever names nothing is never wrong. Where noise is small, nine in ten classes have a value that is named."""
    clear = [
        (float(each.noisy.scale[0]) < each.rows[klass].sum() / 1000, one is not None)
        for each, klass, one in by_classes(1)
        if each.clear[klass]
    ]
    assert len(clear) > 150
    assert np.mean([named for _, named in clear]) > 0.7
    assert np.mean([named for quiet, named in clear if quiet]) > 0.9


@pytest.mark.slow
def test_bits_have_no_bias_and_intervals_hold_them() -> None:
    exact = np.array(
        [
            information(
                replace(
                    each.noisy,
                    counts=each.rows,
                    scale=0 * each.noisy.scale,
                    prior=each.rows.sum(axis=1) / each.rows.sum(),
                )
            ).estimate
            for each in cases()
        ]
    )
    found = [information(each.noisy) for each in cases()]
    estimate, low, high = (np.array([getattr(each, end) for each in found]) for end in ("estimate", "low", "high"))
    related, shown = np.array([each.related for each in cases()]), low > 0
    plain = np.array(
        [
            information(
                replace(each.noisy, counts=np.maximum(each.noisy.counts, 0), scale=0 * each.noisy.scale)
            ).estimate
            for each in cases()
        ]
    )
    assert np.mean((low <= exact) & (exact <= high)) > 0.92
    assert np.mean(low > exact) < 0.04
    # With noise the bits of unrelated attributes are several times what they are; less than half of the error is left.
    assert np.abs(estimate - exact)[~related].mean() < 0.5 * np.abs(plain - exact)[~related].mean()
    assert np.abs(estimate - exact)[related].mean() < 0.75 * np.abs(plain - exact)[related].mean()
    assert abs((estimate - exact)[related].mean()) < 0.03 * exact[related].mean()
    # What is told is not twice too much, and what tells much is not put down to noise.
    assert np.mean(estimate[shown] > 2 * exact[shown]) < 0.05
    assert np.mean(shown[exact > 0.05]) > 0.9


def test_noise_alone_speaks_for_nothing() -> None:
    """Forty attributes of 30 values of which none has to do with the class: whatever is named is noise."""
    generator = np.random.default_rng(3)
    rows = np.outer([9000.0, 3000.0], np.r_[np.zeros(10), np.full(20, 0.05)])
    wrong = 0
    for _ in range(20):
        found = speaking_values([released(rows, 0.1, generator) for _ in range(40)])
        wrong += any(one is not None for evidence in found for one in evidence)
    assert wrong <= 3


def test_estimates_of_bits_are_right_on_average_however_small_the_counts() -> None:
    """Rounded noise of scale 0.5 to 20 in counts of 0 to 2,000: the mean of many estimates is the exact figure."""
    generator = np.random.default_rng(5)
    rows = np.zeros((2, 40))
    rows[:, :6] = [[1083, 1360, 1737, 150, 85, 2], [185, 302, 420, 13, 35, 0]]
    prior = rows.sum(axis=1) / rows.sum()
    exact = information(NoisyTable(rows, np.zeros(40), prior)).estimate
    for epsilon in (2.0, 0.5, 0.2):
        found = [information(replace(released(rows, epsilon, generator), prior=prior)) for _ in range(60)]
        estimates = np.array([each.estimate for each in found])
        assert estimates.mean() == pytest.approx(exact, abs=4 * estimates.std() / math.sqrt(60) + 0.05 * exact)


def test_exact_tables_say_what_they_are() -> None:
    table = NoisyTable(np.array([[90.0, 10, 0], [100, 0, 0]]), np.zeros(3), np.array([0.5, 0.5]))
    (first, second) = speaking_values([table])[0]
    assert first is not None
    assert second is not None
    assert (first.value, second.value) == (1, 0)
    assert first.low == first.high == pytest.approx(2)
    assert second.low == second.high == pytest.approx(100 / 95)
    bits = information(table)
    assert bits.low == bits.estimate == bits.high > 0
    alike = replace(table, counts=np.array([[90.0, 10, 0], [90, 10, 0]]))
    assert speaking_values([alike]) == [[None, None]]
    assert information(alike).estimate == pytest.approx(0, abs=1e-12)


def test_a_class_that_noise_hides_has_nothing_to_say() -> None:
    """Six rows in a class, as those of an income above 50,000 in an extract of 1962: noise has twenty times as many."""
    generator = np.random.default_rng(7)
    rows = np.zeros((2, 51))
    rows[0], rows[1, :6] = 100, 1
    for _ in range(20):
        table = released(rows, 0.2, generator)
        assert speaking_values([table])[0][1] is None
        assert information(table).low == 0


def test_tails_are_those_of_sums_of_laplace_variables() -> None:
    """Against the closed forms of one variable and of two, and against draws of many."""
    sizes = np.array([1.0, 3, 8, 20])
    one = tail(sizes, np.ones((4, 1)), np.ones((4, 1)))
    np.testing.assert_allclose(one, np.exp(-sizes) / 2, rtol=0.06)
    two = tail(sizes, np.ones((4, 1)), np.full((4, 1), 2.0))
    np.testing.assert_allclose(two, (1 + sizes / 2) * np.exp(-sizes) / 2, rtol=0.03)
    generator = np.random.default_rng(1)
    drawn = generator.laplace(size=(200_000, 6)) @ np.array([3.0, 1, 1, 1, 1, 1])
    many = tail(np.array([6.0, 12, 18]), np.tile([3.0, 1], (3, 1)), np.tile([1.0, 5], (3, 1)))
    np.testing.assert_allclose(many, [np.mean(drawn > size) for size in (6, 12, 18)], rtol=0.06)
