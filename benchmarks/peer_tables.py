"""The tables of ``benchmarks.peers``, in Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.contenders.roster import CONTENDERS, Contender

REFERENCE = "dpnb-columnar histogram"
"""The contender that times are compared with."""

START, END = "<!-- peers -->", "<!-- end peers -->"


@dataclass(frozen=True)
class Measured:
    """One contender, fitted on the rows of all folds but one.

    Attributes:
        data: Name of the data set.
        rows: Rows of the data set, all folds together.
        contender: Name of the contender.
        epsilon: As typed; ``none`` without privacy.
        fold: The fold held out.
        accuracy: On that fold.
        log_loss: On that fold.
        seconds: Wall time of the fit.
        cpu_seconds: Processor time of the fit.
    """

    data: str
    rows: int
    contender: str
    epsilon: str
    fold: int
    accuracy: float
    log_loss: float
    seconds: float
    cpu_seconds: float

    @property
    def point(self) -> tuple[str, int, str, str]:
        """What the folds of one cell of a table share."""
        return self.data, self.rows, self.contender, self.epsilon

    def line(self) -> str:
        """Write a line of the cache."""
        return json.dumps(asdict(self))


def tables(measured: Sequence[Measured]) -> str:
    """Make one table per data set, and the one of guarantees."""
    sets = dict.fromkeys((each.data, each.rows) for each in measured)
    parts = [accuracy_table([each for each in measured if (each.data, each.rows) == one], *one) for one in sets]
    compared = [each for name, each in CONTENDERS.items() if any(one.contender == name for one in measured)]
    return "\n\n".join([*parts, guarantees(compared)])


def accuracy_table(measured: Sequence[Measured], data: str, rows: int) -> str:
    """Make a line per contender, a column per epsilon: mean accuracy, its 5 % quantile over folds, mean log loss."""
    epsilons = sorted({each.epsilon for each in measured} - {"none"}, key=float)
    reference = _seconds([each for each in measured if each.contender == REFERENCE])
    lines = [["", *(f"ε = {each}" for each in epsilons), "folds", "s per fit", "times"]]
    for name in CONTENDERS:
        of = [each for each in measured if each.contender == name]
        if not of:
            continue
        by_epsilon = [[each for each in of if each.epsilon in (epsilon, "none")] for epsilon in epsilons]
        folds = sorted({len(each) for each in by_epsilon if each})
        seconds = _seconds(of)
        times = f"{seconds / reference:.1f}" if reference else ""
        lines.append([name, *map(cell, by_epsilon), " or ".join(map(str, folds)), f"{seconds:.2f}", times])
    return f"{data}, {rows:,} rows\n\n{markdown(lines)}"


def cell(of: Sequence[Measured]) -> str:
    """Format the folds of one contender at one epsilon; a quantile of fewer than ten folds is not given."""
    if not of:
        return ""
    accuracies = [each.accuracy for each in of]
    low = f" ({np.quantile(accuracies, 0.05):.3f})" if len(of) >= 10 else ""
    return f"{np.mean(accuracies):.3f}{low}, {np.mean([each.log_loss for each in of]):.3f}"


def guarantees(contenders: Sequence[Contender]) -> str:
    """Make a table of what each guarantee promises, and what it leaves open."""
    lines = [["", "delta", "what the guarantee leaves open"]]
    for each in contenders:
        delta = "no guarantee" if each.delta is None else f"{each.delta:g}"
        lines.append([each.name, delta, "; ".join(each.leaves_open)])
    return markdown(lines)


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """Format a table whose first line is its head."""
    head, *body = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([head, f"| {' | '.join(['---'] * len(lines[0]))} |", *body])


def put_into(document: Path, made: str) -> None:
    """Replace what stands between the markers of a document.

    Raises:
        SystemExit: if the document has no markers.
    """
    text = document.read_text(encoding="utf-8")
    between = re.compile(f"({START}\n).*?({END})", re.DOTALL)
    if not between.search(text):
        raise SystemExit(f"{document} has no {START} ... {END}")
    document.write_text(between.sub(lambda at: f"{at[1]}\n{made}\n\n{at[2]}", text), encoding="utf-8")


def _seconds(of: Sequence[Measured]) -> float:
    """The median processor time of a fit."""
    return float(np.median([each.cpu_seconds for each in of])) if of else 0.0
