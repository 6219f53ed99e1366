"""What a release is given in files: statistics to add up, or the model that a later pass asks for (``--given``)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

from dpnb_columnar.cli.configuration import DEFAULT, option_origins
from dpnb_columnar.errors import DataError, UsageError

if TYPE_CHECKING:
    from dpnb_columnar.core.queries.query import Answer
    from dpnb_columnar.core.queries.scores import Margins, ScoreCounts
    from dpnb_columnar.core.queries.statistics import Statistics
    from dpnb_columnar.counting.find_domain import ResolvedDomain
    from dpnb_columnar.domain import Domain
    from dpnb_columnar.releases.model_plan import ReleasePlan

Part = TypeVar("Part", bound="Answer")


def plan_of(given: Path) -> ReleasePlan:
    """Plan the second release of the model in a file."""
    from dpnb_columnar.model.model_files import read_model
    from dpnb_columnar.releases.plan import plan_given

    model = read_model(given)
    try:
        return plan_given(model)
    except UsageError as error:
        raise UsageError(f"{given}: {error}") from None


def query_of(given: Path) -> Margins:
    """Make what the later pass asks for the model in a file."""
    from dpnb_columnar.model.score_calibration import margins_given

    model = plan_of(given).given
    assert model is not None
    return margins_given(model)


def domain_of(query: Margins, given: Path) -> ResolvedDomain:
    """Return the domain of a model, and its origin."""
    from dpnb_columnar.counting.find_domain import ResolvedDomain

    return ResolvedDomain(query.domain, f"the model {given}")


def refuse_fixed(context: typer.Context, fixed: Collection[str]) -> None:
    """Refuse options that the model given leaves no choice of."""
    named = [name for name, _, origin in option_origins(context) if name in fixed and origin != DEFAULT]
    if named:
        raise UsageError(f"--given: the model has decided {', '.join(named)}; leave that out")


# Files of statistics, of the first or of a later pass, added up: each part of the data once, each unit in one part.


def added_statistics(files: Sequence[Path], domain: Domain | None, *, whole_units: bool) -> Statistics:
    """Add up statistics files.

    Args:
        domain: The domain that they must have been counted in; None for the one that they carry.
    """
    from dpnb_columnar.core.queries.query import with_whole_units
    from dpnb_columnar.counting.answer_files import load_statistics

    _refuse_repeated(files)
    return _added(files, [with_whole_units(load_statistics(file, domain), whole_units) for file in files])


def added_given(files: Sequence[Path], query: Margins, *, whole_units: bool) -> ScoreCounts:
    """Add up files of a later pass.

    Args:
        query: What must have been counted.
    """
    from dpnb_columnar.core.queries.query import with_whole_units
    from dpnb_columnar.counting.answer_files import load_answer

    _refuse_repeated(files)
    return _added(files, [with_whole_units(load_answer(file, query), whole_units) for file in files])


def _added(files: Sequence[Path], parts: Sequence[Part]) -> Part:
    """Add up what files hold."""
    try:
        return reduce(lambda left, right: left + right, parts)
    except ValueError as error:
        raise DataError(f"{', '.join(map(str, files))}: {error}") from None


def _refuse_repeated(files: Sequence[Path]) -> None:
    """Refuse a file that is named twice, by whatever names and links: its rows would count twice."""
    seen: dict[tuple[int, int], Path] = {}
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue  # what is not there is reported when it is read
        identity = (status.st_dev, status.st_ino)
        if identity in seen:
            raise UsageError(f"{seen[identity]}: named twice (again as {file}); its rows would count twice, drop one")
        seen[identity] = file
