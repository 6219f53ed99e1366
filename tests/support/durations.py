"""How long tests take, by the measured seconds in ``tests/durations.tsv``: a test function and its seconds per line."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean, median

import pytest

FILE = Path(__file__).parents[1] / "durations.tsv"
"""Written by ``pytest --all --write-durations``."""

SHORTEST = 0.001
"""Seconds below which tests are not told apart."""

NEW, NEW_AND_SLOW = 0.001, 1.0
"""Seconds of a test in a file of which nothing is measured, so that plain ``pytest`` runs it, and of one that is not
measured but marked slow."""

UNMEASURED = 0.05
"""Share of all test functions that may be unmeasured: beyond it plain ``pytest`` is chosen by guesses."""

SAME = 2.0
"""Times by which a figure may be off before a run writes another: few lines change then, and seldom in two branches."""


def function_of(nodeid: str) -> str:
    """Return the id of a test's function, without its parameters or the group that xdist adds to it."""
    return re.split(r"[\[@]", nodeid, maxsplit=1)[0]


def read_durations(path: Path = FILE) -> dict[str, float]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {function: float(seconds) for function, seconds in (line.split("\t") for line in lines)}


def write_durations(durations: Mapping[str, float], path: Path = FILE) -> None:
    lines = [f"{function}\t{max(seconds, SHORTEST):.2g}\n" for function, seconds in sorted(durations.items())]
    path.write_text("".join(lines), encoding="utf-8")


def unmeasured_functions(tests: Path = FILE.parent, path: Path = FILE) -> tuple[set[str], int]:
    """Return the test functions below a folder that no run has measured, and how many functions there are."""
    functions = {
        f"{file.relative_to(tests.parent).as_posix()}::{name}"
        for file in tests.rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    }
    return functions - read_durations(path).keys(), len(functions)


def expected_seconds(tests: Iterable[tuple[str, bool]], durations: Mapping[str, float]) -> dict[str, float]:
    """Return the seconds that each test is expected to take.

    A test of a function that is not measured takes a second if it is marked slow; or else what is usual in its file.
    """
    of_file = defaultdict(list)
    for function, seconds in durations.items():
        of_file[function.partition("::")[0]].append(seconds)
    usual = {file: median(all_seconds) for file, all_seconds in of_file.items()}

    def expected(nodeid: str, slow: bool) -> float:
        unmeasured = NEW_AND_SLOW if slow else usual.get(nodeid.partition("::")[0], NEW)
        return durations.get(function_of(nodeid), unmeasured)

    return {nodeid: expected(nodeid, slow) for nodeid, slow in tests}


class Recorder:
    """Plugin that measures the tests of a run, in whichever processes they run, and writes the file at its end.

    What fixtures take to set up is shared out among the tests of a file: most of it serves them all, and falls to
    whichever comes first. Failed and skipped tests keep the figures they have.
    """

    def __init__(self, everything: bool, unmeasured: Iterable[str] = (), path: Path = FILE) -> None:
        """``everything``: the run leaves no test out, so that what it does not meet is gone.

        Tests with one of the markers ``unmeasured`` are left out of the file.
        """
        self._everything, self._unmeasured, self._path = everything, frozenset(unmeasured), path
        self._seconds: dict[str, dict[str, float]] = defaultdict(dict)
        self._not_passed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._unmeasured.isdisjoint(report.keywords):
            self._seconds[report.nodeid][report.when] = report.duration
            if not report.passed:
                self._not_passed.add(report.nodeid)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            write_durations(self.merged(read_durations(self._path)), self._path)

    def merged(self, before: Mapping[str, float]) -> dict[str, float]:
        """Return the seconds by function, those before where this run has none or nearly the same."""
        passed = {test: of for test, of in self._seconds.items() if test not in self._not_passed}
        setups, own = defaultdict(list), defaultdict(list)
        for test, seconds in passed.items():
            setups[test.partition("::")[0]].append(seconds.get("setup", 0.0))
            own[function_of(test)].append(seconds.get("call", 0.0) + seconds.get("teardown", 0.0))
        measured = {name: fmean(own[name]) + fmean(setups[name.partition("::")[0]]) for name in own}
        same = {
            name: before[name] if 1 / SAME < max(seconds, SHORTEST) / before[name] < SAME else seconds
            for name, seconds in measured.items()
            if name in before
        }
        met = {function_of(test) for test in self._seconds}
        kept = {name: seconds for name, seconds in before.items() if name in met or not self._everything}
        return kept | measured | same
