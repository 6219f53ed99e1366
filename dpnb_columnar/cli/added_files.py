"""Files of statistics, or of counts of scores, added up: each part of the data once, and each unit in one part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.errors import DataError, UsageError

if TYPE_CHECKING:
    from dpnb_columnar.counting.scores import ScoreCounts, Scores
    from dpnb_columnar.counting.statistics import Statistics
    from dpnb_columnar.domain import Domain


def added_statistics(files: Sequence[Path], domain: Domain | None, *, whole_units: bool) -> Statistics:
    """Add up statistics files.

    Args:
        files: At least one.
        domain: The domain that they must have been counted in; None for the one that they carry.
        whole_units: Whether they are declared to hold whole units.

    Raises:
        UsageError: if a file is named twice.
        DataError: if files count the same rows, differ in their domains, or are of a domain with a unit and are not
            declared to hold whole units.
    """
    from dpnb_columnar.counting.statistics_files import load_statistics

    _refuse_repeated(files)
    parts = [replace(load_statistics(file, domain), whole_units=whole_units) for file in files]
    try:
        return reduce(lambda left, right: left + right, parts)
    except ValueError as error:
        raise _not_added(files, error) from None


def added_scores(files: Sequence[Path], scores: Scores, *, whole_units: bool) -> ScoreCounts:
    """Add up files of counts of scores.

    Args:
        files: At least one.
        scores: The scores that must have been counted.
        whole_units: As for ``added_statistics``.

    Raises:
        UsageError, DataError: as ``added_statistics``.
    """
    from dpnb_columnar.counting.score_files import load_score_counts

    _refuse_repeated(files)
    parts = [replace(load_score_counts(file, scores), whole_units=whole_units) for file in files]
    try:
        return reduce(lambda left, right: left + right, parts)
    except ValueError as error:
        raise _not_added(files, error) from None


def _not_added(files: Sequence[Path], error: ValueError) -> DataError:
    return DataError(f"{', '.join(map(str, files))}: {error}")


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
