"""A program as a do-file of Stata."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from sqlglot import exp

from dpnb_columnar.dialects.programs import NameRules, ProgramWriter, pieces, runs
from dpnb_columnar.domain.numbers import LONGEST_SPELLING, SPELLED_NUMBER

RESERVED = frozenset(
    {
        *("_all", "_b", "_coef", "_cons", "_n", "_pi", "_pred", "_rc", "_skip", "str", "strl"),
        *("byte", "double", "float", "if", "in", "int", "long", "using", "with"),
    }
)


class StataWriter(ProgramWriter):
    """Writer of a do-file that adds variables to the data in memory. A missing value is above all numbers there."""

    names = NameRules("Stata", r"[^\W\d]\w*", 32, RESERVED, fold=False)
    comparisons: ClassVar[Mapping[type[exp.Expr], str]] = {**ProgramWriter.comparisons, exp.EQ: "==", exp.NEQ: "!="}
    conjunctions = ("&", "|")
    functions: ClassVar[Mapping[type[exp.Expr], str]] = {
        exp.Exp: "exp",
        exp.Ln: "ln",
        exp.Abs: "abs",
        exp.Greatest: "max",
        exp.Least: "min",
    }
    missing_number = "."
    continuation = " ///"

    def usage(self) -> Sequence[str]:
        return ("Use: with the rows in memory, do FILE. Stata 14 or later.",)

    def begin(self) -> None:
        self.lines += ["version 14", "set more off"]
        for each in self.program.inputs:
            self.lines.append(f"confirm {'string' if each.text else 'numeric'} variable {each.name}")

    def end_block(self) -> None:
        for start in range(0, len(self.temporary), 20):
            self.statement(f"drop {' '.join(self.temporary[start : start + 20])}")
        self.defined.difference_update(self.temporary)
        super().end_block()

    def end(self) -> None:
        for each in self.program.outputs:
            label = "".join("?" if letter in '"`$' else letter for letter in each.label)[:80]
            self.lines.append(f'label variable {each.name} "{label}"')

    def comment(self, text: str) -> str:
        return "* " + re.sub("(?<=[/*])(?=[/*])", " ", text.replace("`", "'").replace("$", "?"))

    def temporary_name(self, name: str) -> str:
        return f"_dpnb_{name}"

    def set(self, target: str, value: str) -> None:
        if target in self.defined:
            self.statement(f"replace {target} = {value}")
            return
        self.defined.add(target)
        width = {each.name: each.width for each in self.program.outputs}.get(target)
        if width is None:
            self.temporary.append(target)
        if width:
            self.statement(f'generate str{width} {target} = ""')
        else:
            self.statement(f"generate double {target} = {value}")

    def set_where(self, target: str, condition: str, value: str) -> None:
        self.statement(f"replace {target} = {value} if {condition}")

    def set_listed(self, target: str, place: str, numbers: Sequence[float]) -> None:
        self.set(target, ".")
        for first, last, number in runs(numbers):
            test = f"{place} == {first}" if first == last else f"inrange({place}, {first}, {last})"
            self.statement(f"replace {target} = {self.number(number)} if {test}")

    def set_number_of_text(self, target: str, source: str) -> None:
        self.set(target, ".")
        pattern = self.quoted(SPELLED_NUMBER)
        test = f"ustrregexm({source}, {pattern}) & strlen({source}) <= {LONGEST_SPELLING}"
        self.statement(f"replace {target} = real(strtrim({source})) if {test}")

    def is_missing(self, value: str) -> str:
        return f"missing({value})"

    def floor(self, value: str) -> str:
        return f"floor({value})"

    def guarded(self, node: exp.Expr, written: str, left: str, right: str) -> str:
        above = left if isinstance(node, exp.GT | exp.GTE) else right
        side = node.this if isinstance(node, exp.GT | exp.GTE) else node.expression
        if isinstance(node, exp.EQ | exp.NEQ) or not self.is_nullable(side):
            return written
        return f"({written} & !missing({above}))"

    def quoted(self, text: str) -> str:
        """Write a text: what would be a macro, or end it, by its code."""
        parts: list[str] = []
        for piece in pieces(text):
            plain = ""
            for letter in piece:
                if letter in '"`$\\':
                    parts += [f'"{plain}"'] * bool(plain) + [f"char({ord(letter)})"]
                    plain = ""
                else:
                    plain += letter
            parts += [f'"{plain}"'] * bool(plain)
        if not parts:
            return '""'
        return parts[0] if len(parts) == 1 else f"({' + '.join(parts)})"
