"""The released classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, overload

from dpnb_columnar.domain import Domain
from dpnb_columnar.model.parameters import AttributeParameters, ClassCounts, Guarantee

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from dpnb_columnar.dialects.rules import Kinds
    from dpnb_columnar.rows.frames import Frame


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

    @overload
    def predict(self, rows: pl.LazyFrame, keep: Sequence[str] = ()) -> pl.LazyFrame: ...
    @overload
    def predict(self, rows: pl.DataFrame, keep: Sequence[str] = ()) -> pl.DataFrame: ...
    @overload
    def predict(self, rows: pa.Table, keep: Sequence[str] = ()) -> pa.Table: ...
    def predict(self, rows: Frame, keep: Sequence[str] = ()) -> Frame:
        """Class and class probabilities of every row; see ``dpnb_columnar.model.predict.score``.

        Args:
            rows: A frame with a column for each attribute: a Polars LazyFrame or DataFrame, or an Arrow table.
            keep: Columns to carry over, placed first.

        Returns:
            A frame of the same sort; of a LazyFrame a query that is not computed yet.

        Raises:
            dpnb_columnar.errors.DataError: As ``score``.
        """
        from dpnb_columnar.model.predict import score
        from dpnb_columnar.rows.frames import in_form_of, to_polars

        return in_form_of(score(self, to_polars(rows).lazy(), keep), rows)

    def to_sql(
        self, dialect: str, table: str | None = None, keys: Sequence[str] = (), kinds: Kinds | None = None
    ) -> str:
        """A query that scores every row of a table; see ``dpnb_columnar.model.sql.scoring_query``.

        Args:
            dialect: ``duckdb``, ``postgres``, ``spark``, ``bigquery``, ``snowflake`` or ``sqlite``.
            table: Name of the table, as the database writes it; the domain's name where none is given.
            keys: Columns to carry over, placed first; all where none is given.
            kinds: What the columns hold, such as ``Kind.DATE``; see ``dpnb_columnar.dialects.rules``.

        Returns:
            One SELECT, without a semicolon.

        Raises:
            dpnb_columnar.errors.UsageError: As ``scoring_query``, or the dialect is not known.
        """
        from dpnb_columnar.model.sql import scoring_query
        from dpnb_columnar.rows.database_address import parse_dialect

        return scoring_query(self, parse_dialect(dialect), table, keys, kinds)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the model as JSON or Parquet; see ``dpnb_columnar.model.files.save_model``."""
        from dpnb_columnar.model.files import save_model

        save_model(self, Path(path), overwrite=overwrite)
