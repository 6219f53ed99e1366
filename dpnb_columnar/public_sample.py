"""Learn attribute weights from a public file: logistic regression on the log-ratios of its own tables.

The tables are those that the mechanism would release of the public rows, were there no noise; naive Bayes on them with
the learned weights is the public model, which ``evaluate`` scores beside the released one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.budget import Budget
from dpnb_columnar.counting.public_file import PublicFile, PublicRows, open_public_file, reopen_public_file
from dpnb_columnar.counting.scores import UNITS
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.mechanisms.attribute_weights import bounded
from dpnb_columnar.mechanisms.log_ratios import model_log_ratios
from dpnb_columnar.mechanisms.model_release import release
from dpnb_columnar.mechanisms.public_weights import LEAST_WEIGHT, PublicWeights
from dpnb_columnar.mechanisms.release_plan import plan
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.parameters import PublicSource
from dpnb_columnar.noise import NoiseFamily

FEWEST_PER_ATTRIBUTE = 10
"""Public rows of the smallest class for each attribute: the usual rule for a logistic regression."""

FEWEST_ROWS = 100
"""Public rows of a class, however few the attributes."""

TABLES = Budget(Fraction(1))
"""The budget for which the public tables' bins, trims and smoothing are chosen; no noise is drawn."""

RIDGE = 5.0
"""Half of the square of each weight costs this much log-likelihood: copies of an attribute share its weight, and one
whose log-ratios are chance alone gets none."""

BOUNDS = (0.0, 2.0)
"""Least and largest weight. Below zero an attribute would say the opposite of what its table says."""

DIGITS = 3
"""Digits of weights and shift behind the point."""


def weights_chosen(
    value: str | os.PathLike[str],
    domain: Domain,
    mechanism: str,
    inputs: Sequence[Path] = (),
    label: str | None = None,
    parts: Collection[str] = (),
) -> str | PublicWeights:
    """Return the way to weight attributes that an option names; of a Parquet file, the weights learned from it.

    Args:
        value: Name of a way, or the path of a file of public rows, which ends in ``.parquet``.
        domain: The domain of the release.
        mechanism: Name of the mechanism.
        inputs: Files of confidential rows, which are not public.
        label: What to predict, where that was named.
        parts: Digests of the files that statistics have counted.

    Raises:
        UsageError: if there are other than two classes, or if the mechanism releases no attribute with noise.
        dpnb_columnar.errors.Error: if the file does not do, as ``open_public_file`` and ``learned`` say.
    """
    path = public_path(value)
    if path is None:
        return str(value)
    if len(domain.classes) != 2:
        raise UsageError(
            f"attribute weights: a public file is for two classes, and the domain declares {len(domain.classes)}; "
            "leave --attribute-weights out"
        )
    planned = plan(domain, TABLES, mechanism)
    if all(share.attribute is None for share in planned.shares):
        raise UsageError(
            "attribute weights: a public file is for mechanisms that release attributes with noise; choose another "
            "one, such as --mechanism histogram, or leave --attribute-weights out"
        )
    return learned(open_public_file(path, domain, label, inputs, parts), mechanism)


def public_path(value: str | os.PathLike[str]) -> Path | None:
    """Return the path of a public file, which a value of ``--attribute-weights`` may be; None for a name."""
    path = Path(str(value))
    return path if path.suffix.lower() == ".parquet" else None


def learned(public: PublicFile, mechanism: str) -> PublicWeights:
    """Learn weights from a public file: once to see which attributes tell something, and once more from these.

    Args:
        public: The file.
        mechanism: Name of the mechanism.

    Raises:
        DataError: if a class has too few rows, or if no attribute tells anything.
    """
    rows = public.read()
    _check_rows(public, rows.count(public.domain))
    every, _ = _crossed(rows, public.domain, public.domain, mechanism)
    kept = {name: weight for name, weight in every.items() if weight >= LEAST_WEIGHT}
    if not kept:
        raise DataError(
            f"public file {public.path}: no attribute of it has a weight of {LEAST_WEIGHT} or more, so nothing would "
            "be released; choose another way to weight attributes"
        )
    source = PublicSource(public.name, public.digest, tuple(name for name in every if name not in kept))
    found = PublicWeights(source, kept, 0.0)
    weights, shift = _crossed(rows, found.counted(public.domain), found.released(public.domain), mechanism)
    return replace(found, weights=weights, shift=shift)


def model_beside(model: Model, path: Path) -> Model:
    """Make the public model beside a released one: the public rows' tables without noise, with the released weights.

    Args:
        model: A released model.
        path: The public file that its weights were learned from.

    Raises:
        UsageError: if its weights were learned from no public file, or from another one.
        dpnb_columnar.errors.Error: if the file cannot be read.
    """
    source = None if model.attribute_weights is None else model.attribute_weights.source
    if source is None:
        raise UsageError(
            "public: the model's attribute weights were learned from no public file, so there is no public model to "
            "compare it with; leave --public out"
        )
    public = reopen_public_file(path, model.domain, source.name, source.digest)
    attributes = tuple(model.domain[each.attribute] for each in model.attributes)
    released = replace(model.domain, attributes=attributes)
    alone = without_noise(public.count(model.domain), released, model.guarantee.mechanism)
    return replace(alone, attribute_weights=model.attribute_weights)


class NoNoise:
    """A sampler that adds no noise: it is for public rows alone."""

    private = False

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        """Round the location to the grid."""
        return Fraction(round(location * 2**grid_bits), 2**grid_bits)


def _check_rows(public: PublicFile, statistics: Statistics) -> None:
    """Refuse a file of few rows.

    Raises:
        DataError: if a class has too few rows.
    """
    domain = statistics.domain
    fewest = max(FEWEST_ROWS, FEWEST_PER_ATTRIBUTE * len(domain.attributes))
    for name, rows in zip(domain.classes, statistics.class_counts, strict=True):
        if rows < fewest:
            raise DataError(
                f"public file {public.path}: has {rows} rows of class {name!r} that count; weights of "
                f"{len(domain.attributes)} attributes take {fewest} of each class: give a larger sample"
            )


def without_noise(statistics: Statistics, released: Domain, mechanism: str) -> Model:
    """Make the model that a mechanism would release of public rows, were there no noise.

    Args:
        statistics: Counts of public rows.
        released: Their domain without the attributes that are not released.
        mechanism: Name of the mechanism.
    """
    model = Model.of(release(statistics.only(released), plan(released, TABLES, mechanism), NoNoise()))
    attributes = tuple(bounded(parameters, len(released.classes)) for parameters in model.attributes)
    return replace(model, domain=statistics.domain, attributes=attributes)


def _crossed(rows: PublicRows, domain: Domain, released: Domain, mechanism: str) -> tuple[dict[str, float], float]:
    """Fit the weights of attributes, and the shift of the log-odds, to the public rows.

    A fold's log-ratios are those of the tables of all other rows. On the rows that a table was made of, even an
    attribute that tells nothing seems to tell something.

    Args:
        rows: The public rows.
        domain: The domain that they are counted in.
        released: The same without the attributes that are not released.
        mechanism: Name of the mechanism.
    """
    whole, ratios, classes, odds = rows.count(domain), [], [], []
    for fold in rows.folds():
        model = without_noise(whole - fold.count(domain), released, mechanism)
        tables = [table for each in model_log_ratios(model) for table in each.tables()]
        true, units = fold.scores(domain, tables)
        first, second = map(math.log, model.classes.probability)
        ratios.append(units / UNITS)
        classes.append(true)
        odds.append(np.full(len(true), second - first))
    weights, shift = fitted(np.concatenate(ratios), np.concatenate(classes), np.concatenate(odds))
    names = [attribute.name for attribute in released.attributes]
    return {name: round(float(weight), DIGITS) for name, weight in zip(names, weights, strict=True)}, shift


def fitted(
    ratios: NDArray[np.float64], classes: NDArray[np.int64], log_odds: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Fit a logistic regression of the class on log-ratios, with a little ridge.

    Args:
        ratios: Shape (rows, attributes): log-ratios log P(x_i|1) - log P(x_i|0).
        classes: Shape (rows,): 0 or 1.
        log_odds: Shape (rows,): log-odds that the shift is added to.

    Returns:
        Weights, shape (attributes,), and the shift, rounded.
    """
    from scipy.optimize import minimize

    signs = 2.0 * classes - 1

    def loss(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Compute the penalised loss and its gradient."""
        weights, shift = point[:-1], point[-1]
        margins = signs * (ratios @ weights + shift + log_odds)
        # The derivative of log(1 + exp(-m)) is -1 / (1 + exp(m)) = -exp(-log(1 + exp(m))).
        slopes = -signs * np.exp(-np.logaddexp(0, margins))
        gradient = np.append(slopes @ ratios + RIDGE * weights, slopes.sum())
        return float(np.logaddexp(0, -margins).sum() + RIDGE * weights @ weights / 2), gradient

    size = ratios.shape[1]
    start = np.append(np.full(size, size**-0.25), 0.0)
    point = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[BOUNDS] * size + [(-5.0, 5.0)]).x
    return point[:-1], round(float(point[-1]), DIGITS)
