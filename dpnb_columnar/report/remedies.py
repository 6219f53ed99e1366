"""Remedies for the faults that a diagnosis shows, for the curator. Pure rules that read no row. CONFIDENTIAL."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from dpnb_columnar.counting.diagnostics import LABEL, ColumnDiagnosis, Diagnosis
from dpnb_columnar.domain import Attribute, Domain, Missing
from dpnb_columnar.domain.value_labels import class_texts

SMALL_ROW_GROUP = 10_000
LARGE_ROW_GROUP = 10_000_000
REWRITE = "write the file again, such as by polars: scan_parquet(...).sink_parquet(..., row_group_size=131072)"
MANY = 0.05
"""Share of all rows; an attribute that alone drops more of them, or that more of them lack, gets a remark."""


def advice(diagnosis: Diagnosis, domain: Domain, edit: str, least_rows: int) -> Iterator[str]:
    """Yield remarks on losses of rows and of accuracy, each with its remedy.

    Args:
        diagnosis: The diagnosis. Confidential.
        domain: The domain of the diagnosis.
        edit: How this domain is edited, to which options are added.
        least_rows: Rows that a class needs for a useful release.
    """
    yield from _layout(diagnosis.row_groups)
    for column in diagnosis.columns[1:]:
        yield from _column(column, diagnosis.rows, domain[column.name], edit)
    for name, rows in zip(class_texts(domain), diagnosis.class_rows, strict=True):
        if 0 < rows < least_rows:
            yield (
                f"class {name}: fewer than {least_rows} rows, so the noise in its count alone may be above a tenth of "
                "it; choose another --label, or a larger --epsilon"
            )


def faults(diagnosis: Diagnosis, domain: Domain, edit: str) -> Iterator[str]:
    """Yield faults that must be corrected before a release, each with its remedy.

    Args:
        diagnosis: The diagnosis. Confidential.
        domain: The domain of the diagnosis.
        edit: How this domain is edited, to which options are added.
    """
    label = ", ".join(domain.label.columns)
    for column in diagnosis.columns:
        if diagnosis.rows and column.missing == diagnosis.rows:
            if column.name == LABEL:
                yield f"label column {label} has no value in any row: fill it, or choose another --label"
            elif domain[column.name].missing is not Missing.CATEGORY:
                yield (
                    f"column {column.name!r} has no value in any row: fill it, or take it out of the domain: "
                    f"{edit} --drop {quote(column.name)}"
                )
        elif column.name != LABEL and 0 < column.outside == diagnosis.rows - column.missing:
            yield (
                f"column {column.name!r} holds no declared category in any row: declare what it holds, or take it out "
                f"of the domain: {edit} --values {quote(f'{column.name}=A,B,...')}, or --drop {quote(column.name)}"
            )
    if diagnosis.columns[0].outside:
        yield f"label column {label} holds values that are not declared classes: add them to classes, or correct them"
    if not diagnosis.fitting:
        yield "no row counts: training would release noise alone; see above which columns drop them"
        return
    if empty := [name for name, rows in zip(class_texts(domain), diagnosis.class_rows, strict=True) if not rows]:
        named = ", ".join(empty)
        yield f"no row in class {named}: take it out of the domain if it cannot occur, or choose another --label"


def _column(column: ColumnDiagnosis, rows: int, attribute: Attribute, edit: str) -> Iterator[str]:
    name = column.name
    if column.below or column.above:
        share = (column.below + column.above) / (rows - column.missing)
        yield (
            f"{name}: values beyond the declared bounds count as the nearest bound ({share:.1%} of its values); if the "
            f"codebook knows wider bounds, or codes for missing: {edit} --bounds {quote(f'{name}=LOWER:UPPER')}, or "
            f"--missing-values {quote(f'{name}=CODES')}"
        )
    if 0 < column.outside < rows - column.missing:
        yield (
            f"{name}: undeclared categories count as missing; if the codebook knows them: {edit} "
            f"--values {quote(f'{name}=A,B,...')} (all of them), or --merge {quote(f'{name}=MAP.csv')}"
        )
    if column.only > MANY * rows:
        yield (
            f"{name}: its missing values alone drop {column.only / rows:.1%} of the rows; to keep them: {edit} "
            f"--missing {quote(f'{name}=category')}, or --drop {quote(name)}"
        )
    if attribute.missing is None and column.lacking > MANY * rows:
        yield (
            f"{name}: {column.lacking / rows:.1%} of the rows have no value of it; to use that too: {edit} "
            f"--missing {quote(f'{name}=category')}"
        )
    if column.constant:
        drop = f"{edit} --drop {quote(name)}"
        yield f"{name}: all rows that fit hold the same, so it tells nothing and costs budget: {drop}"


def _layout(groups: tuple[int, ...]) -> Iterator[str]:
    if len(groups) > 1 and sum(groups) / len(groups) < SMALL_ROW_GROUP:
        yield f"row groups average fewer than {SMALL_ROW_GROUP} rows; larger ones are read faster: {REWRITE}"
    if max(groups, default=0) > LARGE_ROW_GROUP:
        yield f"a row group has more than {LARGE_ROW_GROUP} rows; smaller ones need less memory: {REWRITE}"
