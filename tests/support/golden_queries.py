"""Whole queries as they stand in ``sql/queries``: for the domain of the golden model, and a census of 1940 to count."""

from __future__ import annotations

from collections.abc import Iterator

from dpnb_columnar.dialects.cells_query import cells_query
from dpnb_columnar.dialects.statistics_query import statistics_query
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.catalogue import entry_named
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.scoring_query import scoring_query
from dpnb_columnar.rows.column_kinds import Kind
from dpnb_columnar.rows.database_address import Dialect
from support.golden_model import golden_model

NAME = "person"
KINDS = {
    "age": Kind.INTEGER,
    "wage": Kind.FLOAT,
    "hours": Kind.INTEGER,
    'job "x"': Kind.TEXT,
    "pension": Kind.DECIMAL,
    "rent": Kind.TEXT,
    "label": Kind.TEXT,
}


def golden_queries() -> Iterator[tuple[str, str]]:
    """File names and texts; the line that names the program's version is left out."""
    model = golden_model()
    domain = Domain(NAME, model.domain.label, model.domain.attributes)
    census = entry_named("census_simulated").domain
    kinds = dict.fromkeys(census.columns, Kind.INTEGER) | {"RELATE": Kind.TEXT}
    yield "count.sql", cells_query(census, kinds, census.categorical, {"SEX", "RACE"}) + "\n"
    for dialect in Dialect:
        yield f"statistics.{dialect}.sql", _without_version(statistics_query(domain, KINDS, NAME, dialect))
        yield f"scores.{dialect}.sql", _without_version(scoring_query(Model.of(model), dialect, NAME, ["id"], KINDS))


def _without_version(query: str) -> str:
    return query.split("\n", 1)[1] + "\n"
