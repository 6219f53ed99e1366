"""Spark for the tests of its engine, which all run in one process: it starts Java once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.spark import Cluster, started_cluster


@pytest.fixture(autouse=True)
def _spark(spark_installed: None) -> None:
    """Make every test of this folder one of Spark's, also one that forgets to ask for it."""


@pytest.fixture
def session(spark_session: Any) -> Any:
    """The session of this process, with unusual settings: the engine finds and uses it."""
    return spark_session


@pytest.fixture(scope="module")
def cluster(spark_installed: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers, each a process of its own."""
    with started_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running
