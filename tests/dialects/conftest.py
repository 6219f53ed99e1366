"""The databases, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.engines import DuckDB, Engine, Postgres, Spark, SQLite
from support.servers import PostgresServer
from support.spark import with_usual_settings


@pytest.fixture
def usual_spark(spark_session: Any) -> Any:
    """A session of Spark with the settings that Spark has by itself."""
    return with_usual_settings(spark_session)


@pytest.fixture
def postgres_connection(postgres: PostgresServer) -> Iterator[Any]:
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="adbc-driver-postgresql is not installed")
    with dbapi.connect(postgres.uri) as connection:
        yield connection


LIGHT = ["duckdb", "sqlite"]
QUICK = [*LIGHT, pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))]
ALL = [*QUICK, pytest.param("spark", marks=pytest.mark.xdist_group("spark"))]


@pytest.fixture(params=ALL)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    """Each database that can be run here."""
    return _engine(request, tmp_path)


@pytest.fixture(params=QUICK)
def quick_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    """Each database that answers in less than a second."""
    return _engine(request, tmp_path)


@pytest.fixture(params=LIGHT)
def light_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    """Each database within this process."""
    return _engine(request, tmp_path)


def _engine(request: pytest.FixtureRequest, folder: Path) -> Engine:
    match request.param:
        case "duckdb":
            return DuckDB(folder)
        case "sqlite":
            return SQLite()
        case "postgres":
            return Postgres(request.getfixturevalue("postgres_connection"))
        case _:
            return Spark(request.getfixturevalue("usual_spark"), folder)
