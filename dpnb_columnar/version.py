"""The program's version: that of the next release with ``.dev0`` and the commit, or of the release at its tag.

The commit is that of the repository, else of the file of the version that ``hatch_build.py`` writes, else ``ARCHIVED``,
which git fills in an archive. Git is not run: every start reads this.
"""

import zlib
from pathlib import Path

RELEASE = "0.3.0.dev0"
"""The release that this is, or, with ``.dev0``, the one that commits lead to."""

ARCHIVED = "$Format:%H$"
"""The commit, in an archive that git has made (``.gitattributes``)."""

DIGITS = 10
"""Of a commit, in a version."""

BUILT = "version.txt"
"""The file of the version in what was built, beside this module."""


def find_version(package: Path) -> str:
    """Return the version of the package in a folder."""
    try:
        commit, tagged = _head(package.parent / ".git")
    except (OSError, ValueError):
        built, commit, tagged = package / BUILT, ARCHIVED, None
        if built.is_file():
            return built.read_text(encoding="ascii").strip()
    known = len(commit) >= 40 and set(commit) <= set("0123456789abcdef")
    return RELEASE if commit == tagged or not known else f"{RELEASE}+g{commit[:DIGITS]}"


def _head(git: Path) -> tuple[str, str | None]:
    """Read the commit of a checkout, and the one that the release's tag names, if there is such a tag."""
    if git.is_file():  # of a worktree, a line that names its folder
        git = git.parent / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
    common = git / (git / "commondir").read_text(encoding="utf-8").strip() if (git / "commondir").is_file() else git
    head = (git / "HEAD").read_text(encoding="utf-8").strip()
    name = head.removeprefix("ref:").strip()
    commit = head if name == head else _reference(common, name)
    if commit is None:
        raise ValueError("a branch without a commit")
    return commit, _reference(common, f"refs/tags/v{RELEASE}")


def _reference(common: Path, name: str) -> str | None:
    """Return the commit that a reference of a repository names; None if there is no such reference."""
    loose, packed = common / name, common / "packed-refs"
    if loose.is_file():
        return _commit(common, loose.read_text(encoding="ascii").strip())
    lines = packed.read_text(encoding="utf-8").splitlines() if packed.is_file() else []
    for line, after in zip(lines, [*lines[1:], ""], strict=False):
        if line[41:] == name and line[40:41] == " ":
            return after[1:] if after.startswith("^") else line[:40]
    return None


def _commit(common: Path, named: str) -> str:
    """Return the commit that a reference's digest stands for: of an annotated tag another one."""
    file = common / "objects" / named[:2] / named[2:]
    content = zlib.decompressobj().decompress(file.read_bytes(), 200) if file.is_file() else b""
    kind, _, rest = content.partition(b"\0")
    return rest[7:47].decode("ascii") if kind.startswith(b"tag ") else named


__version__ = find_version(Path(__file__).resolve().parent)
