"""What ``train`` and ``release`` have in common: from statistics to a model file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpnb_columnar.aggregation.statistics import Statistics
from dpnb_columnar.boundary.release import release
from dpnb_columnar.budget import Budget, Share
from dpnb_columnar.commands.options import released_under, say, stage, warn
from dpnb_columnar.model.files import save_model
from dpnb_columnar.noise import ExactSampler, SeededBits, SystemBits


def announce(spent: Budget, mechanism: str, shares: Sequence[Share]) -> None:
    """Say what is about to be spent, before any row is opened."""
    if mechanism == "none":
        say("mechanism none: NOT PRIVATE, nothing is protected")
    else:
        say(f"{released_under(spent, mechanism)}, {len(shares)} queries")


def release_to(
    target: Path,
    statistics: Statistics,
    spent: Budget,
    mechanism: str,
    noise: str | None,
    seed: int | None,
    overwrite: bool,
) -> None:
    """Release a model and write it, with a warning if it carries no guarantee."""
    with stage("releasing"):
        draw = ExactSampler(SystemBits() if seed is None else SeededBits(seed))
        model = release(statistics, spent, mechanism, noise, draw)
    save_model(model, target, overwrite=overwrite)
    if not model.guarantee.private:
        warn("this model carries NO GUARANTEE; it is as confidential as the rows")
    say(f"wrote {target}")
