"""Who people are: sex, age, race, place, nativity, marriage, household and schooling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

import numpy as np

from dpnb_columnar.simulation import marginals
from dpnb_columnar.simulation.lookup_tables import Codes, Draws, Groups, Lookup, interval_indices

BANDS = interval_indices(marginals.BAND_STARTS, marginals.OLDEST + 1)
STAGES = interval_indices(marginals.STAGE_STARTS, marginals.OLDEST + 1)
SCHOOL_AGES = interval_indices(marginals.SCHOOL_STARTS, marginals.OLDEST + 1)

MARRIAGES = ("spouse present", "alone again", "never married")
MARRIAGE_OF_MARST = np.array([2, 0, 1, 1, 1, 1, 2], dtype=np.intp)
"""Index into ``MARRIAGES`` of each code of MARST; there is no code 0."""


def draw_people(draws: Draws) -> dict[str, Codes]:
    """Draw everything about a person but work and wages.

    Args:
        draws: The random source.

    Returns:
        Column name to codes, each of shape (rows,).
    """
    tables = _tables()
    sex = tables["SEX"].draw(draws)
    age = tables["AGE"].draw(draws)
    race = tables["RACE"].draw(draws)
    urban = tables["URBAN"].draw(draws, race.astype(np.intp) - 1)
    band, stage = BANDS.take(age), STAGES.take(age)
    woman, town, other = (sex == 2).astype(np.intp), (urban == 2).astype(np.intp), (race != 1).astype(np.intp)
    marriage = tables["MARST"].draw(draws, woman * len(marginals.BAND_STARTS) + band)
    return {
        "SEX": sex,
        "AGE": age,
        "RACE": race,
        "URBAN": urban,
        "NATIVITY": tables["NATIVITY"].draw(draws, (other * 2 + town) * len(marginals.BAND_STARTS) + band),
        "MARST": marriage,
        "RELATE": tables["RELATE"].draw(draws, _household(woman, marriage, stage)),
        "EDUC": tables["EDUC"].draw(draws, (other * 2 + town) * len(marginals.SCHOOL_STARTS) + SCHOOL_AGES.take(age)),
    }


def _household(woman: Groups, marriage: Codes, stage: Groups) -> Groups:
    """Compute the group of the relationship table: marriage by sex by stage of life."""
    return (MARRIAGE_OF_MARST.take(marriage) * 2 + woman) * len(marginals.STAGE_STARTS) + stage


@cache
def _tables() -> dict[str, Lookup]:
    bands = range(len(marginals.BAND_STARTS))
    relations = [
        distribution
        for marriage in MARRIAGES
        for sex in (1, 2)
        for distribution in (marginals.CHILDREN, *marginals.RELATIONS[marriage, sex])
    ]
    return {
        "SEX": Lookup([marginals.SEX]),
        "AGE": Lookup([_ages()]),
        "RACE": Lookup([marginals.RACE]),
        "URBAN": Lookup([_places(share) for share in marginals.URBAN_BY_RACE]),
        "NATIVITY": Lookup(
            [_nativity(band, other, town) for other in (False, True) for town in (False, True) for band in bands]
        ),
        "MARST": Lookup([_marriages(band, woman) for woman in (False, True) for band in bands]),
        "RELATE": Lookup(relations),
        "EDUC": Lookup(
            [
                _schooling(position, other, town)
                for other in (False, True)
                for town in (False, True)
                for position in range(len(marginals.SCHOOL_STARTS))
            ],
            bits=12,
        ),
    }


def _ages() -> dict[int, float]:
    """Single years of age: five-year groups, with adults preferring round ages."""
    years = range(5 * len(marginals.FIVE_YEAR_AGES))
    preference = {age: marginals.DIGIT_PREFERENCE[age % 10] if age >= 23 else 1.0 for age in years}
    return {age: marginals.FIVE_YEAR_AGES[age // 5] * preference[age] for age in years}


def _places(urban: float) -> dict[int, float]:
    """Urban and rural places of one race, of which ``urban`` percent live in towns."""
    return {0: marginals.NO_PLACE, 1: 100 - marginals.NO_PLACE - urban, 2: urban}


def _nativity(band: int, other: bool, town: bool) -> dict[int, float]:
    """Nativity of one age band; a tenth of the foreign-born share among those not white."""
    factor = marginals.URBAN_FOREIGN_FACTOR[town] * (0.1 if other else 1.0)
    born_abroad, parents_abroad = marginals.FOREIGN_BORN[band] * factor, marginals.FOREIGN_PARENTS[band] * factor
    parents = {code: parents_abroad * share for code, share in marginals.PARENTS_SPLIT.items()}
    natives = 100 - marginals.NO_NATIVITY - born_abroad - parents_abroad
    return {0: marginals.NO_NATIVITY, 1: natives, **parents, 5: born_abroad}


def _marriages(band: int, woman: bool) -> dict[int, float]:
    """Marital status of one age band and sex."""
    married = (marginals.MARRIED_WOMEN if woman else marginals.MARRIED_MEN)[band]
    widowed = (marginals.WIDOWED_WOMEN if woman else marginals.WIDOWED_MEN)[band]
    divorced = (marginals.DIVORCED_WOMEN if woman else marginals.DIVORCED_MEN)[band]
    absent = married * marginals.SPOUSE_ABSENT
    return {1: married - absent, 2: absent, 4: divorced, 5: widowed, 6: 100 - married - widowed - divorced}


def _schooling(position: int, other: bool, town: bool) -> dict[int, float]:
    """Schooling at one age: what the cohort will reach, capped at what is possible at that age."""
    tilt = marginals.SCHOOL_TILTS[position]
    tilt += marginals.SCHOOL_TILT_NOT_WHITE * other + marginals.SCHOOL_TILT_RURAL * (not town)
    reached = {code: share * math.exp(tilt * (code - 2)) for code, share in marginals.EDUCATION.items()}
    return _capped(reached, marginals.SCHOOL_CAPS[position])


def _capped(reached: Mapping[int, float], cap: int) -> dict[int, float]:
    """Move the weight above a cap to the cap and the code below it."""
    beyond = sum(weight for code, weight in reached.items() if code > cap)
    capped = {code: weight for code, weight in reached.items() if code <= cap}
    capped[cap] += beyond * marginals.AT_CAP
    capped[max(cap - 1, 0)] += beyond * (1 - marginals.AT_CAP)
    return capped
