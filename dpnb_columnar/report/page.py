"""Pages made of templates and figures, written with each figure's files beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from dpnb_columnar.domain.names import printable
from dpnb_columnar.errors import OutputError, UsageError
from dpnb_columnar.report.drawing import embedded_panel, embedded_sample, figure_file
from dpnb_columnar.report.figures import COLOURS, Figure, slug, style
from dpnb_columnar.runtime.outputs import atomic_output, check_output
from dpnb_columnar.runtime.paths import exists, is_folder

PAGE_SUFFIX = ".html"


class Page(str):
    """The text of a page; a notebook shows it in a frame of its own, whose styles are not the notebook's."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f'<iframe style="width: 100%; height: 48rem; border: 0" srcdoc="{escape(self)}"></iframe>'


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


def check_single_page(output: Path, overwrite: bool) -> None:
    """Refuse a page without figures' files that could not be written, before any long work."""
    if output.suffix != PAGE_SUFFIX:
        raise UsageError(f"{output}: a report is a page; choose a name that ends in {PAGE_SUFFIX}")
    check_output(output, overwrite)


def write_single_page(
    output: Path, template: str, content: Mapping[str, object], *, overwrite: bool, confidential: bool
) -> None:
    """Write a page without figures' files; ``check_single_page`` has accepted it."""
    with atomic_output(output, overwrite=overwrite, confidential=confidential) as partial:
        partial.write_text(single_page(template, content), encoding="utf-8")


def single_page(template: str, content: Mapping[str, object]) -> Page:
    """Make a page without figures' files."""
    return Page(_page(template, (), "", content))


def write_page(
    output: Path, template: str, sections: Sequence[Section], content: Mapping[str, object], *, overwrite: bool
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
    with atomic_output(output, overwrite=overwrite) as partial:
        partial.write_text(_page(template, sections, folder.name, content), encoding="utf-8")
    return [output, *files]


def _folder(output: Path) -> Path:
    """Return the folder of a page's figures."""
    return output.with_suffix("")


def _page(template: str, sections: Sequence[Section], folder: str, content: Mapping[str, object]) -> str:
    """Render a template of this package; every text in it is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("dpnb_columnar.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable_value,
    )
    environment.filters |= {
        "unbroken": unbroken,
        "signed": format_signed,
        "panel": embedded_panel,
        "sample": embedded_sample,
    }
    page: str = environment.get_template(template).render(
        colours=COLOURS, sections=sections, folder=folder, style=style, **content
    )
    return page


def _printable_value(value: object) -> object:
    """Values as templates print them: markup as it is, texts without characters that no page may hold."""
    return printable(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def unbroken(text: str) -> str:
    """Keep equations in one line."""
    return text.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")


def format_signed(value: float) -> str:
    """Format a difference with its sign, and a true minus."""
    return f"{value:+.3f}".replace("-", "−")
