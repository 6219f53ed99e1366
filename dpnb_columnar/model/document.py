"""The document of a model: the nested mapping that its JSON file holds and its Parquet file carries.

Parts of a model's document, of JSON's types, read strictly: nothing is converted but exact numbers from their text.

Own code, since the libraries that were tried made it longer and less exact. The same reading by msgspec's types took
309 lines of code, this module and the readers take 247: most checks are of numbers against the domain that the
document declares, which no library's types state. msgspec reads a whole number that no 64-bit float holds as another
number, and quotes texts of the document in its errors at any length and with their line breaks; cattrs converts texts
to numbers unless told otherwise for every type. Their imports take 8 ms and 90 ms of every ``predict`` and ``show``.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpnb_columnar.core.budget import Share
from dpnb_columnar.core.budget.composition import Guarantee
from dpnb_columnar.core.budget.costs import PrivacyCost, cost_parameters
from dpnb_columnar.core.measurement import CLASS_COUNTS, COUNTS, LARGEST_COUNT, PRESENCE, WEIGHTED_COUNTS, Measurement
from dpnb_columnar.domain.declared_domain import document_of
from dpnb_columnar.domain.names import exact_number, is_printable, number_text, quoted
from dpnb_columnar.errors import excerpt
from dpnb_columnar.model.parameters import (
    SPREADS,
    VERSION,
    AttributeParameters,
    Histogram,
    NaiveBayes,
    Normal,
    Presence,
    Priors,
    Table,
)

LONGEST_TEXT = 1000
"""Characters of a text for people."""

PROBABILITY_TOLERANCE = 1e-9
"""How far the sum of a list of probabilities may be from 1."""

LARGEST_FLOAT = sys.float_info.max


class InvalidPartError(ValueError):
    """A part of a document is missing, of another type, or impossible; the text begins with its place."""


@dataclass(frozen=True, slots=True)
class Part:
    """A value within a document.

    Every reader below raises ``InvalidPartError`` if the value is not what it reads.

    Attributes:
        value: The value, of JSON's types.
        place: Dotted path from the document to the value, such as ``guarantee.composition.0.epsilon``; empty for the
            document.
    """

    value: Any
    place: str = ""

    def invalid(self, problem: str) -> InvalidPartError:
        """Make the error to raise about this part."""
        return InvalidPartError(f"{self.place or 'document'}: {problem}")

    def mapping(self) -> Mapping[str, Any]:
        """Read an object."""
        if not isinstance(self.value, Mapping):
            raise self.invalid(f"expected an object, found {excerpt(self.value)}")
        if not all(isinstance(key, str) for key in self.value):
            raise self.invalid("expected text keys")
        return self.value

    def entries(self) -> dict[str, Part]:
        """Read an object and its entries."""
        return {key: self.entry(key) for key in self.mapping()}

    def entry(self, key: str) -> Part:
        """Read an entry of an object; null where there is none."""
        return Part(self.mapping().get(key), f"{self.place}.{quoted(key)}".removeprefix("."))

    def __getitem__(self, key: str) -> Part:
        """Read an entry that an object must have."""
        entry = self.entry(key)
        if key not in self.value:
            raise entry.invalid("missing")
        return entry

    def values(self, size: int | None = None) -> list[Any]:
        """Read a list, of a given size if there is one."""
        if not isinstance(self.value, list) or size not in (None, len(self.value)):
            raise self.invalid("expected a list" + ("" if size is None else f" of {size}"))
        return self.value

    def items(self, size: int | None = None) -> list[Part]:
        """Read a list, of a given size if there is one, and its items."""
        return [Part(value, f"{self.place}.{index}") for index, value in enumerate(self.values(size))]

    def text(self) -> str:
        """Read one line of text."""
        if not isinstance(self.value, str):
            raise self.invalid(f"expected text, found {excerpt(self.value)}")
        if len(self.value) > LONGEST_TEXT or not is_printable(self.value):
            raise self.invalid(f"expected one line of at most {LONGEST_TEXT} characters, found {excerpt(self.value)}")
        return self.value

    def text_or_none(self) -> str | None:
        """Read one line of text, or null."""
        return None if self.value is None else self.text()

    def flag(self) -> bool:
        """Read true or false."""
        if not isinstance(self.value, bool):
            raise self.invalid(f"expected true or false, found {excerpt(self.value)}")
        return self.value

    def amount_or_none(self) -> Fraction | None:
        """Read an exact number that is not negative, or null."""
        if self.value is None:
            return None
        try:
            number = exact_number(self.value)
        except ValueError as error:
            raise self.invalid(str(error)) from None
        if number < 0:
            raise self.invalid(f"must not be negative, found {excerpt(self.value)}")
        return number

    def numbers(
        self, size: int | None = None, least: float = -LARGEST_FLOAT, most: float = LARGEST_FLOAT
    ) -> tuple[float, ...]:
        """Read a list of numbers between bounds that 64-bit floats hold exactly."""
        for value in self.values(size):
            if type(value) not in (int, float) or not least <= value <= most or float(value) != value:
                raise self.invalid(f"{excerpt(value)} is not a possible value")
        return tuple(map(float, self.value))

    def number(self, largest: float, least: float | None = None) -> float:
        """Read a number of at most this absolute size, or between bounds."""
        return Part([self.value], self.place).numbers(1, -largest if least is None else least, largest)[0]

    def counts(self, size: int | None = None) -> tuple[int, ...]:
        """Read a list of whole numbers that both file formats hold exactly."""
        for value in self.numbers(size, -LARGEST_COUNT, LARGEST_COUNT):
            if value != int(value):
                raise self.invalid(f"{excerpt(value)} is not a possible value")
        return tuple(map(int, self.value))

    def count(self) -> int:
        """Read a whole number that both file formats hold exactly."""
        return Part([self.value], self.place).counts()[0]

    def probabilities(self, size: int) -> tuple[float, ...]:
        """Read a list of positive numbers that add up to 1."""
        numbers = self.numbers(size, math.ulp(0.0), 1)
        if abs(math.fsum(numbers) - 1) > PROBABILITY_TOLERANCE:
            raise self.invalid("probabilities do not add up to 1")
        return numbers


FORMAT = "dpnb_columnar model"

LARGEST_MODEL_FILE = 2**28
"""Bytes; a larger file is not opened."""

MOST_CONTAINERS = 2**21
"""Objects and lists of a document."""

MOST_PARAMETERS = 2**22
"""Rows of a Parquet model."""

DECLARED_PUBLIC = "declared public by the curator"
"""What a model says of the file that its attribute weights were learned from: nobody but the curator can know."""

KINDS: Mapping[str, type[Normal] | type[Table] | type[Histogram]] = {
    "normal": Normal,
    "table": Table,
    "histogram": Histogram,
}


def to_document(model: NaiveBayes) -> dict[str, Any]:
    """Write the document of a model. Equal models have equal documents, key order included."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "software": dict(sorted(model.software.items())),
        "guarantee": _promise_document(model.guarantee),
        "domain": {"name": model.domain.name, **document_of(model.domain)},
        "measurements": list(map(measurement_document, model.measurements)),
        "classes": _plain(model.classes),
        **({} if model.weighted_classes is None else {"weighted_classes": _plain(model.weighted_classes)}),
        "attributes": {parameters.attribute: _parameters_document(parameters) for parameters in model.attributes},
        **_weights_document(model),
    }


def to_json(document: Mapping[str, Any]) -> str:
    """Write a document as JSON text, short lists on one line; floats in their shortest exact form."""
    return _indented(document, "") + "\n"


def document_digest(model: NaiveBayes) -> str:
    """Compute the hexadecimal SHA-256 of a model's document."""
    return hashlib.sha256(to_json(to_document(model)).encode()).hexdigest()


def _indented(value: Any, indent: str) -> str:
    if isinstance(value, Mapping) and value:
        inner = indent + "  "
        items = [
            f"{inner}{json.dumps(key, ensure_ascii=False)}: {_indented(item, inner)}" for key, item in value.items()
        ]
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    if isinstance(value, list) and any(issubclass(each, list | Mapping) for each in set(map(type, value))):
        inner = indent + "  "
        return "[\n" + ",\n".join(inner + _indented(item, inner) for item in value) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _plain(parameters: Priors | AttributeParameters | Presence) -> dict[str, Any]:
    """Fields of a parameter record as JSON values."""
    values = {field.name: getattr(parameters, field.name) for field in fields(parameters)}
    return {name: _listed(value) for name, value in values.items() if name != "attribute" and value is not None}


def _listed(value: Any) -> Any:
    if isinstance(value, Presence):
        return _plain(value)
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


def _parameters_document(parameters: AttributeParameters) -> dict[str, Any]:
    kind = next(name for name, record in KINDS.items() if isinstance(parameters, record))
    return {"kind": kind, **_plain(parameters)}


def _weights_document(model: NaiveBayes) -> dict[str, Any]:
    """Return the entry of the attribute weights; none for ordinary naive Bayes."""
    if model.attribute_weights is None:
        return {}
    names, source = [parameters.attribute for parameters in model.attributes], model.attribute_weights.source
    learned = (
        {}
        if source is None
        else {
            "source": {
                "name": source.name,
                "sha256": source.digest,
                "status": DECLARED_PUBLIC,
                "left_out": list(source.left_out),
            }
        }
    )
    return {
        "attribute_weights": {
            "method": model.attribute_weights.method,
            "weights": dict(zip(names, model.weights, strict=True)),
            "intercepts": list(model.intercepts),
            **learned,
            **({} if model.attribute_weights.line is None else {"line": _line_document(model)}),
        }
    }


def _line_document(model: NaiveBayes) -> dict[str, Any]:
    """Return the entry of a model's line; what only more than two classes have is left out for two."""
    line = None if model.attribute_weights is None else model.attribute_weights.line
    assert line is not None
    several = {"others": list(line.others), "evidence": line.evidence} if line.others else {}
    return {
        "class": model.domain.classes[line.largest],
        "margins": list(line.margins),
        "log_odds": list(line.log_odds),
        **several,
    }


def guarantee_document(guarantee: Guarantee) -> dict[str, Any]:
    """Write the entry of a guarantee with its composition table, for what is released beside no measurements."""
    promise, rest = _promise_document(guarantee), {}
    if "reserved" in promise:
        rest["reserved"] = promise.pop("reserved")
    return {**promise, "composition": list(map(_share_document, guarantee.composition)), **rest}


def _promise_document(guarantee: Guarantee) -> dict[str, Any]:
    """Write what is promised; of a model its measurements say of which queries that is composed."""
    return {
        "private": guarantee.private,
        "mechanism": guarantee.mechanism,
        "noise": guarantee.noise,
        "epsilon": None if guarantee.epsilon is None else number_text(guarantee.epsilon),
        "delta": None if guarantee.delta is None else number_text(guarantee.delta),
        **({} if guarantee.rho is None else {"rho": number_text(guarantee.rho)}),
        "neighbours": None if guarantee.neighbours is None else guarantee.neighbours.value,
        "seeded": guarantee.seeded,
        **({} if guarantee.reserved is None else {"reserved": _share_document(guarantee.reserved)}),
    }


def measurement_document(measured: Measurement) -> dict[str, Any]:
    """Write a measurement, whose JSON schema is ``docs/reference/measurement.schema.json``."""
    share = measured.share
    return {
        "query": measured.query,
        "attribute": measured.attribute,
        "values": list(map(list, measured.values)),
        "noise": measured.noise,
        "scale": None if measured.scale is None else list(measured.scale),
        "share": None if share is None else {"composition": share.composition, **_losses_document(share)},
    }


def _share_document(share: Share) -> dict[str, Any]:
    return {
        "query": share.query,
        "attribute": share.attribute,
        "values": share.values,
        "composition": share.composition,
        "noise": share.noise,
        **_losses_document(share),
    }


def _losses_document(share: Share) -> dict[str, str]:
    return {**_loss_document(share.cost, ""), **_loss_document(share.row_cost, "row_")}


def _loss_document(loss: PrivacyCost, prefix: str) -> dict[str, str]:
    return {prefix + name: number_text(number) for name, number in cost_parameters(loss).items()}


PRESENCE_CELLS = ("present", "missing")
"""Cells of the parameters that say how many rows have a value of a numeric attribute."""

LINE_PARAMETERS = {"margins": "margin", "log_odds": "log-odds", "others": "log-odds of others"}
"""Lists of a line, each with the name of its numbers as parameters."""


STATISTICS = {**SPREADS, "mean": "mean", WEIGHTED_COUNTS: "sum of weights"}
"""What queries draw that do not count."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One parameter within a document: what it is a parameter of, and the lists or objects that hold its numbers.

    Attributes:
        attribute: Attribute name; None for the probabilities and the intercepts of the classes.
        klass: Class name, of a line the largest class; None for the weight of an attribute.
        cell: Category, or bin as ``first..last`` in codes of the scale; None for a category of missing values, and for
            parameters that have no cells. Of ``presence``, ``present`` or ``missing``; of a line the point, from 1.
        parameter: ``probability``, ``weighted probability``, ``mean``, ``deviation``, ``presence``, ``weight``,
            ``intercept``, or of a line ``margin``, ``log-odds``, ``log-odds of others`` or ``evidence``.
        released: The row of a measurement that holds the number as it was drawn; None for a parameter that was made
            of others.
        values: What holds the parameter.
        position: Index or key in both; a moment is the only number of its row.
        whole: Whether the drawn number is a count, or a sum of weights in steps.
        query: The query that drew it; empty for none.
    """

    attribute: str | None
    klass: str | None
    cell: str | None
    parameter: str
    released: Any
    values: Any
    position: int | str
    whole: bool
    query: str = COUNTS

    @property
    def drawn(self) -> float | None:
        """The number as it was drawn; None for a parameter that was made of others."""
        return None if self.released is None else float(self.released[self.place])

    @property
    def statistic(self) -> str:
        """Name of what was drawn; a deviation is made of a variance, say. Empty for nothing."""
        return STATISTICS.get(self.query, "count") if self.query else ""

    @property
    def place(self) -> int:
        """Where the drawn number is in its row."""
        return self.position if self.query in (COUNTS, PRESENCE) and isinstance(self.position, int) else 0


def leaves(document: Mapping[str, Any]) -> Iterator[Leaf]:
    """Iterate over every parameter of a document: classes first, then attributes, each by class and cell.

    Attribute weights come last: the classes' intercepts, a weight per attribute, and the points of the line.
    """
    classes: Sequence[str] = document["domain"]["label"]["classes"]
    measured = {(each["query"], each["attribute"]): each["values"] for each in document["measurements"]}
    for part, parameter, query in (
        ("classes", "probability", CLASS_COUNTS),
        ("weighted_classes", "weighted probability", WEIGHTED_COUNTS),
    ):
        if part in document:
            values = document[part]["probability"]
            for position, (klass, row) in enumerate(zip(classes, measured[query, None], strict=True)):
                yield Leaf(None, klass, None, parameter, row, values, position, True, query)
    for name, body in document["attributes"].items():
        if "presence" in body:
            rows = zip(classes, measured[PRESENCE, name], body["presence"]["probability"], strict=True)
            for klass, row, values in rows:
                for index, part in enumerate(PRESENCE_CELLS[: len(values)]):
                    yield Leaf(name, klass, part, "presence", row, values, index, True, PRESENCE)
        if body["kind"] == "normal":
            spread = next(query for query in SPREADS if (query, name) in measured)
            for position, klass in enumerate(classes):
                for parameter, query in (("mean", "mean"), ("deviation", spread)):
                    row = measured[query, name][position]
                    yield Leaf(name, klass, None, parameter, row, body[parameter], position, False, query)
            continue
        cells = _cell_names(document["domain"]["attributes"][name], body)
        for klass, row, values in zip(classes, measured[COUNTS, name], body["probability"], strict=True):
            for index, cell in enumerate(cells):
                yield Leaf(name, klass, cell, "probability", row, values, index, True)
    if "attribute_weights" in document:
        body = document["attribute_weights"]
        for position, klass in enumerate(classes):
            yield Leaf(None, klass, None, "intercept", None, body["intercepts"], position, False, "")
        for name in document["attributes"]:
            yield Leaf(name, None, None, "weight", None, body["weights"], name, False, "")
        if "line" in body:
            line = body["line"]
            for field, parameter in LINE_PARAMETERS.items():
                for place in range(len(line.get(field, ()))):
                    yield Leaf(None, line["class"], str(place + 1), parameter, None, line[field], place, False, "")
            if "evidence" in line:
                yield Leaf(None, line["class"], None, "evidence", None, line, "evidence", False, "")


def _cell_names(declaration: Mapping[str, Any], body: Mapping[str, Any]) -> list[str | None]:
    if body["kind"] == "histogram":
        return [f"{low}..{high - 1}" for low, high in pairwise(body["edges"])]
    return [*declaration.get("values", []), *([None] if declaration.get("missing") == "category" else [])]
