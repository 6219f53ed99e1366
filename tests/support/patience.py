"""How long a test waits: the one place where time-outs follow the load of the machine.

A time-out is there for what hangs, not for what is slow: on a machine that others use as well, it is as many times
longer as the processors are shared by.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
import pytest_timeout

WORK_SECONDS = 0.05
"""Processor time of the work by which a session measures how the processors are shared."""

MOST_TIMES = 12.0
"""A time-out is not made longer than by this: whatever hangs has to end."""


def patience(seconds: float = 120) -> float:
    """Return the seconds to wait now for what takes at most so many on an idle machine."""
    return seconds * times_slower()


def times_slower() -> float:
    """Return by how much the processors are shared, from 1 on: when the session began, or in the last minute."""
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    return min(max(1.0, load, _shared_at_start()), MOST_TIMES)


@cache
def _shared_at_start() -> float:
    """Return the time that a unit of work took, over what it took of a processor."""
    began, used = time.monotonic(), time.process_time()
    while time.process_time() - used < WORK_SECONDS:
        pass
    return (time.monotonic() - began) / WORK_SECONDS


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + patience(seconds)
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@pytest.fixture
def ending() -> Iterator[Callable[[subprocess.Popen[Any]], subprocess.Popen[Any]]]:
    """Take a process that is not to outlive the test, however that ends."""
    begun: list[subprocess.Popen[Any]] = []

    def take(process: subprocess.Popen[Any]) -> subprocess.Popen[Any]:
        begun.append(process)
        return process

    try:
        yield take
    finally:
        for process in begun:
            process.kill()
            process.wait()


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool:
    """Let the time-out of a test follow the load as well, by somewhat more than those within it."""
    pytest_timeout.pytest_timeout_set_timer(item, settings._replace(timeout=1.5 * patience(settings.timeout)))
    return True
