"""From a valid file to one that is not, in a way that its kind of file suggests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from random import Random

from mutated_archives import mutated_gzip, mutated_zip
from mutated_bytes import mutated_bytes
from mutated_documents import mutated_json, mutated_json_lines, mutated_toml
from mutated_duckdb import mutated_duckdb
from mutated_lines import mutated_lines
from mutated_parquet import mutated_parquet
from mutated_sqlite import mutated_sqlite
from mutated_xml import mutated_xml

BY_SUFFIX = {
    "json": mutated_json,
    "toml": mutated_toml,
    "xml": mutated_xml,
    "csv": mutated_lines,
    "dat": mutated_lines,
    "parquet": mutated_parquet,
    "duckdb": mutated_duckdb,
    "sqlite": mutated_sqlite,
}
BLIND = 0.35
"""Share of inputs whose bytes are changed without regard to what they mean."""


def mutated(random: Random, name: str, content: bytes, others: Sequence[bytes]) -> bytes:
    """A file that is almost the valid one."""
    if random.random() < BLIND:
        return mutated_bytes(random, content, others)
    if "_delta_log/" in name:
        return mutated_json_lines(random, content)
    suffixes = PurePath(name).name.split(".")[1:]
    if suffixes[-1] == "gz":
        return mutated_gzip(random, content, BY_SUFFIX[suffixes[-2]])
    if suffixes[-1] == "zip":
        return mutated_zip(random, content, mutated_lines)
    return BY_SUFFIX.get(suffixes[-1], lambda random, content: mutated_bytes(random, content, others))(random, content)
