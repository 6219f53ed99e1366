"""The catalogue: its entries, what they claim, and that they agree with the publishers' documentation and files."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from support.catalogue_cases import CATALOGUE, CENSUS_1940, DATA, SHAPES, outside, published

from dpnb_columnar.domain import Categorical, Missing, catalogue
from dpnb_columnar.domain.catalogue import entries, entry_for, entry_named, read_catalogue
from dpnb_columnar.domain.declared_domain import document_of
from dpnb_columnar.errors import ConfigurationError, DomainError, MissingInputError, UsageError
from dpnb_columnar.extensions.datasets.datasets import READERS, checksum, prepare
from dpnb_columnar.ledger.records import Entry

BODY = 'label = {{ column = "y", classes = ["{}", "b"] }}\nattributes.x = {{ lower = 0, upper = 1 }}\n'


def entry(name: str, before: str = "", first_class: str = "a") -> str:
    return f"[{name}]\n{before}\n{BODY.format(first_class)}\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The catalogue of a working directory, beside a packaged one."""
    packaged = tmp_path / "packaged" / "datasets.toml"
    packaged.parent.mkdir()
    packaged.write_text(entry("adult", 'files = ["adult*.parquet"]', "packaged") + entry("skin") + entry("census_1940"))
    monkeypatch.setattr(catalogue, "resource", lambda name: packaged.parent / name)
    local = tmp_path / "local" / "datasets.toml"
    local.parent.mkdir()
    monkeypatch.chdir(local.parent)
    return local


def test_packaged_catalogue_alone(here: Path) -> None:
    assert not here.exists()
    assert [found.name for found in entries()] == ["adult", "skin", "census_1940"]


def test_working_directory_comes_first_and_hides(here: Path) -> None:
    here.write_text(entry("mine") + entry("adult", first_class="local"))
    assert [found.name for found in entries()] == ["mine", "adult", "skin", "census_1940"]
    adult = entry_named("adult")
    assert adult.catalogue == here
    assert adult.domain.classes == ("local", "b")
    assert adult.files == ()
    assert entry_named("skin").catalogue != here


def test_a_catalogue_that_is_named_is_the_only_one(here: Path) -> None:
    other = here.with_name("other.toml")
    other.write_text(entry("mine"))
    here.write_text(entry("adult", first_class="local"))
    assert [found.name for found in entries(other)] == ["mine"]
    with pytest.raises(UsageError, match=r"other\.toml: no data set named 'adult'; known names: mine"):
        entry_named(f"{other}:adult")


def test_packaged_catalogue_in_the_working_directory_is_read_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here.parent.parent / "packaged")
    assert len(catalogue.catalogues()) == 1


def test_folder_of_the_catalogues_name_is_no_catalogue(here: Path) -> None:
    here.mkdir()
    assert len(entries()) == 3


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("adlut", "did you mean adult"),
        ("Adult", "did you mean adult"),
        ("census1940", "did you mean census_1940"),
        ("unrelated", "known names: adult, skin, census_1940"),
        ("", "known names: adult, skin, census_1940"),
    ],
)
def test_unknown_name_is_refused_with_a_hint(typed: str, hint: str) -> None:
    with pytest.raises(UsageError, match=f"no data set named '{typed}'; {hint}"):
        entry_named(typed)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["skin.parquet"], "skin"),
        (["/data/skin.parquet"], "skin"),
        (["skin"], "skin"),
        (["adult.parquet"], "adult"),
        (["adult_2.parquet", "elsewhere/adult_1.parquet"], "adult"),
        (["adult_2.parquet", "skin.parquet"], None),
        (["adult_2.csv"], None),
        (["ADULT_2.parquet"], None),
        (["skin_2.parquet"], None),
        (["adult/part.parquet"], None),
    ],
)
def test_entry_by_stem_and_pattern(paths: list[str], expected: str | None) -> None:
    found = entry_for([Path(path) for path in paths])
    assert (found and found.name) == expected


def test_entry_of_the_working_directory_claims_first(here: Path) -> None:
    here.write_text(entry("mine", 'files = ["adult_[0-9].parquet"]'))
    found = entry_for([Path("adult_2.parquet")])
    assert found.name == "mine"
    assert entry_for([Path("adult_x.parquet")]) == entry_named("adult")


def only(toml: str, folder: Path) -> Entry:
    path = folder / "datasets.toml"
    path.write_text(toml)
    (found,) = read_catalogue(path)
    return found


def test_entry_properties(tmp_path: Path) -> None:
    before = 'title = "T"\nsource = "S"\nepsilon = 0.1\nfiles = ["a*"]\nraw = { "a/b.gz" = "ff" }'
    found = only(entry("mine", before), tmp_path)
    assert (found.title, found.source, found.epsilon) == ("T", "S", Fraction(1, 10))
    assert (found.files, found.raw) == (("a*",), {"a/b.gz": "ff"})
    assert found.domain is found.domain
    bare = only(entry("mine"), tmp_path)
    assert (bare.title, bare.source, bare.epsilon, bare.files, bare.raw) == ("mine", "", None, (), {})
    assert bare.domain == found.domain
    assert "packaged" not in repr(bare)


@pytest.mark.parametrize(
    ("before", "key", "problem"),
    [
        ('epsilon = "much"', "epsilon", "expected a number, found 'much'"),
        ("epsilon = nan", "epsilon", "expected a finite number"),
        ('files = "*.parquet"', "files", "expected a list of patterns"),
        ("files = [1]", "files", "expected a list of patterns"),
        ('raw = ["a"]', "raw", "expected a table"),
    ],
)
def test_faulty_entry_properties(tmp_path: Path, before: str, key: str, problem: str) -> None:
    found = only(entry("mine", before), tmp_path)
    with pytest.raises(ConfigurationError, match=f"toml: mine.{key}: {problem}"):
        getattr(found, key)


def test_text_where_a_list_of_patterns_belongs_claims_nothing(here: Path) -> None:
    """Read letter by letter it would hold the pattern that claims every file."""
    here.write_text(entry("mine", 'files = "*.parquet"'))
    with pytest.raises(ConfigurationError, match="expected a list of patterns"):
        entry_for([Path("unrelated.csv")])


def test_faults_of_an_entry_name_its_catalogue_and_no_other_entry_suffers(here: Path) -> None:
    here.write_text("[broken]\nlabel = 3\ntitel = 'x'\n" + entry("mine"))
    assert entry_named("mine").domain.classes == ("a", "b")
    with pytest.raises(DomainError) as caught:
        _ = entry_named("broken").domain
    assert str(caught.value).startswith(f"{here}: 3 faults")
    assert str(caught.value.faults[0]) == "broken.titel: unknown key; did you mean title?"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"[adult", "not a TOML file"),
        (b"a = 1\na = 2", "not a TOML file"),
        (b"\xff\xfe", "not a TOML file"),
        (b"a = " + b"[" * 100_000, "not a TOML file"),
        (b"a.b = " + b"9" * 5000, "not a TOML file"),
        (b"a.b = 1e99999999999999999999", "a number in it is out of every range"),
        (b"epsilon = 1", r"epsilon: expected a table such as \[epsilon\]"),
        (b"[[adult]]", r"adult: expected a table such as \[adult\]"),
    ],
)
def test_malformed_catalogue_is_refused(here: Path, content: bytes, problem: str) -> None:
    here.write_bytes(content)
    for look in (entries, lambda: entry_named("adult"), lambda: entry_for([Path("adult.parquet")])):
        with pytest.raises(ConfigurationError, match=problem) as caught:
            look()
        assert str(caught.value).startswith(f"{here}: ")
        assert len(str(caught.value)) < 400 + len(str(here))


def test_empty_catalogue_is_none_at_all(tmp_path: Path) -> None:
    (tmp_path / "datasets.toml").touch()
    assert read_catalogue(tmp_path / "datasets.toml") == ()


@pytest.mark.parametrize("path", ["missing.toml", ".", "file/datasets.toml"])
def test_unreadable_catalogue_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MissingInputError, match=r"cannot be read: .") as caught:
        read_catalogue(tmp_path / path)
    assert str(caught.value).startswith(f"{tmp_path / path}: ")


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
    assert (stalk_root.missing, stalk_root.missing_values, stalk_root.size) == (Missing.CATEGORY, ("?",), 7)
    adult, acs = CATALOGUE["adult"].domain, CATALOGUE["acs2018"].domain
    assert {attribute.missing_values for attribute in adult.row_dropping} == {("?",)}
    assert [attribute.name for attribute in adult.row_dropping] == ["workclass", "occupation", "native-country"]
    assert [attribute.name for attribute in acs.row_dropping] == ["WKHP", "COW", "SCHL", "ESR", "WKW"]
    age = CATALOGUE["ipums1940"].domain["AGE"]
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


PUBLISHED = {
    # name: (rows, rows of each class); UCI's and the Census Bureau's own counts
    "adult": (48_842, {"<=50K": 37_155, ">50K": 11_687}),
    "mushroom": (8_124, {"e": 4_208, "p": 3_916}),
    "skin": (245_057, {"1": 50_859, "2": 194_198}),
    "seeds": (210, {"1": 70, "2": 70, "3": 70}),
    "glass": (214, {"1": 70, "2": 76, "3": 17, "5": 13, "6": 9, "7": 29}),
    "acs2018": (55_881, None),
    "acs_income_2018": (295_243, None),
    "census-income": (49_881, {"- 50000": 46_826, "50000+": 3_055}),
    "census-income-no-recodes": (49_881, {"- 50000": 46_826, "50000+": 3_055}),
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[int, pl.DataFrame]]:
    """Prepares a published data set, once."""
    done: dict[str, tuple[int, pl.DataFrame]] = {}

    def make(name: str) -> tuple[int, pl.DataFrame]:
        if name not in done:
            for relative in CATALOGUE[name].raw:
                published(relative)
            output = tmp_path_factory.mktemp(name) / f"{name}.parquet"
            result = prepare(CATALOGUE[name], DATA, output, overwrite=False)
            done[name] = result, pl.read_parquet(output)
        return done[name]

    return make


Published = Callable[[str], tuple[int, pl.DataFrame]]


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_rows_and_classes(prepared: Published, name: str) -> None:
    done, frame = prepared(name)
    rows, classes = PUBLISHED[name]
    assert (done, frame.height) == (rows, rows)
    if classes is not None:
        label = CATALOGUE[name].domain.label.column
        assert label is not None
        assert dict(frame[label].cast(pl.String).value_counts().iter_rows()) == classes


@pytest.mark.parametrize(
    ("name", "documented"),
    [
        *(("adult", 48_842 - 45_222), ("mushroom", 0), ("skin", 0), ("seeds", 0), ("glass", 0), ("acs_income_2018", 0)),
        *(("census-income", 0), ("census-income-no-recodes", 0)),
    ],
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
