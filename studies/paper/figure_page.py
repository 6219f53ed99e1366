"""A page with figures, written with each figure's files beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpnb_columnar.errors import OutputError
from dpnb_columnar.report.figures import check_single_page, templates
from dpnb_columnar.runtime.outputs import atomic_output, check_output
from dpnb_columnar.runtime.unfinished import exists, is_folder
from studies.figures import Figure, embedded_panel, figure_file, slug, style

TEMPLATE = "reproduction.html.j2"


@dataclass(frozen=True, slots=True)
class Section:
    """Figures under one heading.

    Attributes:
        anchor: Its name in links.
        title: Plain text.
        figures: By name, which is the figure's anchor and the stem of its files.
    """

    anchor: str
    title: str
    figures: Mapping[str, Figure]


def named_sections(parts: Iterable[tuple[str, str, Sequence[Figure]]], reserved: Iterable[str]) -> list[Section]:
    """Make sections of figures, each figure under a name of its own.

    Args:
        parts: Anchor, title and figures of each section; those without figures are left out.
    """
    parts = list(parts)
    taken = {anchor for anchor, _, _ in parts} | set(reserved)
    return [
        Section(anchor, title, {slug(figure.name, taken): figure for figure in figures})
        for anchor, title, figures in parts
        if figures
    ]


def check_page(output: Path, overwrite: bool) -> None:
    """Refuse a page that could not be written, before any long work."""
    check_single_page(output, overwrite)
    folder = _folder(output)
    if exists(folder) and not is_folder(folder):
        raise OutputError(f"{folder}: is not a folder, and the figures need one of this name; choose another page")


def write_page(
    output: Path, sections: Sequence[Section], content: Mapping[str, object], *, overwrite: bool
) -> list[Path]:
    """Write a page, and its figures in a folder beside it.

    The page ``out.html`` needs no other file. The folder ``out`` holds each figure as SVG, and its numbers as CSV. The
    page is written last, so that it exists only with all of them. The same content gives the same bytes.
    """
    figures = {name: figure for section in sections for name, figure in section.figures.items()}
    folder = _folder(output)
    files = [folder / f"{name}.{suffix}" for name in figures for suffix in ("svg", "csv")]
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be created: {error.strerror}") from None
    for path in files:
        check_output(path, overwrite)
    for name, figure in figures.items():
        for suffix, text in (("svg", figure_file(figure)), ("csv", figure.data().write_csv())):
            with atomic_output(folder / f"{name}.{suffix}", overwrite=overwrite) as partial:
                partial.write_text(text, encoding="utf-8", newline="")
    environment = templates(__package__)
    environment.filters |= {"unbroken": unbroken, "signed": format_signed, "panel": embedded_panel}
    environment.globals["style"] = style
    with atomic_output(output, overwrite=overwrite) as partial:
        partial.write_text(
            environment.get_template(TEMPLATE).render(content, sections=sections, folder=folder.name), encoding="utf-8"
        )
    return [output, *files]


def _folder(output: Path) -> Path:
    """Return the folder of a page's figures."""
    return output.with_suffix("")


def unbroken(text: str) -> str:
    """Keep equations in one line."""
    return text.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")


def format_signed(value: float) -> str:
    """Format a difference with its sign, and a true minus."""
    return f"{value:+.3f}".replace("-", "−")
