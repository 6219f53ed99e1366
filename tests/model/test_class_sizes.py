"""The classes' sizes from all released counts: unbiased, with the noise that is stated, and less of it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from dpnb_columnar.core.budget import Pure, Share
from dpnb_columnar.core.budget.composition import PARALLEL_CELLS
from dpnb_columnar.core.measurement import CLASS_COUNTS, COUNTS
from support.model_cases import declared

from dpnb_columnar.model.parameters import Table
from dpnb_columnar.model.postprocessing import ClassSizes, class_shares, class_sizes

DOMAIN = declared(
    {
        "every": {"values": [1, 2, 3, 4], "missing": "row"},
        "some": {"values": [1, 2]},
        "all": {"values": [1], "missing": "category"},
    },
    ["a", "b"],
)


def share(query: str, attribute: str | None, epsilon: Fraction) -> Share:
    cost = Pure(epsilon)
    return Share(query, attribute, 2, PARALLEL_CELLS.reason, "laplace", cost, cost)


def test_sizes_are_unbiased_and_as_noisy_as_they_say() -> None:
    exact, generator, draws = (1000, 40), np.random.default_rng(5), 4000
    shares = {
        (CLASS_COUNTS, None): share(CLASS_COUNTS, None, Fraction(1, 50)),
        (COUNTS, "every"): share(COUNTS, "every", Fraction(1, 10)),
        (COUNTS, "some"): share(COUNTS, "some", Fraction(1, 10)),
        (COUNTS, "all"): share(COUNTS, "all", Fraction(1, 20)),
    }
    found = []
    for _ in range(draws):
        released = [round(size + generator.laplace(0, 50)) for size in exact]
        every = tuple(tuple(round(size / 4 + generator.laplace(0, 10)) for _ in range(4)) for size in exact)
        both = tuple(tuple(round(size / 2 + generator.laplace(0, 20)) for _ in range(2)) for size in exact)
        some = ((7, 7), (7, 7))  # of few rows: says nothing of the classes' sizes
        tables = [Table(name, each, ()) for name, each in (("every", every), ("some", some), ("all", both))]
        found.append(class_sizes(DOMAIN, released, tables, shares))
    rows, deviation = np.array([each.rows for each in found]), found[0].deviation
    assert deviation == pytest.approx((1 / 5000 + 1 / 800 + 1 / 1600) ** -0.5)
    assert deviation**2 < 0.15 * 2 * 50**2
    np.testing.assert_allclose(rows.mean(axis=0), exact, atol=4 * deviation / draws**0.5)
    np.testing.assert_allclose(rows.std(axis=0), deviation, rtol=0.1)


def test_no_class_is_thought_impossible() -> None:
    shares = class_shares(ClassSizes((900.0, -300.0), 30.0))
    assert sum(shares) == pytest.approx(1)
    assert shares[1] == pytest.approx(11 / 922)


def test_a_release_makes_its_priors_of_all_counts() -> None:
    import dpnb_columnar as dpnb

    rows = pl.DataFrame({"label": ["a"] * 300 + ["b"] * 100, "every": [1, 2, 3, 4] * 100})
    domain = declared({"every": {"values": [1, 2, 3, 4], "missing": "row"}}, ["a", "b"])
    model = dpnb.train(rows, epsilon=1, domain=domain, attribute_weights="none")
    given = {(each.query, each.attribute): each for each in model.guarantee.composition}
    sizes = class_sizes(model.domain, model.classes.released, model.attributes, given)
    assert model.classes.probability == class_shares(sizes)
    assert sizes.rows != tuple(map(float, model.classes.released))
