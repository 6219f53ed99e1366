"""Small raw files in the publishers' form, and what prepare makes of them."""

from __future__ import annotations

import gzip
import hashlib
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from dpnb_columnar.domain.catalogue import CatalogueEntry
from dpnb_columnar.extensions.datasets.datasets import prepare
from support.catalogue_cases import CATALOGUE

ADULT_TRAIN = (
    b"39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, "
    b"United-States, <=50K\n"
    b"50, ?, 83311, Bachelors, 13, Married-civ-spouse, ?, Husband, White, Male, 0, 0, 13, ?, >50K\n\n"
)
ADULT_TEST = (
    b"|1x3 Cross validator\n"
    b"25, Private, 226802, 11th, 7, Never-married, Machine-op-inspct, Own-child, Black, Male, 0, 0, 40, "
    b"Outlying-US(Guam-USVI-etc), <=50K.\n\n"
)
MUSHROOM = b"p,x,s,n,t,p,f,c,n,k,e,e,s,s,w,w,p,w,o,p,k,s,u\ne,f,y,w,f,n,f,c,b,w,t,?,s,s,w,w,p,w,o,p,n,y,d\n"
SKIN = b"74\t85\t123\t1\r\n255\t0\t7\t2\r\n"
SEEDS = b"15.26\t14.84\t0.871\t5.763\t3.312\t2.221\t5.22\t1\n14.88\t14.57\t\t0.8811\t5.554\t3.333\t1.018\t\t4.956\t3"
GLASS = b"1,1.52101,13.64,4.49,1.10,71.78,0.06,8.75,0.00,0.00,1\n214,1.51711,14.23,0,2.08,73.36,0,8.62,1.67,0.00,7\n"
CENSUS_INCOME = (
    b"44, Self-employed-not incorporated, 37, 12, Associates degree-occup /vocational, 0, Not in universe, "
    b"Married-civilian spouse present, Business and repair services, Professional specialty, White, All other, Female, "
    b"Not in universe, Not in universe, PT for econ reasons usually PT, 0, 0, 2500, Joint both under 65, "
    b"Not in universe, Not in universe, Spouse of householder, Spouse of householder, 1462.33, ?, ?, ?, "
    b"Not in universe under 1 year old, ?, 1, Not in universe, United-States, United-States, United-States, "
    b"Native- Born in the United States, 0, Not in universe, 2, 26, 95, 50000+.\n"
)
ACS_HEADER = b"RT,SERIALNO,AGEP,CIT,COW,MAR,RELP,SCHL,SEX,WKHP,WKW,DIS,ESR,HICOV,PINCP,RAC1P\n"
ACS_DELAWARE = b"P,2018GQ0001291,041,1,1,5,00,01,2,40,1,2,1,1,000050001,1\n"
ACS_IDAHO = b"P,2018HU0000007,9,1, ,5,02,03,1,,,2,,1,,9\n".replace(b" ", b"")


def archive(member: str, content: bytes) -> bytes:
    """A zip archive as the Census Bureau's: the persons' CSV and a PDF."""
    from io import BytesIO

    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target:
        for name, data in (("ACS2018_PUMS_README.pdf", b"%PDF"), (member, content)):
            target.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)  # dated 1980, not today
    return stream.getvalue()


def income_frame() -> pl.DataFrame:
    """One row of the ACS income file, its text dictionary-encoded, and a column nobody asked for."""
    domain = CATALOGUE["acs_income_2018"].domain
    row = {attribute.name: attribute.values[0] for attribute in domain.categorical}
    frame = pl.DataFrame(
        {"State": ["Maine/ME"], "Income": [50000.0], "Age": [17.0], **{k: [v] for k, v in row.items()}}
    )
    return frame.with_columns(pl.col(pl.String).cast(pl.Categorical))


def declared(name: str, contents: Mapping[str, bytes], folder: Path) -> CatalogueEntry:
    """The packaged entry of this name with small raw files of its own, written below a folder."""
    checksums = {}
    for relative, content in contents.items():
        checksums[relative] = hashlib.sha256(content).hexdigest()
        path = folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return replace(CATALOGUE[name], table={**CATALOGUE[name].table, "raw": checksums})


def made(name: str, contents: Mapping[str, bytes], folder: Path) -> tuple[int, pl.DataFrame]:
    output = folder / "out.parquet"
    rows = prepare(declared(name, contents, folder), folder, output, overwrite=False)
    return rows, pl.read_parquet(output)
