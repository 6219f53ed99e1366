"""The public lists beside the code: every entry can take effect."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.codebook_cases import variable

from dpnb_columnar.extracts.codebooks import facts
from dpnb_columnar.extracts.codebooks.codebook import Measure

COLLECTIONS = {"usa.ipums.org", "cps.ipums.org", "international.ipums.org", "census.gov"}
FOLDER = Path(facts.__file__).parent


def entries(name: str, key: str) -> list[dict[str, Any]]:
    return list(tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))[key])


def filled(pattern: str) -> str:
    """A text that fits a pattern."""
    return pattern.replace("[0-9]", "1").replace("*", "").replace("?", "X")


@pytest.mark.parametrize("rule", entries("technical", "rule"), ids=lambda rule: rule["reason"])
def test_every_technical_pattern_is_reached(rule: dict[str, Any]) -> None:
    assert set(rule.get("collections", [])) <= COLLECTIONS
    assert rule.get("names") or rule.get("labels") or rule.get("concepts")
    for collection in rule.get("collections", ["elsewhere.org"]):
        for pattern in rule.get("names", []):
            assert facts.technical_reason(variable(filled(pattern)), collection) == rule["reason"], pattern
    for key in ("label", "concept"):
        for pattern in rule.get(f"{key}s", []):
            one = variable("SOMETHING", **{key: filled(pattern)})
            assert facts.technical_reason(one, "elsewhere.org") == rule["reason"]


@pytest.mark.parametrize("fact", entries("amounts", "fact"), ids=lambda fact: fact["names"][0])
def test_every_fact_about_amounts_is_reached(fact: dict[str, Any]) -> None:
    assert set(fact["collections"]) <= COLLECTIONS
    for collection in fact["collections"]:
        for pattern in fact["names"]:
            found = facts.amount_fact(variable(filled(pattern), measure=Measure.CONTINUOUS), collection)
            assert pattern in found.names
            assert found.lower is None or found.upper is None or found.lower < found.upper


def test_what_nothing_is_known_of() -> None:
    assert facts.amount_fact(variable("INCWAGE"), "elsewhere.org") == facts.AmountFact()
    assert facts.technical_reason(variable("SERIAL"), "elsewhere.org") is None
