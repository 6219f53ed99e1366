"""What is looked at before a release: ``plan``, its costs and errors, and ``check``, the rows against the domain."""

from __future__ import annotations

from dataclasses import dataclass
from json import dumps
from typing import Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import print_confidential, print_lines, print_text, stage
from dpnb_columnar.core.budget import is_rule, parse_epsilon
from dpnb_columnar.errors import DataError
from dpnb_columnar.options import Declared, Option, Terms


def check(
    data: options.DataOrDatabase,
    table: options.Table = None,
    dataset: options.Dataset = None,
    label: options.Label = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            "--epsilon",
            help="Privacy budget of the release to come: classes that have too few rows for it are named.",
            metavar="NUMBER",
            show_default="the entry's in datasets.toml, else 1",
        ),
    ] = None,
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
      dpnb-columnar check census.duckdb --table person --dataset census
    """
    from dpnb_columnar.cli.file_output import declared_in
    from dpnb_columnar.counting.inputs import LocalFiles, local_input
    from dpnb_columnar.report.findings import find

    rows = local_input(data, table)
    resolved = rows.find_domain(dataset, label)
    typed = resolved.effective_epsilon(epsilon)
    parse_epsilon(typed)
    source = rows.open_once(resolved.domain)
    files = rows.files if isinstance(rows, LocalFiles) else ()
    place = declared_in(next(iter(files), None), resolved, dataset)
    with stage("checking"):
        findings = find(source, resolved, typed, place, len(files))
    if json:
        print_text(dumps(findings.document(), ensure_ascii=False, indent=2))
    else:
        print_confidential()
        print_lines(findings.lines())
    if not findings.ready:
        # What is amiss is a fact about the rows: it stands in the report, not in the log of a scheduled run.
        raise DataError(
            f"{source.names}: not ready for a release; the report on standard output says why and what to do"
        )


LARGEST_CLASS = 10**12


@dataclass(frozen=True, kw_only=True)
class PlanTerms(Terms):
    """Terms of a release to come: for its advice, too, is the declared number of rows."""

    rows: Annotated[
        int | None,
        Option(
            help="Public number of rows, such as the codebook's: for the advice, for too wide ranges, and the n of "
            "--delta 1/n or 1/n^2. It is never counted.",
            type=int,
            metavar="INTEGER",
            shown="the entry's in datasets.toml, else, except for --delta, the first of --rows in each class",
            flag="--declared-rows",
        ),
    ] = None


@options.expanded
def plan(
    data: options.Data,
    *,
    declared: Declared,
    terms: PlanTerms,
    rows: Annotated[
        list[int] | None,
        typer.Option(
            min=100,
            max=LARGEST_CLASS,
            help="Rows per class to expect errors for; repeat for more.",
            metavar="INTEGER",
            show_default="the declared rows by the number of classes, else 10000 and 1000000",
        ),
    ] = None,
    class_shares: Annotated[
        str | None,
        typer.Option(
            help="Published shares of the classes, in the domain's order, such as 94:6: for the rehearsal. They are "
            "never counted.",
            metavar="A:B:...",
            show_default="3:1, and 15:1",
        ),
    ] = None,
    no_advice: Annotated[
        bool, typer.Option("--no-advice", help="Leave the rehearsal out; it takes a second or so per ten attributes.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Show what would be released, at which cost and error.

    Opens no row: the domain is read from NAME.domain.toml, the files' metadata
    or datasets.toml, and no number of rows is looked at. Errors are what 95 % of
    the noise stays below, for classes of --rows rows whose values fill the
    middle tenth of the declared range evenly.

    Names attributes whose declared range is so wide that noise hides what they
    say, and where to narrow it. Without a label, two classes stand in
    for it, and every column is planned as an attribute.

    Rehearses the release on made-up rows: attributes that are independent or
    come in families, as a census has them, unequal classes, tight and wide
    bounds. Says how accurate models are expected to be, warns where they are
    worse than always predicting the largest class, and advises which mechanism
    and attribute weights to choose. It depends on nothing but domain, budget,
    the number of rows and --class-shares.

    \b
    Examples:
      dpnb-columnar plan census.parquet
      dpnb-columnar plan census.parquet --epsilon 0.1 --rows 50000
      dpnb-columnar plan census.parquet --declared-rows 250000 --class-shares 94:6
    """
    from dpnb_columnar.advice.outlook import outlook, outlook_document, outlook_lines
    from dpnb_columnar.cli.file_output import declared_in
    from dpnb_columnar.counting.find_domain import find_domain_to_plan
    from dpnb_columnar.rows.input_files import resolve_files
    from dpnb_columnar.rows.parquet import open_parquet

    files = resolve_files(data)
    found = find_domain_to_plan(files, declared.entry, declared.label)
    resolved = declared.counted(found)
    known = options.declared_row_count(resolved, terms.rows)
    number = None if known is None else known.rows
    budget = terms.budget(terms.effective_epsilon(resolved), number)
    open_parquet(files, resolved.domain)
    planned = terms.planned(resolved.domain, budget, number, inputs=files, label=declared.label)
    with stage("rehearsing"):
        ahead = outlook(
            planned,
            resolved.origin,
            rows or None,
            known,
            sizes_from="--rows in each class",
            label_chosen=resolved.label_chosen,
            rule=str(terms.delta).strip() if is_rule(terms.delta) else None,
            place=declared_in(files[0], found, declared.entry),
            class_shares=class_shares,
            rehearsed=not no_advice,
        )
    if json:
        print_text(dumps(outlook_document(ahead), ensure_ascii=False, indent=2))
    else:
        print_lines(outlook_lines(ahead))
