"""The table of terms as an ONNX graph of core operators, in double precision.

A column of the rows is a tensor of one number or text per row; NaN and the empty text are missing. Every other tensor
has a row per row, and a column per class or cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpnb_columnar.domain.numbers import LONGEST_SPELLING, SPELLED_NUMBER
from dpnb_columnar.errors import UnavailableError, UsageError
from dpnb_columnar.model.exported_terms import NO_LIMIT, Cell, blocks
from dpnb_columnar.model.likelihood import BELOW_BEST, LEAST_EXPONENT
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.version import __version__

OPSET, FORMAT = 20, 10
"""Versions of the operators and of the file: the first with regular expressions (onnx 1.15, November 2023)."""

OUTPUTS = ("predicted", "probabilities", "skipped")


def onnx_file(model: NaiveBayes, properties: Mapping[str, str]) -> bytes:
    """Write a model as the bytes of an ONNX file.

    Its outputs are ``predicted`` (texts), ``probabilities`` (a column per class) and ``skipped``.

    Args:
        model: A released model.
        properties: What the file says of itself.

    Raises:
        UsageError: if the model uses no attribute, or one with the name of an output.
        UnavailableError: if ``onnx`` is not installed.
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
    classes, types, helper = model.domain.classes, onnx.TensorProto, onnx.helper
    graph, inputs = _Graph(onnx, {*names, *OUTPUTS}), []
    (_, (prior,)), *others = blocks(model)
    sums, line = graph.constant([[term for (term,) in prior.terms]]), []
    for name, cells in others:
        if not name:
            line.append(cells)
            continue
        type_ = types.DOUBLE if cells[0].value == "number" else types.STRING
        inputs.append(helper.make_tensor_value_info(name, type_, ["rows"]))
        column = graph.add("Unsqueeze", name, graph.constant([1]))
        number = column if type_ == types.DOUBLE else None
        if cells[0].value == "both":
            number = graph.number_of_text(column)
        sums = graph.add("Add", sums, graph.terms(cells, number, column))
    scores = graph.add("Gather", sums, graph.constant([*range(len(classes))]), axis=1)
    if line:
        scores = graph.on_line(scores, *line)
    graph.add("Softmax", scores, axis=1, to_output="probabilities")
    predicted = graph.add("ArgMax", "probabilities", axis=1, keepdims=0)
    graph.add("Gather", graph.constant(list(classes)), predicted, to_output="predicted")
    graph.add(
        "Cast", graph.add("Gather", sums, graph.constant(len(classes)), axis=1), to=types.INT64, to_output="skipped"
    )
    shapes = (types.STRING, ["rows"]), (types.DOUBLE, ["rows", len(classes)]), (types.INT64, ["rows"])
    outputs = [helper.make_tensor_value_info(name, *shape) for name, shape in zip(OUTPUTS, shapes, strict=True)]
    made = helper.make_model(
        helper.make_graph(graph.nodes, model.domain.name, inputs, outputs, graph.constants),
        producer_name="dpnb-columnar",
        producer_version=__version__,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=FORMAT,
    )
    helper.set_model_props(made, dict(properties))
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

    def add(self, operator: str, *inputs: str, to_output: str | None = None, **attributes: Any) -> str:
        """Add a node, and name its only result."""
        name = to_output or self._free_name(f"{operator}_{len(self.nodes)}")
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, values: Any) -> str:
        """Add a constant: numbers, texts or truth values."""
        array = np.asarray(values)
        array = array.astype(object) if array.dtype.kind == "U" else array
        name = self._free_name(f"constant_{len(self.constants)}")
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def number_of_text(self, text: str) -> str:
        """Read what spells a number; NaN otherwise."""
        spelled = self.add("RegexFullMatch", text, pattern=SPELLED_NUMBER.strip("^$"))
        short = self.add("RegexFullMatch", text, pattern=f".{{1,{LONGEST_SPELLING}}}")
        number = self.add("Where", self.add("And", spelled, short), text, self.constant("nan"))
        return self.add("Cast", number, to=self.onnx.TensorProto.DOUBLE)

    def terms(self, cells: Sequence[Cell], number: str | None, text: str | None = None) -> str:
        """Look up the terms of the last cell that each row matches: the first cell is that of every row.

        Args:
            cells: The cells of a block.
            number: The number of each row, a column; None where there are no numbers.
            text: The text of each row, a column.
        """
        types = self.onnx.TensorProto
        found = self.constant([0])
        for kinds in (("from", "log", "line"), ("number", "missing"), ("text",)):
            places = [place for place, cell in enumerate(cells) if cell.match in kinds]
            values = [
                -math.inf if cells[place].value == "" and kinds != ("text",) else cells[place].value for place in places
            ]
            column = text if kinds == ("text",) else number
            if not places or column is None:
                continue
            operator = "GreaterOrEqual" if "from" in kinds else "Equal"
            matched = self.add("Cast", self.add(operator, column, self.constant([values])), to=types.INT64)
            count = self.add("ReduceSum", matched, self.constant([1]), keepdims=0)
            place = self.add("ArgMax", matched, axis=1, keepdims=0, select_last_index=int("from" in kinds))
            listed = self.add("Gather", self.constant(places), place)
            found = self.add("Where", self.add("Greater", count, self.constant(0)), listed, found)
        rows = [
            [(*term, 0.0, 0.0, 0.0, NO_LIMIT)[:5] if len(term) == 1 else term for term in cell.terms] for cell in cells
        ]
        parts = [self.add("Gather", self.constant(part.copy()), found) for part in np.moveaxis(np.array(rows), 2, 0)]
        if all(len(term) == 1 for cell in cells for term in cell.terms):
            return parts[0]
        assert number is not None
        value = self.add("Where", self.add("IsNaN", number), self.constant(0.0), number)
        value = self.add("Max", self.add("Min", value, self.constant(NO_LIMIT)), self.constant(-NO_LIMIT))
        if any(cell.match == "log" for cell in cells):
            is_log = self.add("Gather", self.constant([[cell.match == "log"] for cell in cells]), found)
            value = self.add("Where", is_log, self.add("Log", self.add("Add", value, self.constant(1.0))), value)
        term, center, slope, curve, limit = parts
        distance = self.add("Sub", value, center)
        steep = self.add("Add", slope, self.add("Mul", curve, distance))
        curved = self.add("Add", term, self.add("Mul", steep, distance))
        return self.add("Max", self.add("Min", curved, limit), self.add("Neg", limit))

    def on_line(self, scores: str, shares: Sequence[Cell], line: Sequence[Cell]) -> str:
        """Compute the scores that probabilities are made of under a line, as ``likelihood.LineTerms`` says."""
        terms = shares[0].terms[:-1]
        largest = next(place for place, term in enumerate(terms) if len(term) == 1)
        is_largest, never = self.constant([[place == largest for place in range(len(terms))]]), self.constant(-math.inf)
        others, axis = self.add("Where", is_largest, never, scores), self.constant([1])
        best = self.add("ArgMax", others, axis=1, keepdims=1)
        is_best = self.add("Equal", best, self.constant([[*range(len(terms))]]))
        margin = self.add(
            "Sub", self.add("ReduceMax", others, axis), self.add("Gather", scores, self.constant([largest]), axis=1)
        )
        found = self.terms(line, margin)
        odds = self.add("Gather", found, self.constant([*range(len(terms))]), axis=1)
        rest = self.add("Gather", found, self.constant([len(terms)]), axis=1)
        slopes = self.constant([[term[2] if len(term) > 1 else 0.0 for term in terms]])
        pull = self.add("Add", self.add("Mul", scores, slopes), self.constant([[term[0] for term in terms]]))
        pull = self.add("Where", is_largest, never, pull)
        pull = self.add("Max", self.add("Sub", pull, self.add("ReduceMax", pull, axis)), self.constant(LEAST_EXPONENT))
        ahead = self.add("Or", is_largest, is_best)
        weights = self.add("Where", ahead, self.constant(0.0), self.add("Exp", pull))
        shared = self.add("Sub", self.add("Add", rest, pull), self.add("Log", self.add("ReduceSum", weights, axis)))
        most = self.add("Add", odds, self.constant(math.log(BELOW_BEST)))
        behind = self.add("Where", is_best, odds, self.add("Min", most, shared))
        return self.add("Where", is_largest, self.constant(0.0), behind)
