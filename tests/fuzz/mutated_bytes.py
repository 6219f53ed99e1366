"""Bytes that are almost those of a valid file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

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
