"""Reads the declaration of one attribute; every fault is noted with its place."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from dpnb_columnar.domain.attributes import (
    DEFAULT_CELLS,
    MAXIMUM_CELLS,
    Attribute,
    Categorical,
    Group,
    Missing,
    Numeric,
    Transform,
)
from dpnb_columnar.domain.fields import LARGEST_DECLARATION, Fields
from dpnb_columnar.domain.groups import expanded, in_order
from dpnb_columnar.domain.names import listed, quoted
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.errors import Fault, shown

LARGEST_EXACT_INTEGER = 2**53
"""Beyond this many steps from zero neighbouring grid values would be one 64-bit float."""

LARGEST_BOUND = 10**100
"""Squares of larger bounds would overflow where variances are turned into floats."""

NUMERIC_KEYS = ("lower", "upper", "step", "transform", "missing_values")
CATEGORICAL_KEYS = ("values", "groups", "missing", "missing_values")


class AttributeReader(Fields):
    """Readers of attributes."""

    def attribute(self, name: str, document: object, place: str) -> Attribute | None:
        if not name:
            self.fault(place, "an attribute needs a name")
            return None
        self.name(name, place)
        if not isinstance(document, Mapping):
            self.fault(place, f"expected a table, found {shown(document)}")
            return None
        if "values" in document:
            return self.categorical(name, document, place)
        if "lower" in document or "upper" in document:
            return self.numeric(name, document, place)
        self.fault(place, "give lower and upper (numeric), or values (categorical)")
        return None

    def numeric(self, name: str, document: object, place: str) -> Numeric | None:
        table = self.table(document, place, NUMERIC_KEYS)
        if table is None:
            return None
        lower, upper = (self.number(table, key, place) for key in ("lower", "upper"))
        transform = self.choice(table, "transform", Transform, Transform.IDENTITY, place)
        missing_values = self.numbers(table, "missing_values", place)
        if lower is not None and upper is not None and lower >= upper:
            problem = (
                f"lower ({number_text(lower)}) must be below upper ({number_text(upper)}); are the bounds reversed?"
            )
            self.fault(f"{place}.lower", problem)
            lower = upper = None
        if lower is not None and upper is not None:
            table = {"step": (upper - lower) / DEFAULT_CELLS, **table}  # a declared step wins
        step = self.number(table, "step", place) if "step" in table else None
        if lower is None or upper is None or step is None:
            return None
        attribute = Numeric(name, lower, upper, step, transform, missing_values)
        if fault := grid_fault(attribute, place):
            self.faults.append(fault)
            return None
        return attribute

    def categorical(self, name: str, document: object, place: str) -> Categorical | None:
        table = self.table(document, place, CATEGORICAL_KEYS)
        if table is None:
            return None
        values = self.texts(table.get("values"), f"{place}.values", "at least one value", least=1)
        missing_values = self.texts(table.get("missing_values", []), f"{place}.missing_values", "a list of values")
        if overlap := set(values) & set(missing_values):
            self.fault(f"{place}.missing_values", f"{listed(sorted(overlap))} are listed in values as well")
        missing = self.choice(table, "missing", Missing, Missing.DROP, place)
        groups = self.groups(table, values, missing_values, place)
        return Categorical(name, values, missing, missing_values, groups)

    def groups(
        self, table: Mapping[str, Any], values: Sequence[str], missing_values: Sequence[str], place: str
    ) -> tuple[Group, ...]:
        """The groups of some categories or classes, in their order."""
        place = f"{place}.groups"
        document = table.get("groups", {})
        if not isinstance(document, Mapping):
            self.fault(place, f'expected a table such as {{ NAME = ["10-19", 25] }}, found {shown(document)}')
            return ()
        found: dict[str, tuple[str, ...]] = {}
        taken = dict.fromkeys(missing_values, "missing_values") | dict.fromkeys(values, "values")
        for key, body in document.items():
            name = str(key)
            here = f"{place}.{quoted(name)}"
            if name not in values:
                close = difflib.get_close_matches(name, values, n=1)
                self.fault(here, "not in values" + (f"; did you mean {shown(close[0])}?" if close else ""))
            room = LARGEST_DECLARATION - sum(map(len, found.values()))
            members = self.members(body, here, room)
            if len(members) > room:
                self.fault(place, f"more than {LARGEST_DECLARATION} values, ranges written out; merge fewer")
                return ()
            for where in dict.fromkeys(taken[member] for member in members if member in taken and member != name):
                clash = [member for member in members if member != name and taken.get(member) == where]
                self.fault(here, f"{listed(clash)} stands in {where} as well; a value has one category")
            taken |= dict.fromkeys((member for member in members if member != name), f"group {shown(name)}")
            found[name] = members
        return tuple(Group(value, found[value]) for value in values if found.get(value))

    def members(self, document: object, place: str, room: int) -> tuple[str, ...]:
        """The values of the data that a group stands for, ranges written out; some of them if more than ``room``."""
        found: set[str] = set()
        for member in self.texts(document, place, 'a list of values and ranges such as ["10-19", 25]', least=1):
            if len(found) > room:
                break
            try:
                found.update(expanded(member, LARGEST_DECLARATION))
            except ValueError as error:
                self.fault(place, str(error))
        return in_order(found)


def grid_fault(attribute: Numeric, place: str) -> Fault | None:
    """What is wrong with a numeric attribute's grid, if anything."""
    lower, upper, step = attribute.lower, attribute.upper, attribute.step
    if step <= 0 or (upper - lower) % step != 0:
        width = number_text(upper - lower)
        problem = f"step ({number_text(step)}) must be positive and divide upper - lower ({width}) evenly"
        return Fault(f"{place}.step", problem)
    if (upper - lower) / step > MAXIMUM_CELLS:
        return Fault(f"{place}.step", f"the grid has more than {MAXIMUM_CELLS} cells; choose a wider step")
    if max(abs(lower), abs(upper)) > LARGEST_BOUND:
        return Fault(f"{place}.upper", "bounds beyond 1e100 have squares beyond every float; change the column's unit")
    if max(abs(lower), abs(upper)) > step * LARGEST_EXACT_INTEGER:
        return Fault(
            f"{place}.step", f"64-bit floats around these bounds are wider apart than the step ({number_text(step)})"
        )
    if attribute.transform is Transform.LOG1P and float(lower) <= -1:
        return Fault(f"{place}.lower", f"log1p needs a lower bound above -1, found {number_text(lower)}")
    scale = attribute.scale
    if max(abs(scale.origin), abs(scale.end)) > scale.step * LARGEST_EXACT_INTEGER:
        return Fault(f"{place}.transform", "these bounds are too close together for log1p; leave the transform out")
    return None
