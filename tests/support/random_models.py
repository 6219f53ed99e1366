"""Strategies: random models, and rows to score by them."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

from dpnb_columnar.api.model import Model
from dpnb_columnar.domain import Attribute, Categorical
from support.model_cases import models


def held(model: Model, name: str, value: Any) -> Any:
    """The value as the column of the test holds it."""
    return value if value is None or not isinstance(model.domain[name], Categorical) else str(value)


def values_for(attribute: Attribute) -> st.SearchStrategy[Any]:
    """Values of a column: in the domain, at its edges, beyond, missing."""
    if isinstance(attribute, Categorical):
        return st.none() | st.sampled_from(attribute.values) | st.just("a stranger")
    lower, upper = float(attribute.lower), float(attribute.upper)
    edges = [lower, upper, lower - 1, upper + 1, -0.0, math.inf, -math.inf, math.nan, 999999.0, None]
    on_grid = st.integers(0, attribute.cells).map(lambda code: lower + code * float(attribute.step))
    return st.one_of(st.floats(lower, upper), on_grid, st.sampled_from(edges))


@st.composite
def models_and_rows(draw: st.DrawFn) -> tuple[Model, list[dict[str, Any]]]:
    """A model and rows to score; no value so near the edge of a bin that a logarithm's last digit decides."""
    model = draw(models())
    attributes = [model.domain[parameters.attribute] for parameters in model.attributes]
    row = st.fixed_dictionaries({attribute.name: values_for(attribute) for attribute in attributes})
    return model, draw(st.lists(row, min_size=1, max_size=6))
