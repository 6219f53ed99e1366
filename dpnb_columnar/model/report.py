"""A model's guarantee in words."""

from __future__ import annotations

from dpnb_columnar.budget import Neighbours
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.model.parameters import Guarantee

RELATIONS = {
    Neighbours.ADD_REMOVE: "one row added or removed",
    Neighbours.REPLACE_ONE: "one row changed, its class included",
}

DRAWN_AS = {
    "released_deviation": "standard deviation",
    "released_square": "mean of squares, of distances from the lower end of its scale",
}
"""What the spread of a numeric attribute was drawn as where it was not as a variance, by the name in ``SPREADS``."""


def statement(guarantee: Guarantee) -> str:
    """What the model promises about any one row, in one or two sentences."""
    if guarantee.epsilon is None or guarantee.neighbours is None:
        return (
            f"NO GUARANTEE: mechanism {guarantee.mechanism} protects nobody. "
            "Keep this model as confidential as the rows."
        )
    if guarantee.seeded:
        return "NO GUARANTEE: the noise came from a seed and can be subtracted. For tests only."
    noise = f", noise {guarantee.noise}" if guarantee.noise else ""
    epsilon = number_text(guarantee.epsilon)
    amount, exception = epsilon, ""
    if guarantee.delta:
        delta = number_text(guarantee.delta)
        amount, exception = f"({epsilon}, {delta})", f", a probability of {delta} aside"
    accounting = "" if guarantee.rho is None else f" Accounted as {number_text(guarantee.rho)}-zCDP, which implies it."
    return (
        f"{amount}-differentially private for {RELATIONS[guarantee.neighbours]}: no such change makes any "
        f"outcome more than exp({epsilon}) times as likely{exception}. Mechanism {guarantee.mechanism}{noise}."
        f"{accounting}"
    )
