"""The conversion of extracts, Parquet among them, and their codebooks to one Parquet file that carries its domain."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from dpnb_columnar.domain import Numeric
from dpnb_columnar.domain.catalogue import entry_named
from dpnb_columnar.domain.condition import Condition, comparisons
from dpnb_columnar.domain.declaration import UNIT_WEIGHT, domain_metadata
from dpnb_columnar.domain.declared_domain import Declaration, Provenance, UnlabelledDomain, digest
from dpnb_columnar.domain.domain_text import whose_rows
from dpnb_columnar.domain.editing import Number
from dpnb_columnar.domain.field_reader import LARGEST_DOCUMENT, parse_condition, parse_toml
from dpnb_columnar.domain.names import check_dataset, did_you_mean, named
from dpnb_columnar.domain.words import LONGEST_TEXT, one_line, restricted_to, select_attributes, united
from dpnb_columnar.errors import ConfigurationError, DataError, MissingInputError, UsageError, excerpt, option
from dpnb_columnar.extracts.codebooks.codebook import Codebook, Flag, Form, ImputedValues, Variable
from dpnb_columnar.extracts.codebooks.read import codebook_beside, read_codebook
from dpnb_columnar.extracts.codebooks.to_domain import (
    ADULT_LIKE,
    LeftOut,
    adult_like,
    domain_of,
    flags_of,
    is_list_of_words,
)
from dpnb_columnar.extracts.decode import column_type, read_delimited, read_fixed_width, read_header, read_names
from dpnb_columnar.extracts.extract_files import Extract, FileKind, Progress, open_extract, refuse_changed
from dpnb_columnar.extracts.persons import PersonCounts, Persons, with_persons
from dpnb_columnar.rows.parquet import own_declaration, read_schema
from dpnb_columnar.runtime.outputs import atomic_output, check_output, parquet_writer
from dpnb_columnar.runtime.workers import prefetch

if TYPE_CHECKING:
    import polars as pl

    from dpnb_columnar.domain.column_kinds import Kind


DEFAULT_ENCODING = "utf-8"


@dataclass(frozen=True)
class DescribedExtract:
    """An extract whose columns are known, of Parquet by its schema; no row has been read."""

    extract: Extract
    codebook: Codebook | None
    names: tuple[str, ...]
    header: bool = True
    schema: pa.Schema | None = None
    types: Mapping[str, pl.DataType] = field(default_factory=dict)

    @property
    def encoding(self) -> str:
        return DEFAULT_ENCODING if self.codebook is None else self.codebook.encoding

    @cached_property
    def variables(self) -> Mapping[str, Variable]:
        """The codebook's declarations of columns."""
        if self.codebook is None:
            return {}
        return {name: variable for name, (_, variable) in self.codebook.column_sources().items()}


def describe(extract: Extract, codebook: Codebook | None, names: tuple[str, ...] | None = None) -> DescribedExtract:
    """Find the columns of an extract: in its header or footer if it has one, else in the codebook."""
    from dpnb_columnar.rows.holdout import batches_of_files

    if names is not None and extract.kind is not FileKind.DELIMITED:
        raise ConfigurationError(f"{extract}: {option('no-header')} is for CSV; this is {extract.kind}")
    if extract.kind is FileKind.PARQUET:
        types, schema = read_schema(extract.path), batches_of_files([extract.path]).schema
        codebook = codebook and for_columns(codebook, types)
        return DescribedExtract(extract, codebook, tuple(schema.names), schema=schema, types=types)
    if extract.kind is FileKind.DELIMITED:
        if codebook is not None and codebook.record_types:
            raise ConfigurationError(
                f"{extract}: {codebook.source} describes lines of the record types {named(codebook.record_types)}, "
                "which a CSV file does not have; give the .dat file, or the codebook of the CSV file"
            )
        if names is not None:
            return DescribedExtract(extract, codebook, names, header=False)
        with open_extract(extract) as stream:
            known = (DEFAULT_ENCODING, None) if codebook is None else (codebook.encoding, {*codebook.columns})
            names = read_header(stream, str(extract), *known)
        return DescribedExtract(extract, codebook and codebook.in_spelling_of(names), names)
    if codebook is None:
        raise ConfigurationError(
            f"{extract}: fixed-width text does not name its columns; put its codebook beside it, as "
            f"{extract.path.with_suffix('').stem}.xml, or give it with {option('codebook')}"
        )
    if any(variable.start is None for variable in codebook.variables):
        raise ConfigurationError(
            f"{extract}: {codebook.source} gives no positions in a line; give the codebook of the .dat file with "
            f"{option('codebook')}"
        )
    return DescribedExtract(extract, codebook, codebook.columns)


def read_batches(
    described: DescribedExtract, schema: pa.Schema, progress: Progress | None = None
) -> Generator[pa.RecordBatch]:
    """Read the rows of an extract, in its order. Confidential."""
    source = str(described.extract)
    if described.extract.kind is FileKind.PARQUET:
        yield from _read_parquet(described.extract, schema, progress)
        return
    with open_extract(described.extract, progress) as stream:
        if described.extract.kind is FileKind.DELIMITED or described.codebook is None:
            yield from read_delimited(
                stream, source, schema, described.encoding, described.names, header=described.header
            )
        else:
            yield from read_fixed_width(stream, source, described.codebook, schema.names)


def _read_parquet(extract: Extract, schema: pa.Schema, progress: Progress | None) -> Iterator[pa.RecordBatch]:
    """Read the wanted columns of Parquet, a row group's batches at a time; the rows' part of its bytes is reported."""
    from dpnb_columnar.rows.holdout import batches_of_files

    rows = batches_of_files([extract.path], columns=schema.names)
    size, total, read = extract.path.stat().st_size, rows.size() or 1, 0
    for batch in rows.batches:
        yield pa.RecordBatch.from_arrays(batch.select(schema.names).columns, schema=schema)
        if progress is not None:
            progress(size * (read + len(batch)) // total - size * read // total)
        read += len(batch)


# Types of columns are never what the rows say: one row with a word would change how all other rows are read.

TYPES: Mapping[str, pa.DataType] = {"integer": pa.int64(), "number": pa.float64(), "text": pa.string()}
"""Types that a file may name, as columns are written."""


def read_types(path: Path) -> dict[str, pa.DataType]:
    """Read a TOML file of types, such as ``AGE = "integer"``."""
    try:
        with path.open("rb") as stream:
            document = parse_toml(stream.read(LARGEST_DOCUMENT + 1))
    except OSError as error:
        raise MissingInputError(f"{path}: cannot be read: {error.strerror}; check the path") from None
    except ValueError as error:
        raise ConfigurationError(f'{path}: not a TOML file of types such as AGE = "integer": {error}') from None
    for name, type_ in document.items():
        if not isinstance(type_, str) or type_ not in TYPES:
            raise ConfigurationError(
                f"{path}: {excerpt(name)}: expected one of {', '.join(TYPES)}, found {excerpt(type_)}; write such as "
                'AGE = "integer"'
            )
    return {name: TYPES[type_] for name, type_ in document.items()}


def check_types(
    types: Mapping[str, pa.DataType], extract: Extract, names: Sequence[str], undeclared: Sequence[str], source: str
) -> None:
    """Refuse types of columns that the extracts do not have, or whose type a codebook or Parquet declares."""
    for name in types:
        if name not in names:
            hint = did_you_mean(name, names, f"it has {named(names)}")
            raise UsageError(f"{source}: {extract} has no column {excerpt(name)}; {hint}")
        if name not in undeclared:
            raise UsageError(f"{source}: the type of {excerpt(name)} is declared already; take the column out")


def check_alike(extracts: Sequence[DescribedExtract], names: Sequence[str]) -> None:
    """Refuse extracts that lack a column, or declare it otherwise than the first does."""
    first, *others = extracts
    for other in others:
        if absent := [name for name in names if name not in other.names]:
            raise DataError(
                f"{other.extract}: has no column {named(absent)}, as {first.extract} has; choose columns that all "
                f"extracts have with {option('columns')}, or ingest them apart"
            )
        for name in names:
            mine, theirs = _declared_type(first, name), _declared_type(other, name)
            if mine != theirs:
                raise DataError(
                    f"{other.extract}: {name} is {theirs or 'not declared'}, and {mine or 'not declared'} in "
                    f"{first.extract}; give one codebook for all with {option('codebook')}, or ingest them apart"
                )


def undeclared_columns(extract: DescribedExtract, names: Sequence[str]) -> tuple[str, ...]:
    """Select the columns whose type neither a codebook nor a Parquet file says."""
    return tuple(name for name in names if _declared_type(extract, name) is None)


def _declared_type(extract: DescribedExtract, name: str) -> pa.DataType | None:
    if extract.schema is not None:
        return extract.schema.field(name).type
    variable = extract.variables.get(name)
    return None if variable is None else column_type(variable)


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


def read_codebook_domain(
    codebook: str, file: Path | None = None
) -> tuple[UnlabelledDomain, Sequence[LeftOut], Iterator[str]]:
    """Read the domain that a codebook declares, what it leaves out, and notes; of a file, the footer alone is read."""
    book = read_codebook(codebook)
    types: Mapping[str, pl.DataType] = {}
    unused: dict[str, LeftOut] = {}
    if file is not None:
        types = read_schema(file)
        book = for_columns(book, types)
        unused = {left.name: left for left in unused_names(book, types)}
    domain, left_out = shared_codebook_domain([book], [each for each in book.by_name if each not in unused])
    left_out = (*left_out, *unused.values())
    if domain is None:
        columns = "" if file is None else f" of the columns of {file}"
        raise ConfigurationError(
            "\n  ".join([f"{book.source}: declares no attribute{columns}", *left_out_lines(left_out)])
            + "\n  give the codebook of these rows, or declare their domain yourself (docs/domain.md)"
        )
    if file is not None:
        domain = replace(domain, universe=stated_universe(file))
    return domain, left_out, notes_on(book, domain, types)


def stated_universe(file: Path) -> str:
    """Return who the persons of a Parquet file are by its present domain; empty where that does not say it."""
    try:
        carried = own_declaration(file)
    except ConfigurationError:  # faulty, and about to be replaced by the codebook's
        return ""
    return "" if carried is None else carried.universe


def for_columns(book: Codebook, types: Mapping[str, pl.DataType]) -> Codebook:
    """Return the codebook for the columns of a Parquet file: in their spelling, with words as values of R's factors."""
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

    variables = book.by_name
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

    variables = book.by_name
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


@dataclass(frozen=True, slots=True)
class Selection:
    """Columns to write, the condition on rows, roles that no column has, and the flags by which columns are null."""

    columns: tuple[str, ...]
    condition: Condition | None
    absent_roles: tuple[str, ...] = ()
    flags: Mapping[str, Flag] = field(default_factory=dict)

    @property
    def valued(self) -> tuple[str, ...]:
        """Columns whose values matter: those to write and those in the condition."""
        return tuple(dict.fromkeys(self.columns + (self.condition.columns if self.condition else ())))

    @property
    def read(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.valued, *(flag.column for flag in self.flags.values()))))


def select(available: Sequence[str], columns: str | None, where: str | None) -> Selection:
    """Parse the options that select columns and rows."""
    roles: tuple[str, ...] = ()
    if columns is None:
        wanted = tuple(available)
    else:
        wanted, roles = _parse_columns(columns, available)
    if where is None:
        return Selection(wanted, None, roles)
    try:
        condition = parse_condition(where)
    except ValueError as error:
        raise UsageError(f"{option('where')}: {error}") from None
    _check_known(option("where"), condition.columns, available)
    return Selection(wanted, condition, roles)


def check_condition(condition: Condition, schema: pa.Schema) -> None:
    """Refuse comparisons of a column with a constant that its type cannot hold."""
    from dpnb_columnar.domain.column_kinds import NUMERIC_KINDS, value_keys

    problems, kinds = [], _kinds(schema, condition.columns)
    for comparison in comparisons(condition.root):
        kind, constant = kinds.get(comparison.column), comparison.constant
        if kind is None:
            problems.append(f"{comparison.column} is {schema.field(comparison.column).type} and cannot be compared")
        elif not (value_keys([constant], kind) if isinstance(constant, str) else kind in NUMERIC_KINDS):
            problems.append(f"{comparison.column} is {kind} and cannot be compared with {excerpt(constant)}")
    if problems:
        raise UsageError(f"{option('where')}: {'; '.join(problems)}; write numbers without quotes, and text with them")


def keep_rows(batches: Iterable[pa.RecordBatch], selection: Selection, schema: pa.Schema) -> Generator[pa.RecordBatch]:
    """Make allocated values null, and select columns, and the rows for which the condition holds then. Confidential.

    Each row of the result is a function of one row. A condition of values before they are null would let the answer of
    a donor decide which rows with its copies are there (``docs/privacy.md``, Lemma 2.16).
    """
    if selection.condition is None and not selection.flags:
        yield from batches
        return
    from dpnb_columnar.rows.row_rules import condition_holds

    flags, condition = selection.flags, selection.condition
    flag_kinds = _kinds(schema, [flag.column for flag in flags.values()])
    kinds = {} if condition is None else _kinds(schema, condition.columns)
    for batch in batches:
        valued = without_allocated(batch, flags, flag_kinds)
        written = valued.select(list(selection.columns))
        if condition is not None:
            test = condition_holds(condition.root, kinds).fill_null(False).alias("selected")
            written = written.filter(_frame(valued, condition.columns).select(test).to_series().to_arrow())
        yield written


def without_allocated(batch: pa.RecordBatch, flags: Mapping[str, Flag], kinds: Mapping[str, Kind]) -> pa.RecordBatch:
    """Make null every value that its flag says was allocated: a rule on one row. Confidential."""
    import numpy as np

    from dpnb_columnar.rows.row_rules import has_one_of

    said = _frame(batch, dict.fromkeys(flag.column for flag in flags.values()))
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    for name, flag in flags.items():
        lost = said.select(has_one_of(flag.column, kinds[flag.column], flag.values)).to_series().to_numpy()
        columns[name] = columns[name].take(pa.array(np.arange(len(batch)), mask=lost))
    return pa.RecordBatch.from_arrays([*columns.values()], schema=batch.schema)


def _frame(batch: pa.RecordBatch, names: Iterable[str]) -> pl.DataFrame:
    """Return some columns of a batch; texts that are not UTF-8 are null."""
    import polars as pl

    from dpnb_columnar.rows.streaming import valid_texts

    return pl.DataFrame(pl.from_arrow(valid_texts(batch.select([*names]))))


def check_flags(flags: Mapping[str, Flag], schema: pa.Schema, source: str) -> None:
    """Refuse flags of a type that cannot hold the values that say that a value was allocated."""
    from dpnb_columnar.domain.column_kinds import value_keys

    kinds = _kinds(schema, [flag.column for flag in flags.values()])
    for flag in flags.values():
        if flag.column not in kinds or not value_keys(flag.values, kinds[flag.column]):
            type_ = schema.field(flag.column).type
            raise DataError(
                f"{source}: the flag {flag.column} is {type_}, which cannot hold {named(flag.values)}; cast it to text"
            )


def _kinds(schema: pa.Schema, names: Iterable[str]) -> dict[str, Kind]:
    """Kind of each of some columns, by which values are compared; none of a type that cannot be compared."""
    import polars as pl

    from dpnb_columnar.domain.column_kinds import kinds_of

    columns = pa.schema([schema.field(name) for name in dict.fromkeys(names)])
    return kinds_of(pl.DataFrame(pl.from_arrow(columns.empty_table())).schema)


def _parse_columns(columns: str, available: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names = [name.strip() for name in columns.split(",")]
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise UsageError(f"{option('columns')}: {', '.join(twice)} is named twice")
    _check_known(option("columns"), [name for name in names if name != ADULT_LIKE], available)
    if ADULT_LIKE not in names:
        return tuple(names), ()
    chosen, roles = adult_like(available)
    if not chosen:
        raise UsageError(f"{option('columns')} {ADULT_LIKE}: the extract has none of these; name its columns instead")
    place = names.index(ADULT_LIKE)
    return tuple(dict.fromkeys([*names[:place], *chosen, *names[place + 1 :]])), roles


def _check_known(option: str, names: Sequence[str], available: Sequence[str]) -> None:
    for name in names:
        if name not in available:
            hint = did_you_mean(name, available, f"it has {named(available)}")
            raise UsageError(f"{option}: the extract has no column {excerpt(name)}; {hint}")


GROUP_ROWS = 2**19
"""Rows of a row group."""

GROUP_BYTES = 2**26
"""Bytes of a row group in memory; wide rows make shorter groups."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """Everything to read and write, known before a row is read; allocated values of ``flagged`` columns count."""

    extracts: tuple[DescribedExtract, ...]
    selection: Selection
    domain: Declaration | None
    left_out: tuple[LeftOut, ...]
    undeclared: tuple[str, ...]
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    persons: Persons | None = None
    notes: tuple[str, ...] = ()
    flagged: tuple[str, ...] = ()


def plan_conversion(
    extracts: Sequence[Extract],
    codebook: str | None,
    columns: str | None,
    where: str | None,
    name: str | None = None,
    *,
    dataset: str | None = None,
    types: Path | None = None,
    imputed: ImputedValues = ImputedValues.COUNTED,
    unit: str | None = None,
    persons_cap: int | None = None,
    weight: str | None = None,
    weight_cap: Number | None = None,
    header: bool = True,
    names: Path | None = None,
) -> Conversion:
    """Find the codebooks, the columns and the domain; only headers and footers of the extracts are read."""
    if header != (names is None):
        raise UsageError(f"{option('no-header')} and {option('names', 'FILE')} go together: the file names the columns")
    codebooks: dict[str, Codebook] = {}
    described, carried = [], []
    headless = None if names is None else read_names(names)
    for extract in extracts:
        own = None
        if extract.kind is FileKind.PARQUET and codebook is None and dataset is None:
            own = own_declaration(extract.path)
        carried.append(own)
        path = codebook or (codebook_beside(extract.path) if own is None else None)
        if path is not None and str(path) not in codebooks:
            codebooks[str(path)] = read_codebook(path)
        described.append(describe(extract, None if path is None else codebooks[str(path)], headless))
    books = [*{each.codebook.source: each.codebook for each in described if each.codebook is not None}.values()]
    selection = select(described[0].names, columns, where)
    flags = _flags(books, selection, described[0])
    if imputed is ImputedValues.MISSING:
        selection = replace(selection, flags=flags)
        if not flags:
            raise UsageError(
                f"{option('imputed', imputed)}: {named([each.source for each in books]) or described[0].extract}: "
                "declares no flag of allocated values of these columns; name the codebook and keep the flags' columns "
                f"in the extract ({option('codebook')}), or leave {option('imputed')} out"
            )
    if persons_cap is None and not (unit is weight is weight_cap is None):
        raise UsageError(
            f"{option('unit')}, {option('weight')} and {option('weight-cap')} are for the weight of units; add "
            f"{option('persons-cap', 8)} or leave them out"
        )
    check_alike(described, selection.read)
    unknown = undeclared_columns(described[0], selection.columns)
    parquet = [
        (each.codebook, each.types) for each in described if each.schema is not None and each.codebook is not None
    ]
    unused = (each for book, types_of in parquet for each in unused_names(book, types_of))
    left = {each.name: each for each in unused if each.name in selection.columns}
    declared = [name for name in selection.columns if name not in unknown and name not in left]
    domain: Declaration | None
    domain, left_out = shared_codebook_domain(books, declared, name)
    notes: list[str] = []
    if domain is not None:
        notes = [note for book, types_of in parquet for note in notes_on(book, domain, types_of)]
        universes = ("" if each.schema is None else stated_universe(each.extract.path) for each in described)
        domain = united(replace(domain, universe=universe) for universe in universes)
        if selection.flags:  # for people, and for what a guarantee is about
            by_flag = ", ".join(f"{each} ({flag.column})" for each, flag in selection.flags.items())
            said = one_line(f"null where the publisher's flags say so: {by_flag}", LONGEST_TEXT)
            domain = replace(domain, provenance=replace(domain.provenance or Provenance(), allocated=said))
    if name is not None and domain is None:
        raise UsageError(f"name {excerpt(name)}: names a domain, and no codebook declares one; leave it out")
    if any(carried):
        domain = _shared_domain(carried, described[0].extract, selection.columns)
    given: dict[str, pa.DataType] = {}
    if dataset is not None:
        if codebooks:
            raise UsageError(
                f"{option('dataset')} {excerpt(dataset)}: the extracts get the domain of their codebook; drop it"
            )
        domain = entry_named(dataset).declared
        numeric = {attribute.name for attribute in domain.attributes if isinstance(attribute, Numeric)}
        given = {each: TYPES["number" if each in numeric else "text"] for each in domain.columns}
        named_by = f"{option('dataset')} {excerpt(dataset)}"
        check_types(given, described[0].extract, selection.columns, selection.columns, named_by)
    if types is not None:
        listed, available = read_types(types), described[0].names
        undeclared = undeclared_columns(described[0], available)
        check_types(listed, described[0].extract, available, undeclared, f"{option('types')} {types}")
        given |= listed
    persons = None
    if persons_cap is not None:
        if domain is None:
            raise UsageError(
                f"{option('persons-cap')}: no domain to declare it in; add a codebook or {option('dataset')}"
            )
        domain, persons = with_persons(domain, unit, persons_cap, weight, weight_cap)
        _check_known(option("persons-cap"), persons.columns, described[0].names)
        if UNIT_WEIGHT in selection.columns:
            leave_out = f"leave it out with {option('columns')}"
            raise UsageError(f"{option('persons-cap')}: the extract has a column {UNIT_WEIGHT}; {leave_out}")
        selection = replace(selection, columns=tuple(dict.fromkeys((*selection.columns, *persons.columns))))
        check_alike(described, selection.read)
    if domain is not None and selection.condition is not None:
        domain = restricted_to(domain, selection.condition.text)
    kept = [name for name in undeclared_columns(described[0], selection.read) if name not in given]
    return Conversion(
        tuple(described),
        selection,
        domain,
        (*left_out, *left.values()),
        tuple(kept),
        given,
        persons,
        tuple(dict.fromkeys(notes)),
        () if selection.flags else tuple(name for name in flags if name in selection.columns),
    )


def _flags(codebooks: Sequence[Codebook], selection: Selection, first: DescribedExtract) -> dict[str, Flag]:
    """Find the flags of the columns whose values matter, where the extracts have them."""
    found = [flags_of(codebook, selection.valued, first.names) for codebook in codebooks]
    if any(other != found[0] for other in found[1:]):
        raise ConfigurationError(
            f"{named([each.source for each in codebooks])}: declare other flags of allocated values; give one codebook "
            f"for all extracts with {option('codebook')}, or ingest them apart"
        )
    return found[0] if found else {}


def _shared_domain(carried: Sequence[Declaration | None], first: Extract, columns: Sequence[str]) -> Declaration:
    """Return the domain that Parquet files carry, as that of some of their columns."""
    domains = [each for each in carried if each is not None]
    if len(domains) < len(carried) or len({*map(digest, domains)}) > 1:
        raise ConfigurationError(
            f"{first} and the extracts beside it do not all carry the same domain; give one with {option('codebook')} "
            f"or {option('dataset')}, or ingest them apart"
        )
    domain = united(domains)
    domain = select_attributes(domain, [each.name for each in domain.attributes if each.name in columns])
    if lost := [name for name in domain.counted_columns if name not in columns]:
        raise UsageError(
            f"{option('columns')}: {first} carries a domain that needs {named(lost)} as well; name these too, or give "
            f"another domain with {option('codebook')} or {option('dataset')}"
        )
    unit, person, weight = domain.available_unit, domain.available_person, domain.available_weight
    return replace(
        domain,
        available_unit=unit if {*unit} <= {*columns} else (),
        available_person=person if person is not None and {*person.columns} <= {*columns} else None,
        available_weight=weight if weight is not None and weight.column in columns else None,
    )


def convert(conversion: Conversion, output: Path, *, overwrite: bool = False, progress: Progress | None = None) -> None:
    """Read the extracts into one Parquet file, rows in their order. Memory does not grow with the rows."""
    check_output(output, overwrite)
    selection = conversion.selection
    first, types = conversion.extracts[0], conversion.types
    schema = pa.schema([(each, _declared_type(first, each) or types.get(each, pa.string())) for each in selection.read])
    metadata = _metadata(conversion)
    if selection.condition is not None:
        check_condition(selection.condition, schema)
    check_flags(selection.flags, schema, str(first.extract))
    written = pa.schema([schema.field(name) for name in selection.columns])
    read = (batch for extract in conversion.extracts for batch in _whole(extract, schema, progress))
    rows, check = keep_rows(read, selection, schema), None
    if conversion.persons is not None:
        counts = PersonCounts(conversion.persons, _kinds(written, conversion.persons.columns))
        rows, check, written = counts.counted(rows), counts.check, written.append(conversion.persons.field)
    with closing(prefetch(row_groups(rows, written), depth=1)) as groups:
        write_parquet(groups, written, metadata, output, overwrite=overwrite, check=check)


def _metadata(conversion: Conversion) -> dict[str, str]:
    """Return the metadata to write: the domain, and which splits made the rows."""
    metadata = {} if conversion.domain is None else domain_metadata(conversion.domain)
    schemas = [extract.schema for extract in conversion.extracts]
    if any(schema is not None for schema in schemas):
        from dpnb_columnar.rows.holdout import split_metadata

        told = split_metadata([{} if each is None else each.metadata or {} for each in schemas])
        metadata |= {key.decode(): text.decode() for key, text in told.items()}
    return metadata


def _whole(extract: DescribedExtract, schema: pa.Schema, progress: Progress | None) -> Iterator[pa.RecordBatch]:
    """Read an extract to its end, and refuse one that was written to meanwhile."""
    yield from read_batches(extract, schema, progress)
    refuse_changed(extract.extract)


def result_lines(conversion: Conversion, output: Path) -> Iterator[str]:
    """Yield lines on what was written, and what was left out of the domain. Public facts alone."""
    written = len(conversion.selection.columns) + (conversion.persons is not None)
    domain = f"domain {conversion.domain.name}" if conversion.domain else "no domain"
    yield f"wrote {output}: {written} column{'s' if written > 1 else ''}, {domain}"
    if conversion.selection.absent_roles:
        yield f"no column for: {', '.join(conversion.selection.absent_roles)}"
    if conversion.domain is not None:
        yield from (f"{heading}: {text}" for heading, text in whose_rows(conversion.domain))
    yield from left_out_lines(conversion.left_out)
    yield from (f"note: {note}" for note in conversion.notes)
    if conversion.flagged:
        yield (
            f"allocated values of {first_names(conversion.flagged)} count as answers; for a guarantee that is for what "
            f"respondents answered, write null in their place: {option('imputed', ImputedValues.MISSING)}"
        )
    if conversion.undeclared:
        yield f"not declared by a codebook: {first_names(conversion.undeclared)}: kept as text; numbers match by value"


def row_groups(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Generator[pa.Table]:
    """Gather the rows of batches into groups of the size that is written at once; no group for no rows."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= GROUP_ROWS or size >= GROUP_BYTES:
            yield pa.Table.from_batches(waiting, schema)
            waiting, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(waiting, schema)


def write_parquet(
    groups: Iterable[pa.Table],
    schema: pa.Schema,
    metadata: Mapping[str, str],
    output: Path,
    *,
    overwrite: bool,
    check: Callable[[Path], None] | None = None,
) -> None:
    """Write rows in their order. The file is confidential, and readable by its owner alone."""
    with atomic_output(output, overwrite=overwrite, confidential=True) as partial:
        with parquet_writer(partial, schema.with_metadata(dict(metadata))) as writer:
            for group in groups:
                writer.write_table(group, row_group_size=group.num_rows)
        if check is not None:
            check(partial)
