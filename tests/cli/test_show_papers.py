"""``dpnb-columnar show`` for others: the release sheet, the record of a release, registry entries, model cards."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import stat
import tomllib
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from support.golden_model import golden_model
from support.hostile_names import MARKUP, REVERSED, TEMPLATE, write_hostile_rows
from support.mechanisms import MECHANISMS
from support.people import PEOPLE, people, write_people
from support.release_records import RECORD, write_audit, write_record
from support.released_models import MODELS
from support.report_pages import check_structure
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar import errors
from dpnb_columnar.api import load_model
from dpnb_columnar.domain.declared_domain import digest
from dpnb_columnar.domain.names import number_text
from dpnb_columnar.model.guarantee_text import SCOPE
from dpnb_columnar.model.probability_intervals import prior_intervals
from dpnb_columnar.papers.release_papers import WORDS
from dpnb_columnar.papers.release_sheet import PUBLISHED_CHOICES, write_release_sheet


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
    shown = run("show", "people.model.json").out
    assert ("NO GUARANTEE" in shown) == (mechanism == "none")
    assert mechanism in shown
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


@pytest.fixture
def model(people_file: Path, run: Run) -> Path:
    """A model that a ledger paid for."""
    run("ledger", "init", "people.ledger", "--dataset", "people", "--epsilon", 3)
    run("train", people_file, "--mechanism", "histogram", "--epsilon", 1, "--ledger", "people.ledger")
    return Path("people.model.json")


@pytest.fixture
def scores(model: Path, run: Run) -> Path:
    """Its scores, that the same ledger paid for."""
    write_people(Path("rest.parquet"), people(400, seed=2))
    run("evaluate", model, "rest.parquet", "--epsilon", 1, "--ledger", "people.ledger", "--output", "scores.json")
    return Path("scores.json")


def printed(run: Run, model: Path, *options: object) -> str:
    """The text of a sheet, whose structure is sound, with a blank between any two elements."""
    root, _ = sheet(run, model, *options)
    check_structure(root)
    return " ".join(" ".join(next(root.iter("body")).itertext()).split())


def test_the_sheet_prints_what_the_record_states(model: Path, run: Run) -> None:
    write_record()
    text = printed(run, model, "--record", "release.toml")
    for stated in (
        "Release sheet: Income of townspeople",
        "author Household Surveys date 2026-11-24 published on 2026-12-01 contact surveys@example.org",
        "Disclosure officer A. Officer 2026-11-30",
        "Head of division",
        "purpose To plan a survey. Nothing else. not meant for Decisions on one person.",
        "curators Statistics Office",
        "why it was chosen so The office's usual epsilon.",
        "one release, or many Many releases whether new rows come in Dynamic further releases One a year.",
        "output check: Passed.",
        "Few rows of the young.",
    ):
        assert stated in text
    assert "leaves open" not in text


def test_what_no_record_states_is_listed_and_never_guessed(model: Path, run: Run) -> None:
    text = printed(run, model)
    assert f"The record of the release leaves open: {'; '.join(WORDS.values())}." in text
    assert "Why it was chosen so is not stated." in text
    assert "The record of the release states" not in text
    assert "What was tested" not in text
    write_record(text='region = "A town"\n')
    assert "; region;" not in printed(run, model, "--record", "release.toml")


def test_what_was_chosen_stands_beside_what_others_published(model: Path, run: Run) -> None:
    text = printed(run, model)
    assert "strength epsilon 1 protected as a whole one row" in text
    assert "this release people one row epsilon 1 this model" in text
    for choice in PUBLISHED_CHOICES:
        assert " ".join(choice) in text
    assert "a noisy count of each class, category and bin" in text
    assert "Why a count of 1 may stand here No count on this page is exact." in text


def test_words_of_the_office_explain_those_of_the_code(people_file: Path, run: Run) -> None:
    run("train", people_file, "--epsilon", 2, "--mechanism", "smooth", "--noise", "arsinh-normal", "--delta", "1e-9")
    text = printed(run, Path("people.model.json"))
    assert "arsinh-normal noise that is drawn from the inverse hyperbolic sine of a normal variable" in text
    assert "rho another measure of the same" in text
    assert "delta a probability with which the promise of epsilon may fail; 0 where none is stated." in text
    run("train", people_file, "--mechanism", "none", "--overwrite")
    text = printed(run, Path("people.model.json"))
    assert "It may not. Counts on this page are exact" in text
    assert "strength none: the mechanism protects nobody released exact counts" in text
    assert "signature" not in text
    assert "unit of protection" not in text


def test_released_scores_of_the_same_ledger(model: Path, scores: Path, run: Run) -> None:
    text = printed(run, model, "--scores", scores, "--ledger", "people.ledger")
    figures = json.loads(scores.read_text())["figures"]
    accuracy = figures["accuracy"]
    low, high = accuracy["interval"]
    assert f"accuracy {accuracy['value']:.4f} ({low:.4f} to {high:.4f})" in text
    assert "They cost epsilon 1 of the budget of the rows that were scored; the ledger has them among" in text
    assert "is not stated: neither file tells" in text
    write_record()
    assert "how the scored rows were held out: split --by household" in printed(
        run, model, "--scores", scores, "--record", "release.toml"
    )


def test_figures_of_groups_stand_on_the_sheet_and_in_the_card(model: Path, run: Run) -> None:
    write_people(Path("rest.parquet"), people(4000, seed=2))
    run("evaluate", model, "rest.parquet", "--epsilon", 1, "--by", "sex", "--output", "groups.json")
    (division,) = json.loads(Path("groups.json").read_text())["figures"]["groups"]
    accuracy = division["groups"][0]["accuracy"]
    low, high = accuracy["interval"]
    stated = f"{accuracy['value']:.4f} ({low:.4f} to {high:.4f})"
    text = printed(run, model, "--scores", "groups.json")
    assert re.search(
        f"Accuracy, by sex sex rows accuracy less all rows largest class f [\\d,]+ {re.escape(stated)}", text
    )
    assert "By sex, the accuracy" in text
    card = run("show", model, "--card", "--scores", "groups.json").out
    assert re.search(rf"\| f \| [\d,]+ \| {re.escape(stated)} \|", card)
    assert "### Factors\n\nsex\n" in card


@pytest.mark.parametrize(
    ("by", "said"), [((), "No row is both"), (("--by", "household"), "No unit of household is both")]
)
def test_the_ledger_knows_what_split_kept_apart(by: tuple[str, ...], said: str, folder: Path, run: Run) -> None:
    rows = people(600).with_row_index("household").with_columns(pl.col("household") // 3)
    write_people(Path("people.parquet"), rows)
    run("ledger", "init", "people.ledger", "--dataset", "people", "--epsilon", 9)
    run("split", "people.parquet", *by)
    score = ("--epsilon", 1, "--ledger", "people.ledger", "--output")
    run("train", "people.train.parquet", "--mechanism", "histogram", *score, "m.json")
    run("evaluate", "m.json", "people.test.parquet", *score, "held.json")
    run("evaluate", "m.json", "people.train.parquet", *score, "same.json")
    run("evaluate", "m.json", "people.train.parquet", "people.test.parquet", *score, "both.json")
    run("split", "people.test.parquet", *by, "--seed", 3)
    run("evaluate", "m.json", "people.test.train.parquet", *score, "again.json")
    for scores, known in (("held", True), ("same", False), ("both", False), ("again", True)):
        text = printed(run, Path("m.json"), "--scores", f"{scores}.json", "--ledger", "people.ledger")
        assert (said in text) == known
        assert ("is not stated: neither file tells" in text) != known
    # No ledger, no fact.
    assert said not in printed(run, Path("m.json"), "--scores", "held.json")


def test_parts_of_different_splits_are_not_said_to_be_apart(folder: Path, run: Run) -> None:
    write_people(Path("people.parquet"), people(600))
    run("ledger", "init", "people.ledger", "--dataset", "people", "--epsilon", 9)
    run("split", "people.parquet")
    run("split", "people.parquet", "--seed", 5, "--test-output", "other.parquet", "--train-output", "rest.parquet")
    score = ("--epsilon", 1, "--ledger", "people.ledger", "--output")
    run("train", "people.train.parquet", "--mechanism", "histogram", *score, "m.json")
    run("evaluate", "m.json", "other.parquet", *score, "other.json")
    assert "is both" not in printed(run, Path("m.json"), "--scores", "other.json", "--ledger", "people.ledger")


def test_what_the_domain_holds_of_the_rows_is_not_called_open(folder: Path, run: Run) -> None:
    provenance = {"name": "Town survey", "place": "A town", "period": "2025", "citation": "Town 2025"}
    write_people(Path("people.parquet"), document={**PEOPLE, "universe": "age >= 16", "provenance": provenance})
    run("train", "people.parquet", "--mechanism", "histogram")
    text = printed(run, Path("people.model.json"))
    assert "to be cited Town 2025" in text
    assert not {"region", "period", "source", "citation", "what the rows are"} & {
        *text.split("leaves open: ")[1].split("; ")
    }
    assert "**region:** A town" in run("show", "people.model.json", "--card").out


def test_the_sheet_of_python_is_that_of_the_command_line(model: Path, scores: Path, run: Run) -> None:
    write_record()
    papers = {"record": "release.toml", "ledger": "people.ledger", "scores": scores, "audit": write_audit()}
    run("show", model, "--html", "a.html", *(word for key, path in papers.items() for word in (f"--{key}", path)))
    loaded = dpnb.load_model(model)
    page = loaded.sheet("b.html", **papers)
    assert page == Path("a.html").read_text() == Path("b.html").read_text()
    assert page == loaded.sheet(**{**papers, "scores": dpnb.load_scores(scores), "record": tomllib.loads(RECORD)})
    shown = page._repr_html_()  # type: ignore[attr-defined]
    ElementTree.fromstring(shown)
    assert unescape(shown.split('"')[3]) == page
    with pytest.raises(errors.OutputError):
        loaded.sheet("b.html")
    with pytest.raises(errors.ConfigurationError, match=r"release.titel: unknown key; did you mean title\?"):
        loaded.sheet(record={"titel": "x"})
    with pytest.raises(errors.DataError, match="scores: scores of another model"):
        dpnb.train("people.parquet", epsilon=1).sheet(scores=dpnb.load_scores(scores))


def test_scores_of_another_model_or_another_ledger_are_refused(model: Path, scores: Path, run: Run) -> None:
    run("train", "people.parquet", "--mechanism", "histogram", "--output", "other.json")
    refused = run("show", "other.json", "--html", "a.html", "--scores", scores, expected=65).err
    assert "scores.json: scores of another model" in refused
    run("evaluate", model, "rest.parquet", "--epsilon", 1, "--output", "unpaid.json")
    refused = run(
        *("show", model, "--html", "a.html", "--scores", "unpaid.json", "--ledger", "people.ledger"), expected=65
    ).err
    assert "unpaid.json: not among the releases of data set people in people.ledger" in refused
    run("evaluate", model, "rest.parquet", "--epsilon", 1, "--seed", 1, "--output", "seeded.json")
    refused = run("show", model, "--card", "--scores", "seeded.json", expected=65).err
    assert "seeded.json: scores without a guarantee" in refused
    assert "not valid scores" in run("show", model, "--card", "--scores", model, expected=65).err
    assert not Path("a.html").exists()


def test_an_audit_is_told_and_nothing_else_is_taken_for_one(model: Path, run: Run) -> None:
    text = printed(run, model, "--audit", write_audit())
    assert "version 0.1.0, attacked releases of synthetic rows" in text
    assert "Every check held, with confidence 99.9 %." in text
    assert "its own none one row add-remove 4 3.999 3.200 yes" in text
    assert "NOT every check held" in printed(run, model, "--audit", write_audit(holds=False))
    assert "not among what it attacked" in printed(run, model, "--audit", write_audit(configurations=[]))
    for odd in ({"format": "another report"}, {"version": 2}, {"configurations": [{}]}, {"software": {}}):
        write_audit(**odd)
        assert (
            "not the public report of an audit"
            in run("show", model, "--html", "a.html", "--audit", "audit.json", expected=65).err
        )
    run("show", model, "--html", "a.html", "--audit", "absent.json", expected=66)


def test_an_entry_of_the_registry(model: Path, scores: Path, run: Run) -> None:
    write_record()
    options = ("--registry", "--record", "release.toml", "--scores", scores)
    printed = run("show", model, *options).out
    entry = json.loads(printed)
    assert entry["url_slug"] == "income-of-townspeople-statistics-office-2026"
    deployment = entry["deployment"]
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
    assert deployment["dp_variant"]["variant_name"] == "Pure DP"
    assert deployment["deployment_model"]["release_type"] == "Many releases"
    assert deployment["administrative"] == {"status": "Draft", "registry_authors": ["B. Writer"], "tier": 3}
    assert "accuracy: " in deployment["implementation"]["utility"]
    run("show", model, *options, "--output", "entry.json")
    assert Path("entry.json").read_text() == printed
    run("show", model, *options, "--output", "entry.json", expected=73)
    run("show", model, *options, "--output", "release.toml", "--overwrite", expected=73)


def test_an_entry_needs_what_the_registry_demands(model: Path, run: Run) -> None:
    refused = run("show", model, "--registry", expected=78).err
    assert "no record: leaves open what an entry of the registry must state: purpose, region, published, " in refused
    write_record(text=RECORD.replace('kind = "Government"', ""))
    refused = run("show", model, "--registry", "--record", "release.toml", expected=78).err
    assert "release.toml: leaves open what an entry of the registry must state: curators.1.kind; " in refused
    run("train", "people.parquet", "--mechanism", "none", "--output", "exact.json")
    write_record()
    assert (
        "carries no guarantee" in run("show", "exact.json", "--registry", "--record", "release.toml", expected=64).err
    )


def test_a_model_card(model: Path, scores: Path, run: Run) -> None:
    bare = run("show", model, "--card").out
    assert bare.startswith("# Model card: people\n\nA naive Bayes classifier that predicts income: 'low', 'high'.\n")
    assert "### Direct Use\n\nNot stated." in bare
    assert "## Evaluation\n\nNot stated." in bare
    write_record()
    write_audit()
    run(
        *("show", model, "--card", "--record", "release.toml", "--scores", scores, "--audit", "audit.json"),
        *("--output", "card.md"),
    )
    card = Path("card.md").read_text()
    assert "### Direct Use\n\nTo plan a survey.\n\nNothing else.\n" in card
    assert "\n| accuracy | 0." in card
    assert "every check held" in card
    assert "## Not Stated" not in card
    headings = [line for line in bare.splitlines() if line.startswith("## ")]
    assert headings[:-1] == [line for line in card.splitlines() if line.startswith("## ")]
    run("train", "people.parquet", "--mechanism", "none", "--output", "exact.json")
    ended = run("show", "exact.json", "--card", "--output", "exact.md")
    assert "**Do not publish.**" in Path("exact.md").read_text()
    assert "NO GUARANTEE" in ended.err
    assert stat.S_IMODE(Path("exact.md").stat().st_mode) == 0o600


def test_words_of_a_record_are_texts_on_the_sheet_and_in_the_card(model: Path, run: Run) -> None:
    write_record(text=f"title = '{MARKUP}'\npurpose = '| {MARKUP} |'\n")
    text = printed(run, model, "--record", "release.toml")
    assert MARKUP in text
    card = run("show", model, "--card", "--record", "release.toml").out
    assert "<script" not in card.replace("\\<", "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('purpos = "x"', "release.purpos: unknown key; did you mean purpose?"),
        ("purpose = 3", "release.purpose: expected a text, found 3"),
        ('purpose = " "', "release.purpose: expected a text"),
        ('purpose = "a\\u0007"', "release.purpose: "),
        ('date = "tomorrow"', "release.date: expected a date such as 2026-11-24, found 'tomorrow'"),
        ("date = 2026-11-24T10:00:00", "release.date: expected a date"),
        ('sector = "Farming"', "release.sector: expected one of Technology, Healthcare"),
        ('curators = "me"', "release.curators: expected at most 100 tables under [[curators]]"),
        ('[[curators]]\nkind = "Industry"', "release.curators.1.name: missing"),
        ("[[approvals]]\nrole = 1\nwho = 2", "release.approvals.1.who: unknown key"),
        ("record_authors = [1.5]", "release.record_authors: expected text or a whole number"),
        ("= 3", "not a TOML file"),
    ],
)
def test_faults_of_a_record_are_named_with_their_key(text: str, problem: str, model_file: Path, run: Run) -> None:
    write_record(text=text)
    assert problem in run("show", model_file, "--html", "a.html", "--record", "release.toml", expected=78).err
