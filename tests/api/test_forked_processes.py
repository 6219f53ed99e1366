"""A process that is forked after the first call is told so; it would wait for ever."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.patience import patience
from support.people import write_people
from support.writing_verbs import child

PROGRAM = """
import os, sys
import dpnb_columnar as dpnb
if sys.argv[1] == "after":
    dpnb.train("people.parquet", epsilon=1)
if os.fork() == 0:
    try:
        dpnb.train("people.parquet", epsilon=1)
        print("trained", flush=True)
    except dpnb.errors.Error as error:
        print(error.exit_code, error, flush=True)
    os._exit(0)
os.wait()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "told"), [("before", "trained\n"), ("after", "64 this process was forked from process ")]
)
def test_a_forked_process_trains_or_is_told_why_not(moment: str, told: str, folder: Path) -> None:
    write_people(folder / "people.parquet")
    with child("-W", "ignore", "-c", PROGRAM, moment) as process:
        out, err = process.communicate(timeout=patience(60))
    assert out.startswith(told), err
    assert moment == "before" or 'get_context("spawn")' in out
