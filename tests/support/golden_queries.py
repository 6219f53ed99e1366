"""Whole queries as they stand in ``sql/queries``: for the domain of the golden model, and a census of 1940 to count."""

from __future__ import annotations

from collections.abc import Iterator

from dpnb_columnar.api.model import Model
from dpnb_columnar.core.queries.scores import Margins, ScoreTable
from dpnb_columnar.dialects.scoring_query import scoring_query, table_statements
from dpnb_columnar.dialects.statistics_query import cells_query, joint_keys, query_sql, statistics_query
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.catalogue import entry_named
from dpnb_columnar.domain.column_kinds import Kind
from dpnb_columnar.rows.row_rules import number_of_codes
from dpnb_columnar.rows.sources import Dialect
from support.golden_model import golden_model

NAME = "person"
KINDS = {
    **{"age": Kind.INTEGER, "wage": Kind.FLOAT, "hours": Kind.INTEGER, 'job "x"': Kind.TEXT, "pension": Kind.DECIMAL},
    **{"rent": Kind.TEXT, "label": Kind.TEXT},
}


def golden_queries() -> Iterator[tuple[str, str]]:
    """File names and texts; the line that names the program's version is left out."""
    model = golden_model()
    domain = Domain(NAME, model.domain.label, model.domain.attributes)
    census = entry_named("census_simulated").domain
    kinds = dict.fromkeys(census.columns, Kind.INTEGER) | {"RELATE": Kind.TEXT}
    yield "count.sql", cells_query(census, kinds, joint_keys(census, kinds, census.categorical)) + "\n"
    queries = {
        "statistics.sql": statistics_query(domain, KINDS, NAME, Dialect.DUCKDB),
        "score_counts.sql": query_sql(scores_to_count(domain), KINDS, NAME, Dialect.DUCKDB),
        "scores.sql": scoring_query(Model.of(model), Dialect.DUCKDB, NAME, ["id"], KINDS),
        "joined_scores.sql": scoring_query(Model.of(model), Dialect.POSTGRES, NAME, ["id"], KINDS, parameters="terms"),
        "terms.sql": "".join(f"{each};\n" for each in table_statements(model, "terms", Dialect.POSTGRES)),
    }
    for name, query in queries.items():
        yield name, _without_version(query)


def scores_to_count(domain: Domain) -> Margins:
    """A score of few steps, one of many regular ones, and one per category."""
    wages = tuple(range(0, number_of_codes(domain["wage"]), -(-number_of_codes(domain["wage"]) // 400)))
    tables = (
        ScoreTable("age", (0, 30, 50), (-256, 0, 300), 7),
        ScoreTable("wage", wages, tuple(place % 100 - 50 for place, _ in enumerate(wages))),
        ScoreTable('job "x"', (0, 1), (-40, 60)),
    )
    return Margins(domain, (tables,), (300, 0), 0, (-600, -300, 0))


def _without_version(query: str) -> str:
    return query.split("\n", 1)[1] + "\n"
