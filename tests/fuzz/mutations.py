"""From a valid file to one that is not, in a way that its kind of file suggests."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable, Sequence
from pathlib import PurePath
from random import Random

from hostile_values import NUMBERS, hostile_text
from mutated_databases import mutated_duckdb, mutated_sqlite
from mutated_documents import mutated_json, mutated_json_lines, mutated_toml
from mutated_parquet import mutated_parquet
from mutated_xml import mutated_xml

INTERESTING = (
    b"\x00",
    b"\xff",
    b"\x7f",
    b"\x80",
    b"\n",
    b'"',
    b",",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\x00" * 8,
)


def mutated_bytes(random: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """The content with up to four changes anywhere."""
    data = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 4))):
        random.choice(CHANGES)(random, data, others)
    return bytes(data)


def _span(random: Random, size: int) -> slice:
    start = random.randrange(size + 1)
    return slice(start, min(size, start + random.choice((1, 2, 4, 8, 64, 1024))))


def _flip(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    for _ in range(random.choice((1, 3, 20))):
        if data:
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _overwrite(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    piece = random.choice(INTERESTING)
    start = random.randrange(len(data) + 1)
    data[start : start + len(piece)] = piece


def _cut(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    del data[_span(random, len(data))]


def _end_early(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    del data[random.randrange(len(data) + 1) :]


def _repeat(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    piece = bytes(data[_span(random, len(data))])
    start = random.randrange(len(data) + 1)
    data[start:start] = piece * random.choice((1, 2, 100))


def _splice(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    other = random.choice(others)
    data[_span(random, len(data))] = other[_span(random, len(other))]


def _fill(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    span = _span(random, len(data))
    data[span] = random.randbytes(span.stop - span.start)


CHANGES: tuple[Callable[[Random, bytearray, Sequence[bytes]], None], ...] = (
    *(_flip, _overwrite, _cut, _end_early, _repeat, _splice, _fill),
)


def mutated_lines(random: Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    for _ in range(random.choice((1, 1, 2, 3))):
        place = random.randrange(len(lines))
        kind = random.randrange(6)
        if kind < 3:
            lines[place] = _field_changed(random, lines[place])
        elif kind == 3:
            lines.insert(random.randrange(len(lines) + 1), lines[place])
        elif kind == 4 and len(lines) > 1:
            del lines[place]
        else:
            lines[place] += random.choice(
                (b"\r", b"\x00", b" " * 5000, b'"', b",,", "ü".encode("latin-1"), b"\xef\xbb\xbf")
            )
    return b"\n".join(lines)


def _field_changed(random: Random, line: bytes) -> bytes:
    fields = line.split(b",")
    place = random.randrange(len(fields))
    new = random.choice((hostile_text(random), random.choice(NUMBERS))).encode("utf-8", "surrogatepass")
    if len(fields) == 1 and line:  # fixed width: the line keeps its length
        start = random.randrange(len(line))
        return (line[:start] + new[:8] + line[start + 8 :])[: len(line)]
    fields[place] = new
    return b",".join(fields)


Change = Callable[[Random, bytes], bytes]


def mutated_gzip(random: Random, content: bytes, inner: Change) -> bytes:
    """A gzip file whose content is changed, which has several members, or ends in something else."""
    packed = gzip.compress(inner(random, gzip.decompress(content)), 1, mtime=0)
    kind = random.randrange(6)
    if kind == 0:
        return packed + content
    if kind == 1:
        return packed + b"\x00" * 100
    if kind == 2:
        return gzip.compress(packed, mtime=0)
    return packed


def mutated_zip(random: Random, content: bytes, inner: Change) -> bytes:
    """An archive with members changed, renamed, repeated and packed in other ways, or with false headers."""
    sink = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(sink, "w") as new:
        for member in archive.infolist():
            data = archive.read(member)
            names = [member.filename]
            kind = random.randrange(6)
            if kind == 0:
                data = inner(random, data)
            elif kind == 1:
                names = [_name(random)]
            elif kind == 2:
                names.append(_name(random))
            elif kind == 3:
                data = content
            method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
            for name in names:
                new.writestr(zipfile.ZipInfo(name), data, compress_type=method)
    packed = bytearray(sink.getvalue())
    if random.random() < 0.4:
        _falsify(random, packed)
    return bytes(packed)


def _name(random: Random) -> str:
    name = random.choice(
        ("../../psam_p99.csv", "/psam_p99.csv", "psam_p.csv", "psam_p\n.csv", "psam_p" + hostile_text(random)[:999])
    )
    return name.encode("utf-8", "replace").decode() + random.choice(("", ".csv", "/"))


def _falsify(random: Random, packed: bytearray) -> None:
    """Change a field of a local header (flags, method, CRC, sizes, name's length) or of the central directory."""
    local = random.random() < 0.5
    start = packed.find(b"PK\x03\x04" if local else b"PK\x01\x02")
    offset, size = random.choice(((6, 2), (8, 2), (14, 4), (18, 4), (22, 4), (26, 2)))
    start += offset + (0 if local else 2)
    value = random.choice((0, 1, 8, 99, 2**16 - 1, 2**32 - 1)) & (2 ** (8 * size) - 1)
    packed[start : start + size] = value.to_bytes(size, "little")


BY_SUFFIX = {
    **{"json": mutated_json, "toml": mutated_toml, "xml": mutated_xml, "csv": mutated_lines, "dat": mutated_lines},
    **{"parquet": mutated_parquet, "duckdb": mutated_duckdb, "sqlite": mutated_sqlite},
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
