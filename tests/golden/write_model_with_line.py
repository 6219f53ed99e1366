"""Write ``model_with_line.json`` anew: a seeded release of three classes under the rules of today, with a line of ours.

To be run only before a version of documents is out: from then on its rules stay what they are.

Usage: python tests/golden/write_model_with_line.py
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import polars as pl
from support.releases import train

from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.noise import ExactSampler, SeededBits
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.model.document import to_document, to_json
from dpnb_columnar.model.parameters import CalibrationLine
from dpnb_columnar.releases.plan import plan

FILE = Path(__file__).parent / "model_with_line.json"
LINE = CalibrationLine(1, (-6.5, -1.25, 0.0, 2.5), (-4.125, -1.5, -0.5, 1.75), (-3.0, -2.5, -2.25, 0.125), 0.375)
COUNTS = {"low": (150, 900, 170), "mid": (1730, 310, 330), "high": (60, 60, 300)}
JOBS = ("clerk", "farmer", "nurse")


def main() -> None:
    """Release and write."""
    declaration = {"label": {"column": "pay", "classes": list(COUNTS)}, "attributes": {"job": {"values": list(JOBS)}}}
    domain = read_domain("pay", declaration, "golden")
    held = [(job, pay) for pay, counts in COUNTS.items() for job, rows in zip(JOBS, counts, strict=True)
            for _ in range(rows)]  # fmt: skip
    rows = FrameInput(pl.DataFrame(held, {"job": pl.String, "pay": pl.String}, orient="row"))
    planned = plan(domain, Budget(Fraction(1)), "histogram", attribute_weights="calibrated")
    model = train(planned, rows, draw=ExactSampler(SeededBits(3)))
    assert model.attribute_weights is not None
    weights = replace(model.attribute_weights, line=LINE)
    model = replace(model, attribute_weights=weights, software={"dpnb-columnar": "0.0.1", "numpy": "2.0"})
    FILE.write_text(to_json(to_document(model)), encoding="utf-8")


if __name__ == "__main__":
    main()
