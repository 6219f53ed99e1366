"""The Python interface: the same steps as the command line's, on the same code."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from pathlib import Path

from dpnb_columnar.aggregation.local import aggregate as count
from dpnb_columnar.aggregation.statistics import Statistics
from dpnb_columnar.boundary.release import plan
from dpnb_columnar.boundary.release import release as release_statistics
from dpnb_columnar.budget import Budget, Neighbours, is_rule, parse_delta, parse_epsilon, parse_rows
from dpnb_columnar.domain import Domain, document_of, read_domain
from dpnb_columnar.errors import ConfigurationError, UsageError
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
    files, declared = _found(data, domain, dataset)
    return count(open_source(files, declared), declared)


def release(
    statistics: Statistics,
    *,
    epsilon: Epsilon,
    delta: Epsilon = 0,
    rows: int | None = None,
    mechanism: str = "smooth",
    noise: str | None = None,
    neighbours: str = Neighbours.ADD_REMOVE,
) -> Model:
    """Release a differentially private model from statistics.

    Args:
        statistics: Exact counts. Confidential.
        epsilon: Privacy budget. Text is taken exactly as typed; a float by its shortest text, so 0.1 is one tenth.
        delta: Probability to put the guarantee aside, for noise families that need one; exact likewise. Or a rule for
            the declared number of rows, ``1/n`` or ``1/n^2``.
        rows: The n of such a rule, given with one only: the public number of rows, such as the codebook's. It is never
            counted.
        mechanism: ``smooth``, ``paper``, ``trimmed-mean``, ``global``, ``global-variance``, ``adaptive-histogram``,
            ``histogram``, ``majority``, or ``none`` (not private).
        noise: Noise family for smooth sensitivity, such as ``polyplace``; None for the mechanism's default.
        neighbours: ``add-remove`` or ``replace-one``.

    Raises:
        dpnb_columnar.errors.Error: As the command line.
    """
    return release_statistics(statistics, _budget(epsilon, delta, neighbours, rows), mechanism, noise)


def train(
    data: Paths,
    *,
    epsilon: Epsilon,
    delta: Epsilon = 0,
    rows: int | None = None,
    domain: Domain | None = None,
    dataset: str | None = None,
    mechanism: str = "smooth",
    noise: str | None = None,
    neighbours: str = Neighbours.ADD_REMOVE,
) -> Model:
    """Train a differentially private model on Parquet files: ``aggregate``, then ``release``.

    Args, raises: as those two. Whatever is wrong with the release is found before a row is read.
    """
    budget = _budget(epsilon, delta, neighbours, rows)
    files, declared = _found(data, domain, dataset)
    plan(declared, budget, mechanism, noise)
    return release_statistics(count(open_source(files, declared), declared), budget, mechanism, noise)


def load_model(path: str | PathLike[str]) -> Model:
    """Read a released model, JSON or Parquet.

    Raises:
        dpnb_columnar.errors.Error: The file is missing, or not a model this program reads.
    """
    return read_model(Path(path))


def _found(data: Paths, domain: Domain | None, dataset: str | None) -> tuple[Sequence[Path], Domain]:
    """The files that paths stand for, and the domain to count them in."""
    if domain is not None and dataset is not None:
        raise UsageError("domain and dataset both name a domain; give one of them")
    files = resolve([str(path) for path in ([data] if isinstance(data, str | PathLike) else data)])
    return files, find_domain(files, dataset).domain if domain is None else _checked(domain)


def _checked(domain: Domain) -> Domain:
    """A domain made by hand, held to the rules of a declared one.

    Raises:
        ConfigurationError: It breaks them.
    """
    try:
        document = document_of(domain)
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ConfigurationError(f"domain: cannot be written as a declaration ({error}); use read_domain") from None
    return read_domain(domain.name, document, "domain")


def _budget(epsilon: Epsilon, delta: Epsilon, neighbours: str, rows: int | None) -> Budget:
    known = [relation.value for relation in Neighbours]
    if neighbours not in known:
        raise UsageError(f"neighbours: no {neighbours!r}; known relations: {', '.join(known)}")
    if rows is not None and not is_rule(delta):
        raise UsageError("rows: only a rule for delta depends on them; give delta 1/n or 1/n^2, or leave rows out")
    declared = None if rows is None else parse_rows(rows)
    return Budget(parse_epsilon(epsilon), Neighbours(neighbours), delta=parse_delta(delta, declared))
