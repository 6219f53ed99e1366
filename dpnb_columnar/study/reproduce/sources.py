"""Where the data sets of the evaluation come from, and how many rows they are publicly known to have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dpnb_columnar.datasets import prepare
from dpnb_columnar.datasets.prepare import located
from dpnb_columnar.domain import Domain, digest
from dpnb_columnar.domain.catalogue import entry_named
from dpnb_columnar.domain.metadata import domain_from_metadata
from dpnb_columnar.rows.parquet import read_metadata
from dpnb_columnar.simulate import simulate_census
from dpnb_columnar.study.reproduce.synthetic import synthetic_domain, write_synthetic

SYNTHETIC_SEED = 2021


class Origin(Protocol):
    """How to get a data set's file."""

    def domain(self, name: str) -> Domain:
        """The declared domain of the data set."""

    def find(self, name: str, data: Path, work: Path) -> Path | None:
        """Its Parquet file, made in ``work`` if need be; None where what it is made of is not below ``data``."""

    def remedy(self, name: str, data: Path) -> str:
        """One line on what to get and where to put it."""


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
    """An entry of ``datasets.toml``: ``NAME.parquet`` as somebody prepared it, or raw files, verified and prepared."""

    def domain(self, name: str) -> Domain:
        return entry_named(name).domain

    def find(self, name: str, data: Path, work: Path) -> Path | None:
        file, entry = data / f"{name}.parquet", entry_named(name)
        if file.is_file():
            return file
        if not entry.raw or any(located(data / relative) is None for relative in entry.raw):
            return None
        made = work / file.name
        if not _carries(made, entry.domain):
            prepare(entry, data, made, overwrite=True)
        return made

    def remedy(self, name: str, data: Path) -> str:
        entry = entry_named(name)
        return f"put {name}.parquet or {', '.join(entry.raw)} below {data}; source: {entry.source}"


@dataclass(frozen=True, slots=True)
class State:
    """Persons of one state of the 1940 census, which everybody has to get from IPUMS.

    Attributes:
        file: Name of the Parquet file.
    """

    file: str
    entry: str = "ipums1940"

    def domain(self, name: str) -> Domain:
        return entry_named(self.entry).domain

    def find(self, name: str, data: Path, work: Path) -> Path | None:
        return data / self.file if (data / self.file).is_file() else None

    def remedy(self, name: str, data: Path) -> str:
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
        return entry_named(self.entry).domain

    def find(self, name: str, data: Path, work: Path) -> Path | None:
        made = work / f"{self.entry}-{self.rows}-{self.seed}.parquet"
        if not _carries(made, self.domain(name)):
            simulate_census(made, rows=self.rows, seed=self.seed, overwrite=True)
        return made

    def remedy(self, name: str, data: Path) -> str:
        return "it is simulated; nothing has to be got"


@dataclass(frozen=True, slots=True)
class Synthetic:
    """A synthetic data set of the appendix.

    Attributes:
        rows: Number of rows.
        numeric: Whether the numeric attributes tell the class; otherwise the categorical ones do.
    """

    rows: int
    numeric: bool

    def domain(self, name: str) -> Domain:
        return synthetic_domain(name)

    def find(self, name: str, data: Path, work: Path) -> Path | None:
        made = work / f"{name}-{self.rows}.parquet"
        if not made.is_file():
            write_synthetic(made, self.rows, SYNTHETIC_SEED, numeric=self.numeric)
        return made

    def remedy(self, name: str, data: Path) -> str:
        return "it is synthetic; nothing has to be got"


ADULT = DataSet("adult", 48_842, Published())
MUSHROOM = DataSet("mushroom", 8_124, Published())
SKIN = DataSet("skin", 245_057, Published())
SEEDS = DataSet("seeds", 210, Published())
GLASS = DataSet("glass", 214, Published())
"""Rows as the UCI pages give them."""

ACS = DataSet("acs2018", 55_881, Published())
ACS_INCOME = DataSet("acs_income_2018", 295_243, Published())
"""Rows as their publishers' files hold them."""

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
"""The real ones, where the user has them; rows as in the paper's table."""

NUMERIC_TELLS = DataSet("numeric-correlated", 10_000, Synthetic(10_000, numeric=True))
CATEGORICAL_TELLS = DataSet("categorical-correlated", 10_000, Synthetic(10_000, numeric=False))


def _carries(file: Path, domain: Domain) -> bool:
    """Whether a file is there and carries this very domain."""
    if not file.is_file():
        return False
    found = domain_from_metadata(read_metadata(file), str(file))
    return found is not None and digest(found) == digest(domain)
