"""Write the files for Stata and SAS anew: python tests/golden/write_exports.py. Read them: nothing here runs them."""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))

from support.exported import golden_case  # noqa: E402

from dpnb_columnar.model.export_targets import SUFFIXES, Target  # noqa: E402
from dpnb_columnar.model.exported_program import export  # noqa: E402

for target in (Target.STATA, Target.SAS):
    (FOLDER / f"export{SUFFIXES[target]}").write_text(str(export(golden_case(), target)), encoding="utf-8")
