"""``dpnb-columnar export``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.model_cases import declared, model_of, table_of
from support.running import Run

FIRST = {"r": "# Written", "stata": "* Written", "sas": "/* Written", "spss": "* Written"}


@pytest.fixture
def released(people_file: Path, run: Run) -> Path:
    """A model with a guarantee."""
    run("train", people_file, "--mechanism", "histogram", "--output", "released.json")
    return Path("released.json")


@pytest.mark.parametrize("language", FIRST)
def test_a_file_states_the_guarantee_and_the_source_and_has_a_block_for_each_column(
    language: str, released: Path, run: Run
) -> None:
    ended = run("export", released, "--to", language, "--output", "scores")
    assert ended.out == "wrote scores\n"
    written = Path("scores").read_text()
    assert written.startswith(FIRST[language])
    assert "-differentially private for one row" in written
    assert "Source: model " in written
    for name in ("age: a number from 0 to ", "hours: a number from ", "sex: 'f', 'm'"):
        assert name in written
    assert run("export", released, "--to", language).out == written


def test_an_output_that_exists_is_replaced_only_on_demand(model_file: Path, run: Run) -> None:
    Path("scores.R").write_text("mine")
    ended = run("export", model_file, "--to", "r", "--output", "scores.R", expected=73)
    assert "scores.R: exists already; choose another --output, or replace it with --overwrite" in ended.err
    assert Path("scores.R").read_text() == "mine"
    run("export", model_file, "--to", "r", "--output", "scores.R", "--overwrite")
    assert "score_people <- function" in Path("scores.R").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--to", "matlab"], 64, "matlab"),
        (["--to", "onnx"], 64, "an ONNX file is not a text; name the file with --output FILE.onnx"),
        (["--to", "r", "--output", "."], 73, "is a folder; name a file"),
        (["--to", "r", "--rename", "age"], 64, "expected COLUMN=NAME, such as _AGE=age"),
        (["--to", "r", "--rename", "age=a", "--rename", "age=b"], 64, "'age' is named twice; keep one"),
        (["--to", "r", "--rename", "aeg=a"], 64, "the model uses no column 'aeg'; did you mean age?"),
        (["--to", "sas", "--rename", "age=my age"], 64, "column 'my age' is no name of a variable in SAS"),
        (["--to", "spss", "--prefix", "_"], 64, "is no name of a variable in SPSS; choose another --prefix"),
    ],
)
def test_what_cannot_be_written_is_refused_in_one_line(
    arguments: list[str], code: int, said: str, model_file: Path, run: Run
) -> None:
    ended = run("export", model_file, *arguments, expected=code)
    assert said in ended.err
    if code != 64 or "matlab" not in arguments:
        assert ended.err.strip().count("\n") == 0


def test_without_onnx_the_remedy_is_the_extra(model_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    ended = run("export", model_file, "--to", "onnx", "--output", "scores.onnx", expected=69)
    assert ended.err == (
        "dpnb-columnar: export to ONNX needs onnx; install it with: pip install 'dpnb-columnar[onnx]'\n"
    )
    assert not Path("scores.onnx").exists()


@pytest.mark.usefixtures("invented_models")
def test_types_of_a_file_say_what_columns_hold(folder: Path, run: Run) -> None:
    import polars as pl

    model = model_of(declared({"code": {"values": [1, 2]}}), [table_of("code", [0.6, 0.4], [0.3, 0.7])])
    model.save("code.json")
    pl.DataFrame({"code": ["1", "2"]}).write_parquet("texts.parquet")
    assert "confirm numeric variable code" in run("export", "code.json", "--to", "stata").out
    assert "confirm string variable code" in run("export", "code.json", "--to", "stata", "--like", "texts.parquet").out
    pl.DataFrame({"other": ["1", "2"]}).write_parquet("other.parquet")
    ended = run("export", "code.json", "--to", "stata", "--like", "other.parquet", expected=65)
    assert "other.parquet: missing column 'code'" in ended.err
