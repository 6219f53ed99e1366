"""What is made of measurements: the parameters of a model. A pure function of public values.

The release makes parameters here, and whoever reads a model makes them again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpnb_columnar.core.budget import Share
from dpnb_columnar.core.measurement import CLASS_COUNTS, COUNTS, PRESENCE, WEIGHTED_COUNTS, Key, Measurement, by_key
from dpnb_columnar.core.mechanisms.bins import PLACING_QUERIES, bin_edges, placed_by
from dpnb_columnar.core.mechanisms.tuning import cell_prior, sample_size
from dpnb_columnar.domain import Attribute, Categorical, Domain, Missing, Numeric
from dpnb_columnar.mechanisms import MechanismRecord
from dpnb_columnar.model import postprocessing
from dpnb_columnar.model.mechanism_rules import LARGEST_LOG_RATIO
from dpnb_columnar.model.parameters import AttributeParameters, ClassCounts, Histogram, Normal, Presence, Table


@dataclass(frozen=True, slots=True)
class Made:
    """The parameters that are made of the measurements of the first pass. Public.

    Attributes:
        classes: Class counts and priors.
        weighted: Sums of weights and their priors; None where the domain adds up nothing.
        attributes: Parameters per attribute, in declared order.
    """

    classes: ClassCounts
    weighted: ClassCounts | None
    attributes: tuple[AttributeParameters, ...]


def parameters_of(
    domain: Domain, measurements: Sequence[Measurement], rules: MechanismRecord, *, weighted: bool
) -> Made:
    """Make the parameters of a model of the measurements of a mechanism's first pass.

    Args:
        domain: The domain of the attributes that are released.
        rules: The mechanism that they were drawn by.
        weighted: Whether attributes have weights, so that the log-ratios of normal distributions are bounded.
    """
    measured = by_key(measurements)
    counts = postprocessing.class_counts(list(map(int, measured[CLASS_COUNTS, None].column)))
    attributes = [
        _parameters(attribute, measured, rules, counts) for attribute in domain.attributes if rules.attributes
    ]
    if weighted:
        attributes = [bounded(parameters, len(domain.classes)) for parameters in attributes]
    sums, steps = measured.get((WEIGHTED_COUNTS, None)), 0 if domain.weight is None else domain.weight.steps
    population = None if sums is None else postprocessing.class_counts(list(map(int, sums.column)), steps)
    if rules.private and not rules.truncated:
        shares = {each.key: each.share for each in measurements if each.share is not None}
        sizes = postprocessing.class_sizes(domain, counts.released, attributes, shares)
        counts = replace(counts, probability=postprocessing.class_shares(sizes))
        if population is not None:
            share = shares[WEIGHTED_COUNTS, None]
            priors = postprocessing.population_shares(counts.probability, sizes, population, steps, share)
            population = replace(population, probability=priors)
    return Made(counts, population, tuple(attributes))


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
    attribute: Attribute, measured: Mapping[Key, Measurement], rules: MechanismRecord, classes: ClassCounts
) -> AttributeParameters:
    """Make the parameters of one attribute."""
    name = attribute.name
    if isinstance(attribute, Categorical):
        return _table(attribute, measured[COUNTS, name], rules, classes)
    asked = measured.get((PRESENCE, name))
    sizes = [present for present, *_ in asked.counts] if asked else list(classes.released)
    presence = _presence(attribute, asked, rules, classes)
    if rules.binned:
        return _histogram(attribute, measured, sizes, presence)
    means, spreads = (measured[query, name] for query in rules.moments)
    public = sizes if spreads.share is None else list(map(sample_size, sizes))
    normal: Normal = rules.normals(attribute, means.column, spreads.column, public, spreads.share)
    return replace(normal, presence=presence)


def _table(attribute: Categorical, measured: Measurement, rules: MechanismRecord, classes: ClassCounts) -> Table:
    if rules.truncated:
        return postprocessing.truncated_table(attribute, measured.counts)
    return postprocessing.table(attribute, measured.counts, classes.released, _prior(measured))


def _presence(
    attribute: Numeric, measured: Measurement | None, rules: MechanismRecord, classes: ClassCounts
) -> Presence | None:
    """Make the probabilities of having a value; None where there is no query about it."""
    if measured is None or (not rules.private and attribute.missing is not Missing.CATEGORY):
        return None
    if rules.truncated:
        return postprocessing.truncated_presence(measured.counts)
    return postprocessing.presence(measured.counts, classes.released, _prior(measured))


def _histogram(
    attribute: Numeric, measured: Mapping[Key, Measurement], sizes: Sequence[int], presence: Presence | None
) -> Histogram:
    """Make a histogram over bins that the declaration, or what was measured of them, places."""
    name, counted = attribute.name, measured[COUNTS, attribute.name]
    shares: dict[Key, Share] = {key: each.share for key, each in measured.items() if each.share is not None}
    edges = bin_edges(attribute, sizes, shares, measured)
    bins = postprocessing.histogram(attribute, edges, counted.counts, sizes, _prior(counted))
    mean, variance = placed_by(attribute, measured) if (PLACING_QUERIES[0], name) in measured else (None, None)
    return replace(bins, presence=presence, released_mean=mean, released_variance=variance)


def _prior(measured: Measurement) -> Fraction:
    """Choose what is added to each count of a table."""
    assert measured.share is not None
    return cell_prior(measured.share)
