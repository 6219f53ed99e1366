"""What ``check`` finds: how the rows fit the declared domain, and what to do about it. CONFIDENTIAL."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, combinations
from typing import TYPE_CHECKING

from dpnb_columnar.advice.expected_error import expected_error
from dpnb_columnar.core.budget import Budget, parse_epsilon
from dpnb_columnar.counting.diagnostics import (
    LABEL,
    ColumnDiagnosis,
    Diagnosis,
    Repeats,
    WeightDiagnosis,
    count_repeats,
    diagnose,
)
from dpnb_columnar.domain import Attribute, Categorical, Domain, Missing, Weight
from dpnb_columnar.domain.domain_text import class_texts, label_relatives, table_lines, with_title
from dpnb_columnar.domain.names import named, number_text
from dpnb_columnar.errors import CONFIDENTIAL, excerpt, option
from dpnb_columnar.releases.attribute_weights import AUTO
from dpnb_columnar.releases.plan import plan
from dpnb_columnar.rows.streaming import Source

if TYPE_CHECKING:
    from dpnb_columnar.counting.find_domain import ResolvedDomain

# Remedies for the faults that a diagnosis shows: pure rules that read no row.

SMALL_ROW_GROUP = 10_000
LARGE_ROW_GROUP = 10_000_000
REWRITE = "write the file again, such as by polars: scan_parquet(...).sink_parquet(..., row_group_size=131072)"
MANY = 0.05
"""Share of all rows; an attribute that alone drops more of them, or that more of them lack, gets a remark."""


def advice(diagnosis: Diagnosis, domain: Domain, place: str, least_rows: int) -> Iterator[str]:
    """Yield remarks on losses of rows and of accuracy, each with its remedy. Confidential."""
    yield from _layout(diagnosis.row_groups)
    for column in diagnosis.columns[1:]:
        yield from _column(column, diagnosis.rows, domain[column.name], place)
    if diagnosis.weight is not None and domain.weight is not None:
        yield from _weights(diagnosis.weight, diagnosis.rows, domain.weight)
    for name, rows in zip(class_texts(domain), diagnosis.class_rows, strict=True):
        if 0 < rows < least_rows:
            yield (
                f"class {name}: fewer than {least_rows} rows, so the noise in its count alone may be above a tenth of "
                f"it; choose another {option('label')}, or a larger {option('epsilon')}"
            )
    if (relatives := label_relatives(domain)) is not None:
        yield f"{relatives}; to leave them out, take {named(relatives.names)} out of attributes {place}"


FORMS: Mapping[str, Callable[[str], str]] = {
    "blanks": str.strip,
    "case": str.casefold,
    "leading zeros": lambda value: value.lstrip("0") or "0",
}
"""By what a value may differ from a declared one, and what takes the difference away."""


def _alike(diagnosis: Diagnosis, domain: Domain) -> dict[str, set[str]]:
    """Return by what undeclared values differ from declared ones, column by column, where it is a matter of form."""
    found: dict[str, set[str]] = {}
    for undeclared in diagnosis.undeclared:
        categories = domain.label.categories if undeclared.column in domain.label.columns else domain[undeclared.column]
        if not isinstance(categories, Categorical):
            continue
        left = {value for value, _ in undeclared.values}
        for forms in chain.from_iterable(combinations(FORMS, size) for size in range(1, len(FORMS) + 1)):
            declared = {_plain(value, forms) for value in categories.members}
            if alike := {value for value in left if _plain(value, forms) in declared}:
                found.setdefault(undeclared.column, set()).update(forms)
                left -= alike
    return found


def _plain(value: str, forms: Sequence[str]) -> str:
    for name in forms:
        value = FORMS[name](value)
    return value


def faults(diagnosis: Diagnosis, domain: Domain, place: str) -> Iterator[str]:
    """Yield faults that must be corrected before a release, each with its remedy. Confidential."""
    label = ", ".join(domain.label.columns)
    alike = _alike(diagnosis, domain)
    if alike:
        how = [name for name in FORMS if any(name in forms for forms in alike.values())]
        yield (
            f"column {named(alike)}: values differ from the declared ones by {' or '.join(how)} alone, and so are no "
            f"declared category: ingest the file anew, or declare the values as they are {place}"
        )
    for column in diagnosis.columns:
        if column.name in alike:
            continue
        if diagnosis.rows and column.missing == diagnosis.rows:
            if column.name == LABEL:
                yield f"label column {label} has no value in any row: fill it, or choose another {option('label')}"
            elif domain[column.name].missing is not Missing.CATEGORY:
                yield (f"column {column.name!r} has no value in any row: fill it, or take it out of attributes {place}")
        elif column.name != LABEL and 0 < column.outside == diagnosis.rows - column.missing:
            yield (
                f"column {column.name!r} holds no declared category in any row: declare the values that it holds, or "
                f"take it out of attributes, {place}"
            )
    if diagnosis.columns[0].outside:
        yield f"label column {label} holds values that are not declared classes: add them to classes, or correct them"
    weights, weight = diagnosis.weight, domain.weight
    if weights is not None and weight is not None and 0 < weights.nothing == diagnosis.rows:
        yield f"weight {weight.column}: no row weighs anything, so the prior would be of noise alone: declare another"
    if not diagnosis.fitting:
        yield "no row counts: training would release noise alone; see above which columns drop them"
        return
    if empty := [name for name, rows in zip(class_texts(domain), diagnosis.class_rows, strict=True) if not rows]:
        yield (
            f"no row in class {', '.join(empty)}: take it out of the domain if it cannot occur, or choose another "
            f"{option('label')}"
        )


def _column(column: ColumnDiagnosis, rows: int, attribute: Attribute, place: str) -> Iterator[str]:
    name = column.name
    if column.below or column.above:
        share = (column.below + column.above) / (rows - column.missing)
        yield (
            f"{name}: values beyond the declared bounds count as the nearest bound ({share:.1%} of its values); if the "
            f"codebook knows wider bounds, or codes for missing, declare lower and upper, or missing_values, {place}"
        )
    if 0 < column.outside < rows - column.missing:
        yield (
            f"{name}: undeclared categories count as missing; if the codebook knows them, declare all values, or "
            f"groups of them, {place}"
        )
    if column.only > MANY * rows:
        yield (
            f"{name}: its missing values alone drop {column.only / rows:.1%} of the rows; to keep them, declare "
            f'missing = "category", or take it out of attributes, {place}'
        )
    if attribute.missing is None and column.lacking > MANY * rows:
        yield (
            f"{name}: {column.lacking / rows:.1%} of the rows have no value of it; to use that too, declare "
            f'missing = "category" {place}'
        )
    if column.constant:
        yield (
            f"{name}: all rows that fit hold the same, so it says nothing and costs budget: take it out of attributes "
            f"{place}"
        )


def _weights(diagnosis: WeightDiagnosis, rows: int, weight: Weight) -> Iterator[str]:
    name, cap, missing = weight.column, number_text(weight.cap), number_text(weight.missing)
    if diagnosis.above:
        yield (
            f"weight {name}: weights above the cap count as {cap} ({diagnosis.above / rows:.1%} of the rows); a higher "
            "cap has more noise, in proportion, and is to be taken from the publisher's documentation"
        )
    if diagnosis.lacking:
        yield (
            f"weight {name}: {diagnosis.lacking / rows:.1%} of the rows have no weight, or one below 0, and count as "
            f"{missing}; if they stand for others, declare missing in the weight"
        )


def _layout(groups: tuple[int, ...]) -> Iterator[str]:
    if len(groups) > 1 and sum(groups) / len(groups) < SMALL_ROW_GROUP:
        yield f"row groups average fewer than {SMALL_ROW_GROUP} rows; larger ones are read faster: {REWRITE}"
    if max(groups, default=0) > LARGE_ROW_GROUP:
        yield f"a row group has more than {LARGE_ROW_GROUP} rows; smaller ones need less memory: {REWRITE}"


COLUMNS = ("column", "missing", "outside the domain", "counted without", "drops", "drops alone", "below", "above")

USEFUL = 10
"""A class is useful from as many times the error of its count on: the noise is then below a tenth."""


@dataclass(frozen=True, slots=True, repr=False)
class Findings:
    """How the rows fit the declared domain, and what to do about it. CONFIDENTIAL; printed, it says all of it.

    Attributes:
        domain: The domain.
        origin: Where it is declared.
        files: Number of files; 0 for other rows.
        diagnosis: Exact numbers of rows: missing, dropped, clamped, undeclared.
        repeats: Rows that repeat others.
        notes: Losses of rows and of accuracy, each with its remedy.
        faults: What must be corrected before a release, each with its remedy.
    """

    domain: Domain
    origin: str
    files: int
    diagnosis: Diagnosis
    repeats: Repeats
    notes: tuple[str, ...]
    faults: tuple[str, ...]

    @property
    def ready(self) -> bool:
        """Whether nothing must be corrected before a release."""
        return not self.faults

    def lines(self) -> Iterator[str]:
        """Yield lines for people."""
        result = self.diagnosis
        yield f"domain {self.domain.name}, from {self.origin}"
        counted = f" in {self.files} file(s)" * bool(self.files)
        yield f"{result.rows} rows{counted}, {result.fitting} count, {result.complete} of them with every attribute"
        about = "" if self.repeats.exact else "about "
        yield f"{about}{self.repeats.rows} rows repeat another one in all columns of the domain"
        yield from self._tables()
        yield from (f"note: {note}" for note in self.notes)
        yield from (f"fault: {fault}" for fault in self.faults)

    def _tables(self) -> Iterator[str]:
        result = self.diagnosis
        if result.row_groups:
            yield f"{len(result.row_groups)} row group(s), the largest of {max(result.row_groups)} rows"
        yield ""
        yield from table_lines(
            COLUMNS,
            [
                [
                    with_title(part.name, self.domain.titles),
                    *(part.missing, part.outside, part.lacking, part.dropped, part.only, part.below, part.above),
                ]
                for part in result.columns
            ],
        )
        yield ""
        yield from table_lines(
            ["class", "rows that count"], list(zip(class_texts(self.domain), result.class_rows, strict=True))
        )
        for undeclared in result.undeclared:
            yield ""
            more = ", the most frequent" if undeclared.more else ""
            yield from table_lines(
                [f"undeclared in {undeclared.column}{more}", "rows" if undeclared.exact else "rows, at least"],
                [[excerpt(value), rows] for value, rows in undeclared.values],
            )
        yield ""

    def document(self) -> dict[str, object]:
        """Make a document of the findings."""
        return {
            "confidential": True,
            "domain": self.domain.name,
            "origin": self.origin,
            **asdict(self.diagnosis),
            "repeated": asdict(self.repeats),
            "class_rows": dict(zip(self.domain.classes, self.diagnosis.class_rows, strict=True)),
            "notes": list(self.notes),
            "faults": list(self.faults),
        }

    def __repr__(self) -> str:
        return "\n".join([CONFIDENTIAL, *self.lines()])


def find(data: Source, resolved: ResolvedDomain, epsilon: object, place: str, files: int = 0) -> Findings:
    """Compare the rows with the declared domain."""
    domain = resolved.domain
    counts = plan(domain, Budget(parse_epsilon(epsilon)), attribute_weights=AUTO).shares[0]
    least_rows = math.ceil(USEFUL * expected_error(domain, counts, 1))
    result = diagnose(data, domain)
    repeats = count_repeats(data, result.rows)
    notes = tuple(advice(result, domain, place, least_rows))
    return Findings(domain, resolved.origin, files, result, repeats, notes, tuple(faults(result, domain, place)))
