"""Bug 5. Where bounds are missing, peers take them from the data under a warning (diffprivlib), or add no noise at all
(smartnoise-sdk #317).

Ours would show it as a domain without a bound that is accepted at any door. It has to be refused there with exit code
78, alike for any rows, before one is read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.people import DECLARATION, PEOPLE, people, people_domain, spoil_rows
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.domain import read_domain
from dpnb_columnar.domain.declaration import DOMAIN_KEY
from dpnb_columnar.errors import ConfigurationError, Error

FILE = Path("people.parquet")

# An age as TOML writes it.
UNBOUNDED: Mapping[str, str] = {
    "no upper": "lower = 0, step = 1",
    "no lower": "upper = 100, step = 1",
    "nothing": "",
    "upper nan": "lower = 0, upper = nan",
    "upper inf": "lower = 0, upper = inf",
    "lower inf": "lower = -inf, upper = 100",
    "upper in words": 'lower = 0, upper = "auto"',
    "upper NaN in words": 'lower = 0, upper = "NaN"',
    "upper empty": 'lower = 0, upper = ""',
    "step nan": "lower = 0, upper = 100, step = nan",
    "step 0": "lower = 0, upper = 100, step = 0",
}
AGE = "lower = 0, upper = 100, step = 1"


def document_of(fields: str) -> dict[str, Any]:
    """``PEOPLE`` with these fields, written in TOML, for the age."""
    named = [field.split(" = ") for field in fields.split(", ") if field]
    values = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    age = {name: json.loads(values.get(value, value)) for name, value in named}
    return {**PEOPLE, "attributes": {**PEOPLE["attributes"], "age": age}}


def in_a_catalogue(fields: str) -> None:
    people(50).write_parquet(FILE)
    Path("datasets.toml").write_text(DECLARATION.replace(AGE, fields))


def in_metadata(fields: str) -> None:
    people(50).write_parquet(FILE, metadata={DOMAIN_KEY: json.dumps({"name": "people", **document_of(fields)})})


DOORS = {"catalogue": in_a_catalogue, "metadata": in_metadata}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", UNBOUNDED)
def test_bug_05_a_missing_bound_is_refused_by_train(door: str, name: str, folder: Path, run: Run) -> None:
    DOORS[door](UNBOUNDED[name])
    spoil_rows(FILE)  # whoever looks at a row to find a bound fails otherwise
    before = set(folder.iterdir())
    told = run("train", FILE, expected=78).err
    assert "age" in told or "not a JSON declaration: " in told
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", UNBOUNDED)
def test_bug_05_a_missing_bound_is_refused_in_python(door: str, name: str, folder: Path) -> None:
    DOORS[door](UNBOUNDED[name])
    spoil_rows(FILE)
    for call in (lambda: dpnb.train(FILE, epsilon=1), lambda: dpnb.aggregate(FILE)):
        with pytest.raises(ConfigurationError):
            call()
    with pytest.raises(ConfigurationError, match="age"):
        read_domain("people", document_of(UNBOUNDED[name]), "test")


@pytest.mark.parametrize("bound", [None, math.nan, math.inf], ids=repr)
@pytest.mark.parametrize("name", ["lower", "upper"])
def test_bug_05_a_domain_made_by_hand_without_a_bound_releases_nothing(name: str, bound: Any, folder: Path) -> None:
    people(50).write_parquet(FILE)
    domain = people_domain()
    age = replace(domain.numeric[0], **{name: bound})
    with pytest.raises((Error, TypeError, ValueError, ArithmeticError)):
        dpnb.train(FILE, epsilon=1, domain=replace(domain, attributes=(age, *domain.attributes[1:])))


def test_bug_05_the_same_doors_let_whole_declarations_in(folder: Path, run: Run) -> None:
    for door in DOORS.values():
        door(AGE)
        run("train", FILE, "--overwrite")


def test_bug_05_no_setting_or_option_asks_for_bounds_of_the_data(folder: Path, run: Run) -> None:
    for option in ("--bounds", "--lower", "--upper", "--auto-bounds"):
        assert "No such option" in run("train", FILE, option, "auto", expected=64).err
