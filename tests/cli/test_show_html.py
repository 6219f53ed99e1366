"""``dpnb-columnar show --html``: the release sheet as a file, and what it says."""

from __future__ import annotations

import hashlib
import re
import shlex
import stat
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from support.golden_model import golden_model
from support.hostile_names import MARKUP, REVERSED, TEMPLATE, write_hostile_rows
from support.mechanisms import MECHANISMS
from support.people import people, write_people
from support.released_models import MODELS
from support.report_pages import check_structure
from support.running import Run

from dpnb_columnar.api import load_model
from dpnb_columnar.domain.declaration_document import digest
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.model.guarantee_text import SCOPE
from dpnb_columnar.model.probability_intervals import prior_intervals
from dpnb_columnar.papers.release_sheet import write_release_sheet


def sheet(run: Run, model: object, *options: object) -> tuple[ElementTree.Element, str]:
    """The sheet of a model: its elements, and its text with single blanks."""
    run("show", model, "--html", "sheet.html", "--overwrite", *options)
    root = ElementTree.fromstring(Path("sheet.html").read_text(encoding="utf-8"))
    body = root.find("body")
    assert body is not None
    return root, " ".join("".join(body.itertext()).split())


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_mechanism_has_a_sheet(mechanism: str, people_file: Path, run: Run) -> None:
    run("train", people_file, "--mechanism", mechanism, "--epsilon", "0.3")
    root, text = sheet(run, "people.model.json")
    assert "The model predicts income: 'low', 'high'." in text
    assert ("Do not publish" in text) == (mechanism == "none")
    assert ("The shares add up to epsilon 0.3, exactly." in text) == (mechanism != "none")
    assert ("five times the epsilon, 1.5." in text) == (mechanism != "none")
    assert ("rows of each class, and of each class and value of 3 attributes" in text) == (mechanism != "none")
    assert (" ".join(SCOPE) in text) == (mechanism != "none")
    check_structure(root)


@pytest.mark.parametrize("weight", [(), ("--weight", "w", "--weight-cap", "9")], ids=["rows", "weights"])
def test_the_prior_has_its_error(weight: tuple[str, ...], folder: Path, run: Run) -> None:
    """Of the sums of weights, where the score has these; the noise of sums leaves less known."""
    rows = people(500).with_columns(w=pl.Series(range(500)) % 10)
    write_people(folder / "people.parquet", rows)
    run("train", "people.parquet", "--epsilon", "1", *weight, "--output", "model.json")
    model = load_model(Path("model.json"))
    _, text = sheet(run, "model.json")
    for prior, ends in zip(model.priors, prior_intervals(model), strict=True):
        assert ends is not None
        assert ends[0] < prior < ends[1]
        assert f"{ends[0]:.4f} to {ends[1]:.4f}" in text


@pytest.mark.parametrize("name", MODELS)
def test_released_models_of_every_kind(name: str, folder: Path, run: Run) -> None:
    """Logarithmic scales, missing values as a category, replaced rows and seeds among them."""
    MODELS[name].save("model.json")
    text = sheet(run, "model.json")[1]
    assert ("Do not publish" in text) == (not MODELS[name].guarantee.private)
    if name == "replace-one":
        assert "had that row said something else" in text


@pytest.mark.usefixtures("invented_models")
def test_digests_weights_and_the_public_file(folder: Path, run: Run) -> None:
    golden_model().save("model.json")
    text = sheet(run, "model.json")[1]
    assert hashlib.sha256(Path("model.json").read_bytes()).hexdigest() in text
    assert digest(load_model(Path("model.json")).domain) in text
    assert "weights learned from public-use sample" in text
    assert "declared public by the curator" in text


def test_the_noise_of_counts_is_that_of_their_share(people_file: Path, run: Run) -> None:
    """Of Laplace noise with scale 1/epsilon, 95 % lies within ln(20)/epsilon. Noise that follows the rows has none."""
    run("train", people_file, "--mechanism", "smooth", "--epsilon", "0.3", "--attribute-weights", "none")
    text = sheet(run, "people.model.json")[1]
    share = next(s for s in load_model(Path("people.model.json")).guarantee.composition if s.query == "counts")
    bound = 2.995732 / float(share.row_cost.epsilon)  # type: ignore[union-attr]
    assert f"laplace, in 95 % of all draws less than {bound:.3g} rows" in text
    assert "(polyplace) follows the sensitivity of the rows themselves. Its size is confidential" in text


def test_names_are_texts_and_nothing_points_outside(folder: Path, run: Run) -> None:
    run("train", write_hostile_rows(folder), "--dataset", "town", "--mechanism", "histogram")
    root, text = sheet(run, "town.model.json")
    assert MARKUP in text
    assert TEMPLATE in text
    assert REVERSED.replace("\u202e", "\\u202e").replace("\u202c", "\\u202c") in text
    page = Path("sheet.html").read_text(encoding="utf-8")
    assert "default-src 'none'; style-src" in page
    assert "\u202e" not in page
    for part in root.iter():
        assert part.tag not in {"script", "link", "iframe", "img", "image", "object", "base"}
        assert "src" not in part.attrib
        assert part.get("href", "#").startswith("#")
    assert not re.findall(r"url\(|@import|https?:|//[a-z]", page)
    shown = load_model(Path("town.model.json"))._repr_html_()
    assert "<script" not in shown
    assert len(shown) < 2000
    ElementTree.fromstring(shown)


def test_the_ledger_says_what_is_left(people_file: Path, run: Run) -> None:
    run("ledger", "init", "people.ledger", "--dataset", "people", "--epsilon", "2", "--bind", people_file)
    run("train", people_file, "--epsilon", "0.5", "--ledger", "people.ledger")
    text = sheet(run, "people.model.json", "--ledger", "people.ledger")[1]
    assert "amounts are for one row added or removed all releases may cost epsilon 2 they have cost epsilon 0.5" in text
    assert "one more may cost epsilon 1.5" in text
    assert "rho 0 " not in text
    assert "This model is one of these releases." in text
    run("train", people_file, "--output", "unpaid.model.json")
    unpaid = sheet(run, "unpaid.model.json", "--ledger", "people.ledger")[1]
    assert "Not charged. This model is not among the releases of the ledger" in unpaid
    run("ledger", "init", "other.ledger", "--dataset", "other", "--epsilon", "2")
    refused = run("show", "people.model.json", "--html", "b.html", "--ledger", "other.ledger", expected=78).err
    assert "people" in refused
    assert not Path("b.html").exists()


def test_what_it_says_about_scoring_works(people_file: Path, run: Run) -> None:
    run("train", people_file, "--output", "-my model.json")
    people_file.rename("rows.parquet")
    root, _ = sheet(run, "./-my model.json")
    predict, python, sql = ("".join(part.itertext()) for part in root.iter("pre"))
    for command in (predict, sql):
        program, *arguments = shlex.split(command)
        assert program == "dpnb-columnar"
        run(*arguments)
    scored: dict[str, Any] = {"rows": pl.read_parquet("rows.parquet")}
    exec(python, scored)
    assert_frame_equal(scored["scored"], pl.read_parquet("scored.parquet")[scored["scored"].columns])
    assert Path("score.sql").read_text().count("person") == 1


def test_a_share_that_waits_is_not_spent(folder: Path, run: Run) -> None:
    model = MODELS["smooth"]
    share = model.guarantee.composition[-1]
    guarantee = replace(model.guarantee, reserved=share)
    write_release_sheet(replace(model, guarantee=guarantee), "m.json", "0" * 64, Path("sheet.html"))
    text = " ".join(Path("sheet.html").read_text(encoding="utf-8").split())
    amount = number_text(share.cost.epsilon)  # type: ignore[union-attr]
    assert f"A share of epsilon {amount} is left for a second pass" in text


def test_the_file_is_public_unless_the_model_is_not(people_file: Path, run: Run) -> None:
    for options, mode in (((), 0o644), (("--seed", 1), 0o600)):
        run("train", people_file, "--overwrite", *options)
        sheet(run, "people.model.json")
        assert stat.S_IMODE(Path("sheet.html").stat().st_mode) == mode
