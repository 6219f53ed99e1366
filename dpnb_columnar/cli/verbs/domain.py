"""``dpnb-columnar domain``: show the declared domain of a file, and change it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import print_line, print_lines, print_text, print_warning, stage
from dpnb_columnar.cli.program import PlainCommand, PlainGroup
from dpnb_columnar.errors import UsageError, excerpt
from dpnb_columnar.options import Option
from dpnb_columnar.runtime.outputs import check_target
from dpnb_columnar.runtime.paths import exists

if TYPE_CHECKING:
    from dpnb_columnar.counting.find_domain import ResolvedDeclaration
    from dpnb_columnar.datasets.catalogue import Entry
    from dpnb_columnar.domain import Declaration
    from dpnb_columnar.domain.editing import Edits


def _repeated(what: str, metavar: str) -> Option:
    return Option(help=f"{what} Repeatable.", type=list[str], metavar=metavar)


Typed = list[str] | None
"""What was typed for an option that may be repeated."""


@dataclass(frozen=True, kw_only=True)
class AttributeEdits:
    """Edits of attributes, as they are typed."""

    bounds: Annotated[Typed, _repeated("Bounds of a numeric column.", "COLUMN=LOWER:UPPER")] = None
    step: Annotated[Typed, _repeated("Grid width.", "COLUMN=NUMBER")] = None
    transform: Annotated[Typed, _repeated("identity or log1p.", "COLUMN=NAME")] = None
    values: Annotated[Typed, _repeated("Categories.", "COLUMN=A,B,...")] = None
    missing_values: Annotated[Typed, _repeated('Codes that mean "missing".', "COLUMN=A,B,...")] = None
    missing: Annotated[
        Typed,
        _repeated(
            "How a row without a value is treated: it leaves the attribute out and those that have it are counted, "
            "it is a category of its own, or the row is dropped.",
            "COLUMN=skip|category|row",
        ),
    ] = None
    merge: Annotated[
        Typed,
        _repeated("Merge codes into groups, by a CSV file with the columns code and group.", "COLUMN=MAP.csv"),
    ] = None
    rest: Annotated[
        str | None,
        Option(help="Group of the codes that no line of a map names.", metavar="GROUP", shown="each stays as it is"),
    ] = None
    value_labels: Annotated[
        Typed,
        _repeated(
            "Words for values, in place of the column's, by a CSV file with the columns code and label.",
            "COLUMN=LABELS.csv",
        ),
    ] = None
    title: Annotated[Typed, _repeated("Words for a column, in place of its title.", "COLUMN=TEXT")] = None


def read_edits(typed: AttributeEdits) -> Edits:
    """Read the edits of attributes, and the files that they name.

    Raises:
        UsageError: if one is not of the form ``COLUMN=VALUE``, or names a column twice.
        dpnb_columnar.errors.Error: if a file cannot be read.
    """
    from dpnb_columnar.domain.editing import Edits
    from dpnb_columnar.domain.groups import read_merge_map
    from dpnb_columnar.domain.words import read_label_file

    return Edits(
        value_labels={
            column: read_label_file(Path(text)) for column, text in _assignments("value-labels", typed.value_labels)
        },
        values={column: comma_separated(text) for column, text in _assignments("values", typed.values)},
        bounds={column: _bounds(column, text) for column, text in _assignments("bounds", typed.bounds)},
        step=dict(_assignments("step", typed.step)),
        transform=dict(_assignments("transform", typed.transform)),
        missing_values={
            column: comma_separated(text) for column, text in _assignments("missing-values", typed.missing_values)
        },
        missing=dict(_assignments("missing", typed.missing)),
        merge={column: read_merge_map(Path(text)) for column, text in _assignments("merge", typed.merge)},
        rest=typed.rest,
        titles=dict(_assignments("title", typed.title)),
    )


def _assignments(option: str, texts: Typed) -> Iterator[tuple[str, str]]:
    """Yield column and value of each occurrence of an option of the form ``COLUMN=VALUE``.

    Raises:
        UsageError: if an occurrence is not of that form, or if a column is given twice.
    """
    seen: set[str] = set()
    for text in texts or ():
        column, equals, value = text.partition("=")
        if not column or not equals:
            raise UsageError(f"--{option} {text}: expected COLUMN=..., such as --{option} AGE=...")
        if column in seen:
            raise UsageError(f"--{option} {text}: {column} is given twice; leave one out")
        seen.add(column)
        yield column, value


def comma_separated(text: str) -> list[str]:
    """Split a text at its commas, and strip its parts; an empty text has none."""
    return [part.strip() for part in text.split(",")] if text.strip() else []


def _bounds(column: str, text: str) -> tuple[str, str]:
    """Split ``LOWER:UPPER``.

    Raises:
        UsageError: if the text is not of that form.
    """
    lower, colon, upper = text.partition(":")
    if not colon:
        raise UsageError(f"--bounds {column}={text}: expected COLUMN=LOWER:UPPER, such as --bounds AGE=0:90")
    return lower, upper


CODEBOOKS = (".xml", ".xml.gz")
"""How the names of files end that are codebooks, and never rows."""


def find_source(
    source: Path | None, codebook: str | None, dataset: str | None, catalogue: Path | None, name: str | None = None
) -> ResolvedDeclaration:
    """Find the domain of a file, of a codebook or of an entry; say what a codebook leaves out of it.

    Args:
        source: Parquet file, of which the footer is read; None if there is none.
        codebook: Codebook that declares the domain, whatever the file carries.
        dataset: Value of --dataset.
        catalogue: Value of --catalogue.
        name: Value of --name: name of the data set in place of the codebook's.

    Raises:
        UsageError: if nothing declares a domain, or two things do.
        dpnb_columnar.errors.Error: if a file cannot be read, or is not what it has to be.
    """
    from dpnb_columnar.counting.find_domain import ResolvedDeclaration, find_declaration

    if source is not None and source.name.lower().endswith(CODEBOOKS):
        raise UsageError(
            f"{source}: is a codebook by its name; give it as --codebook {source}, and SOURCE for rows alone"
        )
    if source is not None:
        from dpnb_columnar.rows.table_formats import refuse_table_files

        refuse_table_files([source])
    if codebook is None:
        if source is None and dataset is None:
            raise UsageError(
                "name a Parquet file, an entry of datasets.toml with --dataset, or a codebook with --codebook"
            )
        return find_declaration([] if source is None else [source], dataset, catalogue=catalogue)
    from dpnb_columnar.extracts.codebook_domain import left_out_lines, read_codebook_domain

    if dataset is not None or catalogue is not None:
        raise UsageError("--codebook declares the domain; give neither --dataset nor --catalogue beside it")
    found = read_codebook_domain(codebook, source, name)
    for line in left_out_lines(found.left_out):
        print_warning(line)
    for note in found.notes:
        print_warning(f"note: {note}")
    return ResolvedDeclaration(found.domain, f"the codebook {codebook}")


def other_keys(name: str, source: Path | None, *entries: Entry | None) -> dict[str, object]:
    """Return the keys of an entry beside its domain.

    Args:
        name: Name of the entry to write.
        source: File that the entry is to claim.
        entries: Entries whose keys are kept, a later one's before an earlier one's; patterns of files, of this name.
    """
    from fnmatch import fnmatchcase
    from glob import escape

    from dpnb_columnar.datasets.catalogue import ENTRY_KEYS

    table: dict[str, object] = {}
    patterns: list[str] = []
    for entry in entries:
        if entry is not None:
            table |= {key: entry.table[key] for key in ENTRY_KEYS if key in entry.table}
            patterns = [*entry.files] if entry.name == name else patterns
    if source is None:
        return table
    if not any(fnmatchcase(source.name, pattern) for pattern in patterns):
        patterns.append(escape(source.name))
    return {**table, "files": patterns}


app = typer.Typer(
    cls=PlainGroup,
    help="Show the declared domain of a file, or change it. No row is read.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

Source = Annotated[
    Path | None,
    typer.Argument(
        help="Parquet file that carries a domain, or that datasets.toml or a codebook describes.",
        metavar="SOURCE",
        show_default=False,
    ),
]
Codebook = Annotated[
    str | None,
    typer.Option(
        "--codebook",
        help="Codebook that declares the domain: of the columns of SOURCE, or of all its variables. A DDI codebook "
        "(.xml), a layout (.toml), a PUMS data dictionary (.csv), or the name of a packaged layout: ipums1940.",
        metavar="FILE|NAME",
        show_default=False,
    ),
]


@app.command(cls=PlainCommand)
def show(
    source: Source = None,
    codebook: Codebook = None,
    dataset: options.Dataset = None,
    catalogue: options.Catalogue = None,
    every: Annotated[bool, typer.Option("--all", help="Print every value, too, with its value label.")] = False,
    toml: Annotated[bool, typer.Option("--toml", help="Print an entry of datasets.toml.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the declaration as JSON.")] = False,
) -> None:
    """Show the domain of a file, of a codebook, or of an entry of datasets.toml.

    Only public facts are read: the file's metadata, no row.

    \b
    Examples:
      dpnb-columnar domain show census.parquet
      dpnb-columnar domain show --codebook usa_00001.xml
      dpnb-columnar domain show --dataset adult --all
      dpnb-columnar domain show census.parquet --toml >> datasets.toml
    """
    from json import dumps

    from dpnb_columnar.datasets.catalogue import entry_toml
    from dpnb_columnar.domain import document_of
    from dpnb_columnar.domain.declared_domain import domain_lines

    if toml + json + every > 1:
        raise UsageError("--all, --toml and --json: give one of them")
    declared = find_source(source, codebook, dataset, catalogue)
    domain = declared.declaration
    if toml:
        print_text(entry_toml(domain, other_keys(domain.name, source, declared.entry)).rstrip("\n"))
    elif json:
        print_text(dumps({"name": domain.name, **document_of(domain)}, ensure_ascii=False, indent=2))
    else:
        print_line(f"domain {domain.name}, from {declared.origin}")
        print_lines(domain_lines(domain, every=every))


@app.command(cls=PlainCommand)
@options.expanded
def edit(
    *,
    output: Annotated[
        Path,
        typer.Option(
            help="X.toml for an entry in this catalogue, where all others stay; X.parquet for a copy of the file that "
            "carries the domain.",
            show_default=False,
        ),
    ],
    source: Source = None,
    codebook: Codebook = None,
    dataset: options.Dataset = None,
    catalogue: options.Catalogue = None,
    attribute_edits: AttributeEdits,
    label: options.Label = None,
    attributes: Annotated[
        str | None,
        typer.Option(
            help="Attributes to keep, in this order; adult-like among them for those that the Adult data set has.",
            metavar="A,B,...",
            show_default="all",
        ),
    ] = None,
    drop: Annotated[
        Typed,
        typer.Option(help="Attributes to leave out. Repeatable.", metavar="A,B,...", show_default=False),
    ] = None,
    universe: Annotated[
        str | None,
        typer.Option(
            help='Who the persons are: a condition such as "AGE >= 16", or words. It is printed, and not applied to '
            "the rows.",
            metavar="TEXT",
            show_default="as declared",
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit",
            help="Column that names the unit which the guarantee is for in place of one row; several with commas.",
            metavar="COLUMN",
            show_default="as declared",
        ),
    ] = None,
    unit_rows: options.UnitRows = None,
    unit_cap: options.UnitCap = None,
    imputed: options.Imputed = None,
    per_row: Annotated[
        bool,
        typer.Option("--per-row", help="Declare no unit: the guarantee is for one row. Its column stays available."),
    ] = False,
    weight: options.Weight = None,
    weight_cap: options.WeightCap = None,
    weight_step: options.WeightStep = None,
    unweighted: Annotated[
        bool,
        typer.Option("--unweighted", help="Declare no weight: the prior is of rows. The column stays available."),
    ] = False,
    name: Annotated[
        str | None,
        typer.Option(
            help="Name of the data set. Another one has another account in a ledger: it claims other persons.",
            metavar="NAME",
            show_default="as it is",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the entry of this name, or the file X.parquet.")
    ] = False,
) -> None:
    """Change the domain of a file, or take it from a codebook, and write it anew.

    Every option of this verb states a public fact, such as a codebook holds:
    never one that was seen in the rows. No row is read: a copy has the bytes of
    the file, and can be read by its owner alone. A map's codes may be ranges: 10-99.

    \b
    Examples:
      dpnb-columnar domain edit census.parquet --output datasets.toml \\
          --bounds AGE=0:90 --transform WAGE=log1p --missing-values WAGE=999998,999999
      dpnb-columnar domain edit census.parquet --output small.parquet \\
          --merge OCC=occupations.csv --rest Other --drop SERIAL,PERNUM
      dpnb-columnar domain edit census.parquet --output wages.toml \\
          --label "INCWAGE > 1500" --attributes adult-like
      dpnb-columnar domain edit census.parquet --output households.toml \\
          --unit SERIAL --unit-rows 1 --weight PERWT --weight-cap 400
      dpnb-columnar domain edit usa_00001.parquet --codebook usa_00001.xml --output datasets.toml
    """
    from dpnb_columnar.cli.next_commands import training_command
    from dpnb_columnar.datasets.catalogue import check_entry_output, entry_toml, put_entry
    from dpnb_columnar.domain.editing import (
        edit_domain,
        labelled,
        with_imputed,
        with_unit,
        with_weight,
        without_unit,
        without_weight,
    )
    from dpnb_columnar.domain.names import check_dataset
    from dpnb_columnar.domain.words import restricted_to
    from dpnb_columnar.rows.parquet import copy_with_domain

    if output.suffix.lower() not in {".toml", ".parquet"}:
        raise UsageError(f"{output}: end its name in .toml (an entry) or .parquet (a copy of the file)")
    if attribute_edits.rest is not None and not attribute_edits.merge:
        raise UsageError("--rest: names the rest of a map; give --merge as well, or leave it out")
    if per_row and (unit, unit_rows, unit_cap) != (None, None, None):
        raise UsageError("--per-row declares no unit; give no --unit, --unit-rows or --unit-cap beside it")
    if unweighted and (weight, weight_cap, weight_step) != (None, None, None):
        raise UsageError("--unweighted declares no weight; give no --weight, --weight-cap or --weight-step beside it")
    if name is not None:
        check_dataset(name)
    declared = find_source(source, codebook, dataset, catalogue, name)
    is_entry = output.suffix.lower() == ".toml"
    inputs = [Path(each) for each in (source, codebook) if each is not None]
    check_target(output, overwrite or (is_entry and exists(output)), inputs)
    replaced = check_entry_output(output, name or declared.declaration.name, overwrite=overwrite) if is_entry else None
    edits = read_edits(attribute_edits)
    domain = edit_domain(declared.declaration, edits, str(source or declared.origin), name)
    if universe is not None:
        domain = restricted_to(replace(domain, universe=""), universe)
    if label is not None:
        domain = labelled(domain, label)
    domain = _restricted(domain, attributes, [column for text in drop or () for column in comma_separated(text)])
    domain = with_imputed(domain, imputed)
    # Last: --drop frees its column.
    domain = without_unit(domain) if per_row else with_unit(domain, unit, unit_rows, unit_cap)
    domain = without_weight(domain) if unweighted else with_weight(domain, weight, weight_cap, weight_step)
    if source is not None:
        _refuse_absent_columns(source, unit, weight)
    if is_entry:
        entry = entry_toml(domain, other_keys(domain.name, source, declared.entry, replaced))
        put_entry(output, domain.name, entry, overwrite=overwrite)
    elif source is None:
        raise UsageError(f"{output}: name the Parquet file to copy, or end the name in .toml")
    else:
        with stage("copying"):
            copy_with_domain(source, domain, output, overwrite=overwrite)
    if replaced is not None and (declared.entry is None or declared.entry.table != replaced.table):
        print_warning(
            f"note: the entry replaced was not the one edited, which came from {declared.origin}; to edit the entry of "
            f"{output}, name it with --catalogue and --dataset"
        )
    print_line(f"wrote {output}: domain {domain.name}, {len(domain.attributes)} attributes")
    if is_entry:
        print_line(f"train: {training_command(domain, source, output)}")


def _refuse_absent_columns(source: Path, unit: str | None, weight: str | None) -> None:
    """Refuse a unit or a weight, as typed, of a column that the file lacks.

    Raises:
        UsageError: if the file has no such column.
    """
    from dpnb_columnar.domain.editing import unit_columns
    from dpnb_columnar.domain.names import did_you_mean, named
    from dpnb_columnar.rows.parquet import read_schema

    typed = [("--unit", column) for column in (() if unit is None else unit_columns(unit))]
    typed += [("--weight", column) for column in (() if weight is None else (weight,))]
    columns = read_schema(source) if typed else {}
    for given, column in typed:
        if column not in columns:
            hint = did_you_mean(column, columns, f"it has {named(columns)}")
            raise UsageError(f"{given} {excerpt(column)}: {source} has no such column; {hint}")


def _restricted(domain: Declaration, attributes: str | None, drop: list[str]) -> Declaration:
    from dpnb_columnar.domain.editing import select_attributes
    from dpnb_columnar.extracts.codebooks.facts import ADULT_LIKE, adult_like

    named = [] if attributes is None else comma_separated(attributes)
    if ADULT_LIKE not in named:
        return select_attributes(domain, None if attributes is None else named, drop)
    chosen, absent = adult_like([attribute.name for attribute in domain.attributes])
    if not chosen:
        raise UsageError(f"--attributes {ADULT_LIKE}: the domain has none of them; name the attributes to keep")
    if absent:
        print_warning(f"note: no attribute of the domain serves as {', '.join(absent)}")
    place = named.index(ADULT_LIKE)
    return select_attributes(domain, [*named[:place], *chosen, *named[place + 1 :]], drop)
