"""The files somebody has to read to believe an epsilon: ``core``, and what it imports, listed for reading.

``python tests/project/test_trusted_core.py`` writes the table of docs/privacy.md anew. What each file has to be
believed for stands there alone.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
PACKAGE = CHECKOUT / "dpnb_columnar"
PAGE = CHECKOUT / "docs" / "privacy.md"
ROW = re.compile(r"^\| `(?P<file>[\w/]+\.py)` \| (?P<lines>[\d,]+) \| (?P<reason>\S.*) \|$", re.MULTILINE)
TOTAL = re.compile(r"\*\*(?P<files>\d+) files of (?P<lines>[\d,]+) lines\*\*")
ORDER = ("core/measurement", "core/budget", "core/queries", "core/sensitivity", "core/noise")
"""In which an auditor reads; then mechanisms, and at last what is outside the core."""

MOST_FILES, MOST_LINES = 45, 9_500
MOST_OFF = 0.1
"""How far the page's numbers of lines may be from the files' before it has to be written anew."""


def modules() -> dict[str, Path]:
    """Every module of the package by its name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(CHECKOUT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def imported(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of the package that a file's statements import, those inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
    return found & known.keys()


def core_files() -> dict[str, int]:
    """The core and what it imports, relative to the package, with their lines, in the order of reading."""
    known = modules()
    found = {name for name in known if name.startswith("dpnb_columnar.core")}
    waiting = list(found)
    while waiting:
        new = imported(known[waiting.pop()], known) - found - {"dpnb_columnar"}
        found |= new
        waiting += new
    files = {known[name].relative_to(PACKAGE).as_posix(): known[name] for name in found}
    return {name: len(files[name].read_text(encoding="utf-8").splitlines()) for name in sorted(files, key=_place)}


def _place(file: str) -> tuple[int, str]:
    places = [place for place, start in enumerate(ORDER) if file.startswith(start)]
    return (*places, len(ORDER) + (not file.startswith("core/")))[0], file


def listed() -> dict[str, tuple[int, str]]:
    """The files that the page lists, with their lines and what each has to be believed for."""
    found = ROW.finditer(PAGE.read_text(encoding="utf-8"))
    return {row["file"]: (int(row["lines"].replace(",", "")), row["reason"]) for row in found}


def test_the_core_imports_the_domain_errors_and_the_registry_alone() -> None:
    outside = {file for file in core_files() if not file.startswith("core/")}
    assert {file for file in outside if not file.startswith("domain/")} == {"errors.py", "registry.py"}


def test_the_core_is_small() -> None:
    files = core_files()
    assert len(files) <= MOST_FILES
    assert sum(files.values()) <= MOST_LINES


def test_the_page_lists_the_core() -> None:
    files = core_files()
    assert list(listed()) == list(files)
    total = TOTAL.search(PAGE.read_text(encoding="utf-8"))
    assert total is not None
    assert int(total["files"]) == len(files)
    counted, stated = sum(files.values()), int(total["lines"].replace(",", ""))
    assert abs(counted - stated) <= MOST_OFF * counted, (
        "write the table anew: python tests/project/test_trusted_core.py"
    )
    assert stated == sum(lines for lines, _ in listed().values())


def write() -> None:
    """Write files and lines of the page's table anew; a file that is new there has no reason yet."""
    text, files, known = PAGE.read_text(encoding="utf-8"), core_files(), listed()
    rows = [f"| `{file}` | {lines:,} | {known.get(file, (0, ''))[1]} |" for file, lines in files.items()]
    first, *_, last = ROW.finditer(text)
    text = text[: first.start()] + "\n".join(rows) + text[last.end() :]
    total = f"**{len(files)} files of {sum(files.values()):,} lines**"
    PAGE.write_text(TOTAL.sub(total, text), encoding="utf-8")


if __name__ == "__main__":
    write()
