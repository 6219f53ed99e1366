"""Public facts about collections of microdata, kept as data beside this module (``*.toml``)."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from dpnb_columnar.domain.numbers import exact_number
from dpnb_columnar.extracts.codebooks.codebook import Variable


@dataclass(frozen=True, slots=True)
class TechnicalRule:
    """Which variables describe the record, not the person (``technical.toml``).

    Attributes:
        reason: What such a variable is, for people.
        collections: Collections it holds for; every one, where none is named.
        names, labels, concepts: Patterns; a variable fits if one of them fits.
        unlisted: Whether it holds only for variables without a list of codes.
    """

    reason: str
    collections: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    unlisted: bool = False

    def fits(self, variable: Variable, collection: str) -> bool:
        """Whether this variable of this collection is such a one."""
        if (self.collections and collection not in self.collections) or (self.unlisted and variable.codes):
            return False
        return (
            _fits(variable.name.upper(), self.names)
            or _fits(variable.label.lower(), self.labels)
            or _fits(variable.concept, self.concepts)
        )


@dataclass(frozen=True, slots=True)
class AmountFact:
    """What is known of an amount beside its codebook (``amounts.toml``), in the variable's unit.

    Attributes:
        negative: Whether it can be below zero.
        lower, upper: Bounds; None where the codebook's hold.
        missing_values: Codes that mean "not in universe" or "missing".
        missing_at_top: How many of the highest codes of the variable's width mean that.
    """

    collections: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    negative: bool = False
    lower: Fraction | None = None
    upper: Fraction | None = None
    missing_values: tuple[Fraction, ...] = ()
    missing_at_top: int = 0


def technical_reason(variable: Variable, collection: str) -> str | None:
    """Why a variable describes the record and not the person; None where it does not."""
    return next((rule.reason for rule in _technical_rules() if rule.fits(variable, collection)), None)


def amount_fact(variable: Variable, collection: str) -> AmountFact:
    """The first fact about this amount; an empty one where nothing is known."""
    for fact in _amount_facts():
        if collection in fact.collections and _fits(variable.name.upper(), fact.names):
            return fact
    return AmountFact()


@cache
def adult_roles() -> dict[str, dict[str, tuple[str, ...]]]:
    """The thirteen roles of Adult-like attributes; by collection, the variables that can take each, best first."""
    return {role: _as_tuples(collections) for role, collections in _read("adult_like").items()}


@cache
def _technical_rules() -> tuple[TechnicalRule, ...]:
    return tuple(TechnicalRule(**_as_tuples(rule)) for rule in _read("technical")["rule"])


@cache
def _amount_facts() -> tuple[AmountFact, ...]:
    return tuple(AmountFact(**_as_numbers(fact)) for fact in _read("amounts")["fact"])


def _as_numbers(fact: dict[str, Any]) -> dict[str, Any]:
    bounds: dict[str, Any] = {key: exact_number(fact[key]) for key in ("lower", "upper") if key in fact}
    return {**_as_tuples(fact), **bounds, "missing_values": tuple(map(exact_number, fact.get("missing_values", ())))}


def _as_tuples(table: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def _fits(text: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def _read(name: str) -> dict[str, Any]:
    content = (Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(content, parse_float=Decimal)
