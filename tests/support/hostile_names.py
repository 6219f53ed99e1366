"""A data set whose names would do harm on a page that took them as they are."""

from __future__ import annotations

from pathlib import Path

import polars as pl

MARKUP, TEMPLATE, REVERSED = "<script>alert(1)</script>", "{{ 7*6 }}", "paid \u202edlog\u202c"

DECLARATION = f"""
[town.label]
column = "class"
classes = ["{MARKUP}", "{TEMPLATE}"]
[town.attributes.'a"b&c']
values = ["{REVERSED}", "</td>"]
[town.attributes.'{"long" * 30}']
lower = 0
upper = 99
step = 1
[town.value_labels.class]
"{MARKUP}" = "{MARKUP}{REVERSED}"
[town.value_labels.'a"b&c']
"</td>" = "{MARKUP}"
"""


def write_hostile_rows(folder: Path) -> Path:
    """Write ``town.parquet``, and a ``datasets.toml`` that declares it; return the rows' file."""
    numbers = range(2000)
    rows = {
        "class": [MARKUP if number % 3 else TEMPLATE for number in numbers],
        'a"b&c': ["</td>" if number % 3 else REVERSED for number in numbers],
        "long" * 30: [number % 60 for number in numbers],
    }
    pl.DataFrame(rows).write_parquet(folder / "town.parquet")
    (folder / "datasets.toml").write_text(DECLARATION, encoding="utf-8")
    return folder / "town.parquet"
