"""What sets the mechanisms apart: their noise, what they release, of missing values too, and what they make of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from types import MappingProxyType

import numpy as np
import polars as pl
import pytest
from support.exact_sensitivity import runs_of
from support.mechanisms import MECHANISMS, NOISE, PRIVATE, SPREAD
from support.model_cases import declared
from support.people import PEOPLE, people, people_domain, write_people
from support.recorded_draws import Forced, draws, total_loss
from support.releases import plan_and_release
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, Neighbours, SharesRule, total
from dpnb_columnar.core.code_limits import squares_shift
from dpnb_columnar.core.measurement import PRESENCE
from dpnb_columnar.core.mechanisms.mechanism import pooled
from dpnb_columnar.core.mechanisms.smooth import MomentQueries, exact_answers
from dpnb_columnar.core.mechanisms.tuning import sample_size, trim
from dpnb_columnar.core.noise import ExactSampler, Laplace, PaperCauchy, SeededBits
from dpnb_columnar.core.queries.statistics import Cells, Statistics, assemble
from dpnb_columnar.core.sensitivity import public_size, trimmed_mean, trimmed_variance
from dpnb_columnar.domain import Domain, Missing
from dpnb_columnar.model.parameters import Histogram, Normal, Table
from dpnb_columnar.releases.plan import plan


def told(answers: Mapping[int, int | Fraction] = MappingProxyType({})) -> Forced:
    """Give the answers by the place of the draw; without one, the location."""
    return Forced(lambda place, asked: answers.get(place))


@pytest.fixture(scope="module")
def statistics(tmp_path_factory: pytest.TempPathFactory) -> Statistics:
    """Of 1,000 people: columns ``age`` and ``hours``, classes of about 700 and 300 rows."""
    return dpnb.aggregate(write_people(tmp_path_factory.mktemp("people") / "people.parquet", people(1000), PEOPLE))


# --- noise ---------------------------------------------------------------------------------------------------------


def test_the_papers_noise_is_what_it_prints(statistics: Statistics) -> None:
    """Cauchy noise of scale sqrt(2) S/epsilon' for moments and class counts, Laplace noise for tables."""
    draw, epsilon = told(), Fraction(1, 6)
    plan_and_release(statistics, Budget(Fraction(1)), "paper", draw=draw)
    assert len(draw.calls) == 2 + 8 + 4
    for place, call in enumerate(draw.calls):
        scale, noise = call.scale, call.noise
        if place < 10:
            assert isinstance(noise, PaperCauchy)
            assert float(noise.scale) == pytest.approx(math.sqrt(2) / float(epsilon), rel=1e-12)
        else:
            assert noise == Laplace(epsilon)
        if place < 2 or place >= 10:
            assert scale == 1


# --- what is released ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["global", "global-variance"])
@pytest.mark.parametrize("sizes", [(9, 2000), (-4, 10**20)])
def test_untrimmed_moments_are_of_samples_of_public_size(
    mechanism: str, sizes: tuple[int, int], statistics: Statistics
) -> None:
    draw = told(dict(enumerate(sizes)))
    plan_and_release(statistics, Budget(Fraction(1), division=SharesRule.EQUAL), mechanism, draw=draw)
    asked = iter(draw.calls[2:10])
    for attribute in statistics.domain.numeric:
        cells = attribute.scale.cells
        for query in ("mean", SPREAD[mechanism]):
            for column, released in zip(statistics.columns[attribute.name], sizes, strict=True):
                size = min(max(released, 8), 2**45)
                values = public_size(column, size, cells)
                call = next(asked)
                exact = {"mean": trimmed_mean(values, 0), "variance": trimmed_variance(values, 0)}
                exact["deviation"] = Fraction(math.sqrt(exact["variance"]))
                assert float(call.location) == pytest.approx(float(exact[query]), rel=1e-15)
                spread = (size - 1) / size**2 * cells**2
                assert float(call.scale) == pytest.approx(
                    {"mean": cells / size, "variance": spread, "deviation": math.sqrt(spread)}[query], rel=1e-9
                )
                assert call.noise == Laplace(Fraction(1, 6))


def test_squares_and_means_without_noise_give_the_trimmed_variance(statistics: Statistics) -> None:
    """The same window is cut of both columns, so what ``trimmed-mean`` makes of them is what ``smooth`` releases."""
    with_squares, direct = (
        plan_and_release(statistics, Budget(Fraction(1)), name, draw=told()) for name in ("trimmed-mean", "smooth")
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


def test_squares_beyond_the_largest_code_are_rounded_to_a_public_unit() -> None:
    generator = np.random.default_rng(2)
    frame = pl.DataFrame(
        {
            "x": generator.normal(500_000, 100_000, 4000).round().clip(-1000, 10**6).astype(int),
            "label": ["no", "yes"] * 2000,
        }
    )
    domain = declared({"x": {"lower": -1000, "upper": 10**6, "step": 1}})
    aggregated = dpnb.aggregate(frame, domain=domain)
    assert squares_shift(domain.numeric[0].scale.cells) == 8
    squares, direct = (
        plan_and_release(aggregated, Budget(Fraction(8)), name, draw=told()) for name in ("trimmed-mean", "smooth")
    )
    one, two = squares.attributes[0], direct.attributes[0]
    assert isinstance(one, Normal)
    assert isinstance(two, Normal)
    assert one.deviation == pytest.approx(two.deviation, rel=1e-9)


# --- invalid numbers -----------------------------------------------------------------------------------------------


def spoiled(statistics: Statistics, mechanism: str, answers: dict[int, Fraction]) -> list[Normal]:
    """Parameters of ``age`` and ``hours``; draws 2 and 3 are means of ``age``, 4 and 5 its spread, by class."""
    model = plan_and_release(statistics, Budget(Fraction(100)), mechanism, draw=told(answers))
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
    empty = plan_and_release(statistics, Budget(Fraction(1)), "paper", draw=told({0: Fraction(-500), 1: Fraction(29)}))
    assert empty.classes.released == (-500, 29)
    assert empty.classes.probability == (1 / 31, 30 / 31)
    noisy = plan_and_release(statistics, Budget(Fraction(1)), "paper", draw=told({10: Fraction(-7), 11: Fraction(5)}))
    table = noisy.attributes[-1]
    assert isinstance(table, Table)
    assert table.released[0] == (-7, 5)
    assert table.probability[0] == (1 / 7, 6 / 7), "one is added to each, however noisy they are"


# --- through the front door ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["trimmed-mean", "global"])
def test_show_says_what_a_spread_was_drawn_as(mechanism: str, people_file: Path, run: Run) -> None:
    run("train", people_file, "--mechanism", mechanism)
    spread = {"trimmed-mean": "mean of squares", "global": "standard deviation"}[mechanism]
    assert spread in run("show", "people.model.json", "--all").out
    run("train", people_file, "--overwrite")
    assert spread not in run("show", "people.model.json", "--all").out


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
    draw = told()
    locations = [
        answer.noisy(draw) for answers in exact_answers(asked) for query in answers.values() for answer in query
    ]
    noise = draw.calls[0].noise
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


# Single faults that a release from statistics could have: in what is drawn, and in what is made of it.

ONE = Fraction(1)
CELLS = 1000


NUMERIC = declared({"x": {"lower": 0, "upper": CELLS, "step": 1}})


def counted(domain: Domain, first: Mapping[int, int], second: Mapping[int, int]) -> Statistics:
    """Statistics of a domain of one attribute: of either class, how many rows have each code."""
    rows = [(klass, code, count) for klass, counts in enumerate((first, second)) for code, count in counts.items()]
    classes, codes, counts = (np.array(part, dtype=np.int64) for part in zip(*rows, strict=True))
    (attribute,) = domain.attributes
    return assemble(
        domain, [Cells(None, classes, np.zeros_like(codes), counts), Cells(attribute.name, classes, codes, counts)]
    )


# What is drawn.

PAIRS: list[tuple[dict[int, int], dict[int, int]]] = [
    *(({0: 8 - high, CELLS: high}, {0: 8 - high - 1, CELLS: high + 1}) for high in range(3)),
    *(({0: 40 - high, CELLS: high}, {0: 40 - high - 1, CELLS: high + 1}) for high in (0, 1, 3, 4)),
    ({500: 40}, {500: 39, 501: 1}),
    ({0: 20, CELLS: 20}, {0: 19, CELLS: 21}),
    ({0: 40}, {0: 41}),
    ({CELLS: 9}, {CELLS: 8}),
]
"""Values of the first class in two neighbouring tables: at the bounds of a narrow window, and beyond it."""


@pytest.mark.parametrize(
    ("mechanism", "noise"), [("smooth", "polyplace"), ("trimmed-mean", "polyplace"), ("paper", None)]
)
@pytest.mark.parametrize("size", [8, 40])
def test_neighbours_lose_epsilon_and_hardly_less(mechanism: str, noise: str | None, size: int) -> None:
    """Catches: S halved, a search at twice beta, noise of half its scale, a statistic of another column than S is of.

    The loss is measured from the densities of what is drawn, with the public size the same for both. No pair may lose
    more than epsilon, and of the pairs that differ in a mean's window or in S alone one has to come near its share.
    """
    losses = []
    for one, two in PAIRS:
        relation = Neighbours.REPLACE_ONE if sum(one.values()) == sum(two.values()) else Neighbours.ADD_REMOVE
        first, second = (
            draws(counted(NUMERIC, counts, {7: 30}), Budget(ONE, relation), mechanism, noise, size)
            for counts in (one, two)
        )
        losses.append(total_loss(first, second) * relation.rows)
    assert max(losses) <= 1 + 1e-6
    # Both moments have two shares of four and a half; a Cauchy draw loses a little less than it is given.
    assert max(losses) > 0.25


@pytest.mark.parametrize("mechanism", ["smooth", "trimmed-mean", "paper"])
def test_what_is_drawn_leaves_room_for_the_error_of_the_search(mechanism: str) -> None:
    """Catches: a sensitivity that is drawn with as it was computed, which may be below the exact one by 2**-32 of it.

    One of eight values goes from one bound to the other: either moment moves by all that it can.
    """
    one, two = (
        draws(counted(NUMERIC, counts, {7: 8}), Budget(ONE, Neighbours.REPLACE_ONE), mechanism, None, 8)
        for counts in ({0: 8}, {0: 7, CELLS: 1})
    )
    moved = [(abs(first.location - second.location), first.scale) for first, second in zip(one, two, strict=True)]
    assert sum(change > 1 for change, _ in moved) == 2
    for change, scale in moved:
        if change > 1:
            assert change * (1 + Fraction(1, 2**32)) < scale < change * (1 + Fraction(1, 2**30))


@pytest.mark.parametrize("mechanism", ["histogram", "adaptive-histogram"])
@pytest.mark.parametrize(("lower", "upper"), [(0, 99), (-30, 4000)])
def test_a_bin_counts_the_values_that_its_edges_say(mechanism: str, lower: int, upper: int) -> None:
    """Catches: bins shifted by one code (``searchsorted`` from the other side), and a first or last code left out."""
    domain = declared({"x": {"lower": lower, "upper": upper, "step": 1}})
    rows = {code: code % 7 + 1 for code in range(upper - lower + 1)}  # no two neighbouring bins of one content
    model = plan_and_release(
        counted(domain, rows, {code: 8 - count for code, count in rows.items()}), Budget(ONE), mechanism, draw=Forced()
    )
    (parameters,) = model.attributes
    assert isinstance(parameters, Histogram)
    assert len(parameters.edges) > 4
    for place, count in enumerate(parameters.released[0]):
        low, high = parameters.edges[place : place + 2]
        assert count == sum(rows[code] for code in range(low, high)), (low, high)
    assert sum(parameters.released[1]) == 8 * len(rows) - sum(parameters.released[0])


# What is made of it.


def normal_rows(rows: int, mean: float, deviation: float) -> dict[int, int]:
    """Rows of a normal distribution, evenly by their probability."""
    codes: dict[int, int] = {}
    for row in range(rows):
        code = round(NormalDist(mean, deviation).inv_cdf((row + 0.5) / rows))
        codes[code] = codes.get(code, 0) + 1
    return codes


@pytest.mark.parametrize("mechanism", ["smooth", "trimmed-mean"])
@pytest.mark.parametrize("epsilon", ["1/10", "1"])
def test_a_trimmed_variance_is_corrected_to_that_of_all_values(mechanism: str, epsilon: str) -> None:
    """Catches: a variance that is multiplied by what trimming leaves of it, or not corrected: 10 % from each end is."""
    rows = counted(NUMERIC, normal_rows(3000, 400, 60), normal_rows(3000, 600, 60))
    model = plan_and_release(rows, Budget(Fraction(epsilon)), mechanism, draw=Forced())
    (parameters,) = model.attributes
    assert isinstance(parameters, Normal)
    assert parameters.mean == pytest.approx((400, 600), rel=0.01)
    assert parameters.deviation == pytest.approx((60, 60), rel=0.02)
    released = parameters.released_variance
    assert released is None or max(released) < 0.97 * 60**2


def test_placed_bins_reach_as_far_as_the_values_do() -> None:
    """Catches: a spread that is not corrected for trimming. Equal bins reach 2.5 deviations to either side."""
    values = normal_rows(3000, 500, 60)
    model = plan_and_release(
        counted(NUMERIC, values, values), Budget(Fraction(1, 10)), "adaptive-histogram", draw=Forced()
    )
    (parameters,) = model.attributes
    assert isinstance(parameters, Histogram)
    edges = np.array(parameters.edges)
    narrow = edges[:-1][np.diff(edges) <= np.diff(edges).min() + 1]
    assert (narrow[0], narrow[-1] + np.diff(edges).min()) == pytest.approx((350, 650), abs=8)


# Releases of attributes that some rows have no value of: the queries, the sizes of samples, the parameters.

CLASSES = (1000, 400)
PRESENT = (600, 100)
"""Rows of each class, and those of them that have a value."""

MOMENTS = [name for name in PRIVATE if name not in ("histogram", "majority")]
"""Mechanisms that use samples of public size."""


def domain(missing: Missing | None) -> Domain:
    """One numeric attribute with values from 0 to 20."""
    attribute = {"lower": 0, "upper": 20, "step": 1} | ({"missing": missing.value} if missing else {})
    return declared({"x": attribute})


def partly_present(missing: Missing | None, present: Sequence[int] = PRESENT) -> Statistics:
    """Half of the values that there are lie at 9, half at 11 in the first class; one above that in the second."""
    zeros, classes = np.zeros(2, dtype=np.int64), np.arange(2)
    cells = [Cells(None, classes, zeros, np.array(CLASSES))]
    cells += [Cells("x", classes, zeros + code + classes, np.array(present) // 2) for code in (9, 11)]
    return assemble(domain(missing), cells)


def released(mechanism: str, missing: Missing | None, draw: Forced | None = None, epsilon: int = 1000) -> Model:
    return plan_and_release(partly_present(missing), Budget(Fraction(epsilon)), mechanism, draw=draw or Forced())


def parameters(model: Model) -> Normal | Histogram:
    (each,) = model.attributes
    assert isinstance(each, Normal | Histogram)
    return each


def queries(mechanism: str, missing: Missing | None) -> list[tuple[str, int]]:
    shares = plan(domain(missing), Budget(Fraction(1)), mechanism).shares
    return [(share.query, share.values) for share in shares]


# What is asked.


@pytest.mark.parametrize("mechanism", PRIVATE)
def test_what_is_asked_about_missing_values(mechanism: str) -> None:
    """Nothing, where nothing is declared; the values there are, where samples need it; those and the missing ones."""
    usual = queries(mechanism, None)
    assert PRESENCE not in dict(usual)
    assert queries(mechanism, Missing.ROW) == usual
    first, *others = usual
    skip, category = [first, (PRESENCE, 2), *others], [first, (PRESENCE, 4), *others]
    assert queries(mechanism, Missing.SKIP) == (skip if mechanism in MOMENTS else usual)
    assert queries(mechanism, Missing.CATEGORY) == (usual if mechanism == "majority" else category)


@pytest.mark.parametrize("mechanism", MOMENTS)
@pytest.mark.parametrize("missing", [Missing.SKIP, Missing.CATEGORY])
def test_the_query_has_a_share_of_its_own(mechanism: str, missing: Missing) -> None:
    """A share like that of the class counts, of Laplace noise; all together are what the budget allows."""
    planned = plan(domain(missing), Budget(Fraction(3)), mechanism)
    counts, presence, *_ = planned.shares
    assert (presence.attribute, presence.noise) == ("x", "laplace")
    assert presence.cost == counts.cost
    assert total(planned.shares) == planned.total
    assert sum((share.cost.epsilon for share in planned.shares), Fraction(0)) == 3  # type: ignore[union-attr]
    assert released(mechanism, missing, epsilon=3).guarantee.composition[1].query == PRESENCE


@pytest.mark.parametrize("mechanism", MOMENTS)
def test_presence_is_drawn_before_anything_else_about_an_attribute(mechanism: str) -> None:
    draw = Forced()
    released(mechanism, Missing.CATEGORY, draw)
    assert [call.location for call in draw.calls[:6]] == [1000, 400, 600, 400, 100, 300]
    draw = Forced()
    released(mechanism, Missing.SKIP, draw)
    assert [call.location for call in draw.calls[:4]] == [1000, 400, 600, 100]


# The samples.


@pytest.mark.parametrize("mechanism", SPREAD)
@pytest.mark.parametrize("missing", [Missing.SKIP, Missing.CATEGORY])
def test_moments_are_those_of_the_values_there_are(mechanism: str, missing: Missing) -> None:
    each = parameters(released(mechanism, missing))
    assert isinstance(each, Normal)
    assert each.released_mean == (10, 11)
    name, spread = each.released_spread
    squares = {"released_variance": (1, 1), "released_deviation": (1, 1), "released_square": (101, 122)}
    assert spread == squares[name]


@pytest.mark.parametrize("mechanism", ["global", "global-variance"])
def test_undeclared_missing_values_are_padded_to_the_size_of_the_class(mechanism: str) -> None:
    """Half of the pads lie at each bound: the mean keeps its place where the bounds are as far, the spread grows."""
    each = parameters(released(mechanism, None))
    assert isinstance(each, Normal)
    assert each.released_mean == pytest.approx((10, (100 * 11 + 150 * 20) / 400))
    assert each.presence is None
    assert each.released_spread[1][0] > 1


@pytest.mark.parametrize(
    ("mechanism", "sizes"),
    [("smooth", {600, 100}), ("paper", {600, 100}), ("trimmed-mean", {600, 100}), ("adaptive-histogram", {700})],
)
def test_samples_are_as_large_as_what_was_released(
    mechanism: str, sizes: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "histogram" if mechanism == "adaptive-histogram" else "smooth"
    seen: set[int] = set()

    def recorded(asked: Sequence[object]) -> object:
        seen.update(size for each in asked for size in each.sizes)  # type: ignore[attr-defined]
        return exact_answers(asked)  # type: ignore[arg-type]

    monkeypatch.setattr(f"dpnb_columnar.core.mechanisms.{module}.exact_answers", recorded)
    released(mechanism, Missing.SKIP)
    assert seen == sizes
    seen.clear()
    released(mechanism, None)
    assert seen == ({sum(CLASSES)} if mechanism == "adaptive-histogram" else set(CLASSES))


# What is made of it.


@pytest.mark.parametrize("mechanism", [name for name in MECHANISMS if name != "majority"])
def test_a_category_of_missing_values_has_its_probability(mechanism: str) -> None:
    presence = parameters(released(mechanism, Missing.CATEGORY)).presence
    assert presence is not None
    assert presence.released == ((600, 400), (100, 300))
    assert presence.probability[0] == pytest.approx((0.6, 0.4), abs=0.01)
    assert presence.probability[1] == pytest.approx((0.25, 0.75), abs=0.01)
    assert [sum(row) for row in presence.probability] == pytest.approx([1, 1], abs=1e-15)


@pytest.mark.parametrize("mechanism", MOMENTS)
def test_values_there_are_have_the_probability_one_where_others_are_skipped(mechanism: str) -> None:
    presence = parameters(released(mechanism, Missing.SKIP)).presence
    assert presence is not None
    assert presence.released == ((600,), (100,))
    assert presence.probability == ((1.0,), (1.0,))


@pytest.mark.parametrize("mechanism", [name for name in PRIVATE if name != "majority"])
@pytest.mark.parametrize("missing", [Missing.SKIP, Missing.CATEGORY])
@pytest.mark.parametrize("count", [-(10**9), 0, 2**80])
def test_counts_that_are_noise_make_a_valid_model(mechanism: str, missing: Missing, count: int) -> None:
    draw = Forced(lambda place, asked: None if asked.grid_bits else count)
    model = plan_and_release(partly_present(missing), Budget(Fraction(1)), mechanism, draw=draw)
    presence = parameters(model).presence
    assert (presence is None) is (mechanism == "histogram" and missing is Missing.SKIP)
    if presence is not None and missing is Missing.CATEGORY:
        assert presence.probability == ((0.5, 0.5), (0.5, 0.5))


def test_a_histogram_counts_the_values_there_are_alone() -> None:
    each = parameters(released("histogram", Missing.CATEGORY))
    assert [sum(row) for row in each.released] == [600, 100]  # type: ignore[union-attr]
