"""CONFIDENTIAL. Cell counts by Spark: its workers count, and counts of cells reach this process, never rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpnb_columnar.aggregation.parts import cells_part
from dpnb_columnar.aggregation.statistics import Cells, Statistics, assemble
from dpnb_columnar.dialects.statistics import places_query
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import DataError
from dpnb_columnar.spark.source import SparkSource, reported

VIEW = "dpnb_rows"
"""The rows' name within the session, which is ours alone."""

NUMBERS = ("class", "code", "count")


def aggregate(source: SparkSource, domain: Domain) -> Statistics:
    """Count every cell of the domain over the rows of the source: the integers of ``local.aggregate``.

    Raises:
        DataError: A file is damaged, or is not where Spark's workers see it.
        UnavailableError: Spark does not come to the end.
    """
    with reported(source.name):
        source.rows.createOrReplaceTempView(VIEW)
        table = source.session.sql(places_query(domain, source.kinds, VIEW)).toArrow()
    place = table["place"].to_numpy()
    classes, codes, counts = (table[name].to_numpy().astype(np.int64) for name in NUMBERS)
    cells = [
        Cells(name, classes[own], codes[own], counts[own])
        for position, name in enumerate((None, *(attribute.name for attribute in domain.attributes)))
        if len(own := np.flatnonzero(place == position))
    ]
    try:
        statistics = assemble(domain, cells, source.parts)
    except ValueError as error:
        raise DataError(f"{source.name}: {error}") from None
    return statistics if source.parts else replace(statistics, parts=cells_part(statistics.cells()))
