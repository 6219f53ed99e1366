"""What is printed on the way to a model is public: no row, no count of rows and no length of time shows in it.

``train`` may run in a scheduler whose log many people read, so its text has to be the same whatever the rows are.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.mechanisms import MECHANISMS
from support.odd_rows import ROWS
from support.people import people, write_people
from support.running import Run

FILE = Path("people.parquet")

TRAINED = """\
domain people, from the metadata of the data
epsilon 0.5 (add-remove neighbours), mechanism smooth, 6 queries
wrote people.model.json
"""


@pytest.mark.parametrize("rows", ROWS)
def test_train_prints_public_facts_alone(rows: str, folder: Path, run: Run) -> None:
    write_people(FILE, ROWS[rows])
    ended = run("train", FILE, "--mechanism", "smooth", "--epsilon", "0.5")
    assert (ended.out, ended.err) == (TRAINED, "")


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["auto", *MECHANISMS])
@pytest.mark.parametrize("verb", ["train", "plan"])
def test_text_does_not_depend_on_rows(verb: str, mechanism: str, folder: Path, run: Run) -> None:
    texts = set()
    for frame in ROWS.values():
        write_people(FILE, frame)
        ended = run(verb, FILE, "--mechanism", mechanism, *(["--overwrite"] if verb == "train" else []))
        texts.add((ended.out, ended.err))
    assert len(texts) == 1


def test_text_does_not_depend_on_how_rows_are_spread_over_files(folder: Path, run: Run) -> None:
    texts = set()
    for parts in (1, 3):
        for part in range(parts):
            write_people(folder / f"people-{part}.parquet", people(100, seed=part))
        texts.add(run("train", "people-*.parquet", "--overwrite").out)
    assert len(texts) == 1
