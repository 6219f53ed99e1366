"""The domain in a file's metadata: it survives, and a faulty one is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from support.catalogue_cases import CATALOGUE, SHAPES

from dpnb_columnar.domain import Numeric
from dpnb_columnar.domain.declaration import DOMAIN_KEY, domain_from_metadata, domain_metadata
from dpnb_columnar.domain.declaration_document import digest
from dpnb_columnar.errors import ConfigurationError, DomainError


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


def test_number_beyond_decimals_in_metadata_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="a number in it is out of every range"):
        domain_from_metadata({DOMAIN_KEY: '{"name": 1e99999999999999999999}'}, "x.parquet")
