"""Model files: exact round trips, equal bytes, and the golden files."""

from __future__ import annotations

import copy
import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from support.golden_model import golden_model
from support.model_cases import LARGEST_COUNT, declared, model_of, models
from support.released_models import MODELS

from dpnb_columnar.api import load_model
from dpnb_columnar.api.model import Model
from dpnb_columnar.errors import OutputError
from dpnb_columnar.model.document import leaves, to_document, to_json
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
    sizes += [len(one.presence.released[0]) for one in model.attributes if not isinstance(one, Table) and one.presence]
    assert table.num_rows == classes * (1 + sum(sizes))
    assert [(field.name, str(field.type)) for field in table.schema] == SCHEMA
    assert table.num_rows == len({tuple(row.values())[:4] for row in table.to_pylist()})
    # The numbers stand in the rows only: the metadata has their places.
    frame = json.loads(table.schema.metadata[MODEL_KEY.encode()])
    assert {leaf.released[leaf.position] for leaf in leaves(frame)} == {None}
    assert {leaf.values[leaf.position] for leaf in leaves(frame)} == {None}
