"""Entries put into the text of a catalogue: what was there stays, and the result declares what it should."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.domain_strategies import declarations

from dpnb_columnar.datasets.catalogue import entry_toml, with_entry
from dpnb_columnar.domain import Declaration

ENTRY = "[a]\nepsilon = 1\n\n[a.attributes]\nx = { values = [1, 2] }\ny = { lower = 0, upper = 9.50 }\n"


def parsed(text: str) -> dict[str, Any]:
    """The values of a text, fractions exact."""
    return tomllib.loads(text, parse_float=Decimal)


@pytest.mark.slow
@settings(
    suppress_health_check=[HealthCheck.too_slow],
    deadline=None,
    max_examples=40,
    phases=[Phase.explicit, Phase.generate],
)
@given(
    st.lists(declarations(), min_size=1, max_size=2, unique_by=lambda domain: domain.name), declarations(), st.data()
)
def test_any_entry_goes_into_any_catalogue(entries: list[Declaration], new: Declaration, data: st.DataObject) -> None:
    texts = [f"# about {place}\n{entry_toml(domain)}\n# end of {place}\n" for place, domain in enumerate(entries)]
    place = data.draw(st.integers(0, len(entries)))
    name = entries[place].name if place < len(entries) else new.name
    entry = entry_toml(type(new)(**{**vars_of(new), "name": name}))
    before = "\n".join(texts)
    after = with_entry(before, name, entry)
    assert parsed(after) == {**parsed(before), **parsed(entry)}
    assert list(parsed(after)[name]["attributes"]) == list(parsed(entry)[name]["attributes"])
    assert [line for line in after.splitlines() if line.startswith("#")] == [
        line for line in before.splitlines() if line.startswith("#")
    ]
    for other, text in zip(entries, texts, strict=True):
        assert other.name == name or text in after
    assert with_entry(after, name, entry) == after


def vars_of(domain: Declaration) -> dict[str, Any]:
    """The fields of a declaration."""
    return {field: getattr(domain, field) for field in domain.__dataclass_fields__}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing yet",
        "[b]\r\nx = 1\r\n",
        '[a]\ntitle = """\n[b]\n"""\nlabel = { column = "y", classes = [1, 2] }\nattributes.x = { values = [2] }\n',
        "a.epsilon = 3\n[b]\nx = 1",
        "[a.attributes]\nx = { values = [1, 2] }\n[a.attributes.y]\nlower = 0\nupper = 3\n[b]\nx = 1\n",
        '["a"] # kept\nepsilon = 1.0\n[ a . attributes ]\ny = {lower = 0, upper = 9.50} # kept\n',
    ],
)
def test_ways_of_writing_a_catalogue(text: str) -> None:
    after = with_entry(text, "a", ENTRY)
    assert parsed(after) == {**parsed(text), **parsed(ENTRY)}
    assert after.count("# kept") == text.count("# kept")
    assert ("\r\n" in text) == ("\r\n" in after)


@pytest.mark.parametrize(
    "text", ["a = { epsilon = 1 }\n", "[a.attributes]\n[b]\n[a.label]\n", "[[a]]\nx = 1\n", "[a\n", "\ufeff[a]\n"]
)
def test_what_cannot_be_replaced_alone_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"one table \[a\]|byte order mark|at line 1"):
        with_entry(text, "a", ENTRY)
