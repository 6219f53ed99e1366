"""The documentation names things that exist, and its commands and notebook print what they show."""

from __future__ import annotations

import json
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer
from support.examples import blocks
from support.running import Run

from dpnb_columnar.cli.main import app, exit_code
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.model.guarantee_text import SCOPE
from dpnb_columnar.papers.release_papers import WORDS

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
DOCUMENTS = [*ROOT.glob("*.md"), *PAGES]


def definitions(folder: str) -> set[str]:
    """Names of all functions and classes defined below a folder, and of its files."""
    files = list((ROOT / folder).rglob("*.py"))
    found = re.findall(r"^\s*(?:def|class) (\w+)", "\n".join(file.read_text() for file in files), re.MULTILINE)
    return {*found, *(file.name for file in files)}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_named_tests_files_and_links_exist(document: Path) -> None:
    text = document.read_text()
    assert set(re.findall(r"`(test_\w+(?:\.py)?)`", text)) <= definitions("tests")
    for path in re.findall(r"`((?:dpnb_columnar|tests|docs|benchmarks)/[\w/.-]+)`", text):
        assert (ROOT / path).exists(), path
    folders = ("dpnb_columnar", "tests", "docs")
    files = ["cli.py", *(file.as_posix() for folder in folders for file in (ROOT / folder).rglob("*.py"))]
    for name in re.findall(r"`([\w/]+\.py)`", text):
        assert any(f"/{file}".endswith(f"/{name}") for file in files), name
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (document.parent / link).exists(), link


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    for page in PAGES:
        assert page.relative_to(ROOT / "docs").as_posix() in navigation


def test_the_changelog_links_to_no_file() -> None:
    """The site includes it as a page in ``docs``, where a link from the top folder leads nowhere."""
    text = (ROOT / "CHANGELOG.md").read_text()
    assert re.findall(r"\]\((?!https://)[^)]*\)", text) == []


def test_the_first_page_of_the_site_is_the_readme_with_links_to_pages() -> None:
    hook = runpy.run_path(str(ROOT / "docs" / "readme.py"))
    for page, shown in hook["SHOWN"].items():
        assert (ROOT / "docs" / page).read_text() == f'--8<-- "{shown}"\n'
    sentence = "[a](docs/x.md#y) [b](docs/n.ipynb) [c](CONTRIBUTING.md) [d](README.md#z) [e](https://x.org/docs/a.md)"
    linked = "[a](x.md#y) [b](n.md) [c](contributing.md) [d](index.md#z) [e](https://x.org/docs/a.md)"
    assert hook["linked"](sentence) == linked


PROOFS = ROOT / "docs" / "privacy.md"
CLAIMS = re.compile(r"^\| (?:lemma|rule) \| function \| attack \|\n[|-]+\n((?:\|.*\|\n)+)", re.MULTILINE)
"""A table of functions and attacks, and its rows."""


def sections_of_proofs() -> list[str]:
    """Return the numbered sections, without the page before them."""
    return re.split(r"^## ", PROOFS.read_text(), flags=re.MULTILINE)[1:]


def claims(section: str) -> list[tuple[str, set[str], set[str]]]:
    """Return the rows of a section's tables: the lemma or rule, its functions, and the tests that attack it."""
    rows = []
    for line in "".join(CLAIMS.findall(section)).splitlines():
        claim, functions, attacks = line.strip("| ").split(" | ")
        tests = re.findall(r"`(test_\w+(?:\.py)?)`", attacks)
        rows.append((claim, set(re.findall(r"`(\w+)`", functions)), set(tests)))
    return rows


def test_proofs_name_living_functions_and_each_section_its_attack() -> None:
    text = PROOFS.read_text()
    words = "transform missing train plan release show check evaluate aggregate ingest row_cost"  # options and commands
    words += " domain rows counting sensitivity noise budget mechanisms model ledger"  # and rooms
    named = {name for name in re.findall(r"`([A-Za-z_]\w+)`", text) if not name.startswith("test_")} - {*words.split()}
    assert len(named) > 10
    assert named <= definitions("dpnb_columnar")
    for path in re.findall(r"`(dpnb_columnar/[\w/]+\.py)`", text):
        assert (ROOT / path).is_file()
    sections = sections_of_proofs()
    assert [section.split(".")[0] for section in sections] == [str(number) for number in range(1, 12)]
    for section in sections[:8]:
        assert claims(section), section.splitlines()[0]


def test_every_lemma_has_a_function_and_an_attack_in_the_table_of_its_section() -> None:
    functions, tests = definitions("dpnb_columnar"), definitions("tests")
    lemmas: list[str] = []
    for section in sections_of_proofs():
        rows = claims(section)
        stated = re.findall(r"^\*\*Lemma (\d+\.\d+)", section, re.MULTILINE)
        assert {claim.split(",")[0] for claim, *_ in rows if claim[0].isdigit()} == set(stated)
        for claim, named, attacks in rows:
            assert named, f"{claim} names no function"
            assert named <= functions, claim
            assert attacks, f"{claim} names no test"
            assert attacks <= tests, claim
        lemmas += stated
    assert len(lemmas) > 10
    assert len(set(lemmas)) == len(lemmas)


def test_proofs_name_tests_in_tables_alone() -> None:
    proofs, _ = PROOFS.read_text().split("\n## 11. ")
    for line in proofs.splitlines():
        assert line.startswith("| ") or "test_" not in line, line


@pytest.mark.parametrize("name", ["README.md", "docs/privacy.md"])
def test_the_page_says_what_the_promise_is_about(name: str) -> None:
    """In the words of ``plan`` and of the release sheet."""
    assert " ".join(SCOPE) in " ".join((ROOT / name).read_text().split())


def test_docstrings_refer_to_sections_that_exist() -> None:
    code = "\n".join(file.read_text() for file in (ROOT / "dpnb_columnar").rglob("*.py"))
    referred = {int(number) for number in re.findall(r"docs/privacy\.md, sections? (\d)", code)}
    assert referred
    assert referred <= set(range(1, 12))


def test_the_readme_names_every_command_and_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["--help"]) == 0
    commands = capsys.readouterr().out.split("Commands:")[1].split("Exit codes")[0]
    listed = set(re.findall(r"^  ([a-z-]+) ", commands, re.MULTILINE))
    table = (ROOT / "README.md").read_text().split("| to do | commands | read |")[1].split("\n\n")[0]
    named = {name for row in table.splitlines()[2:] for name in re.findall(r"`([a-z-]+)`", row.split("|")[2])}
    assert named == listed


def test_the_readmes_declaration_is_a_domain() -> None:
    block = re.search(r"```toml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (table,) = tomllib.loads(block[1], parse_float=Decimal).values()
    domain = read_domain("census", {key: table[key] for key in ("label", "attributes")}, "README.md")
    assert len(domain.attributes) == 4


def shape(line: str) -> str:
    """A line of output without what depends on the noise: numbers, and how wide they make a column."""
    return re.sub(r"\s+", " ", re.sub(r"[\d.]+", "#", re.sub(r"--+", "-", line))).strip()


def transcript(document: Path) -> Iterator[tuple[list[str], list[str]]]:
    """Commands that a page shows with a prompt, and the lines it shows below each."""
    for block in blocks("console", document.read_text()):
        for part in re.split(r"^\$ dpnb-columnar ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            yield shlex.split(command), lines


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("document", [ROOT / "README.md", ROOT / "docs" / "choosing.md"], ids=lambda path: path.name)
def test_transcripts_are_what_the_commands_print(document: Path, run: Run) -> None:
    commands = list(transcript(document))
    assert len(commands) > 3
    for command, shown in commands:
        printed = [shape(line) for line in run(*command).out.splitlines()]
        for line in [shape(line) for line in shown if line not in ("", "...", "  ...")]:
            assert line in printed, f"{command}: {line}"
            printed = printed[printed.index(line) + 1 :]


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["domain.md", "choosing.md", "audit.md"])
def test_commands_of_the_page_run(name: str, run: Run) -> None:
    lines = "".join(blocks("sh", (ROOT / "docs" / name).read_text())).splitlines()
    assert len(lines) > 1
    for line in lines:
        run(*shlex.split(line)[1:])


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_the_record_of_the_page_feeds_its_commands(run: Run) -> None:
    page = (ROOT / "docs" / "records.md").read_text()
    Path("release.toml").write_text("".join(blocks("toml", page)))
    for line in "".join(blocks("sh", page)).splitlines():
        run(*shlex.split(line)[1:])
    documented = {key.strip("[]") for key in re.findall(r"`([a-z_\[\]]+)`", page)}
    assert documented >= {*WORDS}


RUN = {
    "README.md": "test_transcripts_are_what_the_commands_print",
    "CONTRIBUTING.md": "test_all_tests_run_and_those_that_are_skipped_for_want_of_something",
    "docs/domain.md": "test_commands_of_the_page_run",
    "docs/choosing.md": "test_commands_of_the_page_run",
    "docs/records.md": "test_the_record_of_the_page_feeds_its_commands",
    "docs/audit.md": "test_commands_of_the_page_run",
    "docs/batch.md": "test_examples.py",
    "docs/sql.md": "test_sql_document.py",
    "docs/exports.md": "test_every_command_of_the_page_runs",
    "docs/scale.md": "test_every_command_on_spark_runs",
    "docs/python.md": "test_python_examples.py",
}
"""Pages with commands or Python that a test runs, as they stand."""

PARSED = (
    *("docs/extracts.md", "docs/results.md", "docs/performance.md", "docs/journal/accuracy.md"),
    *("docs/journal/peers.md", "docs/journal/speed.md"),
)
"""Pages whose commands need a publisher's extract, downloads, hours, or other environments: options are parsed."""

BENCHMARK_FLAG = re.compile(r" (--[a-z-]+)")


def commands_of(document: Path) -> list[str]:
    """List the lines of commands that a page shows, those that are continued put together, comments left out."""
    text = document.read_text()
    shown = ["".join(blocks("sh", text)), *re.findall(r"^\$ ((?:.*\\\n)*.*)$", text, re.MULTILINE)]
    lines = "\n".join(shown).replace("\\\n", " ").splitlines()
    return [line for line in (re.sub(r"\s+#.*", "", line).strip() for line in lines) if line]


def test_every_page_with_commands_is_run_or_parsed() -> None:
    shows = re.compile(r"^```(?:sh|console|python)$", re.MULTILINE)
    pages = {page.relative_to(ROOT).as_posix() for page in DOCUMENTS if shows.search(page.read_text())}
    assert pages == {*RUN, *PARSED}
    assert set(RUN.values()) <= definitions("tests")


@pytest.mark.parametrize("page", PARSED)
def test_the_options_of_commands_that_are_not_run_are_known(page: str) -> None:
    commands = commands_of(ROOT / page)
    assert len(commands) > 1
    for command in commands:
        words = shlex.split(command)
        if words[0] == "dpnb-columnar":
            parse(words[1:])
        elif words[1:2] == ["-m"]:
            place = ROOT / words[2].replace(".", "/")
            code = (place / "__main__.py" if place.is_dir() else place.with_suffix(".py")).read_text()
            assert set(BENCHMARK_FLAG.findall(command)) <= set(re.findall(r"--[a-z-]+", code)), command
        else:
            assert words[:2] == ["pip", "install"], command


def parse(words: list[str]) -> None:
    """Parse a command, and run nothing; an option that there is not raises an error."""
    command: Any = typer.main.get_command(app)
    while hasattr(command, "get_command"):
        name, *words = words
        command = command.get_command(command.context_class(command), name)
    command.make_context(command.name, words)


def test_a_command_with_an_unknown_option_is_not_parsed() -> None:
    parse(["train", "census.parquet", "--epsilon", "1"])
    with pytest.raises(Exception, match="No such option: --epsilom"):
        parse(["train", "census.parquet", "--epsilom", "1"])


def test_the_declaration_of_the_domain_page_is_a_domain() -> None:
    (table,) = tomllib.loads(blocks("toml", (ROOT / "docs" / "domain.md").read_text())[0]).values()
    read_domain("census", {key: table[key] for key in ("label", "attributes")}, "domain.md")


def test_the_command_line_reference_is_what_the_help_says() -> None:
    """Write it anew with ``python docs/write_cli_reference.py``."""
    page = (ROOT / "docs" / "reference" / "cli.md").read_text()
    (written_with,) = re.findall(r"<!-- typer (.*) -->", page)
    if version("typer") != written_with:
        pytest.skip(f"typer {version('typer')} words the help in another way than {written_with}")
    program = "from write_cli_reference import reference; print(reference(), end='')"
    printed = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT / "docs", capture_output=True, text=True, check=True
    ).stdout
    assert printed == page


DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOK = DOCS / "first_model.ipynb"


def code_cells(path: Path) -> list[dict[str, Any]]:
    document = json.loads(path.read_text(encoding="utf-8"))
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in document["cells"]}) == len(document["cells"])
    return [cell for cell in document["cells"] if cell["cell_type"] == "code"]


def outputs_of(cell: dict[str, Any]) -> list[dict[str, list[str]]]:
    return [output.get("data") or {"text/plain": output["text"]} for output in cell["outputs"]]


@pytest.mark.slow
def test_the_notebook_runs_and_shows_what_it_says(tmp_path: Path) -> None:
    copy = tmp_path / NOTEBOOK.name
    copy.write_bytes(NOTEBOOK.read_bytes())
    program = [sys.executable, "-W", "error", DOCS / "notebook.py", copy]
    ended = subprocess.run(program, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    for shown, found in zip(code_cells(NOTEBOOK), code_cells(copy), strict=True):
        if "noisy" in shown["metadata"].get("tags", []):
            assert [each.keys() for each in outputs_of(shown)] == [each.keys() for each in outputs_of(found)]
        else:
            assert outputs_of(shown) == outputs_of(found), shown["source"]


def test_the_notebook_has_been_run_and_shows_a_model_as_a_page() -> None:
    cells = code_cells(NOTEBOOK)
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    assert any(
        "differentially private" in "".join(each.get("text/html", "")) for cell in cells for each in outputs_of(cell)
    )
