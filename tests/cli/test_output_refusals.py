"""Verbs that write keep what exists, never replace an input, and take no name that hides the format."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.refusal_cases import FILE
from support.running import Run


@pytest.mark.parametrize("verb", ["simulate", "aggregate", "release", "predict"])
def test_every_verb_that_writes_keeps_an_existing_file(verb: str, model_file: Path, run: Run) -> None:
    run("aggregate", FILE)
    precious = Path("precious.parquet")
    precious.write_text("precious")
    arguments = {
        "simulate": (precious, "--rows", 10),
        "aggregate": (FILE, "--output", precious),
        "release": ("people.statistics.parquet", "--output", precious),
        "predict": (model_file, FILE, "--output", precious),
    }[verb]
    told = run(verb, *arguments, expected=73).err
    assert "precious.parquet" in told
    assert "--overwrite" in told
    assert precious.read_text() == "precious"
    run(verb, *arguments, "--overwrite")
    assert precious.read_bytes().startswith(b"PAR1")


@pytest.mark.parametrize("verb", ["simulate", "aggregate", "predict", "datasets"])
def test_name_that_hides_the_format_is_refused(verb: str, model_file: Path, run: Run) -> None:
    arguments = {
        "simulate": ("out.csv",),
        "aggregate": (FILE, "--output", "out.csv"),
        "predict": (model_file, FILE, "--output", "out.csv"),
        "datasets": ("prepare", "adult", "--from", ".", "--output", "out.csv"),
    }[verb]
    assert "out.csv: is written as Parquet; end its name in .parquet" in run(verb, *arguments, expected=64).err


@pytest.mark.parametrize("verb", ["train", "aggregate", "release", "predict"])
def test_input_is_never_replaced(verb: str, model_file: Path, run: Run) -> None:
    run("aggregate", FILE)
    statistics = Path("people.statistics.parquet")
    lost = statistics if verb == "release" else FILE
    before = lost.read_bytes()
    Path("link.parquet").symlink_to(lost)
    given = {"release": (statistics,), "predict": (model_file, FILE)}.get(verb, (FILE,))
    for output in (lost, "link.parquet"):
        told = run(verb, *given, "--output", output, "--overwrite", expected=73).err
        assert "is an input as well, and would be lost; choose another --output" in told
    assert lost.read_bytes() == before
