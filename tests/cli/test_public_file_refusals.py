"""Files that weights cannot be learned from: they are refused before a confidential row is read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from support.people import repeated_people, spoil_rows, write_people
from support.public_samples import REPEATED, TARGET, by, public_rows
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.ledger import Ledger


@pytest.fixture
def private(folder: Path) -> Path:
    return write_people(folder / "private.parquet", repeated_people(2000), REPEATED)


@pytest.fixture
def public(folder: Path) -> Path:
    return public_rows(folder / "sample.parquet")


def linked(private: Path) -> Path:
    os.link(private, "linked.parquet")
    return Path("linked.parquet")


def copied(private: Path) -> Path:
    return Path(shutil.copy(private, "copied.parquet"))


def narrower(private: Path) -> Path:
    attributes = {name: body for name, body in REPEATED["attributes"].items() if name != "sex"}
    document = {**REPEATED, "attributes": attributes | {"hours": {"lower": 0, "upper": 80}}}
    return public_rows(Path("sample.parquet"), document=document)


def other_label(private: Path) -> Path:
    document = {**REPEATED, "label": {"column": "income", "classes": ["high", "low"]}}
    return public_rows(Path("sample.parquet"), document=document)


def unlabelled(private: Path) -> Path:
    return public_rows(Path("sample.parquet"), document={"attributes": REPEATED["attributes"]})


def lacking_column(private: Path) -> Path:
    return public_rows(Path("sample.parquet"), repeated_people(3000).drop("age"), None)


def lacking_class(private: Path) -> Path:
    return public_rows(Path("sample.parquet"), repeated_people(3000).filter(pl.col("income") == "low"))


def too_small(private: Path) -> Path:
    return public_rows(Path("sample.parquet"), repeated_people(300))


def telling_nothing(private: Path) -> Path:
    noise = repeated_people(3000, seed=5).drop("income").with_columns(repeated_people(3000, seed=6)["income"])
    return public_rows(Path("sample.parquet"), noise)


def twice_named(private: Path) -> Path:
    """Two columns of one name, as no writer but a damaged file has."""
    rows = repeated_people(3000).with_columns(pl.lit("f").alias("sey"))
    content = public_rows(Path("sample.parquet"), rows).read_bytes()
    Path("sample.parquet").write_bytes(content.replace(b"sey", b"sex"))
    return Path("sample.parquet")


def no_parquet(private: Path) -> Path:
    Path("sample.parquet").write_text("age,sex\n")
    return Path("sample.parquet")


def damaged(private: Path) -> Path:
    return spoil_rows(public_rows(Path("sample.parquet")))


def folder_of_files(private: Path) -> Path:
    Path("sample.parquet").mkdir()
    return Path("sample.parquet")


REFUSED: dict[str, tuple[Callable[[Path], Path], int, str]] = {
    "an input": (lambda private: private, 64, "is one of the confidential inputs"),
    "a link to an input": (linked, 64, "is one of the confidential inputs"),
    "a copy of an input": (copied, 64, "is one of the confidential inputs"),
    "other attributes": (narrower, 78, "its domain differs from that of the release in attribute hours, sex; declare"),
    "another label": (other_label, 78, "its domain differs from that of the release in the label; declare"),
    "no label": (unlabelled, 78, "declares no label"),
    "a column is missing": (lacking_column, 65, "age"),
    "a class is missing": (lacking_class, 65, "has 0 rows of class 'high' that count"),
    "too few rows": (too_small, 65, "rows of class 'high' that count; weights of 6 attributes take 100 of each class"),
    "nothing is told": (telling_nothing, 65, "no attribute of it has a weight of 0.15 or more"),
    "two columns of one name": (twice_named, 65, "sample.parquet"),
    "no Parquet": (no_parquet, 65, "sample.parquet"),
    "damaged rows": (damaged, 65, "damaged"),
    "a folder": (folder_of_files, 64, "is a folder; give one Parquet file"),
    "no such file": (lambda private: Path("none.parquet"), 66, "none.parquet: cannot be opened"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_public_sample_is_refused_before_a_confidential_row_is_read(
    case: str, private: Path, ledger: Path, run: Run
) -> None:
    made, status, message = REFUSED[case]
    public = made(private)
    if case != "a link to an input":
        spoil_rows(private)
    if case == "a copy of an input":
        shutil.copy(private, public)
    for verb in (
        ("train", private.parent / "priv*.parquet", "--ledger", ledger, "--output", TARGET),
        ("plan", private),
    ):
        told = run(*verb, *by(public), expected=status).err
        assert "public file " in told
        assert message in told
        assert "Traceback" not in told
    with Ledger(ledger) as opened:
        assert opened.account("people").spent.epsilon == 0
    assert not TARGET.exists()


def test_a_part_of_a_folder_and_counted_rows_are_inputs(private: Path, public: Path, run: Run) -> None:
    Path("parts").mkdir()
    part = private.rename("parts/one.parquet")
    write_people(Path("parts/two.parquet"), repeated_people(100, seed=9), REPEATED)
    told = run("train", "parts", *by(Path(shutil.copy(part, "copied.parquet"))), "--output", TARGET, expected=64).err
    assert "copied.parquet: is one of the confidential inputs (parts/one.parquet); weights and shares from it" in told
    run("aggregate", "parts", "--output", "s.parquet")
    told = run("release", "s.parquet", *by(part), "--output", TARGET, expected=64).err
    assert "one.parquet: is one of the confidential inputs; weights and shares" in told
    with pytest.raises(dpnb.errors.UsageError, match="is one of the confidential inputs"):
        dpnb.release(dpnb.aggregate("parts"), epsilon=1, mechanism="histogram", attribute_weights=part)


@pytest.mark.slow
def test_what_a_public_file_does_not_suit_is_refused(folder: Path, private: Path, public: Path, run: Run) -> None:
    told = run("train", private, *by(public), "--shares", "2:1:1", "--output", TARGET, expected=64).err
    assert "shares: the public file divides the budget among the attributes; leave --shares out" in told
    for mechanism in ("majority", "none"):
        told = run("train", private, *by(public, mechanism), "--output", TARGET, expected=64).err
        assert "a public file is for mechanisms that release attributes with noise" in told
    told = run("train", private, *by(public), "--output", public, "--overwrite", expected=73).err
    assert "sample.parquet: is an input as well, and would be lost" in told
    document = {**REPEATED, "label": {"column": "income", "classes": ["low", "high", "none"]}}
    three = write_people(folder / "three.parquet", repeated_people(100), document)
    told = run("train", three, *by(public), "--output", TARGET, expected=64).err
    assert "a public file is for two classes, and the domain declares 3" in told
