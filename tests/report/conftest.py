"""One report of everything that the tests of pages share, and a browser to look at pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.chromium import Browser, binary
from support.fake_results import everything, report
from support.report_pages import Page


@pytest.fixture(scope="session")
def rows() -> list[dict[str, Any]]:
    """Rows behind ``whole``."""
    return everything()


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]) -> Page:
    """A report with every section. Read it, do not change it."""
    metadata = {"mode": "full", "polars": "2.1.0", "rows.adult": "45222", "domain.adult": "9f" * 32}
    return report(tmp_path_factory.mktemp("report"), rows, runtime=True, metadata=metadata)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser; its tests are one group, and have its marker."""
    if binary() is None:
        pytest.skip("no Chromium: install chromium, or name a binary in $CHROMIUM")
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser
