"""Where tests find the real data sets: ``$DPNB_DATA``, or ``shared/data`` beside the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dpnb_columnar.domain.catalogue import packaged_entries
from dpnb_columnar.extensions.datasets.datasets import prepare

FOLDER = Path(os.environ.get("DPNB_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")


def prepared(name: str, folder: Path) -> Path:
    """A real data set as Parquet in ``folder``; skips the test where the raw files are absent."""
    if not FOLDER.is_dir():
        pytest.skip(f"no real data: neither $DPNB_DATA nor {FOLDER} is a folder")
    entry = next(entry for entry in packaged_entries() if entry.name == name)
    output = folder / f"{name}.parquet"
    prepare(entry, FOLDER, output, overwrite=False)
    return output
