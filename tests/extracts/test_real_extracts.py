"""The real extracts: every IPUMS file and the ACS archives, where they are at hand."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from support.real_data import FOLDER
from support.running import Run

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"no real data: neither $DPNB_DATA nor {FOLDER} is a folder"
)

IPUMS, ACS = FOLDER / "ipums", FOLDER / "acs_pums_2018"
STATES = {"de": 9_123, "id": 16_711, "me": 13_275, "mt": 10_336, "vt": 6_436}


def ingested(run: Run, *arguments: object) -> pl.DataFrame:
    run("ingest", *arguments, "--output", "out.parquet", "--overwrite")
    return pl.read_parquet("out.parquet")


@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [
        ("cps_00421", 201_993, 14),
        ("cps_00097", 20_351, 14),
        ("cps_00361", 2_740, 12),
        ("cps_00006", 7_668, 8),
        ("usa_00172", 33_057, 10),
    ],
)
def test_every_extract(folder: Path, run: Run, name: str, rows: int, columns: int) -> None:
    frame = ingested(run, IPUMS / f"{name}.dat.gz")
    assert frame.shape == (rows, columns)
    assert frame.null_count().sum_horizontal().item() == (frame["HRSERSUF"].null_count() if name == "cps_00361" else 0)


def test_weights_add_up_to_the_population(folder: Path, run: Run) -> None:
    assert ingested(run, IPUMS / "usa_00172.dat.gz", "--columns", "PERWT")["PERWT"].sum() == 3_667_084


def test_three_forms_of_one_extract(folder: Path, run: Run) -> None:
    fixed = ingested(run, IPUMS / "cps_00006.dat.gz")
    csv = ingested(run, IPUMS / "cps_00006.csv.gz")
    assert fixed.schema == csv.schema
    assert fixed.equals(csv)
    published = pl.read_parquet(IPUMS / "cps_00006.parquet")
    for column in published:  # some of its weights are not the nearest float to the decimal text
        mine = fixed[column.name].cast(column.dtype)
        assert mine.equals(column) or (mine - column).abs().max() < 1e-12  # type: ignore[operator]
    by_codebook = (IPUMS / "cps_00006.parquet", "--codebook", IPUMS / "cps_00006.xml")
    assert run("domain", "show", *by_codebook, "--json").out == run("domain", "show", "out.parquet", "--json").out


@pytest.mark.slow
def test_the_reader_of_ipums_finds_the_same(folder: Path, run: Run) -> None:
    readers = pytest.importorskip("ipumspy.readers")
    with pytest.warns(readers.CitationWarning):
        ddi = readers.read_ipums_ddi(IPUMS / "cps_00097.xml")
    theirs = readers.read_microdata(ddi, IPUMS / "cps_00097.dat.gz")
    mine = ingested(run, IPUMS / "cps_00097.dat.gz")
    assert list(theirs.columns) == mine.columns
    for name in mine.columns:
        assert mine[name].to_list() == theirs[name].tolist(), name


def test_households_are_carried_down(folder: Path, run: Run) -> None:
    frame = ingested(run, IPUMS / "cps_00421.dat.gz")
    household = frame.group_by("YEAR", "MONTH", "SERIAL").agg(pl.col("CPSID").n_unique(), pl.col("HWTFINL").n_unique())
    assert household["CPSID"].max() == household["HWTFINL"].max() == 1
    assert frame["RECTYPE"].unique().to_list() == ["P"]


@pytest.mark.slow
def test_all_states_together(folder: Path, run: Run) -> None:
    archives = [ACS / f"csv_p{state}.zip" for state in STATES]
    frame = ingested(run, *archives)
    assert frame.shape == (sum(STATES.values()), 286)
    assert frame["ST"].rle().struct.field("len").to_list() == list(STATES.values())
    assert set(frame.schema.values()) == {pl.String}
    assert frame.filter(pl.col("ST") == "50")["PWGTP"].cast(pl.Int64).sum() == 626_299
    dictionary = ACS / "PUMS_Data_Dictionary_2018.csv.gz"
    declared = ingested(
        run, *archives, "--codebook", dictionary, "--columns", "adult-like,PINCP", "--where", "AGEP>=16"
    )
    wanted = frame.filter(pl.col("AGEP").cast(pl.Int64) >= 16).select(declared.columns)
    assert wanted.cast(dict(declared.schema)).equals(declared)  # type: ignore[arg-type]
