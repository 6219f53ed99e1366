"""Write the whole queries of ``sql/queries``.

Usage: python tests/golden/write_queries.py
"""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
FOLDER = TESTS.parent / "sql" / "queries"

if __name__ == "__main__":
    sys.path.insert(0, str(TESTS))
    from support.golden_queries import golden_queries

    for name, text in golden_queries():
        (FOLDER / name).write_text(text, encoding="utf-8")
