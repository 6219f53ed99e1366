"""What ``train`` must not refuse, since it depends on rows: ``check`` tells the curator."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from support.people import TYPES, people, write_people
from support.refusal_cases import FILE
from support.running import Run

UNSUITABLE = {
    "attribute without a value": ({"hours": pl.lit(None, pl.Int64)}, ("'hours'", "no value in any row", "fill it")),
    "category without a value": ({"sex": pl.lit(None, pl.String)}, ("'sex'", "no value in any row", "fill it")),
    "label without a value": ({"income": pl.lit(None, pl.String)}, ("income", "no value in any row", "fill it")),
    "class not declared": (
        {"income": pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("middling")).otherwise("income")},
        ("income", "not declared classes", "add them to classes"),
    ),
    "class without rows": ({"income": pl.lit("low")}, ("no row in class high", "take it out of the domain")),
    "no category declared": (
        {"sex": pl.lit("x")},
        ("'sex'", "no declared category in any row", "take it out of attributes"),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", UNSUITABLE)
def test_check_refuses_what_train_must_not_tell(name: str, folder: Path, run: Run) -> None:
    columns, told = UNSUITABLE[name]
    write_people(FILE)
    usual = [run("train", FILE), run("plan", FILE)]
    Path("people.model.json").unlink()
    write_people(FILE, people(1000).with_columns(**columns))
    assert [run("train", FILE), run("plan", FILE)] == usual
    ended = run("check", FILE, expected=65)
    assert "people.parquet" in ended.err
    for text in told:
        assert text in ended.out
    assert "middling" not in ended.err


def test_no_rows_at_all_are_refused_by_check_alone(folder: Path, run: Run) -> None:
    write_people(FILE, pl.DataFrame(schema=TYPES))
    run("train", FILE)
    assert "no row counts" in run("check", FILE, expected=65).out
