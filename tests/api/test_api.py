"""``import dpnb_columnar as dpnb``: the same steps as the command line, of files and of databases, for programs."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from support.people import DECLARATION, PEOPLE, people, people_domain, write_people
from support.running import in_python
from support.tables import into_duckdb, into_sqlite

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


ROWS = people(400, seed=5)
FILE = Path("people.parquet")


@pytest.fixture(params=["duckdb", "sqlite"])
def database(request: pytest.FixtureRequest, folder: Path) -> str:
    """A database whose table holds the rows of ``people.parquet``."""
    write_people(FILE, ROWS)
    name = f"census.{request.param}"
    (into_duckdb if request.param == "duckdb" else into_sqlite)(Path(name), ROWS)
    return name


def test_a_table_is_counted_as_a_file(database: str) -> None:
    domain: Any = people_domain()
    assert dpnb.aggregate(database, table="person", domain=domain) == dpnb.aggregate(FILE)
    model = dpnb.train(database, table="person", domain=domain, epsilon=1, attribute_weights="calibrated")
    assert model.guarantee.epsilon == 1
    assert dpnb.evaluate(model, database, table="person").accuracy == dpnb.evaluate(model, FILE).accuracy
    there, here = dpnb.check(database, table="person", domain=domain), dpnb.check(FILE)
    assert (there.diagnosis.columns, there.repeats) == (here.diagnosis.columns, here.repeats)
    assert there.files == 0
    scores = dpnb.release_scores(model, Path(database), table="person", epsilon=1)
    assert scores.figures


def test_a_run_on_a_table_is_charged_once(database: str, run: Any) -> None:
    run("ledger", "init", "l.ledger", "--dataset", "people", "--epsilon", 1)
    given: Any = {"table": "person", "domain": people_domain(), "epsilon": 1, "ledger": "l.ledger", "run_id": "first"}
    assert dpnb.train(database, **given) == dpnb.train(database, **given)
    with pytest.raises(errors.UsageError, match="first"):
        dpnb.train(database, **{**given, "table": "main.person"})


def test_a_table_is_split_as_a_file(database: str) -> None:
    parts = dpnb.split(database, table="person")
    assert [part.name for part in parts] == ["census.train.parquet", "census.test.parquet"]
    for part, expected in zip(parts, dpnb.split(FILE), strict=True):
        made, wanted = pl.read_parquet(part), pl.read_parquet(expected)
        assert_frame_equal(made.cast(pl.String), wanted.cast(pl.String))


def test_a_further_pass_reads_a_table(database: str) -> None:
    domain = people_domain()
    tables = dpnb.release(dpnb.aggregate(FILE), epsilon=1, attribute_weights="calibrated")
    assert dpnb.count_given(database, tables, table="person").counts.sum() == ROWS.height
    assert domain == tables.domain
