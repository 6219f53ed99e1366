"""Compressed files and archives: what is inside them changed, and how it is packed."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable
from random import Random

from hostile_values import hostile_text

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
