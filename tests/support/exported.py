"""Models exported to other languages, run there on rows that are passed bit by bit, beside what ``predict`` says."""

from __future__ import annotations

import csv
import io
import math
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import HealthCheck, Phase, given, seed, settings

from dpnb_columnar.api.model import Model
from dpnb_columnar.domain import Numeric, Transform
from dpnb_columnar.domain.column_kinds import number_keys
from dpnb_columnar.domain.names import NUMBER_WORDS
from dpnb_columnar.errors import UsageError
from dpnb_columnar.extensions.exports.exports import SUFFIXES, Target, check_texts, script_text, table_lines
from dpnb_columnar.model.parameters import Normal
from dpnb_columnar.model.score_batches import SKIPPED
from dpnb_columnar.model.scoring import PREDICTED, probability_column
from support.random_models import models_and_rows
from support.reference_scorer import reference

EXACT = 1e-12
ODD_TEXTS = ["", " ", ".", "-", "7.0", " 7 ", "+7", "-7", "07", "1e5", "1_0", "7.", ".5", "- 7", "7 7", "1+1", "é"]
ODD_TEXTS += ["x" * 70, "0" * 70, "7e0", "70E-01", "7e", "e7", "7e1.5", "7e100"]
ODD_TEXTS += [
    *("1e0", "1E0", "10e-001", "1e3", "1E+1", "1e99", "1e100", "1e-", "1e+-0", "1e0.0", "1e0e0", "1d0", "e", "+"),
    "+e1",
]
ODD_TEXTS += [*NUMBER_WORDS, "tRue", "+inf", "INF", "nan", "1", " 1 ", "NA", "0e99", "0e100", "0E-0099"]


@dataclass(frozen=True, eq=False)
class Case:
    """A model, and rows for it."""

    model: Model
    rows: pl.DataFrame
    drawn: Sequence[dict[str, Any]]

    @cached_property
    def allowed(self) -> float:
        """How far a probability may be off: what the rounding of floats moves."""
        steep = 4 * max(reference(self.model, row).tolerance - EXACT for row in self.drawn)
        return EXACT + steep + logarithm_error(self.model)

    @property
    def names(self) -> dict[str, str]:
        return {name: f"v{place}" for place, name in enumerate(self.rows.columns)}


@dataclass(frozen=True)
class Scored:
    """What a language says of one row."""

    predicted: str
    probabilities: Sequence[float]
    skipped: int


def cases(target: Target, number: int, start: int = 0) -> list[Case]:
    """Random models that a language takes, and odd rows; R takes texts in the place of numbers, in every second."""
    taken = [case for case in _cases(number, start) if is_taken(case, target)]
    return [as_texts(case) if target is Target.R and place % 2 else case for place, case in enumerate(taken)]


def as_texts(case: Case) -> Case:
    columns = {
        column.name: pl.Series(
            [value if value is None else str(value) for value in column[: len(case.drawn)]] + ODD_TEXTS, dtype=pl.String
        )
        for column in case.rows
    }
    return replace(case, rows=pl.DataFrame(columns))


def is_taken(case: Case, target: Target) -> bool:
    if target is Target.ONNX:
        return bool(case.rows.columns)
    try:
        check_texts(case.model, target)
    except UsageError as error:
        if "cannot hold this text" in str(error):
            return False
        raise
    return True


@cache
def _cases(number: int, start: int) -> list[Case]:
    found: list[Case] = []

    @seed(start)
    @settings(
        max_examples=number,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(models_and_rows().filter(lambda case: bool(case[0].attributes)))
    def collect(case: tuple[Model, list[dict[str, Any]]]) -> None:
        found.append(odd_case(*case))

    collect()
    return found


def odd_case(model: Model, rows: list[dict[str, Any]]) -> Case:
    """A model with rows, and rows of odd texts after them where a column holds texts."""
    columns: dict[str, pl.Series] = {}
    for parameters in model.attributes:
        attribute = model.domain[parameters.attribute]
        values = [row[attribute.name] for row in rows] + [None] * len(ODD_TEXTS)
        if isinstance(attribute, Numeric):
            columns[attribute.name] = pl.Series(values, dtype=pl.Float64)
        elif len(number_keys(attribute.members)) == len(attribute.members):
            columns[attribute.name] = pl.Series(values, dtype=pl.String).cast(pl.Float64, strict=False)
        else:
            columns[attribute.name] = pl.Series([*values[: len(rows)], *ODD_TEXTS], dtype=pl.String)
    return Case(model, pl.DataFrame(columns), rows)


def logarithm_error(model: Model) -> float:
    """What ln(1 + x) in the place of log1p(x) may change: a rounding of 1, in units of the narrowest deviation."""
    worst = 0.0
    for parameters, weight in zip(model.attributes, model.weights, strict=True):
        attribute = model.domain[parameters.attribute]
        if isinstance(parameters, Normal) and getattr(attribute, "transform", None) is Transform.LOG1P:
            width = attribute.scale.end - attribute.scale.origin
            worst += abs(weight) * 2.0**-51 * width / min(parameters.deviation) ** 2
    return worst


def difference(case: Case, scored: Sequence[Scored]) -> float:
    """Compare with ``predict``: the largest difference of a probability.

    Classes must be the same where the two likeliest are further apart than what rounding moves.
    """
    rows = case.rows if case.rows.width else pl.DataFrame({"": [0] * len(scored)})
    expected = case.model.predict(rows.lazy()).collect().to_dicts()
    names = [probability_column(name) for name in case.model.domain.classes]
    assert len(expected) == len(scored)
    worst = 0.0
    for row, found in zip(expected, scored, strict=True):
        assert found.skipped == row[SKIPPED]
        probabilities = [row[name] for name in names]
        largest, second = sorted(probabilities, reverse=True)[:2]
        assert found.predicted == row[PREDICTED] or largest - second <= case.allowed
        worst = max([worst, *(abs(one - other) for one, other in zip(probabilities, found.probabilities, strict=True))])
    return worst


def write_script(folder: Path, number: int, case: Case, target: Target) -> str:
    """Write the script of a case and its table, with names that every language knows; return the script's name."""
    script, table = f"{number}{SUFFIXES[target]}", f"{number}.terms.csv"
    (folder / script).write_text(script_text(case.model, target, script, table))
    head, *rows = csv.reader(io.StringIO("".join(table_lines(case.model)), newline=""))
    with (folder / table).open("w", newline="") as file:
        file.write(",".join(f'"{name}"' for name in head) + "\r\n")
        for name, match, value, klass, *numbers in rows:
            texts = [case.names.get(name, ""), match, value, klass]
            file.write(",".join([*(f'"{text.replace(chr(34), 2 * chr(34))}"' for text in texts), *numbers]) + "\r\n")
    return script


def run_r(folder: Path, tried: Sequence[Case]) -> list[list[Scored]]:
    """Score the rows of all cases in one process of R, each by a file of its own."""
    script = ["invisible(compiler::enableJIT(0))", "options(warn = 2, keep.source = FALSE)"]
    script.append('out <- file("scored.txt", "w")')
    for number, case in enumerate(tried):
        names = ", ".join(f"'{name}'" for name in case.names.values())
        script += [
            f'source("{write_script(folder, number, case, Target.R)}")',
            f"data <- structure(list({', '.join(map(_r_vector, case.rows))}), class = 'data.frame', "
            f"row.names = seq_len({max(case.rows.height, 1)}))",
            f"names(data) <- c({names})" if names else "",
            "scored <- score_rows(data)",
            'hex <- vapply(scored[[1]], function(x) paste(as.character(charToRaw(x)), collapse = ""), "")',
            'numbers <- lapply(scored[seq(2, ncol(scored) - 1)], function(x) sprintf("%a", x))',
            "writeLines(do.call(paste, c(list(hex), unname(numbers), scored[ncol(scored)])), out)",
            'cat("end\\n", file = out)',
        ]
    script.append("close(out)")
    (folder / "run.R").write_text("\n".join(script))
    command = ["Rscript", "--vanilla", "-e", "source('run.R')"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    groups: list[list[Scored]] = [[]]
    for line in (folder / "scored.txt").read_text().splitlines():
        if line == "end":
            groups.append([])
            continue
        predicted, *numbers, skipped = line.split(" ")
        groups[-1].append(Scored(bytes.fromhex(predicted).decode(), list(map(float.fromhex, numbers)), int(skipped)))
    return groups[:-1]


def _r_vector(values: pl.Series) -> str:
    written = [_r_text(each) if isinstance(each, str) else _r_number(each) for each in values]
    return f"c({', '.join(written)})" if values.dtype == pl.Float64 else f"as.character(c({', '.join(written)}))"


def _r_number(value: float | None) -> str:
    if value is None:
        return "NA"
    if math.isnan(value):
        return "NaN"
    return ("-Inf" if value < 0 else "Inf") if math.isinf(value) else value.hex()


def _r_text(text: str) -> str:
    return '"' + "".join(f"\\U{ord(letter):08x}" for letter in text) + '"' if text else '""'


def run_pspp(folder: Path, tried: Sequence[Case]) -> list[list[Scored]]:
    """Score the rows of all cases in one process of PSPP, which has no infinity: the largest float stands for it."""
    script = ["SET MXWARNS=1000000."]
    for number, case in enumerate(tried):
        write_script(folder, number, case, Target.SPSS)
        classes = len(case.model.domain.classes)
        width = max(len(name.encode()) for name in case.model.domain.classes)
        fields, place, data = [], 1, [""] * max(case.rows.height, 1)
        for column, values in zip(case.names.values(), case.rows, strict=True):
            is_text = values.dtype == pl.String
            size = max([1, *(len((each or "").encode()) for each in values)]) if is_text else 8
            fields.append(f"{column} {place}-{place + 2 * size - 1} ({'AHEX' if is_text else 'RBHEX'})")
            place += 2 * size
            for row, value in enumerate(values):
                data[row] += (value or "").encode().ljust(size).hex() if is_text else _double(value)
        fields = fields or ["nothing 1-1 (A)"]
        data = data if case.rows.columns else ["x"]
        script += [
            f"FILE HANDLE rows_{number} /NAME='{number}.txt' /LRECL=100000.",
            f"DATA LIST FILE=rows_{number} FIXED NOTABLE / {' '.join(fields)}.",
            f"INSERT FILE='{number}.sps' ENCODING='UTF8'.",
            f"WRITE OUTFILE='{number}.out' / nb_predicted (AHEX{2 * width}) "
            f"{' '.join(f'nb_probability_{place + 1} (RBHEX16)' for place in range(classes))} nb_skipped (F5.0).",
            "EXECUTE.",
        ]
        (folder / f"{number}.txt").write_text("\n".join(data) + "\n")
    (folder / "run.sps").write_text("\n".join(script) + "\n")
    command = ["pspp", "-O", "format=txt", "-o", "log.txt", "run.sps"]
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    groups = []
    for number, case in enumerate(tried):
        width = max(len(name.encode()) for name in case.model.domain.classes)
        groups.append([_scored(line, 2 * width) for line in (folder / f"{number}.out").read_text().splitlines()])
    return groups


def _double(value: float | None) -> str:
    if value is None or math.isnan(value):
        return struct.pack("=d", -sys.float_info.max).hex()  # its missing value
    largest = 1.7e308
    return struct.pack("=d", min(max(value, -largest), largest)).hex()


def _scored(line: str, width: int) -> Scored:
    predicted = bytes.fromhex(line[:width]).decode().rstrip(" ")
    numbers = [struct.unpack("=d", bytes.fromhex(line[at : at + 16]))[0] for at in range(width, len(line) - 16, 16)]
    return Scored(predicted, numbers, int(line[width + 16 * len(numbers) :]))


def run_onnx(folder: Path, tried: Sequence[Case]) -> list[list[Scored]]:
    import onnxruntime

    from dpnb_columnar.extensions.exports.exports import onnx_file

    onnxruntime.set_default_logger_severity(3)
    groups = []
    for case in tried:
        content = onnx_file(case.model, {})
        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        rows = {
            values.name: values.fill_null("").to_numpy().astype(object)
            if values.dtype == pl.String
            else values.fill_null(math.nan).to_numpy()
            for values in case.rows
        }
        outputs = ["predicted", "probabilities", "skipped"]
        predicted, probabilities, skipped = session.run(outputs, rows)
        groups.append([Scored(*row) for row in zip(predicted, probabilities.tolist(), skipped.tolist(), strict=True)])
    return groups


def available(program: str) -> bool:
    return shutil.which(program) is not None
