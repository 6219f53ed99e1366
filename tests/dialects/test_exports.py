"""Models exported to ONNX, R and SPSS, run there and compared with what ``predict`` says; no test runs Stata or SAS."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from support import exported
from support.examples import blocks, shell
from support.model_cases import declared, histogram_of, model_of, normal_of, presence_of, table_of
from support.people import DECLARATION, people
from support.running import Run
from support.scored_rows import AGE, MIXED, MONEY

from dpnb_columnar.errors import UsageError
from dpnb_columnar.model.export_targets import SUFFIXES, Target
from dpnb_columnar.model.exports import write_export
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.parameters import AttributeWeights, CalibrationLine

SCRIPTED = [Target.R, Target.STATA, Target.SAS, Target.SPSS]
MODELS = 300

pytestmark = pytest.mark.exports

Runner = Callable[[Path, Sequence[exported.Case]], list[list[exported.Scored]]]
RUNNERS: dict[Target, Runner] = {
    Target.ONNX: exported.run_onnx,
    Target.R: exported.run_r,
    Target.SPSS: exported.run_pspp,
}


def runner(target: Target) -> Runner:
    """What runs a language; the test is skipped where it is not installed."""
    if target is Target.ONNX:
        pytest.importorskip("onnx", reason="onnx is not installed")
        pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    elif not exported.available("Rscript" if target is Target.R else "pspp"):
        pytest.skip(f"{'R' if target is Target.R else 'PSPP'} is not installed")
    return RUNNERS[target]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("target", RUNNERS, ids=str)
def test_random_models_score_odd_rows_as_predict_does(target: Target, tmp_path: Path) -> None:
    """A probability may differ by more than 1e-12 where the rounding of floats moves it further: ``Case.allowed``."""
    run, tried = runner(target), exported.cases(target, MODELS)
    assert len(tried) > 0.8 * MODELS
    for case, scored in zip(tried, run(tmp_path, tried), strict=True):
        worst = exported.difference(case, scored)
        assert worst <= exported.EXACT or worst <= case.allowed


def ordinary(model: Model = MIXED) -> exported.Case:
    """Rows of which no class is certain: every mixture of values, missing ones and ones beyond the bounds."""
    ages = [0.0, 17.5, 33.0, 100.0, 250.0, -3.0, -0.0, math.nan, None]
    rows = pl.DataFrame({"age": pl.Series(ages, dtype=pl.Float64)})
    for name, values in {
        "money": [0.0, 1234.5, 1e6, 2e6, None],
        "hours": [38.0, 9.49, 9.5, 40.0, None],
        "sex": ["f", "m", "M", None],
        "job": [1.0, 2.0, 3.0, None],
    }.items():
        rows = rows.join(pl.DataFrame({name: values}), how="cross")
    return exported.Case(model, rows.sample(500, seed=1), [])


def two_classes_on_a_line() -> Model:
    line = CalibrationLine(0, (-3.0, -1.0, 0.5, 2.0), (-4.0, -1.5, 0.25, 3.0))
    return replace(MIXED, attribute_weights=AttributeWeights("x", (0.5, 1.0, -0.25, 0.0, 1.5), (0.1, -0.1), line=line))


def four_classes_on_a_line() -> Model:
    """Twelve pieces, so that the line is a halving case; missing values that are categories; log-odds with a bound."""
    margins = tuple(-3 + 0.5 * place for place in range(12))
    line = CalibrationLine(1, margins, tuple(margins), tuple(0.3 * each - 1 for each in margins), 0.6)
    domain = declared(
        {
            "age": {**AGE, "missing": "category", "missing_values": [-3]},
            "money": {**MONEY, "step": 1},
            "hours": AGE,
            "sex": {"values": ["f", "m"], "missing": "skip"},
            "job": {"values": [1, 2, *range(10, 30)]},
        },
        ["a", "b", "c", "d"],
    )
    shares = [[1 / 22] * 22, [0.1, *[0.9 / 21] * 21], [0.2, *[0.8 / 21] * 21], [*[0.9 / 21] * 21, 0.1]]
    age = normal_of("age", [30, 45.5, 50, 60], [11, 12.25, 30, 5])
    model = model_of(
        domain,
        [
            replace(age, presence=presence_of([0.9, 0.1], [0.8, 0.2], [0.5, 0.5], [0.99, 0.01]), bound=2.0),
            histogram_of("money", [0, 30_000, 50_000, 65_537], *[[0.3, 0.5, 0.2], [0.05, 0.45, 0.5]] * 2),
            normal_of("hours", [30, 45.5, 38, 39], [11, 12.25, 12.25, 5]),
            table_of("sex", *[[0.6, 0.4], [0.35, 0.65]] * 2),
            table_of("job", *shares),
        ],
        [0.4, 0.3, 0.2, 0.1],
    )
    weights = AttributeWeights("x", (0.9, 0.8, 0.7, 0.6, 0.5), (0.0, 0.1, 0.2, 0.3), line=line)
    return replace(model, attribute_weights=weights)


@pytest.mark.slow
@pytest.mark.parametrize("target", RUNNERS, ids=str)
def test_lines_weights_and_logarithms_give_the_probabilities_of_predict(target: Target, tmp_path: Path) -> None:
    tried = [ordinary(model) for model in (MIXED, two_classes_on_a_line(), four_classes_on_a_line())]
    for case, scored in zip(tried, runner(target)(tmp_path, tried), strict=True):
        assert len({each.predicted for each in scored}) > 1
        assert max(min(each.probabilities) for each in scored) > 0.01  # no class is certain
        assert exported.difference(case, scored) <= exported.EXACT


@pytest.mark.parametrize("target", RUNNERS, ids=str)
def test_a_text_is_the_number_or_the_truth_that_it_is_to_predict(target: Target, tmp_path: Path) -> None:
    """Words are numbers to numeric attributes alone, and those of the same truth are one category."""
    columns = {"code": [1, 7], "truth": ["true", "false"], "mixed": ["1", "0", "True", "1e99"], "word": ["1", "TRUE"]}
    domain = declared({"age": AGE, "hours": AGE, **{name: {"values": each} for name, each in columns.items()}})
    shares = {2: ([0.7, 0.3], [0.4, 0.6]), 4: ([0.4, 0.3, 0.2, 0.1], [0.15, 0.25, 0.35, 0.25])}
    histogram = histogram_of("hours", [0, 1, 10, 101], [0.3, 0.5, 0.2], [0.05, 0.45, 0.5])
    tables = [table_of(name, *shares[len(each)]) for name, each in columns.items()]
    case = exported.odd_case(model_of(domain, [normal_of("age", [30, 45.5], [11, 12.25]), histogram, *tables]), [])
    case = exported.as_texts(case) if target is Target.R else case
    (scored,) = runner(target)(tmp_path, [case])
    assert len({each.skipped for each in scored}) > 2
    assert exported.difference(case, scored) <= exported.EXACT


@pytest.mark.parametrize("target", RUNNERS, ids=str)
def test_a_bound_holds_where_classes_have_one_mean_and_deviation(target: Target, tmp_path: Path) -> None:
    age = normal_of("age", [30, 30], [11, 11])
    age = replace(age, presence=presence_of([1 - 1e-9, 1e-9], [0.2, 0.8]), bound=0.5)
    case = exported.odd_case(model_of(declared({"age": {**AGE, "missing": "category"}}), [age]), [{"age": 33.0}])
    (scored,) = runner(target)(tmp_path, [case])
    assert exported.difference(case, scored) <= exported.EXACT


def test_onnx_uses_core_operators_alone_and_says_what_is_promised(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    write_export(MIXED, tmp_path / "x.onnx", Target.ONNX)
    model = onnx.load(tmp_path / "x.onnx")
    assert [(each.domain, each.version) for each in model.opset_import] == [("", 20)]
    properties = {each.key: each.value for each in model.metadata_props}
    assert "NO GUARANTEE" in properties["guarantee"]
    assert re.search("model [0-9a-f]{16},", properties["source"])
    assert [each.name for each in model.graph.input] == ["age", "money", "hours", "sex", "job"]
    assert [each.name for each in model.graph.output] == ["predicted", "probabilities", "skipped"]


@pytest.mark.parametrize("target", SCRIPTED, ids=str)
def test_a_script_fills_in_every_name_and_says_whether_a_test_runs_it(target: Target, tmp_path: Path) -> None:
    script = tmp_path / f"x{SUFFIXES[target]}"
    write_export(MIXED, script, target)
    written = script.read_text()
    assert f"{script.name}.terms.csv" in written
    assert not re.search("@[a-z]+@", written)
    assert ("NOT RUN: " in written) is (target not in RUNNERS)
    assert max(len(line.encode()) for line in written.splitlines()) < 256


@pytest.mark.parametrize(
    ("target", "document", "said"),
    [
        (Target.STATA, {"a b": AGE}, "column 'a b': stata has no such name of a variable"),
        (Target.SAS, {"a" * 33: AGE}, "sas has no such name of a variable"),
        (Target.SPSS, {"age": AGE, "AGE": AGE}, "column 'AGE': another variable of the script for spss has this name"),
        (Target.SAS, {"x": {"values": ["a", "a "]}}, "value 'a ': a script of sas cannot hold this text"),
        (Target.STATA, {"x": {"values": ["a", "$b"]}}, "a script of stata cannot hold this text"),
        (Target.ONNX, {"skipped": AGE}, "column 'skipped': the graph has an output of this name"),
    ],
)
def test_names_and_texts_that_a_language_has_not_are_refused(
    target: Target, document: dict[str, object], said: str, tmp_path: Path
) -> None:
    if target is Target.ONNX:
        pytest.importorskip("onnx", reason="onnx is not installed")
    domain = declared(document)
    parameters = [
        normal_of(each.name, [1, 2], [11, 12])
        if each in domain.numeric
        else table_of(each.name, [0.5, 0.5], [0.4, 0.6])
        for each in domain.attributes
    ]
    model = model_of(domain, parameters)
    with pytest.raises(UsageError, match=re.escape(said)):
        write_export(model, tmp_path / f"x{SUFFIXES[target]}", target)
    assert list(tmp_path.iterdir()) == []
    write_export(model, tmp_path / "x.R", Target.R)


def test_the_files_of_a_model_without_a_guarantee_are_their_owners_and_say_so(tmp_path: Path) -> None:
    write_export(MIXED, tmp_path / "x.R", Target.R)
    assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.iterdir())
    assert (tmp_path / "x.R").read_text().startswith("# CONFIDENTIAL: computed from the rows without noise")


DOCUMENT = Path(__file__).parents[2] / "docs" / "exports.md"
PROBABILITY = "probability_high"


@pytest.fixture
def scored(folder: Path, program: None, run: Run) -> pl.DataFrame:
    """What ``predict`` says of the rows that the page names, after all commands of the page."""
    rows = people(1000).with_row_index("serial").cast({"serial": pl.Int32})
    rows.write_csv("census.csv")
    rows.write_parquet("census.parquet")
    Path("datasets.toml").write_text(DECLARATION.replace("people", "census"))
    run("train", "census.parquet", "--dataset", "census", "--output", "census.model.json")
    run("predict", "census.model.json", "census.parquet", "--output", "scored.parquet")
    shell(without_onnx("".join(blocks("sh", DOCUMENT.read_text()))))
    return pl.read_parquet("scored.parquet")


def without_onnx(commands: str) -> str:
    try:
        import onnx  # noqa: F401
    except ImportError:
        return "\n".join(line for line in commands.splitlines() if "--to onnx" not in line)
    return commands


def test_every_command_of_the_page_runs(scored: pl.DataFrame) -> None:
    commands = "".join(blocks("sh", DOCUMENT.read_text()))
    assert len(re.findall("^dpnb-columnar export", commands, re.MULTILINE)) == 5
    assert Path("census.R.terms.csv").is_file()


def test_the_function_of_r_scores_a_csv_file(scored: pl.DataFrame) -> None:
    if not exported.available("Rscript"):
        pytest.skip("R is not installed")
    (script,) = blocks("R", DOCUMENT.read_text())
    subprocess.run(["Rscript", "--vanilla", "-e", script], check=True)
    found = pl.read_csv("scored.csv")
    assert found.columns[-4:] == ["predicted", "probability_low", PROBABILITY, "skipped"]
    assert found["predicted"].equals(scored["predicted"])
    assert (found[PROBABILITY] - scored[PROBABILITY]).abs().max() <= exported.EXACT  # type: ignore[operator]


def test_the_syntax_scores_a_csv_file_in_pspp(scored: pl.DataFrame) -> None:
    if not exported.available("pspp"):
        pytest.skip("PSPP is not installed")
    syntax = blocks("text", DOCUMENT.read_text())[0]
    Path("run.sps").write_text(
        f"{syntax}SAVE TRANSLATE /OUTFILE='scored.csv' /TYPE=CSV /FIELDNAMES /CELLS=VALUES /REPLACE.\n"
    )
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    subprocess.run(["pspp", "-O", "format=txt", "-o", "log.txt", "run.sps"], env=environment, check=True)
    assert Path("scored.sav").is_file()
    found = pl.read_csv("scored.csv")
    assert found["nb_predicted"].equals(scored["predicted"].alias("nb_predicted"))
    assert (found["nb_probability_2"] - scored[PROBABILITY]).abs().max() <= exported.EXACT  # type: ignore[operator]


def test_the_graph_scores_a_parquet_file_in_onnxruntime(scored: pl.DataFrame) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    (script,) = blocks("python", DOCUMENT.read_text())
    script += "pl.DataFrame({'found': probabilities[:, 1], 'class': predicted}).write_parquet('found.parquet')\n"
    ended = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert "1-differentially private for one row" in ended.stdout
    found = pl.read_parquet("found.parquet")
    assert found["class"].equals(scored["predicted"].alias("class"))
    assert (found["found"] - scored[PROBABILITY]).abs().max() <= exported.EXACT  # type: ignore[operator]
