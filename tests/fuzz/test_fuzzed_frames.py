"""Whatever a frame holds: a result, or one error of this package whose text quotes no row; each row counts by itself.

Usage: python tests/fuzz/test_fuzzed_frames.py [INPUTS [FIRST SEED]]
"""

from __future__ import annotations

import sys
import traceback
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from fuzz_outcome import CONTROL, LONGEST_ERROR
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_frames import odd_frame
from support.people import PEOPLE, people, people_domain

import dpnb_columnar as dpnb
from dpnb_columnar.counting.statistics import assemble
from dpnb_columnar.errors import DataError

DOMAIN = people_domain(
    {**PEOPLE, "attributes": {**PEOPLE["attributes"], "age": {**PEOPLE["attributes"]["age"], "missing": "row"}}}
)


def halves(frame: object) -> list[object]:
    """Return the first and the other rows; none of what has no order."""
    if isinstance(frame, pd.DataFrame):
        return [frame.iloc[: len(frame) // 2], frame.iloc[len(frame) // 2 :]]
    if isinstance(frame, pl.DataFrame | pa.Table):
        return (
            [frame[: len(frame) // 2], frame[len(frame) // 2 :]]
            if isinstance(frame, pl.DataFrame)
            else [frame.slice(0, len(frame) // 2), frame.slice(len(frame) // 2)]
        )
    return []


def outcome(model: dpnb.Model, seed: int) -> str:
    """Hand a frame over; how it ended, with ``defect`` in it if not as it should."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries, about what is odd here
        library, frame = odd_frame(seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            counted = dpnb.aggregate(frame, domain=DOMAIN)
            parts = [dpnb.aggregate(part, domain=DOMAIN) for part in halves(frame)]
            scored = model.predict(frame)
    except DataError as error:
        text = str(error)
        wrong = CONTROL.search(text) or len(text) > LONGEST_ERROR or "no such row" in text
        return f"{library} refused" + (f" defect: {text!r}" if wrong else "")
    except BaseException:  # a panic of Rust is no Exception
        return f"{library} defect: {traceback.format_exc(limit=-6)}"
    if parts:
        cells = [cell for part in parts for cell in part.cells()]
        if assemble(DOMAIN, cells, counted.parts) != counted:
            return f"{library} defect: a row counts as others do"
        if len(scored) != len(frame):
            return f"{library} defect: rows lost"
    return f"{library} done"


@pytest.fixture(scope="module")
def model() -> dpnb.Model:
    return dpnb.train(people(300), domain=DOMAIN, epsilon=1)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_every_frame_is_taken_or_refused(model: dpnb.Model, seed: int) -> None:
    assert "defect" not in outcome(model, seed), f"seed {seed}"


if __name__ == "__main__":
    inputs, first = [*map(int, sys.argv[1:]), *(10_000, 0)[len(sys.argv) - 1 :]]
    released = dpnb.train(people(300), domain=DOMAIN, epsilon=1)
    found: Counter[str] = Counter()
    for number in range(first, first + inputs):
        ended = outcome(released, number)
        found[ended.partition(":")[0]] += 1
        if "defect" in ended:
            print(number, ended, flush=True)
    print(found)
