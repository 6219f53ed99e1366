"""A Parquet file is closed where there is no room to write it."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pyarrow as pa
import pytest

from dpnb_columnar.runtime.outputs import parquet_writer


def test_a_file_without_room_for_its_footer_is_closed(tmp_path: Path) -> None:
    path, schema = tmp_path / "people.parquet", pa.schema({"age": pa.int64()})
    path.touch()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"), parquet_writer(path, schema) as writer:
            pass  # nothing is written but the footer, for which there is no room
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(path) not in [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]
    assert writer  # the traceback of a failure may keep it
