"""Each extension can be deleted, and another distribution can add one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from support.running import in_python

from dpnb_columnar import registry

CHECKOUT = Path(__file__).parents[2]
FOLDER = Path("dpnb_columnar", "extensions")
TRAIN = ("train", "census.parquet", "--epsilon", "1")

NEEDS: dict[str, tuple[str, ...]] = {
    "attack": ("audit", "--model", "model.json", "--members", "census.parquet", "--others", "census.parquet"),
    "audit": ("audit", "--quick"),
    "concentrated": (*TRAIN, "--delta", "1e-6", "--mechanism", "smooth", "--noise", "arsinh-normal"),
    "datasets": ("datasets", "list"),
    "exports": ("export", "model.json", "--to", "r"),
    "lakes": ("train", "iceberg:census.people", "--epsilon", "1"),
    "spark": (*TRAIN, "--engine", "spark"),
    "stores": ("train", "s3://census/people.parquet", "--epsilon", "1"),
}
"""A command that cannot do without each extension."""

COPIED = ("dpnb_columnar", "sql", "tests", "studies", "benchmarks", "docs", ".github", ".ci")

COMMANDS = """
import json, sys
from dpnb_columnar.cli.main import exit_code

print([exit_code(words) for words in json.loads(sys.argv[1])], file=sys.stderr)
"""

OUTSIDE = '''
"""An extension of another distribution."""


def family():
    from fractions import Fraction

    from dpnb_columnar.core.budget import Pure
    from dpnb_columnar.core.mechanisms.tuning import SmoothFamily
    from dpnb_columnar.core.noise import StudentT

    def calibrate(epsilon, beta):
        return StudentT(epsilon, beta, Fraction(11, 2))

    return SmoothFamily("student-11/2", Pure, lambda epsilon: epsilon / 9, calibrate)


VERBS = {"greet": "Greet somebody."}
FAMILIES = {"student-11/2": family}
'''
GREET = 'def command(name: str) -> None:\n    """Greet somebody."""\n    print(f"hello {name}")\n'


LIGHT = ("errors", "extensions", "registry", "version")
"""Modules that the registry loads besides extensions."""


def folders() -> list[str]:
    return sorted(path.parent.name for path in (CHECKOUT / FOLDER).glob("*/__init__.py"))


def run(commands: Iterable[Sequence[str]], *path: Path, folder: Path) -> tuple[list[int], str, str]:
    """Run commands in one process that finds packages in these folders first: exit codes, and what they print."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    ended = in_python("-c", COMMANDS, json.dumps([*commands]), cwd=folder, env=environment)
    *errors, codes = ended.stderr.splitlines()
    return json.loads(codes), ended.stdout, "\n".join(errors)


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the checkout in a folder of their own, with a census; every test puts back what it deletes."""
    copy = tmp_path_factory.mktemp("checkout")
    for path in CHECKOUT.iterdir():
        if path.name in COPIED:
            shutil.copytree(path, copy / path.name, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        elif path.is_file():
            shutil.copy(path, copy)
    codes, _, errors = run([("simulate", "census.parquet", "--rows", "500")], copy, folder=copy)
    assert codes == [0], errors
    return copy


@pytest.mark.slow
@pytest.mark.parametrize("name", folders())
def test_train_does_without_a_folder_that_is_deleted_and_what_needs_it_names_it(
    name: str, copied: Path, tmp_path: Path
) -> None:
    deleted = shutil.move(copied / FOLDER / name, tmp_path / name)
    try:
        commands = [NEEDS[name], (*TRAIN, "--overwrite"), ("--help",), ("train", "--help")]
        codes, printed, errors = run(commands, copied, folder=copied)
    finally:
        shutil.move(deleted, copied / FOLDER / name)
    assert codes == [69, 0, 0, 0], errors
    assert f"the extension {name}, which is not installed" in errors
    verbs = {verb for verb, owner in registry.OWN_VERBS.items() if re.search(rf"^  {verb}  ", printed, re.MULTILINE)}
    assert verbs == {verb for verb, owner in registry.OWN_VERBS.items() if owner != name}


@pytest.mark.slow
def test_a_model_is_not_read_where_the_extension_of_its_noise_is_deleted(copied: Path, tmp_path: Path) -> None:
    train = (*NEEDS["concentrated"], "--output", "concentrated.json")
    codes, _, errors = run([train, ("show", "concentrated.json")], copied, folder=copied)
    assert codes == [0, 0], errors
    deleted = shutil.move(copied / FOLDER / "concentrated", tmp_path / "concentrated")
    try:
        codes, _, errors = run([("show", "concentrated.json")], copied, folder=copied)
    finally:
        shutil.move(deleted, copied / FOLDER / "concentrated")
    assert codes == [69]
    assert "noise arsinh-normal needs the extension concentrated, which is not installed" in errors


def importers(checkout: Path) -> set[Path]:
    """Tests that import an extension, or a module of their support or of benchmarks that does."""
    paths = [path for folder in ("tests", "benchmarks") for path in (checkout / folder).rglob("*.py")]
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    found: set[Path] = set()
    wanted = re.compile(r"^ *(?:from|import) dpnb_columnar\.extensions\b", re.MULTILINE)
    while new := {path for path, text in texts.items() if wanted.search(text)} - found:
        found |= new
        names = "|".join(path.stem for path in new if path.parent.name in ("support", "benchmarks")) or "none"
        wanted = re.compile(rf"^ *from (?:support|benchmarks)(?:\.| import .*\b)(?:{names})\b", re.MULTILINE)
    return {path for path in found if path.is_relative_to(checkout / "tests")}


@pytest.mark.slow
def test_tests_of_all_else_are_collected_and_run_where_every_folder_is_deleted(copied: Path, tmp_path: Path) -> None:
    shutil.copytree(copied, tmp_path / "copy")
    copy = tmp_path / "copy"
    for name in folders():
        shutil.rmtree(copy / FOLDER / name)
    for path in importers(copy):
        path.unlink()
    words = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    for tests in (["--collect-only", "tests"], ["tests/cli/test_completion.py"]):
        ended = subprocess.run(
            [*words, *tests, "-m", "not slow"], cwd=copy, env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stdout[-4000:]


@pytest.mark.slow
def test_another_distribution_adds_a_verb_and_a_noise_family(tmp_path: Path) -> None:
    site, work = tmp_path / "site", tmp_path / "work"
    (site / "outside").mkdir(parents=True)
    (site / "outside" / "__init__.py").write_text(OUTSIDE)
    (site / "outside" / "greet.py").write_text(GREET)
    information = site / "outside-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[dpnb_columnar.extensions]\noutside = outside\n")
    work.mkdir()
    release = (*TRAIN, "--mechanism", "smooth", "--noise", "student-11/2", "--output", "model.json")
    commands = [
        ("simulate", "census.parquet", "--rows", "500"),
        release,
        *(("show", "model.json"), ("greet", "Ada"), ("gret", "Ada"), ("--help",)),
        (*TRAIN, "--mechanism", "smooth", "--noise", "nosuch"),
    ]
    codes, printed, errors = run(commands, site, CHECKOUT, folder=work)
    assert codes == [0, 0, 0, 0, 64, 0, 64], errors
    assert "hello Ada" in printed
    assert re.search(r"^  greet +Greet somebody\.$", printed, re.MULTILINE)
    assert "did you mean 'greet'?" in errors
    assert "arsinh-normal, student-11/2, and student-NU" in errors
    assert "student-11/2" in printed
    codes, _, errors = run([("show", "model.json")], folder=work)
    assert codes == [65], errors
    assert "no noise family 'student-11/2'" in errors


def test_verbs_and_families_of_our_own_are_those_that_their_extensions_offer() -> None:
    packages = {name: registry.extension(name) for name in folders()}
    for kind, own in (("VERBS", registry.OWN_VERBS), ("FAMILIES", registry.OWN_FAMILIES)):
        assert {each: name for name, package in packages.items() for each in getattr(package, kind, ())} == dict(own)


def test_the_help_imports_of_each_extension_its_package_alone() -> None:
    program = (
        "import sys; from dpnb_columnar.registry import extension_families, extension_verbs\n"
        "extension_families(), extension_verbs()\n"
        "print(*(name for name in sys.modules if name.startswith('dpnb_columnar') or name in ('numpy', 'typer')))"
    )
    loaded = set(in_python("-c", program, check=True).stdout.split())
    packages = {f"dpnb_columnar.extensions.{name}" for name in folders()}
    assert loaded - packages == {"dpnb_columnar", *(f"dpnb_columnar.{name}" for name in LIGHT)}


def test_the_cache_of_a_deleted_folder_is_no_extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import dpnb_columnar.extensions

    (tmp_path / "attack" / "__pycache__").mkdir(parents=True)
    monkeypatch.setattr(dpnb_columnar.extensions, "__path__", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "dpnb_columnar.extensions.attack", raising=False)
    with pytest.raises(registry.UnavailableError, match=r"^attack needs the extension attack, which is not installed"):
        registry.extension("attack.model_attack", "attack")
