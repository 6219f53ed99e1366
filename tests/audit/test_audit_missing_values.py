"""All pairs of small databases whose rows may lack a value: no loss beyond the claim, and planted faults are found."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from dpnb_columnar.core.budget import Budget, Neighbours
from dpnb_columnar.extensions.audit import exhaustive
from dpnb_columnar.extensions.audit.exhaustive import Compared
from dpnb_columnar.extensions.audit.neighbours import groups
from dpnb_columnar.extensions.audit.outcomes import Configuration
from dpnb_columnar.extensions.audit.universe import HOURS, WAGES, YEARS, Universe, build_universe
from support.audited import compared
from support.counted_queries import check
from support.engines import SQLite
from support.mechanisms import PRIVATE
from support.planting import plant

from dpnb_columnar.domain import Domain, Missing

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
DOMAINS = [YEARS, WAGES, HOURS]


@pytest.fixture(scope="module")
def universes() -> dict[str, Universe]:
    return {domain.name: build_universe(domain)[0] for domain in DOMAINS}


def compared_groups(mechanism: str, universe: Universe, relation: Neighbours, rows: int) -> Compared:
    configuration = Configuration(mechanism, None, Budget(Fraction(1), relation))
    return compared(configuration, universe, *groups(universe, relation, rows, (12,), 3))


def test_every_declaration_is_attacked() -> None:
    numeric, categorical = ({kind(domain) for domain in DOMAINS} for kind in (missing_number, missing_category))
    assert numeric == {None, Missing.CATEGORY, Missing.SKIP}
    assert numeric | categorical == {None, *Missing}


def missing_number(domain: Domain) -> Missing | None:
    return domain.numeric[0].missing


def missing_category(domain: Domain) -> Missing | None:
    return domain.categorical[0].missing


@pytest.mark.enumeration
@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.name)
@pytest.mark.parametrize("mechanism", PRIVATE)
def test_rows_without_a_value_cost_no_more_than_the_claim(
    mechanism: str, domain: Domain, relation: Neighbours, universes: Mapping[str, Universe]
) -> None:
    found = compared_groups(mechanism, universes[domain.name], relation, 2 if domain is HOURS else 1)
    assert found.findings == ()
    assert 0 < found.loss <= 1 + 1e-6


@pytest.mark.parametrize(("domain", "columns"), [(WAGES, 2), (HOURS, 1)], ids=["wages", "hours"])
def test_numbers_of_values_are_forced_as_well(domain: Domain, columns: int, universes: Mapping[str, Universe]) -> None:
    """A class has more rows than values, fewer, or as many; the first two scenarios are those of the quick audit."""
    for group in groups(universes[domain.name], ADD, 1, (12,), 5):
        assert len(group.sizes) == 5
        assert {len(sizes) for sizes in group.sizes} == {2 + 2 * columns}
        missing = [sizes[0] - sizes[2] for sizes in group.sizes]
        assert min(missing[:2]) < 0 < max(missing[:2])
        assert 0 in missing
        assert columns == 1 or missing == [sizes[3] for sizes in group.sizes]


FAULTS = [
    ("mechanisms/sample-sizes-of-columns", "smooth", YEARS, ADD, exhaustive.POST_PROCESSING),
    ("mechanisms/sample-sizes-of-columns", "global", YEARS, REPLACE, exhaustive.NOISE),
    ("mechanisms/sample-sizes-of-columns", "smooth", WAGES, ADD, exhaustive.POST_PROCESSING),
    ("mechanisms/sample-sizes-of-columns", "global-variance", HOURS, ADD, exhaustive.NOISE),
    ("mechanisms/presence-exact", "smooth", WAGES, ADD, exhaustive.POST_PROCESSING),
    ("mechanisms/presence-exact", "smooth", HOURS, REPLACE, exhaustive.QUERIES),
    ("mechanisms/present-rows-counted-twice", "smooth", WAGES, ADD, exhaustive.LOSS),
    ("mechanisms/present-rows-counted-twice", "smooth", WAGES, REPLACE, exhaustive.LOSS),
    ("mechanisms/presence-probability-exact", "smooth", WAGES, ADD, exhaustive.POST_PROCESSING),
    ("mechanisms/table-probability-exact", "smooth", YEARS, ADD, exhaustive.POST_PROCESSING),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "mechanism", "domain", "relation", "check"),
    FAULTS,
    ids=lambda value: value.name if isinstance(value, Domain) else str(value),
)
def test_a_fault_in_the_values_present_is_found(
    fault: str,
    mechanism: str,
    domain: Domain,
    relation: Neighbours,
    check: str,
    universes: Mapping[str, Universe],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch, fault)
    found = compared_groups(mechanism, universes[domain.name], relation, 1)
    assert check in {finding.check for finding in found.findings}, found.findings


@pytest.mark.parametrize(
    ("fault", "domain", "pair", "seen"),
    [
        ("rows/blank-category-drops", YEARS, "(", "otherwise than declared"),
        ("rows/blank-category-drops", WAGES, "None)", "otherwise than declared"),
        ("counting/duckdb-drops-blanks", WAGES, "together", "DuckDB"),
        ("counting/classes-of-a-table", WAGES, "None, None)", "otherwise than declared"),
    ],
)
def test_a_fault_in_counting_rows_without_a_value_is_found(
    fault: str, domain: Domain, pair: str, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, fault)
    _, findings = build_universe(domain)
    assert {finding.check for finding in findings} == {"aggregation"}
    assert any(pair in finding.pair and seen in finding.seen for finding in findings), findings


def test_a_query_that_drops_rows_without_a_value_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the comparison that ``test_engines_of_this_process`` makes for every random table."""
    rows = pa.table({"label": ["a", "b"], "number": [0.0, 50.0], "category": pa.array(["p", None], pa.string())})
    check(SQLite(), tmp_path, rows, WAGES)
    plant(monkeypatch, "dialects/query-drops-blanks")
    with pytest.raises(AssertionError):
        check(SQLite(), tmp_path, rows, WAGES)
