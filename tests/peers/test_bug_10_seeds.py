"""Bug 10. Seeds: a default seed of 42 that every user gets (cwida/privacy), and a seed that nothing marks in the model
(diffprivlib's random_state). Whoever knows the seed subtracts the noise.

Ours would show it as two models of the same rows that are alike, or as a seeded model that states a guarantee.
"""

from __future__ import annotations

import inspect
import json
import random
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from support.mechanisms import PRIVATE
from support.people import DECLARATION, people, people_domain, write_people
from support.releases import plan_and_release
from support.running import Run, parser_of

import dpnb_columnar as dpnb
from dpnb_columnar.budget import Budget
from dpnb_columnar.mechanisms.model_release import release
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.model_document import to_document
from dpnb_columnar.noise import ExactSampler, SeededBits
from dpnb_columnar.training import carry_out

SEED = 8_675_309_424_243
VARIABLES = ("SEED", "PYTHONHASHSEED", "NUMPY_SEED", "POLARS_SEED")
REFUSED = ("DPNB_SEED", "DPNB_COLUMNAR_SEED")


def repeats(make: Callable[[], str]) -> bool:
    """Whether two of three texts are alike."""
    return len({make() for _ in range(3)}) < 3


def released(model: Model) -> str:
    """The released numbers of a model, as text."""
    document = to_document(model)
    return json.dumps([document["classes"], document["attributes"]])


def trained(run: Run, file: Path, *arguments: object) -> Callable[[], str]:
    def train() -> str:
        random.seed(42)
        np.random.seed(42)
        run("train", file, "--output", "model.json", "--overwrite", *arguments)
        return released(dpnb.load_model("model.json"))

    return train


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", PRIVATE)
def test_bug_10_no_two_models_of_the_same_rows_are_alike(mechanism: str, people_file: Path, run: Run) -> None:
    """Also where the program that calls has seeded its own generators. (Little epsilon: two counts of much noise come
    out alike twice by chance once in a hundred million.)"""
    assert not repeats(trained(run, people_file, "--mechanism", mechanism, "--epsilon", "0.0001"))
    statistics = dpnb.aggregate(people_file)
    assert not repeats(lambda: released(dpnb.release(statistics, epsilon="0.0001", mechanism=mechanism)))


def test_bug_10_the_same_comparison_finds_a_default_seed(people_file: Path, run: Run) -> None:
    assert repeats(trained(run, people_file, "--seed", 42))
    statistics, budget = dpnb.aggregate(people_file), Budget(Fraction(1))
    assert repeats(lambda: released(plan_and_release(statistics, budget, draw=ExactSampler(SeededBits(42)))))


TRAIN_TWICE = """
from dpnb_columnar.cli.main import exit_code
for name in ("first.json", "second.json"):
    assert exit_code(["train", "people.parquet", "--output", name]) == 0
"""


@pytest.mark.slow
def test_bug_10_nothing_in_the_environment_sets_a_seed(folder: Path) -> None:
    """In a new process, with every variable and file that somebody might try."""
    write_people(folder / "people.parquet", people(30))
    for name in ("dpnb.toml", ".env", "pyproject.toml"):
        Path(name).write_text("seed = 42\n" if name != ".env" else "SEED=42\nDPNB_SEED=42\n")
    environment = {"PATH": "", "PYTHONPATH": str(Path(dpnb.__file__).parents[1]), **dict.fromkeys(VARIABLES, "42")}
    subprocess.run([sys.executable, "-c", TRAIN_TWICE], env=environment, check=True, capture_output=True)
    models = [dpnb.load_model(name) for name in ("first.json", "second.json")]
    assert models[0].attributes != models[1].attributes
    assert not any(model.guarantee.seeded for model in models)


@pytest.mark.parametrize("name", REFUSED)
def test_bug_10_a_seed_in_a_variable_of_ours_is_refused(
    name: str, people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "42")
    assert name in run("train", people_file, expected=78).err


def test_bug_10_a_catalogue_cannot_set_a_seed(folder: Path, run: Run) -> None:
    write_people(folder / "people.parquet", document=None)
    for text in (DECLARATION.replace("[people]\n", "[people]\nseed = 42\n"), "seed = 42\n" + DECLARATION):
        Path("datasets.toml").write_text(text)
        assert "seed" in run("train", "people.parquet", expected=78).err


def test_bug_10_seeds_are_asked_for_by_name_or_not_at_all() -> None:
    """No option for a release reads a variable or has a seed to fall back on; Python's functions take none."""
    for verb in ("train", "release"):
        parameters = {parameter.name: parameter for parameter in parser_of(verb).params}
        assert parameters["seed"].default is None
        assert not any(parameter.envvar for parameter in parameters.values())
    for function in (dpnb.train, dpnb.release, dpnb.aggregate):
        assert "seed" not in inspect.signature(function).parameters
    assert inspect.signature(carry_out).parameters["draw"].default is None
    assert inspect.signature(release).parameters["draw"].default is inspect.Parameter.empty


@pytest.mark.parametrize("suffix", ["json", "parquet"])
@pytest.mark.parametrize("verb", ["train", "release"])
def test_bug_10_a_seeded_model_says_so_everywhere(verb: str, suffix: str, people_file: Path, run: Run) -> None:
    source, name = people_file, f"model.{suffix}"
    if verb == "release":
        run("aggregate", people_file)
        source = Path("people.statistics.parquet")
    assert "NO GUARANTEE" in run(verb, source, "--output", name, "--seed", SEED).err
    assert "NO GUARANTEE" in run("show", name).out
    guarantee = json.loads(run("show", name, "--json").out)["guarantee"]
    assert (guarantee["private"], guarantee["seeded"]) == (False, True)
    model = dpnb.load_model(name)
    assert model.guarantee.seeded
    assert not model.guarantee.private
    model.save(f"again.{suffix}")
    assert dpnb.load_model(f"again.{suffix}").guarantee.seeded


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_bug_10_no_file_holds_the_seed(suffix: str, people_file: Path, run: Run) -> None:
    name = f"model.{suffix}"
    ended = run("train", people_file, "--output", name, "--seed", SEED)
    content = Path(name).read_bytes()
    for form in (str(SEED).encode(), f"{SEED:x}".encode(), SEED.to_bytes(8, "little"), SEED.to_bytes(8, "big")):
        assert form not in content
    assert str(SEED) not in ended.out + ended.err + run("show", name).out


def test_bug_10_an_unseeded_model_states_its_guarantee(people_file: Path) -> None:
    model = dpnb.train(people_file, epsilon=1, domain=people_domain())
    assert model.guarantee.private
    assert not model.guarantee.seeded
