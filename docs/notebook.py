"""Run the notebook of the documentation, and show it on the site.

Usage: python docs/notebook.py [NOTEBOOK]

Runs every cell of docs/first_model.ipynb in a folder of its own, and writes the outputs into the file. The site's
generator imports this file as a hook, and makes a page of the notebook. A cell whose output is drawn anew at every run
has the tag ``noisy``.
"""

from __future__ import annotations

import ast
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

NOTEBOOK = Path(__file__).parent / "first_model.ipynb"


def run(notebook: dict[str, Any]) -> None:
    """Run the cells in order, in the working directory, and put their outputs in the place of those they have."""
    names: dict[str, object] = {}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for count, cell in enumerate(cells, start=1):
        cell |= {"execution_count": count, "outputs": outputs(f"cell {count}", "".join(cell["source"]), names, count)}


def outputs(name: str, source: str, names: dict[str, object], count: int) -> list[dict[str, object]]:
    """Run one cell, and return what it prints and what its last expression is, as a notebook holds both."""
    body = ast.parse(source, name).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(body, []), name, "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), name, "eval"), names)
    held: list[dict[str, object]] = []
    if printed.getvalue():
        held.append({"output_type": "stream", "name": "stdout", "text": lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": lines(repr(value))}
        if html := getattr(value, "_repr_html_", None):
            data["text/html"] = lines(html())
        held.append({"output_type": "execute_result", "execution_count": count, "data": data, "metadata": {}})
    return held


def lines(text: str) -> list[str]:
    """Split a text into lines as a notebook holds them."""
    return text.splitlines(keepends=True)


def page(notebook: dict[str, Any]) -> str:
    """Write a notebook as a page of Markdown."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts += [source] if cell["cell_type"] == "markdown" else [f"```python\n{source}\n```", *shown(cell["outputs"])]
    return "\n\n".join(parts) + "\n"


def shown(held: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the outputs of a cell as Markdown, HTML where there is some."""
    for output in held:
        data = output.get("data", {"text/plain": output.get("text")})
        if "text/html" in data:
            yield "".join(line for line in data["text/html"] if line.strip())
        else:
            yield f"```text\n{''.join(data['text/plain']).rstrip()}\n```"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the notebook's page to the site; called by MkDocs."""
    from mkdocs.structure.files import File

    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    files.append(File.generated(config, NOTEBOOK.with_suffix(".md").name, content=page(notebook)))
    return files


if __name__ == "__main__":
    path = Path(sys.argv[1] if len(sys.argv) > 1 else NOTEBOOK).absolute()
    document = json.loads(path.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run(document)
        os.chdir(path.parent)
    path.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
