"""A model that contradicts itself is not read: parameters follow from the measurements beside them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.edited_documents import CASES, Place, declaration, edited, edits, parameter_numbers, released_case, rows
from support.golden_model import DELETED, changed
from support.model_cases import from_document

import dpnb_columnar as dpnb
from dpnb_columnar.api import load_model
from dpnb_columnar.core.budget import Approximate, Concentrated, Pure
from dpnb_columnar.core.budget.costs import concentrated_within
from dpnb_columnar.core.code_limits import LARGEST_SIZE
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family, smooth_noise
from dpnb_columnar.core.mechanisms.tuning import beta_of, sample_size, smoothness
from dpnb_columnar.domain import Unit
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.errors import DataError
from dpnb_columnar.mechanisms import OWN
from dpnb_columnar.model.document import InvalidPartError, Part, to_document
from dpnb_columnar.model.document_reader import read_guarantee
from dpnb_columnar.model.model_files import save_model
from dpnb_columnar.model.parameters import CALIBRATION_RANGES
from dpnb_columnar.model.score_calibration import planned_margins

Document = Mapping[str, Any]


@pytest.fixture(scope="module")
def document() -> Callable[[str], Any]:
    """Documents of the cases, with repeatable noise."""
    made: dict[str, Any] = {}

    def of(name: str) -> Any:
        if name not in made:
            with pytest.MonkeyPatch.context() as patch:
                made[name] = to_document(released_case(name, 1, patch))
        return made[name]

    return of


def is_refused(document: Any) -> bool:
    try:
        from_document(document, "x")
    except DataError:
        return True
    return False


# What is released is read, whatever it is.


@pytest.mark.parametrize("name", CASES)
def test_a_release_of_any_kind_is_read(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model = released_case(name, 2, monkeypatch)
    for path in (tmp_path / "x.json", tmp_path / "x.parquet"):
        save_model(model, path)
        assert load_model(path) == model


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_releases_with_other_noise_are_read(name: str) -> None:
    for _ in range(20):
        model = released_case(name)
        assert from_document(to_document(model), "x") == model


# One number changed: refused, but where the same parameters follow.

OVERSTATED = re.compile(r"guarantee (epsilon|delta)")
"""Of a concentrated release: a larger epsilon or delta than its rho implies is true as well."""


STEPS = {"learned": 2 / 256, "calibrated": 2e-3}
"""By how much fitted weights may differ from those that are made again: two of the steps that they are rounded to."""


def says_the_same(document: Document, place: Place, value: Any, new: Any) -> bool:
    """Whether a change leaves every parameter what it is, by what docs/privacy.md says of them."""
    if OVERSTATED.fullmatch(" ".join(map(str, place))):
        return "rho" in document["guarantee"] and Fraction(new) > Fraction(value)
    if place[0] == "attribute_weights":
        return abs(new - value) <= STEPS[document["attribute_weights"]["method"]]
    if "scale" in place:  # a scale of ten digits is the same with a quarter more
        return math.isclose(value, new)
    if place[0] != "measurements" or "values" not in place:
        return False
    mechanism, measured = document["guarantee"]["mechanism"], inside(document, place[:2])
    query, name = measured["query"], measured["attribute"]
    if query == "calibration counts" or "gradient" in query:  # what is fitted moves by less than a step
        return abs(new - value) <= max(3, 2e-6 * abs(value)) or (query != "weight gradient 1" and abs(value) < 40)
    if query in ("class counts", "weighted class counts"):
        return max(value, 0) == max(new, 0)
    body = document["attributes"][name]
    cells = getattr(from_document(document, "x").domain[str(name)], "scale", None)
    last = 0 if cells is None else cells.cells
    # Noise throughout: the attribute says nothing.
    widest = 0 if cells is None else cells.end - cells.origin
    nothing = body["kind"] == "normal" and body["deviation"] == [widest] * len(body["deviation"])
    if query in ("counts", "values present"):
        alone = query == "values present" and len(measured["values"][0]) == 1
        # Counts below zero count as zero. One number's share of itself is 1; it is the size of the sample, beside that.
        return max(value, 0) == max(new, 0) or (alone and (mechanism in ("paper", "none") or nothing))
    if abs(new - value) < 1e-8 * abs(value) or nothing:
        return True
    if body["kind"] == "histogram":  # what placed the bins moves no edge by very little, and is not used if it is noise
        moments = {
            each["query"]: each["values"][0][0] for each in document["measurements"] if each["attribute"] == name
        }
        wide = 2.5 * math.sqrt(max(moments["variance"], 0)) >= last
        beyond = query == "mean" and (max(value, new) <= 0 or min(value, new) >= last)
        noise = beyond or moments["variance"] <= 0 or (wide and (new > 0 or query == "mean"))
        return noise or abs(new - value) <= 1 or abs(new - value) <= 1e-3 * abs(value)
    if query == "mean" and not (0 < value < last or 0 < new < last):
        return (value > last) is (new > last)
    if mechanism == "paper":  # each class by itself: below rounding, or above the widest
        return min(max(value, 1 / 12), last**2) == min(max(new, 1 / 12), last**2)
    return False


def inside(document: Any, place: Place) -> Any:
    for step in place:
        document = document[step]
    return document


def check_edits(document: Document, places: list[tuple[Place, Any]], which: slice = slice(None)) -> int:
    """Every change of these numbers is refused, or says the same; returns how many were refused."""
    refused = 0
    for place, value in places:
        for new in edits(value)[which]:
            if new == value:
                continue
            if is_refused(edited(document, place, new)):
                refused += 1
            else:
                assert says_the_same(document, place, value, new), (place, value, new)
    return refused


def kinds_of(places: list[tuple[Place, Any]]) -> list[tuple[Place, Any]]:
    """A middle number of each field."""
    fields: dict[Place, list[tuple[Place, Any]]] = {}
    for place, value in places:
        fields.setdefault(tuple(step for step in place if isinstance(step, str)), []).append((place, value))
    return [numbers[len(numbers) // 2] for numbers in fields.values()]


@pytest.mark.parametrize("name", CASES)
def test_no_number_of_a_field_may_be_changed(name: str, document: Callable[[str], Any]) -> None:
    places = kinds_of(list(parameter_numbers(document(name))))
    assert check_edits(document(name), places, slice(2, 3)) >= 3


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.enumeration
@pytest.mark.parametrize("name", CASES)
def test_no_number_may_be_changed(name: str, document: Callable[[str], Any]) -> None:
    assert check_edits(document(name), list(parameter_numbers(document(name))))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["smooth", "global", "histogram", "calibrated"]), st.data())
def test_no_parameter_may_be_a_little_off(document: Callable[[str], Any], name: str, data: st.DataObject) -> None:
    """Not by 3e-9 of its size, by which no library rounds; by 1e-13 it may be."""
    places = [
        (place, value)
        for place, value in parameter_numbers(document(name))
        if place[0] in ("classes", "attributes") and {"probability", "mean", "deviation"} & {*place} and value
    ]
    place, value = data.draw(st.sampled_from(places))
    assert is_refused(edited(document(name), place, value * (1 + data.draw(st.sampled_from([-3e-9, 3e-9])))))
    from_document(edited(document(name), place, value * (1 - 1e-13)), "x")


def test_swapped_probabilities_are_refused(document: Callable[[str], Any]) -> None:
    rows = document("histogram")["attributes"]["age"]["probability"]
    says = f"attributes.age.probability.0.0: says {rows[1][0]!r}, and {rows[0][0]!r} follows from the measurements"
    with pytest.raises(DataError, match=f"^x: not a valid model: {says}; restore the file as it was written$"):
        from_document(edited(document("histogram"), ("attributes", "age", "probability"), rows[::-1]), "x")


GUARANTEE = ("guarantee",)
FIRST = ("measurements", 0)


@pytest.mark.parametrize(
    ("name", "place", "value", "words"),
    [
        ("smooth", (*GUARANTEE, "mechanism"), "histogram", "releases no such parameters|noise"),
        ("smooth", (*GUARANTEE, "mechanism"), "global-variance", "guarantee.noise: mechanism global-variance has no"),
        ("smooth", (*GUARANTEE, "mechanism"), "none", "guarantee.epsilon: mechanism none: protects nobody"),
        ("smooth", (*GUARANTEE, "mechanism"), "smoother", "guarantee.mechanism: 'smoother' is no mechanism"),
        ("smooth", (*GUARANTEE, "noise"), "student-3", "noise: 'polyplace' is not the noise of this query"),
        ("smooth", (*GUARANTEE, "noise"), None, "guarantee.noise: mechanism smooth draws noise of a family"),
        ("smooth", (*GUARANTEE, "neighbours"), "replace-one", "row_epsilon: costs more than the share"),
        ("replaced", (*GUARANTEE, "neighbours"), "add-remove", "row_epsilon: is not the share's loss divided by"),
        ("histogram", (*GUARANTEE, "noise"), "polyplace", "guarantee.noise: mechanism histogram has no noise family"),
        ("smooth", (*FIRST, "query"), "counts", "lacks the query 'class counts'"),
        ("smooth", (*FIRST, "values"), [[1], [2], [3]], "measurements.0.scale: expected a list of 3"),
        ("histogram", (*FIRST, "values"), [[1, 2], [2, 3]], "measurements.0.values: expected 2 rows of 1 numbers"),
        ("histogram", (*FIRST, "values", 0), [0.5], "measurements.0.values.0: 0.5 is not a possible value"),
        ("smooth", ("measurements", 3, "attribute"), "wage", "lacks the query"),
        ("smooth", (*FIRST, "noise"), "polyplace", "measurements.0.noise: 'polyplace' is not the noise"),
        ("smooth", (*FIRST, "share"), None, "measurements.0: lacks a share, which does not suit|do not add up"),
        ("none", (*FIRST, "noise"), "laplace", "measurements.0: has a share or noise, which does not suit"),
        ("learned", ("attribute_weights",), DELETED, "attribute_weights: is missing, and they were measured"),
        ("calibrated", ("attribute_weights", "method"), "tempered", "'tempered' does not suit what was measured"),
        ("tempered", ("attribute_weights", "method"), "calibrated", "'calibrated' does not suit what was measured"),
        ("tempered", ("attribute_weights", "weights", "age"), 0.5, r"weights.age: says 0.5, and 1.0 follows"),
        ("learned", ("attribute_weights", "weights", "age"), 513 / 256, r"weights.age: says 2.00390625, and"),
        ("calibrated", ("attributes", "age", "bound"), 5.0, "attributes.age.bound: says 5.0, and 3.0 follows"),
        ("calibrated", ("attributes", "age", "bound"), None, "attributes.age.bound: says None, and 3.0 follows"),
        ("smooth", ("attributes", "age"), DELETED, "'age' is missing or out of place"),
        ("smooth", ("attributes", "rent", "presence"), DELETED, "attributes.rent.presence: says None, and .* follows"),
    ],
)  # fmt: skip
def test_what_contradicts_the_guarantee_is_refused(
    name: str, place: Place, value: object, words: str, document: Callable[[str], Any]
) -> None:
    with pytest.raises(DataError, match=words):
        from_document(changed(place, value, document(name)), "x")


@pytest.mark.parametrize("name", ["calibrated", "calibrated classes", "learned"])
def test_a_line_that_the_counts_do_not_give_is_refused(name: str, document: Callable[[str], Any]) -> None:
    """Mirrored, moved, or of other counts: a private model's probabilities are those of its calibration."""
    whole = document(name)
    place = ("attribute_weights", "line", "log_odds")
    stated = inside(whole, place)
    for other in ([-each for each in reversed(stated)], [each + 5 for each in stated]):
        with pytest.raises(
            DataError, match=r"attribute_weights.line.log_odds.0: says .* follows from the measurements"
        ):
            from_document(edited(whole, place, other), "x")
    (counted,) = (at for at, each in enumerate(whole["measurements"]) if each["query"] == "calibration counts")
    values = whole["measurements"][counted]["values"]
    for other in (values[::-1], [[0] * len(row) for row in values]):
        with pytest.raises(DataError, match=r"attribute_weights.line.*follows from the measurements"):
            from_document(edited(whole, ("measurements", counted, "values"), other), "x")


@pytest.mark.parametrize("name", ["histogram", "smooth", "calibrated"])
def test_a_query_that_is_paid_twice_is_refused(name: str, document: Callable[[str], Any]) -> None:
    """Each query once and again, by two halves of its share: all sums are those of before."""
    measured = document(name)["measurements"]
    for place, each in enumerate(measured):
        share = each["share"]
        halves = {key: str(Fraction(share[key]) / 2) for key in ("epsilon", "row_epsilon")}
        half = each | {"share": share | halves}
        others = [*measured[:place], half, *measured[place + 1 :], half]
        words = rf"measurements.{len(measured)}: repeats the query '{each['query']}'|measurements.{place}.scale"
        with pytest.raises(DataError, match=words):
            from_document(changed(("measurements",), others, document(name)), "x")


def test_one_share_of_a_calibration_alone_is_left() -> None:
    """Neither a second one, nor one that is spent, nor one of a round."""
    options = {"epsilon": 1, "mechanism": "histogram", "attribute_weights": "calibrated"}
    left = to_document(dpnb.release(dpnb.aggregate(rows(2), domain=declaration(2)), **options))["guarantee"]["reserved"]
    place = (*GUARANTEE, "reserved")
    whole = to_document(dpnb.train(rows(2), domain=declaration(2), **options))
    with pytest.raises(DataError, match=r"guarantee.reserved.query: is no query that is left for later"):
        from_document(edited(whole, place, left), "x")
    plain = to_document(dpnb.train(rows(2), domain=declaration(2), **{**options, "attribute_weights": "tempered"}))
    several = [([left], "expected an object"), ([left, left], "expected an object")]
    names = ((left | {"query": name}, "is no query that is left") for name in ("weight gradient 1", "class counts"))
    for wrong, words in (*names, *several):
        with pytest.raises(DataError, match=rf"guarantee.reserved.*{words}"):
            from_document(edited(plain, place, wrong), "x")


@pytest.mark.parametrize(
    ("mechanism", "place", "value", "words"),
    [
        ("histogram", ("class counts", "scale", 1), 0.7, "measurements.0.scale.1: says .*, and .* follows"),
        ("histogram", ("class counts", "scale"), None, "measurements.0.scale: is missing"),
        ("histogram", ("class counts", "scale"), [], "measurements.0.scale: expected a list of 2"),
        ("global", ("mean", "scale", 1), 1.3, r"measurements.\d.scale.1: says .*, and .* follows"),
        ("smooth", ("mean", "scale"), [3.0, 3.0], r"measurements.\d.scale: is stated, and follows the rows"),
        ("learned", ("weight gradient 2", "scale", 1), 1.01, r"measurements.\d+.scale.1: says .*, and .* follows"),
    ],
)
def test_the_scale_of_the_noise_follows_from_the_share(
    mechanism: str, place: tuple[Any, ...], value: Any, words: str, document: Callable[[str], Any]
) -> None:
    """A number is a factor of what is stated."""
    told = document(mechanism)
    from_document(told, "x")
    query, *rest = place
    queries = [each["query"] for each in told["measurements"]]
    place = ("measurements", queries.index(query), *rest)
    new = value * inside(told, place) if isinstance(value, float) else value
    with pytest.raises(DataError, match=words):
        from_document(edited(told, place, new), "x")


# The rules that the reader knows are those of the release.


def test_the_rules_of_every_mechanism_are_known() -> None:
    for name, rules in OWN.items():
        mechanism = rules.mechanism
        assert mechanism.name == name
        assert (rules.private, rules.smooth, rules.binned) == (mechanism.private, mechanism.smooth, mechanism.binned)
    for classes in (2, 3):
        assert planned_margins(read_domain("x", declaration(classes), "x")).cells == CALIBRATION_RANGES * classes


COSTS = {
    Pure: Pure(Fraction(1, 7)),
    Approximate: Approximate(Fraction(1, 7), Fraction(1, 10**7)),
    Concentrated: Concentrated(Fraction(1, 300)),
}


@pytest.mark.parametrize("name", [*NOISE_FAMILIES, "student-1", "student-100"])
def test_a_family_has_the_beta_that_its_noise_is_calibrated_for(name: str) -> None:
    kind = smooth_family(name).kind
    assert beta_of(name)[0] is kind
    noise, known = smooth_noise(name, COSTS[kind]), smoothness(name, COSTS[kind])
    assert (known.cost, known.beta) == (noise.cost, noise.beta)
    for other in COSTS.keys() - {kind}:
        with pytest.raises(ValueError, match="is calibrated to a loss that is"):
            smoothness(name, COSTS[other])


def test_no_public_size_is_beyond_the_searches() -> None:
    assert (sample_size(-5), sample_size(100), sample_size(2**60)) == (8, 100, LARGEST_SIZE)


# A guarantee that is read costs what it states: for one row, for all queries, and with what is left for later.

HOUSEHOLD = Unit(("SERIAL",), 3)

RHO = concentrated_within(Approximate(Fraction(1), Fraction(1, 10**6))).rho
"""The largest that implies epsilon 1 and delta 1e-6."""


def share(query: str = "class counts", **amounts: object) -> dict[str, Any]:
    stated = {name: str(amount) for name, amount in amounts.items()}
    return {"query": query, "attribute": None, "values": 2, "composition": "", "noise": "laplace", **stated}


def guarantee(*shares: dict[str, Any], unit: Unit | None = None, **stated: object) -> None:
    document = {
        "private": True,
        "mechanism": "smooth",
        "noise": None,
        "epsilon": "1",
        "delta": "0",
        "neighbours": "add-remove",
        "seeded": False,
        "composition": [*shares],
        **stated,
    }
    read_guarantee(Part(document), unit)


@pytest.mark.parametrize(
    ("neighbours", "unit", "rows"),
    [("add-remove", None, 1), ("replace-one", None, 2), ("add-remove", HOUSEHOLD, 3), ("replace-one", HOUSEHOLD, 6)],
)
def test_rows_between_neighbours_cost_no_more_than_the_share(neighbours: str, unit: Unit | None, rows: int) -> None:
    guarantee(share(epsilon=1, row_epsilon=Fraction(1, rows)), unit=unit, neighbours=neighbours)
    for too_much in (Fraction(1, rows) + Fraction(1, 10**9), Fraction(1, rows - 1) if rows > 1 else Fraction(2)):
        with pytest.raises(InvalidPartError, match="row_epsilon: costs more than the share"):
            guarantee(share(epsilon=1, row_epsilon=too_much), unit=unit, neighbours=neighbours)


def test_deltas_of_rows_are_within_the_share() -> None:
    amounts = {"epsilon": 1, "delta": "0.000001", "row_epsilon": "0.5"}
    stated = {"delta": "0.000001", "neighbours": "replace-one"}
    guarantee(share(**amounts, row_delta="0.0000005"), **stated)
    with pytest.raises(InvalidPartError, match="costs more than the share"):
        guarantee(share(**amounts, row_delta="0.0000006"), **stated)


@pytest.mark.parametrize(
    ("query", "row", "read"), [("counts", "1/2", 1), ("weight gradient 1", "1/2", 0), ("weight gradient 1", "1/4", 1)]
)
def test_a_replaced_row_moves_the_sums_of_a_gradient_twice(query: str, row: str, read: int) -> None:
    """Lemma 2.5: the rho of counts is twice that of one row, and the rho of a gradient four times."""
    stated = {"rho": str(RHO), "delta": "0.000001", "neighbours": "replace-one"}
    one = share(query, rho=RHO, row_rho=RHO * Fraction(row))
    if read:
        guarantee(one, **stated)
        one = share(query, rho=RHO, row_rho=RHO * Fraction(row) * Fraction(1001, 1000))
    with pytest.raises(InvalidPartError, match="row_rho: costs more than the share"):
        guarantee(one, **stated)


def test_no_delta_is_read_of_whole_units() -> None:
    with pytest.raises(InvalidPartError, match="delta: must be 0, since the guarantee is for whole units"):
        guarantee(
            share(epsilon=1, delta="0.000001", row_epsilon="0.25", row_delta="0.0000001"),
            unit=HOUSEHOLD,
            delta="0.000001",
        )


def concentrated(spent: Fraction, left: Fraction, **stated: object) -> None:
    """Two queries that have spent a rho, and one for which some is left."""
    half = {"rho": spent / 2, "row_rho": spent / 2}
    reserved = share("calibration counts", rho=left, row_rho=left)
    stated = {"rho": str(spent), "delta": "0.000001", "reserved": reserved, **stated}
    guarantee(share(**half), share("counts", **half), **stated)


def test_concentrated_shares_add_up_to_a_rho_that_implies_epsilon_and_delta() -> None:
    concentrated(RHO * 9 / 10, RHO / 10)
    for rho in (RHO, RHO * 8 / 10):
        with pytest.raises(InvalidPartError, match="the shares do not add up to rho"):
            concentrated(RHO * 9 / 10, RHO / 10, rho=str(rho))
    for epsilon, delta in (("0.99", "0.000001"), ("1", "0.0000009")):
        with pytest.raises(InvalidPartError, match="rho: does not imply epsilon and delta"):
            concentrated(RHO * 9 / 10, RHO / 10, epsilon=epsilon, delta=delta)


def test_what_is_left_for_later_is_implied_as_well() -> None:
    """It is spent under the same statement."""
    with pytest.raises(InvalidPartError, match="rho: does not imply epsilon and delta"):
        concentrated(RHO * 9 / 10, RHO / 5)
