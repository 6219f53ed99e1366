"""What Python and a notebook print of domains, guarantees, plans and figures: few lines, escaped, whatever the size."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from support.domain_strategies import declarations
from support.people import PEOPLE, people, people_domain, write_people

import dpnb_columnar as dpnb
from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.budget.composition import Guarantee
from dpnb_columnar.domain import Categorical, Declaration, Domain, Numeric, UnlabelledDomain
from dpnb_columnar.domain.declared_domain import Provenance
from dpnb_columnar.domain.domain_text import LONGEST_LINE, MOST_ROWS, html_fragment
from dpnb_columnar.model.guarantee_text import statement
from dpnb_columnar.releases.plan import plan

HOSTILE = "<script>alert(1)</script>\u202e&\"'"


@given(declarations())
def test_any_domain_is_printed_in_a_few_lines(domain: Declaration) -> None:
    lines = repr(domain).splitlines()
    assert len(lines) <= 10
    assert all(len(line) <= LONGEST_LINE for line in lines)
    ElementTree.fromstring(domain._repr_html_())


def test_a_domain_of_many_attributes_and_long_words() -> None:
    attributes = [*(Numeric(f"n{place}", Fraction(0), Fraction(9), Fraction(1)) for place in range(300))]
    attributes += [*(Categorical(f"c{place}", tuple(map(str, range(500)))) for place in range(3))]
    wide = UnlabelledDomain(
        "wide", tuple(attributes), universe="n1 > 0", provenance=Provenance(name="Survey", citation="x" * 2000)
    )
    shown = repr(wide)
    assert "300 numeric: n0, n1, n2, " in shown
    assert "3 categorical: c0, c1, c2" in shown
    assert "persons: those with n1 > 0\nsource: Survey\nto be cited: xxx" in shown
    assert len(shown) < 1500
    page = wide._repr_html_()
    assert f"the first {MOST_ROWS} attributes, of 303:" in page
    assert page.count("<tr>") == MOST_ROWS + 1


def test_a_guarantee_and_its_shares() -> None:
    domain = people_domain()
    planned = plan(domain, Budget(Fraction(1)), "histogram")
    guarantee = Guarantee("histogram", None, Fraction(1), Fraction(0), planned.budget.neighbours, planned.shares, False)
    count = len(planned.shares)
    promised = "Guarantee: epsilon 1 for rows of add-remove, mechanism histogram, composition of "
    assert repr(guarantee) == f"{promised}{count}"
    assert repr(replace(guarantee, seeded=True)) == "Guarantee: NO GUARANTEE, mechanism histogram"
    many = replace(guarantee, composition=planned.shares[:1], reserved=planned.shares[-1])
    assert repr(many) == f"{promised}1, a share reserved"
    assert repr(planned.shares[0]).startswith("Share(class counts: 2 values, epsilon ")
    assert repr(planned.shares[1]).startswith(f"Share(counts of {planned.shares[1].attribute!r}: ")


def test_a_fragment_is_escaped_and_keeps_columns() -> None:
    fragment = html_fragment([HOSTILE, "", "  a   b", "  --- -"], [HOSTILE, "n"], [(HOSTILE, 12345), ("x", "1 < 2")])
    assert "<script>" not in fragment
    assert "\u202e" not in fragment
    tree = ElementTree.fromstring(fragment)
    assert [child.tag for child in tree] == ["p", "pre", "table"]
    assert tree.findtext("pre") == "  a   b\n  --- -"
    assert [cell.text for cell in tree.iter("td")] == ["12,345", "1 < 2"]
    assert tree.findtext("p") == HOSTILE.replace("\u202e", "\\u202e")
    assert html_fragment(["x"]) == "<div><p>x</p></div>"


@pytest.fixture
def model(tmp_path: Path) -> dpnb.Model:
    document = {**PEOPLE, "titles": {"age": HOSTILE}, "universe": HOSTILE, "provenance": {"citation": HOSTILE}}
    return dpnb.train(str(write_people(tmp_path / "people.parquet", people(400), document)), epsilon=1)


def test_a_notebook_shows_domain_plan_evaluation_and_scores(model: dpnb.Model) -> None:
    rows = people(400)
    evaluation, scores = model.evaluate(rows), dpnb.release_scores(model, rows, epsilon=1)
    planned = dpnb.plan(rows, domain=model.domain, epsilon=1, rehearse=False)
    for each in (model, model.domain, planned, evaluation, scores):
        page = each._repr_html_()
        assert "<script>" not in page
        assert "\u202e" not in page
        ElementTree.fromstring(page)
    assert "CONFIDENTIAL" in evaluation._repr_html_()
    assert f"<td>{evaluation.accuracy:.4f}</td>" in evaluation._repr_html_()
    assert f"<td>{scores.figures.accuracy}</td>" in scores._repr_html_()
    assert statement(scores.guarantee) in ElementTree.fromstring(scores._repr_html_()).itertext()
    assert "&lt;script&gt;" in model.domain._repr_html_()
    assert isinstance(model.domain, Domain)
