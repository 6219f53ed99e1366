"""The version says the release and the commit, wherever the package stands."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

import dpnb_columnar
from dpnb_columnar.version import BUILT, DIGITS, RELEASE, find_version

CHECKOUT = Path(__file__).parents[2]
TAG = f"v{RELEASE}"


def git(folder: Path, *arguments: str) -> bytes:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.hooksPath=/dev/null"]
    return subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True).stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository of one commit with the module of the version."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    folder = tmp_path / "checkout"
    (folder / "dpnb_columnar").mkdir(parents=True)
    for name in ("dpnb_columnar/version.py", ".gitattributes"):
        shutil.copy(CHECKOUT / name, folder / name)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")
    return folder


def head(folder: Path) -> str:
    return git(folder, "rev-parse", "HEAD").decode()[:DIGITS]


def test_the_release_is_that_of_the_changelog() -> None:
    changelog = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")
    first, *earlier = re.findall(r"^## (.*)$", changelog, re.MULTILINE)
    if first == "Unreleased":
        number, development, _ = RELEASE.partition(".dev0")
        assert development
        assert [*map(int, number.split("."))] > [*map(int, earlier[0].split("."))]
    else:
        assert first == RELEASE
    assert re.fullmatch(rf"{re.escape(RELEASE)}(\+g[0-9a-f]{{{DIGITS}}})?", dpnb_columnar.__version__)


@pytest.mark.slow
def test_a_checkout_says_its_commit_by_whatever_git_stores_it(checkout: Path) -> None:
    package, first = checkout / "dpnb_columnar", f"{RELEASE}+g{head(checkout)}"
    assert find_version(package) == first
    git(checkout, "pack-refs", "--all")
    assert find_version(package) == first
    git(checkout, "checkout", "-q", "--detach")
    assert find_version(package) == first
    git(checkout, "worktree", "add", "-q", "-b", "side", str(checkout.parent / "side"))
    assert find_version(checkout.parent / "side" / "dpnb_columnar") == first
    git(checkout.parent / "side", "commit", "-q", "--allow-empty", "-m", "two")
    second = find_version(checkout.parent / "side" / "dpnb_columnar")
    assert second == f"{RELEASE}+g{head(checkout.parent / 'side')}" != first
    assert find_version(package) == first


@pytest.mark.slow
@pytest.mark.parametrize("annotated", [[], ["-a", "-m", "released"]], ids=["light", "annotated"])
def test_the_tagged_commit_is_the_release_and_the_next_is_not(annotated: list[str], checkout: Path) -> None:
    package = checkout / "dpnb_columnar"
    git(checkout, "tag", *annotated, "v9.9.9")
    assert find_version(package) == f"{RELEASE}+g{head(checkout)}"
    git(checkout, "tag", *annotated, TAG)
    assert find_version(package) == RELEASE
    git(checkout, "pack-refs", "--all")
    assert find_version(package) == RELEASE
    git(checkout, "commit", "-q", "--allow-empty", "-m", "two")
    assert find_version(package) == f"{RELEASE}+g{head(checkout)}"


def test_without_a_repository_the_built_file_says_it_and_else_the_release(tmp_path: Path) -> None:
    package = tmp_path / "dpnb_columnar"
    package.mkdir()
    assert find_version(package) == RELEASE
    (package / BUILT).write_text(f"{RELEASE}+g0123456789\n", encoding="ascii")
    assert find_version(package) == f"{RELEASE}+g0123456789"


@pytest.mark.parametrize(
    "content",
    [{}, {"HEAD": "ref: refs/heads/main"}, {"HEAD": ""}, {"HEAD": "\udcff"}, {"commondir": "nowhere"}],
    ids=str,
)
def test_a_damaged_repository_is_none(content: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "dpnb_columnar").mkdir()
    for name, text in content.items():
        (tmp_path / ".git" / name).write_text(text, encoding="utf-8", errors="surrogateescape")
    assert find_version(tmp_path / "dpnb_columnar") == RELEASE


@pytest.mark.slow
def test_an_archive_of_git_says_its_commit(checkout: Path, tmp_path: Path) -> None:
    with tarfile.open(fileobj=BytesIO(git(checkout, "archive", "HEAD"))) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # 3.11.2 has none yet
        archive.extractall(tmp_path / "archive")
    module = tmp_path / "archive" / "dpnb_columnar" / "version.py"
    printed = subprocess.run(
        ["python3", "-c", f"import runpy; print(runpy.run_path({str(module)!r})['__version__'])"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert printed.stdout.strip() == f"{RELEASE}+g{head(checkout)}"
