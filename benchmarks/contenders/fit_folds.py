"""Fit one contender on some folds, and score it on the rows held out.

Usage: python -m benchmarks.contenders.fit_folds CONTENDER ROWS.npz EPSILON FOLD...

Prints a line of JSON per fold: accuracy, log loss, AUC of two classes, and the processor and wall seconds of the fit.
``EPSILON`` is ``none`` for a contender without privacy. ``--installed`` prints the contenders whose library this
interpreter has.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.contenders.classifiers import Classifier, Matrix
from benchmarks.contenders.declared_rows import Codes, Rows, read_rows
from benchmarks.contenders.roster import CONTENDERS

LEAST_PROBABILITY = 1e-6
"""Probabilities count as at least this in the log loss, which some contenders' zeros would make infinite."""


def main() -> None:
    """Print what there is, or fit and score."""
    if sys.argv[1:] == ["--installed"]:
        print(json.dumps([each.name for each in CONTENDERS.values() if each.installed]))
        return
    name, path, epsilon, *folds = sys.argv[1:]
    rows = read_rows(Path(path))
    contender = CONTENDERS[name]
    for fold in map(int, folds):
        scored = score(contender.classifier(), rows, float(epsilon) if contender.private else float("inf"), fold)
        print(json.dumps({"fold": fold, **scored}), flush=True)


def score(classifier: Classifier, rows: Rows, epsilon: float, fold: int) -> dict[str, float | None]:
    """Fit the rows of all other folds, and score this fold's."""
    training, held_out = rows.of(rows.folds != fold), rows.of(rows.folds == fold)
    wall, processor = time.perf_counter(), time.process_time()
    classifier.fit(training, epsilon, fold)
    seconds = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - processor}
    return {**figures(classifier.probabilities(held_out), held_out.classes), **seconds}


def figures(probabilities: Matrix, classes: Codes) -> dict[str, float | None]:
    """Score probabilities of shape (rows, classes) by the true class codes; more than two classes have no AUC."""
    of_true = np.clip(probabilities[np.arange(len(classes)), classes], LEAST_PROBABILITY, 1)
    accuracy = np.mean(probabilities.argmax(axis=1) == classes)
    two = probabilities.shape[1] == 2
    return {
        "accuracy": float(accuracy),
        "log_loss": float(-np.log(of_true).mean()),
        "auc": area_under_curve(probabilities[:, 1], classes == 1) if two else None,
    }


def area_under_curve(scores: Matrix, positive: npt.NDArray[np.bool_]) -> float:
    """Compute the part of all pairs of a positive and another row in which the former scores higher; ties count half.

    It is the Mann-Whitney statistic: the sum of the positive rows' ranks, less its least value, per pair.
    """
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2  # of equal scores the mean
    ones = int(positive.sum())
    return float((ranks[places][positive].sum() - ones * (ones + 1) / 2) / (ones * (len(positive) - ones)))


if __name__ == "__main__":
    main()
