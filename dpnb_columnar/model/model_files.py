"""Model files: JSON for people and programs, Parquet with one row per parameter for SQL; both hold the same."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpnb_columnar.domain.field_reader import distinct_keys
from dpnb_columnar.domain.names import named
from dpnb_columnar.errors import DataError, MissingInputError, UsageError
from dpnb_columnar.model.document import (
    LARGEST_MODEL_FILE,
    MOST_CONTAINERS,
    MOST_PARAMETERS,
    Leaf,
    leaves,
    to_document,
    to_json,
)
from dpnb_columnar.model.document_reader import GIVE_A_MODEL, not_a_model, read_document
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.runtime.outputs import atomic_output, parquet_writer

if TYPE_CHECKING:
    import pyarrow.parquet as pq

MODEL_KEY = "dpnb_columnar.model"
"""Key in a Parquet model's key-value metadata; the value is the document without its numbers, which are in the rows."""

SUFFIXES = (".json", ".parquet")
BATCH_ROWS = 2**16
PARAMETER_COLUMNS = ("attribute", "class", "cell", "parameter", "released", "value")


def check_suffix(path: Path) -> None:
    """Refuse the name of a model file that ends in neither .json nor .parquet."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{path}: a model is written as JSON or Parquet; end its name in .json or .parquet")


def save_model(model: NaiveBayes, path: Path, *, overwrite: bool = False) -> None:
    """Write a model, as JSON or Parquet by the name's suffix. Equal models give byte-identical files.

    A model without a guarantee is as confidential as the rows, so its file is readable by the owner alone.
    """
    check_suffix(path)
    document = to_document(model)
    with atomic_output(path, overwrite=overwrite, confidential=not model.guarantee.private) as partial:
        if path.suffix.lower() == ".json":
            partial.write_text(to_json(document), encoding="utf-8")
        else:
            _write_parquet(document, partial)


def read_model(path: Path) -> NaiveBayes:
    """Read a model back, exactly as it was saved."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{path}: no model by its name, which ends in .json or .parquet; {GIVE_A_MODEL}")
    read = _read_json if path.suffix.lower() == ".json" else _read_parquet
    return read_document(read(read_bytes(path), path), str(path))


def read_bytes(path: Path) -> bytes:
    """Read what is in the file of a model."""
    try:
        if path.stat().st_size > LARGEST_MODEL_FILE:
            raise not_a_model(path, f"larger than {LARGEST_MODEL_FILE} bytes")
        return path.read_bytes()
    except OSError as error:
        raise MissingInputError(
            f"{path}: cannot be opened: {error.strerror or 'no such file'}; {GIVE_A_MODEL}"
        ) from None


def _read_json(content: bytes, path: Path) -> Any:
    try:
        return parse_document(content)
    except (ValueError, RecursionError):
        raise not_a_model(path, "not a JSON file") from None


def parse_document(content: bytes) -> Any:
    """Parse a JSON document, every text of which can be written again."""
    if content.count(b"[") + content.count(b"{") > MOST_CONTAINERS:  # each takes many times its two bytes in memory
        raise ValueError("too many lists")
    document = json.loads(content.decode("utf-8"), object_pairs_hook=distinct_keys)
    json.dumps(document, ensure_ascii=False).encode("utf-8")
    return document


def _write_parquet(document: Mapping[str, Any], partial: Path) -> None:
    import pyarrow as pa

    rows = list(leaves(document))
    columns = {
        "attribute": pa.array([leaf.attribute for leaf in rows], pa.string()),
        "class": pa.array([leaf.klass for leaf in rows], pa.string()),
        "cell": pa.array([leaf.cell for leaf in rows], pa.string()),
        "parameter": pa.array([leaf.parameter for leaf in rows], pa.string()),
        "released": pa.array([leaf.drawn if leaf.whole else None for leaf in rows], pa.float64()),
        "value": pa.array([leaf.values[leaf.position] for leaf in rows], pa.float64()),
    }
    blank = json.dumps(_without_numbers(document), ensure_ascii=False)
    table = pa.table(columns).replace_schema_metadata({MODEL_KEY: blank})
    with parquet_writer(partial, table.schema) as writer:
        writer.write_table(table)


def _without_numbers(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the document with null for every number that stands in a row."""
    blank = copy.deepcopy(document)
    for leaf in leaves(blank):
        _fill(leaf, None, None)
    return blank


def _fill(leaf: Leaf, released: float | None, value: float | None) -> None:
    """Set the numbers of a parameter in the document that holds them."""
    leaf.values[leaf.position] = value
    if leaf.whole:
        leaf.released[leaf.place] = released


def _read_parquet(content: bytes, path: Path) -> Any:
    """Read the document that a Parquet model carries, its numbers put back from the rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(pa.BufferReader(content), read_dictionary=list(PARAMETER_COLUMNS[:4])) as file:
            _check_table(file, path)
            document = parse_document((file.schema_arrow.metadata or {})[MODEL_KEY.encode()])
            batches = file.iter_batches(BATCH_ROWS, columns=list(PARAMETER_COLUMNS))
            rows = (row for batch in batches for row in batch.to_pylist())
            for leaf, row in zip(leaves(document), rows, strict=True):
                named = (row["attribute"], row["class"], row["cell"], row["parameter"])
                if named != (leaf.attribute, leaf.klass, leaf.cell, leaf.parameter):
                    raise DataError(f"{path}: not a valid model: its rows do not follow its metadata")
                _fill(leaf, row["released"], row["value"])
    except (pa.ArrowException, OSError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise not_a_model(path, _other_parquet(content)) from None
    return document


def _other_parquet(content: bytes) -> str:
    """Say what a Parquet file is that holds no model."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names = pq.read_schema(pa.BufferReader(content)).names
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return "not a complete Parquet file"
    if set(PARAMETER_COLUMNS) <= set(names):
        return "its metadata does not fit its rows"
    return f"a table of other columns ({named(names)}), such as rows"


def _check_table(file: pq.ParquetFile, path: Path) -> None:
    """Refuse, before a row is read, a table that cannot hold the parameters of a model."""
    from dpnb_columnar.rows.parquet import is_plain

    if file.metadata.num_rows > MOST_PARAMETERS:
        raise not_a_model(path, f"more than {MOST_PARAMETERS} rows")
    for field in file.schema_arrow:
        if field.name in PARAMETER_COLUMNS and not is_plain(field.type):
            raise DataError(f"{path}: not a valid model: a {field.name} of its type is not a possible value")
