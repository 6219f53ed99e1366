"""Which tests a process gets, and in which order: whole modules and groups, those with slow tests first."""

from __future__ import annotations

import pytest
from xdist.scheduler import LoadGroupScheduling

FIRST = "spark"
"""The longest group: whoever begins it last would let all others wait."""


WHOLE = ("tests/report/",)
"""Folders that go to one process, since all of their modules look at one page that takes seconds to draw."""


class ScheduleByModule(LoadGroupScheduling):
    """Hand out ``xdist_group`` groups and, in place of single tests, modules.

    A process then sets up what a module shares once, and the scheduler keeps two hundred units in place of seven
    thousand: it looks at all of them after every test.
    """

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


def unit_of(nodeid: str) -> str:
    """Return the group of a test as xdist names it, or else its module, or the folder that goes as a whole."""
    group = nodeid.rfind("@")
    if group > nodeid.rfind("]"):
        return nodeid[group + 1 :]
    return next((folder for folder in WHOLE if nodeid.startswith(folder)), nodeid.partition("::")[0])


def longest_first(items: list[pytest.Item]) -> None:
    """Order tests by units: the longest group, then units with slow tests, then the others."""
    slow = {unit_of(item.nodeid) for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (unit_of(item.nodeid) != FIRST, unit_of(item.nodeid) not in slow))
