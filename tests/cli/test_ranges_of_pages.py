"""PostgreSQL counts a table by ranges of its pages where somebody watches: the counts of one query, with a share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import polars as pl
import pytest
from support.people import DECLARATION, people, people_domain, write_people
from support.running import Run
from support.servers import PostgresServer
from support.watching import Watching, progress_of

from dpnb_columnar.cli import console
from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.counting import database
from dpnb_columnar.counting.inputs import DatabaseInput
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import TemporaryError
from dpnb_columnar.rows.sources import parse_database
from dpnb_columnar.runtime.row_progress import Advance, watch_progress

pytestmark = pytest.mark.xdist_group("postgres")

ROWS = 3000
WEIGHT = 'weight = { column = "weight", cap = 3, step = 0.5 }\n\n'
WEIGHTED = DECLARATION.replace("[people.label]", f"{WEIGHT}[people.label]")


def rows(seed: int = 1) -> pl.DataFrame:
    """Rows of people with a weight, of households whose members are far apart."""
    place = pl.int_range(pl.len())
    return people(ROWS, seed).with_columns(weight=place % 7 / 2, household=place % 500)


@pytest.fixture(autouse=True)
def table(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A connection to the table "Ranged", whose every page is a range."""
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="adbc-driver-postgresql is not installed")
    monkeypatch.setattr(database, "LEAST_PAGES", 1)
    with dbapi.connect(postgres.uri, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("Ranged", rows().to_arrow(), mode="replace")
        yield cursor
        cursor.execute('DROP TABLE IF EXISTS "Ranged" CASCADE')


def counted(postgres: PostgresServer, watching: Watching, name: str = '"Ranged"', domain: Domain | None = None) -> Any:
    address = parse_database(postgres.uri)
    assert address is not None
    with watch_progress(watching):
        query = CellQuery(domain or people_domain())
        return DatabaseInput(address, name).check(query.domain).answer(query)


@pytest.mark.parametrize(
    ("weights", "declaration"), [("none", WEIGHTED), ("calibrated", DECLARATION), ("learned", WEIGHTED)]
)
def test_a_watched_release_is_that_of_one_query_with_shares(
    weights: str, declaration: str, postgres: PostgresServer, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "SECONDS_BETWEEN_EVENTS", -1.0)
    Path("datasets.toml").write_text(declaration)
    chosen = ("--dataset", "people", "--attribute-weights", weights, "--seed", 3)
    source = ("train", postgres.uri, "--table", '"Ranged"', *chosen)
    run(*source, "--output", "once.json")
    watched_run = run(*source, "--output", "ranges.json", "--log-format", "json")
    assert Path("ranges.json").read_bytes() == Path("once.json").read_bytes()
    shares: dict[str, list[float]] = {}
    for event in progress_of(watched_run.out):
        shares.setdefault(event["stage"], []).append(event["share"])
    counting = [stage for stage in shares if stage.startswith(("counting", "summing"))]
    assert len(counting) == {"none": 1, "calibrated": 2, "learned": 4}[weights]
    for stage in counting:
        assert len(shares[stage]) > 5
        assert shares[stage] == sorted(shares[stage])


class Writing(Watching):
    """Notes what is reported, and changes the table after every range."""

    def __init__(self, cursor: Any) -> None:
        super().__init__()
        self._cursor = cursor

    def begin(self, total: float | None, unit: str) -> Advance:
        advance = super().begin(total, unit)

        def change(amount: float) -> None:
            self._cursor.execute('INSERT INTO "Ranged" SELECT * FROM "Ranged" LIMIT 500')
            self._cursor.execute('DELETE FROM "Ranged" WHERE age > 80')
            advance(amount)

        return change


def test_all_ranges_are_of_one_moment(postgres: PostgresServer, table: Any) -> None:
    before, writing = counted(postgres, Watching()), Writing(table)
    assert counted(postgres, writing) == before
    assert sum(writing.done) == writing.total
    assert len(writing.done) > 5
    assert counted(postgres, Watching()) != before


class Reloading(Watching):
    """Notes what is reported, and lets another program reload the table just then, for which the count has to wait."""

    def __init__(self, uri: str) -> None:
        super().__init__()
        self._uri = uri

    def begin(self, total: float | None, unit: str) -> Advance:
        from adbc_driver_postgresql import dbapi

        self._reload = dbapi.connect(self._uri)
        with self._reload.cursor() as cursor:
            cursor.execute('TRUNCATE "Ranged"')
            cursor.adbc_ingest("Ranged", rows(seed=2).to_arrow(), mode="append")
        self._commit = Thread(target=self._commit_once_awaited)
        self._commit.start()
        return super().begin(total, unit)

    def _commit_once_awaited(self) -> None:
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(self._uri, autocommit=True) as connection, connection.cursor() as cursor:
            awaited = False
            while not awaited:
                cursor.execute("SELECT EXISTS(SELECT 1 FROM pg_locks WHERE NOT granted)")
                (awaited,) = cursor.fetchone()
        self._reload.commit()
        self._reload.close()

    def end(self) -> None:
        self._commit.join()


def test_a_table_that_is_being_reloaded_is_counted_once_it_is(postgres: PostgresServer, table: Any) -> None:
    reloading = Reloading(postgres.uri)
    after = counted(postgres, reloading)
    reloading.end()
    assert after.class_counts.sum() == ROWS
    assert after == counted(postgres, Watching())


@pytest.mark.parametrize("pages", [[2], [2, 5], [2**32 - 1]])
def test_a_table_that_has_another_size_by_now_is_counted_as_a_whole(
    pages: list[int], postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows on pages that came, or went, after the size was asked for."""
    now = counted(postgres, Watching())
    monkeypatch.setattr(database, "table_sizes", lambda *_: pages)
    watching = Watching()
    assert counted(postgres, watching) == now
    assert len(watching.done) > 1
    assert sum(watching.done) == watching.total == sum(pages)


@pytest.mark.parametrize(
    ("statements", "name"),
    [
        (['CREATE VIEW ranged_view AS SELECT * FROM "Ranged"'], "ranged_view"),
        (['CREATE TABLE ranged_child () INHERITS ("Ranged")', 'INSERT INTO ranged_child SELECT * FROM "Ranged"'], None),
        (['ALTER TABLE "Ranged" ENABLE ROW LEVEL SECURITY'], None),
    ],
)
def test_what_has_no_pages_of_its_own_is_one_query(
    statements: list[str], name: str | None, postgres: PostgresServer, table: Any
) -> None:
    for statement in statements:
        table.execute(statement)
    watching = Watching()
    assert counted(postgres, watching, name or '"Ranged"').class_counts.sum() == ROWS * len(statements)
    assert watching.units == []


def test_partitions_are_read_by_the_same_ranges(postgres: PostgresServer, table: Any) -> None:
    try:
        table.execute('CREATE TABLE ranged_whole (LIKE "Ranged") PARTITION BY LIST (sex)')
        assert counted(postgres, Watching(), "ranged_whole").class_counts.sum() == 0
        table.execute("CREATE TABLE ranged_f PARTITION OF ranged_whole FOR VALUES IN ('f') PARTITION BY RANGE (age)")
        table.execute("CREATE TABLE ranged_young PARTITION OF ranged_f FOR VALUES FROM (0) TO (30)")
        table.execute("CREATE TABLE ranged_old PARTITION OF ranged_f DEFAULT")
        table.execute("CREATE TABLE ranged_other PARTITION OF ranged_whole DEFAULT")
        table.execute('INSERT INTO ranged_whole SELECT * FROM "Ranged"')
        watching = Watching()
        assert counted(postgres, watching, "ranged_whole") == counted(postgres, Watching())
        assert watching.units == ["pages"]
        assert len(watching.done) > 5
        assert sum(watching.done) == watching.total
        table.execute("ALTER TABLE ranged_old ENABLE ROW LEVEL SECURITY")
        counted(postgres, watching, "ranged_whole")
        assert watching.units == ["pages"]
    finally:
        table.execute("DROP TABLE IF EXISTS ranged_whole")


def test_who_was_granted_columns_and_no_table_counts_by_one_query(postgres: PostgresServer, table: Any) -> None:
    """Neither the lock nor the place of a row is for them."""
    table.execute("CREATE ROLE reader")
    try:
        table.execute('GRANT SELECT (age, hours, sex, income, weight, household) ON "Ranged" TO reader')
        reader, watching = replace(postgres, uri=f"{postgres.uri}?options=-c%20role%3Dreader"), Watching()
        assert counted(reader, watching).class_counts.sum() == ROWS
        assert watching.units == []
    finally:
        table.execute("DROP OWNED BY reader")
        table.execute("DROP ROLE reader")


def test_rows_of_a_unit_are_never_taken_apart(
    postgres: PostgresServer, table: Any, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "SECONDS_BETWEEN_EVENTS", -1.0)
    write_people(Path("people.parquet"), rows())
    Path("datasets.toml").write_text(DECLARATION)
    chosen = ("--dataset", "people", "--unit", "household", "--unit-rows", 2, "--seed", 3, "--log-format", "json")
    run("train", "people.parquet", *chosen, "--output", "file.json")
    ended = run("train", postgres.uri, "--table", '"Ranged"', *chosen, "--output", "table.json")
    assert Path("table.json").read_bytes() == Path("file.json").read_bytes()
    assert not [event for event in progress_of(ended.out) if event["stage"] == "counting"]


def test_wide_tables_of_counts_have_few_ranges(postgres: PostgresServer) -> None:
    watching = Watching()
    narrow = people_domain()
    document = {
        "label": {"column": "income", "classes": ["low", "high"]},
        "attributes": {"age": {"lower": 0, "upper": 10**6, "step": 1}},
    }
    counted(postgres, watching, domain=narrow)
    assert watching.units == ["pages"]
    assert len(watching.done) == watching.total
    counted(postgres, watching, domain=people_domain(document))
    assert watching.units == ["pages"]


class Ending(Watching):
    """Ends every other connection once the first range is counted."""

    def __init__(self, cursor: Any) -> None:
        super().__init__()
        self._cursor = cursor

    def begin(self, total: float | None, unit: str) -> Advance:
        others = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type = 'client backend'"
        return lambda amount: self._cursor.execute(f"{others} AND pid <> pg_backend_pid()")


def test_a_connection_that_is_lost_between_two_ranges_may_be_tried_again(postgres: PostgresServer, table: Any) -> None:
    with pytest.raises(TemporaryError, match="the connection is lost"):
        counted(postgres, Ending(table))
