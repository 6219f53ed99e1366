"""Whatever the package writes goes through one function; nothing else opens a file for writing.

An unfinished output is called ``partial`` wherever it goes: ``with atomic_output(...) as partial`` binds it, and
parameters of that name are given it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import dpnb_columnar

PACKAGE = Path(dpnb_columnar.__file__).parent

METHODS = frozenset({"write_text", "write_bytes", "touch"})
"""Methods of a path that write to it."""

ENGINES = ("sink_", "write_parquet", "write_ipc", "write_ndjson", "to_csv", "to_parquet", "savefig")
"""Beginnings of methods of frames and figures that write to their first argument."""

CALLS = frozenset({"OSFile", "ParquetWriter", "RecordBatchFileWriter", "create_output_stream"})
"""Functions of Arrow that open their first argument."""

TEMPORARY = frozenset({"NamedTemporaryFile", "TemporaryFile", "TemporaryDirectory", "mkstemp", "mkdtemp"})

FLAGS = frozenset({"os.O_WRONLY", "os.O_RDWR", "os.O_CREAT"})

ALLOWED = frozenset({"partial", "file"})
"""Names of an unfinished output: its path, and what ``opened(partial)`` gives."""

WRITERS = frozenset({"runtime/outputs.py"})
"""The one function, and the locks that it holds."""

OTHERS = {
    "runtime/confinement.py": "standard error of native libraries goes to the null device",
    "cli/console.py": "standard output goes to the null device when nobody reads it",
    "extensions/audit/universe.py": "made-up rows that are attacked, in a folder that goes with the block",
}
"""Modules that write what is no output, and why."""


@cache
def trees() -> dict[str, ast.Module]:
    return {str(path.relative_to(PACKAGE)): ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}


def writes(tree: ast.AST) -> Iterator[tuple[ast.Call, ast.expr | None]]:
    """Yield every call that opens a file for writing, with the expression of the file."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        function, first = call.func, call.args[0] if call.args else None
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        owner = function.value if isinstance(function, ast.Attribute) else None
        if name in TEMPORARY:
            yield call, None
        elif name in METHODS:
            yield call, owner
        elif name == "open" and _for_writing(call, owner):
            yield call, first if owner is None or ast.unparse(owner) in ("os", "io") else owner
        elif _by_an_engine(call, name, owner):
            yield call, first


def _by_an_engine(call: ast.Call, name: str, owner: ast.expr | None) -> bool:
    """Return whether a call hands its first argument to somebody who writes to it."""
    if name == "write_table":  # that of a writer has a table there
        return owner is not None and ast.unparse(owner) in ("pq", "feather")
    if name == "write_csv":  # without an argument it returns the text
        return bool(call.args)
    by_name = name in CALLS or (owner is not None and name.startswith(ENGINES) and name != "sink_batches")
    return by_name or any(FLAGS & set(ast.unparse(given).split(" | ")) for given in call.args)


def _for_writing(call: ast.Call, owner: ast.expr | None) -> bool:
    """Return whether a call of open may write: by its mode, or by the flags of ``os.open``."""
    if owner is not None and ast.unparse(owner) == "os":
        return any(flag in ast.unparse(call) for flag in FLAGS)
    modes = [*call.args, *(word.value for word in call.keywords if word.arg == "mode")]
    texts = [mode.value for mode in modes if isinstance(mode, ast.Constant) and isinstance(mode.value, str)]
    return any(len(text) <= 3 and set(text) & set("wax+") for text in texts)


def faults_of(tree: ast.AST) -> list[str]:
    """Name the calls that write to something else than an unfinished output."""
    return [
        f"{call.lineno}: {ast.unparse(call)[:80]}"
        for call, file in writes(tree)
        if not (isinstance(file, ast.Name) and file.id in ALLOWED)
    ]


def bindings(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield what ``partial`` is bound to by blocks and assignments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
            yield node.optional_vars.id, ast.unparse(node.context_expr)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield ast.unparse(target), ast.unparse(node.value)


def test_a_module_writes_to_unfinished_outputs_alone() -> None:
    """Whose path ``partial`` is; ``file`` is what is opened for an engine."""
    for module, tree in trees().items():
        if module in WRITERS | OTHERS.keys():
            continue
        assert faults_of(tree) == [], module
        bound = list(bindings(tree))
        for name, value in bound:
            assert name != "partial" or value.startswith("atomic_output("), f"{module}: {value}"
        if "file" in {file.id for _, file in writes(tree) if isinstance(file, ast.Name)}:
            assert [value for name, value in bound if name == "file"] == ["opened(partial)"], module


def test_parameters_called_partial_are_given_unfinished_outputs() -> None:
    """A call that gives them something else is found by its text, in the module of the function or an importer."""
    takers = [
        (module, function.name)
        for module, tree in trees().items()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and "partial" in [argument.arg for argument in function.args.args]
    ]
    assert {"parquet_writer", "opened"} <= {name for _, name in takers}
    for module, tree in trees().items():
        imported = {
            (f"{(node.module or '').removeprefix('dpnb_columnar.').replace('.', '/')}.py", alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        here = {name for owner, name in takers if owner == module or (owner, name) in imported}
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] in here:
                given = [*map(ast.unparse, call.args), *(ast.unparse(word.value) for word in call.keywords)]
                assert "partial" in given or "atomic_output(" in given[0], f"{module}:{call.lineno}"


@pytest.mark.parametrize("module", [*sorted(WRITERS), *OTHERS])
def test_an_exception_is_one(module: str) -> None:
    assert faults_of(trees()[module])


@pytest.mark.parametrize(
    "line",
    [
        *("path.write_text('a')", "open(path, 'w')", "path.open('ab')", "path.open(mode='x')"),
        *("os.open(path, os.O_RDWR | os.O_CREAT)", "frame.write_parquet(output)", "frame.lazy().sink_csv(output)"),
        *("pa.OSFile(str(path), 'wb')", "pq.ParquetWriter(path, schema)", "pq.write_table(table, path)"),
        *("tempfile.NamedTemporaryFile()", "(folder / 'a').touch()", "frame.write_csv(output)"),
    ],
)
def test_a_write_past_the_one_function_is_noticed(line: str) -> None:
    assert faults_of(ast.parse(line))


@pytest.mark.parametrize(
    "line",
    [
        "path.open('rb')",
        "os.open(path, os.O_RDONLY)",
        "frame.write_csv()",
        "writer.write_table(table)",
        "partial.touch()",
    ],
)
def test_reading_is_no_writing(line: str) -> None:
    assert not faults_of(ast.parse(line))
