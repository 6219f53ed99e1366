"""Advice of ``plan`` beside measured accuracies: the accuracy that following it would have lost.

Usage: python -m benchmarks.advice results.parquet
       python -m benchmarks.advice DATA.parquet... [--epsilon 0.1,0.3,1] [--rows 200000]

Reads the results of ``python -m studies.paper``: cells of the study ``evaluation`` without a delta. Or measures what
may be advised on data sets of the catalogue, by cross-validation: every mechanism with every way to weight attributes.
Advice is given from public facts alone, the domain and the declared number of rows; it sees no result.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from benchmarks.tuning import folds
from dpnb_columnar.advice.rehearsal import CANDIDATES, MAJORITY, METHODS, advise
from dpnb_columnar.core.budget import Budget, parse_epsilon
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.catalogue import entry_named
from dpnb_columnar.errors import UsageError
from dpnb_columnar.releases.plan import plan
from studies.paper import experiments as studies
from studies.paper.coded_rows import accuracies

RIGHT = 0.005
"""Advice is right if its choice is no further behind the winner than this."""

ALWAYS = tuple(f"{mechanism} {weights}" for mechanism in CANDIDATES for weights in ("none", "calibrated"))
"""Choices to compare with choosing by advice."""

SIMULATED_ROWS = 200_000
"""Rows of a data set whose entry declares none: the simulated census."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One data set at one epsilon.

    Attributes:
        dataset: Its name.
        epsilon: The budget.
        advised: The recommended mechanism and attribute weights.
        accuracies: Per measured mechanism and weights, such as ``smooth calibrated``, the mean accuracy.
    """

    dataset: str
    epsilon: float
    advised: str
    accuracies: Mapping[str, float]

    @property
    def winner(self) -> str:
        """The best measured choice."""
        return max(self.accuracies, key=lambda name: self.accuracies[name])

    def regret(self, choice: str) -> float | None:
        """Compute the accuracy lost by a choice instead of the winner; None if it was not measured.

        Of weights that were not measured, or that more than two classes do not have, those that were stand in.
        """
        mechanism = choice.split()[0]
        for name in (choice, f"{mechanism} auto", f"{mechanism} none"):
            if name in self.accuracies:
                return self.accuracies[self.winner] - self.accuracies[name]
        return None


def measured(results: Path) -> pl.DataFrame:
    """Average the accuracy of every private mechanism with its default noise: dataset, epsilon, choice, accuracy."""
    cells = pl.scan_parquet(results).filter(
        pl.col("study") == "evaluation", pl.col("delta") == "0", pl.col("epsilon").is_not_null()
    )
    choice = pl.concat_str("mechanism", "attribute_weights", separator=" ").alias("choice")
    groups = cells.group_by("dataset", "epsilon", choice, maintain_order=True)
    return groups.agg(pl.mean("accuracy")).collect()


def compare(accuracy: pl.DataFrame, datasets: Mapping[str, tuple[Domain, int]]) -> list[Comparison]:
    """Compare advice with measurements; data sets that are not in the mapping are left out.

    Args:
        accuracy: As of ``measured``.
        datasets: Domain and declared number of rows of each data set.
    """
    comparisons = []
    for (name, epsilon), group in accuracy.group_by("dataset", "epsilon", maintain_order=True):
        if name in datasets:
            chosen = dict(group.select("choice", "accuracy").iter_rows())
            comparisons.append(_compared(str(name), float(epsilon), chosen, *datasets[str(name)]))
    return comparisons


def measure(path: Path, epsilons: Sequence[str], rows: int | None) -> Iterator[Comparison]:
    """Cross-validate what may be advised on a data set, and compare.

    Args:
        path: Its Parquet file, named like its entry in the catalogue.
        epsilons: Budgets.
        rows: Declared number of rows, if the entry has none.
    """
    parts, entry = folds(path, 1, 1), entry_named(path.stem)
    for epsilon in epsilons:
        found = {}
        for mechanism in (*CANDIDATES, MAJORITY):
            for weights in METHODS:
                try:
                    planned = plan(
                        parts[0][0].training.statistics.domain,
                        Budget(parse_epsilon(epsilon)),
                        mechanism,
                        attribute_weights=weights,
                    )
                except UsageError:
                    continue  # the weights do not suit the mechanism, or the classes
                found[f"{mechanism} {weights}"] = statistics.fmean(accuracies(parts[0], planned))
        yield _compared(path.stem, float(epsilon), found, entry.domain, entry.rows or rows or SIMULATED_ROWS)


def _compared(name: str, epsilon: float, measurements: Mapping[str, float], domain: Domain, rows: int) -> Comparison:
    advice = advise(domain, Budget(parse_epsilon(epsilon)), rows)
    return Comparison(name, epsilon, f"{advice.best.mechanism} {advice.best.weights}", measurements)


def report(comparisons: Sequence[Comparison]) -> list[str]:
    """Make lines of text: one per comparison, then the totals."""
    lines = [f"{'data set':26}{'epsilon':>8}  {'advised':30}{'measured winner':30}{'regret':>7}"]
    for each in comparisons:
        lost = each.regret(each.advised)
        regret = "not measured" if lost is None else f"{lost:.4f}"
        lines.append(f"{each.dataset:26}{each.epsilon:>8g}  {each.advised:30}{each.winner:30}{regret:>7}")
    choices = {"advice": [each.regret(each.advised) for each in comparisons]}
    choices |= {f"always {name}": [each.regret(name) for each in comparisons] for name in ALWAYS}
    lines.append("")
    for choice, regrets in choices.items():
        known = [regret for regret in regrets if regret is not None]
        if not known:
            continue
        right = sum(regret <= RIGHT for regret in known)
        lines.append(
            f"{choice:36}within {RIGHT} of the winner: {right} of {len(known)}; "
            f"regret {statistics.fmean(known):.4f} on average, {max(known):.4f} at most"
        )
    return lines


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", metavar="results.parquet | DATA.parquet")
    parser.add_argument("--epsilon", default="0.1,0.3,1")
    parser.add_argument("--rows", type=int)
    options = parser.parse_args()
    comparisons = []
    for path in options.files:
        if "study" in pl.read_parquet_schema(path):
            datasets = {name: (each.origin.domain(name), each.rows) for name, each in studies.FULL.datasets.items()}
            comparisons += compare(measured(path), datasets)
        else:
            comparisons += measure(path, options.epsilon.split(","), options.rows)
    print("\n".join(report(comparisons)))


if __name__ == "__main__":
    main()
