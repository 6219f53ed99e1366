"""The command line: help lines of all verbs, the parser of the verb that is typed, its run, and its exit code.

A verb is a module in ``cli/verbs`` with a function ``command`` or a Typer ``app``; some share one (``SHARED``).
Neither the help nor a run loads a verb that is not typed: together they take longer than a small training.
"""

from __future__ import annotations

import difflib
import errno
import gc
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn, get_args

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from dpnb_columnar.cli import console
from dpnb_columnar.errors import (
    CommandLine,
    ConfigurationError,
    Error,
    MissingInputError,
    OutputError,
    PipeClosedError,
    UnavailableError,
    UsageError,
    excerpt,
    front_door,
)
from dpnb_columnar.registry import extension_verbs, verb_module
from dpnb_columnar.runtime.confinement import discard_native_errors, keep_rows_in_memory, shows_confidential_texts
from dpnb_columnar.runtime.resources import shortage
from dpnb_columnar.runtime.unfinished import (
    SIGNAL_EXIT_BASE,
    exit_on_signals,
    failures_after_signals,
    remove_unfinished_files,
)
from dpnb_columnar.version import __version__

PARSER_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
"""What Typer raises for every wrong use of the command line; ``usage_text`` says it in one line."""


class PlainValues:
    """Plain values of one option or argument, and Typer's validator, which loads pydantic, for all others."""

    def __init__(self, parameter: Any) -> None:
        self.parameter = parameter

    def validator(self) -> PlainValues:
        """Return what Typer asks for the value, in place of its own validator."""
        return self

    def coerce(self, value: Any, **place: Any) -> Any:
        """Return the value that the verb's function takes."""
        several, kind = self.parameter.nargs == -1 or self.parameter.multiple, self.parameter.type_descriptor.annotation
        if value is None:
            return () if several else None
        if several and isinstance(value, list | tuple):
            values = [self._plain(each, *get_args(kind)) for each in value]
            if None not in values:
                return values
        elif not several and (plain := self._plain(value, kind)) is not None:
            return plain
        try:
            return type(self.parameter).get_runtime_param(self.parameter).coerce(value, **place)
        except typer.BadParameter:
            self._refuse(value if several and isinstance(value, list | tuple) else [value], kind)
            raise

    def _plain(self, value: Any, kind: type) -> Any:
        """Return the value of one text or default; None where Typer has to look at it."""
        info = self.parameter.type_descriptor.parameter_info
        if kind is str:
            return value if isinstance(value, str) else None
        if kind is Path:
            return Path(value) if os.access(value, os.R_OK) or not os.access(value, os.F_OK) else None
        if kind is int:
            whole = isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 19
            number = int(value) if whole or type(value) is int else None
            low, high = info.min, info.max
            inside = number is not None and (low is None or low <= number) and (high is None or number <= high)
            return number if inside else None
        if isinstance(kind, type) and issubclass(kind, Enum):
            try:
                return kind(value)
            except ValueError:
                return None
        return None

    def _refuse(self, values: Sequence[Any], kind: Any) -> None:
        """Say in words of this program which choices, or which whole numbers, an option takes."""
        kind = next(iter(get_args(kind)), kind)
        wrong = next((value for value in values if self._plain(value, kind) is None), None)
        info = self.parameter.type_descriptor.parameter_info
        if kind is int:
            least, most = info.min, info.max
            limits = f" of {least} or more" * (least is not None) + f" and at most {most}" * (most is not None)
            raise UsageError(f"{name_of(self.parameter)}: expected a whole number{limits}, found {excerpt(wrong)}")
        if isinstance(kind, type) and issubclass(kind, Enum):
            known = ", ".join(str(each.value) for each in kind)
            raise UsageError(f"{name_of(self.parameter)}: no {excerpt(wrong)}; known: {known}")


def name_of(parameter: Any) -> str:
    """Return an option, or an argument, as the help names it."""
    return str(parameter.opts[0] if parameter.param_type_name == "option" else parameter.display_name_raw)


def usage_text(error: Any) -> str:
    """Say in one line what is wrong with a command that the parser refuses, and what to do."""
    parameter, context = getattr(error, "param", None), error.ctx
    see = "" if context is None else f"; see {context.command_path} --help"
    if (name := getattr(error, "option_name", None)) and hasattr(error, "possibilities"):
        near = " or ".join(error.possibilities or ())
        return f"No such option: {name}" + (f"; did you mean {near}?" if near else see)
    if parameter is None:
        return f"{error.message.rstrip('.')}{see}"
    if not hasattr(error, "param_type"):
        return f"{name_of(parameter)}: {error.message.removeprefix('Value error, ').rstrip('.')}{see}"
    kind = parameter.type_descriptor.annotation
    choices = f" ({', '.join(kind)})" if isinstance(kind, type) and issubclass(kind, Enum) else ""
    said = (parameter.help or "").partition(". ")[0].partition("; ")[0].rstrip(".")
    return f"Missing {parameter.param_type_name} '{name_of(parameter)}': {said}{choices}{see}"


def unknown(name: str, known: Collection[str], path: str) -> UsageError:
    """Return the error to raise for a command that there is not."""
    near = difflib.get_close_matches(name, known, n=1)
    return UsageError(
        f"No such command {excerpt(name)}; " + (f"did you mean {near[0]!r}?" if near else f"see {path} --help")
    )


class PlainParameters:
    """Mixin of parsers: plain values of their options and arguments need none of Typer's validators."""

    def get_params(self, ctx: Any) -> list[Any]:
        """List options and arguments, that for help among them."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if hasattr(parameter, "get_runtime_param"):  # versions of Typer without pydantic have no such thing
                parameter.get_runtime_param = PlainValues(parameter).validator
        return parameters

    def make_parser(self, ctx: Any) -> Any:
        """Build the parser of what is typed, which refuses an option that is typed twice."""
        parser = super().make_parser(ctx)  # type: ignore[misc]
        parse = parser.parse_args

        def parse_once(args: list[str]) -> Any:
            values, remaining, order = parse(args)
            for parameter in [] if ctx.resilient_parsing else order:
                if order.count(parameter) > 1 and not parameter.multiple and not getattr(parameter, "is_flag", False):
                    raise UsageError(
                        f"{name_of(parameter)}: is given twice, and takes one value; leave one of them out"
                    )
            return values, remaining, order

        parser.parse_args = parse_once
        return parser


class PlainCommand(PlainParameters, TyperCommand):
    """Parser of a verb, or of one command of a verb that has several."""


class PlainGroup(PlainParameters, TyperGroup):
    """Parser of a verb that has several commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse what is typed; print the help where that is nothing."""
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help(), err=True)
            raise typer.Exit(UsageError.exit_code)
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return name, parser and remaining arguments of the command that is typed."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            raise unknown(args[0], self.list_commands(ctx), ctx.command_path)
        return super().resolve_command(ctx, args)


NAME = "dpnb-columnar"

PREFIX = "DPNB"
"""Environment variables that set options of batch verbs begin with it, such as DPNB_EPSILON."""

EXIT_CODES = """\b
Exit codes: 0 done; 64 usage; 65 data does not fit the domain; 66 input
missing; 69 engine unavailable; 70 internal error; 71 memory or open files do
not suffice; 73 output exists or cannot be created; 75 busy or not reachable, try
again; 77 budget refused; 78 bad configuration;
129, 130, 143, 152 ended by SIGHUP, SIGINT, SIGTERM, SIGXCPU."""

VERBS: Mapping[str, str] = MappingProxyType(
    {
        "demo": "Simulate a census, train on most of it, score the rest.",
        "simulate": "Write a synthetic extract in the shape of the 1940 census.",
        "ingest": "Turn census extracts into a Parquet file with its domain.",
        "suggest-domain": "CONFIDENTIAL: draft a domain from the rows, to correct.",
        "check": "CONFIDENTIAL: compare the rows with the declared domain.",
        "split": "CONFIDENTIAL: hold rows out, to evaluate a model on them.",
        "plan": "Show what would be released, at which cost and error.",
        "train": "Train a classifier, and write it with its guarantee.",
        "aggregate": "CONFIDENTIAL: count every cell of the domain into a file.",
        "release": "Release a model from statistics, the other half of train.",
        "predict": "Write every row's class, and the probability of each.",
        "evaluate": "Measure a model on labelled rows: CONFIDENTIAL except with --epsilon.",
        "show": "Show what a model predicts and from what, its guarantee.",
        "domain": "Show the declared domain of a file, or change it.",
        "sql": "Print SQL that scores rows, or that counts them.",
        "ledger": "Keep account of privacy budgets: init, show, verify.",
    }
)
"""Verbs and their lines in the help, in its order; then come those of extensions."""

SHARED: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("simulate", "demo", "split"), "simulate"),
        **dict.fromkeys(("plan", "check"), "plan"),
        **dict.fromkeys(("aggregate", "release"), "release"),
    }
)
"""Verbs of modules that hold several, each the function of its name."""

BATCH_VERBS = ("ingest", "train", "aggregate", "release", "predict")
"""Verbs that take ``--config``, and options from variables."""


def help_lines() -> dict[str, str]:
    """Return the help line of every verb; no extension replaces one of ours."""
    return {**VERBS, **extension_verbs(), **VERBS}


class VerbGroup(PlainGroup):
    """Group that builds the parser of a verb when that verb is looked up."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List the names of all verbs."""
        return [*help_lines()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the parser of a verb; None if there is no such verb."""
        return verb_parser(cmd_name) if cmd_name in VERBS or verb_module(cmd_name) else None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse what is typed; ``help VERB`` and ``version`` are words for options."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, ["--version"] if args == ["version"] else args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the help line of every verb without building its parser."""
        with formatter.section("Commands"):
            formatter.write_dl([*help_lines().items()])


def module_of(verb: str) -> str:
    """Return the name of the module of a verb."""
    own = f"dpnb_columnar.cli.verbs.{SHARED.get(verb, verb).replace('-', '_')}"
    return own if verb in VERBS else verb_module(verb) or own


def function_of(verb: str) -> str:
    """Return the name of the function of a verb."""
    return verb if verb in SHARED else "command"


@cache
def verb_parser(name: str) -> Any:
    """Build the parser of a verb."""
    module = import_module(module_of(name))
    if hasattr(module, "app"):
        parser = typer.main.get_command(module.app)
        parser.name = name
        return parser
    verb = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    settings = {"auto_envvar_prefix": PREFIX} if name in BATCH_VERBS else None
    verb.command(name, cls=PlainCommand, context_settings=settings)(getattr(module, function_of(name)))
    return typer.main.get_command(verb)


app = typer.Typer(
    name=NAME,
    cls=VerbGroup,
    epilog=EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{NAME} {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", "-v", callback=_print_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """Train differentially private naive Bayes classifiers on confidential Parquet extracts."""


INTERNAL_ERROR = 70
INTERRUPTED = SIGNAL_EXIT_BASE + signal.SIGINT

UNREACHABLE = frozenset({errno.EACCES, errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EIO, errno.ESTALE})
"""Errors of a path that was typed, which the operating system does not follow to a file, or whose disk fails."""

PANICS = "POLARS_PANIC_ON_ERR"
"""Variable under which Polars ends itself by errors that it would handle, such as while it reads a sound file."""

READ_AHEAD = "POLARS_ROW_GROUP_PREFETCH_SIZE"
LEAST_READ_AHEAD = 8
"""Row groups of Parquet files that Polars reads ahead, or two for each processor. By itself it reads 128, which are all
of ten million rows: 30 million in three files, counted by units, took 447 MiB in place of 357, and no less time."""


def run(arguments: list[str] | None = None, program: Callable[..., object] = app, name: str = NAME) -> NoReturn:
    """Run the command line, or another program of commands, and exit with its code."""
    exit_on_signals(console.final_output)
    keep_rows_in_memory()
    os.environ.pop(PANICS, None)
    os.environ.setdefault(READ_AHEAD, str(max(LEAST_READ_AHEAD, 2 * (os.cpu_count() or 1))))
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # whether a library warns may depend on the rows
    if not shows_confidential_texts():
        try:
            discard_native_errors()
        except OSError as error:
            sys.exit(
                _report_error(shortage(error) or OutputError(f"standard error cannot be redirected: {error.strerror}"))
            )
    try:
        code = exit_code(arguments, program, name)
    finally:
        remove_unfinished_files()  # a signal may have come between a block's end and its tidying up
        console.flush_streams()
    if code and "pyarrow.csv" in sys.modules:  # its thread may read ahead: while Python ends, our file ends the process
        os._exit(code)
    gc.freeze()  # or Python searches all modules for garbage as it ends: a fifth of the time of a small training
    sys.exit(code)


def exit_code(arguments: list[str] | None = None, program: Callable[..., object] = app, name: str = NAME) -> int:
    """Run the command line, or another program of commands, and return its exit code."""
    console.start_log()
    with front_door(CommandLine()), console.standard_output_checked():
        try:
            time.time()  # libraries fail by it as they are imported, where datetime.now stops at its last nanosecond
        except OverflowError:
            return _report_error(ConfigurationError("the system's clock is beyond the year 2262; set it"))
        code = _run_verb(arguments, program, name)
        try:
            console.log_event("finished", exit_code=code)
        except OutputError as error:
            return code or _report_error(error)  # a scheduler must learn of the earlier failure
    return code


def _run_verb(arguments: list[str] | None, program: Callable[..., Any], name: str) -> int:
    try:
        with failures_after_signals():
            ended = program(sys.argv[1:] if arguments is None else arguments, prog_name=name, standalone_mode=False)
    except SystemExit as end:  # of a signal
        return _report_signal(int(end.code or 0))
    except PARSER_ERROR as error:
        return _report_error(UsageError(usage_text(error)))
    except Error as error:
        return _report_error(shortage(error) or error)
    except KeyboardInterrupt:
        return _report_signal(INTERRUPTED)
    except BaseException as error:  # a panic of Polars is no Exception
        # A library's text may quote rows, so only the type of the failure is printed.
        if shows_confidential_texts():
            raise
        if isinstance(error, FileNotFoundError) and not _has_working_directory():
            return _report_error(MissingInputError("the working directory was removed; start from another one"))
        if isinstance(error, ModuleNotFoundError) and not str(error.name or NAME).startswith("dpnb"):
            package = str(error.name).partition(".")[0]
            return _report_error(
                UnavailableError(
                    f"the package {package} is not installed; install it with: pip install --upgrade {NAME}"
                )
            )
        if (lacking := shortage(error)) is not None:
            return _report_error(lacking)
        if isinstance(error, OSError) and error.errno in UNREACHABLE and error.filename is not None:
            return _report_error(
                MissingInputError(f"{error.filename}: {error.strerror}; check the path and its permissions")
            )
        console.print_failure(
            f"internal error ({type(error).__name__}). Set DPNB_TRACEBACK=confidential to see where; what it shows may "
            "hold values from the data.",
            exit_code=INTERNAL_ERROR,
            error="InternalError",
        )
        return INTERNAL_ERROR
    return _report_signal(int(ended or 0))


def _has_working_directory() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 Path.cwd() asks nothing else
    except FileNotFoundError:
        return False
    return True


def _report_signal(code: int) -> int:
    """Print for people which signal ended the run, and return its exit code."""
    if code > SIGNAL_EXIT_BASE and not console.is_json():
        console.print_failure(console.signal_line(code))
    return code


def _report_error(error: Error) -> int:
    """Print an error, but for a closed pipe, and return its exit code."""
    if isinstance(error, PipeClosedError):
        return error.exit_code
    console.print_failure(str(error), exit_code=error.exit_code, error=type(error).__name__)
    return error.exit_code
