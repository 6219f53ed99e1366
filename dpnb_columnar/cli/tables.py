"""Lines and tables that several verbs print: wide ranges of a plan, and what a model waits for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.budget import Share
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


def awaits(share: Share, path: Path) -> str:
    """Say what a model that left a share of its budget needs, in one line."""
    amounts = ", ".join(f"{name} {number_text(number)}" for name, number in numbers(share.cost).items())
    return (
        f"its attribute weights wait for a second pass, which costs {amounts} more: count the rows with "
        f"dpnb-columnar aggregate DATA --given {path}, or sql statistics --given {path}, and release the result with "
        f"--given {path}"
    )
