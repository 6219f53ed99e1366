"""Where tests run and in which order: files in memory, modules to processes, what takes long first."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.durations import expected_seconds, read_durations
from support.tiers import is_quick

MEMORY = Path("/dev/shm")
"""File system of Linux that is in memory."""

QUICK_ROOM, WHOLE_ROOM = 2**30, 6 * 2**30
"""Bytes that have to be free in memory for the files of the quick tests, and of all: more than twice what they take."""

FEW_FILES = 4
"""Files that are run in this process: to start others, each of which imports everything, would take longer."""

FIRST = "spark"
"""The longest group: whoever begins it last would let all others wait."""

WHOLE = ("tests/report/",)
"""Folders that go to one process, since all of their modules look at one page that takes seconds to draw."""


def pytest_configure(config: pytest.Config) -> None:
    """Keep files in memory where there is room: hundreds of ledgers and outputs would wait for the disk, one by one."""
    if MEMORY.is_dir() and os.access(MEMORY, os.W_OK):
        place = os.statvfs(MEMORY)
        room = QUICK_ROOM if runs_no_slow_test(config) else WHOLE_ROOM
        if place.f_bavail * place.f_frsize > room and not place.f_flag & os.ST_NOEXEC:
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    # Compiled modules are kept, whatever the environment says: hundreds of processes would compile the package again,
    # and every worker would rewrite the assertions of all tests, which takes longer than to collect them.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def runs_no_slow_test(config: pytest.Config) -> bool:
    return is_quick(config) or config.option.markexpr == "not slow"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Collect no garbage while tests are collected, and never look at the million objects again that they are."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


def pytest_unconfigure() -> None:
    """Let libraries see at the end that nothing of theirs is left."""
    gc.unfreeze()


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> Iterator[int]:
    """Start no process for few files; and one more than processors for slow tests, which wait for servers and Java."""
    processors = yield
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return processors
    if config.args_source is pytest.Config.ArgsSource.ARGS and len(files_named(config.args)) <= FEW_FILES:
        return 0
    return processors if runs_no_slow_test(config) else processors + 1


def files_named(arguments: list[str]) -> set[Path]:
    """Return the files of tests that arguments name, by themselves, by a folder, or by the id of a test."""
    paths = [Path(argument.partition("::")[0]) for argument in arguments]
    return {file for path in paths for file in (path.rglob("test_*.py") if path.is_dir() else [path])}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out modules where the tests run in several processes."""
    from xdist.scheduler import LoadGroupScheduling

    class ScheduleByModule(LoadGroupScheduling):
        """Hand out ``xdist_group`` groups and, in place of single tests, modules.

        A process then sets up what a module shares once, and the scheduler keeps two hundred units in place of seven
        thousand: it looks at all of them after every test.
        """

        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

    config.option.loadscopereorder = False  # they come in the order in which they are to begin
    return ScheduleByModule(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Let what takes long begin first where processes are many."""
    yield
    if hasattr(config, "workerinput"):
        longest_first(items)


def unit_of(nodeid: str) -> str:
    """Return the group of a test as xdist names it, or else its module, or the folder that goes as a whole."""
    group = nodeid.rfind("@")
    if group > nodeid.rfind("]"):
        return nodeid[group + 1 :]
    return next((folder for folder in WHOLE if nodeid.startswith(folder)), nodeid.partition("::")[0])


def longest_first(items: list[pytest.Item]) -> None:
    """Order tests by units: the longest group, then those that are expected to take longest."""
    marked = [(item.nodeid, item.get_closest_marker("slow") is not None) for item in items]
    seconds = Counter[str]()
    for test, expected in expected_seconds(marked, read_durations()).items():
        seconds[unit_of(test)] += expected
    items.sort(key=lambda item: (unit_of(item.nodeid) != FIRST, -seconds[unit_of(item.nodeid)], unit_of(item.nodeid)))
