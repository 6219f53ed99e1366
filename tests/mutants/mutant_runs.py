"""Run tests on copies of the project, one of whose lines is wrong."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from mutants import calls
from mutants.mutant_files import PACKAGE, Mutant, mutated, package_sources

ROOT = Path(__file__).parents[2]

LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "site", "dist", "build", "benchmarks", "*.egg-info")
"""What a copy of the project does without: compiled modules name the files that they were made of, which tests read."""

QUICK, SLOW = "not slow", "slow"
"""How tests are chosen."""

PASSED, FAILED, INTERRUPTED = 0, 1, 2
"""Exit codes of pytest; it is interrupted where a module of tests cannot be imported."""

LEAST_SECONDS, TIMES_AS_LONG = 300.0, 8.0
"""Tests of a mutant that take longer than this, and this many times as long as without it, do not come back."""

NOTICED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


class Outcome(StrEnum):
    KILLED = "killed"
    SLOW = "killed by slow tests"
    SURVIVED = "survived"


@dataclass(frozen=True, slots=True)
class Result:
    mutant: Mutant
    outcome: Outcome
    test: str
    seconds: float

    @property
    def expected(self) -> bool:
        """Whether it is noticed by the quick tests, or declared to survive them."""
        return (self.outcome is Outcome.KILLED) is (self.mutant.survives is None)


@dataclass(frozen=True, slots=True)
class Usual:
    """The quick tests of a folder without a mutant."""

    seconds: float
    functions: dict[str, frozenset[str]]


class Tree:
    """A copy of the project in a folder of its own, in which one mutant at a time is applied."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
        self.sources = package_sources(folder)
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(folder / "tests")])}
        command = [sys.executable, "-c", f"import {PACKAGE}; print({PACKAGE}.__file__)"]
        found = subprocess.check_output(command, cwd=folder.parent, env=self._environment, text=True).strip()
        if not Path(found).is_relative_to(folder):
            raise RuntimeError(f"{PACKAGE} is imported from {found}, not from the copy in {folder}")

    @contextmanager
    def applied(self, mutant: Mutant) -> Iterator[None]:
        """Apply a mutant in this copy as long as the block runs."""
        path, text = mutated(mutant, self.sources)
        try:
            self._write(path, text)
            yield
        finally:
            self._write(path, self.sources[path])

    def _write(self, path: Path, text: str) -> None:
        """Write a module, and forget what was compiled of it: Python compares no more than seconds and sizes."""
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()
        path.write_text(text, encoding="utf-8")

    def test(self, folders: Sequence[str], chosen: str, most_seconds: float, **variables: str) -> str | None:
        """Run tests until one fails."""
        options = ["-x", "-q", "-n", "0", "-m", chosen, "--tb=no", "-p", "no:cacheprovider", "-p", calls.__name__]
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *folders, *options],
            cwd=self.root,
            env=self._environment | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            printed, _ = process.communicate(timeout=most_seconds)
        except subprocess.TimeoutExpired:
            return f"tests that take more than {most_seconds:.0f} s"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        if process.returncode == PASSED:
            return None
        if process.returncode not in (FAILED, INTERRUPTED) and process.returncode > 0:
            raise RuntimeError(f"pytest {' '.join(folders)}: exit code {process.returncode}\n{printed[-2000:]}")
        noticed = NOTICED.search(printed)
        return noticed[1] if noticed else f"exit code {process.returncode}"

    def usual(self, folder: str) -> Usual:
        """Run the quick tests of a folder without a mutant."""
        noted, begun = self.root / "noted.json", time.monotonic()
        if failed := self.test([folder], QUICK, 3600, **{calls.NOTED: str(noted)}):
            raise RuntimeError(f"{failed} fails without a mutant; mend it first")
        notes = json.loads(noted.read_text(encoding="utf-8"))
        tests = sorted(notes, key=lambda test: float(notes[test]["seconds"]))
        return Usual(time.monotonic() - begun, {test: frozenset(notes[test]["functions"]) for test in tests})


def folders_of(mutant: Mutant) -> list[str]:
    """List the folders of tests that may notice a mutant: of its room, and of the room's neighbours."""
    return [f"tests/{room}" for room in (mutant.room, *mutant.neighbours)]


def run_mutant(tree: Tree, mutant: Mutant, usual: dict[str, Usual], *, slow: bool) -> Result:
    """Run the quick tests of a mutant's room, those of its neighbours that call what it changes, and the slow ones."""
    begun, listed = time.monotonic(), tree.root / "listed.json"
    changed, (room, *neighbours) = changed_functions(mutant, tree), folders_of(mutant)

    def noticed(folder: str, how: str) -> str | None:
        tests = [test for test, called in usual[folder].functions.items() if called & changed]
        if not tests and how == calls.ALONE:
            return None
        listed.write_text(json.dumps(tests), encoding="utf-8")
        most = max(LEAST_SECONDS, TIMES_AS_LONG * usual[folder].seconds)
        return tree.test([folder], QUICK, most, **{how: str(listed)})

    with tree.applied(mutant):
        test = noticed(room, calls.FIRST)
        for folder in neighbours:
            test = test or noticed(folder, calls.ALONE)
        if test is not None:
            return Result(mutant, Outcome.KILLED, test, time.monotonic() - begun)
        if slow and (test := tree.test([room], SLOW, 3600)):
            return Result(mutant, Outcome.SLOW, test, time.monotonic() - begun)
    return Result(mutant, Outcome.SURVIVED, "", time.monotonic() - begun)


def changed_functions(mutant: Mutant, tree: Tree) -> frozenset[str]:
    """Find the functions that a mutant changes, by module and line: of a constant, those that name it."""
    path, _ = mutated(mutant, tree.sources)
    source = tree.sources[path]
    line = source[: source.index(mutant.was)].count("\n") + 1
    around = [node for node in _functions(source) if _first_line(node) <= line <= (node.end_lineno or 0)]
    if around:
        return frozenset([f"{path.relative_to(tree.root / PACKAGE)}:{_first_line(around[-1])}"])  # the innermost
    constant = mutant.was.partition(" = ")[0].strip()
    return frozenset(
        f"{module.relative_to(tree.root / PACKAGE)}:{_first_line(node)}"
        for module, text in tree.sources.items()
        if constant in text
        for node in _functions(text)
        if constant in {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
    )


def _functions(source: str) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]


def _first_line(function: ast.FunctionDef) -> int:
    return min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
