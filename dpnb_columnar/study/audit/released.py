"""A model as named numbers: everything that its receiver can look at."""

from __future__ import annotations

from collections.abc import Iterator

from dpnb_columnar.model.model import Model
from dpnb_columnar.model.parameters import Normal


def numbers(model: Model) -> dict[str, float]:
    """Every released number and every parameter made of them, by a name."""
    return dict(_numbers(model))


def drawn(name: str) -> bool:
    """Whether a number was drawn, rather than made of drawn ones."""
    return not name.endswith("*")


def _numbers(model: Model) -> Iterator[tuple[str, float]]:
    for klass, (count, prior) in enumerate(zip(model.classes.released, model.classes.probability, strict=True)):
        yield f"count of class {klass}", count
        yield f"prior of class {klass} *", prior
    for parameters in model.attributes:
        name = parameters.attribute
        if isinstance(parameters, Normal):
            for field, drawn_numbers in (("released_mean", parameters.released_mean), parameters.released_spread):
                for klass, number in enumerate(drawn_numbers):
                    yield f"{field} of {name}, class {klass}", number
            for field in ("mean", "deviation"):
                for klass, number in enumerate(getattr(parameters, field)):
                    yield f"{field} of {name}, class {klass} *", number
            continue
        for klass, (counts, shares) in enumerate(zip(parameters.released, parameters.probability, strict=True)):
            for cell, (count, share) in enumerate(zip(counts, shares, strict=True)):
                yield f"count of {name} {cell}, class {klass}", count
                yield f"probability of {name} {cell}, class {klass} *", share
