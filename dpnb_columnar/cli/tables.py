"""Lines and tables that several verbs print: wide ranges of a plan, and what a model waits for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.budget import PrivacyCost, Share, total
from dpnb_columnar.budget.costs import numbers
from dpnb_columnar.cli.console import print_line
from dpnb_columnar.domain.numbers import number_text

if TYPE_CHECKING:
    from dpnb_columnar.mechanisms.wide_ranges import WideRange


def print_wide_ranges(wide: Sequence[WideRange], circumstances: str, source: str) -> None:
    """Print the attributes that a release would say nothing about, and the command that mends it; nothing for none.

    Args:
        wide: Attributes whose declared range is too wide.
        circumstances: Rows and budget for which they are.
        source: Arguments of ``domain edit`` that name the domain.
    """
    from dpnb_columnar.advice.plan_text import hidden_ranges, narrower_ranges

    if not wide:
        return
    edit = f"dpnb-columnar domain edit {source} {narrower_ranges(wide)} --output datasets.toml"
    names = [one.attribute.name for one in wide]
    print_line(f"{hidden_ranges(wide, circumstances)}: {edit}", "wide ranges", attributes=names, command=edit)


def awaits(shares: Sequence[Share], path: Path) -> str:
    """Say what a model that left shares of its budget needs next, in one line."""
    whole, following = _amounts(total(shares)), _amounts(shares[0].cost)
    if len(shares) == 1:
        waits = f"one more pass ({shares[0].query}), which costs {whole}"
    else:
        waits = (
            f"{len(shares)} further passes, which cost {whole} more and are released one by one; the next "
            f"({shares[0].query}) costs {following}"
        )
    return (
        f"its attribute weights wait for {waits}: count the rows with dpnb-columnar aggregate DATA --given {path}, or "
        f"sql statistics --given {path}, and release the result with --given {path}"
    )


def _amounts(cost: PrivacyCost) -> str:
    return ", ".join(f"{name} {number_text(number)}" for name, number in numbers(cost).items())
