"""Learn attribute weights from a public file: logistic regression on the log-ratios of its own tables.

The file is a public-use sample in the domain of a release, which the curator declares public: the one file whose rows
may be named in errors, and which nothing protects. It is told from the confidential files before a row of it is read.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.code_limits import UNITS
from dpnb_columnar.core.noise import NoiseFamily
from dpnb_columnar.core.queries.scores import ScoreTable
from dpnb_columnar.core.queries.statistics import CellQuery, Statistics
from dpnb_columnar.counting.countable import file_parts
from dpnb_columnar.domain import Declaration, Domain
from dpnb_columnar.domain.declared_domain import digest, document_of
from dpnb_columnar.domain.editing import labelled, no_label
from dpnb_columnar.domain.names import LONGEST_NAME, is_printable, named
from dpnb_columnar.errors import (
    ConfigurationError,
    DataError,
    DomainError,
    Error,
    MissingInputError,
    UsageError,
    command,
    option,
)
from dpnb_columnar.model.likelihood import model_log_ratios
from dpnb_columnar.model.parameters import NaiveBayes, PublicSource
from dpnb_columnar.model.recipes import bounded
from dpnb_columnar.releases.attribute_weights import LEAST_WEIGHT, PublicWeights
from dpnb_columnar.releases.model_plan import ReleasePlan, release
from dpnb_columnar.releases.plan import by_unit, plan, resolved_mechanism
from dpnb_columnar.rows.input_files import DataFile, scan_file, stored_objects
from dpnb_columnar.rows.parquet import ParquetSource, open_parquet, own_declaration
from dpnb_columnar.rows.row_rules import column
from dpnb_columnar.rows.sources import refuse_table_files
from dpnb_columnar.runtime.unfinished import exists, is_folder

if TYPE_CHECKING:
    import polars as pl


MOST_ROWS = 200_000
"""Rows that are read into memory. More would hardly change what is fitted to them."""

FOLDS = 5
BLOCK = 50
"""Folds that a fit is crossed over, and rows in a block of one."""


@dataclass(frozen=True, slots=True)
class PublicFile:
    """A file of public rows whose columns fit a domain, with its declared name and the SHA-256 of its content."""

    path: Path
    name: str
    digest: str
    domain: Domain
    source: ParquetSource

    def count(self, domain: Domain) -> Statistics:
        """Count the rows in its domain, or in one of fewer attributes."""
        from dpnb_columnar.counting import local

        with _named():
            return local.answer(self.source, CellQuery(domain.per_row))

    def read(self) -> PublicRows:
        """Read the rows into memory, evenly chosen ones where they are too many."""
        import polars as pl

        scanned = scan_file(self.path)
        try:
            every = -(-int(scanned.select(pl.len()).collect().item()) // MOST_ROWS)
            rows = scanned.select(map(column, self.domain.columns)).gather_every(max(every, 1)).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            with _named():
                raise self.source.unreadable() from None
        return PublicRows(rows)


@dataclass(frozen=True, slots=True, repr=False)
class PublicRows:
    """Rows of a public file, in memory."""

    frame: pl.DataFrame

    def folds(self) -> list[PublicRows]:
        """Divide the rows into folds, by blocks: neighbouring rows may be of one household, and tell of each other."""
        import polars as pl

        fold = pl.int_range(pl.len()) // BLOCK % FOLDS
        return [PublicRows(self.frame.filter(fold == number)) for number in range(FOLDS)]

    def count(self, domain: Domain) -> Statistics:
        """Count the rows in the file's domain, or in one of fewer attributes."""
        from dpnb_columnar.counting import local

        return local.answer(self.frame, CellQuery(domain.per_row))

    def scores(self, domain: Domain, tables: Sequence[ScoreTable]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Read class codes, shape (rows,), and attributes' scores, shape (rows, attributes), of the rows that count."""
        from dpnb_columnar.counting.local import read_scores

        return read_scores(self.frame, domain.per_row, tables)


def open_public_file(
    path: Path, domain: Domain, label: str | None = None, inputs: Sequence[DataFile] = (), parts: Collection[str] = ()
) -> PublicFile:
    """Open a file of public rows, none of the confidential inputs or parts; it carries the release's domain or none."""
    domain = domain.per_row  # nobody counts a public file for a release
    content, size = _digest(path), path.stat().st_size
    local = [file for file in inputs if isinstance(file, Path)]
    parts = {*parts, *file_parts(stored_objects(inputs))}
    alike = [file for file in local if exists(file) and file.stat().st_size == size]
    copy = next((file for file in alike if path.samefile(file) or _digest(file) == content), None)
    with _named():
        if copy is not None:
            raise _is_input(path, f" ({copy})")
        carried = own_declaration(path)
        if carried is not None:
            _check_domain(carried, domain, label, path)
        source = _open_source(path, domain)
        if not file_parts([path]).isdisjoint(parts):
            raise _is_input(path, "")
    return PublicFile(path, _declared_name(path, carried), content, domain, source)


def _is_input(path: Path, file: str) -> UsageError:
    return UsageError(
        f"{path}: is one of the confidential inputs{file}; weights and shares from it would reveal its rows: give a "
        "public-use sample, or choose another way to weight attributes"
    )


def _open_source(path: Path, domain: Domain) -> ParquetSource:
    refuse_table_files([path])
    return open_parquet([path], domain)


def _check_domain(carried: Declaration, domain: Domain, label: str | None, path: Path) -> None:
    """Refuse a domain that is not that of the release."""
    if label is not None:
        carried = labelled(carried, label)
    if not isinstance(carried, Domain):
        raise no_label(carried, str(path))
    if digest(carried.per_row) == digest(domain):
        return
    theirs, ours = document_of(carried), document_of(domain)
    names = [*theirs["attributes"], *ours["attributes"]]
    other = [name for name in dict.fromkeys(names) if theirs["attributes"].get(name) != ours["attributes"].get(name)]
    places = ["the label"] * (theirs["label"] != ours["label"]) + ([f"attribute {named(other)}"] if other else [])
    raise ConfigurationError(
        f"{path}: its domain differs from that of the release in "
        f"{' and '.join(places or ['the order of attributes'])}; declare both alike ({command('domain')})"
    )


def _declared_name(path: Path, carried: Declaration | None) -> str:
    """Name the file as its domain does; else as its path does, without its folder."""
    name = path.name if carried is None else carried.name
    if len(name) > LONGEST_NAME or not is_printable(name):
        raise UsageError(f"public file {path!r}: its name stands in the model, which takes one line; rename it")
    return name


def _digest(path: Path) -> str:
    """Compute the SHA-256 of a file."""
    if is_folder(path):
        raise UsageError(f"public file {path}: is a folder; give one Parquet file")
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise MissingInputError(f"public file {path}: cannot be opened: {error.strerror}; check the path") from None


@contextmanager
def _named() -> Iterator[None]:
    """Say in errors that they are about the public file."""
    try:
        yield
    except Error as error:
        kind = ConfigurationError if isinstance(error, DomainError) else type(error)
        raise kind(f"public file {error}") from None


FEWEST_PER_ATTRIBUTE = 10
"""Public rows of the smallest class for each attribute: the usual rule for a logistic regression."""

FEWEST_ROWS = 100
"""Public rows of a class, however few the attributes."""

TABLES = Budget(Fraction(1))
"""The budget for which the public tables' bins, trims and smoothing are chosen; no noise is drawn."""

RIDGE = 5.0
"""Half of the square of each weight costs this much log-likelihood: copies of an attribute share its weight, and one
whose log-ratios are chance alone gets none."""

BOUNDS = (0.0, 2.0)
"""Least and largest weight. Below zero an attribute would say the opposite of what its table says."""

DIGITS = 3
"""Digits of weights and shift behind the point."""


def resolve_attribute_weights(
    value: str | os.PathLike[str],
    domain: Domain,
    mechanism: str,
    inputs: Sequence[DataFile] = (),
    label: str | None = None,
    parts: Collection[str] = (),
) -> str | PublicWeights:
    """Return the way to weight attributes that an option names, or the weights learned from a Parquet file."""
    path = public_path(value)
    if path is None:
        return str(value)
    if len(domain.classes) != 2:
        raise UsageError(
            f"attribute weights: a public file is for two classes, and the domain declares {len(domain.classes)}; "
            f"leave {option('attribute-weights')} out"
        )
    planned = plan(domain, TABLES, mechanism)
    if all(share.attribute is None for share in planned.shares):
        raise UsageError(
            "attribute weights: a public file is for mechanisms that release attributes with noise; choose another "
            f"one, such as {option('mechanism', 'histogram')}, or leave {option('attribute-weights')} out"
        )
    return learn_public_weights(open_public_file(path, domain, label, inputs, parts), mechanism)


def planned_release(
    domain: Domain,
    budget: Budget,
    mechanism: str,
    noise: str | None,
    attribute_weights: str | os.PathLike[str],
    rows: int | None = None,
    *,
    inputs: Sequence[DataFile] = (),
    label: str | None = None,
    parts: Collection[str] = (),
    declared: Domain | None = None,
    repeatable: bool = True,
) -> ReleasePlan:
    """Plan a release whose attribute weights are a name, or the path of a file of public rows (``plan``)."""
    choice = resolved_mechanism(mechanism, domain, by_unit(budget, domain).row_epsilon, rows, noise)
    weights = resolve_attribute_weights(attribute_weights, declared or domain, choice.name, inputs, label, parts)
    return plan(domain, budget, mechanism, noise, weights, rows, repeatable=repeatable)


def public_path(value: str | os.PathLike[str]) -> Path | None:
    """Return the path of a public file, which a value of ``--attribute-weights`` may be; None for a name."""
    path = Path(str(value))
    return path if path.suffix.lower() == ".parquet" else None


def learn_public_weights(public: PublicFile, mechanism: str) -> PublicWeights:
    """Learn weights from a public file: once to see which attributes tell something, and once more from these."""
    rows = public.read()
    class_counts = rows.count(public.domain).class_counts
    fewest = max(FEWEST_ROWS, FEWEST_PER_ATTRIBUTE * len(public.domain.attributes))
    for name, number in zip(public.domain.classes, class_counts, strict=True):
        if number < fewest:
            raise DataError(
                f"public file {public.path}: has {number} rows of class {name!r} that count; weights of "
                f"{len(public.domain.attributes)} attributes take {fewest} of each class: give a larger sample"
            )
    every, _ = _crossed(rows, public.domain, public.domain, mechanism)
    kept = {name: weight for name, weight in every.items() if weight >= LEAST_WEIGHT}
    if not kept:
        raise DataError(
            f"public file {public.path}: no attribute of it has a weight of {LEAST_WEIGHT} or more, so nothing would "
            "be released; choose another way to weight attributes"
        )
    source = PublicSource(public.name, public.digest, tuple(name for name in every if name not in kept))
    found = PublicWeights(source, kept, 0.0)
    weights, shift = _crossed(rows, found.counted(public.domain), found.released(public.domain), mechanism)
    return replace(found, weights=weights, shift=shift)


def model_beside(model: NaiveBayes, path: Path) -> NaiveBayes:
    """Make the public model beside a released one: the public rows' tables without noise, with the released weights."""
    source = None if model.attribute_weights is None else model.attribute_weights.source
    if source is None:
        raise UsageError(
            "public: the model's attribute weights were learned from no public file, so there is no public model to "
            f"compare it with; leave {option('public')} out"
        )
    if (found := _digest(path)) != source.digest:
        raise UsageError(
            f"public file {path}: is not the one that the weights were learned from, {source.name}: its SHA-256 is "
            f"{found} in place of {source.digest}"
        )
    domain = model.domain.per_row
    with _named():
        public = PublicFile(path, source.name, found, domain, _open_source(path, domain))
    attributes = tuple(model.domain[each.attribute] for each in model.attributes)
    released = replace(model.domain, attributes=attributes)
    alone = without_noise(public.count(model.domain), released, model.guarantee.mechanism)
    return replace(alone, attribute_weights=model.attribute_weights)


class NoNoise:
    """A sampler that adds no noise: it is for public rows alone."""

    private = False

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        """Round the location to the grid."""
        return Fraction(round(location * 2**grid_bits), 2**grid_bits)


def without_noise(statistics: Statistics, released: Domain, mechanism: str) -> NaiveBayes:
    """Make the model that a mechanism would release of public rows, were there no noise."""
    model = release(statistics.only(released), plan(released, TABLES, mechanism), NoNoise())
    attributes = tuple(bounded(parameters, len(released.classes)) for parameters in model.attributes)
    return replace(model, domain=statistics.domain, attributes=attributes)


def _crossed(rows: PublicRows, domain: Domain, released: Domain, mechanism: str) -> tuple[dict[str, float], float]:
    """Fit weights and shift to the public rows, each fold's log-ratios by the tables of all other rows."""
    whole, ratios, classes, odds = rows.count(domain), [], [], []
    for fold in rows.folds():
        model = without_noise(whole - fold.count(domain), released, mechanism)
        tables = [table for each in model_log_ratios(model) for table in each.tables()]
        true, units = fold.scores(domain, tables)
        first, second = map(math.log, model.classes.probability)
        ratios.append(units / UNITS)
        classes.append(true)
        odds.append(np.full(len(true), second - first))
    weights, shift = fitted(np.concatenate(ratios), np.concatenate(classes), np.concatenate(odds))
    names = [attribute.name for attribute in released.attributes]
    return {name: round(float(weight), DIGITS) for name, weight in zip(names, weights, strict=True)}, shift


def fitted(
    ratios: NDArray[np.float64], classes: NDArray[np.int64], log_odds: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Fit a logistic regression of classes on log-ratios, shape (rows, attributes), with some ridge, and a shift."""
    from scipy.optimize import minimize

    signs = 2.0 * classes - 1

    def loss(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Compute the penalised loss and its gradient."""
        weights, shift = point[:-1], point[-1]
        margins = signs * (ratios @ weights + shift + log_odds)
        # The derivative of log(1 + exp(-m)) is -1 / (1 + exp(m)) = -exp(-log(1 + exp(m))).
        slopes = -signs * np.exp(-np.logaddexp(0, margins))
        gradient = np.append(slopes @ ratios + RIDGE * weights, slopes.sum())
        return float(np.logaddexp(0, -margins).sum() + RIDGE * weights @ weights / 2), gradient

    size = ratios.shape[1]
    start = np.append(np.full(size, size**-0.25), 0.0)
    point = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[BOUNDS] * size + [(-5.0, 5.0)]).x
    return point[:-1], round(float(point[-1]), DIGITS)
