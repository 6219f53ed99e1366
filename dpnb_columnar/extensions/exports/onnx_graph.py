"""The table of terms as an ONNX graph of core operators, in double precision.

A column of the rows is a tensor of one number or text per row; NaN and the empty text are missing. Every other tensor
has a row per row, and a column per class or cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpnb_columnar.domain.names import LONGEST_SPELLING, SPELLED_NUMBER
from dpnb_columnar.errors import UnavailableError, UsageError
from dpnb_columnar.extensions.exports.exported_terms import NO_LIMIT, Cell, blocks
from dpnb_columnar.model.likelihood import BELOW_BEST, LEAST_EXPONENT
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.version import __version__

OPSET, FORMAT = 20, 10
"""Versions of the operators and of the file: the first with regular expressions (onnx 1.15, November 2023)."""

OUTPUTS = ("predicted", "probabilities", "skipped")


def onnx_file(model: NaiveBayes, properties: Mapping[str, str]) -> bytes:
    """Write a model as the bytes of an ONNX file.

    Its outputs are ``predicted`` (texts), ``probabilities`` (a column per class) and ``skipped``.
    """
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
        """Add a constant: numbers, texts or truth values."""
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
