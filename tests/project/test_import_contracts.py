"""Imports point down, never from the public side to the private one, and to declared libraries alone.

import-linter reads every import statement, also those inside functions. What is loaded at run time is looked at as
well, each time in a process of its own.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
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
        ("model/score_batches.py", "from dpnb_columnar.core.noise import ExactSampler"),
        ("model/scoring.py", "import dpnb_columnar.core.sensitivity"),
        ("domain/names.py", f"import dpnb_columnar.{PRIVATE_SIDE}.statistics"),
        ("domain/attributes.py", "import dpnb_columnar.rows.parquet"),
        ("core/mechanisms/mechanism.py", "import polars"),
        ("advice/population.py", "import polars"),
        ("advice/rehearsal.py", "import dpnb_columnar.rows.parquet"),
        ("core/mechanisms/smooth.py", "import dpnb_columnar.rows.parquet"),
        ("releases/model_plan.py", "from dpnb_columnar.runtime.outputs import atomic_output"),
        ("core/queries/statistics.py", "import dpnb_columnar.core.noise"),
        (f"{PRIVATE_SIDE}/local.py", "import dpnb_columnar.model.document"),
        ("cli/verbs/train.py", "import dpnb_columnar.counting.suggestion"),
        ("cli/verbs/train.py", "from dpnb_columnar.cli.verbs import suggest_domain"),
        ("rows/row_rules.py", "import dpnb_columnar.core.noise"),
        ("extracts/codebooks/read.py", "import dpnb_columnar.core.mechanisms.mechanism"),
        ("extracts/decode.py", f"import dpnb_columnar.{PRIVATE_SIDE}.statistics"),
        ("ledger/accounts.py", "import dpnb_columnar.model.document"),
        ("rows/databases.py", "import dpnb_columnar.model.document"),
        ("core/sensitivity/columns.py", "import dpnb_columnar.domain"),
        ("core/noise/sampler.py", "import dpnb_columnar.releases.model_plan"),
        ("errors.py", "import dpnb_columnar.domain"),
        ("domain/declared_domain.py", "import dpnb_columnar.domain.catalogue"),
        ("model/parameters.py", "import dpnb_columnar.model.document"),
        ("core/queries/statistics.py", f"import dpnb_columnar.{PRIVATE_SIDE}.countable"),
        ("ledger/accounts.py", "import dpnb_columnar.training"),
        ("api/__init__.py", "import dpnb_columnar.extensions.attack"),
        ("core/mechanisms/smooth_noise.py", "from dpnb_columnar.extensions.concentrated import log_normal"),
        ("extensions/attack/model_attack.py", "from dpnb_columnar.extensions.audit import exhaustive"),
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
    ended = python(f"{program}\nimport sys\nprint(*sys.modules)")
    assert ended.returncode == 0, ended.stderr
    return set(ended.stdout.split())


@pytest.mark.slow
def test_release_loads_no_engine() -> None:
    program = """
import numpy as np
from dpnb_columnar.core.queries.statistics import Cells, assemble
from dpnb_columnar.mechanisms import OWN
from dpnb_columnar.releases.plan import plan
from dpnb_columnar.releases.model_plan import release
from dpnb_columnar.core.budget import Budget, parse_epsilon
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.core.noise import ExactSampler, SystemBits

document = {
    "label": {"column": "y", "classes": ["a", "b"]},
    "attributes": {"x": {"lower": 0, "upper": 9, "step": 1}, "k": {"values": ["p", "q"]}},
}
domain = read_domain("test", document, "test")
classes, codes, counts = np.array([0, 1]), np.array([0, 0]), np.array([50, 70])
statistics = assemble(domain, [Cells(name, classes, codes, counts) for name in (None, "x", "k")])
for mechanism in OWN:
    release(statistics, plan(domain, Budget(parse_epsilon("1")), mechanism), ExactSampler(SystemBits()))
"""
    modules = loaded(program)
    assert "dpnb_columnar.core.mechanisms.smooth" in modules
    assert modules.isdisjoint(ENGINES)
    assert not any(name.startswith(("dpnb_columnar.rows", "dpnb_columnar.runtime.outputs")) for name in modules)


@pytest.mark.slow
def test_advice_loads_no_engine() -> None:
    program = """
from dpnb_columnar.advice.rehearsal import advise
from dpnb_columnar.core.budget import Budget, parse_epsilon
from dpnb_columnar.domain.declaration import read_domain

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
    private = (PRIVATE_SIDE, "core.sensitivity", "core.noise", "core.mechanisms.mechanism", "core.mechanisms.smooth")
    assert not [name for name in modules if name.startswith(tuple(f"dpnb_columnar.{part}" for part in private))]
    assert "flint" not in modules


def test_public_facts_load_no_engine_and_no_numpy() -> None:
    modules = loaded(
        "import dpnb_columnar, dpnb_columnar.core.budget, dpnb_columnar.domain, dpnb_columnar.domain.catalogue"
    )
    assert modules.isdisjoint({*ENGINES, "numpy", "scipy", "flint"})


ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TOOLS = {"test", "lint", "benchmark", "docs"}
"""Extras for those who work on the package; its own code must not need them."""
OPTIONAL_DISTRIBUTIONS = {"pyspark": "pyspark", "py4j": "pyspark", "deltalake": "deltalake", "pyiceberg": "pyiceberg"}
"""Of libraries that may not be installed where the tests run: py4j comes with pyspark."""
NOT_IMPORTED = {"apache-airflow"}
"""Declared for others: it runs the commands."""


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield top-level names of modules that are imported when the code runs, not for type checkers alone."""
    if isinstance(tree, ast.If) and "TYPE_CHECKING" in ast.unparse(tree.test):
        return
    if isinstance(tree, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in tree.names)
    elif isinstance(tree, ast.ImportFrom) and tree.module and not tree.level:
        yield tree.module.partition(".")[0]
    for child in ast.iter_child_nodes(tree):
        yield from imported(child)


def distributions_imported() -> set[str]:
    files = [*(ROOT / "dpnb_columnar").rglob("*.py"), ROOT / "cli.py"]
    names = {name for file in files for name in imported(ast.parse(file.read_text()))}
    installed = packages_distributions()
    foreign = names - sys.stdlib_module_names - {"dpnb_columnar"}
    return {normalised(OPTIONAL_DISTRIBUTIONS.get(name) or installed.get(name, [name])[0]) for name in foreign}


def declared(requirements: list[str]) -> set[str]:
    return {normalised(re.split(r"[ \[<>=!~;]", requirement)[0]) for requirement in requirements}


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.slow
def test_imports_are_the_declared_dependencies() -> None:
    extras = PROJECT["optional-dependencies"]
    optional = [requirement for name in extras.keys() - TOOLS for requirement in extras[name]]
    assert distributions_imported() == declared([*PROJECT["dependencies"], *optional]) - NOT_IMPORTED


def test_a_planted_import_is_seen() -> None:
    code = "import a.b\nif TYPE_CHECKING:\n    import c\ndef f():\n    from d.e import f\n    from . import g\n"
    assert set(imported(ast.parse(code))) == {"a", "d"}


def test_remedies_name_what_can_be_installed() -> None:
    """Messages, help and pages offer extras that there are, of the name that the package has."""
    places = [*(ROOT / "dpnb_columnar").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    places += [ROOT / "CONTRIBUTING.md", *(ROOT / "docs" / "examples").rglob("*.*")]
    offered = re.compile(r"install[^\n]{0,30}?'(\S*?)\[([\w,]+)\]'")
    found = [match for place in places for match in offered.findall(place.read_text(encoding="utf-8"))]
    assert {name for name, _ in found} == {".", PROJECT["name"]}
    assert {extra for _, extras in found for extra in extras.split(",")} <= PROJECT["optional-dependencies"].keys()
    texts = "".join(place.read_text() for place in places if place.suffix == ".py" and "tests" not in place.parts)
    assert not re.search(r"pip install (?!'dpnb-columnar\[)\S", texts.replace("pip install --", ""))
