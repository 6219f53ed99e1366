"""Model files: exact round trips, golden files, and what is no model, edited or damaged, refused by its place."""

from __future__ import annotations

import copy
import csv
import io
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.golden_model import DELETED, VALID, Place, changed, golden_model, loaded_or_refused, read_or_refused
from support.model_cases import LARGEST_COUNT, declared, from_document, measurement, model_of, models
from support.released_models import MODELS

from dpnb_columnar.api import load_model
from dpnb_columnar.api.model import Model
from dpnb_columnar.errors import ConfigurationError, DataError, Error, MissingInputError, UsageError
from dpnb_columnar.model.document import document_digest, leaves, to_document, to_json
from dpnb_columnar.model.model_files import MODEL_KEY, save_model
from dpnb_columnar.model.parameters import Normal, Table

pytestmark = pytest.mark.usefixtures("invented_models")

GOLDEN = Path(__file__).parents[1] / "golden"


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


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(models())
def test_random_models_survive_both_formats(tmp_path_factory: pytest.TempPathFactory, model: Model) -> None:
    check_round_trip(model, tmp_path_factory.mktemp("round"))


def test_extreme_numbers_survive_both_formats(tmp_path: Path) -> None:
    domain = declared({"x": {"lower": "-1e100", "upper": "1e100"}, "y": {"values": ["a", "b"]}}, map(str, range(40)))
    extremes = [1e280, -5e-324, -0.0, 0.1 + 0.2, 1e-300, 2.0**-1022] * 7
    normal = Normal("x", (-1e100, 1e100) * 20, (2e100, 7.7e99) * 20)
    table = Table("y", ((1e-300, 1.0), (0.1, 0.9)) * 20)
    measured = [
        measurement("mean", "x", *([number] for number in extremes[:40])),
        measurement("variance", "x", *([number] for number in extremes[1:41])),
        measurement("counts", "y", *[(LARGEST_COUNT, -LARGEST_COUNT)] * 40),
    ]
    check_round_trip(model_of(domain, [normal, table], measured=measured), tmp_path)


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_equal_models_give_equal_bytes(model: Model, suffix: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{index}.{suffix}" for index in range(2)]
    # Equal all the same: the order of the versions is nobody's concern.
    twin = replace(copy.deepcopy(model), software=dict(reversed(model.software.items())))
    assert twin == model
    save_model(model, paths[0])
    save_model(twin, paths[1])
    assert paths[0].read_bytes() == paths[1].read_bytes()


# Golden files.


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
    sizes += [
        len(one.presence.probability[0]) for one in model.attributes if not isinstance(one, Table) and one.presence
    ]
    assert table.num_rows == classes * (1 + sum(sizes))
    assert [(field.name, str(field.type)) for field in table.schema] == SCHEMA
    assert table.num_rows == len({tuple(row.values())[:4] for row in table.to_pylist()})
    # The numbers stand in the rows only: the metadata has their places.
    frame = json.loads(table.schema.metadata[MODEL_KEY.encode()])
    assert {leaf.released[leaf.place] for leaf in leaves(frame) if leaf.whole} == {None}
    assert {leaf.values[leaf.position] for leaf in leaves(frame)} == {None}


def test_measurements_are_as_their_schema_says(model: Model) -> None:
    """The schema is for others, who account for what was released, or fit models of their own to it."""
    schema = json.loads((Path(__file__).parents[2] / "docs" / "reference" / "measurement.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    for measured in to_document(model)["measurements"]:
        validator.validate(measured)
    for wrong in ({"scale": -1}, {"values": [["1"]]}, {"share": {"epsilon": 0.5}}, {"sensitivity": 2}):
        assert not validator.is_valid({**to_document(model)["measurements"][0], **wrong})


# A document that is no model is refused in words that name the file, and the place within it.

SHARE: Place = ("measurements", 0, "share")


def refused(document: Any, words: str, kind: type[Error] = DataError) -> None:
    """Reading refuses the document in these words."""
    with pytest.raises(kind, match=words) as caught:
        from_document(document, "model.json")
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
        (("domain", "name"), DELETED, "domain.name: missing"),
        (("domain", "name"), 7, "domain.name: expected text, found 7"),
        (("software", "numpy"), 2, "software.numpy: expected text"),
        (("attributes",), [], "attributes: expected an object"),
        (("attributes", "height"), {}, "attributes.height: not an attribute of the model's domain"),
        (("attributes", "age", "kind"), "table", "attributes.age.kind: 'table' does not suit this attribute"),
        (("attributes", "age", "mean"), DELETED, "attributes.age.mean: missing"),
        (("attributes", "age", "mean"), [1.0, 2.0, 3.0], "attributes.age.mean: expected a list of 2"),
        (("attributes", "age", "mean", 0), 90.5, "attributes.age.mean: 90.5 is not a possible value"),
        (("attributes", "age", "deviation", 0), 0, "attributes.age.deviation: 0 is not a possible value"),
        (("attributes", "age", "bound"), "3", "attributes.age.bound: '3' is not a possible value"),
        (("attributes", "age", "deviation", 0), 1e-300, "attributes.age.deviation: 1e-300 is not"),
        (("measurements", 1, "values", 0, 0), float("nan"), "measurements.1.values.0: nan is not a possible value"),
        (("attributes", "age", "mean", 0), True, "attributes.age.mean: True is not a possible value"),
        (("measurements", 1, "values", 0, 0), 10**400, "measurements.1.values.0: 1000+ is not a possible value"),
        (("measurements", 1, "values"), 3, "measurements.1.values: expected a list"),
        (("measurements", 0, "scale"), [6.0], "measurements.0.scale: expected a list of 2"),
        (("measurements", 0, "scale", 0), -6.0, "measurements.0.scale: -6.0 is not a possible value"),
        (("measurements",), DELETED, "measurements: missing"),
        (("attributes", "hours", "edges"), [0, 15], "attributes.hours.probability.0: expected a list of 1"),
        (("attributes", "hours", "edges"), [0, 16], "attributes.hours.edges: expected rising edges from 0 to 15"),
        (("attributes", "hours", "edges"), [0, 5, 5, 15], "expected rising edges"),
        (("attributes", "hours", "edges"), [1, 5, 15], "expected rising edges from 0 to 15"),
        (("attributes", "hours", "edges"), [], "expected rising edges"),
        (("attributes", "hours", "probability", 1, 0), 0.1, "probability.1: probabilities do not add up to 1"),
        (("attributes", "hours", "probability", 1, 0), 0.0, "probability.1: 0.0 is not a possible value"),
        (("attributes", "pension", "presence"), DELETED, "attributes.pension.presence: missing"),
        (("attributes", "pension", "presence", "probability", 0), [1.0], "presence.probability.0: expected a list"),
        (("attributes", "rent", "presence", "probability", 1), [0.5, 0.5], "rent.presence.probability.1: expected a"),
        (("measurements", 9, "values", 0, 1), 0.5, "measurements.9.values.0: 0.5 is not a possible"),
        (("attributes", "age", "presence"), {}, "attributes.age.presence: does not suit an attribute that does not"),
        (("measurements", 6, "values", 0, 0), 1.5, "measurements.6.values.0: 1.5 is not a possible value"),
        (("attribute_weights",), [], r"attribute_weights: expected an object, found \[\]"),
        (("attribute_weights", "weights"), [0.5] * 6, "attribute_weights.weights: expected an object"),
        (("attribute_weights", "weights", "age"), DELETED, "attribute_weights.weights.age: missing"),
        (("attribute_weights", "weights", "sex"), 0.5, "attribute_weights.weights.sex: not an attribute of the model"),
        (("attribute_weights", "weights", "age"), 100.5, "attribute_weights.weights.age: 100.5 is not a possible"),
        (("attribute_weights", "intercepts"), [0.0], "attribute_weights.intercepts: expected a list of 2"),
        (("attribute_weights", "source", "sha256"), "0F" * 32, "attribute_weights.source.sha256: expected 64 hexadec"),
        (("attribute_weights", "source", "status"), "public", "source.status: expected 'declared public by the curat"),
        (("attribute_weights", "source", "left_out", 0), 1, "attribute_weights.source.left_out.0: expected text"),
        (("attribute_weights", "intercepts", 1), -1001, "attribute_weights.intercepts: -1001 is not a possible value"),
        (("classes", "probability", 0), 0.5, "classes.probability: probabilities do not add up to 1"),
        (("classes", "probability"), [1.0], "classes.probability: expected a list of 2"),
        (("guarantee", "epsilon"), "0.6", "measurements: the shares do not add up to epsilon"),
        (("guarantee", "epsilon"), 0.5, "guarantee.epsilon: expected an exact number, found the binary float 0.5"),
        (("guarantee", "epsilon"), "-1", "guarantee.epsilon: must not be negative, found '-1'"),
        (("guarantee", "epsilon"), None, "epsilon, delta and neighbours are stated together"),
        (("guarantee", "delta"), "1", "guarantee.delta: must be below 1"),
        (("guarantee", "delta"), "1e-6", "the shares do not add up to epsilon and delta"),
        (("guarantee", "rho"), "1e-6", "guarantee.rho: is stated where the shares are concentrated, and only there"),
        (("guarantee", "neighbours"), "cousins", "guarantee.neighbours: 'cousins' is not a neighbouring relation"),
        (("guarantee", "private"), False, "guarantee.private: contradicts epsilon and seeded"),
        (("guarantee", "seeded"), True, "guarantee.private: contradicts epsilon and seeded"),
        (("guarantee", "seeded"), "no", "guarantee.seeded: expected true or false, found 'no'"),
        (("measurements",), {}, "measurements: expected a list"),
        ((*SHARE, "epsilon"), "1/12", "measurements.0.share.row_epsilon: costs more than the share"),
        ((*SHARE, "epsilon"), "0", "measurements.0.share: a share has epsilon above 0"),
    ],
)  # fmt: skip
def test_a_document_with_a_fault_is_refused_by_its_place(place: Place, value: object, words: str) -> None:
    refused(changed(place, value), words)


def test_a_fault_in_the_domain_is_a_fault_of_the_declaration() -> None:
    refused(changed(("domain", "attributes", "age", "lower"), 100), "age.lower", ConfigurationError)
    # A class more than there are parameters for.
    refused(
        changed(("domain", "label", "classes"), ["no", "yes", "maybe"]), "classes.probability: expected a list of 3"
    )


def test_text_that_is_no_document_is_refused() -> None:
    for document in (None, [], "text", 3):
        refused(document, "document: expected an object")
    refused(changed(("guarantee",), {1: 2}), "guarantee: expected text keys")


def test_shares_without_a_common_denominator_are_refused_before_they_are_added_up() -> None:
    first = VALID["measurements"][0]
    odd = [
        {**first, "share": {"composition": "", "epsilon": f"1/{each}", "row_epsilon": f"1/{2 * each}"}}
        for each in range(10**299, 10**299 + 2000)
    ]
    refused(changed(("measurements",), odd), "the shares have no common denominator")


def test_a_guarantee_of_nothing_is_refused() -> None:
    empty = changed(("measurements",), [])
    refused(changed(("guarantee", "epsilon"), "0", empty), "guarantee.epsilon: must be above 0")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not a JSON file"),
        (to_json(VALID).encode()[:-100], "not a JSON file"),
        (b"[" * 200_000, "not a JSON file"),
        (b'{"a":' * 200_000, "not a JSON file"),
        (b"9" * 5_000, "not a JSON file"),
        (to_json(VALID).replace("clerk", "\\ud800").encode(), "not a JSON file"),
        (to_json(VALID).replace("30.125", "NaN").encode(), "nan is not a possible value"),
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
        model = read_or_refused(partial(from_document, changed(place, value), "model.json"), "model.json")
        if model is not None and place[-1] != "attribute":  # of a share: judged by parameters, invented here
            assert from_document(json.loads(to_json(to_document(model))), "model.json") == model


def test_other_priors_are_read_and_have_another_digest() -> None:
    """Made for another population, say: that is post-processing; the digest tells that it is not what was released."""
    released = golden_model()
    other = from_document(changed(("classes", "probability"), [0.25, 0.75]), "model.json")
    assert other.priors == (0.25, 0.75)
    assert other.measurements == released.measurements
    assert document_digest(other) != document_digest(released)


# A Parquet file that is no model, edited, or damaged is refused.


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
    parquet_refused(parquet, "its metadata does not fit its rows")
    for document in (
        b"not JSON",
        b"[" * 100_000,
        [],
        {},
        {"domain": {}},
        {"domain": [], "measurements": 7, "classes": 3, "attributes": ""},
    ):
        rewrite(parquet, table, document)
        parquet_refused(parquet, "its metadata does not fit its rows")


def test_parquet_rows_in_another_order_or_number_are_refused(parquet: Path) -> None:
    table = pq.read_table(parquet)
    order = list(range(table.num_rows))
    order[3], order[4] = order[4], order[3]
    rewrite(parquet, table.take(order))
    parquet_refused(parquet, "its rows do not follow its metadata")
    for part in (table[:-1], table[:0], pa.concat_tables([table, table[:1]])):
        rewrite(parquet, part)
        parquet_refused(parquet, "its metadata does not fit its rows")
    for column in table.column_names:
        rewrite(parquet, table.drop_columns([column]))
        parquet_refused(parquet, "a table of other columns")


@pytest.mark.parametrize(
    ("column", "row", "value", "words"),
    [
        ("value", 0, 0.5, "classes.probability: probabilities do not add up to 1"),
        ("value", 2, float("nan"), "attributes.age.mean: nan is not"),
        ("value", 3, -1.0, "attributes.age.deviation: -1.0 is not"),
        ("released", 0, 0.5, "measurements.0.values.0: 0.5 is not a possible value"),
        ("class", 0, "yes", "its rows do not follow its metadata"),
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


@pytest.mark.slow
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
