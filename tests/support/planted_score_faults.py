"""Faults of released scores, planted by doubles: the audit has to find each of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import chain

import numpy as np
import pytest

from dpnb_columnar.budget import Budget, Pure, Request, Share
from dpnb_columnar.mechanisms import score_release
from dpnb_columnar.mechanisms.score_release import GROUP_COUNTS, GROUP_PROBABILITIES
from dpnb_columnar.noise import Laplace, Sampler

Patch = pytest.MonkeyPatch

COMPOSE, NOISY_COUNTS = score_release.compose, score_release.noisy_counts
ONE = Fraction(1)


def margin_counted_twice(patch: Patch) -> None:
    """In place of the last group of a column all rows are counted, which are in groups of their own as well."""

    def counts(counts: Iterable[int], share: Share, draw: Sampler, scale: Fraction = ONE) -> list[int]:
        numbers = np.array(list(counts))
        if share.query == GROUP_COUNTS and share.attribute == "category":
            table = numbers.reshape(-1, 4)  # of two classes, each predicted as either
            table[-1] = table.sum(axis=0)
        return NOISY_COUNTS(numbers.tolist(), share, draw, scale)

    patch.setattr(score_release, "noisy_counts", counts)


def whole_share_for_every_query(patch: Patch) -> None:
    """Groups of one column are disjoint; so are taken those of several columns, which hold the same rows."""

    def compose(requests: Sequence[Request], budget: Budget) -> tuple[Share, ...]:
        return tuple(chain.from_iterable(COMPOSE([request], budget) for request in requests))

    patch.setattr(score_release, "compose", compose)


def one_draw_for_a_replaced_row(patch: Patch) -> None:
    """A replaced row moves two draws of a query; the noise is made for one."""

    def counts(counts: Iterable[int], share: Share, draw: Sampler, scale: Fraction = ONE) -> list[int]:
        assert isinstance(share.cost, Pure)
        noise = Laplace(share.cost.epsilon)
        return [int(draw(Fraction(int(count)), scale, noise)) for count in counts]

    patch.setattr(score_release, "noisy_counts", counts)


def sums_with_the_noise_of_counts(patch: Patch) -> None:
    """A row moves a sum by up to a hundred hundredths; the noise is made for one."""

    def counts(counts: Iterable[int], share: Share, draw: Sampler, scale: Fraction = ONE) -> list[int]:
        return NOISY_COUNTS(counts, share, draw)

    patch.setattr(score_release, "noisy_counts", counts)


def empty_groups_left_out(patch: Patch) -> None:
    """Sums of groups without rows are released as 0, without noise."""

    def counts(counts: Iterable[int], share: Share, draw: Sampler, scale: Fraction = ONE) -> list[int]:
        if share.query != GROUP_PROBABILITIES:
            return NOISY_COUNTS(counts, share, draw, scale)
        return [NOISY_COUNTS([count], share, draw, scale)[0] if count else 0 for count in counts]

    patch.setattr(score_release, "noisy_counts", counts)
