"""A standalone cluster of Spark's own on loopback: a master and two workers, stopped again for certain."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from urllib.request import urlopen

MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
WORKERS = 2
PATIENCE = 120.0

DEFAULTS = """\
spark.driver.memory 600m
spark.executor.memory 600m
spark.executor.cores 1
spark.driver.host 127.0.0.1
spark.driver.bindAddress 127.0.0.1
spark.sql.shuffle.partitions 4
"""


@dataclass(frozen=True)
class Cluster:
    """A running cluster.

    Attributes:
        master: Its address.
        configuration: Folder with the configuration for who uses it.
        pages: Address of the master's pages.
    """

    master: str
    configuration: Path
    pages: str

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a process that uses it."""
        return environment(self.configuration)

    def state(self) -> dict[str, list[dict[str, object]]]:
        """What the master says of its workers and applications."""
        with urlopen(f"{self.pages}/json/", timeout=10) as answer:
            found: dict[str, list[dict[str, object]]] = json.load(answer)
            return found


def environment(configuration: Path) -> dict[str, str]:
    """Variables for a process of Spark on loopback."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DPNB_", "SPARK_"))}
    return kept | {"SPARK_CONF_DIR": str(configuration), "SPARK_LOCAL_IP": "127.0.0.1", "COLUMNS": "100"}


def configured(folder: Path, text: str = DEFAULTS) -> Path:
    """A folder with a configuration of Spark."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spark-defaults.conf").write_text(text)
    return folder


@contextmanager
def started_cluster(folder: Path) -> Iterator[Cluster]:
    """Start a cluster whose files are in a folder."""
    port, page, *pages = (free_port() for _ in range(2 + WORKERS))
    cluster = Cluster(f"spark://127.0.0.1:{port}", configured(folder / "conf"), f"http://127.0.0.1:{page}")
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
    """Wait until it holds."""
    end = time.monotonic() + PATIENCE
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
    variables = {**variables, "SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m"}
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
