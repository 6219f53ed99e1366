"""Raw files in the publishers' form are made into Parquet that carries its domain."""

from __future__ import annotations

import gzip
import importlib
import json
from decimal import Decimal
from pathlib import Path

import polars as pl
from support.catalogue_cases import CATALOGUE, outside
from support.raw_files import (
    ACS_DELAWARE,
    ACS_HEADER,
    ACS_IDAHO,
    ADULT_TEST,
    ADULT_TRAIN,
    CENSUS_INCOME,
    GLASS,
    MUSHROOM,
    SEEDS,
    SKIN,
    archive,
    declared,
    income_frame,
    made,
)
from support.watching import Watching

from dpnb_columnar.datasets import Prepared, prepare
from dpnb_columnar.domain.declaration import DOMAIN_KEY, domain_from_metadata
from dpnb_columnar.runtime.row_progress import watch_progress


def test_adult_reader(tmp_path: Path) -> None:
    done, frame = made("adult", {"adult.data.gz": ADULT_TRAIN, "adult.test.gz": ADULT_TEST}, tmp_path)
    assert done == Prepared(tmp_path / "out.parquet", 3)
    assert frame["age"].to_list() == [39, 50, 25]
    assert frame["capital-gain"].to_list() == [2174, 0, 0]
    assert frame["workclass"].to_list() == ["State-gov", "?", "Private"]
    assert frame["native-country"].to_list() == ["United-States", "?", "Outlying-US(Guam-USVI-etc)"]
    assert frame["income"].to_list() == ["<=50K", ">50K", "<=50K"]
    assert outside(frame, CATALOGUE["adult"].domain) == 1


def test_raw_file_declared_compressed_may_lie_there_uncompressed(tmp_path: Path) -> None:
    entry = declared("skin", {"skin/Skin_NonSkin.txt.gz": SKIN}, tmp_path)
    (tmp_path / "skin/Skin_NonSkin.txt.gz").rename(tmp_path / "moved.gz")
    (tmp_path / "skin/Skin_NonSkin.txt").write_bytes(SKIN)
    assert prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False).rows == 2


def test_recompressed_raw_file_is_the_same_file(tmp_path: Path) -> None:
    entry = declared("skin", {"skin.gz": SKIN}, tmp_path)
    (tmp_path / "skin.gz").write_bytes(gzip.compress(SKIN, compresslevel=1, mtime=5))
    assert prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False).rows == 2


def test_mushroom_reader(tmp_path: Path) -> None:
    done, frame = made("mushroom", {"agaricus-lepiota.data": MUSHROOM}, tmp_path)
    assert done.rows == 2
    assert frame["class"].to_list() == ["p", "e"]
    assert frame["stalk-root"].to_list() == ["e", "?"]
    assert frame["habitat"].to_list() == ["u", "d"]
    assert outside(frame, CATALOGUE["mushroom"].domain) == 0


def test_skin_reader(tmp_path: Path) -> None:
    _, frame = made("skin", {"skin.txt": SKIN}, tmp_path)
    assert frame.rows() == [(74, 85, 123, 1), (255, 0, 7, 2)]
    assert frame.columns == ["B", "G", "R", "skin"]
    assert set(frame.dtypes) == {pl.Int64}


def test_seeds_reader(tmp_path: Path) -> None:
    _, frame = made("seeds", {"seeds.txt": SEEDS}, tmp_path)
    assert frame.rows() == [
        (15.26, 14.84, 0.871, 5.763, 3.312, 2.221, 5.22, 1),
        (14.88, 14.57, 0.8811, 5.554, 3.333, 1.018, 4.956, 3),
    ]
    assert outside(frame, CATALOGUE["seeds"].domain) == 0


def test_glass_reader_drops_the_running_number(tmp_path: Path) -> None:
    _, frame = made("glass", {"glass.data": GLASS}, tmp_path)
    assert frame.columns == ["RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe", "type"]
    assert frame.row(1) == (1.51711, 14.23, 0.0, 2.08, 73.36, 0.0, 8.62, 1.67, 0.0, 7)
    assert outside(frame, CATALOGUE["glass"].domain) == 0


def test_census_income_reader_leaves_the_weight_out(tmp_path: Path) -> None:
    _, frame = made("census-income", {"part.csv.gz": CENSUS_INCOME}, tmp_path)
    assert frame.columns[:2] == ["age", "class of worker"]
    assert "instance weight" not in frame.columns
    row = frame.row(0, named=True)
    assert (row["age"], row["detailed industry recode"], row["dividends from stocks"]) == (44, 37, 2500)
    assert (row["migration code-change in reg"], row["year"], row["class"]) == ("?", 95, "50000+")
    assert outside(frame, CATALOGUE["census-income"].domain) == 0


def test_acs_reader_keeps_wanted_columns_as_whole_numbers(tmp_path: Path) -> None:
    contents = {
        "csv_pde.zip": archive("psam_p10.csv", ACS_HEADER + ACS_DELAWARE),
        "csv_pid.zip": archive("psam_p16.csv", ACS_HEADER + ACS_IDAHO),
    }
    watching = Watching()
    with watch_progress(watching):
        done, frame = made("acs2018", contents, tmp_path)
    assert sum(watching.done) == watching.total  # each archive is verified, and converted
    assert done.rows == 2
    assert set(frame.columns) == set(CATALOGUE["acs2018"].domain.columns)
    assert set(frame.dtypes) == {pl.Int64}
    assert frame.row(0, named=True) | {"AGEP": 41, "RELP": 0, "SCHL": 1, "PINCP": 50001, "COW": 1} == frame.row(
        0, named=True
    )
    assert frame.row(1, named=True)["COW"] is None
    assert frame.row(1, named=True)["PINCP"] is None
    assert outside(frame, CATALOGUE["acs2018"].domain) == 1


def test_acs_income_reader_selects_columns(tmp_path: Path) -> None:
    income_frame().write_parquet(tmp_path / "raw.parquet")
    _, frame = made("acs_income_2018", {"raw.parquet": (tmp_path / "raw.parquet").read_bytes()}, tmp_path)
    domain = CATALOGUE["acs_income_2018"].domain
    assert "State" not in frame.columns
    assert set(frame.columns) == set(domain.columns)
    assert frame.schema["Workclass"] == pl.String
    assert outside(frame, domain) == 0


def test_prepared_file_carries_its_domain(tmp_path: Path) -> None:
    import pyarrow.parquet

    done, _ = made("seeds", {"seeds.txt": SEEDS}, tmp_path)
    stored = pyarrow.parquet.read_metadata(done.path).metadata
    texts = {key.decode(): value.decode() for key, value in stored.items()}
    assert domain_from_metadata(texts, str(done.path)) == CATALOGUE["seeds"].domain
    assert json.loads(texts[DOMAIN_KEY], parse_float=Decimal)["name"] == "seeds"


def test_package_and_module_give_the_same_function() -> None:
    assert importlib.import_module("dpnb_columnar.datasets.prepare").prepare is prepare
