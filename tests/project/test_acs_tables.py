"""``python -m benchmarks.acs_tables``: tables of one survey that differ by their label, declared by its dictionary."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import polars as pl
import pytest
from support.real_data import FOLDER

from benchmarks import acs_tables
from dpnb_columnar.counting.find_domain import find_domain
from dpnb_columnar.domain import Categorical, Missing
from dpnb_columnar.errors import DataError, UsageError

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="no real data: neither $DPNB_DATA nor shared/data")


def test_the_dictionary_declares_lists_of_hundreds_of_codes_and_what_a_blank_means() -> None:
    domain = acs_tables.labelled_domain(FOLDER, "PINCP > 50000")
    assert tuple(each.name for each in domain) == acs_tables.ATTRIBUTES
    sizes = {each.name: len(each.values) for each in domain.categorical}
    assert (sizes["OCCP"], sizes["INDP"]) == (530, 270)
    categories = {each.name for each in domain if each.missing is Missing.CATEGORY}
    assert categories == {"WKHP", "COW", "SCHL", "OCCP", "INDP", "ESR", "WKW", "MIL"}
    assert (domain.name, len(domain.classes)) == ("acs_pincp", 2)


def test_a_label_is_no_attribute() -> None:
    by_race = acs_tables.labelled_domain(FOLDER, "RAC1P")
    degree = acs_tables.labelled_domain(FOLDER, "SCHL >= 21")
    assert len(by_race.classes) == 9
    assert {*acs_tables.ATTRIBUTES} - {each.name for each in by_race} == {"RAC1P"}
    assert len(degree.classes) == 2
    assert {*acs_tables.ATTRIBUTES} - {each.name for each in degree} == {"SCHL"}
    assert {each.name for each in acs_tables.labelled_domain(FOLDER, "JWTR")} == {*acs_tables.ATTRIBUTES}
    with pytest.raises(UsageError, match="INCOME"):
        acs_tables.labelled_domain(FOLDER, "INCOME > 1")


def test_another_edition_of_the_dictionary_is_refused(tmp_path: Path) -> None:
    (tmp_path / "acs_pums_2018").mkdir()
    (tmp_path / acs_tables.DICTIONARY).write_bytes(gzip.compress(b"NAME,AGEP,N,2,Age\n"))
    with pytest.raises(DataError, match=r"PUMS_Data_Dictionary_2018\.csv\.gz: not the edition of 2018"):
        acs_tables.labelled_domain(tmp_path, "RAC1P")


@pytest.mark.slow
def test_files_hold_the_persons_of_16_and_over_with_their_domain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["acs_tables", str(FOLDER), "PINCP > 50000", "MIL", "--output", str(tmp_path)])
    acs_tables.main()
    assert "acs_mil.parquet: 46,263 rows, 15 attributes, 4 classes" in capsys.readouterr().out
    domain = find_domain([tmp_path / "acs_pincp.parquet"]).domain
    rows = pl.read_parquet(tmp_path / "acs_pincp.parquet")
    assert (len(rows), rows["AGEP"].min()) == (46_263, 16)
    for each in domain:
        if isinstance(each, Categorical):  # nobody has a code that the dictionary lacks
            assert {*rows[each.name].drop_nulls().cast(pl.String)} <= {*each.values}
        assert each.missing is Missing.CATEGORY or not rows[each.name].null_count()
