"""What a release is, pinned: the same rows and the same seed give the same numbers in every version of the program."""

from __future__ import annotations

import pytest
from support.golden_releases import TEXTS, digest_of, pinned_digests

PINNED = pinned_digests()

pytestmark = pytest.mark.golden


@pytest.mark.parametrize("name", TEXTS)
def test_a_seeded_release_stays_what_it_is(name: str) -> None:
    assert digest_of(name) == PINNED.get(name), (
        f"{name!r} is another release than it was: if that is meant, say why in CHANGELOG.md, and then run "
        "python tests/golden/write_releases.py"
    )


def test_every_digest_is_of_a_release() -> None:
    assert list(PINNED) == list(TEXTS), "run python tests/golden/write_releases.py"
