"""The released classifier as users hold it: predict, write SQL, save and load."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dpnb_columnar.domain.declared_domain import class_texts
from dpnb_columnar.domain.names import listed
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.runtime.confinement import confined

if TYPE_CHECKING:
    from dpnb_columnar.dialects.rules import Kinds
    from dpnb_columnar.model.evaluation import Evaluation
    from dpnb_columnar.rows.frames import Frame

FrameT = TypeVar("FrameT", bound="Frame")


class Model(NaiveBayes):
    """A released naive Bayes classifier.

    Its attributes are those of ``NaiveBayes``: ``domain``, ``guarantee``, ``classes``, ``attributes``, ``software``,
    ``attribute_weights`` and ``weighted_classes``.

    Examples:
        >>> import polars as pl
        >>> import dpnb_columnar as dpnb
        >>> works = {"column": "works", "classes": ["no", "yes"]}
        >>> domain = {"label": works, "attributes": {"age": {"lower": 0, "upper": 99}}}
        >>> rows = pl.DataFrame({"age": [20, 30, 40], "works": ["no", "yes", "yes"]})
        >>> model = dpnb.train(rows, epsilon=1, domain=domain)

        >>> model.domain.classes, model.guarantee.private, round(sum(model.priors), 9)
        (('no', 'yes'), True, 1.0)
    """

    @confined()
    def predict(self, rows: FrameT, keep: Sequence[str] = (), *, labels: bool = False) -> FrameT:
        """Predict the class and the class probabilities of every row; see ``dpnb_columnar.model.scoring.score``.

        Args:
            rows: A frame with a column for each attribute: of Polars, lazy or not, an Arrow table, or a frame of a
                library that narwhals knows, such as pandas or DuckDB.
            keep: Columns to carry over, placed first.
            labels: Whether to add the column ``predicted_label``: the value label of the class, such as White for 1.

        Returns:
            A frame of the same library; for a LazyFrame, a query that is not computed yet. A pandas frame keeps its
            index.

        Raises:
            dpnb_columnar.errors.DataError: if the columns do not fit, as ``score`` says.

        Examples:
            >>> import polars as pl
            >>> import dpnb_columnar as dpnb
            >>> works = {"column": "works", "classes": ["no", "yes"]}
            >>> domain = {"label": works, "attributes": {"age": {"lower": 0, "upper": 99}}}
            >>> rows = pl.DataFrame({"age": [20, 30, 40], "works": ["no", "yes", "yes"]})
            >>> model = dpnb.train(rows, epsilon=1, domain=domain)

            >>> model.predict(rows.drop("works"), keep=["age"]).columns
            ['age', 'predicted', 'probability_no', 'probability_yes', 'skipped']
        """
        from dpnb_columnar.model.scoring import score
        from dpnb_columnar.rows.frames import in_form_of, to_polars

        names = {*self.domain.columns, *keep}
        result: FrameT = in_form_of(score(self, to_polars(rows, names), keep, labels=labels), rows)
        return result

    def evaluate(self, data: str | PathLike[str] | Sequence[str | PathLike[str]] | Frame) -> Evaluation:
        """Compare predictions with the classes of labelled rows. CONFIDENTIAL: every figure is exact, without noise.

        Args:
            data: Files, folders or patterns, or a frame of a known library (Polars, Arrow, pandas, DuckDB and the
                like), with the label's columns too. The rows are those that training counts.

        Raises:
            dpnb_columnar.errors.Error: if the data is missing, does not fit the domain, or no row of it does.

        Examples:
            >>> import polars as pl
            >>> import dpnb_columnar as dpnb
            >>> works = {"column": "works", "classes": ["no", "yes"]}
            >>> domain = {"label": works, "attributes": {"age": {"lower": 0, "upper": 99}}}
            >>> rows = pl.DataFrame({"age": [20, 30, 40], "works": ["no", "yes", "yes"]})
            >>> model = dpnb.train(rows, epsilon=1, domain=domain)

            >>> model.evaluate(rows).rows
            3
        """
        from dpnb_columnar.model.exact_evaluation import evaluate
        from dpnb_columnar.rows.frames import is_frame
        from dpnb_columnar.rows.input_files import resolve_files

        if is_frame(data):
            return evaluate(self, data)
        paths = [data] if isinstance(data, str | PathLike) else data
        return evaluate(self, resolve_files([str(path) for path in paths]))

    def __repr__(self) -> str:
        from dpnb_columnar.model.guarantee import statement

        classes = listed(class_texts(self.domain))
        counts = f"{len(self.domain.numeric)} numeric and {len(self.domain.categorical)} categorical attributes"
        return f"Model of {self.domain.name}: {classes} from {counts}\n{statement(self.guarantee)}"

    def _repr_html_(self) -> str:
        """Show the model in a notebook: what it predicts, the guarantee and the prior."""
        from html import escape

        from dpnb_columnar.domain.declared_domain import predicts
        from dpnb_columnar.domain.names import printable
        from dpnb_columnar.model.guarantee import statement
        from dpnb_columnar.model.parameters import prior_header, prior_rows

        texts = (f"{self.domain.name}: {predicts(self.domain)}", statement(self.guarantee))
        paragraphs = "".join(f"<p>{escape(printable(text))}</p>" for text in texts)
        rows = "".join(
            f'<tr><th scope="row">{escape(printable(str(klass)))}</th>'
            + "".join(f"<td>{cell:,}</td>" if isinstance(cell, int) else f"<td>{cell}</td>" for cell in cells)
            + "</tr>"
            for klass, *cells in prior_rows(self)
        )
        names = "".join(f'<th scope="col">{escape(printable(name))}</th>' for name in prior_header(self))
        return f"<div>{paragraphs}<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table></div>"

    def to_sql(
        self,
        dialect: str,
        table: str | None = None,
        keys: Sequence[str] = (),
        kinds: Kinds | None = None,
        parameters: str | None = None,
    ) -> str:
        """Write a query that scores every row of a table; see ``dpnb_columnar.model.scoring_query.scoring_query``.

        Args:
            dialect: ``duckdb``, ``postgres``, ``spark``, ``bigquery``, ``snowflake`` or ``sqlite``.
            table: Name of the table, as the database writes it; None for the domain's name.
            keys: Columns to carry over, placed first; empty for all.
            kinds: What the columns hold, such as ``Kind.DATE``; see ``dpnb_columnar.dialects.rules``.
            parameters: Name of a table of the model's terms for the query to join; it is written by
                ``dpnb_columnar.model.joined_query.write_table``.

        Returns:
            One SELECT, without a semicolon.

        Raises:
            dpnb_columnar.errors.UsageError: if the dialect is not known, or as ``scoring_query`` says.

        Examples:
            >>> import polars as pl
            >>> import dpnb_columnar as dpnb
            >>> works = {"column": "works", "classes": ["no", "yes"]}
            >>> domain = {"label": works, "attributes": {"age": {"lower": 0, "upper": 99}}}
            >>> rows = pl.DataFrame({"age": [20, 30, 40], "works": ["no", "yes", "yes"]})
            >>> model = dpnb.train(rows, epsilon=1, domain=domain)

            >>> query = model.to_sql("duckdb", "person", keys=["age"])
            >>> print(query.splitlines()[1])
            -- Scores rows by a model of 'data' (duckdb). Holds what the model holds, and no row.
        """
        from dpnb_columnar.domain.database_address import parse_dialect
        from dpnb_columnar.model.scoring_query import scoring_query

        return scoring_query(self, parse_dialect(dialect), table, keys, kinds, parameters=parameters)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the model, which is public; see ``dpnb_columnar.model.model_files.save_model``.

        Args:
            path: File to write: ``.json``, or ``.parquet`` for one row per parameter.
            overwrite: Whether to replace an existing file.

        Raises:
            dpnb_columnar.errors.Error: if the name ends otherwise, or the file exists or cannot be written.

        Examples:
            >>> import polars as pl
            >>> import dpnb_columnar as dpnb
            >>> works = {"column": "works", "classes": ["no", "yes"]}
            >>> domain = {"label": works, "attributes": {"age": {"lower": 0, "upper": 99}}}
            >>> rows = pl.DataFrame({"age": [20, 30, 40], "works": ["no", "yes", "yes"]})
            >>> model = dpnb.train(rows, epsilon=1, domain=domain)

            >>> model.save("works.model.parquet", overwrite=True)
            >>> dpnb.load_model("works.model.parquet") == model
            True
        """
        from dpnb_columnar.model.model_files import save_model

        save_model(self, Path(path), overwrite=overwrite)

    @classmethod
    def of(cls, values: NaiveBayes) -> Model:
        """Give released values the methods of a model."""
        return cls(
            values.domain,
            values.guarantee,
            values.classes,
            values.attributes,
            values.software,
            values.attribute_weights,
            values.weighted_classes,
            values.version,
        )


def load_model(path: Path) -> Model:
    """Read a model file; see ``dpnb_columnar.model.model_files.read_model``."""
    from dpnb_columnar.model.model_files import read_model

    return Model.of(read_model(path))


def from_document(document: object, source: str) -> Model:
    """Read a model's document; see ``dpnb_columnar.model.document_reader.read_document``."""
    from dpnb_columnar.model.document_reader import read_document

    return Model.of(read_document(document, source))
