"""Spark for tests: a session whose defaults are as bad as they can be, and a real cluster of several processes."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.cluster import Cluster, started_cluster

NO_JAVA = "no Java, which Spark needs"

BAD_DEFAULTS = {
    "spark.sql.caseSensitive": "false",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.parser.quotedRegexColumnNames": "true",
    "spark.sql.variable.substitute": "true",
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.parquet.binaryAsString": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY",
    "spark.sql.parquet.fieldId.read.enabled": "true",
    "spark.sql.parquet.mergeSchema": "true",
}
"""What a cluster may have been set to; each changes what some query means."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark_installed() -> Any:
    """pyspark, with Java to run it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip(NO_JAVA)
    return sql


@pytest.fixture(scope="module")
def session(spark_installed: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Spark of two threads with bad defaults, for the tests of a module: the engine finds and uses it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own, about itself
        builder = spark_installed.SparkSession.builder.master("local[2]")
        for name, value in BAD_DEFAULTS.items():
            builder = builder.config(name, value)
        found = (
            builder.config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
            .getOrCreate()
        )
        found.sparkContext.setLogLevel("OFF")
        yield found
        found.stop()


@pytest.fixture(scope="module")
def cluster(spark_installed: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers, each a process of its own."""
    with started_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running
