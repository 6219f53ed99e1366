"""The tables of ``benchmarks.peers``, in Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.contenders.roster import CONTENDERS, Contender

OWN = "dpnb-columnar"
REFERENCE = f"{OWN} (default)"
"""The contender that others are compared with."""

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
        auc: Area under the curve on that fold; None for more than two classes.
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
    auc: float | None

    @property
    def point(self) -> tuple[str, int, str, str]:
        """What the folds of one cell of a table share."""
        return self.data, self.rows, self.contender, self.epsilon

    def line(self) -> str:
        """Write a line of the cache."""
        return json.dumps(asdict(self))


def tables(measured: Sequence[Measured]) -> str:
    """Make one table per data set, the one of what peers do better, and the one of guarantees."""
    sets = dict.fromkeys((each.data, each.rows) for each in measured)
    parts = [set_table([each for each in measured if (each.data, each.rows) == one], *one) for one in sets]
    compared = [each for name, each in CONTENDERS.items() if any(one.contender == name for one in measured)]
    return "\n\n".join([*parts, f"{AHEAD}\n\n{ahead_table(measured)}", guarantees(compared)])


AHEAD = "Where a peer with a guarantee is ahead of the default, on the folds of both:"
"""What stands before ``ahead_table``."""

OVERVIEW = ("0.1", "1")
"""The epsilons of ``overview``."""


def summary(measured: Sequence[Measured]) -> str:
    """Make what docs/results.md has of all this: how far accuracies are apart, and where a peer is ahead."""
    return f"{overview(measured)}\n\n{AHEAD}\n\n{ahead_table(measured)}"


def overview(measured: Sequence[Measured]) -> str:
    """Make a line per contender and a column per data set and epsilon: by how much its accuracy is above the default's.

    The default has its mean accuracy over its folds; a difference is a mean over the folds of both, which few folds
    compare better than their means do.
    """
    points = [(data, one) for data in dict.fromkeys(each.data for each in measured) for one in OVERVIEW]
    own = {(each.data, each.rows, each.epsilon, each.fold): each.accuracy for each in measured if _is_reference(each)}
    lines = [["accuracy", *(f"{data}, ε = {epsilon}" for data, epsilon in points)]]
    for name in CONTENDERS:
        cells = []
        for data, epsilon in points:
            of = [each for each in measured if (each.contender, each.data) == (name, data)]
            at = [(each, (data, each.rows, epsilon, each.fold)) for each in of if each.epsilon in (epsilon, "none")]
            pairs = [(each.accuracy, own[key]) for each, key in at if key in own]
            above = np.mean([accuracy - reference for accuracy, reference in pairs]) if pairs else np.nan
            differs = f"{round(float(above), 3) + 0.0:+.3f}" if pairs else ""  # never -0.000
            cells.append(
                f"{np.mean([accuracy for accuracy, _ in pairs]):.3f}" if name == REFERENCE and pairs else differs
            )
        if any(cells):
            lines.append([name, *cells])
    return markdown(lines)


def _is_reference(one: Measured) -> bool:
    return one.contender == REFERENCE


def set_table(measured: Sequence[Measured], data: str, rows: int) -> str:
    """Make a line per contender, a column per epsilon, and the times."""
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
    """Format the folds of one contender at one epsilon: accuracy, AUC of two classes, log loss, each a mean.

    In brackets is the 5 % quantile of the accuracy, of ten folds or more.
    """
    if not of:
        return ""
    accuracies, areas = [each.accuracy for each in of], [each.auc for each in of if each.auc is not None]
    low = f" ({np.quantile(accuracies, 0.05):.3f})" if len(of) >= 10 else ""
    figures = [np.mean(accuracies), *([np.mean(areas)] if areas else []), np.mean([each.log_loss for each in of])]
    first, *others = [f"{figure:.3f}" for figure in figures]
    return ", ".join([first + low, *others])


def ahead_table(measured: Sequence[Measured]) -> str:
    """Make a line per data set, peer with a guarantee and epsilon where the peer is better, on the folds of both.

    Differences are the peer's figure less that of ``REFERENCE``, means over these folds; only those by which the peer
    is better are given.
    """
    own = {(each.data, each.rows, each.epsilon, each.fold): each for each in measured if _is_reference(each)}
    lines = [["", "ε", "peer", "accuracy", "AUC", "log loss", "folds", "delta"]]
    for data, rows, contender, epsilon in sorted({each.point for each in measured}, key=_order):
        peer = CONTENDERS[contender]
        theirs = [each for each in measured if each.point == (data, rows, contender, epsilon)]
        pairs = [(each, own[key]) for each in theirs if (key := (data, rows, epsilon, each.fold)) in own]
        if contender.startswith(OWN) or not peer.private or not pairs:
            continue
        gains = [_gain(pairs, "accuracy", 1), _gain(pairs, "auc", 1), _gain(pairs, "log_loss", -1)]
        if any(gains):
            lines.append([data, epsilon, contender, *gains, str(len(pairs)), f"{peer.delta:g}"])
    return markdown(lines) if len(lines) > 1 else "Nowhere."


def _order(point: tuple[str, int, str, str]) -> tuple[str, float, int]:
    """Sort points by data set, epsilon and contender."""
    data, _, contender, epsilon = point
    return data, float("inf") if epsilon == "none" else float(epsilon), [*CONTENDERS].index(contender)


def _gain(pairs: Sequence[tuple[Measured, Measured]], figure: str, sign: int) -> str:
    """Format by how much the first of each pair is better in the mean; empty where it is not, to three digits."""
    values = [(getattr(peer, figure), getattr(own, figure)) for peer, own in pairs]
    if any(value is None for pair in values for value in pair):
        return ""
    difference = float(np.mean([peer - own for peer, own in values]))
    return f"{difference:+.3f}" if round(sign * difference, 3) > 0 else ""


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
