"""Releases in one call."""

from __future__ import annotations

from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.mechanisms.plan import plan
from dpnb_columnar.core.mechanisms.public_weights import PublicWeights
from dpnb_columnar.core.mechanisms.release import release
from dpnb_columnar.core.noise import ExactSampler, Sampler, SystemBits
from dpnb_columnar.core.queries.statistics import Statistics


def plan_and_release(
    statistics: Statistics,
    budget: Budget,
    mechanism: str = "smooth",
    noise: str | None = None,
    draw: Sampler = ExactSampler(SystemBits()),  # noqa: B008
    attribute_weights: str | PublicWeights = "none",
) -> Model:
    """Plan a release in the statistics' own domain, and carry it out."""
    planned = plan(statistics.domain, budget, mechanism, noise, attribute_weights)
    return Model.of(release(statistics.only(planned.domain), planned, draw))
