"""Published faults of other libraries: what each would look like here, and which tests and planted faults hold it."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from mutants.mutant_files import read_mutants
from support.mechanisms import PRIVATE
from support.people import DECLARATION, PEOPLE, people, spoil_rows, write_people
from support.releases import plan_and_release
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.core.budget import Budget
from dpnb_columnar.domain.declaration import DOMAIN_KEY
from dpnb_columnar.errors import UsageError

ROOT = Path(__file__).parents[2]
HERE = "peers/test_published_bugs.py"


@dataclass(frozen=True)
class Bug:
    """A fault of another library.

    Attributes:
        bug: What is wrong, and where it was published.
        here: What this program would show if it had it.
        tests: The tests that fail then.
        faults: Faults of its kind in ``tests/mutants/faults``, which tests must notice.
    """

    bug: str
    here: str
    tests: tuple[str, ...]
    faults: tuple[str, ...] = ()


BUGS = (
    Bug(
        "diffprivlib's GaussianNB takes upper - lower for the sensitivity of a class's sum; a changed label moves a "
        "whole value from one sum to another. With birth years in 1840..1940 its epsilon of 1 was measured to be at "
        "least 5.15.",
        "neighbours under replace-one whose draws together lose more than epsilon",
        (
            "extensions/audit/test_audit_catches.py::test_nothing_is_found_in_the_landed_code",
            "releases/test_boundary.py::test_no_row_costs_more_than_epsilon_over_all_draws",
        ),
        ("mechanisms/noise-of-whole-share", "budget/replace-one-is-one-row"),
    ),
    Bug(
        "diffprivlib gives the class counts of its GaussianNB a sensitivity of 1; a changed label moves two of them.",
        "a table of counts whose two moved cells lose more than the stated share",
        ("releases/test_boundary.py::test_no_row_costs_more_than_epsilon_over_all_draws",),
        ("mechanisms/noise-of-whole-share", "mechanisms/counts-sensitivity-half"),
    ),
    Bug(
        "diffprivlib corrects noisy class counts until they add up to the true number of rows; scalers divide by exact "
        "counts (Opacus #571, #819).",
        "a model that differs where every draw is answered alike, or an exact number in a file",
        (
            "extensions/audit/test_audit_catches.py::test_planted_fault_is_found_by_its_checks",
            "model/test_model_holds_no_secret.py::test_a_private_model_holds_no_exact_number",
        ),
        ("mechanisms/class-counts-add-up", "mechanisms/empty-class-sizes-exact"),
    ),
    Bug(
        "Classes and categories are read from the rows (diffprivlib; reprosyn #38, dpart #6).",
        "a model whose shape, or number of draws, changes with the rows, or an undeclared name in it",
        (
            "releases/test_boundary.py::test_every_declared_cell_is_released_for_no_rows_at_all",
            f"{HERE}::test_an_undeclared_name_is_in_no_output",
        ),
        ("mechanisms/empty-cells-left-out", "mechanisms/histogram-empty-bins-left-out"),
    ),
    Bug(
        "Missing bounds are taken from the data under a warning (diffprivlib), or no noise is added "
        "(smartnoise-sdk #317).",
        "a domain without a bound that is accepted, or refused after a row was read",
        (
            "domain/test_domain.py::test_faulty_attributes",
            f"{HERE}::test_a_missing_bound_is_refused_before_a_row_is_read",
        ),
    ),
    Bug(
        "Values are clipped, and then the raw ones are used (smartnoise-sdk #622).",
        "statistics that tell rows far outside the bounds from rows that were clipped beforehand",
        (
            "extensions/audit/test_audit_databases.py::test_the_engine_clamps_and_drops_odd_rows",
            "extensions/audit/test_audit_catches.py::test_a_fault_in_counting_rows_is_found",
        ),
        ("rows/grid-codes-beyond", "rows/lookup-not-clipped", "counting/cell-outside-domain"),
    ),
    Bug(
        "Floating point leaks: in the noise (diffprivlib #19 to #94, Opacus #616, google #126), and in sums that "
        "depend on the order of rows (opendp #414).",
        "statistics that depend on the order of rows, or a released value beside the public grid",
        (
            "core/sensitivity/test_columns.py::test_moments_of_windows_are_those_of_their_values",
            f"{HERE}::test_the_order_of_rows_changes_no_bit",
        ),
        ("noise/sampler-in-floats", "noise/sampler-coarse-grid", "noise/uniform-not-wide"),
    ),
    Bug(
        "NaN passes a clamp (google #405, #411), becomes 0 (opendp #2935), or makes a NaN of the budget "
        "(PySyft #6956).",
        "a row with NaN that counts, an infinity that is not the bound, or a budget that is no number",
        (
            "extensions/audit/test_audit_databases.py::test_the_engine_clamps_and_drops_odd_rows",
            f"{HERE}::test_a_budget_that_is_no_number_releases_nothing",
        ),
        ("rows/float-nan-is-number", "rows/nan-is-a-unit"),
    ),
    Bug(
        "Budgets are added up in floats: 1.0000000000000002 > 1.0 is refused (opendp #2131), or a rest cannot be spent "
        "(opendp #2789).",
        "shares that do not add up to the epsilon that was typed, to the last digit",
        (
            "model/test_model_holds_no_secret.py::test_the_shares_add_up_exactly",
            "api/test_api.py::test_epsilon_is_taken_exactly",
        ),
        ("budget/float-epsilon-inexact",),
    ),
    Bug(
        "A default seed of 42 that every user has (cwida/privacy), and a seed that nothing marks in the model "
        "(diffprivlib's random_state).",
        "two models of the same rows that are alike, or a seeded model that states a guarantee",
        (
            "releases/test_secret_bits.py::test_nobody_can_repeat_a_draw_by_seeding",
            "model/test_model_holds_no_secret.py::test_a_seeded_model_is_not_private_and_keeps_its_seed_to_itself",
            "batch/test_configuration.py::test_misspelt_variable_is_refused",
        ),
        ("mechanisms/release-repeatable", "mechanisms/release-seeded", "noise/mersenne-twister"),
    ),
    Bug(
        "beta = epsilon / 2 * (gamma + 1) where a division was meant; a uniform log-normal sampler that draws the "
        "Laplace log-normal.",
        "a family that takes such a beta, a loss above epsilon at the betas of releases, or draws of another family",
        ("core/noise/test_noise_distribution.py::test_the_sampler_draws_this_distribution_and_no_other",),
        ("mechanisms/student-beta", "sensitivity/beta-doubled", "noise/polyplace-too-light", "noise/paper-cauchy-beta"),
    ),
    Bug(
        "opendp #2639: until 0.14.2 all additive noise was biased, and no draw was compared with its distribution.",
        "bits that are not fair, or noise that is off in its centre, its spread or its shape",
        (
            "core/noise/test_noise_distribution.py::test_the_system_generator_draws_the_same_distribution",
            "model/test_query_noise.py::test_draws_have_the_scale_that_is_told_and_no_other",
        ),
        ("noise/rounded-down-to-grid", "noise/whole-rounded-down", "noise/sampler-scale"),
    ),
    Bug(
        "Timing and other side channels: Tumult and OpenDP state that they are out of scope, and so does this program.",
        "a page that does not state it, or an output that says when a step ran or how long it took",
        (
            f"{HERE}::test_side_channels_are_declared_out_of_scope",
            f"{HERE}::test_no_output_of_train_holds_a_time",
            f"{HERE}::test_a_model_does_not_depend_on_the_clock",
        ),
    ),
)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.here)
def test_each_bug_is_held_by_tests_and_planted_faults_that_are_there(bug: Bug) -> None:
    for test in bug.tests:
        file, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), test
    assert set(bug.faults) <= {mutant.name for mutant in read_mutants()}


def test_an_undeclared_name_is_in_no_output(folder: Path, run: Run) -> None:
    for column in ("income", "sex"):
        frame = people(200).with_columns(
            pl.when(pl.int_range(pl.len()) == 199).then(pl.lit("undisclosed")).otherwise(column).alias(column)
        )
        write_people(folder / "people.parquet", frame)
        for name in ("model.json", "model.parquet"):
            ended = run("train", "people.parquet", "--output", name, "--overwrite")
            assert b"undisclosed" not in Path(name).read_bytes()
            assert "undisclosed" not in ended.out + ended.err + run("show", name).out


UNBOUNDED = {"no upper": {"lower": 0, "step": 1}, "an upper that is no number": {"lower": 0, "upper": "NaN", "step": 1}}


@pytest.mark.parametrize("name", UNBOUNDED)
@pytest.mark.parametrize("declared", ["in a catalogue", "in metadata"])
def test_a_missing_bound_is_refused_before_a_row_is_read(declared: str, name: str, folder: Path, run: Run) -> None:
    file, age = folder / "people.parquet", UNBOUNDED[name]
    if declared == "in metadata":
        document = {"name": "people", **PEOPLE, "attributes": {**PEOPLE["attributes"], "age": age}}
        people(50).write_parquet(file, metadata={DOMAIN_KEY: json.dumps(document)})
    else:
        people(50).write_parquet(file)
        fields = ", ".join(f"{field} = {json.dumps(value)}" for field, value in age.items())
        Path("datasets.toml").write_text(DECLARATION.replace("lower = 0, upper = 100, step = 1", fields))
    spoil_rows(file)  # a bound of the rows would need one
    before = set(folder.iterdir())
    assert "age" in run("train", file, expected=78).err
    assert set(folder.iterdir()) == before


def test_the_order_of_rows_changes_no_bit(folder: Path, run: Run) -> None:
    """Shuffled, in tiny row groups, or in two files: the same statistics, and from one seed the same bytes."""
    wage = {"wage": {"lower": "-0.1", "upper": "429496729.5", "step": "0.1"}}  # a tenth, which no float holds
    document = {"label": {"column": "income", "classes": ["low", "high"]}, "attributes": wage}
    generator = np.random.default_rng(4)
    wages = np.round(10 ** generator.uniform(-1, 8.6, 3000), 1)
    frame = pl.DataFrame({"wage": wages, "income": np.where(generator.random(3000) < 0.5, "low", "high")})
    shuffled = frame.sample(fraction=1, shuffle=True, seed=9)
    assert sum(frame["wage"].to_list()) != sum(shuffled["wage"].to_list()), "sums of floats tell the orders apart"
    write_people(folder / "first.parquet", frame, document)
    write_people(folder / "shuffled.parquet", shuffled, document)
    metadata = dict(pl.read_parquet_metadata("first.parquet"))
    shuffled.reverse().write_parquet("groups.parquet", row_group_size=7, metadata=metadata)
    write_people(folder / "part-1.parquet", shuffled[:1], document)
    write_people(folder / "part-2.parquet", shuffled[1:], document)
    models = set()
    for files in (["first.parquet"], ["shuffled.parquet"], ["groups.parquet"], ["part-2.parquet", "part-1.parquet"]):
        assert dpnb.aggregate(files) == dpnb.aggregate("first.parquet")
        run("train", *files, "--seed", 1, "--output", "model.json", "--overwrite")
        models.add(Path("model.json").read_bytes())
    assert len(models) == 1


@pytest.mark.parametrize("mechanism", PRIVATE)
def test_a_budget_that_is_no_number_releases_nothing(mechanism: str, people_file: Path) -> None:
    """Where no option was read, noise itself refuses to be made from NaN."""
    nan: Any = float("nan")
    with pytest.raises((ValueError, UsageError), match="epsilon"):
        plan_and_release(dpnb.aggregate(people_file), Budget(nan), mechanism)


TIME = re.compile(
    r"\d\s*(?:[nmµ]?s|sec(?:ond)?s?|min(?:ute)?s?)\b|\b\d{1,2}:\d{2}(?::\d{2})?\b|\b20\d\d-\d\d-\d\d\b|"
    r"\b(?:elapsed|duration|timestamp|took|seconds|created_at)\b",
    re.IGNORECASE,
)
"""A length of time, a time of day, a date, or a word for one."""


@pytest.mark.parametrize("page", ["README.md", "docs/privacy.md"])
def test_side_channels_are_declared_out_of_scope(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    _, scope = re.split(r"^## .*(?:What is not|out of scope).*$", text, maxsplit=1, flags=re.MULTILINE)
    section = scope.split("\n## ")[0].lower()
    assert "side channels" in section
    assert "time" in section


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", PRIVATE)
@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_no_output_of_train_holds_a_time(
    mechanism: str, suffix: str, people_file: Path, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        ended = run("train", people_file, "--mechanism", mechanism, "--output", f"model.{suffix}")
    assert not caplog.records, "a library below logs, which users may have switched on"
    for text in (ended.out, ended.err, run("show", f"model.{suffix}", "--json").out):
        assert not TIME.search(text)
    for line in ("counting: 1.25 s", "12 draws, 3 ms", "2026-11-21", "at 10:04:59", "elapsed 4"):
        assert TIME.search(f"domain people\n{line}\nwrote model.json")


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_a_model_does_not_depend_on_the_clock(
    suffix: str, people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = set()
    for now in (1.0, 4e9):
        monkeypatch.setattr("time.time", lambda now=now: now)
        run("train", people_file, "--seed", 1, "--output", f"model.{suffix}", "--overwrite")
        contents.add(Path(f"model.{suffix}").read_bytes())
    assert len(contents) == 1
