"""The released classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.domain import Domain
from dpnb_columnar.model.parameters import AttributeParameters, ClassCounts, Guarantee

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Model:
    """A released naive Bayes classifier.

    Attributes:
        domain: The declared domain it was trained for.
        guarantee: What was promised about the rows.
        classes: Class counts and priors.
        attributes: Parameters per attribute, in declared order; an attribute that was not asked about is absent.
        software: Versions of the program and of the libraries that drew the values.
    """

    domain: Domain
    guarantee: Guarantee
    classes: ClassCounts
    attributes: tuple[AttributeParameters, ...]
    software: Mapping[str, str]

    def predict(self, rows: pl.LazyFrame, keep: Sequence[str] = ()) -> pl.LazyFrame:
        """Class and class probabilities of every row; see ``dpnb_columnar.model.predict.score``."""
        from dpnb_columnar.model.predict import score

        return score(self, rows, keep)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the model as JSON or Parquet; see ``dpnb_columnar.model.files.save_model``."""
        from dpnb_columnar.model.files import save_model

        save_model(self, Path(path), overwrite=overwrite)
