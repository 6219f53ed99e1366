"""Show the README and CONTRIBUTING as pages of the site, their links leading to its other pages.

The site's generator imports this file as a hook. ``index.md`` and ``contributing.md`` name the files that they show, as
``changelog.md`` does.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
SHOWN = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md"}
"""Files of the top folder by the page that shows them."""
PAGES = {"CHANGELOG.md": "changelog.md", **{file: page for page, file in SHOWN.items()}}


def linked(text: str) -> str:
    """Write links from the top folder as links from ``docs``; a notebook is a page there."""
    return re.sub(r"\]\(([\w./-]+\.)(md|ipynb|png)(?=[)#])", _link, text)


def _link(link: re.Match[str]) -> str:
    path = link[1] + link[2].replace("ipynb", "md")
    return f"]({PAGES.get(path, path.removeprefix('docs/'))}"


def on_page_read_source(page: Page, config: MkDocsConfig) -> str | None:
    """Give the source of a page that shows a file of the top folder; called by MkDocs."""
    shown = SHOWN.get(page.file.src_uri)
    return None if shown is None else linked((ROOT / shown).read_text(encoding="utf-8"))
