"""``dpnb-columnar check``: compare the rows with the declared domain, for the curator, before a release."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from dpnb_columnar.budget import Neighbours
from dpnb_columnar.cli import budget_options, options
from dpnb_columnar.cli.console import CONFIDENTIAL, print_line, print_table, print_warning, stage
from dpnb_columnar.domain.value_labels import class_texts
from dpnb_columnar.errors import DataError, excerpt

if TYPE_CHECKING:
    from dpnb_columnar.counting.diagnostics import Diagnosis
    from dpnb_columnar.counting.find_domain import ResolvedDomain
    from dpnb_columnar.counting.repeated_rows import Repeats

USEFUL = 10
"""A class is useful from as many times the error of its count on: the noise is then below a tenth."""


def command(
    data: options.Data,
    dataset: options.Dataset = None,
    catalogue: options.Catalogue = None,
    label: options.Label = None,
    epsilon: options.OptionalEpsilon = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """CONFIDENTIAL: compare the rows with the declared domain.

    For the curator. Counts rows that training would count, the rows among them
    that lack an attribute, rows it would drop and because of which column, values
    it would clamp, values that the domain does not declare, rows that repeat
    others (people may be alike; rows that are in the data twice would count
    twice), and row groups; and says what to do about each. Ends with exit code 65
    when something is amiss that a release must not tell: an attribute without any
    value, values of the label outside the declared classes, a class without rows,
    or no row that counts.

    \b
    Examples:
      dpnb-columnar check census.parquet
      dpnb-columnar check census.parquet --label "INCWAGE > 1500" --json
    """
    from dpnb_columnar.cli.domain_commands import edit_command
    from dpnb_columnar.cli.remedies import advice, faults
    from dpnb_columnar.counting.diagnostics import diagnose
    from dpnb_columnar.counting.file_parts import refuse_copies
    from dpnb_columnar.counting.find_domain import find_domain
    from dpnb_columnar.counting.repeated_rows import count_repeats
    from dpnb_columnar.rows.parquet import open_parquet, resolve_files

    files = resolve_files(data)
    resolved = find_domain(files, dataset, label, catalogue=catalogue)
    typed = budget_options.effective_epsilon(resolved, epsilon)
    least_rows = _least_rows(resolved, typed)
    source = open_parquet(files, resolved.domain)
    refuse_copies(files)
    with stage("checking"):
        result = diagnose(source, resolved.domain)
        repeats = count_repeats(source, result.rows)
    edit = edit_command(files[0], resolved.domain.name, dataset, catalogue)
    notes = list(advice(result, resolved.domain, edit, least_rows))
    amiss = list(faults(result, resolved.domain, edit))
    print_warning(CONFIDENTIAL)
    if json:
        _print_json(resolved, result, repeats, notes, amiss)
    else:
        print_line(f"domain {resolved.domain.name}, from {resolved.origin}")
        print_line(f"{result.rows} rows in {len(files)} file(s), {result.fitting} count, {result.complete} in full")
        about = "" if repeats.exact else "about "
        print_line(f"{about}{repeats.rows} rows repeat another one in all columns of the domain")
        _print_tables(resolved, result)
        for note in notes:
            print_line(f"note: {note}")
        for fault in amiss:
            print_line(f"fault: {fault}")
    if amiss:
        # What is amiss is a fact about the rows: it stands in the report, not in the log of a scheduled run.
        raise DataError(f"{files[0]}: not ready for a release; the report on standard output says why and what to do")


def _least_rows(resolved: ResolvedDomain, epsilon: str) -> int:
    """Compute the rows that a class needs so that the noise in its count is below a tenth."""
    from dpnb_columnar.mechanisms.attribute_weights import AUTO
    from dpnb_columnar.mechanisms.expected_error import expected_error
    from dpnb_columnar.mechanisms.plan import plan

    budget = budget_options.parse_budget(epsilon, "0", Neighbours.ADD_REMOVE, None, None)
    counts = plan(resolved.domain, budget, attribute_weights=AUTO).shares[0]
    return math.ceil(USEFUL * expected_error(resolved.domain, counts, 1))


def _print_tables(resolved: ResolvedDomain, result: Diagnosis) -> None:
    groups = result.row_groups
    print_line(f"{len(groups)} row groups, the largest of {max(groups, default=0)} rows")
    print_line()
    header = ["column", "missing", "outside the domain", "counted without", "drops", "drops alone", "below", "above"]
    print_table(
        header,
        [
            [part.name, part.missing, part.outside, part.lacking, part.dropped, part.only, part.below, part.above]
            for part in result.columns
        ],
    )
    print_line()
    print_table(["class", "rows that count"], list(zip(class_texts(resolved.domain), result.class_rows, strict=True)))
    for undeclared in result.undeclared:
        print_line()
        more = ", the most frequent" if undeclared.more else ""
        print_table(
            [f"undeclared in {undeclared.column}{more}", "rows" if undeclared.exact else "rows, at least"],
            [[excerpt(value), rows] for value, rows in undeclared.values],
        )
    print_line()


def _print_json(
    resolved: ResolvedDomain, result: Diagnosis, repeats: Repeats, notes: list[str], amiss: list[str]
) -> None:
    from dataclasses import asdict
    from json import dumps

    report = {
        "domain": resolved.domain.name,
        "origin": resolved.origin,
        **asdict(result),
        "repeated": asdict(repeats),
        "class_rows": dict(zip(resolved.domain.classes, result.class_rows, strict=True)),
        "notes": notes,
        "faults": amiss,
    }
    print_line(dumps(report, ensure_ascii=False, indent=2))
