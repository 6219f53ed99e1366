"""Raw files in the publishers' form become Parquet with its domain; damaged, missing and other ones are refused."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from support import raw_files as raw
from support.catalogue_cases import CATALOGUE, CENSUS_1940, outside
from support.watching import Watching

from dpnb_columnar.domain.declaration import DOMAIN_KEY, domain_from_metadata
from dpnb_columnar.errors import DataError, DomainError, MissingInputError
from dpnb_columnar.extensions.datasets.datasets import checksum, prepare
from dpnb_columnar.runtime.row_progress import watch_progress


def test_adult_reader(tmp_path: Path) -> None:
    rows, frame = raw.made("adult", {"adult.data.gz": raw.ADULT_TRAIN, "adult.test.gz": raw.ADULT_TEST}, tmp_path)
    assert rows == 3
    assert frame["age"].to_list() == [39, 50, 25]
    assert frame["capital-gain"].to_list() == [2174, 0, 0]
    assert frame["workclass"].to_list() == ["State-gov", "?", "Private"]
    assert frame["native-country"].to_list() == ["United-States", "?", "Outlying-US(Guam-USVI-etc)"]
    assert frame["income"].to_list() == ["<=50K", ">50K", "<=50K"]
    assert outside(frame, CATALOGUE["adult"].domain) == 1


def test_raw_file_declared_compressed_may_lie_there_uncompressed(tmp_path: Path) -> None:
    entry = raw.declared("skin", {"skin/Skin_NonSkin.txt.gz": raw.SKIN}, tmp_path)
    (tmp_path / "skin/Skin_NonSkin.txt.gz").rename(tmp_path / "moved.gz")
    (tmp_path / "skin/Skin_NonSkin.txt").write_bytes(raw.SKIN)
    assert prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False) == 2


def test_recompressed_raw_file_is_the_same_file(tmp_path: Path) -> None:
    entry = raw.declared("skin", {"skin.gz": raw.SKIN}, tmp_path)
    (tmp_path / "skin.gz").write_bytes(gzip.compress(raw.SKIN, compresslevel=1, mtime=5))
    assert prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False) == 2


def test_mushroom_reader(tmp_path: Path) -> None:
    rows, frame = raw.made("mushroom", {"agaricus-lepiota.data": raw.MUSHROOM}, tmp_path)
    assert rows == 2
    assert frame["class"].to_list() == ["p", "e"]
    assert frame["stalk-root"].to_list() == ["e", "?"]
    assert frame["habitat"].to_list() == ["u", "d"]
    assert outside(frame, CATALOGUE["mushroom"].domain) == 0


def test_skin_reader(tmp_path: Path) -> None:
    _, frame = raw.made("skin", {"skin.txt": raw.SKIN}, tmp_path)
    assert frame.rows() == [(74, 85, 123, 1), (255, 0, 7, 2)]
    assert frame.columns == ["B", "G", "R", "skin"]
    assert set(frame.dtypes) == {pl.Int64}


def test_seeds_reader(tmp_path: Path) -> None:
    _, frame = raw.made("seeds", {"seeds.txt": raw.SEEDS}, tmp_path)
    assert frame.rows() == [
        (15.26, 14.84, 0.871, 5.763, 3.312, 2.221, 5.22, 1),
        (14.88, 14.57, 0.8811, 5.554, 3.333, 1.018, 4.956, 3),
    ]
    assert outside(frame, CATALOGUE["seeds"].domain) == 0


def test_glass_reader_drops_the_running_number(tmp_path: Path) -> None:
    _, frame = raw.made("glass", {"glass.data": raw.GLASS}, tmp_path)
    assert frame.columns == ["RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe", "type"]
    assert frame.row(1) == (1.51711, 14.23, 0.0, 2.08, 73.36, 0.0, 8.62, 1.67, 0.0, 7)
    assert outside(frame, CATALOGUE["glass"].domain) == 0


def test_census_income_reader_leaves_the_weight_out(tmp_path: Path) -> None:
    _, frame = raw.made("census-income", {"part.csv.gz": raw.CENSUS_INCOME}, tmp_path)
    assert frame.columns[:2] == ["age", "class of worker"]
    assert "instance weight" not in frame.columns
    row = frame.row(0, named=True)
    assert (row["age"], row["detailed industry recode"], row["dividends from stocks"]) == (44, 37, 2500)
    assert (row["migration code-change in reg"], row["year"], row["class"]) == ("?", 95, "50000+")
    assert outside(frame, CATALOGUE["census-income"].domain) == 0


def test_acs_reader_keeps_wanted_columns_as_whole_numbers(tmp_path: Path) -> None:
    contents = {
        "csv_pde.zip": raw.archive("psam_p10.csv", raw.ACS_HEADER + raw.ACS_DELAWARE),
        "csv_pid.zip": raw.archive("psam_p16.csv", raw.ACS_HEADER + raw.ACS_IDAHO),
    }
    watching = Watching()
    with watch_progress(watching):
        rows, frame = raw.made("acs2018", contents, tmp_path)
    assert sum(watching.done) == watching.total  # each archive is verified, and converted
    assert rows == 2
    assert set(frame.columns) == set(CATALOGUE["acs2018"].domain.columns)
    assert set(frame.dtypes) == {pl.Int64}
    assert frame.row(0, named=True) | {"AGEP": 41, "RELP": 0, "SCHL": 1, "PINCP": 50001, "COW": 1} == frame.row(
        0, named=True
    )
    assert frame.row(1, named=True)["COW"] is None
    assert frame.row(1, named=True)["PINCP"] is None
    assert outside(frame, CATALOGUE["acs2018"].domain) == 1


def test_acs_income_reader_selects_columns(tmp_path: Path) -> None:
    raw.income_frame().write_parquet(tmp_path / "raw.parquet")
    _, frame = raw.made("acs_income_2018", {"raw.parquet": (tmp_path / "raw.parquet").read_bytes()}, tmp_path)
    domain = CATALOGUE["acs_income_2018"].domain
    assert "State" not in frame.columns
    assert set(frame.columns) == set(domain.columns)
    assert frame.schema["Workclass"] == pl.String
    assert outside(frame, domain) == 0


def test_prepared_file_carries_its_domain(tmp_path: Path) -> None:
    import pyarrow.parquet

    raw.made("seeds", {"seeds.txt": raw.SEEDS}, tmp_path)
    path = tmp_path / "out.parquet"
    stored = pyarrow.parquet.read_metadata(path).metadata
    texts = {key.decode(): value.decode() for key, value in stored.items()}
    assert domain_from_metadata(texts, str(path)) == CATALOGUE["seeds"].domain
    assert json.loads(texts[DOMAIN_KEY], parse_float=Decimal)["name"] == "seeds"


def names_of(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_tampered_raw_file_is_refused(tmp_path: Path) -> None:
    entry = raw.declared("skin", {"skin.txt": raw.SKIN}, tmp_path)
    tampered = raw.SKIN.replace(b"74", b"75")
    (tmp_path / "skin.txt").write_bytes(tampered)
    with pytest.raises(DataError) as caught:
        prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False)
    for text in ("skin.txt", hashlib.sha256(raw.SKIN).hexdigest(), hashlib.sha256(tampered).hexdigest(), entry.source):
        assert text in str(caught.value)
    assert names_of(tmp_path) == {"skin.txt"}


def test_tampered_second_file_and_tampered_content_of_gzip_are_refused(tmp_path: Path) -> None:
    entry = raw.declared("adult", {"a.gz": raw.ADULT_TRAIN, "b.gz": raw.ADULT_TEST}, tmp_path)
    (tmp_path / "b.gz").write_bytes(gzip.compress(raw.ADULT_TEST + b"\n"))
    with pytest.raises(DataError, match=r"b\.gz: not the file"):
        prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False)


@pytest.mark.parametrize("damage", [lambda b: b[:-9], lambda b: b"plain" + b, lambda b: b[:12] + b"\xff" * 9 + b[21:]])
def test_damaged_gzip_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    entry = raw.declared("skin", {"skin.gz": raw.SKIN}, tmp_path)
    (tmp_path / "skin.gz").write_bytes(damage((tmp_path / "skin.gz").read_bytes()))
    with pytest.raises(DataError, match="not a complete gzip file"):
        prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False)


def test_missing_raw_files_are_all_named(tmp_path: Path) -> None:
    entry = CATALOGUE["adult"]
    with pytest.raises(MissingInputError) as caught:
        prepare(entry, tmp_path / "nowhere", tmp_path / "out.parquet", overwrite=False)
    for relative, declared_checksum in entry.raw.items():
        assert str(tmp_path / "nowhere" / relative) in str(caught.value)
        assert declared_checksum in str(caught.value)
    assert names_of(tmp_path) == set()


def test_unreadable_raw_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match="cannot be read"):
        checksum(tmp_path)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("ipums1940", "usa.ipums.org"), ("census_simulated", r'make it with `dpnb\.simulate\("OUT\.parquet"\)`')],
)
def test_data_sets_made_elsewhere_say_where(tmp_path: Path, name: str, remedy: str) -> None:
    with pytest.raises(MissingInputError, match=remedy) as caught:
        prepare(CATALOGUE[name], tmp_path, tmp_path / "out.parquet", overwrite=False)
    for column in ("INCWAGE", *CENSUS_1940):
        assert column in str(caught.value)


def test_data_set_without_reader_is_refused(tmp_path: Path) -> None:
    entry = replace(raw.declared("skin", {"skin.txt": raw.SKIN}, tmp_path), name="pixels")
    with pytest.raises(MissingInputError, match="pixels: no raw files to prepare it from: prepare reads adult"):
        prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("skin", b"74\t85\tsecret41\t1\r\n"),
        ("skin", b"1\t2\t3\t1\tsecret41\n"),
        ("seeds", b"secret41\t14.84\t0.871\t5.763\t3.312\t2.221\t5.22\t1\n"),
        ("seeds", "ä secret41".encode()),
        ("adult", b"secret41" + raw.ADULT_TRAIN),
        ("glass", b"1,secret41" + raw.GLASS),
        ("acs2018", b"secret41, no archive"),
        ("acs2018", raw.archive("other.csv", b"secret41")),
        ("acs2018", raw.archive("psam_p10.csv", raw.ACS_HEADER + raw.ACS_DELAWARE.replace(b"041", b"secret41"))),
        ("acs2018", raw.archive("psam_p10.csv", b"AGEP,secret41\n1,2\n")),
        ("acs_income_2018", b"PAR1 secret41"),
    ],
    ids=[
        *("text for a number", "a column too many", "no class", "other bytes", "begun otherwise", "text in glass"),
        *("no archive", "no persons", "a text in a row", "other columns", "no Parquet"),
    ],
)
def test_unexpected_form_is_refused_without_quoting_a_row(tmp_path: Path, name: str, content: bytes) -> None:
    entry = raw.declared(name, {"raw.txt": content}, tmp_path)
    with pytest.raises(DataError, match=r"raw\.txt: not in the form") as caught:
        prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False)
    assert "secret41" not in str(caught.value)
    assert caught.value.__suppress_context__
    assert names_of(tmp_path) == {"raw.txt"}


def test_columns_the_raw_files_do_not_have_are_named(tmp_path: Path) -> None:
    entry = raw.declared("skin", {"skin.txt": raw.SKIN}, tmp_path)
    attributes = {**entry.table["attributes"], "alpha": {"lower": 0, "upper": 255, "step": 1}}
    entry = replace(entry, table={**entry.table, "attributes": attributes})
    with pytest.raises(DataError, match=r"no column alpha; found \['B', 'G', 'R', 'skin'\]"):
        prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False)
    assert names_of(tmp_path) == {"skin.txt"}


def test_faulty_domain_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    entry = replace(CATALOGUE["skin"], table={**CATALOGUE["skin"].table, "label": {"column": "skin"}})
    with pytest.raises(DomainError):
        prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False)
