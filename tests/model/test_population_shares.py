"""The prior of the population is drawn towards that of the rows as far as noise hides what weights change."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from support.releases import plan_and_release
from support.weights import weighted_domain, weighted_people

import dpnb_columnar as dpnb
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, Pure
from dpnb_columnar.core.mechanisms.mechanism import WEIGHTED_COUNTS
from dpnb_columnar.core.mechanisms.plan import plan
from dpnb_columnar.core.noise import ExactSampler, SeededBits
from dpnb_columnar.errors import DataError
from dpnb_columnar.model.document import to_document
from dpnb_columnar.model.document_reader import read_document
from dpnb_columnar.model.postprocessing import USUAL_TILT, ClassSizes, class_counts, population_shares

DRAWS = 400
ROWS = 20_000
MEAN = 100
"""Mean weight of a row."""

PRIORS = (0.5, 0.25, 0.03)
TILTS = (0.0, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.6, 1.5)
"""Of the log-odds of the second class."""

CAPS = ((100, 0.1), (400, 0.05), (400, 0.01), (1000, 0.02), (1000, 0.002))
"""The most that one row weighs, with the epsilon of the sums."""


SUMS = next(each for each in plan(weighted_domain(), Budget(Fraction(1))).shares if each.query == WEIGHTED_COUNTS)


def squared_errors(prior: float, tilt: float, cap: int, epsilon: float) -> tuple[float, float, float]:
    """Mean squared errors of the second class's prior: of rows; of weights, and of both, three deviations aside."""
    generator = np.random.default_rng(7)
    odds = prior / (1 - prior) * math.exp(tilt)
    truth = odds / (1 + odds)
    sums = np.array([1 - truth, truth]) * ROWS * MEAN
    noise = generator.laplace(scale=cap / epsilon, size=(DRAWS, 2))
    sizes = ClassSizes(((1 - prior) * ROWS, prior * ROWS), 1.0)
    share = replace(SUMS, row_cost=Pure(Fraction(str(epsilon))))
    errors = []
    for drawn in np.rint(sums + noise).astype(int).tolist():
        alone = class_counts(drawn, cap)
        both = population_shares((1 - prior, prior), sizes, alone, cap, share)
        assert math.fsum(both) == pytest.approx(1)
        assert min(both) > 0
        errors.append([alone.probability[1] - truth, both[1] - truth])
    squared = np.array(errors) ** 2
    off = 3 * squared.std(axis=0) / math.sqrt(DRAWS)
    return (prior - truth) ** 2, float(squared[:, 0].mean() + off[0]), float(squared[:, 1].mean() - off[1])


@pytest.mark.slow
@pytest.mark.parametrize("prior", PRIORS)
def test_a_weight_makes_no_prior_worse_than_that_of_the_rows(prior: float) -> None:
    """At the usual tilt and above not at all, below by half of its square; up to three, 2.5 times that of weights."""
    usual = (USUAL_TILT * prior * (1 - prior)) ** 2
    for tilt, (cap, epsilon) in product(TILTS, CAPS):
        rows, weights, both = squared_errors(prior, tilt, cap, epsilon)
        spare = usual / 2 if tilt < USUAL_TILT else 0.1 * usual  # the shares of a tilt are not quite linear in it
        assert both <= rows + spare, (tilt, cap, epsilon)
        if tilt <= 3 * USUAL_TILT:
            assert both <= 2.5 * weights, (tilt, cap, epsilon)


def test_on_average_over_usual_tilts_both_priors_are_worse() -> None:
    """By rows and by weights alone, where each of them is about as good as the other."""
    found = np.mean([squared_errors(0.3, sign * USUAL_TILT, 400, 0.01) for sign in (-1, 1)], axis=0)
    rows, weights, both = found
    assert 0.5 < rows / weights < 2
    assert both < 0.8 * min(rows, weights)


def test_a_difference_beyond_all_noise_is_kept_and_one_within_it_is_not() -> None:
    sizes = ClassSizes((500.0, 500.0), 1.0)

    def moved(epsilon: int | str, sums: list[int]) -> float:
        share = replace(SUMS, row_cost=Pure(Fraction(epsilon)))
        return population_shares((0.5, 0.5), sizes, class_counts(sums, 400), 400, share)[1]

    assert moved(10, [200_000, 800_000]) == pytest.approx(0.8, abs=1e-3)
    assert moved("0.01", [200_000, 800_000]) == pytest.approx(0.794, abs=5e-3)  # noise of .04, a usual tilt of .025
    assert moved("0.01", [20_000, 80_000]) == pytest.approx(0.5, abs=2e-3)
    assert moved("0.01", [-900, 80_000]) == pytest.approx(0.5, abs=2e-3)
    assert moved("0.01", [-900, -80_000]) == pytest.approx(0.5, abs=2e-3)


def test_a_rare_class_keeps_its_share_of_the_rows_where_a_large_one_is_moved() -> None:
    """Each class by its own noise: the sums say much of the large classes, and nothing of one in ten thousand."""
    shares, drawn = (0.6, 0.3999, 0.0001), [1_300_000, 700_000, 30_000]
    sizes, share = (
        ClassSizes(tuple(20_000 * each for each in shares), 1.0),
        replace(SUMS, row_cost=Pure(Fraction(1, 50))),
    )
    alone = class_counts(drawn, 400)
    found = population_shares(shares, sizes, alone, 400, share)
    assert found[0] == pytest.approx(0.645, abs=0.005)  # .6 by rows, .65 by weights
    assert found[2] < 0.00011 < 0.01 < alone.probability[2]


def test_the_noise_of_the_sums_decides_how_far_a_trained_model_follows_the_weights() -> None:
    rows = weighted_people()
    share = float((rows["income"] == "high").mean() or 0)
    much, little = (
        plan_and_release(
            dpnb.aggregate(rows, domain=weighted_domain()), Budget(epsilon), draw=ExactSampler(SeededBits(4))
        )
        for epsilon in (Fraction(1000), Fraction(1, 2))
    )
    persons = 200 * share / (200 * share + 20 * (1 - share))
    assert much.priors[1] == pytest.approx(persons, abs=0.01)
    alone = class_counts(little.weighted_classes.released if little.weighted_classes else (), 400).probability
    assert abs(little.priors[1] - little.classes.probability[1]) < 0.2 * abs(alone[1] - little.classes.probability[1])
    assert little.priors != little.classes.probability


def released() -> Model:
    statistics = dpnb.aggregate(weighted_people(), domain=weighted_domain())
    return plan_and_release(statistics, Budget(Fraction(5)), "histogram", draw=ExactSampler(SeededBits(4)))


def test_a_reader_computes_the_shares_of_weights_again() -> None:
    document = to_document(released())
    sums = document["weighted_classes"]
    assert read_document(document, "model.json").priors == tuple(sums["probability"])
    alone = list(class_counts(sums["released"], 400).probability)
    assert alone != pytest.approx(sums["probability"], abs=0.001)
    other = {**document, "weighted_classes": {**sums, "probability": alone}}
    with pytest.raises(DataError, match=r"weighted_classes\.probability\.0.*follows from the released values"):
        read_document(other, "model.json")


@pytest.mark.parametrize("mechanism", ["paper", "none"])
def test_what_truncates_and_nothing_else_has_the_shares_of_the_weights_alone(mechanism: str) -> None:
    model = plan_and_release(
        dpnb.aggregate(weighted_people(), domain=weighted_domain()),
        Budget(Fraction(1)),
        mechanism,
        draw=ExactSampler(SeededBits(4)),
    )
    assert model.weighted_classes is not None
    assert model.priors == class_counts(model.weighted_classes.released, 400).probability
    assert read_document(to_document(model), "model.json").priors == model.priors
