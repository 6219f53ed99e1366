"""The Python interface, on the same code as the command line.

In this order: preparing rows and domains, planning, training and the releases in parts, released models.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar, overload

from dpnb_columnar import training
from dpnb_columnar.api.arguments import (
    GIVEN,
    Data,
    EngineName,
    Paths,
    checked,
    declaration_of,
    declared_domain,
    declared_rows,
    entry_rows,
    given_domain,
    opened_data,
    payment_of,
    sources_of,
)
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Neighbours, is_rule, parse_rows
from dpnb_columnar.core.budget.amounts import DeclaredRowCount
from dpnb_columnar.core.queries.scores import ScoreCounts
from dpnb_columnar.core.queries.statistics import CellQuery, Statistics
from dpnb_columnar.counting.countable import AskedRows
from dpnb_columnar.counting.find_domain import ResolvedDomain, find_declaration, find_domain_to_plan
from dpnb_columnar.counting.inputs import Engine, LocalFiles, local_files, open_rows, open_sources
from dpnb_columnar.domain import Declaration, UnlabelledDomain
from dpnb_columnar.domain.catalogue import entry_declaring
from dpnb_columnar.domain.editing import Number, labelled, provisional
from dpnb_columnar.domain.groupings import TEST, TRAIN, VALIDATION, By, divisions_of
from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.evaluation.released_scores import ReleasedScores
from dpnb_columnar.evaluation.released_scores import load_scores as read_scores_file
from dpnb_columnar.model.model_files import read_model
from dpnb_columnar.model.score_calibration import margins_given
from dpnb_columnar.options import (
    AttributeWeights,
    Charged,
    Declared,
    DomainSource,
    Epsilon,
    LabelledDomain,
    MechanismName,
    NeighboursName,
    NoiseName,
    Terms,
)
from dpnb_columnar.registry import extension
from dpnb_columnar.releases.plan import plan_given, reserve_later_pass
from dpnb_columnar.releases.score_plan import plan_scores
from dpnb_columnar.rows.frames import Frame, is_frame, names_of, open_frame
from dpnb_columnar.rows.holdout import size_remarks, split_frame, split_of, split_outputs, split_rows
from dpnb_columnar.rows.input_files import DataFile, resolve_files
from dpnb_columnar.rows.parquet import open_parquet
from dpnb_columnar.rows.sources import SourceKind
from dpnb_columnar.rows.streaming import NAME
from dpnb_columnar.runtime.outputs import check_output, check_parquet, check_target
from dpnb_columnar.simulation import simulate_census

if TYPE_CHECKING:
    from dpnb_columnar.advice.outlook import Outlook
    from dpnb_columnar.evaluation.evaluation import Evaluation
    from dpnb_columnar.extracts.convert import Conversion
    from dpnb_columnar.report.figures import Page
    from dpnb_columnar.report.findings import Findings


Part = TypeVar("Part")
FrameT = TypeVar("FrameT", bound=Frame)


class Parts(NamedTuple, Generic[Part]):
    """The two parts of a split: names of files, or frames of the library of the frame that was split.

    Attributes:
        train: The rows to train on. Confidential.
        test: The rows that are held out. Confidential.
    """

    train: Part
    test: Part


class ThreeParts(NamedTuple, Generic[Part]):
    """The parts of a split as in ``Parts``, and ``validation``: rows held out to choose a model by. Confidential."""

    train: Part
    validation: Part
    test: Part


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


def simulate(output: str | PathLike[str], *, rows: int = 100_000, seed: int = 1940, overwrite: bool = False) -> Path:
    """Write a synthetic extract in the shape of the 1940 census: thirteen attributes and a wage, no real person's row.

    Args:
        output: Parquet file to write; its metadata carries the domain, so that ``train`` needs nothing else.
        rows: Persons to simulate.
        seed: The same seed gives the same rows.
        overwrite: Whether to replace an existing file.

    Raises:
        dpnb_columnar.errors.Error: if an argument is out of range, or the output exists or cannot be written.

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> dpnb.simulate("census.parquet", rows=500, seed=1940, overwrite=True).name
        'census.parquet'
    """
    path = Path(output)
    check_parquet(path)
    check_output(path, overwrite)
    simulate_census(path, rows=rows, seed=seed, overwrite=overwrite)
    return path


def ingest(
    extracts: Paths,
    output: str | PathLike[str],
    *,
    codebook: str | PathLike[str] | None = None,
    dataset: str | PathLike[str] | None = None,
    types: str | PathLike[str] | None = None,
    header: bool = True,
    names: str | PathLike[str] | None = None,
    columns: str | Sequence[str] | None = None,
    where: str | None = None,
    imputed: Literal["missing", "counted"] = "counted",
    unit: str | Sequence[str] | None = None,
    persons_cap: int | None = None,
    weight: str | None = None,
    weight_cap: Number | None = None,
    name: str | None = None,
    overwrite: bool = False,
) -> Ingested:
    """Turn census extracts into one Parquet file that carries its domain. Types and domain come from the codebook.

    Args:
        extracts: IPUMS ``.dat`` or ``.csv``, each also as ``.gz``; ACS PUMS ``csv_pXX.zip``; Parquet, a folder of it or
            a pattern. One or several.
        output: Parquet file to write, readable by its owner alone.
        codebook: DDI codebook (``.xml``), layout (``.toml``), PUMS data dictionary (``.csv``), or ``ipums1940``; None
            for the domain that Parquet carries, else the ``.xml`` beside each extract.
        dataset: Catalogue entry, or its file, with the domain of CSV or Parquet that has no codebook.
        types: TOML file with the types of columns that no codebook declares; None to keep them as text.
        header: Whether the first line of CSV names its columns.
        names: File of the names of the columns of CSV without a header: one a line, or a ``.names`` file of UCI.
        columns: Names of the columns to write; ``adult-like`` for those that the Adult data set has; None for all.
        where: Condition on the rows to write, such as ``AGE >= 16``; None for all.
        imputed: What becomes of values that the codebook's flags say were allocated: ``missing`` to write null in their
            place, so that only answers count, or ``counted`` like answers.
        unit: Columns of the unit whose rows ``persons_cap`` counts; None for the codebook's household.
        persons_cap: Write how many rows of its unit the file holds, at most this public number, as the column
            ``unit_weight``, and declare it as the weight of the one row of a unit that counts; None to write none.
        weight: Column of a row's own weight, by which it is multiplied; None for the one declared, if any.
        weight_cap: The most that the product weighs; None for the declared cap of that weight.
        name: Name of the data set, whose persons share one budget; None for the codebook's.
        overwrite: Whether to replace an existing file.

    Returns:
        Columns, domain, and what was left out of it; printed, it says all that.

    Raises:
        dpnb_columnar.errors.Error: if an extract, a codebook or an argument is faulty, or the output exists.

    Examples:
        >>> from pathlib import Path
        >>> import polars as pl
        >>> import dpnb_columnar as dpnb
        >>> pl.DataFrame({"AGE": [30, 41], "STREET": ["High Street", "Mill Lane"]}).write_csv("town.csv")
        >>> Path("types.toml").write_text('AGE = "integer"')
        15
        >>> dpnb.ingest("town.csv", "town.parquet", types="types.toml", overwrite=True)
        wrote town.parquet: 2 columns, no domain
        not declared by a codebook: STREET: kept as text; numbers match by value
    """
    from dpnb_columnar.extracts.codebooks.codebook import ImputedValues
    from dpnb_columnar.extracts.convert import convert, plan_conversion
    from dpnb_columnar.extracts.extract_files import find_extracts, refuse_copies

    path, files = Path(output), [Path(each) for each in names_of(extracts, "extracts")]
    check_parquet(path)
    check_target(path, overwrite, files)
    found = find_extracts(files)
    check_target(path, overwrite, [each.path for each in found])
    conversion = plan_conversion(
        found,
        None if codebook is None else str(codebook),
        columns if columns is None or isinstance(columns, str) else ",".join(columns),
        where,
        name,
        dataset=DomainSource(dataset=dataset).entry,
        types=None if types is None else Path(types),
        imputed=ImputedValues(imputed),
        unit=unit if unit is None or isinstance(unit, str) else ",".join(unit),
        persons_cap=persons_cap,
        weight=weight,
        weight_cap=weight_cap,
        header=header,
        names=None if names is None else Path(names),
    )
    refuse_copies(found)
    convert(conversion, path, overwrite=overwrite)
    return Ingested(path, conversion)


def check(
    data: Data,
    *,
    table: str | None = None,
    dataset: str | PathLike[str] | None = None,
    domain: Declaration | Mapping[str, Any] | None = None,
    label: str | None = None,
    epsilon: Epsilon | None = None,
) -> Findings:
    """Compare the rows with the declared domain, for the curator, before a release. The result is CONFIDENTIAL.

    Arguments that are not listed are those of ``train``.

    Args:
        epsilon: Privacy budget of the release to come; classes that are too small for it are named. None for the budget
            that a catalogue entry declares, else 1.

    Returns:
        Rows that count, and those that are dropped, clamped or undeclared, column by column; notes and faults, each
        with its remedy. ``ready`` says whether a release can be made. Printed, it says all that.

    Raises:
        dpnb_columnar.errors.Error: if the data is missing, lacks a column or has one of a type that does not fit.

    Examples:
        >>> import polars as pl
        >>> import dpnb_columnar as dpnb
        >>> rows = pl.DataFrame({"age": [20, 30, 40, 500], "works": ["no", "yes", "yes", "no"]})
        >>> works = {"column": "works", "classes": ["no", "yes"]}
        >>> findings = dpnb.check(rows, domain={"label": works, "attributes": {"age": {"lower": 0, "upper": 99}}})
        >>> findings.ready, findings.diagnosis.rows
        (True, 4)
        >>> [column.above for column in findings.diagnosis.columns if column.name == "age"]
        [1]
    """
    from dpnb_columnar.advice.outlook import IN_ITS_DECLARATION
    from dpnb_columnar.report.findings import find

    named = LabelledDomain(dataset=dataset, label=label)
    opened = open_rows(sources_of(data, table), table)
    resolved = declared_domain(opened, domain, named)
    rows, files = opened.open_once(resolved.domain), len(opened.files) if isinstance(opened, LocalFiles) else 0
    return find(rows, resolved, Terms(epsilon=epsilon).effective_epsilon(resolved), IN_ITS_DECLARATION, files)


FEW_ROWS = 200
"""Rows of which a part may well be empty, without a warning."""

Share: TypeAlias = "float | str | Fraction | Decimal"
"""A share of the rows, taken exactly."""


@overload
def split(
    data: Paths,
    *,
    table: str | None = None,
    test: Share = "0.2",
    validation: None = None,
    by: str | Sequence[str] = (),
    seed: int = 1,
    train_output: str | PathLike[str] | None = None,
    test_output: str | PathLike[str] | None = None,
    validation_output: None = None,
    overwrite: bool = False,
) -> Parts[Path]: ...


@overload
def split(
    data: Paths,
    *,
    table: str | None = None,
    test: Share = "0.2",
    validation: Share,
    by: str | Sequence[str] = (),
    seed: int = 1,
    train_output: str | PathLike[str] | None = None,
    test_output: str | PathLike[str] | None = None,
    validation_output: str | PathLike[str] | None = None,
    overwrite: bool = False,
) -> ThreeParts[Path]: ...


@overload
def split(
    data: FrameT, *, test: Share = "0.2", validation: None = None, by: str | Sequence[str] = (), seed: int = 1
) -> Parts[FrameT]: ...


@overload
def split(
    data: FrameT, *, test: Share = "0.2", validation: Share, by: str | Sequence[str] = (), seed: int = 1
) -> ThreeParts[FrameT]: ...


def split(
    data: Data,
    *,
    table: str | None = None,
    test: Share = "0.2",
    validation: Share | None = None,
    by: str | Sequence[str] = (),
    seed: int = 1,
    train_output: str | PathLike[str] | None = None,
    test_output: str | PathLike[str] | None = None,
    validation_output: str | PathLike[str] | None = None,
    overwrite: bool = False,
) -> Parts[Any] | ThreeParts[Any]:
    """Hold rows out, to evaluate a model on them. The parts are CONFIDENTIAL, as the rows are.

    Each row is decided by its own values and the seed, or by its unit, so that a guarantee from a part holds for every
    row, or unit, of the data. Equal rows go together, and of few rows a part may be empty. Where a part is not as large
    as was asked for, by more than chance explains, a warning says so. Arguments that are not listed are
    those of ``train``.

    Args:
        test: Share that is held out, on average: above 0 and below 1, taken exactly.
        validation: Share of a third part, to choose among models by; the rows of ``test`` stay the same.
        by: Column, or columns, that name a unit, such as a household, whose rows stay together.
        seed: The same seed puts the same row, or unit, into the same part. A part is divided anew by the same seed, if
            it is the file, or the very frame, that was returned. Choose it without a look at results.
        train_output: File for the rows to train on; None for ``NAME.train.parquet``. Not for a frame.
        test_output: File for the rows held out; None for ``NAME.test.parquet``. Not for a frame.
        validation_output: File of the third part; None for ``NAME.validation.parquet``. Not for a frame.
        overwrite: Whether to replace existing files.

    Returns:
        The rows to train on, those of ``validation`` where it is given, and those of ``test``: files that keep the
        domain, or frames of the same library.

    Raises:
        dpnb_columnar.errors.Error: if an argument is faulty, a column is missing, or an output exists.

    Examples:
        >>> import polars as pl
        >>> import dpnb_columnar as dpnb
        >>> rows = pl.DataFrame({"household": [1, 1, 2, 2, 3, 3], "age": [30, 4, 41, 40, 70, 68]})
        >>> parts = dpnb.split(rows, test="0.5", by="household", seed=1)
        >>> parts.train["household"].to_list(), parts.test["household"].to_list()
        ([3, 3], [1, 1, 2, 2])
    """
    division = split_of(test, (by,) if isinstance(by, str) else by, seed, validation)
    typed = {TRAIN: train_output, VALIDATION: validation_output, TEST: test_output}
    parts: Mapping[str, Any]
    sources = sources_of(data, table)
    if sources and sources[0].kind is SourceKind.FRAME:
        if given := [f"{part}_output" for part, output in typed.items() if output is not None]:
            raise UsageError(f"{' and '.join(given)} {'are' if given[1:] else 'is'} for files; a frame has no output")
        parts, sizes = split_frame(sources[0].address, division)
        called = {part: f"the part {part}" for part in parts}
    else:
        rows = open_sources(sources, table)
        named = {part: None if output is None else Path(output) for part, output in typed.items()}
        if isinstance(rows, LocalFiles):
            names: Sequence[str] = names_of(data)
        else:
            names = rows.names if table is None else [table]
        parts = split_outputs(names, rows.files, division, named, overwrite)
        sizes = split_rows(rows.batches(division.by), division, parts, overwrite=overwrite)
        called = {part: str(output) for part, output in parts.items()}
    if sum(sizes.values()) > FEW_ROWS:
        for remark in size_remarks(division, sizes, called):
            warnings.warn(remark, stacklevel=2)
    return ThreeParts(**parts) if division.validation else Parts(**parts)


def read_domain(
    source: Paths | Mapping[str, Any] | None = None,
    *,
    dataset: str | PathLike[str] | None = None,
    label: str | None = None,
) -> Declaration:
    """Read a declared domain: of Parquet files, of a catalogue entry, or of a mapping. No row is read.

    Arguments that are not listed are those of ``train``.

    Args:
        source: Parquet files that carry a domain or that a catalogue describes; or a mapping of a declaration's tables,
            with its ``name``; None for the entry that ``dataset`` names.

    Returns:
        The domain; without a label, if none is declared and none is given. Printed, it is a table of its attributes.

    Raises:
        dpnb_columnar.errors.Error: if no domain is declared, or it is faulty.

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> works = {"column": "works", "classes": ["no", "yes"]}
        >>> print(dpnb.read_domain({"label": works, "attributes": {"age": {"lower": 0, "upper": 99, "step": 1}}}))
        predicts works: 2: no, yes
        <BLANKLINE>
          attribute  kind     values           missing
          ---------  -------  ---------------  --------
          age        numeric  0 to 99, step 1  left out
    """
    if source is None and dataset is None:
        raise UsageError("name a Parquet file, or an entry of datasets.toml with dataset")
    if isinstance(source, Mapping):
        if dataset is not None:
            raise UsageError("source and dataset both name a domain; give one")
        domain = declaration_of(source)
    else:
        files = () if source is None else resolve_files(names_of(source, "source"))
        domain = find_declaration(files, DomainSource(dataset=dataset).entry).declaration
    return domain if label is None else labelled(domain, label)


def plan(
    data: Data | None = None,
    *,
    epsilon: Epsilon | None = None,
    delta: Epsilon = 0,
    rows: int | None = None,
    mechanism: MechanismName = "auto",
    noise: NoiseName | None = None,
    attribute_weights: AttributeWeights = "auto",
    neighbours: NeighboursName = Neighbours.ADD_REMOVE,
    shares: str | None = None,
    dataset: str | PathLike[str] | None = None,
    domain: Declaration | Mapping[str, Any] | None = None,
    label: str | None = None,
    unit: str | Sequence[str] | None = None,
    unit_rows: int | None = None,
    weight: str | None = None,
    weight_cap: Number | None = None,
    class_sizes: Sequence[int] | None = None,
    class_shares: str | None = None,
    rehearse: bool = True,
) -> Outlook:
    """Show what ``train`` would release with the same arguments, at which cost and error. No row is read.

    Where no label is declared and none is given, two classes stand in for it. The declared number of rows, if any, is
    for the advice as well. Arguments that are not listed are those of ``train``.

    Args:
        data: Files, folders or patterns, or a frame. None if ``domain`` or ``dataset`` declares the domain.
        epsilon: Privacy budget, above 0. A string is taken exactly as typed, a float by its shortest text: 0.1 is one
            tenth. None for the budget that a catalogue entry declares, else 1.
        class_sizes: Rows of a class for which to expect errors. None for ``rows`` divided by the number of classes, or,
            without ``rows``, for 10,000 and 1,000,000.
        class_shares: Published shares of the classes, in the domain's order, such as ``94:6``, for the simulation;
            never counted. None for 3 to 1 and 15 to 1.
        rehearse: Whether to simulate the release on synthetic rows, which takes a second or so per ten attributes.

    Returns:
        The plan, its errors, and what is expected of it. Printed, it says all that.

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> works = {"column": "works", "classes": ["no", "yes"]}
        >>> domain = {"label": works, "attributes": {"age": {"lower": 0, "upper": 99}}}
        >>> outlook = dpnb.plan(domain=domain, epsilon="0.9", mechanism="smooth", rehearse=False)
        >>> [(share.query, str(share.cost.epsilon)) for share in outlook.plan.shares]
        [('class counts', '3/10'), ('mean', '3/10'), ('variance', '3/10')]
    """
    from dpnb_columnar.advice.outlook import outlook

    if class_sizes is not None and not class_sizes:
        raise UsageError("class_sizes: give at least one number of rows")
    terms = Terms(
        epsilon=epsilon,
        delta=delta,
        rows=rows,
        mechanism=mechanism,
        noise=noise,
        attribute_weights=attribute_weights,
        neighbours=neighbours,
        shares=shares,
    )
    declared = Declared(
        dataset=dataset, label=label, unit=unit, unit_rows=unit_rows, weight=weight, weight_cap=weight_cap
    )
    sizes = None if class_sizes is None else tuple(parse_rows(size, "class_sizes") for size in class_sizes)
    files = () if data is None or is_frame(data) else resolve_files(names_of(data))
    resolved = declared.counted(_domain(files, domain, declared))
    known = None if rows is None else DeclaredRowCount(parse_rows(rows), "the argument rows")
    if known is None and resolved.rows is not None:
        known = DeclaredRowCount(parse_rows(resolved.rows), str(resolved.entry))
    number = None if known is None else known.rows
    budget = terms.budget(terms.effective_epsilon(resolved), number)
    if data is not None:
        _ = open_frame(data, resolved.domain) if is_frame(data) else open_parquet(files, resolved.domain)
    planned = terms.planned(resolved.domain, budget, number, inputs=files, label=label)
    return outlook(
        planned,
        resolved.origin,
        sizes,
        known,
        sizes_from="the first of class_sizes, in each class",
        label_chosen=resolved.label_chosen,
        rule=str(delta).strip() if is_rule(delta) else None,
        class_shares=class_shares,
        rehearsed=rehearse,
    )


def _domain(
    files: Sequence[DataFile], domain: Declaration | Mapping[str, Any] | None, named: LabelledDomain
) -> ResolvedDomain:
    """Return the domain given, or find that of the files; without a label, with one that stands in for it."""
    if domain is None:
        if not files and named.dataset is None:
            raise UsageError("name a domain: give data that carries one, domain or dataset")
        return find_domain_to_plan(files, named.entry, named.label)
    declared = given_domain(domain, named)
    if named.label is None and isinstance(declared, UnlabelledDomain):
        return ResolvedDomain(provisional(declared), GIVEN, label_chosen=False)
    return ResolvedDomain(checked(declared, named.label), GIVEN)


def save(model: Model, path: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Write a model, which is public.

    Args:
        model: The model.
        path: File to write: ``.json``, or ``.parquet`` for one row per parameter.
        overwrite: Whether to replace an existing file.

    Raises:
        dpnb_columnar.errors.Error: if the name ends otherwise, or the file exists or cannot be written.

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> model = dpnb.train(dpnb.simulate("census.parquet", rows=500, overwrite=True), epsilon=1)
        >>> dpnb.save(model, "census.model.parquet", overwrite=True)
        >>> dpnb.load_model("census.model.parquet") == model
        True
    """
    model.save(Path(path), overwrite=overwrite)


def load_model(path: str | PathLike[str]) -> Model:
    """Read a released model.

    Args:
        path: Model file, JSON or Parquet.

    Raises:
        dpnb_columnar.errors.Error: if the file is missing, or not a model that this program reads.

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> census = dpnb.simulate("census.parquet", rows=500, overwrite=True)
        >>> dpnb.train(census, epsilon=1).save("census.model.json", overwrite=True)
        >>> model = dpnb.load_model("census.model.json")
        >>> model.domain.classes, str(model.guarantee.epsilon)
        (('<=1000', '>1000'), '1')
    """
    return Model.of(read_model(Path(path)))


def sheet(
    model: Model,
    path: str | PathLike[str] | None = None,
    *,
    record: str | PathLike[str] | Mapping[str, Any] | None = None,
    ledger: str | PathLike[str] | None = None,
    scores: str | PathLike[str] | ReleasedScores | None = None,
    audit: str | PathLike[str] | None = None,
    overwrite: bool = False,
) -> Page:
    """Make the release sheet of a model, one page for whoever signs: as ``model.sheet``. A notebook shows it.

    Args:
        model: The model.
        path: File to write, which ends in ``.html``; None for none.
        record: What the model does not hold, such as title, purpose and approvals: a TOML file, or its keys and values.
        ledger: Ledger that may have paid for the model.
        scores: Released scores of this model, or their file; with a ledger, one of its releases.
        audit: What the command ``audit --output`` wrote.
        overwrite: Whether to replace an existing file.

    Returns:
        The page, as text.

    Raises:
        dpnb_columnar.errors.Error: if a file cannot be read or written, or is not of this model.

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> census = dpnb.simulate("census.parquet", rows=500, overwrite=True)
        >>> model = dpnb.train(census, epsilon=1)
        >>> page = dpnb.sheet(model, "sheet.html", record={"title": "Wages"}, overwrite=True)
        >>> "Release sheet: Wages" in page
        True
    """
    return model.sheet(path, record=record, ledger=ledger, scores=scores, audit=audit, overwrite=overwrite)


def evaluate(model: Model, data: Data, *, table: str | None = None, by: By | None = None) -> Evaluation:
    """Compare a model's predictions with the classes of labelled rows: as ``model.evaluate``. CONFIDENTIAL.

    Args:
        model: The model.
        data: Files, folders or patterns, a frame, or a database, with the label's columns too. Rows that the model was
            not trained on, such as ``split`` holds out, say how well it does on others.
        table: Table or view of the database, as the database writes its name.
        by: Columns by whose declared values rows are divided into groups, each for itself, such as ``["SEX", "RACE"]``;
            ``"SEX:RACE"`` or a tuple of names for pairs of values. ``"AGE=18,65"`` says where the groups of a numeric
            attribute begin, ``"REGION=1,2"`` which values a column has that the model lacks. None for no groups.

    Returns:
        Exact figures, without noise: accuracy, ranking, probabilities, calibration and their confidence intervals; in
        ``groups`` those of each group.

    Raises:
        dpnb_columnar.errors.Error: if the data is missing, does not fit the domain, or no row of it does.

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> training, held_out = dpnb.split(dpnb.simulate("census.parquet", rows=2000, overwrite=True), overwrite=True)
        >>> model = dpnb.train(training, epsilon=1, mechanism="histogram")
        >>> figures = dpnb.evaluate(model, held_out)
        >>> figures.rows, figures.auc > 0.6
        (327, True)
        >>> (by_sex,) = dpnb.evaluate(model, held_out, by=["SEX"]).groups
        >>> [group.values for group in by_sex.groups]
        [('1',), ('2',), (None,)]
    """
    return model.evaluate(data, table=table, by=by)


def attack(model: Model, members: Paths | Frame, others: Paths | Frame, *, sensitive: Sequence[str] = ()) -> Any:
    """Attack a model by rows that trained it and rows that did not: who was a member, and what are its values.

    CONFIDENTIAL.

    Args:
        model: The model.
        members: Rows that trained it, all of them or some: files, folders or patterns, or a frame.
        others: Rows of the same population that did not, such as ``split`` holds out.
        sensitive: Attributes whose values are guessed; all for none.

    Returns:
        An ``AttackReport``: exact figures, without noise, beside the bounds that the guarantee implies for every attack
        (docs/audit.md); ``exceeded`` says what exceeds them beyond sampling error.

    Raises:
        dpnb_columnar.errors.Error: if the rows do not fit the domain, a row is in both, or too few can be attacked.

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> training, held_out = dpnb.split(dpnb.simulate("census.parquet", rows=2000, overwrite=True), overwrite=True)
        >>> report = dpnb.attack(dpnb.train(training, epsilon=1, mechanism="histogram"), training, held_out)
        >>> report.exceeded, round(report.implied.advantage, 3)
        ((), 0.462)
    """
    attacks = extension("attack.model_attack", "attack")
    trained, fresh = (
        attacks.batches_of_frame(rows, f"{NAME} of {name}")
        if is_frame(rows)
        else local_files(names_of(rows, name), name).batches()
        for name, rows in (("members", members), ("others", others))
    )
    return attacks.attack(model, trained, fresh, sensitive)


def release_scores(
    model: Model,
    data: Data,
    *,
    epsilon: Epsilon,
    neighbours: NeighboursName = Neighbours.ADD_REMOVE,
    table: str | None = None,
    ledger: str | PathLike[str] | None = None,
    account: str | None = None,
    witness: str | PathLike[str] | None = None,
    run_id: str | None = None,
    engine: EngineName = Engine.LOCAL,
    by: By | None = None,
) -> ReleasedScores:
    """Release how well a model does on labelled rows: noisy counts of its scores, and figures of these to publish.

    The rows are read in the model's domain. Arguments that are not listed are those of ``train`` and ``evaluate``.

    Args:
        model: A released model. ``model.evaluate`` gives exact figures, which are confidential.

    Returns:
        The counts; ``figures`` has accuracy, recall and precision, and of two classes AUC, ROC curve and calibration,
        with intervals that include the noise, and in ``groups`` those of each group.

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> census = dpnb.simulate("census.parquet", rows=2000, overwrite=True)
        >>> scores = dpnb.release_scores(dpnb.train(census, epsilon=1), census, epsilon="0.5")
        >>> lower, upper = scores.figures.accuracy.interval
        >>> lower < scores.figures.accuracy.value < upper, str(scores.guarantee.epsilon)
        (True, '1/2')
    """
    planned = plan_scores(model, Terms(neighbours=neighbours).budget(epsilon), divisions=divisions_of(by, model.domain))
    with opened_data(data, engine, table) as opened:
        payment = payment_of(planned, opened.names, Charged(ledger=ledger, account=account, witness=witness), run_id)
        return training.carry_out(planned, opened, payment)


def load_scores(path: str | PathLike[str]) -> ReleasedScores:
    """Read released scores.

    Args:
        path: JSON file that ``ReleasedScores.save`` or ``evaluate --epsilon`` wrote.

    Raises:
        dpnb_columnar.errors.Error: if the file is missing, or does not hold released scores.

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> census = dpnb.simulate("census.parquet", rows=500, overwrite=True)
        >>> scores = dpnb.release_scores(dpnb.train(census, epsilon=1), census, epsilon=1)
        >>> scores.save("census.scores.json", overwrite=True)
        >>> dpnb.load_scores("census.scores.json") == scores
        True
    """
    return read_scores_file(Path(path))


def aggregate(
    data: Data,
    *,
    table: str | None = None,
    dataset: str | PathLike[str] | None = None,
    domain: Declaration | Mapping[str, Any] | None = None,
    label: str | None = None,
    unit: str | Sequence[str] | None = None,
    unit_rows: int | None = None,
    weight: str | None = None,
    weight_cap: Number | None = None,
    engine: EngineName = Engine.LOCAL,
    whole_units: bool = False,
) -> Statistics:
    """Count every cell of the domain over Parquet files, a frame, or a table. The result is CONFIDENTIAL.

    Arguments that are not listed are those of ``train``.

    Args:
        whole_units: Declare that no unit has rows here and in other parts, so that statistics of both may be added up.

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> dpnb.aggregate(dpnb.simulate("census.parquet", rows=500, overwrite=True))
        Statistics(CONFIDENTIAL, domain 'census_simulated': 2 classes, 4 numeric and 9 categorical attributes)
    """
    declared = Declared(
        dataset=dataset, label=label, unit=unit, unit_rows=unit_rows, weight=weight, weight_cap=weight_cap
    )
    with opened_data(data, engine, table) as rows:
        resolved = declared.counted(declared_domain(rows, domain, declared))
        return replace(rows.check(resolved.domain).answer(CellQuery(resolved.domain)), whole_units=whole_units)


def release(
    statistics: Statistics,
    *,
    epsilon: Epsilon,
    delta: Epsilon = 0,
    rows: int | None = None,
    mechanism: MechanismName = "auto",
    noise: NoiseName | None = None,
    attribute_weights: AttributeWeights = "auto",
    neighbours: NeighboursName = Neighbours.ADD_REMOVE,
    shares: str | None = None,
    ledger: str | PathLike[str] | None = None,
    account: str | None = None,
    witness: str | PathLike[str] | None = None,
) -> Model:
    """Release a differentially private model from statistics.

    Budget for ``attribute_weights`` ``calibrated`` and ``learned`` is reserved: ``count_given`` counts what they need,
    ``calibrate`` releases them. Arguments that are not listed are those of ``train``.

    Args:
        statistics: Exact counts. Confidential.

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> statistics = dpnb.aggregate(dpnb.simulate("census.parquet", rows=500, overwrite=True))
        >>> model = dpnb.release(statistics, epsilon="1/3", neighbours="replace-one")
        >>> str(model.guarantee.epsilon), model.guarantee.neighbours.value, model.guarantee.private
        ('1/3', 'replace-one', True)
    """
    terms = Terms(
        epsilon=epsilon,
        delta=delta,
        rows=rows,
        mechanism=mechanism,
        noise=noise,
        attribute_weights=attribute_weights,
        neighbours=neighbours,
        shares=shares,
    )
    counted = AskedRows(statistics)
    known = declared_rows(terms)
    budget = terms.budget(epsilon, known)
    if terms.chooses and known is None:
        known = entry_rows(entry_declaring(statistics.domain))
    planned = reserve_later_pass(
        terms.planned(statistics.domain, budget, known, parts=statistics.parts, repeatable=counted.repeatable)
    )
    payment = payment_of(planned, (), Charged(ledger=ledger, account=account, witness=witness))
    return Model.of(training.carry_out(planned, counted, payment))


def train(
    data: Data,
    *,
    table: str | None = None,
    epsilon: Epsilon,
    delta: Epsilon = 0,
    rows: int | None = None,
    mechanism: MechanismName = "auto",
    noise: NoiseName | None = None,
    attribute_weights: AttributeWeights = "auto",
    neighbours: NeighboursName = Neighbours.ADD_REMOVE,
    shares: str | None = None,
    dataset: str | PathLike[str] | None = None,
    domain: Declaration | Mapping[str, Any] | None = None,
    label: str | None = None,
    unit: str | Sequence[str] | None = None,
    unit_rows: int | None = None,
    weight: str | None = None,
    weight_cap: Number | None = None,
    ledger: str | PathLike[str] | None = None,
    account: str | None = None,
    witness: str | PathLike[str] | None = None,
    run_id: str | None = None,
    engine: EngineName = Engine.LOCAL,
) -> Model:
    """Train a differentially private model on Parquet files, a frame or a table: ``aggregate``, then ``release``.

    A fault in the arguments is reported before a row is read.

    Args:
        data: Parquet files, folders or patterns, also in an object store (``s3://``); or a frame in memory, such as a
            Polars or pandas frame or an Arrow table or stream; or a Delta or Iceberg table: its folder, or an object of
            its library; or a database: a DuckDB or SQLite file, or the address of a PostgreSQL server.
        table: Table or view of the database, as the database writes its name.
        epsilon: Privacy budget, above 0. A string is taken exactly as typed, a float by its shortest text: 0.1 is one
            tenth.
        delta: The delta of (epsilon, delta)-differential privacy, for noise families that need one. It is taken
            exactly, as epsilon is. Or a rule for the declared number of rows: ``1/n`` or ``1/n^2``.
        rows: Public number of rows, such as the codebook's: the n of a rule for ``delta``, and a fact by which ``auto``
            chooses. It is never counted. None for the number that a catalogue entry declares.
        mechanism: ``auto``, which chooses one by public facts; or ``smooth``, ``paper``, ``trimmed-mean``, ``global``,
            ``global-variance``, ``adaptive-histogram``, ``histogram``, ``majority``, or ``none`` (not private).
        noise: Noise family of smooth releases, such as ``polyplace``, or ``gaussian`` with a ``delta``. None for the
            mechanism's default.
        attribute_weights: Weights of the attributes in the score: ``none``, ``tempered`` (fixed, at no cost),
            ``calibrated`` (a second pass, for a tenth of the budget), ``learned`` (of two classes: four further passes,
            for 35 % of it), or ``auto``, which chooses one by public facts. Or a Parquet file of public rows in the
            same domain, from which weights are learned at no cost.
        neighbours: Neighbouring relation that epsilon refers to: ``add-remove`` or ``replace-one``.
        shares: Division of the budget: ``by-size``; ``equal``; or numbers for a numeric attribute, a categorical
            attribute and the class counts, such as ``2:1:1``. None for ``by-size``, or for ``equal`` with ``paper``.
        dataset: Catalogue entry that declares the domain, or its file: ``NAME``, ``FILE.toml`` or ``FILE.toml:NAME``.
            None for the domain that the data carry, or that a catalogue declares for them.
        domain: Domain to count in, or a mapping of its declaration's tables. None for the domain that ``dataset``
            names, or that the data carry.
        label: What to predict: a condition, such as ``INCWAGE > 1000``, or a categorical column of the domain. None for
            the declared label.
        unit: Columns that name the unit of the guarantee, such as a household. None for the declared unit, else one
            row. A row without a value in one of them does not count.
        unit_rows: The most rows of one unit that count; epsilon of each row is divided by this number. None for the
            declared number, else 1.
        weight: Column of the weight of a row, such as ``PERWT``: the prior is made of its sums, for one more query.
            None for the declared weight, if any.
        weight_cap: The most that one row weighs; the noise of the sums is proportional to it. It is public, never taken
            from the rows. None for the declared cap.
        ledger: Ledger that pays for the release, made by ``dpnb-columnar ledger init``. None to account for nothing.
        account: Data set of the ledger to charge. None for the domain's name.
        witness: The ledger's witness, a file in another folder or on another disk: a ledger that lacks what it knows
            spends nothing. None if the ledger has none.
        run_id: Name of this release in the ledger: the same name with the same files and arguments releases once and is
            charged once. None for a new one.
        engine: ``local``, or ``spark`` for files: in this process's session of Spark, or in a new one.

    Returns:
        The released model. Public, unless the mechanism is ``none``.

    Raises:
        dpnb_columnar.errors.Error: if the command line would end with an error; the class is that of its exit code.

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> model = dpnb.train(dpnb.simulate("census.parquet", rows=500, overwrite=True), epsilon="0.5")
        >>> print(repr(model).splitlines()[0])
        Model of census_simulated: '<=1000', '>1000' from 4 numeric and 9 categorical attributes
        >>> str(sum(share.cost.epsilon for share in model.guarantee.composition))
        '1/2'
    """
    terms = Terms(
        epsilon=epsilon,
        delta=delta,
        rows=rows,
        mechanism=mechanism,
        noise=noise,
        attribute_weights=attribute_weights,
        neighbours=neighbours,
        shares=shares,
    )
    declared = Declared(
        dataset=dataset, label=label, unit=unit, unit_rows=unit_rows, weight=weight, weight_cap=weight_cap
    )
    known = declared_rows(terms)
    budget = terms.budget(epsilon, known)
    with opened_data(data, engine, table) as opened:
        resolved = declared.counted(declared_domain(opened, domain, declared))
        if terms.chooses and known is None:
            known = entry_rows(entry_declaring(resolved.domain) if domain is not None else resolved.entry)
        planned = terms.planned(
            resolved.domain, budget, known, inputs=opened.files, label=label, repeatable=opened.repeatable
        )
        payment = payment_of(planned, opened.names, Charged(ledger=ledger, account=account, witness=witness), run_id)
        return Model.of(training.carry_out(planned, opened, payment))


def count_given(
    data: Data, model: Model, *, table: str | None = None, engine: EngineName = Engine.LOCAL
) -> ScoreCounts:
    """Count what a model that left a part of its budget asks the rows, for ``calibrate``. CONFIDENTIAL.

    That is the rows by the margins that the model gives them. They are read in its domain. Arguments that are not
    listed are those of ``train``.

    Args:
        model: What ``release`` made of statistics with ``attribute_weights`` ``calibrated``.

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> census = dpnb.simulate("census.parquet", rows=500, overwrite=True)
        >>> model = dpnb.release(dpnb.aggregate(census), epsilon=1, attribute_weights="calibrated")
        >>> model.guarantee.reserved.query
        'calibration counts'
        >>> dpnb.count_given(census, model)
        ScoreCounts(CONFIDENTIAL, domain 'census_simulated': 24 bins, 2 classes)
    """
    plan_given(model)
    with opened_data(data, engine, table) as rows:
        return rows.check(model.domain).answer(margins_given(model))


def calibrate(
    model: Model,
    counts: ScoreCounts,
    *,
    ledger: str | PathLike[str] | None = None,
    account: str | None = None,
    witness: str | PathLike[str] | None = None,
) -> Model:
    """Release the attribute weights of a model, for the part of the budget that it left for them.

    A ledger pays for the weights of a model once. Arguments that are not listed are those of ``train``.

    Args:
        model: What ``release`` made of statistics with ``attribute_weights`` ``calibrated``.
        counts: What ``count_given`` counted given this model. Confidential.

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> census = dpnb.simulate("census.parquet", rows=500, overwrite=True)
        >>> model = dpnb.release(dpnb.aggregate(census), epsilon=1, attribute_weights="calibrated")
        >>> calibrated = dpnb.calibrate(model, dpnb.count_given(census, model))
        >>> str(model.guarantee.epsilon), str(calibrated.guarantee.epsilon), calibrated.guarantee.reserved
        ('9/10', '1', None)
    """
    planned = plan_given(model)
    if counts.query != margins_given(model):
        raise DataError("counts: were counted given another model; count the rows given this one")
    charged = Charged(ledger=ledger, account=account, witness=witness)
    return Model.of(training.carry_out(planned, AskedRows(counts), payment_of(planned, (), charged)))
