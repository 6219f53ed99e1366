"""``python -m benchmarks`` from end to end in small, what its tables say, and the searches it compares with."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import inputs, processes
from benchmarks.contenders import search
from benchmarks.measurements import OTHERS, OWN, Measurements, read_measurements, targets
from benchmarks.performance import DOCUMENT, FOLDER, SUMMARIZED, SUMMARY, TABLES, replaced, summary_table, tables_of
from benchmarks.runs import Contender, Point, Run, Runs, write_parquet
from benchmarks.series import CALL, IMPORTS, SHOW
from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.core.sensitivity import RunLengthColumn, mean_smooth_sensitivity, variance_smooth_bound
from dpnb_columnar.counting import local
from dpnb_columnar.counting.find_domain import find_domain
from dpnb_columnar.domain import Numeric
from dpnb_columnar.rows.parquet import open_parquet

DOCS = Path(__file__).parents[2] / "docs"
MACHINE = {"date": "2026-01-01", "processors": "2"}


def python(*arguments: object, folder: Path, expected: int = 0) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter in this folder, which finds the checkout."""
    environment = os.environ | {"PYTHONPATH": str(processes.ROOT)}
    command = [sys.executable, *map(str, arguments)]
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == expected, ended.stderr
    return ended


def runs_of(path: Path) -> pl.DataFrame:
    return pl.read_parquet(path)


@pytest.fixture
def installed() -> None:
    for name in ("sklearn", "ipumspy", "lightgbm"):
        pytest.importorskip(name, reason="pip install '.[benchmark]'")


@pytest.mark.slow
def test_a_small_session_from_its_rows_to_the_document(installed: None, tmp_path: Path) -> None:
    small = ("--quick", "--rows", 400, "--turns", 1, "--data", "rows", "--only", "train,release")
    python("-m", "benchmarks", *small, folder=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"rows", "performance.jsonl", "performance.parquet"}
    assert [path.name for path in (tmp_path / "rows").iterdir()] == ["c400.parquet"]
    runs = runs_of(tmp_path / "performance.parquet")
    contenders = {"dpnb-columnar train", "GaussianNB.partial_fit", "GaussianNB.fit", "bare scan, Polars"}
    contenders |= {"bare grouped counts, Polars", "bare grouped counts, DuckDB"}
    contenders |= {"train, no attribute weights", "train, learned attribute weights", "LightGBM, 100 trees"}
    assert sorted(runs.filter(pl.col("series") == "train")["contender"]) == sorted(contenders)
    assert runs.filter("inside").select("series", "attributes").rows() == [
        ("release", 13),
        ("release", 100),
        ("release", 5),
    ]
    assert set(runs["turn"]) == {1}  # the turn that warms the cache is not among them
    assert runs.select((pl.col("seconds", "cpu_seconds", "peak_mib") > 0).all()).row(0) == (True, True, True)

    printed = python("-m", "benchmarks.performance", "performance.parquet", folder=tmp_path).stdout
    assert "| 400 | dpnb-columnar train |" in printed
    assert re.search(r"\| processors \| \d+ \|", printed)
    assert "\nrelease\n" in printed
    assert "\ningest\n" not in printed  # not measured

    document = tmp_path / DOCUMENT
    figure = document.parent / FOLDER / "rows.svg"
    document.parent.mkdir()
    document.write_text((DOCS / DOCUMENT).read_text())
    fill = ("-m", "benchmarks.performance", "performance.parquet", "--docs", ".")
    python(*fill, folder=tmp_path)
    once, drawn = document.read_text(), figure.read_bytes()
    assert "| 400 | dpnb-columnar train |" in once
    assert [*figure.parent.iterdir()] == [figure]
    python(*fill, folder=tmp_path)
    assert (document.read_text(), figure.read_bytes()) == (once, drawn)


@pytest.mark.slow
def test_a_stopped_session_goes_on_where_it_was(installed: None, tmp_path: Path) -> None:
    session = ("-m", "benchmarks", "--only", "search", "--rows", 20, "--turns", 1)
    assert "[1/1] search" in python(*session, folder=tmp_path).stderr
    assert "search" not in python(*session, folder=tmp_path).stderr
    whole = runs_of(tmp_path / "performance.parquet")
    lines = (tmp_path / "performance.jsonl").read_text()
    (tmp_path / "performance.jsonl").write_text(lines[:-20])  # killed as it wrote its last line
    assert "[1/1] search" in python(*session, folder=tmp_path).stderr
    again = runs_of(tmp_path / "performance.parquet")
    described = ["series", "rows", "contender", "turn"]
    assert again.select(described).equals(whole.select(described))


def test_who_measures_loads_nothing_heavy(tmp_path: Path) -> None:
    code = "import sys, benchmarks.__main__; print([*sys.modules])"
    loaded = set(eval(python("-c", code, folder=tmp_path).stdout))
    assert "benchmarks.series" in loaded
    assert not loaded & {"numpy", "polars", "duckdb", "pyarrow", "scipy", "sklearn", "dpnb_columnar", "typer"}


MEASURE = """
from benchmarks.processes import PYTHON, measured
for held in ("0", "100 << 20"):
    found = measured([PYTHON, "-I", "-S", "-c", f"print(len(b'1' * ({held})))"])
    print(found.peak_mib, found.printed)
"""


def test_a_peak_is_the_childs_own(tmp_path: Path) -> None:
    small, _, large, printed = python("-c", MEASURE, folder=tmp_path).stdout.split()
    assert float(small) < processes.SMALL
    assert 100 < float(large) < 100 + processes.SMALL
    assert int(printed) == 100 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell")
def test_what_a_process_and_its_children_read_is_counted_each_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(10 << 20))
    reading = "open('file', 'rb').read()"
    code = f"import subprocess, sys; {reading}; subprocess.run([sys.executable, '-I', '-S', '-c', {reading!r}])"
    measure = f"from benchmarks.processes import *; print(measured([PYTHON, '-I', '-S', '-c', {code!r}]).read_mib)"
    assert 20 < float(python("-c", measure, folder=tmp_path).stdout) < 25


POINT = Point("train", (Contender("ours", ()), Contender("theirs", ())), 3, rows=1_000)


def measurements(folder: Path, *added: tuple[Point, Sequence[Run]]) -> Measurements:
    runs = Runs(folder / "made.jsonl", MACHINE)
    for point, found in added:
        for run in found:
            runs.add(point, run)
    write_parquet(folder / "made.jsonl", folder / "made.parquet")
    return read_measurements(folder / "made.parquet")


def turns(contender: str, *seconds: float, peak: float = 50) -> list[Run]:
    return [
        Run(contender, turn, False, taken, taken * 2, peak + turn, None, None) for turn, taken in enumerate(seconds, 1)
    ]


def test_medians_peaks_and_ratios_of_pairs(tmp_path: Path) -> None:
    made = measurements(tmp_path, (POINT, [*turns("ours", 1, 2, 9), *turns("theirs", 2, 8, 3)]))
    found = made.of("train", "theirs", rows=1_000)
    assert (found["seconds"], found["cpu_seconds"], found["peak_mib"], found["turns"]) == (3, 6, 53, 3)
    assert found["cpu_ratio"] == found["ratio"] == 0.5  # of 1/2, 2/8 and 9/3; the medians' ratio would be 2/3
    assert made.paired("train", "theirs", "ours", OWN - OTHERS) == 2  # of 2, 12 and -12
    assert made.paired("train", "theirs", "ours", OWN / OTHERS) == 2  # of 2, 4 and 1/3
    assert made.paired("train", "theirs", "ours", OWN / OTHERS, rows=1_000) == 2
    assert made.paired("train", "theirs", "ours", OWN / OTHERS, rows=2_000) is None
    assert made.paired("start", "theirs", "ours", OWN / OTHERS) is None
    assert made.machine == MACHINE
    assert made.of("train", "theirs", rows=2_000) is None


def test_a_file_is_read_as_often_as_what_is_read_grows_with_it(tmp_path: Path) -> None:
    """What is read of the smallest is left out: most of that are modules."""

    def point(rows: int, input_mib: float, **read_mib: float | None) -> tuple[Point, list[Run]]:
        runs = [Run(name, 1, False, 1, 1, 50, read, input_mib) for name, read in read_mib.items()]
        return Point("train", POINT.contenders, 1, rows=rows), runs

    made = measurements(
        tmp_path,
        point(3_000, 11, ours=35, theirs=17.5, others=10),
        point(1_000, 1, ours=12, theirs=10, others=None),
        point(9_000, 41, ours=None, theirs=40),
    )
    table = TABLES["train"].lines(made)
    place = [cell.strip() for cell in table[0].split("|")].index("times read")
    assert [line.split("|")[place].strip() for line in table[2:]] == ["", "", "", "2.30", "0.75", "", "", "0.75"]


def test_runs_of_two_machines_do_not_mix(tmp_path: Path) -> None:
    Runs(tmp_path / "made.jsonl", MACHINE)
    with pytest.raises(SystemExit, match="measured with other processors; choose another --output"):
        Runs(tmp_path / "made.jsonl", MACHINE | {"processors": "8"})


@pytest.mark.parametrize(("seconds", "verdict"), [(0.6, "met"), (0.61, "missed")])
def test_targets_are_judged_by_what_was_measured(tmp_path: Path, seconds: float, verdict: str) -> None:
    sized = Point("train", POINT.contenders, 1, rows=1_700_000)
    scored = Point("predict", POINT.contenders, 1, rows=10_000_000)
    started = (Contender(SHOW, ()), Contender(IMPORTS, ()))
    made = measurements(
        tmp_path,
        (sized, [*turns("dpnb-columnar train", seconds), *turns("GaussianNB.partial_fit", 1)]),
        (scored, [*turns("dpnb-columnar predict", seconds), *turns("GaussianNB.predict_proba", 2.4)]),
        (Point("start", started, 1, rows=1_000), [*turns(SHOW, seconds), *turns(IMPORTS, 0.6 / 1.3)]),
        (Point("calls", (Contender(CALL, ()),), 1, rows=10), turns(CALL, seconds / 600)),
        # Of fewer rows than the target is about: it says nothing of that.
        (Point("wide", POINT.contenders, 1, rows=400, attributes=13, classes=100), turns("dpnb-columnar predict", 1)),
    )
    told = {each.what: each.verdict for each in targets(made)}
    assert told.pop("`train` / `GaussianNB.partial_fit`, 1.7 M rows") == verdict
    assert told.pop("rows a second of `predict` / of `GaussianNB.predict_proba`, 10 M rows") == verdict
    assert told.pop("`show`, 1,000 rows / `import polars, duckdb, numpy, flint`, processor time") == verdict
    assert told.pop("`Model.predict`, 10 rows, from the second call on, processor time") == verdict
    assert set(told.values()) == {"not measured"}


def test_the_document_has_a_place_for_every_table_and_keeps_the_rest(tmp_path: Path) -> None:
    text = (DOCS / DOCUMENT).read_text()
    assert set(re.findall(r"<!-- table (\w+) -->", text)) == {"machine", "targets", *TABLES}
    filled = replaced(text, {name: [f"table of {name}"] for name in ("machine", "targets", *TABLES)})
    hand_written = re.compile(r"(<!-- table (\w+) -->).*?(<!-- end \2 -->)", re.DOTALL)
    assert hand_written.sub(r"\1\3", filled) == hand_written.sub(r"\1\3", text)
    assert len(re.findall(r"^table of \w+$", filled, re.MULTILINE)) == len(TABLES) + 2
    with pytest.raises(SystemExit, match="no place for the table elsewhere"):
        replaced(text, {"elsewhere": []})
    assert set(tables_of(measurements(tmp_path))) == {"machine", "targets"}
    assert re.findall(r"<!-- table (\w+) -->", (DOCS / SUMMARY).read_text()) == ["summary"]


def test_the_summary_has_the_medians_and_peaks_of_every_size(tmp_path: Path) -> None:
    points = [
        (Point(series, (), 1, rows=size), turns(contender, size / 100, peak=size))
        for series, contenders in SUMMARIZED.items()
        for size in ((400, 800) if series == "train" else (800,))
        for contender in contenders
    ]
    made = measurements(tmp_path, *points)
    lines = summary_table(made)
    assert tables_of(made)["summary"] == lines
    assert len(lines) == 2 + sum(map(len, SUMMARIZED.values()))
    assert lines[2] == "| dpnb-columnar train | 4.00 s, 401 MiB | 8.00 s, 801 MiB |"
    assert lines[-1] == "| ipumspy, in chunks |  | 8.00 s, 801 MiB |"


def test_the_documents_figures_are_there() -> None:
    named = re.findall(rf"\]\({FOLDER}/(\w+\.svg)\)", (DOCS / DOCUMENT).read_text())
    assert {path.name for path in ((DOCS / DOCUMENT).parent / FOLDER).iterdir()} == set(named)


columns = st.integers(1, 40).flatmap(
    lambda cells: st.tuples(
        st.lists(st.integers(0, cells), min_size=2, max_size=12),
        st.just(cells),
        st.integers(0, 5),
        st.sampled_from([0.01, 0.1, 0.7, 2.0]),
    )
)


@pytest.mark.slow
@given(columns)
def test_the_searches_over_every_distance_give_the_same_sensitivities(case: tuple[list[int], int, int, float]) -> None:
    values, cells, trim, beta = case
    trim = min(trim, (len(values) - 2) // 2)
    codes = np.sort(np.array(values, np.int64))
    column = RunLengthColumn(*np.unique(codes, return_counts=True))
    by_distances = search.mean_by_distances(codes, trim, cells, beta)
    assert by_distances == pytest.approx(mean_smooth_sensitivity(column, trim, cells, beta), rel=2**-31)
    by_distances = search.variance_by_distances(codes, trim, cells, beta)
    assert by_distances == pytest.approx(variance_smooth_bound(column, trim, cells, beta), rel=2**-31)


def test_floats_and_integers_are_the_same_rows(tmp_path: Path) -> None:
    counted = []
    for kind in ("floats", "integers"):
        path = tmp_path / f"{kind}.parquet"
        inputs.write_table(path, 3_000, inputs.Shape(2, 1, 3, 64, kind == "floats"))
        domain = find_domain([path]).domain
        counted.append(local.answer(open_parquet([path], domain), CellQuery(domain)))
    floats, integers = counted
    assert floats.class_counts.sum() == 3_000
    assert len(floats.columns["n0"][0].codes) > 10
    for name in ("n0", "n1"):
        for one, other in zip(floats.columns[name], integers.columns[name], strict=True):
            assert np.array_equal(one.codes, other.codes)
            assert np.array_equal(one.counts, other.counts)


def test_diffprivlib_is_given_the_declared_bounds(census: Path) -> None:
    pytest.importorskip("sklearn", reason="pip install '.[benchmark]'")
    code = "import json; from benchmarks.contenders.scikit_learn import BOUNDS; print(json.dumps(BOUNDS))"
    bounds = json.loads(python("-c", code, folder=census.parent).stdout)
    declared = {}
    for attribute in find_domain([census]).domain.attributes:
        if isinstance(attribute, Numeric):
            declared[attribute.name] = [int(attribute.lower), int(attribute.upper)]
        else:
            codes = [int(value) for value in (*attribute.values, *attribute.missing_values)]
            declared[attribute.name] = [min(codes), max(codes)]
    assert bounds == declared
