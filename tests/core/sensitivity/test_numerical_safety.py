"""A release at the extremes of rows, codes, budgets and answers: nothing wraps around, overflows or is lost."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import cycle
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from support.exact_sensitivity import PRECISION, Ranks, ball, exact_mean_sensitivity, exact_variance_bound, runs_of
from support.mechanisms import MECHANISMS
from support.recorded_draws import Forced
from support.releases import plan_and_release

from dpnb_columnar.api import load_model
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, Division, Pure, SharesRule
from dpnb_columnar.core.code_limits import LARGEST_CODE, LARGEST_SIZE
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family
from dpnb_columnar.core.mechanisms.tuning import trim
from dpnb_columnar.core.noise import ExactSampler, SeededBits
from dpnb_columnar.core.queries.statistics import Cells, Statistics, assemble
from dpnb_columnar.core.sensitivity import (
    RunLengthColumn,
    RunLengthColumns,
    public_size,
    search_beta,
    trimmed_mean,
    trimmed_variance,
)
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.model.model_files import save_model
from dpnb_columnar.model.parameters import Normal

ROWS = 10**10
DOMAIN = read_domain(
    "extremes",
    {
        "label": {"column": "y", "classes": ["huge", "empty", "single", "bounds"]},
        "attributes": {
            "one": {"lower": 0, "upper": 1, "step": 1},
            "million": {"lower": 0, "upper": 2**20, "step": 1},
            "wide": {"lower": -(2**31), "upper": 2**31, "step": 1},
            "tiny": {"lower": 0, "upper": "1e-100", "step": "1e-102"},
            "giant": {"lower": "-1e100", "upper": "1e100", "step": "1e95"},
            "money": {"lower": 0, "upper": 10**9, "step": 1, "transform": "log1p"},
            "k": {"values": ["p", "q"], "missing": "category"},
        },
    },
    "test",
)
CLASSES: tuple[dict[int, int], ...] = ({1: ROWS}, {}, {-1: 1}, {0: ROWS // 2, -1: ROWS // 2})
"""Per class, counts by code; -1 is the largest code."""


def rows_of(klass: int, last: int) -> dict[int, int]:
    return {last if code < 0 else min(code, last): count for code, count in CLASSES[klass].items()}


def extremes() -> Statistics:
    lasts = {None: 0} | {attribute.name: attribute.cells for attribute in DOMAIN.numeric} | {"k": 2}
    cells = []
    for name, last in lasts.items():
        found = [(klass, code, n) for klass in range(len(CLASSES)) for code, n in _merged(klass, last).items()]
        cells.append(Cells(name, *(np.array(part, dtype=np.int64) for part in zip(*found, strict=True))))
    return assemble(DOMAIN, cells)


def _merged(klass: int, last: int) -> dict[int, int]:
    return {0: sum(CLASSES[klass].values())} if last == 0 and CLASSES[klass] else rows_of(klass, last)


STATISTICS = extremes()


# --- columns -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("codes", "counts", "message"),
    [
        (np.array([0, 1], dtype=np.int32), np.array([1, 1]), "64-bit integers"),
        (np.array([0, 1]), np.array([1, 1], dtype=np.uint64), "64-bit integers"),
        (np.array([0.0]), np.array([1]), "64-bit integers"),
        (np.array([0, 1]), np.array([1]), "as many of one"),
        (np.array([-1]), np.array([1]), "rise from 0"),
        (np.array([LARGEST_CODE + 1]), np.array([1]), "rise from 0"),
        (np.array([1, 0]), np.array([1, 1]), "rise from 0"),
        (np.array([1, 1]), np.array([1, 1]), "rise from 0"),
        (np.array([1]), np.array([0]), "positive"),
        (np.array([1, 2]), np.array([5, -1]), "positive"),
        (np.array([1]), np.array([LARGEST_SIZE + 1]), "positive"),
        (np.array([1, 2]), np.array([LARGEST_SIZE, 1]), "positive"),
        (np.array([1, 2, 3]), np.array([2**62, 2**62, 2**63 - 1]), "positive"),
    ],
)
def test_a_column_whose_sums_could_wrap_around_is_refused(codes: np.ndarray, counts: np.ndarray, message: str) -> None:
    """By itself and among others: sums over it would not be exact, and ranks not in order."""
    with pytest.raises(ValueError, match=message):
        RunLengthColumn(codes, counts)
    if message in ("rise from 0", "positive"):
        with pytest.raises(ValueError, match="a column's co"):
            RunLengthColumns(codes, counts, np.array([0, len(codes)]), np.array([LARGEST_CODE]))


@pytest.mark.parametrize("size", [0, -1, LARGEST_SIZE + 1, 2**53, 2**63, 10**30])
def test_a_public_size_whose_sums_could_wrap_around_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"found {size}"):
        public_size(runs_of({1: 5}), size, 2)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([0, 1, 2**16 - 1, 2**16, 2**31, 2**32 - 1, 2**32]) | st.integers(0, 2**32),
        st.sampled_from([1, 2, 3, ROWS, 2**41, 2**42]),
        min_size=1,
        max_size=8,
    ),
    st.data(),
)
def test_moments_of_the_largest_columns_are_exact(counts: dict[int, int], data: st.DataObject) -> None:
    """Window sums by rank in Python's integers; 2**45 squares of 2**32 add up to 109 bits."""
    if data.draw(st.booleans()):
        code = data.draw(st.sampled_from(sorted(counts)))
        counts = counts | {code: counts[code] + LARGEST_SIZE - sum(counts.values())}
    column = runs_of(counts)
    cut = data.draw(st.sampled_from([0, (column.size - 1) // 4, (column.size - 1) // 2]))
    assert (trimmed_mean(column, cut), trimmed_variance(column, cut)) == moments_of_window(column, cut)


def moments_of_window(column: RunLengthColumn, cut: int) -> tuple[Fraction, Fraction]:
    """Mean and mean squared distance from it, one run after the other."""
    first, last, end, weights = cut, column.size - cut, 0, {}
    for code, count in zip(column.codes, column.counts, strict=True):
        start, end = end, end + int(count)
        weights[int(code)] = max(min(end, last) - max(start, first), 0)
    size = sum(weights.values())
    centre = Fraction(sum(code * weight for code, weight in weights.items()), size)
    return centre, sum((weight * (code - centre) ** 2 for code, weight in weights.items()), Fraction(0)) / size


# --- the whole release ---------------------------------------------------------------------------------------------


def budget(epsilon: Fraction, noise: str, division: Division | SharesRule = SharesRule.EQUAL) -> Budget:
    pure = smooth_family(noise).kind is Pure
    return Budget(epsilon, division=division, delta=Fraction(0) if pure else Fraction(1, 10**6))


def sample_of(klass: int, size: int, last: int) -> RunLengthColumn:
    """A class's sample of public size in Python's integers, straight from the declaration of pads and drops."""
    rows = rows_of(klass, last)
    missing = size - sum(rows.values())
    if missing >= 0:
        rows[0] = rows.get(0, 0) + (missing + 1) // 2
        rows[last] = rows.get(last, 0) + missing // 2
        return runs_of(rows)
    for codes, surplus in ((sorted(rows), -missing // 2), (sorted(rows, reverse=True), (1 - missing) // 2)):
        for code in codes:
            rows[code], surplus = rows[code] - min(rows[code], surplus), surplus - min(rows[code], surplus)
    return runs_of(rows)


SIZES = [[8, 8, 8, 8], [ROWS, ROWS, ROWS, ROWS], [ROWS + 1, 0, -(10**9), ROWS - 1], [2**53, 2**45, 2**45 + 1, 10**40]]


@pytest.mark.enumeration
@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISE_FAMILIES)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1), Fraction(1000)], ids=str)
def test_every_location_is_exact_and_every_scale_encloses_its_bound(
    noise: str, sizes: list[int], epsilon: Fraction
) -> None:
    """Samples from 8 to 2**45 values of classes from none to 10**10 rows, on grids from 1 to 2**32 cells."""
    forced = Forced(lambda place, asked: sizes[place] if place < len(sizes) else None)
    plan_and_release(STATISTICS, budget(epsilon, noise), noise=noise, draw=forced)
    asked = iter(forced.calls[len(sizes) :])
    for attribute in DOMAIN.numeric:
        for moment, exact in enumerate((exact_mean_sensitivity, exact_variance_bound)):
            for klass, released in enumerate(sizes):
                drawn = next(asked)
                if attribute.name == "money":
                    continue  # its scale is another grid; the codes are on it in test_boundary.py
                size = min(max(released, 8), LARGEST_SIZE)
                smallest = min(min(max(other, 8), LARGEST_SIZE) for other in sizes)
                sample, cut = sample_of(klass, size, attribute.cells), trim(size, drawn.noise, smallest)
                assert Ranks(sample, attribute.cells).size == size
                assert drawn.location == moments_of_window(sample, cut)[moment]
                bound = exact(sample, cut, attribute.cells, Fraction(search_beta(drawn.noise.beta)))
                with ctx.workprec(PRECISION):
                    assert bound.high <= ball(drawn.scale).log() <= bound.low + ball(1 + Fraction(1, 2**30)).log()
    assert [(drawn.location, drawn.scale) for drawn in asked] == [
        (STATISTICS.tables["k"][klass, code], 1) for klass in range(len(sizes)) for code in range(3)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1000)], ids=str)
@pytest.mark.parametrize(
    ("mechanism", "noise"),
    [*(("smooth", noise) for noise in NOISE_FAMILIES), *((name, None) for name in MECHANISMS if name != "smooth")],
)
def test_real_noise_on_extreme_rows_gives_a_usable_model(
    mechanism: str, noise: str | None, epsilon: Fraction, tmp_path: Path
) -> None:
    spent = budget(epsilon, noise) if noise else Budget(epsilon)
    check_usable(plan_and_release(STATISTICS, spent, mechanism, noise, ExactSampler(SeededBits(3))), tmp_path)


@pytest.mark.parametrize("counts", [Fraction(1, 10**20), Fraction(1, 10**200)], ids=["1e-20", "1e-200"])
@pytest.mark.parametrize("seed", range(3))
def test_hardly_any_budget_for_the_class_counts_gives_samples_of_the_largest_size(
    counts: Fraction, seed: int, tmp_path: Path
) -> None:
    """Noise of 10**20 rows and more on the class counts: the public sizes end at 2**45."""
    division = Division(Fraction(1), Fraction(1), counts)
    draws = ExactSampler(SeededBits(seed))
    model = plan_and_release(STATISTICS, Budget(Fraction(1), division=division), draw=draws)
    assert max(map(abs, model.class_counts)) > LARGEST_SIZE
    check_usable(model, tmp_path)


def check_usable(model: Model, folder: Path) -> None:
    """Finite numbers, positive probabilities, the same from a file of either kind; scores that are probabilities."""
    for suffix in ("json", "parquet"):
        path = folder / f"model.{suffix}"
        save_model(model, path)
        assert load_model(path) == model
    assert all(math.isfinite(number) for each in model.measurements for row in each.values for number in row)
    tables = [model.classes.probability]
    for parameters in model.attributes:
        if isinstance(parameters, Normal):
            assert all(map(math.isfinite, (*parameters.mean, *parameters.deviation)))
            assert min(parameters.deviation) > 0
        else:
            tables += parameters.probability
    for probabilities in tables:
        assert min(probabilities) > 0
        assert math.fsum(probabilities) == pytest.approx(1, abs=1e-12)
    ends = {attribute.name: [float(attribute.lower), float(attribute.upper)] for attribute in DOMAIN.numeric}
    scored = model.predict(pl.LazyFrame({**ends, "k": ["p", None]})).collect()
    found = scored.select(pl.col("^probability_.*$")).to_numpy()
    assert np.isfinite(found).all()
    assert found.sum(axis=1) == pytest.approx([1, 1], abs=1e-9)


# --- answers that no data would give -------------------------------------------------------------------------------

ANSWERS = [f"{sign}1e{power}" for power in (400, 300, 30, 16, 0, -30, -300) for sign in ("", "-")] + ["0", "1/12"]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [name for name, mechanism in MECHANISMS.items() if mechanism.private])
@settings(max_examples=25, deadline=None)
@given(answers=st.lists(st.sampled_from(ANSWERS), min_size=1, max_size=30))
def test_answers_to_everything_in_turn_give_a_usable_model(
    mechanism: str, answers: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """One answer, or several; whole numbers where the grid is."""
    given = cycle(map(Fraction, answers))
    forced = Forced(lambda place, asked: next(given) if asked.grid_bits else math.floor(next(given)))
    model = plan_and_release(STATISTICS, Budget(Fraction(1)), mechanism, draw=forced)
    check_usable(model, tmp_path_factory.mktemp("models"))
