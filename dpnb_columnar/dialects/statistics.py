"""The statistics of a table as one query, run by the database that holds it: exact counts, so its result is
CONFIDENTIAL."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpnb_columnar.dialects.names import Dialect
from dpnb_columnar.dialects.trees import SOURCE, identifier, integer, is_null, named, own_column, text
from dpnb_columnar.dialects.values import Kinds, category_code, check_texts, class_code, grid_code, number
from dpnb_columnar.dialects.write import header, table_or, written
from dpnb_columnar.domain import Domain, Numeric, digest

CLASS = "class"


def statistics_query(domain: Domain, kinds: Kinds, table: str | None, dialect: Dialect) -> str:
    """The query whose result is the table of ``Statistics``, in any order, cells without rows left out.

    Its columns: ``attribute`` (text, null for the class counts), ``class`` and ``code`` (positions in the domain; code
    0 for the class counts), ``count`` (rows), ``domain`` (text: the domain's digest, by which a file of it is
    recognised). The integers are those of the local engine.

    Args:
        domain: The declared domain.
        kinds: What the columns hold; see ``values``.
        table: Name of the table as ``write.table_named`` takes it; None for the domain's name.
        dialect: The database.

    Raises:
        UsageError: The table's name is none, or a column holds what the database does not write exactly.
    """
    check_texts(domain.attributes, domain.label, kinds, dialect)
    source = exp.alias_(table_or(table, domain.name, dialect), SOURCE, table=True, quoted=True)
    values = [f"value_{position}" for position in range(len(domain.attributes))]
    codes = [f"code_{position}" for position in range(len(domain.attributes))]
    pairs = list(zip(domain.attributes, values, strict=True))
    read = exp.select(
        named(class_code(domain.label, kinds), CLASS),
        *(
            named(
                number(attribute.name, kinds.get(attribute.name), attribute.missing_values)
                if isinstance(attribute, Numeric)
                else category_code(attribute, kinds.get(attribute.name)),
                value,
            )
            for attribute, value in pairs
        ),
        copy=False,
    ).from_(source)
    coded = (
        exp.select(
            own_column(CLASS),
            *(
                named(
                    grid_code(attribute, own_column(value)) if isinstance(attribute, Numeric) else own_column(value),
                    code,
                )
                for (attribute, value), code in zip(pairs, codes, strict=True)
            ),
        )
        .from_(exp.Table(this=identifier("read")))
        .where(*(exp.not_(is_null(own_column(name))) for name in (CLASS, *values)))
    )
    counts = [_counts(domain, exp.cast(exp.null(), exp.DType.TEXT), None)]
    counts += [_counts(domain, text(attribute.name), code) for (attribute, _), code in zip(pairs, codes, strict=True)]
    query = exp.union(*counts, distinct=False) if len(counts) > 1 else counts[0]
    query = query.with_(identifier("read"), as_=read).with_(identifier("coded"), as_=coded)
    return header(_remarks(domain, dialect)) + written(query, dialect)


def _counts(domain: Domain, attribute: exp.Expr, code: str | None) -> exp.Select:
    """Rows of every class and code of one attribute, or of every class."""
    keys = [own_column(CLASS)] if code is None else [own_column(CLASS), own_column(code)]
    return (
        exp.select(
            named(attribute, "attribute"),
            own_column(CLASS),
            named(integer(0) if code is None else own_column(code), "code"),
            named(exp.Count(this=exp.Star()), "count"),
            named(text(digest(domain)), "domain"),
        )
        .from_(exp.Table(this=identifier("coded")))
        .group_by(*keys)
    )


def _remarks(domain: Domain, dialect: Dialect) -> Sequence[str]:
    return (
        f"CONFIDENTIAL: the result of this query ({dialect.value}) is exact counts of rows. Keep it as you keep them.",
        f"Domain {domain.name!r}, SHA-256 {digest(domain)}.",
        "Save the result as a CSV file with a header line, then release a model from it:",
        "  dpnb-columnar release RESULT.csv --dataset NAME --output MODEL.json",
    )
