"""What a model says about codes: log-likelihoods by the formulas of ``dpnb_columnar.model.terms``, on arrays of codes.

Models are compared on made-up codes here, without rows, frames or an engine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.domain import Attribute, Numeric
from dpnb_columnar.domain.scaling import scale_codes
from dpnb_columnar.model.likelihood import log_normalisation
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, Normal, Table

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def log_likelihoods(attribute: Attribute, parameters: AttributeParameters, codes: Integers) -> Floats:
    """Log-likelihood of every code within every class, up to a number common to all of them.

    Args:
        attribute: The attribute as declared.
        parameters: Its parameters.
        codes: Shape (values,), int64: grid codes or category codes.

    Returns:
        Shape (classes, values).
    """
    if isinstance(parameters, Table):
        found: Floats = np.log(parameters.probability)[:, codes]
        return found
    assert isinstance(attribute, Numeric)
    scaled = scale_codes(attribute, codes)
    if isinstance(parameters, Histogram):
        density = np.log(parameters.probability) - np.log(np.diff(parameters.edges))
        found = density[:, np.searchsorted(parameters.edges, scaled, side="right") - 1]
        return found
    return _normal(attribute, parameters, scaled)


def _normal(attribute: Numeric, parameters: Normal, scaled: Integers) -> Floats:
    scale = attribute.scale
    values = scale.origin + scale.step * scaled
    classes = zip(parameters.mean, parameters.deviation, strict=True)
    return np.stack(
        [
            log_normalisation(mean, deviation, scale.origin, scale.end) - ((values - mean) / deviation) ** 2 / 2
            for mean, deviation in classes
        ]
    )
