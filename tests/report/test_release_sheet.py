"""Any model that can be read has a release sheet, whatever its numbers and names are."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given, settings
from support.model_cases import models

from dpnb_columnar.api.model import Model
from dpnb_columnar.papers.release_sheet import write_release_sheet


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
