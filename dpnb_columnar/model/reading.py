"""A model from its document, every number checked against the domain the document declares."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpnb_columnar.budget import Neighbours, Share
from dpnb_columnar.domain import Categorical, Domain, Numeric, read_domain
from dpnb_columnar.domain.numbers import exact
from dpnb_columnar.errors import DataError
from dpnb_columnar.model.document import FORMAT, VERSION
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.parameters import AttributeParameters, ClassCounts, Guarantee, Histogram, Normal, Table


def from_document(document: object, source: str) -> Model:
    """The model that a document describes, checked against its own domain.

    Raises:
        DataError: Not a model, of an unknown version, or inconsistent; names the source and the place.
        DomainError: The domain in the document has faults.
    """
    reader = _Reader(source)
    table = reader.mapping(document, "document")
    if table.get("format") != FORMAT:
        raise DataError(f"{source}: not a model: expected format {FORMAT!r}, found {table.get('format')!r:.80}")
    if table.get("version") != VERSION:
        raise DataError(
            f"{source}: model version {table.get('version')!r:.20} is not known to this program (it reads version "
            f"{VERSION}); read it with the release of dpnb-columnar that wrote it, or a later one"
        )
    body = dict(reader.mapping(reader.get(table, "domain"), "domain"))
    domain = read_domain(str(body.pop("name", "")), body, f"{source}: domain")
    attributes = reader.mapping(reader.get(table, "attributes"), "attributes")
    return Model(
        domain=domain,
        guarantee=reader.guarantee(reader.get(table, "guarantee")),
        classes=reader.classes(reader.get(table, "classes"), len(domain.classes)),
        attributes=tuple(reader.parameters(domain, name, body) for name, body in attributes.items()),
        software={
            str(key): str(value) for key, value in reader.mapping(reader.get(table, "software"), "software").items()
        },
    )


class _Reader:
    """Reads one document, naming the source and the place of the first thing that is wrong."""

    def __init__(self, source: str) -> None:
        self.source = source

    def wrong(self, place: str, problem: str) -> DataError:
        return DataError(f"{self.source}: not a valid model: {place}: {problem}")

    def mapping(self, value: object, place: str) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise self.wrong(place, f"expected an object, found {value!r:.80}")
        return value

    def get(self, table: Mapping[str, Any], key: str, place: str = "") -> Any:
        if key not in table:
            raise self.wrong(f"{place}{key}", "missing")
        return table[key]

    def numbers(
        self, value: object, place: str, size: int, whole: bool, fits: Callable[[float], bool] = lambda _: True
    ) -> tuple[Any, ...]:
        """A list of ``size`` finite numbers that each fit."""
        if not isinstance(value, list) or len(value) != size:
            raise self.wrong(place, f"expected a list of {size} numbers")
        kind = int if whole else float
        for number in value:
            numeric = isinstance(number, int | float) and not isinstance(number, bool)
            if not numeric or not math.isfinite(number) or kind(number) != number or not fits(number):
                raise self.wrong(place, f"{number!r:.40} is not a possible value")
        return tuple(kind(number) for number in value)

    def probabilities(self, value: object, place: str, size: int) -> tuple[float, ...]:
        found = self.numbers(value, place, size, False, lambda number: 0 < number <= 1)
        if abs(math.fsum(found) - 1) > 1e-9:
            raise self.wrong(place, "probabilities do not add up to 1")
        return found

    def classes(self, value: object, size: int) -> ClassCounts:
        table = self.mapping(value, "classes")
        return ClassCounts(
            self.numbers(self.get(table, "released", "classes."), "classes.released", size, True),
            self.probabilities(self.get(table, "probability", "classes."), "classes.probability", size),
        )

    def parameters(self, domain: Domain, name: str, value: object) -> AttributeParameters:
        place = f"attributes.{name}"
        table = self.mapping(value, place)
        try:
            attribute = domain[name]
        except KeyError:
            raise self.wrong(place, "not an attribute of the model's domain") from None
        kind = table.get("kind")
        classes = len(domain.classes)
        if kind == "normal" and isinstance(attribute, Numeric):
            return self.normal(attribute, table, place, classes)
        if kind == "table" and isinstance(attribute, Categorical):
            return Table(name, *self.counted(table, place, classes, attribute.size))
        if kind == "histogram" and isinstance(attribute, Numeric):
            edges = self.edges(self.get(table, "edges", f"{place}."), f"{place}.edges", attribute.scale.cells)
            return Histogram(name, edges, *self.counted(table, place, classes, len(edges) - 1))
        raise self.wrong(f"{place}.kind", f"{kind!r:.40} does not suit this attribute")

    def normal(self, attribute: Numeric, table: Mapping[str, Any], place: str, classes: int) -> Normal:
        scale = attribute.scale

        def read(field: str, fits: Callable[[float], bool] = lambda _: True) -> tuple[float, ...]:
            return self.numbers(self.get(table, field, f"{place}."), f"{place}.{field}", classes, False, fits)

        return Normal(
            attribute.name,
            read("released_mean"),
            read("released_variance"),
            read("mean", lambda mean: scale.origin <= mean <= scale.end),
            read("deviation", lambda deviation: 0 < deviation <= scale.end - scale.origin),
        )

    def counted(self, table: Mapping[str, Any], place: str, classes: int, size: int) -> tuple[Any, Any]:
        """Released counts and probabilities, a list per class."""
        lists = {}
        for field in ("released", "probability"):
            lists[field] = self.get(table, field, f"{place}.")
            if not isinstance(lists[field], list) or len(lists[field]) != classes:
                raise self.wrong(f"{place}.{field}", f"expected one list per class ({classes})")
        released = [self.numbers(row, f"{place}.released", size, True) for row in lists["released"]]
        probability = [self.probabilities(row, f"{place}.probability", size) for row in lists["probability"]]
        return tuple(released), tuple(probability)

    def edges(self, value: object, place: str, cells: int) -> tuple[int, ...]:
        size = len(value) if isinstance(value, list) else 0
        edges = self.numbers(value, place, size, True)
        rising = all(low < high for low, high in pairwise(edges))
        if size < 2 or not rising or edges[0] != 0 or edges[-1] != cells + 1:
            raise self.wrong(place, f"expected rising edges from 0 to {cells + 1}")
        return edges

    def guarantee(self, value: object) -> Guarantee:
        table = self.mapping(value, "guarantee")
        rows = self.get(table, "composition", "guarantee.")
        if not isinstance(rows, list):
            raise self.wrong("guarantee.composition", "expected a list")
        composition = tuple(self.share(row, f"guarantee.composition.{index}") for index, row in enumerate(rows))
        epsilon = self.fraction(table, "epsilon", "guarantee")
        if epsilon is not None and sum((share.epsilon for share in composition), Fraction(0)) != epsilon:
            raise self.wrong("guarantee.composition", "the shares do not add up to epsilon")
        neighbours = table.get("neighbours")
        if neighbours is not None and neighbours not in [relation.value for relation in Neighbours]:
            raise self.wrong("guarantee.neighbours", f"{neighbours!r:.40} is not a neighbouring relation")
        guarantee = Guarantee(
            mechanism=str(self.get(table, "mechanism", "guarantee.")),
            noise=None if table.get("noise") is None else str(table["noise"]),
            epsilon=epsilon,
            delta=self.fraction(table, "delta", "guarantee"),
            neighbours=None if neighbours is None else Neighbours(neighbours),
            composition=composition,
            seeded=self.get(table, "seeded", "guarantee.") is not False,
        )
        if self.get(table, "private", "guarantee.") is not guarantee.private:
            raise self.wrong("guarantee.private", "contradicts epsilon and seeded")
        return guarantee

    def share(self, value: object, place: str) -> Share:
        table = self.mapping(value, place)
        epsilon, row_epsilon = (self.fraction(table, field, place) for field in ("epsilon", "row_epsilon"))
        if epsilon is None or row_epsilon is None:
            raise self.wrong(place, "a share has an epsilon and a row_epsilon")
        attribute = table.get("attribute")
        (values,) = self.numbers([table.get("values")], f"{place}.values", 1, True)
        return Share(
            query=str(self.get(table, "query", f"{place}.")),
            attribute=None if attribute is None else str(attribute),
            values=values,
            composition=str(self.get(table, "composition", f"{place}.")),
            noise=str(self.get(table, "noise", f"{place}.")),
            epsilon=epsilon,
            row_epsilon=row_epsilon,
        )

    def fraction(self, table: Mapping[str, Any], field: str, place: str) -> Fraction | None:
        value = self.get(table, field, f"{place}.")
        if value is None:
            return None
        try:
            number = exact(value)
        except ValueError as error:
            raise self.wrong(f"{place}.{field}", str(error)) from None
        if number < 0:
            raise self.wrong(f"{place}.{field}", "must not be negative")
        return number
