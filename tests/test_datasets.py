"""The packaged catalogue, the domain in a file's metadata, and raw files made into Parquet.

Tests of the published files run where these lie in ``$DPNB_DATA`` or in ``../shared/data`` beside the project; all
others make their own raw files, in the publishers' form.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import importlib
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from dpnb_columnar.datasets import Prepared, prepare
from dpnb_columnar.datasets.raw import checksum
from dpnb_columnar.datasets.readers import READERS
from dpnb_columnar.domain import Categorical, Domain, Missing, Numeric, digest, document_of
from dpnb_columnar.domain.catalogue import Entry, read_catalogue
from dpnb_columnar.domain.metadata import DOMAIN_KEY, domain_from_metadata, domain_metadata
from dpnb_columnar.errors import ConfigurationError, DataError, DomainError, MissingInputError, OutputError
from dpnb_columnar.resources import resource

DATA = Path(os.environ.get("DPNB_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
CATALOGUE = {entry.name: entry for entry in read_catalogue(resource("datasets.toml"))}

CENSUS_1940 = (
    *("AGE", "HRSWORK1", "WKSWORK1", "SEI", "SEX", "RACE", "MARST", "RELATE", "EDUC", "CLASSWKR", "NATIVITY"),
    *("URBAN", "EMPSTAT"),
)
SHAPES = {
    # name: (numeric attributes, categorical attributes, classes)
    "adult": (6, 8, 2),
    "mushroom": (0, 22, 2),
    "skin": (3, 0, 2),
    "seeds": (7, 0, 3),
    "glass": (9, 0, 7),
    "acs2018": (2, 11, 2),
    "acs_income_2018": (1, 14, 2),
    "ipums1940": (4, 9, 2),
    "census_simulated": (4, 9, 2),
}


def published(relative: str) -> Path:
    """A published file; the test is skipped where it is not at hand."""
    path = DATA / relative
    if not path.is_file():
        pytest.skip(f"{path} is not there; name the folder of the published files in DPNB_DATA")
    return path


def kept(attribute: Numeric | Categorical) -> pl.Expr:
    """Whether a value leaves its row in, by the rules of the domain and independent of the package's own code."""
    column = pl.col(attribute.name)
    if isinstance(attribute, Numeric):
        missing = column.cast(pl.Float64).is_in([float(value) for value in attribute.missing_values])
        return column.is_not_null() & ~missing
    text = column.cast(pl.String)
    listed = text.is_in(list(attribute.values)).fill_null(False)
    if attribute.missing is Missing.CATEGORY:
        return listed | text.is_null() | text.is_in(list(attribute.missing_values))
    return listed


def outside(frame: pl.DataFrame, domain: Domain) -> int:
    """Rows that the domain drops."""
    rules = [kept(attribute) for attribute in domain]
    if domain.label.column is not None:
        rules.append(pl.col(domain.label.column).cast(pl.String).is_in(list(domain.classes)).fill_null(False))
    else:
        rules.extend(pl.col(column).is_not_null() for column in domain.label.columns)
    return frame.filter(~pl.all_horizontal(rules)).height


# --- the packaged catalogue ---------------------------------------------------------------------------------------


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
    unknown = [a.name for a in CATALOGUE["adult"].domain.categorical if a.missing_values == ("?",)]
    assert unknown == ["workclass", "occupation", "native-country"]
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


# --- the domain in a file's metadata ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHAPES)
def test_domain_survives_its_metadata(name: str) -> None:
    domain = CATALOGUE[name].domain
    metadata = domain_metadata(domain)
    assert list(metadata) == ["dpnb_columnar.domain"]
    found = domain_from_metadata({"ARROW:schema": "...", **metadata}, "x.parquet")
    assert found == domain
    assert digest(found) == digest(domain)


def test_text_outside_ascii_survives_metadata() -> None:
    domain = replace(CATALOGUE["skin"].domain, name='Haut "β"')
    assert domain_from_metadata(domain_metadata(domain), "x.parquet") == domain


def test_no_metadata_no_domain() -> None:
    assert domain_from_metadata({}, "x.parquet") is None
    assert domain_from_metadata({"pandas": "{}"}, "x.parquet") is None


def handwritten(step: str) -> str:
    """A declaration with a step written as a JSON number."""
    return (
        '{"name": "hand", "label": {"column": "y", "classes": ["a", "b"]}, '
        f'"attributes": {{"x": {{"lower": 0, "upper": 1, "step": {step}}}}}}}'
    )


def test_decimals_in_metadata_are_exact() -> None:
    found = domain_from_metadata({DOMAIN_KEY: handwritten("0.1")}, "x.parquet")
    assert found is not None
    attribute = found["x"]
    assert isinstance(attribute, Numeric)
    assert attribute.step == Fraction(1, 10)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a JSON declaration"),
        ("{", "not a JSON declaration"),
        ("[" * 100_000, "not a JSON declaration"),
        ('{"a":' * 100_000, "not a JSON declaration"),
        (handwritten("NaN"), "NaN is not a number"),
        (handwritten("Infinity"), "Infinity is not a number"),
        (handwritten("9" * 5000), "not a JSON declaration"),
        ('{"name": "a", "name": "b"}', "'name' is repeated"),
        ("[]", "expected a JSON object"),
        ("null", "expected a JSON object"),
        ('"adult"', "expected a JSON object"),
        ("{}", "expected a name"),
        ('{"name": 7}', "expected a name"),
        ('{"name": ""}', "expected a name"),
    ],
)
def test_malformed_metadata_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason) as caught:
        domain_from_metadata({DOMAIN_KEY: text}, "x.parquet")
    assert str(caught.value).startswith("x.parquet: metadata 'dpnb_columnar.domain'")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("text", ['{"name": "x"}', '{"name": "x", "label": [], "attributes": 3}', handwritten("0.3")])
def test_faulty_declaration_in_metadata_is_refused_with_its_faults(text: str) -> None:
    with pytest.raises(DomainError, match=r"x\.parquet") as caught:
        domain_from_metadata({DOMAIN_KEY: text}, "x.parquet")
    assert caught.value.faults


# --- raw files in the publishers' form ----------------------------------------------------------------------------

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
ACS_HEADER = b"RT,SERIALNO,AGEP,CIT,COW,MAR,RELP,SCHL,SEX,WKHP,WKW,DIS,ESR,HICOV,PINCP,RAC1P\n"
ACS_DELAWARE = b"P,2018GQ0001291,041,1,1,5,00,01,2,40,1,2,1,1,000050001,1\n"
ACS_IDAHO = b"P,2018HU0000007,9,1, ,5,02,03,1,,,2,,1,,9\n".replace(b" ", b"")


def archive(member: str, content: bytes) -> bytes:
    """A zip archive as the Census Bureau's: the persons' CSV and a PDF."""
    from io import BytesIO

    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("ACS2018_PUMS_README.pdf", b"%PDF")
        target.writestr(member, content)
    return stream.getvalue()


def income_frame() -> pl.DataFrame:
    """One row of the ACS income file, its text dictionary-encoded, and a column nobody asked for."""
    domain = CATALOGUE["acs_income_2018"].domain
    row = {attribute.name: attribute.values[0] for attribute in domain.categorical}
    frame = pl.DataFrame(
        {"State": ["Maine/ME"], "Income": [50000.0], "Age": [17.0], **{k: [v] for k, v in row.items()}}
    )
    return frame.with_columns(pl.col(pl.String).cast(pl.Categorical))


def declared(name: str, contents: Mapping[str, bytes], folder: Path) -> Entry:
    """The packaged entry of this name with small raw files of its own, written below a folder."""
    checksums = {}
    for relative, content in contents.items():
        checksums[relative] = hashlib.sha256(content).hexdigest()
        path = folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return replace(CATALOGUE[name], table={**CATALOGUE[name].table, "raw": checksums})


def made(name: str, contents: Mapping[str, bytes], folder: Path) -> tuple[Prepared, pl.DataFrame]:
    """What prepare makes of small raw files."""
    done = prepare(declared(name, contents, folder), folder, folder / "out.parquet", overwrite=False)
    return done, pl.read_parquet(done.path)


def test_adult_reader(tmp_path: Path) -> None:
    done, frame = made("adult", {"adult.data.gz": ADULT_TRAIN, "adult.test.gz": ADULT_TEST}, tmp_path)
    assert done == Prepared(tmp_path / "out.parquet", 3)
    assert frame["age"].to_list() == [39, 50, 25]
    assert frame["capital-gain"].to_list() == [2174, 0, 0]
    assert frame["workclass"].to_list() == ["State-gov", "?", "Private"]
    assert frame["native-country"].to_list() == ["United-States", "?", "Outlying-US(Guam-USVI-etc)"]
    assert frame["income"].to_list() == ["<=50K", ">50K", "<=50K"]
    assert outside(frame, CATALOGUE["adult"].domain) == 1


def test_raw_file_declared_compressed_may_lie_there_uncompressed(tmp_path: Path) -> None:
    entry = declared("skin", {"skin/Skin_NonSkin.txt.gz": SKIN}, tmp_path)
    (tmp_path / "skin/Skin_NonSkin.txt.gz").rename(tmp_path / "moved.gz")
    (tmp_path / "skin/Skin_NonSkin.txt").write_bytes(SKIN)
    assert prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False).rows == 2


def test_recompressed_raw_file_is_the_same_file(tmp_path: Path) -> None:
    entry = declared("skin", {"skin.gz": SKIN}, tmp_path)
    (tmp_path / "skin.gz").write_bytes(gzip.compress(SKIN, compresslevel=1, mtime=5))
    assert prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False).rows == 2


def test_mushroom_reader(tmp_path: Path) -> None:
    done, frame = made("mushroom", {"agaricus-lepiota.data": MUSHROOM}, tmp_path)
    assert done.rows == 2
    assert frame["class"].to_list() == ["p", "e"]
    assert frame["stalk-root"].to_list() == ["e", "?"]
    assert frame["habitat"].to_list() == ["u", "d"]
    assert outside(frame, CATALOGUE["mushroom"].domain) == 0


def test_skin_reader(tmp_path: Path) -> None:
    _, frame = made("skin", {"skin.txt": SKIN}, tmp_path)
    assert frame.rows() == [(74, 85, 123, 1), (255, 0, 7, 2)]
    assert frame.columns == ["B", "G", "R", "skin"]
    assert set(frame.dtypes) == {pl.Int64}


def test_seeds_reader(tmp_path: Path) -> None:
    _, frame = made("seeds", {"seeds.txt": SEEDS}, tmp_path)
    assert frame.rows() == [
        (15.26, 14.84, 0.871, 5.763, 3.312, 2.221, 5.22, 1),
        (14.88, 14.57, 0.8811, 5.554, 3.333, 1.018, 4.956, 3),
    ]
    assert outside(frame, CATALOGUE["seeds"].domain) == 0


def test_glass_reader_drops_the_running_number(tmp_path: Path) -> None:
    _, frame = made("glass", {"glass.data": GLASS}, tmp_path)
    assert frame.columns == ["RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe", "type"]
    assert frame.row(1) == (1.51711, 14.23, 0.0, 2.08, 73.36, 0.0, 8.62, 1.67, 0.0, 7)
    assert outside(frame, CATALOGUE["glass"].domain) == 0


def test_acs_reader_keeps_wanted_columns_as_whole_numbers(tmp_path: Path) -> None:
    contents = {
        "csv_pde.zip": archive("psam_p10.csv", ACS_HEADER + ACS_DELAWARE),
        "csv_pid.zip": archive("psam_p16.csv", ACS_HEADER + ACS_IDAHO),
    }
    done, frame = made("acs2018", contents, tmp_path)
    assert done.rows == 2
    assert set(frame.columns) == set(CATALOGUE["acs2018"].domain.columns)
    assert set(frame.dtypes) == {pl.Int64}
    assert frame.row(0, named=True) | {"AGEP": 41, "RELP": 0, "SCHL": 1, "PINCP": 50001, "COW": 1} == frame.row(
        0, named=True
    )
    assert frame.row(1, named=True)["COW"] is None
    assert frame.row(1, named=True)["PINCP"] is None
    assert outside(frame, CATALOGUE["acs2018"].domain) == 1


def test_acs_income_reader_selects_columns(tmp_path: Path) -> None:
    income_frame().write_parquet(tmp_path / "raw.parquet")
    _, frame = made("acs_income_2018", {"raw.parquet": (tmp_path / "raw.parquet").read_bytes()}, tmp_path)
    domain = CATALOGUE["acs_income_2018"].domain
    assert "State" not in frame.columns
    assert set(frame.columns) == set(domain.columns)
    assert frame.schema["Workclass"] == pl.String
    assert outside(frame, domain) == 0


def test_prepared_file_carries_its_domain(tmp_path: Path) -> None:
    import pyarrow.parquet

    done, _ = made("seeds", {"seeds.txt": SEEDS}, tmp_path)
    stored = pyarrow.parquet.read_metadata(done.path).metadata
    texts = {key.decode(): value.decode() for key, value in stored.items()}
    assert domain_from_metadata(texts, str(done.path)) == CATALOGUE["seeds"].domain
    assert json.loads(texts[DOMAIN_KEY], parse_float=Decimal)["name"] == "seeds"


# --- refusals -----------------------------------------------------------------------------------------------------


def names_of(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_tampered_raw_file_is_refused(tmp_path: Path) -> None:
    entry = declared("skin", {"skin.txt": SKIN}, tmp_path)
    tampered = SKIN.replace(b"74", b"75")
    (tmp_path / "skin.txt").write_bytes(tampered)
    with pytest.raises(DataError) as caught:
        prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False)
    for text in ("skin.txt", hashlib.sha256(SKIN).hexdigest(), hashlib.sha256(tampered).hexdigest(), entry.source):
        assert text in str(caught.value)
    assert names_of(tmp_path) == {"skin.txt"}


def test_tampered_second_file_and_tampered_content_of_gzip_are_refused(tmp_path: Path) -> None:
    entry = declared("adult", {"a.gz": ADULT_TRAIN, "b.gz": ADULT_TEST}, tmp_path)
    (tmp_path / "b.gz").write_bytes(gzip.compress(ADULT_TEST + b"\n"))
    with pytest.raises(DataError, match=r"b\.gz: not the file"):
        prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False)


@pytest.mark.parametrize("damage", [lambda b: b[:-9], lambda b: b"plain" + b, lambda b: b[:12] + b"\xff" * 9 + b[21:]])
def test_damaged_gzip_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    entry = declared("skin", {"skin.gz": SKIN}, tmp_path)
    (tmp_path / "skin.gz").write_bytes(damage((tmp_path / "skin.gz").read_bytes()))
    with pytest.raises(DataError, match="not a complete gzip file"):
        prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False)


def test_missing_raw_files_are_all_named(tmp_path: Path) -> None:
    entry = CATALOGUE["adult"]
    with pytest.raises(MissingInputError) as caught:
        prepare(entry, tmp_path / "nowhere", tmp_path / "out.parquet", overwrite=False)
    for relative, declared_checksum in entry.raw.items():
        assert str(tmp_path / "nowhere" / relative) in str(caught.value)
        assert declared_checksum in str(caught.value)
    assert names_of(tmp_path) == set()


def test_unreadable_raw_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match="cannot be read"):
        checksum(tmp_path)


@pytest.mark.parametrize(("name", "remedy"), [("ipums1940", "usa.ipums.org"), ("census_simulated", "simulate OUT")])
def test_data_sets_made_elsewhere_say_where(tmp_path: Path, name: str, remedy: str) -> None:
    with pytest.raises(MissingInputError, match=remedy) as caught:
        prepare(CATALOGUE[name], tmp_path, tmp_path / "out.parquet", overwrite=False)
    for column in ("INCWAGE", *CENSUS_1940):
        assert column in str(caught.value)


def test_data_set_without_reader_is_refused(tmp_path: Path) -> None:
    entry = replace(declared("skin", {"skin.txt": SKIN}, tmp_path), name="pixels")
    with pytest.raises(MissingInputError, match="pixels: no raw files to prepare it from: prepare reads adult"):
        prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False)


def test_existing_output_is_refused_and_replaced_on_demand(tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    output.write_bytes(b"mine")
    entry = declared("skin", {"skin.txt": SKIN}, tmp_path)
    with pytest.raises(OutputError, match="exists already"):
        prepare(entry, tmp_path, output, overwrite=False)
    assert output.read_bytes() == b"mine"
    assert prepare(entry, tmp_path, output, overwrite=True).rows == 2
    assert pl.read_parquet(output).height == 2


def test_existing_output_is_refused_before_any_raw_file_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "out.parquet").touch()
    with pytest.raises(OutputError):
        prepare(CATALOGUE["adult"], tmp_path, tmp_path / "out.parquet", overwrite=False)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("skin", b"74\t85\tsecret41\t1\r\n"),
        ("skin", b"1\t2\t3\t1\tsecret41\n"),
        ("seeds", b"secret41\t14.84\t0.871\t5.763\t3.312\t2.221\t5.22\t1\n"),
        ("seeds", "ä secret41".encode()),
        ("adult", b"secret41" + ADULT_TRAIN),
        ("glass", b"1,secret41" + GLASS),
        ("acs2018", b"secret41, no archive"),
        ("acs2018", archive("other.csv", b"secret41")),
        ("acs2018", archive("psam_p10.csv", ACS_HEADER + ACS_DELAWARE.replace(b"041", b"secret41"))),
        ("acs2018", archive("psam_p10.csv", b"AGEP,secret41\n1,2\n")),
        ("acs_income_2018", b"PAR1 secret41"),
    ],
)
def test_unexpected_form_is_refused_without_quoting_a_row(tmp_path: Path, name: str, content: bytes) -> None:
    entry = declared(name, {"raw.txt": content}, tmp_path)
    with pytest.raises(DataError, match=r"raw\.txt: not in the form") as caught:
        prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False)
    assert "secret41" not in str(caught.value)
    assert caught.value.__suppress_context__
    assert names_of(tmp_path) == {"raw.txt"}


def test_columns_the_raw_files_do_not_have_are_named(tmp_path: Path) -> None:
    entry = declared("skin", {"skin.txt": SKIN}, tmp_path)
    attributes = {**entry.table["attributes"], "alpha": {"lower": 0, "upper": 255, "step": 1}}
    entry = replace(entry, table={**entry.table, "attributes": attributes})
    with pytest.raises(DataError, match=r"no column alpha; found \['B', 'G', 'R', 'skin'\]"):
        prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False)
    assert names_of(tmp_path) == {"skin.txt"}


def test_faulty_domain_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    entry = replace(CATALOGUE["skin"], table={**CATALOGUE["skin"].table, "label": {"column": "skin"}})
    with pytest.raises(DomainError):
        prepare(entry, tmp_path, tmp_path / "out.parquet", overwrite=False)


def test_importing_data_sets_loads_no_engine() -> None:
    program = (
        "import sys, dpnb_columnar.datasets; heavy = {'polars', 'pyarrow', 'numpy', 'duckdb'} & set(sys.modules);"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_package_and_module_give_the_same_function() -> None:
    assert importlib.import_module("dpnb_columnar.datasets.prepare").prepare is prepare


# --- the published files ------------------------------------------------------------------------------------------

PUBLISHED = {
    # name: (rows, rows of each class); UCI's and the Census Bureau's own counts
    "adult": (48_842, {"<=50K": 37_155, ">50K": 11_687}),
    "mushroom": (8_124, {"e": 4_208, "p": 3_916}),
    "skin": (245_057, {"1": 50_859, "2": 194_198}),
    "seeds": (210, {"1": 70, "2": 70, "3": 70}),
    "glass": (214, {"1": 70, "2": 76, "3": 17, "5": 13, "6": 9, "7": 29}),
    "acs2018": (55_881, None),
    "acs_income_2018": (295_243, None),
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Prepared, pl.DataFrame]]:
    """Prepares a published data set, once."""
    done: dict[str, tuple[Prepared, pl.DataFrame]] = {}

    def make(name: str) -> tuple[Prepared, pl.DataFrame]:
        if name not in done:
            for relative in CATALOGUE[name].raw:
                published(relative)
            output = tmp_path_factory.mktemp(name) / f"{name}.parquet"
            result = prepare(CATALOGUE[name], DATA, output, overwrite=False)
            done[name] = result, pl.read_parquet(output)
        return done[name]

    return make


Published = Callable[[str], tuple[Prepared, pl.DataFrame]]


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_rows_and_classes(prepared: Published, name: str) -> None:
    done, frame = prepared(name)
    rows, classes = PUBLISHED[name]
    assert (done.rows, frame.height) == (rows, rows)
    if classes is not None:
        label = CATALOGUE[name].domain.label.column
        assert label is not None
        assert dict(frame[label].cast(pl.String).value_counts().iter_rows()) == classes


@pytest.mark.parametrize(
    ("name", "documented"),
    [("adult", 48_842 - 45_222), ("mushroom", 0), ("skin", 0), ("seeds", 0), ("glass", 0), ("acs_income_2018", 0)],
)
def test_published_rows_outside_the_domain(prepared: Published, name: str, documented: int) -> None:
    assert outside(prepared(name)[1], CATALOGUE[name].domain) == documented


def test_acs_rows_outside_the_domain_are_those_of_people_who_did_not_work(prepared: Published) -> None:
    frame = prepared("acs2018")[1]
    assert outside(frame, CATALOGUE["acs2018"].domain) == frame["WKHP"].null_count()
    assert frame.filter(pl.col("WKHP").is_not_null()).select(pl.all().null_count()).sum_horizontal().item() == 0


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_numbers_lie_within_their_documented_bounds(prepared: Published, name: str) -> None:
    frame = prepared(name)[1]
    for attribute in CATALOGUE[name].domain.numeric:
        column = frame[attribute.name].drop_nulls()
        assert column.is_between(float(attribute.lower), float(attribute.upper)).all(), attribute.name
