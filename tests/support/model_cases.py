"""Models built by hand or drawn at random, for tests of their files and of what they predict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import (
    Approximate,
    Budget,
    Concentrated,
    Neighbours,
    Pure,
    Request,
    Share,
    compose,
    total,
)
from dpnb_columnar.core.budget.composition import PARALLEL_CELLS, Guarantee
from dpnb_columnar.core.measurement import (
    CLASS_COUNTS,
    COUNTS,
    EXACT,
    LARGEST_RELEASED,
    PRESENCE,
    WEIGHTED_COUNTS,
    Measurement,
)
from dpnb_columnar.domain import Attribute, Categorical, Domain, Missing, Numeric, Weight
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.domain.names import exact_number
from dpnb_columnar.model.document_reader import WHOLE, read_document
from dpnb_columnar.model.parameters import (
    LARGEST_BOUND,
    LARGEST_INTERCEPT,
    LARGEST_LOG_ODDS,
    LARGEST_WEIGHT,
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
from dpnb_columnar.model.query_noise import in_unit
from support.memory import peak


def from_document(document: object, place: str) -> Model:
    """Read the document of a model."""
    return Model.of(read_document(document, place))


UNPROTECTED = Guarantee("none", None, None, None, None, (), False)
LARGEST_COUNT = 2**53

UNCHECKED = """
from dpnb_columnar.model import document_reader
document_reader.check_made_again = lambda model, document: None
"""
"""Has a program of its own read models whose parameters are invented, as the fixture ``invented_models`` does here."""

SCORING = f"""{UNCHECKED}
from dpnb_columnar.model import scoring
from dpnb_columnar.api import load_model
from dpnb_columnar.rows.parquet import scan_files

model, rows, output = map(Path, sys.argv[1:4])
scoring.GROUP_NUMBERS = int(sys.argv[4]) or scoring.GROUP_NUMBERS
scoring.write_scores(load_model(model), scan_files([rows]), output, sys.argv[5:], overwrite=True)
"""


def peak_of_scoring(model: Path, rows: Path, *keep: str, group: int = 0) -> int:
    """The most MiB that a process has that scores the rows of a file, in row groups of so many numbers."""
    return peak(SCORING, model, rows, rows.with_name(f"scored-{rows.name}"), group, *keep)


names = st.text(
    st.one_of(
        st.sampled_from("ab\"'`\\/.^$*{}é中 😀"),
        st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], max_codepoint=0x2FFF),
    ),
    min_size=1,
    max_size=8,
)


def _matched(name: str) -> str | Fraction:
    """What a declared value matches by: a number by its value, so that 0 and 00 are one."""
    try:
        return exact_number(name)
    except ValueError:
        return name


def declared(attributes: Mapping[str, Any], classes: Sequence[str] = ("no", "yes")) -> Domain:
    document = {"label": {"column": "label", "classes": list(classes)}, "attributes": attributes}
    return read_domain("test", document, "test")


def model_of(
    domain: Domain,
    attributes: Sequence[AttributeParameters],
    priors: Sequence[float] | None = None,
    guarantee: Guarantee = UNPROTECTED,
    measured: Sequence[Measurement] = (),
) -> Model:
    """A model of these parameters; equal priors where none are given, and zeros where nothing was measured."""
    size = len(domain.classes)
    classes = Priors(tuple(priors or [1 / size] * size))
    measurements = tuple(_besides(measured, size, attributes))
    return Model(domain, guarantee, measurements, classes, tuple(attributes), {"dpnb-columnar": "0"})


def measurement(
    query: str, attribute: str | None, *values: Sequence[float], share: Share | None = None, scale: float | None = None
) -> Measurement:
    """What a query released, a row for each class, exact where it has no share."""
    scales = None if scale is None else (scale,) * len(values)
    noise = EXACT if share is None else share.noise
    return Measurement(query, attribute, tuple(map(tuple, values)), noise, scales, share)


def drawn(model: NaiveBayes, query: str, attribute: str) -> tuple[float, ...]:
    """Per class, what was drawn of a numeric attribute, in the attribute's unit."""
    return tuple(in_unit(model.domain, query, attribute, each) for each in model.measured[query, attribute].column)


def _besides(
    measured: Sequence[Measurement], classes: int, attributes: Sequence[AttributeParameters]
) -> Iterator[Measurement]:
    """Measurements, and zeros for all that a model of these attributes is made of besides."""
    yield from measured
    keys = {each.key for each in measured}
    for query, attribute, size in _queries(attributes):
        if (query, attribute) not in keys:
            yield measurement(query, attribute, *((0.0 if query in ("mean", "variance") else 0,) * size,) * classes)


def _queries(attributes: Sequence[AttributeParameters]) -> Iterator[tuple[str, str | None, int]]:
    """Queries that a model of these attributes is made of, each with the numbers that a class has."""
    yield CLASS_COUNTS, None, 1
    for part in attributes:
        if isinstance(part, Normal):
            yield from (("mean", part.attribute, 1), ("variance", part.attribute, 1))
        else:
            yield COUNTS, part.attribute, len(part.probability[0])
        if not isinstance(part, Table) and part.presence is not None:
            yield PRESENCE, part.attribute, len(part.presence.probability[0])


def normal_of(attribute: str, mean: Sequence[float], deviation: Sequence[float]) -> Normal:
    return Normal(attribute, tuple(mean), tuple(deviation))


def table_of(attribute: str, *probability: Sequence[float]) -> Table:
    return Table(attribute, tuple(map(tuple, probability)))


def histogram_of(attribute: str, edges: Sequence[int], *probability: Sequence[float]) -> Histogram:
    return Histogram(attribute, tuple(edges), tuple(map(tuple, probability)))


def presence_of(*probability: Sequence[float]) -> Presence:
    """Probabilities of having a value, and of having none."""
    return Presence(tuple(map(tuple, probability)))


@st.composite
def probabilities(draw: st.DrawFn, size: int) -> tuple[float, ...]:
    """Positive numbers that add up to 1, some of them extremely small."""
    weights = draw(
        st.lists(st.one_of(st.floats(0.01, 1), st.floats(1e-300, 1e-3)), min_size=size, max_size=size).filter(any)
    )
    total = sum(weights)
    shares = [max(weight / total, 1e-300) for weight in weights]
    return tuple(shares)


counts = st.integers(-LARGEST_COUNT, LARGEST_COUNT)
finite = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def numeric_declarations(draw: st.DrawFn) -> dict[str, Any]:
    """A numeric attribute: whole numbers or odd decimals, with or without a step, missing values and a logarithm."""
    step = draw(st.sampled_from([1, "0.1", "1/3", 1000, "1e-3", "12345.6789"]))
    lower = Fraction(step) * draw(st.integers(-50, 50))
    upper = lower + Fraction(step) * draw(st.sampled_from([1, 2, 7, 100, 10**6, 2**32]))
    document: dict[str, Any] = {"lower": str(lower), "upper": str(upper)}
    if draw(st.booleans()) or upper - lower > Fraction(step) * 2**31:
        document["step"] = step
    if lower >= 0 and upper / (1 + lower) > Fraction(1, 10) and draw(st.booleans()):
        document["transform"] = "log1p"
    if draw(st.booleans()):
        document["missing_values"] = [999999, "-0.5"]
    if missing := draw(st.sampled_from([None, *Missing])):
        document["missing"] = missing.value
    return document


@st.composite
def categorical_declarations(draw: st.DrawFn) -> dict[str, Any]:
    values = draw(st.lists(names, min_size=1, max_size=5, unique_by=_matched))
    document: dict[str, Any] = {"values": values}
    if missing := draw(st.sampled_from([None, *Missing])):
        document["missing"] = missing.value
    return document


@st.composite
def parameters_for(draw: st.DrawFn, attribute: Attribute, classes: int) -> AttributeParameters:
    """Parameters that an attribute may have, extremes included."""

    def rows(values: st.SearchStrategy[Any], size: int = classes) -> tuple[Any, ...]:
        return tuple(draw(st.lists(values, min_size=size, max_size=size)))

    if isinstance(attribute, Categorical):
        return Table(attribute.name, rows(probabilities(attribute.size)))
    scale = attribute.scale
    presence = None
    if cells := {Missing.CATEGORY: 2, Missing.SKIP: draw(st.integers(0, 1))}.get(attribute.missing):
        presence = Presence(rows(probabilities(cells)))
    if draw(st.booleans()):
        inner = draw(st.sets(st.integers(1, scale.cells), max_size=4))
        edges = (0, *sorted(inner), scale.cells + 1)
        return Histogram(attribute.name, edges, rows(probabilities(len(edges) - 1)), presence)
    means = rows(st.one_of(st.sampled_from([scale.origin, scale.end]), st.floats(scale.origin, scale.end)))
    width = scale.end - scale.origin
    ordinary = st.floats(max(width / 1000, scale.step / 4), width)
    deviations = rows(st.one_of(ordinary, ordinary, st.sampled_from([scale.step / 4, width])))
    bound = draw(st.one_of(st.none(), st.floats(0.5, 5), st.sampled_from([0.0, LARGEST_BOUND])))
    return Normal(attribute.name, means, deviations, presence=presence, bound=bound)


@st.composite
def models(draw: st.DrawFn, largest_classes: int = 4) -> Model:
    classes = draw(st.lists(names, min_size=2, max_size=largest_classes, unique_by=_matched))
    found = draw(st.lists(names.filter(lambda name: name != "label"), min_size=1, max_size=4, unique=True))
    domain = declared(
        {name: draw(st.one_of(numeric_declarations(), categorical_declarations())) for name in found}, classes
    )
    asked = domain.attributes[: draw(st.integers(0, len(found)))]
    attributes = tuple(draw(parameters_for(attribute, len(classes))) for attribute in asked)
    priors = Priors(draw(probabilities(len(classes))))
    weights = draw(st.none() | attribute_weights(len(attributes), len(classes)))
    software = {"dpnb-columnar": "0", draw(names): draw(names)}
    weighted, queries = None, list(_queries(attributes))
    if draw(st.booleans()):
        weight = Weight("weight of a row", Fraction(draw(st.integers(1, 2**20)), 8), Fraction(1, 8))
        domain = replace(domain, weight=weight)
        queries.append((WEIGHTED_COUNTS, None, 1))
        weighted = Priors(draw(probabilities(len(classes))))
    guarantee = draw(guarantees(len(classes)))
    measured = tuple(draw(_measurements(guarantee, queries, len(classes))))
    return Model(domain, guarantee, measured, priors, attributes, software, weights, weighted)


@st.composite
def _measurements(
    draw: st.DrawFn, guarantee: Guarantee, queries: Sequence[tuple[str, str | None, int]], classes: int
) -> list[Measurement]:
    """Measurements of a guarantee, and of all that a model is made of besides, extremes included."""
    sizes = {(query, attribute): (classes, size) for query, attribute, size in queries}
    shares = {(each.query, each.attribute): each for each in guarantee.composition}
    found = []
    for query, attribute in dict.fromkeys((*shares, *sizes)):
        share = shares.get((query, attribute))
        rows, size = sizes.get((query, attribute)) or (1, 1 if share is None else share.values)
        number = counts if query in WHOLE else st.floats(-LARGEST_RELEASED, LARGEST_RELEASED)
        row = st.lists(number, min_size=size, max_size=size)
        scale = draw(st.none() | st.floats(0, 1e300)) if share is not None else None
        values = draw(st.lists(row, min_size=rows, max_size=rows))
        found.append(measurement(query, attribute, *values, share=share, scale=scale))
    return found


@st.composite
def attribute_weights(draw: st.DrawFn, attributes: int, classes: int) -> AttributeWeights:
    """Weights and intercepts that a model may have: of the size that fits have, none, tiny, and as large as can be."""
    odd = st.sampled_from([0.0, -0.0, 1.0, -1.0, 5e-324, -1e-59, LARGEST_WEIGHT, -LARGEST_WEIGHT])
    weight = st.one_of(st.floats(-0.5, 2), st.floats(-0.5, 2), odd)
    intercept = st.one_of(st.floats(-5, 5), st.sampled_from([0.0, LARGEST_INTERCEPT, -LARGEST_INTERCEPT]))
    return AttributeWeights(
        draw(names),
        tuple(draw(st.lists(weight, min_size=attributes, max_size=attributes))),
        tuple(draw(st.lists(intercept, min_size=classes, max_size=classes))),
        draw(st.none() | st.builds(PublicSource, names, st.just("0f" * 32), st.lists(names, max_size=2).map(tuple))),
        line=draw(st.none() | lines(classes)),
    )


@st.composite
def lines(draw: st.DrawFn, classes: int) -> CalibrationLine:
    """A line of few margins or many, steep or nearly flat, that crosses 0 or does not."""
    size = draw(st.integers(2, 30))
    gaps = draw(st.lists(st.floats(0.05, 5), min_size=size, max_size=size))
    rises = draw(st.lists(st.floats(1e-12, 3), min_size=size, max_size=size))
    start, low = draw(st.floats(-40, 40)), draw(st.floats(-30, 30))
    log_odds = [low + sum(rises[: place + 1]) for place in range(size)]
    beyond = max(max(log_odds) - LARGEST_LOG_ODDS, 0.0)
    bounded = st.floats(-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
    return CalibrationLine(
        draw(st.integers(0, classes - 1)),
        tuple(start + sum(gaps[: place + 1]) for place in range(size)),
        tuple(max(each - beyond, -LARGEST_LOG_ODDS + place * 1e-9) for place, each in enumerate(log_odds)),
        tuple(draw(st.lists(bounded, min_size=size, max_size=size))) if classes > 2 else (),
        draw(st.sampled_from([0.0, 0.5, 1.0]) | st.floats(0, 1)) if classes > 2 else 0.0,
    )


@st.composite
def guarantees(draw: st.DrawFn, classes: int = 2) -> Guarantee:
    """A guarantee that does not contradict itself, or none."""
    if draw(st.booleans()):
        return UNPROTECTED
    kind = draw(st.sampled_from([Pure, Approximate, Concentrated]))
    budget = Budget(
        epsilon=draw(st.fractions(min_value=Fraction(1, 10**4), max_value=100)),
        neighbours=draw(st.sampled_from(Neighbours)),
        delta=Fraction(0) if kind is Pure else Fraction(1, 10**6),
    )
    asked = st.tuples(names, st.none() | names, st.fractions(min_value=Fraction(1, 10**3), max_value=100))
    requests = [Request("class counts", None, classes, PARALLEL_CELLS, "laplace", Fraction(1))] + [
        Request(query, attribute, draw(st.integers(1, 9)), PARALLEL_CELLS, "noise", weight, kind)
        for query, attribute, weight in draw(st.lists(asked, min_size=1, max_size=5, unique_by=lambda each: each[:2]))
    ]
    shares = compose(requests, budget)
    rho = spent.rho if isinstance(spent := total(shares), Concentrated) else None
    noise, seeded = draw(st.none() | names), draw(st.booleans())
    return Guarantee("smooth", noise, budget.epsilon, budget.delta, budget.neighbours, shares, seeded, rho)


def is_log(attribute: Attribute) -> bool:
    return isinstance(attribute, Numeric) and attribute.transform.value == "log1p"
