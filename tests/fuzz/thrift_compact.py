"""Thrift's compact protocol, in which Parquet's footers and page headers are written: read, changed, written again."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
INTEGERS = (BYTE, I16, I32, I64)


@dataclass
class Value:
    """One value: its type as the protocol numbers it, and what it holds.

    A struct holds a list of (field id, Value); a list or set holds its element type and Values.
    """

    type: int
    held: Any


class Reader:
    def __init__(self, data: bytes, position: int = 0) -> None:
        self.data, self.position = data, position

    def byte(self) -> int:
        self.position += 1
        return self.data[self.position - 1]

    def varint(self) -> int:
        result = shift = 0
        while True:
            byte = self.byte()
            result |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return result

    def value(self, type_: int) -> Value:
        if type_ in (TRUE, FALSE):
            return Value(type_, type_ == TRUE)
        if type_ == BYTE:
            return Value(type_, self.byte())
        if type_ in INTEGERS:
            raw = self.varint()
            return Value(type_, (raw >> 1) ^ -(raw & 1))
        if type_ == DOUBLE:
            self.position += 8
            return Value(type_, self.data[self.position - 8 : self.position])
        if type_ == BINARY:
            size = self.varint()
            self.position += size
            return Value(type_, self.data[self.position - size : self.position])
        if type_ in (LIST, SET):
            return self.items(type_)
        if type_ == STRUCT:
            return self.struct()
        raise ValueError(f"type {type_}")

    def items(self, type_: int) -> Value:
        head = self.byte()
        size, element = head >> 4, head & 0x0F
        if size == 15:
            size = self.varint()
        if element in (TRUE, FALSE):
            return Value(type_, (element, [Value(BYTE, self.byte()) for _ in range(size)]))
        return Value(type_, (element, [self.value(element) for _ in range(size)]))

    def struct(self) -> Value:
        fields: list[tuple[int, Value]] = []
        last = 0
        while head := self.byte():
            delta, type_ = head >> 4, head & 0x0F
            if not delta:
                raw = self.varint()
                last = (raw >> 1) ^ -(raw & 1)
            else:
                last += delta
            fields.append((last, self.value(type_)))
        return Value(STRUCT, fields)


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def written(value: Value) -> bytes:
    if value.type in (TRUE, FALSE):
        return b""
    if value.type == BYTE:
        return struct.pack("B", value.held & 0xFF)
    if value.type in INTEGERS:
        return varint((value.held << 1) ^ (value.held >> 63))
    if value.type == DOUBLE:
        return bytes(value.held)
    if value.type == BINARY:
        return varint(len(value.held)) + bytes(value.held)
    if value.type in (LIST, SET):
        element, items = value.held
        head = bytes([len(items) << 4 | element]) if len(items) < 15 else bytes([0xF0 | element]) + varint(len(items))
        return head + b"".join(map(written, items))
    found = bytearray()
    last = 0
    for field, inner in value.held:
        type_ = inner.type if inner.type not in (TRUE, FALSE) else (TRUE if inner.held else FALSE)
        delta = field - last
        found += (
            bytes([delta << 4 | type_]) if 0 < delta < 16 else bytes([type_]) + varint((field << 1) ^ (field >> 63))
        )
        found += written(inner)
        last = field
    return bytes(found) + b"\x00"


def nodes(value: Value) -> list[Value]:
    inner = (
        [item for _, item in value.held] if value.type == STRUCT else value.held[1] if value.type in (LIST, SET) else []
    )
    return [value, *(node for item in inner for node in nodes(item))]
