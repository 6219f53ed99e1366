"""Simulated census extracts: synthetic persons in the codes of the IPUMS 1940 full count, written block by block.

Shares are rounded from general knowledge of the published tables of the 1940 census; weights are relative.

A 16-bit draw is the index into a lookup table where each value has its share of the slots. Only the raw output of the
bit generator is used, whose stream NumPy promises to keep (NEP 19), and only whole numbers follow from it. So a seed
gives the same rows on every machine and with every version of NumPy; ``Generator.choice`` promises neither.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product, starmap
from pathlib import Path
from statistics import NormalDist
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.errors import UsageError, option
from dpnb_columnar.runtime.outputs import atomic_output, parquet_writer

if TYPE_CHECKING:
    import pyarrow as pa


OLDEST = 120
WORKING_AGE = 14
"""Years; younger children were not asked about work, wages or marriage."""

FIVE_YEAR_AGES = (
    *(10542, 10685, 11746, 12334, 11588, 11097, 10242, 9545, 8788, 8255, 7257, 5844, 4728, 3807, 2570),
    *(1504, 774, 279, 72, 14, 3, 1),
)
"""Thousands of persons aged 0 to 4, 5 to 9, and so on."""

DIGIT_PREFERENCE = (1.16, 0.92, 1.02, 0.97, 0.97, 1.06, 0.98, 0.96, 1.01, 0.95)
"""How much more often adults gave an age ending in 0, 1, ... 9."""

SEX = {1: 50.2, 2: 49.8}
RACE = {1: 89.8, 2: 9.75, 3: 0.25, 4: 0.06, 5: 0.1, 6: 0.04}
"""Codes 7 to 9 were not used in 1940, though the codebook has them."""

NO_PLACE = 0.1
"""Percent of persons whose place is neither urban nor rural (code 0)."""
URBAN_BY_RACE = (57.8, 48.6, 8.0, 91.0, 55.0, 60.0)
"""Percent living in urban places, by race code 1 to 6."""

BAND_STARTS = (0, 14, 18, 20, 25, 30, 35, 45, 55, 65, 75)
"""First ages of the bands used for nativity, marriage and work."""
STAGE_STARTS = (0, 14, 25, 45, 65)
"""First ages of the coarser stages of life."""

FOREIGN_BORN = (0.5, 1.0, 1.5, 2.5, 4.5, 8.0, 14.0, 21.0, 22.0, 23.0, 25.0)
"""Percent of whites born abroad, by age band."""
FOREIGN_PARENTS = (13.0, 19.0, 21.0, 23.0, 24.0, 22.0, 19.0, 16.0, 16.0, 16.0, 15.0)
"""Percent of whites born here with a parent born abroad, by age band."""
URBAN_FOREIGN_FACTOR = {False: 0.6, True: 1.3}
"""How the two shares above differ between rural and urban places."""
PARENTS_SPLIT = {2: 0.28, 3: 0.14, 4: 0.58}
"""Father, mother, or both born abroad."""
NO_NATIVITY = 0.2
"""Percent without an answer (code 0)."""

MARRIED_MEN = (0, 0.5, 4.0, 27.4, 62.7, 77.0, 82.5, 82.0, 78.0, 70.0, 52.0)
WIDOWED_MEN = (0, 0, 0, 0.2, 0.5, 0.9, 1.9, 4.6, 9.5, 18.6, 37.0)
DIVORCED_MEN = (0, 0, 0.1, 0.3, 0.9, 1.3, 1.7, 2.0, 1.8, 1.5, 1.0)
MARRIED_WOMEN = (0, 4.5, 22.0, 51.3, 74.1, 80.4, 80.8, 75.1, 62.5, 43.5, 20.0)
WIDOWED_WOMEN = (0, 0, 0.2, 0.6, 1.3, 2.5, 5.8, 14.5, 27.0, 46.5, 70.0)
DIVORCED_WOMEN = (0, 0.1, 0.3, 1.0, 1.8, 2.2, 2.4, 1.9, 1.3, 0.9, 0.5)
"""Percent of persons, by age band; the rest is single."""
SPOUSE_ABSENT = 0.045
"""Share of the married whose spouse was elsewhere; separation (code 3) was not asked."""

CHILDREN: dict[int, float] = {3: 88.0, 9: 7.5, 10: 2.5, 7: 0.5, 12: 1.0, 13: 0.5}
"""Relationship to the head of the household, of persons under 14."""
RELATIONS: dict[tuple[str, int], tuple[dict[int, float], ...]] = {
    ("spouse present", 1): (
        {1: 72, 3: 11, 4: 11, 7: 1, 8: 2, 10: 0.7, 12: 2.3},
        {1: 90.5, 3: 2.8, 4: 3.4, 7: 0.5, 8: 0.9, 10: 0.3, 12: 1.6},
        {1: 95.5, 5: 0.9, 6: 1.0, 7: 0.4, 8: 0.4, 10: 0.3, 12: 1.5},
        {1: 90.0, 5: 4.0, 6: 4.0, 7: 0.3, 8: 0.3, 10: 0.4, 12: 1.0},
    ),
    ("spouse present", 2): (
        {2: 74, 3: 12, 4: 9, 7: 1, 8: 1.2, 10: 0.6, 12: 2.2},
        {2: 91.5, 3: 3.2, 4: 2.5, 7: 0.5, 8: 0.6, 10: 0.3, 12: 1.4},
        {2: 95.0, 5: 1.0, 6: 1.2, 7: 0.4, 8: 0.5, 10: 0.4, 12: 1.5},
        {2: 88.5, 5: 4.6, 6: 4.7, 7: 0.4, 8: 0.4, 10: 0.4, 12: 1.0},
    ),
    ("alone again", 1): (
        {1: 18, 3: 36, 7: 5, 8: 3, 10: 4, 11: 2, 12: 26, 13: 6},
        {1: 33, 3: 22, 7: 6, 8: 4, 10: 2, 11: 2, 12: 26, 13: 5},
        {1: 51, 5: 6, 6: 4, 7: 6, 8: 4, 10: 2, 11: 2, 12: 21, 13: 4},
        {1: 47, 5: 20, 6: 12, 7: 4, 8: 2, 10: 2, 11: 1, 12: 8, 13: 4},
    ),
    ("alone again", 2): (
        {1: 14, 3: 48, 4: 3, 7: 6, 8: 3, 10: 4, 11: 2, 12: 18, 13: 2},
        {1: 42, 3: 24, 4: 1, 7: 6, 8: 3, 10: 3, 11: 2, 12: 17, 13: 2},
        {1: 60, 5: 9, 6: 7, 7: 5, 8: 3, 10: 2, 11: 1, 12: 11, 13: 2},
        {1: 45, 5: 24, 6: 16, 7: 4, 8: 3, 10: 2, 11: 1, 12: 3, 13: 2},
    ),
    ("never married", 1): (
        {1: 1.5, 3: 80, 7: 3, 8: 2, 9: 3, 10: 3, 11: 0.5, 12: 6, 13: 1},
        {1: 12, 3: 50, 7: 7, 8: 4, 9: 0.6, 10: 3, 11: 2, 12: 17, 13: 4.4},
        {1: 36, 3: 11, 7: 13, 8: 5, 10: 3, 11: 2, 12: 23, 13: 7},
        {1: 45, 3: 1, 7: 14, 8: 5, 10: 3, 11: 2, 12: 21, 13: 9},
    ),
    ("never married", 2): (
        {1: 1, 3: 80.5, 7: 3.5, 8: 2.5, 9: 3, 10: 3, 11: 0.5, 12: 5, 13: 1},
        {1: 12, 3: 50, 7: 9, 8: 4, 9: 0.6, 10: 3, 11: 2, 12: 16, 13: 3.4},
        {1: 34, 3: 15, 7: 20, 8: 5, 10: 4, 11: 2, 12: 15, 13: 5},
        {1: 45, 3: 1, 7: 27, 8: 6, 10: 5, 11: 2, 12: 9, 13: 5},
    ),
}
"""Relationship by marriage and sex: one distribution for each stage of life from 14 on."""

EDUCATION = {0: 3.4, 1: 9.5, 2: 46, 3: 6.5, 4: 6, 5: 4, 6: 14.5, 7: 2.2, 8: 2.3, 9: 1.1, 10: 3.3, 11: 1.3}
"""Percent of whites in towns, at 35 to 44. Code 2 holds the eighth grade, where most left school."""
SCHOOL_STARTS = (*range(25), 25, 35, 45, 55, 65)
"""Ages told apart by schooling: single years while at school, then cohorts."""
SCHOOL_CAPS = (*[0] * 6, *[1] * 5, *[2] * 4, 3, 4, 5, 6, 7, 8, 9, 10, 11, 11, *[11] * 5)
"""Most schooling within reach, for each of those ages."""
SCHOOL_TILTS = (*[0.14] * 25, 0.1, 0.0, -0.08, -0.14, -0.2)
"""Log odds for one more code, against those aged 35 to 44."""
AT_CAP = 0.7
"""Of those still at school, the share not behind their age."""
SCHOOL_TILT_NOT_WHITE = -0.45
SCHOOL_TILT_RURAL = -0.12

SLOT_BITS = 16
"""Width of a draw: shares are honoured to 1 in 65,536."""

SLOTS_PER_WORD = 4
"""Draws cut from one 64-bit word of the generator."""

Codes = NDArray[np.int8]
Groups = NDArray[np.intp]


class Draws:
    """The random source of one block."""

    def __init__(self, seed: int, block: int, rows: int) -> None:
        # A child's key written out: the same stream as SeedSequence(seed).spawn(block + 1)[block], at once.
        self._bits = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(block,)))
        self.rows = rows

    def slots(self) -> NDArray[np.uint16]:
        words = np.asarray(self._bits.random_raw(self.rows // SLOTS_PER_WORD))
        return words.astype("<u8", copy=False).view("<u2")


class Lookup:
    """A discrete distribution for each of several groups, laid out for drawing by table."""

    def __init__(self, distributions: Sequence[Mapping[int, float]], bits: int = SLOT_BITS) -> None:
        self._bits = bits
        self._table = np.concatenate([_fill_slots(weights, 1 << bits) for weights in distributions])

    def draw(self, draws: Draws, group: Groups | None = None) -> Codes:
        slots = (draws.slots() >> (SLOT_BITS - self._bits)).astype(np.intp)
        return self._table.take(slots if group is None else (group << self._bits) + slots)


def _fill_slots(weights: Mapping[int, float], slots: int) -> Codes:
    """Repeat each value by its share of the slots; rounding the cumulative shares always fills the table exactly."""
    ends = np.cumsum(list(weights.values()))
    bounds = np.rint(ends / ends[-1] * slots).astype(np.int64)
    return np.repeat(np.array(list(weights), dtype=np.int8), np.diff(bounds, prepend=0))


def interval_indices(starts: Sequence[int], length: int) -> Groups:
    """Compute the index of the interval that each of ``0..length - 1`` falls in."""
    return np.searchsorted(np.asarray(starts), np.arange(length), side="right") - 1


BANDS = interval_indices(BAND_STARTS, OLDEST + 1)
STAGES = interval_indices(STAGE_STARTS, OLDEST + 1)
SCHOOL_AGES = interval_indices(SCHOOL_STARTS, OLDEST + 1)

EITHER = (False, True)
MARRIAGES = ("spouse present", "alone again", "never married")
MARRIAGE_OF_MARST = np.array([2, 0, 1, 1, 1, 1, 2], dtype=np.intp)
"""Index into ``MARRIAGES`` of each code of MARST; there is no code 0."""


def draw_people(draws: Draws) -> dict[str, Codes]:
    """Draw everything about a person but work and wages."""
    tables = _person_tables()
    sex = tables["SEX"].draw(draws)
    age = tables["AGE"].draw(draws)
    race = tables["RACE"].draw(draws)
    urban = tables["URBAN"].draw(draws, race.astype(np.intp) - 1)
    band, stage = BANDS.take(age), STAGES.take(age)
    woman, town, other = (sex == 2).astype(np.intp), (urban == 2).astype(np.intp), (race != 1).astype(np.intp)
    marriage = tables["MARST"].draw(draws, woman * len(BAND_STARTS) + band)
    household = (MARRIAGE_OF_MARST.take(marriage) * 2 + woman) * len(STAGE_STARTS) + stage
    return {
        "SEX": sex,
        "AGE": age,
        "RACE": race,
        "URBAN": urban,
        "NATIVITY": tables["NATIVITY"].draw(draws, (other * 2 + town) * len(BAND_STARTS) + band),
        "MARST": marriage,
        "RELATE": tables["RELATE"].draw(draws, household),
        "EDUC": tables["EDUC"].draw(draws, (other * 2 + town) * len(SCHOOL_STARTS) + SCHOOL_AGES.take(age)),
    }


@cache
def _person_tables() -> dict[str, Lookup]:
    bands = range(len(BAND_STARTS))
    relations = [
        distribution
        for marriage in MARRIAGES
        for sex in (1, 2)
        for distribution in (CHILDREN, *RELATIONS[marriage, sex])
    ]
    return {
        "SEX": Lookup([SEX]),
        "AGE": Lookup([_ages()]),
        "RACE": Lookup([RACE]),
        "URBAN": Lookup([{0: NO_PLACE, 1: 100 - NO_PLACE - urban, 2: urban} for urban in URBAN_BY_RACE]),
        "NATIVITY": Lookup([*starmap(_nativity, product(EITHER, EITHER, bands))]),
        "MARST": Lookup([*starmap(_marriages, product(EITHER, bands))]),
        "RELATE": Lookup(relations),
        "EDUC": Lookup([*starmap(_schooling, product(EITHER, EITHER, range(len(SCHOOL_STARTS))))], bits=12),
    }


def _ages() -> dict[int, float]:
    """Single years of age: five-year groups, with adults preferring round ages."""
    years = range(5 * len(FIVE_YEAR_AGES))
    preference = {age: DIGIT_PREFERENCE[age % 10] if age >= 23 else 1.0 for age in years}
    return {age: FIVE_YEAR_AGES[age // 5] * preference[age] for age in years}


def _nativity(other: bool, town: bool, band: int) -> dict[int, float]:
    """Nativity of one age band; a tenth of the foreign-born share among those not white."""
    factor = URBAN_FOREIGN_FACTOR[town] * (0.1 if other else 1.0)
    born_abroad, parents_abroad = FOREIGN_BORN[band] * factor, FOREIGN_PARENTS[band] * factor
    parents = {code: parents_abroad * share for code, share in PARENTS_SPLIT.items()}
    natives = 100 - NO_NATIVITY - born_abroad - parents_abroad
    return {0: NO_NATIVITY, 1: natives, **parents, 5: born_abroad}


def _marriages(woman: bool, band: int) -> dict[int, float]:
    married = (MARRIED_WOMEN if woman else MARRIED_MEN)[band]
    widowed = (WIDOWED_WOMEN if woman else WIDOWED_MEN)[band]
    divorced = (DIVORCED_WOMEN if woman else DIVORCED_MEN)[band]
    absent = married * SPOUSE_ABSENT
    return {1: married - absent, 2: absent, 4: divorced, 5: widowed, 6: 100 - married - widowed - divorced}


def _schooling(other: bool, town: bool, position: int) -> dict[int, float]:
    """Schooling at one age: what the cohort will reach, capped at what is possible at that age."""
    tilt = SCHOOL_TILTS[position]
    tilt += SCHOOL_TILT_NOT_WHITE * other + SCHOOL_TILT_RURAL * (not town)
    reached = {code: share * math.exp(tilt * (code - 2)) for code, share in EDUCATION.items()}
    cap = SCHOOL_CAPS[position]
    beyond = sum(weight for code, weight in reached.items() if code > cap)
    capped = {code: weight for code, weight in reached.items() if code <= cap}
    capped[cap] += beyond * AT_CAP
    capped[max(cap - 1, 0)] += beyond * (1 - AT_CAP)
    return capped


DATASET = "census_simulated"
"""Entry of the packaged catalogue that declares the domain."""

BLOCK_ROWS = 2**17
"""Rows generated, written and held at a time: one row group."""

MOST_ROWS = 10**12
"""Most rows of a file: thousands of gigabytes."""

COLUMN_TYPES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("URBAN", "RELATE", "SEX"), "int8"),
        "AGE": "int16",
        **dict.fromkeys(("MARST", "RACE", "NATIVITY", "EDUC", "EMPSTAT", "CLASSWKR"), "int8"),
        **dict.fromkeys(("WKSWORK1", "HRSWORK1", "SEI"), "int8"),
        "INCWAGE": "int32",
    }
)
"""Columns in the codebook's order, and their NumPy and Arrow types, as narrow as their codes."""


def simulate_census(
    output: Path, *, rows: int, seed: int, overwrite: bool = False, progress: Callable[[int], None] | None = None
) -> None:
    """Write a census-like extract in the shape of the IPUMS 1940 full count; a longer one begins with a shorter one."""
    if rows < 1:
        raise UsageError(
            f"{option('rows')} {rows}: a file needs rows; give 1 or more, such as {option('rows', 100000)}"
        )
    if rows > MOST_ROWS:
        raise UsageError(
            f"{option('rows')} {rows}: too many for a file; give {MOST_ROWS} at most, such as {option('rows', 100000)}"
        )
    if seed < 0:
        raise UsageError(f"{option('seed')} {seed}: give a whole number from 0 on, such as {option('seed', 1940)}")
    import pyarrow as pa

    from dpnb_columnar.domain.catalogue import packaged_entries
    from dpnb_columnar.domain.declaration import domain_metadata

    # A catalogue in the working directory describes other data sets, not this one.
    domain = next(entry.domain for entry in packaged_entries() if entry.name == DATASET)
    schema = pa.schema(list(COLUMN_TYPES.items()), metadata=domain_metadata(domain))
    with atomic_output(output, overwrite=overwrite) as partial, parquet_writer(partial, schema) as writer:
        for block in _blocks(rows, seed):
            writer.write_batch(block, row_group_size=BLOCK_ROWS)
            if progress is not None:
                progress(block.num_rows)


def _blocks(rows: int, seed: int) -> Iterator[pa.RecordBatch]:
    """Simulate blocks of ``rows`` rows in all; the last is cut from a full one, so a longer file begins alike."""
    import pyarrow as pa

    for block, start in enumerate(range(0, rows, BLOCK_ROWS)):
        draws = Draws(seed, block, BLOCK_ROWS)
        people = draw_people(draws)
        work = draw_work(draws, people)
        columns: dict[str, NDArray[np.signedinteger]] = {**people, **work, "INCWAGE": draw_wages(draws, people, work)}
        narrow = {name: columns[name].astype(type_, copy=False) for name, type_ in COLUMN_TYPES.items()}
        yield pa.RecordBatch.from_pydict(narrow).slice(0, rows - start)


EMPLOYED, UNEMPLOYED = 1, 2
"""Codes of EMPSTAT; 3 is not in the labor force."""
OWN_ACCOUNT, WAGES = 1, 2
"""Codes of CLASSWKR."""
STAGE_COUNT = len(STAGE_STARTS)
SCHOOL_CODES = len(EDUCATION)
NOT_ASKED = {0: 1.0}
"""Distribution of a question that children were not asked: code 0 for all."""

EMPLOYED_MEN = (14, 47, 77, 86, 88, 88, 84, 74, 46, 17)
UNEMPLOYED_MEN = (6, 19, 16, 10, 8.5, 8, 9, 10, 6, 1.5)
EMPLOYED_WIVES = (5, 9, 16, 18, 17.5, 15.5, 11.5, 7, 3, 1)
UNEMPLOYED_WIVES = (3, 4, 4, 3, 2.5, 2.2, 1.6, 1, 0.3, 0.1)
EMPLOYED_WIDOWS = (20, 33, 47, 55, 57, 55, 44, 27, 10, 2.5)
UNEMPLOYED_WIDOWS = (10, 13, 12, 11, 10, 9, 7, 4, 1, 0.2)
EMPLOYED_SINGLE_WOMEN = (6, 36, 62, 72, 73, 70, 63, 47, 19, 5)
UNEMPLOYED_SINGLE_WOMEN = (3, 13, 12, 8, 7, 6.5, 5.5, 4, 1, 0.3)
"""Percent of persons, by age band from 14 on; the rest is not in the labor force."""

SELF_EMPLOYED = {
    (1, False): (14, 40, 55, 70),
    (1, True): (2.5, 10, 18, 30),
    (2, False): (5, 12, 28, 45),
    (2, True): (1.5, 6, 14, 25),
}
"""Percent of the employed, by sex and whether in town: one figure for each stage of life from 14 on."""
UNEMPLOYED_CLASSES = {0: 12, 1: 3, 2: 85}
"""Class of worker of the unemployed; code 0 are those who never worked."""

OCCUPATIONS = {
    6: (1, 26, 0, 0, 0.5, 8, 0),
    7: (0.5, 0.3, 0, 0, 15, 25, 5),
    8: (12, 13, 0, 0, 1, 1, 0),
    9: (4, 1, 0, 0, 2, 1, 0),
    10: (4, 8, 0.5, 0.2, 0.2, 0.1, 0),
    14: (0.3, 2, 3, 82, 0, 0.5, 25),
    15: (8, 7, 2, 1, 4, 3, 3),
    16: (5, 3, 5, 0.7, 7, 4, 3),
    17: (2, 5, 5, 1, 5, 8, 18),
    18: (13, 11, 1, 0.4, 17, 13, 4),
    19: (7, 6, 5, 2, 2, 1, 1),
    23: (0.5, 0.2, 1, 0.1, 4, 3, 10),
    27: (4, 2, 3, 1, 1, 1, 2),
    33: (6, 3, 4, 0.6, 0.5, 0.3, 0),
    39: (3, 1.5, 3, 0.5, 9, 6, 4),
    44: (9, 3, 1, 0.2, 11, 5, 2),
    46: (0.2, 0.1, 0, 0, 4, 3, 1),
    47: (7, 2, 8, 1.5, 2, 1, 3),
    49: (3.5, 1.5, 2, 0.3, 0.5, 0.3, 0.5),
    51: (3, 1, 14, 2.5, 5, 2.5, 6),
    61: (0.6, 0.2, 0, 0, 12, 5, 0),
    62: (1.5, 0.5, 10, 1.2, 0.5, 0.3, 3),
    68: (4, 1.2, 15, 2.5, 1, 0.5, 4),
    72: (1.8, 1.2, 0.3, 0.1, 7, 14, 2),
    78: (1.5, 0.3, 1, 0.1, 0.5, 0.1, 0.3),
    84: (1.2, 0.3, 1.5, 0.2, 0.3, 0.1, 0.3),
    87: (1.2, 0.4, 0.5, 0.1, 0.02, 0.01, 0),
    92: (0.6, 0.2, 4, 0.5, 0.1, 0.05, 0.5),
    96: (0.05, 0.02, 1, 0.15, 0.02, 0.01, 0.1),
}
"""Socioeconomic index to weights: men on wages in town and country, men on their own account in town and country, women
on wages in town and country, women on their own account. 14 are farmers, 6 farm hands, 7 servants, 72 teachers."""
INDEX_CENTRE = 25
INDEX_TILT_OF_SCHOOL = 0.26
"""Log odds, for one more code of schooling, of an index 25 points higher."""
INDEX_TILT_NOT_WHITE = -0.8
NO_OCCUPATION_INDEX = 15
"""Index whose wages those without an occupation earned in the weeks they did work."""

PART_YEAR = {
    **dict.fromkeys(range(1, 52), 0.12),
    **{50: 4, 51: 1, 48: 4, 49: 0.8, 46: 1, 45: 1, 44: 1.2, 42: 0.7, 40: 4, 39: 1, 36: 2, 35: 0.9, 32: 1, 30: 2.2},
    **{28: 0.8, 26: 3.4, 25: 0.8, 24: 0.9, 20: 1.8, 16: 0.9, 15: 0.6, 13: 0.9, 12: 1, 10: 0.8, 8: 0.8, 6: 0.4, 4: 0.6},
}
"""Weeks worked in 1939 by those who worked a part of it."""
FULL_YEAR_AND_NONE = {
    "employed": ((44, 7), (66, 1.5), (69, 1.5), (68, 3)),
    "self-employed": ((66, 4), (82, 1), (84, 1), (80, 2)),
    "unemployed": ((3, 45), (4, 32), (4, 38), (4, 50)),
    "not in the labor force": ((0.8, 89), (1, 93), (0.8, 95), (0.3, 98)),
}
"""Percent who worked 52 weeks, and none, for each stage of life from 14 on."""

OTHER_HOURS = dict.fromkeys(range(1, 99), 0.08)
"""Weight of a number of hours that ``HOURS`` does not name."""
HOURS: dict[str, dict[int, float]] = {
    "wages in town": {40: 35, 48: 16, 44: 11, 54: 3, 60: 4, 50: 3, 42: 3, 45: 3, 35: 2, 36: 2, 30: 2, 24: 2, 56: 2},
    "wages in the country": {40: 22, 48: 13, 60: 14, 54: 5, 50: 5, 44: 6, 70: 5, 72: 3, 35: 4, 42: 3, 30: 2, 84: 1},
    "own account in town": {60: 16, 48: 11, 40: 10, 54: 6, 50: 7, 70: 7, 72: 7, 84: 3, 66: 3, 44: 4, 30: 2, 98: 0.5},
    "own account in the country": {60: 21, 70: 11, 50: 9, 72: 7, 48: 7, 40: 7, 54: 5, 84: 3, 66: 3, 80: 2, 98: 0.5},
}
"""Hours worked in the last week of March 1940."""
NOT_AT_WORK = 3.5
"""Percent of the employed with a job but no hours that week."""


def draw_work(draws: Draws, people: Mapping[str, Codes]) -> dict[str, Codes]:
    """Draw the answers about work of persons of 14 and over; code 0 for everyone else."""
    tables = _tables()
    band, stage = BANDS.take(people["AGE"]), STAGES.take(people["AGE"])
    woman, town = (people["SEX"] == 2).astype(np.intp), (people["URBAN"] == 2).astype(np.intp)
    kind = np.where(woman == 1, 1 + MARRIAGE_OF_MARST.take(people["MARST"]), 0)
    employment = tables["EMPSTAT"].draw(draws, kind * len(BAND_STARTS) + band)
    class_group = np.where(employment == EMPLOYED, (woman * 2 + town) * STAGE_COUNT + stage, 4 * STAGE_COUNT)
    class_group = np.where(employment == UNEMPLOYED, 4 * STAGE_COUNT + 1, class_group)
    worker = tables["CLASSWKR"].draw(draws, class_group)
    index = tables["SEI"].draw(draws, _occupation_group(people, woman, town, worker))
    activity = np.where((employment == EMPLOYED) & (worker == OWN_ACCOUNT), 0, employment).astype(np.intp)
    hours_group = np.where(employment == EMPLOYED, 1 + (worker == OWN_ACCOUNT) * 2 + (town == 0), 0)
    return {
        "EMPSTAT": employment,
        "CLASSWKR": worker,
        "SEI": index,
        "WKSWORK1": tables["WKSWORK1"].draw(draws, activity * STAGE_COUNT + stage),
        "HRSWORK1": tables["HRSWORK1"].draw(draws, hours_group),
    }


def _occupation_group(people: Mapping[str, Codes], woman: Groups, town: Groups, worker: Codes) -> Groups:
    """Compute the group of the occupation table: 0 for none, then column of ``OCCUPATIONS`` by race by schooling."""
    own = (worker == OWN_ACCOUNT).astype(np.intp)
    column = np.where(woman == 1, np.where(own == 1, 6, 5 - town), own * 2 + 1 - town)
    group = 1 + (column * 2 + (people["RACE"] != 1)) * SCHOOL_CODES + people["EDUC"]
    return np.where(worker == 0, 0, group)


@cache
def _tables() -> dict[str, Lookup]:
    return {
        "EMPSTAT": Lookup(_employment()),
        "CLASSWKR": Lookup(_classes()),
        "SEI": Lookup([NOT_ASKED, *starmap(_occupations, product(range(7), EITHER, range(SCHOOL_CODES)))], bits=12),
        "WKSWORK1": Lookup(_weeks(), bits=14),
        "HRSWORK1": Lookup([NOT_ASKED, *(_hours(shares) for shares in HOURS.values())]),
    }


def _employment() -> list[dict[int, float]]:
    """Men, wives, widows and divorced women, single women; within each, by age band from 0 on."""
    shares = (
        (EMPLOYED_MEN, UNEMPLOYED_MEN),
        (EMPLOYED_WIVES, UNEMPLOYED_WIVES),
        (EMPLOYED_WIDOWS, UNEMPLOYED_WIDOWS),
        (EMPLOYED_SINGLE_WOMEN, UNEMPLOYED_SINGLE_WOMEN),
    )
    distributions: list[dict[int, float]] = []
    for employed, unemployed in shares:
        distributions.append(NOT_ASKED)
        distributions += [{1: at, 2: out, 3: 100 - at - out} for at, out in zip(employed, unemployed, strict=True)]
    return distributions


def _classes() -> list[dict[int, float]]:
    """List the shares of classes: by sex, place and stage of life; not in the labor force; of the unemployed."""
    distributions: list[dict[int, float]] = []
    for sex in (1, 2):
        for town in (False, True):
            distributions.append(NOT_ASKED)
            distributions += [{OWN_ACCOUNT: own, WAGES: 100 - own} for own in SELF_EMPLOYED[sex, town]]
    return [*distributions, NOT_ASKED, dict(UNEMPLOYED_CLASSES)]


def _occupations(column: int, other: bool, school: int) -> dict[int, float]:
    """Socioeconomic index in one column of the table: more schooling leads further up."""
    tilt = INDEX_TILT_OF_SCHOOL * (school - 3) + INDEX_TILT_NOT_WHITE * other
    return {
        index: weights[column] * math.exp(tilt * (index - INDEX_CENTRE) / 25) for index, weights in OCCUPATIONS.items()
    }


def _weeks() -> list[dict[int, float]]:
    """Distribute weeks by activity (own account, wages, unemployed, not in the labor force), then stage of life."""
    whole = sum(PART_YEAR.values())
    distributions: list[dict[int, float]] = []
    for activity in ("self-employed", "employed", "unemployed", "not in the labor force"):
        distributions.append(NOT_ASKED)
        for full, none in FULL_YEAR_AND_NONE[activity]:
            part = (100 - full - none) / whole
            distributions.append({0: none, 52: full} | {weeks: part * share for weeks, share in PART_YEAR.items()})
    return distributions


def _hours(shares: Mapping[int, float]) -> dict[int, float]:
    """Hours of one kind of work: its usual ones, a few at every other number, and none for those not at work."""
    at_work = dict(OTHER_HOURS) | dict(shares)
    none = sum(at_work.values()) * NOT_AT_WORK / (100 - NOT_AT_WORK)
    return {0: none, **at_work}


TOP_CODE = 5001
"""Dollars; stands for every wage above 5,000."""
MISSING_WAGE = 999998
WAGE_NOT_ASKED = 999999
NO_ANSWER = 2.0
"""Percent of those asked whose wage is missing."""

BASE = 7.8
"""Log of the usual wage, in dollars a year, of a white man in town, aged 35 to 50, with eight grades.

Set about 1.7 times as high as published, so that a quarter of those asked, not a seventh, earned above 1,000 dollars:
a classifier then has two classes worth telling apart.
"""
SPREAD = 0.37
"""Standard deviation of the log wage around what is expected."""
AGE_EFFECTS = {0: -1.5, 14: -1.4, 18: -0.95, 20: -0.68, 25: -0.3, 30: -0.1, 35: 0.0, 50: 0.0, 60: -0.08, 75: -0.4}
SCHOOL_EFFECTS = (-0.26, -0.18, 0.0, 0.05, 0.08, 0.12, 0.22, 0.26, 0.31, 0.36, 0.54, 0.66)
INDEX_EFFECT = 0.014
"""For each point of the socioeconomic index above that of operatives (18)."""
LOW_INDEX_EFFECTS = {6: -0.6, 7: -0.6, 8: -0.12, 9: -0.12}
"""Farm hands and servants were paid in kind as well."""
WOMAN_EFFECT = -0.65
RURAL_EFFECT = -0.4
NOT_WHITE_EFFECT = -0.55
HUSBAND_EFFECT = 0.1
SHORT_HOURS = 30
SHORT_HOURS_EFFECT = -0.22
"""Of 1 to 29 hours in the week asked about."""

PAID = ({0: 25, 1: 75}, {0: 91, 1: 9}, {0: 3, 1: 97})
"""Whether weeks worked brought wages (1), by class of worker: none given, on own account, for wages."""
HEAPS = {1: 14, 5: 6, 10: 20, 25: 5, 50: 16, 52: 9, 60: 12, 100: 18}
"""Multiples that wages were given in, and how often: round dollars, and weekly or monthly pay times 52 or 12."""
SMALL_WAGE = 200
"""Dollars; below it wages were rounded to 10 at most."""
LARGEST_LOG = 11_000


def draw_wages(draws: Draws, people: Mapping[str, Codes], work: Mapping[str, Codes]) -> NDArray[np.int32]:
    """Draw INCWAGE in the codes of the codebook."""
    paid, heaps, answers = _draw_tables()
    expected = _expected(people, work) + _noise().take(draws.slots())
    dollars = _dollars().take(np.clip(expected, 0, LARGEST_LOG))
    multiple = heaps.draw(draws).astype(np.int32)
    multiple = np.where(dollars < SMALL_WAGE, np.minimum(multiple, 10), multiple)
    dollars = np.minimum((dollars + multiple // 2) // multiple * multiple, TOP_CODE)
    earns = (paid.draw(draws, work["CLASSWKR"].astype(np.intp)) == 1) & (work["WKSWORK1"] > 0)
    wages = np.where(earns, dollars, 0)
    wages = np.where(answers.draw(draws) == 0, MISSING_WAGE, wages)
    return np.where(people["AGE"] < WORKING_AGE, WAGE_NOT_ASKED, wages).astype(np.int32)


def _expected(people: Mapping[str, Codes], work: Mapping[str, Codes]) -> NDArray[np.int32]:
    """Expected log wage in thousandths, shape (rows,)."""
    effects = _effects()
    woman = people["SEX"] == 2
    hours = work["HRSWORK1"]
    log_wage = effects["AGE"].take(people["AGE"]) + effects["EDUC"].take(people["EDUC"])
    log_wage += effects["SEI"].take(work["SEI"]) + effects["WKSWORK1"].take(work["WKSWORK1"])
    log_wage += woman * _thousandths(WOMAN_EFFECT) + (people["URBAN"] != 2) * _thousandths(RURAL_EFFECT)
    log_wage += (people["RACE"] != 1) * _thousandths(NOT_WHITE_EFFECT)
    log_wage += (~woman & (people["MARST"] == 1)) * _thousandths(HUSBAND_EFFECT)
    log_wage += ((hours > 0) & (hours < SHORT_HOURS)) * _thousandths(SHORT_HOURS_EFFECT)
    return log_wage


@cache
def _draw_tables() -> tuple[Lookup, Lookup, Lookup]:
    return Lookup(PAID), Lookup([HEAPS]), Lookup([{0: NO_ANSWER, 1: 100 - NO_ANSWER}])


@cache
def _effects() -> dict[str, NDArray[np.int32]]:
    """Effect of each code on the log wage, in thousandths; ``BASE`` is in that of AGE."""
    ages = np.interp(np.arange(OLDEST + 1), list(AGE_EFFECTS), list(AGE_EFFECTS.values()))
    return {
        "AGE": _whole([BASE + effect for effect in ages]),
        "EDUC": _whole(SCHOOL_EFFECTS),
        "SEI": _whole(
            [
                INDEX_EFFECT * ((index or NO_OCCUPATION_INDEX) - 18) + LOW_INDEX_EFFECTS.get(index, 0.0)
                for index in range(97)
            ]
        ),
        "WKSWORK1": _whole([math.log(max(weeks, 1) / 52) for weeks in range(53)]),
    }


@cache
def _noise() -> NDArray[np.int32]:
    """Normal quantiles at the middle of each of the 65,536 slots, in thousandths of the log wage."""
    normal, slots = NormalDist(0, SPREAD), 1 << SLOT_BITS
    return _whole([normal.inv_cdf((slot + 0.5) / slots) for slot in range(slots)])


@cache
def _dollars() -> NDArray[np.int32]:
    """Dollars, at least one, of each log wage in thousandths."""
    return np.array([max(1, round(math.exp(log / 1000))) for log in range(LARGEST_LOG + 1)], dtype=np.int32)


def _whole(effects: Sequence[float]) -> NDArray[np.int32]:
    thousandths: NDArray[np.int32] = np.rint(1000 * np.asarray(effects)).astype(np.int32)
    return thousandths


def _thousandths(effect: float) -> np.int32:
    return np.int32(round(1000 * effect))
