"""Pages made of templates and figures."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.errors import UsageError, printable
from dpnb_columnar.report.drawing import embedded_panel, embedded_sample
from dpnb_columnar.report.figures import COLOURS, style
from dpnb_columnar.runtime.outputs import atomic_output, check_output

if TYPE_CHECKING:
    from jinja2 import Environment

PAGE_SUFFIX = ".html"


class Page(str):
    """The text of a page; a notebook shows it in a frame of its own, whose styles are not the notebook's."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f'<iframe style="width: 100%; height: 48rem; border: 0" srcdoc="{escape(self)}"></iframe>'


def check_single_page(output: Path, overwrite: bool) -> None:
    """Refuse a page without figures' files that could not be written, before any long work."""
    if output.suffix != PAGE_SUFFIX:
        raise UsageError(f"{output}: a report is a page; choose a name that ends in {PAGE_SUFFIX}")
    check_output(output, overwrite)


def write_single_page(
    output: Path, package: str, template: str, content: Mapping[str, object], *, overwrite: bool, confidential: bool
) -> None:
    """Write a page without figures' files, of a template of a package; ``check_single_page`` has accepted it."""
    with atomic_output(output, overwrite=overwrite, confidential=confidential) as partial:
        partial.write_text(single_page(package, template, content), encoding="utf-8")


def single_page(package: str, template: str, content: Mapping[str, object]) -> Page:
    """Make a page without figures' files, of a template of a package."""
    return Page(templates(package).get_template(template).render(content))


def templates(package: str) -> Environment:
    """Open the templates of a package and, for those that they extend, of this one; every text is escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in dict.fromkeys((package, __package__))]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable_value,
    )
    environment.filters |= {"panel": embedded_panel, "sample": embedded_sample}
    environment.globals |= {"colours": COLOURS, "style": style}
    return environment


def _printable_value(value: object) -> object:
    """Values as templates print them: markup as it is, texts without characters that no page may hold."""
    return printable(value) if isinstance(value, str) and not hasattr(value, "__html__") else value
