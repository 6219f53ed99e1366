"""Commands that messages tell the user to type next: train by a domain, edit it, release what a model waits for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING

from dpnb_columnar.budget import PrivacyCost, Share, total
from dpnb_columnar.budget.costs import cost_parameters
from dpnb_columnar.cli.console import print_line
from dpnb_columnar.datasets.catalogue import CATALOGUE_NAME, read_catalogue
from dpnb_columnar.domain.declared_domain import Declaration, Domain
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.runtime.paths import is_file

if TYPE_CHECKING:
    from dpnb_columnar.mechanisms.expected_error import WideRange


def training_command(domain: Declaration, source: object, catalogue: Path) -> str:
    """Return the command that trains by an entry, wherever it was written.

    Args:
        domain: The domain that the entry declares.
        source: File that the domain was made for, if one was named.
        catalogue: File with the entry.
    """
    named = ["--dataset", domain.name]
    if catalogue.resolve() != Path(CATALOGUE_NAME).resolve():
        named = ["--catalogue", str(catalogue), *named]
    label = "" if isinstance(domain, Domain) else ' --label "..."'
    return f"dpnb-columnar train {join([str(source or 'DATA.parquet'), *named])}{label}"


def edit_command(source: object, name: str, dataset: str | None, catalogue: Path | None) -> str:
    """Return the command that edits a domain, to which edits are added.

    Args:
        source: File of the domain; None where only a catalogue has it.
        name: Name of the domain.
        dataset: Value of --dataset of the run that prints the command.
        catalogue: Value of its --catalogue.
    """
    output = catalogue or Path(CATALOGUE_NAME)
    words = [*([] if source is None else [str(source)]), *([] if dataset is None else ["--dataset", dataset])]
    words += [] if catalogue is None else ["--catalogue", str(catalogue)]
    words += ["--output", str(output)]
    if is_file(output) and any(entry.name == name for entry in read_catalogue(output)):
        words.append("--overwrite")
    return f"dpnb-columnar domain edit {join(words)}"


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
    return ", ".join(f"{name} {number_text(number)}" for name, number in cost_parameters(cost).items())
