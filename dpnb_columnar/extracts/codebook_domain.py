"""The domain of an extract's columns by its codebooks: of an extract that is read, or of Parquet that is there already.

Only public facts are used: codebooks, and names and types of columns. No row is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.domain.declared_domain import UnlabelledDomain
from dpnb_columnar.domain.names import check_dataset, named
from dpnb_columnar.domain.words import united
from dpnb_columnar.errors import ConfigurationError, UsageError, excerpt, option
from dpnb_columnar.extracts.codebooks.codebook import Codebook, Form, Variable
from dpnb_columnar.extracts.codebooks.read import read_codebook
from dpnb_columnar.extracts.codebooks.to_domain import LeftOut, domain_of, is_list_of_words

if TYPE_CHECKING:
    import polars as pl

NAMES_SHOWN = 4
"""Columns that are named for one reason; the others are counted."""


def shared_codebook_domain(
    codebooks: Sequence[Codebook], names: Sequence[str], name: str | None = None
) -> tuple[UnlabelledDomain | None, tuple[LeftOut, ...]]:
    """Build the domain of some columns, on which all codebooks must agree."""
    if not codebooks:
        return None, ()
    domain, left_out = domain_of(codebooks[0], names)
    domains = [domain]
    for codebook in codebooks[1:]:
        domains.append(domain_of(codebook, names)[0])
        if domains[-1].attributes != domain.attributes:
            raise ConfigurationError(
                f"{codebook.source}: declares other values than {codebooks[0].source} for the columns to write; give "
                f"one codebook for all extracts with {option('codebook')}, or ingest them apart"
            )
    if not domain.attributes:
        return None, left_out
    return replace(united(domains), name=_dataset(codebooks) if name is None else check_dataset(name)), left_out


def _dataset(codebooks: Sequence[Codebook]) -> str:
    """Name the data set by its codebooks, never by the output: a copy must not get a budget of its own."""
    name = "+".join(sorted({codebook.dataset for codebook in codebooks}))
    try:
        return check_dataset(name)
    except UsageError:
        raise UsageError(
            f"{codebooks[0].source}: {excerpt(name)}, the name of its data set, cannot be that of an account; give one "
            f"with {option('name')}"
        ) from None


def left_out_lines(left_out: Sequence[LeftOut]) -> Iterator[str]:
    """Yield a line for each reason why columns are left out of a domain."""
    reasons: dict[str, list[str]] = {}
    for left in left_out:
        reasons.setdefault(left.reason, []).append(left.name)
    for reason, names in reasons.items():
        yield f"left out of the domain: {first_names(names)}: {reason}"


def first_names(names: Sequence[str]) -> str:
    """Join the first few names."""
    more = len(names) - NAMES_SHOWN
    return named(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


# Parquet that another program made of an extract: its columns are the codebook's, by their names.


@dataclass(frozen=True, slots=True)
class CodebookDomain:
    """The domain that a codebook declares for a Parquet file, or for any with all of its variables.

    Attributes:
        domain: The domain, its label still to be chosen.
        left_out: Columns of the file, and variables of the codebook, that are no attributes.
        notes: What rows and values have to be, where codebook and types of columns leave it open.
    """

    domain: UnlabelledDomain
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...] = ()


def read_codebook_domain(codebook: str, file: Path | None = None) -> CodebookDomain:
    """Read the domain that a codebook declares; of a file, the footer alone is read.

    Args:
        file: Parquet file whose columns the domain is for; None for all variables of the codebook.
    """
    book = read_codebook(codebook)
    types: Mapping[str, pl.DataType] = {}
    if file is not None:
        from dpnb_columnar.rows.parquet import read_schema

        types = read_schema(file)
        book = for_columns(book, types)
    variables = _first_of_a_name(book)
    unused: dict[str, LeftOut] = {}
    if file is not None:
        unused = {left.name: left for left in unused_names(book, types)}
    domain, left_out = shared_codebook_domain([book], [each for each in variables if each not in unused])
    left_out = (*left_out, *unused.values())
    if domain is None:
        columns = "" if file is None else f" of the columns of {file}"
        raise ConfigurationError(
            "\n  ".join([f"{book.source}: declares no attribute{columns}", *left_out_lines(left_out)])
            + "\n  give the codebook of these rows, or declare their domain yourself (docs/domain.md)"
        )
    if file is not None:
        domain = replace(domain, universe=stated_universe(file))
    return CodebookDomain(domain, left_out, tuple(notes_on(book, domain, types)))


def _first_of_a_name(book: Codebook) -> dict[str, Variable]:
    """Return variables by name: of a name on several record types the first, as for ``domain_of``."""
    variables: dict[str, Variable] = {}
    for variable in book.variables:
        variables.setdefault(variable.name, variable)
    return variables


def stated_universe(file: Path) -> str:
    """Return who the persons of a Parquet file are by its present domain; empty where that does not say it."""
    from dpnb_columnar.rows.parquet import own_declaration

    try:
        carried = own_declaration(file)
    except ConfigurationError:  # faulty, and about to be replaced by the codebook's
        return ""
    return "" if carried is None else carried.universe


def for_columns(book: Codebook, types: Mapping[str, pl.DataType]) -> Codebook:
    """Return the codebook for the columns of a Parquet file: in their spelling, with words as values of its factors.

    A factor is a column whose values are in a dictionary, as R writes words for codes.
    """
    import polars as pl

    def in_words(variable: Variable) -> Variable:
        if not isinstance(types.get(variable.name), pl.Categorical | pl.Enum) or not is_list_of_words(variable):
            return variable
        codes = tuple(replace(code, value=code.value and code.label.strip()) for code in variable.codes)
        return replace(variable, form=Form.TEXT, codes=codes)

    book = book.in_spelling_of(types)
    return replace(book, variables=tuple(map(in_words, book.variables)))


def unused_names(book: Codebook, types: Mapping[str, pl.DataType]) -> Iterator[LeftOut]:
    """List the variables that no column of a Parquet file holds, and the columns that are no variables."""
    import polars as pl

    variables = _first_of_a_name(book)
    known = {name.casefold() for name in variables}
    columns = {column.casefold() for column in types}
    for name, variable in variables.items():
        if name in types:
            if variable.form is Form.NUMBER and isinstance(types[name], pl.Categorical | pl.Enum):
                yield LeftOut(
                    name,
                    "a factor in the file, and its words do not tell its codes apart; write the codes in their place",
                )
        elif name.casefold() in columns:
            yield LeftOut(name, "in several spellings of upper and lower case; rename all columns but one")
        else:
            yield LeftOut(name, "not in the file")
    for column in types:
        if column.casefold() not in known:
            yield LeftOut(column, "not in the codebook")


def notes_on(book: Codebook, domain: UnlabelledDomain, types: Mapping[str, pl.DataType]) -> Iterator[str]:
    """Say what rows and values have to be, where codebook and types of columns leave it open."""
    from dpnb_columnar.domain.column_kinds import Kind, kind_of

    variables = _first_of_a_name(book)
    weight = [] if domain.available_weight is None else [domain.available_weight.column]
    counted = [name for name in (*domain.columns, *weight) if name in types and variables[name].form is Form.NUMBER]
    if texts := [name for name in counted if kind_of(types[name]) is Kind.TEXT]:
        yield f"{first_names(texts)}: text in the file: codes match by their value (1, 001), words for them do not"
    if whole := [name for name in counted if variables[name].decimals and types[name].is_integer()]:
        yield (
            f"{first_names(whole)}: whole numbers in the file, and the codebook implies decimals: they have to be "
            "applied (12, not 1200), as ipumsr, ipumspy and the Parquet of IPUMS have it"
        )
    if book.record_types:
        yield "the codebook is of a hierarchical extract: each row has to be a person, with what its household has"
