"""Write the digests of seeded releases, ``releases.json``, anew; say in ``CHANGELOG.md`` why they moved.

Usage: python tests/golden/write_releases.py
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from support.golden_releases import write_digests

    write_digests()
