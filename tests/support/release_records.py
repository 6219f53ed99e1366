"""A record that states everything, and the report of an audit, as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RECORD = """
title = "Income of townspeople"
author = "Household Surveys"
date = 2026-11-24
published = "2026-12-01"
contact = "surveys@example.org"
purpose = \"\"\"
To plan a survey.

Nothing else.\"\"\"
out_of_scope = "Decisions on one person."
rows = "Persons of 16 and over"
region = "A town"
period = "2025"
source = "The town's census"
citation = "Town 2025"
actors = "The office holds the rows."
preparation = "Bounds are the codebook's."
justification = "The office's usual epsilon."
further_releases = "One a year."
holdout = "split --by household"
output_check = "Passed."
limitations = "Few rows of the young."
sector = "Government"
releases = "Many releases"
new_rows = "Dynamic"
record_authors = ["B. Writer"]

[[curators]]
name = "Statistics Office"
kind = "Government"

[[approvals]]
role = "Disclosure officer"
name = "A. Officer"
date = 2026-11-30

[[approvals]]
role = "Head of division"
"""


def write_record(path: Path = Path("release.toml"), text: str = RECORD) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def audit_document(**changes: Any) -> dict[str, Any]:
    """What ``audit --output`` writes, of one way to release."""
    configuration = {
        **{"mechanism": "histogram", "noise": None, "neighbours": "add-remove", "attribute_weights": "none"},
        **{"classes": 2, "copies": False, "unit_rows": None, "weighted": False, "epsilon": "4", "delta": "0"},
        **{"exhaustive_loss": 3.999, "number_bound": 3.1, "model_bound": 3.2, "bit_patterns": True},
        **{"pairs": 90, "releases": 1000, "findings": []},
    }
    return {
        **{"format": "dpnb_columnar audit", "version": 1, "software": {"dpnb-columnar": "0.1.0"}},
        **{"confidence": 0.999, "holds": True, "findings": [], "configurations": [configuration]},
        **changes,
    }


def write_audit(path: Path = Path("audit.json"), **changes: Any) -> Path:
    path.write_text(json.dumps(audit_document(**changes)))
    return path
