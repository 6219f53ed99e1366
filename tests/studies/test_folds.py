"""Rows as codes: what is counted, scored, searched and measured on folds is what the program finds in the same rows."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import mini_plan
from support.mini_plan import fitting, tiny_domain
from support.model_cases import declared, model_of, models, normal_of, table_of
from support.releases import plan_and_release

from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.noise import ExactSampler, SeededBits
from dpnb_columnar.core.queries.statistics import CellQuery, Statistics
from dpnb_columnar.core.sensitivity import RunLengthColumn, mean_smooth_sensitivity, variance_smooth_bound
from dpnb_columnar.counting import local
from dpnb_columnar.counting.find_domain import find_domain
from dpnb_columnar.domain import Categorical, Domain, Missing, Numeric
from dpnb_columnar.domain.attributes import MAXIMUM_CELLS
from dpnb_columnar.model.parameters import AttributeWeights, CalibrationLine, Normal
from dpnb_columnar.model.score_calibration import margins_given
from dpnb_columnar.model.weight_rounds import start_rounds
from dpnb_columnar.releases.plan import plan
from dpnb_columnar.rows.parquet import open_parquet
from studies.paper.accuracy import exact_moments, moment_errors
from studies.paper.coded_rows import Folds, HeldOut, code_rows, split
from studies.paper.coded_rows import models as trained
from studies.paper.data_sets import complete_rows, widened
from studies.paper.timing import direct_mean_sensitivity, direct_variance_bound, sorted_values

FOLDS = 3


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    mini_plan.tiny_rows().write_parquet(tmp_path / "tiny.parquet")
    return tmp_path / "tiny.parquet"


def counted(rows: pl.DataFrame, domain: Domain, folder: Path) -> Statistics:
    """Statistics of rows, by the engine."""
    file = folder / "rows.parquet"
    rows.write_parquet(file)
    return local.answer(open_parquet([file], domain), CellQuery(domain))


def test_complete_rows_alone_are_kept_but_for_declared_categories(tiny: Path) -> None:
    domain = tiny_domain()
    assert {name for name in domain.columns if name != "income" and domain[name].missing is not Missing.ROW} == {
        "region"
    }
    rows = fitting(tiny, domain)
    assert not rows.drop("region").null_count().sum_horizontal().item()
    assert rows["region"].null_count()


@pytest.mark.parametrize("factor", [1, 10, 10**6])
def test_training_by_subtraction_is_what_the_engine_counts(factor: int, tiny: Path) -> None:
    """Also under looser bounds, where the engine reads the rows anew."""
    domain = tiny_domain()
    wide = domain if factor == 1 else widened(domain, factor)
    rows = fitting(tiny, domain)
    assert 0 < len(rows) < 400
    fold = np.zeros(len(rows), dtype=int)
    order = np.random.default_rng(7).permutation(len(rows))
    for number in range(FOLDS):
        fold[order[number::FOLDS]] = number
    found = split(code_rows([tiny], domain), domain, FOLDS, seed=7)
    for number in range(FOLDS):
        training = rows.filter(pl.Series(fold != number))
        assert found.training(number, wide) == counted(training, wide, tiny.parent)
        assert found.held_out[number].size == int((fold == number).sum())
    assert found.training(0, domain) != found.training(1, domain)


def test_every_row_is_held_out_once(tiny: Path) -> None:
    domain = tiny_domain()
    found = split(code_rows([tiny], domain), domain, 7, seed=1)
    sizes = [held_out.size for held_out in found.held_out]
    assert max(sizes) - min(sizes) <= 1
    assert sum(sizes) == found.rows.size == len(fitting(tiny, domain))
    for name in ("age", "region"):
        held = pl.concat([part.columns[name].values.gather(part.columns[name].places) for part in found.held_out])
        assert held.sort().to_list() == fitting(tiny, domain)[name].sort().to_list()


@pytest.mark.parametrize(
    ("cells", "factor", "coarser"),
    [
        (10**8, 1, 1),
        (2**32, 1, 1),
        (2**32, 2, 2),
        (2**32, 9, 10),
        (2**32, 11, 16),
        (2**32, 999, 1000),
        (99_999_998, 1000, 32),
    ],
)
def test_a_grid_too_fine_is_made_coarser_by_the_smallest_power(cells: int, factor: int, coarser: int) -> None:
    domain = declared({"x": {"lower": 1, "upper": 1 + cells, "step": 1}})
    attribute = widened(domain, factor)["x"]
    assert isinstance(attribute, Numeric)
    assert attribute.step == coarser
    assert attribute.cells <= MAXIMUM_CELLS
    assert attribute.lower == 1
    assert 0 <= attribute.upper - (1 + cells * factor) < coarser


# Errors of the moments a model uses, against moments computed from the rows.


@pytest.fixture
def folds(tmp_path: Path) -> Folds:
    file = tmp_path / "tiny.parquet"
    mini_plan.tiny_rows().write_parquet(file)
    return split(code_rows([file], tiny_domain()), tiny_domain(), 2, seed=1)


def test_exact_moments_are_those_of_the_rows(folds: Folds, tmp_path: Path) -> None:
    """By numpy, of the rows themselves; the grid rounds ``wage`` and ``change``, ages are whole."""
    rows = fitting(tmp_path / "tiny.parquet", tiny_domain())
    order = np.random.default_rng(1).permutation(len(rows))
    training = rows[np.sort(order[1::2])]
    found = exact_moments(folds.training(0, tiny_domain()))
    for place, klass in enumerate(("low", "middle", "high")):
        here = training.filter(training["income"] == klass)
        age = here["age"].to_numpy()
        assert found["age"][place] == pytest.approx((age.mean(), age.var()))
        change, wage = here["change"].to_numpy().clip(-50, 50), np.log1p(here["wage"].to_numpy().clip(0))
        assert found["change"][place] == pytest.approx((change.mean(), change.var()), rel=0.05, abs=0.1)
        assert found["wage"][place] == pytest.approx((wage.mean(), wage.var()), rel=0.01)


def test_errors_of_shifted_and_stretched_distributions(folds: Folds) -> None:
    statistics = folds.training(0, tiny_domain())
    exact = exact_moments(statistics)
    plain = plan_and_release(statistics, Budget(Fraction(1)), "none")
    errors = moment_errors(plain, exact)
    assert errors.mean == pytest.approx(0, abs=1e-9)
    assert errors.variance == pytest.approx(0, abs=1e-9)
    shifted = moment_errors(changed(plain, by=2.0, stretch=1.0), exact)
    assert shifted.mean == pytest.approx(2)
    assert shifted.variance == pytest.approx(0, abs=1e-9)
    stretched = moment_errors(changed(plain, by=0.0, stretch=1 / 3), exact)
    assert stretched.mean == pytest.approx(0, abs=1e-9)
    assert stretched.variance == pytest.approx(2 * math.log(3))


def test_classes_without_spread_are_left_out(folds: Folds) -> None:
    statistics = folds.training(0, tiny_domain())
    plain = plan_and_release(statistics, Budget(Fraction(1)), "none")
    exact = {name: (None, *moments[1:]) for name, moments in exact_moments(statistics).items()}
    first = tuple(
        replace(each, mean=(1e9, *each.mean[1:])) if isinstance(each, Normal) else each for each in plain.attributes
    )
    assert moment_errors(replace(plain, attributes=first), exact).mean == pytest.approx(0, abs=1e-9)


def test_flattened_attributes_are_counted_apart(folds: Folds) -> None:
    """Their released means have errors all the same."""
    statistics = folds.training(0, tiny_domain())
    exact = exact_moments(statistics)
    plain = plan_and_release(statistics, Budget(Fraction(1)), "none")
    assert moment_errors(plain, exact).flattened == 0
    age = plain.attributes[0]
    assert isinstance(age, Normal)
    drawn = tuple(mean + 3 * math.sqrt(variance) for mean, variance in filter(None, exact["age"]))
    flat, scale = replace(age, mean=(50.0,) * 3, deviation=(100.0,) * 3), plain.domain.numeric[0].scale
    codes = tuple(((each - scale.origin) / scale.step,) for each in drawn)
    measured = tuple(
        replace(each, values=codes) if each.key == ("mean", "age") else each for each in plain.measurements
    )
    errors = moment_errors(replace(plain, attributes=(flat, *plain.attributes[1:]), measurements=measured), exact)
    assert errors.flattened == 1
    assert errors.mean == pytest.approx(0, abs=1e-9)
    assert errors.released == pytest.approx({"age": 3, "wage": 0, "change": 0}, abs=1e-9)


def test_models_without_normal_distributions_have_no_errors(folds: Folds) -> None:
    statistics = folds.training(0, tiny_domain())
    found = moment_errors(plan_and_release(statistics, Budget(Fraction(1)), "histogram"), exact_moments(statistics))
    assert (found.mean, found.variance, found.flattened) == (None, None, None)
    assert found.released == {}


def changed(model: Model, by: float, stretch: float) -> Model:
    """The model with every mean moved by so many deviations, and every deviation stretched."""
    attributes = tuple(
        replace(
            each,
            mean=tuple(mean + by * deviation for mean, deviation in zip(each.mean, each.deviation, strict=True)),
            deviation=tuple(deviation * stretch for deviation in each.deviation),
        )
        if isinstance(each, Normal)
        else each
        for each in model.attributes
    )
    return replace(model, attributes=attributes)


# Many models on the same rows, scored by looking terms up: the classes are those of ``Model.predict``.


def by_predict(model: Model, rows: pl.DataFrame) -> list[str]:
    return rows.lazy().pipe(model.predict).collect()["predicted"].to_list()


def by_looking_up(model: Model, held_out: HeldOut) -> list[str]:
    return [model.domain.classes[code] for code in held_out.predicted(model)]


def all_rows(file: Path, domain: Domain) -> HeldOut:
    """Every row of a file that fits, in order."""
    rows = code_rows([file], domain)
    return HeldOut.of(rows, np.arange(rows.size))


def released(folds: Folds, domain: Domain, mechanism: str, epsilon: str) -> Model:
    budget, draw = Budget(Fraction(epsilon)), ExactSampler(SeededBits(11))
    return plan_and_release(folds.training(0, domain), budget, mechanism, None, draw)


def test_the_first_of_equally_likely_classes_is_predicted() -> None:
    """As by ``predict``: mirrored tables, whose terms cancel exactly."""
    domain = declared({"a": {"values": ["x", "y"]}, "b": {"values": ["x", "y"]}}, ("no", "yes", "maybe"))
    up, down = (0.75, 0.25), (0.25, 0.75)
    model = model_of(domain, [table_of("a", down, up, up), table_of("b", down, up, up)], priors=[0.5, 0.25, 0.25])
    rows = pl.DataFrame({"label": ["no"] * 4, "a": ["x", "x", "y", "y"], "b": ["x", "y", "x", "y"]})
    assert by_looking_up(model, coded(rows, domain)) == by_predict(model, rows) == ["yes", "no", "no", "no"]


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(models(), st.integers(0, 2**32))
def test_any_model_predicts_the_same_either_way(model: Model, seed: int) -> None:
    """Random models of odd domains; rows whose best classes are that close that rounding decides are left out."""
    generator = np.random.default_rng(seed)
    columns = {}
    for attribute in model.domain.attributes:
        if isinstance(attribute, Categorical):
            columns[attribute.name] = generator.choice(attribute.values, 60)
        else:
            span = float(attribute.upper - attribute.lower)
            columns[attribute.name] = float(attribute.lower) + generator.uniform(-0.1, 1.1, 60) * span
    if model.domain.weight is not None:
        columns[model.domain.weight.column] = np.ones(60)
    rows = pl.DataFrame({"label": [model.domain.classes[0]] * 60, **columns})
    scored = rows.lazy().pipe(model.predict).collect()
    two = np.sort(scored.select(pl.col("^probability_.*$")).to_numpy(), axis=1)[:, -2:]
    clear = two[:, 1] - two[:, 0] > 1e-6
    found = np.array(by_looking_up(model, coded(rows, model.domain)))
    assert found[clear].tolist() == scored["predicted"].to_numpy()[clear].tolist()


def coded(rows: pl.DataFrame, domain: Domain) -> HeldOut:
    """Rows in memory, prepared."""
    with tempfile.TemporaryDirectory() as folder:
        rows.write_parquet(Path(folder) / "rows.parquet")
        return all_rows(Path(folder) / "rows.parquet", domain)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_classes_and_log_losses_under_a_line(classes: int) -> None:
    """As of ``predict``, on rows whose margins lie on every piece of the line."""
    names = [f"c{place}" for place in range(classes)]
    domain = declared({"x": {"lower": 0, "upper": 100, "step": 1}}, names)
    normal = normal_of("x", [90.0 * place / classes for place in range(classes)], [15.0] * classes)
    several = ((-2.0, 0.0, 1.0), 0.5) if classes > 2 else ()
    line = CalibrationLine(1, (-2.0, 0.0, 3.0), (-2.5, -0.25, 1.5), *several)
    weights = AttributeWeights("calibrated", (1.0,), (0.0,) * classes, line=line)
    model = replace(model_of(domain, [normal]), attribute_weights=weights)
    rows = pl.DataFrame({"label": [names[place % classes] for place in range(101)], "x": range(101)})
    held_out = coded(rows, domain)
    assert by_looking_up(model, held_out) == by_predict(model, rows)
    assert len(set(by_predict(model, rows))) == classes
    shares = model.predict(rows).select(pl.col("^probability_.*$")).to_numpy()
    loss = -np.log(np.take_along_axis(shares, held_out.classes[:, None], axis=1)).mean()
    assert held_out.log_loss(model) == pytest.approx(loss, rel=1e-12)


@pytest.mark.slow
def test_second_passes_and_log_losses_of_folds(census: Path) -> None:
    """Scores of training rows are counted as the engine counts a frame of them; losses are those of predict."""
    domain = complete_rows(find_domain([census]).domain)
    folds = split(code_rows([census], domain), domain, 3, seed=5)
    fold = folds.under(domain)[0]
    held_out = np.random.default_rng(5).permutation(folds.rows.size)[0::3]
    rows = fitting(census, domain)
    training = np.setdiff1d(np.arange(folds.rows.size), held_out)
    for mechanism in ("histogram", "smooth"):
        model = released(folds, domain, mechanism, "1")
        scores = margins_given(model)
        assert fold.training.check(domain).answer(scores) == local.answer(rows[training], scores)
        query = start_rounds(model).query
        for gradient in (query, replace(query, bound=query.bound // 3), replace(query, bound=10**5)):
            assert fold.training.answer(gradient) == local.answer(rows[training], gradient)
        scored = model.predict(rows[np.sort(held_out)])
        probability = scored.select(pl.col("^probability_.*$")).to_numpy()
        truth = fold.held_out.classes[:, None]
        loss = -np.log(np.take_along_axis(probability, truth, axis=1)).mean()
        assert fold.held_out.log_loss(model) == pytest.approx(loss, rel=1e-9)
    planned = plan(domain, Budget(Fraction(1)), "histogram", attribute_weights="calibrated")
    assert [model.attribute_weights is not None for model in trained([fold], planned)] == [True]


# The paper's direct search finds what the product's search finds.


@st.composite
def columns(draw: st.DrawFn) -> tuple[RunLengthColumn, int, int, float]:
    """A column, a trim that leaves two values, the largest code and beta."""
    cells = draw(st.sampled_from([1, 5, 40, 2**20, 2**32]))
    size = draw(st.integers(3, 60))
    values = draw(st.lists(st.integers(0, cells), min_size=size, max_size=size))
    codes, counts = np.unique(np.array(values, dtype=np.int64), return_counts=True)
    trim = draw(st.integers(0, (size - 2) // 2))
    beta = draw(st.sampled_from([0.001, 0.03, 0.3, 2.0]))
    return RunLengthColumn(codes, counts.astype(np.int64)), trim, cells, beta


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(columns())
def test_direct_search_finds_the_products_sensitivities(case: tuple[RunLengthColumn, int, int, float]) -> None:
    column, trim, cells, beta = case
    values = sorted_values(column)
    assert len(values) == column.size
    mean = mean_smooth_sensitivity(column, trim, cells, beta)
    variance = variance_smooth_bound(column, trim, cells, beta)
    assert direct_mean_sensitivity(values, trim, cells, beta) == pytest.approx(mean, rel=1e-8)
    assert direct_variance_bound(values, trim, cells, beta) == pytest.approx(variance, rel=1e-8)
