"""Titles and value labels: read, written and refused with the domain, and without effect on what is computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.domain_cases import CENSUS, census, declared, faults
from support.domain_strategies import PRINTABLE, declarations

from dpnb_columnar.domain import Categorical, Declaration, Domain
from dpnb_columnar.domain.catalogue import entry_toml
from dpnb_columnar.domain.declaration import domain_from_metadata, domain_metadata, read_declaration, read_domain
from dpnb_columnar.domain.declared_domain import WORD_KEYS, Provenance, columns_of, digest, document_of
from dpnb_columnar.domain.domain_text import label_remarks, predicts, value_with_label, whose_rows, with_title
from dpnb_columnar.domain.editing import labelled
from dpnb_columnar.domain.field_reader import parse_toml
from dpnb_columnar.domain.words import (
    LONGEST,
    LONGEST_VALUE_LABEL,
    MOST_CHARACTERS,
    declared_values,
    select_attributes,
    united,
    within_bounds,
)
from dpnb_columnar.errors import DomainError

TOWN = declared(
    """
    [label]
    column = "WORK"
    classes = [1, 2]
    missing_values = [9]

    [attributes]
    RACE = { values = [1, 2, "other"], groups = { other = ["3-5"] }, missing_values = ["?"] }
    WAGE = { lower = 0, upper = 5000, step = 1, missing_values = [999998, "99999.5"] }

    [titles]
    WAGE = "Wage and salary income"
    WORK = "Employment status"

    [value_labels.WORK]
    1 = "At work"
    02 = "Looking for work"
    9 = "Nobody knows"

    [value_labels.RACE]
    1 = "White"
    4 = "Chinese"
    "?" = "Illegible"

    [value_labels.WAGE]
    0 = "No wage"
    "999998.0" = "Not in universe"
    """
)


def town(**changes: Any) -> Domain:
    return read_domain("town", {**TOWN, **changes}, "x")


@st.composite
def labels_of(draw: st.DrawFn, domain: Declaration) -> dict[str, dict[str, str]]:
    """Labels of some values of a domain, of groups and of missing values too."""
    words = st.text(PRINTABLE, min_size=1, max_size=9).filter(str.strip)
    labels = {}
    for column, attribute in columns_of(domain).items():
        if isinstance(attribute, Categorical):
            values = [*attribute.values, *attribute.members, *attribute.missing_values]
            own = draw(st.dictionaries(st.sampled_from(values), words, max_size=4))
            # Of values that are one number, the first stands for all.
            declared_as = declared_values(attribute, own)
            labels[column] = {
                value: label for value, label in zip(declared_as, own.values(), strict=True) if value is not None
            }
    return {column: own for column, own in labels.items() if own}


def provenances() -> st.SearchStrategy[Provenance | None]:
    words = st.text(PRINTABLE, min_size=1, max_size=9).filter(str.strip)
    known = st.dictionaries(st.sampled_from(sorted(LONGEST)), words)
    return known.map(lambda texts: Provenance(**texts) if texts else None)


@pytest.mark.slow
@settings(deadline=None)
@given(st.data(), declarations())
def test_words_survive_metadata_and_toml_and_change_no_digest(data: st.DataObject, domain: Declaration) -> None:
    labels = data.draw(labels_of(domain))
    words = st.text(PRINTABLE, min_size=1, max_size=9).filter(str.strip)
    titles = data.draw(st.dictionaries(st.sampled_from(domain.columns), words, max_size=4))
    universe, provenance = data.draw(st.just("") | words), data.draw(provenances())
    worded_domain = replace(domain, titles=titles, value_labels=labels, universe=universe, provenance=provenance)
    assert worded_domain == domain
    assert digest(worded_domain) == digest(domain)
    document = document_of(worded_domain)
    assert ("value_labels" in document) == bool(labels)
    assert [key for key in WORD_KEYS if key in document] == [
        key for key, value in zip(WORD_KEYS, (titles, labels, universe, provenance), strict=True) if value
    ]
    read = read_declaration(domain.name, document, "x")
    again = domain_from_metadata(domain_metadata(read), "x")
    assert again is not None
    entry = read_declaration(domain.name, parse_toml(entry_toml(read))[domain.name], "x")
    for each in (read, again, entry):
        assert (each.titles, each.value_labels) == (titles, labels)
        assert (each.universe, each.provenance) == (universe, provenance)


def test_labels_are_kept_by_the_value_as_it_is_declared() -> None:
    assert town().value_labels == {
        "WORK": {"1": "At work", "2": "Looking for work", "9": "Nobody knows"},
        "RACE": {"1": "White", "4": "Chinese", "?": "Illegible"},
        "WAGE": {"0": "No wage", "999998": "Not in universe"},
    }


def test_a_domain_without_labels_is_written_as_ever() -> None:
    assert "value_labels" not in document_of(read_domain("census", CENSUS, "x"))
    assert "value_labels" not in document_of(town(value_labels={"RACE": {}}))
    assert "value_labels" not in entry_toml(read_domain("census", CENSUS, "x"))


def test_titles_are_kept_in_the_order_of_the_columns() -> None:
    assert list(town().titles.items()) == [("WORK", "Employment status"), ("WAGE", "Wage and salary income")]
    assert list(document_of(town()))[-2:] == ["titles", "value_labels"]
    assert "titles" not in document_of(read_domain("census", CENSUS, "x"))
    assert "titles" not in document_of(town(titles={}))
    assert digest(town(titles={})) == digest(town())


@pytest.mark.parametrize(
    ("titles", "place", "problem"),
    [
        ({"RASE": "Race"}, "RASE", "no column of the domain; did you mean RACE?"),
        ({"xyz": "Race"}, "xyz", "no column of the domain; give titles to columns it declares"),
        ({"RACE": " "}, "RACE", 'expected words such as "Age in years", found '),
        ({"RACE": 5}, "RACE", 'expected words such as "Age in years", found 5'),
        ({"RACE": "x" * 257}, "RACE", "a title of 257 characters; at most 256 are accepted"),
        ({"RACE": "a\nb"}, "RACE", "holds a control character or is not valid Unicode"),
        (["Race"], "", 'expected a table such as { AGE = "Age in years" }, found [' + "'Race']"),
    ],
)
def test_faulty_titles_are_refused_with_their_place(titles: object, place: str, problem: str) -> None:
    with pytest.raises(DomainError) as caught:
        town(titles=titles)
    (fault,) = caught.value.faults
    assert fault.place == ".".join(["town", "titles", *([place] if place else [])])
    assert problem in fault.problem


def test_titles_follow_their_column_through_edits() -> None:
    wage = labelled(town(), "WAGE > 1000")
    assert wage.titles == {"WAGE": "Wage and salary income", "WORK": "Employment status"}
    assert predicts(wage).startswith("predicts whether WAGE > 1000 (WAGE Wage and salary income): ")
    assert predicts(town()).startswith("predicts WORK Employment status: ")
    assert select_attributes(town(), ["RACE"]).titles == {"WORK": "Employment status"}


def test_a_column_is_shown_with_its_title() -> None:
    titles = {"AGE": "Age in years", "LONG": "b" * 50, "ODD": "paid \u202edlog\u202c"}
    assert with_title("AGE", titles) == "AGE Age in years"
    assert with_title("SEX", titles) == "SEX"
    assert with_title("LONG", titles, 10) == "LONG bbbbbbb..."
    assert with_title("ODD", titles) == r"ODD paid \u202edlog\u202c"


@pytest.mark.parametrize(
    ("key", "value", "place", "problem"),
    [
        ("universe", 16, "universe", 'expected words such as "AGE >= 16", found 16'),
        ("universe", "x" * 2001, "universe", "a text of 2001 characters; at most 2000 are accepted"),
        ("provenance", "IPUMS", "provenance", "expected a table, found 'IPUMS'"),
        ("provenance", {"citatoin": "me"}, "provenance.citatoin", "unknown key; did you mean citation?"),
        ("provenance", {"name": "x" * 257}, "provenance.name", "a text of 257 characters; at most 256 are accepted"),
        ("provenance", {"citation": "a\nb"}, "provenance.citation", "holds a control character"),
        ("provenance", {"citation": "x" * 2001}, "provenance.citation", "at most 2000 are accepted"),
    ],
)
def test_faulty_universes_and_sources_are_refused_with_their_place(
    key: str, value: object, place: str, problem: str
) -> None:
    with pytest.raises(DomainError) as caught:
        town(**{key: value})
    (fault,) = caught.value.faults
    assert fault.place == f"town.{place}"
    assert problem in fault.problem


SOURCE = Provenance(name="Town survey", period="2020", citation="Town. Survey of 2020.")


def test_universe_and_source_stay_with_every_edit() -> None:
    worded = replace(town(), universe="WAGE > 0", provenance=SOURCE)
    for changed in (labelled(worded, "RACE"), labelled(worded, "WAGE > 1000"), select_attributes(worded, ["WAGE"])):
        assert (changed.universe, changed.provenance) == ("WAGE > 0", SOURCE)


def test_the_universe_is_told_in_the_words_of_the_codebook() -> None:
    said = dict(whose_rows(replace(town(), universe="WAGE > 0 AND RACE = 1", provenance=SOURCE)))
    assert said == {
        "persons": "those with WAGE > 0 AND RACE = 1 (WAGE Wage and salary income, RACE 1 = White)",
        "source": "Town survey. 2020",
        "to be cited": "Town. Survey of 2020.",
    }
    assert dict(whose_rows(replace(town(), universe="paid \u202edlog\u202c"))) == {"persons": r"paid \u202edlog\u202c"}
    assert not dict(whose_rows(town()))


def test_rows_of_two_domains_are_those_of_both_universes_and_sources() -> None:
    first = replace(town(), universe="AGE >= 1", provenance=SOURCE)
    second = replace(
        town(), universe="AGE >= 16", provenance=replace(SOURCE, period="2021", url="https://town.example")
    )
    both = united([first, second])
    assert both.universe == "AGE >= 1; or AGE >= 16"
    assert both.provenance == replace(SOURCE, period="2020; 2021", url="https://town.example")
    assert united([both, second]) is both or united([both, second]).universe == both.universe
    assert united([both, second]).provenance == both.provenance
    assert united([first, town()]).universe == ""
    assert united([first, town()]).provenance == SOURCE
    assert united([first, replace(first, titles={})]) is first
    long = [replace(town(), universe=letter * 1999) for letter in "ab"]
    assert len(united(long).universe) == 2000
    assert town(universe=united(long).universe).universe.endswith("...")


@pytest.mark.parametrize(
    ("labels", "place", "problem"),
    [
        ({"RACE": {"7": "Samoan"}}, "RACE.7", "labels a value that the column does not declare; declare it, or"),
        ({"WAGE": {"5001": "Rich"}}, "WAGE.5001", "labels a value that the column does not declare"),
        ({"WAGE": {"none": "None"}}, "WAGE.none", "labels a value that the column does not declare"),
        ({"RACE": {"1": "White", "01": "White"}}, "RACE.01", "'1' has a label already; a value has one"),
        ({"RACE": {"1": ""}}, "RACE.1", 'expected words such as "White", found '),
        ({"RACE": {"1": 5}}, "RACE.1", 'expected words such as "White", found 5'),
        ({"RACE": {"1": "x" * 257}}, "RACE.1", "a label of 257 characters; at most 256 are accepted"),
        ({"RACE": {"1": "a\nb"}}, "RACE.1", "holds a control character or is not valid Unicode"),
        ({"RACE": ["White"]}, "RACE", "expected a table such as { 1 = "),
        ({"RASE": {"1": "White"}}, "RASE", "no column of the domain; did you mean RACE?"),
        ({"xyz": {"1": "White"}}, "xyz", "no column of the domain; label columns that it declares"),
        (["White"], "", "expected a table for each column, found ['White']"),
    ],
)
def test_faulty_labels_are_refused_with_their_place(labels: object, place: str, problem: str) -> None:
    with pytest.raises(DomainError) as caught:
        town(value_labels=labels)
    (fault,) = caught.value.faults
    assert fault.place == ".".join(["town", "value_labels", *([place] if place else [])])
    assert problem in fault.problem
    assert len(str(caught.value)) < 400


def test_labels_are_bounded_together() -> None:
    values = [str(number) for number in range(9000)]
    attributes = {name: {"values": values} for name in ("a", "b")}
    labels = {name: dict.fromkeys(values, "x" * LONGEST_VALUE_LABEL) for name in attributes}
    found = faults({"attributes": attributes, "label": CENSUS["label"], "value_labels": labels})
    assert found == {
        "census.value_labels": f"4608000 characters in all; at most {MOST_CHARACTERS} are accepted; leave lists out"
    }
    assert list(within_bounds({**labels, "c": {"1": "x"}})) == ["a", "c"]


def test_faults_of_attributes_are_reported_without_those_of_their_labels() -> None:
    def spoil(document: dict[str, Any]) -> None:
        document["attributes"]["URBAN"] = {"values": []}
        document["value_labels"] = {"URBAN": {"1": "rural"}}

    assert list(faults(census(spoil))) == ["census.attributes.URBAN.values"]


def test_labels_follow_their_column_to_the_label_and_back() -> None:
    moved = labelled(town(), "RACE")
    assert dict(moved.class_labels) == {"1": "White", "4": "Chinese", "?": "Illegible"}
    assert moved.value_labels["WORK"] == town().value_labels["WORK"]
    assert labelled(moved, "WORK").value_labels == town().value_labels


def test_columns_of_a_condition_keep_their_labels_but_the_classes_have_none() -> None:
    chosen = labelled(town(), "WAGE > 1000")
    assert chosen.value_labels["WAGE"] == {"0": "No wage", "999998": "Not in universe"}
    assert dict(chosen.class_labels) == {}


def test_attributes_that_stay_keep_the_labels_of_their_values() -> None:
    assert select_attributes(town(), ["WAGE"]).value_labels.keys() == {"WORK", "WAGE"}


LABELS: Mapping[str, str] = {"1": "White", "2": "b" * 50, "3": "paid \u202edlog\u202c"}


def test_a_value_is_shown_with_its_label() -> None:
    assert value_with_label("1", LABELS) == "1 = White"
    assert value_with_label("7", LABELS) == "7"
    assert value_with_label("2", LABELS, 10) == "2 = bbbbbbb..."
    assert value_with_label("3", LABELS) == "3 = paid \\u202edlog\\u202c"


def test_remarks_hold_neither_line_breaks_nor_characters_that_turn_the_text() -> None:
    domain = town(value_labels={"RACE": {"1": "paid \u202edlog\u202c', DROP", "2": "x\u00a0--"}})
    (line,) = label_remarks(domain, domain.columns)
    assert line.isprintable()
    assert line.startswith("'RACE': ")
