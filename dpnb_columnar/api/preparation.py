"""Before a release: rows to try, extracts to Parquet, rows held out, the declared domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpnb_columnar.api.arguments import (
    Data,
    Epsilon,
    Paths,
    declaration_of,
    declared_domain,
    opened_paths,
    paths_of,
    refuse_table,
)
from dpnb_columnar.counting.find_domain import find_declaration
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.domain import Declaration, labelled
from dpnb_columnar.errors import UsageError
from dpnb_columnar.rows.frames import Frame, is_frame, to_polars
from dpnb_columnar.rows.holdout import split_frame, split_of, split_outputs, split_rows
from dpnb_columnar.rows.input_files import resolve_files
from dpnb_columnar.rows.streaming import Source
from dpnb_columnar.runtime.locks import output_lock
from dpnb_columnar.runtime.output_checks import check_parquet, check_target
from dpnb_columnar.runtime.outputs import check_output
from dpnb_columnar.simulation import simulate_census
from dpnb_columnar.wording import in_python, speaking_python

if TYPE_CHECKING:
    from dpnb_columnar.extracts.convert import Conversion
    from dpnb_columnar.report.findings import Findings

DECLARE = "declare"
"""How a domain is edited in Python: in its declaration."""


class Parts(NamedTuple):
    """The two parts of a split: names of files, or frames of the library of the frame that was split.

    Attributes:
        train: The rows to train on. Confidential.
        test: The rows that are held out. Confidential.
    """

    train: Any
    test: Any


class Ingested(NamedTuple):
    """What became of extracts. Public facts alone.

    Attributes:
        output: The Parquet file, which is confidential.
        conversion: Columns that were written, their domain, and what was left out of it.
    """

    output: Path
    conversion: Conversion

    @property
    def domain(self) -> Declaration | None:
        """The domain that the file carries; None where no codebook declares one."""
        return self.conversion.domain

    def __repr__(self) -> str:
        from dpnb_columnar.extracts.convert import result_lines

        return "\n".join(result_lines(self.conversion, self.output))


@speaking_python()
def simulate(output: str | PathLike[str], *, rows: int = 100_000, seed: int = 1940, overwrite: bool = False) -> Path:
    """Write a synthetic extract in the shape of the 1940 census: thirteen attributes and a wage, no real person's row.

    Args:
        output: Parquet file to write; its metadata carries the domain, so that ``train`` needs nothing else.
        rows: Persons to simulate.
        seed: The same seed gives the same rows.
        overwrite: Whether to replace an existing file.

    Returns:
        The file.

    Raises:
        dpnb_columnar.errors.Error: if an argument is out of range, or the output exists or cannot be written.
    """
    path = Path(output)
    check_parquet(path)
    check_output(path, overwrite)
    with output_lock(path):
        simulate_census(path, rows=rows, seed=seed, overwrite=overwrite)
    return path


@speaking_python()
def ingest(
    extracts: Paths,
    output: str | PathLike[str],
    *,
    codebook: str | PathLike[str] | None = None,
    dataset: str | None = None,
    catalogue: str | PathLike[str] | None = None,
    types: str | PathLike[str] | None = None,
    columns: str | Sequence[str] | None = None,
    where: str | None = None,
    name: str | None = None,
    overwrite: bool = False,
) -> Ingested:
    """Turn census extracts into one Parquet file that carries its domain. Types and domain come from the codebook.

    Args:
        extracts: IPUMS ``.dat`` or ``.csv``, each also as ``.gz``; ACS PUMS ``csv_pXX.zip``. One or several.
        output: Parquet file to write, readable by its owner alone.
        codebook: DDI codebook (``.xml``), layout (``.toml``), PUMS data dictionary (``.csv``), or ``ipums1940``; None
            for the ``.xml`` beside each extract.
        dataset: Catalogue entry with the domain of CSV that has no codebook.
        catalogue: The one catalogue to look for the entry in; None for ``datasets.toml`` in the working directory, then
            the packaged one.
        types: TOML file with the types of columns that no codebook declares; None to keep them as text.
        columns: Names of the columns to write; ``adult-like`` for those that the Adult data set has; None for all.
        where: Condition on the rows to write, such as ``AGE >= 16``; None for all.
        name: Name of the data set, whose persons share one budget; None for the codebook's.
        overwrite: Whether to replace an existing file.

    Returns:
        Columns, domain, and what was left out of it; printed, it says all that.

    Raises:
        dpnb_columnar.errors.Error: if an extract, a codebook or an argument is faulty, or the output exists.
    """
    from dpnb_columnar.extracts.convert import convert, plan_conversion
    from dpnb_columnar.extracts.extract_files import find_extracts, refuse_copies

    path, files = Path(output), [Path(each) for each in paths_of(extracts, "extracts")]
    check_parquet(path)
    check_target(path, overwrite, files)
    found = find_extracts(files)
    conversion = plan_conversion(
        found,
        None if codebook is None else str(codebook),
        columns if columns is None or isinstance(columns, str) else ",".join(columns),
        where,
        name,
        dataset=dataset,
        catalogue=None if catalogue is None else Path(catalogue),
        types=None if types is None else Path(types),
    )
    refuse_copies(found)
    with output_lock(path):
        convert(conversion, path, overwrite=overwrite)
    return Ingested(path, conversion)


@speaking_python()
def check(
    data: Data,
    *,
    table: str | None = None,
    epsilon: Epsilon | None = None,
    domain: Declaration | Mapping[str, Any] | None = None,
    dataset: str | None = None,
    catalogue: str | PathLike[str] | None = None,
    label: str | None = None,
) -> Findings:
    """Compare the rows with the declared domain, for the curator, before a release. The result is CONFIDENTIAL.

    Args:
        data: Files, folders or patterns, a frame, or a database, as for ``train``.
        table: Table or view of the database.
        epsilon: Budget of the release to come: classes that are too small for it are named; None for the one that a
            catalogue entry declares, else 1.
        domain: Domain, or a mapping of its declaration's tables; None for the one that the files carry, or that a
            catalogue declares for them.
        dataset: Catalogue entry to take the domain from.
        catalogue: The one catalogue to look for the entry in; None for ``datasets.toml`` in the working directory, then
            the packaged one.
        label: What to predict: a condition, or a categorical column of the domain; None for the declared label.

    Returns:
        Rows that count, and those that are dropped, clamped or undeclared, column by column; notes and faults, each
        with its remedy. ``ready`` says whether a release can be made. Printed, it says all that.

    Raises:
        dpnb_columnar.errors.Error: if the data is missing, lacks a column or has one of a type that does not fit.
    """
    from dpnb_columnar.report.findings import find

    if is_frame(data):
        refuse_table(table)
        resolved = declared_domain(FrameInput(data), domain, dataset, catalogue, label)
        rows: Frame | Source = to_polars(data, resolved.domain.columns)
        files = 0
    else:
        opened = opened_paths(data, table)
        resolved = declared_domain(opened, domain, dataset, catalogue, label)
        rows, files = opened.open_once(resolved.domain), 0 if table else len(opened.files)
    spent = resolved.effective_epsilon(None) if epsilon is None else epsilon
    found = find(rows, resolved, spent, DECLARE, files)
    return replace(found, notes=tuple(map(in_python, found.notes)), faults=tuple(map(in_python, found.faults)))


@speaking_python()
def split(
    data: Data,
    *,
    table: str | None = None,
    test: Any = "0.2",
    by: str | Sequence[str] = (),
    seed: int = 1,
    train_output: str | PathLike[str] | None = None,
    test_output: str | PathLike[str] | None = None,
    overwrite: bool = False,
) -> Parts:
    """Hold rows out, to evaluate a model on them. The parts are CONFIDENTIAL, as the rows are.

    Each row is decided by its own values and the seed, or by its unit, so that a guarantee from a part holds for every
    row, or unit, of the data. Equal rows go together, and of few rows a part may be empty.

    Args:
        data: Parquet files, folders or patterns; a frame held in memory, of any library that ``train`` takes; or a
            database.
        table: Table or view of the database.
        test: Share that is held out, on average: above 0 and below 1, taken exactly.
        by: Column, or columns, that name a unit, such as a household, whose rows stay together.
        seed: The same seed puts the same row, or unit, into the same part; give another one to divide a part of a frame
            again. Choose it without a look at results.
        train_output: File for the rows to train on; None for ``NAME.train.parquet``. Not for a frame.
        test_output: File for the rows held out; None for ``NAME.test.parquet``. Not for a frame.
        overwrite: Whether to replace existing files.

    Returns:
        The rows to train on and the rows held out: two files that keep the domain, or two frames of the same library.

    Raises:
        dpnb_columnar.errors.Error: if an argument is faulty, a column is missing, or an output exists.
    """
    division = split_of(test, (by,) if isinstance(by, str) else by, seed)
    if is_frame(data):
        refuse_table(table)
        if train_output is not None or test_output is not None:
            raise UsageError("train_output and test_output are for files; a frame is divided into two frames")
        return Parts(*split_frame(data, division))
    rows = opened_paths(data, table)
    named = [None if each is None else Path(each) for each in (train_output, test_output)]
    names = paths_of(data) if table is None else [table]
    train, held_out = split_outputs(names, rows.files, named[0], named[1], overwrite)
    split_rows(rows.batches(division.by), division, train, held_out, overwrite=overwrite)
    return Parts(train, held_out)


@speaking_python()
def read_domain(
    source: Paths | Mapping[str, Any] | None = None,
    *,
    dataset: str | None = None,
    catalogue: str | PathLike[str] | None = None,
    label: str | None = None,
) -> Declaration:
    """Read a declared domain: of Parquet files, of a catalogue entry, or of a mapping. No row is read.

    Args:
        source: Parquet files that carry a domain or that a catalogue describes; or a mapping of a declaration's tables,
            with its ``name``; None for the entry that ``dataset`` names.
        dataset: Catalogue entry to read.
        catalogue: The one catalogue to look in; None for ``datasets.toml`` in the working directory, then the packaged
            one.
        label: What to predict: a condition, such as ``INCWAGE > 1000``, or a categorical column; None for what is
            declared.

    Returns:
        The domain; without a label, if none is declared and none is given. Printed, it is a table of its attributes.

    Raises:
        dpnb_columnar.errors.Error: if no domain is declared, or it is faulty.
    """
    if source is None and dataset is None:
        raise UsageError("name a Parquet file, or an entry of datasets.toml with dataset")
    if isinstance(source, Mapping):
        if dataset is not None or catalogue is not None:
            raise UsageError(f"source and {'catalogue' if dataset is None else 'dataset'} both name a domain; give one")
        domain = declaration_of(source)
    else:
        files = () if source is None else resolve_files(paths_of(source, "source"))
        domain = find_declaration(files, dataset, catalogue=None if catalogue is None else Path(catalogue)).declaration
    return domain if label is None else labelled(domain, label)
