"""``--given``: tables first, from statistics; then the weights, from counts of the scores that the tables give."""

from __future__ import annotations

import json
import shutil
import stat
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
from support.ledger_cases import new_ledger, spent_epsilon
from support.people import PEOPLE, people_domain, repeated_document, repeated_people, spoil_rows, write_people
from support.releases import train
from support.running import Run, completed

import dpnb_columnar as dpnb
from dpnb_columnar.api import load_model
from dpnb_columnar.core.budget import Approximate, Budget, Neighbours, Pure
from dpnb_columnar.core.measurement import CALIBRATION
from dpnb_columnar.core.noise import ExactSampler, SeededBits
from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.counting.countable import AskedRows
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.errors import BudgetError, DataError, UsageError
from dpnb_columnar.model.document import to_document
from dpnb_columnar.model.score_calibration import margins_given
from dpnb_columnar.releases.plan import plan, plan_given, reserve_later_pass

REPEATED = repeated_document(6)
repeated = partial(repeated_people, copies=6)
CALIBRATED = ("--mechanism", "histogram", "--attribute-weights", "calibrated")
TABLES, WEIGHTS = Path("tables.json"), Path("weights.json")

TERMS: dict[str, tuple[str, str | None, dict[str, Any]]] = {
    "histogram": ("histogram", None, {}),
    "smooth": ("smooth", None, {}),
    "replaced": ("histogram", None, {"neighbours": Neighbours.REPLACE_ONE}),
    "delta": ("smooth", "gaussian", {"delta": Fraction(1, 10**6)}),
    "concentrated": ("smooth", "arsinh-normal", {"delta": Fraction(1, 10**6), "neighbours": Neighbours.REPLACE_ONE}),
}
"""Mechanism, noise and budget of a release that is compared with that of its two parts."""

SECOND = Path("second.parquet")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with rows, their statistics, a model that left a tenth of its budget, and the counts it waits for."""
    folder = tmp_path_factory.mktemp("second")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        data = write_people(folder / "people.parquet", repeated(3000), REPEATED)
        completed("aggregate", data, "--output", "first.parquet")
        completed("release", "first.parquet", *CALIBRATED, "--output", TABLES)
        completed("aggregate", data, "--given", TABLES, "--output", SECOND)
    return folder


@pytest.fixture
def data(folder: Path, made: Path) -> Path:
    return Path(shutil.copy(made / "people.parquet", folder))


@pytest.fixture
def tables(data: Path, made: Path) -> Path:
    """A model that left a tenth of its budget."""
    shutil.copy(made / "first.parquet", "first.parquet")
    return Path(shutil.copy(made / TABLES, TABLES))


@pytest.fixture
def second(tables: Path, made: Path) -> Path:
    return Path(shutil.copy(made / SECOND, SECOND))


# The two releases are one.


@pytest.mark.parametrize("terms", TERMS)
def test_two_releases_give_the_model_of_one(terms: str) -> None:
    mechanism, noise, amounts = TERMS[terms]
    rows, domain = FrameInput(repeated(2000)), people_domain(REPEATED)
    whole = plan(domain, Budget(Fraction(2), **amounts), mechanism, noise, "calibrated")
    one = train(whole, rows, draw=ExactSampler(SeededBits(7)))
    draw, checked = ExactSampler(SeededBits(7)), rows.check(domain)
    first = reserve_later_pass(whole)
    released = train(first, AskedRows(checked.answer(CellQuery(domain))), draw=draw)
    assert released.guarantee.reserved == whole.calibration
    counts = AskedRows(checked.answer(margins_given(released)))
    again = plan_given(released)
    both = train(again, counts, draw=draw)
    assert to_document(both) == to_document(one)
    shares = (*first.shares, *again.shares)
    assert shares == whole.shares
    assert again.budget.epsilon <= 2


def test_the_document_of_tables_is_read_back_with_its_share(tables: Path, run: Run) -> None:
    model = load_model(tables)
    share = model.guarantee.reserved
    assert share is not None
    assert (share.query, share.values, share.cost) == (CALIBRATION, 48, Pure(Fraction(1, 10)))
    assert model.guarantee.epsilon == Fraction(9, 10)
    model.save("tables.parquet")
    assert load_model(Path("tables.parquet")) == model
    document = json.loads(tables.read_text())
    document["guarantee"]["reserved"]["row_epsilon"] = "1/5"
    tables.write_text(json.dumps(document))
    assert "guarantee.reserved.row_epsilon: costs more than the share" in run("show", tables, expected=65).err


def test_tables_score_by_free_weights_and_say_what_they_wait_for(data: Path, tables: Path, run: Run) -> None:
    model = load_model(tables)
    assert model.attribute_weights is not None
    assert model.attribute_weights.method == "tempered"
    waits = "its attribute weights wait for one more pass (calibration counts), which costs epsilon 0.1"
    told = run("show", tables).out
    assert waits in told
    assert "\n0.9-differentially private" in told
    said = run("release", "first.parquet", *CALIBRATED, "--output", "again.json").out
    assert waits in said
    assert "epsilon 0.9 (add-remove neighbours), mechanism histogram, attribute weights calibrated (left for a" in said
    run("release", "first.parquet", "--mechanism", "smooth", *CALIBRATED[2:], "--output", "normal.json")
    assert load_model(Path("normal.json")).attribute_weights is None


def test_the_weights_complete_the_model(tables: Path, second: Path, run: Run) -> None:
    said = run("release", second, "--given", tables, "--output", WEIGHTS).out
    assert "epsilon 0.1 (add-remove neighbours), mechanism histogram, attribute weights calibrated, 1 query\n" in said
    first, model = load_model(tables), load_model(WEIGHTS)
    assert (model.attributes, model.classes) == (first.attributes, first.classes)
    assert model.attribute_weights is not None
    assert model.attribute_weights.method == "calibrated"
    assert model.guarantee.epsilon == 1
    assert model.guarantee.reserved is None
    assert "wait" not in run("show", WEIGHTS).out


def test_statistics_learn_no_weights(data: Path, tables: Path, ledger: Path, run: Run) -> None:
    """Refused before a ledger is asked: rounds follow one another over the rows."""
    learned = ("--attribute-weights", "learned", "--output", WEIGHTS)
    remedy = "train on the rows, or release from statistics with --attribute-weights calibrated"
    for more in ((), ("--ledger", ledger), ("--dry-run",)):
        told = run("release", "first.parquet", *CALIBRATED[:2], *learned, *more, expected=64).err
        assert told.count("\n") == 1
        assert remedy in told
    assert spent_epsilon(ledger, "people") == 0
    with pytest.raises(UsageError, match="train on the rows, or release from statistics with attribute_weights="):
        dpnb.release(dpnb.aggregate(data), epsilon=1, attribute_weights="learned")


# Statistics of the second kind.


def test_parts_add_up_and_no_part_counts_twice(data: Path, tables: Path, second: Path, run: Run) -> None:
    rows = pl.read_parquet(data)
    for part in range(2):
        file = write_people(Path(f"part-{part}.parquet"), rows[part::2], REPEATED)
        run("aggregate", file, "--given", tables, "--output", f"second-{part}.parquet")
    assert stat.S_IMODE(Path("second-0.parquet").stat().st_mode) == 0o600
    run("release", "second-0.parquet", "second-1.parquet", "--given", tables, "--seed", 5, "--output", "parts.json")
    run("release", second, "--given", tables, "--seed", 5, "--output", "whole.json")
    assert Path("parts.json").read_bytes() == Path("whole.json").read_bytes()
    copied = Path("copied.parquet")
    copied.write_bytes(second.read_bytes())
    for files, code in (((second, copied), 65), ((second, second), 64)):
        told = run("release", *files, "--given", tables, "--output", WEIGHTS, expected=code).err
        assert "count twice" in told
    assert not WEIGHTS.exists()


def test_statistics_of_one_kind_are_refused_by_name_as_the_other(tables: Path, second: Path, run: Run) -> None:
    told = run("release", second, "--output", WEIGHTS, expected=65).err
    assert "second.parquet: counts the scores that a model gives" in told
    told = run("release", "first.parquet", "--given", tables, "--output", WEIGHTS, expected=65).err
    assert "first.parquet: counts the cells of a domain, and this model waits for counts of its scores" in told
    told = run("release", tables, "--given", tables, "--output", WEIGHTS, expected=65).err
    assert "tables.json: not a file of counts of scores" in told


def test_counts_given_another_model_or_domain_are_refused(data: Path, tables: Path, second: Path, run: Run) -> None:
    run("release", "first.parquet", *CALIBRATED, "--output", "other.json")
    told = run("release", second, "--given", "other.json", "--output", WEIGHTS, expected=65).err
    assert "second.parquet: was counted given another model, whose scores differ" in told
    narrower = {**REPEATED, "attributes": PEOPLE["attributes"]}
    file = write_people(Path("narrower.parquet"), pl.read_parquet(data), narrower)
    run("aggregate", file, "--output", "narrower.statistics.parquet")
    run("release", "narrower.statistics.parquet", *CALIBRATED, "--output", "narrower.json")
    told = run("release", second, "--given", "narrower.json", "--output", WEIGHTS, expected=65).err
    assert "second.parquet: was counted in another domain than 'people', the model's" in told
    assert not WEIGHTS.exists()


def test_a_model_that_left_nothing_is_refused_before_rows_are_read(data: Path, second: Path, run: Run) -> None:
    run("release", second, "--given", TABLES, "--output", WEIGHTS)
    run("train", data, "--mechanism", "histogram", "--output", "plain.json")
    spoil_rows(data)
    for model in (WEIGHTS, "plain.json"):
        for command in (
            ("aggregate", data, "--output", "s.parquet"),
            ("sql", "statistics", "--dialect", "duckdb"),
            ("release", second, "--output", "m.json"),
        ):
            told = run(*command, "--given", model, expected=64).err
            assert f"{model}: given: this model left no part of its budget" in told


def test_a_model_without_a_margin_to_calibrate_is_refused(data: Path, tables: Path, second: Path, run: Run) -> None:
    run("train", data, "--mechanism", "majority", "--output", "majority.json")
    document = json.loads(Path("majority.json").read_text())
    document["guarantee"]["reserved"] = json.loads(tables.read_text())["guarantee"]["reserved"]
    Path("edited.json").write_text(json.dumps(document))
    told = run("release", second, "--given", "edited.json", "--output", WEIGHTS, expected=64).err
    assert "edited.json: given: only a model of two classes or more, with attributes, has a margin to calibrate" in told


@pytest.mark.parametrize(
    "option", [("--epsilon", "1"), ("--mechanism", "smooth"), ("--dataset", "people"), ("--shares", "1:1:1")]
)
def test_what_the_model_has_decided_cannot_be_chosen_again(
    option: tuple[str, str], tables: Path, second: Path, run: Run
) -> None:
    told = run("release", second, "--given", tables, *option, "--output", WEIGHTS, expected=64).err
    assert f"--given: the model has decided {option[0]}; leave that out" in told


FAULTS = {
    "a version": (lambda header, table: (header | {"version": 9}, table), "of version 9, which this"),
    "a class": (lambda header, table: (header, table.with_columns(pl.lit(2).alias("class"))), "is not one of these"),
    "a bin": (lambda header, table: (header, table.with_columns(pl.lit(-1).alias("bin"))), "is not one of these"),
    "a count": (lambda header, table: (header, table.with_columns(pl.lit(-1).alias("count"))), "is not one of these"),
    "twice": (lambda header, table: (header, pl.concat([table, table])), "a cell stands in more than one row"),
    "no count": (
        lambda header, table: (header, table.with_columns(pl.lit(None, pl.Int64).alias("count"))),
        "is not one of these",
    ),
    "no parts": (lambda header, table: (header | {"parts": [1]}, table), "not a file of counts of scores"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_with_a_fault_is_refused(fault: str, tables: Path, second: Path, run: Run) -> None:
    change, message = FAULTS[fault]
    key = "dpnb_columnar.score_counts"
    header = json.loads(pl.read_parquet_metadata(second)[key])
    header, table = change(header, pl.read_parquet(second))  # type: ignore[no-untyped-call]
    written = table.cast(dict.fromkeys(("class", "bin", "count"), pl.Int64)).to_arrow()
    pq.write_table(written.replace_schema_metadata({key: json.dumps(header)}), second)
    assert message in run("release", second, "--given", tables, "--output", WEIGHTS, expected=65).err


# A ledger.


@pytest.fixture
def ledger(folder: Path) -> Path:
    """A ledger that admits epsilon 1 for the people: both releases, and nothing more."""
    return new_ledger(folder / "people.ledger", Approximate(Fraction(1), Fraction(0)), "people")


def test_each_release_pays_its_part_and_the_weights_of_a_model_once(data: Path, ledger: Path, run: Run) -> None:
    run("aggregate", data, "--output", "first.parquet")
    first = ("release", "first.parquet", *CALIBRATED, "--ledger", ledger, "--run-id", "night", "--output", TABLES)
    run(*first)
    assert spent_epsilon(ledger, "people") == Fraction(9, 10)
    run("aggregate", data, "--given", TABLES, "--output", "second.parquet")
    again = ("release", "second.parquet", "--given", TABLES, "--ledger", ledger, "--output", WEIGHTS)
    told = run(*again, "--run-id", "night", expected=64).err
    assert "run id night: belongs to a release with other inputs" in told
    assert spent_epsilon(ledger, "people") == Fraction(9, 10)
    assert "the ledger admits this release" in run(*again, "--dry-run").out
    run(*again)
    assert spent_epsilon(ledger, "people") == 1
    weights = WEIGHTS.read_bytes()
    WEIGHTS.unlink()
    assert "nothing is spent again" in run(*again).out
    assert WEIGHTS.read_bytes() == weights
    assert spent_epsilon(ledger, "people") == 1
    assert "this release asks for 0.1" in run(*again, "--run-id", "other", "--overwrite", expected=77).err
    run("ledger", "verify", ledger)


def test_no_ledger_pays_for_the_weights_of_a_seeded_model(tables: Path, ledger: Path, run: Run) -> None:
    run("release", "first.parquet", *CALIBRATED, "--seed", 1, "--output", "seeded.json")
    run("aggregate", "people.parquet", "--given", "seeded.json", "--output", "s.parquet")
    command = ("release", "s.parquet", "--given", "seeded.json", "--output", WEIGHTS)
    assert "this model carries no guarantee" in run(*command, "--ledger", ledger, expected=64).err
    assert "NO GUARANTEE" in run(*command).err
    assert not load_model(WEIGHTS).guarantee.private


# Databases.


@pytest.mark.slow
def test_a_query_counts_what_aggregate_counts(data: Path, tables: Path, second: Path, run: Run) -> None:
    run("sql", "statistics", data, "--given", tables, "--dialect", "duckdb", "--table", "people", "--output", "q.sql")
    with duckdb.connect("people.duckdb") as connection:
        connection.execute("CREATE TABLE people AS FROM read_parquet($1)", [str(data)])
        result = connection.sql(Path("q.sql").read_text().rstrip().rstrip(";")).pl()
    result.write_csv("counts.csv")
    result.write_parquet("counts.parquet")
    run("release", second, "--given", tables, "--seed", 5, "--output", "whole.json")
    for number, source in enumerate(
        (
            ("counts.csv",),
            ("counts.parquet",),
            ("people.duckdb", "--table", "people"),
            ("people.duckdb", "--query", "q.sql"),
        )
    ):
        run("release", *source, "--given", tables, "--seed", 5, "--output", f"{number}.json")
        assert Path(f"{number}.json").read_bytes() == Path("whole.json").read_bytes()
    told = run("release", "counts.csv", "--domain", data, "--output", "m.json", expected=65).err
    assert "counts.csv: counts the scores that a model gives" in told
    doubled = pl.concat([result, result])
    doubled.write_csv("counts.csv")
    told = run("release", "counts.csv", "--given", tables, "--output", "m.json", expected=65).err
    assert "a cell stands in more than one row" in told


# Python.


def test_python_releases_tables_and_then_weights(data: Path, ledger: Path) -> None:
    chosen: dict[str, Any] = {"epsilon": 1, "mechanism": "histogram", "attribute_weights": "calibrated"}
    tables = dpnb.release(dpnb.aggregate(data), **chosen, ledger=ledger)
    counts = dpnb.count_given(data, tables)
    assert counts == dpnb.count_given(pl.read_parquet(data), tables)
    model = dpnb.calibrate(tables, counts, ledger=ledger)
    assert model.guarantee.epsilon == 1
    assert dpnb.calibrate(tables, counts, ledger=ledger) == model
    with pytest.raises(UsageError, match="left no part of its budget"):
        dpnb.count_given(data, model)
    other = dpnb.release(dpnb.aggregate(data), **chosen)
    with pytest.raises(DataError, match="given another model"):
        dpnb.calibrate(other, counts)
    with pytest.raises(BudgetError):
        dpnb.calibrate(other, dpnb.count_given(data, other), ledger=ledger)
