"""Codebooks in XML with elements, attributes and texts changed."""

from __future__ import annotations

import copy
from random import Random
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from hostile_values import NUMBERS, hostile_text

PROLOGUES = (
    *(b'<!DOCTYPE x [<!ENTITY a "' + b"a" * 100 + b'">]>', b'<!DOCTYPE x SYSTEM "file:///etc/passwd">'),
    *(b'<!DOCTYPE x [<!ENTITY % p SYSTEM "http://127.0.0.1:9/x"> %p;]>', b'<?xml version="1.0" encoding="utf-16"?>'),
    *(b'<?xml version="1.0" encoding="cp037"?>', b'<?xml-stylesheet href="x"?>'),
)


def mutated_xml(random: Random, content: bytes) -> bytes:
    root = ElementTree.fromstring(content)
    for _ in range(random.choice((1, 1, 2, 3))):
        _change(random, root)
    written: bytes = ElementTree.tostring(root, encoding="utf-8")
    return random.choice(PROLOGUES) + written if random.random() < 0.05 else written


def _change(random: Random, root: Element) -> None:
    parents = [element for element in root.iter() if len(element)]
    if not parents:
        return
    parent = random.choice(parents)
    child = parent[random.randrange(len(parent))]
    kind = random.randrange(7)
    if kind == 0 and child.attrib:
        child.set(random.choice([*child.attrib]), random.choice((_text(random), random.choice(NUMBERS))))
    elif kind == 1:
        child.text = _text(random)
    elif kind == 2:
        parent.remove(child)
    elif kind == 3:
        copies = random.choice((1, 2, 100))
        parent.extend(copy.deepcopy(child) for _ in range(copies))
    elif kind == 4:
        random.choice(parents).append(copy.deepcopy(child))
    elif kind == 5:
        child.tag = random.choice([element.tag for element in root.iter()])
    else:
        wrapped = child
        for _ in range(random.choice((1, 70, 200))):
            wrapper = Element(child.tag)
            wrapper.append(wrapped)
            wrapped = wrapper
        parent.remove(child)
        parent.append(wrapped)


def _text(random: Random) -> str:
    return "".join(letter for letter in hostile_text(random) if letter.isprintable() or letter in "\n\t")
