"""The published files have the rows, classes and bounds that their publishers document."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest
from dpnb_columnar.extensions.datasets import Prepared, prepare
from support.catalogue_cases import CATALOGUE, DATA, outside, published

PUBLISHED = {
    # name: (rows, rows of each class); UCI's and the Census Bureau's own counts
    "adult": (48_842, {"<=50K": 37_155, ">50K": 11_687}),
    "mushroom": (8_124, {"e": 4_208, "p": 3_916}),
    "skin": (245_057, {"1": 50_859, "2": 194_198}),
    "seeds": (210, {"1": 70, "2": 70, "3": 70}),
    "glass": (214, {"1": 70, "2": 76, "3": 17, "5": 13, "6": 9, "7": 29}),
    "acs2018": (55_881, None),
    "acs_income_2018": (295_243, None),
    "census-income": (49_881, {"- 50000": 46_826, "50000+": 3_055}),
    "census-income-no-recodes": (49_881, {"- 50000": 46_826, "50000+": 3_055}),
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Prepared, pl.DataFrame]]:
    """Prepares a published data set, once."""
    done: dict[str, tuple[Prepared, pl.DataFrame]] = {}

    def make(name: str) -> tuple[Prepared, pl.DataFrame]:
        if name not in done:
            for relative in CATALOGUE[name].raw:
                published(relative)
            output = tmp_path_factory.mktemp(name) / f"{name}.parquet"
            result = prepare(CATALOGUE[name], DATA, output, overwrite=False)
            done[name] = result, pl.read_parquet(output)
        return done[name]

    return make


Published = Callable[[str], tuple[Prepared, pl.DataFrame]]


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_rows_and_classes(prepared: Published, name: str) -> None:
    done, frame = prepared(name)
    rows, classes = PUBLISHED[name]
    assert (done.rows, frame.height) == (rows, rows)
    if classes is not None:
        label = CATALOGUE[name].domain.label.column
        assert label is not None
        assert dict(frame[label].cast(pl.String).value_counts().iter_rows()) == classes


@pytest.mark.parametrize(
    ("name", "documented"),
    [
        *(("adult", 48_842 - 45_222), ("mushroom", 0), ("skin", 0), ("seeds", 0), ("glass", 0), ("acs_income_2018", 0)),
        *(("census-income", 0), ("census-income-no-recodes", 0)),
    ],
)
def test_published_rows_outside_the_domain(prepared: Published, name: str, documented: int) -> None:
    assert outside(prepared(name)[1], CATALOGUE[name].domain) == documented


def test_acs_rows_outside_the_domain_are_those_of_people_who_did_not_work(prepared: Published) -> None:
    frame = prepared("acs2018")[1]
    assert outside(frame, CATALOGUE["acs2018"].domain) == frame["WKHP"].null_count()
    assert frame.filter(pl.col("WKHP").is_not_null()).select(pl.all().null_count()).sum_horizontal().item() == 0


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_numbers_lie_within_their_documented_bounds(prepared: Published, name: str) -> None:
    frame = prepared(name)[1]
    for attribute in CATALOGUE[name].domain.numeric:
        column = frame[attribute.name].drop_nulls()
        assert column.is_between(float(attribute.lower), float(attribute.upper)).all(), attribute.name
