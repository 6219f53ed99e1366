"""CONFIDENTIAL. Statistics that a database has counted: the result of ``sql statistics``, checked against a domain."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpnb_columnar.aggregation.parts import cells_part
from dpnb_columnar.aggregation.statistics import Cells, Statistics, assemble
from dpnb_columnar.domain import Domain, digest
from dpnb_columnar.errors import DataError

if TYPE_CHECKING:
    import polars as pl

NUMBERS = ("class", "code", "count")
COLUMNS = ("attribute", *NUMBERS, "domain")
"""Columns of the result, in any order and in upper or lower case."""


def statistics_of(result: pl.DataFrame, domain: Domain, source: object) -> Statistics:
    """Statistics from the result of the statistics query.

    Args:
        result: One row per cell: ``attribute`` (null or empty for the class counts), ``class``, ``code``, ``count``
            (whole numbers of any type, or their text), and ``domain``, the digest of the domain it was counted in.
        domain: The domain it must have been counted in.
        source: Where it comes from, for messages.

    Raises:
        DataError: A column is missing, a number is none, a cell stands in two rows, the domain is another, or the
            counts do not fit it. The text holds no count.
    """
    import polars as pl

    names = {name.lower(): name for name in result.columns}
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise DataError(
            f"{source}: not the result of a statistics query: column {', '.join(missing)} is missing; make the query "
            "with dpnb-columnar sql statistics"
        )
    if odd := [name for name in COLUMNS if not _is_plain(result.schema[names[name]])]:
        raise DataError(
            f"{source}: not the result of a statistics query: column {', '.join(odd)} holds neither numbers nor text; "
            "export the result anew"
        )
    frame = result.select(
        pl.col(names["attribute"]).cast(pl.String).replace("", None).alias("attribute"),
        *(_whole(names[name]).alias(name) for name in NUMBERS),
        pl.col(names["domain"]).cast(pl.String).alias("domain"),
    )
    if not frame.filter(pl.any_horizontal(pl.col(*NUMBERS).is_null())).is_empty():
        raise DataError(f"{source}: class, code or count is not a whole number in some row; export the result anew")
    if not set(frame["domain"].unique()) <= {digest(domain)}:
        raise DataError(
            f"{source}: was counted in another domain than {domain.name!r} as declared now; name the right one with "
            "--dataset or --domain, or make the query again with dpnb-columnar sql statistics and run it"
        )
    if frame.select("attribute", "class", "code").is_duplicated().any():
        raise DataError(
            f"{source}: a cell stands in more than one row, so people would count twice; export the result of one run "
            "of the query, and give the results of several parts as files of their own"
        )
    if (frame["count"] < 0).any():
        raise DataError(f"{source}: a count is below zero; run the query anew, and export all of its rows")
    try:
        statistics = assemble(domain, cells_of(frame))
    except ValueError as error:
        raise DataError(f"{source}: {error}; run the query anew, and export all of its rows") from None
    return replace(statistics, parts=cells_part(statistics.cells()))


def cells_of(frame: pl.DataFrame) -> list[Cells]:
    """The long form as cells per attribute.

    Args:
        frame: Columns attribute (text, null for the class counts), class, code, count (whole numbers, none null).
    """
    return [
        Cells(None if name is None else str(name), *(part[field].to_numpy() for field in NUMBERS))
        for (name,), part in frame.group_by("attribute", maintain_order=True)
    ]


def _is_plain(type_: pl.DataType) -> bool:
    """Whether values of the type have a text that spells them."""
    import polars as pl

    return type_.is_numeric() or type_ in (pl.String, pl.Categorical, pl.Enum, pl.Null)


def _whole(name: str) -> pl.Expr:
    """The column as 64-bit integers, null where it holds something else."""
    import polars as pl

    text = pl.col(name).cast(pl.String).str.replace(r"\.0*$", "")
    return text.cast(pl.Int64, strict=False)
