"""The page as people see it: at a desk and on a phone, in light and dark, and printed."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.chromium import Browser
from support.report_pages import Page

WIDTHS = (1280, 768, 390)


@pytest.mark.parametrize("width", WIDTHS)
def test_page_fits_its_window(browser: Browser, whole: Page, width: int) -> None:
    browser.open(whole.path.as_uri(), width)
    assert browser.value("innerWidth") == width
    assert browser.value("document.documentElement.scrollWidth") <= width
    browser.value("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert browser.value("document.documentElement.scrollWidth") <= width
    # Wide tables scroll in a box of their own, and nothing else reaches over the edge.
    outside = (
        "[...document.querySelectorAll('main *')].filter(part => !part.closest('.scroll') && "
        "part.getBoundingClientRect().right > innerWidth + 0.5).map(part => part.outerHTML.slice(0, 80))"
    )
    assert browser.value(outside) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_text_in_figures_is_legible_and_not_clipped(browser: Browser, whole: Page, width: int) -> None:
    browser.open(whole.path.as_uri(), width)
    sizes = browser.value(
        "[...document.querySelectorAll('.panel text')].map(part => parseFloat(getComputedStyle(part).fontSize) * "
        "Math.hypot(part.getScreenCTM().a, part.getScreenCTM().b))"
    )
    assert len(sizes) > 100
    assert min(sizes) >= 9.5
    clipped = """[...document.querySelectorAll('.panel text')].filter(part => {
        const own = part.getBoundingClientRect(), box = part.closest('svg').getBoundingClientRect();
        return own.left < box.left - 1 || own.right > box.right + 1 || own.top < box.top - 1 ||
            own.bottom > box.bottom + 1;
    }).map(part => part.textContent)"""
    assert browser.value(clipped) == []


@pytest.mark.parametrize("width", [1280, 390])
def test_labels_do_not_overlap(browser: Browser, whole: Page, width: int) -> None:
    browser.open(whole.path.as_uri(), width)
    touching = """[...document.querySelectorAll('.panel svg')].flatMap(drawing => {
        const texts = [...drawing.querySelectorAll('text')].filter(part => part.textContent.trim());
        const boxes = texts.map(part => part.getBoundingClientRect());
        return texts.flatMap((part, i) => texts.slice(i + 1).filter((other, j) => {
            const a = boxes[i], b = boxes[i + 1 + j];
            return Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
                Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
        }).map(other => drawing.getAttribute('aria-label').slice(0, 30) + ': ' + part.textContent + '/' +
            other.textContent));
    })"""
    assert browser.value(touching) == []


def test_nothing_is_fetched(browser: Browser, whole: Page) -> None:
    browser.open(whole.path.as_uri(), 1280)
    assert browser.requested() == [whole.path.as_uri()]


def test_watching_sees_what_is_fetched(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text('<!DOCTYPE html><img src="other.png"><style>body { background: url(another.png) }</style>')
    browser.open(page.as_uri(), 1280)
    assert {address.rpartition("/")[2] for address in browser.requested()} >= {"page.html", "other.png", "another.png"}


def test_light_and_dark(browser: Browser, whole: Page) -> None:
    found = {}
    for scheme in ("light", "dark"):
        browser.open(whole.path.as_uri(), 1280, scheme=scheme)
        colour = "getComputedStyle(document.querySelector('{}')).{}"
        found[scheme] = [
            browser.value(colour.format("body", "backgroundColor")),
            browser.value(colour.format("body", "color")),
            browser.value(colour.format(".panel text", "fill")),
            browser.value(colour.format(".panel path[stroke*=smooth]", "stroke")),
        ]
    assert found["light"][:2] == ["rgb(254, 254, 254)", "rgb(29, 35, 43)"]
    assert found["dark"][:2] == ["rgb(20, 24, 29)", "rgb(228, 232, 238)"]
    assert found["light"][2] == found["light"][1]
    assert found["dark"][2] == found["dark"][1]
    assert found["light"][3] == "rgb(0, 58, 120)"
    assert found["dark"][3] == "rgb(58, 144, 255)"


def test_line_samples_are_shown(browser: Browser, whole: Page) -> None:
    browser.open(whole.path.as_uri(), 1280)
    widths = browser.value(
        "[...document.querySelectorAll('.legend svg')].map(part => part.getBoundingClientRect().width)"
    )
    assert len(widths) > 20
    assert min(widths) > 20


def test_tables_are_printed(browser: Browser, whole: Page) -> None:
    browser.open(whole.path.as_uri(), 1280)
    height = "Math.min(...[...document.querySelectorAll('details table')].map(part => part.checkVisibility() * 1))"
    assert browser.value(height) == 0
    browser.ask(
        "Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}]
    )
    assert browser.value(height) == 1
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(254, 254, 254)"
    browser.ask("Emulation.setEmulatedMedia", media="", features=[])
    assert len(browser.printed()) > 50_000
