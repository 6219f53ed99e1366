"""Data dictionaries of the ACS Public Use Microdata Sample: ``PUMS_Data_Dictionary_YEAR.csv`` of the Census Bureau.

::

    NAME,WKHP,N,2,"Usual hours worked per week past 12 months"
    VAL,WKHP,N,2,"bb","bb","N/A (less than 16 years old/did not work during the past 12 months)"
    VAL,WKHP,N,2,"1","98","1 to 98 usual hours"
    VAL,WKHP,N,2,"99","99","99 or more usual hours"

``C`` marks codes and ``N`` amounts; codes that are all whole numbers are numbers here as well (``01`` becomes 1 in the
data). ``b`` stands for a blank. A variable of the housing and of the person file appears twice, and is kept once. The
data is delimited, so no variable has a position.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

from dpnb_columnar.domain.declared_domain import Provenance
from dpnb_columnar.errors import ConfigurationError, Fault, excerpt
from dpnb_columnar.extracts.codebooks.checks import LONGEST_LABEL, check_codebook, inconsistency_error, read_content
from dpnb_columnar.extracts.codebooks.codebook import Code, Codebook, Form, Measure, Variable

COLLECTION = "census.gov"
BUREAU = "U.S. Census Bureau"
PUMS_PAGE = "https://www.census.gov/programs-surveys/acs/microdata.html"
BLANK = re.compile("b+")

ADJUSTED = "ADJINC"
"""Variable of every edition, whose codes are the factors of its years: ``2018 factor (1.013097)``."""

YEAR = re.compile(r"((?:19|20)\d\d) factor\b", re.ASCII)
WHOLE = re.compile(r"-?\d+", re.ASCII)


def read_pums_dictionary(path: Path) -> Codebook:
    """Read a PUMS data dictionary."""
    variables: dict[str, Variable] = {}
    codes: dict[str, list[Code]] = {}
    faults = []
    reader = csv.reader(io.StringIO(read_content(path), newline=""), strict=True)
    last = ""
    try:
        for record in reader:
            match record:
                case ["NAME", name, kind, width, label]:
                    variable = _variable(name, kind, width, label)
                    if variables.setdefault(name, variable) != variable:
                        faults.append(Fault(excerpt(name), f"line {reader.line_num} describes it in another way"))
                    codes[name], last = [], name  # the codes follow, once more where the variable appears again
                case ["VAL", name, _, _, first, end, label] if name == last:
                    codes[name].append(_code(first, end, label))
                case []:
                    continue
                case _:
                    raise _not_a_dictionary(path, reader.line_num)
    except csv.Error:
        raise _not_a_dictionary(path, reader.line_num) from None
    if faults:
        raise inconsistency_error(str(path), faults)
    described = tuple(_with_codes(variable, codes[name]) for name, variable in variables.items())
    name, years = path.name.partition(".")[0], _years(codes.get(ADJUSTED, []))
    sample = f"acs{years}" if years else ""
    book = Codebook(str(path), name, COLLECTION, (), None, described, sample=sample, provenance=_provenance(years))
    return check_codebook(book)


def _years(factors: list[Code]) -> str:
    """Write the years whose amounts are adjusted, such as 2018 or 2014-2018; empty where there are none."""
    years = sorted(year[1] for factor in factors if (year := YEAR.match(factor.label)))
    return "-".join(dict.fromkeys([years[0], years[-1]])) if years else ""


def _provenance(years: str) -> Provenance:
    """Cite the sample as the Census Bureau asks for: by its name, below tables and figures."""
    survey = "American Community Survey"
    sample = " ".join(["PUMS", *years.split()])
    citation = " ".join([*years.split(), survey, "Public Use Microdata Sample"])
    return Provenance(survey, BUREAU, "United States", years, sample, f"Source: {BUREAU}, {citation}", PUMS_PAGE)


def _variable(name: str, kind: str, width: str, label: str) -> Variable:
    return Variable(
        name=name,
        form=Form.NUMBER if kind == "N" else Form.TEXT,
        measure=Measure.CONTINUOUS if kind == "N" else Measure.DISCRETE,
        start=None,
        width=int(width) if re.fullmatch(r"\d{1,4}", width, re.ASCII) else None,
        label=label[:LONGEST_LABEL],
    )


def _code(first: str, end: str, label: str) -> Code:
    value = "" if BLANK.fullmatch(first) else first.rstrip()
    return Code(value, label[:LONGEST_LABEL], "" if end == first else end)


def _with_codes(variable: Variable, codes: list[Code]) -> Variable:
    spelled = [text for code in codes for text in (code.value, code.last) if text]
    whole = bool(spelled) and all(WHOLE.fullmatch(text) for text in spelled)
    return replace(variable, form=Form.NUMBER if whole else variable.form, codes=tuple(codes))


def _not_a_dictionary(path: Path, line: int) -> ConfigurationError:
    return ConfigurationError(
        f"{path}: line {line} is no record of a data dictionary (NAME with 5 fields, or VAL with 7 below its NAME); "
        "give PUMS_Data_Dictionary_YEAR.csv of the Census Bureau"
    )
