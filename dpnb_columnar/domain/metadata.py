"""A domain inside a Parquet file: one key-value pair of the file's metadata, so that the file explains itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from dpnb_columnar.domain.declaration import Declaration, document_of, read_declaration
from dpnb_columnar.errors import ConfigurationError, shown

DOMAIN_KEY = "dpnb_columnar.domain"
"""Key of the declaration in a Parquet file's key-value metadata; the value is JSON text."""

LARGEST_VALUE = 16 * 2**20
"""Characters of a declaration."""


def domain_metadata(domain: Declaration) -> dict[str, str]:
    """The key-value pair that carries a domain: its name and its canonical declaration, as JSON."""
    return {DOMAIN_KEY: json.dumps({"name": domain.name, **document_of(domain)}, ensure_ascii=False)}


def domain_from_metadata(metadata: Mapping[str, str], source: str) -> Declaration | None:
    """The domain that a file's key-value metadata carries, with a label or without, or None where it carries none.

    Args:
        metadata: Key-value pairs of the file.
        source: The file, named in the error.

    Raises:
        DomainError: The declaration has faults.
        ConfigurationError: The value is not a declaration at all.
    """
    if DOMAIN_KEY not in metadata:
        return None
    place = f"{source}: metadata {DOMAIN_KEY!r}"
    document = _parsed(metadata[DOMAIN_KEY], place)
    if not isinstance(document, dict):
        raise ConfigurationError(f"{place}: expected a JSON object with name, attributes and perhaps label")
    name = document.pop("name", None)
    if not isinstance(name, str) or not name:
        raise ConfigurationError(f"{place}: expected a name as text, found {shown(name)}")
    return read_declaration(name, document, place)


def _parsed(text: str, place: str) -> Any:
    """JSON with exact decimals; whatever TOML would refuse (a repeated key, NaN) is refused here as well."""
    if len(text) > LARGEST_VALUE:
        raise ConfigurationError(f"{place}: not a JSON declaration: larger than {LARGEST_VALUE >> 20} MiB")
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=_refused, object_pairs_hook=distinct)
    except InvalidOperation:  # an exponent beyond what even a Decimal holds
        raise ConfigurationError(f"{place}: not a JSON declaration: a number in it is out of every range") from None
    except ValueError as error:
        raise ConfigurationError(f"{place}: not a JSON declaration: {error!s:.200}") from None
    except RecursionError:
        raise ConfigurationError(f"{place}: not a JSON declaration: it is nested too deep") from None


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number")


def distinct(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object as a mapping; with a repeated key two readers could see two different domains."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {shown(key)} is repeated")
        found[key] = value
    return found
