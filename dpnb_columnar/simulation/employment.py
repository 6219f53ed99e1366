"""Employment, class of worker, occupation, and the weeks and hours worked.

Shares are rounded from general knowledge of the published tables of the 1940 census, as those of ``marginals``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

import numpy as np

from dpnb_columnar.simulation import marginals
from dpnb_columnar.simulation.lookup_tables import Codes, Draws, Groups, Lookup
from dpnb_columnar.simulation.people import BANDS, MARRIAGE_OF_MARST, STAGES

EMPLOYED, UNEMPLOYED = 1, 2
"""Codes of EMPSTAT; 3 is not in the labor force."""
OWN_ACCOUNT, WAGES = 1, 2
"""Codes of CLASSWKR."""
STAGE_COUNT = len(marginals.STAGE_STARTS)
SCHOOL_CODES = len(marginals.EDUCATION)
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
    """Draw the answers about work of persons of 14 and over; code 0 for everyone else.

    Args:
        draws: The random source.
        people: SEX, AGE, RACE, URBAN, MARST and EDUC, each of shape (rows,).

    Returns:
        Column name to codes, each of shape (rows,).
    """
    tables = _tables()
    band, stage = BANDS.take(people["AGE"]), STAGES.take(people["AGE"])
    woman, town = (people["SEX"] == 2).astype(np.intp), (people["URBAN"] == 2).astype(np.intp)
    kind = np.where(woman == 1, 1 + MARRIAGE_OF_MARST.take(people["MARST"]), 0)
    employment = tables["EMPSTAT"].draw(draws, kind * len(marginals.BAND_STARTS) + band)
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
        "SEI": Lookup(
            [
                NOT_ASKED,
                *(
                    _occupations(column, other, school)
                    for column in range(7)
                    for other in (False, True)
                    for school in range(SCHOOL_CODES)
                ),
            ],
            bits=12,
        ),
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
