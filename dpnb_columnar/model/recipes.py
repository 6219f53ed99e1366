"""What is made of measurements: the parameters of a model. A pure function of public values.

The release makes parameters here, and whoever reads a model makes them again and compares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dpnb_columnar.core.measurement import CLASS_COUNTS, COUNTS, PRESENCE, WEIGHTED_COUNTS, Key, Measurement, by_key
from dpnb_columnar.core.mechanisms.bins import bin_edges
from dpnb_columnar.core.mechanisms.tuning import cell_prior, sample_size
from dpnb_columnar.domain import Attribute, Categorical, Domain, Missing
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


def parameters_of(
    domain: Domain, measurements: Sequence[Measurement], rules: MechanismRecord, *, weighted: bool
) -> tuple[Priors, Priors | None, tuple[AttributeParameters, ...]]:
    """Make the priors, those by sums of weights, if any, and the parameters of attributes of the first pass.

    Where attributes have weights (``weighted``), the log-ratios of normal distributions are bounded.
    """
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
    return classes, population, tuple(attributes)


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
        return Table(name, _probabilities(measured[COUNTS, name], rules, classes))
    asked = measured.get((PRESENCE, name))
    sizes = [present for present, *_ in asked.counts] if asked else list(classes)
    presence = None
    if asked is not None and (rules.private or attribute.missing is Missing.CATEGORY):
        presence = Presence(_probabilities(asked, rules, classes))
    if rules.binned:
        counted = measured[COUNTS, name]
        assert counted.share is not None
        edges = tuple(bin_edges(attribute, sizes, counted.share, measured))
        return Histogram(name, edges, _probabilities(counted, rules, sizes), presence)
    means, spreads = (measured[query, name] for query in rules.moments)
    public = sizes if spreads.share is None else list(map(sample_size, sizes))
    normal: Normal = rules.normals(attribute, means.column, spreads.column, public, spreads.share)
    return replace(normal, presence=presence)


def _probabilities(
    measured: Measurement, rules: MechanismRecord, sizes: Sequence[int]
) -> tuple[tuple[float, ...], ...]:
    """Make the probabilities of the cells of a table within each class."""
    if rules.truncated:
        return postprocessing.truncated(measured.counts)
    assert measured.share is not None
    return postprocessing.probabilities(measured.counts, sizes, cell_prior(measured.share))


def _whole(measured: Measurement) -> list[int]:
    """Return the number of each class."""
    return list(map(int, measured.column))
