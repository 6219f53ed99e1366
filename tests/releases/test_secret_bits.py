"""Noise comes from the operating system wherever no sampler is given, through every door of the Python interface."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy.random  # here, since it takes bits of the system's when it is first imported
import polars as pl
import pytest
from support.people import PEOPLE, people_domain

import dpnb_columnar as dpnb
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.noise import ExactSampler, PolyPlace, SystemBits
from dpnb_columnar.domain import Domain
from dpnb_columnar.evaluation.released_scores import scores_document
from dpnb_columnar.model.document import to_document

pytestmark = pytest.mark.system_bits

ROWS = pl.DataFrame(
    {
        "age": [20 + 7 * row % 60 for row in range(300)],
        "hours": [row % 50 for row in range(300)],
        "sex": ["fm"[row // 3 % 2] for row in range(300)],
        "income": ["high" if row % 50 > 30 else "low" for row in range(300)],
    }
)
THREE = {**PEOPLE, "label": {"column": "income", "classes": ["low", "high", "none"]}}


class System:
    """Stands in for the operating system's generator: a repeatable stream, and how often it was asked."""

    def __init__(self, key: str) -> None:
        self.key, self.calls = key, 0

    def __call__(self, size: int) -> bytes:
        self.calls += 1
        return hashlib.shake_256(f"{self.key} {self.calls}".encode()).digest(size)


@contextmanager
def system(key: str) -> Iterator[System]:
    """Within the block, ``secrets`` reads another stream than the operating system's: ``os.urandom`` as it knows it."""
    stream = System(key)
    with patch.object(random, "_urandom", stream):
        yield stream


def domain(weights: str = "none") -> Domain:
    return people_domain(THREE if weights == "calibrated of three" else PEOPLE)


def trained(weights: str) -> tuple[Any, int]:
    """A model's document, and the number of values in it that are drawn."""
    model = dpnb.train(
        ROWS, epsilon=2, domain=domain(weights), mechanism="global", attribute_weights=weights.split()[0]
    )
    return to_document(model), sum(share.values for share in model.guarantee.composition)


def released() -> tuple[Any, int]:
    model = dpnb.release(dpnb.aggregate(ROWS, domain=domain()), epsilon=2, mechanism="global", attribute_weights="none")
    return to_document(model), sum(share.values for share in model.guarantee.composition)


def fixed_model(weights: str) -> Model:
    """A model, which may wait for its weights, made with other bits than the stream's."""
    with system("of the model"):
        return dpnb.release(
            dpnb.aggregate(ROWS, domain=domain()), epsilon=2, mechanism="histogram", attribute_weights=weights
        )


def completed() -> tuple[Any, int]:
    model = fixed_model("calibrated")
    assert model.guarantee.reserved is not None
    return to_document(dpnb.calibrate(model, dpnb.count_given(ROWS, model))), model.guarantee.reserved.values


def scored() -> tuple[Any, int]:
    model = fixed_model("none")
    scores = dpnb.release_scores(model, ROWS, epsilon=1)
    return scores_document(scores), sum(map(len, scores.counts))


DOORS: dict[str, Callable[[], tuple[Any, int]]] = {
    "train": lambda: trained("none"),
    "train, calibrated": lambda: trained("calibrated"),
    "train, learned": lambda: trained("learned"),
    "train, three classes": lambda: trained("calibrated of three"),
    "release": released,
    "calibrate": completed,
    "release_scores": scored,
}


@pytest.mark.parametrize("door", DOORS)
def test_a_release_is_decided_by_the_systems_bits_alone(door: str) -> None:
    """Catches: noise of a Mersenne twister, seeded or not, in any place where a sampler is made.

    With the same bits from the system a release is the same, with others it is another one, and every value takes a
    sign and 64 bits of them: two calls.
    """
    found = []
    for key in ("one", "one", "two"):
        with system(key) as stream:
            found.append(DOORS[door]()[0])
            asked = stream.calls
    again, other = found[1], found[2]
    assert found[0] == again != other
    assert again["guarantee"]["seeded"] is False
    with system("one") as stream:
        values = DOORS[door]()[1]
    assert asked >= 2 * values > 0


def test_system_bits_are_those_of_secrets() -> None:
    """Catches: ``SystemBits`` that draw from any other generator, or fewer bits than asked for."""
    with patch("secrets.randbits", side_effect=lambda count: 2**count - 1) as randbits:
        assert [SystemBits()(count) for count in (1, 64, 128)] == [1, 2**64 - 1, 2**128 - 1]
    assert [call.args for call in randbits.call_args_list] == [(1,), (64,), (128,)]


def test_nobody_can_repeat_a_draw_by_seeding() -> None:
    """Catches: a draw that follows Python's or NumPy's seed."""
    draw, drawn = ExactSampler(SystemBits()), set()
    for _ in range(8):
        random.seed(1)
        numpy.random.seed(1)
        drawn.add(draw(Fraction(0), Fraction(1), PolyPlace(Fraction(1), Fraction(1, 3)), 40))
    assert len(drawn) == 8
    assert draw.private
