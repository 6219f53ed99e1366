"""Settings of batch verbs from a file and from the environment.

An option that is typed takes precedence over ``DPNB_OPTION`` in the environment, that over the file named by
``--config``, that over the entry of datasets.toml, and that over the default. An unknown setting is refused: if a
misspelt epsilon were ignored, another one would be spent.

The options that all batch verbs share are here as well: the format of the log, and the dry run.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer

from dpnb_columnar.cli.console import LogFormat, is_json, log_event, print_line, print_table, start_log
from dpnb_columnar.cli.program import BATCH_VERBS, PREFIX, verb_parser
from dpnb_columnar.errors import ConfigurationError, MissingInputError, excerpt
from dpnb_columnar.version import __version__

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
        show_default=False,
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
    """Print every option with its value and where that comes from.

    Args:
        defaults: Value and origin of options, by option, that were neither typed nor set elsewhere: from the domain's
            entry, or the names of files.
    """
    rows = []
    for name, value, origin in option_origins(context):
        if origin == DEFAULT and name in defaults:
            value, origin = str(defaults[name][0]), defaults[name][1]
        rows.append((name, value, origin))
        log_event("setting", f"{name} {value}", setting=name, value=value, origin=origin)
    if not is_json():
        print_table(("setting", "value", "from"), rows)
        print_line()
