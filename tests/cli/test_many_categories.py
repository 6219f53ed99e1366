"""An attribute of 40,000 categories, such as postal codes, from training to scoring."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from support.running import Run

PLACES = 40_000


@pytest.mark.slow
def test_forty_thousand_categories_are_trained_shown_and_scored(folder: Path, run: Run) -> None:
    codes = [f"{number:05d}" for number in range(PLACES)]
    rows = pl.DataFrame({"place": codes[:50] * 400, "y": ["no", "yes"] * 10_000})
    rows.write_parquet("rows.parquet")
    places = ", ".join(f'"{code}"' for code in codes)
    Path("datasets.toml").write_text(
        f'[rows]\nlabel = {{ column = "y", classes = ["no", "yes"] }}\n[rows.attributes]\n'
        f"place = {{ values = [{places}] }}\n"
    )
    run("train", "rows.parquet", "--epsilon", 10, "--output", "model.json")
    shown = run("show", "model.json").out
    assert len(shown) < 3000
    assert "80000" in shown
    run("show", "model.json", "--html", "sheet.html")
    assert Path("sheet.html").stat().st_size < 100_000
    run("predict", "model.json", "rows.parquet", "--output", "scores.parquet")
    scores = pl.read_parquet("scores.parquet")
    assert (scores["predicted"] == rows["y"]).mean() > 0.9  # even places are no, odd ones yes
    table = ("--parameters-table", "terms", "--parameters", "terms.csv")
    run("sql", "score", "model.json", "--dialect", "duckdb", *table, "--output", "score.sql")
    assert Path("score.sql").stat().st_size < 20_000
