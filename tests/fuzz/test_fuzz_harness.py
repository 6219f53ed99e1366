"""The fuzzer notices what it is there for, and its mutations are what they claim to be."""

from __future__ import annotations

import io
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random

import fuzz_child
import fuzz_parent
import pyarrow.parquet as pq
import pytest
from fuzz_outcome import LONGEST_ERROR, Outcome, defects_of
from fuzz_parent import Fuzzer
from fuzzed_readers import READERS
from hostile_values import FORGED
from hypothesis import given
from hypothesis import strategies as st
from mutated_parquet import mutated_parquet
from mutations import mutated_bytes
from support.people import people, write_people
from thrift_compact import Reader, written


@pytest.mark.parametrize(
    ("code", "text", "defect"),
    [
        (70, "model.json: internal error", "internal error"),
        (1, "model.json", "undocumented exit code 1"),
        (65, "model.json\nTraceback (most recent call last):", "traceback"),
        (65, "thread 'x' panicked at model.json", "traceback"),
        (65, "model.json" + "x" * LONGEST_ERROR, "long error"),
        (65, "the file cannot be read", "error names no file"),
        (65, "model.json: \x1b[2J", "control character printed"),
        (65, f"model.json: a\n{FORGED}", "line forged"),
    ],
)
def test_defect_is_noticed(code: int, text: str, defect: str) -> None:
    assert defects_of(code, text, ["model.json"]) == [defect]


def test_a_clear_refusal_is_no_defect() -> None:
    assert defects_of(65, "dpnb-columnar: model.json: not a model\n", ["model.json"]) == []
    assert defects_of(0, "wrote out.parquet\n", ["model.json"]) == []


def died(place: int, seed: int) -> Outcome:
    with Fuzzer() as fuzzer:
        return fuzzer.outcome(place, seed)


def crash(connection: object, corpus: Path, scratch: Path) -> None:
    (scratch / "printed").write_text("last words")
    connection.send("ready")  # type: ignore[attr-defined]
    connection.recv()  # type: ignore[attr-defined]
    os.abort()


def hang(connection: object, corpus: Path, scratch: Path) -> None:
    (scratch / "printed").write_text("last words")
    connection.send("ready")  # type: ignore[attr-defined]
    for _ in range(2):
        connection.recv()  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_process_that_dies_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_parent, "serve", crash)
    outcome = died(0, 1)
    assert outcome.defects == ("the process died with -6",)
    assert (outcome.reader, outcome.code, outcome.text) == (READERS[0].file, None, "last words")


@pytest.mark.slow
def test_a_process_that_does_not_answer_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_parent, "serve", hang)
    monkeypatch.setattr(fuzz_parent, "MOST_SECONDS", 0.1)
    assert died(0, 1).defects == ("no answer within 0.1 s",)


def taken_and_given_back() -> tuple[int, int, int]:
    """Peaks of memory before, while and after 2^27 bytes are held."""
    base = fuzz_child.begin_peak()
    taken = bytearray(2**27)
    taken[::4096] = b"x" * len(taken[::4096])
    held = fuzz_child.peak()
    del taken
    return base, held, fuzz_child.begin_peak()


@pytest.mark.slow
def test_peak_of_memory_is_measured_anew() -> None:
    """In a process of its own, where no thread of another test takes memory meanwhile."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        base, held, after = process.submit(taken_and_given_back).result()
    assert held - base > 2**26
    assert after < base + 2**26


@given(st.integers(), st.binary(max_size=200))
def test_the_same_state_gives_the_same_bytes(seed: int, content: bytes) -> None:
    first, second = (mutated_bytes(Random(seed), content, [b"other"]) for _ in range(2))
    assert first == second


def test_a_footer_is_written_as_it_was_read(tmp_path: Path) -> None:
    content = write_people(tmp_path / "people.parquet").read_bytes()
    size = int.from_bytes(content[-8:-4], "little")
    footer = content[-8 - size : -8]
    assert written(Reader(footer).struct()) == footer


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_people(tmp_path_factory.mktemp("seed") / "people.parquet", people(50)).read_bytes()


@pytest.mark.slow
def test_footers_lie_about_rows(parquet: bytes) -> None:
    """Among the changed footers that can be read there are such that declare other numbers of rows."""
    rows = set()
    for seed in range(300):
        try:
            rows.add(pq.read_metadata(io.BytesIO(mutated_parquet(Random(seed), parquet))).num_rows)
        except (OSError, ValueError):
            continue
    assert len(rows) > 3
