"""A model in another language: its table of terms and a script that reads it, or an ONNX graph of the same terms.

Languages that a model is exported to: all that the command line needs of ``exports`` to start.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from dpnb_columnar.domain import Categorical
from dpnb_columnar.domain.domain_text import predicts
from dpnb_columnar.domain.names import did_you_mean, is_printable
from dpnb_columnar.domain.numbers import NUMBER_WORDS, SPELLED_NUMBER, declared_number
from dpnb_columnar.errors import CONFIDENTIAL, UsageError, excerpt, option, printable_line
from dpnb_columnar.model.guarantee_text import statement
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.runtime.outputs import atomic_output


class Target(StrEnum):
    """A language that a model is exported to."""

    ONNX = "onnx"
    R = "r"
    STATA = "stata"
    SAS = "sas"
    SPSS = "spss"


SUFFIXES = {Target.ONNX: ".onnx", Target.R: ".R", Target.STATA: ".do", Target.SAS: ".sas", Target.SPSS: ".sps"}
"""How the names of such files usually end."""


def table_name(script: Path) -> Path:
    """Return the name of a script's table."""
    return script.parent / f"{script.name}.terms.csv"


def parse_target(name: str) -> Target:
    """Parse the name of a language."""
    try:
        return Target(name)
    except ValueError:
        known = [each.value for each in Target]
        raise UsageError(f"unknown language {name!r:.80}: {did_you_mean(name, known, ', '.join(known))}") from None


SCRIPTS = Path(__file__).parent / "scripts"
"""The script of each language; ``script_text`` fills in the names between @."""

NOT_RUN = "NOT RUN: no test runs this script. Compare some rows with what predict returns before you rely on it."

COMMENTS = {Target.R: "# {}", Target.STATA: "* {}", Target.SAS: "* {};", Target.SPSS: "* {}."}

LONGEST_NAME = {Target.STATA: 32, Target.SAS: 32, Target.SPSS: 64}
"""Bytes of the longest name of a variable."""

LONGEST_VALUE = 200
"""Bytes of the longest text that a line of statements has room for."""


def write_export(model: NaiveBayes, output: Path, target: Target, *, overwrite: bool = False) -> None:
    """Write a model as a script with the table that it reads, or as one ONNX file."""
    if target is Target.ONNX:
        from dpnb_columnar.extensions.exports.onnx_graph import onnx_file

        files = {output: onnx_file(model, head_lines(model))}
    else:
        from dpnb_columnar.extensions.exports.exported_terms import table_lines

        table = table_name(output)
        check_names(model, target, output)
        check_texts(model, target)
        script = script_text(model, target, output.name, table.name)
        files = {table: "".join(table_lines(model)).encode(), output: script.encode()}
    _write(list(files.items()), overwrite, confidential=not model.guarantee.private)


def _write(files: Sequence[tuple[Path, bytes]], overwrite: bool, confidential: bool) -> None:
    """Write files, all of them before the first gets its name."""
    if files:
        (path, content), *others = files
        with atomic_output(path, overwrite=overwrite, confidential=confidential) as partial:
            partial.write_bytes(content)
            _write(others, overwrite, confidential)


def script_text(model: NaiveBayes, target: Target, script: str, table: str) -> str:
    """Fill in a language's script: its head, the files' names, what spells a number, sizes of classes and texts."""
    widths = [len(name.encode()) for name in model.domain.classes]
    longest = max([24, *(len(text.encode()) for text in _texts(model))])
    numbers = {"classes": len(widths), "places": len(widths) + 1, "width": max(widths), "longest": longest}
    filled = {"script": script, "table": table, "quoted": 2 * longest + 80, **numbers}
    filled["spelled"] = SPELLED_NUMBER.strip("^$")  # languages differ in how they write the end of a text
    words = (f'"{word}" = {str(number).replace("inf", "Inf")}' for word, number in NUMBER_WORDS.items())
    filled["words"] = ", ".join(words)
    head = [*head_lines(model).values(), *([] if target in (Target.R, Target.SPSS) else [NOT_RUN])]
    lines = [line for each in head for line in textwrap.wrap(printable_line(each), 100)]
    if target is not Target.R:  # quotes and macros are read in comments as well
        lines = [re.sub(r"(?<=[/*])(?=[/*])|[`'\"$&%;]", " ", line).rstrip(".") for line in lines]
    text = (SCRIPTS / f"score{SUFFIXES[target]}").read_text(encoding="utf-8")
    text = re.sub("@([a-z]+)@", lambda found: str(filled[found[1]]), text)
    return "\n".join([*map(COMMENTS[target].format, lines), text])


def head_lines(model: NaiveBayes) -> dict[str, str]:
    """Return what a file says of itself: of whom it is, and what is promised."""
    from dpnb_columnar.dialects.scoring_query import model_key

    return {
        **({} if model.guarantee.private else {"confidential": CONFIDENTIAL}),
        "predicts": f"Scores rows by a model of {model.domain.name}: {predicts(model.domain)}. Holds no row.",
        "guarantee": f"Guarantee: {statement(model.guarantee)}",
        "source": f"Source: model {model_key(model)}, the first 16 digits of the SHA-256 of its JSON file.",
    }


def _texts(model: NaiveBayes) -> list[str]:
    """List the classes, and the declared texts that rows are compared with as texts."""
    attributes = [model.domain[parameters.attribute] for parameters in model.attributes]
    members = [value for each in attributes if isinstance(each, Categorical) for value in each.members]
    return [*model.domain.classes, *(value for value in members if declared_number(value) is None)]


def check_names(model: NaiveBayes, target: Target, output: Path) -> None:
    """Refuse names of the file and of columns that a script cannot hold."""
    if not is_printable(output.name) or set(output.name) & set("'\"\\`$&%"):
        raise UsageError(f"{output}: a script cannot hold this name; end it in {SUFFIXES[target]}, without quotes")
    folded: dict[str, str] = {}
    for name in (parameters.attribute for parameters in model.attributes if target in LONGEST_NAME):
        other = folded.setdefault(name.lower(), name)
        if not re.fullmatch(r"[^\W\d_]\w*|_\w+", name) or len(name.encode()) > LONGEST_NAME[target]:
            fault = f"{target.value} has no such name of a variable"
        elif other != name or name.lower().startswith("nb_"):
            fault = f"another variable of the script for {target.value} has this name"
        else:
            continue
        raise UsageError(f"column {excerpt(name)}: {fault}; export the model to {option('to', Target.R.value)}")


def check_texts(model: NaiveBayes, target: Target) -> None:
    """Refuse texts that a script cannot hold; R takes all."""
    for text in _texts(model) if target in LONGEST_NAME else ():
        is_odd = not text or not is_printable(text) or text != text.rstrip(" ")
        if is_odd or len(text.encode()) > LONGEST_VALUE or (target is Target.STATA and set(text) & set('"`$\\')):
            remedy = f"export the model to {option('to', Target.R.value)}"
            raise UsageError(f"value {excerpt(text)}: a script of {target.value} cannot hold this text; {remedy}")
