"""Named SQL and file patterns."""

from __future__ import annotations

from pathlib import Path

from dpnb_columnar.runtime.resources import literal_pattern, sections


def test_every_section_is_text_without_comments() -> None:
    assert sections("ledger")
    for section in sections("ledger").values():
        assert section
        assert "--" not in section


def test_patterns_that_match_one_file() -> None:
    assert literal_pattern(Path("a[1]*?.parquet")) == "a[[]1][*][?].parquet"
