"""Plain ``pytest`` runs what answers within half a minute, of every room, with the same noise; a room has a folder."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.durations import (
    NEW,
    NEW_AND_SLOW,
    UNMEASURED,
    Recorder,
    expected_seconds,
    read_durations,
    unmeasured_functions,
    write_durations,
)
from support.tiers import KEPT, a_tenth, quick_tests

ROOT = Path(__file__).parents[2]

CHEAP = {f"tests/cli/test_a.py::test_x[{number}]": 0.1 for number in range(100)}
DEAR = {f"tests/audit/test_b.py::test_y[{number}]": 2.0 for number in range(20)}


def test_the_cheapest_tests_run_within_the_budget() -> None:
    seconds = {**CHEAP, "tests/cli/test_a.py::test_z": 0.2}
    chosen = quick_tests(seconds, 4.05)
    assert chosen <= CHEAP.keys()
    assert len(chosen) == 40
    assert quick_tests(seconds, 1000.0) == seconds.keys()


def test_every_room_keeps_its_cheapest_even_beyond_the_budget() -> None:
    dearest = {"tests/audit/test_b.py::test_z": 3.0}
    chosen = quick_tests(CHEAP | DEAR | dearest, 12.05)
    assert len(chosen & DEAR.keys()) == KEPT
    assert len(chosen & CHEAP.keys()) == 20  # for what those of the other room leave
    assert quick_tests(DEAR | dearest, 0.0) <= DEAR.keys()


def test_most_functions_are_measured() -> None:
    unmeasured, functions = unmeasured_functions()
    assert len(unmeasured) <= UNMEASURED * functions, "run pytest --all --write-durations"


def test_tests_that_are_not_measured_count_like_their_file() -> None:
    durations = {"tests/a/test_a.py::test_1": 0.5, "tests/a/test_a.py::test_2": 0.7, "tests/a/test_a.py::test_3": 9.0}
    tests = [
        *[("tests/a/test_a.py::test_1[x]@group", True), ("tests/a/test_a.py::test_new", False)],
        *[("tests/a/test_a.py::test_long", True), ("tests/a/test_new.py::test_new", False)],
    ]
    assert list(expected_seconds(tests, durations).values()) == [0.5, 0.7, NEW_AND_SLOW, NEW]


def reported(recorder: Recorder, test: str, setup: float, call: float, outcome: str = "passed", *markers: str) -> None:
    keywords = dict.fromkeys(markers, 1)
    for when, duration, came in [("setup", setup, "passed"), ("call", call, outcome), ("teardown", 0.0, "passed")]:
        report = pytest.TestReport(test, ("", 0, ""), keywords, came, None, when, duration=duration)  # type: ignore[arg-type]
        recorder.pytest_runtest_logreport(report)


@pytest.mark.parametrize("everything", [True, False])
def test_a_run_writes_what_it_measured_and_keeps_what_is_nearly_the_same(tmp_path: Path, everything: bool) -> None:
    path = tmp_path / "durations.tsv"
    before = {"a.py::gone": 3.0, "a.py::failed": 4.0, "a.py::same": 1.5, "a.py::slower": 0.01}
    write_durations(before, path)
    recorder = Recorder(everything, ["spark"], path)
    reported(recorder, "a.py::same[1]", 4.0, 0.5)  # a fixture of the whole file falls to whichever comes first
    reported(recorder, "a.py::same[2]@group", 0.0, 1.5)
    reported(recorder, "a.py::slower", 0.0, 6.0)
    reported(recorder, "a.py::new", 0.0, 0.25)
    reported(recorder, "a.py::failed", 0.0, 0.1, "failed")
    reported(recorder, "a.py::cluster", 0.0, 0.1, "passed", "spark")
    recorder.pytest_sessionfinish(pytest.ExitCode.INTERRUPTED)
    assert read_durations(path) == before
    recorder.pytest_sessionfinish(pytest.ExitCode.TESTS_FAILED)
    kept = {"a.py::gone": 3.0} if not everything else {}
    assert (
        read_durations(path) == {"a.py::failed": 4.0, "a.py::new": 1.2, "a.py::same": 1.5, "a.py::slower": 7.0} | kept
    )
    assert path.read_text().splitlines() == sorted(path.read_text().splitlines())


def test_a_tenth_is_the_same_one_each_time_and_another_of_each_test() -> None:
    cases = list(range(95))
    found = a_tenth(cases, "x")
    assert found == a_tenth(iter(cases), "x") == sorted(found)
    assert len(found) == 10
    assert found != a_tenth(cases, "y")
    assert a_tenth(["only"], "x") == ["only"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A project of four tests and an enumeration, one of which takes too long, with this project's plugin."""
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\nmarkers =\n  slow\n  golden\n  enumeration\n")
    tests = tmp_path / "tests"
    (tests / "room").mkdir(parents=True)
    tests.joinpath("conftest.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'tests')!r})\n"
        "from support import tiers\ntiers.QUICK_SECONDS, tiers.KEPT = 2.5, 1\n"
        "tiers.quick_tests.__defaults__ = (2.5, ())\npytest_plugins = ['support.tiers']\n"
    )
    (tests / "room" / "test_it.py").write_text(
        "import pytest\n"
        "@pytest.mark.golden\n@pytest.mark.slow\ndef test_pinned(): pass\n"
        "def test_quick(tenth): print('cases', *tenth(range(20)))\n"
        "@pytest.mark.slow\ndef test_long(): pass\n"
        "@pytest.mark.slow\ndef test_longer(): pass\n"
        "@pytest.mark.enumeration\n@pytest.mark.parametrize('n', range(20))\ndef test_case(n): pass\n"
    )
    return tmp_path


def lines_of(tree: Path, *arguments: str) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider", *arguments]
    ended = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("processes", ["0", "2"])
def test_plain_pytest_all_and_named_tests(tree: Path, processes: str) -> None:
    plain = lines_of(tree, "-n", processes)
    assert plain[-1] == "left out 1 tests that take longer: pytest --all"
    assert "5 passed" in plain[-3]  # three tests, and two of twenty cases
    all_tests = lines_of(tree, "-n", processes, "--all")
    assert "6 passed" in all_tests[-2]  # the long one as well
    assert "24 passed" in lines_of(tree, "-n", processes, "--all", "--exhaustive")[-1]
    assert "24 passed" in lines_of(tree, "-n", processes, "tests/room/test_it.py")[-1]
    assert "3 passed" in lines_of(tree, "-n", processes, "-m", "slow")[-1]


DRAWING = """
import secrets
from pathlib import Path
import pytest

def note(name):
    with Path("drawn").open("a") as file:
        print(name, secrets.randbits(64), file=file)

@pytest.fixture(scope="module")
def shared():
    note("shared")

def test_one(shared):
    note("one")

def test_two(shared):
    note("two")

@pytest.mark.system_bits
def test_system():
    note("system")
"""


def drawn(folder: Path, *options: str) -> dict[str, str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "support.tiers", "-p", "support.repeatable", *options]
    Path(folder / "drawn").unlink(missing_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return dict(line.split() for line in (folder / "drawn").read_text().splitlines())


@pytest.mark.slow
def test_noise_follows_from_the_names(tmp_path: Path) -> None:
    """Catches: noise of the system's in a test, which fails once in some thousand runs; and a stream that all share."""
    (tmp_path / "test_drawing.py").write_text(DRAWING)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    system_bits\n    slow\n    enumeration\n")
    first, last = drawn(tmp_path), drawn(tmp_path, "-k", "two or system")
    assert len({*first.values(), *last.values()}) == 5
    assert (first["two"], first["shared"]) == (last["two"], last["shared"])
    assert not {*first.values()} & {*drawn(tmp_path, "--fresh").values()}


ALL_TESTS = Path(__file__).parents[1]
PACKAGE = ALL_TESTS.parent / "dpnb_columnar"

ROOMS = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
DOORS = {"api", "estimator"}
"""Modules on the package's top level with tests of their own. ``estimator`` tests ``sklearn``: a folder of that name
would stand before the library's."""

ACROSS = {
    "batch": "unattended runs, by every room that one passes through",
    "fuzz": "hostile files, for every reader",
    "museum": "files that earlier states of the program wrote, for every reader",
    "peers": "published faults of other programs, looked for in this one",
    "project": "the project itself: packaging, contracts, documents, benchmarks",
    "studies": "the paper's evaluation, which is no part of the program",
}
"""Folders whose tests belong to no single room, and what they are for."""

NOT_QUICK = ("slow", "xdist_group")
"""Markers without which a test runs with ``-m "not slow"``; all tests of a group are slow."""


def test_every_room_has_a_folder_of_tests_and_every_folder_a_room() -> None:
    folders = {path.name for path in ALL_TESTS.iterdir() if any(path.rglob("test_*.py"))}
    assert folders == ROOMS | DOORS | set(ACROSS)


@pytest.mark.parametrize("folder", sorted(ROOMS | DOORS | set(ACROSS)))
def test_every_room_has_tests_that_answer_at_once(folder: str) -> None:
    assert any(quick_of(path) for path in (ALL_TESTS / folder).glob("test_*.py"))


def quick_of(path: Path) -> list[str]:
    """Return the names of a file's tests that no marker makes slow."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    assigned = [node for node in body if isinstance(node, ast.Assign)]
    if any(is_slow(node.value) for node in assigned if "pytestmark" in map(ast.unparse, node.targets)):
        return []
    functions = [node for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    return [node.name for node in functions if not any(map(is_slow, node.decorator_list))]


def is_slow(marker: ast.expr) -> bool:
    return any(f"mark.{name}" in ast.unparse(marker) for name in NOT_QUICK)


def test_tests_import_nothing_from_other_tests() -> None:
    """Two folders have a ``conftest`` each, and one of which shadows the other: helpers are in support."""
    looks_like_one = re.compile(r"^ *from (conftest|test_)", re.MULTILINE)  # many times faster than to parse all
    texts = {path: path.read_text(encoding="utf-8") for path in ALL_TESTS.rglob("*.py")}
    imported = {
        (path.relative_to(ALL_TESTS).as_posix(), node.module)
        for path, text in texts.items()
        if looks_like_one.search(text)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module is not None
    }
    assert not [pair for pair in imported if pair[1] == "conftest" or pair[1].startswith("test_")]
