"""The entries of the packaged catalogue agree with each other and with the publishers' documentation."""

from __future__ import annotations

import csv
import gzip
from fractions import Fraction
from pathlib import Path

import pytest
from support.catalogue_cases import CATALOGUE, CENSUS_1940, SHAPES, published

from dpnb_columnar.domain import Categorical, Missing, Numeric
from dpnb_columnar.domain.declaration_document import document_of
from dpnb_columnar.extensions.datasets.prepare import READERS, checksum


def test_catalogue_holds_the_declared_data_sets() -> None:
    assert set(CATALOGUE) == set(SHAPES)


@pytest.mark.parametrize("name", SHAPES)
def test_every_domain_reads_without_fault(name: str) -> None:
    domain = CATALOGUE[name].domain
    assert (len(domain.numeric), len(domain.categorical), len(domain.classes)) == SHAPES[name]
    assert CATALOGUE[name].title != name
    assert CATALOGUE[name].source


@pytest.mark.parametrize("name", SHAPES)
def test_every_entry_claims_its_own_file_and_no_other(name: str) -> None:
    claiming = [entry.name for entry in CATALOGUE.values() if entry.claims(Path(f"{name}_2.parquet"))]
    assert claiming == [name]


def test_entries_with_raw_files_have_a_reader_and_a_checksum() -> None:
    assert {name for name, entry in CATALOGUE.items() if entry.raw} == set(READERS)
    for entry in CATALOGUE.values():
        for relative, declared in entry.raw.items():
            assert len(declared) == 64
            assert int(declared, 16)
            assert not Path(relative).is_absolute()
            assert ".." not in Path(relative).parts


def test_simulated_census_has_the_domain_of_the_real_one() -> None:
    real, simulated = CATALOGUE["ipums1940"].domain, CATALOGUE["census_simulated"].domain
    assert document_of(real) == document_of(simulated)
    assert tuple(attribute.name for attribute in real) == CENSUS_1940
    assert real.columns == ("INCWAGE", *CENSUS_1940)
    assert real.label.missing_values == ("999998", "999999")


def test_rules_for_missing_values_are_declared() -> None:
    stalk_root = CATALOGUE["mushroom"].domain["stalk-root"]
    assert isinstance(stalk_root, Categorical)
    assert (stalk_root.missing, stalk_root.missing_values, stalk_root.size) == (Missing.CATEGORY, ("?",), 7)
    adult, acs = CATALOGUE["adult"].domain, CATALOGUE["acs2018"].domain
    assert {attribute.missing_values for attribute in adult.row_dropping} == {("?",)}
    assert [attribute.name for attribute in adult.row_dropping] == ["workclass", "occupation", "native-country"]
    assert [attribute.name for attribute in acs.row_dropping] == ["WKHP", "COW", "SCHL", "ESR", "WKW"]
    age = CATALOGUE["ipums1940"].domain["AGE"]
    assert isinstance(age, Numeric)
    assert age.missing_values == (Fraction(999),)


def test_adult_lists_are_those_of_its_description() -> None:
    lines = published("adult/adult.names").read_text(encoding="ascii").splitlines()
    listed = {
        name: [value.strip() for value in values.rstrip(".").split(",")]
        for name, values in (line.split(":", 1) for line in lines if line and not line.startswith("|") and ":" in line)
    }
    domain = CATALOGUE["adult"].domain
    assert {attribute.name for attribute in domain} == set(listed)
    for attribute in domain:
        expected = list(attribute.values) if isinstance(attribute, Categorical) else ["continuous"]
        assert listed[attribute.name] == expected
    education, number = domain["education"], domain["education-num"]
    assert isinstance(education, Categorical)
    assert isinstance(number, Numeric)
    assert number.upper == education.size


def test_census_income_lists_are_those_of_its_description() -> None:
    lines = published("census_income_kdd/census-income.names").read_text(encoding="ascii").splitlines()
    listed = {
        name: {value.strip() for value in values.strip().removesuffix(".").split(",")}
        for name, values in (line.split(":", 1) for line in lines if line and not line.startswith("|") and ":" in line)
    }
    domain = CATALOGUE["census-income"].domain
    assert {attribute.name for attribute in domain} == set(listed) - {"instance weight"}
    for attribute in domain.numeric:
        assert listed[attribute.name] == {"continuous"}
    for attribute in domain.categorical:
        assert {*attribute.values, *attribute.missing_values} - {"?"} == listed[attribute.name]
        assert len(set(attribute.values)) == len(attribute.values)
        assert (attribute.missing is Missing.CATEGORY) == bool(attribute.missing_values)


def test_census_income_without_recodes_declares_the_same_attributes() -> None:
    full, rest = CATALOGUE["census-income"], CATALOGUE["census-income-no-recodes"]
    assert (rest.raw, rest.rows, rest.domain.label) == (full.raw, full.rows, full.domain.label)
    assert all(attribute == full.domain[attribute.name] for attribute in rest.domain)


def pums_dictionary() -> dict[str, tuple[list[tuple[str, str]], str]]:
    """Of each variable of the PUMS data dictionary: (lowest code, label) of each line, and its description."""
    path = published("acs_pums_2018/PUMS_Data_Dictionary_2018.csv.gz")
    assert checksum(path) == "81186ab76bd469568549590d4da121bcf50c778a9c1b82f6d00d37b23142fec3"
    found: dict[str, tuple[list[tuple[str, str]], str]] = {}
    with gzip.open(path, "rt", encoding="utf-8-sig", newline="") as stream:
        for row in csv.reader(stream):
            if row and row[0] == "NAME":
                found.setdefault(row[1], ([], row[4]))
            elif row and row[0] == "VAL" and (row[4], row[6]) not in found[row[1]][0]:
                found[row[1]][0].append((row[4], row[6]))
    return found


def test_acs_lists_are_those_of_the_data_dictionary() -> None:
    dictionary = pums_dictionary()
    for attribute in CATALOGUE["acs2018"].domain.categorical:
        codes = [code for code, _ in dictionary[attribute.name][0] if set(code) != {"b"}]
        assert [str(int(code)) for code in codes] == list(attribute.values), attribute.name


def test_acs_income_labels_are_those_of_the_data_dictionary() -> None:
    labels: dict[str, list[str]] = {}
    for values, description in pums_dictionary().values():  # RAC2P and RAC3P repeat the description of RAC1P
        labels.setdefault(description, [label for _, label in values])
    renamed = {
        "Workclass": "Class of worker",
        "Education": "Educational attainment",
        "Marital Status": "Marital status",
        "Division": "Division code based on 2010 Census definitions",
        "Gender": "Sex",
        "Race": "Recoded detailed race code",
        "Mobility status": "Mobility status (lived here 1 year ago)",
    }
    for attribute in CATALOGUE["acs_income_2018"].domain.categorical:
        documented = labels[renamed.get(attribute.name, attribute.name)]
        kept = [label for label in documented if not label.startswith("N/A") or "speaks only English" in label]
        assert kept == list(attribute.values), attribute.name


def test_census_1940_lists_are_those_of_the_codebook() -> None:
    lines = published("ipums1940_layout.tsv").read_text(encoding="utf-8").splitlines()
    layout = {row["name"]: row for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)}
    domain = CATALOGUE["ipums1940"].domain
    assert set(domain.columns) <= set(layout)
    for attribute in domain.categorical:
        codes = [str(int(part.split("=")[0])) for part in layout[attribute.name]["codes"].split("|")]
        assert codes == [*attribute.missing_values, *attribute.values], attribute.name
    for numeric in domain.numeric:
        assert numeric.upper < 10 ** int(layout[numeric.name]["width"])
