"""A program as an ONNX graph of core operators, in double precision.

Every column of the tree is a tensor of one number per row; null is NaN, which no comparison holds of. A node that is
computed twice is one node of the graph.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sqlglot import exp

from dpnb_columnar.dialects.nodes import SOURCE
from dpnb_columnar.dialects.programs import (
    TABLES,
    Program,
    branches_of,
    constant_of,
    listed_numbers,
    source_name,
    unwrapped,
)
from dpnb_columnar.domain.numbers import LONGEST_SPELLING, SPELLED_NUMBER
from dpnb_columnar.errors import UnavailableError
from dpnb_columnar.version import __version__

OPSET, FORMAT = 20, 10
"""Versions of the operators and of the file: the first with regular expressions (onnx 1.15, November 2023)."""

FEW = 3
"""Values that are compared one by one; more are looked up at once."""

OPERATORS: Mapping[type[exp.Expr], str] = {
    exp.Add: "Add",
    exp.Sub: "Sub",
    exp.Mul: "Mul",
    exp.Div: "Div",
    exp.Exp: "Exp",
    exp.Ln: "Log",
    exp.Abs: "Abs",
    exp.Floor: "Floor",
    exp.Greatest: "Max",
    exp.Least: "Min",
    exp.EQ: "Equal",
    exp.LT: "Less",
    exp.LTE: "LessOrEqual",
    exp.GT: "Greater",
    exp.GTE: "GreaterOrEqual",
    exp.And: "And",
    exp.Or: "Or",
    exp.Is: "IsNaN",
}


def onnx_file(program: Program, classes: Sequence[str], properties: Mapping[str, str]) -> bytes:
    """Write a program as the bytes of an ONNX file.

    Its outputs are ``predicted`` (texts), ``scores`` and ``probabilities`` (a column per class) and ``skipped``.

    Args:
        program: The program.
        classes: The classes, in order.
        properties: What the file says of itself.

    Raises:
        UnavailableError: if ``onnx`` is not installed.
    """
    try:
        import onnx
    except ImportError:
        raise UnavailableError(
            "export to ONNX needs onnx; install it with: pip install 'dpnb-columnar[onnx]'"
        ) from None
    helper = onnx.helper
    graph = GraphWriter(program, onnx)
    types = {True: onnx.TensorProto.STRING, False: onnx.TensorProto.DOUBLE}
    inputs = [helper.make_tensor_value_info(each.name, types[bool(each.text)], ["rows"]) for each in program.inputs]
    outputs = graph.results(len(classes))
    made = helper.make_graph(graph.nodes, program.name, inputs, outputs, list(graph.constants.values()))
    model = helper.make_model(
        made,
        producer_name="dpnb-columnar",
        producer_version=__version__,
        doc_string="\n".join(program.remarks),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=FORMAT,
    )
    helper.set_model_props(model, dict(properties))
    onnx.checker.check_model(model, full_check=True)
    content: bytes = model.SerializeToString()
    return content


class GraphWriter:
    """Nodes and constants of the graph, each once."""

    def __init__(self, program: Program, onnx: Any) -> None:
        self.onnx = onnx
        self.program = program
        self.inputs = {each.column: each for each in program.inputs}
        self.taken = {*(each.name for each in program.inputs), *(each.name for each in program.outputs)}
        self.nodes: list[Any] = []
        self.constants: dict[tuple[Any, ...], Any] = {}
        self.known: dict[tuple[Any, ...], str] = {}
        self.columns: dict[str, str] = {}
        for block in program.blocks:
            for column in block.columns:
                self.columns[column.alias] = self.value(column.this)

    def results(self, classes: int) -> list[Any]:
        """Write the outputs, and describe them."""
        helper, types = self.onnx.helper, self.onnx.TensorProto
        shape = self.node("Shape", self.program.inputs[0].name)
        predicted, *numbers, skipped = self.program.outputs
        columns = [self.node("Expand", self.columns[each.column], shape) for each in (*numbers, skipped, predicted)]
        prefix = skipped.name.removesuffix(skipped.column)
        tables = [prefix + name for name in TABLES]
        apart = [self.node("Unsqueeze", column, self.whole([1])) for column in columns[: 2 * classes]]
        for place, name in enumerate(tables):
            part = apart[place * classes : (place + 1) * classes]
            self.nodes.append(helper.make_node("Concat", part, [name], axis=1))
        self.nodes.append(helper.make_node("Cast", [columns[-2]], [skipped.name], to=types.INT64))
        self.nodes.append(helper.make_node("Identity", [columns[-1]], [predicted.name]))
        described = [(name, types.DOUBLE, ["rows", classes]) for name in tables]
        described += [(skipped.name, types.INT64, ["rows"])]
        return [
            helper.make_tensor_value_info(predicted.name, types.STRING, ["rows"]),
            *(helper.make_tensor_value_info(*each) for each in described),
        ]

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node, and name its only result."""
        key = (operator, inputs, tuple(attributes.items()))
        if key not in self.known:
            self.known[key] = self._free_name(f"{operator}_{len(self.known)}")
            self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [self.known[key]], **attributes))
        return self.known[key]

    def constant(self, values: Any) -> str:
        """Add a constant, a tensor of numbers or of texts."""
        array = np.asarray(values)
        if array.dtype.kind == "U":
            array = array.astype(object)
        content = tuple(array.ravel().tolist()) if array.dtype == object else array.tobytes()
        key = (array.dtype.str, array.shape, content)
        if key not in self.constants:
            name = self._free_name(f"constant_{len(self.constants)}")
            self.constants[key] = self.onnx.numpy_helper.from_array(array, name)
        name = self.constants[key].name
        assert isinstance(name, str)
        return name

    def whole(self, numbers: Sequence[int]) -> str:
        """Add a constant of whole numbers."""
        return self.constant(np.array(numbers, dtype=np.int64))

    def _free_name(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        return name

    def value(self, node: exp.Expr) -> str:
        """Compute a number or a text."""
        node = unwrapped(node)
        constant = constant_of(node)
        if constant is not None:
            return self.constant(constant)
        match node:
            case exp.Null():
                return self.constant(math.nan)
            case exp.TryCast():
                return self._number_of_text(self.value(node.this))
            case exp.Cast() | exp.Column() if (name := source_name(node)) is not None:
                return self.inputs[name].name
            case exp.Column():
                assert node.table != SOURCE
                return self.columns[node.name]
            case exp.Case():
                return self._case(node)
            case exp.Coalesce():
                value = self.value(node.this)
                return self.node("Where", self.node("IsNaN", value), self.value(node.expressions[0]), value)
            case exp.Anonymous():
                return self._listed(*listed_numbers(node))
            case exp.Greatest() | exp.Least():
                return self.node(OPERATORS[type(node)], *map(self.value, [node.this, *node.expressions]))
            case exp.Binary():
                return self.node(OPERATORS[type(node)], self.value(node.this), self.value(node.expression))
        return self.node(OPERATORS[type(node)], self.value(node.this))

    def condition(self, node: exp.Expr) -> str:
        """Compute whether a condition holds."""
        node = unwrapped(node)
        match node:
            case exp.In():
                value = self.value(node.this)
                tests = [self.node("Equal", value, self.value(each)) for each in node.expressions]
                result = tests[0]
                for test in tests[1:]:
                    result = self.node("Or", result, test)
                return result
            case exp.And() | exp.Or():
                return self.node(OPERATORS[type(node)], self.condition(node.this), self.condition(node.expression))
            case exp.Is():
                return self.node("IsNaN", self.value(node.this))
        return self.node(OPERATORS[type(node)], self.value(node.this), self.value(node.expression))

    def _case(self, node: exp.Case) -> str:
        branches = branches_of(node)
        results = [constant_of(then) for _, then in branches]
        is_text = any(isinstance(each, str) for each in results)
        default = node.args.get("default")
        result = self.constant("") if default is None and is_text else self.value(default or exp.null())
        if node.this is None:
            for when, then in reversed(branches):
                result = self.node("Where", self.condition(when), self.value(then), result)
            return result
        subject, keys = self.value(node.this), [constant_of(when) for when, _ in branches]
        if len(branches) > FEW and all(isinstance(each, float) for each in results):
            return self._looked_up(subject, keys, results, result)
        for key, (_, then) in reversed(list(zip(keys, branches, strict=True))):
            result = self.node("Where", self.node("Equal", subject, self.constant(key)), self.value(then), result)
        return result

    def _looked_up(self, subject: str, keys: Sequence[Any], results: Sequence[Any], otherwise: str) -> str:
        """Look up all values at once: the first of the keys that is the value, if that is one."""
        apart = self.node("Unsqueeze", subject, self.whole([1]))
        is_key = self.node("Equal", apart, self.constant([list(keys)]))
        equal = self.node("Cast", is_key, to=self.onnx.TensorProto.UINT8)
        place = self.node("ArgMax", equal, axis=1, keepdims=0)
        found = self.node("Equal", self.node("Gather", self.constant(list(keys)), place), subject)
        return self.node("Where", found, self.node("Gather", self.constant(list(results)), place), otherwise)

    def _listed(self, place: exp.Expr, numbers: Sequence[float]) -> str:
        """Look up the number at a place; behind them all is that of no place."""
        value = self.value(place)
        known = self.node("Where", self.node("IsNaN", value), self.constant(float(len(numbers))), value)
        whole = self.node("Cast", known, to=self.onnx.TensorProto.INT64)
        return self.node("Gather", self.constant([*numbers, math.nan]), whole)

    def _number_of_text(self, text: str) -> str:
        """Read what spells a number."""
        spelled = self.node("RegexFullMatch", text, pattern=SPELLED_NUMBER.strip("^$"))
        short = self.node("RegexFullMatch", text, pattern=f".{{1,{LONGEST_SPELLING}}}")
        number = self.node("Where", self.node("And", spelled, short), text, self.constant("nan"))
        return self.node("Cast", number, to=self.onnx.TensorProto.DOUBLE)
