"""Arrow types whose values are numbers or text: all that a file of ours holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def is_plain(type_: pa.DataType) -> bool:
    """Whether values are numbers or text. Of other types, one library or another takes none, or fails."""
    from pyarrow import types

    if types.is_dictionary(type_):
        return is_plain(type_.value_type)
    numbers = types.is_integer(type_) or types.is_floating(type_) or types.is_decimal128(type_)
    return bool(numbers or is_text(type_) or types.is_null(type_))


def is_text(type_: pa.DataType) -> bool:
    """Whether values are text, each written out."""
    from pyarrow import types

    return bool(types.is_string(type_) or types.is_large_string(type_))
