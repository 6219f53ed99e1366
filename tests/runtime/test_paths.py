"""Named SQL, worker processes, and what stands at a path: one that cannot be followed is an error."""

from __future__ import annotations

import ast
import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

import dpnb_columnar
from dpnb_columnar.runtime import workers
from dpnb_columnar.runtime.resources import sections
from dpnb_columnar.runtime.unfinished import exists, is_file, is_folder

PACKAGE = Path(dpnb_columnar.__file__).parent
QUESTIONS: tuple[Callable[[Path], bool], ...] = (exists, is_file, is_folder)

OTHERS = frozenset({"runtime/resources.py", "version.py", "extensions/spark/spark.py"})
"""Modules that ask of the program's own files, whose loss another error tells, or of Spark's file systems."""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("folder").mkdir()
    Path("link").symlink_to("file")
    Path("nowhere").symlink_to("missing")
    Path("loop").symlink_to("loop")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("file", (True, True, False)),
        ("link", (True, True, False)),
        ("folder", (True, False, True)),
        (".", (True, False, True)),
        ("/dev/null", (True, False, False)),
        ("missing", (False, False, False)),
        ("nowhere", (False, False, False)),
        ("loop", (False, False, False)),
        ("file/below", (False, False, False)),
        ("a\0b", (False, False, False)),
    ],
)
def test_what_stands_at_a_path(name: str, expected: tuple[bool, bool, bool]) -> None:
    assert tuple(ask(Path(name)) for ask in QUESTIONS) == expected


@pytest.mark.parametrize("ask", QUESTIONS)
def test_a_path_that_cannot_be_followed_is_not_taken_for_absent(ask: Callable[[Path], bool]) -> None:
    with pytest.raises(OSError, match="too long") as caught:
        ask(Path("n" * 300))
    assert caught.value.errno == errno.ENAMETOOLONG


@pytest.mark.parametrize("ask", QUESTIONS)
@pytest.mark.parametrize("code", [errno.EIO, errno.ESTALE, errno.EACCES])
def test_a_disk_that_fails_holds_no_free_name(
    ask: Callable[[Path], bool], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(path: Path, **_: object) -> None:
        raise OSError(code, "failed", str(path))

    monkeypatch.setattr(Path, "stat", failing)
    with pytest.raises(OSError, match="failed"):
        ask(Path("file"))


def test_paths_are_asked_nowhere_else() -> None:
    asked = []
    for module in sorted(PACKAGE.rglob("*.py")):
        name = str(module.relative_to(PACKAGE))
        calls = (each for each in ast.walk(ast.parse(module.read_text())) if isinstance(each, ast.Call))
        methods = (call.func for call in calls if isinstance(call.func, ast.Attribute))
        asked += [name for each in methods if each.attr in {"exists", "is_file", "is_dir"} and name not in OTHERS]
    assert not asked


def test_every_section_is_text_without_comments() -> None:
    assert sections("ledger")
    for section in sections("ledger").values():
        assert section
        assert "--" not in section


def test_a_worker_takes_no_interrupt_and_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    before = signal.getsignal(signal.SIGINT)
    try:
        workers.set_up_worker()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert os.environ.pop("POLARS_MAX_THREADS") == "1"
    finally:
        signal.signal(signal.SIGINT, before)
