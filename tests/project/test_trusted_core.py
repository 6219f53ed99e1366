"""The files somebody has to read to believe an epsilon: frozen by a contract of ``pyproject.toml``, and listed.

``python tests/project/test_trusted_core.py`` writes the table of docs/privacy.md anew. What each file has to be
believed for stands there alone.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
PACKAGE = "dpnb_columnar"
PAGE = CHECKOUT / "docs" / "privacy.md"
NAME = "The trusted core imports nothing outside it"
ROW = re.compile(r"^\| `(?P<file>[\w/]+\.py)` \| (?P<lines>[\d,]+) \| (?P<reason>\S.*) \|$", re.MULTILINE)
TOTAL = re.compile(r"\*\*(?P<files>\d+) files of (?P<lines>[\d,]+) lines\*\*")
MOST_OFF = 0.1
"""How far the page's numbers of lines may be from the files' before it has to be written anew."""


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted((CHECKOUT / PACKAGE).rglob("*.py")):
        name = ".".join(path.relative_to(CHECKOUT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def contract() -> dict[str, list[str]]:
    document = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    (found,) = (each for each in document["tool"]["importlinter"]["contracts"] if each["name"] == NAME)
    assert isinstance(found, dict)
    return found


def within(name: str, packages: list[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def mixed(name: str, core: list[str]) -> bool:
    """Whether it is a package of which a part is in the core: what it re-exports is followed by the contract."""
    return any(each.startswith(f"{name}.") for each in core)


def core_files() -> dict[str, int]:
    core = contract()["source_modules"]
    return {
        path.relative_to(CHECKOUT / PACKAGE).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for name, path in modules().items()
        if within(name, core) or name == f"{PACKAGE}.domain"
    }


def listed() -> dict[str, tuple[int, str]]:
    """The files that the page lists, with their lines and what each has to be believed for."""
    found = ROW.finditer(PAGE.read_text(encoding="utf-8"))
    return {row["file"]: (int(row["lines"].replace(",", "")), row["reason"]) for row in found}


def test_every_module_is_in_the_core_or_forbidden_to_it() -> None:
    core, forbidden = contract()["source_modules"], contract()["forbidden_modules"]
    both = [name for name in modules() if within(name, core) and within(name, forbidden)]
    neither = [
        name
        for name in modules()
        if not (within(name, core) or within(name, forbidden) or mixed(name, core) or name == PACKAGE)
    ]
    assert (both, neither) == ([], [])


def test_no_contract_looks_at_direct_imports_alone() -> None:
    document = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = document["tool"]["importlinter"]["contracts"]
    assert [each["name"] for each in contracts if "allow_indirect_imports" in each] == []
    assert "ignore_imports" not in contract()


def test_the_page_lists_the_core() -> None:
    files = core_files()
    assert list(listed()) == list(files)
    total = TOTAL.search(PAGE.read_text(encoding="utf-8"))
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
