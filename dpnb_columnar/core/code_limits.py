"""Limits of columns of codes, public numbers: for the searches on the private side, and for who reads their results.

They stand below the rooms that may not know each other, ``sensitivity`` and ``model``.
"""

LARGEST_SIZE = 2**45
"""Most values of a column (3.5e13), and the largest public size: times a limb of at most 2**16, sums stay at or below
2**61, within 63 bits."""

LARGEST_CODE = 2**32
"""Largest code there may be: codes, and their differences, are exact in a 64-bit float and have two limbs."""

UNITS = 256
"""Scores, and weights of them, are whole numbers of this part of a nat, and of 1. Their products are of its square."""


def squares_shift(cells: int) -> int:
    """Low bits that squares are rounded by so that none exceeds ``LARGEST_CODE``: 0 to 32, public."""
    shift = max(0, (cells**2).bit_length() - LARGEST_CODE.bit_length())
    return shift if rounded_square(cells, shift) <= LARGEST_CODE else shift + 1


def rounded_square(code: int, shift: int) -> int:
    """Square a code, in units of 2**shift, rounded to the nearest (half a unit up)."""
    return (code**2 + (1 << shift) // 2) >> shift
