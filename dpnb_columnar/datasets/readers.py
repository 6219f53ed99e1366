"""Readers of raw files as their publishers serve them, one per data set.

A reader returns columns under the names of the catalogue, numbers as numbers and text without padding. It drops no row
and no value: which values are missing or outside the domain is declared by the domain.
"""

from __future__ import annotations

import fnmatch
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.runtime.row_progress import done

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
ACS_PERSONS = "psam_p*.csv"
"""Name of the persons' file in an archive of the Census Bureau."""


def adult(paths: Sequence[Path], columns: Sequence[str]) -> pl.LazyFrame:
    """Read UCI Adult: comma and space; the test part has a ``|`` comment line and labels that end in a full stop."""
    import polars as pl

    text = _delimited(paths, ADULT, comment_prefix="|")
    return text.with_columns(pl.all().str.strip_chars()).with_columns(
        pl.col(ADULT_NUMBERS).cast(pl.Int64), pl.col("income").str.strip_suffix(".")
    )


def mushroom(paths: Sequence[Path], columns: Sequence[str]) -> pl.LazyFrame:
    """Read UCI Mushroom: one letter per field, the class first."""
    return _delimited(paths, MUSHROOM)


def skin(paths: Sequence[Path], columns: Sequence[str]) -> pl.LazyFrame:
    """Read UCI Skin segmentation: four whole numbers, tabs, lines that end in CRLF."""
    import polars as pl

    numbers = _delimited(paths, SKIN, separator="\t").with_columns(pl.all().str.strip_chars())
    return numbers.with_columns(pl.all().cast(pl.Int64))


def seeds(paths: Sequence[Path], columns: Sequence[str]) -> pl.LazyFrame:
    """Read UCI Seeds: fields separated by runs of white space (some lines hold a double tab)."""
    import polars as pl

    rows = [line.split() for path in paths for line in path.read_text(encoding="ascii").splitlines() if line.strip()]
    text = pl.LazyFrame(rows, schema=dict.fromkeys(SEEDS, pl.String), orient="row")
    return text.with_columns(pl.col(SEEDS[:-1]).cast(pl.Float64), pl.col(SEEDS[-1]).cast(pl.Int64))


def glass(paths: Sequence[Path], columns: Sequence[str]) -> pl.LazyFrame:
    """Read UCI Glass: commas; the running number in front follows the class, so it is left out."""
    import polars as pl

    text = _delimited(paths, GLASS).drop("id")
    return text.with_columns(pl.col(GLASS[1:-1]).cast(pl.Float64), pl.col("type").cast(pl.Int64))


def census_income(paths: Sequence[Path], columns: Sequence[str]) -> pl.LazyFrame:
    """Read UCI Census-Income (KDD): comma and space, labels that end in a full stop."""
    import polars as pl

    text = _delimited(paths, CENSUS_INCOME).with_columns(pl.all().str.strip_chars())
    return text.with_columns(pl.col(CENSUS_INCOME_NUMBERS).cast(pl.Int64), pl.col("class").str.strip_suffix("."))


def acs_persons(paths: Sequence[Path], columns: Sequence[str]) -> pl.LazyFrame:
    """Read ACS PUMS: one archive per state with a persons' CSV; codes become whole numbers, blanks become null.

    One state is decoded at a time, and only the columns wanted are kept (the file has 286).
    """
    import polars as pl

    states = []
    for path in paths:
        with zipfile.ZipFile(path) as archive:
            for member in fnmatch.filter(archive.namelist(), ACS_PERSONS):
                content = archive.read(member)
                whole = dict.fromkeys(columns, pl.Int64)
                states.append(pl.read_csv(content, columns=list(columns), schema_overrides=whole))
        done(path.stat().st_size)
    return pl.concat(states).lazy()


def parquet(paths: Sequence[Path], columns: Sequence[str]) -> pl.LazyFrame:
    """Read the columns wanted of Parquet files; dictionary-encoded text becomes plain text."""
    import polars as pl

    return pl.scan_parquet(list(paths), glob=False).select(columns).with_columns(pl.col(pl.Categorical).cast(pl.String))


READERS: dict[str, Reader] = {
    "adult": adult,
    "mushroom": mushroom,
    "skin": skin,
    "seeds": seeds,
    "glass": glass,
    "census-income": census_income,
    "census-income-no-recodes": census_income,
    "acs2018": acs_persons,
    "acs_income_2018": parquet,
}
"""Reader of each data set that has raw files, by its name in the catalogue."""


def _delimited(
    paths: Sequence[Path], names: Sequence[str], separator: str = ",", comment_prefix: str | None = None
) -> pl.LazyFrame:
    """Read files without a header line, one after the other, every field as text; ``.gz`` is decompressed.

    An empty line (Adult's files end in one) is no row.
    """
    import polars as pl

    lines = pl.scan_csv(
        list(paths),
        has_header=False,
        schema=dict.fromkeys(names, pl.String),
        separator=separator,
        comment_prefix=comment_prefix,
        quote_char=None,
    )
    return lines.filter(~pl.all_horizontal(pl.all().is_null()))
