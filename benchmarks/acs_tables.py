"""Make tables of the ACS 2018 that differ by their label: persons of 16 and over, of the five states of ``acs2018``.

Usage: python -m benchmarks.acs_tables RAW LABEL... [--output FOLDER]

RAW is the folder that ``datasets prepare acs2018`` reads, with ``acs_pums_2018/PUMS_Data_Dictionary_2018.csv.gz``
beside the states. LABEL is a variable, such as RAC1P, or a condition: "PINCP > 50000" is the income that
docs/journal/peers.md predicts, "SCHL >= 21" a bachelor's degree, "PAP > 0" public assistance. A file is named by the
columns of its label, ``acs_pincp.parquet``, and carries its domain. The label's columns are no attributes.

All values and bounds are the data dictionary's. Occupation (OCCP, 530 codes) and industry (INDP, 270) are attributes,
for lists as long as a census has them; where the dictionary has a blank, to be missing is a category.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import polars as pl

from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.catalogue import entry_named
from dpnb_columnar.domain.declaration import domain_metadata
from dpnb_columnar.domain.editing import labelled
from dpnb_columnar.errors import DataError
from dpnb_columnar.extensions.datasets.datasets import acs_persons, checksum, raw_files, verify
from dpnb_columnar.extracts.codebooks.read import read_codebook
from dpnb_columnar.extracts.codebooks.to_domain import domain_of

DICTIONARY = "acs_pums_2018/PUMS_Data_Dictionary_2018.csv.gz"
DICTIONARY_DIGEST = "81186ab76bd469568549590d4da121bcf50c778a9c1b82f6d00d37b23142fec3"
"""SHA-256 of the uncompressed dictionary."""

ATTRIBUTES = (
    *("AGEP", "WKHP", "COW", "SCHL", "MAR", "OCCP", "INDP", "RELP", "RAC1P", "SEX", "CIT", "ESR", "WKW", "DIS"),
    *("HICOV", "MIL"),
)
LABELS_ALONE = ("PINCP", "PAP", "JWTR", "NATIVITY", "PUBCOV", "POBP", "FER")
"""Variables that a label may be made of, but which are no attributes."""

ADULT = 16
"""Years from which on the ACS asks about work."""


def main() -> None:
    """Write a file per label."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("raw", type=Path)
    parser.add_argument("label", nargs="+")
    parser.add_argument("--output", type=Path, default=Path(), help="folder of the files")
    options = parser.parse_args()
    rows = adults(options.raw)
    options.output.mkdir(parents=True, exist_ok=True)
    for label in options.label:
        domain = labelled_domain(options.raw, label)
        path = options.output / f"{domain.name}.parquet"
        rows.select(domain.counted_columns).write_parquet(path, metadata=domain_metadata(domain))
        print(f"{path}: {len(rows):,} rows, {len(domain.attributes)} attributes, {len(domain.classes)} classes")


def adults(raw: Path) -> pl.DataFrame:
    """Read the persons of 16 and over, every variable that a table may have.

    Raises:
        MissingInputError: if a file of a state is not there.
        DataError: if it is not the one that the catalogue names.
    """
    entry = entry_named("acs2018")
    paths = raw_files(entry, raw)
    verify(entry, paths)
    return acs_persons(paths, [*ATTRIBUTES, *LABELS_ALONE]).filter(pl.col("AGEP") >= ADULT).collect()


def labelled_domain(raw: Path, label: str) -> Domain:
    """Declare a table by the data dictionary.

    Args:
        raw: Folder of the raw files.
        label: A variable or a condition.

    Raises:
        MissingInputError: if the dictionary is not there.
        DataError: if it is another edition.
        UsageError: if the label is neither, or of a variable that is not read.
    """
    dictionary = raw / DICTIONARY
    if checksum(dictionary) != DICTIONARY_DIGEST:
        raise DataError(f"{dictionary}: not the edition of 2018 whose SHA-256 is {DICTIONARY_DIGEST}")
    declared, _ = domain_of(read_codebook(dictionary), [*ATTRIBUTES, *LABELS_ALONE])
    whole = labelled(declared, label)
    attributes = tuple(each for each in whole.attributes if each.name in ATTRIBUTES)
    words = {name: of for name, of in whole.value_labels.items() if name not in LABELS_ALONE or name in whole.columns}
    name = "_".join(["acs", *(column.lower() for column in whole.label.columns)])
    return replace(whole, name=name, attributes=attributes, value_labels=words)


if __name__ == "__main__":
    main()
