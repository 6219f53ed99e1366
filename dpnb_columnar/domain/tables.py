"""Tables for people: aligned text, and fragments of HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from dpnb_columnar.errors import printable, printable_line


def table_lines(header: Sequence[str], rows: Sequence[Sequence[object]], width: int | None = None) -> Iterator[str]:
    """Yield the lines of an aligned table; columns of numbers are aligned to the right.

    Args:
        header: Names of the columns.
        rows: Cells of each row, one a column.
        width: Characters that a line may have: further columns follow in tables below, each of which begins with the
            first column again. None for any number.
    """
    cells = [[printable_line(str(cell)) for cell in row] for row in rows]
    names = [printable_line(name) for name in header]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    right = [all(isinstance(row[index], int | float) for row in rows) for index in range(len(header))]
    for number, columns in enumerate(_side_by_side(names, widths, width)):
        yield from [""] * bool(number)
        for row in (names, ["-" * each for each in widths], *cells):
            parts = ((row[index].rjust if right[index] else row[index].ljust)(widths[index]) for index in columns)
            yield f"  {'  '.join(parts)}".rstrip()


def _side_by_side(names: Sequence[str], widths: Sequence[int], width: int | None) -> Iterator[list[int]]:
    """Yield the columns of each table that a table is divided into; one without a name stays beside the one before."""
    columns: list[int] = []
    for index, name in enumerate(names):
        following = takewhile(lambda other: not names[other], range(index + 1, len(names)))
        line = [*columns, index, *following]
        if name and len(columns) > 1 and width is not None and sum(widths[one] + 2 for one in line) > width:
            yield columns
            columns = [0]
        columns.append(index)
    yield columns


def html_fragment(lines: Iterable[str], header: Sequence[str] = (), rows: Iterable[Sequence[object]] = ()) -> str:
    """Write lines, and a table below them, for a notebook. Lines that begin with blanks keep their columns."""
    from html import escape
    from itertools import groupby

    def text(cell: object) -> str:
        return escape(printable(f"{cell:,}" if isinstance(cell, int) else str(cell)))

    parts = []
    for aligned, group in groupby(filter(str.strip, lines), lambda line: line.startswith("  ")):
        if aligned:
            parts.append("<pre>" + "\n".join(map(text, group)) + "</pre>")
        else:
            parts += [f"<p>{text(line)}</p>" for line in group]
    if header:
        names = "".join(f'<th scope="col">{text(name)}</th>' for name in header)
        body = "".join(
            f'<tr><th scope="row">{text(first)}</th>{"".join(f"<td>{text(cell)}</td>" for cell in cells)}</tr>'
            for first, *cells in rows
        )
        parts.append(f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>")
    return f"<div>{''.join(parts)}</div>"
