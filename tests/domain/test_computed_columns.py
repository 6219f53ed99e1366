"""Attributes that tell how a label is made up, by facts on known surveys."""

from __future__ import annotations

import tomllib
from pathlib import Path

import polars as pl
import pytest
from support.running import Run

from dpnb_columnar.domain.computed_columns import FACTS, LabelRelatives, label_relatives
from dpnb_columnar.domain.declaration import read_domain


def relatives(label: str, *names: str) -> LabelRelatives | None:
    """Those of a label that is a condition over a column."""
    attributes = {name: {"lower": 0, "upper": 9} for name in names}
    declared = {"label": {"condition": f"{label} > 1", "classes": ["no", "yes"]}, "attributes": attributes}
    return label_relatives(read_domain("test", declared, "test"))


@pytest.mark.parametrize(
    ("label", "parts", "wholes", "same"),
    [
        ("PINCP", ("WAGP", "SEMP", "PERNP"), ("POVPIP",), ()),
        ("pincp", ("wagp",), (), ()),
        ("WAGP", (), ("PINCP", "PERNP"), ()),
        ("INCTOT", ("INCWAGE", "INCSS", "OINCWAGE"), ("HHINCOME", "POVERTY"), ()),
        ("INCWAGE", (), ("INCTOT",), ()),
        ("EDUC", (), (), ("EDUCD",)),
    ],
)
def test_parts_wholes_and_other_records(
    label: str, parts: tuple[str, ...], wholes: tuple[str, ...], same: tuple[str, ...]
) -> None:
    assert relatives(label, "AGEP", *parts, *wholes, *same, "SCHL") == LabelRelatives((label,), parts, wholes, same)


@pytest.mark.parametrize("label", ["AGEP", "INCWAGE", "works"])
def test_most_labels_have_none(label: str) -> None:
    assert relatives(label, "SEX", "RACE", "INCSS", "WAGP") is None


def test_every_fact_is_of_columns_and_none_is_computed_from_itself() -> None:
    facts = tomllib.loads(FACTS.read_text(encoding="utf-8"))
    names = [fact["name"] for fact in facts["computed"]]
    assert len(set(names)) == len(names)
    every = {part for fact in facts["computed"] for part in [fact["name"], *fact["of"]]}
    for name in names:
        found = relatives(name, *(every - {name}))
        assert found is not None
        assert not set(found.parts) & set(found.wholes)
    for groups in facts["same"]:
        assert all(len(group) > 1 for group in groups["names"])


def test_plan_check_and_the_sheet_name_them(folder: Path, run: Run) -> None:
    rows = pl.DataFrame({"WAGP": range(1000), "AGEP": [n % 90 for n in range(1000)]}).with_columns(PINCP=pl.col("WAGP"))
    rows.write_parquet("town.parquet")
    entry = "[town]\nlabel = { condition = 'PINCP > 400', classes = ['low', 'high'] }\n[town.attributes]\n"
    entry += "WAGP = { lower = 0, upper = 999, step = 1 }\nAGEP = { lower = 0, upper = 99, step = 1 }\n"
    Path("datasets.toml").write_text(entry, encoding="utf-8")
    told = "PINCP is computed from WAGP: a model that reads it tells how the label is made up, not what goes with it"
    planned = run("plan", "town.parquet", "--dataset", "town", "--no-advice").out
    remedy = f"{told}; to leave them out, take WAGP out of attributes in datasets.toml"
    assert remedy in planned
    checked = run("check", "town.parquet", "--dataset", "town").out
    assert f"note: {remedy}" in checked
    train = ("train", "town.parquet", "--dataset", "town", "--attribute-weights", "none")
    run(*train, "--output", "with.json")
    run("show", "with.json", "--html", "sheet.html")
    assert told in Path("sheet.html").read_text(encoding="utf-8")
    Path("datasets.toml").write_text(entry.replace("WAGP = {", "OTHP = {"), encoding="utf-8")
    rows.rename({"WAGP": "OTHP"}).write_parquet("town.parquet")
    assert "how the label is made up" not in run("plan", "town.parquet", "--dataset", "town", "--no-advice").out
