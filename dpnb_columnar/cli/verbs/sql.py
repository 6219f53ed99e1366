"""``dpnb-columnar sql``: queries for a database to run, one that scores rows and one that counts them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import print_line, print_text, print_warning
from dpnb_columnar.cli.main import PlainCommand, PlainGroup
from dpnb_columnar.errors import UsageError, option, printable
from dpnb_columnar.options import Declared
from dpnb_columnar.rows.sources import Dialect, Spelling, parse_database
from dpnb_columnar.runtime.outputs import atomic_output, check_target

if TYPE_CHECKING:
    from sqlglot import exp

    from dpnb_columnar.core.queries.query import Query
    from dpnb_columnar.dialects.nodes import Kinds

SCORE = "score"

SqlDialect = Annotated[
    Dialect | None, typer.Option(help="Database that is to run the query.", show_default="that of --like")
]
SpelledNames = Annotated[
    Spelling | None,
    typer.Option(
        "--names",
        help="Case of the table's columns: mostly lower in PostgreSQL, upper in Snowflake.",
        show_default="as --like, or as declared",
    ),
]
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
    dialect: SqlDialect = None,
    table: TableName = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            help="Column to carry over; several with commas, or repeated.",
            metavar="COLUMN",
            show_default="every column of the table",
        ),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(
            help="The database, postgresql://... or a file of DuckDB or SQLite, whose catalogue tells the types and "
            "names of the table's columns; or a Parquet file like the table. No row is read.",
            metavar="DATABASE|DATA.parquet",
        ),
    ] = None,
    names: SpelledNames = None,
    view: Annotated[str | None, typer.Option(help="Create a view of this name.", metavar="NAME")] = None,
    parameters_table: Annotated[
        str | None,
        typer.Option(help="Table of the model's terms for the query to join, instead of holding them.", metavar="NAME"),
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
    probability per class, skipped.

    With --like, every column is read by the rules for its type, as predict does,
    under the name that the table has for it. Without --like, categories are
    compared as text, where 7 is also found as 7.0, and numbers are cast to 64-bit
    floats, which takes longer; columns are named as in the model, or by --names.

    With --parameters-table the query stays small, and fast, however many categories
    there are: what the model says of each stands in a table, which the query joins.
    Load the table first; a query that does not find all of it gives null.

    \b
    Examples:
      dpnb-columnar sql census.model.json --like census.duckdb --table person
      dpnb-columnar sql census.model.json --like postgresql://curator@db/census \\
          --table census.person --key serial --key pernum
      dpnb-columnar sql census.model.json --dialect postgres --names lower
      dpnb-columnar sql census.model.json --dialect snowflake --view scored \\
          --output scored.sql
      dpnb-columnar sql census.model.json --dialect postgres --key serial \\
          --parameters-table census_terms --parameters terms.sql --output score.sql
    """
    from dpnb_columnar.dialects.scoring_query import scoring_query, sql_columns
    from dpnb_columnar.model.model_files import read_model

    _check_parameters(parameters_table, parameters, template, output)
    for target in filter(None, (output, parameters)):
        check_target(target, overwrite, [model, *_file_of(like)])
    loaded = read_model(model)
    keys = options.columns_of(key)
    dialect, kinds, own_names = sql_columns(loaded, dialect, like, table, keys, names)
    query = scoring_query(loaded, dialect, table, keys, kinds, view, parameters_table, names=own_names)
    if parameters_table is not None:
        from dpnb_columnar.dialects.scoring_query import table_statements, write_table

        if parameters is None:
            statements = table_statements(loaded, parameters_table, dialect)
            query = "".join([*(f"{statement};\n" for statement in statements), query])
        else:
            write_table(loaded, parameters, parameters_table, dialect, overwrite=overwrite)
    _write(query, template, output, overwrite)
    if parameters is not None and output is not None:
        print_line(f"wrote {parameters}")
    if like is None:
        _warn_of_unknown_types(option("like", "DATABASE"))


@app.command("statistics", cls=PlainCommand, short_help="CONFIDENTIAL result: count every cell of a domain.")
@options.expanded
def statistics_command(
    dialect: SqlDialect = None,
    data: Annotated[
        list[str] | None,
        typer.Argument(
            help="Parquet files that carry the domain, with columns of the table's types; no row of them is read.",
            metavar="DATA",
        ),
    ] = None,
    *,
    declared: Declared,
    given: options.Given = None,
    table: TableName = None,
    like: Annotated[
        str | None,
        typer.Option(
            help="The database, postgresql://... or a file of DuckDB or SQLite, whose catalogue tells the types and "
            "names of the table's columns. No row is read.",
            metavar="DATABASE",
        ),
    ] = None,
    names: SpelledNames = None,
    template: ForTemplate = None,
    output: QueryFile = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Print a query that counts every cell of a domain.

    The query is public; its result is CONFIDENTIAL: the exact counts that
    aggregate writes. Save it as a CSV file with a header line, and release a
    model from it: dpnb-columnar release RESULT.csv --dataset NAME --output MODEL.

    --like or DATA tells what the columns hold. Without it, categories are compared
    as text, where 7 is also found as 7.0, and numbers are cast to 64-bit floats,
    which takes longer; columns are named as in the domain, or by --names.

    With --given the query counts what a model released from statistics waits for,
    the rows of each class by the score that it gives them. Release its result
    with --given, too.

    \b
    Examples:
      dpnb-columnar sql statistics census.parquet --dialect duckdb --table person
      dpnb-columnar sql statistics --given census.model.json --dialect postgres --names lower
      dpnb-columnar sql statistics --dataset census --like postgresql://curator@db/census
      dpnb-columnar sql statistics --dataset census --dialect spark --output counts.sql
    """
    from dpnb_columnar.core.queries.statistics import CellQuery
    from dpnb_columnar.counting.find_domain import find_domain
    from dpnb_columnar.dialects.rendering import renamed_table, table_or_default
    from dpnb_columnar.dialects.statistics_query import SPELLED, columns_like, dialect_like, query_sql
    from dpnb_columnar.domain.column_kinds import kind_of
    from dpnb_columnar.rows.input_files import resolve_files
    from dpnb_columnar.rows.parquet import open_parquet
    from dpnb_columnar.rows.row_rules import check_columns

    files = resolve_files(data) if data else ()
    if given is not None and declared != Declared():
        others = ", ".join(options.COUNTED_BY[:-1])
        raise UsageError(
            f"--given: the model has decided the domain; leave --dataset, --label, {others} and "
            f"{options.COUNTED_BY[-1]} out"
        )
    if given is None and not data and declared.dataset is None:
        raise UsageError("which domain? Give Parquet files that carry it, or name an entry with --dataset")
    if output is not None:
        beside = [file for file in (given, declared.catalogue_file) if file is not None]
        check_target(output, overwrite, [*files, *beside, *_file_of(like)])
    query: Query[Any]
    if given is not None:
        from dpnb_columnar.cli.verbs.release import query_of

        query = query_of(given)
    else:
        query = CellQuery(declared.counted(find_domain(files, declared.entry, declared.label)).domain)
    if like is not None and parse_database(like) is None:
        raise UsageError(f"--like {like}: no database; give files like the table as DATA")
    written_for, domain = dialect_like(dialect, like), query.domain
    kinds: Kinds = open_parquet(files, domain).kinds if files else {}
    spelled = {name: SPELLED[names or Spelling.DECLARED](name) for name in domain.counted_columns}
    if like is not None:
        source, own, found = columns_like(like, table, domain.name, domain.counted_columns, names)
        types = check_columns(found, domain, source)
        kinds = {name: kind_of(type_) for name, type_ in types.items()}
        spelled = {name: own[name] for name in types}
    rows: str | exp.Subquery | None = table
    if any(name != column for name, column in spelled.items()):
        rows = renamed_table(table_or_default(table, domain.name, written_for), spelled, written_for)
    _write(query_sql(query, kinds, rows, written_for), template, output, overwrite)
    if not kinds:
        _warn_of_unknown_types(f"{option('like', 'DATABASE')} or DATA")


def _file_of(like: str | None) -> list[Path]:
    """Return the file that tells of a table's columns; none for a server, or where nothing tells of them."""
    if like is None:
        return []
    database = parse_database(like)
    file = Path(like) if database is None else database.file
    return [] if file is None else [file]


def _warn_of_unknown_types(remedy: str) -> None:
    """Say on standard error what it costs that nothing tells the types of the table's columns."""
    print_warning(
        "types of columns are not known, so values are cast to text first, which takes DuckDB 2.6 times as long; "
        f"{remedy} tells them"
    )


def _check_parameters(
    table: str | None, parameters: Path | None, template: Template | None, output: Path | None
) -> None:
    """Refuse options for the table of the model's terms that contradict one another."""
    from dpnb_columnar.dialects.scoring_query import check_suffix

    if parameters is None:
        if table is not None and template is not None:
            raise UsageError("a template is one query: write the table to a file of its own, --parameters seed.csv")
        return
    if table is None:
        raise UsageError("--parameters: what is the table called in the database? Name it with --parameters-table")
    check_suffix(parameters)
    if output is not None and output.absolute() == parameters.absolute():
        raise UsageError(f"{output}: the query and its table need files of their own")


def _write(query: str, template: Template | None, output: Path | None, overwrite: bool) -> None:
    """Print the query, or write it to a file."""
    # Jinja would run what a class or a category is called: {{ 7*6 }}. No brace of the query begins anything there.
    text = f"{query};" if template is None else query.replace("{", "{{ '{' }}")
    if output is None:
        if printable(text) != text:  # escaped, it would look for another value
            raise UsageError(
                f"the query holds a name or a value with characters that a terminal obeys; write it to a file with "
                f"{option('output', 'FILE.sql')}"
            )
        print_text(text)
        return
    with atomic_output(output, overwrite=overwrite) as partial:
        partial.write_text(f"{text}\n", encoding="utf-8")
    print_line(f"wrote {output}")
