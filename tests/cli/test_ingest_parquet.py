"""``dpnb-columnar ingest`` of Parquet: rows stay, and the domain is the file's, a codebook's or an entry's."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.codebook_cases import codebook, codes, ddi_of, variable
from support.extracts import PEOPLE as LINES
from support.extracts import TOWNSPEOPLE, write_extract
from support.people import DECLARATION, PEOPLE, people, people_domain, spoil_rows, write_people
from support.running import Run

from dpnb_columnar.domain.declaration import domain_from_metadata
from dpnb_columnar.domain.declared_domain import Declaration
from dpnb_columnar.extracts.codebooks.codebook import Form
from dpnb_columnar.rows.holdout import parts_of


def domain_in(path: str) -> Declaration:
    found = domain_from_metadata(pl.read_parquet_metadata(path), path)
    assert found is not None
    return found


@pytest.mark.parametrize("inputs", [["a/1.parquet", "a/STATE=06/2.parquet"], ["a/**/*.parquet"], ["a"]])
def test_files_a_pattern_and_a_folder_keep_rows_and_domain(folder: Path, run: Run, inputs: list[str]) -> None:
    first, second = people(30), people(20, seed=2)
    Path("a/STATE=06").mkdir(parents=True)
    write_people(Path("a/1.parquet"), first)
    write_people(Path("a/STATE=06/2.parquet"), second)
    run("ingest", *inputs, "--output", "out.parquet")
    assert pl.read_parquet("out.parquet").sort(pl.all()).equals(pl.concat([first, second]).sort(pl.all()))
    assert domain_in("out.parquet") == people_domain()


def test_columns_of_every_type_and_of_folders_stay_as_they_are(folder: Path, run: Run) -> None:
    table = pa.table(
        {
            "word": pa.array(["a", None, "b"] * 4).dictionary_encode(),
            "day": pa.array([1, None, 3] * 4, pa.date32()),
            "list": pa.array([[1], None, []] * 4),
            "amount": pa.array([None, 1, 2] * 4, pa.decimal128(9, 2)),
        }
    )
    Path("STATE=06").mkdir()
    pq.write_table(table, "STATE=06/odd.parquet", row_group_size=5)
    assert "no domain" in run("ingest", "STATE=06/odd.parquet", "--output", "out.parquet").out
    assert pq.read_table("out.parquet").equals(table.append_column("STATE", [["06"] * 12]))
    run("ingest", "STATE=06", "--columns", "STATE,amount", "--where", "word = 'b'", "--output", "few.parquet")
    assert pl.read_parquet("few.parquet").rows() == [("06", 2)] * 4
    error = run("ingest", "STATE=06", "--where", "list = 1", "--output", "none.parquet", expected=64).err
    assert "list is list<element: int64> and cannot be compared" in error


def test_a_codebook_beside_parquet_and_one_that_is_typed(folder: Path, run: Run) -> None:
    """A file that carries a domain keeps it, unless a codebook is typed; the rows' universe stays."""
    book = codebook(
        [
            variable("sex", form=Form.TEXT, codes=codes(f="Female", m="Male")),
            variable("age", start=1, codes=codes(_1="A", _2="B")),
        ]
    )
    write_people(Path("own.parquet"), people(20))
    write_people(Path("bare.parquet"), people(20).with_columns(pl.col("sex").cast(pl.Categorical)), None)
    for name in ("own.xml", "bare.xml"):
        Path(name).write_text(ddi_of(book))
    run("ingest", "own.parquet", "--where", "age > 0", "--output", "kept.parquet")
    assert domain_in("kept.parquet") == people_domain()
    taken = run("ingest", "bare.parquet", "--output", "taken.parquet").out
    assert "left out of the domain: hours, income: not in the codebook" in taken
    assert "kept as text" not in taken
    assert domain_in("taken.parquet").columns == ("age", "sex")
    run("ingest", "kept.parquet", "--codebook", "own.xml", "--output", "replaced.parquet")
    replaced = domain_in("replaced.parquet")
    assert (replaced.columns, replaced.universe) == (("age", "sex"), "age > 0")
    assert pl.read_parquet("replaced.parquet").equals(people(20).filter(pl.col("age") > 0))


def test_the_domain_of_a_catalogue(folder: Path, run: Run) -> None:
    Path("datasets.toml").write_text(DECLARATION)
    write_people(Path("town.parquet"), people(20), None)
    run("ingest", "town.parquet", "--dataset", "people", "--output", "out.parquet")
    assert domain_in("out.parquet") == people_domain()
    assert pl.read_parquet("out.parquet").equals(people(20))


def test_some_columns_take_their_part_of_the_domain(folder: Path, run: Run) -> None:
    write_people(Path("town.parquet"), people(20))
    run("ingest", "town.parquet", "--columns", "income,sex", "--output", "out.parquet")
    assert domain_in("out.parquet").columns == ("income", "sex")
    error = run("ingest", "town.parquet", "--columns", "sex,age", "--output", "none.parquet", expected=64).err
    assert "town.parquet carries a domain that needs income as well" in error


def test_parts_of_a_split_stay_parts(folder: Path, run: Run) -> None:
    write_people(Path("people.parquet"), people(200))
    run("split", "people.parquet", "--seed", "1")
    run("ingest", "people.train.parquet", "--output", "train.parquet")
    assert parts_of([Path("train.parquet")]) == parts_of([Path("people.train.parquet")]) != []
    run("ingest", "people.train.parquet", "people.test.parquet", "--output", "both.parquet")
    assert parts_of([Path("both.parquet")]) == []


def test_parquet_that_is_refused(folder: Path, run: Run) -> None:
    """Before a row is read, and without an output."""

    def refusal(expected: int, *inputs: str) -> str:
        return run("ingest", *inputs, "--output", "out.parquet", expected=expected).err

    Path("names.txt").write_text("age\n")
    spoil_rows(write_people(Path("town.parquet")))
    write_people(Path("other.parquet"), people(20), {**PEOPLE, "attributes": {"sex": {"values": ["f"]}}})
    write_people(Path("typed.parquet"), people(20).with_columns(pl.col("age").cast(pl.String)))
    assert "do not all carry the same domain" in refusal(78, "town.parquet", "other.parquet")
    assert "typed.parquet: age is large_string, and int64 in town.parquet" in refusal(
        65, "town.parquet", "typed.parquet"
    )
    assert "--no-header is for CSV; this is Parquet" in refusal(
        78, "town.parquet", "--no-header", "--names", "names.txt"
    )
    Path("types.toml").write_text('age = "text"')
    assert "the type of 'age' is declared already" in refusal(64, "town.parquet", "--types", "types.toml")
    write_extract(folder / "lines.dat", TOWNSPEOPLE, LINES)
    assert "has no column age" in refusal(65, "town.parquet", "lines.dat")
    Path("lake/_delta_log").mkdir(parents=True)
    shutil.copy("town.parquet", "lake/part.parquet")
    assert "lake" in refusal(65, "lake/part.parquet")
    assert "cannot be read to the end" in refusal(65, "town.parquet")
    assert "an input as well" in run("ingest", "t*.parquet", "--output", "town.parquet", "--overwrite", expected=73).err
    shutil.copy("town.parquet", "copy.parquet")
    assert "have the same content" in refusal(65, "town.parquet", "copy.parquet")
    assert not Path("out.parquet").exists()
