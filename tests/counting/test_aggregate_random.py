"""Random tables under random domains: both engines count what the rules say."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.aggregation_cases import WRITERS, check
from support.random_tables import frames
from support.rows_in_python import Document


@pytest.mark.slow
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(frames(), st.integers(1, 5), st.sampled_from(WRITERS))
def test_random_frames(
    tmp_path_factory: pytest.TempPathFactory, frame: tuple[list[pa.Table], Document], group: int, writer: str
) -> None:
    tables, document = frame
    check(tmp_path_factory.mktemp("random"), tables, document, group, [writer])
