"""A declaration that uses every key, what changes it, and what reading finds wrong."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from dpnb_columnar.domain import read_domain
from dpnb_columnar.errors import DomainError

HUGE = 2**20_000
"""A whole number that Python itself refuses to write out; TOML can hold it as 0x..."""


def declared(toml: str) -> dict[str, Any]:
    return tomllib.loads(toml, parse_float=Decimal)


CENSUS = declared(
    """
    [label]
    condition = "INCWAGE > 1500 AND SEX = '2'"
    classes = ["low", "high"]
    missing_values = [999998, "999999"]

    [attributes]
    AGE = { lower = 0, upper = 120, step = 1, missing_values = [999, 0.5] }
    WEEKS = { lower = 0.0, upper = 52 }
    DEBT = { lower = "-1/3", upper = "2/3", step = "1/9" }
    WEALTH = { lower = 0, upper = 1e6, step = 0.1, transform = "log1p" }
    URBAN = { values = [1, 2] }
    "place of birth" = { values = ["Ohio", true, 7], missing = "category", missing_values = ["?"] }
    """
)


def census(change: Callable[[dict[str, Any]], object] = lambda document: None) -> dict[str, Any]:
    document = copy.deepcopy(CENSUS)
    change(document)
    return document


def faults(document: object) -> dict[str, str]:
    with pytest.raises(DomainError) as caught:
        read_domain("census", document, "datasets.toml")
    message = str(caught.value)
    number = len(caught.value.faults)
    assert message.startswith("datasets.toml: ")
    assert (f"datasets.toml: {number} faults in the domain declaration\n" in message) is (number > 1)
    assert message.count("\n") == (number if number > 1 else 0)
    assert all(len(line) < 420 for line in message.splitlines())
    found = {fault.place: fault.problem for fault in caught.value.faults}
    assert len(found) == len(caught.value.faults)
    return found
