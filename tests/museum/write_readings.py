"""Write what today's program says of the museum's files, ``readings.json``; say in ``CHANGELOG.md`` why it moved.

Usage: python tests/museum/write_readings.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from support.museum import COMMITS, READINGS, files_of, reading, unpack

    readings = {}
    for commit in COMMITS:
        with TemporaryDirectory() as name:
            folder = Path(name)
            unpack(commit, folder)
            readings[commit] = {file: reading(folder, file) for file in files_of(folder)}
    READINGS.write_text(json.dumps(readings, indent=1) + "\n", encoding="utf-8")
