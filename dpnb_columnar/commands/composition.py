"""The composition table, as ``plan`` and ``show`` print it."""

from __future__ import annotations

from collections.abc import Sequence

from dpnb_columnar.budget import Share, total
from dpnb_columnar.budget.losses import numbers
from dpnb_columnar.commands.terminal import say, table
from dpnb_columnar.domain.numbers import text


def composition_table(shares: Sequence[Share], header: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    """Print one line per share, with further columns, and the sum.

    Args:
        shares: The shares. What one row costs is told where it is something else than the share.
        header: Names of the further columns.
        cells: Their cells, share by share.
    """
    stated = [{name: text(number) for name, number in numbers(share.loss).items()} for share in shares]
    if any(share.row_loss != share.loss for share in shares):
        for row, share in zip(stated, shares, strict=True):
            row |= {f"{name} of one row": text(number) for name, number in numbers(share.row_loss).items()}
    names = list(dict.fromkeys(name for row in stated for name in row))
    names.sort(key=lambda name: name.endswith("of one row"))
    table(
        ["query", "attribute", "values", *names, "noise", *header],
        [
            [
                share.query,
                share.attribute or "",
                share.values,
                *(row.get(name, "") for name in names),
                share.noise,
                *more,
            ]
            for share, row, more in zip(shares, stated, cells, strict=True)
        ],
    )
    spent = [f"{name} {text(number)}" for name, number in numbers(total(shares)).items()]
    say(f"  sum of the shares: {', '.join(spent)}")
