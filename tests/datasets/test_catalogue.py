"""The catalogue: which entries there are, what they claim, and what is wrong with one."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dpnb_columnar.domain import catalogue
from dpnb_columnar.domain.catalogue import CatalogueEntry, entries, entry_for, entry_named, read_catalogue
from dpnb_columnar.errors import ConfigurationError, DomainError, MissingInputError, UsageError

BODY = 'label = {{ column = "y", classes = ["{}", "b"] }}\nattributes.x = {{ lower = 0, upper = 1 }}\n'


def entry(name: str, before: str = "", first_class: str = "a") -> str:
    """The TOML of one small data set."""
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
    assert found is not None
    assert found.name == "mine"
    assert entry_for([Path("adult_x.parquet")]) == entry_named("adult")


def only(toml: str, folder: Path) -> CatalogueEntry:
    """The only entry of a catalogue."""
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
