"""``dpnb-columnar datasets``: what the catalogues declare, and raw files, verified and written as one Parquet file.

A reader drops no row and no value: which values are missing or outside the domain is declared by the domain.
"""

from __future__ import annotations

import fnmatch
import gzip
import hashlib
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, cast

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import print_line, print_table, stage
from dpnb_columnar.cli.main import PlainCommand, PlainGroup
from dpnb_columnar.domain.catalogue import CatalogueEntry, entries, entry_named
from dpnb_columnar.domain.declaration import domain_metadata
from dpnb_columnar.errors import DataError, MissingInputError, command
from dpnb_columnar.extracts.extract_files import ACS_PERSONS
from dpnb_columnar.runtime.outputs import atomic_output, check_output, check_parquet, opened
from dpnb_columnar.runtime.row_progress import report_work, track_work
from dpnb_columnar.runtime.unfinished import is_file, write_error

if TYPE_CHECKING:
    import polars as pl


Reader = Callable[[Sequence[Path], Sequence[str]], "pl.LazyFrame"]
"""Function of the raw files, in the order of the catalogue, and the columns wanted, to a lazy frame that has these."""

ADULT_NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
ADULT = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"),
    *("race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"),
)
MUSHROOM = (
    *("class", "cap-shape", "cap-surface", "cap-color", "bruises", "odor", "gill-attachment", "gill-spacing"),
    *("gill-size", "gill-color", "stalk-shape", "stalk-root", "stalk-surface-above-ring", "stalk-surface-below-ring"),
    *("stalk-color-above-ring", "stalk-color-below-ring", "veil-type", "veil-color", "ring-number", "ring-type"),
    *("spore-print-color", "population", "habitat"),
)
SKIN = ("B", "G", "R", "skin")
SEEDS = ("area", "perimeter", "compactness", "length", "width", "asymmetry", "groove", "variety")
GLASS = ("id", "RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe", "type")
CENSUS_INCOME_NUMBERS = (
    *("age", "detailed industry recode", "detailed occupation recode", "wage per hour", "capital gains"),
    *("capital losses", "dividends from stocks", "num persons worked for employer", "own business or self employed"),
    *("veterans benefits", "weeks worked in year", "year"),
)
CENSUS_INCOME = (
    *("age", "class of worker", "detailed industry recode", "detailed occupation recode", "education"),
    *("wage per hour", "enroll in edu inst last wk", "marital stat", "major industry code", "major occupation code"),
    *("race", "hispanic origin", "sex", "member of a labor union", "reason for unemployment"),
    *("full or part time employment stat", "capital gains", "capital losses", "dividends from stocks"),
    *("tax filer stat", "region of previous residence", "state of previous residence"),
    *("detailed household and family stat", "detailed household summary in household", "instance weight"),
    *("migration code-change in msa", "migration code-change in reg", "migration code-move within reg"),
    *("live in this house 1 year ago", "migration prev res in sunbelt", "num persons worked for employer"),
    *("family members under 18", "country of birth father", "country of birth mother", "country of birth self"),
    *("citizenship", "own business or self employed", "fill inc questionnaire for veteran's admin"),
    *("veterans benefits", "weeks worked in year", "year", "class"),
)


@dataclass(frozen=True, slots=True)
class Delimited:
    """A reader of UCI's files without a header line; labels in their last column may end in a full stop."""

    names: tuple[str, ...]
    whole: tuple[str, ...] = ()
    decimal: tuple[str, ...] = ()
    separator: str = ","
    comment: str | None = None

    def __call__(self, paths: Sequence[Path], columns: Sequence[str]) -> pl.LazyFrame:
        import polars as pl

        lines = pl.scan_csv(
            list(paths),
            has_header=False,
            schema=dict.fromkeys(self.names, pl.String),
            separator=self.separator,
            comment_prefix=self.comment,
            quote_char=None,
        )
        lines = lines.filter(~pl.all_horizontal(pl.all().is_null()))  # Adult's files end in an empty line
        return lines.with_columns(pl.all().str.strip_chars()).with_columns(
            pl.col(self.whole).cast(pl.Int64),
            pl.col(self.decimal).cast(pl.Float64),
            pl.col({self.names[-1]} - {*self.whole}).str.strip_suffix("."),
        )


def seeds(paths: Sequence[Path], columns: Sequence[str]) -> pl.LazyFrame:
    """Read UCI Seeds: fields separated by runs of white space (some lines hold a double tab)."""
    import polars as pl

    rows = [line.split() for path in paths for line in path.read_text(encoding="ascii").splitlines() if line.strip()]
    text = pl.LazyFrame(rows, schema=dict.fromkeys(SEEDS, pl.String), orient="row")
    return text.with_columns(pl.col(SEEDS[:-1]).cast(pl.Float64), pl.col(SEEDS[-1]).cast(pl.Int64))


def acs_persons(paths: Sequence[Path], columns: Sequence[str]) -> pl.LazyFrame:
    """Read ACS PUMS: one archive per state with a persons' CSV; codes become whole numbers, blanks become null."""
    import polars as pl

    states = []
    for path in paths:
        with zipfile.ZipFile(path) as archive:
            for member in fnmatch.filter(archive.namelist(), ACS_PERSONS):
                content = archive.read(member)
                whole = dict.fromkeys(columns, pl.Int64)
                states.append(pl.read_csv(content, columns=list(columns), schema_overrides=whole))
        report_work(path.stat().st_size)
    return pl.concat(states).lazy()


def parquet(paths: Sequence[Path], columns: Sequence[str]) -> pl.LazyFrame:
    """Read the columns wanted of Parquet files; dictionary-encoded text becomes plain text."""
    import polars as pl

    return pl.scan_parquet(list(paths), glob=False).select(columns).with_columns(pl.col(pl.Categorical).cast(pl.String))


census_income = Delimited(CENSUS_INCOME, CENSUS_INCOME_NUMBERS)
READERS: dict[str, Reader] = {
    "adult": Delimited(ADULT, ADULT_NUMBERS, comment="|"),  # the test part begins with a line of comment
    "mushroom": Delimited(MUSHROOM),
    "skin": Delimited(SKIN, SKIN, separator="\t"),
    "seeds": seeds,
    "glass": Delimited(GLASS, GLASS[-1:], GLASS[1:-1]),
    "census-income": census_income,
    "census-income-no-recodes": census_income,
    "acs2018": acs_persons,
    "acs_income_2018": parquet,
}
"""Reader of each data set that has raw files, by its name in the catalogue."""

PIECE = 2**20
"""Bytes of a file that are verified at a time."""

COMPRESSED = ".gz"
"""A file with this ending is verified by the checksum of its content, which recompressing does not change."""

MADE_ELSEWHERE = {
    "census_simulated": "it is simulated: make it with `{simulate}`",
    "ipums1940": "IPUMS does not allow its redistribution: obtain the 1940 full count from https://usa.ipums.org "
    "as Parquet",
}
"""How to get the data sets that have no raw files; ``{simulate}`` stands for a command."""


def prepare(entry: CatalogueEntry, folder: Path, output: Path, *, overwrite: bool) -> int:
    """Verify the entry's raw files in a folder, write them as Parquet that carries the domain, and count its rows."""
    import polars as pl

    columns = entry.declared.counted_columns
    check_output(output, overwrite)
    if not entry.raw or entry.name not in READERS:
        remedy = MADE_ELSEWHERE.get(entry.name, f"prepare reads {', '.join(READERS)}; bring this one as Parquet")
        remedy = remedy.format(simulate=command("simulate", "OUT.parquet"))
        raise MissingInputError(
            f"{entry.name}: no raw files to prepare it from: {remedy}, with the columns {', '.join(columns)}"
        )
    paths = raw_files(entry, folder)
    # Every byte is read twice, to be verified and to be converted.
    with track_work(2 * sum(path.stat().st_size for path in paths), "bytes"):
        verify(entry, paths)
        with atomic_output(output, overwrite=overwrite) as partial:
            _convert(entry, paths, columns, partial)
            try:
                return int(pl.scan_parquet(partial, glob=False).select(pl.len()).collect().item())
            except (pl.exceptions.PolarsError, OSError) as error:
                raise write_error(output, error) from None


def _convert(entry: CatalogueEntry, paths: Sequence[Path], columns: Sequence[str], partial: Path) -> None:
    """Write the wanted columns, in the order of the raw files; Polars' own message may quote a value of a row."""
    import polars as pl

    try:
        frame = READERS[entry.name](paths, columns)
        ordered = [name for name in frame.collect_schema() if name in columns]
        if absent := [name for name in columns if name not in ordered]:
            raise DataError(f"{entry.name}: the raw files have no column {', '.join(absent)}; found {ordered}")
        with opened(partial) as file:
            frame.select(ordered).sink_parquet(file, metadata=domain_metadata(entry.declared))
    except (pl.exceptions.PolarsError, zipfile.BadZipFile, ValueError) as error:
        problem = f"not in the form that the reader of {entry.name} expects ({type(error).__name__})"
        raise DataError(f"{', '.join(map(str, paths))}: {problem}; compare with: {entry.source}") from None


def raw_files(entry: CatalogueEntry, folder: Path) -> tuple[Path, ...]:
    """Find the entry's raw files, in the order of the catalogue; ``name.gz`` may be there uncompressed."""
    found, absent = [], []
    for relative, digest in entry.raw.items():
        path = folder / relative
        candidates = [path, path.with_suffix("")] if path.suffix == COMPRESSED else [path]
        present = [candidate for candidate in candidates if is_file(candidate)]
        found += present[:1]
        absent += [] if present else [f"{path} (SHA-256 {digest})"]
    if absent:
        raise MissingInputError(
            f"{entry.name}: raw files are not there: {', '.join(absent)}; put them there, or name another folder; "
            f"source: {entry.source}"
        )
    return tuple(found)


def verify(entry: CatalogueEntry, paths: Sequence[Path]) -> None:
    """Verify the checksums of the entry's raw files."""
    for path, expected in zip(paths, entry.raw.values(), strict=True):
        if (actual := checksum(path)) != expected.lower():
            raise DataError(
                f"{path}: not the file that {entry.name} declares: expected SHA-256 {expected}, found {actual}; "
                f"get the file again, from: {entry.source}"
            )


def checksum(path: Path) -> str:
    """Compute the hexadecimal SHA-256 of a file, of the uncompressed content where the name ends in ``.gz``."""
    try:
        with path.open("rb") as disk:
            digest, read = hashlib.sha256(), 0
            stream = cast(IO[bytes], gzip.GzipFile(fileobj=disk) if path.suffix == COMPRESSED else disk)
            while piece := stream.read(PIECE):
                digest.update(piece)
                report_work(disk.tell() - read)
                read = disk.tell()
            return digest.hexdigest()
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise DataError(f"{path}: not a complete gzip file; get it again") from None
    except OSError as error:
        raise MissingInputError(f"{path}: cannot be read: {error.strerror}") from None


app = typer.Typer(
    cls=PlainGroup,
    help="List the data sets of datasets.toml, prepare raw files.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command("list", cls=PlainCommand)
def show(
    catalogue: Annotated[
        Path | None,
        typer.Argument(
            help="The one catalogue to list.",
            metavar="FILE",
            show_default="datasets.toml in the working directory, then the packaged one",
        ),
    ] = None,
) -> None:
    """List the declared data sets, the working directory's first.

    \b
    Examples:
      dpnb-columnar datasets list
    """
    from dpnb_columnar.domain import Domain, Numeric

    rows = []
    for entry in entries(catalogue):
        domain = entry.declared
        numeric = sum(isinstance(attribute, Numeric) for attribute in domain.attributes)
        classes = len(domain.classes) if isinstance(domain, Domain) else 0
        size = (numeric, len(domain.attributes) - numeric, classes)
        rows.append([entry.name, *size, "yes" if entry.raw else "", entry.title])
    print_table(["name", "numeric", "categorical", "classes", "prepare", "title"], rows)


@app.command("prepare", cls=PlainCommand)
def prepare_command(
    name: Annotated[
        str, typer.Argument(help="Entry of datasets.toml, or FILE.toml:NAME.", metavar="NAME", show_default=False)
    ],
    folder: Annotated[Path, typer.Option("--from", help="Folder with the raw files.", show_default=False)],
    output: Annotated[Path | None, typer.Option(help="Parquet file to write.", show_default="NAME.parquet")] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Turn verified raw files into one Parquet file.

    Raw files are checked against the entry's checksums; the result carries the
    entry's domain.

    \b
    Examples:
      dpnb-columnar datasets prepare adult --from downloads
      dpnb-columnar datasets prepare acs2018 --from downloads --output acs.parquet
    """
    entry = entry_named(name)
    target = output or Path(f"{entry.name}.parquet")
    check_parquet(target)
    with stage(f"preparing {entry.name}"):
        rows = prepare(entry, folder, target, overwrite=overwrite)
    print_line(f"wrote {target}: {rows} rows, checksums verified")
