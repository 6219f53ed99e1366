"""Faults of a second pass, planted into this program by doubles: the audit has to find each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpnb_columnar import training
from dpnb_columnar.audit import universe as audit_universe
from dpnb_columnar.budget import Budget, Pure, Request, RowEffect, Share, compose, costs
from dpnb_columnar.counting.engines import local
from dpnb_columnar.counting.scores import GradientQuery, GradientSums, Margins, ScoreCounts
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.mechanisms import model_release, score_calibration
from dpnb_columnar.mechanisms import release_plan as planning
from dpnb_columnar.mechanisms.mechanism import noisy_counts
from dpnb_columnar.mechanisms.weight_rounds import WeightRounds
from dpnb_columnar.model.model import Model

Patch = pytest.MonkeyPatch


def spends_nothing(patch: Patch) -> None:
    """The weights are fitted to exact counts."""
    patch.setattr(score_calibration, "noisy_counts", lambda counts, share, draw: [int(count) for count in counts])


def left_out_of_the_table(patch: Patch) -> None:
    """The tables spend the whole budget, and the calibration counts are drawn on top of it."""

    def composed(requests: Sequence[Request], budget: Budget) -> tuple[Share, ...]:
        shares = compose(requests, budget)
        asides.extend(shares[-1:])
        return compose(requests[:-1], budget)

    asides: list[Share] = []
    patch.setattr(planning, "compose", composed)
    patch.setattr(planning.ReleasePlan, "calibration", property(lambda plan: asides[-1]))


def label_change_forgotten(patch: Patch) -> None:
    """A replaced row leaves one cell and enters another; the noise is made for one of them."""

    def counts(counts: Sequence[int], share: Share, draw: Any) -> list[int]:
        return noisy_counts(counts, replace(share, row_cost=share.cost), draw)

    patch.setattr(score_calibration, "noisy_counts", counts)


def edges_from_the_rows(patch: Patch) -> None:
    """The ranges are moved by the exact number of rows."""
    _from_the_rows(
        patch, lambda margins, rows: replace(margins, edges=tuple(edge * (1 + sum(rows)) for edge in margins.edges))
    )


def largest_of_the_rows(patch: Patch) -> None:
    """The largest class is that of the exact counts, not of the released ones."""
    _from_the_rows(patch, lambda margins, rows: replace(margins, largest=rows.index(max(rows))))


def _from_the_rows(patch: Patch, changed: Callable[[Margins, list[int]], Margins]) -> None:
    """Let exact class counts change the margins."""

    def release(statistics: Statistics, *more: Any) -> Model:
        rows[:] = statistics.class_counts.tolist()
        return released(statistics, *more)

    def moved(model: Model) -> Margins:
        return changed(given(model), rows)

    rows: list[int] = []
    released, given = model_release.release, score_calibration.margins_given
    patch.setattr(model_release, "release", release)
    for module in (model_release, score_calibration):
        patch.setattr(module, "margins_given", moved)


def counted_in_two_bins(patch: Patch) -> None:
    """A row counts in the bin of its score and in the next one."""

    def twice(source: Any, query: Any) -> Any:
        counted = once(source, query)
        if not isinstance(counted, ScoreCounts):
            return counted
        return replace(counted, counts=counted.counts + np.roll(counted.counts, 1, axis=0))

    once = local.answer
    patch.setattr(local, "answer", twice)
    forget(patch)
    patch.setattr(training, "_check_same_rows", lambda *answers: None)  # which would find twice the rows


def counted_for_both_classes(patch: Patch) -> None:
    """A row of neither class counts for the best other one as well."""

    def both(margins: Margins, counts: Any) -> Any:
        columns = right(margins, counts)
        columns[:, 1] += columns[:, 2]
        return columns

    right = Margins.columns_of
    patch.setattr(Margins, "columns_of", both)


def gradient_spends_nothing(patch: Patch) -> None:
    """Steps follow exact gradients."""

    def after(rounds: WeightRounds, share: Share, sums: GradientSums, draw: Any) -> WeightRounds:
        return stepping(rounds, share, sums, lambda location, *more: location)

    stepping = WeightRounds.after
    patch.setattr(WeightRounds, "after", after)


def bound_too_small(patch: Patch) -> None:
    """The bound leaves out that log-odds are summed up beside the weights, and halves the rest."""
    right = GradientQuery.sensitivity.fget
    assert right is not None
    patch.setattr(GradientQuery, "sensitivity", property(lambda query: right(query) // 3))


def row_not_scaled(patch: Patch) -> None:
    """A row of many large log-ratios counts whole."""

    def whole(source: Any, query: Any) -> Any:
        if not isinstance(query, GradientQuery):
            return scaled(source, query)
        return replace(scaled(source, replace(query, bound=2**20)), query=query)

    scaled = local.answer
    patch.setattr(local, "answer", whole)
    forget(patch)


def bound_from_the_rows(patch: Patch) -> None:
    """The bound that rows are scaled to is that of the exact tables, here of how many rows there are."""

    def release(statistics: Statistics, *more: Any) -> Model:
        rows.append(int(statistics.class_counts.sum()))
        return released(statistics, *more)

    def start(model: Model) -> WeightRounds:
        rounds = started(model)
        return replace(rounds, query=replace(rounds.query, bound=rounds.query.bound + 50 * rows[-1]))

    rows: list[int] = []
    released, started = model_release.release, model_release.start_rounds
    patch.setattr(model_release, "release", release)
    patch.setattr(model_release, "start_rounds", start)


def rows_in_the_information(patch: Patch) -> None:
    """The Fisher information is that of the exact number of rows."""

    def after(rounds: WeightRounds, share: Share, sums: GradientSums, draw: Any) -> WeightRounds:
        likely = rounds.likely / rounds.likely.sum() * (1 + int(sums.rows.sum()))
        return stepping(replace(rounds, likely=likely), share, sums, draw)

    stepping = WeightRounds.after
    patch.setattr(WeightRounds, "after", after)


def rounds_of_one_share(patch: Patch) -> None:
    """Every round draws with the share of the last, the largest."""

    def after(rounds: WeightRounds, share: Share, sums: GradientSums, draw: Any) -> WeightRounds:
        assert isinstance(share.row_cost, Pure)
        largest = replace(share, row_cost=Pure(share.row_cost.epsilon * 4))
        return stepping(rounds, largest, sums, draw)

    stepping = WeightRounds.after
    patch.setattr(WeightRounds, "after", after)


def replaced_row_halved(patch: Patch) -> None:
    """The rho of a gradient is halved for a replaced row, as if its two rows moved different draws."""
    patch.setattr(costs, "_times", lambda rows, effect: rows)


def sums_taken_for_cells(patch: Patch) -> None:
    """A gradient is said to be of draws that a row moves one of."""
    patch.setattr(GradientQuery, "parallel", replace(GradientQuery.parallel, effect=RowEffect.ONE_DRAW))


def forget(patch: Patch) -> None:
    """Let the audit's rows remember no answers."""
    patch.setattr(audit_universe, "_answer_of", audit_universe._answer_of.__wrapped__)
