"""The values of options of ``domain edit``, from what was typed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.errors import UsageError

if TYPE_CHECKING:
    from dpnb_columnar.domain.editing import Edits

Typed = Sequence[str] | None
"""What was typed for an option that may be repeated."""


def read_edits(
    *,
    bounds: Typed,
    step: Typed,
    transform: Typed,
    values: Typed,
    missing_values: Typed,
    missing: Typed,
    merge: Typed,
    rest: str | None,
    value_labels: Typed,
) -> Edits:
    """Read the edits of attributes, and the files that they name; each argument is the option of its name.

    Raises:
        UsageError: if one is not of the form ``COLUMN=VALUE``, or names a column twice.
        dpnb_columnar.errors.Error: if a file cannot be read.
    """
    from dpnb_columnar.domain.editing import Edits
    from dpnb_columnar.domain.groups import read_merge_map
    from dpnb_columnar.domain.value_labels import read_label_file

    return Edits(
        value_labels={
            column: read_label_file(Path(text)) for column, text in _assignments("value-labels", value_labels)
        },
        values={column: comma_separated(text) for column, text in _assignments("values", values)},
        bounds={column: _bounds(column, text) for column, text in _assignments("bounds", bounds)},
        step=dict(_assignments("step", step)),
        transform=dict(_assignments("transform", transform)),
        missing_values={
            column: comma_separated(text) for column, text in _assignments("missing-values", missing_values)
        },
        missing=dict(_assignments("missing", missing)),
        merge={column: read_merge_map(Path(text)) for column, text in _assignments("merge", merge)},
        rest=rest,
    )


def _assignments(option: str, texts: Typed) -> Iterator[tuple[str, str]]:
    """Yield column and value of each occurrence of an option of the form ``COLUMN=VALUE``.

    Raises:
        UsageError: if an occurrence is not of that form, or if a column is given twice.
    """
    seen: set[str] = set()
    for text in texts or ():
        column, equals, value = text.partition("=")
        if not column or not equals:
            raise UsageError(f"--{option} {text}: expected COLUMN=..., such as --{option} AGE=...")
        if column in seen:
            raise UsageError(f"--{option} {text}: {column} is given twice; leave one out")
        seen.add(column)
        yield column, value


def comma_separated(text: str) -> list[str]:
    """Split a text at its commas, and strip its parts; an empty text has none."""
    return [part.strip() for part in text.split(",")] if text.strip() else []


def _bounds(column: str, text: str) -> tuple[str, str]:
    """Split ``LOWER:UPPER``.

    Raises:
        UsageError: if the text is not of that form.
    """
    lower, colon, upper = text.partition(":")
    if not colon:
        raise UsageError(f"--bounds {column}={text}: expected COLUMN=LOWER:UPPER, such as --bounds AGE=0:90")
    return lower, upper
