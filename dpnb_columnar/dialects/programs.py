"""A tree of steps as a program of another language than SQL: statements, one after the other, for every row.

A ``Program`` holds the very nodes that queries are made of. What is a query's nested expression is here a column of its
own: ``ProgramWriter`` takes an expression apart, and asks its language for four things: to set a column, to set it
where a condition holds, to look a value up, and to read a text as a number. Null is the language's missing value. Where
a language orders missing values among the numbers, comparisons say what they leave out.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from dpnb_columnar.dialects.nodes import NUMBER_AT, SOURCE
from dpnb_columnar.errors import printable_line
from dpnb_columnar.version import __version__

WIDTH = 100
"""Characters of a line, where it can be broken; SAS and SPSS read 256 at most."""

BEYOND = 1e300
"""A number beyond all bounds, which every language holds."""

TABLES = ("scores", "probabilities")
"""Outputs of a graph that have a column for each class."""

LONGEST_PIECE = 60
"""Bytes of a text in quotes; of a longer one the pieces are joined."""


@dataclass(frozen=True, slots=True)
class Input:
    """A column that a program reads.

    Attributes:
        column: Its name in the model.
        name: Its name in the program.
        text: Whether it holds texts; None where the program finds out.
        number: Whether it is read as a number, not as a category.
    """

    column: str
    name: str
    text: bool | None
    number: bool


@dataclass(frozen=True, slots=True)
class Output:
    """A column that a program makes.

    Attributes:
        column: Its name in the tree.
        name: Its name in the program.
        label: What it holds, in words.
        width: Bytes of its longest text; 0 for numbers.
    """

    column: str
    name: str
    label: str
    width: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """Columns that are computed together, of what stands in the blocks before only from outputs.

    Attributes:
        remarks: What they are, one line each.
        columns: The columns, each computed from those before it; an output may be computed anew from itself.
    """

    remarks: Sequence[str]
    columns: Sequence[exp.Alias]


@dataclass(frozen=True, slots=True)
class Program:
    """What a row's columns are computed to.

    Attributes:
        name: The domain's name.
        remarks: Lines for the head of the file.
        inputs: Columns that are read.
        blocks: Columns that are computed, in this order.
        outputs: Columns that stay.
    """

    name: str
    remarks: Sequence[str]
    inputs: Sequence[Input]
    blocks: Sequence[Block]
    outputs: Sequence[Output]


Constant = str | float
Branches = Sequence[tuple[Constant, exp.Expr]]


def unwrapped(node: exp.Expr) -> exp.Expr:
    """Leave out parentheses, and casts to whole numbers of what is one."""
    while isinstance(node, exp.Paren) or (isinstance(node, exp.Cast) and node.is_type(exp.DType.BIGINT)):
        node = node.this
    return node


def constant_of(node: exp.Expr) -> Constant | None:
    """Return the text or the number that a node is; None where it is computed."""
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.is_type(exp.DType.DOUBLE):
        return float(node.this.name)
    if isinstance(node, exp.Literal):
        return node.name if node.is_string else float(node.name)
    return None


def listed_numbers(node: exp.Anonymous) -> tuple[exp.Expr, list[float]]:
    """Return the place and the numbers of ``nodes.number_at``."""
    assert node.name == NUMBER_AT, node.name
    place, *numbers = node.expressions
    return place, [float(number.this.name) for number in numbers]


def branches_of(value: exp.Case) -> list[tuple[exp.Expr, exp.Expr]]:
    """Return the cases, but for that of NaN which becomes null: no program tells them apart."""
    cases = [(each.this, each.args["true"]) for each in value.args["ifs"]]
    return [(when, then) for when, then in cases if not isinstance(when, exp.IsNan)]


def is_source_text(node: exp.Expr) -> bool:
    """Tell whether a node is a column of the rows, as text."""
    return isinstance(node, exp.Cast) and node.is_type(exp.DType.TEXT)


def source_name(node: exp.Expr) -> str | None:
    """Return the name of the column of the rows that a node is, cast or not; None where it is none."""
    while isinstance(node, exp.Cast):
        node = node.this
    return node.name if isinstance(node, exp.Column) and node.table == SOURCE else None


def runs(numbers: Sequence[float]) -> Iterator[tuple[int, int, float]]:
    """Yield the first and the last place of equal numbers that follow one another, and the number."""
    first = 0
    for place in range(1, len(numbers) + 1):
        if place == len(numbers) or numbers[place] != numbers[first]:
            yield first, place - 1, numbers[first]
            first = place


def pieces(text: str) -> Iterator[str]:
    """Cut a text so that no piece has more bytes than ``LONGEST_PIECE``."""
    piece, size = "", 0
    for letter in text:
        width = len(letter.encode())
        if size + width > LONGEST_PIECE:
            yield piece
            piece, size = "", 0
        piece, size = piece + letter, size + width
    yield piece


TOKEN = re.compile(r"""(?:'[^']*'|"[^"]*"|[^\s'"])+""")
"""What of a statement stays on one line."""

OPERATORS = frozenset(["+", "-", "*", "/", "||", "=", "==", "<>", "!=", "<", "<=", ">", ">=", "<-"])
"""Tokens that begin no line: one that did would be another statement in R, and a comment in SPSS."""


@dataclass(frozen=True, slots=True)
class NameRules:
    """What a language takes for the name of a variable.

    Attributes:
        language: The language's name.
        pattern: What a name is.
        longest: Bytes of the longest.
        reserved: Words that are none, in lower case.
        fold: Whether upper and lower case are one.
    """

    language: str
    pattern: str
    longest: int
    reserved: frozenset[str]
    fold: bool

    def fault(self, name: str) -> str | None:
        """Say why a name is none; None where it is one."""
        if len(name.encode()) > self.longest:
            return f"has more than the {self.longest} bytes of a name in {self.language}"
        if name.lower().startswith("_dpnb_") or name.lower() in self.reserved:
            return f"is a word that {self.language}, or this file, takes for itself"
        return None if re.fullmatch(self.pattern, name) else f"is no name of a variable in {self.language}"

    def key(self, name: str) -> str:
        """Return what two names that are one have in common."""
        return name.lower() if self.fold else name


class ProgramWriter(ABC):
    """Writer of a program in a language."""

    names: NameRules | None = None
    """Rules of its names; None where any text is one."""

    padded = False
    """Whether texts are filled up with blanks, so that those at the end do not count."""

    comparisons: ClassVar[Mapping[type[exp.Expr], str]] = {
        exp.EQ: "=",
        exp.NEQ: "<>",
        exp.LT: "<",
        exp.LTE: "<=",
        exp.GT: ">",
        exp.GTE: ">=",
    }
    conjunctions: tuple[str, str] = ("and", "or")
    functions: ClassVar[Mapping[type[exp.Expr], str]]
    missing_number: str
    continuation = ""
    """What ends a line that another one continues."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.inputs = {each.column: each for each in program.inputs}
        self.outputs = {each.column: each for each in program.outputs}
        self.lines: list[str] = []
        self.defined: set[str] = set()
        self.nullable: set[str] = set()
        self.temporary: list[str] = []
        self.known: dict[exp.Expr, str] = {}

    def text(self) -> str:
        """Write the whole program."""
        self.remark(f"Written by dpnb-columnar {__version__}.", *self.program.remarks, *self.usage())
        self.begin()
        for block in self.program.blocks:
            self.lines.append("")
            self.remark(*block.remarks)
            for column in block.columns:
                self.assign(self.name(column.alias), column.this)
            self.end_block()
        self.lines.append("")
        self.end()
        return "\n".join(self.lines) + "\n"

    @abstractmethod
    def usage(self) -> Sequence[str]:
        """Say how the file is used."""

    def begin(self) -> None:  # noqa: B027 a language may need nothing
        """Write what stands before the first block."""

    def end_block(self) -> None:
        """Write what ends a block."""
        self.temporary.clear()
        self.known.clear()

    def end(self) -> None:  # noqa: B027 a language may need nothing
        """Write what stands behind the last block."""

    @abstractmethod
    def comment(self, text: str) -> str:
        """Write a line that is not run."""

    def remark(self, *texts: str) -> None:
        """Write lines that are not run, none longer than a line may be."""
        for text in texts:
            words = printable_line(text).split(" ")
            line = ""
            for word in words:
                if line and len(line) + len(word) > WIDTH:
                    self.lines.append(self.comment(line))
                    line = "   "
                line = f"{line} {word[: 2 * WIDTH]}" if line else word[: 2 * WIDTH]
            self.lines.append(self.comment(line))

    def statement(self, text: str, indent: str = "") -> None:
        """Write a statement, over several lines where it is long."""
        line = indent
        for token in TOKEN.findall(text):
            if line.strip() and len(line) + len(token) + 1 > WIDTH and token not in OPERATORS:
                self.lines.append(line + self.continuation)
                line = f"{indent}    {token}"
            else:
                line = f"{line} {token}" if line.strip() else f"{line}{token}"
        self.lines.append(line)

    def name(self, column: str) -> str:
        """Name a column of the tree."""
        if column in self.outputs:
            return self.outputs[column].name
        return self.temporary_name(column.removeprefix("__dpnb_"))

    @abstractmethod
    def temporary_name(self, name: str) -> str:
        """Name a column that does not stay."""

    def assign(self, target: str, value: exp.Expr) -> None:
        """Set a column to a value."""
        value = unwrapped(value)
        if self.is_nullable(value):
            self.nullable.add(target)
        else:
            self.nullable.discard(target)
        if isinstance(value, exp.Case):
            self._case(target, value)
        elif isinstance(value, exp.Coalesce):
            self.assign(target, value.this)
            otherwise = value.expressions[0]
            self.set_where(target, self.is_missing(target), self.expression(otherwise))
            if not self.is_nullable(otherwise):
                self.nullable.discard(target)
        elif isinstance(value, exp.Anonymous):
            place, numbers = listed_numbers(value)
            self.set_listed(target, self.operand(place), numbers)
        elif isinstance(value, exp.TryCast):
            self.set_number_of_text(target, self.source(value))
        elif (written := self.expression(value)) != target:
            self.set(target, written)
            self.after_computing(target, value)

    def after_computing(self, target: str, value: exp.Expr) -> None:  # noqa: B027 a language may need nothing
        """Write what makes a computed column missing where what it is computed from is."""

    def _case(self, target: str, value: exp.Case) -> None:
        """Set a column by cases, the last of them first, so that the first case that holds has the last word."""
        branches, default = branches_of(value), value.args.get("default") or exp.null()
        if (
            isinstance(default, exp.Binary)
            and default not in self.known
            and any(when.this == default for when, _ in branches)
        ):
            self.known[default] = self.hoisted(default)  # a number to put between bounds
        self.assign(target, default)
        if value.args.get("default") is None:
            self.nullable.add(target)
        if value.this is not None:
            keys = [(key, result) for when, result in branches if (key := constant_of(when)) is not None]
            assert len(keys) == len(branches)
            self.set_looked_up(target, self.operand(value.this), keys)
        else:
            written = [(self.condition(when), self.expression(result)) for when, result in branches]
            for condition, result in reversed(written):
                self.set_where(target, condition, result)
        if not self.is_nullable(value):
            self.nullable.discard(target)
        else:
            self.nullable.add(target)

    def set_looked_up(self, target: str, subject: str, branches: Branches) -> None:
        """Set a column where another one has one of some values; the keys differ."""
        for key, result in branches:
            self.set_where(target, self.compare(exp.EQ, subject, self.constant(key)), self.expression(result))

    @abstractmethod
    def set(self, target: str, value: str) -> None:
        """Set a column."""

    @abstractmethod
    def set_where(self, target: str, condition: str, value: str) -> None:
        """Set a column of the rows of which a condition holds."""

    @abstractmethod
    def set_listed(self, target: str, place: str, numbers: Sequence[float]) -> None:
        """Set a column to the number at a place of a list; missing where the place is."""

    @abstractmethod
    def set_number_of_text(self, target: str, source: str) -> None:
        """Set a column to the number that a text spells; missing where it spells none."""

    @abstractmethod
    def is_missing(self, value: str) -> str:
        """Test whether a number is missing."""

    @abstractmethod
    def quoted(self, text: str) -> str:
        """Write a text."""

    def constant(self, value: Constant) -> str:
        """Write a constant."""
        return self.quoted(value) if isinstance(value, str) else self.number(value)

    def number(self, value: float) -> str:
        """Write a number: its shortest text that is read as the same 64-bit float."""
        value = max(min(value, BEYOND), -BEYOND)  # not every language has infinity
        written = repr(value + 0.0).removesuffix(".0")
        return f"({written})" if value < 0 else written

    def source(self, node: exp.Expr) -> str:
        """Name a column of the rows."""
        name = source_name(node)
        assert name is not None
        return self.inputs[name].name

    def source_number(self, name: str) -> str:
        """Read a column of numbers."""
        return name

    def source_text(self, name: str) -> str:
        """Read a column of texts."""
        return name

    def operand(self, node: exp.Expr) -> str:
        """Name the column that a node is, or write it to one."""
        node = unwrapped(node)
        if isinstance(node, exp.Column) or source_name(node) is not None:
            return self.expression(node)
        return self.hoisted(node)

    def hoisted(self, node: exp.Expr) -> str:
        """Compute a node in a column of its own, and name that."""
        name = self.temporary_name(f"part_{len(self.defined)}")
        self.assign(name, node)
        return name

    def expression(self, node: exp.Expr) -> str:
        """Write a number, or a text, that is computed without a case."""
        node = node.this if isinstance(node, exp.Cast) and node.is_type(exp.DType.BIGINT) else node
        value = constant_of(node)
        if value is not None:
            return self.constant(value)
        if node in self.known:
            return self.known[node]
        match node:
            case exp.Null():
                return self.missing_number
            case exp.TryCast() | exp.Case() | exp.Coalesce() | exp.Anonymous():
                return self.hoisted(node)
            case exp.Paren():
                return f"({self.expression(node.this)})"
            case exp.Cast():
                source = self.source(node)
                return self.source_text(source) if is_source_text(node) else self.source_number(source)
            case exp.Column():
                return self.name(node.name) if node.table != SOURCE else self.source_number(self.source(node))
            case exp.Add():
                return f"{self.expression(node.this)} + {self.expression(node.expression)}"
            case exp.Sub():
                return f"{self.expression(node.this)} - {self.expression(node.expression)}"
            case exp.Mul():
                return f"{self.expression(node.this)} * {self.expression(node.expression)}"
            case exp.Div():
                return f"{self.expression(node.this)} / {self.expression(node.expression)}"
            case exp.Greatest() | exp.Least() if not node.expressions:
                return self.expression(node.this)
            case exp.Greatest() | exp.Least():
                return self.call(type(node), [node.this, *node.expressions])
            case exp.Floor():
                return self.floor(self.expression(node.this))
            case exp.Exp() | exp.Ln() | exp.Abs():
                return self.call(type(node), [node.this])
        raise AssertionError(f"no program has {type(node).__name__}")

    def call(self, function: type[exp.Expr], arguments: Iterable[exp.Expr]) -> str:
        """Write a call of a function."""
        return f"{self.functions[function]}({', '.join(map(self.expression, arguments))})"

    @abstractmethod
    def floor(self, value: str) -> str:
        """Round a number from 0 on down, exactly."""

    def condition(self, node: exp.Expr) -> str:
        """Write a condition; it does not hold where a number that it compares is missing."""
        match node:
            case exp.Paren():
                return f"({self.condition(node.this)})"
            case exp.And() | exp.Or():
                word = self.conjunctions[isinstance(node, exp.Or)]
                return f"({self.condition(node.this)} {word} {self.condition(node.expression)})"
            case exp.Is() | exp.IsNan():
                return self.is_missing(self.operand(node.this))
            case exp.In():
                value = self.operand(node.this)
                tests = [self.compare(exp.EQ, value, self.expression(each)) for each in node.expressions]
                return f"({f' {self.conjunctions[1]} '.join(tests)})" if len(tests) > 1 else tests[0]
        left, right = self.expression(node.this), self.expression(node.expression)
        return self.guarded(node, self.compare(type(node), left, right), left, right)

    def compare(self, comparison: type[exp.Expr], left: str, right: str) -> str:
        """Write a comparison."""
        return f"{left} {self.comparisons[comparison]} {right}"

    def guarded(self, node: exp.Expr, written: str, left: str, right: str) -> str:
        """Add to a comparison what it needs to fail for missing values; nothing where it does so by itself."""
        return written

    def is_nullable(self, node: exp.Expr) -> bool:
        """Tell whether a value may be missing."""
        node = unwrapped(node)
        if constant_of(node) is not None:
            return False
        match node:
            case exp.Null() | exp.TryCast() | exp.Cast():
                return True
            case exp.Case():
                results = [each.args["true"] for each in node.args["ifs"]]
                return any(map(self.is_nullable, [*results, node.args.get("default") or exp.null()]))
            case exp.Coalesce():
                return self.is_nullable(node.expressions[0])
            case exp.Anonymous():
                return self.is_nullable(node.expressions[0])
            case exp.Column():
                return node.table == SOURCE or self.name(node.name) in self.nullable
        return any(self.is_nullable(child) for child in node.iter_expressions())
