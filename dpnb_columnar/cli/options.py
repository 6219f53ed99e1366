"""Options that several verbs share, and what those of a budget stand for, typed or declared beside the domain."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from dpnb_columnar.cli.console import print_line
from dpnb_columnar.core.budget import Neighbours, is_rule, parse_rows
from dpnb_columnar.core.budget.amounts import DEFAULT_EPSILON, DeclaredRowCount
from dpnb_columnar.counting.inputs import Engine
from dpnb_columnar.domain.names import number_text
from dpnb_columnar.errors import ConfigurationError, UsageError
from dpnb_columnar.options import Declared, DomainSource, LabelledDomain, Option, Terms, flags_of, options_of

if TYPE_CHECKING:
    from dpnb_columnar.counting.find_domain import ResolvedDomain


KEYWORD = inspect.Parameter.KEYWORD_ONLY


def typed(record: type, name: str) -> typer.models.OptionInfo:
    """Return the option of a record's field as Typer takes it, where a verb has that option alone."""
    (default,) = (field.default for field in fields(record) if field.name == name)
    return _as_typed(options_of(record)[name], flags_of(record)[name], default)


def _as_typed(option: Option, flag: str, default: object) -> typer.models.OptionInfo:
    made: typer.models.OptionInfo = typer.Option(
        flag,
        help=option.help or None,
        metavar=option.metavar,
        show_default=option.shown or default is not None,
        hidden=option.hidden,
    )
    return made


def parameters_of(record: type) -> Iterator[tuple[str, inspect.Parameter]]:
    """Yield the options of a record as the parameters of a verb's function, each with the name of its field."""
    options, flags = options_of(record), flags_of(record)
    for field in fields(record):
        if field.name in flags:
            option, flag = options[field.name], flags[field.name]
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            if option.type is str and isinstance(default, int):
                default = str(default)
            type_ = option.type if default is not None else option.type | None
            annotation: Any = Annotated[type_, _as_typed(option, flag, default)]
            name = flag.removeprefix("--").replace("-", "_")
            yield field.name, inspect.Parameter(name, KEYWORD, default=default, annotation=annotation)


def expanded(function: Callable[..., None]) -> Callable[..., None]:
    """Make the options of a verb of the records that its function takes, each in the place of its record.

    Typer, and so the help, files of settings and variables, see the options; the function is given the records.
    """
    hints = get_type_hints(function, include_extras=True)
    parameters: list[inspect.Parameter] = []
    records: dict[str, dict[str, str]] = {}
    for parameter in inspect.signature(function).parameters.values():
        hint = hints[parameter.name]
        if isinstance(hint, type) and is_dataclass(hint):
            own = dict(parameters_of(hint))
            records[parameter.name] = {field: option.name for field, option in own.items()}
            parameters += own.values()
        else:
            parameters.append(parameter.replace(annotation=hint, kind=KEYWORD))

    @wraps(function)
    def command(**values: Any) -> None:
        for name, own in records.items():
            values[name] = hints[name](**{field: values.pop(option) for field, option in own.items()})
        function(**values)

    vars(command)["__signature__"] = inspect.Signature(parameters)
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


COUNTED_BY = tuple(flag for name, flag in flags_of(Declared).items() if name not in flags_of(LabelledDomain))
"""Options that say by which unit and weight rows are counted, in place of the domain."""


DataOrTable = Annotated[
    list[str] | None,
    typer.Argument(
        help="Parquet files, folders of them, or quoted patterns; of this machine, or as s3://, gs://, az:// or "
        "https:// addresses; or one Delta or Iceberg table: FOLDER, FOLDER@SNAPSHOT or iceberg:NAMESPACE.TABLE; or one "
        "database with --table: a DuckDB or SQLite file, or postgresql://USER@HOST/NAME; with --engine spark also "
        "addresses such as hdfs://census/2018.",
        metavar="DATA...",
        show_default=False,
    ),
]
EngineName = Annotated[
    Engine,
    typer.Option(
        "--engine",
        help="Engine that counts the rows: this machine, or the cluster of Spark's configuration (docs/scale.md). The "
        "result is the same.",
    ),
]
SparkOrDatabaseTable = Annotated[
    str | None,
    typer.Option(
        help="Table or view of the database; with --engine spark, and no DATA, of Spark's catalogs, such as "
        "lake.census.person.",
        metavar="NAME",
        show_default=False,
    ),
]


Data = Annotated[
    list[str],
    typer.Argument(
        help="Parquet files, folders of them, or quoted patterns; of this machine, or as s3://, gs://, az:// or "
        "https:// addresses.",
        metavar="DATA",
        show_default=False,
    ),
]
DataOrDatabase = Annotated[
    list[str],
    typer.Argument(
        help="Parquet files, folders of them (those named COLUMN=VALUE are columns), or quoted patterns; of this "
        "machine, or as s3://, gs://, az:// or https:// addresses; or one Delta or Iceberg table: FOLDER, "
        "FOLDER@SNAPSHOT or iceberg:NAMESPACE.TABLE; or one database with --table: a DuckDB file (.duckdb), a SQLite "
        "file (.sqlite), or postgresql://USER@HOST/NAME.",
        metavar="DATA",
        show_default=False,
    ),
]
Table = Annotated[
    str | None,
    typer.Option(help="Table or view of the database.", metavar="NAME", show_default=False),
]
Query = Annotated[
    Path | None,
    typer.Option(help="File with the SELECT to run in the database.", metavar="FILE.sql", show_default=False),
]
Dataset = Annotated[str | None, typed(DomainSource, "dataset")]
Label = Annotated[str | None, typed(LabelledDomain, "label")]
ModelFile = Annotated[Path, typer.Argument(help="Model file, .json or .parquet.", metavar="MODEL", show_default=False)]
WholeUnits = Annotated[
    bool,
    typer.Option(
        "--whole-units",
        help="Declare that no unit has rows in more than one of the statistics: those of a domain with a unit add up "
        "only then.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")]
Epsilon = Annotated[str, typer.Option(help="Privacy budget, taken exactly as typed.", metavar="NUMBER")]
Given = Annotated[
    Path | None,
    typer.Option(
        help="Model released from statistics with --attribute-weights calibrated: the second pass over the rows, which "
        "spends the part of the budget that it left (docs/batch.md).",
        metavar="MODEL",
        show_default=False,
    ),
]
Relation = Annotated[Neighbours, typed(Terms, "neighbours")]
Seed = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Repeatable noise, for tests only: the model carries NO GUARANTEE.",
        metavar="INTEGER",
        show_default=False,
        hidden=True,
    ),
]


def columns_of(typed: Sequence[str] | None) -> list[str]:
    """Return the columns that an option names, which is repeated or names several with commas."""
    return [name for each in typed or () for part in each.split(",") if (name := part.strip())]


def entry_defaults(resolved: ResolvedDomain, rows: DeclaredRowCount | None) -> dict[str, tuple[object, str]]:
    """Return value and origin of the options, by option, that the domain's entry sets unless they are typed."""
    entry = str(resolved.entry)
    values: dict[str, tuple[object, str]] = {"--account": (resolved.domain.name, resolved.origin)}
    values["--epsilon"] = (
        (DEFAULT_EPSILON, "default") if resolved.epsilon is None else (number_text(resolved.epsilon), entry)
    )
    if rows is not None:
        values["--declared-rows"] = (rows.rows, rows.origin)
    return values


def declared_row_count(resolved: ResolvedDomain, typed: int | None) -> DeclaredRowCount | None:
    """Return the number of rows that was typed, else the one declared beside the domain; None if neither was."""
    if typed is not None:
        return DeclaredRowCount(parse_rows(typed), "--declared-rows")
    if resolved.rows is None:
        return None
    try:
        return DeclaredRowCount(parse_rows(resolved.rows), str(resolved.entry))
    except UsageError as error:
        raise ConfigurationError(f"{resolved.entry}: {error}") from None


def declared_row_count_for(resolved: ResolvedDomain, terms: Terms) -> DeclaredRowCount | None:
    """Return the declared number of rows if a rule for delta, or a choice, depends on it."""
    if terms.need_rows:
        return declared_row_count(resolved, terms.rows)
    if terms.rows is not None:
        raise UsageError(
            "declared rows: only a rule for delta, --mechanism auto and --attribute-weights auto depend on them; give "
            "--delta 1/n or 1/n^2, or leave --declared-rows out"
        )
    return None


def print_domain(resolved: ResolvedDomain) -> None:
    """Print the name of the domain in which rows are counted, and where it is declared."""
    name = resolved.domain.name
    print_line(f"domain {name}, from {resolved.origin}", "domain", domain=name, origin=str(resolved.origin))


def rule_line(delta: str, rows: DeclaredRowCount | None) -> str | None:
    """Return one line on the n of a rule for delta, and where it is declared; None where delta is no rule."""
    return f"delta {delta.strip()}, n = {rows.rows} from {rows.origin}" if is_rule(delta) and rows is not None else None
