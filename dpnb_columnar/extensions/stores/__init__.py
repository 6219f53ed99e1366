"""Objects of stores, and files of web servers: found, pinned and read by ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpnb_columnar.rows.input_files import StoredObject


def objects_at(address: str) -> Sequence[StoredObject]:
    """List the objects that an address, or a pattern of addresses, stands for."""
    from dpnb_columnar.extensions.stores.stored import resolve_address

    return resolve_address(address)
