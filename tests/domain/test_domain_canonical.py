"""The canonical declaration of a domain, and its digest."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from support.domain_cases import CENSUS, census
from support.domain_strategies import declarations

from dpnb_columnar.domain import Declaration
from dpnb_columnar.domain.declaration import domain_from_metadata, domain_metadata, read_declaration, read_domain
from dpnb_columnar.domain.declaration_document import digest, document_of


@pytest.mark.slow
@settings(deadline=None)
@given(declarations())
def test_canonical_declaration_describes_the_domain(domain: Declaration) -> None:
    found = read_declaration(domain.name, document_of(domain), "x")
    assert found == domain
    assert document_of(found) == document_of(domain)
    assert digest(found) == digest(domain)
    assert domain_from_metadata(domain_metadata(domain), "x") == domain


def test_canonical_declaration_writes_out_defaults_and_exact_numbers() -> None:
    document = document_of(read_domain("census", CENSUS, "x"))
    assert document["attributes"]["WEEKS"] == {"lower": "0", "upper": "52", "step": "0.00079345703125"}
    assert document["attributes"]["DEBT"] == {"lower": "-1/3", "upper": "2/3", "step": "1/9"}
    assert document["attributes"]["WEALTH"]["step"] == "0.1"
    assert json.loads(json.dumps(document)) == document


def test_largest_numbers_survive_too() -> None:
    attribute = {"lower": "-1e100", "upper": "1e100", "missing_values": ["1e-300", "1e300", "1/" + "3" * 300]}
    domain = read_domain("x", census(lambda d: d["attributes"].update(new=attribute)), "x")
    assert read_domain("x", document_of(domain), "x") == domain
    assert math.isfinite(domain.numeric[-1].scale.end)


def test_digest_is_stable() -> None:
    """Models and ledgers remember it: it may change with the format of the declaration only."""
    assert (
        digest(read_domain("census", CENSUS, "x")) == "81576470e379f53c9482ad022d36a99c0323a4ad71c11d81611fa02fd46ba8f2"
    )


def test_digest_does_not_depend_on_how_the_same_is_written() -> None:
    def rewrite(document: dict[str, Any]) -> None:
        attributes = document["attributes"]
        attributes["AGE"] = {"missing_values": ["999", "1/2"], "step": "1.0", "upper": Decimal("1.2e2"), "lower": "0/7"}
        attributes["WEEKS"] |= {"step": "13/16384", "transform": "identity", "missing_values": []}
        attributes["URBAN"] = {"values": ["1", "2"], "missing_values": []}
        document["label"]["missing_values"] = ["999998", 999999]

    reference, rewritten = read_domain("census", CENSUS, "x"), read_domain("other", census(rewrite), "y")
    assert rewritten.attributes == reference.attributes
    assert digest(rewritten) == digest(reference)


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "lower": lambda d: d["attributes"]["AGE"].update(lower=-1),
    "upper": lambda d: d["attributes"]["AGE"].update(upper=121),
    "step": lambda d: d["attributes"]["AGE"].update(step=2),
    "transform": lambda d: d["attributes"]["AGE"].update(transform="log1p"),
    "missing numbers": lambda d: d["attributes"]["AGE"].update(missing_values=[999]),
    "name": lambda d: d["attributes"].update(Age=d["attributes"].pop("AGE")),
    "order of attributes": lambda d: d["attributes"].update(AGE=d["attributes"].pop("AGE")),
    "one more attribute": lambda d: d["attributes"].update(SEX2={"values": ["x"]}),
    "one less": lambda d: d["attributes"].pop("URBAN"),
    "values": lambda d: d["attributes"]["URBAN"].update(values=[1, 2, 3]),
    "order of values": lambda d: d["attributes"]["URBAN"].update(values=[2, 1]),
    "missing": lambda d: d["attributes"]["URBAN"].update(missing="category"),
    "missing numbers are a category": lambda d: d["attributes"]["AGE"].update(missing="category"),
    "groups": lambda d: d["attributes"]["URBAN"].update(groups={"1": [1, 3]}),
    "other groups": lambda d: d["attributes"]["URBAN"].update(groups={"1": [1, 4]}),
    "a range": lambda d: d["attributes"]["URBAN"].update(groups={"1": ["3-4"]}),
    "what a range stands for": lambda d: d["attributes"]["URBAN"].update(groups={"1": [3, 4]}),
    "no label": lambda d: d.pop("label"),
    "missing texts": lambda d: d["attributes"]["URBAN"].update(missing_values=["?"]),
    "classes": lambda d: d["label"].update(classes=["high", "low"]),
    "condition": lambda d: d["label"].update(condition="INCWAGE > 1501 AND SEX = '2'"),
    "label's missing values": lambda d: d["label"].update(missing_values=[999998]),
    "column": lambda d: d["label"].update(column=d["label"].pop("condition")[:7]),
}


def test_digest_tells_different_domains_apart() -> None:
    digests = [digest(read_declaration("census", census(change), "x")) for change in CHANGES.values()]
    assert len({digest(read_domain("census", CENSUS, "x")), *digests}) == len(CHANGES) + 1
