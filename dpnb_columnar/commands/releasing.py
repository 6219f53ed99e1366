"""What ``train`` and ``release`` have in common on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from dpnb_columnar.budget import Budget, Share
from dpnb_columnar.commands.options import released_under, say
from dpnb_columnar.noise import RandomBits, SeededBits, SystemBits


def random_bits(seed: int | None) -> RandomBits:
    """The operating system's generator, or a repeatable one for tests."""
    return SystemBits() if seed is None else SeededBits(seed)


def announce(spent: Budget, mechanism: str, shares: Sequence[Share]) -> None:
    """Say what is about to be spent, before any row is opened."""
    if mechanism == "none":
        say("mechanism none: NOT PRIVATE, nothing is protected")
    else:
        say(f"{released_under(spent, mechanism)}, {len(shares)} queries")
