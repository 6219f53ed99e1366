"""JSON and TOML documents with nodes replaced, dropped, renamed and repeated."""

from __future__ import annotations

import json
import tomllib
from random import Random
from typing import Any

from hostile_values import hostile_literal, hostile_text


class Literal(str):
    """Text that stands in the file as it is."""


def mutated_json(random: Random, content: bytes) -> bytes:
    document = json.loads(content)
    for _ in range(random.choice((1, 1, 2, 3))):
        document = _changed(random, document, toml=False)
    return _json(document).encode("utf-8", "surrogatepass")


def mutated_json_lines(random: Random, content: bytes) -> bytes:
    """The documents, one on a line, of which one has changed."""
    lines = content.splitlines()
    place = random.randrange(len(lines))
    lines[place] = mutated_json(random, lines[place])
    return b"\n".join(lines) + b"\n"


def mutated_toml(random: Random, content: bytes) -> bytes:
    """The document with one to three nodes changed, each of its keys on one line."""
    document: Any = tomllib.loads(content.decode())
    for _ in range(random.choice((1, 1, 2, 3))):
        document = _changed(random, document, toml=True)
    if not isinstance(document, dict):
        return str(document).encode("utf-8", "surrogatepass")
    lines = [f"{_key(key)} = {_toml(value)}\n" for key, value in document.items()]
    if random.random() < 0.1:
        lines += lines[:1]
    return "".join(lines).encode("utf-8", "surrogatepass")


def _nodes(document: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        node = waiting.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        found += [(node, key) for key in keys]
        waiting += [node[key] for key in keys]
    return found


def _changed(random: Random, document: Any, *, toml: bool) -> Any:
    nodes = _nodes(document)
    if not nodes or random.random() < 0.02:
        return Literal(hostile_literal(random, toml))
    containers = {id(node): node for node, _ in nodes}  # small containers are reached as often as long lists
    container = random.choice([*containers.values()])
    key = random.choice(list(container) if isinstance(container, dict) else range(len(container)))
    kind = random.randrange(8)
    if kind < 4:
        container[key] = Literal(hostile_literal(random, toml))
    elif kind == 4:
        del container[key]
    elif kind == 5 and isinstance(container, dict):
        container[hostile_text(random)] = container.pop(key)
    elif kind == 5:
        container.insert(key, container[key])
    elif kind == 6:
        other, place = random.choice(nodes)
        if (isinstance(other, dict) and place in other) or (isinstance(other, list) and place < len(other)):
            container[key] = json.loads(json.dumps(other[place], default=str))
    elif isinstance(container, dict):
        container[random.choice(("values", "groups", "transform", "row_rho", "edges", hostile_text(random)))] = Literal(
            hostile_literal(random, toml)
        )
    else:
        container += container * random.choice((1, 3, 300))
    return document


def _json(value: Any) -> str:
    if isinstance(value, Literal):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_json, value)) + "]"
    return json.dumps(value)


def _toml(value: Any) -> str:
    if isinstance(value, Literal):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return (
        "true" if value is True else "false" if value is False else json.dumps(value, ensure_ascii=False, default=str)
    )


def _key(key: str) -> str:
    return json.dumps(key, ensure_ascii=False)
