"""Small tables of many attributes whose rows are members of a model, or others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

import dpnb_columnar as dpnb
from dpnb_columnar.domain import Domain, read_domain
from dpnb_columnar.model.model import Model


def wide_document(attributes: int, categories: int) -> Mapping[str, Any]:
    values = [str(value) for value in range(categories)]
    return {
        "label": {"column": "income", "classes": ["low", "high"]},
        "attributes": {f"a{place}": {"values": values} for place in range(attributes)},
    }


def wide_domain(attributes: int, categories: int) -> Domain:
    return read_domain("people", wide_document(attributes, categories), "test")


def wide_rows(rows: int, attributes: int, categories: int, seed: int) -> pl.DataFrame:
    """Rows whose values are drawn evenly: what a model tells of them beyond that, it tells of its members."""
    generator = np.random.default_rng(seed)
    income = np.where(generator.random(rows) < 0.4, "high", "low")
    columns = {f"a{place}": generator.integers(0, categories, rows) for place in range(attributes)}
    return pl.DataFrame({"income": income, **columns})


def tenth_of_the_noise(members: pl.DataFrame, domain: Domain) -> Model:
    """A model that claims epsilon 1, and was drawn with a tenth of the noise for it: that for epsilon 10."""
    model = dpnb.train(members, domain=domain, epsilon=10, mechanism="histogram", attribute_weights="none")
    return replace(model, guarantee=replace(model.guarantee, epsilon=Fraction(1)))
