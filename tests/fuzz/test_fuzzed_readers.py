"""Whatever a file holds: a documented exit code, a short message about it, bounded memory, nothing left behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fuzz_parent import Fuzzer
from fuzzed_readers import READERS
from hypothesis import given, note, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.xdist_group("fuzz")  # one process runs them all

INPUTS = 10
"""Of each reader; ``python tests/fuzz`` runs as many as are wished."""


@pytest.fixture(scope="module")
def fuzzer() -> Iterator[Fuzzer]:
    with Fuzzer() as found:
        yield found


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(READERS)), ids=[reader.file for reader in READERS])
def test_reader_takes_or_refuses_every_file(place: int, fuzzer: Fuzzer) -> None:
    @settings(max_examples=INPUTS, deadline=None)
    @given(seed=st.integers(0, 2**32))
    def check(seed: int) -> None:
        outcome = fuzzer.outcome(place, seed)
        note(f"python tests/fuzz --reader {outcome.reader} --seed {seed} --inputs 1\n{outcome.text}")
        assert outcome.defects == ()

    check()
