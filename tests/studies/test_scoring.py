"""Many models on the same rows, scored by looking terms up: the classes are those of ``Model.predict``."""

from __future__ import annotations

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
from support.model_cases import declared, histogram_of, model_of, models, normal_of, table_of
from support.releases import plan_and_release

from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.mechanisms.plan import MECHANISMS, plan
from dpnb_columnar.core.mechanisms.score_calibration import margins_given
from dpnb_columnar.core.mechanisms.weight_rounds import start_rounds
from dpnb_columnar.core.noise import ExactSampler, SeededBits
from dpnb_columnar.counting.engines import local
from dpnb_columnar.counting.find_domain import find_domain
from dpnb_columnar.domain import Categorical, Domain
from dpnb_columnar.model.parameters import AttributeWeights, CalibrationLine
from studies.paper.coded_rows import Folds, HeldOut, code_rows, split
from studies.paper.coded_rows import models as trained
from studies.paper.data_sets import complete_rows


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


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_predicted_classes_are_those_of_predict(mechanism: str, tmp_path: Path, census: Path) -> None:
    """On a simulated census, and on rows with every kind of attribute; the same prepared rows serve all models."""
    file = tmp_path / "tiny.parquet"
    mini_plan.tiny_rows(3000).write_parquet(file)
    for data, domain in ((census, complete_rows(find_domain([census]).domain)), (file, tiny_domain())):
        folds = split(code_rows([data], domain), domain, 2, seed=5)
        order = np.sort(np.random.default_rng(5).permutation(folds.rows.size)[0::2])
        rows = fitting(data, domain)[order]
        for epsilon in ("0.05", "2"):
            model = released(folds, domain, mechanism, epsilon)
            found = by_looking_up(model, folds.held_out[0])
            assert found == by_predict(model, rows)
            truth = [domain.classes[code] for code in folds.held_out[0].classes]
            assert folds.held_out[0].correct(model) == sum(map(str.__eq__, found, truth))


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


def test_bins_and_logarithms_at_every_grid_code() -> None:
    """Bins of different edges, one model after the other, on every code of a logarithmic and of a plain scale."""
    numeric = {"lower": 0, "upper": 500, "step": 1}
    domain = declared({"plain": numeric, "log": {**numeric, "transform": "log1p"}})
    values = np.arange(501)
    rows = pl.DataFrame({"label": ["no"] * 501, "plain": values, "log": values})
    held_out = coded(rows, domain)
    last = 2**16 + 1
    for edges in ((0, 40_000, last), (0, 10_000, 50_000, last), (0, 60_000, last)):
        size = len(edges) - 1
        rising = np.arange(1, size + 1) / np.arange(1, size + 1).sum()
        histogram = histogram_of("log", edges, rising, rising[::-1])
        normal = normal_of("plain", (200.0, 260.0), (90.0, 120.0))
        model = model_of(domain, (normal, histogram))
        found = by_looking_up(model, held_out)
        assert found == by_predict(model, rows)
        assert len(set(found)) == 2


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
