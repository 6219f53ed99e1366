"""Global sensitivities of the moments of all values of a column: public constants.

Proofs in docs/privacy.md, section 4. A sample has N >= 1 values with codes in 0..cells; none is trimmed.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from dpnb_columnar.sensitivity.column import RunLengthColumn
from dpnb_columnar.sensitivity.moments import trimmed_variance

ROOT_BITS = 64
"""A deviation is rounded down to a multiple of 2**-64 codes: finer than the smallest sensitivity there is, that of a
sample of 2**45 values with codes 0 and 1, by a factor of 2**41."""


def mean_sensitivity(size: int, cells: int) -> Fraction:
    """Bound the change of a mean by one substitution, in codes: cells/N. Attained from bound to bound."""
    return Fraction(cells, size)


def variance_sensitivity(size: int, cells: int) -> Fraction:
    """Bound the change of a variance (divisor N), in squared codes: (N-1)/N^2 cells^2.

    Attained by a sample that lies at one bound, one value of which moves to the other.
    """
    return Fraction((size - 1) * cells**2, size**2)


def deviation_sensitivity(size: int, cells: int) -> Fraction:
    """Bound the change of ``rounded_deviation``: sqrt(N-1)/N cells and the rounding, at most 2**-63 too large.

    The root is attained where the variance's sensitivity is. Numbers that are d apart differ by less than d + 2**-64
    once both are rounded down to multiples of 2**-64.
    """
    root = isqrt((size - 1) * cells**2 << 2 * ROOT_BITS) + 1
    return Fraction(root, size << ROOT_BITS) + Fraction(1, 1 << ROOT_BITS)


def rounded_deviation(column: RunLengthColumn) -> Fraction:
    """Compute the square root of the variance (divisor N) in codes, rounded down to a multiple of 2**-64, exactly.

    floor(sqrt(y)) = floor(sqrt(floor(y))) for every y >= 0, so no digit of the irrational root is ever needed.
    """
    variance = trimmed_variance(column, 0)
    return Fraction(isqrt((variance.numerator << 2 * ROOT_BITS) // variance.denominator), 1 << ROOT_BITS)
