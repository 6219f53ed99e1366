"""Plugin of pytest that notes which functions of the package each test calls, and runs some tests first, or alone.

Most of the time of a mutant goes into tests that have nothing to do with it. Those that call the function which it
changes run first, so that it dies at once. What other processes call is not noted, nor what a cache spares a test.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

NOTED, FIRST, ALONE = "MUTANTS_NOTED", "MUTANTS_FIRST", "MUTANTS_ALONE"
"""Variables of the environment: a file to write notes to; one that lists the tests to run first; one of those to run
alone."""

PACKAGE = str(Path.cwd() / "dpnb_columnar") + os.sep

_notes: dict[str, dict[str, Any]] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[object]:
    """Note the functions that a test calls, and how long it takes."""
    if NOTED not in os.environ:
        return (yield)
    called: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called.add(frame.f_code)

    begun = time.monotonic()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        return (yield)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        own = (code for code in called if code.co_filename.startswith(PACKAGE))
        functions = sorted({f"{code.co_filename.removeprefix(PACKAGE)}:{code.co_firstlineno}" for code in own})
        _notes[item.nodeid] = {"seconds": time.monotonic() - begun, "functions": functions}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the listed tests first, in their order, or leave out all others."""
    listed = next((Path(os.environ[name]) for name in (FIRST, ALONE) if name in os.environ), None)
    if listed is not None:
        places = {test: place for place, test in enumerate(json.loads(listed.read_text(encoding="utf-8")))}
        items.sort(key=lambda item: places.get(item.nodeid, len(places)))
        if ALONE in os.environ:
            items[:] = [item for item in items if item.nodeid in places]


def pytest_sessionfinish() -> None:
    if NOTED in os.environ:
        Path(os.environ[NOTED]).write_text(json.dumps(_notes), encoding="utf-8")
