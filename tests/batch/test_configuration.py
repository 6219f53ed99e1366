"""Settings of jobs: typed, from the environment, from a file, declared, or the default; never one that nobody knows."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.running import Run

from dpnb_columnar.api import load_model
from dpnb_columnar.cli.main import BATCH_VERBS, function_of, module_of, verb_parser
from dpnb_columnar.cli.options import INTEGER, read_configuration
from dpnb_columnar.errors import ConfigurationError

JOB = Path("job.toml")
TARGET = Path("people.model.json")


def job(text: str) -> Path:
    JOB.write_text(text)
    return JOB


def settings(run: Run, *arguments: object) -> dict[str, tuple[str, str]]:
    """What a dry run shows: value and origin of every setting."""
    lines = run("train", *arguments, "--dry-run", "--log-format", "json").out.splitlines()
    events = [json.loads(line) for line in lines]
    return {event["setting"]: (event["value"], event["origin"]) for event in events if event["event"] == "setting"}


def test_typed_before_environment_before_file_before_default(
    people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    job('[train]\nepsilon = "0.2"\nmechanism = "histogram"\nshares = "2:1:1"\n')
    monkeypatch.setenv("DPNB_EPSILON", "0.4")
    monkeypatch.setenv("DPNB_MECHANISM", "majority")
    shown = settings(run, people_file, "--config", JOB, "--mechanism", "global")
    assert shown["--mechanism"] == ("global", "command line")
    assert shown["--epsilon"] == ("0.4", "DPNB_EPSILON")
    assert shown["--shares"] == ("2:1:1", "job.toml")
    assert shown["--delta"] == ("0", "default")
    assert shown["--label"] == ("-", "default")
    assert not TARGET.exists()
    run("train", people_file, "--config", JOB, "--mechanism", "global")
    guarantee = load_model(TARGET).guarantee
    assert (str(guarantee.epsilon), guarantee.mechanism) == ("2/5", "global")


def test_environment_names_the_file_and_sets_flags(
    people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    job('[train]\ndata = "people.parquet"\n')
    monkeypatch.setenv("DPNB_CONFIG", str(JOB))
    run("train")
    run("train", expected=73)
    monkeypatch.setenv("DPNB_OVERWRITE", "true")
    run("train")


def test_dry_run_tells_people_and_writes_nothing(people_file: Path, run: Run) -> None:
    ended = run("train", people_file, "--epsilon", "0.5", "--dry-run")
    lines = [line.split() for line in ended.out.splitlines()]
    assert ["--epsilon", "0.5", "command", "line"] in lines
    assert "sum of the shares: epsilon 0.5" in ended.out
    assert "nothing is written" in ended.out
    assert not TARGET.exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[train]\nepsilom = 1\n", "job.toml: [train]: no setting is called 'epsilom'; did you mean 'epsilon'?"),
        ("[trian]\nepsilon = 1\n", "job.toml: no setting is called 'trian'; did you mean 'train'?"),
        ("epsilon = 1\n", "job.toml: 'epsilon' stands outside a table; put it under [train]"),
        ("[train]\npassword = 'secret'\n", "no setting is called 'password'"),
        ("[train]\nseed = 1\n", "'seed'"),
        ("[train]\nconfig = 'other.toml'\n", "no setting is called 'config'"),
        ("[train]\noverwrite = 'yes'\n", "[train] overwrite: expected true or false, found 'yes'"),
        ("[train]\nepsilon = true\n", "[train] epsilon: expected a text or a number, found True"),
        ("[train]\nepsilon = [1]\n", "[train] epsilon: expected a text or a number"),
        ("[train]\ndata = [1]\n", "[train] data: expected a list of texts"),
        ("[train\n", "job.toml: not TOML"),
        ("[train]\nepsilon = 1" + "0" * 5000 + "\n", "job.toml: not TOML"),
        ("[train]\nlabel = " + "[" * 100_000, "job.toml: not TOML"),
        ("#" * 2_000_000, "larger than"),
        ("[train]\nepsilon = 0x" + "f" * 5000, "job.toml: [train] epsilon: expected a moderate number"),
        ("[train]\ndata = [0x" + "f" * 5000 + "]", "[train] data: expected a list of texts"),
        ("[train]\ndeclared_rows = 0x" + "f" * 5000, "job.toml: [train] declared_rows: expected a moderate number"),
        ("[train]\nrun-id = 'x'\nrun_id = 'y'\n", "job.toml: [train]: run_id is set twice"),
        ("[train]\nledger = ''\n", "job.toml: [train] ledger: is empty"),
        ("[train]\nlabel = ' '\n", "job.toml: [train] label: is empty"),
        ("[train]\ndata = ['people.parquet', '']\n", "job.toml: [train] data: is empty"),
        ("[train]\ndeclared_rows = ''\n", "job.toml: [train] declared_rows: expected a whole number"),
        ("[train]\ndeclared_rows = 1000.5\n", "job.toml: [train] declared_rows: expected a whole number, found 1000.5"),
        ("[train]\ndeclared_rows = 'soon'\n", "job.toml: [train] declared_rows: expected a whole number, found 'soon'"),
        ('[train]\noutput = "a\\u0000b.json"\n', "job.toml: [train] output: holds a control character"),
        ('[train]\ndata = "a\\u001bb"\n', "job.toml: [train] data: holds a control character"),
    ],
    ids=range(26),
)
def test_faulty_file_is_refused_by_its_place(text: str, told: str, people_file: Path, run: Run) -> None:
    assert told in run("train", people_file, "--config", job(text), expected=78).err
    assert not TARGET.exists()


@pytest.mark.parametrize("rows", ["700", "'700'"])
def test_whole_numbers_may_be_numbers_or_texts(rows: str, people_file: Path, run: Run) -> None:
    job(f"[train]\ndelta = '1/n'\nnoise = 'gaussian'\ndeclared_rows = {rows}\n")
    assert settings(run, people_file, "--config", JOB)["--declared-rows"] == ("700", "job.toml")


@pytest.mark.parametrize("verb", ["train", "aggregate"])
@pytest.mark.parametrize(("name", "told"), [("EPSILN", "; did you mean 'DPNB_EPSILON'?"), ("DATA", ""), ("SEED", "")])
def test_misspelt_variable_is_refused(
    name: str, told: str, verb: str, people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor do variables set arguments, or a seed."""
    monkeypatch.setenv(f"DPNB_{name}", "1")
    assert f"environment: no setting is called 'DPNB_{name}'{told}" in run(verb, people_file, expected=78).err
    assert not TARGET.exists()
    run("plan", people_file)


@pytest.mark.parametrize("value", ["", " "])
@pytest.mark.parametrize("name", ["DPNB_LEDGER", "DPNB_EPSILON", "DPNB_OVERWRITE", "DPNB_CONFIG"])
def test_empty_variable_is_refused(
    name: str, value: str, people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were it passed over, a release would be charged to no ledger."""
    monkeypatch.setenv(name, value)
    assert f"environment: {name} is empty; unset it or give it a value" in run("train", people_file, expected=78).err
    assert not TARGET.exists()


def test_options_of_whole_numbers_are_known_by_what_the_help_calls_them() -> None:
    for verb in BATCH_VERBS:
        parameters = {each.name: each for each in verb_parser(verb).params}
        function = getattr(import_module(module_of(verb)), function_of(verb))
        for name, annotation in get_type_hints(function).items():
            if annotation in (int, int | None):
                assert parameters[name].metavar == INTEGER


def test_password_in_a_configured_address_is_refused(
    people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = "postgresql://curator:hunter2@127.0.0.1:1/census"
    job(f'[release]\nstatistics = "{address}"\ntable = "person"\noutput = "m.json"\n')
    ended = run("release", "--config", JOB, "--domain", people_file, expected=64)
    assert "PGPASSWORD" in ended.err
    assert "hunter2" not in ended.out + ended.err


@pytest.mark.slow
@given(content=st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_file_is_read_or_refused(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(content)
    try:
        read_configuration(path, "train", {"train", "release"})
    except ConfigurationError as error:
        told = str(error)
    else:
        return
    assert str(path) in told
    assert len(told) < 1000


def test_dry_run_shows_what_the_entry_declares(people_file: Path, run: Run) -> None:
    Path("datasets.toml").write_text(
        '[people]\nfiles = ["people.parquet"]\nepsilon = "0.25"\nrows = 1000\n\n[people.label]\ncolumn = "income"\n'
        'classes = ["low", "high"]\n\n[people.attributes]\nage = { lower = 0, upper = 99, step = 1 }\n'
    )
    shown = settings(run, people_file, "--dataset", "people")
    assert shown["--epsilon"][0] == "0.25"
    assert "datasets.toml" in shown["--epsilon"][1]
    assert shown["--output"][0] == "people.model.json"
    assert settings(run, people_file, "--dataset", "people", "--epsilon", "0.5")["--epsilon"] == ("0.5", "command line")
