"""A program as statements of a SAS DATA step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from sqlglot import exp

from dpnb_columnar.dialects.programs import NameRules, ProgramWriter, pieces, runs
from dpnb_columnar.domain.numbers import SPELLED_NUMBER

LONGEST_NUMBER = 32
"""Characters that an informat of numbers reads."""


RESERVED = frozenset({"_all_", "_character_", "_char_", "_error_", "_file_", "_infile_", "_n_", "_null_", "_numeric_"})


class SasWriter(ProgramWriter):
    """Writer of the statements of a DATA step. A missing value is below all numbers there."""

    names = NameRules("SAS", "[A-Za-z_][A-Za-z0-9_]*", 32, RESERVED, fold=True)
    padded = True
    comparisons: ClassVar[Mapping[type[exp.Expr], str]] = {**ProgramWriter.comparisons, exp.NEQ: "ne"}
    functions: ClassVar[Mapping[type[exp.Expr], str]] = {
        exp.Exp: "exp",
        exp.Ln: "log",
        exp.Abs: "abs",
        exp.Greatest: "max",
        exp.Least: "min",
    }
    missing_number = "."

    def usage(self) -> Sequence[str]:
        return ("Use: data scored; set rows; %include 'FILE'; run;", "The session's encoding has to be UTF-8.")

    def begin(self) -> None:
        for each in self.program.outputs:
            self.lines.append(f"length {each.name} {f'${each.width}' if each.width else '8'};")

    def end(self) -> None:
        for each in self.program.outputs:
            self.statement(f"label {each.name} = {self._literal(each.label[:60])};")
        self.lines.append("drop _dpnb_:;")

    def comment(self, text: str) -> str:
        return f"/* {text.replace('*/', '* /').replace('/*', '/ *')} */"

    def temporary_name(self, name: str) -> str:
        return f"_dpnb_{name}"

    def set(self, target: str, value: str) -> None:
        self.defined.add(target)
        is_text = any(each.width for each in self.program.outputs if each.name == target)
        self.statement(f"{target} = {repr('') if is_text and value == self.missing_number else value};")

    def set_where(self, target: str, condition: str, value: str) -> None:
        self.statement(f"if {condition} then {target} = {value};")

    def set_listed(self, target: str, place: str, numbers: Sequence[float]) -> None:
        self.set(target, self.missing_number)
        for first, last, number in runs(numbers):
            test = f"{place} = {first}" if first == last else f"{first} <= {place} <= {last}"
            self.statement(f"if {test} then {target} = {self.number(number)};")

    def set_number_of_text(self, target: str, source: str) -> None:
        self.set(target, self.missing_number)
        test = f"prxmatch('/{SPELLED_NUMBER}/', {source}) and length({source}) <= {LONGEST_NUMBER}"
        self.statement(f"if {test} then {target} = input(strip({source}), {LONGEST_NUMBER}.);")

    def is_missing(self, value: str) -> str:
        return f"missing({value})"

    def floor(self, value: str) -> str:
        """Round down without the fuzz of ``floor``."""
        return f"floorz({value})"

    def guarded(self, node: exp.Expr, written: str, left: str, right: str) -> str:
        less, side = (left, node.this) if isinstance(node, exp.LT | exp.LTE) else (right, node.expression)
        if isinstance(node, exp.EQ | exp.NEQ) or not self.is_nullable(side):
            return written
        return f"(not missing({less}) and {written})"

    def quoted(self, text: str) -> str:
        """Write a text in single quotes, in which no macro is expanded."""
        parts = [self._literal(piece) for piece in pieces(text)]
        return parts[0] if len(parts) == 1 else f"({' || '.join(parts)})"

    @staticmethod
    def _literal(text: str) -> str:
        return "'" + text.replace("'", "''") + "'"
