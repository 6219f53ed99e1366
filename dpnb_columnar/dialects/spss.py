"""A program as syntax of SPSS, which PSPP runs, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from sqlglot import exp

from dpnb_columnar.dialects.programs import NameRules, ProgramWriter, pieces, runs

LONGEST_NUMBER = 40
"""Characters that a format of numbers reads."""

BESIDE_DIGITS = ("", ".", "+", "-", "+.", "-.")
"""What a number without an exponent leaves when its digits are taken out. A format of numbers fails at other texts."""

RESERVED = frozenset(["all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with"])


class SpssWriter(ProgramWriter):
    """Writer of syntax that adds variables to the active data; no comparison with a missing value holds there."""

    names = NameRules("SPSS", r"[^\W\d_]([\w.@#$]*[\w@#$])?", 64, RESERVED, fold=True)
    padded = True
    conjunctions = ("AND", "OR")
    functions: ClassVar[Mapping[type[exp.Expr], str]] = {
        exp.Exp: "EXP",
        exp.Ln: "LN",
        exp.Abs: "ABS",
        exp.Greatest: "MAX",
        exp.Least: "MIN",
    }
    missing_number = "$SYSMIS"

    def usage(self) -> Sequence[str]:
        return ("Use: with the rows as the active data set, INSERT FILE='FILE' ENCODING='UTF8'.",)

    def begin(self) -> None:
        for each in self.program.outputs:
            if each.width:
                self.lines.append(f"STRING {each.name} (A{each.width}).")

    def end(self) -> None:
        for each in self.program.outputs:
            self.statement(f"VARIABLE LABELS {each.name} {self._literal(each.label[:60])}.")
            if not each.width:
                self.lines.append(f"FORMATS {each.name} ({'F5.0' if each.column == 'skipped' else 'F12.6'}).")
        self.lines.append("EXECUTE.")

    def comment(self, text: str) -> str:
        return f"* {text.rstrip('. ')}."

    def temporary_name(self, name: str) -> str:
        return f"#{name}"

    def set(self, target: str, value: str) -> None:
        self.defined.add(target)
        is_text = any(each.width for each in self.program.outputs if each.name == target)
        self.statement(f"COMPUTE {target} = {repr('') if is_text and value == self.missing_number else value}.")

    def after_computing(self, target: str, value: exp.Expr) -> None:
        """Make a product missing where a factor is: 0 times a missing value is 0 there."""
        if value.find(exp.Mul) is None:
            return
        for name in dict.fromkeys(self.name(column.name) for column in value.find_all(exp.Column)):
            if name in self.nullable:
                self.set_where(target, self.is_missing(name), self.missing_number)

    def set_where(self, target: str, condition: str, value: str) -> None:
        self.statement(f"IF ({condition}) {target} = {value}.")

    def set_listed(self, target: str, place: str, numbers: Sequence[float]) -> None:
        self.set(target, self.missing_number)
        cases = " ".join(
            f"({first}={self._bare(number)})" if first == last else f"({first} THRU {last}={self._bare(number)})"
            for first, last, number in runs(numbers)
        )
        self.statement(f"RECODE {place} {cases} (ELSE=SYSMIS) INTO {target}.")

    def _bare(self, value: object) -> str:
        assert isinstance(value, float)
        return self.number(value).strip("()")

    def set_number_of_text(self, target: str, source: str) -> None:
        """Set a column to the number that a text spells: digits, a sign before them, a point, no blank between them.

        An exponent is a sign and one or two digits.
        """
        self.set(target, self.missing_number)
        bare = f"LTRIM(RTRIM({source}))"
        mark = f"INDEX(CONCAT(UPCASE({bare}), 'E'), 'E')"
        before, after = f"SUBSTR({bare}, 1, {mark} - 1)", f"SUBSTR({bare}, {mark} + 1)"
        digits = f"LENGTH({after}) - LENGTH({_without_digits(after)})"
        exponent = [f"RANGE({digits}, 1, 2)", *self._signed(after, ("", "+", "-"))]
        tests = [
            f"LENGTH({bare}) <= {LONGEST_NUMBER}",
            f"LENGTH({before}) > LENGTH({_without_digits(before)})",
            f"INDEX({bare}, ' ') = 0",
            *self._signed(before, BESIDE_DIGITS),
            f"({mark} > LENGTH({bare}) OR ({' AND '.join(exponent)}))",
        ]
        self.statement(f"IF ({' AND '.join(tests)}) {target} = NUMBER({bare}, F{LONGEST_NUMBER}.0).")

    def _signed(self, number: str, rests: Sequence[str]) -> Sequence[str]:
        """Test whether what is not a digit of a number is one of these, and its sign the first character."""
        rest = f"ANY({_without_digits(number)}, {', '.join(map(self._literal, rests))})"
        return rest, f"(INDEX({number}, '+-', 1) <= 1)"

    def source_number(self, name: str) -> str:
        """Read a number, missing or not: what is missing is what the model declares."""
        return f"VALUE({name})"

    def is_missing(self, value: str) -> str:
        return f"SYSMIS({value})"

    def floor(self, value: str) -> str:
        """Round down without the fuzz of ``TRUNC``."""
        name = self.temporary_name(f"whole_{len(self.defined)}")
        self.set(name, value)
        return f"({name} - MOD({name}, 1))"

    def quoted(self, text: str) -> str:
        """Write a text in single quotes, in pieces that fit a line."""
        return " + ".join(map(self._literal, pieces(text)))

    @staticmethod
    def _literal(text: str) -> str:
        return "'" + text.replace("'", "''") + "'"


def _without_digits(text: str) -> str:
    for digit in range(10):
        text = f"REPLACE({text}, '{digit}', '')"
    return text
