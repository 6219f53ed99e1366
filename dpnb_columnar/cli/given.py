"""The model that says what a further pass counts, named with ``--given``, and the options that it has decided."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dpnb_columnar.cli.configuration import DEFAULT, option_origins
from dpnb_columnar.errors import UsageError

if TYPE_CHECKING:
    from dpnb_columnar.counting.find_domain import ResolvedDomain
    from dpnb_columnar.counting.further_passes import FurtherQuery
    from dpnb_columnar.mechanisms.release_plan import ReleasePlan


def plan_of(given: Path) -> ReleasePlan:
    """Plan the next release of the model in a file.

    Raises:
        UsageError: if the model left no share of its budget for one.
        dpnb_columnar.errors.Error: if the file is no model.
    """
    from dpnb_columnar.mechanisms.further_releases import plan_given
    from dpnb_columnar.model.model import load_model

    model = load_model(given)
    try:
        return plan_given(model)
    except UsageError as error:
        raise UsageError(f"{given}: {error}") from None


def query_of(given: Path) -> FurtherQuery:
    """Make what a further pass counts for the model in a file: its scores, or the sums of a round.

    Raises:
        UsageError, dpnb_columnar.errors.Error: as ``plan_of``.
    """
    from dpnb_columnar.mechanisms.further_releases import query_given

    model = plan_of(given).given
    assert model is not None
    return query_given(model)


def domain_of(query: FurtherQuery, given: Path) -> ResolvedDomain:
    """Return the domain of a model, and its origin."""
    from dpnb_columnar.counting.find_domain import ResolvedDomain

    return ResolvedDomain(query.domain, f"the model {given}")


def refuse_fixed(context: typer.Context, fixed: Collection[str]) -> None:
    """Refuse options that the model given leaves no choice of.

    Args:
        context: The verb's context.
        fixed: Those options, with their hyphens.

    Raises:
        UsageError: if one of them is set, in whatever way.
    """
    named = [name for name, _, origin in option_origins(context) if name in fixed and origin != DEFAULT]
    if named:
        raise UsageError(f"--given: the model has decided {', '.join(named)}; leave that out")
