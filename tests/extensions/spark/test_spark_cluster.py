"""A cluster of several processes counts what one process counts, also when one of its executors is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest
from support.patience import patience
from support.running import Run
from support.spark import Cluster, command_line, executors

from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.counting import local
from dpnb_columnar.counting.answer_files import load_statistics
from dpnb_columnar.counting.find_domain import find_domain
from dpnb_columnar.rows.parquet import open_parquet
from dpnb_columnar.simulation import simulate_census

FILES, ROWS = 24, 4000


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shards")
    for number in range(FILES):
        simulate_census(folder / f"census-{number:02}.parquet", rows=ROWS, seed=number)
    return folder


def done(cluster: Cluster, folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(
        command_line(*arguments),
        cwd=folder,
        env=cluster.environment,
        capture_output=True,
        text=True,
        timeout=patience(280),
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended


def test_train_gives_the_same_bytes(cluster: Cluster, shards: Path, tmp_path: Path, run: Run) -> None:
    applications = len(cluster.state()["completedapps"])
    spark = ("--engine", "spark")
    there = done(cluster, tmp_path, "train", shards, "--seed", 3, "--output", "there.json", *spark)
    here = run("train", shards, "--seed", 3, "--output", tmp_path / "here.json")
    assert (tmp_path / "there.json").read_bytes() == (tmp_path / "here.json").read_bytes()
    assert there.stderr == here.err
    assert len(cluster.state()["completedapps"]) == applications + 1
    assert cluster.state()["activeapps"] == []


PROGRAM = """
import sys, threading, time, warnings
from pathlib import Path
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
import dpnb_columnar as dpnb
from dpnb_columnar.cli.main import exit_code
from dpnb_columnar.counting.answer_files import save_answer

builder = SparkSession.builder.master(sys.argv[1]).config("spark.ui.enabled", "false")
# One file a task, and none of the lost executor's results are kept elsewhere.
session = builder.config("spark.sql.files.maxPartitionBytes", "64k").getOrCreate()
session.sparkContext.setLogLevel("OFF")
store = session._jsc.sc().statusStore()

def executors():
    found = store.executorList(False)
    return [found.apply(place) for place in range(found.size())]

def watch():
    told = False
    while not told:
        for each in executors():
            if each.id() != "driver" and each.isActive() and each.completedTasks() >= 1 and each.activeTasks() >= 1:
                print("busy", session.sparkContext.applicationId, each.id(), flush=True)
                told = True
                break
        time.sleep(0.02)

threading.Thread(target=watch, daemon=True).start()
statistics = dpnb.aggregate(sys.argv[2], engine="spark")
save_answer(statistics, Path(sys.argv[3]))
stages = store.stageList(None, False, False, session._sc._gateway.new_array(session._jvm.double, 0), None)
lost = 0
for place in range(stages.size()):
    stage = stages.apply(place)
    lost += stage.numFailedTasks() + stage.numKilledTasks() + (stage.attemptId() > 0)
for each in executors():
    if each.id() != "driver":
        print("executor", each.id(), each.isActive(), each.totalTasks(), flush=True)
print("lost", lost, flush=True)
engine = ["--engine", "spark"]
code = exit_code(["aggregate", f"file:{sys.argv[2]}/census-0*.parquet", "--output", sys.argv[4], *engine])
session.stop()
sys.exit(code)
"""


def test_an_executor_that_is_killed_changes_nothing(cluster: Cluster, shards: Path, tmp_path: Path) -> None:
    """It has finished a task and is in the middle of another one when it is killed; Spark runs both again.

    The command line then counts some of the files in the same application.
    """
    target, some = tmp_path / "there.parquet", tmp_path / "some.parquet"
    command = [sys.executable, "-c", PROGRAM, cluster.master, str(shards), str(target), str(some)]
    killed = ""
    facts: dict[str, list[list[str]]] = {"executor": [], "lost": []}
    with subprocess.Popen(command, env=cluster.environment, stdout=subprocess.PIPE, text=True) as process:
        guard = threading.Timer(240, process.kill)
        guard.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                what, *words = line.split()
                if what == "busy":
                    application, killed = words
                    os.kill(executors()[f"{application} {killed}"], signal.SIGKILL)
                elif what in facts:
                    facts[what].append(words)
        finally:
            guard.cancel()
    assert process.returncode == 0
    assert killed, "no executor was seen at work"
    active = {name: is_active for name, is_active, _ in facts["executor"]}
    assert active[killed] == "False"
    assert set(active.values()) == {"True", "False"}
    assert int(facts["lost"][0][0]) > 0, "no task was lost with the executor"
    files = sorted(shards.iterdir())
    domain = find_domain(files).domain
    assert load_statistics(target) == local.answer(open_parquet(files, domain), CellQuery(domain))
    assert pl.read_parquet(target)["count"].min() > 0
    there, here = load_statistics(some), local.answer(open_parquet(files[:10], domain), CellQuery(domain))
    assert there == here
    assert there.parts == here.parts
