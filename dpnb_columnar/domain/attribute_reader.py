"""The reading of one attribute's declaration, with the rules for grids, categories and groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpnb_columnar.domain.attributes import (
    MAXIMUM_CELLS,
    Attribute,
    Categorical,
    Group,
    Missing,
    Numeric,
    Transform,
    default_step,
)
from dpnb_columnar.domain.field_reader import LARGEST_DECLARATION, LARGEST_TABLE, FieldReader
from dpnb_columnar.domain.groups import expanded, in_order
from dpnb_columnar.domain.names import listed, quoted
from dpnb_columnar.domain.numbers import declared_number, number_text
from dpnb_columnar.errors import Fault, excerpt

LARGEST_EXACT_INTEGER = 2**53
"""Beyond this many steps from zero neighbouring grid values would be one 64-bit float."""

LARGEST_BOUND = 10**100
"""Squares of larger bounds would overflow where variances are turned into floats."""

NUMERIC_KEYS = ("lower", "upper", "step", "transform", "missing", "missing_values")
CATEGORICAL_KEYS = ("values", "groups", "missing", "missing_values")


class AttributeReader(FieldReader):
    """Reader of attributes."""

    def attribute(self, name: str, document: object, place: str) -> Attribute | None:
        """Read an attribute; None where its faults leave none.

        Args:
            name: Column name.
            document: The declaration: a table with ``lower`` and ``upper``, or with ``values``.
            place: Place of the declaration, for faults.
        """
        if not name:
            self.fault(place, "an attribute needs a name")
            return None
        self.check_name(name, place)
        if not isinstance(document, Mapping):
            self.fault(place, f"expected a table, found {excerpt(document)}")
            return None
        if "values" in document:
            return self.categorical(name, document, place)
        if "lower" in document or "upper" in document:
            return self.numeric(name, document, place)
        self.table(document, place, [*dict.fromkeys((*NUMERIC_KEYS, *CATEGORICAL_KEYS))])
        self.fault(place, "give lower and upper (numeric), or values (categorical)")
        return None

    def numeric(self, name: str, document: object, place: str) -> Numeric | None:
        """Read a numeric attribute; None where its faults leave none."""
        table = self.table(document, place, NUMERIC_KEYS)
        if table is None:
            return None
        lower, upper = (self.number(table, key, place) for key in ("lower", "upper"))
        transform = self.choice(table, "transform", Transform, Transform.IDENTITY, place)
        missing, missing_values = self.missing(table, place), self.numbers(table, "missing_values", place)
        if lower is not None and upper is not None and lower >= upper:
            problem = f"lower ({number_text(lower)}) must be below upper ({number_text(upper)})"
            self.fault(f"{place}.lower", f"{problem}; are the bounds reversed?")
            lower = upper = None
        if lower is not None and upper is not None:
            table = {"step": default_step(lower, upper), **table}  # a declared step wins
        step = self.number(table, "step", place) if "step" in table else None
        if lower is None or upper is None or step is None:
            return None
        attribute = Numeric(name, lower, upper, step, transform, missing_values, missing)
        if fault := grid_fault(attribute, place):
            self.faults.append(fault)
            return None
        return attribute

    def categorical(self, name: str, document: object, place: str) -> Categorical | None:
        """Read a categorical attribute; None where its faults leave none."""
        table = self.table(document, place, CATEGORICAL_KEYS)
        if table is None:
            return None
        values = self.texts(table.get("values"), f"{place}.values", "at least one value", 1, LARGEST_TABLE)
        missing_values = self.missing_values(table, values, place, "listed in values")
        missing = self.missing(table, place)
        groups = self.groups(table, values, missing_values, place)
        attribute = Categorical(name, values, missing, missing_values, groups)
        self.check_numbers(attribute, place)
        return attribute

    def check_table(self, attribute: Attribute, classes: int, place: str) -> None:
        """Note an attribute of very many categories whose table with the classes has too many counts."""
        if not isinstance(attribute, Categorical) or len(attribute.values) <= LARGEST_DECLARATION:
            return
        counts = attribute.size * classes
        if counts > LARGEST_TABLE:
            problem = f"{attribute.size} categories and {classes} classes make {counts} counts"
            self.fault(f"{place}.values", f"{problem}; at most {LARGEST_TABLE} are accepted; merge values with groups")

    def check_numbers(self, attribute: Categorical, place: str) -> None:
        """Note declared values that are the same number but not of the same category: numbers match by value."""
        owners: dict[float, tuple[str, int | None]] = {}
        for value, code in {**dict.fromkeys(attribute.missing_values), **attribute.members}.items():
            number = declared_number(value)
            if number is None:
                continue
            other, owner = owners.setdefault(number, (value, code))
            if owner != code:
                problem = f"{excerpt(other)} and {excerpt(value)} are one number, and numbers match by value"
                self.fault(place, f"{problem}; keep one, or put both into one of groups")

    def missing(self, table: Mapping[str, Any], place: str) -> Missing | None:
        """Read how a row without a value is treated; None where that is not declared, or faulty."""
        if "missing" not in table:
            return None
        if table["missing"] == "drop":  # the word of earlier releases
            return Missing.ROW
        return self.choice(table, "missing", Missing, Missing.ROW, place)

    def missing_values(
        self, table: Mapping[str, Any], values: Sequence[str], place: str, otherwise: str
    ) -> tuple[str, ...]:
        """Read the values that mean "missing", none of which may be a category or a class.

        Args:
            table: Declaration of the attribute or the label.
            values: Its categories or classes.
            place: Its place.
            otherwise: What a value of both lists is, for the fault.
        """
        place = f"{place}.missing_values"
        missing_values = self.texts(table.get("missing_values", []), place, "a list of values")
        if overlap := set(values) & set(missing_values):
            self.fault(place, f"{listed(sorted(overlap))} are {otherwise} as well")
        return missing_values

    def groups(
        self, table: Mapping[str, Any], values: Sequence[str], missing_values: Sequence[str], place: str
    ) -> tuple[Group, ...]:
        """Read the groups of some categories or classes; they are returned in the order of ``values``.

        Args:
            table: Declaration of the attribute or the label.
            values: Its categories or classes.
            missing_values: Its values that mean "missing".
            place: Its place.
        """
        place = f"{place}.groups"
        document = table.get("groups", {})
        if not isinstance(document, Mapping):
            self.fault(place, f'expected a table such as {{ NAME = ["10-19", 25] }}, found {excerpt(document)}')
            return ()
        groups: dict[str, tuple[str, ...]] = {}
        room = LARGEST_TABLE
        categories = set(values)
        owners = dict.fromkeys(missing_values, "missing_values") | dict.fromkeys(values, "values")
        for key, body in document.items():
            name = str(key)
            here = f"{place}.{quoted(name)}"
            if name not in categories:
                self.unknown(here, "not in values", name, values, "")
            members = self.members(body, here, room)
            room -= len(members)
            if room < 0:
                self.fault(place, f"more than {LARGEST_TABLE} values, ranges written out; merge fewer")
                return ()
            others = [member for member in members if member != name]  # a group may have its own name as a member
            for owner in dict.fromkeys(owners[member] for member in others if member in owners):
                clash = [member for member in others if owners.get(member) == owner]
                self.fault(here, f"{listed(clash)} stands in {owner} as well; a value has one category")
            owners |= dict.fromkeys(others, f"group {excerpt(name)}")
            groups[name] = members
        return tuple(Group(value, groups[value]) for value in values if groups.get(value))

    def members(self, document: object, place: str, room: int) -> tuple[str, ...]:
        """Read the values of the data that a group stands for.

        Args:
            document: List of values and ranges.
            place: Place of the group.
            room: Most values that are accepted.

        Returns:
            The values, ranges written out, in canonical order; some of them, but more than ``room``, if there are more.
        """
        members: set[str] = set()
        for member in self.texts(document, place, 'a list of values and ranges such as ["10-19", 25]', least=1):
            if len(members) > room:
                break
            try:
                members.update(expanded(member, LARGEST_TABLE))
            except ValueError as error:
                self.fault(place, str(error))
        return in_order(members)


def grid_fault(attribute: Numeric, place: str) -> Fault | None:
    """Find what is wrong with the grid of a numeric attribute, whose lower bound is below the upper.

    A grid is accepted if its codes and its values are exact in 64-bit floats, and its squares finite.

    Args:
        attribute: The attribute.
        place: Place of its declaration.
    """
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
        problem = f"64-bit floats around these bounds are wider apart than the step ({number_text(step)})"
        return Fault(f"{place}.step", problem)
    if attribute.transform is Transform.LOG1P and float(lower) <= -1:
        return Fault(f"{place}.lower", f"log1p needs a lower bound above -1, found {number_text(lower)}")
    scale = attribute.scale
    if max(abs(scale.origin), abs(scale.end)) > scale.step * LARGEST_EXACT_INTEGER:
        return Fault(f"{place}.transform", "these bounds are too close together for log1p; leave the transform out")
    return None
