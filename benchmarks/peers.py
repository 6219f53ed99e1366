"""Accuracy, log loss and time beside other libraries, on the same folds: docs/journal/peers.md.

Usage: python -m benchmarks.peers DATA.parquet... [--python PYTHON]... [--epsilon 0.1,0.3,1,3] [--only NAME,...]
[--rows N] [--folds N] [--cache peers.jsonl] [--docs docs]

A library runs in the first interpreter that has it: this one, then each ``--python``. diffprivlib needs NumPy 2, dpmm
NumPy 1.26 and OpenDP 0.12, so that all libraries take three environments beside this one: ``pip install -r`` one of
``benchmarks/contenders/peers-classifiers.txt``, ``peers-dpmm.txt`` and ``peers-opendp.txt`` into each. ``--folds``
bounds the folds of every contender, and a later session without it goes on. What was measured is kept in
``--cache``: the same command goes on where it was stopped, and ``--again NAME,...`` measures some anew. ``--docs`` puts
the tables between their markers in journal/peers.md, and their outcome in results.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.contenders.declared_rows import Codes, Column, Rows
from benchmarks.contenders.roster import CONTENDERS, Contender
from benchmarks.peer_tables import Measured, put_into, summary, tables
from benchmarks.processes import PYTHON, ROOT
from dpnb_columnar.core.mechanisms.bins import AMOUNTS, declared_edges
from dpnb_columnar.counting.find_domain import find_domain
from dpnb_columnar.domain import Attribute, Missing, Numeric, Transform
from dpnb_columnar.domain.declared_domain import document_of
from dpnb_columnar.rows.row_rules import grid_code
from studies.paper.coded_rows import CodedRows, code_rows, fold_numbers
from studies.paper.data_sets import complete_rows

FOLDS = 10
BINS = 16
"""Bins of a numeric attribute for those that need categories; ``histogram`` has as many or more."""

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS", "LOKY_MAX_CPU_COUNT"), "1"
)

XLA_ONE_THREAD = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
"""For JAX, in which OpenDP's AIM estimates."""


def main() -> None:
    """Measure what the cache lacks, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="*")
    parser.add_argument("--python", action="append", default=[], help="interpreter of an environment with peers")
    parser.add_argument("--epsilon", default="0.1,0.3,1,3")
    parser.add_argument("--only", default=",".join(CONTENDERS), help="contenders, by name")
    parser.add_argument("--again", default="", help="contenders to measure anew")
    parser.add_argument("--rows", type=int, help="most rows of a data set, chosen at random")
    parser.add_argument("--folds", type=int, default=FOLDS, help="most folds of a contender")
    parser.add_argument("--cache", type=Path, default=Path("peers.jsonl"))
    parser.add_argument("--docs", type=Path, help="folder of the documents")
    options = parser.parse_args()
    chosen, again = options.only.split(","), [name for name in options.again.split(",") if name]
    if unknown := [name for name in (*chosen, *again) if name not in CONTENDERS]:
        parser.error(f"no {', '.join(unknown)}; the contenders are {', '.join(CONTENDERS)}")
    measured = [each for each in read_cache(options.cache) if each.contender not in again]
    write_cache(options.cache, measured)
    pythons = interpreters([PYTHON, *options.python])
    for name in [name for name in chosen if options.data and name not in pythons]:
        print(f"{name}: left out, {CONTENDERS[name].package} is in no interpreter named", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        for path in options.data:
            file, rows = Path(folder) / f"{path.stem}.npz", read_data(path, options.rows)
            rows.write(file)
            for contender in (CONTENDERS[name] for name in chosen if name in pythons):
                for epsilon in options.epsilon.split(",") if contender.private else ["none"]:
                    point = (path.stem, len(rows.classes), contender.name, epsilon)
                    folds = missing_folds(measured, point, contender, options.folds)
                    for one in run(pythons[contender.name], file, point, folds):
                        measured.append(one)
                        with options.cache.open("a") as lines:
                            lines.write(one.line() + "\n")
    made = tables(measured)
    print(made)
    if options.docs:
        put_into(options.docs / "journal" / "peers.md", made)
        put_into(options.docs / "results.md", summary(measured))


def read_data(path: Path, most: int | None = None) -> Rows:
    """Code the rows that fit the domain, in the folds of the other benchmarks.

    Raises:
        SystemExit: if an attribute is declared in a way that contenders cannot be told.
    """
    domain = complete_rows(find_domain([path]).domain)
    coded = code_rows([path], domain)
    columns = tuple(declared(attribute) for attribute in domain.attributes)
    codes = [codes_of(coded, each) for each in domain.attributes]
    document, matrix = document_of(domain), np.column_stack(codes)
    rows = Rows(columns, domain.classes, document, matrix, coded.classes, np.zeros(coded.size, dtype=np.int64))
    if most is not None and coded.size > most:
        chosen = np.zeros(coded.size, dtype=bool)
        chosen[np.random.default_rng(0).permutation(coded.size)[:most]] = True
        rows = rows.of(chosen)
    rows.folds[:] = fold_numbers(len(rows.classes), FOLDS, 0)
    return rows


def codes_of(coded: CodedRows, attribute: Attribute) -> Codes:
    """Code an attribute of every row; a missing number has the code after the last cell."""
    column = coded.columns[attribute.name]
    if isinstance(attribute, Numeric):
        cells = column.values.to_frame().select(grid_code(attribute, coded.kinds[attribute.name])).to_series()
        return cells.fill_null(attribute.scale.cells + 1).to_numpy()[column.places]
    return coded.codes(attribute)[column.places]


def declared(attribute: Attribute) -> Column:
    """Describe an attribute by what is declared of it."""
    if isinstance(attribute, Numeric):
        if attribute.transform is not Transform.IDENTITY:
            raise SystemExit(f"{attribute.name}: numbers that are transformed cannot be passed on to other libraries")
        last, missing = attribute.scale.cells, attribute.missing is Missing.CATEGORY
        return Column(attribute.name, last + 1, tuple(declared_edges(attribute, BINS)), last > AMOUNTS, missing)
    if attribute.groups:
        raise SystemExit(f"{attribute.name}: grouped categories cannot be passed on to other libraries")
    return Column(attribute.name, attribute.size)


def interpreters(pythons: Sequence[str]) -> Mapping[str, str]:
    """Find the first interpreter that has each contender's library."""
    having: dict[str, str] = {}
    for python in pythons:
        for name in json.loads(child(python, "--installed")):
            having.setdefault(name, python)
    return having


def missing_folds(
    measured: Sequence[Measured], point: tuple[str, int, str, str], contender: Contender, most: int = FOLDS
) -> list[int]:
    """List the folds that are to be run, of the first ``most``."""
    done = {each.fold for each in measured if each.point == point}
    return [fold for fold in range(min(contender.folds or FOLDS, most)) if fold not in done]


def run(python: str, file: Path, point: tuple[str, int, str, str], folds: Sequence[int]) -> Iterator[Measured]:
    """Run a contender, yielding each fold as it ends. A contender that fails is reported, and the others go on."""
    if not folds:
        return
    data, rows, name, epsilon = point
    command = [python, "-m", "benchmarks.contenders.fit_folds", name, str(file), epsilon, *map(str, folds)]
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment()) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            one = Measured(data, rows, name, epsilon, **json.loads(line))
            print(f"{one.line()}", file=sys.stderr, flush=True)
            yield one
        if process.wait():
            errors.seek(0)
            lines = errors.read().decode(errors="replace").strip().splitlines()
            reason = lines[-1] if lines else f"exit code {process.returncode}"
            print(f"{name} on {data} at {epsilon} failed: {reason}", file=sys.stderr, flush=True)


def child(python: str, *arguments: str) -> str:
    """Run the contenders' program to its end; its output."""
    command = [python, "-m", "benchmarks.contenders.fit_folds", *arguments]
    return subprocess.run(command, env=environment(), stdout=subprocess.PIPE, text=True, check=True).stdout


def environment() -> dict[str, str]:
    """Give every contender one thread, and the checkout to find its adapter in."""
    return os.environ | ONE_THREAD | {"XLA_FLAGS": XLA_ONE_THREAD, "PYTHONPATH": str(ROOT)}


def read_cache(path: Path) -> list[Measured]:
    """Read what was measured before; a last line that was cut short is left out."""
    if not path.is_file():
        return []
    lines = path.read_text().splitlines(keepends=True)
    return [Measured(**json.loads(line)) for line in lines if line.endswith("\n")]


def write_cache(path: Path, measured: Sequence[Measured]) -> None:
    """Write what is kept."""
    path.write_text("".join(each.line() + "\n" for each in measured))


if __name__ == "__main__":
    main()
