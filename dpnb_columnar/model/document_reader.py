"""A model from its document: every number is checked against the domain that the document declares.

A guarantee from the document of what was released: its shares must add up to what it states.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from dpnb_columnar.core.budget import Approximate, Concentrated, Neighbours, PrivacyCost, Pure, Share, total
from dpnb_columnar.core.budget.composition import Guarantee, row_effect
from dpnb_columnar.core.budget.costs import cost_parameters, group_cost_within, implies
from dpnb_columnar.core.measurement import (
    CALIBRATION,
    CLASS_COUNTS,
    COUNTS,
    LARGEST_RELEASED,
    PRESENCE,
    WEIGHTED_COUNTS,
    Measurement,
)
from dpnb_columnar.domain import Attribute, Categorical, Domain, Missing, Numeric, Unit
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.domain.names import LONGEST_NAME, is_printable
from dpnb_columnar.errors import DataError, check_version, excerpt
from dpnb_columnar.model.document import DECLARED_PUBLIC, FORMAT, InvalidPartError, Part
from dpnb_columnar.model.made_again import check_made_again
from dpnb_columnar.model.parameters import (
    LARGEST_BOUND,
    LARGEST_INTERCEPT,
    LARGEST_LOG_ODDS,
    LARGEST_MARGIN,
    LARGEST_WEIGHT,
    LEAST_STEP,
    MOST_MARGINS,
    VERSION,
    AttributeParameters,
    AttributeWeights,
    CalibrationLine,
    Histogram,
    NaiveBayes,
    Normal,
    Presence,
    Priors,
    PublicSource,
    Table,
)

LARGEST_DENOMINATOR = 10**1000
"""Of sums of shares: three weights and a budget of 300 digits each make no more."""

LOSSES: tuple[type[PrivacyCost], ...] = (Concentrated, Approximate, Pure)
"""The kind of a loss is recognised by its numbers; those with more of them come first."""


def read_software(part: Part) -> dict[str, str]:
    """Read versions by the names of libraries."""
    entries = part.entries()
    for name, entry in entries.items():
        if len(name) > LONGEST_NAME or not is_printable(name):
            raise entry.invalid("not the name of a library")
    return {name: entry.text() for name, entry in entries.items()}


WHOLE = (CLASS_COUNTS, WEIGHTED_COUNTS, COUNTS, PRESENCE, CALIBRATION)
"""Queries whose numbers are whole."""


def _measurements(document: Part, unit: Unit | None) -> tuple[Measurement, ...]:
    """Read what was drawn, each query with its numbers, its noise and what it spent."""
    rows = _rows_apart(document["guarantee"], unit)
    return tuple(_measurement(part, rows) for part in document["measurements"].items())


def _measurement(part: Part, rows: int | None) -> Measurement:
    query, attribute, noise = part["query"].text(), part["attribute"].text_or_none(), part["noise"].text()
    listed = part["values"].items()
    values: tuple[tuple[int | float, ...], ...]
    if query in WHOLE:
        values = tuple(row.counts() for row in listed)
    else:
        values = tuple(row.numbers(None, -LARGEST_RELEASED, LARGEST_RELEASED) for row in listed)
    scale = None if part["scale"].value is None else part["scale"].numbers(len(values), 0.0)
    share = None
    if part["share"].value is not None:
        share = _share(part["share"], rows, query, attribute, sum(map(len, values)), noise)
    return Measurement(query, attribute, values, noise, scale, share)


def _rows_apart(part: Part, unit: Unit | None) -> int | None:
    """Read how many rows neighbours differ in; None where nothing is promised."""
    neighbours = _neighbours(part["neighbours"])
    return None if neighbours is None else neighbours.rows * (1 if unit is None else unit.rows)


def read_guarantee(part: Part, unit: Unit | None, measured: Sequence[Measurement] | None = None) -> Guarantee:
    """Read a guarantee, its parts in agreement: for one row, or for the unit of the domain."""
    neighbours, rows = _neighbours(part["neighbours"]), _rows_apart(part, unit)
    if measured is None:
        composition = tuple(_listed_share(share, rows) for share in part["composition"].items())
    else:
        composition = tuple(each.share for each in measured if each.share is not None and neighbours is not None)
    guarantee = Guarantee(
        mechanism=part["mechanism"].text(),
        noise=part["noise"].text_or_none(),
        epsilon=part["epsilon"].amount_or_none(),
        delta=part["delta"].amount_or_none(),
        neighbours=neighbours,
        composition=composition,
        seeded=part["seeded"].flag(),
        rho=part.entry("rho").amount_or_none(),
        reserved=None if (left := part.entry("reserved")).value is None else _listed_share(left, rows),
        unit=unit,
    )
    if unit is not None and guarantee.delta:
        raise part["delta"].invalid("must be 0, since the guarantee is for whole units")
    if len({guarantee.epsilon is None, guarantee.delta is None, neighbours is None}) > 1:
        raise part.invalid("epsilon, delta and neighbours are stated together, or none of them is")
    _check_total(part, part["composition"] if measured is None else Part(None, "measurements"), guarantee)
    if part["private"].flag() is not guarantee.private:
        raise part["private"].invalid("contradicts epsilon and seeded")
    return guarantee


def _neighbours(part: Part) -> Neighbours | None:
    value = part.text_or_none()
    if value is not None and value not in list(Neighbours):
        raise part.invalid(f"{excerpt(value)} is not a neighbouring relation")
    return None if value is None else Neighbours(value)


def _listed_share(part: Part, rows: int | None) -> Share:
    """Read an entry of a composition table."""
    query, attribute = part["query"].text(), part["attribute"].text_or_none()
    return _share(part, rows, query, attribute, part["values"].count(), part["noise"].text())


def _share(part: Part, rows: int | None, query: str, attribute: str | None, values: int, noise: str) -> Share:
    """Read a share; neighbours are so many rows apart, None where nothing is promised."""
    cost, row_cost = _loss(part, ""), _loss(part, "row_")
    if rows is not None and not group_cost_within(row_cost, rows, cost, row_effect(query)):
        raise part[f"row_{next(iter(cost_parameters(row_cost)))}"].invalid("costs more than the share")
    return Share(query, attribute, values, part["composition"].text(), noise, cost, row_cost)


def _loss(part: Part, prefix: str) -> PrivacyCost:
    """Read the loss whose numbers stand in a share under names with this prefix."""
    names = {kind: [prefix + field.name for field in dataclasses.fields(kind)] for kind in LOSSES}
    kind = next((kind for kind in LOSSES if part.mapping().keys() >= set(names[kind])), Pure)
    amounts = [amount for name in names[kind] if (amount := part[name].amount_or_none())]
    if len(amounts) < len(names[kind]):
        raise part.invalid(f"a share has {' and '.join(names[kind])} above 0")
    return kind(*amounts)


def _check_total(part: Part, composition: Part, guarantee: Guarantee) -> None:
    """Check that the shares add up to what is stated, and that a concentrated total implies it."""
    if guarantee.epsilon == 0:
        raise part["epsilon"].invalid("must be above 0")
    epsilon, delta = guarantee.epsilon or Fraction(0), guarantee.delta or Fraction(0)
    if delta >= 1:
        raise part["delta"].invalid("must be below 1")
    shares = guarantee.composition
    if not _have_common_denominator(guarantee.shares):
        raise composition.invalid("the shares have no common denominator")
    if len({isinstance(share.cost, Concentrated) for share in guarantee.shares}) > 1:
        raise composition.invalid("concentrated shares do not add up with others")
    spent = total(shares)
    if (guarantee.rho is not None) is not isinstance(spent, Concentrated):
        raise part.entry("rho").invalid("is stated where the shares are concentrated, and only there")
    if isinstance(spent, Concentrated):
        if spent.rho != guarantee.rho:
            raise composition.invalid("the shares do not add up to rho")
        # What is reserved is spent under the same statement.
        at_most = total(guarantee.shares)
        assert isinstance(at_most, Concentrated)
        if not (epsilon and delta) or not implies(at_most.rho, Approximate(epsilon, delta)):
            raise part["rho"].invalid("does not imply epsilon and delta")
    elif spent != (Approximate(epsilon, delta) if delta else Pure(epsilon)):
        raise composition.invalid("the shares do not add up to epsilon" + (" and delta" * bool(delta)))


def _have_common_denominator(shares: Sequence[Share]) -> bool:
    """Test whether some budget divides into these shares: adding thousands of unrelated long fractions takes hours."""
    sums: dict[str, Fraction] = {}
    for share in shares:
        for name, number in cost_parameters(share.cost).items():
            sums[name] = sums.get(name, Fraction(0)) + number
            if sums[name].denominator > LARGEST_DENOMINATOR:
                return False
    return True


SHA256 = re.compile("[0-9a-f]{64}")

SMALLEST_DEVIATION = 0.25
"""In cells of the scale. A released deviation is never below that of rounding to a cell, sqrt(1/12) of it; and squares
of distances in deviations stay far from overflow."""


def read_document(document: object, source: str) -> NaiveBayes:
    """Read the model that a document describes."""
    try:
        return model_in(Part(document), source)
    except InvalidPartError as error:
        raise DataError(f"{source}: not a valid model: {error}; restore the file as it was written") from None


GIVE_A_MODEL = "give the file that train or release wrote"
"""What to do where a model is expected."""


def not_a_model(source: object, reason: str) -> DataError:
    """Make the error for a file that is something else."""
    return DataError(f"{source}: not a model: {reason}; {GIVE_A_MODEL}")


def model_in(document: Part, source: str) -> NaiveBayes:
    """Read the model of a document's part; ``read_document`` names the source of its faults as well."""
    kind, version = document.entry("format").value, document.entry("version").value
    if kind != FORMAT:
        raise not_a_model(source, f"its format is {excerpt(kind)}, and not {FORMAT!r}")
    check_version(source, "a model", version, VERSION, "use it with that version, or train it again")
    declaration = {key: entry for key, entry in document["domain"].mapping().items() if key != "name"}
    domain = read_domain(document["domain"]["name"].text(), declaration, f"{source}: domain")
    size, attributes = len(domain.classes), {attribute.name: attribute for attribute in domain.attributes}
    bodies, measured = document["attributes"].entries(), _measurements(document, domain.unit)
    model = NaiveBayes(
        domain=domain,
        guarantee=read_guarantee(document["guarantee"], domain.unit, measured),
        measurements=measured,
        classes=Priors(document["classes"]["probability"].probabilities(size)),
        attributes=tuple(_parameters(body, attributes.get(name), size) for name, body in bodies.items()),
        software=read_software(document["software"]),
        attribute_weights=_weights(document.entry("attribute_weights"), list(bodies), domain.classes),
        weighted_classes=_weighted_classes(document, domain),
    )
    check_made_again(model, document)
    return model


def _weighted_classes(document: Part, domain: Domain) -> Priors | None:
    """Priors by sums of weights, where the domain declares them, and only there."""
    if domain.weight is not None:
        return Priors(document["weighted_classes"]["probability"].probabilities(len(domain.classes)))
    part = document.entry("weighted_classes")
    if part.value is not None:
        raise part.invalid("the domain declares no weight")
    return None


def _weights(part: Part, attributes: Sequence[str], classes: Sequence[str]) -> AttributeWeights | None:
    """Read the weights of a model's attributes and the intercepts of its classes; None where there are none."""
    if part.value is None:
        return None
    if unknown := part["weights"].entries().keys() - set(attributes):
        raise part["weights"][min(unknown)].invalid("not an attribute of the model")
    return AttributeWeights(
        method=part["method"].text(),
        weights=tuple(part["weights"][name].number(LARGEST_WEIGHT) for name in attributes),
        intercepts=part["intercepts"].numbers(len(classes), -LARGEST_INTERCEPT, LARGEST_INTERCEPT),
        source=_source(part.entry("source")),
        line=_line(part.entry("line"), classes),
    )


def _line(part: Part, classes: Sequence[str]) -> CalibrationLine | None:
    """Read how the odds of the classes follow from the margin; None where the score says them."""
    if part.value is None:
        return None
    if (largest := part["class"].text()) not in classes:
        raise part["class"].invalid(f"{excerpt(largest)} is not a class of the domain")
    margins = part["margins"].numbers(None, -LARGEST_MARGIN, LARGEST_MARGIN)
    if not 2 <= len(margins) <= MOST_MARGINS:
        raise part["margins"].invalid(f"expected 2 to {MOST_MARGINS} numbers, found {len(margins)}")
    if not all(end - start >= LEAST_STEP for start, end in pairwise(margins)):
        raise part["margins"].invalid(f"expected rising numbers, {LEAST_STEP:g} apart at least")
    log_odds = part["log_odds"].numbers(len(margins), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
    if not all(before < after for before, after in pairwise(log_odds)):
        raise part["log_odds"].invalid("expected rising numbers")
    if len(classes) > 2:
        others = part["others"].numbers(len(margins), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
        return CalibrationLine(classes.index(largest), margins, log_odds, others, part["evidence"].number(1, least=0))
    for name in ("others", "evidence"):
        if name in part.mapping():
            raise part[name].invalid("is stated for more than two classes, and only for them")
    return CalibrationLine(classes.index(largest), margins, log_odds)


def _source(part: Part) -> PublicSource | None:
    """Read which public file the weights were learned from; None where there is none."""
    if part.value is None:
        return None
    if not SHA256.fullmatch(part["sha256"].text()):
        raise part["sha256"].invalid("expected 64 hexadecimal digits")
    if part["status"].text() != DECLARED_PUBLIC:
        raise part["status"].invalid(f"expected {DECLARED_PUBLIC!r}")
    return PublicSource(
        part["name"].text(), part["sha256"].text(), tuple(name.text() for name in part["left_out"].items())
    )


def _parameters(body: Part, attribute: Attribute | None, classes: int) -> AttributeParameters:
    """Read the parameters of an attribute, of a kind that suits it."""
    if attribute is None:
        raise body.invalid("not an attribute of the model's domain")
    kind = body["kind"]
    match kind.text(), attribute:
        case "normal", Numeric():
            return _normal(body, attribute, classes)
        case "histogram", Numeric():
            edges = _edges(body["edges"], attribute.scale.cells)
            cells = _cells(body, classes, len(edges) - 1)
            return Histogram(attribute.name, edges, cells, _presence(body, attribute, classes))
        case "table", Categorical():
            return Table(attribute.name, _cells(body, classes, attribute.size))
    raise kind.invalid(f"{excerpt(kind.value)} does not suit this attribute")


def _normal(body: Part, attribute: Numeric, classes: int) -> Normal:
    scale = attribute.scale
    return Normal(
        attribute=attribute.name,
        mean=body["mean"].numbers(classes, scale.origin, scale.end),
        deviation=body["deviation"].numbers(classes, scale.step * SMALLEST_DEVIATION, scale.end - scale.origin),
        presence=_presence(body, attribute, classes),
        bound=None if body.entry("bound").value is None else body["bound"].number(LARGEST_BOUND, least=0),
    )


def _presence(body: Part, attribute: Numeric, classes: int) -> Presence | None:
    """Read how many rows have a value: always where to be missing is a category, if released where rows skip it."""
    if attribute.missing is Missing.CATEGORY:
        return Presence(_cells(body["presence"], classes, 2))
    part = body.entry("presence")
    if part.value is None:
        return None
    if attribute.missing is not Missing.SKIP:
        raise part.invalid("does not suit an attribute that does not declare missing values so")
    return Presence(_cells(part, classes, 1))


def _cells(body: Part, classes: int, size: int) -> tuple[tuple[float, ...], ...]:
    """Probabilities: a tuple per class, with a number per category or bin."""
    return tuple(row.probabilities(size) for row in body["probability"].items(classes))


def _edges(part: Part, cells: int) -> tuple[int, ...]:
    edges = part.counts()
    rising = all(low < high for low, high in pairwise(edges))
    if len(edges) < 2 or not rising or edges[0] != 0 or edges[-1] != cells + 1:
        raise part.invalid(f"expected rising edges from 0 to {cells + 1}")
    return edges
