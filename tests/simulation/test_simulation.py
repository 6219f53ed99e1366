"""The simulated census: reproducible, bounded in memory, within its domain, and worth classifying."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.memory import PEAK_MEBIBYTES

from dpnb_columnar.domain import Domain, Numeric
from dpnb_columnar.domain.catalogue import packaged_entries
from dpnb_columnar.errors import UsageError
from dpnb_columnar.simulation import BLOCK_ROWS, Draws, Lookup, interval_indices, simulate_census

ROWS = 150_000
SEED = 1940

MEMORY_SCRIPT = (
    PEAK_MEBIBYTES
    + """
from dpnb_columnar.simulation import simulate_census

folder = Path(sys.argv[1])
for rows in (200_000, 2_000_000):
    simulate_census(folder / f"{rows}.parquet", rows=rows, seed=1)
    sys.stdout.write(f"{peak_mebibytes()}\\n")
"""
)


def simulated(folder: Path, rows: int, seed: int = SEED) -> Path:
    path = folder / f"census_{rows}_{seed}.parquet"
    simulate_census(path, rows=rows, seed=seed, overwrite=True)
    return path


@pytest.fixture(scope="module")
def extract(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated(tmp_path_factory.mktemp("census"), ROWS)


@pytest.fixture(scope="module")
def table(extract: Path) -> pa.Table:
    return pq.read_table(extract)


@pytest.fixture(scope="module")
def columns(table: pa.Table) -> dict[str, np.ndarray]:
    return {name: table[name].to_numpy() for name in table.column_names}


@pytest.fixture(scope="module")
def usable(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Rows that training keeps: a wage was asked and given, and the place is known."""
    kept = (columns["INCWAGE"] < 999_998) & (columns["URBAN"] > 0)
    return {name: values[kept] for name, values in columns.items()}


@pytest.fixture(scope="module")
def declared() -> Domain:
    (domain,) = (entry.domain for entry in packaged_entries() if entry.name == "census_simulated")
    return domain


def share(rows: np.ndarray) -> float:
    return float(np.mean(rows))


def test_rows_of_a_seed_stay_as_they_are(table: pa.Table) -> None:
    """Pinned: a seed in a report or a bug means these rows, whatever the version of NumPy."""
    first = table.slice(0, 8)
    assert {name: first[name].to_pylist() for name in ("AGE", "SEI", "HRSWORK1", "INCWAGE")} == {
        "AGE": [27, 44, 3, 57, 46, 5, 16, 14],
        "SEI": [7, 0, 0, 6, 47, 0, 0, 0],
        "HRSWORK1": [40, 0, 0, 0, 60, 0, 0, 0],
        "INCWAGE": [416, 0, 999999, 271, 3800, 999999, 130, 0],
    }


@pytest.mark.parametrize("rows", [1, 999, BLOCK_ROWS, BLOCK_ROWS + 1])
def test_a_longer_file_begins_with_the_rows_of_a_shorter_one(rows: int, table: pa.Table, tmp_path: Path) -> None:
    shorter = pq.read_table(simulated(tmp_path, rows))
    assert shorter.num_rows == rows
    assert shorter.equals(table.slice(0, rows))


def test_blocks_differ(table: pa.Table) -> None:
    beyond = ROWS - BLOCK_ROWS
    assert table["INCWAGE"].slice(0, beyond) != table["INCWAGE"].slice(BLOCK_ROWS)


def test_one_row_group_a_block(extract: Path) -> None:
    metadata = pq.read_metadata(extract)
    groups = [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)]
    assert groups == [BLOCK_ROWS, ROWS - BLOCK_ROWS]


def test_every_code_is_declared(columns: dict[str, np.ndarray], declared: Domain) -> None:
    assert set(columns) == set(declared.columns)
    for attribute in declared:
        found = columns[attribute.name]
        if isinstance(attribute, Numeric):
            assert attribute.lower <= found.min() <= found.max() <= attribute.upper, attribute.name
        else:
            assert {str(code) for code in np.unique(found)} <= {*attribute.values, *attribute.missing_values}
    wages = columns["INCWAGE"]
    assert {str(code) for code in np.unique(wages[wages > 5001])} == set(declared.label.missing_values)
    assert wages.min() == 0


def test_types_are_as_narrow_as_the_codes(table: pa.Table) -> None:
    wide = {"AGE": pa.int16(), "INCWAGE": pa.int32()}
    assert all(field.type == wide.get(field.name, pa.int8()) for field in table.schema)
    assert sum(column.null_count for column in table.columns) == 0


def test_marginals_are_those_of_a_census(columns: dict[str, np.ndarray]) -> None:
    adult = columns["AGE"] >= 14
    assert 0.49 < share(columns["SEX"] == 1) < 0.51
    assert 0.22 < share(~adult) < 0.26
    assert 0.88 < share(columns["RACE"] == 1) < 0.92
    assert 0.54 < share(columns["URBAN"] == 2) < 0.60
    assert 0.0003 < share(columns["URBAN"] == 0) < 0.003
    assert 0.22 < share(columns["RELATE"] == 1) < 0.30
    assert 0.48 < share(columns["EMPSTAT"][adult] < 3) < 0.58
    assert np.bincount(columns["EDUC"][columns["AGE"] >= 25]).argmax() == 2
    assert 0.01 < share(columns["INCWAGE"][adult] == 999_998) < 0.03
    hours, weeks = columns["HRSWORK1"], columns["WKSWORK1"]
    assert np.bincount(hours[hours > 0]).argmax() == 40
    assert np.bincount(weeks[weeks > 0]).argmax() == 52


def test_those_not_asked_have_the_codes_for_it(columns: dict[str, np.ndarray]) -> None:
    child = columns["AGE"] < 14
    np.testing.assert_array_equal(columns["INCWAGE"] == 999_999, child)
    np.testing.assert_array_equal(columns["EMPSTAT"] == 0, child)
    assert set(np.unique(columns["MARST"][child])) == {6}
    np.testing.assert_array_equal(columns["CLASSWKR"] == 0, columns["SEI"] == 0)
    for name in ("CLASSWKR", "WKSWORK1", "HRSWORK1"):
        assert not columns[name][child].any(), name
    assert not columns["HRSWORK1"][columns["EMPSTAT"] != 1].any()


def test_wages_heap_on_round_dollars_and_stop_at_the_top_code(usable: dict[str, np.ndarray]) -> None:
    wages = usable["INCWAGE"]
    assert share(wages[wages > 0] % 100 == 0) > 0.2
    assert np.sum(wages == 1000) > 20 * np.sum(wages == 997)
    assert 0 < share(wages == 5001) < 0.04
    assert wages.max() == 5001


@pytest.mark.parametrize(
    ("column", "low", "high"),
    [
        ("SEX", [2], [1]),
        ("URBAN", [1], [2]),
        ("RACE", [2], [1]),
        ("EDUC", [0, 1], [6, 7, 8, 9, 10, 11]),
        ("SEI", range(6, 15), range(40, 97)),
        ("AGE", range(18, 25), range(35, 55)),
        ("WKSWORK1", range(1, 40), [52]),
        ("HRSWORK1", range(60, 99), range(35, 50)),
    ],
)
def test_wages_depend_on_every_attribute_that_matters(
    column: str, low: list[int], high: list[int], usable: dict[str, np.ndarray]
) -> None:
    above, codes = usable["INCWAGE"] > 1000, usable[column]
    assert share(above[np.isin(codes, list(high))]) > 1.3 * share(above[np.isin(codes, list(low))])


def test_ordinary_naive_bayes_clearly_beats_the_majority(usable: dict[str, np.ndarray], declared: Domain) -> None:
    label = (usable["INCWAGE"] > 1000).astype(int)
    half = label.size // 2
    score = np.tile(np.log(np.bincount(label[:half]) / half), (label.size - half, 1))
    for attribute in declared:
        codes = usable[attribute.name]
        counts = np.stack([np.bincount(codes[:half][label[:half] == kind], minlength=121) + 1 for kind in (0, 1)])
        score += np.log(counts / counts.sum(axis=1, keepdims=True)).T[codes[half:]]
    accuracy = share(score.argmax(axis=1) == label[half:])
    assert accuracy > share(label[half:] == 0) + 0.05


def test_a_file_without_rows_and_a_negative_seed_are_refused(tmp_path: Path) -> None:
    for rows, seed, told in ((0, SEED, "^rows 0: .*give 1 or more"), (1, -3, "^seed -3: give a whole number")):
        with pytest.raises(UsageError, match=told):
            simulate_census(tmp_path / "census.parquet", rows=rows, seed=seed)
    assert not list(tmp_path.iterdir())


def test_progress_adds_up_to_the_rows(tmp_path: Path) -> None:
    written: list[int] = []
    simulate_census(tmp_path / "census.parquet", rows=ROWS, seed=SEED, progress=written.append)
    assert written == [BLOCK_ROWS, ROWS - BLOCK_ROWS]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEMORY_SCRIPT, str(tmp_path)], capture_output=True, text=True, check=True
    )
    small, large = map(float, done.stdout.split())
    # MiB; the 1.8 million rows more are 31 MiB even in their narrow types, so none of them are kept.
    assert large - small < 20


def test_each_block_has_the_stream_of_a_spawned_child() -> None:
    child = np.random.PCG64(np.random.SeedSequence(SEED).spawn(4)[3])
    np.testing.assert_array_equal(Draws(SEED, 3, 8).slots().view(np.uint64), child.random_raw(2))


@pytest.mark.parametrize("bits", [12, 16])
def test_a_lookup_honours_the_shares_of_each_group(bits: int) -> None:
    lookup = Lookup([{7: 1.0}, {0: 1.0, 5: 0.0, 9: 3.0}], bits=bits)
    group = np.arange(40_000) % 2
    found = lookup.draw(Draws(SEED, 0, group.size), group)
    assert set(found[group == 0].tolist()) == {7}
    assert set(found[group == 1].tolist()) == {0, 9}
    assert share(found[group == 1] == 9) == pytest.approx(0.75, abs=0.015)


def test_interval_indices_find_the_interval_of_each_number() -> None:
    np.testing.assert_array_equal(interval_indices((0, 2, 3), 6), [0, 0, 1, 2, 2, 2])
