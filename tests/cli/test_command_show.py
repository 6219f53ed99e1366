"""``dpnb-columnar show``, also of a model of 40,000 categories."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest
from support.golden_model import golden_model
from support.mechanisms import SPREAD
from support.model_cases import drawn
from support.running import Run

from dpnb_columnar.api import load_model
from dpnb_columnar.model.parameters import Normal


def test_guarantee_in_words_and_as_a_table(people_file: Path, run: Run) -> None:
    run("train", people_file, "--mechanism", "smooth", "--epsilon", "0.3", "--neighbours", "replace-one")
    text = run("show", "people.model.json").out
    assert text.startswith(
        "people: predicts income: 'low', 'high'\n0.3-differentially private for one row changed, its class included"
    )
    assert "NO GUARANTEE" not in text
    assert "\n  sum of the shares: epsilon 0.3\n" in text
    for query in ("class counts", "mean          age", "variance      hours", "counts        sex"):
        assert f"\n  {query} " in text


@pytest.mark.parametrize("mechanism", ["smooth", "global", "global-variance", "trimmed-mean"])
def test_every_released_number_is_named_beside_the_parameter_made_of_it(
    mechanism: str, people_file: Path, run: Run
) -> None:
    run("train", people_file, "--mechanism", mechanism)
    model = load_model(Path("people.model.json"))
    text = run("show", "people.model.json", "--all").out
    lines = [" ".join(line.split()) for line in text.splitlines()]
    for position, klass in enumerate(("low", "high")):
        counted = f"{klass} count {model.class_counts[position]} "
        assert any(line.startswith(counted) and " probability " in line for line in lines)
        for attribute in model.attributes:
            if isinstance(attribute, Normal):
                for query, parameter in (("mean", "mean"), (SPREAD[mechanism], "deviation")):
                    released = drawn(model, query, attribute.attribute)[position]
                    statistic = "standard deviation" if query == "deviation" else query
                    named = f"{attribute.attribute} {klass} {statistic} {released:.10g} "
                    assert any(line.startswith(named) and f" {parameter} " in line for line in lines)
                    told = [line for line in lines if line.startswith(named) and " to " in line]
                    assert bool(told) is mechanism.startswith("global")
        for cell in ("f", "m"):
            assert any(line.startswith(f"sex {klass} {cell} count ") for line in lines)
    assert ("mean of squares: of the distances" in text) == (mechanism == "trimmed-mean")
    assert ("noise of mean of age, " in text) is not mechanism.startswith("global")


def test_json_has_the_intervals_where_all_is_asked_for(people_file: Path, run: Run) -> None:
    run("train", people_file, "--mechanism", "histogram", "--output", "m.json")
    plain, whole = (json.loads(run("show", "m.json", "--json", *more).out) for more in ((), ("--all",)))
    intervals = whole.pop("intervals")
    assert whole == plain
    assert {(each["parameter"], each["statistic"]) for each in intervals} == {("probability", "count")}
    first = intervals[0]
    low, high = first["released"]
    assert low < plain["measurements"][0]["values"][0][0] < high
    assert first["value"][0] < plain["classes"]["probability"][0] < first["value"][1]


@pytest.mark.usefixtures("invented_models")
def test_the_points_of_a_line_are_listed_and_what_it_predicts_is_said(folder: Path, run: Run) -> None:
    shutil.copy(Path(__file__).parents[1] / "golden" / "model_with_line.json", "model.json")
    lines = [" ".join(line.split()) for line in run("show", "model.json", "--all").out.splitlines()]
    assert lines[-16:-3] == [
        *(f"mid {place} margin {each}" for place, each in enumerate(("-6.5", "-1.25", "0", "2.5"), 1)),
        *(f"mid {place} log-odds {each}" for place, each in enumerate(("-4.125", "-1.5", "-0.5", "1.75"), 1)),
        *(f"mid {place} log-odds of others {each}" for place, each in enumerate(("-3", "-2.5", "-2.25", "0.125"), 1)),
        "mid evidence 0.375",
    ]
    assert lines[-2].startswith("attribute weights (calibrated): a class's score is the logarithm of its probability, ")
    assert lines[-1] == (
        "the odds of the best other class to mid follow a line through 4 points from the margin, by how much its score "
        "is the larger; it is predicted for rows of a margin up to 0.56"
    )
    run("show", "model.json", "--html", "sheet.html")
    assert "Of the probabilities, the odds of the best other class to mid follow" in Path("sheet.html").read_text()


@pytest.mark.usefixtures("invented_models")
def test_attribute_weights_stand_last_with_what_they_mean(folder: Path, run: Run) -> None:
    golden_model().save("model.json")
    lines = [" ".join(line.split()) for line in run("show", "model.json", "--all").out.splitlines()]
    assert lines[-11:-4] == [
        "yes intercept -1.5",
        *("age weight 0.5", "wage weight 1", "hours weight 0", 'job "x" weight 1.75', "pension weight -0.25"),
        "rent weight 0.125",
    ]
    assert lines[-2].startswith("attribute weights (public): a class's score is the logarithm of its probability, ")
    digest = "0123456789abcdef" * 4
    assert lines[-1] == (
        f"learned from public-use sample (SHA-256 {digest}, declared public by the curator); left out, since they tell "
        "nothing: sex"
    )


def test_the_attributes_that_tell_most_come_first_and_the_rest_is_asked_for(folder: Path, run: Run) -> None:
    """With epsilon 1000, from twelve columns of which only some have to do with the label."""
    numbers = range(4000)
    rows = pl.DataFrame(
        {
            "WAGE": [wage % 2000 for wage in numbers],
            "half": ["low" if wage % 2000 < 1000 else "high" for wage in numbers],
            "third": ["a" if wage % 2000 < 700 else "b" for wage in numbers],
            "YEARS": [wage % 2000 // 20 if wage % 3 else 50 for wage in numbers],
        }
        | {f"coin{place}": ["head" if wage >> place & 1 else "tail" for wage in numbers] for place in range(9)}
    )
    rows.write_parquet("town.parquet")
    texts = [f'[town.attributes.{name}]\nvalues = ["head", "tail"]\n' for name in rows.columns if "coin" in name]
    Path("datasets.toml").write_text(
        '[town]\n[town.label]\ncondition = "WAGE >= 1000"\nclasses = ["poor", "rich"]\n'
        '[town.attributes.half]\nvalues = ["low", "high"]\n[town.attributes.third]\nvalues = ["a", "b"]\n'
        "[town.attributes.YEARS]\nlower = 0\nupper = 99\nstep = 1\n" + "".join(texts)
    )
    options = ("--dataset", "town", "--epsilon", "1000", "--mechanism", "histogram", "--attribute-weights", "none")
    run("train", "town.parquet", *options)
    text = run("show", "town.model.json").out
    assert text.startswith("town: predicts whether WAGE >= 1000: rich, or else poor\n")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    place = next(number for number, line in enumerate(lines) if line.startswith("attribute bits speaks for poor"))
    ranked = lines[place + 2 : place + 12]
    # Half of the rows are low, all of them poor, and noise of a row or two leaves little room.
    assert re.fullmatch(r"half 1.000.* low \(1.9\d+ to 2.0\d+ times\) high \(1.9\d+ to 2.0\d+ times\)", ranked[0])
    assert {line.split()[0] for line in ranked[1:3]} == {"YEARS", "third"}
    assert [float(line.split()[1]) > 0.3 for line in ranked[:3]] == [True] * 3
    assert all(line.split()[1] == "0.000" or "within the noise" in line for line in ranked[3:])
    assert "no value speaks for the class beyond the noise" in text
    assert "and 2 more attributes: --all" in text
    whole = [" ".join(line.split()) for line in run("show", "town.model.json", "--all").out.splitlines()]
    assert "YEARS poor 98 to 99" in "\n".join(whole) or "YEARS poor 99 count" in "\n".join(whole)
    assert not any("more attributes" in line for line in whole)


def test_json_is_the_document_of_the_model(people_file: Path, run: Run) -> None:
    run("train", people_file, "--seed", 2, "--output", "model.json")
    run("train", people_file, "--seed", 2, "--output", "model.parquet")
    text = run("show", "model.json", "--json").out
    assert text == Path("model.json").read_text()
    assert run("show", "model.parquet", "--json").out == text
    assert json.loads(text)["domain"]["name"] == "people"


def test_tables_of_many_classes_fit_the_terminal(folder: Path, run: Run) -> None:
    classes = [f"class number {number}" for number in range(9)]
    numbers = range(900)
    rows = {"klass": [classes[n % 9] for n in numbers], "x": [n % 50 for n in numbers], "y": ["a", "b", "c"] * 300}
    pl.DataFrame(rows).write_parquet("town.parquet")
    entry = f"[town]\nlabel = {{ column = 'klass', classes = {classes} }}\n[town.attributes]\n"
    entry += "x = { lower = 0, upper = 49, step = 1 }\ny = { values = ['a', 'b', 'c'] }\n"
    Path("datasets.toml").write_text(entry, encoding="utf-8")
    run("train", "town.parquet", "--dataset", "town", "--epsilon", "5", "--seed", "1", "--output", "model.json")
    for arguments in (("show", "model.json"), ("evaluate", "model.json", "town.parquet")):
        lines = run(*arguments).out.splitlines()
        table = [line for line in lines if not line.startswith(("dpnb", "attribute weights", "prob"))]
        assert [line for line in table if line.startswith("  ") and len(line) > 100] == []
    shown = run("show", "model.json").out
    assert shown.count("speaks for class number") == 9
    assert shown.count("\n  attribute") >= 3


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
