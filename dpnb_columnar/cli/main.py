"""Run of the command line: every failure becomes one line and an exit code."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from dpnb_columnar.cli import console
from dpnb_columnar.cli.program import NAME, PARSER_ERROR, app, usage_text
from dpnb_columnar.errors import (
    CommandLine,
    ConfigurationError,
    Error,
    MissingInputError,
    OutputError,
    PipeClosedError,
    UnavailableError,
    UsageError,
    front_door,
)
from dpnb_columnar.runtime.confinement import discard_native_errors, keep_rows_in_memory, shows_confidential_texts
from dpnb_columnar.runtime.resources import shortage
from dpnb_columnar.runtime.unfinished import (
    SIGNAL_EXIT_BASE,
    exit_on_signals,
    failures_after_signals,
    remove_unfinished_files,
)

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
