"""Train a model every night, charged to the ledger, and score new rows with it: a DAG for Airflow.

Airflow's run id is the run id of the ledger. However often a task is retried, or cleared by hand, its night is charged
once and has one model.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from airflow.providers.standard.hooks.subprocess import SubprocessHook
from airflow.sdk import DAG, BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

FOLDER = os.environ.get("CENSUS_FOLDER", "/srv/census")
"""Folder of job.toml, the data and the ledger, on a local disk."""

NOT_AGAIN = frozenset({64, 65, 66, 69, 73, 77, 78})
"""Exit codes that a retry would meet again; other codes, and signals, may not come back."""


class DpnbOperator(BaseOperator):
    """Run ``dpnb-columnar``, and let Airflow retry the failures that a retry can mend."""

    template_fields = ("arguments",)

    def __init__(self, *, arguments: Sequence[str], **options: Any) -> None:
        super().__init__(**options)
        self.arguments = arguments

    @cached_property
    def process(self) -> SubprocessHook:
        return SubprocessHook()

    def execute(self, context: Any) -> None:
        """Run the program to its end.

        Raises:
            AirflowFailException: if a retry would fail as well.
            AirflowException: if a retry may succeed.
        """
        code = self.process.run_command(["dpnb-columnar", *self.arguments], cwd=FOLDER).exit_code
        if code in NOT_AGAIN:
            raise AirflowFailException(f"dpnb-columnar ended with {code}: see its last event, and docs/batch.md")
        if code:
            raise AirflowException(f"dpnb-columnar ended with {code}")

    def on_kill(self) -> None:
        """End the program in order: no output is left half written, and the ledger knows the run id."""
        self.process.send_sigterm()


with DAG(
    "census_nightly",
    schedule="30 1 * * *",
    start_date=datetime(2026, 11, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=10)},
) as dag:
    train = DpnbOperator(task_id="train", arguments=["train", "--config", "job.toml", "--run-id", "{{ run_id }}"])
    predict = DpnbOperator(task_id="predict", arguments=["predict", "--config", "job.toml"])
    train >> predict
