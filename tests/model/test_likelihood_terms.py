"""Terms of a score are weighted log-likelihoods by definition; a line makes odds of their sums, in every scorer."""

from __future__ import annotations

import copy
import csv
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from support.edited_documents import edited, released_case
from support.engines import DuckDB
from support.golden_model import DELETED, changed
from support.model_cases import declared, from_document, histogram_of, model_of, table_of
from support.people import PEOPLE, people_domain
from support.scored_queries import compare, kinds_of
from support.scored_rows import AGE

from dpnb_columnar.api import load_model
from dpnb_columnar.api.model import Model
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.domain import Numeric
from dpnb_columnar.domain.attributes import scale_codes
from dpnb_columnar.errors import DataError
from dpnb_columnar.evaluation.evaluation import EDGES
from dpnb_columnar.extensions.exports.exports import Target, blocks, write_export
from dpnb_columnar.model.document import leaves, to_document, to_json
from dpnb_columnar.model.likelihood import (
    BELOW_BEST,
    bin_starts,
    cell_terms,
    class_terms,
    deciding_terms,
    margin_above,
    missing_terms,
    normal_terms,
    population_line,
    reference_class,
)
from dpnb_columnar.model.parameters import AttributeWeights, CalibrationLine, Histogram, Normal, Presence, Priors
from dpnb_columnar.model.scoring import probability_column
from dpnb_columnar.releases.score_plan import model_scores

AGES = people_domain()["age"]
assert isinstance(AGES, Numeric)
VALUES = np.array([0.0, 1.0, 30.0, 49.5, 99.0, 100.0])
PRESENCE = Presence(((0.9, 0.1), (0.5, 0.5), (0.2, 0.8)))


def normal(deviations: tuple[float, ...], presence: Presence | None = None, bound: float | None = None) -> Normal:
    means = (20.0, 45.0, 80.0)
    return Normal("age", means, deviations, presence=presence, bound=bound)


def log_density(value: float, mean: float, deviation: float) -> float:
    """The truncated normal's, by its definition."""

    def below(end: float) -> float:
        return (1 + math.erf((end - mean) / deviation / math.sqrt(2))) / 2

    whole = deviation * math.sqrt(2 * math.pi) * (below(100) - below(0))
    return -(((value - mean) / deviation) ** 2) / 2 - math.log(whole)


@pytest.mark.parametrize("weight", [1.0, 0.3, -0.7])
@pytest.mark.parametrize("presence", [None, PRESENCE])
@pytest.mark.parametrize("deviations", [(12.0, 12.0, 12.0), (12.0, 30.0, 30.0), (5.0, 60.0, 7.0)])
def test_normal_terms_are_the_log_densities(
    deviations: tuple[float, ...], presence: Presence | None, weight: float
) -> None:
    """Where deviations are equal, and where they are not: in both, weighted, truncated and with the missing ones."""
    parameters = normal(deviations, presence)
    terms = np.array(normal_terms(AGES, parameters, weight).of(VALUES))
    present = [0.0] * 3 if presence is None else [math.log(each) for each, _ in presence.probability]
    expected = np.array(
        [
            [weight * (log_density(value, mean, deviation) + there) for value in VALUES]
            for mean, deviation, there in zip(parameters.mean, deviations, present, strict=True)
        ]
    )
    assert terms - terms[0] == pytest.approx(expected - expected[0], abs=1e-10, rel=1e-12)
    assert np.all(terms[reference_class(parameters, weight)] == 0)


@pytest.mark.parametrize("weight", [1.0, 0.3, -0.7])
def test_terms_are_relative_to_the_class_that_is_likeliest_far_away(weight: float) -> None:
    """That is the widest one, under a negative weight the narrowest: there rounding errors of the others are small."""
    assert reference_class(normal((5.0, 60.0, 7.0)), weight) == (1 if weight > 0 else 0)


@pytest.mark.parametrize("transform", ["identity", "log1p"])
def test_rows_are_scored_in_the_bins_that_they_are_counted_in(transform: str) -> None:
    """Every code of a grid: the number of starts that it reaches is its bin by the edges, which are of the scale."""
    wage = {"lower": 0, "upper": 3000, "step": 1, "transform": transform}
    attribute = people_domain({**PEOPLE, "attributes": {"wage": wage}})["wage"]
    assert isinstance(attribute, Numeric)
    last = attribute.scale.cells
    edges = [0, 1, last // 7, last // 3, last // 2, last, last + 1]
    codes = np.arange(attribute.cells + 1)
    scored = np.searchsorted(bin_starts(attribute, edges), codes, side="right")
    scaled = codes if transform == "identity" else scale_codes(attribute, codes)
    assert np.array_equal(scored, np.searchsorted(edges, scaled, side="right") - 1)


@pytest.mark.parametrize("weight", [1.0, 0.3, -0.7])
def test_terms_of_cells_and_of_none_are_weighted_logarithms(weight: float) -> None:
    probability = ((0.2, 0.8), (0.5, 0.5), (0.9, 0.1))
    histogram = Histogram("age", (0, 50, 101), probability, PRESENCE)
    terms = np.array(cell_terms(histogram, weight))
    missing = missing_terms(histogram, weight)
    assert missing is not None
    for place, (row, (present, absent)) in enumerate(zip(probability, PRESENCE.probability, strict=True)):
        for code, cell in enumerate(row):
            ratio = math.log(cell * present / (probability[0][code] * 0.9))
            assert terms[place, code] == pytest.approx(weight * ratio, abs=1e-12)
        assert missing[place] == pytest.approx(weight * math.log(absent / 0.1), abs=1e-12)
    assert missing_terms(replace(histogram, presence=None), weight) is None


# The table of terms that scripts of other languages read, without these languages.


def test_the_table_has_a_row_per_cell_and_class(tmp_path: Path) -> None:
    """By hand: a bin begins half a step below its first grid code; ln(3) is what "m" adds to the second class."""
    domain = declared({"hours": {**AGE, "missing_values": [-9]}, "sex": {"values": ["f", "m"], "missing": "skip"}})
    parameters = [
        histogram_of("hours", [0, 10, 101], [0.5, 0.5], [0.5, 0.5]),
        table_of("sex", [0.75, 0.25], [0.25, 0.75]),
    ]
    write_export(model_of(domain, parameters), tmp_path / "x.R", Target.R)
    head, *rows = csv.reader((tmp_path / "x.R.terms.csv").read_text().splitlines())
    assert head[:5] == ["attribute", "match", "value", "class", "term"]
    assert [row[3] for row in rows] == ["no", "yes", ""] * 8
    cells = [tuple(row[:3]) for row in rows[::3]]
    hours = [
        ("hours", "other", "number"),
        ("hours", "from", ""),
        ("hours", "from", "9.5"),
        ("hours", "missing", "-9.0"),
    ]
    assert cells == [("", "other", ""), *hours, ("sex", "other", "text"), ("sex", "text", "f"), ("sex", "text", "m")]
    assert float(rows[-2][4]) == pytest.approx(math.log(3))
    assert [row[4] for row in rows if row[3] == ""] == ["0.0", "1.0", "0.0", "0.0", "1.0", "1.0", "0.0", "0.0"]


def test_a_bin_begins_at_the_first_float_that_predict_puts_into_it() -> None:
    """A grid whose halves are no floats: the number below each edge is in the bin before."""
    domain = declared({"x": {"lower": "-7/10", "upper": 2, "step": "1/10"}})
    edges = list(range(0, domain.numeric[0].cells + 2))
    rows = [[0.5 ** (code + 1) for code in edges[:-1]], [1 / (len(edges) - 1)] * (len(edges) - 1)]
    model = model_of(domain, [histogram_of("x", edges, *[[each / sum(row) for each in row] for row in rows])])
    starts = [float(cell.value) for cell in list(blocks(model))[1][1] if cell.match == "from" and cell.value != ""]
    assert len(starts) == domain.numeric[0].cells
    values = [each for start in starts for each in (math.nextafter(start, -math.inf), start)]
    found = model.predict(pl.DataFrame({"x": values}).lazy()).collect()[probability_column("no")].to_list()
    assert found[:-1:2] == [found[0], *found[1:-2:2]]
    assert all(before > after for before, after in zip(found[::2], found[1::2], strict=True))


@pytest.mark.parametrize("target", [Target.R, Target.STATA, Target.SAS], ids=str)
def test_scripts_have_the_pattern_and_the_table_the_truths_that_predict_reads(target: Target, tmp_path: Path) -> None:
    domain = declared({"truth": {"values": ["true", "0"]}})
    script = tmp_path / "x"
    write_export(model_of(domain, [table_of("truth", [0.75, 0.25], [0.25, 0.75])]), script, target)
    assert "([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?0*[0-9]?[0-9])? *" in script.read_text()
    cells = [tuple(row[1:3]) for row in csv.reader((tmp_path / "x.terms.csv").read_text().splitlines())][4::3]
    assert sorted(cells[1:]) == [("number", "0.0"), ("text", "TRUE"), ("text", "True"), ("text", "true")]


# A model's line: from the margin of a row's score to the odds of its classes, in every scorer and in files.

GOLDEN = Path(__file__).parents[1] / "golden" / "model_with_line.json"

SIZE = 40
TELLING = [f"v{place}" for place in range(SIZE)]
"""Values of one attribute: the score of a row moves by a quarter of a nat from one to the next."""


def table_model(line: CalibrationLine, priors: list[float], *, weighted: list[float] | None = None) -> Model:
    """One attribute, whose values speak the louder for class 1, and against the last one, the later they come."""
    places = (np.arange(SIZE) - SIZE / 2) / 4
    rises = [-0.5, 0.5, *(-0.15 * place for place in range(1, len(priors) - 1))]
    rows = [np.exp(rise * places) / np.exp(rise * places).sum() for rise in rises]
    table = table_of("x", *(row.tolist() for row in rows))
    domain = declared({"x": {"values": TELLING}}, [f"c{place}" for place in range(len(priors))])
    weights = AttributeWeights("calibrated", (1.0,), (0.0,) * len(priors), line=line)
    population = None if weighted is None else Priors(tuple(weighted))
    return replace(model_of(domain, [table], priors), attribute_weights=weights, weighted_classes=population)


def scores_of(model: Model) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The linear scores of the rows that hold each value; shape (classes, values)."""
    (table,) = model.attributes
    return np.array(class_terms(model))[:, None] + np.log(np.array(table.probability))  # type: ignore[union-attr]


def probabilities(model: Model) -> np.ndarray[Any, np.dtype[np.float64]]:
    """What is predicted of the same rows; shape (classes, values)."""
    return model.predict(pl.DataFrame({"x": TELLING})).select(pl.col("^probability_.*$")).to_numpy().T


BENT = CalibrationLine(0, (-3.0, -0.5, 1.0, 2.5), (-4.0, -0.25, 0.5, 2.0))


@pytest.mark.parametrize("largest", [0, 1])
def test_two_classes_have_the_odds_of_the_line(largest: int) -> None:
    model = table_model(replace(BENT, largest=largest), [0.7, 0.3])
    scores, found = scores_of(model), probabilities(model)
    margin = scores[1 - largest] - scores[largest]
    assert margin.min() < -3 < 2.5 < margin.max()
    expected = np.interp(margin, BENT.margins, BENT.log_odds)
    np.testing.assert_allclose(np.log(found[1 - largest] / found[largest]), expected, atol=1e-12)


SEVERAL = CalibrationLine(2, (-4.0, 0.0, 4.0), (-3.0, -0.5, 3.0), (-2.5, 0.5, 1.0), 0.5)


def test_of_several_classes_the_others_share_what_the_line_gives_them() -> None:
    model = table_model(SEVERAL, [0.1, 0.2, 0.5, 0.15, 0.05])
    scores, found = scores_of(model), probabilities(model)
    limited = 0
    for place, (row, shares) in enumerate(zip(scores.T, found.T, strict=True)):
        best = max((klass for klass in range(5) if klass != 2), key=lambda klass: row[klass])
        margin = row[best] - row[2]
        odds = math.exp(np.interp(margin, SEVERAL.margins, SEVERAL.log_odds))
        assert shares[best] / shares[2] == pytest.approx(odds), place
        rest = [klass for klass in range(5) if klass not in (2, best)]
        pull = np.exp([0.5 * row[klass] + 0.5 * math.log(model.priors[klass]) for klass in rest])
        wanted = math.exp(np.interp(margin, SEVERAL.margins, SEVERAL.others)) * pull / pull.sum()
        limited += int((wanted > odds).any())
        assert shares[rest] / shares[2] == pytest.approx(np.minimum(wanted, BELOW_BEST * odds)), place
    assert 0 < limited < SIZE


def test_the_largest_or_the_best_other_class_is_predicted_by_one_margin() -> None:
    """No other, though the line gives others more than the best; a cap of equal weights would predict the first."""
    line = replace(SEVERAL, others=(20.0, 20.0, 20.0), evidence=0.0)
    model = table_model(line, [0.3, 0.1, 0.4, 0.15, 0.05])
    crossing = margin_above(line, 0.0)
    assert crossing == pytest.approx(4 * 0.5 / 3.5)
    predicted = model.predict(pl.DataFrame({"x": TELLING}))["predicted"]
    for row, name in zip(scores_of(model).T, predicted, strict=True):
        best = max((klass for klass in range(5) if klass != 2), key=lambda klass: row[klass])
        assert name == (f"c{best}" if row[best] - row[2] > crossing else "c2")
    assert predicted.n_unique() > 2


@pytest.mark.parametrize(
    ("log_odds", "margin"), [((-3.0, -1.0, -0.5), 1e5), ((0.5, 1.0, 3.0), -1e5), ((-1.0, 1.0, 3.0), -2.0)]
)
def test_a_line_on_one_side_of_zero_predicts_one_class(log_odds: tuple[float, ...], margin: float) -> None:
    line = CalibrationLine(0, (-4.0, 0.0, 4.0), log_odds)
    model = table_model(line, [0.7, 0.3])
    assert deciding_terms(model)[0] == pytest.approx(class_terms(model)[0] + margin)
    predicted = model.predict(pl.DataFrame({"x": TELLING}))["predicted"]
    assert set(predicted) == ({"c0"} if margin > 0 else {"c1"} if margin == -1e5 else {"c0", "c1"})


def test_weights_of_rows_move_the_odds_as_they_move_the_priors() -> None:
    """The line was fitted to unweighted rows: where it gives the shares of these, the population's come out."""
    flat = CalibrationLine(0, (-90.0, 90.0), (math.log(3 / 7) - 1e-9, math.log(3 / 7) + 1e-9))
    found = probabilities(table_model(flat, [0.7, 0.3], weighted=[0.4, 0.6]))
    np.testing.assert_allclose(found[1], 0.6, rtol=1e-8)
    level = math.log(0.3 / 0.5)
    several = CalibrationLine(2, (-90.0, 90.0), (level - 1e-9, level + 1e-9), (level, level), 0.0)
    model = table_model(several, [0.3, 0.2, 0.5], weighted=[0.2, 0.2, 0.6])
    line = population_line(model)
    assert line is not None
    moved = math.log(0.4 / 0.6) - math.log(0.5 / 0.5)
    assert line.others == pytest.approx([level + moved] * 2)
    assert line.log_odds == pytest.approx([level + moved] * 2)
    assert population_line(replace(model, weighted_classes=None)) == several


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_released_scores_are_of_the_predicted_class(classes: int, largest: int, weighted: bool) -> None:
    others = (-3.0, 0.0, 1.0, 2.0) if classes > 2 else ()
    line = replace(BENT, largest=largest, others=others, evidence=0.4 if others else 0.0)
    priors = [0.4, 0.3, 0.15, 0.1, 0.05][:classes]
    shares = [each / sum(priors) for each in priors]
    model = table_model(line, shares, weighted=shares[::-1] if weighted else None)
    rows = pl.DataFrame({"x": TELLING, "label": ["c0"] * SIZE})
    scored = model.predict(rows)
    scores = model_scores(model)
    counted = FrameInput(rows).check(model.domain).answer(scores).counts
    if classes > 2:
        expected = [int((scored["predicted"] == name).sum()) for name in model.domain.classes]
        assert counted[:, 0].tolist() == expected
        return
    # Where the line is flat it is an edge itself, which does not exceed it.
    odds = (scored["probability_c1"] / scored["probability_c0"]).log().round(9).to_numpy()
    assert counted.sum(axis=1)[: len(EDGES) + 1].tolist() == np.bincount(
        np.searchsorted(EDGES, odds), minlength=len(EDGES) + 1
    ).tolist()  # fmt: skip


@pytest.mark.parametrize("classes", [2, 5])
def test_a_query_scores_alike(classes: int, tmp_path: Path) -> None:
    """Every database is compared in tests/dialects."""
    line = SEVERAL if classes == 5 else BENT
    model = table_model(line, [0.1, 0.2, 0.5, 0.15, 0.05] if classes == 5 else [0.7, 0.3])
    table = pa.table({"x": [*TELLING, None, "a stranger"]})
    assert compare(DuckDB(tmp_path), model, table, kinds_of(table)) <= 1e-12


# Documents.


@pytest.fixture(scope="module")
def released() -> Any:
    """Documents of releases with a line, of two and of three classes."""
    with pytest.MonkeyPatch.context() as patch:
        return {name: to_document(released_case(name, 1, patch)) for name in ("calibrated", "calibrated classes")}


def test_a_release_has_a_line_in_every_form(released: Any, tmp_path: Path) -> None:
    for number, (name, document) in enumerate(released.items()):
        model = from_document(document, "x")
        line = document["attribute_weights"]["line"]
        assert list(line) == ["class", "margins", "log_odds", *(["others", "evidence"] if number else [])], name
        for path in (tmp_path / f"{number}.json", tmp_path / f"{number}.parquet"):
            model.save(path)
            assert load_model(path) == model
        points = [leaf for leaf in leaves(document) if leaf.parameter in ("margin", "log-odds", "log-odds of others")]
        assert len(points) == (2 + number) * len(line["margins"])
        assert {leaf.klass for leaf in points} == {line["class"]}


LINE = ("attribute_weights", "line")


@pytest.mark.parametrize(
    ("name", "place", "value", "words"),
    [
        ("calibrated", LINE, DELETED, "attribute_weights.line: says None, and .* follows from the measurements"),
        ("calibrated", LINE, [], r"attribute_weights.line.class: |attribute_weights.line: expected an object"),
        ("calibrated", (*LINE, "class"), "z", "attribute_weights.line.class: 'z' is not a class of the domain"),
        ("calibrated", (*LINE, "class"), "b", "attribute_weights.line.class: says 'b', and 'a' follows"),
        ("calibrated", (*LINE, "margins"), [1.0], "line.margins: expected 2 to 64 numbers, found 1"),
        ("calibrated", (*LINE, "margins", 1), -1e4, "line.margins: expected rising numbers, 1e-06 apart at least"),
        ("calibrated", (*LINE, "margins", 0), -2e5, r"line.margins: -200000.0 is not a possible value"),
        ("calibrated", (*LINE, "log_odds", 3), 49.0, "line.log_odds: expected rising numbers"),
        ("calibrated", (*LINE, "log_odds"), [0.0, 1.0], r"line.log_odds: expected a list of \d+"),
        ("calibrated", (*LINE, "others"), [0.0], "line.others: is stated for more than two classes, and only for them"),
        ("calibrated classes", (*LINE, "others"), [0.0], r"line.others: expected a list of \d+"),
        ("calibrated classes", (*LINE, "evidence"), 1.5, "line.evidence: 1.5 is not a possible value"),
        ("calibrated", ("attribute_weights", "weights", "age"), 0.5, "weights.age: says 0.5, and 1.0 follows"),
        ("calibrated", ("attribute_weights", "intercepts", 1), 0.5, "intercepts.1: says 0.5, and 0.0 follows"),
    ],
)  # fmt: skip
def test_a_line_with_a_fault_is_refused_by_its_place(
    name: str, place: tuple[str | int, ...], value: object, words: str, released: Any
) -> None:
    with pytest.raises(DataError, match=words):
        from_document(changed(place, value, released[name]), "x")


def test_a_line_belongs_to_calibrated_weights(released: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    document = to_document(released_case("tempered", 1, monkeypatch))
    line = copy.deepcopy(released["calibrated"]["attribute_weights"]["line"])
    with pytest.raises(DataError, match=r"attribute_weights\.line: says .*, and None follows from the measurements"):
        from_document(edited(document, LINE, line), "x")


@pytest.mark.usefixtures("invented_models")
def test_the_golden_model_is_read_as_it_was_written(tmp_path: Path) -> None:
    """``python tests/golden/write_model_with_line.py`` writes the file."""
    model = load_model(GOLDEN)
    assert to_json(to_document(model)) == GOLDEN.read_text(encoding="utf-8")
    weights = model.attribute_weights
    assert weights is not None
    assert weights.line == CalibrationLine(
        1, (-6.5, -1.25, 0.0, 2.5), (-4.125, -1.5, -0.5, 1.75), (-3.0, -2.5, -2.25, 0.125), 0.375
    )
    model.save(tmp_path / "x.parquet")
    assert load_model(tmp_path / "x.parquet") == model
    found = model.predict(pl.DataFrame({"job": ["clerk", "nurse", "farmer", None]}))
    assert found["predicted"].to_list() == ["mid", "mid", "low", "mid"]
