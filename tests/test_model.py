"""Model files: exact round trips, equal bytes, golden files, and a clear refusal of everything that is not a model."""

from __future__ import annotations

import copy
import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_cases import LARGEST_COUNT, declared, model_of, models

from dpnb_columnar.aggregation.statistics import Cells, Statistics, assemble
from dpnb_columnar.boundary.release import LIBRARIES, MECHANISMS, release
from dpnb_columnar.budget import Budget, Neighbours, Share
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import ConfigurationError, DataError, Error, MissingInputError, OutputError, UsageError
from dpnb_columnar.model.document import leaves, to_document, to_json
from dpnb_columnar.model.files import MODEL_KEY, load_model, save_model
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.parameters import ClassCounts, Guarantee, Histogram, Normal, Table
from dpnb_columnar.model.reading import from_document
from dpnb_columnar.model.report import statement
from dpnb_columnar.noise import SeededBits

GOLDEN = Path(__file__).parent / "golden"

DOMAIN = declared(
    {
        "age": {"lower": 0, "upper": 90, "step": 1, "missing_values": [999]},
        "wage": {"lower": 0, "upper": 100_000, "step": 1, "transform": "log1p"},
        'job "x" d\'été': {"values": ["clerk", "none, 'yet'", "中"], "missing": "category"},
    },
    ["up to 50K", 'over "50K"'],
)

# Exact numbers that cannot come about by chance: if one of them stands in a file, it was copied there.
CLASS_COUNTS = (987_654, 123_457)
AGE_COUNTS = {20: (500_003, 20_011), 41: (400_009, 90_001), 88: (87_642, 13_445)}
WAGE_COUNTS = {7: (900_007, 23_456), 54_321: (87_647, 100_001)}
JOB_COUNTS = {0: (700_001, 23_456), 1: (200_017, 50_021), 2: (80_021, 40_013), 3: (7_615, 9_967)}


def exact_statistics(domain: Domain = DOMAIN) -> Statistics:
    """Statistics whose counts can be told from any others."""
    cells = [_cells(None, {0: CLASS_COUNTS})]
    tables = (AGE_COUNTS, WAGE_COUNTS, JOB_COUNTS)
    cells += [_cells(attribute.name, table) for attribute, table in zip(domain.attributes, tables, strict=True)]
    return assemble(domain, cells)


def _cells(attribute: str | None, table: Mapping[int, tuple[int, int]]) -> Cells:
    rows = [(klass, code, counts[klass]) for code, counts in table.items() for klass in (0, 1)]
    return Cells(attribute, *(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)))


def released(mechanism: str, **options: Any) -> Model:
    """A model of the exact statistics, with a seed unless one is given."""
    budget = Budget(options.pop("epsilon", Fraction(1, 2)), options.pop("neighbours", Neighbours.ADD_REMOVE))
    return release(exact_statistics(), budget, mechanism, **options)


MODELS = {
    **{name: released(name) for name in MECHANISMS},
    "replace-one": released("smooth", neighbours=Neighbours.REPLACE_ONE, epsilon=Fraction(1, 3)),
    "cauchy": released("smooth", noise="cauchy"),
    "seeded": released("smooth", bits=SeededBits(8_675_309_424_242)),
    "seeded histogram": released("histogram", bits=SeededBits(8_675_309_424_242), epsilon=Fraction(1, 100)),
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Model:
    return MODELS[request.param]


# Round trips.


def check_round_trip(model: Model, folder: Path) -> None:
    """JSON, Model, Parquet, Model, JSON: the same in every step."""
    first, second, third = (folder / name for name in ("first.json", "second.parquet", "third.json"))
    save_model(model, first, overwrite=True)
    from_json = load_model(first)
    save_model(from_json, second, overwrite=True)
    from_parquet = load_model(second)
    save_model(from_parquet, third, overwrite=True)
    assert from_json == model
    assert from_parquet == model
    assert third.read_bytes() == first.read_bytes()


def test_every_mechanism_s_model_survives_both_formats(model: Model, tmp_path: Path) -> None:
    check_round_trip(model, tmp_path)


@settings(max_examples=60, deadline=None)
@given(models())
def test_random_models_survive_both_formats(tmp_path_factory: pytest.TempPathFactory, model: Model) -> None:
    check_round_trip(model, tmp_path_factory.mktemp("round"))


def test_extreme_numbers_survive_both_formats(tmp_path: Path) -> None:
    domain = declared({"x": {"lower": "-1e100", "upper": "1e100"}, "y": {"values": ["a", "b"]}}, map(str, range(40)))
    extremes = [1.7976931348623157e308, -5e-324, -0.0, 0.1 + 0.2, 1e-300, 2.0**-1022] * 7
    normal = Normal("x", tuple(extremes[:40]), tuple(extremes[1:41]), (-1e100, 1e100) * 20, (2e100, 7.7e99) * 20)
    table = Table("y", ((LARGEST_COUNT, -LARGEST_COUNT),) * 40, ((1e-300, 1.0), (0.1, 0.9)) * 20)
    check_round_trip(model_of(domain, [normal, table]), tmp_path)


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_equal_models_give_equal_bytes(model: Model, suffix: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{index}.{suffix}" for index in range(2)]
    # Equal all the same: the order of the versions is nobody's concern.
    twin = replace(copy.deepcopy(model), software=dict(reversed(model.software.items())))
    assert twin == model
    save_model(model, paths[0])
    save_model(twin, paths[1])
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_an_existing_model_is_kept(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text("precious")
    with pytest.raises(OutputError, match="exists already"):
        save_model(model, path)
    assert path.read_text() == "precious"
    save_model(model, path, overwrite=True)
    assert load_model(path) == model


# Golden files.


def golden_model() -> Model:
    """A small model in which every kind of parameter occurs; numbers are made up."""
    domain = declared(
        {
            "age": {"lower": 0, "upper": 90, "step": "1/2", "missing_values": [999]},
            "wage": {"lower": 0, "upper": 1000, "step": 1, "transform": "log1p"},
            "hours": {"lower": 1, "upper": 99, "step": 7},
            'job "x"': {"values": ["clerk", "été", "中"], "missing": "category", "missing_values": ["?"]},
        },
        ["no", "yes"],
    )
    shares = [
        Share(
            "class counts",
            None,
            2,
            "one row changes one of these counts by 1",
            "laplace",
            Fraction(1, 3),
            Fraction(1, 6),
        ),
        Share(
            "mean",
            "age",
            2,
            "one row changes the sample of one class only",
            "polyplace",
            Fraction(1, 6),
            Fraction(1, 12),
        ),
    ]
    return Model(
        domain,
        Guarantee("smooth", "polyplace", Fraction(1, 2), Fraction(0), Neighbours.REPLACE_ONE, tuple(shares), False),
        ClassCounts((1200, -3), (0.9991680532445923, 0.0008319467554076539)),
        (
            Normal("age", (30.125, -7.5), (144.0, -2.25), (30.125, 0.0), (12.0, 90.0)),
            Normal("wage", (5.5, 6.1), (1e-300, 1.7976931348623157e308), (5.5, 6.1), (0.1, 6.5)),
            Histogram("hours", (0, 5, 15), ((10, -2), (0, 9007199254740992)), ((0.5, 0.5), (1e-16, 1.0))),
            Table('job "x"', ((3, 0, 1, -1), (0, 0, 0, 0)), ((0.5, 0.125, 0.25, 0.125), (0.25, 0.25, 0.25, 0.25))),
        ),
        {"dpnb-columnar": "0.0.1", "numpy": "2.0"},
    )


def test_the_json_form_is_the_golden_file() -> None:
    assert to_json(to_document(golden_model())) == (GOLDEN / "model.json").read_text(encoding="utf-8")
    assert load_model(GOLDEN / "model.json") == golden_model()


SCHEMA = [("attribute", "string"), ("class", "string"), ("cell", "string"), ("parameter", "string")]
SCHEMA += [("released", "double"), ("value", "double")]


def test_the_parquet_form_holds_the_golden_rows(tmp_path: Path) -> None:
    path = tmp_path / "model.parquet"
    save_model(golden_model(), path)
    table = pq.read_table(path)
    assert [(field.name, str(field.type)) for field in table.schema] == SCHEMA
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows([_cell(value) for value in row.values()] for row in table.to_pylist())
    assert text.getvalue() == (GOLDEN / "model_rows.csv").read_text(encoding="utf-8")


def _cell(value: object) -> str:
    return "NULL" if value is None else str(value)


def test_a_parquet_model_has_one_row_per_parameter(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "model.parquet"
    save_model(model, path)
    table = pq.read_table(path)
    classes = len(model.domain.classes)
    sizes = [2 if isinstance(one, Normal) else len(one.probability[0]) for one in model.attributes]
    assert table.num_rows == classes * (1 + sum(sizes))
    assert [(field.name, str(field.type)) for field in table.schema] == SCHEMA
    assert table.num_rows == len({tuple(row.values())[:4] for row in table.to_pylist()})
    # The numbers stand in the rows only: the metadata has their places.
    frame = json.loads(table.schema.metadata[MODEL_KEY.encode()])
    assert {leaf.released[leaf.position] for leaf in leaves(frame)} == {None}
    assert {leaf.values[leaf.position] for leaf in leaves(frame)} == {None}


# What a model holds, and what not.

SHARE_KEYS = {"query", "attribute", "values", "composition", "noise", "epsilon", "row_epsilon"}
KEYS: Mapping[str, set[str]] = {
    "": {"format", "version", "software", "guarantee", "domain", "classes", "attributes"},
    "software": {"dpnb-columnar", *LIBRARIES},
    "guarantee": {"private", "mechanism", "noise", "epsilon", "delta", "neighbours", "seeded", "composition"},
    "domain": {"name", "label", "attributes"},
    "classes": {"released", "probability"},
}
PARAMETER_KEYS = {
    "normal": {"kind", "released_mean", "released_variance", "mean", "deviation"},
    "table": {"kind", "released", "probability"},
    "histogram": {"kind", "edges", "released", "probability"},
}


def test_a_document_has_exactly_the_documented_keys(model: Model) -> None:
    document = to_document(model)
    for place, keys in KEYS.items():
        assert set(document[place] if place else document) == keys
    for share in document["guarantee"]["composition"]:
        assert set(share) == SHARE_KEYS
    for body in document["attributes"].values():
        assert set(body) == PARAMETER_KEYS[body["kind"]]


def numbers_of(value: object) -> Iterator[float]:
    """Every number of a document, numbers written as text included."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from numbers_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from numbers_of(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


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
    model = released(mechanism, epsilon=Fraction(1, 1000), bits=SeededBits(20))
    path = tmp_path / f"model.{suffix}"
    save_model(model, path)
    content = path.read_bytes()
    held = set(numbers_of(to_document(load_model(path))))
    for name, number in exact_numbers().items():
        assert number not in held, name
        assert not re.search(rb"(?<![\d.])%s(?!\d)" % str(number).encode(), content) or number < 10_000, name


def test_the_search_for_exact_numbers_finds_them_where_they_are() -> None:
    held = set(numbers_of(to_document(MODELS["none"])))
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
    assert sum((share.epsilon for share in guarantee.composition), Fraction(0)) == (guarantee.epsilon or 0)
    for share in guarantee.composition:
        assert guarantee.neighbours is not None
        assert share.row_epsilon * guarantee.neighbours.rows == share.epsilon


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


# Refusals. Every one is an ``Error`` that names the file, and the place within it.

VALID: Any = to_document(golden_model())
Place = tuple[str | int, ...]
SHARE: Place = ("guarantee", "composition", 0)
DELETED = object()


def changed(place: Place, value: object, document: Any = None) -> Any:
    """The golden document with another value, or none, at one place."""
    found = copy.deepcopy(VALID if document is None else document)
    inner = found
    for step in place[:-1]:
        inner = inner[step]
    if value is DELETED:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return found


def refused(document: Any, words: str, kind: type[Error] = DataError) -> None:
    """Reading refuses the document in these words."""
    with pytest.raises(kind, match=words) as caught:
        from_document(document, "model.json")
    assert type(caught.value) is kind or kind is ConfigurationError
    assert str(caught.value).startswith("model.json: ")


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("format",), "other", "not a model: expected format 'dpnb_columnar model', found 'other'"),
        (("format",), DELETED, "not a model"),
        (("version",), 2, r"version 2 is not known to this program \(it reads version 1\); read it with the release"),
        (("version",), True, "version True is not known"),
        (("version",), 1.0, "version 1.0 is not known"),
        (("version",), DELETED, "version None is not known"),
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
        (("attributes", "hours", "edges"), [15], "expected rising edges"),
        (("attributes", "hours", "edges"), [], "expected rising edges"),
        (("attributes", "hours", "edges", 1), 4.5, "attributes.hours.edges: 4.5 is not a possible value"),
        (("attributes", "hours", "probability"), [[0.5, 0.5]], "attributes.hours.probability: expected a list of 2"),
        (("attributes", "hours", "probability", 1), 1, "attributes.hours.probability.1: expected a list of 2"),
        (("attributes", "hours", "probability", 1, 0), 0.1, "probability.1: probabilities do not add up to 1"),
        (("attributes", "hours", "probability", 1, 0), 0.0, "probability.1: 0.0 is not a possible value"),
        (("attributes", "hours", "released", 1, 0), 2**53 + 2, "released.1: 9007199254740994 is not"),
        (("attributes", 'job "x"', "released", 0, 0), 1.5, "released.0: 1.5 is not a possible value"),
        (("classes", "probability", 0), 0.5, "classes.probability: probabilities do not add up to 1"),
        (("classes", "probability", 0), float("nan"), "classes.probability: nan is not"),
        (("classes", "released"), [1], "classes.released: expected a list of 2"),
        (("classes", "released"), DELETED, "classes.released: missing"),
        (("guarantee", "epsilon"), "0.6", "guarantee.composition: the shares do not add up to epsilon"),
        (("guarantee", "epsilon"), 0.5, "guarantee.epsilon: expected an exact number, found the binary float 0.5"),
        (("guarantee", "epsilon"), "-1", "guarantee.epsilon: must not be negative, found '-1'"),
        (("guarantee", "epsilon"), None, "epsilon, delta and neighbours are stated together"),
        (("guarantee", "delta"), "nan", "guarantee.delta: expected a finite number"),
        (("guarantee", "neighbours"), "cousins", "guarantee.neighbours: 'cousins' is not a neighbouring relation"),
        (("guarantee", "neighbours"), "add-remove", "composition.0.row_epsilon: is not what epsilon is for one row"),
        (("guarantee", "neighbours"), [], r"guarantee.neighbours: expected text, found \[\]"),
        (("guarantee", "private"), False, "guarantee.private: contradicts epsilon and seeded"),
        (("guarantee", "seeded"), True, "guarantee.private: contradicts epsilon and seeded"),
        (("guarantee", "seeded"), "no", "guarantee.seeded: expected true or false, found 'no'"),
        (("guarantee", "mechanism"), 3, "guarantee.mechanism: expected text, found 3"),
        (("guarantee", "noise"), DELETED, "guarantee.noise: missing"),
        (("guarantee", "composition"), {}, "guarantee.composition: expected a list"),
        (("guarantee", "composition"), [], "guarantee.composition: the shares do not add up to epsilon"),
        ((*SHARE, "epsilon"), "1/6", "guarantee.composition.0.row_epsilon: is not what epsilon is"),
        ((*SHARE, "epsilon"), "0", "guarantee.composition.0: a share has an epsilon and a row_epsilon above 0"),
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
        with pytest.raises(UsageError, match=r"end its name in \.json or \.parquet"):
            load_model(tmp_path / name)
        with pytest.raises(UsageError, match=r"end its name in \.json or \.parquet"):
            save_model(golden_model(), tmp_path / name)
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(2**28 + 1)
    with pytest.raises(DataError, match=r"huge\.json: not a model: larger than"):
        load_model(tmp_path / "huge.json")


# Refusals of Parquet files.


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    path = tmp_path / "model.parquet"
    save_model(golden_model(), path)
    return path


def parquet_refused(path: Path, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        load_model(path)
    assert str(caught.value).startswith(f"{path}: ")


def rewrite(path: Path, table: pa.Table, document: Any = None) -> None:
    """Write other rows, or another document, under the same name."""
    if document is not None:
        table = table.replace_schema_metadata(
            {MODEL_KEY: document if isinstance(document, bytes) else json.dumps(document)}
        )
    pq.write_table(table, path)


def test_parquet_without_our_metadata_is_refused(parquet: Path) -> None:
    table = pq.read_table(parquet)
    rewrite(parquet, table.replace_schema_metadata(None))
    parquet_refused(parquet, "not a Parquet file written by this program")
    for document in (
        b"not JSON",
        b"[" * 100_000,
        [],
        {},
        {"domain": {}},
        {"domain": [], "classes": 3, "attributes": ""},
    ):
        rewrite(parquet, table, document)
        parquet_refused(parquet, "not a Parquet file written by this program")


def test_parquet_rows_in_another_order_or_number_are_refused(parquet: Path) -> None:
    table = pq.read_table(parquet)
    order = list(range(table.num_rows))
    order[3], order[4] = order[4], order[3]
    rewrite(parquet, table.take(order))
    parquet_refused(parquet, "its rows do not follow its metadata")
    for part in (table[:-1], table[:0], pa.concat_tables([table, table[:1]])):
        rewrite(parquet, part)
        parquet_refused(parquet, "not a Parquet file written by this program")
    for column in table.column_names:
        rewrite(parquet, table.drop_columns([column]))
        parquet_refused(parquet, "not a Parquet file written by this program")


@pytest.mark.parametrize(
    ("column", "row", "value", "words"),
    [
        ("value", 0, 0.5, "classes.probability: probabilities do not add up to 1"),
        ("value", 0, None, "classes.probability: None is not a possible value"),
        ("value", 2, float("nan"), "attributes.age.mean: nan is not"),
        ("value", 3, -1.0, "attributes.age.deviation: -1.0 is not"),
        ("released", 0, 0.5, "classes.released: 0.5 is not a possible value"),
        ("released", 0, float("inf"), "classes.released: inf is not"),
        ("released", 2, float("nan"), "attributes.age.released_mean: nan is not"),
        ("class", 0, "yes", "its rows do not follow its metadata"),
        ("attribute", 0, "age", "its rows do not follow its metadata"),
        ("cell", 14, "5", "its rows do not follow its metadata"),
        ("parameter", 3, "variance", "its rows do not follow its metadata"),
    ],
)
def test_edited_parquet_rows_are_refused(parquet: Path, column: str, row: int, value: object, words: str) -> None:
    table = pq.read_table(parquet)
    values = table[column].to_pylist()
    values[row] = value
    edited = pa.array(values, table.schema.field(column).type)
    rewrite(parquet, table.set_column(table.column_names.index(column), column, edited))
    parquet_refused(parquet, words)


@pytest.mark.parametrize("type_", [pa.string(), pa.bool_(), pa.binary(), pa.list_(pa.float64())], ids=str)
def test_numbers_of_another_type_are_refused(parquet: Path, type_: pa.DataType) -> None:
    table = pq.read_table(parquet)
    other = {pa.string(): "1", pa.bool_(): True, pa.binary(): b"1"}.get(type_, [1.0])
    column = pa.array([other] * table.num_rows, type_)
    rewrite(parquet, table.set_column(5, "value", column))
    parquet_refused(parquet, "is not a possible value")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_parquet_model_is_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "model.parquet"
    save_model(golden_model(), path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.sampled_from([len(content), len(content) // 2, len(content) - 1]))])
    loaded_or_refused(path)


def loaded_or_refused(path: Path) -> None:
    """Either a model, or an error in our words."""
    read_or_refused(lambda: load_model(path), str(path))


def read_or_refused(read: Callable[[], Model], source: str) -> Model | None:
    """The model, or None after an error in our words; any other error is the test's."""
    refusal: Error | None = None
    try:
        return read()
    except Error as error:
        refusal = error
    assert str(refusal).startswith(f"{source}: ")
    assert refusal.exit_code in (65, 78)
    return None


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


@st.composite
def mutations(draw: st.DrawFn) -> Any:
    """The golden document with one or two odd changes."""
    document = copy.deepcopy(VALID)
    for _ in range(draw(st.integers(1, 2))):
        place = draw(st.sampled_from(PLACES))
        action = draw(st.sampled_from(["replace", "delete", "add"]))
        try:
            if action == "add":
                document = changed(
                    (*place, draw(st.sampled_from(["extra", "values", 0]))), draw(st.sampled_from(ODD)), document
                )
            else:
                document = changed(place, DELETED if action == "delete" else draw(st.sampled_from(ODD)), document)
        except (LookupError, TypeError):  # the first change took the place away
            continue
    return document


@settings(max_examples=400, deadline=None)
@given(mutations())
def test_a_changed_document_is_read_or_refused(document: Any) -> None:
    model = read_or_refused(lambda: from_document(copy.deepcopy(document), "model.json"), "model.json")
    if model is not None:  # what is read can be written, and read again
        assert from_document(json.loads(to_json(to_document(model))), "model.json") == model


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_a_value_missing_anywhere_is_refused_or_read(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    for value in (DELETED, None, "odd", {}, [], -1):
        path.write_text(json.dumps(changed(place, value)), encoding="utf-8")
        loaded_or_refused(path)


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
