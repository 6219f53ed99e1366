"""Spark for the tests of its engine, which all run in one process: it starts Java once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.spark import Cluster, started_cluster


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def session(spark_session: Any) -> Any:
    """The session of this process, with unusual settings: the engine finds and uses it."""
    return spark_session


@pytest.fixture(scope="module")
def cluster(spark_installed: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers, each a process of its own."""
    with started_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running
