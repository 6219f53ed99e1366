"""The packaged catalogue, and the published files: in ``$DPNB_DATA``, or in ``../shared/data`` beside the project."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from dpnb_columnar.datasets.catalogue import packaged_entries
from dpnb_columnar.domain import Categorical, Domain, Missing, Numeric
from support.real_data import FOLDER as DATA

CATALOGUE = {entry.name: entry for entry in packaged_entries()}

CENSUS_1940 = (
    *("AGE", "HRSWORK1", "WKSWORK1", "SEI", "SEX", "RACE", "MARST", "RELATE", "EDUC", "CLASSWKR", "NATIVITY"),
    *("URBAN", "EMPSTAT"),
)
SHAPES = {
    # name: (numeric attributes, categorical attributes, classes)
    "adult": (6, 8, 2),
    "mushroom": (0, 22, 2),
    "skin": (3, 0, 2),
    "seeds": (7, 0, 3),
    "glass": (9, 0, 7),
    "acs2018": (2, 11, 2),
    "acs_income_2018": (1, 14, 2),
    "census-income": (7, 33, 2),
    "census-income-no-recodes": (7, 23, 2),
    "ipums1940": (4, 9, 2),
    "census_simulated": (4, 9, 2),
}


def published(relative: str) -> Path:
    """A published file; the test is skipped where it is not at hand."""
    path = DATA / relative
    if not path.is_file():
        pytest.skip(f"{path} is not there; name the folder of the published files in DPNB_DATA")
    return path


def kept(attribute: Numeric | Categorical) -> pl.Expr:
    """Whether a value leaves its row in, by the rules of the domain and independent of the package's own code."""
    column = pl.col(attribute.name)
    if isinstance(attribute, Numeric):
        missing = column.cast(pl.Float64).is_in([float(value) for value in attribute.missing_values])
        return column.is_not_null() & ~missing
    text = column.cast(pl.String)
    listed = text.is_in(list(attribute.values)).fill_null(False)
    if attribute.missing is Missing.CATEGORY:
        return listed | text.is_null() | text.is_in(list(attribute.missing_values))
    return listed


def outside(frame: pl.DataFrame, domain: Domain) -> int:
    rules = [kept(attribute) for attribute in domain]
    if domain.label.column is not None:
        rules.append(pl.col(domain.label.column).cast(pl.String).is_in(list(domain.classes)).fill_null(False))
    else:
        rules.extend(pl.col(column).is_not_null() for column in domain.label.columns)
    return frame.filter(~pl.all_horizontal(rules)).height
