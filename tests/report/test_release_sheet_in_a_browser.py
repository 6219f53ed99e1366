"""The release sheet as people see it: at a desk and on a phone, in light and dark, and printed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from support.chromium import Browser
from support.hostile_names import write_hostile_rows
from support.released_models import released

from dpnb_columnar.cli.main import exit_code


@pytest.fixture(scope="module")
def sheets(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A sheet with curves and bars, and one with hostile and long names."""
    folder = tmp_path_factory.mktemp("sheets")
    released("smooth", epsilon=Fraction(1)).save(folder / "plain.model.json")
    town, catalogue = write_hostile_rows(folder), folder / "datasets.toml"
    hostile = folder / "town.model.json"
    options = ["--dataset", f"{catalogue}:town", "--output", str(hostile)]
    assert exit_code(["train", str(town), *options]) == 0
    pages = []
    for name in ("plain", "town"):
        page = folder / f"{name}.html"
        assert exit_code(["show", str(folder / f"{name}.model.json"), "--html", str(page)]) == 0
        pages.append(page)
    return pages


@pytest.mark.parametrize("width", [1280, 390])
def test_the_sheet_fits_its_window_and_fetches_nothing(browser: Browser, sheets: list[Path], width: int) -> None:
    for page in sheets:
        browser.open(page.as_uri(), width)
        assert browser.value("document.documentElement.scrollWidth") <= width
        outside = (
            "[...document.querySelectorAll('main *')].filter(part => !part.closest('.scroll, .samples, .curves') && "
            "part.getBoundingClientRect().right > innerWidth + 0.5).map(part => part.outerHTML.slice(0, 80))"
        )
        assert browser.value(outside) == []
        assert browser.requested() == [page.as_uri()]
        assert browser.value("document.scripts.length") == 0


def test_curves_and_bars_follow_the_scheme(browser: Browser, sheets: list[Path]) -> None:
    seen = {}
    for scheme in ("light", "dark"):
        browser.open(sheets[0].as_uri(), 1280, scheme=scheme)
        colours = "[...document.querySelectorAll('{}')].map(part => getComputedStyle(part).{})"
        curves = browser.value(colours.format(".curves path", "stroke"))
        bars = browser.value(colours.format(".bar rect:first-child", "fill"))
        background = browser.value("getComputedStyle(document.body).backgroundColor")
        assert len(curves) == 4
        assert len(bars) == 8
        assert set(curves) == set(bars)
        assert background not in curves
        seen[scheme] = (background, *sorted(set(curves)))
    assert seen["light"] != seen["dark"]


def test_the_printed_sheet_is_light_and_as_wide_as_the_paper(browser: Browser, sheets: list[Path]) -> None:
    for page in sheets:
        browser.open(page.as_uri(), 720, scheme="dark")
        browser.ask("Emulation.setEmulatedMedia", media="print")
        assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(254, 254, 254)"
        assert browser.value("document.documentElement.scrollWidth") <= 720
        browser.ask("Emulation.setEmulatedMedia", media="", features=[])
        assert browser.printed().startswith(b"%PDF")


def test_what_a_screen_reader_is_told(browser: Browser, sheets: list[Path]) -> None:
    browser.open(sheets[0].as_uri(), 1280)
    nodes = browser.ask("Accessibility.getFullAXTree")["nodes"]
    told = [(node.get("role", {}).get("value"), node.get("name", {}).get("value", "")) for node in nodes]
    names = [name for role, name in told if role == "image"]
    assert len(names) == 2
    assert all(name.startswith("Released normal distributions of ") for name in names)
    assert ("heading", "What is not protected") in told
    assert any(role == "table" and "missing value means" in name for role, name in told)


def test_a_page_runs_no_script_even_where_one_is_put_in(browser: Browser, sheets: list[Path]) -> None:
    planted = (
        '<script>document.title = "run"</script><img src="beside.png" onerror="document.title = \'run\'" /></main>'
    )
    text = sheets[0].read_text(encoding="utf-8")
    policy = next(line for line in text.splitlines() if "Content-Security-Policy" in line)
    titles = {}
    for name, page in (("with", text), ("without", text.replace(policy, ""))):
        changed = sheets[0].with_name(f"{name}.html")
        changed.write_text(page.replace("</main>", planted), encoding="utf-8")
        browser.open(changed.as_uri(), 1280)
        titles[name] = browser.value("document.title")
    assert titles["without"] == "run"
    assert titles["with"] != "run"
