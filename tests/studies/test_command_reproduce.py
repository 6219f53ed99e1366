"""``python -m studies.paper``: a small plan through the command line, interrupted, taken up again, and refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from support import mini_plan
from support.mini_plan import QUICK, metadata_of, results
from support.running import Run

from dpnb_columnar import __version__
from studies.paper import reproduction as running
from studies.paper import reproduction_page
from studies.paper.accuracy import Located, Row, run_unit
from studies.paper.experiments import Unit
from studies.paper.results import CELL, RUNTIME_SCHEMA, SCHEMA

MEASURED = ("rows", "correct", "accuracy", "log_loss", "mean_error", "variance_error", "flattened", "released_means")


class Counting:
    """Runs units, and counts their cells."""

    def __init__(self, stop_after: int | None = None, how: type[BaseException] = KeyboardInterrupt) -> None:
        self.cells: Counter[tuple[object, ...]] = Counter()
        self.stop_after, self.how = stop_after, how

    def __call__(self, unit: Unit, data: Located) -> list[Row]:
        if self.stop_after is not None and self.cells.total() >= self.stop_after:
            raise self.how
        for cell in unit.cells:
            self.cells[unit.study, unit.dataset, unit.method, unit.weights, unit.bounds, unit.iteration, cell] += 1
        return run_unit(unit, data)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Counting]:
    def install(*arguments: object) -> Counting:
        counting = Counting(*arguments)  # type: ignore[arg-type]
        monkeypatch.setattr(running, "run_unit", counting)
        return counting

    return install


@pytest.mark.slow
def test_a_whole_run(data: Path, run: Run) -> None:
    ended = run(*QUICK)
    cells = results()
    assert cells.schema == SCHEMA
    assert len(cells) == mini_plan.CELLS
    assert cells.select(CELL).is_unique().all()
    assert cells["accuracy"].to_list() == (cells["correct"] / cells["rows"]).to_list()
    assert set(cells.filter(pl.col("mechanism") == "none")["epsilon"]) == {None}
    assert set(cells.filter(pl.col("mechanism") == "majority")["epsilon"]) == {0.1, 1.0}
    assert set(cells.filter(pl.col("mechanism").is_in(["histogram", "majority", "none"]))["noise"]) == {None}
    approximate = cells.filter(pl.col("delta") == "1/n")
    assert set(approximate["noise"]) == {"gaussian"}
    assert set(approximate.filter(pl.col("dataset") == "tiny")["delta_value"]) == {1 / 400}
    assert cells["flattened"].is_null().to_list() == cells["mechanism"].is_in(["histogram", "majority"]).to_list()
    assert cells.filter(pl.col("mean_error").is_null(), pl.col("flattened") == 0).is_empty()
    per_split = cells.filter(pl.col("study") == "evaluation").group_by(
        "dataset", "mechanism", "epsilon", "delta", "attribute_weights", "iteration"
    )
    assert dict(per_split.agg(pl.col("rows").sum()).select("dataset", "rows").unique().iter_rows()) == {
        "tiny": 380,
        "numeric-correlated": 300,
    }
    assert (
        "mushroom: left out, its files are absent: put mushroom.parquet or mushroom/agaricus-lepiota.data below data"
        in ended.err
    )
    tables = [line.split()[1:] for line in ended.out.splitlines() if line.lstrip().startswith("tiny ")]
    assert [line[:2] for line in tables] == [["none", "mean"], ["none", "5%"], ["auto", "mean"], ["auto", "5%"]]
    evaluated = cells.filter(pl.col("study") == "evaluation", pl.col("delta") == "0")
    plain = evaluated.filter(pl.col("dataset") == "tiny", pl.col("attribute_weights") == "none")
    for name, epsilons in (("smooth", (0.1, 1.0)), ("none", (None,))):
        here = plain.filter(pl.col("mechanism") == name)
        by_epsilon = [here.filter(pl.col("epsilon").eq_missing(epsilon))["accuracy"] for epsilon in epsilons]
        assert " / ".join(f"{each.mean():.3f}" for each in by_epsilon) in " ".join(tables[0])
        assert " / ".join(f"{each.quantile(0.05, 'linear'):.3f}" for each in by_epsilon) in " ".join(tables[1])
    # Weights are for mechanisms that release attributes with noise.
    assert set(evaluated.filter(pl.col("attribute_weights") == "auto")["mechanism"]) == {"smooth", "histogram"}
    metadata = pl.read_parquet_metadata("results.parquet")
    assert (metadata["mode"], metadata["iterations"], metadata["folds"]) == ("quick", "2", "2")
    assert metadata["dpnb-columnar"] == __version__
    assert metadata["rows.tiny"] == "400"
    times = results("results.runtime.parquet")
    assert times.schema == RUNTIME_SCHEMA
    found = {(method, rows) for method, rows in times.select("method", "rows").iter_rows()}
    assert found == {(name, rows) for name in ("smooth", "global") for rows in (200, 400)} | {("direct search", 200)}
    assert (times["seconds"] > times["release_seconds"]).all()
    assert sorted(path.name for path in Path().iterdir()) == [
        "data",
        "datasets.toml",
        "results.parquet",
        "results.runtime.parquet",
        "results.work",
    ]


@pytest.mark.slow
def test_processes_side_by_side_find_the_same(data: Path, run: Run) -> None:
    """So does a part of the plan: no seed depends on what was run before."""
    only = ("--study", "evaluation", "--dataset", "tiny", "--mechanism", "smooth", "--mechanism", "none")
    run("--data", "data", "--quick", "--processes", 2, *only, "--output", "two.parquet")
    run(*QUICK, "--study", "evaluation", "--dataset", "tiny", "--output", "one.parquet")
    two, one = results("two.parquet"), results("one.parquet")
    assert len(two) == 28
    both = two.join(one, on=CELL, how="left", nulls_equal=True, suffix="_one")
    for name in MEASURED:
        assert both[name].to_list() == both[f"{name}_one"].to_list()


def test_an_interrupted_run_is_taken_up_and_no_cell_is_run_twice(
    data: Path, run: Run, counting: Callable[..., Counting]
) -> None:
    only = ("--study", "allocation", "--study", "bounds", "--dataset", "tiny")
    whole = counting()
    run(*QUICK, *only, "--output", "whole.parquet")
    first = counting(10)
    run(*QUICK, *only, expected=130)
    assert len(results()) == first.cells.total() >= 10
    second = counting()
    run(*QUICK, *only)
    assert first.cells + second.cells == whole.cells
    assert set(whole.cells.values()) == {1}
    assert results().select(*CELL, *MEASURED).equals(results("whole.parquet").select(*CELL, *MEASURED))
    third = counting()
    run(*QUICK, *only)
    assert not third.cells


def test_a_failure_keeps_what_is_finished(data: Path, run: Run, counting: Callable[..., Counting]) -> None:
    failing = counting(10, ZeroDivisionError)
    assert "internal error (ZeroDivisionError)" in run(*QUICK, "--study", "bounds", expected=70).err
    assert len(results()) == failing.cells.total() >= 10


def test_overwrite_begins_afresh(done: Path, run: Run, counting: Callable[..., Counting]) -> None:
    again = counting()
    run(*QUICK, "--study", "bounds", "--mechanism", "none", "--overwrite")
    assert again.cells.total() == len(results()) == 8


def test_the_report_is_written_of_results_that_are_complete(
    done: Path, run: Run, monkeypatch: pytest.MonkeyPatch, counting: Callable[..., Counting]
) -> None:
    written: list[tuple[object, ...]] = []
    monkeypatch.setattr(
        reproduction_page, "write_report", lambda *found, overwrite: written.append((*found, overwrite))
    )
    again = counting()
    ended = run(*QUICK, "--study", "bounds", "--mechanism", "none", "--report", "page.html")
    assert not again.cells
    assert written == [(Path("results.parquet"), Path("page.html"), None, True)]
    assert "wrote page.html" in ended.out


def test_training_times_alone(data: Path, run: Run) -> None:
    ended = run(*QUICK, "--study", "runtime")
    assert "wrote results.parquet: 0 cells" in ended.out
    assert len(results()) == 0
    times = results("results.runtime.parquet")
    run(*QUICK, "--study", "runtime")
    assert results("results.runtime.parquet").equals(times)


def test_progress_in_a_pipe_is_a_line_now_and_then(data: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from studies.paper import __main__ as reproduce

    monkeypatch.setattr(reproduce, "LINE_EVERY", 0.0)
    told = run(*QUICK, "--study", "bounds", "--mechanism", "none").err.splitlines()
    assert told[0].startswith("dpnb-columnar: 0 of 8 cells")
    assert told[-1] == "dpnb-columnar: 8 of 8 cells, about 0 min left"


# ``python -m studies.paper``: results that do not mix, and what is missing or wrong.


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
