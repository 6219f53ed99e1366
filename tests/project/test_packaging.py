"""What is handed out: a wheel that works in an environment with nothing but the run-time dependencies."""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import dpnb_columnar

CHECKOUT = Path(__file__).parents[2]
RUN_TIME = {
    *("polars", "pyarrow", "numpy", "scipy", "duckdb", "typer", "rich", "python-flint", "sqlglot", "defusedxml"),
    *("jinja2", "narwhals"),
}
DEVELOPMENT = {"pytest", "hypothesis", "mpmath", "ruff", "mypy", "build", "hatchling", "scikit-learn", "import-linter"}
VERSION = f"dpnb-columnar {dpnb_columnar.__version__}\n"

# One process builds and installs; other workers would do all of it again.
pytestmark = pytest.mark.xdist_group("packaging")


def run(*command: str | Path, folder: Path) -> str:
    """What a command prints; it must succeed. It sees no package but those of its own environment."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    return ended.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel made of that sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, CHECKOUT, folder=folder)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs' folder of a fresh environment with the wheel and what it asks for."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    run(programs / "python", "-m", "pip", "install", "--quiet", "--no-compile", wheel, folder=folder)
    return programs


def test_wheel_has_no_faults(wheel: Path) -> None:
    checker = Path(sys.executable).parent / "check-wheel-contents"
    run(checker, "--config", CHECKOUT / "pyproject.toml", wheel, folder=wheel.parent)


def test_wheel_holds_the_package_its_queries_and_its_catalogue(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {path.relative_to(CHECKOUT).as_posix() for path in (CHECKOUT / "dpnb_columnar").rglob("*.py")}
    queries = {f"dpnb_columnar/sql/{path.name}" for path in (CHECKOUT / "sql").glob("*.sql")}
    templates = {f"dpnb_columnar/report/templates/{name}" for name in ("base.html.j2", "parts.html.j2", "page.css")}
    assert queries
    assert sources | queries | templates | {"dpnb_columnar/datasets.toml", "dpnb_columnar/py.typed"} <= names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"dpnb_columnar"}
    assert {name for name in names if name.endswith(".sql")} == queries  # nobody's program reads sql/queries


def test_wheel_asks_for_the_run_time_dependencies_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
    wanted = [text for text in metadata.get_all("Requires-Dist", []) if "extra ==" not in text]
    assert {re.match(r"[\w-]+", text)[0] for text in wanted} == RUN_TIME  # type: ignore[index]
    assert metadata["Version"] == dpnb_columnar.__version__
    assert metadata["License-Expression"] == "Apache-2.0"


def test_sdist_holds_what_tests_need_and_nothing_else(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        *("cli.py", "datasets.toml", "pyproject.toml", "sql/ledger.sql", "sql/queries/scores.sql"),
        "tests/project/test_packaging.py",
    } <= names
    assert {name.split("/")[0] for name in names} - {".gitignore"} == {
        *("dpnb_columnar", "sql", "tests", "docs", "benchmarks", "studies", "cli.py", "datasets.toml", "mkdocs.yml"),
        *(".ci", "hatch_build.py", "Dockerfile", ".dockerignore", ".github", "LICENSE", "README.md"),
        *("CONTRIBUTING.md", "CHANGELOG.md", "pyproject.toml", "PKG-INFO"),
    }
    assert not any(name.endswith((".pyc", ".model.json")) for name in names)


def test_the_unpacked_sdist_passes_the_tests_that_read_its_documents(built: Path, tmp_path: Path) -> None:
    """Whatever a test reads beside the package has to be in it; see ``only-include`` in pyproject.toml."""
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # 3.11.2 has none yet
        archive.extractall(tmp_path)
    (tree,) = tmp_path.iterdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["PYTHONPATH"] = str(tree)  # the package of the tree, also in processes that its tests start
    chosen = ["tests/project", "tests/api/test_python_examples.py", "tests/batch/test_examples.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "not slow", *chosen]
    ended = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " passed" in ended.stdout


def test_installed_demo_and_pages_need_nothing_else(installed: Path, tmp_path: Path) -> None:
    text = run(installed / "dpnb-columnar", "demo", "--rows", "5000", folder=tmp_path)
    folder = tmp_path / "dpnb-demo"
    assert "1-differentially private" in text
    assert sorted(path.name for path in folder.iterdir()) == [
        *("census.model.json", "census.parquet", "census.test.parquet", "census.train.parquet", "scored.parquet")
    ]
    run(installed / "dpnb-columnar", "show", "census.model.json", "--html", "sheet.html", folder=folder)
    held_out = ("census.model.json", "census.test.parquet", "--html", "evaluation.html")
    run(installed / "dpnb-columnar", "evaluate", *held_out, folder=folder)
    assert all("</html>" in (folder / f"{name}.html").read_text() for name in ("sheet", "evaluation"))
    assert "adult" in run(installed / "dpnb-columnar", "datasets", "list", folder=tmp_path)
    assert run(installed / "python", "-m", "dpnb_columnar", "--version", folder=tmp_path) == VERSION


def test_installed_environment_has_no_development_dependency(installed: Path, tmp_path: Path) -> None:
    text = run(installed / "python", "-m", "pip", "list", "--format", "freeze", folder=tmp_path)
    names = {line.partition("==")[0].lower() for line in text.splitlines()}
    assert {"dpnb-columnar", *RUN_TIME} <= names
    assert names.isdisjoint(DEVELOPMENT)


def test_windows_is_refused_in_words(tmp_path: Path) -> None:
    """By Python and by the command line, before anything else is imported."""
    for begin in ("import dpnb_columnar", "import runpy; runpy.run_module('dpnb_columnar', run_name='__main__')"):
        code = f"import sys; sys.path.insert(0, {str(CHECKOUT)!r}); sys.platform = 'win32'; {begin}"
        command = [sys.executable, "-I", "-c", code]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ended.returncode == 1
        assert ended.stderr.splitlines()[-1].startswith(
            "ImportError: dpnb_columnar runs on Linux and other POSIX systems"
        )
        assert "fcntl" not in ended.stderr


@pytest.mark.parametrize("command", [["cli.py"], ["-m", "dpnb_columnar"]], ids=" ".join)
def test_checkout_has_a_front_door(command: list[str]) -> None:
    assert run(sys.executable, *command, "--version", folder=CHECKOUT) == VERSION
