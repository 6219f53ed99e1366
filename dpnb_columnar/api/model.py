"""The released classifier as users hold it: predict, write SQL, save and load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from dpnb_columnar.api.arguments import sources_of
from dpnb_columnar.counting.inputs import open_rows
from dpnb_columnar.domain.domain_text import class_texts, html_fragment, predicts
from dpnb_columnar.domain.groupings import By, divisions_of
from dpnb_columnar.domain.names import listed
from dpnb_columnar.errors import UsageError
from dpnb_columnar.evaluation.released_scores import ReleasedScores
from dpnb_columnar.model.parameters import NaiveBayes, prior_header, prior_rows
from dpnb_columnar.registry import extension
from dpnb_columnar.rows.frames import Frame, in_form_of, to_polars
from dpnb_columnar.runtime.confinement import confined

if TYPE_CHECKING:
    from dpnb_columnar.dialects.nodes import Kinds
    from dpnb_columnar.evaluation.evaluation import Evaluation
    from dpnb_columnar.report.figures import Page
    from dpnb_columnar.rows.sources import DialectName

FrameT = TypeVar("FrameT", bound=Frame)


class Model(NaiveBayes):
    """A released naive Bayes classifier.

    Its attributes are those of ``NaiveBayes``: ``domain``, ``guarantee``, ``classes``, ``attributes``, ``software``,
    ``attribute_weights`` and ``weighted_classes``. Examples of its methods go on from this one.

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
    def predict(
        self, rows: FrameT, keep: Sequence[str] = (), *, labels: bool = False, intervals: bool = False
    ) -> FrameT:
        """Predict the class and the class probabilities of every row; see ``dpnb_columnar.model.scoring.score``.

        Args:
            rows: A frame with a column for each attribute: of Polars, lazy or not, an Arrow table, or a frame of a
                library that narwhals knows, such as pandas or DuckDB.
            keep: Columns to carry over, placed first.
            labels: Whether to add the column ``predicted_label``: the value label of the class, such as White for 1.
            intervals: Whether to add ``lower_CLASS`` and ``upper_CLASS`` for each class: the interval, at 95 %, of the
                probability that the model would give without noise. For models whose attributes are released as counts.

        Returns:
            A frame of the same library; for a LazyFrame, a query that is not computed yet. A pandas frame keeps its
            index.

        Raises:
            dpnb_columnar.errors.DataError: if a column is missing or of another type, or a kept one names a result.
            dpnb_columnar.errors.UsageError: if ``intervals`` are asked for, and an attribute's noise is not public.

        Examples:
            >>> model.predict(rows.drop("works"), keep=["age"]).columns
            ['age', 'predicted', 'probability_no', 'probability_yes', 'skipped']
        """
        from dpnb_columnar.model.scoring import score

        names = {*self.domain.columns, *keep}
        result: FrameT = in_form_of(score(self, to_polars(rows, names), keep, labels=labels, intervals=intervals), rows)
        return result

    @confined()
    def explain(
        self, rows: FrameT, keep: Sequence[str] = (), *, labels: bool = False, top: int | None = None
    ) -> FrameT:
        """Say what each attribute said for the predicted class of every row, in bits, exactly.

        Bits add up: ``log_odds``, the logarithm to base 2 of the odds of the predicted class to another one, is
        ``prior`` plus the bits of every attribute; see ``dpnb_columnar.model.scoring``.

        Args:
            rows: A frame, as for ``predict``.
            keep: Columns to carry over, placed first.
            labels: Whether to add the column ``predicted_label``.
            top: Name so many attributes that said most, and their bits, in place of a column per attribute.

        Returns:
            A frame of the same library, as ``predict`` does.

        Raises:
            dpnb_columnar.errors.Error: if the columns do not fit, or as ``scoring.explain`` says.

        Examples:
            >>> model.explain(rows).columns
            ['predicted', 'other', 'log_odds', 'prior', 'bits_age', 'skipped']
        """
        from dpnb_columnar.model.scoring import explain

        names = {*self.domain.columns, *keep}
        result: FrameT = in_form_of(explain(self, to_polars(rows, names), keep, labels=labels, top=top), rows)
        return result

    def evaluate(
        self,
        data: str | PathLike[str] | Sequence[str | PathLike[str]] | Frame,
        *,
        table: str | None = None,
        by: By | None = None,
    ) -> Evaluation:
        """Compare predictions with the classes of labelled rows, as ``dpnb_columnar.evaluate`` does. CONFIDENTIAL.

        Arguments are those of ``dpnb_columnar.evaluate``.

        Examples:
            >>> model.evaluate(rows).rows
            3
        """
        from dpnb_columnar.evaluation.exact_evaluation import evaluate as evaluate_rows
        from dpnb_columnar.evaluation.exact_evaluation import open_evaluated

        divisions = divisions_of(by, self.domain)
        domain = self.domain if divisions is None else divisions.domain
        rows = open_rows(sources_of(data, table), table)
        return evaluate_rows(self, open_evaluated(rows.open, domain), divisions)

    def __repr__(self) -> str:
        from dpnb_columnar.model.guarantee_text import statement

        classes = listed(class_texts(self.domain))
        counts = f"{len(self.domain.numeric)} numeric and {len(self.domain.categorical)} categorical attributes"
        return f"Model of {self.domain.name}: {classes} from {counts}\n{statement(self.guarantee)}"

    def _repr_html_(self) -> str:
        """Show the model in a notebook: what it predicts, the guarantee and the prior."""
        from dpnb_columnar.model.guarantee_text import statement

        lines = (f"{self.domain.name}: {predicts(self.domain)}", statement(self.guarantee))
        return html_fragment(lines, prior_header(self), prior_rows(self))

    def to_sql(
        self,
        dialect: DialectName | None = None,
        table: str | None = None,
        keys: Sequence[str] = (),
        kinds: Kinds | None = None,
        parameters: str | None = None,
        *,
        like: str | PathLike[str] | None = None,
        names: str | None = None,
    ) -> str:
        """Write a query that scores every row of a table; see ``dpnb_columnar.dialects.scoring_query.scoring_query``.

        Args:
            dialect: ``duckdb``, ``postgres``, ``spark``, ``bigquery``, ``snowflake`` or ``sqlite``; None for that of
                the database that ``like`` names.
            table: Name of the table, as the database writes it; None for the domain's name.
            keys: Columns to carry over, placed first; empty for all.
            kinds: What the columns hold, such as ``Kind.DATE``; see ``dpnb_columnar.dialects.nodes``.
            parameters: Name of a table of the model's terms for the query to join; it is written by
                ``dpnb_columnar.dialects.scoring_query.write_table``.
            like: Address of the database, or a DuckDB or SQLite file, whose catalogue tells the types and the spelling
                of the table's columns; or a Parquet file like the table. No row is read. It stands for ``kinds``.
            names: How the table spells its columns, where no catalogue tells it: ``lower``, ``upper`` or ``declared``.

        Returns:
            One SELECT, without a semicolon.

        Raises:
            dpnb_columnar.errors.UsageError: if the dialect is not known, or as ``scoring_query`` says.

        Examples:
            >>> query = model.to_sql("duckdb", "person", keys=["age"])
            >>> print(query.splitlines()[1])
            -- Scores rows by a model of 'data' (duckdb). Holds what the model holds, and no row.
        """
        from dpnb_columnar.dialects.scoring_query import scoring_query, sql_columns
        from dpnb_columnar.rows.sources import parse_dialect, parse_spelling

        if like is not None and kinds is not None:
            raise UsageError("kinds and like both say what the columns hold; give one of them")
        known, types, spelled = sql_columns(
            self,
            None if dialect is None else parse_dialect(dialect),
            None if like is None else str(like),
            table,
            keys,
            None if names is None else parse_spelling(names),
        )
        return scoring_query(
            self,
            known,
            table,
            keys,
            kinds if like is None else types,
            parameters=parameters,
            names=spelled,
        )

    def export(
        self, path: str | PathLike[str], to: Literal["onnx", "r", "stata", "sas", "spss"], *, overwrite: bool = False
    ) -> Path:
        """Write the model as a script that scores rows in another language, or as an ONNX graph.

        A script reads a table of the model's terms, ``PATH.terms.csv``, which is written to the same folder.

        Args:
            path: File to write.
            to: ``onnx``, ``r``, ``stata``, ``sas`` or ``spss``.
            overwrite: Whether to replace existing files.

        Raises:
            dpnb_columnar.errors.Error: if the language is not known, has no such name or text, or a file exists; or
                if ``onnx`` is asked for and not installed.

        Examples:
            >>> file = model.export("works.sps", "spss", overwrite=True)
            >>> file.with_name("works.sps.terms.csv").read_text().splitlines()[0]
            '"attribute","match","value","class","term","center","slope","curve","limit"'
        """
        exports = extension("exports.exports", "export")
        exports.write_export(self, Path(path), exports.parse_target(to), overwrite=overwrite)
        return Path(path)

    def sheet(
        self,
        path: str | PathLike[str] | None = None,
        *,
        record: str | PathLike[str] | Mapping[str, Any] | None = None,
        ledger: str | PathLike[str] | None = None,
        scores: str | PathLike[str] | ReleasedScores | None = None,
        audit: str | PathLike[str] | None = None,
        overwrite: bool = False,
    ) -> Page:
        """Make the release sheet, one page for whoever signs, as ``dpnb_columnar.sheet`` does.

        Arguments are those of ``dpnb_columnar.sheet``.

        Examples:
            >>> "What was chosen, and why" in model.sheet()
            True
        """
        from dpnb_columnar.model.document import document_digest
        from dpnb_columnar.papers.release_papers import read_papers
        from dpnb_columnar.papers.release_sheet import release_sheet, write_release_sheet
        from dpnb_columnar.report.figures import check_single_page

        papers = read_papers(
            self,
            record=record if isinstance(record, Mapping | None) else Path(record),
            ledger=None if ledger is None else Path(ledger),
            scores=scores if isinstance(scores, ReleasedScores | None) else Path(scores),
            audit=None if audit is None else Path(audit),
        )
        name, digest = f"{self.domain.name}.model.json", document_digest(self)
        if path is not None:
            check_single_page(Path(path), overwrite)
            write_release_sheet(self, name, digest, Path(path), papers, overwrite=overwrite)
        return release_sheet(self, name, digest, papers)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the model, which is public, as ``dpnb_columnar.save`` does.

        Arguments are those of ``dpnb_columnar.save``.

        Examples:
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
            values.measurements,
            values.classes,
            values.attributes,
            values.software,
            values.attribute_weights,
            values.weighted_classes,
        )
