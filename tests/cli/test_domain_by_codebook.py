"""``dpnb-columnar domain --codebook``: the domain of Parquet that another program made of an extract."""

from __future__ import annotations

import gzip
import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.codebook_cases import amount, codebook, codes, ddi_of, layout_of, variable
from support.extracts import HOUSEHOLDS
from support.people import spoil_rows
from support.running import Run

from dpnb_columnar.extracts.codebooks.codebook import Codebook, Form, Measure

ROWS = "usa_00001.parquet"
DDI = "usa_00001.xml"
SEX = variable("SEX", start=10, codes=codes(_1="Male", _2="Female", _9="Missing"))
WKSWORK1 = replace(amount("WKSWORK1", 2), start=11)
INCWAGE = replace(amount("INCWAGE", 6, 0, *codes(_999999="N/A", _999998="Missing")), start=13)
RATE = replace(amount("RATE", 4, 2), start=19)
SERIAL = variable("SERIAL", start=0, width=8, measure=Measure.CONTINUOUS)
SAMPLE = variable("SAMPLE", start=23, width=6, codes=codes(_201801="2018 ACS", _201901="2019 ACS"))
PERWT = replace(amount("PERWT", 8, 2), start=29)
USA = codebook([SERIAL, SEX, WKSWORK1, INCWAGE, RATE, SAMPLE, PERWT], name="usa_00001", collection="usa.ipums.org")


def columns(**changes: object) -> dict[str, Any]:
    """Columns as ipumsr and Arrow write them, codes as floats among them; with changes, None to leave one out."""
    usual: dict[str, object] = {
        "SERIAL": pa.array([1, 1, 2, 3] * 50, pa.int32()),
        "SEX": pa.array([1.0, 2.0, None, 9.0] * 50),
        "WKSWORK1": pa.array([52, 0, 13, None] * 50, pa.int16()),
        "INCWAGE": pa.array([20000.0, 999999, 0, 30000] * 50),
        "RATE": pa.array([12.5, 0.75, 3, None] * 50),
        "SAMPLE": pa.array([201801] * 200, pa.int32()),
        "PERWT": pa.array([100.0, 20, 30, 12.5] * 50),
    }
    return {name: column for name, column in (usual | changes).items() if column is not None}


def write(book: Codebook = USA, **changes: object) -> None:
    """Write rows, and the codebook beside them."""
    pq.write_table(pa.table(columns(**changes)), ROWS)
    Path(DDI).write_text(ddi_of(book), encoding="utf-8")


def entry(path: str = "datasets.toml") -> dict[str, Any]:
    """The one entry of a catalogue."""
    (found,) = tomllib.loads(Path(path).read_text()).values()
    return dict(found)


def test_from_codebook_to_model(folder: Path, run: Run) -> None:
    """By an entry that claims the file, and by the file beside it: one model."""
    write()
    edited = run("domain", "edit", ROWS, "--codebook", DDI, "--output", "datasets.toml", "--label", "INCWAGE > 1000")
    assert f"train: dpnb-columnar train {ROWS} --dataset usa_00001" in edited.out
    assert [line.partition("of the domain: ")[2] for line in edited.err.splitlines()] == [
        "SERIAL: an identifier or serial number",
        "SAMPLE: the sample, its time, or the record type",
        "PERWT: a weight",
    ]
    assert entry()["files"] == [ROWS]
    Path("copy.parquet").write_bytes(Path(ROWS).read_bytes())
    run("domain", "edit", "copy.parquet", "--codebook", DDI, "--label", "INCWAGE > 1000")
    shown = [run("domain", "show", *names, "--json").out for names in ([ROWS], ["copy.parquet"])]
    assert shown[0] == shown[1]
    for number, file in enumerate((ROWS, "copy.parquet")):
        options = ("--seed", "1", "--unit-rows", "1", "--weight", "PERWT", "--output", f"{number}.json")
        run("train", file, "--epsilon", "1", *options)
    assert Path("0.json").read_text() == Path("1.json").read_text()


def test_the_declared_entry(folder: Path, run: Run) -> None:
    write()
    run("domain", "edit", ROWS, "--codebook", DDI, "--output", "datasets.toml")
    assert entry() == {
        "files": [ROWS],
        "available_unit": ["SAMPLE", "SERIAL"],
        "available_weight": {"column": "PERWT", "cap": 400, "step": 1, "missing": 0},
        "attributes": {
            "SEX": {"values": [1, 2], "missing": "category", "missing_values": [9]},
            "WKSWORK1": {"lower": 0, "upper": 52, "step": 1},
            "INCWAGE": {
                "lower": 0, "upper": 200000, "step": 1, "missing": "category", "missing_values": [999999, 999998],
            },
            "RATE": {"lower": 0, "upper": 99.99, "step": 0.01},
        },
        "value_labels": {
            "SEX": {"1": "Male", "2": "Female", "9": "Missing"}, "INCWAGE": {"999999": "N/A", "999998": "Missing"},
        },
    }  # fmt: skip


def test_the_domain_is_that_of_ingest(folder: Path, run: Run) -> None:
    """Whatever form the codebook has: one reader, one domain."""
    write()
    Path("usa_00001.dat").write_text("0000000100152020000012520180100010000\n")
    run("ingest", "usa_00001.dat", "--output", "ingested.parquet")
    ingested = json.loads(run("domain", "show", "ingested.parquet", "--json").out)
    Path("packed.xml.gz").write_bytes(gzip.compress(Path(DDI).read_bytes()))
    Path("layout.toml").write_text(layout_of(USA))
    for name in (DDI, "packed.xml.gz", "layout.toml"):
        for source in ([], [ROWS]):
            shown = run("domain", "show", *source, "--codebook", name, "--json")
            assert json.loads(shown.out) == ingested


def test_columns_in_lower_case_are_the_codebooks(folder: Path, run: Run) -> None:
    """As ipumsr writes them: attributes, unit and weight are found, and a model is that of the codebook's spelling."""
    write()
    usual = run("domain", "show", ROWS, "--codebook", DDI, "--json").out
    train = ("--epsilon", "1", "--seed", "1", "--unit-rows", "1", "--weight", "PERWT")
    run("domain", "edit", ROWS, "--codebook", DDI, "--label", "SEX")
    run("train", ROWS, *train, "--output", "usual.json")
    lower = [name.lower() for name in columns()]
    pq.write_table(pq.read_table(ROWS).rename_columns(lower), ROWS)
    assert run("domain", "show", ROWS, "--codebook", DDI, "--json").out == lowered(usual)
    run("domain", "edit", ROWS, "--codebook", DDI, "--label", "sex", "--overwrite")
    run("train", ROWS, *map(str.lower, train), "--output", "lower.json")
    assert Path("lower.json").read_text() == lowered(Path("usual.json").read_text())


def lowered(text: str) -> str:
    for name in columns():
        text = re.sub(rf"\b{name}\b", name.lower(), text)
    return text


def test_ingest_takes_a_header_in_lower_case(folder: Path, run: Run) -> None:
    write()
    Path("upper.csv").write_text("SERIAL,SEX,WKSWORK1,SAMPLE\n1,1,52,201801\n")
    Path("lower.csv").write_text("serial,sex,wkswork1,sample\n1,1,52,201801\n")
    shown = []
    for name in ("upper", "lower"):
        run("ingest", f"{name}.csv", "--codebook", DDI, "--output", f"{name}.parquet")
        shown.append(run("domain", "show", f"{name}.parquet", "--json").out)
    assert shown[1] == lowered(shown[0])
    assert json.loads(shown[1])["available_unit"] == ["sample", "serial"]


def test_a_factor_has_the_labels_of_codes_for_values(folder: Path, run: Run) -> None:
    """As_factor of ipumsr: words stand in place of codes, and the codebook says which there are."""
    write(SEX=pa.array(["Male", "Female", None, "Missing"] * 50).dictionary_encode())
    run("domain", "edit", ROWS, "--codebook", DDI, "--output", "datasets.toml")
    assert entry()["attributes"]["SEX"] == {
        **{"values": ["Male", "Female"], "missing": "category", "missing_values": ["Missing"]}
    }
    assert "SEX" not in entry()["value_labels"]
    checked = run("check", ROWS, "--label", "INCWAGE > 1000").out
    assert re.search(r"SEX +100 +0 ", checked)  # null and Missing; none outside the domain


def test_a_factor_whose_words_do_not_tell_codes_apart_is_left_out(folder: Path, run: Run) -> None:
    book = replace(USA, variables=(*USA.variables[:1], variable("SEX", start=10, codes=codes(_1="Male", _2="Male"))))
    write(book, SEX=pa.array(["Male", "Female"] * 100).dictionary_encode(), WKSWORK1=None)
    Path(DDI).write_text(ddi_of(replace(USA, variables=(*book.variables, INCWAGE))), encoding="utf-8")
    shown = run("domain", "show", ROWS, "--codebook", DDI)
    assert "left out of the domain: SEX: a factor in the file, and its words do not tell its codes apart" in shown.err


def test_codebooks_that_come_with_the_program_or_with_pums(folder: Path, run: Run) -> None:
    assert "domain ipums1940, from the codebook ipums1940" in run("domain", "show", "--codebook", "ipums1940").out
    Path("PUMS.csv").write_text(
        'NAME,SEX,C,1,"Sex"\nVAL,SEX,C,1,"1","1","Male"\nVAL,SEX,C,1,"2","2","Female"\n'
        'NAME,PWGTP,N,5,"Weight"\nVAL,PWGTP,N,5,"1","9999","Weight"\n'
    )
    pl.DataFrame({"SEX": ["1", "2"], "PWGTP": [3, 4]}).write_parquet("psam.parquet")
    ended = run("domain", "edit", "psam.parquet", "--codebook", "PUMS.csv", "--output", "x.toml")
    assert list(entry("x.toml")["attributes"]) == ["SEX"]
    assert "wrote x.toml: domain PUMS, 1 attributes" in ended.out
    assert "note: SEX: text in the file: codes match by their value" in ended.err


def test_names_and_types_of_columns_decide_and_no_row(folder: Path, run: Run) -> None:
    write(
        SEX=pa.array(["Male", "Female"] * 100).dictionary_encode(),
        INCWAGE=pa.array([100000] * 200),
        RATE=pa.array([12] * 200),
        WKSWORK1=None,
        wkswork1=pa.array([52] * 200),
        Wkswork1=pa.array([52] * 200),
        TOWN=pa.array(["Ulm"] * 200),
        SERIAL=None,
    )
    before = run("domain", "show", ROWS, "--codebook", DDI)
    spoil_rows(Path(ROWS))
    assert run("domain", "show", ROWS, "--codebook", DDI) == before
    assert "unit available" not in before.out
    for line in (
        "left out of the domain: WKSWORK1: in several spellings of upper and lower case; rename all columns but one",
        "left out of the domain: SERIAL: not in the file",
        "left out of the domain: TOWN: not in the codebook",
        "note: RATE: whole numbers in the file, and the codebook implies decimals: they have to be applied (12, not",
    ):
        assert line in before.err
    assert "wkswork1" not in before.err


def test_rows_of_a_hierarchical_extract(folder: Path, run: Run) -> None:
    Path("town.xml").write_text(ddi_of(HOUSEHOLDS))
    ended = run("domain", "show", "--codebook", "town.xml")
    assert "note: the codebook is of a hierarchical extract: each row has to be a person" in ended.err


TEXTS = codebook([variable("NAME", form=Form.TEXT)])


@pytest.mark.parametrize(
    ("content", "code", "told"),
    [
        (None, 66, "usa_00001.xml: no such codebook; give a file, or the name of a packaged layout"),
        ("<html/>", 78, "usa_00001.xml: begins with 'html', a DDI codebook with codeBook; give the DDI codebook"),
        ("<codeBook>", 78, "usa_00001.xml: not well-formed XML at line 1, column 11; get the codebook again"),
        (b"\x1f\x8b\x08", 78, "usa_00001.xml: ends early or is damaged; get the codebook again"),
        (
            gzip.compress(b" " * (2**26 + 1), mtime=0),
            78,
            "usa_00001.xml: larger than 64 MiB; give the codebook, not the data",
        ),
        (ddi_of(codebook([])), 78, "variables: there is none"),
        (ddi_of(TEXTS), 78, "usa_00001.xml: declares no attribute of the columns of usa_00001.parquet\n  left out of"),
        (ddi_of(replace(USA, name="n" * 201)), 64, "cannot be that of an account; give one with --name"),
    ],
    ids=["absent", "another format", "unclosed", "cut short", "too large", "no variable", "no attribute", "long name"],
)
def test_codebooks_that_are_refused(content: str | bytes | None, code: int, told: str, folder: Path, run: Run) -> None:
    write()
    if content is None:
        Path(DDI).unlink()
    else:
        Path(DDI).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert told in run("domain", "edit", ROWS, "--codebook", DDI, "--output", "x.toml", expected=code).err
    assert not Path("x.toml").exists()


@pytest.mark.parametrize(
    ("code", "told", "arguments"),
    [
        (64, "usa_00001.xml: is a codebook by its name; give it as --codebook usa_00001.xml", ["show", DDI]),
        (64, "or a codebook with --codebook", ["show"]),
        (64, "leave --dataset out", ["show", "--codebook", DDI, "--dataset", "adult"]),
        (64, "Missing argument 'SOURCE'", ["edit", "--codebook", DDI]),
        (66, "none.parquet: cannot be opened", ["show", "none.parquet", "--codebook", DDI]),
        (65, "usa.csv: text, such as CSV", ["show", "usa.csv", "--codebook", DDI]),
        (78, "other.parquet\n  left out of the domain: SERIAL", ["show", "other.parquet", "--codebook", DDI]),
        (73, "is an input as well", ["edit", ROWS, "--codebook", "usa.toml", "--output", "usa.toml", "--overwrite"]),
    ],
)
def test_what_cannot_be_a_source(code: int, told: str, arguments: list[str], folder: Path, run: Run) -> None:
    write()
    Path("usa.toml").write_text(layout_of(USA))
    Path("usa.csv").write_text("SEX\n1\n")
    pl.read_parquet(ROWS).rename(lambda name: f"my_{name}").write_parquet("other.parquet")
    assert told in run("domain", *arguments, expected=code).err
    assert not Path("x.parquet").exists()


def test_the_refusal_to_train_names_the_way(folder: Path, run: Run) -> None:
    write()
    assert "dpnb-columnar domain edit FILE --codebook CODEBOOK" in run("train", ROWS, "--epsilon", "1", expected=78).err
