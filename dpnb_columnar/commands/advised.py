"""Advice on mechanisms, as ``plan`` prints it."""

from __future__ import annotations

from dpnb_columnar.advice.recommendation import WIDE, Advice
from dpnb_columnar.advice.rehearsal import Outcome
from dpnb_columnar.commands.terminal import say, table

FIGURES = ("mean error", "variance error", "ratio error", "accuracy lost")
OTHERS = 2
"""How many are named beside the recommended one."""


def tell(advice: Advice, origin: str) -> None:
    """Print what each mechanism would lose, and which one is recommended.

    Args:
        advice: The advice.
        origin: Where its number of rows comes from.
    """
    say(f"rehearsed on made-up rows of this domain: {advice.rows} ({origin}), each mechanism with its default noise")
    say()
    header = ["mechanism", *(column for figure in FIGURES for column in (figure, "wide"))]
    lines = []
    for prospect in advice.prospects:
        pairs = zip(_figures(prospect.tight), _figures(prospect.wide), strict=True)
        lines.append([prospect.mechanism, *(cell for pair in pairs for cell in pair)])
    table(header, lines)
    say()
    best, *others = advice.ranked
    beside = ", ".join(f"{other.mechanism} {_loss(other.lost)}" for other in others[:OTHERS])
    say(f"recommended: {best.mechanism} (accuracy lost on average: {_loss(best.lost)}{beside and '; ' + beside})")
    say(f"wide: the same with bounds {WIDE} times too wide. Errors: of means in deviations of a class, of logarithms")
    say("of variances and of likelihood ratios, compared with a model without noise; so is the accuracy. They hold")
    say("for the made-up rows; nobody has looked at the real ones")


def _figures(outcome: Outcome) -> list[str]:
    errors = (outcome.mean_error, outcome.variance_error, outcome.ratio_error)
    return ["" if error is None else f"{error:.2g}" for error in errors] + [_loss(outcome.lost)]


def _loss(lost: float) -> str:
    return f"{lost + 0.0:.3f}".replace("-0.000", "0.000")
