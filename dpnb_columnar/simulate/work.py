"""Draws what people do: employment, class of worker, occupation, and the weeks and hours worked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

import numpy as np

from dpnb_columnar.simulate import marginals, occupations
from dpnb_columnar.simulate.lookup import Codes, Draws, Groups, Lookup
from dpnb_columnar.simulate.people import BANDS, MARRIAGE_OF_MARST, STAGES

EMPLOYED, UNEMPLOYED = 1, 2
OWN_ACCOUNT, WAGES = 1, 2
STAGE_COUNT = len(marginals.STAGE_STARTS)
SCHOOL_CODES = len(marginals.EDUCATION)
NOTHING = {0: 1.0}
"""Distribution of every question that children were not asked."""


def draw_work(draws: Draws, people: Mapping[str, Codes]) -> dict[str, Codes]:
    """Work as asked of persons of 14 and over; code 0 for everyone else.

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
    """Group of the occupation table: 0 for none, then column of ``OCCUPATIONS`` by race by schooling."""
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
                NOTHING,
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
        "HRSWORK1": Lookup([NOTHING, *(_hours(shares) for shares in occupations.HOURS.values())]),
    }


def _employment() -> list[dict[int, float]]:
    """Men, wives, widows and divorced women, single women; within each, by age band from 0 on."""
    shares = (
        (occupations.EMPLOYED_MEN, occupations.UNEMPLOYED_MEN),
        (occupations.EMPLOYED_WIVES, occupations.UNEMPLOYED_WIVES),
        (occupations.EMPLOYED_WIDOWS, occupations.UNEMPLOYED_WIDOWS),
        (occupations.EMPLOYED_SINGLE_WOMEN, occupations.UNEMPLOYED_SINGLE_WOMEN),
    )
    found: list[dict[int, float]] = []
    for employed, unemployed in shares:
        found.append(NOTHING)
        found += [{1: at, 2: out, 3: 100 - at - out} for at, out in zip(employed, unemployed, strict=True)]
    return found


def _classes() -> list[dict[int, float]]:
    """The employed by sex, place and stage of life; then those not in the labor force; then the unemployed."""
    found: list[dict[int, float]] = []
    for sex in (1, 2):
        for town in (False, True):
            found.append(NOTHING)
            found += [{OWN_ACCOUNT: own, WAGES: 100 - own} for own in occupations.SELF_EMPLOYED[sex, town]]
    return [*found, NOTHING, dict(occupations.UNEMPLOYED_CLASSES)]


def _occupations(column: int, other: bool, school: int) -> dict[int, float]:
    """Socioeconomic index in one column of the table: more schooling leads further up."""
    tilt = occupations.INDEX_TILT_OF_SCHOOL * (school - 3) + occupations.INDEX_TILT_NOT_WHITE * other
    return {
        index: weights[column] * math.exp(tilt * (index - occupations.INDEX_CENTRE) / 25)
        for index, weights in occupations.OCCUPATIONS.items()
    }


def _weeks() -> list[dict[int, float]]:
    """By activity (own account, on wages, unemployed, not in the labor force), then by stage of life."""
    whole = sum(occupations.PART_YEAR.values())
    found: list[dict[int, float]] = []
    for activity in ("self-employed", "employed", "unemployed", "not in the labor force"):
        found.append(NOTHING)
        for full, none in occupations.FULL_YEAR_AND_NONE[activity]:
            part = (100 - full - none) / whole
            found.append({0: none, 52: full} | {weeks: part * share for weeks, share in occupations.PART_YEAR.items()})
    return found


def _hours(shares: Mapping[int, float]) -> dict[int, float]:
    """Usual hours of one kind of work, some at every other number, and none for those with a job but not at it."""
    scattered = dict(occupations.OTHER_HOURS) | dict(shares)
    none = sum(scattered.values()) * occupations.NOT_AT_WORK / (100 - occupations.NOT_AT_WORK)
    return {0: none, **scattered}
