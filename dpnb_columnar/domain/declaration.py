"""Read the declaration of a domain: a table of ``datasets.toml``, or JSON in a Parquet file's metadata.

Reading gathers every fault with its place and reports all of them at once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
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
    expand_member,
    in_order,
)
from dpnb_columnar.domain.condition import Condition
from dpnb_columnar.domain.declared_domain import (
    AVAILABLE_KEYS,
    MOST_UNIT_COLUMNS,
    MOST_UNIT_ROWS,
    MOST_WEIGHT_STEPS,
    WORD_KEYS,
    Declaration,
    Domain,
    Label,
    Provenance,
    Titles,
    Unit,
    UnlabelledDomain,
    ValueLabels,
    Weight,
    columns_of,
    document_of,
)
from dpnb_columnar.domain.field_reader import (
    LARGEST_DECLARATION,
    LARGEST_TABLE,
    FieldReader,
    first_faults,
    parse_condition,
    parse_json,
)
from dpnb_columnar.domain.names import TRUTHS, identity, listed, number_text, quoted
from dpnb_columnar.domain.words import (
    LONGEST,
    LONGEST_TEXT,
    LONGEST_TITLE,
    LONGEST_VALUE_LABEL,
    MOST_CHARACTERS,
    AnyDomain,
    declared_values,
)
from dpnb_columnar.errors import ConfigurationError, DomainError, Fault, command, excerpt, option


def with_words(reader: FieldReader, domain: AnyDomain, declaration: Mapping[str, Any], place: str) -> AnyDomain:
    """Read titles, value labels, universe and provenance into the domain; words with faults are noted and left out."""
    if reader.faults:  # attributes may be lacking that have words
        return domain
    titles = _titles(reader, list(columns_of(domain)), declaration.get("titles", {}), f"{place}.titles")
    labels = _labels(reader, domain, declaration.get("value_labels", {}), f"{place}.value_labels")
    universe, here = declaration.get("universe"), f"{place}.universe"
    return replace(
        domain,
        titles=titles,
        value_labels=labels,
        universe="" if universe is None else _words(reader, universe, "a text", "AGE >= 16", LONGEST_TEXT, here),
        provenance=read_provenance(reader, declaration.get("provenance"), f"{place}.provenance"),
    )


def read_provenance(reader: FieldReader, document: object, place: str) -> Provenance | None:
    """Read where rows come from, of a declaration or a codebook; None where nothing is said of it."""
    table = {} if document is None else reader.table(document, place, tuple(LONGEST)) or {}
    known = [key for key in LONGEST if key in table]
    texts = {key: _words(reader, table[key], "a text", "IPUMS USA", LONGEST[key], f"{place}.{key}") for key in known}
    return Provenance(**texts) if any(texts.values()) else None


def _titles(reader: FieldReader, columns: Sequence[str], document: object, place: str) -> Titles:
    if not isinstance(document, Mapping):
        reader.fault(place, f'expected a table such as {{ AGE = "Age in years" }}, found {excerpt(document)}')
        return {}
    titles: dict[str, str] = {}
    for name, title in document.items():
        here = f"{place}.{quoted(str(name))}"
        if name not in columns:
            reader.unknown(here, "no column of the domain", str(name), columns, "give titles to columns it declares")
        elif words := _words(reader, title, "a title", "Age in years", LONGEST_TITLE, here):
            titles[name] = words
    return {name: titles[name] for name in columns if name in titles}


def _words(reader: FieldReader, text: object, what: str, example: str, longest: int, place: str) -> str:
    """Read one line of words; empty where its faults leave none."""
    if not isinstance(text, str) or not text.strip():
        reader.fault(place, f'expected words such as "{example}", found {excerpt(text)}')
    elif len(text) > longest:
        reader.fault(place, f"{what} of {len(text)} characters; at most {longest} are accepted")
    else:
        reader.check_printable(text, place)
        return text
    return ""


def _labels(reader: FieldReader, domain: Domain | UnlabelledDomain, document: object, place: str) -> ValueLabels:
    if not isinstance(document, Mapping):
        reader.fault(place, f"expected a table for each column, found {excerpt(document)}")
        return {}
    columns = columns_of(domain) if document else {}
    read: dict[str, dict[str, str]] = {}
    characters = 0
    for name, body in document.items():
        here = f"{place}.{quoted(str(name))}"
        if name not in columns:
            reader.unknown(here, "no column of the domain", str(name), list(columns), "label columns that it declares")
            continue
        if not isinstance(body, Mapping):
            reader.fault(here, f'expected a table such as {{ 1 = "White", 2 = "Black" }}, found {excerpt(body)}')
            continue
        read[name] = _column(reader, columns[name], body, here)
        characters += sum(map(len, read[name].values()))
    if characters > MOST_CHARACTERS:
        reader.fault(place, f"{characters} characters in all; at most {MOST_CHARACTERS} are accepted; leave lists out")
    return {name: read[name] for name in columns if read.get(name)}


def _column(
    reader: FieldReader, attribute: Attribute | None, body: Mapping[object, object], place: str
) -> dict[str, str]:
    labels: dict[str, str] = {}
    keys = list(map(str, body))
    for key, value, label in zip(keys, declared_values(attribute, keys), body.values(), strict=True):
        here = f"{place}.{quoted(key)}"
        if value is None:
            reader.fault(here, "labels a value that the column does not declare; declare it, or leave its label out")
        elif value in labels:
            reader.fault(here, f"{excerpt(value)} has a label already; a value has one")
        elif words := _words(reader, label, "a label", "White", LONGEST_VALUE_LABEL, here):
            reader.check_printable(key, here)
            labels[value] = words
    return labels


UNIT_KEYS = ("column", "columns", "rows")
WEIGHT_KEYS = ("column", "cap", "step", "missing", "unit")
UNIT_WEIGHT = "unit_weight"
"""Column that ``ingest`` writes for units: a weight that counts rows of its unit, whose columns it has to name."""
FLAG_KEYS = ("imputed", "available_imputed")
"""Keys of flags of allocated values, which are no part of a domain: ``ingest`` reads them in codebooks."""

DOMAIN_KEYS = ("label", "unit", "weight", *AVAILABLE_KEYS, "attributes", *WORD_KEYS)
LABEL_KEYS = ("column", "condition", "classes", "groups", "missing_values")
LARGEST_EXACT_INTEGER = 2**53  # beyond this many steps from zero neighbouring grid values would be one 64-bit float
LARGEST_BOUND = 10**100  # squares of larger bounds would overflow where variances are turned into floats
NUMERIC_KEYS = ("lower", "upper", "step", "transform", "missing", "missing_values")
CATEGORICAL_KEYS = ("values", "groups", "missing", "missing_values")
DOMAIN_KEY = "dpnb_columnar.domain"
"""Key of the declaration in a Parquet file's key-value metadata; the value is JSON text."""


def read_domain(name: str, document: object, source: str, *, other_keys: Sequence[str] = ()) -> Domain:
    """Read a declaration that must have a label, as ``read_declaration``."""
    domain = DeclarationReader(name).domain(document, (*DOMAIN_KEYS, *other_keys), source, labelled=True)
    assert isinstance(domain, Domain)
    return domain


def read_declaration(name: str, document: object, source: str, *, other_keys: Sequence[str] = ()) -> Declaration:
    """Read a declaration of mappings, whose numbers are int, Decimal or text; the DomainError holds all its faults."""
    labelled = not isinstance(document, Mapping) or "label" in document
    return DeclarationReader(name).domain(document, (*DOMAIN_KEYS, *other_keys), source, labelled=labelled)


class DeclarationReader(FieldReader):
    """Reader of one declaration: label, attributes, unit and weight."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.data_set = name
        self.place = quoted(name)
        self.has_flags = False

    def table(self, document: object, place: str, keys: Sequence[str]) -> Mapping[str, Any] | None:
        """Read a mapping as a ``FieldReader`` does; the first flag of allocated values is refused with its remedy."""
        if not isinstance(document, Mapping) or not (flags := [key for key in FLAG_KEYS if key in document]):
            return super().table(document, place, keys)
        if not self.has_flags:
            ingest = command("ingest", "FILE", codebook="CODEBOOK", imputed="missing", output="NAME.parquet")
            self.fault(f"{place}.{flags[0]}", f"a domain has no flags; {ingest} writes null in place of flagged values")
        self.has_flags = True
        return super().table({key: value for key, value in document.items() if key not in FLAG_KEYS}, place, keys)

    def domain(self, document: object, keys: Sequence[str], source: str, *, labelled: bool) -> Declaration:
        """Read a declaration, with a label or without; a DomainError names the file of one with faults."""
        table = self.table(document, self.place, keys)
        if table is None:
            raise DomainError(source, first_faults(self.faults))
        self.check_name(self.data_set, self.place)
        label = self.label(table.get("label"), f"{self.place}.label") if labelled else None
        attributes = self.attributes(table)
        if label is not None:
            for attribute in attributes:
                place = f"{self.place}.attributes.{quoted(attribute.name)}"
                self.check_table(attribute, len(label.classes), place)
                if attribute.name in label.columns:
                    self.fault(place, "the label is read from this column, so it cannot be an attribute as well")
        columns = [*(() if label is None else label.columns), *(each.name for each in attributes)]
        shared = self.unit_and_weight(table, columns)
        domain: Declaration = UnlabelledDomain(self.data_set, attributes, **shared)
        if label is not None:
            domain = Domain(self.data_set, label, attributes, **shared)
        domain = with_words(self, domain, table, self.place)
        if self.faults:
            raise DomainError(source, first_faults(self.faults))
        return domain

    def label(self, document: object, place: str) -> Label | None:
        if document is None:
            self.fault(place, "missing: declare [label] with column and classes, or with condition and two classes")
            return None
        table = self.table(document, place, LABEL_KEYS)
        if table is None:
            return None
        classes = self.texts(table.get("classes"), f"{place}.classes", "at least two class names", least=2)
        missing_values = self.missing_values(table, classes, place, "classes")
        if ("column" in table) == ("condition" in table):
            self.fault(place, "give either column or condition")
            return None
        if "column" in table:
            column = self.column(table["column"], f"{place}.column")
            groups = self.groups(table, classes, missing_values, place)
            if column is None:
                return None
            label = Label(classes, column, None, missing_values, groups)
            self.check_numbers(label.categories, place)
            return label
        if "groups" in table:
            self.fault(
                f"{place}.groups", "groups are for a label that is a column; a condition names the values it means"
            )
        if len(classes) > 2:
            self.fault(f"{place}.classes", "a condition has two classes: where it is false, then where it is true")
        condition = self.condition(table["condition"], f"{place}.condition")
        return None if condition is None else Label(classes, None, condition, missing_values)

    def column(self, value: object, place: str) -> str | None:
        if isinstance(value, str) and value:
            self.check_name(value, place)
            return value
        self.fault(place, f"expected a column name, found {excerpt(value)}")
        return None

    def condition(self, value: object, place: str) -> Condition | None:
        if not isinstance(value, str):
            self.fault(place, f"expected a condition as text, found {excerpt(value)}")
            return None
        try:
            return parse_condition(value)
        except ValueError as error:
            self.fault(place, str(error))
            return None

    def attributes(self, table: Mapping[str, Any]) -> tuple[Attribute, ...]:
        place = f"{self.place}.attributes"
        document = table.get("attributes")
        if not isinstance(document, Mapping) or not document:
            self.fault(place, "missing: declare at least one attribute, numeric (lower, upper) or categorical (values)")
            return ()
        if len(document) > LARGEST_DECLARATION:
            self.fault(place, f"{len(document)} attributes; at most {LARGEST_DECLARATION} are accepted")
            return ()
        read = (self.attribute(str(name), body, f"{place}.{quoted(str(name))}") for name, body in document.items())
        return tuple(attribute for attribute in read if attribute is not None)

    def attribute(self, name: str, document: object, place: str) -> Attribute | None:
        """Read a table with ``lower`` and ``upper``, or with ``values``; None where its faults leave no attribute."""
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
        """Note declared values that are one number or truth value but not of one category: both match by value."""
        owners: dict[float | str, tuple[str, int | None]] = {}
        for value, code in {**dict.fromkeys(attribute.missing_values), **attribute.members}.items():
            other, owner = owners.setdefault(identity(value), (value, code))
            if owner != code:
                what = "truth value" if value in TRUTHS else "number"
                problem = f"{excerpt(other)} and {excerpt(value)} are one {what}, and {what}s match by value"
                self.fault(place, f"{problem}; keep one, or put both into one of groups")

    def missing(self, table: Mapping[str, Any], place: str) -> Missing | None:
        if "missing" not in table:
            return None
        if table["missing"] == "drop":  # the word of earlier releases
            return Missing.ROW
        return self.choice(table, "missing", Missing, Missing.ROW, place)

    def missing_values(
        self, table: Mapping[str, Any], values: Sequence[str], place: str, otherwise: str
    ) -> tuple[str, ...]:
        """Read the values that mean "missing", none of which may be a category or a class."""
        place = f"{place}.missing_values"
        missing_values = self.texts(table.get("missing_values", []), place, "a list of values")
        if overlap := set(values) & set(missing_values):
            self.fault(place, f"{listed(sorted(overlap))} are {otherwise} as well")
        return missing_values

    def groups(
        self, table: Mapping[str, Any], values: Sequence[str], missing_values: Sequence[str], place: str
    ) -> tuple[Group, ...]:
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
        """Read the values that a group stands for, ranges written out, in order; more than ``room`` if too many."""
        members: set[str] = set()
        for member in self.texts(document, place, 'a list of values and ranges such as ["10-19", 25]', least=1):
            if len(members) > room:
                break
            try:
                members.update(expand_member(member, LARGEST_TABLE))
            except ValueError as error:
                self.fault(place, str(error))
        return in_order(members)

    def unit_and_weight(self, table: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
        """Read the unit and the weight, and those that are merely there, as fields of a domain by their names."""
        place = f"{self.place}.available_unit"
        available: tuple[str, ...] = ()
        if "available_unit" in table:
            available = self.unit_columns(table["available_unit"], place, columns)
        unit = self.unit(table["unit"], columns) if "unit" in table else None
        person = None
        if "available_person" in table:
            person = self.unit(table["available_person"], columns, "available_person")
        weights = {key: self.weight(table, key, columns, unit) for key in ("weight", "available_weight")}
        return {"unit": unit, "available_unit": available, "available_person": person, **weights}

    def unit(self, document: object, columns: Sequence[str], key: str = "unit") -> Unit | None:
        place = f"{self.place}.{key}"
        if isinstance(document, Mapping) and "cap" in document:
            remedy = f"write the number of its rows as a weight: ingest with {option('persons-cap', 8)}"
            self.fault(f"{place}.cap", f"a unit has no cap; {remedy}")
            return None
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
        counted = self.unit_columns(document["unit"], f"{place}.unit", columns) if "unit" in document else ()
        if column == UNIT_WEIGHT and not counted:
            problem = f"missing: {UNIT_WEIGHT} counts the rows of a unit; take the weight as ingest has declared it"
            self.fault(f"{place}.unit", problem)
        if counted and key == "weight" and unit != Unit(counted, 1):
            self.fault(
                f"{place}.unit",
                f"the weight counts the rows of one unit of {listed(counted)}, so it is private for this unit alone; "
                "count one row of it (unit rows 1), or leave the weight out",
            )
        weight = Weight(column, cap, step, missing, counted)
        if fault := grid_fault(weight.grid, place):
            self.faults.append(fault)
        return weight

    def weight_column(self, value: object, place: str, columns: Sequence[str], unit: Unit | None) -> str | None:
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
        if key == "cap" and key not in table:
            self.fault(f"{place}.cap", "missing: the most that one row weighs, declared and not taken from the rows")
            return None
        return self.exact(table.get(key, 1 if key == "step" else 0), f"{place}.{key}")


def grid_fault(attribute: Numeric, place: str) -> Fault | None:
    """Find what is wrong with a grid: codes and values must be exact in 64-bit floats, and its squares finite."""
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


def domain_metadata(domain: Declaration) -> dict[str, str]:
    """Build the key-value pair that carries a domain: its name and its canonical declaration, as JSON."""
    return {DOMAIN_KEY: json.dumps({"name": domain.name, **document_of(domain)}, ensure_ascii=False)}


def domain_from_metadata(metadata: Mapping[str, str], source: str) -> Declaration | None:
    """Read the domain that a file's metadata carries; None where it has no declaration."""
    if DOMAIN_KEY not in metadata:
        return None
    place = f"{source}: metadata {DOMAIN_KEY!r}"
    try:
        document = parse_json(metadata[DOMAIN_KEY])
    except ValueError as error:
        raise ConfigurationError(f"{place}: not a JSON declaration: {error}") from None
    if not isinstance(document, dict):
        raise ConfigurationError(f"{place}: expected a JSON object with name, attributes and perhaps label")
    name = document.pop("name", None)
    if not isinstance(name, str) or not name:
        raise ConfigurationError(f"{place}: expected a name as text, found {excerpt(name)}")
    return read_declaration(name, document, place)
