"""Imports point down, and never from the public side to the private one: the contracts of ``pyproject.toml`` hold.

import-linter reads every import statement, also those inside functions. What is loaded at run time is looked at as
well, each time in a process of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PACKAGE = CHECKOUT / "dpnb_columnar"
PRIVATE_SIDE = "counting"
ENGINES = ("polars", "duckdb", "pyarrow")


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of the checkout in this folder, whatever is installed."""
    program = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    return python(program, folder)


def python(program: str, folder: Path = CHECKOUT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the checkout's package and contracts."""
    shutil.copytree(PACKAGE, tmp_path / "dpnb_columnar", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "pyproject.toml", tmp_path)
    return tmp_path


def test_contracts_are_kept() -> None:
    ended = lint_imports(CHECKOUT)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " 0 broken" in ended.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("model/document.py", f"from dpnb_columnar.{PRIVATE_SIDE}.statistics import Statistics"),
        ("model/parameters.py", "import dpnb_columnar.core.mechanisms.mechanism"),
        ("model/polars_terms.py", "from dpnb_columnar.core.noise import ExactSampler"),
        ("model/scoring.py", "import dpnb_columnar.core.sensitivity"),
        ("domain/numbers.py", f"import dpnb_columnar.{PRIVATE_SIDE}.statistics"),
        ("domain/attributes.py", "import dpnb_columnar.rows.parquet"),
        ("core/mechanisms/mechanism.py", "import polars"),
        ("advice/population.py", "import polars"),
        ("advice/rehearsal.py", "import dpnb_columnar.rows.parquet"),
        ("core/mechanisms/smooth.py", "import dpnb_columnar.rows.parquet"),
        ("core/mechanisms/release.py", "from dpnb_columnar.runtime.outputs import atomic_output"),
        (f"{PRIVATE_SIDE}/statistics.py", "import dpnb_columnar.core.noise"),
        (f"{PRIVATE_SIDE}/engines/local.py", "import dpnb_columnar.model.document"),
        ("cli/verbs/train.py", "import dpnb_columnar.counting.suggestion"),
        ("cli/verbs/train.py", "from dpnb_columnar.cli.verbs import suggest_domain"),
        ("dialects/nodes.py", "import dpnb_columnar.core.noise"),
        ("extracts/codebooks/ddi.py", "import dpnb_columnar.core.mechanisms.mechanism"),
        ("extracts/fixed_width.py", f"import dpnb_columnar.{PRIVATE_SIDE}.statistics"),
        ("ledger/accounts.py", "import dpnb_columnar.model.document"),
        ("rows/databases.py", "import dpnb_columnar.model.document"),
        ("core/sensitivity/columns.py", "import dpnb_columnar.domain"),
        ("core/noise/sampler.py", "import dpnb_columnar.core.mechanisms.release"),
        ("errors.py", "import dpnb_columnar.domain"),
        ("domain/declared_domain.py", "import dpnb_columnar.domain.catalogue"),
        ("model/parameters.py", "import dpnb_columnar.model.document"),
        ("rows/row_rules.py", "import dpnb_columnar.rows.parquet"),
        (f"{PRIVATE_SIDE}/statistics.py", f"import dpnb_columnar.{PRIVATE_SIDE}.file_parts"),
        ("core/mechanisms/score_release.py", "import dpnb_columnar.evaluation.released_scores"),
        ("ledger/accounts.py", "import dpnb_columnar.training"),
    ],
)
def test_planted_import_breaks_a_contract(module: str, line: str, copy: Path) -> None:
    path = copy / "dpnb_columnar" / module
    # Inside a function, where nothing is loaded before it is called.
    path.write_text(f"{path.read_text()}\n\ndef planted() -> None:\n    {line}\n")
    ended = lint_imports(copy)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert re.search(r"[1-9] broken", ended.stdout)


def loaded(program: str) -> set[str]:
    """Names of all modules that are loaded when the program has run."""
    ended = python(f"{program}\nimport sys\nprint(*sys.modules)")
    assert ended.returncode == 0, ended.stderr
    return set(ended.stdout.split())


@pytest.mark.slow
def test_release_loads_no_engine() -> None:
    program = f"""
import numpy as np
from dpnb_columnar.{PRIVATE_SIDE}.statistics import Cells, assemble
from dpnb_columnar.core.mechanisms.plan import MECHANISMS, plan
from dpnb_columnar.core.mechanisms.release import release
from dpnb_columnar.core.budget import Budget, parse_epsilon
from dpnb_columnar.domain import read_domain
from dpnb_columnar.core.noise import ExactSampler, SystemBits

document = {{
    "label": {{"column": "y", "classes": ["a", "b"]}},
    "attributes": {{"x": {{"lower": 0, "upper": 9, "step": 1}}, "k": {{"values": ["p", "q"]}}}},
}}
domain = read_domain("test", document, "test")
classes, codes, counts = np.array([0, 1]), np.array([0, 0]), np.array([50, 70])
statistics = assemble(domain, [Cells(name, classes, codes, counts) for name in (None, "x", "k")])
for mechanism in MECHANISMS:
    release(statistics, plan(domain, Budget(parse_epsilon("1")), mechanism), ExactSampler(SystemBits()))
"""
    modules = loaded(program)
    assert "dpnb_columnar.core.mechanisms.smooth" in modules
    assert modules.isdisjoint(ENGINES)
    assert not any(name.startswith(("dpnb_columnar.rows", "dpnb_columnar.runtime.outputs")) for name in modules)


@pytest.mark.slow
def test_advice_loads_no_engine() -> None:
    program = """
from dpnb_columnar.advice.recommendation import advise
from dpnb_columnar.core.budget import Budget, parse_epsilon
from dpnb_columnar.domain import read_domain

attributes = {"x": {"lower": 0, "upper": 9, "step": 1}, "k": {"values": ["p", "q"]}}
domain = read_domain("test", {"label": {"column": "y", "classes": ["a", "b"]}, "attributes": attributes}, "test")
advise(domain, Budget(parse_epsilon("1")), 1000)
"""
    modules = loaded(program)
    assert modules.isdisjoint(ENGINES)
    assert not any(name.startswith(("dpnb_columnar.rows", "dpnb_columnar.runtime.outputs")) for name in modules)


@pytest.mark.slow
def test_public_side_loads_nothing_private() -> None:
    names = [path.stem for path in (PACKAGE / "model").glob("*.py") if path.stem != "__init__"]
    modules = loaded(
        "\n".join(["import dpnb_columnar.model", *(f"import dpnb_columnar.model.{name}" for name in names)])
    )
    assert {f"dpnb_columnar.model.{name}" for name in names} <= modules
    private = (PRIVATE_SIDE, "mechanisms", "sensitivity", "noise")
    assert not [name for name in modules if name.startswith(tuple(f"dpnb_columnar.{part}" for part in private))]
    assert "flint" not in modules


def test_public_facts_load_no_engine_and_no_numpy() -> None:
    modules = loaded(
        "import dpnb_columnar, dpnb_columnar.core.budget, dpnb_columnar.domain, dpnb_columnar.domain.catalogue"
    )
    assert modules.isdisjoint({*ENGINES, "numpy", "scipy", "flint"})
