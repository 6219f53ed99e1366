"""Read structs of Thrift's compact protocol, in which the footers of Parquet files are written.

https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from typing import Any, TypeAlias

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT, UUID = range(1, 14)

FIXED = {TRUE: 0, FALSE: 0, BYTE: 1, DOUBLE: 8, UUID: 16}
"""Bytes of values whose size is known; a truth value is told by its type alone."""

DEEPEST = 16
"""Levels of structs and lists; a footer has six."""

Struct: TypeAlias = dict[int, Any]
"""Values by the numbers of their fields: whole numbers, bytes, structs, lists of them; None for what is skipped."""


def read_struct(data: bytes, place: int = 0, levels: int = 4, last: int = 0) -> tuple[Struct, int]:
    """Read a struct.

    Args:
        data: Bytes that hold it.
        place: Where it begins.
        levels: How many levels of structs and lists to read; what is deeper is skipped.
        last: Number of the field after which to stop; 0 for none.

    Returns:
        The struct, and the place behind it, or behind the last field.

    Raises:
        IndexError: if the data ends within it.
        ValueError: if it is not written in the protocol, or is nested too deep.
    """
    struct: Struct = {}
    field = 0
    while head := data[place]:
        if head > 15:
            field, place = field + (head >> 4), place + 1
        else:
            field, place = _zigzag(data, place + 1)
        kind = head & 15
        if I16 <= kind <= I64 and (number := data[place]) < 128:  # most are; as by _value, in half the time
            struct[field], place = number >> 1 ^ -(number & 1), place + 1
        else:
            struct[field], place = _value(data, place, kind, levels)
        if field == last:
            return struct, place
    return struct, place + 1


def read_list_head(data: bytes, place: int) -> tuple[int, int, int]:
    """Read what precedes the items of a list: their number, their type, and the place of the first.

    Raises:
        IndexError: if the data ends within it, or holds fewer bytes than the list has items.
        ValueError: if the number is not written in the protocol.
    """
    size, kind, place = data[place] >> 4, data[place] & 15, place + 1
    if size == 15:
        size, place = _varint(data, place)
    if size > len(data):  # an item takes a byte at least
        raise IndexError("more items than bytes")
    return size, _item_kind(kind), place


def _item_kind(kind: int) -> int:
    """Return the type that an item is written as: a truth value takes a byte where no field's head tells it."""
    return BYTE if kind <= FALSE else kind


def varint(number: int) -> bytes:
    """Write a whole number that is not negative."""
    written = bytearray()
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    return bytes([*written, number])


def _value(data: bytes, place: int, kind: int, levels: int) -> tuple[Any, int]:
    if I16 <= kind <= I64:
        number, place = _varint(data, place)
        return number >> 1 ^ -(number & 1), place
    if kind == BINARY:
        size, place = _varint(data, place)
        return data[place : place + size], place + size
    if kind == STRUCT and levels > 1:
        return read_struct(data, place, levels - 1)
    if kind == LIST and levels:
        size, kind, place = read_list_head(data, place)
        items = []
        for _ in range(size):
            item, place = _value(data, place, kind, levels - 1)
            items.append(item)
        return items, place
    return None, _skip(data, place, kind, 0)


def _skip(data: bytes, place: int, kind: int, depth: int) -> int:
    """Return the place behind a value."""
    if kind in FIXED:
        return place + FIXED[kind]
    if kind == BINARY:
        size, place = _varint(data, place)
        return place + size
    if kind < BINARY:
        while data[place] > 127:
            place += 1
        return place + 1
    if depth == DEEPEST:
        raise ValueError("nested too deep")
    if kind == STRUCT:
        while head := data[place]:
            place = place + 1 if head > 15 else _skip(data, place + 1, I64, depth)
            kind = head & 15
            if kind == BINARY and data[place] < 128:  # most are; as below, in half the time
                place += data[place] + 1
            elif kind > FALSE:
                place = _skip(data, place, kind, depth + 1)
        return place + 1
    if LIST <= kind <= SET:
        size, kind, place = read_list_head(data, place)
        for _ in range(size):
            place = _skip(data, place, kind, depth + 1)
        return place
    if kind == MAP:
        size, place = _varint(data, place)
        if size > len(data):
            raise IndexError("more items than bytes")
        kinds = [_item_kind(kind) for kind in (data[place] >> 4, data[place] & 15)] if size else []
        place += bool(size)
        for _ in range(size):
            for kind in kinds:
                place = _skip(data, place, kind, depth + 1)
        return place
    raise ValueError("a type that the protocol has not")


def _varint(data: bytes, place: int) -> tuple[int, int]:
    number = data[place]
    if number < 128:
        return number, place + 1
    number &= 127
    for shift in range(7, 64, 7):
        place += 1
        byte = data[place]
        number |= (byte & 127) << shift
        if byte < 128:
            return number, place + 1
    raise ValueError("a number of more than 64 bits")


def _zigzag(data: bytes, place: int) -> tuple[int, int]:
    number, place = _varint(data, place)
    return number >> 1 ^ -(number & 1), place
