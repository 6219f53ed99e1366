"""Bug 3. diffprivlib corrects noisy class counts until they add up to the true number of rows; scalers divide by exact
counts (also Opacus #571, #819). So n is released without noise.

Ours would show it as a model that still differs between n and n + 1 rows once every draw is answered alike, as class
counts that keep their sum, or as an exact number in a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from support.people import PEOPLE, TYPES, people
from support.recorded_draws import MECHANISMS, Forced, counted
from support.releases import plan_and_release
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.budget import Budget, Share
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.mechanisms.mechanism import PrivateCounts, noisy_counts
from dpnb_columnar.model import postprocessing
from dpnb_columnar.model.model_document import to_document
from dpnb_columnar.model.parameters import ClassCounts
from dpnb_columnar.noise import Sampler

ROWS = 7919
"""A number that comes about by nothing but counting."""

ANY_ROWS: Mapping[str, pl.DataFrame] = {
    "n": people(100),
    "n + 1": people(101),
    "none": pl.DataFrame(schema=TYPES),
    "one class": people(300).with_columns(income=pl.lit("high")),
    "one value": people(3000).with_columns(age=pl.lit(100), hours=pl.lit(0), sex=pl.lit("m")),
}


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> list[Statistics]:
    """Of quite different rows, those of n and n + 1 rows first."""
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    return [counted(path, frame, PEOPLE) for frame in ANY_ROWS.values()]


def models(counts: list[Statistics], mechanism: str, answer: int) -> list[dict[str, Any]]:
    """Documents of their models, every draw answered alike."""
    return [to_document(plan_and_release(one, Budget(Fraction(1)), mechanism, draw=Forced(answer))) for one in counts]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("answer", [-3, 0, 9, 40, 250])
def test_bug_03_a_model_depends_on_rows_through_its_draws_alone(
    mechanism: str, answer: int, counts: list[Statistics]
) -> None:
    first, *others = models(counts, mechanism, answer)
    assert all(other == first for other in others)


def add_up_to_n(self: object, statistics: Statistics, share: Share, draw: Sampler) -> ClassCounts:
    """The peer's fault: the last count is whatever makes the sum right."""
    released = noisy_counts(statistics.class_counts, share, draw)
    return postprocessing.class_counts([*released[:-1], int(statistics.class_counts.sum()) - sum(released[:-1])])


@pytest.fixture
def corrected_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PrivateCounts, "classes", add_up_to_n)


@pytest.mark.usefixtures("corrected_counts")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_bug_03_the_same_comparison_finds_corrected_counts(mechanism: str, counts: list[Statistics]) -> None:
    first, *others = models(counts, mechanism, 40)
    assert all(other != first for other in others[:2])


def sums(statistics: Statistics) -> set[int]:
    """Sums of the released class counts, release after release of the same rows."""
    released = (dpnb.release(statistics, epsilon="0.01", mechanism="majority") for _ in range(60))
    return {sum(model.classes.released) for model in released}


def test_bug_03_the_sum_of_the_class_counts_is_noisy(counts: list[Statistics]) -> None:
    """Noise of scale 100 on each of two counts: the sum hits n itself once in some hundred draws."""
    found = sums(counts[0])
    assert len(found) > 20
    assert max(found) - min(found) > 100


@pytest.mark.usefixtures("corrected_counts")
def test_bug_03_corrected_counts_keep_their_sum(counts: list[Statistics]) -> None:
    assert sums(counts[0]) == {100}


def numbers(value: object) -> Iterator[float]:
    """Every number in a document, those written as text included."""
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    if isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from numbers(item)
        return
    try:
        yield float(str(value))
    except ValueError:
        return


def exact_counts(frame: pl.DataFrame) -> set[float]:
    return {frame.height, *frame["income"].value_counts()["count"].to_list()}


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_bug_03_no_file_holds_an_exact_count(mechanism: str, folder: Path, run: Run) -> None:
    frame = people(ROWS)
    counted(folder / "people.parquet", frame, PEOPLE)
    held: set[float] = set()
    for name in ("model.json", "model.parquet"):
        # A small share, so that no draw hits the exact count by chance; a seed, so that this is not left to chance.
        run("train", "people.parquet", "--epsilon", "0.001", "--mechanism", mechanism, "--output", name, "--seed", 5)
        held |= set(numbers(json.loads(run("show", name, "--json").out)))
    table = pq.read_table("model.parquet")
    assert "n" not in table.column_names
    held |= set(numbers(table.to_pylist()))
    held |= {number for text in (table.schema.metadata or {}).values() for number in numbers(text.decode().split())}
    assert held
    assert not held & exact_counts(frame)


def test_bug_03_the_same_search_finds_exact_counts(folder: Path, run: Run) -> None:
    frame = people(ROWS)
    counted(folder / "people.parquet", frame, PEOPLE)
    run("train", "people.parquet", "--mechanism", "none")
    held = set(numbers(json.loads(Path("people.model.json").read_text())))
    assert held & exact_counts(frame)
