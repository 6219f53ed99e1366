"""Models exported to ONNX, R and SPSS, run there, beside what ``predict`` says; for Stata and SAS, the files."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from support.exported import EXACT, Case, Scored, available, cases, difference, golden_case, run_onnx, run_pspp, run_r
from support.model_cases import declared, histogram_of, model_of, normal_of, presence_of, table_of
from support.scored_rows import AGE, MIXED, MONEY

from dpnb_columnar.domain.column_kinds import Kind
from dpnb_columnar.errors import UsageError
from dpnb_columnar.model.export_targets import SUFFIXES, Target
from dpnb_columnar.model.exported_program import Naming, export, write_export
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.parameters import AttributeWeights, CalibrationLine

GOLDEN = Path(__file__).parents[1] / "golden"
MODELS = 300

pytestmark = pytest.mark.exports

Runner = Callable[[Path, Sequence[Case]], list[list[Scored]]]
RUNNERS: dict[Target, Runner] = {Target.ONNX: run_onnx, Target.R: run_r, Target.SPSS: run_pspp}


def runner(target: Target) -> Runner:
    """What runs a language; the test is skipped where it is not installed."""
    if target is Target.ONNX:
        pytest.importorskip("onnx", reason="onnx is not installed")
        pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    elif not available("Rscript" if target is Target.R else "pspp"):
        pytest.skip(f"{'R' if target is Target.R else 'PSPP'} is not installed")
    return RUNNERS[target]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("target", RUNNERS, ids=str)
def test_random_models_score_odd_rows_as_predict_does(target: Target, tmp_path: Path) -> None:
    """A probability may differ by more than 1e-12 where the rounding of floats moves it further: ``Case.allowed``."""
    run, tried = runner(target), cases(target, MODELS)
    assert len(tried) > 0.8 * MODELS
    for case, scored in zip(tried, run(tmp_path, tried), strict=True):
        worst = difference(case, scored)
        assert worst <= EXACT or worst <= case.allowed


def ordinary(model: Model = MIXED) -> Case:
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
    return Case(model, rows.sample(500, seed=1), [])


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
        assert difference(case, scored) <= EXACT


def test_onnx_uses_core_operators_alone_and_says_what_is_promised() -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    content = export(MIXED, Target.ONNX, Naming(renamed={"age": "years"}, prefix="p_"))
    assert isinstance(content, bytes)
    model = onnx.load_from_string(content)
    assert [(each.domain, each.version) for each in model.opset_import] == [("", 20)]
    properties = {each.key: each.value for each in model.metadata_props}
    assert "NO GUARANTEE" in properties["guarantee"]
    assert re.search("model [0-9a-f]{16},", properties["source"])
    assert [each.name for each in model.graph.input] == ["years", "money", "hours", "sex", "job"]
    assert [each.name for each in model.graph.output] == ["p_predicted", "p_scores", "p_probabilities", "p_skipped"]


@pytest.mark.parametrize("target", [Target.STATA, Target.SAS], ids=str)
def test_the_files_that_nobody_here_can_run_are_as_they_were_read(target: Target) -> None:
    """``tests/golden/write_exports.py`` writes them anew; whoever does so reads them."""
    written = str(export(golden_case(), target))
    golden = (GOLDEN / f"export{SUFFIXES[target]}").read_text(encoding="utf-8")
    assert written.splitlines()[1:] == golden.splitlines()[1:]  # but for the version


@pytest.mark.parametrize("target", [Target.STATA, Target.SAS, Target.SPSS], ids=str)
def test_no_line_is_longer_than_a_language_reads(target: Target) -> None:
    long = {"values": ["a" * 250, "é" * 200, "b"]}
    model = model_of(declared({"x": long}), [table_of("x", [0.5, 0.3, 0.2], [0.1, 0.2, 0.7])])
    for each in (model, four_classes_on_a_line()):
        written = export(each, target)
        assert isinstance(written, str)
        assert max(len(line.encode()) for line in written.splitlines()) < 256


@pytest.mark.parametrize(
    ("target", "document", "naming", "said"),
    [
        (Target.STATA, {"a b": AGE}, Naming(), "column 'a b' is no name of a variable in Stata"),
        (Target.SAS, {"a" * 33: AGE}, Naming(), "has more than the 32 bytes of a name in SAS"),
        (Target.SPSS, {"all": AGE}, Naming(), "is a word that SPSS, or this file, takes for itself"),
        (Target.SAS, {"age": AGE, "AGE": AGE}, Naming(), "columns 'age', 'AGE' are one there"),
        (Target.SPSS, {"nb_predicted": AGE}, Naming(), "has the name of a column; choose another prefix"),
        (Target.STATA, {"x": AGE}, Naming(prefix="1"), "is no name of a variable in Stata; choose another prefix"),
        (Target.ONNX, {"scores": AGE}, Naming(), "has the name of a column; choose another prefix"),
        (Target.R, {"x": AGE}, Naming(renamed={"z": "y"}), "rename: the model uses no column 'z'"),
        (Target.SAS, {"x": {"values": ["a", "a "]}}, Naming(), "category 'a ' ends in a blank"),
    ],
)
def test_names_and_texts_that_a_language_has_not_are_refused(
    target: Target, document: dict[str, object], naming: Naming, said: str
) -> None:
    domain = declared(document)
    parameters = [
        normal_of(each.name, [1, 2], [11, 12])
        if each in domain.numeric
        else table_of(each.name, [0.5, 0.5], [0.4, 0.6])
        for each in domain.attributes
    ]
    with pytest.raises(UsageError, match=re.escape(said)):
        export(model_of(domain, parameters), target, naming)
    remedy = Naming(prefix="p_", renamed={each.name: f"v{place}" for place, each in enumerate(domain.attributes)})
    if target not in (Target.ONNX, Target.SAS) or "blank" not in said:
        assert export(model_of(domain, parameters), Target.R if target is Target.ONNX else target, remedy)


def test_a_model_of_too_many_terms_is_for_onnx() -> None:
    values = {"values": [f"c{number}" for number in range(60_000)]}
    row = [1 / 60_000] * 60_000
    model = model_of(declared({"x": values}, ["a", "b", "c", "d"]), [table_of("x", row, row, row, row)])
    with pytest.raises(UsageError, match=r"240,000 terms.*to=\"onnx\""):
        export(model, Target.SPSS)


def test_a_column_is_read_as_texts_where_the_rows_hold_texts() -> None:
    assert "confirm numeric variable job" in str(export(MIXED, Target.STATA))
    assert "confirm string variable job" in str(export(MIXED, Target.STATA, kinds={"job": Kind.TEXT}))


def test_a_file_of_a_model_without_a_guarantee_is_its_owners_and_says_so(tmp_path: Path) -> None:
    write_export(MIXED, tmp_path / "x.R", Target.R)
    assert (tmp_path / "x.R").stat().st_mode & 0o077 == 0
    assert "# CONFIDENTIAL: computed from the rows without noise" in (tmp_path / "x.R").read_text()
