"""What sets the mechanisms apart: their composition tables, their noise, and what they make of invalid numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from support.exact_sensitivity import runs_of
from support.mechanisms import NEW, NOISE, SPREAD
from support.people import PEOPLE, people, people_domain, write_people
from support.releases import plan_and_release
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.core.budget import Budget, SharesRule
from dpnb_columnar.core.mechanisms.mechanism import pooled, sample_size
from dpnb_columnar.core.mechanisms.plan import plan
from dpnb_columnar.core.mechanisms.smooth import MomentQueries, exact_answers
from dpnb_columnar.core.mechanisms.tuning import trim
from dpnb_columnar.core.noise import ExactSampler, Laplace, NoiseFamily, PaperCauchy, SeededBits
from dpnb_columnar.core.queries.statistics import Statistics
from dpnb_columnar.core.sensitivity import public_size, trimmed_mean, trimmed_variance
from dpnb_columnar.core.sensitivity.moments import squares_shift
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.errors import UsageError
from dpnb_columnar.model.parameters import Normal, Table


@dataclass
class Told:
    """Gives the answers it is told, by the place of the draw; without one, the location. Notes what was asked."""

    answers: dict[int, Fraction] = field(default_factory=dict)
    asked: list[tuple[Fraction, Fraction, NoiseFamily]] = field(default_factory=list)
    private: bool = False

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        self.asked.append((location, scale, noise))
        return self.answers.get(len(self.asked) - 1, location)


@pytest.fixture(scope="module")
def statistics(tmp_path_factory: pytest.TempPathFactory) -> Statistics:
    """Of 1,000 people: columns ``age`` and ``hours``, classes of about 700 and 300 rows."""
    return dpnb.aggregate(write_people(tmp_path_factory.mktemp("people") / "people.parquet", people(1000), PEOPLE))


# --- noise ---------------------------------------------------------------------------------------------------------


def test_the_papers_noise_is_what_it_prints(statistics: Statistics) -> None:
    """Cauchy noise of scale sqrt(2) S/epsilon' for moments and class counts, Laplace noise for tables."""
    told, epsilon = Told(), Fraction(1, 6)
    plan_and_release(statistics, Budget(Fraction(1)), "paper", draw=told)
    assert len(told.asked) == 2 + 8 + 4
    for place, (_, scale, noise) in enumerate(told.asked):
        if place < 10:
            assert isinstance(noise, PaperCauchy)
            assert float(noise.scale) == pytest.approx(math.sqrt(2) / float(epsilon), rel=1e-12)
        else:
            assert noise == Laplace(epsilon)
        if place < 2 or place >= 10:
            assert scale == 1


def test_a_mechanism_has_a_noise_of_its_own_and_takes_others(statistics: Statistics) -> None:
    assert plan_and_release(statistics, Budget(Fraction(1)), "paper").guarantee.noise == "cauchy"
    assert plan_and_release(statistics, Budget(Fraction(1)), "paper", "student-3").guarantee.noise == "student-3"
    assert plan_and_release(statistics, Budget(Fraction(1)), "trimmed-mean").guarantee.noise == "polyplace"
    for mechanism in ("global", "global-variance"):
        assert plan_and_release(statistics, Budget(Fraction(1)), mechanism).guarantee.noise is None
        with pytest.raises(UsageError, match="takes no noise family"):
            plan(people_domain(), Budget(Fraction(1)), mechanism, "laplace")


# --- what is released ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["global", "global-variance"])
@pytest.mark.parametrize("sizes", [(9, 2000), (-4, 10**20)])
def test_untrimmed_moments_are_of_samples_of_public_size(
    mechanism: str, sizes: tuple[int, int], statistics: Statistics
) -> None:
    told = Told(dict(enumerate(map(Fraction, sizes))))
    plan_and_release(statistics, Budget(Fraction(1), division=SharesRule.EQUAL), mechanism, draw=told)
    asked = iter(told.asked[2:10])
    for attribute in statistics.domain.numeric:
        cells = attribute.scale.cells
        for query in ("mean", SPREAD[mechanism]):
            for column, released in zip(statistics.columns[attribute.name], sizes, strict=True):
                size = min(max(released, 8), 2**45)
                values = public_size(column, size, cells)
                location, scale, noise = next(asked)
                exact = {"mean": trimmed_mean(values, 0), "variance": trimmed_variance(values, 0)}
                exact["deviation"] = Fraction(math.sqrt(exact["variance"]))
                assert float(location) == pytest.approx(float(exact[query]), rel=1e-15)
                spread = (size - 1) / size**2 * cells**2
                assert float(scale) == pytest.approx(
                    {"mean": cells / size, "variance": spread, "deviation": math.sqrt(spread)}[query], rel=1e-9
                )
                assert noise == Laplace(Fraction(1, 6))


def test_squares_and_means_without_noise_give_the_trimmed_variance(statistics: Statistics) -> None:
    """The same window is cut of both columns, so what ``trimmed-mean`` makes of them is what ``smooth`` releases."""
    with_squares, direct = (
        plan_and_release(statistics, Budget(Fraction(1)), name, draw=Told()) for name in ("trimmed-mean", "smooth")
    )
    for one, two in zip(with_squares.attributes, direct.attributes, strict=True):
        if isinstance(one, Normal) and isinstance(two, Normal):
            assert one.mean == two.mean
            assert one.deviation == pytest.approx(two.deviation, rel=1e-12)
            assert one.released_variance is None
            assert two.released_variance is not None
            variances = [
                square - mean**2 for square, mean in zip(one.released_spread[1], one.released_mean, strict=True)
            ]
            assert variances == pytest.approx(two.released_variance, rel=1e-9)


def test_squares_beyond_the_largest_code_are_rounded_to_a_public_unit(tmp_path: Path) -> None:
    generator = np.random.default_rng(2)
    frame = pl.DataFrame(
        {"x": generator.normal(500_000, 100_000, 4000).round().clip(-1000, 10**6).astype(int), "y": ["a", "b"] * 2000}
    )
    domain = read_domain(
        "wide",
        {
            "label": {"column": "y", "classes": ["a", "b"]},
            "attributes": {"x": {"lower": -1000, "upper": 10**6, "step": 1}},
        },
        "test",
    )
    frame.write_parquet(tmp_path / "wide.parquet")
    counted = dpnb.aggregate(tmp_path / "wide.parquet", domain=domain)
    assert squares_shift(domain.numeric[0].scale.cells) == 8
    told, direct = (
        plan_and_release(counted, Budget(Fraction(8)), name, draw=Told()) for name in ("trimmed-mean", "smooth")
    )
    one, two = told.attributes[0], direct.attributes[0]
    assert isinstance(one, Normal)
    assert isinstance(two, Normal)
    assert one.deviation == pytest.approx(two.deviation, rel=1e-9)


# --- invalid numbers -----------------------------------------------------------------------------------------------


def spoiled(statistics: Statistics, mechanism: str, answers: dict[int, Fraction]) -> list[Normal]:
    """Parameters of ``age`` and ``hours``; draws 2 and 3 are means of ``age``, 4 and 5 its spread, by class."""
    model = plan_and_release(statistics, Budget(Fraction(100)), mechanism, draw=Told(answers))
    return [parameters for parameters in model.attributes if isinstance(parameters, Normal)]


@pytest.mark.parametrize("mechanism", ["trimmed-mean", "global", "global-variance", "smooth"])
def test_an_invalid_spread_is_replaced_by_that_of_all_classes(mechanism: str, statistics: Statistics) -> None:
    usual, _ = spoiled(statistics, mechanism, {})
    invalid = Fraction(usual.released_mean[1]) ** 2 - 2 if mechanism == "trimmed-mean" else Fraction(-2)
    age, hours = spoiled(statistics, mechanism, {5: invalid})
    assert age.released_spread[1][1] == float(invalid)
    assert age.deviation[0] == pytest.approx(usual.deviation[0], rel=5e-3), "drawn a little towards the average"
    assert 5 < age.deviation[1] < usual.deviation[0], "pooled, not a spike"
    hopeless, _ = spoiled(statistics, mechanism, {4: Fraction(-(10**6)), 5: invalid})
    assert hopeless.deviation == (100, 100)
    assert hopeless.mean == (50, 50)
    assert min(hours.deviation) > 3


def test_a_deviation_is_told_as_it_was_drawn(statistics: Statistics) -> None:
    age, _ = spoiled(statistics, "global", {4: Fraction(25, 2), 5: Fraction(21)})
    assert age.released_deviation == (12.5, 21)
    assert age.deviation == pytest.approx((12.5, 21), rel=5e-3)
    assert age.released_variance is None


def test_a_mean_far_out_of_bounds_is_not_squared(statistics: Statistics) -> None:
    """Noise on the mean alone would make the variance hugely negative."""
    for far in (Fraction(-(10**9)), Fraction(10**9)):
        age, _ = spoiled(statistics, "trimmed-mean", {2: far, 4: Fraction(10_900)})
        assert age.released_mean[0] == far
        assert age.mean[0] in (0, 100)
        assert age.deviation[0] > 20


def test_the_paper_truncates_at_zero_and_does_nothing_else(statistics: Statistics) -> None:
    usual, _ = spoiled(statistics, "paper", {})
    age, _ = spoiled(statistics, "paper", {2: Fraction(-3), 3: Fraction(400), 4: Fraction(-1), 5: Fraction(10**9)})
    assert age.mean == (0, 100)
    assert age.deviation == (math.sqrt(1 / 12), 100), "a spike where the variance was negative"
    assert age.released_mean == (-3, 400)
    assert age.released_variance == (-1, 1e9)
    assert usual.released_variance is not None
    assert usual.deviation == pytest.approx(np.sqrt(usual.released_variance)), "no correction for what was trimmed"
    empty = plan_and_release(statistics, Budget(Fraction(1)), "paper", draw=Told({0: Fraction(-500), 1: Fraction(29)}))
    assert empty.classes.released == (-500, 29)
    assert empty.classes.probability == (1 / 31, 30 / 31)
    noisy = plan_and_release(statistics, Budget(Fraction(1)), "paper", draw=Told({10: Fraction(-7), 11: Fraction(5)}))
    table = noisy.attributes[-1]
    assert isinstance(table, Table)
    assert table.released[0] == (-7, 5)
    assert table.probability[0] == (1 / 7, 6 / 7), "one is added to each, however noisy they are"


# --- through the front door ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", NEW)
def test_train_show_predict_and_evaluate(mechanism: str, people_file: Path, run: Run) -> None:
    run("train", people_file, "--mechanism", mechanism, "--epsilon", 500, "--output", "model.parquet")
    text = run("show", "model.parquet").out
    assert f"Mechanism {mechanism}" in text
    assert f"\n  {SPREAD[mechanism]} " in text
    run("predict", "model.parquet", people_file, "--output", "scored.parquet")
    scored = pl.read_parquet("scored.parquet")
    truth = pl.read_parquet(people_file)["income"]
    assert (scored["predicted"] == truth).mean() > 0.85  # type: ignore[operator]


@pytest.mark.parametrize("mechanism", ["trimmed-mean", "global"])
def test_show_says_what_a_spread_was_drawn_as(mechanism: str, people_file: Path, run: Run) -> None:
    run("train", people_file, "--mechanism", mechanism)
    told = {"trimmed-mean": "mean of squares", "global": "standard deviation"}[mechanism]
    assert told in run("show", "people.model.json", "--all").out
    run("train", people_file, "--overwrite")
    assert told not in run("show", "people.model.json", "--all").out


# --- what mechanisms share -----------------------------------------------------------------------------------------


def test_pooled_columns_are_all_classes_together() -> None:
    found = pooled([runs_of({1: 2, 5: 1}), runs_of({}), runs_of({0: 4, 5: 7})])
    assert dict(zip(found.codes.tolist(), found.counts.tolist(), strict=True)) == {0: 4, 1: 2, 5: 8}
    assert pooled([runs_of({}), runs_of({})]).size == 0


def test_moments_of_any_columns_are_released_in_order(statistics: Statistics) -> None:
    """One column of all classes together, as well as one per class."""
    shares = plan(people_domain(), Budget(Fraction(6)), "smooth").shares[1:3]
    columns = statistics.columns["age"]
    asked = [
        MomentQueries([pooled(columns)], [1000], 100, shares),
        MomentQueries(columns, [sample_size(3), 1000], 100, shares),
    ]
    told = Told()
    locations = [
        answer.noisy(told) for answers in exact_answers(asked) for query in answers.values() for answer in query
    ]
    noise = told.asked[0][2]
    whole, few, many = pooled(columns), public_size(columns[0], 8, 100), public_size(columns[1], 1000, 100)
    cut, cut_few, cut_many = trim(1000, noise), trim(8, noise, 8), trim(1000, noise, 8)
    assert locations == [
        *(trimmed_mean(whole, cut), trimmed_variance(whole, cut)),
        *(trimmed_mean(few, cut_few), trimmed_mean(many, cut_many)),
        *(trimmed_variance(few, cut_few), trimmed_variance(many, cut_many)),
    ]


@pytest.mark.parametrize("mechanism", NOISE)
def test_columns_searched_side_by_side_give_the_same_model(
    mechanism: str, statistics: Statistics, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = Budget(Fraction(1))
    at_once = plan_and_release(statistics, budget, mechanism, None, ExactSampler(SeededBits(3)))
    monkeypatch.setattr("dpnb_columnar.core.sensitivity.columns.CHUNK_RUNS", 1)
    assert plan_and_release(statistics, budget, mechanism, None, ExactSampler(SeededBits(3))) == at_once
