"""The canonical declaration of a domain, and its digest."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from domain_cases import CENSUS, census
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpnb_columnar.domain import (
    Categorical,
    Domain,
    Label,
    Missing,
    Numeric,
    Transform,
    digest,
    document_of,
    read_domain,
)
from dpnb_columnar.domain.condition import parse_condition
from dpnb_columnar.domain.metadata import domain_from_metadata, domain_metadata

PRINTABLE = st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])
NAMES = st.text(PRINTABLE, min_size=1, max_size=12)
TEXTS = st.text(PRINTABLE, max_size=8)
FRACTIONS = st.fractions(-1000, 1000, max_denominator=10**6) | st.decimals(-1000, 1000, places=3).map(Fraction)


@st.composite
def numerics(draw: st.DrawFn, name: str) -> Numeric:
    lower = draw(FRACTIONS)
    step = abs(draw(FRACTIONS.filter(bool)))
    upper = lower + step * draw(st.integers(1, 2**32))
    assume(max(abs(lower), abs(upper)) < step * 2**53)
    transform = draw(st.sampled_from(Transform)) if lower >= 0 else Transform.IDENTITY
    return Numeric(name, lower, upper, step, transform, tuple(draw(st.lists(FRACTIONS, max_size=3))))


@st.composite
def categoricals(draw: st.DrawFn, name: str) -> Categorical:
    texts = draw(st.lists(TEXTS, min_size=2, max_size=8, unique=True))
    cut = draw(st.integers(1, len(texts)))
    return Categorical(name, tuple(texts[:cut]), draw(st.sampled_from(Missing)), tuple(texts[cut:]))


@st.composite
def labels(draw: st.DrawFn, columns: list[str]) -> Label:
    texts = draw(st.lists(TEXTS, min_size=2, max_size=6, unique=True))
    if draw(st.booleans()):
        quoted = [column.replace('"', '""') for column in columns]
        condition = " OR ".join(f'"{column}" > {draw(st.integers(0, 99))}' for column in quoted)
        return Label(tuple(texts[:2]), None, parse_condition(condition), tuple(texts[2:]))
    cut = draw(st.integers(2, len(texts)))
    return Label(tuple(texts[:cut]), columns[0], None, tuple(texts[cut:]))


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    columns = draw(st.lists(NAMES, min_size=2, max_size=7, unique=True))
    cut = draw(st.integers(1, len(columns) - 1))
    attributes = tuple(draw(numerics(name) | categoricals(name)) for name in columns[cut:])
    return Domain(draw(NAMES), draw(labels(columns[:cut])), attributes)


@settings(deadline=None)
@given(domains())
def test_canonical_declaration_describes_the_domain(domain: Domain) -> None:
    found = read_domain(domain.name, document_of(domain), "x")
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
        attributes["URBAN"] = {"values": ["1", "2"], "missing": "drop", "missing_values": []}
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
    "missing texts": lambda d: d["attributes"]["URBAN"].update(missing_values=["?"]),
    "classes": lambda d: d["label"].update(classes=["high", "low"]),
    "condition": lambda d: d["label"].update(condition="INCWAGE > 1501 AND SEX = '2'"),
    "label's missing values": lambda d: d["label"].update(missing_values=[999998]),
    "column": lambda d: d["label"].update(column=d["label"].pop("condition")[:7]),
}


def test_digest_tells_different_domains_apart() -> None:
    digests = [digest(read_domain("census", census(change), "x")) for change in CHANGES.values()]
    assert len({digest(read_domain("census", CENSUS, "x")), *digests}) == len(CHANGES) + 1
