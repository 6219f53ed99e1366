"""Confidential output says so in its first line, as text, as JSON and as a file; public output does not."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from support.running import Run
from support.writing_verbs import NOT_RUN, write_inputs

from dpnb_columnar.cli.main import help_lines

ATTACK = "audit --model paid.json --members people.parquet --others more.parquet"

CONFIDENTIAL = (
    "evaluate paid.json people.parquet --html OUT/exact.html",
    "evaluate paid.json people.parquet --by sex --json",
    "check people.parquet",
    "check people.parquet --json",
    "suggest-domain people.parquet",
    "suggest-domain people.parquet --output OUT/draft.toml",
    "aggregate people.parquet --report --output OUT/counts.parquet",
    f"{ATTACK} --html OUT/attack.html --output OUT/attack.json",
    f"{ATTACK} --json",
)

PUBLIC = (
    "evaluate paid.json people.parquet --by sex --epsilon 1 --output OUT/a.json --html OUT/a.html",
    "evaluate paid.json people.parquet --epsilon 1 --json --output OUT/b.json",
    "simulate OUT/new.parquet --rows 100",
    "ingest people.csv --output OUT/people.parquet",
    "split people.parquet --train-output OUT/train.parquet --test-output OUT/test.parquet",
    "plan people.parquet --json",
    "train people.parquet --epsilon 1 --output OUT/model.json",
    "release people.statistics.parquet --epsilon 1 --output OUT/released.json",
    "predict paid.json people.parquet --output OUT/scored.parquet",
    "show paid.json --html OUT/sheet.html",
    "show paid.json --json",
    "audit --quick --mechanism majority --output OUT/audit.json",
    "datasets list",
    "domain show people.parquet",
    "sql score paid.json --dialect duckdb --table people",
    "export paid.json --to r --output OUT/model.R",
    "ledger show people.ledger --json",
)


def is_marked(file: Path) -> bool:
    """Return whether a file says that it is confidential, as its format can."""
    match file.suffix:
        case ".parquet":
            return any("CONFIDENTIAL" in text for text in pl.read_parquet_metadata(file).values())
        case ".json":
            return next(iter(json.loads(file.read_text()).items())) == ("confidential", True)
        case ".html":
            return "<b>CONFIDENTIAL. </b>" in file.read_text()
    return "CONFIDENTIAL" in file.read_text().partition("\n")[0]


@pytest.mark.slow
def test_confidential_output_says_so_first(folder: Path, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """As text in its first line, as JSON by its first key; standard error has nothing that could be lost."""
    write_inputs(folder)
    capsys.readouterr()
    for line in CONFIDENTIAL:
        ended = run(*line.split())
        if "--json" in line:
            assert next(iter(json.loads(ended.out).items())) == ("confidential", True), line
        else:
            assert "CONFIDENTIAL" in ended.out.partition("\n")[0], line
        assert ended.err == "", line
    files = {file for file in Path("OUT").rglob("*") if file.is_file()}
    assert all(map(is_marked, files))
    assert len(files) == 5


def test_every_event_of_a_confidential_report_says_so(people_file: Path, run: Run) -> None:
    ended = run("aggregate", people_file, "--report", "--log-format", "json")
    started, *events = map(json.loads, ended.out.splitlines())
    assert "confidential" not in started
    assert all(event["confidential"] for event in events if event["event"] != "stage begun")
    ended = run("aggregate", people_file, "--log-format", "json", "--overwrite")
    assert '"confidential"' not in ended.out


@pytest.mark.slow
def test_public_output_does_not(folder: Path, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    write_inputs(folder)
    capsys.readouterr()
    for line in PUBLIC:
        ended = run(*line.split())
        assert "CONFIDENTIAL" not in ended.out, line
        assert '"confidential"' not in ended.out, line
    assert not [file for file in Path("OUT").rglob("*.*") if is_marked(file)]
    assert {line.split()[0] for line in (*CONFIDENTIAL, *PUBLIC)} == {*help_lines()} - {*NOT_RUN}
