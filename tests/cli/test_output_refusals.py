"""Verbs that write replace what exists on demand alone."""

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
    run(verb, *arguments, expected=73)
    assert precious.read_text() == "precious"
    run(verb, *arguments, "--overwrite")
    assert precious.read_bytes().startswith(b"PAR1")
