"""``ingest --imputed missing``: a flagged value is nobody's answer, in the file, and in all that is made of it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.codebook_cases import codebook, codes, ddi_of, variable, written
from support.people import PEOPLE, people, write_people
from support.random_tables import HELD, KINDS, WHOLE
from support.rows_in_python import declared, text_of
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.domain.column_kinds import kinds_of
from dpnb_columnar.domain.declaration import read_declaration
from dpnb_columnar.domain.field_reader import parse_condition
from dpnb_columnar.domain.words import united
from dpnb_columnar.errors import DomainError
from dpnb_columnar.extracts.codebooks.codebook import Flag
from dpnb_columnar.extracts.convert import Selection, keep_rows, without_allocated

# The rule: each row by itself, for columns and flags of every type, against Python's arithmetic.


@pytest.mark.slow
@given(st.data())
def test_a_value_is_null_where_its_own_flag_says_so_and_stays_elsewhere(data: st.DataObject) -> None:
    kind, flagged = (data.draw(st.sampled_from(sorted(KINDS))) for _ in range(2))
    columns = {
        name: pa.array(data.draw(st.lists(st.none() | KINDS[each][1], min_size=6, max_size=6)), KINDS[each][0])
        for name, each in (("flag", kind), ("value", flagged), ("other", flagged))
    }
    batch = pa.RecordBatch.from_pydict(columns)
    values = data.draw(st.lists(st.sampled_from(HELD.get(kind, WHOLE)), min_size=1, unique=True))
    kinds = kinds_of(pl.DataFrame(pl.from_arrow(batch)).schema)
    found = without_allocated(batch, {"value": Flag("flag", tuple(values))}, kinds)
    said = [text_of(value, []) in list(map(declared, values)) for value in columns["flag"].to_pylist()]
    assert found.schema == batch.schema
    assert found.column("value").is_null().to_pylist() == [
        lost or value is None for lost, value in zip(said, columns["value"].to_pylist(), strict=True)
    ]
    kept = pa.array([not lost for lost in said])
    assert str(found.filter(kept).to_pylist()) == str(batch.filter(kept).to_pylist())  # NaN is no NaN's equal
    assert str(found.drop_columns("value").to_pylist()) == str(batch.drop_columns("value").to_pylist())


# Lemma 2.16: over all small tables of a respondent and of rows that hold copies of the answers, with their flags.

Row = tuple[Any, ...]
NAMES = ("home", "age", "qage", "income", "qincome")
SCHEMA = pa.schema(zip(NAMES, (pa.int64(), pa.int64(), pa.int64(), pa.string(), pa.string()), strict=True))
FLAGS = {"age": Flag("qage", ("1", "4")), "income": Flag("qincome", ("donor",))}


def table(age: int, income: str, kinds: Sequence[str]) -> list[Row]:
    """The row of a respondent, and other rows: copies of the age, of the income, of both, or of nothing."""
    rows: list[Row] = [(0, age, 0, income, "answer")]
    for home, kind in enumerate(kinds, 1):
        copied, donated = "a" in kind, "i" in kind
        rows.append((home, age if copied else 5, 4 if copied else 0, income if donated else "low", "donor" * donated))
    return rows


def ingested(rows: Sequence[Row], flags: dict[str, Flag], where: str | None) -> pl.DataFrame:
    """What ``ingest`` writes of rows, but for the respondent's."""
    selection = Selection(NAMES, None if where is None else parse_condition(where), (), flags)
    batch = pa.RecordBatch.from_pydict(dict(zip(NAMES, zip(*rows, strict=True), strict=True)), SCHEMA)
    return pl.DataFrame(pl.from_arrow(pa.Table.from_batches(keep_rows([batch], selection, SCHEMA), SCHEMA)))


def others(rows: pl.DataFrame) -> list[pl.DataFrame]:
    """The rows of the file, and those of its parts by rows and by units, but for the respondent's."""
    tests = (dpnb.split(rows, test=0.5, by=by).test for by in ((), ("age",)))
    return [each.filter(pl.col("home") > 0) for each in (rows, *tests)]


def moved(flags: dict[str, Flag], where: str | None = None, most: int = 2) -> int:
    """Over all pairs of neighbours of one answer: those in which another row than the respondent's is not the same."""
    pairs = 0
    for size in range(1, most + 1):
        for kinds in itertools.product(("", "a", "i", "ai"), repeat=size):
            before = others(ingested(table(3, "low", kinds), flags, where))
            for age, income in ((7, "low"), (3, "high"), (7, "high")):
                after = others(ingested(table(age, income, kinds), flags, where))
                pairs += not all(one.equals(other) for one, other in zip(before, after, strict=True))
    return pairs


@pytest.mark.parametrize("most", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("where", [None, "age > 4", "age > 4 OR income = 'low'"])
def test_an_answer_and_its_flagged_copies_change_one_row_of_the_file_and_of_its_parts(
    where: str | None, most: int
) -> None:
    assert moved(FLAGS, where, most) == 0


def test_without_the_rule_copies_change_with_their_answer() -> None:
    assert moved({}, most=1)


# The command: codebooks of the Census Bureau and of IPUMS, text and Parquet, and what the file says of itself.

PUMS = """NAME,AGEP,N,2,"Age"
VAL,AGEP,N,2,"0","99","0 to 99 years"
NAME,RAC1P,C,1,"Race"
VAL,RAC1P,C,1,"1","1","White alone"
VAL,RAC1P,C,1,"2","2","Other"
NAME,FER,C,1,"Gave birth"
VAL,FER,C,1,"1","1","Yes"
VAL,FER,C,1,"2","2","No"
NAME,FAGEP,C,1,"Age allocation flag"
VAL,FAGEP,C,1,"0","0","No"
VAL,FAGEP,C,1,"1","1","Yes"
NAME,FRACP,C,1,"Detailed race allocation flag"
VAL,FRACP,C,1,"0","0","No"
VAL,FRACP,C,1,"1","1","Yes"
"""
CODEBOOK = ["--codebook", "dictionary.csv", "--output"]
SAID = "allocated values: null where the publisher's flags say so: AGEP (FAGEP), RAC1P (FRACP)"
ANSWERS = "Allocated values do not count, so far as the publisher's flags tell them."


@pytest.fixture
def town(folder: Path) -> Path:
    """An extract of ACS PUMS with its dictionary: every third age and every fifth race was allocated."""
    written(folder, "dictionary.csv", PUMS)
    rows = [f"{20 + age},{1 + age % 2},{1 + age % 4 // 2},{int(age % 3 == 0)},{int(age % 5 == 0)}" for age in range(60)]
    return written(folder, "psam_p01.csv", "\n".join(["AGEP,RAC1P,FER,FAGEP,FRACP", *rows, ""]))


@pytest.mark.slow
def test_ingest_writes_null_for_allocated_values_and_says_so_wherever_the_file_is_used(town: Path, run: Run) -> None:
    out = run("ingest", town, *CODEBOOK, "answers.parquet", "--imputed", "missing").out
    assert SAID in out
    counted = run("ingest", town, *CODEBOOK, "counted.parquet").out
    assert "allocated values of AGEP, RAC1P count as answers" in counted
    assert "--imputed missing" in counted
    hidden = pl.read_parquet("counted.parquet").with_columns(
        AGEP=pl.when(FAGEP=0).then("AGEP"), RAC1P=pl.when(FRACP=0).then("RAC1P")
    )
    assert pl.read_parquet("answers.parquet").equals(hidden)
    assert SAID in run("domain", "show", "answers.parquet").out
    planned = run("plan", "answers.parquet", "--label", "RAC1P", "--no-advice").out
    assert SAID in planned
    assert ANSWERS in planned
    run("train", "answers.parquet", "--label", "RAC1P", "--epsilon", "1", "--output", "model.json")
    assert SAID in run("show", "model.json").out
    run("show", "model.json", "--html", "sheet.html")
    sheet = " ".join(Path("sheet.html").read_text().replace("&#39;", "'").split())
    assert ANSWERS in sheet
    assert "null where the publisher's flags say so: AGEP (FAGEP), RAC1P (FRACP)" in sheet
    assert sum(dpnb.aggregate("answers.parquet", label="RAC1P").class_counts) == 48


def test_flags_are_read_and_written_only_where_they_are_named(town: Path, run: Run) -> None:
    """A condition sees the values as they are written: no donor's age lets a row in."""
    options = ["--imputed", "missing", "--columns", "FER,FRACP", "--where", "AGEP > 40"]
    run("ingest", town, *CODEBOOK, "few.parquet", *options)
    few = pl.read_parquet("few.parquet")
    assert few.columns == ["FER", "FRACP"]
    assert len(few) == sum(age % 3 > 0 for age in range(21, 60))


def test_parquet_is_ingested_as_text_is(town: Path, run: Run) -> None:
    run("ingest", town, *CODEBOOK, "counted.parquet")
    run("ingest", town, *CODEBOOK, "answers.parquet", "--imputed", "missing")
    run("ingest", "counted.parquet", *CODEBOOK, "again.parquet", "--imputed", "missing")
    assert pq.read_table("again.parquet").equals(pq.read_table("answers.parquet"))
    words = pl.read_parquet("counted.parquet").with_columns(
        pl.col("FAGEP").cast(pl.String).replace({"0": "No", "1": "Yes"}).cast(pl.Categorical)
    )
    words.write_parquet("factors.parquet")
    run("ingest", "factors.parquet", *CODEBOOK, "words.parquet", "--imputed", "missing", "--columns", "AGEP")
    assert pl.read_parquet("words.parquet").equals(pl.read_parquet("answers.parquet").select("AGEP"))


def test_flags_of_ipums(folder: Path, run: Run) -> None:
    flag = codes(_0="Unaltered case", _1="Allocated, illegible", _4="Hot deck allocation")
    variables = [
        variable("SEX", codes=codes(_1="Male", _2="Female")),
        variable("MARST", start=1, codes=codes(_1="Married", _2="Single")),
        variable("QMARST", start=2, label="Flag for Marst", codes=flag),
    ]
    written(folder, "usa.xml", ddi_of(codebook(variables, collection="usa.ipums.org")))
    written(folder, "usa.dat", "110\n211\n124\n222\n12 \n")
    out = run("ingest", "usa.dat", "--imputed", "missing", "--output", "out.parquet").out
    assert "allocated values: null where the publisher's flags say so: MARST (QMARST)" in out
    assert pl.read_parquet("out.parquet")["MARST"].to_list() == [1, None, None, 2, 2]


def test_ingest_without_flags_refuses_to_use_them(town: Path, run: Run) -> None:
    """Before a row is read: no codebook, one without flags, a file without their columns, a flag of another type."""
    written(town.parent, "bare.csv", "\n".join(PUMS.splitlines()[:5]) + "\n")
    written(town.parent, "psam_p02.csv", "AGEP,RAC1P\n30,1\n31,2\n")
    write_people(Path("people.parquet"), people(20))
    missing = ["--imputed", "missing", "--output", "out.parquet"]
    for arguments in (
        ["psam_p02.csv", "--codebook", "bare.csv"],
        ["psam_p02.csv", "--codebook", "dictionary.csv"],
        ["psam_p02.csv"],
        ["people.parquet"],
    ):
        assert "no flag of allocated values" in run("ingest", *arguments, *missing, expected=64).err
    run("ingest", town, *CODEBOOK, "counted.parquet")
    for flag, called in ((pl.lit(True), "bool"), (pl.lit([1]), "large_list<element: int64>")):
        pl.read_parquet("counted.parquet").with_columns(FAGEP=flag).write_parquet("odd.parquet")
        error = run("ingest", "odd.parquet", "--codebook", "dictionary.csv", *missing, expected=65).err
        assert f"odd.parquet: the flag FAGEP is {called}, which cannot hold 1" in error
    assert not Path("out.parquet").exists()


@pytest.mark.parametrize("place", ["label", "attributes", "available"])
def test_a_domain_that_declares_flags_is_refused_by_one_line_with_the_remedy(place: str) -> None:
    flag = {"column": "qhours", "values": [1, 4]}
    hours = {**PEOPLE["attributes"]["hours"], "imputed": flag}
    document = {
        "label": {**PEOPLE, "label": {**PEOPLE["label"], "imputed": flag}},
        "attributes": {**PEOPLE, "attributes": {"age": hours, "hours": hours}},
        "available": {**PEOPLE, "available_imputed": {"hours": flag}},
    }[place]
    with pytest.raises(DomainError, match=r"a domain has no flags; .*ingest.*missing.* writes null") as refused:
        read_declaration("people", document, "people.parquet")
    assert str(refused.value).count("flags") == 1


def test_files_of_which_one_counts_allocated_values_make_no_promise_on_answers() -> None:
    both = [
        read_declaration("people", {**PEOPLE, "provenance": {"name": "A town", **said}}, "test")
        for said in ({"allocated": "null"}, {})
    ]
    assert united([both[0], both[0]]).provenance == both[0].provenance
    assert united(both).provenance == united(reversed(both)).provenance == both[1].provenance
