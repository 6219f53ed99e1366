"""Options that several verbs share, and what those of a budget stand for, typed or declared beside the domain.

What is typed takes precedence over ``DPNB_OPTION``, that over ``--config``, that over datasets.toml and the default. An
unknown setting is refused: if a misspelt epsilon were ignored, another one would be spent.
"""

from __future__ import annotations

import difflib
import inspect
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from decimal import Decimal
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from dpnb_columnar.cli.console import LogFormat, is_json, log_event, print_line, print_table, start_log
from dpnb_columnar.cli.main import BATCH_VERBS, PREFIX, verb_parser
from dpnb_columnar.core.budget import Neighbours, is_rule, parse_rows
from dpnb_columnar.core.budget.amounts import DEFAULT_EPSILON, DeclaredRowCount
from dpnb_columnar.counting.inputs import Engine
from dpnb_columnar.domain.names import number_text
from dpnb_columnar.errors import ConfigurationError, MissingInputError, UsageError, excerpt
from dpnb_columnar.options import Declared, DomainSource, LabelledDomain, Option, Terms, flags_of, options_of
from dpnb_columnar.version import __version__

if TYPE_CHECKING:
    from dpnb_columnar.counting.find_domain import ResolvedDomain


OTHER_VARIABLES = frozenset({"DPNB_TRACEBACK"})
"""Variables with the prefix that set no option."""

MAX_CONFIGURATION_BYTES = 2**20
"""Largest file that is read as a configuration."""

DEFAULT = "default"
SOURCES = {"COMMANDLINE": "command line", "DEFAULT": DEFAULT}
INTEGER = "INTEGER"
"""Metavar of the options that take whole numbers only."""

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
NOT_SETTINGS = frozenset({"config", "help"})
NOT_SETTABLE = NOT_SETTINGS | {"seed"}
"""Options that no file and no variable sets, but for DPNB_CONFIG: a forgotten seed must not take the guarantee from a
job."""


def _configure(context: typer.Context, path: Path | None) -> Path | None:
    """Take the options that are not typed from the file; called before any other option is parsed."""
    known = {name: parameter for name, parameter in _parameters(context).items() if name not in NOT_SETTABLE}
    _check_environment(str(context.info_name))
    if path is not None and not context.resilient_parsing:
        settings = read_configuration(path, str(context.info_name), BATCH_VERBS)
        context.default_map = _defaults(settings, known, f"{path}: [{context.info_name}]")
    return path


Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="TOML file whose table of this verb's name sets options that are not typed, such as epsilon = 0.5 under "
        "[train]. The environment (DPNB_EPSILON) takes precedence.",
        metavar="FILE",
        is_eager=True,
        callback=_configure,
    ),
]


def read_configuration(path: Path, verb: str, verbs: Collection[str]) -> Mapping[str, Any]:
    """Read the settings that a file holds for a verb."""
    from dpnb_columnar.domain.field_reader import parse_toml

    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_CONFIGURATION_BYTES + 1)
    except OSError as error:
        raise MissingInputError(f"{path}: cannot be opened: {error.strerror or 'no such file'}") from None
    if len(content) > MAX_CONFIGURATION_BYTES:
        raise ConfigurationError(f"{path}: not the configuration of a job: larger than {MAX_CONFIGURATION_BYTES} bytes")
    try:
        document = parse_toml(content)
    except ValueError as error:
        raise ConfigurationError(f"{path}: not TOML: {error}") from None
    for name, table in document.items():
        if not isinstance(table, dict):
            raise ConfigurationError(f"{path}: {excerpt(name)} stands outside a table; put it under [{verb}]")
        _known_name(name, verbs, str(path))
    settings: Mapping[str, Any] = document.get(verb, {})
    return settings


def option_origins(context: typer.Context) -> Iterator[tuple[str, str, str]]:
    """Yield every option with its value and where that comes from, for a dry run."""
    for name, parameter in _parameters(context).items():
        if name in NOT_SETTINGS | {"dry_run"} or (parameter.hidden and context.params.get(name) is None):
            continue
        source = context.get_parameter_source(name)
        where = SOURCES.get(source.name if source else "DEFAULT", "")
        if not where:
            where = variable_name(name) if source and source.name == "ENVIRONMENT" else str(context.params["config"])
        value = context.params.get(name)
        yield parameter.opts[0], _value_text(value), where if value is not None else DEFAULT


def variable_name(name: str) -> str:
    """Return the name of the environment variable that sets an option."""
    return f"{PREFIX}_{name.upper()}"


def _value_text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parameters(context: typer.Context) -> dict[str, Any]:
    return {str(parameter.name): parameter for parameter in context.command.params}


def _check_environment(verb: str) -> None:
    """Refuse variables with the program's prefix that are empty, or set no option of any batch verb."""
    names = sorted(name for name in os.environ if name.startswith(f"{PREFIX}_"))
    known = set(OTHER_VARIABLES)
    for each in dict.fromkeys([verb, *BATCH_VERBS]):
        if known.issuperset(names):
            break  # the parser of another verb takes long to build
        options = {str(option.name) for option in verb_parser(each).params if option.opts[0][0] == "-"}
        known |= {variable_name(name) for name in options - NOT_SETTABLE | {"config"}}
    for name in names:
        _known_name(name, known, "environment")
        if not os.environ[name].strip():  # the parser would pass over it, and release without the ledger it names
            raise ConfigurationError(f"environment: {name} is empty; unset it or give it a value")


def _known_name(name: str, known: Collection[str], place: str) -> str:
    """Return the name if it is known."""
    if name in known:
        return name
    near = difflib.get_close_matches(name, known, n=1)
    remedy = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(known))}"
    raise ConfigurationError(f"{place}: no setting is called {excerpt(name)}; {remedy}")


def _defaults(settings: Mapping[str, Any], known: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return the settings as values for the parser, by the names of its parameters."""
    values: dict[str, Any] = {}
    for key, value in settings.items():
        name = _known_name(key.replace("-", "_"), known, place)
        if name in values:
            raise ConfigurationError(f"{place}: {key} is set twice, with a hyphen and with an underscore; keep one")
        values[name] = _value(value, known[name], f"{place} {key}")
    return values


def _value(value: Any, parameter: Any, place: str) -> Any:
    """Convert a value of the file to the one that the option's parser takes."""
    several = parameter.nargs != 1 or parameter.multiple
    if getattr(parameter, "is_flag", False):
        if not isinstance(value, bool):
            raise ConfigurationError(f"{place}: expected true or false, found {excerpt(value)}")
        return value
    if several:
        listed = value if isinstance(value, list) else [value]
        if not all(isinstance(each, str) for each in listed):
            raise ConfigurationError(f"{place}: expected a list of texts, found {excerpt(value)}")
        return [_typed_text(each, place) for each in listed]
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise ConfigurationError(f"{place}: expected a text or a number, found {excerpt(value)}")
    if parameter.metavar == INTEGER and not _is_integer(value):
        raise ConfigurationError(f"{place}: expected a whole number, found {excerpt(value)}")
    return _typed_text(value, place)


def _typed_text(value: str | int | Decimal, place: str) -> str:
    """Return the value as it would be typed."""
    try:
        written = str(value)
    except ValueError:  # Python writes out no whole number of thousands of digits
        raise ConfigurationError(f"{place}: expected a moderate number, found {excerpt(value)}") from None
    if not written.strip():
        raise ConfigurationError(f"{place}: is empty; give it a value or leave it out")
    if CONTROL.search(written):
        raise ConfigurationError(f"{place}: holds a control character, found {excerpt(value)}; leave it out")
    return written


def _is_integer(value: str | int | Decimal) -> bool:
    """Return whether a value is a whole number, or a text that the parser takes for one."""
    if isinstance(value, str):
        try:
            int(value)
        except ValueError:
            return False
    return not isinstance(value, Decimal)


def _start_log(context: typer.Context, format: LogFormat) -> LogFormat:
    if not context.resilient_parsing:
        start_log(format, verb=context.info_name)
        log_event("started", f"dpnb-columnar {__version__}", version=__version__)
    return format


Log = Annotated[
    LogFormat,
    typer.Option(
        "--log-format",
        help="text for people; json writes one event a line to standard output (docs/batch.md).",
        callback=_start_log,
        hidden=True,  # for jobs, by its variable or a job file: docs/batch.md
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Show every setting and where it comes from, and what would be spent. Opens no row, spends and writes "
        "nothing.",
    ),
]


def print_settings(context: typer.Context, defaults: Mapping[str, tuple[object, str]]) -> None:
    """Print every option with its value and where that comes from; ``defaults`` has those of options left open."""
    rows = []
    for name, value, origin in option_origins(context):
        if origin == DEFAULT and name in defaults:
            value, origin = str(defaults[name][0]), defaults[name][1]
        rows.append((name, value, origin))
        log_event("setting", f"{name} {value}", setting=name, value=value, origin=origin)
    if not is_json():
        print_table(("setting", "value", "from"), rows)
        print_line()


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
    """Make a verb's options of the records that its function takes, each in the place of its record."""
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
    ),
]


Data = Annotated[
    list[str],
    typer.Argument(
        help="Parquet files, folders of them, or quoted patterns; of this machine, or as s3://, gs://, az:// or "
        "https:// addresses.",
        metavar="DATA",
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
    ),
]
Table = Annotated[str | None, typer.Option(help="Table or view of the database.", metavar="NAME")]
Query = Annotated[
    Path | None,
    typer.Option(help="File with the SELECT to run in the database.", metavar="FILE.sql"),
]
Dataset = Annotated[str | None, typed(DomainSource, "dataset")]
Label = Annotated[str | None, typed(LabelledDomain, "label")]
ModelFile = Annotated[Path, typer.Argument(help="Model file, .json or .parquet.", metavar="MODEL")]
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
    ),
]
Relation = Annotated[Neighbours, typed(Terms, "neighbours")]
Seed = Annotated[
    int | None,
    typer.Option(
        min=0, help="Repeatable noise, for tests only: the model carries NO GUARANTEE.", metavar="INTEGER", hidden=True
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
