"""One report of everything that the tests of pages share."""

from __future__ import annotations

from typing import Any

import pytest
from support.report_pages import Page, everything, report


@pytest.fixture(scope="session")
def rows() -> list[dict[str, Any]]:
    """Rows behind ``whole``."""
    return everything()


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]) -> Page:
    """A report with every section. Read it, do not change it."""
    metadata = {"mode": "full", "polars": "2.1.0", "rows.adult": "45222", "domain.adult": "9f" * 32}
    return report(tmp_path_factory.mktemp("report"), rows, runtime=True, metadata=metadata)
