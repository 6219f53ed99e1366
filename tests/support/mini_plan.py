"""A plan that takes a second, on data sets made by hand."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl

from dpnb_columnar.domain import Domain, read_domain
from dpnb_columnar.rows.parquet import open_parquet
from dpnb_columnar.rows.row_rules import row_fits
from studies.paper.data_sets import DataSet, Published, Synthetic, complete_rows
from studies.paper.experiments import Plan, Runtime, Study

CATALOGUE = """
[tiny]
source = "the tests"
files = ["tiny*.parquet"]

[tiny.label]
column = "income"
classes = ["low", "middle", "high"]

[tiny.attributes]
age = { lower = 0, upper = 100, step = 1 }
wage = { lower = 0, upper = 100000, step = 1, transform = "log1p" }
change = { lower = -50, upper = 50, step = 0.25 }
sex = { values = ["f", "m"] }
region = { values = ["n", "s"], missing = "category" }
"""
"""Every kind of attribute: plain, on a logarithmic scale, with numbers below zero, with a category for nulls."""

PURE = (("smooth", None, "0"), ("histogram", None, "0"), ("majority", None, "0"), ("none", None, "0"))
TINY = DataSet("tiny", 400, Published())
ABSENT = DataSet("mushroom", 8124, Published())
TELLING = DataSet("numeric-correlated", 300, Synthetic(300, numeric=True))
PLAN = Plan(
    mode="quick",
    iterations=2,
    folds=2,
    studies=(
        Study("evaluation", (TINY, ABSENT, TELLING), PURE, ("0.1", "1"), attribute_weights=("none", "auto")),
        Study("evaluation", (TINY, ABSENT, TELLING), (("smooth", "gaussian", "1/n"),), ("0.1", "1")),
        Study("bounds", (TINY,), (("smooth", None, "0"), ("none", None, "0")), ("1",), bounds=(1, 10)),
        Study("allocation", (TELLING,), (("smooth", None, "0"),), ("1",), weights=("1:2:1", "2:1:1")),
    ),
    runtime=Runtime(rows=(200, 400), largest_direct=200, repetitions=1),
)
"""Cells: evaluation 2 data sets x 4 (splits and folds) x 13, bounds 2 x 4 x 2, allocation 2 x 4 x 1."""

CELLS = 104 + 16 + 8

QUICK = ("--data", "data", "--quick", "--processes", 1)
"""The command line of a run in the folder of ``write_data``, where the plan stands for the quick one."""


def tiny_rows(rows: int = 400, seed: int = 3) -> pl.DataFrame:
    """Rows of ``tiny``: some have a null region, and every twentieth does not fit the domain."""
    generator = np.random.default_rng(seed)
    income = generator.choice(["low", "middle", "high"], rows, p=[0.5, 0.3, 0.2])
    place = np.searchsorted(["high", "low", "middle"], income)
    region = [["n", "s", None][code] for code in generator.integers(0, 3, rows)]
    income[::20] = "unknown"
    return pl.DataFrame(
        {
            "age": generator.integers(20, 60, rows) + 5 * place,
            "wage": np.round(np.exp(generator.normal(6 + place, 1)), 2).clip(0, 90_000),
            "change": generator.normal(2.0 * place, 5.0).round(2),
            "sex": np.where(generator.random(rows) < 0.5, "f", "m"),
            "region": region,
            "income": income,
        }
    )


def write_data(folder: Path) -> Path:
    """The catalogue in ``folder``, and the data set in a folder of its own, which is given."""
    (folder / "datasets.toml").write_text(CATALOGUE)
    data = folder / "data"
    data.mkdir()
    tiny_rows().write_parquet(data / "tiny.parquet")
    return data


def results(name: str = "results.parquet") -> pl.DataFrame:
    return pl.read_parquet(name)


def metadata_of(file: str) -> dict[str, str]:
    return {key: value for key, value in pl.read_parquet_metadata(file).items() if not key.startswith("ARROW")}


def tiny_domain() -> Domain:
    """Read the domain of the rows, of which complete ones alone are kept."""
    document = tomllib.loads(CATALOGUE, parse_float=Decimal)["tiny"]
    return complete_rows(read_domain("tiny", document, "test", other_keys=("source", "files")))


def fitting(file: Path, domain: Domain) -> pl.DataFrame:
    return pl.read_parquet(file).filter(row_fits(domain, open_parquet([file], domain).kinds))
