"""A document that is no model is refused in words that name the file, and the place within it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.golden_model import DELETED, VALID, Place, changed, golden_model, read_or_refused

from dpnb_columnar.api import load_model
from dpnb_columnar.errors import ConfigurationError, DataError, Error, MissingInputError, UsageError
from dpnb_columnar.model.document import document_digest, to_document, to_json
from dpnb_columnar.model.document_reader import read_document
from dpnb_columnar.model.model_files import save_model

pytestmark = pytest.mark.usefixtures("invented_models")

SHARE: Place = ("guarantee", "composition", 0)


def refused(document: Any, words: str, kind: type[Error] = DataError) -> None:
    """Reading refuses the document in these words."""
    with pytest.raises(kind, match=words) as caught:
        read_document(document, "model.json")
    assert type(caught.value) is kind or kind is ConfigurationError
    assert str(caught.value).startswith("model.json: ")


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("format",), "other", "not a model: its format is 'other'"),
        (("format",), DELETED, "not a model"),
        *(
            (("version",), version, rf"of version {version}; dpnb-columnar 0.2.0 reads it; use it with")
            for version in range(1, 6)
        ),
        *(
            (("version",), version, rf"of version {written}, which this program does not know \(it reads version 6\)")
            for version, written in ((7, 7), (0, 0), (-1, -1), (True, True), (6.0, 6.0), ("6", "'6'"), (None, None))
        ),
        (("version",), DELETED, "a model of version None, which this program does not know"),
        (("domain",), 7, "domain: expected an object, found 7"),
        (("domain", "name"), DELETED, "domain.name: missing"),
        (("domain", "name"), 7, "domain.name: expected text, found 7"),
        (("software",), [], r"software: expected an object, found \[\]"),
        (("software", "numpy"), 2, "software.numpy: expected text"),
        (("attributes",), [], "attributes: expected an object"),
        (("attributes", "height"), {}, "attributes.height: not an attribute of the model's domain"),
        (("attributes", "age"), 3, "attributes.age: expected an object"),
        (("attributes", "age", "kind"), "table", "attributes.age.kind: 'table' does not suit this attribute"),
        (("attributes", "age", "kind"), "cubic", "attributes.age.kind: 'cubic' does not suit this attribute"),
        (("attributes", "age", "kind"), DELETED, "attributes.age.kind: missing"),
        (("attributes", "age", "mean"), DELETED, "attributes.age.mean: missing"),
        (("attributes", "age", "mean"), [1.0, 2.0, 3.0], "attributes.age.mean: expected a list of 2"),
        (("attributes", "age", "mean", 0), 90.5, "attributes.age.mean: 90.5 is not a possible value"),
        (("attributes", "age", "mean", 1), -1e-9, "attributes.age.mean: -1e-09 is not a possible value"),
        (("attributes", "age", "deviation", 0), 0, "attributes.age.deviation: 0 is not a possible value"),
        (("attributes", "age", "deviation", 0), -3.5, "attributes.age.deviation: -3.5 is not"),
        (("attributes", "age", "deviation", 0), 90.1, "attributes.age.deviation: 90.1 is not"),
        (("attributes", "age", "bound"), -1, "attributes.age.bound: -1 is not a possible value"),
        (("attributes", "age", "bound"), "3", "attributes.age.bound: '3' is not a possible value"),
        (("attributes", "age", "deviation", 0), 1e-300, "attributes.age.deviation: 1e-300 is not"),
        (("attributes", "age", "released_mean", 0), float("nan"), "released_mean: nan is not a possible value"),
        (("attributes", "age", "released_variance", 0), float("inf"), "released_variance: inf is not"),
        (("attributes", "age", "mean", 0), "30", "attributes.age.mean: '30' is not a possible value"),
        (("attributes", "age", "mean", 0), True, "attributes.age.mean: True is not a possible value"),
        (("attributes", "age", "mean", 0), None, "attributes.age.mean: None is not a possible value"),
        (("attributes", "age", "released_mean", 0), 10**400, "released_mean: 1000+ is not a possible value"),
        (("attributes", "age", "released_mean", 0), 2**53 + 1, "released_mean: 9007199254740993 is not"),
        (("attributes", "hours", "edges"), [0, 15], "attributes.hours.released.0: expected a list of 1"),
        (("attributes", "hours", "edges"), [0, 16], "attributes.hours.edges: expected rising edges from 0 to 15"),
        (("attributes", "hours", "edges"), [0, 5, 5, 15], "expected rising edges"),
        (("attributes", "hours", "edges"), [1, 5, 15], "expected rising edges from 0 to 15"),
        (("attributes", "hours", "edges"), [15], "expected rising edges"),
        (("attributes", "hours", "edges"), [], "expected rising edges"),
        (("attributes", "hours", "edges", 1), 4.5, "attributes.hours.edges: 4.5 is not a possible value"),
        (("attributes", "hours", "probability"), [[0.5, 0.5]], "attributes.hours.probability: expected a list of 2"),
        (("attributes", "hours", "probability", 1), 1, "attributes.hours.probability.1: expected a list of 2"),
        (("attributes", "hours", "probability", 1, 0), 0.1, "probability.1: probabilities do not add up to 1"),
        (("attributes", "hours", "probability", 1, 0), 0.0, "probability.1: 0.0 is not a possible value"),
        (("attributes", "hours", "released", 1, 0), 2**53 + 2, "released.1: 9007199254740994 is not"),
        (("attributes", "pension", "presence"), DELETED, "attributes.pension.presence: missing"),
        (("attributes", "pension", "presence"), 3, "attributes.pension.presence: expected an object, found 3"),
        (("attributes", "pension", "presence", "released", 0), [5], "presence.released.0: expected a list of 2"),
        (("attributes", "pension", "presence", "released", 0, 1), 0.5, "presence.released.0: 0.5 is not a possible"),
        (("attributes", "pension", "presence", "probability"), [[0.5, 0.5]], "probability: expected a list of 2"),
        (("attributes", "pension", "presence", "probability", 1), [0.5, 0.6], "probabilities do not add up to 1"),
        (("attributes", "rent", "presence", "released", 1), [5, 5], "attributes.rent.presence.released.1: expected a"),
        (("attributes", "age", "presence"), {}, "attributes.age.presence: does not suit an attribute that does not"),
        (("attributes", 'job "x"', "released", 0, 0), 1.5, "released.0: 1.5 is not a possible value"),
        (("attribute_weights",), [], r"attribute_weights: expected an object, found \[\]"),
        (("attribute_weights", "method"), None, "attribute_weights.method: expected text, found None"),
        (("attribute_weights", "weights"), DELETED, "attribute_weights.weights: missing"),
        (("attribute_weights", "weights"), [0.5] * 6, "attribute_weights.weights: expected an object"),
        (("attribute_weights", "weights", "age"), DELETED, "attribute_weights.weights.age: missing"),
        (("attribute_weights", "weights", "sex"), 0.5, "attribute_weights.weights.sex: not an attribute of the model"),
        (("attribute_weights", "weights", "age"), float("nan"), "attribute_weights.weights.age: nan is not a possible"),
        (("attribute_weights", "weights", "age"), 100.5, "attribute_weights.weights.age: 100.5 is not a possible"),
        (("attribute_weights", "weights", "age"), True, "attribute_weights.weights.age: True is not a possible value"),
        (("attribute_weights", "intercepts"), [0.0], "attribute_weights.intercepts: expected a list of 2"),
        (("attribute_weights", "source"), [], r"attribute_weights.source: expected an object, found \[\]"),
        (("attribute_weights", "source", "sha256"), "0F" * 32, "attribute_weights.source.sha256: expected 64 hexadec"),
        (("attribute_weights", "source", "status"), "public", "source.status: expected 'declared public by the curat"),
        (("attribute_weights", "source", "left_out", 0), 1, "attribute_weights.source.left_out.0: expected text"),
        (("attribute_weights", "source", "name"), DELETED, "attribute_weights.source.name: missing"),
        (("attribute_weights", "intercepts", 1), -1001, "attribute_weights.intercepts: -1001 is not a possible value"),
        (("classes", "probability", 0), 0.5, "classes.probability: probabilities do not add up to 1"),
        (("classes", "probability", 0), float("nan"), "classes.probability: nan is not"),
        (("classes", "released"), [1], "classes.released: expected a list of 2"),
        (("classes", "released"), DELETED, "classes.released: missing"),
        (("guarantee", "epsilon"), "0.6", "guarantee.composition: the shares do not add up to epsilon"),
        (("guarantee", "epsilon"), 0.5, "guarantee.epsilon: expected an exact number, found the binary float 0.5"),
        (("guarantee", "epsilon"), "-1", "guarantee.epsilon: must not be negative, found '-1'"),
        (("guarantee", "epsilon"), None, "epsilon, delta and neighbours are stated together"),
        (("guarantee", "delta"), "1", "guarantee.delta: must be below 1"),
        (("guarantee", "delta"), "1e-6", "the shares do not add up to epsilon and delta"),
        (("guarantee", "rho"), "1e-6", "guarantee.rho: is stated where the shares are concentrated, and only there"),
        (("guarantee", "delta"), "nan", "guarantee.delta: expected a finite number"),
        (("guarantee", "neighbours"), "cousins", "guarantee.neighbours: 'cousins' is not a neighbouring relation"),
        (("guarantee", "neighbours"), [], r"guarantee.neighbours: expected text, found \[\]"),
        (("guarantee", "private"), False, "guarantee.private: contradicts epsilon and seeded"),
        (("guarantee", "seeded"), True, "guarantee.private: contradicts epsilon and seeded"),
        (("guarantee", "seeded"), "no", "guarantee.seeded: expected true or false, found 'no'"),
        (("guarantee", "mechanism"), 3, "guarantee.mechanism: expected text, found 3"),
        (("guarantee", "noise"), DELETED, "guarantee.noise: missing"),
        (("guarantee", "composition"), {}, "guarantee.composition: expected a list"),
        (("guarantee", "composition"), [], "guarantee.composition: the shares do not add up to epsilon"),
        ((*SHARE, "epsilon"), "1/12", "guarantee.composition.0.row_epsilon: costs more than the share"),
        ((*SHARE, "epsilon"), "0", "guarantee.composition.0: a share has epsilon above 0"),
        ((*SHARE, "values"), "2", "guarantee.composition.0.values: '2' is not a possible value"),
        ((*SHARE, "query"), DELETED, "guarantee.composition.0.query: missing"),
        (SHARE, "all of it", "guarantee.composition.0: expected an object, found 'all of it'"),
    ],
)  # fmt: skip
def test_a_document_with_a_fault_is_refused_by_its_place(place: Place, value: object, words: str) -> None:
    refused(changed(place, value), words)


def test_a_fault_in_the_domain_is_a_fault_of_the_declaration() -> None:
    refused(changed(("domain", "attributes", "age", "lower"), 100), "age.lower", ConfigurationError)
    # A class more than there are parameters for.
    refused(changed(("domain", "label", "classes"), ["no", "yes", "maybe"]), "classes.released: expected a list of 3")


def test_text_that_is_no_document_is_refused() -> None:
    for document in (None, [], "text", 3):
        refused(document, "document: expected an object")
    refused(changed(("guarantee",), {1: 2}), "guarantee: expected text keys")


def test_shares_without_a_common_denominator_are_refused_before_they_are_added_up() -> None:
    share = VALID["guarantee"]["composition"][0]
    odd = [
        {**share, "epsilon": f"1/{10**299 + number}", "row_epsilon": f"1/{2 * (10**299 + number)}"}
        for number in range(2000)
    ]
    refused(changed(("guarantee", "composition"), odd), "the shares have no common denominator")


def test_a_guarantee_of_nothing_is_refused() -> None:
    empty = changed(("guarantee", "composition"), [])
    refused(changed(("guarantee", "epsilon"), "0", empty), "guarantee.epsilon: must be above 0")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not a JSON file"),
        (b"{", "not a JSON file"),
        (to_json(VALID).encode()[:-100], "not a JSON file"),
        (to_json(VALID).encode() + b"}", "not a JSON file"),
        (b"\xff\xfe", "not a JSON file"),
        (b"[" * 200_000, "not a JSON file"),
        (b'{"a":' * 200_000, "not a JSON file"),
        (b"9" * 5_000, "not a JSON file"),
        (to_json(VALID).replace("clerk", "\\ud800").encode(), "not a JSON file"),
        (to_json(VALID).replace("30.125", "NaN").encode(), "nan is not a possible value"),
        (to_json(VALID).replace("30.125", "-Infinity").encode(), "-inf is not a possible value"),
        (to_json(VALID).replace("30.125", "1e999").encode(), "inf is not a possible value"),
        (b"null", "expected an object"),
        (b"PAR1", "not a JSON file"),
    ],
)
def test_a_file_that_is_no_json_model_is_refused(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=words) as caught:
        load_model(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_names_and_places_that_hold_no_model(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match=r"nowhere\.json: cannot be opened: No such file"):
        load_model(tmp_path / "nowhere.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(MissingInputError, match=r"folder\.json: cannot be opened"):
        load_model(tmp_path / "folder.json")
    for name in ("model.toml", "model", "model.json.gz"):
        with pytest.raises(UsageError, match=r"no model by its name, which ends in \.json or \.parquet; give the file"):
            load_model(tmp_path / name)
        with pytest.raises(UsageError, match=r"end its name in \.json or \.parquet"):
            save_model(golden_model(), tmp_path / name)
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(2**28 + 1)
    with pytest.raises(DataError, match=r"huge\.json: not a model: larger than"):
        load_model(tmp_path / "huge.json")


# Anything at all, anywhere in a document.

ODD: list[Any] = [
    None, True, False, 0, -1, 1, 2, 0.0, -0.0, 1e-320, 0.3, 1e308, -1e308, float("nan"), float("inf"), 2**53, 2**53 + 1,
    2**63, 10**30, 10**400, "", "1", "1/0", "1/3", "nan", "1e9999999", "abc", "é\x00'\"", [], [[]], [1], [0.5, 0.5],
    ["a", "b"], ["a", "a"], [None], {}, {"a": 1}, {"values": ["x"]}, {"lower": 0, "upper": 1},
]  # fmt: skip


def places(value: object, place: Place = ()) -> list[Place]:
    """Every place of a document, containers included."""
    items: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return [found for key, item in items for found in ((*place, key), *places(item, (*place, key)))]


PLACES = places(VALID)


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_a_value_missing_anywhere_is_refused_or_read(place: Place) -> None:
    """Or an odd one in its place. What is read can be written, and read again."""
    for value in (DELETED, *ODD):
        model = read_or_refused(partial(read_document, changed(place, value), "model.json"), "model.json")
        if model is not None and place[-1] != "attribute":  # of a share: judged by parameters, invented here
            assert read_document(json.loads(to_json(to_document(model))), "model.json") == model


def test_other_priors_are_read_and_have_another_digest() -> None:
    """Made for another population, say: that is post-processing; the digest tells that it is not what was released."""
    released = golden_model()
    other = read_document(changed(("classes", "probability"), [0.25, 0.75]), "model.json")
    assert other.priors == (0.25, 0.75)
    assert other.classes.released == released.classes.released
    assert document_digest(other) != document_digest(released)
