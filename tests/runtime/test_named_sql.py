"""Named SQL: sections, slots, parameters and file patterns."""

from __future__ import annotations

from pathlib import Path

from dpnb_columnar.runtime.resources import Parameters, identifier, literal_pattern, sections


def test_slots_in_names_and_in_nested_sections_are_not_expanded() -> None:
    sql = sections("aggregate")
    inner = sql["key_of_text"].substitute(column=identifier('a "@fits" @@ $files @{value}'))
    assert inner == 'CAST("a ""@fits"" @@ $files @{value}" AS VARCHAR)'
    assert sql["fits_present"].substitute(value=inner) == f"{inner} IS NOT NULL"


def test_every_section_is_text_without_comments() -> None:
    for section in sections("aggregate").values():
        assert section.template
        assert section.is_valid()
        assert "--" not in section.template


def test_parameters_have_names_of_their_own() -> None:
    parameters = Parameters()
    assert [parameters.bind(value) for value in ("'; --", 1, "'; --")] == ["$constant_0", "$constant_1", "$constant_2"]
    assert list(parameters.values.values()) == ["'; --", 1, "'; --"]


def test_patterns_that_match_one_file() -> None:
    assert literal_pattern(Path("a[1]*?.parquet")) == "a[[]1][*][?].parquet"
