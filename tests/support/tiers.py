"""Which tests run: plain ``pytest`` those that answer within half a minute, ``--all`` all of them.

Of enumerations, which try every case of a small world, a tenth runs with either, always the same one. Where tests are
named, by file or by -k or -m, the named ones run, with the whole of their enumerations.
"""

from __future__ import annotations

import math
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

LEFT_OUT = pytest.StashKey[int]()

Tenth = Callable[[Iterable[Any]], list[Any]]
"""Chooses the cases of an enumeration that a run tries."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers", "how many tests run")
    group.addoption("--all", action="store_true", help="run all tests, not those that answer within half a minute")
    group.addoption("--exhaustive", action="store_true", help="run the whole of every enumeration, not a tenth of it")
    group.addoption("--fresh", action="store_true", help="noise that no run has tried")
    group.addoption(
        "--write-durations", action="store_true", help="write tests/durations.tsv by what this run measures"
    )


def everything_asked(config: pytest.Config) -> bool:
    """Test whether nothing on the command line names tests."""
    option = config.option
    named = option.keyword or option.markexpr or getattr(option, "lf", False)
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not named


def is_quick(config: pytest.Config) -> bool:
    return everything_asked(config) and not config.option.all


def tries_a_tenth(config: pytest.Config) -> bool:
    """Test whether this run tries a tenth of each enumeration."""
    return (config.option.all or is_quick(config)) and not config.option.exhaustive


def pytest_configure(config: pytest.Config) -> None:
    option = config.option
    if option.write_durations and not hasattr(config, "workerinput"):
        everything = option.all and everything_asked(config) and not option.maxfail
        config.pluginmanager.register(Recorder(everything, OUTSIDE))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    said = getattr(node, "workeroutput", {}).get("left_out", 0)  # the same by every process that has not crashed
    node.config.stash[LEFT_OUT] = max(node.config.stash.get(LEFT_OUT, 0), said)


def quick_tests(seconds: Mapping[str, float], budget: float = QUICK_SECONDS, always: Iterable[str] = ()) -> set[str]:
    """Return the tests that plain ``pytest`` runs: ``always``, the cheapest of each room, then the cheapest of all."""
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


def a_tenth(cases: Iterable[Any], name: str) -> list[Any]:
    """Return a tenth of the cases of an enumeration, at least one and in their order."""
    cases = list(cases)
    places = Random(f"0 {name}").sample(range(len(cases)), math.ceil(len(cases) / 10))
    return [cases[place] for place in sorted(places)]


@pytest.fixture
def tenth(request: pytest.FixtureRequest) -> Tenth:
    """The cases of this test's enumeration that this run tries; of parametrised ones, the marker ``enumeration``."""
    if not tries_a_tenth(request.config):
        return list
    return lambda cases: a_tenth(cases, f"{function_of(request.node.nodeid)} {request.node.name}")


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
    for item in items if tries_a_tenth(config) else []:
        if item.get_closest_marker("enumeration"):
            cases[function_of(item.nodeid)].append(item.nodeid)
    tried = {case for name, of in cases.items() for case in a_tenth(of, name)}
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


def last_lines(left_out: int, tenths: bool) -> list[str]:
    """Return what a run says at its end: what it did not try, and how to."""
    longer = f"left out {left_out} tests that take longer: pytest --all"
    return ["tried a tenth of each enumeration: all with --exhaustive"] * tenths + [longer] * bool(left_out)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say at the very end, after the numbers, what was not tried."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and not hasattr(config, "workerinput"):
        for line in last_lines(config.stash.get(LEFT_OUT, 0), tries_a_tenth(config)):
            terminal.write_line(line)
