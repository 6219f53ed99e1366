"""Noise of tests that is the same in every run: what a change did not cause is not held against it.

A test that asks for no seed draws by the operating system's generator, as users do, and some statements about what it
draws are false once in some thousand runs. So the bits that ``secrets`` gives in the process of the tests follow from
the test's name; those of fixtures that several tests share follow from the fixture's. With ``--fresh`` they are the
system's own, and in processes that a test starts they always are.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest


@contextmanager
def bits_of(name: str) -> Iterator[None]:
    """Draw the bits of ``secrets.randbits`` by a name, until the end of the block."""
    before = secrets.randbits
    secrets.randbits = Random(name).getrandbits  # type: ignore[misc]
    try:
        yield
    finally:
        secrets.randbits = before  # type: ignore[misc]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Run a test, with the fixtures that are its own."""
    if item.config.option.fresh or item.get_closest_marker("system_bits"):
        return (yield)
    with bits_of(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """Make what several tests share, whichever of them comes first."""
    if fixturedef.scope == "function" or request.config.option.fresh:
        return (yield)
    with bits_of(f"{fixturedef.baseid}::{fixturedef.argname} {getattr(request, 'param', '')}"):
        return (yield)
