"""Advice of ``plan`` beside measured accuracies: the accuracy that following it would have lost.

Usage: python -m benchmarks.advice results.parquet

Reads the results of ``dpnb-columnar reproduce``: cells of the study ``evaluation`` without a delta. Advice is given
from public facts alone, the domain and the declared number of rows; it sees no result.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from dpnb_columnar.advice.recommendation import advise
from dpnb_columnar.budget import Budget, parse_epsilon
from dpnb_columnar.study import plan
from dpnb_columnar.study.data_sets import DataSet

RIGHT = 0.005
"""Advice is right if its mechanism is no further behind the winner than this."""

ALWAYS = ("smooth", "histogram", "adaptive-histogram")
"""Mechanisms to compare with choosing by advice."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One data set at one epsilon.

    Attributes:
        dataset: Its name.
        epsilon: The budget.
        advised: The recommended mechanism.
        accuracies: Per measured mechanism, its mean accuracy.
    """

    dataset: str
    epsilon: float
    advised: str
    accuracies: Mapping[str, float]

    @property
    def winner(self) -> str:
        """The best measured mechanism."""
        return max(self.accuracies, key=lambda name: self.accuracies[name])

    def regret(self, mechanism: str) -> float | None:
        """Compute the accuracy lost by a mechanism instead of the winner; None if it was not measured."""
        accuracy = self.accuracies.get(mechanism)
        return None if accuracy is None else self.accuracies[self.winner] - accuracy


def measured(results: Path) -> pl.DataFrame:
    """Average the accuracy of every private mechanism with its default noise: dataset, epsilon, mechanism, accuracy."""
    cells = pl.scan_parquet(results).filter(
        pl.col("study") == "evaluation", pl.col("delta") == "0", pl.col("epsilon").is_not_null()
    )
    groups = cells.group_by("dataset", "epsilon", "mechanism", maintain_order=True)
    return groups.agg(pl.mean("accuracy")).collect()


def compare(accuracy: pl.DataFrame, datasets: Mapping[str, DataSet]) -> list[Comparison]:
    """Compare advice with measurements; data sets that are not in the mapping are left out."""
    comparisons = []
    for (name, epsilon), group in accuracy.group_by("dataset", "epsilon", maintain_order=True):
        if name not in datasets:
            continue
        dataset = datasets[str(name)]
        budget = Budget(parse_epsilon(float(epsilon)))
        advice = advise(dataset.origin.domain(dataset.name), budget, dataset.rows)
        accuracies = dict(group.select("mechanism", "accuracy").iter_rows())
        comparisons.append(Comparison(dataset.name, float(epsilon), advice.recommended, accuracies))
    return comparisons


def report(comparisons: Sequence[Comparison]) -> list[str]:
    """Make lines of text: one per comparison, then the totals."""
    lines = [f"{'data set':20}{'epsilon':>8}  {'advised':20}{'measured winner':20}{'regret':>7}"]
    for each in comparisons:
        lost = each.regret(each.advised)
        regret = "not measured" if lost is None else f"{lost:.4f}"
        lines.append(f"{each.dataset:20}{each.epsilon:>8g}  {each.advised:20}{each.winner:20}{regret:>7}")
    choices = {"advice": [each.regret(each.advised) for each in comparisons]}
    choices |= {f"always {name}": [each.regret(name) for each in comparisons] for name in ALWAYS}
    lines.append("")
    for choice, regrets in choices.items():
        known = [regret for regret in regrets if regret is not None]
        if not known:
            continue
        right = sum(regret <= RIGHT for regret in known)
        lines.append(
            f"{choice:26}within {RIGHT} of the winner: {right} of {len(known)}; "
            f"regret {statistics.fmean(known):.4f} on average, {max(known):.4f} at most"
        )
    return lines


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    options = parser.parse_args()
    print("\n".join(report(compare(measured(options.results), plan.FULL.datasets))))


if __name__ == "__main__":
    main()
