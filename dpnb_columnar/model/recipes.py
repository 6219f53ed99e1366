"""What is made of measurements: the parameters of a model. A pure function of public values.

The release makes parameters here, and whoever reads a model makes them again and compares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpnb_columnar.core.measurement import CLASS_COUNTS, COUNTS, PRESENCE, WEIGHTED_COUNTS, Key, Measurement, by_key
from dpnb_columnar.core.mechanisms.bins import bin_edges
from dpnb_columnar.core.mechanisms.tuning import cell_prior, sample_size
from dpnb_columnar.domain import Attribute, Categorical, Domain, Missing, Numeric
from dpnb_columnar.mechanisms import MechanismRecord
from dpnb_columnar.model import postprocessing
from dpnb_columnar.model.parameters import (
    LARGEST_LOG_RATIO,
    AttributeParameters,
    Histogram,
    Normal,
    Presence,
    Priors,
    Table,
)


@dataclass(frozen=True, slots=True)
class Made:
    """The parameters that are made of the measurements of the first pass. Public.

    Attributes:
        classes: Priors.
        weighted: Priors by sums of weights; None where the domain adds up nothing.
        attributes: Parameters per attribute, in declared order.
    """

    classes: Priors
    weighted: Priors | None
    attributes: tuple[AttributeParameters, ...]


def parameters_of(
    domain: Domain, measurements: Sequence[Measurement], rules: MechanismRecord, *, weighted: bool
) -> Made:
    """Make the parameters of a model of the measurements of a mechanism's first pass."""
    measured = by_key(measurements)
    rows = _whole(measured[CLASS_COUNTS, None])
    attributes = [_parameters(attribute, measured, rules, rows) for attribute in domain.attributes if rules.attributes]
    if weighted:
        attributes = [bounded(parameters, len(domain.classes)) for parameters in attributes]
    sums, steps = measured.get((WEIGHTED_COUNTS, None)), 0 if domain.weight is None else domain.weight.steps
    classes = postprocessing.priors(rows)
    population = None if sums is None else postprocessing.priors(_whole(sums), steps)
    if rules.private and not rules.truncated:
        sizes = postprocessing.class_sizes(domain, measured)
        classes = Priors(postprocessing.class_shares(sizes))
        if sums is not None and sums.share is not None:
            population = postprocessing.population_shares(classes.probability, sizes, _whole(sums), steps, sums.share)
    return Made(classes, population, tuple(attributes))


def bounded(parameters: AttributeParameters, classes: int) -> AttributeParameters:
    """Bound the log-ratios of a normal attribute between two classes; others, and more classes, stay as they are.

    A log-ratio of normal distributions grows with the square of the distance, and one released variance that is far too
    small lets a few values outvote all other attributes, whatever their weights. Tables and histograms have no tails to
    go wrong: their counts say how much a cell can tell.
    """
    if classes != 2 or not isinstance(parameters, Normal):
        return parameters
    return replace(parameters, bound=LARGEST_LOG_RATIO)


def _parameters(
    attribute: Attribute, measured: Mapping[Key, Measurement], rules: MechanismRecord, classes: Sequence[int]
) -> AttributeParameters:
    """Make the parameters of one attribute."""
    name = attribute.name
    if isinstance(attribute, Categorical):
        return _table(attribute, measured[COUNTS, name], rules, classes)
    asked = measured.get((PRESENCE, name))
    sizes = [present for present, *_ in asked.counts] if asked else list(classes)
    presence = _presence(attribute, asked, rules, classes)
    if rules.binned:
        return _histogram(attribute, measured, sizes, presence)
    means, spreads = (measured[query, name] for query in rules.moments)
    public = sizes if spreads.share is None else list(map(sample_size, sizes))
    normal: Normal = rules.normals(attribute, means.column, spreads.column, public, spreads.share)
    return replace(normal, presence=presence)


def _table(attribute: Categorical, measured: Measurement, rules: MechanismRecord, classes: Sequence[int]) -> Table:
    if rules.truncated:
        return postprocessing.truncated_table(attribute, measured.counts)
    return postprocessing.table(attribute, measured.counts, classes, _prior(measured))


def _presence(
    attribute: Numeric, measured: Measurement | None, rules: MechanismRecord, classes: Sequence[int]
) -> Presence | None:
    """Make the probabilities of having a value; None where there is no query about it."""
    if measured is None or (not rules.private and attribute.missing is not Missing.CATEGORY):
        return None
    if rules.truncated:
        return postprocessing.truncated_presence(measured.counts)
    return postprocessing.presence(measured.counts, classes, _prior(measured))


def _histogram(
    attribute: Numeric, measured: Mapping[Key, Measurement], sizes: Sequence[int], presence: Presence | None
) -> Histogram:
    """Make a histogram over bins that the declaration, or what was measured of them, places."""
    counted = measured[COUNTS, attribute.name]
    assert counted.share is not None
    edges = bin_edges(attribute, sizes, counted.share, measured)
    bins = postprocessing.histogram(attribute, edges, counted.counts, sizes, _prior(counted))
    return replace(bins, presence=presence)


def _whole(measured: Measurement) -> list[int]:
    """Return the number of each class."""
    return list(map(int, measured.column))


def _prior(measured: Measurement) -> Fraction:
    """Choose what is added to each count of a table."""
    assert measured.share is not None
    return cell_prior(measured.share)
