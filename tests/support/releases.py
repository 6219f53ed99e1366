"""Releases in one call."""

from __future__ import annotations

from dpnb_columnar import training
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.mechanisms.later import draw_margins
from dpnb_columnar.core.noise import ExactSampler, Sampler, SystemBits
from dpnb_columnar.core.queries.scores import ScoreCounts
from dpnb_columnar.core.queries.statistics import Statistics
from dpnb_columnar.counting.countable import Rows
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.model.score_calibration import margins_given
from dpnb_columnar.releases.attribute_weights import PublicWeights
from dpnb_columnar.releases.model_plan import ReleasePlan, release
from dpnb_columnar.releases.plan import plan


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


def release_weights(planned: ReleasePlan, counts: ScoreCounts, draw: Sampler) -> NaiveBayes:
    """Carry out the second release of a plan that has a model given, on exact counts."""
    assert planned.given is not None
    assert planned.calibration is not None
    measured = draw_margins(margins_given(planned.given), planned.calibration, counts, draw)
    return planned.calibrated(planned.given, measured, seeded=not draw.private)


def train(planned: ReleasePlan, rows: Rows, draw: Sampler | None = None) -> Model:
    """Carry out a planned release of a model, as the Python interface does."""
    return Model.of(training.carry_out(planned, rows, draw=draw))
