"""``--attribute-weights`` at every door: train, release, plan, job files, Python, the estimator and the ledger."""

from __future__ import annotations

import hashlib
import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from support.people import DECLARATION, PEOPLE, people, people_domain, repeated_people, spoil_rows, write_people
from support.public_samples import COPIES, REPEATED, by, public_rows
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.api import load_model
from dpnb_columnar.api.model import Model
from dpnb_columnar.errors import UsageError
from dpnb_columnar.model.parameters import PublicSource

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from dpnb_columnar.sklearn import SmoothNaiveBayes

TARGET = Path("wide.model.json")
FLAGS = [f"flag {number}" for number in range(5)]
WIDE = {**PEOPLE, "attributes": PEOPLE["attributes"] | {name: {"values": ["f", "m"]} for name in FLAGS}}
"""Eight attributes: five repeat another one, as recodes do."""

FLAG_LINES = "".join(f'"{name}" = {{ values = ["f", "m"] }}\n' for name in FLAGS)
"""The declaration of these five."""

WEIGHT = 8**-0.25
TEMPERED = ("--mechanism", "histogram", "--attribute-weights", "tempered")


@pytest.fixture
def wide(folder: Path) -> Path:
    """A file of rows that carry their domain."""
    path = folder / "wide.parquet"
    rows = people(2000).with_columns(pl.col("sex").alias(name) for name in FLAGS)
    write_people(path, rows, WIDE)
    return path


def weights_of(model: Model) -> tuple[str, tuple[float, ...], tuple[float, ...]]:
    assert model.attribute_weights is not None
    return model.attribute_weights.method, model.weights, model.intercepts


EXPECTED = ("tempered", (WEIGHT,) * 8, (0.0, 0.0))


def test_train_and_release_weight_alike(wide: Path, run: Run) -> None:
    told = run("train", wide, *TEMPERED, "--seed", 1, "--output", TARGET).out
    assert "epsilon 1 (add-remove neighbours), mechanism histogram, attribute weights tempered, 9 queries" in told
    assert weights_of(load_model(TARGET)) == EXPECTED
    run("aggregate", wide, "--output", "wide.statistics.parquet")
    run("release", "wide.statistics.parquet", *TEMPERED, "--seed", 1, "--output", "released.parquet")
    assert load_model(Path("released.parquet")) == load_model(TARGET)


def test_plan_says_what_attributes_will_weigh(wide: Path, people_file: Path, run: Run) -> None:
    told = run("plan", wide, *TEMPERED, "--no-advice").out
    assert "mechanism histogram, attribute weights tempered\n" in told
    assert "each of 8 attributes weighs 0.595, since correlated ones say the same twice (8^(-1/4)): free\n" in told
    few = run("plan", people_file, *TEMPERED, "--no-advice").out
    assert "each of 3 attributes weighs 1, as in ordinary naive Bayes, since they are fewer than 8: free\n" in few
    assert "weighs" not in run("plan", wide, "--no-advice", "--attribute-weights", "none").out
    for options, method in ((TEMPERED, "tempered"), (("--attribute-weights", "none"), "none"), ((), "calibrated")):
        document = json.loads(run("plan", wide, *options, "--no-advice", "--json").out)
        assert document["attribute_weights"] == method


def test_auto_is_the_default_at_every_door_and_told(wide: Path, run: Run) -> None:
    """8 attributes and no declared number of rows: calibrated where the rows can be read twice, else tempered."""
    histogram = ("--mechanism", "histogram")
    told = run("plan", wide, *histogram, "--no-advice").out
    assert "mechanism histogram, attribute weights calibrated (auto)\n" in told
    assert "weights calibrated: chosen by auto for 8 attributes, no declared number of rows, and epsilon 1\n" in told
    rehearsed = run("train", wide, *histogram, "--dry-run", "--output", TARGET).out
    trained = run("train", wide, *histogram, "--output", TARGET).out
    for told in (rehearsed, trained):
        assert "mechanism histogram, attribute weights calibrated (auto), 10 queries" in told
    run("aggregate", wide, "--output", "wide.statistics.parquet")
    once = ("release", "wide.statistics.parquet", *histogram, "--output", "released.json")
    for told in (run(*once, "--dry-run").out, run(*once).out):
        assert "mechanism histogram, attribute weights tempered (auto), 9 queries" in told
        assert told.count("calibrated weights are left out, since they need the rows a second time; train from") == 1
    rows, chosen = pl.read_parquet(wide), {"epsilon": 1, "mechanism": "histogram"}
    domain = people_domain(WIDE)
    fitted = SmoothNaiveBayes(domain=domain, **chosen).fit(rows.drop("income"), rows["income"])
    methods = {
        "calibrated": [load_model(TARGET), dpnb.train(wide, **chosen), fitted.model_],
        "tempered": [load_model(Path("released.json")), dpnb.release(dpnb.aggregate(wide), **chosen)],
    }
    for method, models in methods.items():
        assert [weights_of(model)[0] for model in models] == [method] * len(models)
    plain = [dpnb.train(wide, rows=900, **chosen), dpnb.release(dpnb.aggregate(wide), rows=2999, **chosen)]
    assert [model.attribute_weights for model in plain] == [None, None]


def test_auto_depends_on_the_declared_rows_and_not_on_those_there_are(wide: Path, run: Run) -> None:
    Path("datasets.toml").write_text(DECLARATION.replace("[people]\n", "[people]\nrows = 900\n") + FLAG_LINES)
    told = run("plan", wide, "--no-advice").out
    assert "weights none: chosen by auto for 8 attributes, 900 rows declared by" in told
    run("train", wide, "--output", TARGET)
    assert load_model(TARGET).attribute_weights is None
    assert dpnb.train(wide, epsilon=1).attribute_weights is None
    told = run("train", wide, "--declared-rows", 1000, "--output", TARGET, "--overwrite").out
    assert "attribute weights calibrated (auto)" in told
    named = ("--mechanism", "smooth", "--attribute-weights", "none")
    refused = run("train", wide, "--declared-rows", 1000, *named, expected=64).err
    assert "only a rule for delta, --mechanism auto and --attribute-weights auto depend on them" in refused
    with pytest.raises(UsageError, match="only a rule for delta, mechanism auto and attribute_weights auto depend on"):
        dpnb.train(wide, epsilon=1, rows=1000, mechanism="smooth", attribute_weights="none")


pytest.importorskip("sklearn", reason="scikit-learn is not installed")

KEPT, LEFT_OUT = ("hours", *COPIES), ("age", "sex")


@pytest.fixture
def private(folder: Path) -> Path:
    return write_people(folder / "private.parquet", repeated_people(2000), REPEATED)


@pytest.fixture
def public(folder: Path) -> Path:
    return public_rows(folder / "sample.parquet")


def public_part(model: Model) -> tuple[object, ...]:
    """What a model has from the public file and the plan alone."""
    names = [each.attribute for each in model.attributes]
    return (
        model.attribute_weights,
        names,
        model.domain,
        [(each.query, each.attribute, each.cost) for each in shares(model)],
    )


def shares(model: Model) -> Any:
    return model.guarantee.composition


@pytest.mark.parametrize(
    "mechanism",
    ["histogram", *(pytest.param(name, marks=pytest.mark.slow) for name in ("adaptive-histogram", "smooth", "global"))],
)
def test_what_tells_nothing_is_not_released(mechanism: str, private: Path, public: Path, run: Run) -> None:
    told = run("train", private, *by(public, mechanism), "--seed", 1, "--output", TARGET).out
    sha256 = hashlib.sha256(public.read_bytes()).hexdigest()
    assert f"free, from people (SHA-256 {sha256}, declared public by the curator); left out, since they tell" in told
    model = load_model(TARGET)
    assert model.attribute_weights is not None
    assert (model.attribute_weights.method, model.attribute_weights.source) == (
        "public",
        PublicSource("people", sha256, LEFT_OUT),
    )
    assert tuple(each.attribute for each in model.attributes) == KEPT
    assert {each.attribute for each in shares(model)} == {None, *KEPT}
    assert sum((each.cost.epsilon for each in shares(model)), Fraction(0)) == 1
    assert model.intercepts[0] == 0
    # Copies of one attribute share the weight that it would have alone.
    assert all(0.1 < weight < 0.6 for weight in model.weights)
    assert "left out, since they tell nothing: age, sex" in run("show", TARGET).out
    run("train", private, *by(public, mechanism), "--seed", 1, "--output", "m.parquet")
    assert load_model(Path("m.parquet")) == model


@pytest.mark.slow
def test_train_and_release_agree(private: Path, public: Path, run: Run) -> None:
    run("train", private, *by(public), "--seed", 1, "--output", TARGET)
    run("aggregate", private, "--output", "s.parquet")
    run("release", "s.parquet", *by(public), "--seed", 1, "--output", "released.json")
    assert Path("released.json").read_bytes() == TARGET.read_bytes()
    with duckdb.connect("people.duckdb") as connection:
        connection.execute("CREATE TABLE people AS FROM read_parquet($1)", [str(private)])
    Path("count.sql").write_text(run("sql", "statistics", private, "--dialect", "duckdb", "--table", "people").out)
    for rows in (("--table", "people"), ("--query", "count.sql")):
        command = ("release", "people.duckdb", *rows, "--domain", private, *by(public), "--seed", 1)
        run(*command, "--output", "counted.json", "--overwrite")
        assert Path("counted.json").read_bytes() == TARGET.read_bytes()


@pytest.mark.slow
def test_an_attribute_that_decides_which_rows_count_is_read_and_not_released(folder: Path, run: Run) -> None:
    attributes = REPEATED["attributes"]
    document = {**REPEATED, "attributes": attributes | {"age": attributes["age"] | {"missing": "row"}}}
    private = write_people(folder / "private.parquet", repeated_people(2000), document)
    rows = repeated_people(2000).with_columns(pl.when(pl.col("hours") < 40).then(pl.col("age")))
    write_people(private, rows, document)
    public = public_rows(folder / "sample.parquet", document=document)
    run("train", private, *by(public), "--epsilon", 1000, "--seed", 1, "--output", TARGET)
    model = load_model(TARGET)
    assert tuple(each.attribute for each in model.attributes) == KEPT
    assert {each.attribute for each in shares(model)} == {None, *KEPT}
    assert [each.name for each in model.domain.attributes] == ["age", *KEPT]
    counted = rows.filter(pl.col("hours") < 40)["income"].value_counts()
    assert dict(counted.rows()) == dict(zip(model.domain.classes, model.class_counts, strict=True))
    evaluated = json.loads(run("evaluate", TARGET, private, "--public", public, "--json").out)
    assert evaluated["rows"] == evaluated["public"]["rows"] == sum(model.class_counts)
    run("aggregate", private, "--output", "s.parquet")
    run("release", "s.parquet", *by(public), "--epsilon", 1000, "--seed", 1, "--output", "released.json")
    assert Path("released.json").read_bytes() == TARGET.read_bytes()
    assert "age" not in model.to_sql("duckdb")


@pytest.mark.slow
def test_nothing_public_depends_on_the_confidential_rows(folder: Path, private: Path, public: Path, run: Run) -> None:
    """Plan, weights, released attributes and composition are those of any other rows of the domain."""
    other = write_people(folder / "other.parquet", repeated_people(50, seed=7).head(40), REPEATED)
    models = []
    for data in (private, other):
        run("train", data, *by(public), "--output", TARGET, "--overwrite")
        models.append(public_part(load_model(TARGET))[:3])
    assert models[0] == models[1]
    planned = json.loads(run("plan", private, *by(public), "--no-advice", "--json").out)
    rehearsed = run("train", private, *by(public), "--dry-run").out
    spoil_rows(private)
    assert json.loads(run("plan", private, *by(public), "--no-advice", "--json").out) == planned
    assert run("train", private, *by(public), "--dry-run").out == rehearsed
    assert planned["attribute_weights"] == "public"
    assert tuple(planned["public"]["left_out"]) == LEFT_OUT
    assert tuple(planned["public"]["weights"]) == KEPT
    assert {query["attribute"] for query in planned["queries"]} == {None, *KEPT}
    assert "weights and shares, free, from people (SHA-256 " in run("plan", private, *by(public), "--no-advice").out


def test_a_label_that_is_typed_goes_for_both(private: Path, public: Path, run: Run) -> None:
    run("train", private, *by(public), "--label", "hours > 30", "--output", TARGET)
    model = load_model(TARGET)
    assert model.domain.classes == ("<=30", ">30")
    assert {each.attribute for each in model.attributes} == {*COPIES, "income"}


@pytest.mark.slow
def test_python_the_estimator_and_a_job_file_take_it(private: Path, public: Path, run: Run) -> None:
    run("train", private, *by(public), "--output", TARGET)
    expected = public_part(load_model(TARGET))[0]
    rows = pl.read_parquet(private)
    chosen: dict[str, Any] = {"epsilon": 1, "mechanism": "histogram", "attribute_weights": public}
    for model in (
        dpnb.train(private, **chosen),
        dpnb.release(dpnb.aggregate(private), **chosen),
        dpnb.train(rows, domain=people_domain(REPEATED), **chosen),
        SmoothNaiveBayes(domain=people_domain(REPEATED), **chosen).fit(rows.drop("income"), rows["income"]).model_,
    ):
        assert public_part(model)[0] == expected
    Path("job.toml").write_text('[train]\nmechanism = "histogram"\nattribute-weights = "sample.parquet"\n')
    run("train", private, "--config", "job.toml", "--output", TARGET, "--overwrite")
    assert public_part(load_model(TARGET))[0] == expected


@pytest.mark.slow
def test_another_public_file_is_another_run(private: Path, public: Path, ledger: Path, run: Run) -> None:
    command = ("train", private, "--ledger", ledger, "--run-id", "night", "--output", TARGET)
    run(*command, *by(public))
    first = TARGET.read_bytes()
    TARGET.unlink()
    assert "nothing is spent again" in run(*command, *by(public)).out
    assert TARGET.read_bytes() == first
    other = public_rows(public.with_name("other.parquet"), repeated_people(3000, seed=3))
    told = run(*command, *by(other), "--overwrite", expected=64).err
    assert "run id night: belongs to a release with other inputs (" in told
    renamed = public.rename(public.with_name("renamed.parquet"))
    assert "nothing is spent again" in run(*command, *by(renamed)).out


@pytest.mark.slow
def test_evaluate_prints_the_public_model_alone(private: Path, public: Path, run: Run) -> None:
    run("train", private, *by(public), "--epsilon", "0.01", "--seed", 1, "--output", TARGET)
    told = run("evaluate", TARGET, private, "--public", public).out
    assert "figure             released model             public model alone" in told
    assert "the public model alone, which costs no budget, is at least as accurate on these rows" in told
    document = json.loads(run("evaluate", TARGET, private, "--public", public, "--json").out)
    alone = document.pop("public")
    assert alone.keys() == document.keys()
    assert alone["rows"] == document["rows"]
    assert alone["accuracy"] > document["accuracy"]
    assert "public" not in json.loads(run("evaluate", TARGET, private, "--json").out)
    other = public_rows(public.with_name("other.parquet"), repeated_people(3000, seed=3))
    told = run("evaluate", TARGET, private, "--public", other, expected=64).err
    assert "is not the one that the weights were learned from, people: its SHA-256 is" in told
    run("train", private, "--output", "plain.json")
    told = run("evaluate", "plain.json", private, "--public", public, expected=64).err
    assert "the model's attribute weights were learned from no public file" in told


def test_a_part_of_a_folder_and_counted_rows_are_inputs(private: Path, public: Path, run: Run) -> None:
    Path("parts").mkdir()
    part = private.rename("parts/one.parquet")
    write_people(Path("parts/two.parquet"), repeated_people(100, seed=9), REPEATED)
    told = run("train", "parts", *by(Path(shutil.copy(part, "copied.parquet"))), "--output", TARGET, expected=64).err
    assert "copied.parquet: is one of the confidential inputs (parts/one.parquet); weights and shares from it" in told
    run("aggregate", "parts", "--output", "s.parquet")
    told = run("release", "s.parquet", *by(part), "--output", TARGET, expected=64).err
    assert "one.parquet: is one of the confidential inputs; weights and shares" in told
    with pytest.raises(dpnb.errors.UsageError, match="is one of the confidential inputs"):
        dpnb.release(dpnb.aggregate("parts"), epsilon=1, mechanism="histogram", attribute_weights=part)


def test_a_file_without_a_domain_is_read_in_that_of_the_release(private: Path, public: Path, run: Run) -> None:
    bare = public_rows(public.with_name("bare.parquet"), document=None)
    run("train", private, *by(bare), "--output", TARGET)
    model = load_model(TARGET)
    assert model.attribute_weights is not None
    assert model.attribute_weights.source is not None
    assert model.attribute_weights.source.name == "bare.parquet"
