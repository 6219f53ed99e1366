"""A model's line: from the margin of a row's score to the odds of its classes, in every scorer and in files."""

from __future__ import annotations

import copy
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
from support.model_cases import declared, model_of, table_of
from support.scored_queries import compare, kinds_of

from dpnb_columnar.api import load_model
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.mechanisms.score_release import model_scores
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.errors import DataError
from dpnb_columnar.evaluation.score_values import EDGES
from dpnb_columnar.model.document import leaves, to_document, to_json
from dpnb_columnar.model.document_reader import read_document
from dpnb_columnar.model.likelihood import BELOW_BEST, class_terms, deciding_terms, margin_above, population_line
from dpnb_columnar.model.parameters import AttributeWeights, CalibrationLine, ClassCounts

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
    population = None if weighted is None else ClassCounts((0,) * len(priors), tuple(weighted))
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
        model = Model.of(read_document(document, "x"))
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
        ("calibrated", LINE, DELETED, "attribute_weights.line: is missing"),
        ("calibrated", LINE, [], r"attribute_weights.line.class: |attribute_weights.line: expected an object"),
        ("calibrated", (*LINE, "class"), "z", "attribute_weights.line.class: 'z' is not a class of the domain"),
        ("calibrated", (*LINE, "class"), "b", "attribute_weights.line.class: is not the largest, 'a'"),
        ("calibrated", (*LINE, "class"), DELETED, "attribute_weights.line.class: missing"),
        ("calibrated", (*LINE, "margins"), DELETED, "attribute_weights.line.margins: missing"),
        ("calibrated", (*LINE, "margins"), [1.0], "line.margins: expected 2 to 64 numbers, found 1"),
        ("calibrated", (*LINE, "margins"), [*map(float, range(65))], "expected 2 to 64 numbers, found 65"),
        ("calibrated", (*LINE, "margins", 1), -1e4, "line.margins: expected rising numbers, 1e-06 apart at least"),
        ("calibrated", (*LINE, "margins", 0), -2e5, r"line.margins: -200000.0 is not a possible value"),
        ("calibrated", (*LINE, "margins", 0), "1", "line.margins: '1' is not a possible value"),
        ("calibrated", (*LINE, "log_odds", 3), 49.0, "line.log_odds: expected rising numbers"),
        ("calibrated", (*LINE, "log_odds", 0), -50.5, "line.log_odds: -50.5 is not a possible value"),
        ("calibrated", (*LINE, "log_odds"), [0.0, 1.0], r"line.log_odds: expected a list of \d+"),
        ("calibrated", (*LINE, "others"), [0.0], "line.others: is stated for more than two classes, and only for them"),
        ("calibrated", (*LINE, "evidence"), 0.0, "line.evidence: is stated for more than two classes, and only for"),
        ("calibrated classes", (*LINE, "others"), DELETED, "attribute_weights.line.others: missing"),
        ("calibrated classes", (*LINE, "others"), [0.0], r"line.others: expected a list of \d+"),
        ("calibrated classes", (*LINE, "others", 0), 51.0, "line.others: 51.0 is not a possible value"),
        ("calibrated classes", (*LINE, "evidence"), 1.5, "line.evidence: 1.5 is not a possible value"),
        ("calibrated classes", (*LINE, "evidence"), -0.1, "line.evidence: -0.1 is not a possible value"),
        ("calibrated classes", (*LINE, "evidence"), DELETED, "attribute_weights.line.evidence: missing"),
        ("calibrated", ("attribute_weights", "weights", "age"), 0.5, "weights.age: says 0.5, and 1.0 is the weight"),
        ("calibrated", ("attribute_weights", "intercepts", 1), 0.5, "attribute_weights.intercepts: not 0"),
    ],
)  # fmt: skip
def test_a_line_with_a_fault_is_refused_by_its_place(
    name: str, place: tuple[str | int, ...], value: object, words: str, released: Any
) -> None:
    with pytest.raises(DataError, match=words):
        read_document(changed(place, value, released[name]), "x")


def test_a_line_belongs_to_calibrated_weights(released: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    document = to_document(released_case("tempered", 1, monkeypatch))
    line = copy.deepcopy(released["calibrated"]["attribute_weights"]["line"])
    with pytest.raises(DataError, match=r"attribute_weights\.line: does not suit tempered weights of this model"):
        read_document(edited(document, LINE, line), "x")


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
