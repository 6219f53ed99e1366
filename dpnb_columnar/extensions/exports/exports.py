"""A model in another language: a table of terms and a script that reads it, or an ONNX graph of the same terms.

The files score rows as ``predict`` does. The table has blocks of ``cells``: the prior, one block per attribute, and the
calibration line. A cell has one row per class, and one whose class is empty: what the cell adds to the number of
skipped attributes. Of the cells of a block that a row of data matches, the last one counts:

* ``other``: every row. The value says how the column is read: ``number``, ``text``, or ``both``, a text that may spell
  a number. It is empty in the prior, which reads no column.
* ``from``: a number that is at least the value; an empty value is below all numbers.
* ``log``: the same, and ln(1 + number) takes the number's place in the term.
* ``number``: a number that is the value; ``missing`` in the same way, a declared missing value.
* ``text``: a text that is the value.

The term is ``term``, or if there is a slope, with d the number less ``center``,

    term + (slope + curve d) d, between -limit and limit.

The line (``likelihood.LineTerms``) has a block ``others``, per class but the largest the constant (``term``) and the
part of the score (``slope``) that divide the others' probability, and a block ``line`` of cells to look up a score
difference in: per class its log-odds if it is the best of the others, and under the empty class those of the rest.

The ONNX graph has core operators alone, in double precision. A column of the rows is a tensor of one number or text per
row; NaN and the empty text are missing. Every other tensor has a row per row, and a column per class or cell.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dpnb_columnar.dialects.scoring_query import model_key
from dpnb_columnar.domain import Attribute, Categorical, Missing, Numeric, Transform
from dpnb_columnar.domain.column_kinds import category_texts
from dpnb_columnar.domain.domain_text import predicts
from dpnb_columnar.domain.names import (
    LONGEST_SPELLING,
    NUMBER_WORDS,
    SPELLED_NUMBER,
    declared_number,
    did_you_mean,
    is_printable,
)
from dpnb_columnar.errors import CONFIDENTIAL, UnavailableError, UsageError, excerpt, option, printable_line
from dpnb_columnar.model.guarantee_text import statement
from dpnb_columnar.model.likelihood import (
    BELOW_BEST,
    LEAST_EXPONENT,
    LineTerms,
    Pieces,
    bin_starts,
    cell_terms,
    class_terms,
    line_terms,
    missing_terms,
    normal_terms,
)
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, NaiveBayes, Normal, Table
from dpnb_columnar.runtime.outputs import atomic_output
from dpnb_columnar.version import __version__

COLUMNS = ("attribute", "match", "value", "class", "term", "center", "slope", "curve", "limit")
"""The table's columns: four of texts, and five of numbers, of which the last four are empty without a slope."""

NO_LIMIT = 8e307
"""Above every term, and a number in all languages."""

Term = tuple[float, ...]
"""The numbers of a row of the table: one, or five."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a block: the rows it is for (``match``, ``value``), and terms per class, then of skipped attributes."""

    match: str
    value: str | float
    terms: Sequence[Term]


def blocks(model: NaiveBayes) -> Iterator[tuple[str, list[Cell]]]:
    """Yield the blocks of the table, with the attribute that each belongs to, empty for those that read no column."""
    yield "", [_constant("other", "", class_terms(model))]
    for parameters, weight in zip(model.attributes, model.weights, strict=True):
        yield parameters.attribute, list(_cells(model.domain[parameters.attribute], parameters, weight))
    if (line := line_terms(model)) is not None:
        yield from (("", cells) for cells in _line_cells(line))


def table_lines(model: NaiveBayes) -> Iterator[str]:
    """Write the table as CSV (RFC 4180), every text quoted."""
    yield ",".join(map(_quoted, COLUMNS)) + "\r\n"
    for attribute, cells in blocks(model):
        for cell in cells:
            value = cell.value if isinstance(cell.value, str) else repr(cell.value)
            for name, term in zip((*model.domain.classes, ""), cell.terms, strict=True):
                texts = ",".join(map(_quoted, (attribute, cell.match, value, name)))
                numbers = [*map(repr, term), *[""] * (5 - len(term))]
                yield f"{texts},{','.join(numbers)}\r\n"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _constant(match: str, value: str | float, terms: Sequence[float], skipped: float = 0.0) -> Cell:
    return Cell(match, value, [(term + 0.0,) for term in (*terms, skipped)])


def _cells(attribute: Attribute, parameters: AttributeParameters, weight: float) -> Iterator[Cell]:
    without, skipped = missing_terms(parameters, weight), 0.0
    if isinstance(parameters, Table):
        assert isinstance(attribute, Categorical)
        rows = cell_terms(parameters, weight)
        if attribute.missing is Missing.CATEGORY:
            without = [row[len(attribute.values)] for row in rows]
    if without is None:
        classes = len(parameters.mean if isinstance(parameters, Normal) else parameters.probability)
        without, skipped = [0.0] * classes, 1.0
    if isinstance(attribute, Numeric):
        yield _constant("other", "number", without, skipped)
        if isinstance(parameters, Normal):
            yield from _normal_cells(attribute, parameters, weight)
        elif isinstance(parameters, Histogram):
            starts = [0, *bin_starts(attribute, parameters.edges)]
            for start, terms in zip(starts, zip(*cell_terms(parameters, weight), strict=True), strict=True):
                if start <= attribute.cells:
                    yield _constant("from", _first_number(attribute, start) if start else "", terms)
        for missing in attribute.missing_values:
            yield _constant("missing", float(missing), without, skipped)
        return
    texts = list(category_texts(attribute))
    spelled = sum(number is not None for _, number, _ in texts)
    yield _constant("other", "number" if spelled == len(texts) else "both" if spelled else "text", without, skipped)
    for value, number, code in texts:
        own = [row[code] for row in rows]
        yield _constant("text", value, own) if number is None else _constant("number", number, own)


def _first_number(attribute: Numeric, code: int) -> float:
    """Find the smallest float whose grid code, computed as ``row_rules.grid_code`` does, reaches a code from 1 on."""
    lower, upper, step = map(float, (attribute.lower, attribute.upper, attribute.step))
    middle = lower + (code - 0.5) * step
    below, reached = max(lower, middle - step), min(upper, middle + step)
    while below < (middle := below + (reached - below) / 2) < reached:
        if math.floor((middle - lower) / step + 0.5) >= code:
            reached = middle
        else:
            below = middle
    return reached


def _normal_cells(attribute: Numeric, parameters: Normal, weight: float) -> Iterator[Cell]:
    """Yield the cells of a normal attribute: a constant beyond each bound, between them the formula of its terms."""
    # The square is written around the mean of the narrower class, where its terms are small numbers.
    scale, terms = attribute.scale, normal_terms(attribute, parameters, weight)
    own, half = terms.reference, Fraction(terms.weight) / 2
    precision = [1 / Fraction(deviation) ** 2 for deviation in parameters.deviation]
    limit = NO_LIMIT if terms.most is None else terms.most
    formulas: list[Term] = []
    ends: tuple[list[float], list[float]] = ([], [])
    for place, constant in enumerate(terms.constant):
        center = terms.mean[place if precision[place] >= precision[own] else own]
        far, near = (Fraction(center) - Fraction(terms.mean[each]) for each in (own, place))
        formula = (
            half * (far**2 * precision[own] - near**2 * precision[place]) + Fraction(constant),
            Fraction(center),
            2 * half * (far * precision[own] - near * precision[place]),
            half * (precision[own] - precision[place]),
        )
        term, middle, slope, curve = map(float, formula)
        formulas.append((0.0,) if place == own else (term, middle, slope, curve, limit))
        for constants, end in zip(ends, (scale.origin, scale.end), strict=True):
            distance = end - middle
            constants.append(min(limit, max(-limit, term + (slope + curve * distance) * distance)))
    match = "log" if attribute.transform is Transform.LOG1P else "from"
    yield _constant("from", "", ends[0])
    yield Cell(match, float(attribute.lower), [*formulas, (0.0,)])
    yield _constant("from", float(attribute.upper), ends[1])


def _line_cells(line: LineTerms) -> Iterator[list[Cell]]:
    constants = dict(zip(line.others, line.constants, strict=True))
    classes = range(len(constants) + 1)
    shares = [
        (constants[klass], 0.0, line.evidence, 0.0, NO_LIMIT) if klass in constants else (0.0,) for klass in classes
    ]
    yield [Cell("others", "", [*shares, (0.0,)])]
    rest = _pieces(line.rest) if line.rest else [(0.0,)] * (len(line.odds.starts) + 1)
    starts: list[str | float] = ["", *line.odds.starts]
    yield [
        Cell("line", start, [*(odds if klass in constants else (0.0,) for klass in classes), others])
        for start, odds, others in zip(starts, _pieces(line.odds), rest, strict=True)
    ]


def _pieces(pieces: Pieces) -> list[Term]:
    return [
        (value, origin, slope, 0.0, NO_LIMIT) if slope else (value,)
        for origin, value, slope in zip(pieces.origins, pieces.values, pieces.slopes, strict=True)
    ]


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
        files = {output: onnx_file(model, head_lines(model))}
    else:
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


OPSET, FORMAT = 20, 10
"""Versions of the operators and of the file: the first with regular expressions (onnx 1.15, November 2023)."""

OUTPUTS = ("predicted", "probabilities", "skipped")


def onnx_file(model: NaiveBayes, properties: Mapping[str, str]) -> bytes:
    """Write a model as the bytes of an ONNX file."""
    try:
        import onnx
    except ImportError:
        raise UnavailableError(
            "export to ONNX needs onnx; install it with: pip install 'dpnb-columnar[onnx]'"
        ) from None
    names = [parameters.attribute for parameters in model.attributes]
    if not names:
        raise UsageError("the model uses no attribute, so that a graph cannot count the rows")
    if taken := set(names) & set(OUTPUTS):
        raise UsageError(f"column {min(taken)!r}: the graph has an output of this name")
    classes, types, describe = model.domain.classes, onnx.TensorProto, onnx.helper.make_tensor_value_info
    graph, inputs, line = _Graph(onnx, {*names, *OUTPUTS}), [], []
    (_, (prior,)), *others = blocks(model)
    sums = graph.constant([[term for (term,) in prior.terms]])
    for name, cells in others:
        if not name:
            line.append(cells)
            continue
        kind = cells[0].value
        inputs.append(describe(name, types.DOUBLE if kind == "number" else types.STRING, ["rows"]))
        column = graph.add("Unsqueeze", name, [1])
        number = graph.number_of_text(column) if kind == "both" else column if kind == "number" else None
        sums = graph.add("Add", sums, graph.terms(cells, number, column))
    scores = graph.add("Gather", sums, [*range(len(classes))], axis=1)
    skipped = graph.add("Gather", sums, len(classes), axis=1)
    graph.add("Softmax", graph.on_line(scores, *line) if line else scores, axis=1, name="probabilities")
    likeliest = graph.add("ArgMax", "probabilities", axis=1, keepdims=0)
    graph.add("Gather", list(classes), likeliest, name="predicted")
    graph.add("Cast", skipped, to=types.INT64, name="skipped")
    shapes: list[tuple[int, list[str | int]]] = [(types.STRING, ["rows"]), (types.DOUBLE, ["rows", len(classes)])]
    shapes.append((types.INT64, ["rows"]))
    outputs = [describe(name, *shape) for name, shape in zip(OUTPUTS, shapes, strict=True)]
    made = onnx.helper.make_model(
        onnx.helper.make_graph(graph.nodes, model.domain.name, inputs, outputs, graph.constants),
        producer_name="dpnb-columnar",
        producer_version=__version__,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=FORMAT,
    )
    onnx.helper.set_model_props(made, dict(properties))
    onnx.checker.check_model(made, full_check=True)
    content: bytes = made.SerializeToString()
    return content


class _Graph:
    """Nodes and constants of the graph."""

    def __init__(self, onnx: Any, taken: set[str]) -> None:
        self.onnx = onnx
        self.taken = taken
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def _free_name(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        return name

    def constant(self, values: Any) -> str:
        array = np.asarray(values)
        array = array.astype(object) if array.dtype.kind == "U" else array
        name = self._free_name(f"constant_{len(self.constants)}")
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def add(self, operator: str, *inputs: Any, name: str | None = None, **attributes: Any) -> str:
        """Add a node, and name its only result; an input that is no name is a constant."""
        result = name or self._free_name(f"{operator}_{len(self.nodes)}")
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        self.nodes.append(self.onnx.helper.make_node(operator, names, [result], **attributes))
        return result

    def number_of_text(self, text: str) -> str:
        """Read what spells a number; NaN otherwise."""
        spelled = self.add("RegexFullMatch", text, pattern=SPELLED_NUMBER.strip("^$"))
        short = self.add("RegexFullMatch", text, pattern=f".{{1,{LONGEST_SPELLING}}}")
        number = self.add("Where", self.add("And", spelled, short), text, ["nan"])
        return self.add("Cast", number, to=self.onnx.TensorProto.DOUBLE)

    def terms(self, cells: Sequence[Cell], number: str | None, text: str | None = None) -> str:
        """Look up the terms of the last cell that each row matches: the first cell is that of every row."""
        found = self.constant([0])
        for kinds, operator, column in (
            (("from", "log", "line"), "GreaterOrEqual", number),
            (("number", "missing"), "Equal", number),
            (("text",), "Equal", text),
        ):
            places = [place for place, cell in enumerate(cells) if cell.match in kinds]
            if not places or column is None:
                continue
            values = [cells[place].value for place in places]
            if values[0] == "" and column == number:
                values[0] = -math.inf
            matched = self.add("Cast", self.add(operator, column, [values]), to=self.onnx.TensorProto.INT64)
            place = self.add("ArgMax", matched, axis=1, keepdims=0, select_last_index=1)
            any_matched = self.add("Greater", self.add("ReduceMax", matched, [1], keepdims=0), 0)
            found = self.add("Where", any_matched, self.add("Gather", places, place), found)
        rows = np.array([[(*term, 0.0, 0.0, 0.0, NO_LIMIT)[:5] for term in cell.terms] for cell in cells])
        term, center, slope, curve, limit = (self.add("Gather", rows[:, :, part], found) for part in range(5))
        if number is None or all(len(term) == 1 for cell in cells for term in cell.terms):
            return term
        value = self.add("Where", self.add("IsNaN", number), 0.0, number)
        value = self.add("Max", self.add("Min", value, NO_LIMIT), -NO_LIMIT)
        is_log = self.add("Gather", [[cell.match == "log"] for cell in cells], found)
        value = self.add("Where", is_log, self.add("Log", self.add("Add", value, 1.0)), value)
        distance = self.add("Sub", value, center)
        steep = self.add("Add", slope, self.add("Mul", curve, distance))
        curved = self.add("Add", term, self.add("Mul", steep, distance))
        return self.add("Max", self.add("Min", curved, limit), self.add("Neg", limit))

    def on_line(self, scores: str, shares: Sequence[Cell], line: Sequence[Cell]) -> str:
        """Compute the scores that probabilities are made of under a line, as ``likelihood.LineTerms`` says."""
        terms = [(*term, 0.0, 0.0)[:3] for term in shares[0].terms[:-1]]
        classes, largest = [*range(len(terms))], [len(term) for term in shares[0].terms].index(1)
        is_largest = self.constant([[place == largest for place in classes]])
        others = self.add("Where", is_largest, -math.inf, scores)
        is_best = self.add("Equal", self.add("ArgMax", others, axis=1), [classes])
        best, own = self.add("ReduceMax", others, [1]), self.add("Gather", scores, [largest], axis=1)
        found = self.terms(line, self.add("Sub", best, own))
        odds, rest = (self.add("Gather", found, places, axis=1) for places in (classes, [len(classes)]))
        scaled = self.add("Mul", scores, [[term[2] for term in terms]])
        pull = self.add("Add", scaled, [[-math.inf if place == largest else terms[place][0] for place in classes]])
        pull = self.add("Max", self.add("Sub", pull, self.add("ReduceMax", pull, [1])), LEAST_EXPONENT)
        weights = self.add("Where", self.add("Or", is_largest, is_best), 0.0, self.add("Exp", pull))
        shared = self.add("Sub", self.add("Add", rest, pull), self.add("Log", self.add("ReduceSum", weights, [1])))
        most = self.add("Add", odds, math.log(BELOW_BEST))
        return self.add("Where", is_largest, 0.0, self.add("Where", is_best, odds, self.add("Min", most, shared)))
