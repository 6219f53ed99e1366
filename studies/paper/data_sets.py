"""Data sets of the evaluation: where their files come from, their domains, and their publicly known numbers of rows.

Two are made here: the synthetic data sets of the paper's appendix, in which only the numeric, or only the categorical
attributes tell. An attribute tells if its distribution depends on the class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dpnb_columnar.domain import Attribute, Domain, Missing, Numeric
from dpnb_columnar.domain.attributes import MAXIMUM_CELLS
from dpnb_columnar.domain.catalogue import entry_named
from dpnb_columnar.domain.declaration import domain_from_metadata, read_domain
from dpnb_columnar.domain.declared_domain import digest, document_of
from dpnb_columnar.errors import MissingInputError
from dpnb_columnar.registry import extension
from dpnb_columnar.rows.parquet import read_metadata
from dpnb_columnar.runtime.outputs import atomic_output, opened
from dpnb_columnar.runtime.unfinished import is_file
from dpnb_columnar.simulation import simulate_census

if TYPE_CHECKING:
    import polars as pl


NUMBERS = tuple(f"number_{place}" for place in range(1, 6))
CATEGORIES = tuple(f"category_{place}" for place in range(1, 6))
VALUES = ("a", "b", "c", "d")
LABEL = "label"

SHIFT = 0.5
"""Distance between the classes' means of a telling number, in deviations: five of them separate 71 % of the rows."""

SPREAD = 10.0
MIDDLE = 50.0

TELLING = ((0.34, 0.28, 0.22, 0.16), (0.16, 0.22, 0.28, 0.34))
"""Per class, the distribution of a telling category."""


def synthetic_domain(name: str) -> Domain:
    """Declare five numbers in 0..100 to one decimal, five categories of four values, and two classes."""
    numbers = {number: {"lower": 0, "upper": 100, "step": "0.1"} for number in NUMBERS}
    categories = {category: {"values": list(VALUES)} for category in CATEGORIES}
    document = {"label": {"column": LABEL, "classes": ["no", "yes"]}, "attributes": {**numbers, **categories}}
    return read_domain(name, document, "the appendix's synthetic data sets")


def synthetic_rows(rows: int, seed: int, *, numeric: bool) -> pl.DataFrame:
    """Draw independent rows, both classes equally likely."""
    import numpy as np
    import polars as pl

    generator = np.random.default_rng(seed)
    yes = generator.random(rows) < 0.5
    columns = {}
    for name in NUMBERS:
        centre = MIDDLE + (SHIFT * SPREAD * (yes - 0.5) if numeric else 0)
        columns[name] = np.round(np.clip(generator.normal(centre, SPREAD, rows), 0, 100), 1)
    ends = np.cumsum(TELLING, axis=1)
    flat = np.arange(1, len(VALUES) + 1) / len(VALUES)
    for name in CATEGORIES:
        place = (generator.random(rows)[:, None] >= (flat if numeric else ends[yes.astype(int)])[..., :-1]).sum(axis=1)
        columns[name] = np.array(VALUES)[place]
    columns[LABEL] = np.where(yes, "yes", "no")
    return pl.DataFrame(columns)


def write_synthetic(output: Path, rows: int, seed: int, *, numeric: bool) -> None:
    """Draw rows as ``synthetic_rows`` does, and write them as Parquet."""
    with atomic_output(output) as partial, opened(partial) as file:
        synthetic_rows(rows, seed, numeric=numeric).write_parquet(file)


SYNTHETIC_SEED = 2021

SCORED = 600_000
"""Rows that are scored in all iterations together: of more, another random split tells nothing new."""


class Origin(Protocol):
    """Where a data set's file comes from."""

    def domain(self, name: str) -> Domain:
        """Read the declared domain of the data set."""

    def find(self, name: str, data: Path, work: Path) -> Path | None:
        """Locate the Parquet file, or make it in ``work``; None where its raw files are not below ``data``."""

    def remedy(self, name: str, data: Path) -> str:
        """Say in one line which files to get and where to put them."""


@dataclass(frozen=True, slots=True)
class DataSet:
    """One data set of the evaluation.

    Attributes:
        name: Its name in the results.
        rows: The publicly documented number of rows: n in the rules for delta. It is declared, not counted.
        origin: Where its file comes from.
    """

    name: str
    rows: int
    origin: Origin


@dataclass(frozen=True, slots=True)
class Published:
    """An entry of ``datasets.toml``: a prepared ``NAME.parquet``, or raw files, which are verified and prepared."""

    def domain(self, name: str) -> Domain:
        """Read the domain from the catalogue."""
        return entry_named(name).domain

    def find(self, name: str, data: Path, work: Path) -> Path | None:
        """Locate the prepared file, or prepare it from the raw ones."""
        file, entry = data / f"{name}.parquet", entry_named(name)
        if is_file(file):
            return file
        datasets = extension("datasets.datasets", "the evaluation")
        try:
            found = datasets.raw_files(entry, data)
        except MissingInputError:
            return None
        if not found:
            return None
        made = work / file.name
        if not _carries(made, entry.domain):
            datasets.prepare(entry, data, made, overwrite=True)
        return made

    def remedy(self, name: str, data: Path) -> str:
        """Name the files and their source."""
        entry = entry_named(name)
        return f"put {name}.parquet or {', '.join(entry.raw)} below {data}; source: {entry.source}"


@dataclass(frozen=True, slots=True)
class State:
    """Persons of one state of the 1940 census, which may not be redistributed: each user gets them from IPUMS.

    Attributes:
        file: Name of the Parquet file.
    """

    file: str
    entry: str = "ipums1940"

    def domain(self, name: str) -> Domain:
        """Read the domain from the catalogue."""
        return entry_named(self.entry).domain

    def find(self, name: str, data: Path, work: Path) -> Path | None:
        """Locate the state's file."""
        return data / self.file if is_file(data / self.file) else None

    def remedy(self, name: str, data: Path) -> str:
        """Name the file and its source."""
        entry = entry_named(self.entry)
        return f"put the state's persons as {self.file} into {data}; source: {entry.source}"


@dataclass(frozen=True, slots=True)
class Simulated:
    """A simulated census.

    Attributes:
        rows: Persons.
        seed: Seed of the simulation.
    """

    rows: int
    seed: int
    entry: str = "census_simulated"

    def domain(self, name: str) -> Domain:
        """Read the domain from the catalogue."""
        return entry_named(self.entry).domain

    def find(self, name: str, data: Path, work: Path) -> Path | None:
        """Simulate the census, unless that was done before."""
        made = work / f"{self.entry}-{self.rows}-{self.seed}.parquet"
        if not _carries(made, self.domain(name)):
            simulate_census(made, rows=self.rows, seed=self.seed, overwrite=True)
        return made

    def remedy(self, name: str, data: Path) -> str:
        """Say that no file is needed."""
        return "it is simulated; no file is needed"


@dataclass(frozen=True, slots=True)
class Synthetic:
    """A synthetic data set of the paper's appendix.

    Attributes:
        rows: Number of rows.
        numeric: Whether the numeric attributes depend on the class; otherwise the categorical ones do.
    """

    rows: int
    numeric: bool

    def domain(self, name: str) -> Domain:
        """Make the domain."""
        return synthetic_domain(name)

    def find(self, name: str, data: Path, work: Path) -> Path | None:
        """Draw the rows, unless that was done before."""
        made = work / f"{name}-{self.rows}.parquet"
        if not is_file(made):
            write_synthetic(made, self.rows, SYNTHETIC_SEED, numeric=self.numeric)
        return made

    def remedy(self, name: str, data: Path) -> str:
        """Say that no file is needed."""
        return "it is synthetic; no file is needed"


def splits(rows: int, iterations: int) -> int:
    """Return how often a data set of so many rows is split, at most ``iterations`` times."""
    return max(min(iterations, SCORED // rows), 1)


def _carries(file: Path, domain: Domain) -> bool:
    """Return whether a file exists and carries exactly this domain."""
    if not is_file(file):
        return False
    carried = domain_from_metadata(read_metadata(file), str(file))
    return carried is not None and digest(carried) == digest(domain)


def complete_rows(domain: Domain) -> Domain:
    """Drop rows that lack a value of any attribute, as the paper does, but for values whose absence is a category."""
    attributes = tuple(
        attribute if attribute.missing is Missing.CATEGORY else replace(attribute, missing=Missing.ROW)
        for attribute in domain.attributes
    )
    return replace(domain, attributes=attributes)


def widened(domain: Domain, factor: int) -> Domain:
    """Widen every numeric range ``factor`` times on its open side, as a curator declares who may not look at the rows.

    The upper bound U becomes L + (U - L) * factor; a lower bound L below zero becomes U - (U - L) * factor, any other
    stays. The step stays too, so no code of a row within the bounds changes unless the lower bound moves. Where the
    grid would get more cells than are accepted, its step is made coarser by the smallest power of two or ten that
    suffices, and the range is rounded up to whole steps.
    """
    attributes = tuple(_widened(attribute, factor) for attribute in domain.attributes)
    wide = replace(domain, attributes=attributes)
    return read_domain(wide.name, document_of(wide), f"{domain.name} with bounds {factor} times as wide")


def _widened(attribute: Attribute, factor: int) -> Attribute:
    if not isinstance(attribute, Numeric):
        return attribute
    width = attribute.upper - attribute.lower
    upper = attribute.lower + width * factor
    lower = attribute.upper - width * factor if attribute.lower < 0 else attribute.lower
    cells = int((upper - lower) / attribute.step)
    coarser = _coarsening(cells)
    step = attribute.step * coarser
    return replace(attribute, lower=lower, upper=lower + step * -(-cells // coarser), step=step)


def _coarsening(cells: int) -> int:
    """Return the smallest power of two or ten that divides a grid into no more cells than are accepted."""
    exponents = range(cells.bit_length())
    powers = [1 << exponent for exponent in exponents] + [int("1" + "0" * exponent) for exponent in exponents]
    return min(power for power in powers if -(-cells // power) <= MAXIMUM_CELLS)


ADULT = DataSet("adult", 48_842, Published())
MUSHROOM = DataSet("mushroom", 8_124, Published())
SKIN = DataSet("skin", 245_057, Published())
SEEDS = DataSet("seeds", 210, Published())
GLASS = DataSet("glass", 214, Published())
"""Rows as the UCI pages give them."""

ACS = DataSet("acs2018", 55_881, Published())
ACS_INCOME = DataSet("acs_income_2018", 295_243, Published())
"""Rows as their publishers' files hold them."""

CENSUS_INCOME = DataSet("census-income", 49_881, Published())
CENSUS_INCOME_NO_RECODES = DataSet("census-income-no-recodes", 49_881, Published())
"""Half of the publisher's test file: attributes that code one answer again, and what is left without them."""

WYOMING = DataSet("wyoming", 250_000, Simulated(250_000, seed=56))
NEVADA = DataSet("nevada", 110_000, Simulated(110_000, seed=32))
OREGON = DataSet("oregon", 1_000_000, Simulated(1_000_000, seed=41))
WASHINGTON = DataSet("washington", 1_700_000, Simulated(1_700_000, seed=53))
"""As many persons as the paper's table has; the seeds are the states' FIPS codes."""

SMALL_NEVADA = DataSet("nevada", 50_000, Simulated(50_000, seed=32))

STATES = tuple(
    DataSet(f"{state.name}-1940", state.rows, State(f"ipums1940-{state.name}.parquet"))
    for state in (WYOMING, NEVADA, OREGON, WASHINGTON)
)
"""The real states, where the user has them; rows as in the paper's table."""

NUMERIC_TELLS = DataSet("numeric-correlated", 10_000, Synthetic(10_000, numeric=True))
CATEGORICAL_TELLS = DataSet("categorical-correlated", 10_000, Synthetic(10_000, numeric=False))
"""The appendix's synthetic data sets: only the numeric, or only the categorical attributes depend on the class."""
