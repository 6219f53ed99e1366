"""The Python interface: the same steps as the command line's, on the same code."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from pathlib import Path

from dpnb_columnar.aggregate.local import aggregate as count
from dpnb_columnar.aggregate.statistics import Statistics
from dpnb_columnar.boundary.release import release as release_statistics
from dpnb_columnar.budget import Budget, Neighbours, parse_epsilon
from dpnb_columnar.domain import Domain
from dpnb_columnar.model.files import load_model as read_model
from dpnb_columnar.model.model import Model
from dpnb_columnar.rows.domains import find_domain
from dpnb_columnar.rows.source import open_source, resolve

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]
Epsilon = str | int | float | Decimal | Fraction


def aggregate(data: Paths, *, domain: Domain | None = None, dataset: str | None = None) -> Statistics:
    """Count every cell of the domain over Parquet files. The result is CONFIDENTIAL.

    Args:
        data: Files, folders or patterns.
        domain: Domain to count in; None for the one the files carry, or a catalogue holds for them.
        dataset: Catalogue entry to take the domain from.

    Raises:
        dpnb_columnar.errors.Error: As the command line; the class tells the exit code.
    """
    files = resolve([str(path) for path in ([data] if isinstance(data, str | PathLike) else data)])
    declared = domain or find_domain(files, dataset).domain
    return count(open_source(files, declared), declared)


def release(
    statistics: Statistics,
    *,
    epsilon: Epsilon,
    mechanism: str = "smooth",
    noise: str | None = None,
    neighbours: str = Neighbours.ADD_REMOVE,
) -> Model:
    """Release a differentially private model from statistics.

    Args:
        statistics: Exact counts. Confidential.
        epsilon: Privacy budget. Text is taken exactly as typed; a float by its shortest text, so 0.1 is one tenth.
        mechanism: ``smooth``, ``histogram``, ``majority``, or ``none`` (not private).
        noise: ``polyplace`` or ``cauchy`` for ``smooth``; None for the default.
        neighbours: ``add-remove`` or ``replace-one``.

    Raises:
        dpnb_columnar.errors.Error: As the command line.
    """
    exact = parse_epsilon(repr(epsilon) if isinstance(epsilon, float) else epsilon)
    return release_statistics(statistics, Budget(exact, Neighbours(neighbours)), mechanism, noise)


def train(
    data: Paths,
    *,
    epsilon: Epsilon,
    domain: Domain | None = None,
    dataset: str | None = None,
    mechanism: str = "smooth",
    noise: str | None = None,
    neighbours: str = Neighbours.ADD_REMOVE,
) -> Model:
    """Train a differentially private model on Parquet files: ``aggregate``, then ``release``.

    Args, raises: as those two.
    """
    statistics = aggregate(data, domain=domain, dataset=dataset)
    return release(statistics, epsilon=epsilon, mechanism=mechanism, noise=noise, neighbours=neighbours)


def load_model(path: str | PathLike[str]) -> Model:
    """Read a released model, JSON or Parquet.

    Raises:
        dpnb_columnar.errors.Error: The file is missing, or not a model this program reads.
    """
    return read_model(Path(path))
