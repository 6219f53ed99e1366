"""Any model has its papers: a release sheet, a card, and an entry that the registry's schema admits."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from support.model_cases import models, names
from support.released_models import MODELS

from dpnb_columnar.api.model import Model
from dpnb_columnar.errors import UsageError
from dpnb_columnar.extensions.audit.attacks import FORMAT, VERSION
from dpnb_columnar.papers import model_card as cards
from dpnb_columnar.papers.model_card import model_card, registry_entry
from dpnb_columnar.papers.release_papers import (
    ALLOWED,
    AUDIT_FORMAT,
    AUDIT_VERSION,
    TEXTS,
    ReleasePapers,
    ReleaseRecord,
    record_of,
)
from dpnb_columnar.papers.release_sheet import write_release_sheet

PINNED = json.loads((Path(__file__).parent / "registry_schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft7Validator(PINNED, format_checker=Draft7Validator.FORMAT_CHECKER)


def faults(entry: dict[str, Any]) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(json.loads(json.dumps(entry)))]


texts = st.fixed_dictionaries({}, optional={key: names.filter(str.strip) for key in TEXTS})
documents = st.builds(
    lambda stated, sector, releases, new_rows, kinds, day: {
        **stated,
        **{"purpose": "p", "region": "r", "published": day, "record_authors": ["a"]},
        **{key: value for key, value in (("sector", sector), ("releases", releases), ("new_rows", new_rows)) if value},
        "curators": [{"name": f"c{kind}", "kind": kind} for kind in kinds],
    },
    texts,
    *(st.none() | st.sampled_from(ALLOWED[key]) for key in ("sector", "releases", "new_rows")),
    st.lists(st.sampled_from(ALLOWED["kind"]), min_size=1, max_size=3),
    st.dates(),
)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(models(), documents)
def test_every_entry_is_valid(model: Model, document: dict[str, Any]) -> None:
    papers = ReleasePapers(record_of(document, "test"))
    assert model_card(model, papers, "m.json", "0" * 64).startswith("# Model card: ")
    if not model.guarantee.private:
        with pytest.raises(UsageError, match="no guarantee"):
            registry_entry(model, papers)
        return
    entry = registry_entry(model, papers)
    assert faults(entry) == []
    stated = entry["deployment"]["privacy_loss"]["privacy_parameters"]
    for name, amount in stated.items():
        assert amount >= getattr(model.guarantee, name)  # never less than what is true


def test_the_pinned_schema_refuses_what_the_registry_refuses() -> None:
    """The checker sees a fault of each kind."""
    papers = ReleasePapers(
        record_of(
            {
                **{"purpose": "p", "region": "r", "published": "2026-01-01", "record_authors": ["a"]},
                "curators": [{"name": "c", "kind": "Industry"}],
            },
            "test",
        )
    )
    model = MODELS["histogram"]
    good = registry_entry(replace(model, guarantee=replace(model.guarantee, seeded=False)), papers)
    assert faults(good) == []
    for path, value in (
        (("basic", "data_product_sector"), "Farming"),
        (("basic", "publication_date"), "1/1/2026"),
        (("basic", "author"), "me"),
        (("privacy_loss", "privacy_parameters"), {"epsilon": "1"}),
        (("administrative", "registry_authors"), []),
        (("administrative", "tier"), 0),
    ):
        entry = json.loads(json.dumps(good))
        entry["deployment"][path[0]][path[1]] = value
        assert faults(entry), path
    del good["deployment"]["basic"]["intended_use"]
    assert faults(good)


def test_enumerations_are_the_registrys() -> None:
    deployment = PINNED["properties"]["deployment"]["properties"]
    basic, kinds = deployment["basic"]["properties"], deployment["deployment_model"]["properties"]
    curator = basic["data_curators"]["items"]["properties"]["data_curator_type"]
    assert [*ALLOWED["sector"]] == basic["data_product_sector"]["enum"]
    assert [*ALLOWED["kind"]] == curator["enum"]
    assert [*ALLOWED["releases"]] == kinds["release_type"]["enum"]
    assert [*ALLOWED["new_rows"]] == kinds["data_source_type"]["enum"]
    schema = re.search(r"\b(schemas/\S+\.yaml)`` there at commit (\w{40})", cards.__doc__ or "")
    assert schema is not None
    assert all(part in PINNED["$comment"] for part in ("opendp/deployments-registry-data", *schema.groups()))


def test_the_audits_format_is_the_audits() -> None:
    assert (AUDIT_FORMAT, AUDIT_VERSION) == (FORMAT, VERSION)


def test_an_empty_record_states_nothing() -> None:
    assert ReleaseRecord() == record_of({}, "test")


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(models())
def test_any_model_has_a_sheet(tmp_path_factory: pytest.TempPathFactory, model: Model) -> None:
    page = tmp_path_factory.getbasetemp() / "sheet.html"
    write_release_sheet(model, "-a b.json", "0" * 64, page, overwrite=True)
    root = ElementTree.fromstring(page.read_text(encoding="utf-8"))
    drawn = [part for part in root.iter("div") if part.get("class") == "drawn"]
    assert len(drawn) == len(model.attributes)
    for path in root.iter("path"):
        assert "nan" not in path.attrib["d"]
        assert "inf" not in path.attrib["d"]
    ElementTree.fromstring(model._repr_html_())
