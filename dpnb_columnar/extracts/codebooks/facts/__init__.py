"""Public facts about collections of microdata, as data in the ``*.toml`` files of this folder."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from dpnb_columnar.domain.attributes import Transform
from dpnb_columnar.domain.declared_domain import Unit, Weight
from dpnb_columnar.domain.names import exact_number
from dpnb_columnar.extracts.codebooks.codebook import Variable

ADULT_LIKE = "adult-like"
"""Stands for the columns in the roles of the Adult data set's attributes (``adult_like``)."""


@dataclass(frozen=True, slots=True)
class TechnicalRule:
    """A rule for variables that describe the record, not the person (``technical.toml``).

    Attributes:
        reason: What such a variable is, for people.
        collections: Collections the rule holds for; all if empty.
        names, labels, concepts: Patterns; a variable matches if one of them matches.
        unlisted: Whether the rule holds only for variables without a list of codes.
    """

    reason: str
    collections: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    unlisted: bool = False

    def matches(self, variable: Variable, collection: str) -> bool:
        """Test whether this rule says that a variable of a collection describes the record."""
        if (self.collections and collection not in self.collections) or (self.unlisted and variable.codes):
            return False
        return (
            _matches_any(variable.name.upper(), self.names)
            or _matches_any(variable.label.lower(), self.labels)
            or _matches_any(variable.concept, self.concepts)
        )


@dataclass(frozen=True, slots=True)
class AmountFact:
    """Facts about an amount that its codebook does not state (``amounts.toml``), in the variable's unit.

    Attributes:
        collections: Collections the facts hold for.
        names: Patterns of the names of variables they hold for.
        lower, upper: Bounds; None where those of the codebook hold.
        transform: Public map applied before moments are taken.
        missing_values: Codes that mean "not in universe", perhaps "missing" as well.
        missing_at_top: How many of the highest codes of the variable's width mean that.
        unknown_values: Codes that mean that nobody knows.
    """

    collections: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    lower: Fraction | None = None
    upper: Fraction | None = None
    transform: Transform = Transform.IDENTITY
    missing_values: tuple[Fraction, ...] = ()
    missing_at_top: int = 0
    unknown_values: tuple[Fraction, ...] = ()


@dataclass(frozen=True, slots=True)
class FlagRule:
    """How a publisher names the flags of allocated values, and their codes (``imputed.toml``).

    Attributes:
        collections: Collections the rule holds for.
        flags: Names of the flag of a variable, best first: ``{name}`` is the variable's, ``{short}`` its first 7
            letters.
        labels: Patterns of the label of a flag, in lower case.
        answered: Patterns of the labels of codes that say that a value is an answer, in lower case.
        also: The flags of variables whose name says it otherwise.
    """

    collections: tuple[str, ...]
    flags: tuple[str, ...]
    labels: tuple[str, ...]
    answered: tuple[str, ...]
    also: Mapping[str, str]

    def flag_of(self, name: str, variables: Mapping[str, Variable]) -> Variable | None:
        """Find the flag of a variable among those of its codebook; None where it has none."""
        known, upper = spelled(variables), name.upper()
        patterns = [self.also[upper]] if upper in self.also else self.flags
        for pattern in patterns:
            flag = variables.get(known.get(pattern.format(name=upper, short=upper[:7]), ""))
            if flag is not None and _matches_any(flag.label.lower(), self.labels):
                return flag
        return None

    def is_answered(self, label: str) -> bool:
        """Test whether a code of this label says that the value is an answer."""
        return _matches_any(" ".join(label.lower().split()), self.answered)


def flag_rule(collection: str) -> FlagRule | None:
    """Return how a collection names flags of allocated values; None where it is not known to have any."""
    rules = (FlagRule(**_as_tuples(rule)) for rule in _read("imputed")["rule"] if collection in rule["collections"])
    return next(rules, None)


def technical_reason(variable: Variable, collection: str) -> str | None:
    """Return why a variable describes the record and not the person; None where it describes the person."""
    return next((rule.reason for rule in _technical_rules() if rule.matches(variable, collection)), None)


def amount_fact(variable: Variable, collection: str) -> AmountFact:
    """Return the first facts about an amount; empty ones where nothing is known."""
    for fact in _amount_facts():
        if collection in fact.collections and _matches_any(variable.name.upper(), fact.names):
            return fact
    return AmountFact()


def unit_of(collection: str, names: Collection[str]) -> tuple[str, ...]:
    """Return the variables that together name the household of a record (``units.toml``); empty if none are known."""
    for unit in _read("units")["unit"]:
        if collection in unit["collections"]:
            known = spelled(names)
            return next((tuple(known[name] for name in each) for each in unit["names"] if {*each} <= {*known}), ())
    return ()


def person_of(collection: str, names: Collection[str], samples: Sequence[str]) -> Unit | None:
    """Return the rows of one person in linked samples as a unit (``units.toml``); None where they are not known."""
    for person in _read("units")["person"]:
        column = _first_of(person["names"], spelled(names))
        if collection in person["collections"] and column is not None and len(samples) != 1:
            yearly = bool(samples) and all(person["yearly"] in sample for sample in samples)
            most = person["yearly_samples"] if yearly else person["samples"]
            return Unit((column,), min(most, len(samples) or most))
    return None


def weight_of(collection: str, names: Collection[str]) -> Weight | None:
    """Return the weight of a record (``weights.toml``); None where none is known."""
    for weight in _read("weights")["weight"]:
        if collection in weight["collections"]:
            column = _first_of(weight["names"], spelled(names))
            return None if column is None else Weight(column, exact_number(weight["cap"]))
    return None


@cache
def adult_roles() -> dict[str, dict[str, tuple[str, ...]]]:
    """Read the thirteen roles of the Adult data set; by collection, the variables for each role, best first."""
    return {role: _as_tuples(collections) for role, collections in _read("adult_like").items()}


def adult_like(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Choose an extract's variables for the roles of the Adult data set (``adult_like.toml``).

    The lists of the collection that fill most roles are used.

    Returns:
        The names chosen, at most one for each role, in the order of the roles; and the roles for which there is none.
    """
    existing = spelled(names)
    roles = adult_roles()
    by_collection = [
        {role: _first_of(lists.get(collection, ()), existing) for role, lists in roles.items()}
        for collection in dict.fromkeys(collection for lists in roles.values() for collection in lists)
    ]
    chosen = max(by_collection, key=lambda choice: sum(name is not None for name in choice.values()))
    names_chosen = tuple(name for name in chosen.values() if name is not None)
    return names_chosen, tuple(role for role, name in chosen.items() if name is None)


def spelled(names: Iterable[str]) -> dict[str, str]:
    """Return names by themselves, and by how facts write them: in upper case."""
    listed = [*names]
    return {name.upper(): name for name in listed} | {name: name for name in listed}


def _first_of(candidates: Iterable[str], existing: Mapping[str, str]) -> str | None:
    return next((existing[name] for name in candidates if name in existing), None)


@cache
def _technical_rules() -> tuple[TechnicalRule, ...]:
    return tuple(TechnicalRule(**_as_tuples(rule)) for rule in _read("technical")["rule"])


@cache
def _amount_facts() -> tuple[AmountFact, ...]:
    return tuple(AmountFact(**_as_numbers(fact)) for fact in _read("amounts")["fact"])


def _as_numbers(fact: dict[str, Any]) -> dict[str, Any]:
    """Read the numbers of a fact exactly, and its transform."""
    bounds: dict[str, Any] = {key: exact_number(fact[key]) for key in ("lower", "upper") if key in fact}
    lists = {key: tuple(map(exact_number, fact.get(key, ()))) for key in ("missing_values", "unknown_values")}
    return {**_as_tuples(fact), **bounds, **lists, "transform": Transform(fact.get("transform", Transform.IDENTITY))}


def _as_tuples(table: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def _matches_any(text: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def _read(name: str) -> dict[str, Any]:
    content = (Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(content, parse_float=Decimal)
