"""Which of a codebook's variables a column of the output is."""

from __future__ import annotations

from dpnb_columnar.codebooks.codebook import Codebook, Variable


def column_names(codebook: Codebook) -> tuple[str, ...]:
    """The columns of an extract, in the codebook's order; a name on several record types is one column."""
    return tuple(dict.fromkeys(variable.name for variable in codebook.variables))


def home(codebook: Codebook, name: str) -> tuple[str, Variable]:
    """The record type whose lines a column is read from, and its variable there.

    Of a name that several record types have, the innermost counts: it is what the row's own line says.

    Args:
        codebook: Has a variable of this name.
        name: The column.

    Returns:
        The record type, empty in a rectangular extract, and the variable.
    """
    named = [variable for variable in codebook.variables if variable.name == name]
    for record_type in reversed(codebook.record_types):
        for variable in named:
            if record_type in variable.record_types:
                return record_type, variable
    return "", named[0]
