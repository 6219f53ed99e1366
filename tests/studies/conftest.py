"""The data and the results of a small plan."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from support import mini_plan
from support.mini_plan import QUICK
from support.running import Run

from studies.paper import experiments as plans
from studies.paper.__main__ import app


@pytest.fixture
def run(run: Run) -> Run:
    """Run ``python -m studies.paper`` as the fixture of this name runs the command line."""
    return partial(run, program=app)


@pytest.fixture
def data(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The mini plan stands for the quick one, and the working directory holds its data."""
    monkeypatch.setattr(plans, "QUICK", mini_plan.PLAN)
    monkeypatch.setattr(plans, "FULL", replace(mini_plan.PLAN, mode="full"))
    return mini_plan.write_data(folder)


@pytest.fixture
def done(data: Path, run: Run) -> Path:
    run(*QUICK, "--study", "bounds", "--mechanism", "none")
    return Path("results.parquet")
