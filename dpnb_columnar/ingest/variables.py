"""Which of a codebook's variables a column of the output is."""

from __future__ import annotations

from dpnb_columnar.codebooks.codebook import Codebook, Variable


def column_names(codebook: Codebook) -> tuple[str, ...]:
    """The columns of an extract, in the codebook's order; a name on several record types is one column."""
    return tuple(dict.fromkeys(variable.name for variable in codebook.variables))


def homes(codebook: Codebook) -> dict[str, tuple[str, Variable]]:
    """Per column, the record type whose lines it is read from, empty in a rectangular extract, and its variable there.

    Of a name that several record types have, the innermost counts: it is what the row's own line says.
    """
    found = {variable.name: ("", variable) for variable in reversed(codebook.variables)}
    for record_type in codebook.record_types:
        on_it = {v.name: (record_type, v) for v in reversed(codebook.variables) if record_type in v.record_types}
        found |= on_it
    return found


def home(codebook: Codebook, name: str) -> tuple[str, Variable]:
    """The record type and the variable of one column, as ``homes`` finds them.

    Args:
        codebook: Has a variable of this name.
        name: The column.
    """
    return homes(codebook)[name]
