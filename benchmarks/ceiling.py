"""What weights of naive Bayes could reach at best: a logistic regression on the attributes' log-ratios, without noise.

Usage: python -m benchmarks.ceiling DATA.parquet [--folds 10] [--epsilon 1] [--releases 2]

For two classes, complete rows and ``histogram``. Each line is a fold: accuracy of naive Bayes from (nearly) exact
tables, of a logistic regression of the class on those tables' log-ratios, which learns a free weight per attribute from
every row, and of releases with attribute weights ``auto`` (docs/journal/accuracy.md, "With the defaults").
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import dpnb_columnar as dpnb
from dpnb_columnar.core.budget.amounts import LARGEST_EPSILON
from dpnb_columnar.counting.find_domain import find_domain
from dpnb_columnar.domain import Domain
from dpnb_columnar.model.likelihood import bin_starts
from dpnb_columnar.model.parameters import Histogram, Normal
from studies.paper.coded_rows import code_rows
from studies.paper.data_sets import complete_rows


def main() -> None:
    """Print a line per fold, and the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--releases", type=int, default=2, help="of each fold")
    options = parser.parse_args()
    domain = complete_rows(find_domain([options.data]).domain)
    coded = code_rows([options.data], domain)
    codes = np.column_stack([coded.codes(each)[coded.columns[each.name].places] for each in domain.attributes])
    rows = pl.read_parquet(options.data).drop_nulls(list(domain.columns))
    if len(rows) != len(codes) or len(domain.classes) != 2:
        parser.error("for two classes, and rows that are complete once those with a null are left out")
    folds = np.random.default_rng(1).permutation(len(codes)) % options.folds
    found = [
        accuracies(domain, rows, codes, coded.classes, folds == fold, options.epsilon, options.releases)
        for fold in range(options.folds)
    ]
    print(f"{'':6}{'naive Bayes':>14}{'regression':>14}{'auto':>14}")
    for fold, line in enumerate(found):
        print(f"{fold:<6}" + "".join(f"{value:14.4f}" for value in line))
    print(f"{'mean':6}" + "".join(f"{value:14.4f}" for value in np.mean(found, axis=0)))


def accuracies(
    domain: Domain, rows: pl.DataFrame, codes: Any, classes: Any, held_out: Any, epsilon: str, releases: int
) -> tuple[float, float, float]:
    """Fit on the rows that are not held out, and score those that are.

    Returns:
        Accuracies of naive Bayes, of the regression, and the mean of the releases'.
    """
    from sklearn.linear_model import LogisticRegression

    training, test = rows.filter(~held_out), rows.filter(held_out)
    exact = dpnb.train(
        training, domain=domain, epsilon=LARGEST_EPSILON, mechanism="histogram", attribute_weights="none"
    )
    ratios = log_ratios(domain, exact, codes)
    regression = LogisticRegression(max_iter=2000).fit(ratios[~held_out], classes[~held_out])
    released = [
        dpnb.train(training, domain=domain, epsilon=epsilon, mechanism="histogram").evaluate(test).accuracy
        for _ in range(releases)
    ]
    return (
        exact.evaluate(test).accuracy,
        float(regression.score(ratios[held_out], classes[held_out])),
        float(np.mean(released)),
    )


def log_ratios(domain: Domain, model: dpnb.Model, codes: Any) -> Any:
    """Look up every row's logarithm of P(value | second class) over P(value | first class), a column per attribute."""
    columns = []
    for place, parameters in enumerate(model.attributes):
        assert not isinstance(parameters, Normal)
        cells = codes[:, place]
        if isinstance(parameters, Histogram):
            attribute = domain[parameters.attribute]
            cells = np.searchsorted(bin_starts(attribute, parameters.edges), cells, side="right")
        first, second = np.log(parameters.probability)
        columns.append((second - first)[cells])
    return np.column_stack(columns)


if __name__ == "__main__":
    main()
