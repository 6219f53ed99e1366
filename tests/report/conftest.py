"""One report of everything that the tests of pages share."""

from __future__ import annotations

from typing import Any

import pytest
from support.fake_results import BASELINES, PURE_METHODS, allocation, bounds, evaluation
from support.report_pages import Page, report

AWKWARD = '<b>&"'
"""A name that is markup."""

EPSILONS = (0.01, 0.1, 1.0)


def everything() -> list[dict[str, Any]]:
    """Rows of all three studies, few of each."""
    rows = evaluation(("adult",), iterations=3, folds=2, epsilons=EPSILONS)
    rows += evaluation((AWKWARD,), iterations=3, folds=2, epsilons=EPSILONS, methods=(*PURE_METHODS[:2], *BASELINES))
    return [*rows, *bounds(("adult",), iterations=2, folds=2), *allocation(("adult",), iterations=2, folds=2)]


@pytest.fixture(scope="session")
def rows() -> list[dict[str, Any]]:
    """Rows behind ``whole``."""
    return everything()


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]) -> Page:
    """A report with every section. Read it, do not change it."""
    metadata = {"mode": "full", "polars": "2.1.0", "rows.adult": "45222", "domain.adult": "9f" * 32}
    return report(tmp_path_factory.mktemp("report"), rows, runtime=True, metadata=metadata)
