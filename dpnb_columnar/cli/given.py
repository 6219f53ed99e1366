"""The model whose scores a second pass counts, named with ``--given``, and the options that it leaves no choice of."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dpnb_columnar.cli.configuration import DEFAULT, option_origins
from dpnb_columnar.errors import UsageError

if TYPE_CHECKING:
    from dpnb_columnar.counting.find_domain import ResolvedDomain
    from dpnb_columnar.counting.scores import Scores
    from dpnb_columnar.mechanisms.plan import ReleasePlan


def plan_of(given: Path) -> ReleasePlan:
    """Plan the second release of the model in a file.

    Raises:
        UsageError: if the model left no share of its budget for one.
        dpnb_columnar.errors.Error: if the file is no model.
    """
    from dpnb_columnar.mechanisms.plan import plan_given
    from dpnb_columnar.model.model import load_model

    model = load_model(given)
    try:
        return plan_given(model)
    except UsageError as error:
        raise UsageError(f"{given}: {error}") from None


def scores_of(given: Path) -> Scores:
    """Make the scores that a second pass counts for the model in a file.

    Raises:
        UsageError, dpnb_columnar.errors.Error: as ``plan_of``.
    """
    from dpnb_columnar.mechanisms.score_calibration import scores_given

    model = plan_of(given).given
    assert model is not None
    return scores_given(model)


def domain_of(scores: Scores, given: Path) -> ResolvedDomain:
    """Return the domain of a model, and its origin."""
    from dpnb_columnar.counting.find_domain import ResolvedDomain

    return ResolvedDomain(scores.domain, f"the model {given}")


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
