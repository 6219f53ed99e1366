"""Domains whose numeric bounds are declared more loosely, as a curator does who may not look at the rows."""

from __future__ import annotations

from dataclasses import replace

from dpnb_columnar.domain import Attribute, Domain, Numeric, document_of, read_domain
from dpnb_columnar.domain.attributes import MAXIMUM_CELLS


def widened(domain: Domain, factor: int) -> Domain:
    """The domain with every numeric range ``factor`` times as wide on its open side.

    The upper bound U becomes L + (U - L) * factor; a lower bound L below zero becomes U - (U - L) * factor, any other
    stays. The step stays too, so no code of a row within the bounds changes unless the lower bound moves. Where the
    grid would get more cells than are accepted, its step is made coarser by the smallest power of two or ten that
    suffices, and the range is rounded up to whole steps.

    Args:
        domain: A declared domain.
        factor: At least 1.

    Raises:
        DomainError: A bound is too far out for its step.
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
    """The smallest power of two or ten that divides a grid into no more cells than are accepted."""
    exponents = range(cells.bit_length())
    powers = [1 << exponent for exponent in exponents] + [int("1" + "0" * exponent) for exponent in exponents]
    return min(power for power in powers if -(-cells // power) <= MAXIMUM_CELLS)
