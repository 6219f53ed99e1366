"""Define which rows of a unit come first: an order by the rows' own counted codes, the same on every engine.

Of each unit the first rows in this order count. A row's place in it is a function of its class and its codes alone, so
that neither the file, nor the order of its rows, nor any other unit moves it; rows of equal codes are interchangeable,
as they are counted in the same cells. Let c_0 be the class, and c_i one more than the code of attribute i, or 0 where
the row has none; where the domain declares a weight, the last c_i is one more than its steps. With fixed public
multipliers m and the prime p = 2^31 - 1,

    x = m_0 c_0 + m_1 c_1 + ... mod p,   the order is by x^5 mod p, then by c_0, c_1, ...

5 and p - 1 have no common divisor, so x^5 is a permutation of the residues. The order of x alone would prefer one of
two rows that always differ by the same codes, say in sex; their fifth powers come in either order equally often (the
number of x with (x + d)^5 mod p above x^5 mod p is half of p but for some square root of p). Every product is below
2^63, so that 64-bit integers do.

The order is the same for all units, so where only a few different rows exist, those that come first are chosen more
often. A salt made of all rows of the unit, such as the sum of their x, would even that out and stay a function of the
unit alone. But then one row more would exchange all that count, where it now moves one; no row could be dropped before
its unit is complete, and memory would grow with the largest unit; and databases would make one window more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from operator import add

import polars as pl

from dpnb_columnar.domain import Attribute, Domain
from dpnb_columnar.domain.column_kinds import Kind, kind_of, kinds_of
from dpnb_columnar.domain.condition import in_halves
from dpnb_columnar.rows.row_rules import classed_rows, column, number_of_codes, weight_steps
from dpnb_columnar.rows.value_codes import cell_code

PRIME = 2**31 - 1

CLASS, ORDER, WEIGHT = "class", "order", "weight"


@cache
def multiplier(place: int) -> int:
    """Return the public multiplier of the class, place 0, or of an attribute by its place from 1 on."""
    digest = hashlib.sha256(f"dpnb-columnar unit order {place}".encode()).digest()
    return 1 + int.from_bytes(digest[:8], "big") % (PRIME - 1)


def unit_names(domain: Domain) -> list[str]:
    """Return the names of the columns of a query that together tell the unit of a row."""
    return [] if domain.unit is None else [f"unit_{place}" for place in range(len(domain.unit.columns))]


def code_name(attribute: str) -> str:
    """Return the name of the column of a query that holds an attribute's code, or the number of its value."""
    return f"code {attribute}"


def code_names(domain: Domain) -> list[str]:
    """Return the columns of a query that order rows of equal ``order``: the class, the codes, the weight if any."""
    weights = [] if domain.weight is None else [WEIGHT]
    return [CLASS, *(code_name(each.name) for each in domain.attributes), *weights]


def unit_values(domain: Domain, types: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    """Return the columns that together tell the unit of a row, null where it has none; empty for a domain without."""
    if domain.unit is None:
        return []
    return [
        column(name).cast(pl.String) if kind_of(types[name]) is Kind.TEXT else column(name)
        for name in domain.unit.columns
    ]


def counted_rows(
    rows: pl.LazyFrame, domain: Domain, types: Mapping[str, pl.DataType], columns: Mapping[str, pl.Expr]
) -> pl.LazyFrame:
    """Select columns of the rows that may count beside ``class``, and what the choice among those of a unit needs.

    Where the domain declares a unit, the latter is ``unit_names``, the code of every attribute by ``code_name``, and
    the number that they are ordered by, ``order``; rows without a unit or a class are left out. Where it declares a
    weight, its steps are in ``weight``.

    Args:
        rows: Rows with all of the domain's columns. Confidential.
    """
    if domain.weight is not None:
        kind = kind_of(types[domain.weight.column])
        assert kind is not None
        columns = {**columns, WEIGHT: weight_steps(domain.weight, kind)}
    if domain.unit is None:
        return classed_rows(rows, domain, kinds_of(types), **columns)
    codes = {code_name(each.name): cell_code(each, types[each.name]) for each in domain.attributes}
    units = dict(zip(unit_names(domain), unit_values(domain, types), strict=True))
    rows = classed_rows(rows, domain, kinds_of(types), **{**columns, **codes, **units})
    rows = rows.filter(pl.all_horizontal(pl.col(CLASS, *units).is_not_null()))
    terms = [pl.col(CLASS).cast(pl.Int64) * multiplier(0)]
    for place, attribute in enumerate(domain.attributes, 1):
        number = (pl.col(code_name(attribute.name)).cast(pl.Int64) + 1).fill_null(0)
        term = number * multiplier(place)
        terms.append(term % PRIME if is_wide(attribute, domain) else term)
    if domain.weight is not None:
        terms.append((pl.col(WEIGHT) + 1) * multiplier(len(domain.attributes) + 1))  # below 2^52
    x = pl.col(ORDER)
    rows = rows.with_columns((in_halves(terms, add) % PRIME).alias(ORDER))
    return rows.with_columns((x * x % PRIME * x % PRIME * x % PRIME * x % PRIME).alias(ORDER))


def is_wide(attribute: Attribute, domain: Domain) -> bool:
    """Test whether products of an attribute's codes are too large to add up one for each attribute of the domain."""
    return number_of_codes(attribute) * PRIME > 2**62 // (len(domain.attributes) + 1)
