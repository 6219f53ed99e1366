"""``import dpnb_columnar as dpnb``: the same steps as the command line, for programs."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.people import DECLARATION, PEOPLE, people, people_domain, write_people
from support.running import in_python

import dpnb_columnar as dpnb
from dpnb_columnar import errors
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Pure, total
from dpnb_columnar.core.queries.statistics import Statistics
from dpnb_columnar.domain import Numeric, UnlabelledDomain


@pytest.fixture
def people_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_people(tmp_path / "people.parquet")


def test_train_predict_save_and_load(people_file: Path, tmp_path: Path) -> None:
    model = dpnb.train(people_file, epsilon="0.5")
    assert isinstance(model, Model)
    assert model.guarantee.private
    assert model.guarantee.epsilon == Fraction(1, 2)
    scored = model.predict(pl.scan_parquet(people_file)).collect()
    assert scored.columns == ["predicted", "probability_low", "probability_high", "skipped"]
    for name in ("model.json", "model.parquet"):
        model.save(tmp_path / name)
        assert dpnb.load_model(tmp_path / name) == dpnb.load_model(name) == model


def test_aggregate_and_release(people_file: Path) -> None:
    statistics = dpnb.aggregate("people.parquet")
    assert isinstance(statistics, Statistics)
    assert statistics.class_counts.sum() == 1000
    assert "CONFIDENTIAL" in repr(statistics)
    model = dpnb.release(statistics, epsilon=1, mechanism="histogram", neighbours="replace-one")
    assert (model.guarantee.mechanism, model.guarantee.neighbours) == ("histogram", "replace-one")


def test_statistics_of_parts_add_up(people_file: Path, tmp_path: Path) -> None:
    frame = people(300)
    first = write_people(tmp_path / "first.parquet", frame[:100])
    second = write_people(tmp_path / "second.parquet", frame[100:])
    whole = write_people(tmp_path / "whole.parquet", frame)
    assert dpnb.aggregate(first) + dpnb.aggregate(second) == dpnb.aggregate(whole)
    assert dpnb.aggregate([first, str(second)]) == dpnb.aggregate(whole)


@pytest.mark.parametrize(
    ("epsilon", "exact"),
    [
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        (0.1, Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Fraction(1, 3), Fraction(1, 3)),
        (2, Fraction(2)),
    ],
    ids=repr,
)
def test_epsilon_is_taken_exactly(epsilon: Any, exact: Fraction, people_file: Path) -> None:
    guarantee = dpnb.train(people_file, epsilon=epsilon).guarantee
    assert guarantee.epsilon == exact
    assert total(guarantee.composition) == Pure(exact)


def test_shares_divide_the_budget(people_file: Path) -> None:
    statistics = dpnb.aggregate(people_file)
    for model in (
        dpnb.train(people_file, epsilon=1, shares="3:1:2"),
        dpnb.release(statistics, epsilon=1, shares="3:1:2"),
    ):
        # Two numeric attributes at 3, one categorical at 1 and the class counts at 2 make 9 parts.
        assert model.guarantee.composition[0].cost == Pure(Fraction(2, 9))


def test_domain_and_data_set_can_be_named(people_file: Path, tmp_path: Path) -> None:
    narrow = {**PEOPLE, "attributes": {"age": {"lower": 0, "upper": 50, "step": 1}}}
    domain = people_domain(narrow)
    assert dpnb.train(people_file, epsilon=1, domain=domain).domain == domain
    (tmp_path / "datasets.toml").write_text(DECLARATION.replace("upper = 100", "upper = 50"))
    assert dpnb.aggregate(people_file, dataset="people").domain["age"] == domain["age"]
    assert dpnb.aggregate(people_file).domain == people_domain()


def test_another_label_can_be_named(people_file: Path) -> None:
    by_sex = dpnb.train(people_file, epsilon=1, label="sex")
    assert by_sex.domain.classes == ("f", "m")
    assert [each.name for each in by_sex.domain.attributes] == ["age", "hours", "income"]
    by_age = dpnb.train(people(50), epsilon=1, domain=people_domain(), label="age > 40")
    assert by_age.domain.classes == ("<=40", ">40")
    unlabelled = UnlabelledDomain("people", people_domain().attributes)
    assert dpnb.aggregate(people_file, domain=unlabelled, label="sex").domain.classes == ("f", "m")
    with pytest.raises(errors.ConfigurationError, match="label"):
        dpnb.aggregate(people_file, domain=unlabelled)
    with pytest.raises(errors.UsageError, match="'sexx'"):
        dpnb.aggregate(people_file, label="sexx")


def test_existing_model_is_replaced_on_demand_only(people_file: Path) -> None:
    model = dpnb.train(people_file, epsilon=1)
    model.save("people.json")
    with pytest.raises(errors.OutputError, match="exists already"):
        model.save("people.json")
    model.save("people.json", overwrite=True)


def test_names_of_the_package() -> None:
    assert all(callable(getattr(dpnb, name)) for name in dpnb.__all__)
    with pytest.raises(AttributeError, match="'dpnb_columnar' has no attribute 'trian'"):
        dpnb.trian  # noqa: B018


@pytest.mark.slow
def test_package_is_imported_without_its_engines() -> None:
    program = """
import sys
import dpnb_columnar as dpnb
assert not {"polars", "duckdb", "numpy", "pyarrow", "scipy", "flint", "dpnb_columnar.api"}.intersection(sys.modules)
train = dpnb.train
unused = {"scipy", "duckdb", "sqlglot", "dpnb_columnar.advice", "dpnb_columnar.report", "dpnb_columnar.extracts"}
assert not unused.intersection(sys.modules), unused.intersection(sys.modules)
functions = {name: getattr(dpnb, name) for name in dpnb.__all__}
assert "polars" in sys.modules
assert all(callable(function) for function in functions.values()), functions
# Nor do sub-packages, loaded meanwhile, take the functions' names.
import dpnb_columnar.cli.main
dpnb_columnar.cli.main.exit_code(["--version"])
assert all(getattr(dpnb, name) is function for name, function in functions.items())
"""
    ended = in_python("-c", program)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    "attribute",
    [
        Numeric("age", None, None, Fraction(1)),  # type: ignore[arg-type]
        Numeric("age", float("nan"), float("inf"), Fraction(1)),  # type: ignore[arg-type]
        Numeric("age", Fraction(90), Fraction(0), Fraction(1)),
        Numeric("age", Fraction(0), Fraction(90), Fraction(-1)),
        Numeric("age", Fraction(0), Fraction(90), Fraction(7)),
    ],
    ids=["no bounds", "no numbers", "reversed", "step below 0", "uneven step"],
)
def test_a_domain_made_by_hand_is_held_to_the_rules(attribute: Numeric, people_file: Path) -> None:
    domain = replace(people_domain(), attributes=(attribute,))
    with pytest.raises(errors.ConfigurationError, match="domain"):
        dpnb.train(people_file, epsilon=1, domain=domain)
    with pytest.raises(errors.ConfigurationError, match="domain"):
        dpnb.aggregate(people_file, domain=domain)
