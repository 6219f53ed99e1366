"""The documentation names things that exist: proofs living functions and tests, the README living commands."""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal
from pathlib import Path

import pytest

from dpnb_columnar.cli.main import exit_code
from dpnb_columnar.domain import read_domain

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def definitions(folder: str) -> set[str]:
    """Names of all functions and classes defined below a folder, and of its files."""
    files = list((ROOT / folder).rglob("*.py"))
    found = re.findall(r"^\s*(?:def|class) (\w+)", "\n".join(file.read_text() for file in files), re.MULTILINE)
    return {*found, *(file.name for file in files)}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_named_tests_exist(document: Path) -> None:
    named = set(re.findall(r"`(test_\w+(?:\.py)?)`", document.read_text()))
    assert named <= definitions("tests")


def test_proofs_name_living_functions_and_each_section_its_attack() -> None:
    text = (ROOT / "docs" / "privacy.md").read_text()
    words = "transform missing train plan release show check evaluate aggregate row_loss"  # options and commands
    named = {name for name in re.findall(r"`([A-Za-z_]\w+)`", text) if not name.startswith("test_")} - {*words.split()}
    assert len(named) > 10
    assert named <= definitions("dpnb_columnar")
    for path in re.findall(r"`(dpnb_columnar/[\w/]+\.py)`", text):
        assert (ROOT / path).is_file()
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert [section.split(".")[0] for section in sections] == [str(number) for number in range(1, 10)]
    for section in [*sections[:6], sections[7]]:
        assert "`test_" in section, section.splitlines()[0]


def test_every_lemma_names_its_function_and_the_test_that_attacks_it() -> None:
    text = (ROOT / "docs" / "privacy.md").read_text()
    lemmas = [block.split("\n## ")[0] for block in text.split("**Lemma ")[1:]]
    numbers = [lemma.split(" ")[0].rstrip(".*") for lemma in lemmas]
    assert len(numbers) > 10
    assert len(set(numbers)) == len(numbers)
    functions = definitions("dpnb_columnar")
    for number, lemma in zip(numbers, lemmas, strict=True):
        named = set(re.findall(r"`(\w+)`", lemma))
        assert named & functions, f"lemma {number} names no function"
        assert any(name.startswith("test_") for name in named), f"lemma {number} names no test"


def test_docstrings_refer_to_sections_that_exist() -> None:
    code = "\n".join(file.read_text() for file in (ROOT / "dpnb_columnar").rglob("*.py"))
    referred = {int(number) for number in re.findall(r"docs/privacy\.md, sections? (\d)", code)}
    assert referred
    assert referred <= set(range(1, 10))


def test_the_readme_names_every_command_and_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["--help"]) == 0
    commands = capsys.readouterr().out.split("Commands:")[1].split("Exit codes")[0]
    listed = set(re.findall(r"^  ([a-z-]+) ", commands, re.MULTILINE))
    table = (ROOT / "README.md").read_text().split("| to do | commands | read |")[1].split("\n\n")[0]
    named = {name for row in table.splitlines()[2:] for name in re.findall(r"`([a-z-]+)`", row.split("|")[2])}
    assert named == listed


def test_the_readmes_declaration_is_a_domain() -> None:
    block = re.search(r"```toml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert block is not None
    (table,) = tomllib.loads(block[1], parse_float=Decimal).values()
    domain = read_domain("census", {key: table[key] for key in ("label", "attributes")}, "README.md")
    assert len(domain.attributes) == 4
