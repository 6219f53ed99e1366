"""Bug 13. Timing and other side channels: Tumult and OpenDP state that they are out of scope. So do we, in both places
where a user looks; and nothing that ``train`` prints, logs or writes tells when a step ran or how long it took.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest
from support.mechanisms import PRIVATE
from support.running import Run

ROOT = Path(__file__).parents[2]

TIME = re.compile(
    r"\d\s*(?:[nmµ]?s|sec(?:ond)?s?|min(?:ute)?s?)\b|\b\d{1,2}:\d{2}(?::\d{2})?\b|\b20\d\d-\d\d-\d\d\b|"
    r"\b(?:elapsed|duration|timestamp|took|seconds|created_at)\b",
    re.IGNORECASE,
)
"""A length of time, a time of day, a date, or a word for one."""


@pytest.mark.parametrize("page", ["README.md", "docs/privacy.md"])
def test_bug_13_side_channels_are_declared_out_of_scope(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    heading, scope = re.split(r"^## .*(?:What is not|out of scope).*$", text, maxsplit=1, flags=re.MULTILINE)
    assert heading
    section = scope.split("\n## ")[0].lower()
    assert "side channels" in section
    assert "time" in section


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", PRIVATE)
@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_bug_13_train_tells_no_time(
    mechanism: str, suffix: str, people_file: Path, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        ended = run("train", people_file, "--mechanism", mechanism, "--output", f"model.{suffix}")
    assert not caplog.records, "a library below logs, which users may have switched on"
    for text in (ended.out, ended.err, run("show", f"model.{suffix}", "--json").out):
        assert not TIME.search(text)


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_bug_13_a_model_does_not_tell_when_it_was_made(
    suffix: str, people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two models from one seed are one file, hours apart or not, by a slow clock or a fast one."""
    contents = set()
    for now in (1.0, 4e9):
        monkeypatch.setattr("time.time", lambda now=now: now)
        run("train", people_file, "--seed", 1, "--output", f"model.{suffix}", "--overwrite")
        contents.add(Path(f"model.{suffix}").read_bytes())
    assert len(contents) == 1


@pytest.mark.parametrize("line", ["counting: 1.25 s", "12 draws, 3 ms", "2026-11-21", "at 10:04:59", "elapsed 4"])
def test_bug_13_the_same_search_finds_times(line: str) -> None:
    assert TIME.search(f"domain people\n{line}\nwrote model.json")
