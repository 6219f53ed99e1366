"""The reading of a declaration's unit and weight, which no attribute and no label may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpnb_columnar.domain.attribute_reader import AttributeReader, grid_fault
from dpnb_columnar.domain.declared_domain import MOST_UNIT_COLUMNS, MOST_UNIT_ROWS, MOST_WEIGHT_STEPS, Unit, Weight
from dpnb_columnar.domain.numbers import exact_number, number_text
from dpnb_columnar.errors import excerpt

UNIT_KEYS = ("column", "columns", "rows")
WEIGHT_KEYS = ("column", "cap", "step", "missing")


class UnitReader(AttributeReader):
    """Reader of units and weights.

    Args:
        place: Place of the declaration.
    """

    def __init__(self, place: str) -> None:
        super().__init__()
        self.place = place

    def unit_and_weight(self, table: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
        """Read the unit that is counted by, the weight of the rows, and those that are merely there.

        Args:
            table: The declaration.
            columns: Columns of the label and the attributes, which are neither.

        Returns:
            Fields of a domain, by their names.
        """
        place = f"{self.place}.available_unit"
        available: tuple[str, ...] = ()
        if "available_unit" in table:
            available = self.unit_columns(table["available_unit"], place, columns)
        unit = self.unit(table["unit"], columns) if "unit" in table else None
        weights = {key: self.weight(table, key, columns, unit) for key in ("weight", "available_weight")}
        return {"unit": unit, "available_unit": available, **weights}

    def unit(self, document: object, columns: Sequence[str]) -> Unit | None:
        """Read the unit that the guarantee is for; None where its faults leave none."""
        place = f"{self.place}.unit"
        table = self.table(document, place, UNIT_KEYS)
        if table is None:
            return None
        if ("column" in table) == ("columns" in table):
            self.fault(place, 'give either column = "SERIAL" or columns = ["YEAR", "SERIAL"]')
            return None
        single = "column" in table
        names = [table["column"]] if single else table["columns"]
        named = self.unit_columns(names, f"{place}.{'column' if single else 'columns'}", columns)
        rows = table.get("rows")
        if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= MOST_UNIT_ROWS:
            self.fault(
                f"{place}.rows",
                f"expected how many rows of one unit count at most, a whole number from 1 to {MOST_UNIT_ROWS} such as "
                f"1, found {'nothing' if rows is None else excerpt(rows)}",
            )
            return None
        return Unit(named, rows)

    def unit_columns(self, names: object, place: str, columns: Sequence[str]) -> tuple[str, ...]:
        """Read the columns that together name a unit."""
        read = [name for name in names if isinstance(name, str) and name] if isinstance(names, list) else []
        if not 1 <= len(read) <= MOST_UNIT_COLUMNS or read != names:
            self.fault(place, f"expected names of 1 to {MOST_UNIT_COLUMNS} columns, found {excerpt(names)}")
            return ()
        for name in read:
            self.check_name(name, place)
            if read.count(name) > 1:
                self.fault(place, f"names the column {excerpt(name)} twice")
            if name in columns:
                self.fault(
                    place,
                    f"the column {excerpt(name)} is an attribute or the label's, so it cannot name a unit as well; "
                    "leave it out of one of them",
                )
        return tuple(read)

    def weight(self, table: Mapping[str, Any], key: str, columns: Sequence[str], unit: Unit | None) -> Weight | None:
        """Read a weight; None where there is none under the key, or its faults leave none."""
        if key not in table:
            return None
        place = f"{self.place}.{key}"
        document = self.table(table[key], place, WEIGHT_KEYS)
        if document is None:
            return None
        column = self.weight_column(document.get("column"), f"{place}.column", columns, unit)
        numbers = {key: self.weight_number(document, key, place) for key in ("cap", "step", "missing")}
        cap, step, missing = numbers["cap"], numbers["step"], numbers["missing"]
        if column is None or cap is None or step is None or missing is None:
            return None
        if step <= 0:
            self.fault(f"{place}.step", f"must be above 0, found {number_text(step)}; leave it out for 1")
            return None
        if cap < step or cap % step:
            problem = f"must be a multiple of the step ({number_text(step)}), and no less, found {number_text(cap)}"
            self.fault(f"{place}.cap", f"{problem}; choose another cap or step")
            return None
        if cap / step > MOST_WEIGHT_STEPS:
            problem = f"has more than {MOST_WEIGHT_STEPS} steps of {number_text(step)}"
            self.fault(f"{place}.cap", f"{number_text(cap)} {problem}; choose a lower cap or a wider step")
            return None
        if not 0 <= missing <= cap or missing % step:
            problem = f"must be a multiple of the step from 0 to the cap, found {number_text(missing)}"
            self.fault(f"{place}.missing", f"{problem}; leave it out for 0")
            return None
        weight = Weight(column, cap, step, missing)
        if fault := grid_fault(weight.grid, place):
            self.faults.append(fault)
        return weight

    def weight_column(self, value: object, place: str, columns: Sequence[str], unit: Unit | None) -> str | None:
        """Read the column of the weight; None where its faults leave none."""
        if not isinstance(value, str) or not value:
            self.fault(place, f"expected the column of the weight, such as PERWT, found {excerpt(value)}")
            return None
        self.check_name(value, place)
        owner = "an attribute or the label's" if value in columns else "the unit's"
        if value in columns or (unit is not None and value in unit.columns):
            problem = f"the column {excerpt(value)} is {owner}, so it cannot be the weight as well"
            self.fault(place, f"{problem}; leave it out of one of them")
        return value

    def weight_number(self, table: Mapping[str, Any], key: str, place: str) -> Fraction | None:
        """Read the cap, the step, or the weight of rows without one; None where it is no number."""
        if key == "cap" and key not in table:
            self.fault(f"{place}.cap", "missing: the most that one row weighs, declared and not taken from the rows")
            return None
        try:
            return exact_number(table.get(key, 1 if key == "step" else 0))
        except ValueError as error:
            self.fault(f"{place}.{key}", str(error))
            return None
