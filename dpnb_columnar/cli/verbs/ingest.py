"""``dpnb-columnar ingest``: from extracts and their codebooks to one Parquet file that carries its domain."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import LogFormat, print_line, print_lines, progress
from dpnb_columnar.cli.options import Config
from dpnb_columnar.errors import UsageError
from dpnb_columnar.extracts.codebooks.codebook import ImputedValues
from dpnb_columnar.runtime.outputs import check_parquet, check_target

if TYPE_CHECKING:
    from dpnb_columnar.domain import Declaration
    from dpnb_columnar.extracts.convert import Conversion


def command(
    extract: Annotated[
        list[Path],
        typer.Argument(
            help="IPUMS .dat or .csv, each also as .gz; ACS PUMS csv_pXX.zip; Parquet, a folder of it or a quoted "
            "pattern.",
            metavar="EXTRACT",
        ),
    ],
    output: Annotated[Path, typer.Option(help="Parquet file to write.")],
    codebook: Annotated[
        str | None,
        typer.Option(
            help="DDI codebook (.xml), layout (.toml), PUMS data dictionary (.csv), or the name of a packaged layout: "
            "ipums1940.",
            metavar="FILE|NAME",
            show_default="the .xml beside each extract; Parquet with a domain keeps its own",
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            help="Entry of datasets.toml with the domain of CSV or Parquet that has no codebook; numeric attributes of "
            "CSV are then written as numbers, and the output carries the domain.",
            metavar="NAME",
        ),
    ] = None,
    types: Annotated[
        Path | None,
        typer.Option(
            help="Types of columns that no codebook declares: a TOML file with lines such as "
            'AGE = "integer"; the types are integer, number and text.',
            metavar="FILE",
            show_default="text",
        ),
    ] = None,
    no_header: Annotated[
        bool, typer.Option("--no-header", help="CSV begins with its first row; --names has the names of its columns.")
    ] = False,
    names: Annotated[
        Path | None,
        typer.Option(
            help="Names of the columns of CSV without a header: one a line, or a .names file of UCI.", metavar="FILE"
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            help="Columns to write: A,B,C, or adult-like for those that play the parts of the Adult data set's.",
            metavar="NAMES",
            show_default="all",
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            help='Rows to write, such as "AGE >= 16 AND STATEFIP = 41".', metavar="CONDITION", show_default="all"
        ),
    ] = None,
    imputed: Annotated[
        ImputedValues,
        typer.Option(
            help="What becomes of values that the codebook's flags say were allocated: missing, to write null in their "
            "place, so that only answers count; or counted.",
            metavar="TREATMENT",
        ),
    ] = ImputedValues.COUNTED,
    persons_cap: Annotated[
        int | None,
        typer.Option(
            help="Write the column unit_weight, and declare it as the weight of the one row of a unit that counts: how "
            "many rows of the unit are written, at most this number. It is public, and so not to be taken from the "
            "rows.",
            metavar="INTEGER",
            show_default="no such column",
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            help="Column that names this unit, such as a household's SERIAL; several with commas.",
            metavar="COLUMN",
            show_default="the codebook's household",
        ),
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(
            help="Column of a row's own weight, such as PERWT, by which it is multiplied.",
            metavar="COLUMN",
            show_default="as declared, else none",
        ),
    ] = None,
    weight_cap: Annotated[
        str | None,
        typer.Option(
            help="The most that the product weighs, public as well.",
            metavar="NUMBER",
            show_default="the weight's own cap",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            help="Name of the data set, whose persons share one budget whatever their files are called.",
            metavar="NAME",
            show_default="that of the codebook's sample or extract",
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    config: Config = None,
    log_format: options.Log = LogFormat.TEXT,
) -> None:
    """Turn census extracts into a Parquet file with its domain.

    Reads what IPUMS and the Census Bureau hand out: fixed-width text,
    rectangular or hierarchical (what is said of a household is carried down to
    its persons), CSV, and Parquet. Several extracts become one file. Types and
    domain come from the codebook or the Parquet file, never from the rows; a
    blank becomes null. Memory does not grow with the rows. The output is
    readable by its owner alone.

    CSV without a codebook is kept as text, and carries no domain, unless
    --dataset or --types declares its columns. Training reads the numbers in
    such a text by their value: 001 is 1. Blanks around a field go.

    \b
    Examples:
      dpnb-columnar ingest usa_00172.dat.gz --output census.parquet
      dpnb-columnar ingest EXT1940USCB.dat --codebook ipums1940 --columns adult-like,INCWAGE \\
          --where "AGE >= 16" --output 1940.parquet
      dpnb-columnar ingest csv_pde.zip csv_pvt.zip --output states.parquet \\
          --codebook PUMS_Data_Dictionary_2018.csv
      dpnb-columnar ingest usa_00172.dat.gz --imputed missing --output answers.parquet
      dpnb-columnar ingest usa_00172.dat.gz --unit SAMPLE,SERIAL --persons-cap 8 --output homes.parquet
      dpnb-columnar ingest town.csv --types types.toml --output town.parquet
      dpnb-columnar ingest adult.csv --no-header --names adult.names --output adult.parquet
    """
    from dpnb_columnar.extracts.convert import convert, plan_conversion
    from dpnb_columnar.extracts.extract_files import bytes_on_disk, find_extracts, refuse_copies

    check_parquet(output)
    inputs = [*extract, *([] if config is None else [config])]
    check_target(output, overwrite, inputs)
    extracts = find_extracts(extract)
    check_target(output, overwrite, [*inputs, *(each.path for each in extracts)])
    conversion = plan_conversion(
        extracts,
        codebook,
        columns,
        where,
        name,
        dataset=dataset,
        types=types,
        imputed=imputed,
        unit=unit,
        persons_cap=persons_cap,
        weight=weight,
        weight_cap=weight_cap,
        header=not no_header,
        names=names,
    )
    refuse_copies(extracts)
    size = bytes_on_disk(extracts)
    with progress("reading", size, "bytes") as advance:
        convert(conversion, output, overwrite=overwrite, progress=advance)
    _print_result(conversion, output)


def _print_result(conversion: Conversion, output: Path) -> None:
    """Print what was written and the next command: public facts alone."""
    from dpnb_columnar.domain.declared_domain import Domain
    from dpnb_columnar.domain.domain_text import counts_by, linked_text, weighs_by
    from dpnb_columnar.domain.names import number_text
    from dpnb_columnar.extracts.convert import result_lines

    first, *others = result_lines(conversion, output)
    print_line(first, "written", output=str(output))
    for line in others:
        print_line(line)
    if conversion.domain is None:
        print_line("to train, declare its domain in datasets.toml, or ingest it again with --codebook")
        return
    if conversion.domain.available_unit and conversion.domain.unit is None:
        print_line(
            f"unit available: {', '.join(conversion.domain.available_unit)}: for a guarantee that is for whole "
            "households in place of rows, add --unit-rows 1 to train"
        )
    if conversion.domain.available_person is not None:
        print_line(linked_text(conversion.domain.available_person))
    if (counted := conversion.domain.unit) is not None and conversion.domain.weight is not None:
        print_line(f"unit: {counts_by(counted)}, by the weight {weighs_by(conversion.domain.weight)}")
    elif conversion.domain.available_weight is not None:
        weight = conversion.domain.available_weight
        print_line(
            f"weight available: {weight.column}, at most {number_text(weight.cap)} each: for the prior of the "
            f"population in place of that of the rows, add --weight {weight.column} to train"
        )
    _print_plan(conversion.domain, output)
    label = "" if isinstance(conversion.domain, Domain) else ' --label "..."'
    print_line(f"train: dpnb-columnar train {output}{label}")


def _print_plan(domain: Declaration, output: Path) -> None:
    """Say what missing values do and cost in a usual release, and which ranges are too wide for it. Public facts."""
    from dpnb_columnar.advice.expected_error import USUAL_SIZE, wide_ranges
    from dpnb_columnar.advice.outlook import missing_lines
    from dpnb_columnar.cli.file_output import print_wide_ranges
    from dpnb_columnar.core.budget import Budget
    from dpnb_columnar.core.budget.amounts import DEFAULT_EPSILON
    from dpnb_columnar.domain import Domain
    from dpnb_columnar.domain.editing import provisional
    from dpnb_columnar.releases.attribute_weights import AUTO
    from dpnb_columnar.releases.plan import plan

    labelled = domain if isinstance(domain, Domain) else provisional(domain)
    try:
        planned = plan(labelled, Budget(Fraction(DEFAULT_EPSILON)), attribute_weights=AUTO)
    except UsageError:  # more attributes than the budget can be divided among: the file is written all the same
        return
    print_lines(missing_lines(planned))
    circumstances = f"at {USUAL_SIZE} rows in each class and epsilon {DEFAULT_EPSILON}"
    print_wide_ranges(wide_ranges(planned, USUAL_SIZE), circumstances, output)
