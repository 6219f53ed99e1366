"""Bug 7. Floating-point arithmetic leaks: in the noise (diffprivlib #19 to #94, Opacus #616, google #126), where it is
added, and in the sum beneath it, which depends on the order of the rows (opendp #414).

Ours would show it as statistics that depend on the order of rows, as a sum that is not the exact one, or as a released
value that is no point of the public grid. Which points a float can reach after ``value + noise`` tells the value.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
from support.people import people, people_domain, write_people
from support.recorded_draws import cost_of, counted, draws, every_noise
from support.releases import plan_and_release
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.budget import Budget, Pure
from dpnb_columnar.mechanisms.smooth_moments import GRID_BITS
from dpnb_columnar.mechanisms.smooth_noise import smooth_family, smooth_noise
from dpnb_columnar.model.parameters import Normal
from dpnb_columnar.model.tuning import trim
from dpnb_columnar.noise import ExactSampler, NoiseFamily, Sampler, SystemBits

WAGES = {
    "label": {"column": "income", "classes": ["low", "high"]},
    "attributes": {"wage": {"lower": "-0.1", "upper": "429496729.5", "step": "0.1"}},
}
"""A grid of 2^32 cells of a tenth, a number that no float holds."""

UNIT_STEPS = {
    "label": {"column": "income", "classes": ["low", "high"]},
    "attributes": {"age": {"lower": 0, "upper": 100, "step": 1}, "hours": {"lower": 0, "upper": 98, "step": 1}},
}
"""Codes are the values themselves, so a grid point is seen in the released number."""


def wages(rows: int = 3000) -> pl.DataFrame:
    """Wages from a few tenths to hundreds of millions; summed as floats, their order matters."""
    generator = np.random.default_rng(4)
    wage = np.round(10 ** generator.uniform(-1, 8.6, rows), 1)
    return pl.DataFrame({"wage": wage, "income": np.where(generator.random(rows) < 0.5, "low", "high")})


def float_sum(frame: pl.DataFrame) -> float:
    """The sum of the wages as floats add up, row after row."""
    total = 0.0
    for wage in frame["wage"]:
        total += wage
    return total


def test_bug_07_the_order_of_rows_changes_no_bit(folder: Path, run: Run) -> None:
    """Shuffled, in tiny row groups, or in two files: the same statistics, and from one seed the same bytes."""
    frame = wages()
    shuffled = frame.sample(fraction=1, shuffle=True, seed=9)
    assert float_sum(frame) != float_sum(shuffled), "these rows would tell the orders apart"
    write_people(folder / "first.parquet", frame, WAGES)
    write_people(folder / "shuffled.parquet", shuffled, WAGES)
    metadata = dict(pl.read_parquet_metadata("first.parquet"))
    shuffled.reverse().write_parquet("groups.parquet", row_group_size=7, metadata=metadata)
    write_people(folder / "part-1.parquet", shuffled[:1], WAGES)
    write_people(folder / "part-2.parquet", shuffled[1:], WAGES)
    spread = [["first.parquet"], ["shuffled.parquet"], ["groups.parquet"], ["part-2.parquet", "part-1.parquet"]]
    statistics = [dpnb.aggregate(files) for files in spread]
    assert all(found == statistics[0] for found in statistics)
    assert statistics[0] == dpnb.aggregate("part-1.parquet") + dpnb.aggregate("part-2.parquet")
    models = set()
    for files in spread:
        run("train", *files, "--seed", 1, "--output", "model.json", "--overwrite")
        models.add(Path("model.json").read_bytes())
    assert len(models) == 1


@every_noise()
def test_bug_07_what_noise_is_added_to_is_the_exact_rational(noise: str, tmp_path: Path) -> None:
    """Mean and variance of the window in Python's own rationals; floats come out otherwise."""
    frame = wages()
    statistics = counted(tmp_path / "wages.parquet", frame, WAGES)
    delta = Fraction(0) if smooth_family(noise).kind is Pure else Fraction(1, 10**6)
    for klass, name in enumerate(("low", "high")):
        wage = frame.filter(income=name)["wage"].to_list()
        codes = sorted(round(10 * value) + 1 for value in wage)
        asked = draws(statistics, Budget(Fraction(1), delta=delta), "smooth", noise, answer=len(codes))
        means, variances = asked[2:4], asked[4:6]
        for drawn, power in ((means[klass], 1), (variances[klass], 2)):
            cut = trim(len(codes), drawn.noise)
            window = codes[cut : len(codes) - cut]
            middle = Fraction(sum(window), len(window))
            exact = middle if power == 1 else sum((code - middle) ** 2 for code in window) / len(window)
            assert drawn.location == exact
            assert drawn.location != Fraction(float(np.mean(window) if power == 1 else np.var(window)))


class FloatNoise:
    """The peers' way: a float uniform number, a float logarithm, a float sum."""

    private = True

    def __init__(self) -> None:
        self.generator = np.random.default_rng(8)

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        uniform = self.generator.uniform(-0.5, 0.5)
        laplace = -math.copysign(math.log1p(-2 * abs(uniform)), uniform)
        return Fraction(float(location) + float(scale) * laplace)


def off_the_grid(path: Path, sampler: Sampler, noise: str | None = None) -> float:
    """The part of all released means and variances that are not multiples of 2**-20 codes, or squared codes."""
    statistics = counted(path, people(200), UNIT_STEPS)
    delta = Fraction(0) if noise is None or smooth_family(noise).kind is Pure else Fraction(1, 10**6)
    released: list[float] = []
    for _ in range(2):
        model = plan_and_release(statistics, Budget(Fraction(1), delta=delta), "smooth", noise, sampler)
        for parameters in model.attributes:
            assert isinstance(parameters, Normal)
            released += [*parameters.released_mean, *parameters.released_spread[1]]
    return float(np.mean([not (value * 2**GRID_BITS).is_integer() for value in released]))


@every_noise()
def test_bug_07_released_moments_lie_on_the_public_grid(noise: str, tmp_path: Path) -> None:
    assert off_the_grid(tmp_path / "rows.parquet", ExactSampler(SystemBits()), noise) == 0


def test_bug_07_the_same_look_at_the_grid_finds_float_noise(tmp_path: Path) -> None:
    assert off_the_grid(tmp_path / "rows.parquet", FloatNoise()) > 0.9


@every_noise()
def test_bug_07_neighbouring_locations_reach_the_same_points(noise: str) -> None:
    """Mironov's attack on float noise: of two locations each reaches points that the other never does."""
    family, system = smooth_noise(noise, cost_of(noise, Fraction(1))), ExactSampler(SystemBits())
    floats = FloatNoise()

    def reached(sampler: Sampler, location: Fraction) -> set[Fraction]:
        """Points, as their distance from the nearest whole number of grid steps."""
        drawn = [sampler(location, Fraction(1, 3), family, GRID_BITS) * 2**GRID_BITS for _ in range(50)]
        return {point - round(point) for point in drawn}

    assert reached(system, Fraction(0)) == reached(system, Fraction(1, 3)) == {Fraction(0)}
    assert reached(floats, Fraction(0)) != reached(floats, Fraction(1, 3))


def test_bug_07_counts_are_whole_numbers(tmp_path: Path) -> None:
    statistics = dpnb.aggregate(write_people(tmp_path / "rows.parquet"), domain=people_domain())
    assert all(counts.dtype == np.int64 for counts in (statistics.class_counts, *statistics.tables.values()))
    for model in (dpnb.release(statistics, epsilon="0.1", mechanism=name) for name in ("smooth", "histogram")):
        assert all(type(count) is int for count in model.classes.released)
