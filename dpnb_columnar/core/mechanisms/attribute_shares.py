"""Shares by size: the part of the budget that all attributes have together, divided by the number of their cells.

An attribute of K_i cells whose counts have noise of scale 1/e_i has a log-ratio with an error whose variance grows with
K_i / e_i^2, and w_i times that error enters the score, where w_i is the attribute's weight. Of all divisions of one sum
of e_i, the sum of w_i^2 K_i / e_i^2 is least where its derivatives, -2 w_i^2 K_i / e_i^3, are equal: where e_i is in
proportion to (w_i^2 K_i)^(1/3). Without public weights every w_i is 1.

Weights, domain and mechanism are public facts, and nothing else enters: the division costs nothing, as any other that
is chosen before a row is read (docs/privacy.md, Lemmas 2.3 and 7.2).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from dpnb_columnar.core.budget import Request
from dpnb_columnar.core.mechanisms.mechanism import PRESENCE
from dpnb_columnar.domain import Attribute, Categorical, Domain

NUMERIC_CELLS = 40
"""Cells of a numeric attribute, if its scale has as many: the bins that histograms of censuses come to."""

PARTS = 1000
"""Cube roots are taken in whole parts of this size, so that shares have few digits."""


def divide_by_size(
    requests: Sequence[Request], domain: Domain, weights: Mapping[str, float] | None = None
) -> list[Request]:
    """Divide anew what the tables and moments of all attributes are given together; other queries keep theirs.

    Several queries of one attribute divide its part as they did before.

    Args:
        weights: Public weights of these attributes, each above 0; None where all count alike.
    """
    names = [sized_attribute(each) for each in requests]
    sums: dict[str, Fraction] = defaultdict(Fraction)
    for each, name in zip(requests, names, strict=True):
        if name is not None:
            sums[name] += each.weight
    parts = {name: _cube_root(cells(domain[name]), 1.0 if weights is None else weights[name]) for name in sums}
    whole, all_parts = sum(sums.values(), Fraction(0)), sum(parts.values())
    return [
        each if name is None else replace(each, weight=each.weight / sums[name] * whole * parts[name] / all_parts)
        for each, name in zip(requests, names, strict=True)
    ]


def sized_attribute(request: Request) -> str | None:
    """Return the attribute whose table, bins or moments a query is for; None for class counts and values present."""
    return None if request.query == PRESENCE else request.attribute


def cells(attribute: Attribute) -> int:
    """Count the cells that an attribute's share is for: categories, a missing one included, or bins."""
    return attribute.size if isinstance(attribute, Categorical) else min(attribute.scale.cells + 1, NUMERIC_CELLS)


def _cube_root(size: int, weight: float) -> int:
    """Compute (w^2 K)^(1/3) in whole parts, at least one."""
    return max(round(PARTS * math.cbrt(weight**2 * size)), 1)
