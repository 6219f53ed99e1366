"""The page of a report: summary, figures with their tables, and what was run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files as packaged
from urllib.parse import quote

import polars as pl

from dpnb_columnar.report.completeness import Gap, gaps
from dpnb_columnar.report.drawing import describe, panel_svg, sample_svg
from dpnb_columnar.report.figures import Figure, Panel
from dpnb_columnar.report.html import Html, element, joined
from dpnb_columnar.report.inline import inlined, symbol
from dpnb_columnar.report.results import Results
from dpnb_columnar.report.styles import COLOURS, Style, style
from dpnb_columnar.report.summary import Standing, Winner, sentences, standings

TITLE = "Differentially private naive Bayes: how accurate it is"

PER_DATASET = ("rows.", "domain.")
"""Prefixes of metadata that is about one data set."""

SHOWN_GAPS = 6
"""Missing parts named before the rest is folded away."""


@dataclass(frozen=True, slots=True)
class Section:
    """Figures under one heading, by the names of their files."""

    anchor: str
    title: str
    figures: Mapping[str, Figure]


class Samples:
    """Line samples of the page's legends: each style is drawn once."""

    def __init__(self) -> None:
        self.names: dict[Style, str] = {}

    def shown(self, look: Style) -> Html:
        """A line sample; the word beside it says what it means."""
        name = self.names.setdefault(look, f"line-{len(self.names) + 1}")
        return Html(f'<svg class="sample" viewBox="0 0 36 14.4" aria-hidden="true"><use href="#{name}"></use></svg>')

    def drawn(self) -> Html:
        """All samples, for a place where nothing is shown."""
        symbols = [symbol(sample_svg(look), name) for look, name in self.names.items()]
        return Html(f'<svg width="0" height="0" class="samples" aria-hidden="true">{"".join(symbols)}</svg>')


def page(results: Results, sections: Sequence[Section], folder: str) -> str:
    """The whole page.

    Args:
        results: What was measured.
        sections: Figures by section; sections without figures are left out before.
        folder: Name of the folder with the figures' files, beside the page.
    """
    samples = Samples()
    found = standings(results)
    missing = gaps(results)
    number = 0
    parts = []
    for section in sections:
        figures = []
        for name, figure in section.figures.items():
            number += 1
            figures.append(_figure(figure, name, number, folder, samples))
        parts.append(
            element("section", element("h2", section.title), *figures, id=section.anchor, aria_label=section.title)
        )
    body = [
        element("header", element("h1", TITLE), element("p", _counts(results), class_="lead")),
        *([_missing(missing)] if missing else []),
        _contents(sections, bool(found)),
        *([_summary(results, found)] if found else []),
        *parts,
        _run(results),
    ]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", TITLE),
        element("style", Html(_style_sheet())),
    )
    main = element("body", element("main", samples.drawn(), *body))
    return f'<!DOCTYPE html>\n<html lang="en">\n{head}\n{main}\n</html>\n'


def _style_sheet() -> str:
    """The style sheet with the colours as variables, for light and dark; paper is light."""
    light = "".join(f"--{name}:{colours[0]};" for name, colours in COLOURS.items())
    dark = "".join(f"--{name}:{colours[1]};" for name, colours in COLOURS.items())
    sheet = packaged("dpnb_columnar.report").joinpath("page.css").read_text(encoding="utf-8")
    return f":root{{{light}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}\n{sheet}"


def _counts(results: Results) -> str:
    """How much was run, in a sentence or two."""
    cells = results.cells
    mechanisms, datasets = cells["mechanism"].n_unique(), cells["dataset"].n_unique()
    epsilons = cells["epsilon"].drop_nulls()
    told = f"{len(cells):,} models by {mechanisms} mechanisms, each scored on a fold it has not seen, "
    told += f"on {datasets} public or simulated data sets"
    if len(epsilons):
        told += f", total ε from {min(epsilons):g} to {max(epsilons):g}"
    iterations, folds = cells["iteration"].n_unique(), cells["fold"].n_unique()
    told += f"; {iterations} iteration{'s' * (iterations > 1)} of {folds}-fold cross-validation."
    seconds = float(cells["seconds"].sum())
    return unbroken(f"{told} The releases took {duration(seconds)} of computing in all.")


def unbroken(text: str) -> str:
    """The text without line breaks inside equations."""
    return text.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")


def duration(seconds: float) -> str:
    """A time in a unit that suits it."""
    for size, unit in ((3600, "hours"), (60, "minutes")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} seconds"


def _missing(found: list[Gap]) -> Html:
    """The notice that the results are not finished."""
    lines = [
        element(
            "li",
            element("b", f"{gap.dataset}, {gap.study}: "),
            f"{gap.method}, {gap.complete} of {gap.iterations} iterations ({gap.present:,} of {gap.expected:,} cells)",
        )
        for gap in found
    ]
    shown = [element("ul", *lines[:SHOWN_GAPS])]
    if lines[SHOWN_GAPS:]:
        rest = element("ul", *lines[SHOWN_GAPS:])
        shown.append(element("details", element("summary", f"{len(lines) - SHOWN_GAPS} more"), rest))
    text = "These results are not complete: everything below is made from the cells that are there."
    return element("aside", element("p", element("b", "Not finished. "), text), *shown, class_="notice", id="missing")


def _contents(sections: Sequence[Section], summarised: bool) -> Html:
    entries = [("summary", "Summary")] if summarised else []
    entries += [(section.anchor, section.title) for section in sections]
    entries.append(("run", "What was run"))
    links = [element("li", element("a", title, href=f"#{anchor}")) for anchor, title in entries]
    return element("nav", element("ul", *links), aria_label="Contents")


def _summary(results: Results, found: list[Standing]) -> Html:
    epsilons = sorted({epsilon for standing in found for epsilon in standing.winners})
    header = ["data set", "without privacy", "largest class", *(unbroken(f"ε = {epsilon:g}") for epsilon in epsilons)]
    rows: list[list[str]] = [
        [
            joined(standing.dataset, element("br"), element("small", f"{standing.rows:,} rows")),
            _number(standing.ceiling),
            _number(standing.floor),
            *(_winner(standing.winners.get(epsilon)) for epsilon in epsilons),
        ]
        for standing in found
    ]
    return element(
        "section",
        element("h2", "Summary"),
        element(
            "ul", *(element("li", unbroken(sentence)) for sentence in sentences(results, found)), class_="findings"
        ),
        element("h3", "The best private mechanism, by data set and ε"),
        element(
            "p",
            "Pure ε-differential privacy, total ε of the whole release. Below each accuracy: how far it is from naive "
            "Bayes without privacy. Grey: always naming the largest class is as good.",
            class_="notes",
        ),
        _table("Best private mechanism by data set and total epsilon", header, rows, "winners"),
        id="summary",
        aria_label="Summary",
    )


def _winner(winner: Winner | None) -> Html:
    if winner is None:
        return Html("–")
    below = "" if winner.below is None else signed(-winner.below)
    return element(
        "span",
        element("b", winner.mechanism),
        element("br"),
        f"{winner.accuracy:.3f} ",
        element("small", below),
        class_="useless" if winner.useless else None,
        style=f"border-color: var(--{style(winner.mechanism).colour})",
    )


def signed(value: float) -> str:
    """A difference with its sign, and a true minus."""
    return f"{value:+.3f}".replace("-", "−")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _figure(figure: Figure, name: str, number: int, folder: str, samples: Samples) -> Html:
    """One figure: caption, legend, panels, table, files."""
    legend = [element("li", samples.shown(look), label) for label, look in figure.lines()]
    panels = [
        element(
            "div", inlined(panel_svg(panel), f"{name}-{place}-", f"{panel.title}: {describe(panel)}"), class_="panel"
        )
        for place, panel in enumerate(figure.panels, 1)
    ]
    links = [
        element("a", suffix.upper(), href=f"{quote(folder)}/{quote(name)}.{suffix}") for suffix in ("png", "svg", "csv")
    ]
    tables = element(
        "details",
        element("summary", "Numbers"),
        *(part for panel in figure.panels for part in _numbers(panel, figure)),
    )
    return element(
        "figure",
        element("h3", element("span", f"Figure {number}. ", class_="number"), figure.title),
        element("figcaption", unbroken(figure.caption)),
        element("ul", *legend, class_="legend"),
        element("div", *panels, class_="panels"),
        element("p", figure.notes, " Files: ", links[0], ", ", links[1], ", ", links[2], class_="notes"),
        tables,
        id=name,
    )


def _numbers(panel: Panel, figure: Figure) -> list[Html]:
    """The table of one panel under its title: one row per series, one column per x."""
    places = sorted({point.x for line in panel.series for point in line.points})
    header = [panel.x.label, *(f"{place:,.10g}" for place in places)]
    rows = []
    for line in panel.series:
        told = {point.x: point.text for point in line.points}
        rows.append([line.label, *(told.get(place, "–") for place in places)])
    rows += [[line.label, *([line.text] * len(places))] for line in panel.references]
    return [element("h4", panel.title), _table(f"{figure.title}, {panel.title}: {panel.y.label}", header, rows)]


def _table(label: str, header: Sequence[str], rows: Sequence[Sequence[str]], kind: str | None = None) -> Html:
    """A table in a box of its own, which scrolls where the table is too wide."""
    head = element("tr", *(element("th", cell, scope="col") for cell in header))
    body = [
        element("tr", element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:])) for row in rows
    ]
    table = element("table", element("thead", head), element("tbody", *body), class_=kind)
    return element("div", table, class_="scroll", role="region", aria_label=label, tabindex="0")


def _run(results: Results) -> Html:
    """What was run, with which versions."""
    cells = results.cells
    counted = (
        cells.group_by("study")
        .agg(pl.len().alias("cells"), pl.col("dataset").n_unique(), pl.col("seconds").sum())
        .sort("study")
    )
    rows = [
        [study, f"{number:,}", str(datasets), duration(seconds)]
        for study, number, datasets, seconds in counted.iter_rows()
    ]
    own = {key: value for key, value in results.metadata.items() if not key.startswith(PER_DATASET)}
    facts = [part for key, value in sorted(own.items()) for part in (element("dt", key), element("dd", value))]
    return element(
        "section",
        element("h2", "What was run"),
        _table("Studies", ["study", "models", "data sets", "time of the releases"], rows),
        element("dl", *facts) if facts else Html(""),
        *_origins(results.metadata),
        element(
            "p",
            "All data sets are public or simulated. On confidential rows these accuracies, which are exact, would be "
            "confidential too.",
            class_="notes",
        ),
        id="run",
        aria_label="What was run",
    )


def _origins(metadata: Mapping[str, str]) -> list[Html]:
    """What the data sets were, as far as the metadata says."""
    names = sorted({key.partition(".")[2] for key in metadata if key.startswith(PER_DATASET)})
    if not names:
        return []
    rows = [[name, *(metadata.get(f"{prefix}{name}", "–") for prefix in PER_DATASET)] for name in names]
    return [_table("Data sets", ["data set", "rows in the file", "digest of the domain"], rows)]
