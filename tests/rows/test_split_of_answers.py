"""Lemma 2.16 attacked: no flagged value decides on the part of a row, so an answer and its copies move one row."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.people import PEOPLE, Document, people, people_domain, write_people
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration import DOMAIN_KEY
from dpnb_columnar.domain.editing import ImputedValues, with_imputed
from dpnb_columnar.rows import holdout

Row = tuple[Any, ...]

NAMES = ("home", "age", "qage", "income", "qincome")
SCHEMA = pl.Schema(dict(zip(NAMES, (pl.Int64, pl.Int64, pl.Int64, pl.String, pl.String), strict=True)))

DOMAIN = dpnb.read_domain(
    {
        "name": "answers",
        "label": {
            "column": "income",
            "classes": ["low", "high"],
            "imputed": {"column": "qincome", "values": ["donor"]},
        },
        "attributes": {"age": {"lower": 0, "upper": 9, "step": 1, "imputed": {"column": "qage", "values": [1, 4]}}},
    }
)
assert isinstance(DOMAIN, Domain)
AVAILABLE = with_imputed(DOMAIN, ImputedValues.COUNTED)
"""The flags are there, and no value is missing by them yet: that may be decided for the parts."""


def table(age: int, income: str, kinds: Sequence[str]) -> list[Row]:
    """The row of a respondent, and other rows: copies of the age, of the income, of both, or of nothing."""
    rows: list[Row] = [(0, age, 0, income, "answer")]
    for home, kind in enumerate(kinds, 1):
        copied, donated = "a" in kind, "i" in kind
        rows.append((home, age if copied else 5, 4 if copied else 0, income if donated else "low", "donor" * donated))
    return rows


def homes(rows: Sequence[Row], **options: Any) -> tuple[Counter[int], ...]:
    """The homes in each part of a frame, but for the respondent's."""
    parts = dpnb.split(pl.DataFrame(rows, SCHEMA, orient="row"), test=0.5, **options)
    return tuple(Counter(part["home"].to_list()) - Counter([0]) for part in parts)


def moved(domain: Any, by: Sequence[str] = (), most: int = 3) -> int:
    """Over all pairs of neighbours of so many other rows at most: the pairs in which another row changes its part."""
    pairs = 0
    for size in range(most + 1):
        for kinds in itertools.product(("", "a", "i", "ai"), repeat=size):
            before = homes(table(3, "low", kinds), domain=domain, by=by)
            for age, income in ((7, "low"), (3, "high"), (7, "high")):
                pairs += homes(table(age, income, kinds), domain=domain, by=by) != before
    return pairs


@pytest.mark.parametrize("most", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("domain", [DOMAIN, AVAILABLE], ids=["missing", "available"])
@pytest.mark.parametrize("by", [(), ("age",)], ids=["rows", "units"])
def test_an_answer_and_its_flagged_copies_move_no_other_row(domain: Any, by: tuple[str, ...], most: int) -> None:
    assert moved(domain, by, most) == 0


def test_without_flags_copies_move_with_their_answer() -> None:
    assert moved(None, most=1)


def doors(rows: pl.DataFrame, document: Document) -> dict[str, Callable[[Run], set[int]]]:
    """Every way to the same rows, each by its own way to the domain: the rows that are held out."""
    carried, bare = write_people(Path("carried.parquet"), rows, document), Path("bare.parquet")
    rows.write_parquet(bare)
    domain = people_domain(document)

    def by_command(run: Run, *arguments: object) -> set[int]:
        outputs = ("--train-output", "1.parquet", "--test-output", "2.parquet")
        run("split", *arguments, *outputs, "--overwrite")
        return {*map(int, pl.read_parquet("2.parquet")["row"])}

    return {
        "file": lambda run: by_command(run, carried),
        "file of texts": lambda run: by_command(run, _as_texts(carried)),
        "catalogue": lambda run: by_command(run, bare, "--dataset", "people"),
        "files in Python": lambda run: {*pl.read_parquet(dpnb.split(bare, domain=domain, overwrite=True).test)["row"]},
        "frame": lambda run: {*dpnb.split(rows, domain=domain).test["row"]},
        "mapping": lambda run: {*dpnb.split(rows, domain={"name": "people", **document}).test["row"]},
        "pandas": lambda run: {*dpnb.split(rows.to_pandas(), domain=domain).test["row"]},
        "arrow": lambda run: {*dpnb.split(_with_domain(carried)).test["row"].to_pylist()},
    }


def _with_domain(file: Path) -> pa.Table:
    """The rows as an Arrow table, which carries the domain of the file in its schema."""
    key = DOMAIN_KEY.encode()
    return pq.read_table(file).replace_schema_metadata({key: pq.read_metadata(file).metadata[key]})


def _as_texts(file: Path) -> Path:
    table = _with_domain(file)
    texts = pa.schema([(name, pa.string()) for name in table.column_names], table.schema.metadata)
    pq.write_table(table.cast(texts), "texts.parquet")
    return Path("texts.parquet")


@pytest.mark.slow
def test_every_door_keeps_the_other_rows_where_they_are(folder: Path, run: Run) -> None:
    hours = {**PEOPLE["attributes"]["hours"], "imputed": {"column": "qhours", "values": [1, 4]}}
    document = {**PEOPLE, "attributes": {**PEOPLE["attributes"], "hours": hours}}
    rows = people(200).with_columns(row=pl.int_range(200), qhours=pl.Series([4, 0] * 100))
    run("domain", "edit", write_people(Path("a.parquet"), rows, document), "--output", "datasets.toml")
    held: dict[str, list[set[int]]] = {}
    for answer in (3, 90):
        copied = (pl.col("qhours") == 4) | (pl.col("row") == 1)
        neighbour = rows.with_columns(hours=pl.when(copied).then(answer).otherwise("hours"))
        for name, held_out in doors(neighbour, document).items():
            held.setdefault(name, []).append(held_out(run) - {1})
    for name, (before, after) in held.items():
        assert before == after == held["file"][0], name
        assert 20 < len(before) < 60


def test_a_flag_is_read_by_its_value_in_every_type() -> None:
    flag = DOMAIN.imputed["age"][0]
    for column in (
        pa.array([1, 0, 4, None], pa.int8()),
        pa.array([1.0, float("nan"), 4.0, None]),
        pa.array(["1", "x", "4.0", None]),
        pa.array(["1", "x", "4", None]).dictionary_encode(),
        [1, "x", "4", None],
    ):
        assert holdout._flagged(column, flag).tolist() == [True, False, True, False]


@pytest.mark.parametrize("column", [pa.array([[1], [2]]), pa.array([1, 2]), pa.array(["a", "b"]).dictionary_encode()])
def test_a_flagged_value_of_any_type_is_null(column: pa.Array) -> None:
    kept = holdout._without(column, np.array([True, False]))
    assert isinstance(kept, pa.Array)
    assert kept.to_pylist() == [None, column.to_pylist()[1]]
