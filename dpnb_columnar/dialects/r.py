"""A program as a function of base R."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from sqlglot import exp

from dpnb_columnar.dialects.programs import Branches, ProgramWriter, constant_of, runs
from dpnb_columnar.domain.numbers import LONGEST_SPELLING, SPELLED_NUMBER

HELPERS = f"""\
  number <- function(x) {{ # a text that spells no number is missing
    if (is.factor(x)) x <- as.character(x)
    if (inherits(x, c("Date", "POSIXt"))) return(rep(NA_real_, length(x)))
    if (!is.character(x)) return(as.numeric(x))
    spelled <- which(nchar(x, "bytes") <= {LONGEST_SPELLING} &
      grepl("{SPELLED_NUMBER}", x, useBytes = TRUE))
    value <- rep(NA_real_, length(x))
    value[spelled] <- as.numeric(x[spelled])
    value
  }}
  text <- function(x) {{ # numbers are found by their value
    if (is.factor(x)) x <- as.character(x)
    if (is.character(x)) return(enc2utf8(x))
    if (is.logical(x)) return(c("false", "true")[x + 1])
    if (inherits(x, "Date")) return(format(x, "%Y-%m-%d"))
    rep(NA_character_, length(x))
  }}
  ln <- function(x) suppressWarnings(log(x)) # of what is not chosen
  where <- function(test, value, otherwise) {{
    test <- which(test)
    otherwise <- rep_len(otherwise, rows)
    otherwise[test] <- rep_len(value, rows)[test]
    otherwise
  }}"""


class RWriter(ProgramWriter):
    """Writer of a function ``score_NAME`` that takes a data frame, and returns one of the new columns."""

    comparisons: ClassVar[Mapping[type[exp.Expr], str]] = {**ProgramWriter.comparisons, exp.EQ: "==", exp.NEQ: "!="}
    conjunctions = ("&", "|")
    functions: ClassVar[Mapping[type[exp.Expr], str]] = {
        exp.Exp: "exp",
        exp.Ln: "ln",
        exp.Abs: "abs",
        exp.Greatest: "pmax",
        exp.Least: "pmin",
    }
    missing_number = "NA_real_"

    @property
    def function(self) -> str:
        """The function's name."""
        return "score_" + (re.sub(r"[^A-Za-z0-9_]+", "_", self.program.name).strip("_") or "rows")

    def usage(self) -> Sequence[str]:
        return (f"Use: source(FILE); scored <- cbind(data, {self.function}(data))",)

    def begin(self) -> None:
        numbers = [each.name for each in self.program.inputs if each.number]
        self.lines += [f"{self.function} <- function(data) {{"]
        self.statement(f"needed <- {self._vector([each.name for each in self.program.inputs])}", "  ")
        self.lines += [
            "  if (length(absent <- setdiff(needed, names(data))))",
            '    stop("missing column ", paste(absent, collapse = ", "))',
        ]
        self.statement(f"for (name in {self._vector(numbers)})", "  ")
        self.lines += [
            '    if (inherits(data[[name]], c("Date", "POSIXt")) || !is.atomic(data[[name]]))',
            '      stop("column ", name, " does not hold numbers")',
            "  rows <- nrow(data)",
            *HELPERS.splitlines(),
        ]

    def _vector(self, texts: Sequence[str]) -> str:
        return f"c({', '.join(map(self.quoted, texts))})" if texts else "character(0)"

    def end(self) -> None:
        columns = ", ".join(each.name for each in self.program.outputs)
        self.statement(f"result <- lapply(list({columns}), rep_len, rows)", "  ")
        self.statement(f"names(result) <- {self._vector([each.label for each in self.program.outputs])}", "  ")
        self.lines += ['  structure(result, class = "data.frame", row.names = attr(data, "row.names"))', "}"]

    def comment(self, text: str) -> str:
        return f"# {text}"

    def temporary_name(self, name: str) -> str:
        return name

    def set(self, target: str, value: str) -> None:
        self.defined.add(target)
        self.statement(f"{target} <- {value}", "  ")

    def set_where(self, target: str, condition: str, value: str) -> None:
        self.statement(f"{target} <- where({condition}, {value}, {target})", "  ")

    def set_looked_up(self, target: str, subject: str, branches: Branches) -> None:
        results = [constant_of(result) for _, result in branches]
        if len(branches) < 3 or None in results:
            super().set_looked_up(target, subject, branches)
            return
        keys = ", ".join(self.constant(key) for key, _ in branches)
        values = ", ".join(self.constant(value) for value in results if value is not None)
        self.statement(f"place <- match({subject}, c({keys}))", "  ")
        self.statement(f"{target} <- where(!is.na(place), c({values})[place], {target})", "  ")

    def set_listed(self, target: str, place: str, numbers: Sequence[float]) -> None:
        self.defined.add(target)
        spans = list(runs(numbers))
        values = ", ".join(self.number(number) for *_, number in spans)
        if 2 * len(spans) > len(numbers):
            values = ", ".join(map(self.number, numbers))
            self.statement(f"{target} <- c({values})[{place} + 1]", "  ")
            return
        times = ", ".join(str(last - first + 1) for first, last, _ in spans)
        self.statement(f"{target} <- rep(c({values}), c({times}))[{place} + 1]", "  ")

    def set_number_of_text(self, target: str, source: str) -> None:
        self.set(target, self.source_number(source))

    def source_number(self, name: str) -> str:
        return f"number(data[[{self.quoted(name)}]])"

    def source_text(self, name: str) -> str:
        return f"text(data[[{self.quoted(name)}]])"

    def is_missing(self, value: str) -> str:
        return f"is.na({value})"

    def floor(self, value: str) -> str:
        return f"floor({value})"

    def quoted(self, text: str) -> str:
        r"""Write a text in ASCII, which is read alike wherever R runs: é is \u00e9."""
        return f'"{"".join(map(_escaped, text))}"'


def _escaped(letter: str) -> str:
    if " " <= letter <= "~" and letter not in '"\\':
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) < 2**16 else f"\\U{ord(letter):08x}"
