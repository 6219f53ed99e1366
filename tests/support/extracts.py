"""Synthetic extracts: their codebooks, their files, and what they say, read line by line in plain Python."""

from __future__ import annotations

import gzip
import re
import zipfile
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from dpnb_columnar.extracts.codebooks.codebook import Codebook, Form, Measure, Variable
from support.codebook_cases import codebook, codes, ddi_of, variable

Value = int | float | str | None

YEAR = variable("YEAR", width=4, measure=Measure.CONTINUOUS)
SEX = variable("SEX", start=4, codes=codes(_1="Male", _2="Female"))
AGE = variable("AGE", start=5, width=3, measure=Measure.CONTINUOUS)
PERWT = variable("PERWT", start=8, width=6, decimals=2, measure=Measure.CONTINUOUS)
TOWN = variable("TOWN", start=14, width=5, form=Form.TEXT)
TOWNSPEOPLE = codebook([YEAR, SEX, AGE, PERWT, TOWN], encoding="iso-8859-1")
"""A rectangular extract: lines of 19 characters."""

PEOPLE = ("20201 34001250Ulm  ", "20202  7000099Köln ", "2020 015-00001     ", "20201   12345612345")
ROWS: tuple[dict[str, Value], ...] = (
    {"YEAR": 2020, "SEX": 1, "AGE": 34, "PERWT": 12.5, "TOWN": "Ulm"},
    {"YEAR": 2020, "SEX": 2, "AGE": 7, "PERWT": 0.99, "TOWN": "Köln"},
    {"YEAR": 2020, "SEX": None, "AGE": 15, "PERWT": -0.01, "TOWN": None},
    {"YEAR": 2020, "SEX": 1, "AGE": None, "PERWT": 1234.56, "TOWN": "12345"},
)
"""What the lines of ``PEOPLE`` say."""

HOUSEHOLDS = codebook(
    [
        variable("RECTYPE", form=Form.TEXT, record_types=("H", "P"), codes=codes(H="Household", P="Person")),
        variable("SERIAL", start=1, width=3, record_types=("H", "P")),
        variable("STATE", start=4, width=2, record_types=("H",), codes=codes(_41="Oregon", _53="Washington")),
        variable("AGE", start=4, width=3, record_types=("P",), measure=Measure.CONTINUOUS),
        variable("SEX", start=7, record_types=("P",), codes=codes(_1="Male", _2="Female")),
    ],
    record_types=("H", "P"),
    record_type_variable="RECTYPE",
)
"""A hierarchical extract: households of 6 characters, persons of 8."""

HOUSES = ("H00141", "P0010341", "P0010072", "H00253", "H003  ", "P003 991", "H00441")
HOUSEHOLD_ROWS: tuple[dict[str, Value], ...] = (
    {"RECTYPE": "P", "SERIAL": 1, "STATE": 41, "AGE": 34, "SEX": 1},
    {"RECTYPE": "P", "SERIAL": 1, "STATE": 41, "AGE": 7, "SEX": 2},
    {"RECTYPE": "P", "SERIAL": 3, "STATE": None, "AGE": 99, "SEX": 1},
)
"""What the lines of ``HOUSES`` say."""


def write_extract(
    path: Path, book: Codebook | None, lines: Sequence[str], *, end: str = "\n", last_end: str | None = None
) -> Path:
    """Write an extract, compressed if its name ends in .gz, and beside it its codebook."""
    encoding = "utf-8" if book is None else book.encoding
    content = (end.join(lines) + (end if last_end is None else last_end)).encode(encoding)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    if book is not None:
        path.with_name(f"{path.name.partition('.')[0]}.xml").write_text(ddi_of(book), encoding="utf-8")
    return path


def value(text: str, declared: Variable) -> Value:
    """What a field says; the reader under test must say the same."""
    if declared.form is Form.TEXT or (not declared.decimals and (declared.width or 0) > 18):
        return text.rstrip(" ") or None
    text = text.strip(" ")
    if not text:
        return None
    assert re.fullmatch("[+-]?[0-9]+", text)
    return float(Decimal(int(text)).scaleb(-declared.decimals)) if declared.decimals else int(text)


def rows_of(book: Codebook, lines: Sequence[str], names: Sequence[str]) -> list[dict[str, Value]]:
    """The rows that the lines of an extract say, one at a time."""
    rows: list[dict[str, Value]] = []
    seen: dict[str, str] = {}
    kinds = book.record_types or ("",)
    for line in lines:
        kind = "" if not book.record_types else _field(line, _variable(book, str(book.record_type_variable), kinds[0]))
        seen[kind] = line
        if kind == kinds[-1]:
            rows.append({name: _innermost(book, seen, name) for name in names})
    return rows


def _innermost(book: Codebook, seen: Mapping[str, str], name: str) -> Value:
    for kind in reversed(book.record_types or ("",)):
        for declared in book.variables:
            if declared.name == name and (not kind or kind in declared.record_types):
                return value(_field(seen[kind], declared), declared)
    raise KeyError(name)


def _variable(book: Codebook, name: str, kind: str) -> Variable:
    return next(found for found in book.variables if found.name == name and kind in found.record_types)


def _field(line: str, declared: Variable) -> str:
    assert declared.width is not None
    return line[declared.start : declared.start + declared.width]


PERSONS = b"RT,SERIALNO,PUMA,AGEP,PWGTP\nP,2018GQ1,00200,041,7\nP,2018HU2,00300,,\n"
"""Persons of an ACS file, which comes without a codebook."""


def archive(path: Path, **members: bytes) -> Path:
    """Write CSV files into a ZIP archive, as publishers do, beside what is no table."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in {"README.pdf": b"%PDF", **{f"{name}.csv": text for name, text in members.items()}}.items():
            target.writestr(name, content)
    return path
