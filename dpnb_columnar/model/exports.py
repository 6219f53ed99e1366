"""A model in another language: its table of terms and a script that reads it, or an ONNX graph of the same terms."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from dpnb_columnar.domain import Categorical
from dpnb_columnar.domain.attributes import missing_texts
from dpnb_columnar.domain.declared_domain import label_remarks, predicts
from dpnb_columnar.domain.names import is_printable
from dpnb_columnar.domain.numbers import declared_number
from dpnb_columnar.errors import CONFIDENTIAL, UsageError, excerpt, option, printable_line
from dpnb_columnar.model.export_targets import SUFFIXES, Target, table_name
from dpnb_columnar.model.exported_terms import table_lines
from dpnb_columnar.model.guarantee import statement
from dpnb_columnar.model.joined_query import model_key
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.runtime.outputs import atomic_output, check_output

SCRIPTS = Path(__file__).parent / "scripts"
"""The script of each language; names between @ stand for what ``script_text`` fills in."""

NOT_RUN = "NOT RUN: no test runs this script. Compare some rows with what predict returns before you rely on it."

COMMENTS = {Target.R: "# {}", Target.STATA: "* {}", Target.SAS: "* {};", Target.SPSS: "* {}."}

LONGEST_NAME = {Target.STATA: 32, Target.SAS: 32, Target.SPSS: 64}
"""Bytes of the longest name of a variable."""

R_REMEDY = f"export the model to {option('to', Target.R.value)}"

LONGEST_VALUE = 200
"""Bytes of the longest text that a line of statements has room for."""


def write_export(model: NaiveBayes, output: Path, target: Target, *, overwrite: bool = False) -> None:
    """Write a model as a script with the table that it reads, or as one ONNX file.

    Args:
        model: A released model.
        output: File to write; readable by its owner alone if the model has no guarantee, as is the table.
        target: The language.
        overwrite: Whether existing files are replaced.

    Raises:
        UsageError: if the language cannot hold a name or a text of the model.
        UnavailableError: if ``onnx`` is not installed.
        OutputError: if a file exists, or cannot be written.
    """
    confidential = not model.guarantee.private
    if target is Target.ONNX:
        from dpnb_columnar.model.onnx_graph import onnx_file

        content = onnx_file(model, _properties(model))
        with atomic_output(output, overwrite=overwrite, confidential=confidential) as partial:
            partial.write_bytes(content)
        return
    table = table_name(output)
    _check_names(model, target, table, output)
    check_texts(model, target)
    check_output(output, overwrite)
    with atomic_output(table, overwrite=overwrite, confidential=confidential) as partial:
        with partial.open("w", encoding="utf-8", newline="") as file:
            file.writelines(table_lines(model))
        with atomic_output(output, overwrite=overwrite, confidential=confidential) as script:
            script.write_text(script_text(model, target, output.name, table.name), encoding="utf-8")


def script_text(model: NaiveBayes, target: Target, script: str, table: str) -> str:
    """Fill in a language's script: its head, the files' names, the numbers of classes and of bytes of texts."""
    classes = model.domain.classes
    widths = [len(name.encode()) for name in classes]
    longest = max([*widths, 24, *(len(text.encode()) for text in _categories(model))])
    filled = {
        "script": script,
        "table": table,
        "classes": len(classes),
        "places": len(classes) + 1,
        "width": max(widths),
        "longest": longest,
        "quoted": 2 * longest + 80,
    }
    head = [line for each in _head(model, target) for line in textwrap.wrap(printable_line(each), 100)]
    if target is not Target.R:
        head = [re.sub(r"(?<=[/*])(?=[/*])|[`'\"$&%;]", " ", line) for line in head]
    text = (SCRIPTS / f"score{SUFFIXES[target]}").read_text(encoding="utf-8")
    return "\n".join([*(COMMENTS[target].format(line.rstrip(".")) for line in head), ""]) + re.sub(
        "@([a-z]+)@", lambda found: str(filled[found[1]]), text
    )


def _categories(model: NaiveBayes) -> Iterator[str]:
    """Yield the declared texts that rows are compared with as texts."""
    for parameters in model.attributes:
        attribute = model.domain[parameters.attribute]
        if isinstance(attribute, Categorical):
            yield from (value for value in attribute.members if declared_number(value) is None)


def _head(model: NaiveBayes, target: Target) -> Iterator[str]:
    """Say what the files are, whose, and what is promised."""
    domain = model.domain
    if not model.guarantee.private:
        yield CONFIDENTIAL
    if target in (Target.STATA, Target.SAS):
        yield NOT_RUN
    yield f"Scores rows by a model of {domain.name}: {predicts(domain)}. Holds what the model holds, and no row."
    yield f"Guarantee: {statement(model.guarantee)}"
    yield f"Source: model {model_key(model)}, the first 16 digits of the SHA-256 of its JSON file."
    yield from label_remarks(domain, domain.label.columns)


def _properties(model: NaiveBayes) -> dict[str, str]:
    """Return what an ONNX file says of itself."""
    missing = {each.attribute: missing_texts(model.domain[each.attribute]) for each in model.attributes}
    return {
        "domain": model.domain.name,
        "predicts": predicts(model.domain),
        "guarantee": statement(model.guarantee),
        "source": f"model {model_key(model)}, the first 16 digits of the SHA-256 of its JSON file",
        "missing values": "; ".join(f"{name}: {', '.join(texts)}" for name, texts in missing.items() if texts),
        **({} if model.guarantee.private else {"confidential": CONFIDENTIAL}),
    }


def _check_names(model: NaiveBayes, target: Target, table: Path, output: Path) -> None:
    """Refuse names that a script cannot hold.

    Raises:
        UsageError: if there is one.
    """
    if table == output or not is_printable(output.name) or set(output.name) & set("'\"\\`$&%"):
        raise UsageError(f"{output}: a script cannot hold this name; end it in {SUFFIXES[target]}, without quotes")
    folded: dict[str, str] = {}
    for name in (parameters.attribute for parameters in model.attributes if target in LONGEST_NAME):
        if not re.fullmatch(r"[^\W\d_]\w*|_\w+", name) or len(name.encode()) > LONGEST_NAME[target]:
            raise UsageError(f"column {excerpt(name)}: {target.value} has no such name of a variable; {R_REMEDY}")
        if (other := folded.setdefault(name.lower(), name)) != name:
            raise UsageError(f"columns {excerpt(other)}, {excerpt(name)} are one in {target.value}; {R_REMEDY}")


def check_texts(model: NaiveBayes, target: Target) -> None:
    """Refuse texts that a script or a graph cannot hold; R takes all.

    Raises:
        UsageError: if there is one.
    """
    for text in (*model.domain.classes, *_categories(model)) if target in LONGEST_NAME else ():
        is_odd = not text or not is_printable(text) or text != text.rstrip(" ")
        if is_odd or len(text.encode()) > LONGEST_VALUE or (target is Target.STATA and set(text) & set('"`$\\')):
            raise UsageError(f"value {excerpt(text)}: a script of {target.value} cannot hold this text; {R_REMEDY}")
