"""``dpnb-columnar sql``: queries for a database to run, one that scores rows and one that counts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import print_line
from dpnb_columnar.cli.given import query_of
from dpnb_columnar.cli.program import PlainCommand, PlainGroup
from dpnb_columnar.domain.database_address import Dialect
from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.options import Declared
from dpnb_columnar.runtime.outputs import check_target

if TYPE_CHECKING:
    from dpnb_columnar.domain.column_kinds import Kind
    from dpnb_columnar.model.model import Model

SCORE = "score"

SqlDialect = Annotated[Dialect, typer.Option(help="Database that is to run the query.", show_default=False)]
TableName = Annotated[
    str | None,
    typer.Option(
        help='Table or view to read, as the database writes its name: census.person, "odd name".',
        metavar="NAME",
        show_default="the domain's name",
    ),
]
QueryFile = Annotated[
    Path | None, typer.Option(help="File to write.", metavar="FILE.sql", show_default="standard output")
]


class Template(StrEnum):
    """A language of templates that the query is to be a text of."""

    JINJA = "jinja"


ForTemplate = Annotated[
    Template | None,
    typer.Option(
        "--template",
        help="Write the query as a template, such as a model of dbt: braces are escaped, and no semicolon ends it.",
        show_default=False,
    ),
]


class ScoreUnlessNamed(PlainGroup):
    """A group whose first argument may be a model in the place of a command."""

    def parse_args(self, ctx, args):  # type: ignore[no-untyped-def]  # Typer publishes no types for these
        """Put in the command that is left out."""
        left_out = args and args[0] not in {*self.commands, *ctx.help_option_names}
        return super().parse_args(ctx, [SCORE, *args] if left_out else args)


app = typer.Typer(
    cls=ScoreUnlessNamed,
    help="""Print SQL that scores rows, or that counts them.

    sql MODEL prints a query that scores rows; sql statistics prints one that
    counts them, so that the curator's database does the private half of train.
    Either is one SELECT that needs nothing but the table, for DuckDB,
    PostgreSQL, Spark, BigQuery, Snowflake or SQLite.

    \b
    Examples:
      dpnb-columnar sql census.model.json --dialect postgres --table census.person
      dpnb-columnar sql statistics --dataset census --dialect bigquery
    """,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command(SCORE, cls=PlainCommand, short_help="Score rows by a model. The word score may be left out.")
def score_command(
    model: options.ModelFile,
    dialect: SqlDialect,
    table: TableName = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            help="Column to carry over; repeat for more.", metavar="COLUMN", show_default="every column of the table"
        ),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(
            help="Parquet file with columns of the table's types; no row of it is read.",
            metavar="DATA.parquet",
            show_default=False,
        ),
    ] = None,
    view: Annotated[
        str | None, typer.Option(help="Create a view of this name.", metavar="NAME", show_default=False)
    ] = None,
    parameters_table: Annotated[
        str | None,
        typer.Option(
            help="Table of the model's terms for the query to join, instead of holding them.",
            metavar="NAME",
            show_default=False,
        ),
    ] = None,
    parameters: Annotated[
        Path | None,
        typer.Option(
            help="File for that table: .sql (statements that create it), .csv or .parquet.",
            metavar="FILE",
            show_default="before the query",
        ),
    ] = None,
    template: ForTemplate = None,
    output: QueryFile = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Print a query that scores rows by a model: sql MODEL, or sql score MODEL.

    Its columns are those of predict: the columns carried over, predicted, one
    probability per class, skipped. Names of columns count as the model has them,
    in upper and lower case.

    Without --like, categories are compared as text, where 7 is also found as 7.0,
    and numbers are cast to 64-bit floats. With it, every column is read by the
    rules for its type, as predict does.

    With --parameters-table the query stays small, and fast, however many categories
    there are: what the model says of each stands in a table, which the query joins.
    Load the table first; a query that does not find all of it gives null.

    \b
    Examples:
      dpnb-columnar sql census.model.json --dialect duckdb
      dpnb-columnar sql census.model.json --dialect postgres --table census.person \\
          --key serial --key pernum --like census.parquet
      dpnb-columnar sql census.model.json --dialect snowflake --view scored \\
          --output scored.sql
      dpnb-columnar sql census.model.json --dialect postgres --key serial \\
          --parameters-table census_terms --parameters terms.sql --output score.sql
    """
    from dpnb_columnar.model.model import load_model
    from dpnb_columnar.model.scoring_query import scoring_query

    _check_parameters(parameters_table, parameters, template, output)
    for target in filter(None, (output, parameters)):
        check_target(target, overwrite, [model] if like is None else [model, like])
    loaded = load_model(model)
    kinds = None if like is None else _kinds_like(loaded, like, key or [])
    query = scoring_query(loaded, dialect, table, key or [], kinds, view, parameters_table)
    if parameters_table is not None:
        from dpnb_columnar.model.joined_query import table_statements, write_table

        if parameters is None:
            statements = table_statements(loaded, parameters_table, dialect)
            query = "".join([*(f"{statement};\n" for statement in statements), query])
        else:
            write_table(loaded, parameters, parameters_table, dialect, overwrite=overwrite)
    _write(query, template, output, overwrite)
    if parameters is not None and output is not None:
        print_line(f"wrote {parameters}")


@app.command("statistics", cls=PlainCommand, short_help="CONFIDENTIAL result: count every cell of a domain.")
@options.expanded
def statistics_command(
    dialect: SqlDialect,
    data: Annotated[
        list[str] | None,
        typer.Argument(
            help="Parquet files that carry the domain, with columns of the table's types; no row of them is read.",
            metavar="DATA",
            show_default=False,
        ),
    ] = None,
    *,
    declared: Declared,
    given: options.Given = None,
    table: TableName = None,
    template: ForTemplate = None,
    output: QueryFile = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Print a query that counts every cell of a domain.

    The query is public; its result is CONFIDENTIAL: the exact counts that
    aggregate writes. Save it as a CSV file with a header line, and release a
    model from it: dpnb-columnar release RESULT.csv --dataset NAME --output MODEL.

    Without DATA, which tells what the columns hold, categories are compared as
    text, where 7 is also found as 7.0, and numbers are cast to 64-bit floats.

    With --given the query counts what a model released from statistics waits for:
    its scores, or the sums of the next round of attribute weights. Release its
    result with --given, too.

    \b
    Examples:
      dpnb-columnar sql statistics census.parquet --dialect duckdb --table person
      dpnb-columnar sql statistics --given census.model.json --dialect postgres
      dpnb-columnar sql statistics --dataset census --dialect spark --output counts.sql
    """
    from dpnb_columnar.counting.find_domain import find_domain
    from dpnb_columnar.counting.sql_queries import query_sql
    from dpnb_columnar.counting.statistics import CellQuery
    from dpnb_columnar.rows.input_files import resolve_files
    from dpnb_columnar.rows.parquet import open_parquet

    files = resolve_files(data) if data else ()
    if given is not None:
        if declared != Declared():
            others = ", ".join(options.COUNTED_BY[:-1])
            raise UsageError(
                f"--given: the model has decided the domain; leave --dataset, --catalogue, --label, {others} and "
                f"{options.COUNTED_BY[-1]} out"
            )
        if output is not None:
            check_target(output, overwrite, [*files, given])
        query = query_of(given)
        kinds = open_parquet(files, query.domain).kinds if files else {}
        _write(query_sql(query, kinds, table, dialect), template, output, overwrite)
        return
    if not data and declared.dataset is None:
        raise UsageError("which domain? Give Parquet files that carry it, or name an entry with --dataset")
    if output is not None:
        beside = [] if declared.catalogue_file is None else [declared.catalogue_file]
        check_target(output, overwrite, [*files, *beside])
    found = find_domain(files, declared.dataset, declared.label, catalogue=declared.catalogue_file)
    domain = declared.counted(found).domain
    kinds = open_parquet(files, domain).kinds if files else {}
    _write(query_sql(CellQuery(domain), kinds, table, dialect), template, output, overwrite)


def _check_parameters(
    table: str | None, parameters: Path | None, template: Template | None, output: Path | None
) -> None:
    """Refuse options for the table of the model's terms that contradict one another.

    Raises:
        UsageError: if they do, or the name of the table's file ends in none of its suffixes.
    """
    from dpnb_columnar.model.joined_query import check_suffix

    if parameters is None:
        if table is not None and template is not None:
            raise UsageError("a template is one query: write the table to a file of its own, --parameters seed.csv")
        return
    if table is None:
        raise UsageError("--parameters: what is the table called in the database? Name it with --parameters-table")
    check_suffix(parameters)
    if output is not None and output.absolute() == parameters.absolute():
        raise UsageError(f"{output}: the query and its table need files of their own")


def _kinds_like(model: Model, file: Path, keys: Sequence[str]) -> Mapping[str, Kind | None]:
    """Return the kinds of the columns of a file, and refuse one that the model cannot score."""
    import polars as pl

    from dpnb_columnar.domain.column_kinds import kind_of
    from dpnb_columnar.model.scoring import score
    from dpnb_columnar.rows.parquet import read_schema

    schema = read_schema(file)
    try:
        score(model, pl.LazyFrame(schema=schema), keys)
    except DataError as error:
        raise DataError(f"{file}: {error}") from None
    return {name: kind_of(type_) for name, type_ in schema.items()}


def _write(query: str, template: Template | None, output: Path | None, overwrite: bool) -> None:
    """Print the query, or write it to a file."""
    from dpnb_columnar.runtime.outputs import atomic_output

    # Jinja would run what a class or a category is called: {{ 7*6 }}. No brace of the query begins anything there.
    text = f"{query};" if template is None else query.replace("{", "{{ '{' }}")
    if output is None:
        print_line(text)
        return
    with atomic_output(output, overwrite=overwrite) as partial:
        partial.write_text(f"{text}\n", encoding="utf-8")
    print_line(f"wrote {output}")
