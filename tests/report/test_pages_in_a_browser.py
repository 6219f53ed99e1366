"""Pages as people see them, at a desk and on a phone, in light and dark, printed and read aloud.

The report of the paper's figures, release sheets and pages of evaluations, some of them with hostile names.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from support.chromium import Browser
from support.hostile_names import write_hostile_rows
from support.people import people, write_people
from support.released_models import released
from support.report_pages import Page
from support.running import completed

WIDTHS = (1280, 768, 390)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, whole: Page) -> dict[str, Path]:
    """By name, a page of each kind: the report; a sheet with curves and bars; one, and exact figures, of hostile names;
    released scores."""
    folder = tmp_path_factory.mktemp("pages")
    released("smooth", epsilon=Fraction(1)).save(folder / "plain.json")
    town, rest = write_hostile_rows(folder), write_people(folder / "rest.parquet", people(800))
    completed("train", town, "--dataset", f"{folder}/datasets.toml:town", "--output", folder / "town.json")
    completed("train", rest, "--output", folder / "people.json", "--mechanism", "histogram")
    made = {name: folder / f"{name}.html" for name in ("sheet", "hostile sheet", "hostile figures", "scores")}
    for name, model in (("sheet", "plain"), ("hostile sheet", "town")):
        completed("show", folder / f"{model}.json", "--html", made[name])
    completed("evaluate", folder / "town.json", town, "--html", made["hostile figures"])
    scores = ("--epsilon", "0.5", "--output", folder / "s.json")
    completed("evaluate", folder / "people.json", rest, "--html", made["scores"], *scores)
    return {"report": whole.path, **made}


PAGES = ("report", "sheet", "hostile sheet", "hostile figures", "scores")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_its_window_and_fetches_nothing(
    name: str, width: int, browser: Browser, pages: dict[str, Path]
) -> None:
    """Wide tables scroll in a box of their own, and nothing else reaches over the edge."""
    address = pages[name].as_uri()
    browser.open(address, width)
    assert browser.value("innerWidth") == width
    assert browser.value("document.documentElement.scrollWidth") <= width
    browser.value("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert browser.value("document.documentElement.scrollWidth") <= width
    outside = (
        "[...document.querySelectorAll('main *')].filter(part => !part.closest('.scroll, .samples, .curves') && "
        "part.getBoundingClientRect().right > innerWidth + 0.5).map(part => part.outerHTML.slice(0, 80))"
    )
    assert browser.value(outside) == []
    assert browser.requested() == [address]
    assert browser.value("document.scripts.length") == 0


def test_watching_sees_what_is_fetched(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text('<!DOCTYPE html><img src="other.png"><style>body { background: url(another.png) }</style>')
    browser.open(page.as_uri(), 1280)
    assert {address.rpartition("/")[2] for address in browser.requested()} >= {"page.html", "other.png", "another.png"}


def test_a_page_runs_no_script_even_where_one_is_put_in(browser: Browser, pages: dict[str, Path]) -> None:
    planted = (
        '<script>document.title = "run"</script><img src="beside.png" onerror="document.title = \'run\'" /></main>'
    )
    text = pages["sheet"].read_text(encoding="utf-8")
    policy = next(line for line in text.splitlines() if "Content-Security-Policy" in line)
    titles = {}
    for name, page in (("with", text), ("without", text.replace(policy, ""))):
        changed = pages["sheet"].with_name(f"{name}.html")
        changed.write_text(page.replace("</main>", planted), encoding="utf-8")
        browser.open(changed.as_uri(), 1280)
        titles[name] = browser.value("document.title")
    assert titles["without"] == "run"
    assert titles["with"] != "run"


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


def test_line_samples_are_shown(browser: Browser, whole: Page) -> None:
    browser.open(whole.path.as_uri(), 1280)
    widths = browser.value(
        "[...document.querySelectorAll('.legend svg')].map(part => part.getBoundingClientRect().width)"
    )
    assert len(widths) > 20
    assert min(widths) > 20


def test_light_and_dark(browser: Browser, whole: Page) -> None:
    found = {}
    for scheme in ("light", "dark"):
        browser.open(whole.path.as_uri(), 1280, scheme=scheme)
        colour = "getComputedStyle(document.querySelector('{}')).{}"
        found[scheme] = [
            browser.value(colour.format(part, kind))
            for part, kind in (
                *(("body", "backgroundColor"), ("body", "color"), (".panel text", "fill")),
                (".panel path[stroke*=smooth]", "stroke"),
            )
        ]
    ink = {"light": "rgb(29, 35, 43)", "dark": "rgb(228, 232, 238)"}
    assert found["light"] == ["rgb(254, 254, 254)", ink["light"], ink["light"], "rgb(0, 58, 120)"]
    assert found["dark"] == ["rgb(20, 24, 29)", ink["dark"], ink["dark"], "rgb(58, 144, 255)"]


def test_curves_and_bars_follow_the_scheme(browser: Browser, pages: dict[str, Path]) -> None:
    seen = {}
    for scheme in ("light", "dark"):
        browser.open(pages["sheet"].as_uri(), 1280, scheme=scheme)
        colours = "[...document.querySelectorAll('{}')].map(part => getComputedStyle(part).{})"
        curves = browser.value(colours.format(".curves path", "stroke"))
        bars = browser.value(colours.format(".bar rect:first-child", "fill"))
        background = browser.value("getComputedStyle(document.body).backgroundColor")
        assert (len(curves), len(bars)) == (4, 8)
        assert set(curves) == set(bars)
        assert background not in curves
        browser.open(pages["scores"].as_uri(), 1280, scheme=scheme)
        plot = browser.value("getComputedStyle(document.querySelector('.plot path')).stroke")
        seen[scheme] = (background, plot, *sorted(set(curves)))
    assert all(light != dark for light, dark in zip(seen["light"], seen["dark"], strict=True))


@pytest.mark.parametrize("name", PAGES)
def test_a_printed_page_is_light_as_wide_as_the_paper_and_has_its_tables(
    name: str, browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages[name].as_uri(), 720, scheme="dark")
    shown = "Math.min(1, ...[...document.querySelectorAll('details table')].map(part => part.checkVisibility() * 1))"
    assert browser.value(shown) == 0 or name != "report"
    browser.ask(
        "Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}]
    )
    assert browser.value(shown) == 1
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(254, 254, 254)"
    assert browser.value("document.documentElement.scrollWidth") <= 720
    browser.ask("Emulation.setEmulatedMedia", media="", features=[])
    printed = browser.printed()
    assert printed.startswith(b"%PDF")
    assert len(printed) > (50_000 if name == "report" else 0)


READ = {
    "sheet": ("Released normal distributions of ", 2, "What is not protected"),
    "hostile figures": ("ROC curve: part of its own rows found against", 3, "Calibration"),
    "scores": ("ROC curve: part of its own rows found against", 3, "Calibration"),
}


@pytest.mark.parametrize("name", READ)
def test_what_a_screen_reader_is_told(name: str, browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages[name].as_uri(), 1280)
    nodes = browser.ask("Accessibility.getFullAXTree")["nodes"]
    told = [(node.get("role", {}).get("value"), node.get("name", {}).get("value", "")) for node in nodes]
    first, least, heading = READ[name]
    images = [image for role, image in told if role == "image"]
    assert images[0].startswith(first)
    assert len(images) >= least
    assert ("heading", heading) in told
    if name == "sheet":
        assert any(role == "table" and "missing value means" in title for role, title in told)
