"""Wages of 1939 in dollars: log-normal around the wage expected from sex, age, schooling, occupation and place.

Logarithms are whole thousandths and dollars come from a table, so that no rounding differs between machines.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.simulation import marginals
from dpnb_columnar.simulation.employment import NO_OCCUPATION_INDEX
from dpnb_columnar.simulation.lookup_tables import SLOT_BITS, Codes, Draws, Lookup

TOP_CODE = 5001
"""Dollars; stands for every wage above 5,000."""
MISSING_WAGE = 999998
NOT_ASKED = 999999
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
    """Draw INCWAGE in the codes of the codebook.

    Args:
        draws: The random source.
        people: SEX, AGE, RACE, URBAN, MARST and EDUC, each of shape (rows,).
        work: CLASSWKR, SEI, WKSWORK1 and HRSWORK1, each of shape (rows,).

    Returns:
        Shape (rows,), int32, dollars: 0 to 5000, 5001 (more), 999998 (missing), 999999 (under 14, not asked).
    """
    paid, heaps, answers = _draw_tables()
    expected = _expected(people, work) + _noise().take(draws.slots())
    dollars = _dollars().take(np.clip(expected, 0, LARGEST_LOG))
    multiple = heaps.draw(draws).astype(np.int32)
    multiple = np.where(dollars < SMALL_WAGE, np.minimum(multiple, 10), multiple)
    dollars = np.minimum((dollars + multiple // 2) // multiple * multiple, TOP_CODE)
    earns = (paid.draw(draws, work["CLASSWKR"].astype(np.intp)) == 1) & (work["WKSWORK1"] > 0)
    wages = np.where(earns, dollars, 0)
    wages = np.where(answers.draw(draws) == 0, MISSING_WAGE, wages)
    return np.where(people["AGE"] < marginals.WORKING_AGE, NOT_ASKED, wages).astype(np.int32)


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
    ages = np.interp(np.arange(marginals.OLDEST + 1), list(AGE_EFFECTS), list(AGE_EFFECTS.values()))
    return {
        "AGE": _whole([BASE + effect for effect in ages]),
        "EDUC": _whole(SCHOOL_EFFECTS),
        "SEI": _whole([_index_effect(index) for index in range(97)]),
        "WKSWORK1": _whole([math.log(max(weeks, 1) / 52) for weeks in range(53)]),
    }


def _index_effect(index: int) -> float:
    return INDEX_EFFECT * ((index or NO_OCCUPATION_INDEX) - 18) + LOW_INDEX_EFFECTS.get(index, 0.0)


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
