"""Options that several verbs share, and what those of a budget stand for, typed or declared beside the domain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpnb_columnar.budget import Budget, Neighbours, is_rule, parse_delta, parse_division, parse_epsilon, parse_rows
from dpnb_columnar.budget.amounts import DEFAULT_EPSILON, DeclaredRowCount
from dpnb_columnar.cli.console import print_line
from dpnb_columnar.counting.inputs import Engine
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.errors import ConfigurationError, UsageError

if TYPE_CHECKING:
    from dpnb_columnar.counting.find_domain import ResolvedDomain


DataOrTable = Annotated[
    list[str] | None,
    typer.Argument(
        help="Parquet files, folders of them, or quoted patterns; or one database with --table: a DuckDB or SQLite "
        "file, or postgresql://USER@HOST/NAME; with --engine spark also addresses such as s3a://census/2018.",
        metavar="DATA...",
        show_default=False,
    ),
]
EngineName = Annotated[
    Engine,
    typer.Option(
        "--engine",
        help="Engine that counts the rows: this machine, or a cluster (docs/scale.md). The result is the same.",
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        help="Cluster of --engine spark, such as spark://HOST:7077, yarn, k8s://https://HOST:6443 or local[4].",
        metavar="URL",
        show_default="Spark's configuration, else local[*]",
    ),
]
SparkOrDatabaseTable = Annotated[
    str | None,
    typer.Option(
        help="Table or view of the database; with --engine spark, and no DATA, of Spark's catalogs, such as "
        "lake.census.person.",
        metavar="NAME",
        show_default=False,
    ),
]


Data = Annotated[
    list[str],
    typer.Argument(help="Parquet files, folders of them, or quoted patterns.", metavar="DATA", show_default=False),
]
DataOrDatabase = Annotated[
    list[str],
    typer.Argument(
        help="Parquet files, folders of them (those named COLUMN=VALUE are columns), or quoted patterns; or one "
        "database with --table: a DuckDB file "
        "(.duckdb), a SQLite file (.sqlite), or postgresql://USER@HOST/NAME.",
        metavar="DATA",
        show_default=False,
    ),
]
Table = Annotated[
    str | None,
    typer.Option(help="Table or view of the database.", metavar="NAME", show_default=False),
]
Query = Annotated[
    Path | None,
    typer.Option(help="File with the SELECT to run in the database.", metavar="FILE.sql", show_default=False),
]
ModelFile = Annotated[Path, typer.Argument(help="Model file, .json or .parquet.", metavar="MODEL", show_default=False)]
Dataset = Annotated[
    str | None,
    typer.Option(
        help="Entry of datasets.toml that declares the domain.",
        metavar="NAME",
        show_default="the entry that claims the data's name",
    ),
]
Catalogue = Annotated[
    Path | None,
    typer.Option(
        help="The one catalogue to look for the entry in, a TOML file; it takes precedence over a domain that the data "
        "carry.",
        metavar="FILE",
        show_default="datasets.toml in the working directory, then the packaged one",
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        help='What to predict: a categorical column of the domain, or a condition such as "INCWAGE > 1500".',
        metavar="TEXT",
        show_default="the label declared",
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(
        "--unit",
        help="Column that names the unit which the guarantee is for in place of one row, such as a household's SERIAL; "
        "several with commas. A row without a value in it does not count.",
        metavar="COLUMN",
        show_default="the unit declared, else one row",
    ),
]
UnitRows = Annotated[
    int | None,
    typer.Option(
        "--unit-rows",
        help="The most rows of one unit that count; each has epsilon divided by this number. Without --unit it is of "
        "the unit that the data are declared to have.",
        metavar="INTEGER",
        show_default="as declared, else 1",
    ),
]
COUNTED_BY = ("--unit", "--unit-rows", "--weight", "--weight-cap", "--weight-step")
"""Options that say by which unit and weight rows are counted, in place of the domain."""

Weight = Annotated[
    str | None,
    typer.Option(
        "--weight",
        help="Column of the weight of a row, such as PERWT: the prior is made of its sums, for one more query. It "
        "changes nothing else.",
        metavar="COLUMN",
        show_default="the weight declared, else none",
    ),
]
WeightCap = Annotated[
    str | None,
    typer.Option(
        "--weight-cap",
        help="The most that one row weighs; the noise of the sums is made for it. Public, and so not to be taken from "
        "the rows.",
        metavar="NUMBER",
        show_default="as declared",
    ),
]
WeightStep = Annotated[
    str | None,
    typer.Option(
        "--weight-step",
        help="Weights are rounded to multiples of this step; the cap has to be one of them.",
        metavar="NUMBER",
        show_default="as declared, else 1",
    ),
]
WholeUnits = Annotated[
    bool,
    typer.Option(
        "--whole-units",
        help="Declare that no unit has rows in more than one of the statistics: those of a domain with a unit add up "
        "only then.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")]
Epsilon = Annotated[str, typer.Option(help="Privacy budget, taken exactly as typed.", metavar="NUMBER")]
OptionalEpsilon = Annotated[
    str | None,
    typer.Option(
        "--epsilon",
        help="Privacy budget, taken exactly as typed.",
        metavar="NUMBER",
        show_default="the entry's in datasets.toml, else 1",
    ),
]
Delta = Annotated[
    str,
    typer.Option(
        help="The delta of (epsilon, delta)-differential privacy, for noise that needs it: a number such as 1e-6 or "
        "1/50000, or a rule for the declared number of rows, 1/n or 1/n^2.",
        metavar="NUMBER",
    ),
]
DeclaredRows = Annotated[
    int | None,
    typer.Option(
        help="The public number of rows, such as the codebook's: the n of --delta 1/n or 1/n^2, and for "
        "--attribute-weights auto. It is never counted.",
        metavar="INTEGER",
        show_default="the entry's in datasets.toml",
    ),
]
Mechanism = Annotated[
    str,
    typer.Option(
        help="smooth, paper, trimmed-mean, global, global-variance, histogram, adaptive-histogram, majority, or none "
        "(NOT PRIVATE).",
        metavar="NAME",
    ),
]
AttributeWeights = Annotated[
    str,
    typer.Option(
        "--attribute-weights",
        help="Weights of the attributes in the score: none (ordinary naive Bayes); tempered, d^(-1/4) for each of d "
        "attributes, 8 or more, since correlated ones say the same twice, free, for histograms of two classes; "
        "calibrated, one weight of all, fitted in a second pass over the rows (in three for more than two classes) "
        "that spends a tenth of the budget; learned, one for each attribute, for two classes alone, in four further "
        "passes that spend 35 % of it: for many rows; or auto, which chooses one of these by mechanism, number of "
        "attributes, and epsilon times the declared number of rows. Or a Parquet file of public rows in the same "
        "domain, never the confidential ones: weights and shares are learned from it, free.",
        metavar="NAME|FILE",
    ),
]
Given = Annotated[
    Path | None,
    typer.Option(
        help="Model released from statistics with --attribute-weights calibrated or learned, or given such a model: "
        "the next pass over the rows, which spends the next part of the budget that it left (docs/batch.md).",
        metavar="MODEL",
        show_default=False,
    ),
]
Noise = Annotated[
    str | None,
    typer.Option(
        help="Noise of smooth releases. Pure: polyplace, student-3 (or student-NU), cauchy, nissim-cauchy. With "
        "--delta: gaussian, laplace, classical-gaussian, classical-laplace; concentrated: laplace-log-normal, "
        "uniform-log-normal, arsinh-normal.",
        metavar="NAME",
        show_default="polyplace; cauchy for paper",
    ),
]
Relation = Annotated[Neighbours, typer.Option("--neighbours", help="Neighbouring relation that epsilon refers to.")]
Shares = Annotated[
    str | None,
    typer.Option(
        help="Shares of numeric, categorical and count queries in the division of the budget, such as 2:1:1.",
        metavar="N:C:K",
        show_default="the mechanism's own",
    ),
]
FormerShares = Annotated[str | None, typer.Option("--weights", hidden=True, metavar="N:C:K")]
"""The name that --shares had before attributes could have weights."""

Seed = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Repeatable noise, for tests only: the model carries NO GUARANTEE.",
        metavar="INTEGER",
        show_default=False,
    ),
]


def shares_typed(shares: str | None, former: str | None) -> str | None:
    """Return the value of --shares, or the one that stands under its former name.

    Raises:
        UsageError: if both are given, or the former name has the value of another option.
    """
    if former is not None and ":" not in former:
        raise UsageError("--weights is the former name of --shares; name a column of weights with --weight")
    if shares is not None and former is not None:
        raise UsageError("--weights is the former name of --shares; give --shares alone")
    return former if shares is None else shares


def parse_budget(
    epsilon: str, delta: str, neighbours: Neighbours, shares: str | None, rows: DeclaredRowCount | None
) -> Budget:
    """Parse the options of a privacy budget.

    Args:
        epsilon: Value of --epsilon.
        delta: Value of --delta, perhaps a rule.
        neighbours: Neighbouring relation.
        shares: Value of --shares; None for the mechanism's own.
        rows: The n of a rule for delta; None if there is none.

    Raises:
        UsageError: if an option is out of range, or if a rule has no n.
    """
    division = None if shares is None else parse_division(shares)
    return Budget(parse_epsilon(epsilon), neighbours, division, parse_delta(delta, None if rows is None else rows.rows))


def entry_defaults(resolved: ResolvedDomain, rows: DeclaredRowCount | None) -> dict[str, tuple[object, str]]:
    """Return value and origin of the options, by option, that the domain's entry sets unless they are typed."""
    entry = str(resolved.entry)
    values: dict[str, tuple[object, str]] = {"--account": (resolved.domain.name, resolved.origin)}
    values["--epsilon"] = (
        (DEFAULT_EPSILON, "default") if resolved.epsilon is None else (number_text(resolved.epsilon), entry)
    )
    if rows is not None:
        values["--declared-rows"] = (rows.rows, rows.origin)
    return values


def declared_row_count(resolved: ResolvedDomain, typed: int | None) -> DeclaredRowCount | None:
    """Return the number of rows that was typed, else the one declared beside the domain; None if neither was.

    Raises:
        UsageError: if the typed number is out of range.
        ConfigurationError: if the declared number is out of range.
    """
    if typed is not None:
        return DeclaredRowCount(parse_rows(typed), "--declared-rows")
    if resolved.rows is None:
        return None
    try:
        return DeclaredRowCount(parse_rows(resolved.rows), str(resolved.entry))
    except UsageError as error:
        raise ConfigurationError(f"{resolved.entry}: {error}") from None


def declared_row_count_for(
    resolved: ResolvedDomain, delta: str, attribute_weights: str, typed: int | None
) -> DeclaredRowCount | None:
    """Return the declared number of rows if a rule for delta, or the choice of attribute weights, depends on it.

    Raises:
        UsageError: if a number was typed that nothing depends on, or if it is out of range.
        ConfigurationError: if the declared number is out of range.
    """
    if is_rule(delta) or attribute_weights == "auto":
        return declared_row_count(resolved, typed)
    if typed is not None:
        raise UsageError(
            "declared rows: only a rule for delta and --attribute-weights auto depend on them; give --delta 1/n or "
            "1/n^2, or leave --declared-rows out"
        )
    return None


def print_domain(resolved: ResolvedDomain) -> None:
    """Print the name of the domain in which rows are counted, and where it is declared."""
    name = resolved.domain.name
    print_line(f"domain {name}, from {resolved.origin}", "domain", domain=name, origin=str(resolved.origin))


def rule_line(delta: str, rows: DeclaredRowCount | None) -> str | None:
    """Return one line on the n of a rule for delta, and where it is declared; None where delta is no rule."""
    return f"delta {delta.strip()}, n = {rows.rows} from {rows.origin}" if is_rule(delta) and rows is not None else None


def print_rule(delta: str, rows: DeclaredRowCount | None) -> None:
    """Print the n of a rule for delta, and where it is declared."""
    if line := rule_line(delta, rows):
        print_line(line)
