"""What all verbs share: help, usage errors, what is loaded and built at the start, and failures nobody foresaw."""

from __future__ import annotations

import os
import pkgutil
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.mechanisms import MECHANISMS
from support.patience import patience
from support.people import PEOPLE, people
from support.running import Run, in_python, parser_of

import dpnb_columnar as dpnb
from dpnb_columnar import extensions
from dpnb_columnar.api import load_model
from dpnb_columnar.cli import main, verbs
from dpnb_columnar.cli.main import BATCH_VERBS, VERBS, exit_code, help_lines, module_of, verb_parser
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES

SINGLE = (
    *("demo", "simulate", "check", "plan", "train", "aggregate", "release", "predict", "evaluate", "show", "audit"),
    "split",
)
LEDGER_VERBS = ("init", "show", "verify")
PATHS = [
    *((verb,) for verb in SINGLE),
    *(("datasets", "list"), ("datasets", "prepare")),
    *(("ledger", verb) for verb in LEDGER_VERBS),
]
HEAVY = ("polars", "duckdb", "numpy", "pyarrow", "scipy", "flint")
SECRET = "secret 42"


def examples(help_text: str) -> list[list[str]]:
    """The example commands of a help text, split like a shell would."""
    block = help_text.partition("Examples:\n")[2].partition("\n\n")[0].replace("\\\n", " ")
    return [shlex.split(line) for line in block.splitlines()]


def in_a_process(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return in_python("-m", "dpnb_columnar", *arguments, cwd=folder, env={**os.environ, **environment})


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_help_explains_every_option_and_gives_examples(path: tuple[str, ...], run: Run) -> None:
    text = run(*path, "--help").out
    lines = [line.strip() for line in text.splitlines()]
    for parameter in parser_of(*path).params:
        if getattr(parameter, "hidden", False):
            continue  # a former name
        shown = parameter.opts[0] if parameter.opts[0].startswith("-") else parameter.metavar
        assert any(line.startswith(shown) for line in lines), shown
        assert parameter.help, shown
    assert examples(text), "no example"


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_examples_in_the_help_can_be_typed(path: tuple[str, ...], folder: Path, run: Run) -> None:
    (folder / "job.toml").write_text('[train]\ndata = "census.parquet"\n')
    for program, *arguments in examples(run(*path, "--help").out):
        assert program == "dpnb-columnar"
        assert tuple(arguments[: len(path)]) == path
        parser_of(*path).make_context(path[-1], arguments[len(path) :])


def test_help_names_every_verb_in_one_whole_line_and_the_exit_codes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = run("--help").out
    for verb in (*SINGLE, "datasets", "domain", "sql", "ledger"):
        assert f"\n  {verb} " in text
    assert "..." not in text.partition("Commands:")[2]
    for code in (0, 64, 65, 66, 69, 70, 73, 75, 77, 78):
        assert f" {code} " in text


def test_help_names_every_mechanism_and_noise(run: Run) -> None:
    text = re.sub(r"-\n +", "-", run("train", "--help").out)  # a line may end within a name
    assert all(name in text for name in (*MECHANISMS, *NOISE_FAMILIES))


def test_importing_the_commands_and_asking_for_help_loads_nothing_heavy(tmp_path: Path) -> None:
    commands = [["--help"], ["--version"], *([*path, "--help"] for path in PATHS)]
    program = (
        "import sys\n"
        "from dpnb_columnar.cli.main import exit_code\n"
        f"codes = [exit_code(arguments) for arguments in {commands!r}]\n"
        f"heavy = sorted(set({HEAVY!r}).intersection(sys.modules))\n"
        "sys.exit(f'{codes} {heavy}' if any(codes) or heavy else 0)\n"
    )
    ended = in_python("-c", program, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr


class Panic(BaseException):
    """Like the panics of Polars, which are no ``Exception``."""


@pytest.mark.parametrize(
    ("failure", "code", "told"),
    [
        (ValueError(SECRET), 70, "ValueError"),
        (MemoryError(SECRET), 71, "memory does not suffice"),
        (Panic(SECRET), 70, "Panic"),
    ],
    ids=repr,
)
def test_unforeseen_failure_keeps_its_text_to_itself(
    failure: BaseException, code: int, told: str, people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr("dpnb_columnar.training._reported", fail)
    ended = run("train", people_file, expected=code)
    assert told in ended.err
    assert "42" not in ended.err + ended.out
    assert not Path("people.model.json").exists()


def test_curator_can_ask_for_the_traceback(people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError(SECRET)

    monkeypatch.setattr("dpnb_columnar.training._reported", fail)
    assert "DPNB_TRACEBACK=confidential" in run("train", people_file, expected=70).err
    monkeypatch.setenv("DPNB_TRACEBACK", "confidential")
    with pytest.raises(ValueError, match=SECRET):
        main.exit_code(["train", str(people_file)])


def test_interrupt_while_modules_are_loaded_shows_no_traceback(tmp_path: Path, ending: Callable[[Any], Any]) -> None:
    for delay in (0.02, 0.05, 0.1, 0.2):
        command = [sys.executable, "-m", "dpnb_columnar", "simulate", "census.parquet", "--rows", "100000000"]
        process = ending(subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=patience(60))
        assert b"commands" not in err  # before a line of ours has run, the interpreter may have its own say


@pytest.mark.slow
def test_warnings_of_libraries_are_not_shown(tmp_path: Path) -> None:
    program = (
        "import warnings\n"
        "from dpnb_columnar.cli import main\nfrom dpnb_columnar.cli.verbs import show\n"
        f"show.print_table = lambda *_: warnings.warn({SECRET!r}, RuntimeWarning)\n"
        "main.run(['show', 'people.model.json'])\n"
    )
    assert in_a_process("simulate", "people.parquet", "--rows", "10", folder=tmp_path).returncode == 0
    assert in_a_process("train", "people.parquet", "--mechanism", "majority", folder=tmp_path).returncode == 0
    ended = in_python("-c", program, cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")


NO_ROOM = "dpnb-columnar: standard output cannot be written: No space left on device; send it elsewhere"
COMMANDS = ("train people.parquet", "train people.parquet --log-format json", "train --help", "--version")
BREAKING = """
import os
import dpnb_columnar.counting.local as counting
import dpnb_columnar.cli.file_output as file_output
import dpnb_columnar.counting.local as counting
from dpnb_columnar.cli.main import run
from dpnb_columnar.errors import BusyError
def fill():
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
"""
needs_full_device = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")


def without_reader() -> int:
    """A pipe that nobody reads, to write to."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


@pytest.mark.slow
@needs_full_device
@pytest.mark.parametrize("arguments", COMMANDS)
def test_standard_output_that_cannot_be_written_ends_with_73(arguments: str, people_file: Path) -> None:
    command = [sys.executable, "-m", "dpnb_columnar", *arguments.split()]
    output = os.open("/dev/full", os.O_WRONLY)
    ended = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr.count("\n")) == (73, 1)
    assert ended.stderr.startswith(NO_ROOM)
    assert subprocess.run(command, stdout=output, stderr=output, check=False).returncode == 73
    os.close(output)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", COMMANDS)
def test_a_pipe_that_nobody_reads_ends_a_command_silently(arguments: str, people_file: Path) -> None:
    """As other programs end behind ``| head``."""
    output = without_reader()
    command = [sys.executable, "-m", "dpnb_columnar", *arguments.split()]
    ended = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (141, "")
    os.close(output)


def run_that_breaks(meanwhile: str, form: str) -> subprocess.CompletedProcess[str]:
    """A run whose standard output breaks where this code calls ``fill``."""
    program = f"{BREAKING}{meanwhile}\nrun(['train', 'people.parquet', '--log-format', {form!r}])\n"
    return in_python("-c", program)


@pytest.mark.slow
@needs_full_device
@pytest.mark.parametrize(("failure", "code"), [(f"ValueError({SECRET!r})", 70), ("BusyError('wait')", 75)])
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_failure_is_one_line_where_standard_output_breaks_meanwhile(
    failure: str, code: int, form: str, people_file: Path
) -> None:
    ended = run_that_breaks(f"def fail(*_):\n    fill()\n    raise {failure}\ncounting.answer = fail", form)
    assert (ended.returncode, ended.stderr.count("\n")) == (code, 1)
    assert ended.stderr.startswith("dpnb-columnar: ")
    assert "42" not in ended.stderr


@pytest.mark.slow
@needs_full_device
@pytest.mark.parametrize("form", ["text", "json"])
def test_the_model_stands_where_the_last_lines_cannot_be_written(form: str, people_file: Path) -> None:
    ended = run_that_breaks(
        "save = file_output.save_model\nfile_output.save_model = lambda *args, **named: (save(*args, **named), fill())",
        form,
    )
    assert ended.returncode == 73
    assert ended.stderr == f"{NO_ROOM}. An output that stands under its name is complete\n"
    load_model(Path("people.model.json"))


UNUSED = "pyarrow scipy sqlglot sqlite3 rich pydantic sklearn pyspark jinja2 dpnb_columnar.ledger"

PROBE = """
import sys
from dpnb_columnar.cli.main import exit_code
code = exit_code(sys.argv[2:])
unwanted = set(sys.argv[1].split()).intersection(sys.modules)
sys.exit(f"{code} {sorted(unwanted)}" if code or unwanted else 0)
"""


def parsers_built(*arguments: str) -> int:
    """Run a command and return how many parsers of verbs it built."""
    verb_parser.cache_clear()
    assert exit_code([*arguments]) == 0
    return verb_parser.cache_info().currsize


@pytest.mark.slow
def test_train_loads_no_library_and_no_verb_that_it_does_not_use(people_file: Path) -> None:
    others = [module_of(verb) for verb in VERBS if verb != "train"]
    others += [f"{extensions.__name__}.{each.name}" for each in pkgutil.iter_modules(extensions.__path__)]
    ended = in_python(
        "-c", PROBE, " ".join([UNUSED, *others]), "train", str(people_file), "--epsilon", "1", env=dict(os.environ)
    )
    assert ended.returncode == 0, ended.stderr


def test_show_loads_no_engine_for_a_json_model(tmp_path: Path) -> None:
    """And neither SciPy nor the library that noise is drawn by, though it makes the model again."""
    model = tmp_path / "model.json"
    dpnb.train(people(300), domain=PEOPLE, epsilon=1, attribute_weights="calibrated").save(model)
    ended = in_python("-c", PROBE, f"{UNUSED} polars duckdb", "show", str(model))
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("option", ["--help", "-h", "--version"])
def test_the_help_loads_no_verb_and_builds_no_parser(option: str, tmp_path: Path) -> None:
    assert parsers_built(option) == 0
    unwanted = ["pydantic", "dpnb_columnar.domain", *map(module_of, help_lines())]
    ended = in_python("-c", PROBE, " ".join(unwanted), option, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr


def test_only_the_parser_of_the_verb_that_is_typed_is_built(people_file: Path) -> None:
    assert {parsers_built(verb, "--help") for verb in help_lines()} == {1}
    assert parsers_built("train", str(people_file)) == 1


def test_the_parser_of_another_verb_is_built_for_a_variable_that_the_verb_does_not_have(
    people_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPNB_EPSILON", "1")
    monkeypatch.setenv("DPNB_TRACEBACK", "confidential")
    assert parsers_built("train", str(people_file)) == 1
    monkeypatch.setenv("DPNB_CODEBOOK", "extract.xml")  # an option of ingest
    assert parsers_built("train", str(people_file), "--overwrite") == 2


def test_batch_verbs_take_a_file_of_settings_and_options_from_variables_and_no_other_verb_does() -> None:
    parsers = {verb: parser_of(verb) for verb in VERBS}
    prefixed = [verb for verb in VERBS if parsers[verb].context_settings.get("auto_envvar_prefix") == "DPNB"]
    configured = [verb for verb in VERBS if "config" in {option.name for option in parsers[verb].params}]
    assert prefixed == configured == [*BATCH_VERBS]


def test_every_verb_has_a_module_and_every_module_a_verb() -> None:
    modules = {f"{verbs.__name__}.{each.name}" for each in pkgutil.iter_modules(verbs.__path__)}
    assert modules == {*map(module_of, VERBS)}


@pytest.mark.parametrize("verb", help_lines())
def test_a_line_of_the_help_is_the_first_of_the_verbs_own(verb: str) -> None:
    assert f"{parser_of(verb).help} ".startswith((f"{help_lines()[verb]}\n", f"{help_lines()[verb]} "))
