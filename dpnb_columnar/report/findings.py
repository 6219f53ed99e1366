"""What ``check`` finds: how the rows fit the declared domain, and what to do about it. CONFIDENTIAL."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from dpnb_columnar.budget import Budget, parse_epsilon
from dpnb_columnar.counting.diagnostics import Diagnosis, Repeats, count_repeats, diagnose
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.description import table_lines
from dpnb_columnar.domain.value_labels import class_texts
from dpnb_columnar.errors import excerpt
from dpnb_columnar.mechanisms.attribute_weights import AUTO
from dpnb_columnar.mechanisms.expected_error import expected_error
from dpnb_columnar.mechanisms.release_plan import plan
from dpnb_columnar.report.remedies import advice, faults
from dpnb_columnar.rows.frames import Frame
from dpnb_columnar.rows.streaming import Source
from dpnb_columnar.wording import CONFIDENTIAL, in_python

if TYPE_CHECKING:
    from dpnb_columnar.counting.find_domain import ResolvedDomain

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
        yield f"{result.rows} rows{counted}, {result.fitting} count, {result.complete} in full"
        about = "" if self.repeats.exact else "about "
        yield f"{about}{self.repeats.rows} rows repeat another one in all columns of the domain"
        yield from self._tables()
        yield from (f"note: {note}" for note in self.notes)
        yield from (f"fault: {fault}" for fault in self.faults)

    def _tables(self) -> Iterator[str]:
        result = self.diagnosis
        if result.row_groups:
            yield f"{len(result.row_groups)} row groups, the largest of {max(result.row_groups)} rows"
        yield ""
        yield from table_lines(
            COLUMNS,
            [
                [part.name, part.missing, part.outside, part.lacking, part.dropped, part.only, part.below, part.above]
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
            "domain": self.domain.name,
            "origin": self.origin,
            **asdict(self.diagnosis),
            "repeated": asdict(self.repeats),
            "class_rows": dict(zip(self.domain.classes, self.diagnosis.class_rows, strict=True)),
            "notes": list(self.notes),
            "faults": list(self.faults),
        }

    def __repr__(self) -> str:
        return "\n".join([CONFIDENTIAL, *map(in_python, self.lines())])


def find(data: Source | Frame, resolved: ResolvedDomain, epsilon: object, edit: str, files: int = 0) -> Findings:
    """Compare the rows with the declared domain.

    Args:
        data: Checked rows, or a frame.
        resolved: The domain.
        epsilon: Budget of the release to come.
        edit: How this domain is edited, to which options are added.
        files: Number of files.

    Raises:
        UsageError: if the epsilon is out of range.
        DataError: if a file is damaged, or a frame does not fit the domain.
    """
    domain = resolved.domain
    least_rows = _least_rows(domain, epsilon)
    result = diagnose(data, domain)
    repeats = count_repeats(data, domain, result.rows)
    notes = tuple(advice(result, domain, edit, least_rows))
    return Findings(domain, resolved.origin, files, result, repeats, notes, tuple(faults(result, domain, edit)))


def _least_rows(domain: Domain, epsilon: object) -> int:
    """Compute the rows that a class needs so that the noise in its count is below a tenth."""
    counts = plan(domain, Budget(parse_epsilon(epsilon)), attribute_weights=AUTO).shares[0]
    return math.ceil(USEFUL * expected_error(domain, counts, 1))
