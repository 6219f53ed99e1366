"""What a model holds and guarantees: the documented keys, shares that add up, no exact number, no seed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest
from support.edited_documents import numbers
from support.mechanisms import MECHANISMS
from support.released_models import AGE_COUNTS, CLASS_COUNTS, JOB_COUNTS, MODELS, WAGE_COUNTS, released

from dpnb_columnar.api import load_model
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Pure, total
from dpnb_columnar.core.budget.composition import row_effect
from dpnb_columnar.core.budget.costs import group_cost_within
from dpnb_columnar.core.noise import ExactSampler, SeededBits
from dpnb_columnar.model.document import to_document
from dpnb_columnar.model.guarantee_text import statement
from dpnb_columnar.model.model_files import save_model
from dpnb_columnar.papers.release_sheet import guarantee_in_words
from dpnb_columnar.releases.model_plan import LIBRARIES


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Model:
    return MODELS[request.param]


# What a model holds, and what not.

MEASUREMENT_KEYS = {"query", "attribute", "values", "noise", "scale", "share"}
SHARE_KEYS = {"composition", "epsilon", "row_epsilon"}
KEYS: Mapping[str, set[str]] = {
    "": {"format", "version", "software", "guarantee", "domain", "measurements", "classes", "attributes"},
    "software": {"dpnb-columnar", *LIBRARIES},
    "guarantee": {"private", "mechanism", "noise", "epsilon", "delta", "neighbours", "seeded"},
    "domain": {"name", "label", "attributes"},
    "classes": {"probability"},
}
PARAMETER_KEYS = {
    "normal": {"kind", "mean", "deviation"},
    "table": {"kind", "probability"},
    "histogram": {"kind", "edges", "probability"},
}


def test_a_document_has_exactly_the_documented_keys(model: Model) -> None:
    document = to_document(model)
    for place, keys in KEYS.items():
        assert set(document[place] if place else document) == keys
    for measured in document["measurements"]:
        assert set(measured) == MEASUREMENT_KEYS
        assert measured["share"] is None or set(measured["share"]) == SHARE_KEYS
    for body in document["attributes"].values():
        assert set(body) == PARAMETER_KEYS[body["kind"]]


def exact_numbers() -> dict[str, float]:
    """Counts and moments of the rows that no released file may hold."""
    tables = {"age": AGE_COUNTS, "wage": WAGE_COUNTS, "job": JOB_COUNTS}
    found: dict[str, float] = {f"class {klass}": count for klass, count in enumerate(CLASS_COUNTS)}
    found |= {
        f"{name} {code} {k}": pair[k] for name, rows in tables.items() for code, pair in rows.items() for k in (0, 1)
    }
    for klass in (0, 1):
        size = CLASS_COUNTS[klass]
        mean = Fraction(sum(code * pair[klass] for code, pair in AGE_COUNTS.items()), size)
        variance = sum(pair[klass] * (code - mean) ** 2 for code, pair in AGE_COUNTS.items()) / size
        found |= {f"mean {klass}": float(mean), f"variance {klass}": float(variance)}
    return found


@pytest.mark.parametrize("mechanism", [name for name in MECHANISMS if MECHANISMS[name].private])
@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_a_private_model_holds_no_exact_number(mechanism: str, suffix: str, tmp_path: Path) -> None:
    # So small a share gives counts noise of some thousands: an exact one comes out once in ten thousand draws.
    model = released(mechanism, epsilon=Fraction(1, 1000), draw=ExactSampler(SeededBits(20)))
    path = tmp_path / f"model.{suffix}"
    save_model(model, path)
    content = path.read_bytes()
    held = {number for _, number in numbers(to_document(load_model(path)))}
    for name, number in exact_numbers().items():
        assert number not in held, name
        assert not re.search(rb"(?<![\d.])%s(?!\d)" % str(number).encode(), content) or number < 10_000, name


def test_the_search_for_exact_numbers_finds_them_where_they_are() -> None:
    held = {number for _, number in numbers(to_document(MODELS["none"])) if not isinstance(number, str)}
    assert {name for name, number in exact_numbers().items() if number in held} >= {"class 0", "class 1", "job 3 1"}
    assert any(abs(number - exact_numbers()["mean 0"]) < 1e-9 for number in held)


@pytest.mark.parametrize("name", ["seeded", "seeded histogram"])
@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_a_seeded_model_is_not_private_and_keeps_its_seed_to_itself(name: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"model.{suffix}"
    save_model(MODELS[name], path)
    assert b"8675309424242" not in path.read_bytes()
    guarantee = to_document(load_model(path))["guarantee"]
    assert guarantee["private"] is False
    assert guarantee["seeded"] is True
    assert statement(MODELS[name].guarantee).startswith("NO GUARANTEE: the noise came from a seed")


# The guarantee.


def test_the_shares_add_up_exactly(model: Model) -> None:
    guarantee = model.guarantee
    assert guarantee.private is (guarantee.epsilon is not None and not guarantee.seeded)
    assert total(guarantee.composition) == Pure(guarantee.epsilon or Fraction(0))
    for share in guarantee.composition:
        assert guarantee.neighbours is not None
        assert group_cost_within(share.row_cost, guarantee.neighbours.rows, share.cost, row_effect(share.query))


def test_the_guarantee_in_words() -> None:
    assert statement(MODELS["smooth"].guarantee) == (
        "0.5-differentially private for one row added or removed: no such change makes any outcome more than exp(0.5) "
        "times as likely. Mechanism smooth, noise polyplace."
    )
    assert statement(MODELS["replace-one"].guarantee) == (
        "1/3-differentially private for one row changed, its class included: no such change makes any outcome more "
        "than exp(1/3) times as likely. Mechanism smooth, noise polyplace."
    )
    assert statement(MODELS["histogram"].guarantee).endswith("times as likely. Mechanism histogram.")
    assert statement(MODELS["none"].guarantee) == (
        "NO GUARANTEE: mechanism none protects nobody. Keep this model as confidential as the rows."
    )
    approximate = replace(MODELS["smooth"].guarantee, delta=Fraction(1, 10**6))
    assert statement(approximate).startswith("(0.5, 0.000001)-differentially private for one row added")
    assert "as likely, a probability of 0.000001 aside. Mechanism" in statement(approximate)


@pytest.mark.parametrize(
    ("epsilon", "times"),
    [("1/100", "1.02"), ("1/10", "1.11"), ("1/5", "1.23"), ("1", "2.72"), ("3", "20.1"), ("10", "22100")],
)
def test_the_bound_in_words_is_rounded_up_and_by_less_than_a_hundredth(epsilon: str, times: str) -> None:
    exact = mpmath.exp(mpmath.mpf(Fraction(epsilon).numerator) / Fraction(epsilon).denominator)
    assert exact <= mpmath.mpf(times) < exact * mpmath.mpf("1.01")
    guarantee = replace(MODELS["smooth"].guarantee, epsilon=Fraction(epsilon), seeded=False)
    assert f"are at most {times} times as likely to conclude it" in guarantee_in_words(guarantee)


@pytest.mark.parametrize("suffix", ["json", "parquet"])
@pytest.mark.parametrize(("name", "readable"), [("smooth", True), ("none", False), ("seeded", False)])
def test_a_model_without_a_guarantee_is_readable_by_the_owner_alone(
    name: str, readable: bool, suffix: str, tmp_path: Path
) -> None:
    data = MODELS["none"]
    guarantees = {name: model.guarantee for name, model in MODELS.items()}
    private = replace(guarantees["smooth"], seeded=False)
    guarantee = {"smooth": private, "none": guarantees["none"], "seeded": replace(private, seeded=True)}[name]
    path = tmp_path / f"model.{suffix}"
    save_model(replace(data, guarantee=guarantee), path)
    assert bool(path.stat().st_mode & 0o077) == readable
