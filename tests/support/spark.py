"""Spark on loopback: a configuration, a session in this process, and a standalone cluster that is certain to stop."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.request import urlopen

MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
WORKERS = 2
PATIENCE = 120.0

UNUSUAL_SETTINGS = {
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

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options for a Java process that lives for seconds: without the optimising compiler, a run takes half the CPU time."""

DEFAULTS = f"""\
spark.driver.memory 600m
spark.driver.extraJavaOptions {SHORT_LIVED}
spark.executor.memory 600m
spark.executor.extraJavaOptions {SHORT_LIVED}
spark.executor.cores 1
spark.driver.host 127.0.0.1
spark.driver.bindAddress 127.0.0.1
spark.sql.shuffle.partitions 4
"""


@dataclass(frozen=True)
class Cluster:
    """A running cluster."""

    master: str
    configuration: Path
    pages: str

    @property
    def environment(self) -> dict[str, str]:
        return environment(self.configuration)

    def state(self) -> dict[str, list[dict[str, object]]]:
        """What the master says of its workers and applications."""
        with urlopen(f"{self.pages}/json/", timeout=10) as answer:
            found: dict[str, list[dict[str, object]]] = json.load(answer)
            return found


def environment(configuration: Path) -> dict[str, str]:
    others = {name: value for name, value in os.environ.items() if not name.startswith(("DPNB_", "SPARK_"))}
    spark = {"SPARK_CONF_DIR": str(configuration), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LAUNCHER_OPTS": SHORT_LIVED}
    return others | spark | {"COLUMNS": "100"}


def configured(folder: Path, text: str = DEFAULTS) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spark-defaults.conf").write_text(text)
    return folder


@contextmanager
def local_session(warehouse: Path) -> Iterator[Any]:
    """A session of two threads in this process whose settings are as unusual as they can be."""
    settings = UNUSUAL_SETTINGS | {
        "spark.driver.extraJavaOptions": SHORT_LIVED,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(warehouse),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own, about itself
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def with_usual_settings(session: Any) -> Any:
    """A session beside this one, with the settings that Spark has by itself."""
    usual = session.newSession()
    for name in UNUSUAL_SETTINGS:
        usual.conf.unset(name)
    return usual


@contextmanager
def started_cluster(folder: Path) -> Iterator[Cluster]:
    port, page, *pages = (free_port() for _ in range(2 + WORKERS))
    address = f"spark://127.0.0.1:{port}"
    conf = configured(folder / "conf", f"{DEFAULTS}spark.master {address}\n")
    cluster = Cluster(address, conf, f"http://127.0.0.1:{page}")
    with ExitStack() as stack:
        master = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page)]
        stack.enter_context(_running([MASTER, *master], folder / "master", cluster.environment))
        wait_for(lambda: _answers(cluster), "the master")
        for number, own in enumerate(pages):
            place = folder / f"worker-{number}"
            options = ["--host", "127.0.0.1", "--cores", "1", "--memory", "700m", "--webui-port", str(own)]
            command = [WORKER, *options, "--work-dir", str(place / "work"), cluster.master]
            stack.enter_context(_running(command, place, cluster.environment))
        wait_for(lambda: len(alive(cluster)) == WORKERS, "the workers")
        yield cluster


def alive(cluster: Cluster) -> list[dict[str, object]]:
    """The workers that the master counts on."""
    return [worker for worker in cluster.state()["workers"] if worker["state"] == "ALIVE"]


def executors() -> dict[str, int]:
    """Process numbers of the executors of this machine's workers, by executor id and application."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = entry.read_bytes().decode(errors="replace").split("\0")
            if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in words:
                given = dict(pairwise(words))
                found[f"{given['--app-id']} {given['--executor-id']}"] = int(entry.parent.name)
    return found


def wait_for(condition: Callable[[], bool], what: str) -> None:
    from support.patience import patience  # a plugin, which nothing may load before pytest does

    end = time.monotonic() + patience(PATIENCE)
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.1)


def free_port() -> int:
    """A port of loopback that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(cluster: Cluster) -> bool:
    try:
        return bool(cluster.state())
    except OSError:
        return False


@contextmanager
def _running(command: list[str], folder: Path, variables: dict[str, str]) -> Iterator[None]:
    import pyspark

    home = Path(pyspark.__file__).parent
    folder.mkdir()
    variables |= {"SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [home / "bin" / "spark-class", *command],
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # its executors are in its group
            process.wait()


def command_line(*arguments: object) -> list[str]:
    """``dpnb-columnar`` in a process of its own."""
    return [sys.executable, "-m", "dpnb_columnar", *map(str, arguments)]
