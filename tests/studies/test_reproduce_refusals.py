"""``python -m studies.paper``: results that do not mix, and what is missing or wrong."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from support.mini_plan import QUICK, metadata_of, results
from support.running import Run

from studies.paper import reproduction as running


def test_results_of_the_other_mode_are_refused(done: Path, run: Run) -> None:
    content = done.read_bytes()
    told = run("--data", "data", "--study", "bounds", expected=73).err
    assert "was made with mode quick, this run has full" in told
    assert "--overwrite" in told
    assert done.read_bytes() == content


@pytest.mark.parametrize("key", ["dpnb-columnar", "numpy", "domain.tiny", "rows.tiny", "folds"])
def test_results_made_with_something_else_are_refused(key: str, done: Path, run: Run) -> None:
    results().write_parquet("results.parquet", metadata={**metadata_of("results.parquet"), key: "other"})
    assert f"was made with {key} other" in run(*QUICK, "--study", "bounds", expected=73).err


def test_results_of_data_that_is_not_there_any_more_are_kept(done: Path, run: Run) -> None:
    Path("data/tiny.parquet").unlink()
    before = results()
    run(*QUICK, "--study", "evaluation", "--mechanism", "none")
    assert results().filter(pl.col("study") == "bounds").equals(before)
    assert "domain.tiny" in metadata_of("results.parquet")


@pytest.mark.parametrize("content", [b"", b"mine", None], ids=["empty", "text", "another table"])
def test_a_file_that_holds_no_results_is_refused(content: bytes | None, data: Path, run: Run) -> None:
    if content is None:
        pl.DataFrame({"x": [1]}).write_parquet("results.parquet")
    else:
        Path("results.parquet").write_bytes(content)
    before = Path("results.parquet").read_bytes()
    assert "is no file of results" in run(*QUICK, "--study", "bounds", expected=73).err
    assert Path("results.parquet").read_bytes() == before


def test_nothing_to_run_on(data: Path, run: Run) -> None:
    Path("data/tiny.parquet").unlink()
    told = run(*QUICK, "--study", "bounds", expected=66).err
    assert "tiny: left out" in told
    assert "data: holds none of the data sets" in told
    assert not Path("results.parquet").exists()


def test_a_folder_that_is_not_there(data: Path, run: Run) -> None:
    assert "nowhere: no such folder" in run("--data", "nowhere", "--quick", expected=66).err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--study", "x"], 64),
        (["--dataset", "x"], 64),
        (["--mechanism", "x"], 64),
        (["--processes", "0"], 64),
        (["--output", "results.csv"], 64),
        (["--output", "data"], 64),
        (["--report", "report.pdf"], 64),
        (["--output", "there/results.parquet"], 73),
        (["--report", "there/report.html"], 73),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_wrong_usage_is_refused_before_any_work(
    arguments: list[str], code: int, data: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "locate", lambda *_: pytest.fail("work was done"))
    run(*QUICK, *arguments, expected=code)


def test_a_damaged_raw_file_is_refused(data: Path, run: Run) -> None:
    (data / "mushroom").mkdir()
    (data / "mushroom" / "agaricus-lepiota.data").write_text("p,x\n")
    assert "SHA-256" in run(*QUICK, "--study", "evaluation", expected=65).err
