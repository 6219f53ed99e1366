"""Settings of batch jobs from a file and from the environment.

What is typed goes before ``DPNB_OPTION`` in the environment, that before the file named by ``--config``, that before
what datasets.toml declares, that before the default. A setting that nobody knows is refused: were a misspelt epsilon
passed over, another one would be spent.
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

from dpnb_columnar.cli.program import PREFIX, batch_parsers
from dpnb_columnar.errors import ConfigurationError, MissingInputError, shown

ELSEWHERE = frozenset({"DPNB_TRACEBACK"})
"""Variables that are no option's."""

LARGEST_CONFIGURATION = 2**20
"""Bytes; a larger file is not a job."""

DEFAULT = "default"
SOURCES = {"COMMANDLINE": "command line", "DEFAULT": DEFAULT}
INTEGER = "INTEGER"
"""What the help calls the value of an option that takes whole numbers only."""

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
NEVER_SET = frozenset({"config", "help"})
TYPED_ALONE = NEVER_SET | {"seed"}
"""Options that no file and no variable sets: a job must not lose its guarantee by what is left lying about."""


def _configure(context: typer.Context, path: Path | None) -> Path | None:
    """Take what is not typed from the file; called before any other option is looked at."""
    known = {name: parameter for name, parameter in _parameters(context).items() if name not in TYPED_ALONE}
    _check_environment()
    if path is not None and not context.resilient_parsing:
        settings = read_configuration(path, str(context.info_name), batch_parsers())
        context.default_map = _defaults(settings, known, f"{path}: [{context.info_name}]")
    return path


Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="TOML file whose table of this verb's name sets options that are not typed, such as epsilon = 0.5 under "
        "[train]. The environment (DPNB_EPSILON) goes before it.",
        metavar="FILE",
        show_default=False,
        is_eager=True,
        callback=_configure,
    ),
]


def read_configuration(path: Path, verb: str, verbs: Collection[str]) -> Mapping[str, Any]:
    """The settings that a file holds for a verb.

    Args:
        path: The file of ``--config``.
        verb: The verb that runs.
        verbs: All verbs that a file may have a table for.

    Raises:
        MissingInputError: The file cannot be opened.
        ConfigurationError: Not TOML, or a table that is no verb's.
    """
    from dpnb_columnar.domain.documents import parse_toml

    try:
        with path.open("rb") as stream:
            content = stream.read(LARGEST_CONFIGURATION + 1)
    except OSError as error:
        raise MissingInputError(f"{path}: cannot be opened: {error.strerror or 'no such file'}") from None
    if len(content) > LARGEST_CONFIGURATION:
        raise ConfigurationError(f"{path}: not the configuration of a job: larger than {LARGEST_CONFIGURATION} bytes")
    try:
        document = parse_toml(content.decode("utf-8"))
    except ValueError as error:
        raise ConfigurationError(f"{path}: not TOML: {error}") from None
    for name, table in document.items():
        if not isinstance(table, dict):
            raise ConfigurationError(f"{path}: {shown(name)} stands outside a table; put it under [{verb}]")
        _known(name, verbs, str(path))
    settings: Mapping[str, Any] = document.get(verb, {})
    return settings


def origins(context: typer.Context) -> Iterator[tuple[str, str, str]]:
    """Every option with the value it has and where that comes from, for a dry run."""
    for name, parameter in _parameters(context).items():
        if name in NEVER_SET | {"dry_run"}:
            continue
        source = context.get_parameter_source(name)
        where = SOURCES.get(source.name if source else "DEFAULT", "")
        if not where:
            where = variable(name) if source and source.name == "ENVIRONMENT" else str(context.params["config"])
        value = context.params.get(name)
        yield parameter.opts[0], _written(value), where if value is not None else DEFAULT


def variable(name: str) -> str:
    """The environment variable that sets an option."""
    return f"{PREFIX}_{name.upper()}"


def _written(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parameters(context: typer.Context) -> dict[str, Any]:
    return {str(parameter.name): parameter for parameter in context.command.params}


def _check_environment() -> None:
    """Refuse variables with the program's prefix that are empty, or set no option of any batch verb."""
    names = sorted(name for name in os.environ if name.startswith(f"{PREFIX}_"))
    if not names:
        return  # the parsers of the other batch verbs take long to build
    options = [option for verb in batch_parsers().values() for option in verb.params if option.opts[0][0] == "-"]
    known = {
        variable(str(option.name)) for option in options if option.name not in TYPED_ALONE - {"config"}
    } | ELSEWHERE
    for name in names:
        _known(name, known, "environment")
        if not os.environ[name].strip():  # the parser would pass over it, and release without the ledger it names
            raise ConfigurationError(f"environment: {name} is empty; unset it or give it a value")


def _known(name: str, known: Collection[str], place: str) -> str:
    """The name, if it is known.

    Raises:
        ConfigurationError: With the nearest name that is.
    """
    if name in known:
        return name
    near = difflib.get_close_matches(name, known, n=1)
    remedy = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(known))}"
    raise ConfigurationError(f"{place}: no setting is called {shown(name)}; {remedy}")


def _defaults(settings: Mapping[str, Any], known: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Values for the parser, by the names of its parameters.

    Raises:
        ConfigurationError: As ``_known`` and ``_value``; or two keys set one option.
    """
    values: dict[str, Any] = {}
    for key, value in settings.items():
        name = _known(key.replace("-", "_"), known, place)
        if name in values:
            raise ConfigurationError(f"{place}: {key} is set twice, with a hyphen and with an underscore; keep one")
        values[name] = _value(value, known[name], f"{place} {key}")
    return values


def _value(value: Any, parameter: Any, place: str) -> Any:
    """A value of the file as the option's parser takes it.

    Raises:
        ConfigurationError: It is nothing that the option takes.
    """
    several = parameter.nargs != 1 or parameter.multiple
    if getattr(parameter, "is_flag", False):
        if not isinstance(value, bool):
            raise ConfigurationError(f"{place}: expected true or false, found {shown(value)}")
        return value
    if several:
        listed = value if isinstance(value, list) else [value]
        if not all(isinstance(each, str) for each in listed):
            raise ConfigurationError(f"{place}: expected a list of texts, found {shown(value)}")
        return [_text(each, place) for each in listed]
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise ConfigurationError(f"{place}: expected a text or a number, found {shown(value)}")
    if parameter.metavar == INTEGER and not _is_integer(value):
        raise ConfigurationError(f"{place}: expected a whole number, found {shown(value)}")
    return _text(value, place)


def _text(value: str | int | Decimal, place: str) -> str:
    """What would have been typed.

    Raises:
        ConfigurationError: It cannot be typed.
    """
    try:
        written = str(value)
    except ValueError:  # Python writes out no whole number of thousands of digits
        raise ConfigurationError(f"{place}: expected a moderate number, found {shown(value)}") from None
    if not written.strip():
        raise ConfigurationError(f"{place}: is empty; give it a value or leave it out")
    if CONTROL.search(written):
        raise ConfigurationError(f"{place}: holds a control character, found {shown(value)}; leave it out")
    return written


def _is_integer(value: str | int | Decimal) -> bool:
    """Whether a value is a whole number, or a text that the parser takes for one."""
    if isinstance(value, str):
        try:
            int(value)
        except ValueError:
            return False
    return not isinstance(value, Decimal)
