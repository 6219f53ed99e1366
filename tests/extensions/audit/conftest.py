"""What the audit's rows have answered is forgotten before and after each test, which may plant a fault."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dpnb_columnar.extensions.audit import universe


@pytest.fixture(autouse=True)
def _no_answers_of_other_tests() -> Iterator[None]:
    universe._answer_of.cache_clear()
    yield
    universe._answer_of.cache_clear()
