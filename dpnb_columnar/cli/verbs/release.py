"""Both halves of ``train``: ``aggregate`` counts rows into files, ``release`` makes a model of what files hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import LogFormat, print_confidential, print_line, print_table, stage
from dpnb_columnar.cli.options import DEFAULT, Config, option_origins
from dpnb_columnar.counting.inputs import DatabaseInput, Engine, Input, database_among, opened_input
from dpnb_columnar.domain.names import number_text
from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.options import Declared, DomainSource, Option, PaymentOptions, Terms, flags_of
from dpnb_columnar.runtime.outputs import check_parquet, check_target, default_name, output_lock

if TYPE_CHECKING:
    from dpnb_columnar.core.budget.amounts import DeclaredRowCount
    from dpnb_columnar.core.queries.query import Answer, Query
    from dpnb_columnar.core.queries.scores import Margins
    from dpnb_columnar.counting.countable import Rows
    from dpnb_columnar.counting.find_domain import ResolvedDomain
    from dpnb_columnar.counting.inputs import DatabaseInput
    from dpnb_columnar.releases.model_plan import ReleasePlan


Part = TypeVar("Part", bound="Answer")


def plan_of(given: Path) -> ReleasePlan:
    """Plan the second release of the model in a file."""
    from dpnb_columnar.model.model_files import read_model
    from dpnb_columnar.releases.plan import plan_given

    model = read_model(given)
    try:
        return plan_given(model)
    except UsageError as error:
        raise UsageError(f"{given}: {error}") from None


def query_of(given: Path) -> Margins:
    """Make what the later pass asks for the model in a file."""
    from dpnb_columnar.model.score_calibration import margins_given

    model = plan_of(given).given
    assert model is not None
    return margins_given(model)


def refuse_fixed(context: typer.Context, fixed: Collection[str]) -> None:
    """Refuse options that the model given leaves no choice of."""
    named = [name for name, _, origin in option_origins(context) if name in fixed and origin != DEFAULT]
    if named:
        raise UsageError(f"--given: the model has decided {', '.join(named)}; leave that out")


# Files of statistics, of the first or of a later pass, added up: each part of the data once, each unit in one part.


def _added(files: Sequence[Path], load: Callable[[Path], Part], *, whole_units: bool) -> Part:
    """Add up what files hold."""
    from dpnb_columnar.core.queries.query import with_whole_units

    _refuse_repeated(files)
    parts = [with_whole_units(load(file), whole_units) for file in files]
    try:
        return reduce(add, parts)
    except ValueError as error:
        raise DataError(f"{', '.join(map(str, files))}: {error}") from None


def _refuse_repeated(files: Sequence[Path]) -> None:
    """Refuse a file that is named twice, by whatever names and links: its rows would count twice."""
    seen: dict[tuple[int, int], Path] = {}
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue  # what is not there is reported when it is read
        identity = (status.st_dev, status.st_ino)
        if identity in seen:
            raise UsageError(f"{seen[identity]}: named twice (again as {file}); its rows would count twice, drop one")
        seen[identity] = file


@dataclass(frozen=True, kw_only=True)
class DomainFile(DomainSource):
    """The same, or a file whose metadata carry the domain."""

    domain: Annotated[
        Path | None,
        Option(
            help="Parquet file whose metadata carry the domain that a query was made for; no row of it is read.",
            type=Path,
            metavar="FILE",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class QueryDeclared(Declared, DomainFile):
    """What is declared of the rows that a query counts."""


FIXED = (*flags_of(QueryDeclared).values(), *flags_of(Terms).values())
"""Options that a model has decided whose weights are released."""


@options.expanded
def release(
    context: typer.Context,
    statistics: Annotated[
        list[str],
        typer.Argument(
            help="Statistics files, or results of a statistics query as CSV or Parquet; they are added up. Or one "
            "database: a DuckDB file (.duckdb) or postgresql://USER@HOST/NAME.",
            metavar="STATISTICS",
        ),
    ],
    *,
    output: Annotated[Path, typer.Option(help="Model file, .json or .parquet.")],
    declared: QueryDeclared,
    given: options.Given = None,
    table: options.Table = None,
    query: options.Query = None,
    terms: Terms,
    whole_units: options.WholeUnits = False,
    overwrite: options.Overwrite = False,
    seed: options.Seed = None,
    charged: PaymentOptions,
    config: Config = None,
    dry_run: options.DryRun = False,
    log_format: options.Log = LogFormat.TEXT,
) -> None:
    """Release a model from statistics, the other half of train.

    train = aggregate + release. Files are added up, each part of the data once.
    Every release from the same rows spends budget again.

    With --attribute-weights calibrated, statistics release the tables of a model
    and leave a tenth of the budget: --given releases its weights, from statistics
    that were counted --given this model. A database is asked for both at once with
    --table.

    A database can count as well: dpnb-columnar sql statistics prints the query,
    and its result, exported as CSV or Parquet, is released here with --dataset or
    --domain. With --table a DuckDB file or PostgreSQL server is asked directly;
    only counts leave it.

    \b
    Examples:
      dpnb-columnar release census.statistics.parquet --output census.model.json
      dpnb-columnar release oregon.statistics.parquet washington.statistics.parquet \\
          --epsilon 0.5 --output northwest.model.parquet
      dpnb-columnar release counts.csv --dataset census --output census.model.json
      dpnb-columnar release postgresql://curator@db/census --table person \\
          --dataset census --output census.model.json
      dpnb-columnar release second.parquet --given census.model.json \\
          --output calibrated.model.json
    """
    from dpnb_columnar.cli.file_output import FileOutput, payment, rehearse, sampler
    from dpnb_columnar.counting.countable import AskedRows
    from dpnb_columnar.model.model_files import check_suffix
    from dpnb_columnar.public_sample import public_path
    from dpnb_columnar.releases.plan import reserve_later_pass
    from dpnb_columnar.training import carry_out

    check_suffix(output)
    database = _database(statistics, table, query)
    files = [] if database else [Path(name) for name in statistics]
    row_count: DeclaredRowCount | None = None
    rows: Rows
    if given is not None:
        refuse_fixed(context, FIXED)
        planned, known = plan_of(given), None
        resolved, rows = _rows_given(database, files, given, whole_units=whole_units)
    else:
        resolved, rows = _rows(database, files, _named(declared), whole_units=whole_units)
        parts = rows.known.parts if isinstance(rows, AskedRows) else ()
        row_count = options.declared_row_count_for(resolved, terms)
        known = None if row_count is None else row_count.rows
        budget = terms.budget(terms.effective_epsilon(resolved), known)
        planned = terms.planned(
            resolved.domain,
            budget,
            known,
            inputs=files,
            label=declared.label,
            parts=parts,
            repeatable=rows.repeatable,
        )
        if not rows.repeatable:
            planned = reserve_later_pass(planned)
    names = [str(file.resolve()) for file in files] if database is None else database.names
    paid = payment(planned, names, seed, charged)
    beside = (declared.domain, declared.catalogue_file, query, given, charged.ledger_file, config)
    inputs = [*files, *(file for file in (*beside, public_path(terms.attribute_weights)) if file is not None)]
    rule = options.rule_line(str(terms.delta), row_count)
    model_output = FileOutput(planned, output, overwrite, inputs, resolved, rule, rows=known)
    if dry_run:
        settled = options.entry_defaults(resolved, row_count)
        if given is not None:
            origin, budget = resolved.origin, planned.budget
            settled["--epsilon"] = (number_text(budget.epsilon), origin)
            settled["--neighbours"] = (budget.neighbours, origin)
            settled["--mechanism"] = (planned.mechanism.name, origin)
            settled["--attribute-weights"] = (planned.attribute_weights, origin)
        options.print_settings(context, settled)
        rehearse(rows, paid, model_output)
    else:
        carry_out(planned, rows, paid, sampler(seed), model_output)


def _rows_given(
    database: DatabaseInput | None, files: Sequence[Path], given: Path, *, whole_units: bool
) -> tuple[ResolvedDomain, Rows]:
    """Return the domain of a model, and the rows: those of a database, or those that files have counted given it."""
    from dpnb_columnar.counting.answer_files import load_answer
    from dpnb_columnar.counting.countable import AskedRows
    from dpnb_columnar.counting.find_domain import ResolvedDomain

    asked = query_of(given)
    resolved = ResolvedDomain(asked.domain, f"the model {given}")
    if database is not None:
        return resolved, _rows_of(database, asked)
    return resolved, AskedRows(_added(files, lambda file: load_answer(file, asked), whole_units=whole_units))


def _rows(
    database: DatabaseInput | None, files: Sequence[Path], named: ResolvedDomain | None, *, whole_units: bool
) -> tuple[ResolvedDomain, Rows]:
    """Return the domain, and the rows: those of a database, or those that statistics files have counted."""
    from dpnb_columnar.counting.answer_files import load_statistics
    from dpnb_columnar.counting.countable import AskedRows
    from dpnb_columnar.counting.find_domain import ResolvedDomain
    from dpnb_columnar.domain.catalogue import entry_declaring

    if database is None:
        domain = None if named is None else named.domain
        total = _added(files, lambda file: load_statistics(file, domain), whole_units=whole_units)
        if named is None:
            named = ResolvedDomain(total.domain, "the statistics", entry_declaring(total.domain))
        return named, AskedRows(total)
    if named is None:
        raise UsageError(
            f"{database.database}: carries no domain; name one with --dataset, or with --domain and a Parquet file"
        )
    from dpnb_columnar.core.queries.statistics import CellQuery

    return named, _rows_of(database, CellQuery(named.domain))


def _rows_of(database: DatabaseInput, asked: Query[Any]) -> Rows:
    """Return the rows of a table, as ``train`` counts them, or what a query that was printed answers."""
    from dpnb_columnar.counting.database import DatabaseRows

    query = database.select()
    return database if database.table is not None else DatabaseRows(database.database, query, asked=asked)


def _database(data: Sequence[str], table: str | None, query: Path | None) -> DatabaseInput | None:
    """Return the database that counts; None if statistics files are given."""
    from dpnb_columnar.rows.sources import Dialect, parse_names

    database = database_among(parse_names(data), table, query)
    if database is not None and database.dialect is Dialect.SQLITE:
        raise UsageError(
            f"{database}: rows of a SQLite file are counted here; dpnb-columnar train {database} --table NAME"
        )
    return None if database is None else DatabaseInput(database, table, query)


def _named(declared: QueryDeclared) -> ResolvedDomain | None:
    """Find the domain that options name, if they name one."""
    from dpnb_columnar.counting.find_domain import find_domain

    if declared.dataset is not None and declared.domain is not None:
        raise UsageError("--dataset and --domain both name a domain; give one of them")
    if declared.dataset is None and declared.domain is None:
        for name, option in flags_of(Declared).items():
            if name not in flags_of(DomainSource) and getattr(declared, name) is not None:
                what = option.removeprefix("--").partition("-")[0]
                raise UsageError(
                    f"{option} can only be used with --dataset or --domain; statistics files know their {what}"
                )
        return None
    files = [] if declared.domain is None else [declared.domain]
    return declared.counted(find_domain(files, declared.entry, declared.label))


LATER = ".given.parquet"
"""How the default name of a later pass's file ends."""


@options.expanded
def aggregate(
    context: typer.Context,
    data: options.DataOrTable = None,
    *,
    output: Annotated[
        Path | None, typer.Option(help="Statistics file.", show_default="DATA.statistics.parquet")
    ] = None,
    declared: Declared,
    overwrite: options.Overwrite = False,
    engine: options.EngineName = Engine.LOCAL,
    table: options.SparkOrDatabaseTable = None,
    given: options.Given = None,
    report: Annotated[
        bool,
        typer.Option(
            "--report",
            help="Print how many rows count, and how many lack an attribute. CONFIDENTIAL: keep it out of logs.",
        ),
    ] = False,
    config: Config = None,
    log_format: options.Log = LogFormat.TEXT,
) -> None:
    """CONFIDENTIAL: count every cell of the domain into a file.

    The private half of train. Nothing is released and no budget is spent. Files
    of parts of the data add up: give all of them to dpnb-columnar release.

    With --given it counts what a model released from statistics waits for: the
    rows of each class by the score that the model gives them. release --given
    completes the model with these counts.

    \b
    Examples:
      dpnb-columnar aggregate census.parquet
      dpnb-columnar aggregate oregon.parquet --output oregon.statistics.parquet
      dpnb-columnar aggregate "county-*.parquet" --output state.statistics.parquet
      dpnb-columnar aggregate census.parquet --report
      dpnb-columnar aggregate census.parquet --given census.model.json \\
          --output second.parquet
      dpnb-columnar aggregate --engine spark --table lake.census.person \\
          --dataset census
    """
    from dpnb_columnar.counting.answer_files import save_answer

    if given is not None:
        refuse_fixed(context, (*flags_of(Declared).values(), "--report"))
    with opened_input(engine, data, table) as rows:
        query, resolved = _asked(rows, declared, given)
        name, suffix = (resolved.domain.name, ".statistics.parquet") if given is None else ("data", LATER)
        target = output or default_name(data or (), name, suffix)
        check_parquet(target)
        beside = (declared.catalogue_file, given, config)
        check_target(target, overwrite, [*rows.files, *(file for file in beside if file is not None)])
        with output_lock(target):
            checked = rows.check(query.domain)
            if report:
                print_confidential()
            options.print_domain(resolved)
            with stage("counting"):
                answer = checked.answer(query)
            save_answer(answer, target, overwrite=overwrite)
    kind = "exact counts" if given is None else "exact counts of scores"
    print_line(f"wrote {target}: CONFIDENTIAL, {kind}", "written", output=str(target))
    if report:
        print_line(f"{int(answer.class_counts.sum())} rows count")
        print_table(["attribute", "rows without it"], [list(lacked) for lacked in answer.lacking().items()])


def _asked(rows: Input, declared: Declared, given: Path | None) -> tuple[Query[Any], ResolvedDomain]:
    """Return what the rows are asked, and in which domain: its cells, or what a model waits for."""
    from dpnb_columnar.core.queries.statistics import CellQuery
    from dpnb_columnar.counting.find_domain import ResolvedDomain

    if given is not None:
        query = query_of(given)
        return query, ResolvedDomain(query.domain, f"the model {given}")
    resolved = declared.counted(rows.find_domain(declared.entry, declared.label))
    return CellQuery(resolved.domain), resolved
