"""CONFIDENTIAL. Scores many models on the same rows: terms are looked up per distinct value instead of per row.

The mathematics is that of ``dpnb_columnar.model.predict``: its terms, by the same expressions. Only the order of a sum
may differ, so the predicted classes are the same, but for ties that rounding decides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpnb_columnar.domain import Attribute, Numeric
from dpnb_columnar.model.likelihood import bin_starts
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.parameters import AttributeParameters, Histogram
from dpnb_columnar.model.polars_terms import prepared_value, terms
from dpnb_columnar.rows.column_kinds import Kind
from dpnb_columnar.study.reproduce.coding import CodedColumn, CodedRows, codes

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class HeldOut:
    """Rows to score models on. Confidential.

    Attributes:
        classes: Shape (rows,), int64: true class codes.
        columns: Per attribute, its column of these rows.
        kinds: What each column holds.
    """

    classes: Integers
    columns: Mapping[str, CodedColumn]
    kinds: Mapping[str, Kind]
    _prepared: dict[Attribute, pl.Series] = field(default_factory=dict)
    _grid_codes: dict[Numeric, Integers] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: CodedRows, chosen: Integers) -> HeldOut:
        """Some of the rows, by their positions."""
        columns = {name: column.of(chosen) for name, column in rows.columns.items()}
        return cls(rows.classes[chosen], columns, rows.kinds)

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.classes)

    def correct(self, model: Model) -> int:
        """How many rows the model classifies as they are."""
        return int(np.count_nonzero(self.predicted(model) == self.classes))

    def predicted(self, model: Model) -> Integers:
        """The class code that the model predicts for each row: the first class of the largest likelihood.

        Returns:
            Shape (rows,), int64.
        """
        found: Integers = self._joint(model).argmax(axis=0)
        return found

    def _joint(self, model: Model) -> Floats:
        """Joint log-likelihoods; shape (classes, rows)."""
        joint = np.empty((len(model.classes.probability), self.size))
        joint[:] = [[math.log(prior)] for prior in model.classes.probability]
        for parameters in model.attributes:
            attribute = model.domain[parameters.attribute]
            places = self.columns[attribute.name].places
            for row, table in zip(joint, self._terms(attribute, parameters), strict=True):
                row += table[places]
        return joint

    def _terms(self, attribute: Attribute, parameters: AttributeParameters) -> list[Floats]:
        """Per class, the term of each distinct value of an attribute."""
        value = self._value(attribute, parameters)
        found = value.to_frame().select(
            term.alias(str(place)) for place, term in enumerate(terms(attribute, parameters, pl.col(value.name)))
        )
        return [column.to_numpy() for column in found]

    def _value(self, attribute: Attribute, parameters: AttributeParameters) -> pl.Series:
        """The prepared form of each distinct value."""
        if isinstance(parameters, Histogram):
            assert isinstance(attribute, Numeric)
            reached = np.searchsorted(bin_starts(attribute, parameters.edges), self._codes(attribute), side="right")
            return pl.Series("value", reached)
        if attribute not in self._prepared:
            column = self.columns[attribute.name].values
            value = prepared_value(attribute, parameters, self.kinds[attribute.name]).alias("value")
            self._prepared[attribute] = column.to_frame().select(value).to_series()
        return self._prepared[attribute]

    def _codes(self, attribute: Numeric) -> Integers:
        """The grid code of each distinct value."""
        if attribute not in self._grid_codes:
            column = self.columns[attribute.name].values
            self._grid_codes[attribute] = codes(attribute, column, self.kinds[attribute.name])
        return self._grid_codes[attribute]
