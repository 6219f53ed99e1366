"""The domain that a codebook declares, by it and by public facts (``facts/*.toml``). No row is read."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from dpnb_columnar.domain.attributes import MAXIMUM_CELLS, Attribute, Categorical, Missing, Numeric, Transform
from dpnb_columnar.domain.declaration import grid_fault
from dpnb_columnar.domain.declared_domain import Unit, UnlabelledDomain, Weight
from dpnb_columnar.domain.field_reader import LARGEST_DECLARATION
from dpnb_columnar.domain.names import did_you_mean, exact_number, number_text
from dpnb_columnar.domain.words import LONGEST_TITLE, LONGEST_VALUE_LABEL, applicable_labels, one_line, within_bounds
from dpnb_columnar.errors import UsageError, excerpt
from dpnb_columnar.extracts.codebooks.codebook import Code, Codebook, Flag, Form, Meaning, Measure, Variable, meaning_of

ADULT_LIKE = "adult-like"
"""Stands for the columns in the roles of the Adult data set's attributes (``adult_like``)."""


@dataclass(frozen=True, slots=True)
class TechnicalRule:
    """A rule for variables that describe the record, not the person (``technical.toml``)."""

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
    """Facts about an amount that its codebook does not state, in the variable's unit (``amounts.toml``)."""

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
    """How a publisher names the flags of allocated values, best first, and their codes (``imputed.toml``)."""

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
    """Choose an extract's variables for the roles of the Adult data set, of the collection that fills most of them."""
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
    content = (Path(__file__).parent / "facts" / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(content, parse_float=Decimal)


NUMBER = re.compile(r"[-+]?\d{1,18}(?:\.\d{1,18})?", re.ASCII)
WHOLE = re.compile(r"[-+]?\d{1,18}", re.ASCII)
LEADING_NUMBER = re.compile(r"(\d{1,18})(?!\d)(?!\s*-\s*\d)", re.ASCII)
"""A number at the beginning of a label, unless it begins an interval such as ``1-13 weeks``."""

WIDEST = 18
"""Most digits of a variable whose bounds may follow from its width."""

MOSTLY = Fraction(3, 4)
"""Share of a list of codes whose labels must begin with the code itself, for the list to be one of amounts."""

FEWEST_AMOUNTS = 10
"""Fewest values of a list of amounts; a shorter list says more as categories, "not in universe" among them."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A variable that is no attribute, and why, in words that continue ``left out:``."""

    name: str
    reason: str


def domain_of(codebook: Codebook, columns: Sequence[str] | None = None) -> tuple[UnlabelledDomain, tuple[LeftOut, ...]]:
    """Build the domain that a codebook declares, its label still to be chosen."""
    known = codebook.by_name
    attributes: list[Attribute] = []
    left_out = []
    for name in known if columns is None else dict.fromkeys(columns):
        if name not in known:
            hint = did_you_mean(name, known, "choose among the variables it describes")
            raise UsageError(f"{codebook.source}: the codebook has no variable {excerpt(name)}; {hint}")
        attribute = _attribute(known[name], codebook.collection)
        if isinstance(attribute, str):
            left_out.append(LeftOut(name, attribute))
        else:
            attributes.append(attribute)
    names = [each.name for each in left_out]
    unit, weight = unit_of(codebook.collection, names), weight_of(codebook.collection, names)
    samples = codebook.provenance.sample.split("; ") if codebook.provenance and codebook.provenance.sample else []
    person = person_of(codebook.collection, names, samples)
    domain = UnlabelledDomain(
        codebook.name, tuple(attributes), available_unit=unit, available_person=person, available_weight=weight
    )
    labels = {attribute.name: _value_labels(known[attribute.name], attribute) for attribute in attributes}
    words: dict[str, Any] = {
        "titles": _titles(known[name] for name in domain.columns),
        "value_labels": within_bounds(applicable_labels(domain, labels)),
        "provenance": codebook.provenance,
    }
    return replace(domain, **words), tuple(left_out)


def _titles(variables: Iterable[Variable]) -> Mapping[str, str]:
    """Return the labels of variables as titles; none that says no more than the name."""
    titles = {variable.name: one_line(variable.label, LONGEST_TITLE) for variable in variables}
    return {name: title for name, title in titles.items() if title and title.casefold() != name.casefold()}


def flags_of(codebook: Codebook, names: Sequence[str], available: Sequence[str]) -> dict[str, Flag]:
    """Find the flags of allocated values, and the values that say so; a flag that says it of all or none is no flag."""
    known_rules = (each for each in _read("imputed")["rule"] if codebook.collection in each["collections"])
    rule = next((FlagRule(**_as_tuples(each)) for each in known_rules), None)
    if rule is None:
        return {}
    known = {each.name: each for each in codebook.variables if each.name in available}
    found: dict[str, Flag] = {}
    for name in names:
        flag = rule.flag_of(name, known)
        if flag is None or flag.name == name:
            continue
        told: dict[str, bool] = {}
        for code in flag.codes:
            if not code.value.strip() or meaning_of(code.label) is not Meaning.VALUE:
                continue
            values = _values_of(code, flag.form)
            answered = _matches_any(" ".join(code.label.lower().split()), rule.answered)
            told |= {} if isinstance(values, str) else dict.fromkeys(values, not answered)
        allocated = tuple(value for value, is_allocated in told.items() if is_allocated)
        if allocated and len(allocated) < len(told):
            found[name] = Flag(flag.name, allocated)
    return found


def _value_labels(variable: Variable, attribute: Attribute) -> Mapping[str, str]:
    """Return the labels of a variable's codes, by the values that the readers of extracts write for them."""
    if isinstance(attribute, Numeric):
        labels = amount_labels(variable)
    else:
        labels = {}
        for code in variable.codes:
            for value in _values_of(code, variable.form):
                labels.setdefault(value, code.label)
    return {
        value: cut for value, label in labels.items() if (cut := one_line(label, LONGEST_VALUE_LABEL)) and cut != value
    }


def _attribute(variable: Variable, collection: str) -> Attribute | str:
    """Build the attribute of a variable, or return the reason why there is none."""
    if reason := technical_reason(variable, collection):
        return reason
    if variable.form is Form.NUMBER and (variable.measure is Measure.CONTINUOUS or spells_numbers(variable)):
        return numeric_attribute(variable, amount_fact(variable, collection))
    if variable.codes:
        return categorical_attribute(variable)
    if variable.form is Form.TEXT:
        return "text, and the codebook lists no codes"
    return "names, and the codebook does not list their codes"


def categorical_attribute(variable: Variable) -> Categorical | str:
    """Build the categorical attribute of a variable, "not in universe" a value of it, or say why there is none."""
    if variable.decimals:
        return "its codes are names with decimals"
    values: dict[str, None] = {}
    unknown: dict[str, None] = {}
    blank = False
    for code in variable.codes:
        if not code.value.strip():
            blank = True
            continue
        members = _values_of(code, variable.form)
        if isinstance(members, str):
            return members
        (unknown if meaning_of(code.label) is Meaning.UNKNOWN else values).update(dict.fromkeys(members))
        if len(values) + len(unknown) > LARGEST_DECLARATION:
            return f"it has more than {LARGEST_DECLARATION} codes"
    missing_values = tuple(code for code in unknown if code not in values)
    missing = Missing.CATEGORY if missing_values or blank else None
    attribute = Categorical(variable.name, tuple(values), missing, missing_values)
    if not values or attribute.size < 2:
        return "it has one value only"
    return attribute


def _values_of(code: Code, form: Form) -> tuple[str, ...] | str:
    """List the values of a code or a range of codes, or return the reason why there are none."""
    if form is Form.TEXT:
        return "its codes are a range, not a list" if code.last else (code.value.rstrip(),)
    if not WHOLE.fullmatch(code.value) or (code.last and not WHOLE.fullmatch(code.last)):
        return "its codes are not whole numbers"
    first = int(code.value)
    if not code.last:
        return (str(first),)
    last = int(code.last)
    if last - first >= LARGEST_DECLARATION:
        return f"it has more than {LARGEST_DECLARATION} codes"
    return tuple(str(value) for value in range(first, last + 1))


# Variables of amounts: bounds, step, and codes that mean a missing value.


def spells_numbers(variable: Variable) -> bool:
    """Return whether codes are those of amounts: most labels begin with the code itself, as in ``2 = 2 children``."""
    if variable.form is not Form.NUMBER or variable.decimals:
        return False
    values = [code for code in variable.codes if code.value and meaning_of(code.label) is Meaning.VALUE]
    return len(values) >= FEWEST_AMOUNTS and sum(map(_spells_itself, values)) >= MOSTLY * len(values)


def is_list_of_words(variable: Variable) -> bool:
    """Return whether the labels of a variable's codes tell these apart, so that they can stand in their place."""
    amount = variable.measure is Measure.CONTINUOUS or spells_numbers(variable)
    labels = {code.label.strip() for code in variable.codes if not code.last}
    return not amount and "" not in labels and len(labels) == len(variable.codes) > 0


def numeric_attribute(variable: Variable, fact: AmountFact) -> Numeric | str:
    """Build the numeric attribute of a variable, or return the reason why there is none.

    * Bounds are those of the fact, else of codes that are ranges or spell their numbers, else of the width: nines.
    * Where a code means "not in universe", or a blank is listed, to be missing is a category of its own: it describes
      children and people without work. Where nobody knows a few amounts, the row leaves this attribute out.
    """
    unit = Fraction(1, 10**variable.decimals)
    codes = [code for code in variable.codes if code.value]
    if not all(NUMBER.fullmatch(part) for code in codes for part in (code.value, code.last or "0")):
        return "its codes are not numbers"
    values = [code for code in codes if meaning_of(code.label) is Meaning.VALUE]
    lowest = min((_span(code, unit)[0] for code in values), default=None)
    highest = max((_span(code, unit)[1] for code in values), default=None)
    nines = None if variable.width is None or variable.width > WIDEST else unit * (10**variable.width - 1)
    lower, upper = fact.lower, fact.upper
    if any(code.last for code in values) or spells_numbers(variable):
        lower, upper = lowest if lower is None else lower, highest if upper is None else upper
    elif nines is not None:
        upper = nines if upper is None else min(upper, nines)
        negative = any(bound is not None and bound < 0 for bound in (fact.lower, lowest))
        least = -Fraction(int(nines / unit) // 10) * unit if negative else Fraction(0)
        lower = least if lower is None else max(lower, least)
    if lower is None or upper is None:
        return "its width gives no bounds"
    missing = [*fact.missing_values, *fact.unknown_values]
    not_asked = bool(fact.missing_values or fact.missing_at_top or len(codes) < len(variable.codes))
    for code in codes:
        meaning = meaning_of(code.label)
        not_asked |= meaning is Meaning.NOT_IN_UNIVERSE
        if meaning is not Meaning.VALUE:
            first, last = _span(code, unit)
            size = int((last - first) / unit) + 1
            if len(missing) + size > LARGEST_DECLARATION:
                return f"more than {LARGEST_DECLARATION} of its codes mean that the value is missing"
            missing += [first + position * unit for position in range(size)]
    if nines is not None:
        missing += [nines - unit * position for position in range(fact.missing_at_top)]
    treatment = Missing.CATEGORY if not_asked else None
    missing_values = tuple(dict.fromkeys(missing))
    return _check_attribute(Numeric(variable.name, lower, upper, unit, fact.transform, missing_values, treatment))


def amount_labels(variable: Variable) -> dict[str, str]:
    """Return the labels of single codes, by the amounts that they stand for; not of those that spell their number."""
    unit = Fraction(1, 10**variable.decimals)
    labels: dict[str, str] = {}
    for code in variable.codes:
        if code.value and not code.last and not _spells_itself(code):
            labels.setdefault(number_text(_span(code, unit)[0]), code.label)
    return labels


def _check_attribute(attribute: Numeric) -> Numeric | str:
    """Return the attribute, or the reason why a domain cannot have it."""
    if attribute.lower >= attribute.upper:
        return "it has one value only"
    if grid_fault(attribute, attribute.name) is not None:
        values = f"{number_text(attribute.lower)} to {number_text(attribute.upper)}"
        return f"its values, {values}, are more than a grid can hold ({MAXIMUM_CELLS} cells)"
    return attribute


def _spells_itself(code: Code) -> bool:
    leading = LEADING_NUMBER.match(code.label.strip())
    return bool(leading and WHOLE.fullmatch(code.value) and not code.last and int(code.value) == int(leading[1]))


def _span(code: Code, unit: Fraction) -> tuple[Fraction, Fraction]:
    """Return the first and last amount of a code: as written with a decimal point, else with the implied decimals."""
    first, last = (Fraction(each) * (1 if "." in each else unit) for each in (code.value, code.last or code.value))
    return first, last
