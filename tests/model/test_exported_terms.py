"""The table of terms that scripts of other languages read, without these languages."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import polars as pl
import pytest
from dpnb_columnar.extensions.exports.exported_terms import blocks
from dpnb_columnar.extensions.exports.exports import Target, write_export
from support.model_cases import declared, histogram_of, model_of, table_of
from support.scored_rows import AGE

from dpnb_columnar.model.scoring import probability_column


def test_the_table_has_a_row_per_cell_and_class(tmp_path: Path) -> None:
    """By hand: a bin begins half a step below its first grid code; ln(3) is what "m" adds to the second class."""
    domain = declared({"hours": {**AGE, "missing_values": [-9]}, "sex": {"values": ["f", "m"], "missing": "skip"}})
    parameters = [
        histogram_of("hours", [0, 10, 101], [0.5, 0.5], [0.5, 0.5]),
        table_of("sex", [0.75, 0.25], [0.25, 0.75]),
    ]
    write_export(model_of(domain, parameters), tmp_path / "x.R", Target.R)
    head, *rows = csv.reader((tmp_path / "x.R.terms.csv").read_text().splitlines())
    assert head[:5] == ["attribute", "match", "value", "class", "term"]
    assert [row[3] for row in rows] == ["no", "yes", ""] * 8
    cells = [tuple(row[:3]) for row in rows[::3]]
    hours = [
        ("hours", "other", "number"),
        ("hours", "from", ""),
        ("hours", "from", "9.5"),
        ("hours", "missing", "-9.0"),
    ]
    assert cells == [("", "other", ""), *hours, ("sex", "other", "text"), ("sex", "text", "f"), ("sex", "text", "m")]
    assert float(rows[-2][4]) == pytest.approx(math.log(3))
    assert [row[4] for row in rows if row[3] == ""] == ["0.0", "1.0", "0.0", "0.0", "1.0", "1.0", "0.0", "0.0"]


def test_a_bin_begins_at_the_first_float_that_predict_puts_into_it() -> None:
    """A grid whose halves are no floats: the number below each edge is in the bin before."""
    domain = declared({"x": {"lower": "-7/10", "upper": 2, "step": "1/10"}})
    edges = list(range(0, domain.numeric[0].cells + 2))
    rows = [[0.5 ** (code + 1) for code in edges[:-1]], [1 / (len(edges) - 1)] * (len(edges) - 1)]
    model = model_of(domain, [histogram_of("x", edges, *[[each / sum(row) for each in row] for row in rows])])
    starts = [float(cell.value) for cell in list(blocks(model))[1][1] if cell.match == "from" and cell.value != ""]
    assert len(starts) == domain.numeric[0].cells
    values = [each for start in starts for each in (math.nextafter(start, -math.inf), start)]
    found = model.predict(pl.DataFrame({"x": values}).lazy()).collect()[probability_column("no")].to_list()
    assert found[:-1:2] == [found[0], *found[1:-2:2]]
    assert all(before > after for before, after in zip(found[::2], found[1::2], strict=True))


@pytest.mark.parametrize("target", [Target.R, Target.STATA, Target.SAS], ids=str)
def test_scripts_have_the_pattern_and_the_table_the_truths_that_predict_reads(target: Target, tmp_path: Path) -> None:
    domain = declared({"truth": {"values": ["true", "0"]}})
    script = tmp_path / "x"
    write_export(model_of(domain, [table_of("truth", [0.75, 0.25], [0.25, 0.75])]), script, target)
    assert "([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?0*[0-9]?[0-9])? *" in script.read_text()
    cells = [tuple(row[1:3]) for row in csv.reader((tmp_path / "x.terms.csv").read_text().splitlines())][4::3]
    assert sorted(cells[1:]) == [("number", "0.0"), ("text", "TRUE"), ("text", "True"), ("text", "true")]
