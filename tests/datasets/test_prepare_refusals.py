"""Raw files that are tampered with, damaged, missing or of another form are refused; nothing is left."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from dpnb_columnar.extensions.datasets import prepare
from dpnb_columnar.extensions.datasets.prepare import checksum
from support.catalogue_cases import CATALOGUE, CENSUS_1940
from support.raw_files import ACS_DELAWARE, ACS_HEADER, ADULT_TEST, ADULT_TRAIN, GLASS, SKIN, archive, declared

from dpnb_columnar.errors import DataError, DomainError, MissingInputError, OutputError


def names_of(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_tampered_raw_file_is_refused(tmp_path: Path) -> None:
    entry = declared("skin", {"skin.txt": SKIN}, tmp_path)
    tampered = SKIN.replace(b"74", b"75")
    (tmp_path / "skin.txt").write_bytes(tampered)
    with pytest.raises(DataError) as caught:
        prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False)
    for text in ("skin.txt", hashlib.sha256(SKIN).hexdigest(), hashlib.sha256(tampered).hexdigest(), entry.source):
        assert text in str(caught.value)
    assert names_of(tmp_path) == {"skin.txt"}


def test_tampered_second_file_and_tampered_content_of_gzip_are_refused(tmp_path: Path) -> None:
    entry = declared("adult", {"a.gz": ADULT_TRAIN, "b.gz": ADULT_TEST}, tmp_path)
    (tmp_path / "b.gz").write_bytes(gzip.compress(ADULT_TEST + b"\n"))
    with pytest.raises(DataError, match=r"b\.gz: not the file"):
        prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False)


@pytest.mark.parametrize("damage", [lambda b: b[:-9], lambda b: b"plain" + b, lambda b: b[:12] + b"\xff" * 9 + b[21:]])
def test_damaged_gzip_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    entry = declared("skin", {"skin.gz": SKIN}, tmp_path)
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
    entry = replace(declared("skin", {"skin.txt": SKIN}, tmp_path), name="pixels")
    with pytest.raises(MissingInputError, match="pixels: no raw files to prepare it from: prepare reads adult"):
        prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False)


def test_existing_output_is_refused_and_replaced_on_demand(tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    output.write_bytes(b"mine")
    entry = declared("skin", {"skin.txt": SKIN}, tmp_path)
    with pytest.raises(OutputError, match="exists already"):
        prepare(entry, tmp_path, output, overwrite=False)
    assert output.read_bytes() == b"mine"
    assert prepare(entry, tmp_path, output, overwrite=True).rows == 2
    assert pl.read_parquet(output).height == 2


def test_existing_output_is_refused_before_any_raw_file_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "out.parquet").touch()
    with pytest.raises(OutputError):
        prepare(CATALOGUE["adult"], tmp_path, tmp_path / "out.parquet", overwrite=False)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("skin", b"74\t85\tsecret41\t1\r\n"),
        ("skin", b"1\t2\t3\t1\tsecret41\n"),
        ("seeds", b"secret41\t14.84\t0.871\t5.763\t3.312\t2.221\t5.22\t1\n"),
        ("seeds", "ä secret41".encode()),
        ("adult", b"secret41" + ADULT_TRAIN),
        ("glass", b"1,secret41" + GLASS),
        ("acs2018", b"secret41, no archive"),
        ("acs2018", archive("other.csv", b"secret41")),
        ("acs2018", archive("psam_p10.csv", ACS_HEADER + ACS_DELAWARE.replace(b"041", b"secret41"))),
        ("acs2018", archive("psam_p10.csv", b"AGEP,secret41\n1,2\n")),
        ("acs_income_2018", b"PAR1 secret41"),
    ],
    ids=[
        *("text for a number", "a column too many", "no class", "other bytes", "begun otherwise", "text in glass"),
        *("no archive", "no persons", "a text in a row", "other columns", "no Parquet"),
    ],
)
def test_unexpected_form_is_refused_without_quoting_a_row(tmp_path: Path, name: str, content: bytes) -> None:
    entry = declared(name, {"raw.txt": content}, tmp_path)
    with pytest.raises(DataError, match=r"raw\.txt: not in the form") as caught:
        prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False)
    assert "secret41" not in str(caught.value)
    assert caught.value.__suppress_context__
    assert names_of(tmp_path) == {"raw.txt"}


def test_columns_the_raw_files_do_not_have_are_named(tmp_path: Path) -> None:
    entry = declared("skin", {"skin.txt": SKIN}, tmp_path)
    attributes = {**entry.table["attributes"], "alpha": {"lower": 0, "upper": 255, "step": 1}}
    entry = replace(entry, table={**entry.table, "attributes": attributes})
    with pytest.raises(DataError, match=r"no column alpha; found \['B', 'G', 'R', 'skin'\]"):
        prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False)
    assert names_of(tmp_path) == {"skin.txt"}


def test_faulty_domain_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    entry = replace(CATALOGUE["skin"], table={**CATALOGUE["skin"].table, "label": {"column": "skin"}})
    with pytest.raises(DomainError):
        prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False)
