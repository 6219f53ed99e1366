"""What a command loads and builds before it begins: no more than it uses."""

from __future__ import annotations

import os
import pkgutil
from pathlib import Path

import pytest
from support.running import in_python, parser_of

from dpnb_columnar import extensions
from dpnb_columnar.cli import verbs
from dpnb_columnar.cli.main import exit_code
from dpnb_columnar.cli.program import BATCH_VERBS, VERBS, help_lines, verb_parser
from dpnb_columnar.registry import extension_verbs, verb_module

UNUSED = "pyarrow scipy sqlglot sqlite3 rich pydantic sklearn pyspark jinja2 dpnb_columnar.ledger"

PROBE = """
import sys
from dpnb_columnar.cli.main import exit_code
code = exit_code(sys.argv[2:])
unwanted = set(sys.argv[1].split()).intersection(sys.modules)
sys.exit(f"{code} {sorted(unwanted)}" if code or unwanted else 0)
"""


def module(verb: str) -> str:
    """Name of the module of a verb."""
    return f"{verbs.__name__}.{verb.replace('-', '_')}"


def parsers_built(*arguments: str) -> int:
    """Run a command and return how many parsers of verbs it built."""
    verb_parser.cache_clear()
    assert exit_code([*arguments]) == 0
    return verb_parser.cache_info().currsize


@pytest.mark.slow
def test_train_loads_no_library_and_no_verb_that_it_does_not_use(people_file: Path) -> None:
    others = [module(verb) for verb in VERBS if verb != "train"]
    others += [f"{extensions.__name__}.{each.name}" for each in pkgutil.iter_modules(extensions.__path__)]
    ended = in_python(
        "-c", PROBE, " ".join([UNUSED, *others]), "train", str(people_file), "--epsilon", "1", env=dict(os.environ)
    )
    assert ended.returncode == 0, ended.stderr


def test_show_loads_no_engine_for_a_json_model() -> None:
    model = Path(__file__).parents[1] / "golden" / "model_with_line.json"
    ended = in_python("-c", PROBE, f"{UNUSED} polars duckdb", "show", str(model))
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("option", ["--help", "-h", "--version"])
def test_the_help_loads_no_verb_and_builds_no_parser(option: str, tmp_path: Path) -> None:
    assert parsers_built(option) == 0
    unwanted = ["pydantic", "dpnb_columnar.domain", *map(module, VERBS), *map(str, map(verb_module, extension_verbs()))]
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


def test_every_verb_is_a_module_and_every_module_a_verb() -> None:
    names = {each.name.replace("_", "-") for each in pkgutil.iter_modules(verbs.__path__)}
    assert names == {*VERBS}


@pytest.mark.parametrize("verb", help_lines())
def test_a_line_of_the_help_is_the_first_of_the_verbs_own(verb: str) -> None:
    assert f"{parser_of(verb).help} ".startswith((f"{help_lines()[verb]}\n", f"{help_lines()[verb]} "))
