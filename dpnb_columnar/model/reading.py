"""A model from its document, every number checked against the domain the document declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from dpnb_columnar.domain import Categorical, Domain, Numeric, read_domain
from dpnb_columnar.domain.fields import LONGEST_NAME, is_printable, quoted
from dpnb_columnar.errors import DataError, shown
from dpnb_columnar.model.document import FORMAT, VERSION
from dpnb_columnar.model.fields import Fields
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.parameters import SPREADS, AttributeParameters, ClassCounts, Histogram, Normal, Table
from dpnb_columnar.model.promises import read_guarantee

SMALLEST_DEVIATION = 0.25
"""In cells of the scale. A released deviation is never below that of rounding to a cell, sqrt(1/12) of it; and squares
of distances in deviations stay far from overflow."""


def from_document(document: object, source: str) -> Model:
    """The model that a document describes, checked against its own domain.

    Raises:
        DataError: Not a model, of an unknown version, or inconsistent; names the source and the place.
        DomainError: The domain in the document has faults.
    """
    fields = Fields(source)
    table = fields.mapping(document, "document")
    found, version = table.get("format"), table.get("version")
    if found != FORMAT:
        raise DataError(f"{source}: not a model: expected format {FORMAT!r}, found {shown(found)}")
    if type(version) is not int or version != VERSION:
        raise DataError(
            f"{source}: model version {shown(version)} is not known to this program (it reads version {VERSION}); "
            "read it with the release of dpnb-columnar that wrote it, or a later one"
        )
    declaration = dict(fields.table(table, "domain"))
    name = fields.text(declaration, "name", "domain")
    del declaration["name"]
    domain = read_domain(name, declaration, f"{source}: domain")
    software = fields.table(table, "software")
    return Model(
        domain=domain,
        guarantee=read_guarantee(fields, fields.table(table, "guarantee")),
        classes=_classes(fields, fields.table(table, "classes"), len(domain.classes)),
        attributes=tuple(
            _parameters(fields, domain, name, body) for name, body in fields.table(table, "attributes").items()
        ),
        software={_known(fields, name): fields.text(software, name, "software") for name in software},
    )


def _known(fields: Fields, name: str) -> str:
    """The name of a piece of software, if it can be one."""
    if len(name) > LONGEST_NAME or not is_printable(name):
        raise fields.wrong("software", f"{shown(name)} is not the name of any")
    return name


def _classes(fields: Fields, table: Mapping[str, Any], size: int) -> ClassCounts:
    return ClassCounts(
        fields.whole(fields.items(table, "released", "classes", size), "classes.released"),
        fields.probabilities(fields.items(table, "probability", "classes", size), "classes.probability"),
    )


def _parameters(fields: Fields, domain: Domain, name: str, value: object) -> AttributeParameters:
    place = f"attributes.{quoted(name)}"
    table = fields.mapping(value, place)
    try:
        attribute = domain[name]
    except KeyError:
        raise fields.wrong(place, "not an attribute of the model's domain") from None
    kind = fields.text(table, "kind", place)
    classes = len(domain.classes)
    if kind == "normal" and isinstance(attribute, Numeric):
        return _normal(fields, attribute, table, place, classes)
    if kind == "table" and isinstance(attribute, Categorical):
        return Table(name, *_counted(fields, table, place, classes, attribute.size))
    if kind == "histogram" and isinstance(attribute, Numeric):
        edges = _edges(fields, table, place, attribute.scale.cells)
        return Histogram(name, edges, *_counted(fields, table, place, classes, len(edges) - 1))
    raise fields.wrong(f"{place}.kind", f"{shown(kind)} does not suit this attribute")


def _normal(fields: Fields, attribute: Numeric, table: Mapping[str, Any], place: str, classes: int) -> Normal:
    scale = attribute.scale

    def read(key: str, fits: Callable[[float], bool] = lambda _: True) -> tuple[float, ...]:
        return fields.numbers(fields.items(table, key, place, classes), f"{place}.{key}", fits)

    spreads = [spread for spread in SPREADS if spread in table] or ["released_variance"]
    if len(spreads) > 1:
        raise fields.wrong(place, f"holds only one of {', '.join(SPREADS)}")
    (spread,) = spreads
    return Normal(
        attribute=attribute.name,
        released_mean=read("released_mean"),
        **{name: read(name) if name == spread else None for name in SPREADS},
        mean=read("mean", lambda mean: scale.origin <= mean <= scale.end),
        deviation=read("deviation", lambda wide: scale.step * SMALLEST_DEVIATION <= wide <= scale.end - scale.origin),
    )


def _counted(fields: Fields, table: Mapping[str, Any], place: str, classes: int, size: int) -> tuple[Any, Any]:
    """Released counts and probabilities, a list per class."""

    def rows(key: str) -> list[tuple[str, list[Any]]]:
        """The places and the lists of the classes."""
        found = enumerate(fields.items(table, key, place, classes))
        places = [(f"{place}.{key}.{index}", row) for index, row in found]
        return [(inner, fields.sized(row, inner, size)) for inner, row in places]

    released = tuple(fields.whole(row, inner) for inner, row in rows("released"))
    return released, tuple(fields.probabilities(row, inner) for inner, row in rows("probability"))


def _edges(fields: Fields, table: Mapping[str, Any], place: str, cells: int) -> tuple[int, ...]:
    edges = fields.whole(fields.items(table, "edges", place), f"{place}.edges")
    rising = all(low < high for low, high in pairwise(edges))
    if len(edges) < 2 or not rising or edges[0] != 0 or edges[-1] != cells + 1:
        raise fields.wrong(f"{place}.edges", f"expected rising edges from 0 to {cells + 1}")
    return edges
