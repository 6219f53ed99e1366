"""Who the persons are and where the rows come from: kept from ``ingest`` on, and said wherever a model is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from support.codebook_cases import layout_of
from support.extracts import HOUSEHOLDS, HOUSES, PEOPLE, TOWNSPEOPLE, write_extract
from support.people import PEOPLE as DECLARATION
from support.people import people, write_people
from support.running import Run

from dpnb_columnar.api import load_model
from dpnb_columnar.domain.declaration import domain_from_metadata
from dpnb_columnar.domain.declared_domain import Declaration, Provenance

SOURCE = Provenance(
    name="Town survey",
    producer="Town",
    period="1930",
    citation="Town (1931). Survey of 1930.",
    url="https://town.example",
)
SAID = "source: Town survey. Town. 1930. https://town.example\nto be cited: Town (1931). Survey of 1930.\n"


def carried(path: str) -> Declaration:
    domain = domain_from_metadata(pl.read_parquet_metadata(path), path)
    assert domain is not None
    return domain


def test_rows_left_out_by_a_condition_are_no_persons_of_the_domain(folder: Path, run: Run) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, PEOPLE)
    ended = run("ingest", "town.dat", "--where", "AGE  >= 16 and SEX in (1, 2)", "--output", "out.parquet")
    assert "persons: those with AGE >= 16 and SEX in (1, 2) (" in ended.out
    assert carried("out.parquet").universe == "AGE >= 16 and SEX in (1, 2)"
    kept = pl.read_parquet("out.parquet")
    run("ingest", "town.dat", "--output", "all.parquet")
    assert carried("all.parquet").universe == ""
    everybody = pl.read_parquet("all.parquet")
    # A row whose age is not known is no row of which the condition is true.
    assert everybody["AGE"].null_count() > 0
    assert kept.equals(everybody.filter((pl.col("AGE") >= 16) & pl.col("SEX").is_in([1, 2])))


@pytest.mark.parametrize("where", ["STATE = 41", "SEX = 1", "STATE = 41 AND SEX = 1"])
def test_conditions_on_households_and_on_persons(folder: Path, run: Run, where: str) -> None:
    write_extract(folder / "town.dat", HOUSEHOLDS, HOUSES)
    run("ingest", "town.dat", "--output", "all.parquet")
    run("ingest", "town.dat", "--where", where, "--output", "some.parquet")
    everybody = pl.read_parquet("all.parquet")
    kept = pl.read_parquet("some.parquet")
    assert 0 < kept.height < everybody.height
    assert kept.equals(everybody.sql(f"SELECT * FROM self WHERE {where}"))
    assert carried("some.parquet").universe == where


def test_the_publisher_s_words_go_from_the_codebook_to_the_model(folder: Path, run: Run) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, PEOPLE)
    layout = layout_of(TOWNSPEOPLE)
    table = "".join(f"{key} = {json.dumps(text)}\n" for key, text in SOURCE.known().items())
    first = layout.index("[[variable]]")
    Path("town.toml").write_text(f"{layout[:first]}[provenance]\n{table}\n{layout[first:]}", encoding="utf-8")
    said = "persons: those with SEX IN (1, 2) (SEX 1 = Male, SEX 2 = Female)\n" + SAID
    where = ("--where", "SEX IN (1, 2)")
    assert said in run("ingest", "town.dat", "--codebook", "town.toml", *where, "--output", "t.parquet").out
    assert carried("t.parquet").provenance == SOURCE
    assert said in run("domain", "show", "t.parquet").out
    assert said in run("plan", "t.parquet", "--label", "SEX", "--no-advice").out
    run("train", "t.parquet", "--label", "SEX", "--epsilon", 1, "--output", "m.json")
    model = load_model(Path("m.json"))
    assert (model.domain.universe, model.domain.provenance) == ("SEX IN (1, 2)", SOURCE)
    assert said in run("show", "m.json").out
    run("show", "m.json", "--html", "sheet.html")
    page = Path("sheet.html").read_text()
    assert "those with SEX IN (1, 2)" in page
    assert "Town (1931). Survey of 1930." in page
    for _ in range(2):  # from the metadata, then from the file beside it
        run("domain", "edit", "t.parquet", "--codebook", "town.toml", "--overwrite")
        assert 'universe = "SEX IN (1, 2)"' in Path("t.domain.toml").read_text()


@pytest.mark.parametrize("counted", [False, True])
def test_files_of_several_universes_are_of_the_persons_of_all(folder: Path, run: Run, counted: bool) -> None:
    for number, (name, universe) in enumerate([("a", "age < 20"), ("b", "age >= 60")]):
        source = replace(SOURCE, period=str(1930 + number)).known()
        write_people(
            Path(f"{name}.parquet"),
            people(300, seed=number),
            {**DECLARATION, "universe": universe, "provenance": source},
        )
        if counted:
            run("aggregate", f"{name}.parquet", "--output", f"{name}.statistics.parquet")
    if counted:
        run("release", "a.statistics.parquet", "b.statistics.parquet", "--epsilon", 1, "--output", "m.json")
    else:
        run("train", "a.parquet", "b.parquet", "--epsilon", 1, "--output", "m.json")
    domain = load_model(Path("m.json")).domain
    assert domain.universe == "age < 20; or age >= 60"
    assert domain.provenance == replace(SOURCE, period="1930; 1931")
