"""Which tests run: plain ``pytest`` those that answer within half a minute, ``--all`` all of them.

Of enumerations, which try every case of a small world, a tenth runs with either: the same one, or another with
``--fresh``. Where tests are named, by file or by -k or -m, the named ones run, with the whole of their enumerations.
"""

from __future__ import annotations

import math
import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any
from zlib import crc32

import pytest

from support.durations import Recorder, expected_seconds, function_of, read_durations

QUICK_SECONDS = 30.0
"""What the tests of plain ``pytest`` take together, as measured: 31 seconds of wall time on two idle processors."""

KEPT = 5
"""Tests that every room keeps among them, however long they take."""

ALWAYS = "golden"
"""Marker of the tests that plain ``pytest`` runs, however long they take."""

OUTSIDE = {"spark": "spark_installed", "postgres": "postgres_process", "browser": "browser"}
"""What the test extra does not bring: the group and the marker of the tests that need it, and the fixture that does."""

LEFT_OUT, SEED = pytest.StashKey[int](), pytest.StashKey[int | None]()

Tenth = Callable[[Iterable[Any]], list[Any]]
"""Chooses the cases of an enumeration that a run tries."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers", "how many tests run")
    group.addoption("--all", action="store_true", help="run all tests, not those that answer within half a minute")
    group.addoption("--exhaustive", action="store_true", help="run the whole of every enumeration, not a tenth of it")
    group.addoption("--exhaustive-seed", type=int, metavar="N", help="the tenth of an earlier run, by its number")
    group.addoption("--fresh", action="store_true", help="noise and tenths of enumerations that no run has tried")
    group.addoption(
        "--write-durations", action="store_true", help="write tests/durations.tsv by what this run measures"
    )


def everything_asked(config: pytest.Config) -> bool:
    """Test whether nothing on the command line names tests."""
    option = config.option
    named = option.keyword or option.markexpr or getattr(option, "lf", False)
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not named


def is_quick(config: pytest.Config) -> bool:
    """Test whether this is plain ``pytest``."""
    return everything_asked(config) and not config.option.all


def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed of the tenths, once for all processes, and begin to measure if asked to."""
    option, from_main_process = config.option, getattr(config, "workerinput", None)
    if from_main_process is not None:
        config.stash[SEED] = from_main_process["exhaustive_seed"]
        return
    config.stash[SEED] = option.exhaustive_seed
    if option.exhaustive_seed is None and (option.all or is_quick(config)) and not option.exhaustive:
        config.stash[SEED] = secrets.randbelow(10**6) if option.fresh else 0
    if option.write_durations:
        everything = option.all and everything_asked(config) and not option.maxfail
        config.pluginmanager.register(Recorder(everything, OUTSIDE))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["exhaustive_seed"] = node.config.stash[SEED]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    said = getattr(node, "workeroutput", {}).get("left_out", 0)  # the same by every process that has not crashed
    node.config.stash[LEFT_OUT] = max(node.config.stash.get(LEFT_OUT, 0), said)


def quick_tests(seconds: Mapping[str, float], budget: float = QUICK_SECONDS, always: Iterable[str] = ()) -> set[str]:
    """Return the tests that plain ``pytest`` runs: ``always``, the cheapest of each room, then the cheapest of all.

    Args:
        seconds: What each test is expected to take, by its id.
        budget: Seconds that they take together.
        always: Tests that run in any case.
    """
    # Tests of the same figure come in an order that has nothing to do with rooms, and is the same everywhere.
    cheapest = sorted(seconds, key=lambda test: (seconds[test], crc32(test.encode())))
    rooms = Counter[str]()
    kept = {test for test in always if test in seconds}
    for test in cheapest:
        room = test.split("/")[1]
        rooms[room] += 1
        if rooms[room] <= KEPT:
            kept.add(test)
    chosen, left = set(kept), budget - sum(seconds[test] for test in kept)
    for test in cheapest:
        if test not in chosen:
            left -= seconds[test]
            if left < 0:
                break
            chosen.add(test)
    return chosen


def a_tenth(cases: Iterable[Any], seed: int | None, name: str) -> list[Any]:
    """Return a tenth of the cases of an enumeration, at least one and in their order; all of them without a seed."""
    cases = list(cases)
    if seed is None:
        return cases
    places = Random(f"{seed} {name}").sample(range(len(cases)), math.ceil(len(cases) / 10))
    return [cases[place] for place in sorted(places)]


@pytest.fixture
def tenth(request: pytest.FixtureRequest) -> Tenth:
    """The cases of this test's enumeration that this run tries; of parametrised ones, the marker ``enumeration``."""
    seed, name = request.config.stash[SEED], f"{function_of(request.node.nodeid)} {request.node.name}"
    return lambda cases: a_tenth(cases, seed, name)


def left_out(items: list[pytest.Item], config: pytest.Config) -> set[str]:
    """Return the ids of the tests that take too long for plain ``pytest``."""
    if not is_quick(config):
        return set()
    here = [item for item in items if not any(item.get_closest_marker(name) for name in OUTSIDE)]
    marked = [(item.nodeid, item.get_closest_marker("slow") is not None) for item in here]
    always = {item.nodeid for item in here if item.get_closest_marker(ALWAYS)}
    return {item.nodeid for item in items} - quick_tests(expected_seconds(marked, read_durations()), always=always)


def not_in_the_tenth(items: list[pytest.Item], config: pytest.Config) -> set[str]:
    """Return the ids of the cases of parametrised enumerations that are not tried this time."""
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("enumeration"):
            cases[function_of(item.nodeid)].append(item.nodeid)
    tried = {case for name, of in cases.items() for case in a_tenth(of, config.stash[SEED], name)}
    return {case for of in cases.values() for case in of} - tried


def mark_by_needs(items: list[pytest.Item]) -> None:
    """Mark tests of groups as slow, and by what they need, whose fixture makes them a group."""
    for item in items:
        groups = {marker.args[0] for marker in item.iter_markers("xdist_group")}
        for needed, fixture in OUTSIDE.items():
            if needed not in groups and fixture in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.xdist_group(needed))
                groups.add(needed)
        for marker in ["slow", *groups & OUTSIDE.keys()] if groups else []:
            item.add_marker(marker)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by what they need, and keep those that this run is about, before xdist gives them other ids."""
    mark_by_needs(items)
    long, untried = left_out(items, config), not_in_the_tenth(items, config)
    dropped = [item for item in items if item.nodeid in long | untried]
    if dropped:
        items[:] = [item for item in items if item.nodeid not in long | untried]
        config.hook.pytest_deselected(items=dropped)
    config.stash[LEFT_OUT] = len(long)
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = len(long)


def last_lines(left_out: int, seed: int | None) -> list[str]:
    """Return what a run says at its end: what it did not try, and how to."""
    tenths = f"tried a tenth of each enumeration: the same one with --exhaustive-seed {seed}, all with --exhaustive"
    longer = f"left out {left_out} tests that take longer: pytest --all"
    return [line for line, said in [(tenths, seed is not None), (longer, left_out)] if said]


def pytest_report_header(config: pytest.Config) -> list[str]:
    seed = config.stash[SEED]
    return [] if seed is None else [f"enumerations: a tenth of each, --exhaustive-seed {seed}"]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say at the very end, after the numbers, what was not tried."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and not hasattr(config, "workerinput"):
        for line in last_lines(config.stash.get(LEFT_OUT, 0), config.stash.get(SEED, None)):
            terminal.write_line(line)
