"""The domain in the key-value metadata of a Parquet file, so that the file carries its own declaration."""

from __future__ import annotations

import json
from collections.abc import Mapping

from dpnb_columnar.domain.declaration import Declaration, document_of, read_declaration
from dpnb_columnar.domain.documents import parse_json
from dpnb_columnar.errors import ConfigurationError, excerpt

DOMAIN_KEY = "dpnb_columnar.domain"
"""Key of the declaration in a Parquet file's key-value metadata; the value is JSON text."""


def domain_metadata(domain: Declaration) -> dict[str, str]:
    """Build the key-value pair that carries a domain: its name and its canonical declaration, as JSON."""
    return {DOMAIN_KEY: json.dumps({"name": domain.name, **document_of(domain)}, ensure_ascii=False)}


def domain_from_metadata(metadata: Mapping[str, str], source: str) -> Declaration | None:
    """Read the domain that a file's key-value metadata carries.

    Args:
        metadata: Key-value pairs of the file.
        source: The file, named in the error.

    Returns:
        The domain, with a label or without; None where the metadata has no declaration.

    Raises:
        DomainError: If the declaration has faults.
        ConfigurationError: If the value is not a declaration at all.
    """
    if DOMAIN_KEY not in metadata:
        return None
    place = f"{source}: metadata {DOMAIN_KEY!r}"
    try:
        document = parse_json(metadata[DOMAIN_KEY])
    except ValueError as error:
        raise ConfigurationError(f"{place}: not a JSON declaration: {error}") from None
    if not isinstance(document, dict):
        raise ConfigurationError(f"{place}: expected a JSON object with name, attributes and perhaps label")
    name = document.pop("name", None)
    if not isinstance(name, str) or not name:
        raise ConfigurationError(f"{place}: expected a name as text, found {excerpt(name)}")
    return read_declaration(name, document, place)
