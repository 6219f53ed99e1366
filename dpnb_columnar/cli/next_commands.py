"""What messages ask the user to do next: train by a domain, edit it, release what a model waits for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import join, quote
from typing import TYPE_CHECKING

from dpnb_columnar.cli.console import print_line
from dpnb_columnar.core.budget import Share
from dpnb_columnar.core.budget.costs import cost_parameters
from dpnb_columnar.datasets.catalogue import CATALOGUE_NAME, domain_file
from dpnb_columnar.domain.declared_domain import Declaration, Domain
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.runtime.resources import resource

if TYPE_CHECKING:
    from dpnb_columnar.advice.expected_error import WideRange
    from dpnb_columnar.counting.find_domain import ResolvedDeclaration, ResolvedDomain


def training_command(domain: Declaration, source: object, catalogue: Path) -> str:
    """Return the command that trains by an entry, wherever it was written."""
    named = ["--dataset", domain.name]
    if isinstance(source, Path) and catalogue.resolve() == domain_file(source).resolve():
        named = []
    elif catalogue.resolve() != Path(CATALOGUE_NAME).resolve():
        named = ["--dataset", f"{catalogue}:{domain.name}"]
    label = "" if isinstance(domain, Domain) else ' --label "..."'
    return f"dpnb-columnar train {join([str(source or 'DATA.parquet'), *named])}{label}"


def declared_in(source: object, found: ResolvedDeclaration | ResolvedDomain, dataset: str | None) -> str:
    """Say where a domain is declared, or how to write a declaration of it, for what is to be changed in it."""
    entry = found.entry
    if entry is not None and found.origin == str(entry) and entry.catalogue != resource(CATALOGUE_NAME):
        return f"in {CATALOGUE_NAME if entry.catalogue == Path.cwd() / CATALOGUE_NAME else entry.catalogue}"
    if not isinstance(source, Path):
        return f"in an entry of {CATALOGUE_NAME}"
    target = domain_file(source)
    if dataset is None:
        return f"in {target}, which is written by: dpnb-columnar domain edit {quote(str(source))}"
    show = join(["domain", "show", str(source), "--dataset", dataset, "--toml"])
    return f"in {target}, which is written by: dpnb-columnar {show} > {quote(str(target))}"


def print_wide_ranges(wide: Sequence[WideRange], circumstances: str, source: Path) -> None:
    """Print the attributes that a release would say nothing about, and what mends it; nothing for none."""
    from dpnb_columnar.advice.plan_text import hidden_ranges, narrower_ranges

    if not wide:
        return
    command = f"dpnb-columnar domain edit {quote(str(source))}"
    change = f"declare {narrower_ranges(wide)} in {domain_file(source)}, which is written by: {command}"
    names = [one.attribute.name for one in wide]
    print_line(f"{hidden_ranges(wide, circumstances)}: {change}", "wide ranges", attributes=names, command=command)


def awaits(share: Share, path: Path) -> str:
    """Say what a model that left a share of its budget needs next, in one line."""
    costs = ", ".join(f"{name} {number_text(number)}" for name, number in cost_parameters(share.cost).items())
    return (
        f"its attribute weights wait for one more pass ({share.query}), which costs {costs}: count the rows with "
        f"dpnb-columnar aggregate DATA --given {path}, or sql statistics --given {path}, and release the result with "
        f"--given {path}"
    )
