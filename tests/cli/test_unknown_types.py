"""Rows beside a column of a type that Polars does not know are counted as others are."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from support.people import people, write_people
from support.running import Run
from support.unknown_types import UNKNOWN, write_unknown


@pytest.fixture(params=UNKNOWN)
def places(request: pytest.FixtureRequest, folder: Path) -> Path:
    """A folder with the same rows twice, in places.parquet with a shape that Polars does not know."""
    write_people(folder / "people.parquet", people(1000))
    table = pq.read_table(folder / "people.parquet")
    table, metadata = table.add_column(0, "shape", [["x"] * len(table)]), pq.read_metadata("people.parquet").metadata
    write_unknown(folder / "places.parquet", table, request.param, metadata)
    return folder


@pytest.mark.parametrize("mechanism", ["histogram", "smooth"])
@pytest.mark.parametrize("weights", ["none", "calibrated"])
def test_the_model_is_that_of_the_other_columns(mechanism: str, weights: str, places: Path, run: Run) -> None:
    models = {}
    for name in ("people", "places"):
        given = ["--mechanism", mechanism, "--attribute-weights", weights, "--seed", "1"]
        run("train", f"{name}.parquet", *given, "--output", f"{name}.json")
        models[name] = json.loads((places / f"{name}.json").read_text())
    for part in ("classes", "attributes", "attribute_weights", "guarantee"):
        assert models["people"].get(part) == models["places"].get(part)


def test_every_verb_reads_the_other_columns(places: Path, run: Run) -> None:
    run("train", "people.parquet", "--seed", "1", "--output", "model.json")
    told = {}
    for name in ("people", "places"):
        run("predict", "model.json", f"{name}.parquet", "--key", "age", "--output", f"{name}.scores.parquet")
        run("split", f"{name}.parquet")
        run("aggregate", f"{name}.parquet", "--output", f"{name}.statistics.parquet")
        told[name] = [run("check", f"{name}.parquet").out, run("evaluate", "model.json", f"{name}.parquet").out]
        told[name] = [text.replace(f"{name}.parquet", "rows") for text in told[name]]
    assert told["people"] == told["places"]
    scores, expected = (pl.read_parquet(f"{name}.scores.parquet") for name in ("places", "people"))
    assert scores.equals(expected)
    parts = [pq.read_table(f"places.{part}.parquet", columns=["age", "sex"]) for part in ("train", "test")]
    assert sum(map(len, parts)) == 1000


def test_the_column_is_named_where_it_is_asked_for(places: Path, run: Run) -> None:
    run("train", "people.parquet", "--seed", "1", "--output", "model.json")
    kept = run("predict", "model.json", "places.parquet", "--key", "shape", "--output", "s.parquet", expected=65)
    assert kept.err == (
        "dpnb-columnar: places.parquet: column 'shape' is of a type that cannot be read; cast it first\n"
    )
    assert "# left out: shape: type Unknown can be no attribute; cast it" in run("suggest-domain", "places.parquet").out
    entry = "[places.label]\ncolumn = 'income'\nclasses = ['low', 'high']\n[places.attributes.shape]\nvalues = ['x']\n"
    (places / "own.toml").write_text(f"[places]\n{entry}")
    refused = run("train", "places.parquet", "--dataset", "own.toml:places", expected=65)
    assert "column 'shape' has type Unknown: cast it to a number, a boolean, a date or text" in refused.err


def test_damaged_rows_are_told_as_those_of_other_files(places: Path, run: Run) -> None:
    run("train", "people.parquet", "--seed", "1", "--output", "model.json")
    path = places / "places.parquet"
    content = bytearray(path.read_bytes())
    content[4:2000] = bytes(1996)
    path.write_bytes(content)
    for line in ("train FILE", "suggest-domain FILE", "predict model.json FILE --output s.parquet", "split FILE"):
        told = run(*line.replace("FILE", path.name).split(), expected=65).err
        assert "places.parquet: cannot be read to the end" in told
