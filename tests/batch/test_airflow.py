"""The DAG beside docs/batch.md, imported and run by Airflow itself, in processes of its own."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from support.examples import charged, exit_codes, shell
from support.running import in_python

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("airflow") is None, reason="Airflow is not installed: pip install '.[airflow]'"
    ),
]

DAG_RUN = """
run = dpnb_airflow.dag.test()
tell(str(run.state), run.run_id, {task.task_id: str(task.state) for task in run.get_task_instances()})
"""

OPERATOR = """
from airflow.providers.standard.hooks.subprocess import SubprocessResult

def raised(code):
    operator = dpnb_airflow.DpnbOperator(task_id=f"ended-{code}", arguments=["--version"])
    operator.process.run_command = lambda *_, **__: SubprocessResult(code, "")
    try:
        operator.execute({})
    except Exception as error:
        return type(error).__name__

tell({code: raised(code) for code in CODES})
"""

KILLED = """
import threading, time

operator = dpnb_airflow.DpnbOperator(task_id="long", arguments=["simulate", "long.parquet", "--rows", "1000000000"])

def kill():
    while not list(Path().glob(".long.parquet.*.partial")):
        time.sleep(0.05)
    operator.on_kill()

threading.Thread(target=kill).start()
try:
    operator.execute({})
except Exception as error:
    tell(type(error).__name__, str(error))
"""


def airflow(program: str) -> Any:
    """What a program tells that has imported the DAG."""
    begin = "import json, sys\nfrom pathlib import Path\nsys.path.insert(0, 'dags')\nimport dpnb_airflow\n"
    tell = "def tell(*facts):\n    print('TOLD', json.dumps(facts))\n"
    ended = in_python("-c", begin + tell + program)
    told = [line.removeprefix("TOLD ") for line in ended.stdout.splitlines() if line.startswith("TOLD ")]
    assert len(told) == 1, ended.stdout + ended.stderr
    return json.loads(told[0])


@pytest.fixture
def installation(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow with the DAG, in the working directory."""
    (place / "dags").mkdir()
    (place / "dpnb_airflow.py").rename(place / "dags" / "dpnb_airflow.py")
    settings = {"HOME": place / "airflow", "_CORE__DAGS_FOLDER": place / "dags", "_CORE__LOAD_EXAMPLES": False}
    for name, value in settings.items():
        monkeypatch.setenv(f"AIRFLOW_{name}", str(value))
    monkeypatch.setenv("CENSUS_FOLDER", str(place))


def test_every_run_of_the_dag_is_charged_once_until_the_budget_is_used_up(installation: None) -> None:
    shell(f'"{sys.executable}" -m airflow db migrate && "{sys.executable}" -m airflow dags reserialize')
    shell("dpnb-columnar train --config job.toml --run-id before --output before.json")
    state, run, tasks = airflow(DAG_RUN)
    assert (state, tasks) == ("success", {"train": "success", "predict": "success"})
    assert charged() == ["before", run]
    assert Path("scored.parquet").exists()
    state, _, tasks = airflow(DAG_RUN)
    assert (state, tasks) == ("failed", {"train": "failed", "predict": "upstream_failed"})
    assert charged() == ["before", run]


def test_the_operator_lets_airflow_retry_what_may_pass(installation: None) -> None:
    codes = {**exit_codes(), -9: True, -15: True}
    [raised] = airflow(f"CODES = {[*codes]}\n{OPERATOR}")
    expected = {code: "AirflowException" if again else "AirflowFailException" for code, again in codes.items()}
    assert raised == {str(code): name for code, name in expected.items()} | {"0": None}


def test_a_task_that_airflow_ends_leaves_nothing_half_written(installation: None) -> None:
    kind, text = airflow(KILLED)
    assert (kind, text) == ("AirflowException", "dpnb-columnar ended with 143")
    assert not list(Path().glob("*long.parquet*"))
