"""A model from its document, every number checked against the domain the document declares."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dpnb_columnar.budget import Approximate, Concentrated, Loss, Neighbours, Pure, Share, total
from dpnb_columnar.budget.conversion import implies, within
from dpnb_columnar.budget.losses import numbers
from dpnb_columnar.domain import Categorical, Domain, Numeric, read_domain
from dpnb_columnar.domain.names import LONGEST_NAME, is_printable, quoted
from dpnb_columnar.errors import DataError, shown
from dpnb_columnar.model.document_fields import Fields
from dpnb_columnar.model.guarantee import Guarantee
from dpnb_columnar.model.model_document import FORMAT, VERSION
from dpnb_columnar.model.parameters import (
    SPREADS,
    AttributeParameters,
    ClassCounts,
    Histogram,
    NaiveBayes,
    Normal,
    Table,
)

# MERGED FROM dpnb_columnar/model/document_reader.py: A model's guarantee from its document: what contradicts itself is
# refused.

LARGEST_DENOMINATOR = 10**1000
"""Of sums of shares: three weights and a budget of 300 digits each make no more."""


def read_guarantee(fields: Fields, table: Mapping[str, Any]) -> Guarantee:
    """The guarantee that a document states.

    Raises:
        DataError: A field is missing or impossible, the shares do not add up, or the fields contradict each other.
    """
    place = "guarantee"
    neighbours = _neighbours(fields, table)
    rows = fields.items(table, "composition", place)
    guarantee = Guarantee(
        mechanism=fields.text(table, "mechanism", place),
        noise=fields.optional_text(table, "noise", place),
        epsilon=fields.fraction(table, "epsilon", place),
        delta=fields.fraction(table, "delta", place),
        neighbours=neighbours,
        composition=tuple(
            _share(fields, row, f"{place}.composition.{index}", neighbours) for index, row in enumerate(rows)
        ),
        seeded=fields.flag(table, "seeded", place),
        rho=fields.fraction(table, "rho", place) if "rho" in table else None,
    )
    stated = {guarantee.epsilon is None, guarantee.delta is None, neighbours is None}
    if len(stated) > 1:
        raise fields.wrong(place, "epsilon, delta and neighbours are stated together, or none of them is")
    _check_total(fields, guarantee)
    if fields.flag(table, "private", place) is not guarantee.private:
        raise fields.wrong(f"{place}.private", "contradicts epsilon and seeded")
    return guarantee


def _check_total(fields: Fields, guarantee: Guarantee) -> None:
    """The shares add up to what is stated, and a concentrated total implies it."""
    place = "guarantee"
    if guarantee.epsilon == 0:
        raise fields.wrong(f"{place}.epsilon", "must be above 0")
    epsilon, delta = guarantee.epsilon or Fraction(0), guarantee.delta or Fraction(0)
    if delta >= 1:
        raise fields.wrong(f"{place}.delta", "must be below 1")
    _check_denominators(fields, guarantee.composition)
    spent = total(guarantee.composition)
    if len({isinstance(share.loss, Concentrated) for share in guarantee.composition}) > 1:
        raise fields.wrong(f"{place}.composition", "concentrated shares do not add up with others")
    if (guarantee.rho is not None) is not isinstance(spent, Concentrated):
        raise fields.wrong(f"{place}.rho", "is stated where the shares are concentrated, and only there")
    if isinstance(spent, Concentrated):
        if spent.rho != guarantee.rho:
            raise fields.wrong(f"{place}.composition", "the shares do not add up to rho")
        if not (epsilon and delta) or not implies(spent.rho, Approximate(epsilon, delta)):
            raise fields.wrong(f"{place}.rho", "does not imply epsilon and delta")
    elif spent != (Approximate(epsilon, delta) if delta else Pure(epsilon)):
        raise fields.wrong(f"{place}.composition", "the shares do not add up to epsilon" + (" and delta" * bool(delta)))


def _check_denominators(fields: Fields, shares: Sequence[Share]) -> None:
    """Refuse shares that no budget divides into: adding up thousands of unrelated long fractions takes hours."""
    sums: dict[str, Fraction] = {}
    for share in shares:
        for name, number in numbers(share.loss).items():
            sums[name] = sums.get(name, Fraction(0)) + number
            if sums[name].denominator > LARGEST_DENOMINATOR:
                raise fields.wrong("guarantee.composition", "the shares have no common denominator")


def _neighbours(fields: Fields, table: Mapping[str, Any]) -> Neighbours | None:
    value = fields.optional_text(table, "neighbours", "guarantee")
    if value is not None and value not in [relation.value for relation in Neighbours]:
        raise fields.wrong("guarantee.neighbours", f"{shown(value)} is not a neighbouring relation")
    return None if value is None else Neighbours(value)


def _share(fields: Fields, value: object, place: str, neighbours: Neighbours | None) -> Share:
    table = fields.mapping(value, place)
    loss, row_loss = (_loss(fields, table, prefix, place) for prefix in ("", "row_"))
    if neighbours is not None and not within(row_loss, neighbours.rows, loss):
        raise fields.wrong(f"{place}.row_{next(iter(numbers(row_loss)))}", "costs more than the share")
    (values,) = fields.whole([fields.get(table, "values", place)], f"{place}.values")
    return Share(
        query=fields.text(table, "query", place),
        attribute=fields.optional_text(table, "attribute", place),
        values=values,
        composition=fields.text(table, "composition", place),
        noise=fields.text(table, "noise", place),
        loss=loss,
        row_loss=row_loss,
    )


_KINDS: tuple[type[Loss], ...] = (Concentrated, Approximate, Pure)
"""The kind of a loss is told by its numbers; those with more of them come first."""


def _loss(fields: Fields, table: Mapping[str, Any], prefix: str, place: str) -> Loss:
    """The loss whose numbers stand in a share under names with this prefix."""
    names = {kind: [prefix + field.name for field in dataclasses.fields(kind)] for kind in _KINDS}
    kind = next((kind for kind in _KINDS if all(name in table for name in names[kind])), Pure)
    found = [number for name in names[kind] if (number := fields.fraction(table, name, place))]
    if len(found) < len(names[kind]):
        raise fields.wrong(place, f"a share has {' and '.join(names[kind])} above 0")
    return kind(*found)


SMALLEST_DEVIATION = 0.25
"""In cells of the scale. A released deviation is never below that of rounding to a cell, sqrt(1/12) of it; and squares
of distances in deviations stay far from overflow."""


def read_document(document: object, source: str) -> NaiveBayes:
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
    return NaiveBayes(
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
