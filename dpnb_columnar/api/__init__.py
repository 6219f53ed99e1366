"""The Python interface, on the same code as the command line.

In this order: preparing rows and domains, planning, training and the releases in parts, released models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpnb_columnar import training
from dpnb_columnar.api.arguments import (
    GIVEN,
    Data,
    Epsilon,
    Paths,
    budget_of,
    checked,
    declaration_of,
    declared_domain,
    declared_rows,
    entry_rows,
    given_domain,
    opened_data,
    opened_paths,
    paths_of,
    payment_of,
    refuse_table,
    score_payment_of,
)
from dpnb_columnar.budget import Neighbours, is_rule, parse_rows
from dpnb_columnar.budget.amounts import DeclaredRowCount
from dpnb_columnar.counting.countable import AskedRows
from dpnb_columnar.counting.find_domain import ResolvedDomain, find_declaration, find_domain_to_plan
from dpnb_columnar.counting.inputs import Engine, FrameInput
from dpnb_columnar.counting.scores import LaterAnswer
from dpnb_columnar.counting.statistics import CellQuery, Statistics
from dpnb_columnar.datasets.catalogue import entry_declaring
from dpnb_columnar.domain import Declaration, UnlabelledDomain, labelled
from dpnb_columnar.domain.editing import Number, provisional
from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.mechanisms.attribute_weights import AUTO
from dpnb_columnar.mechanisms.model_release import plan_given, query_given, without_further_passes
from dpnb_columnar.mechanisms.release_plan import plan as plan_release
from dpnb_columnar.mechanisms.score_release import plan_scores
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.model import load_model as read_model
from dpnb_columnar.model.released_scores import ReleasedScores
from dpnb_columnar.model.released_scores import load_scores as read_scores_file
from dpnb_columnar.public_sample import weights_chosen
from dpnb_columnar.rows.frames import Frame, is_frame, open_frame, to_polars
from dpnb_columnar.rows.holdout import split_frame, split_of, split_outputs, split_rows
from dpnb_columnar.rows.input_files import resolve_files
from dpnb_columnar.rows.parquet import open_parquet
from dpnb_columnar.rows.streaming import Source
from dpnb_columnar.runtime.locks import output_lock
from dpnb_columnar.runtime.outputs import check_output, check_parquet, check_target
from dpnb_columnar.simulation import simulate_census

if TYPE_CHECKING:
    from dpnb_columnar.advice.outlook import Outlook
    from dpnb_columnar.extracts.convert import Conversion
    from dpnb_columnar.model.evaluation import Evaluation
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

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> dpnb.simulate("census.parquet", rows=500, seed=1940, overwrite=True).name
        'census.parquet'
    """
    path = Path(output)
    check_parquet(path)
    check_output(path, overwrite)
    with output_lock(path):
        simulate_census(path, rows=rows, seed=seed, overwrite=overwrite)
    return path


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
    return find(rows, resolved, spent, DECLARE, files)


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

    Examples:
        >>> import polars as pl
        >>> import dpnb_columnar as dpnb
        >>> rows = pl.DataFrame({"household": [1, 1, 2, 2, 3, 3], "age": [30, 4, 41, 40, 70, 68]})
        >>> parts = dpnb.split(rows, test="0.5", by="household", seed=1)
        >>> parts.train["household"].to_list(), parts.test["household"].to_list()
        ([3, 3], [1, 1, 2, 2])
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
        if dataset is not None or catalogue is not None:
            raise UsageError(f"source and {'catalogue' if dataset is None else 'dataset'} both name a domain; give one")
        domain = declaration_of(source)
    else:
        files = () if source is None else resolve_files(paths_of(source, "source"))
        domain = find_declaration(files, dataset, catalogue=None if catalogue is None else Path(catalogue)).declaration
    return domain if label is None else labelled(domain, label)


def plan(
    data: Data | None = None,
    *,
    epsilon: Epsilon | None = None,
    delta: Epsilon = 0,
    rows: int | None = None,
    domain: Declaration | Mapping[str, Any] | None = None,
    dataset: str | None = None,
    catalogue: str | PathLike[str] | None = None,
    label: str | None = None,
    unit: str | Sequence[str] | None = None,
    unit_rows: int | None = None,
    weight: str | None = None,
    weight_cap: Number | None = None,
    weight_step: Number | None = None,
    mechanism: str = "smooth",
    noise: str | None = None,
    attribute_weights: str | PathLike[str] = "auto",
    shares: str | None = None,
    neighbours: str = Neighbours.ADD_REMOVE,
    class_sizes: Sequence[int] | None = None,
    class_shares: str | None = None,
    rehearse: bool = True,
) -> Outlook:
    """Show what ``train`` would release with the same arguments, at which cost and error. No row is read.

    Args:
        data: Files, folders or patterns, or a frame, as for ``train``; None where ``domain`` or ``dataset`` says all.
        epsilon: Privacy budget, as for ``train``; None for the one that a catalogue entry declares, else 1.
        delta: The delta of (epsilon, delta)-differential privacy, or a rule for it, as for ``train``.
        rows: The declared, public number of rows, such as the codebook's: for the advice, and as for ``train``.
        domain: Domain, or a mapping of its declaration's tables; None for the one that the files carry, or that a
            catalogue declares for them.
        dataset: Catalogue entry to take the domain from.
        catalogue: The one catalogue to look for the entry in; None for ``datasets.toml`` in the working directory, then
            the packaged one.
        label: What to predict: a condition, or a categorical column; None for the declared label. Where none is
            declared, two classes stand in for it.
        unit: Columns that name the unit that the guarantee is for in place of one row, as for ``train``.
        unit_rows: The most rows of one unit that count, as for ``train``.
        weight: Column of the weight of a row, as for ``train``.
        weight_cap: The most that one row weighs, as for ``train``.
        weight_step: Weights are rounded to multiples of this step, as for ``train``.
        mechanism: Name of the mechanism, as for ``train``.
        noise: Noise family for smooth sensitivity; None for the mechanism's default.
        attribute_weights: Weights of the attributes, as for ``train``.
        shares: Division of the budget, as for ``train``.
        neighbours: ``add-remove`` or ``replace-one``.
        class_sizes: Rows of a class to expect errors for; None for ``rows`` by the number of classes, or, without
            ``rows``, for 10,000 and 1,000,000.
        class_shares: Published shares of the classes, in the domain's order, such as ``94:6``, for the rehearsal; None
            for 3 to 1 and 15 to 1. They are never counted.
        rehearse: Whether to rehearse the release on made-up rows, which takes a second or so per ten attributes.

    Returns:
        The plan, its errors, and what is expected of it. Printed, it says all that.

    Raises:
        dpnb_columnar.errors.Error: if ``train`` would refuse the arguments.

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
    sizes = None if class_sizes is None else tuple(parse_rows(size, "class_sizes") for size in class_sizes)
    files = () if data is None or is_frame(data) else resolve_files(paths_of(data))
    resolved = _domain(files, domain, dataset, catalogue, label).by_unit(unit, unit_rows)
    resolved = resolved.by_weight(weight, weight_cap, weight_step)
    known = None if rows is None else DeclaredRowCount(parse_rows(rows), "the argument rows")
    if known is None and resolved.rows is not None:
        known = DeclaredRowCount(parse_rows(resolved.rows), str(resolved.entry))
    number = None if known is None else known.rows
    spent = resolved.effective_epsilon(None) if epsilon is None else epsilon
    budget = budget_of(spent, delta, neighbours, number, shares)
    if data is not None:
        _ = open_frame(data, resolved.domain) if is_frame(data) else open_parquet(files, resolved.domain)
    weights = weights_chosen(attribute_weights, resolved.domain, mechanism, files, label)
    planned = plan_release(resolved.domain, budget, mechanism, noise, weights, number)
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
    files: Sequence[Path],
    domain: Declaration | Mapping[str, Any] | None,
    dataset: str | None,
    catalogue: str | PathLike[str] | None,
    label: str | None,
) -> ResolvedDomain:
    """Return the domain given, or find that of the files; without a label, with one that stands in for it.

    Raises:
        UsageError: if no domain is named, or two are.
    """
    if domain is None:
        if not files and dataset is None:
            raise UsageError("name a domain: give data that carries one, domain or dataset")
        return find_domain_to_plan(files, dataset, label, None if catalogue is None else Path(catalogue))
    declared = given_domain(domain, dataset, catalogue)
    if label is None and isinstance(declared, UnlabelledDomain):
        return ResolvedDomain(provisional(declared), GIVEN, label_chosen=False)
    return ResolvedDomain(checked(declared, label), GIVEN)


def save(model: Model, path: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Write a model, which is public: as ``model.save``.

    Args:
        model: The model.
        path: File to write: ``.json``, or ``.parquet`` for one row per parameter.
        overwrite: Whether to replace an existing file.

    Raises:
        dpnb_columnar.errors.Error: if the name ends otherwise, or the file exists or cannot be written.

    Examples:
        >>> import polars as pl
        >>> import dpnb_columnar as dpnb
        >>> works = {"column": "works", "classes": ["no", "yes"]}
        >>> domain = {"label": works, "attributes": {"age": {"lower": 0, "upper": 99}}}
        >>> rows = pl.DataFrame({"age": [20, 30, 40], "works": ["no", "yes", "yes"]})
        >>> model = dpnb.train(rows, epsilon=1, domain=domain)
        >>> dpnb.save(model, "works.model.json", overwrite=True)
        >>> dpnb.load_model("works.model.json") == model
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
    return read_model(Path(path))


def evaluate(model: Model, data: Data, *, table: str | None = None) -> Evaluation:
    """Compare a model's predictions with the classes of labelled rows: as ``model.evaluate``. CONFIDENTIAL.

    Args:
        model: The model.
        data: Files, folders or patterns, a frame, or a database, as for ``train``, with the label's columns too. Rows
            that the model was not trained on, such as ``split`` holds out, say how well it does on others.
        table: Table or view of the database.

    Returns:
        Exact figures, without noise: accuracy, ranking, probabilities, calibration and their confidence intervals.

    Raises:
        dpnb_columnar.errors.Error: if the data is missing, does not fit the domain, or no row of it does.

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> training, held_out = dpnb.split(dpnb.simulate("census.parquet", rows=2000, overwrite=True), overwrite=True)
        >>> figures = dpnb.evaluate(dpnb.train(training, epsilon=1, mechanism="histogram"), held_out)
        >>> figures.rows, figures.auc > 0.6
        (327, True)
    """
    if is_frame(data):
        refuse_table(table)
        return model.evaluate(data)
    from dpnb_columnar.model.exact_evaluation import evaluate as evaluate_rows
    from dpnb_columnar.model.exact_evaluation import open_evaluated

    return evaluate_rows(model, open_evaluated(opened_paths(data, table).open, model.domain))


def release_scores(
    model: Model,
    data: Data,
    *,
    table: str | None = None,
    epsilon: Epsilon,
    neighbours: str = Neighbours.ADD_REMOVE,
    ledger: str | PathLike[str] | None = None,
    account: str | None = None,
    run_id: str | None = None,
    engine: str = Engine.LOCAL,
) -> ReleasedScores:
    """Release how well a model does on labelled rows: noisy counts of its scores, and figures of these to publish.

    Args:
        model: A released model. ``model.evaluate`` gives exact figures, which are confidential.
        data: Files, folders or patterns, a frame, or a database, as for ``aggregate``; read in the model's domain.
        table: Table or view of the database, as for ``aggregate``.
        epsilon: Privacy budget, as for ``release``.
        neighbours: ``add-remove`` or ``replace-one``.
        ledger: File of the ledger that pays for the release; None to account for nothing.
        account: Data set of the ledger that is charged; None for the domain's name.
        run_id: Name of this release in the ledger, as for ``train``.
        engine: ``local``, or ``spark`` for files.

    Returns:
        The counts; ``figures`` has accuracy, recall and precision, and of two classes AUC, ROC curve and calibration,
        with intervals that include the noise.

    Raises:
        dpnb_columnar.errors.Error: if the command line would end with an error; the class is that of its exit code.

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> census = dpnb.simulate("census.parquet", rows=2000, overwrite=True)
        >>> scores = dpnb.release_scores(dpnb.train(census, epsilon=1), census, epsilon="0.5")
        >>> lower, upper = scores.figures.accuracy.interval
        >>> lower < scores.figures.accuracy.value < upper, str(scores.guarantee.epsilon)
        (True, '1/2')
    """
    planned = plan_scores(model, budget_of(epsilon, 0, neighbours))
    with opened_data(data, engine, table) as opened:
        payment = score_payment_of(planned, opened.names, ledger, account, run_id)
        return training.carry_out(training.ScoringTask(planned), opened, payment)


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
    domain: Declaration | Mapping[str, Any] | None = None,
    dataset: str | None = None,
    catalogue: str | PathLike[str] | None = None,
    label: str | None = None,
    unit: str | Sequence[str] | None = None,
    unit_rows: int | None = None,
    weight: str | None = None,
    weight_cap: Number | None = None,
    weight_step: Number | None = None,
    whole_units: bool = False,
    engine: str = Engine.LOCAL,
) -> Statistics:
    """Count every cell of the domain over Parquet files, a frame, or a table. The result is CONFIDENTIAL.

    Args:
        data: Files, folders or patterns; or a Polars DataFrame, LazyFrame or Arrow table, which counts as a file of the
            same rows would, in the domain named by ``domain`` or ``dataset``; or a database: a DuckDB or SQLite file,
            or the address of a PostgreSQL server.
        table: Table or view of the database, as it writes the name.
        domain: Domain to count in, or a mapping of its declaration's tables; None for the one the files carry, or a
            catalogue holds for them.
        dataset: Catalogue entry to take the domain from.
        catalogue: The one catalogue to look for the entry in, which overrides a domain that the files carry; None for
            ``datasets.toml`` in the working directory, then the packaged one.
        label: What to predict: a condition, such as ``INCWAGE > 1000``, or a categorical column of the domain; None
            for what the domain declares.
        unit: Columns that name the unit, such as a household, that guarantees are for in place of one row; None for the
            unit that the domain declares, if any. A row without a value in one of them does not count.
        unit_rows: The most rows of one unit that count; None for as many as are declared, else 1. Without ``unit`` it
            is of the unit that the data are declared to have.
        weight: Column of the weight of a row, such as PERWT, that the prior is of sums of; None for the one that the
            domain declares, if any.
        weight_cap: The most that one row weighs, public; None for the declared one.
        weight_step: Weights are rounded to multiples of this step; None for the declared ones, else 1.
        whole_units: Declare that no unit has rows here and in other parts, so that statistics of both may be added up.
        engine: ``local``, or ``spark`` for files: in this process's session of Spark, or in a new one.

    Raises:
        dpnb_columnar.errors.Error: if the command line would end with an error; the class is that of its exit code.

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> dpnb.aggregate(dpnb.simulate("census.parquet", rows=500, overwrite=True))
        Statistics(CONFIDENTIAL, domain 'census_simulated': 2 classes, 4 numeric and 9 categorical attributes)
    """
    with opened_data(data, engine, table) as rows:
        resolved = declared_domain(rows, domain, dataset, catalogue, label).by_unit(unit, unit_rows)
        resolved = resolved.by_weight(weight, weight_cap, weight_step)
        return replace(rows.check(resolved.domain).answer(CellQuery(resolved.domain)), whole_units=whole_units)


def release(
    statistics: Statistics,
    *,
    epsilon: Epsilon,
    delta: Epsilon = 0,
    rows: int | None = None,
    mechanism: str = "smooth",
    noise: str | None = None,
    attribute_weights: str | PathLike[str] = "auto",
    shares: str | None = None,
    neighbours: str = Neighbours.ADD_REMOVE,
    ledger: str | PathLike[str] | None = None,
    account: str | None = None,
) -> Model:
    """Release a differentially private model from statistics.

    Args:
        statistics: Exact counts. Confidential.
        epsilon: Privacy budget. Text is taken exactly as typed; a float by its shortest text, so 0.1 is one tenth.
        delta: The delta of (epsilon, delta)-differential privacy, for noise families that need one; exact likewise. Or
            a rule for the declared number of rows, ``1/n`` or ``1/n^2``.
        rows: The public number of rows, such as the codebook's: the n of such a rule, and for ``attribute_weights``
            ``auto``; None for what a catalogue entry of this domain declares. It is never counted.
        mechanism: ``smooth``, ``paper``, ``trimmed-mean``, ``global``, ``global-variance``, ``adaptive-histogram``,
            ``histogram``, ``majority``, or ``none`` (not private).
        noise: Noise family for smooth sensitivity, such as ``polyplace``; None for the mechanism's default.
        attribute_weights: Weights of the attributes in the score: ``none``, or ``tempered`` for histograms of two
            classes: d^(-1/4) for each of d attributes, 8 or more, since correlated ones say the same twice. Costs
            nothing. ``calibrated`` and ``learned`` release the tables, and leave the rest of the budget for weights
            that are fitted to the rows given these, one pass at a time: ``count_given`` counts what the model
            waits for, ``calibrate`` releases the next one, until its guarantee reserves nothing. ``auto`` chooses
            ``tempered`` or ``none`` here, and in ``train`` ``calibrated`` as well, by mechanism, number of attributes,
            and epsilon times the declared number of rows. Or the path of a Parquet file of public rows in the same
            domain, which says what each attribute weighs, and which are not released.
        shares: Division of the budget among a numeric attribute, a categorical attribute and the class counts, such as
            ``2:1:1``; None for the mechanism's own.
        neighbours: ``add-remove`` or ``replace-one``.
        ledger: File of the ledger that pays, made by ``dpnb-columnar ledger init``; None where nobody accounts.
        account: Data set of the ledger that is charged; None for the domain's name.

    Raises:
        dpnb_columnar.errors.Error: if the command line would end with an error; the class is that of its exit code.

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> statistics = dpnb.aggregate(dpnb.simulate("census.parquet", rows=500, overwrite=True))
        >>> model = dpnb.release(statistics, epsilon="1/3", neighbours="replace-one")
        >>> str(model.guarantee.epsilon), model.guarantee.neighbours.value, model.guarantee.private
        ('1/3', 'replace-one', True)
    """
    counted = AskedRows(statistics)
    known = declared_rows(rows, delta, attribute_weights)
    budget = budget_of(epsilon, delta, neighbours, known, shares)
    if attribute_weights == AUTO and known is None:
        known = entry_rows(entry_declaring(statistics.domain))
    chosen = weights_chosen(attribute_weights, statistics.domain, mechanism, parts=statistics.parts)
    planned = without_further_passes(
        plan_release(statistics.domain, budget, mechanism, noise, chosen, known, repeatable=counted.repeatable)
    )
    return training.train(planned, counted, payment_of(planned, (), ledger, account, None))


def train(
    data: Data,
    *,
    table: str | None = None,
    epsilon: Epsilon,
    delta: Epsilon = 0,
    rows: int | None = None,
    domain: Declaration | Mapping[str, Any] | None = None,
    dataset: str | None = None,
    catalogue: str | PathLike[str] | None = None,
    label: str | None = None,
    unit: str | Sequence[str] | None = None,
    unit_rows: int | None = None,
    weight: str | None = None,
    weight_cap: Number | None = None,
    weight_step: Number | None = None,
    mechanism: str = "smooth",
    noise: str | None = None,
    attribute_weights: str | PathLike[str] = "auto",
    shares: str | None = None,
    neighbours: str = Neighbours.ADD_REMOVE,
    ledger: str | PathLike[str] | None = None,
    account: str | None = None,
    run_id: str | None = None,
    engine: str = Engine.LOCAL,
) -> Model:
    """Train a differentially private model on Parquet files, a frame or a table: ``aggregate``, then ``release``.

    A fault in the arguments is reported before a row is read.

    Args:
        data: Files, folders or patterns; or a Polars DataFrame, LazyFrame or Arrow table; or a database, as for
            ``aggregate``.
        table: Table or view of the database, as for ``aggregate``.
        epsilon: Privacy budget, as for ``release``.
        delta: The delta of (epsilon, delta)-differential privacy, or a rule for it, as for ``release``.
        rows: The declared number of rows, as for ``release``.
        domain: Domain to count in, or a mapping of its declaration's tables; None for the one that the files carry, or
            that a catalogue declares for them.
        dataset: Catalogue entry to take the domain from.
        catalogue: The one catalogue to look for the entry in, which overrides a domain that the files carry; None for
            ``datasets.toml`` in the working directory, then the packaged one.
        label: What to predict: a condition, or a categorical column of the domain; None for the declared label.
        unit: Columns that name the unit, such as a household, that the guarantee is for in place of one row, as for
            ``aggregate``.
        unit_rows: The most rows of one unit that count, as for ``aggregate``; each has epsilon divided by it.
        weight: Column of the weight of a row, as for ``aggregate``: one more query.
        weight_cap: The most that one row weighs, as for ``aggregate``: the noise of the sums is made for it.
        weight_step: Weights are rounded to multiples of this step, as for ``aggregate``.
        mechanism: Name of the mechanism, as for ``release``.
        noise: Noise family for smooth sensitivity; None for the mechanism's default.
        attribute_weights: Weights of the attributes, as for ``release``; or ``calibrated``: one weight of all, fitted
            in a second pass over files or a frame (in three for more than two classes), which spends a tenth of the
            budget; or, for two classes, ``learned``: a weight of each, in four further passes that spend 35 % of it.
            ``auto`` chooses one of these by mechanism, number of attributes, and epsilon times the declared number of
            rows.
        shares: Division of the budget, as for ``release``.
        neighbours: ``add-remove`` or ``replace-one``.
        ledger: File of the ledger that pays for the release; None to account for nothing.
        account: Data set of the ledger that is charged; None for the domain's name.
        run_id: Name of this release in the ledger: the same name with the same files and arguments releases once and is
            charged once, however often it is called. None for a new one.
        engine: ``local``, or ``spark`` for files.

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
    known = declared_rows(rows, delta, attribute_weights)
    budget = budget_of(epsilon, delta, neighbours, known, shares)
    with opened_data(data, engine, table) as opened:
        resolved = declared_domain(opened, domain, dataset, catalogue, label).by_unit(unit, unit_rows)
        resolved = resolved.by_weight(weight, weight_cap, weight_step)
        if attribute_weights == AUTO and known is None:
            known = entry_rows(entry_declaring(resolved.domain) if domain is not None else resolved.entry)
        chosen = weights_chosen(attribute_weights, resolved.domain, mechanism, opened.files, label)
        planned = plan_release(resolved.domain, budget, mechanism, noise, chosen, known, repeatable=opened.repeatable)
        return training.train(planned, opened, payment_of(planned, opened.names, ledger, account, run_id))


def count_given(data: Data, model: Model, *, table: str | None = None, engine: str = Engine.LOCAL) -> LaterAnswer:
    """Count what a model that left a part of its budget asks the rows next, for ``calibrate``. CONFIDENTIAL.

    That is the rows by the score that the model gives them, or the sums of a round.

    Args:
        data: Files, folders or patterns, a frame, or a database, as for ``aggregate``; read in the model's domain.
        model: What ``release`` made of statistics with ``attribute_weights`` ``calibrated`` or ``learned``, or what
            ``calibrate`` made of it so far.
        table: Table or view of the database, as for ``aggregate``.
        engine: ``local``, or ``spark`` for files.

    Raises:
        dpnb_columnar.errors.Error: if the command line would end with an error; the class is that of its exit code.

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> census = dpnb.simulate("census.parquet", rows=500, overwrite=True)
        >>> model = dpnb.release(dpnb.aggregate(census), epsilon=1, attribute_weights="calibrated")
        >>> [share.query for share in model.guarantee.reserved]
        ['calibration counts']
        >>> dpnb.count_given(census, model)
        ScoreCounts(CONFIDENTIAL, domain 'census_simulated': 12 bins, 2 classes)
    """
    plan_given(model)
    with opened_data(data, engine, table) as rows:
        return rows.check(model.domain).answer(query_given(model))


def calibrate(
    model: Model,
    counts: LaterAnswer,
    *,
    ledger: str | PathLike[str] | None = None,
    account: str | None = None,
) -> Model:
    """Release the next attribute weights of a model, for the next part of the budget that it left for them.

    Args:
        model: What ``release`` made of statistics with ``attribute_weights`` ``calibrated`` or ``learned``; or what
            this function made, where ``guarantee.reserved`` names shares that are left.
        counts: What ``count_given`` counted given this model. Confidential.
        ledger: File of the ledger that pays; None where nobody accounts. It pays for the weights of a model once.
        account: Data set of the ledger that is charged; None for the domain's name.

    Raises:
        dpnb_columnar.errors.Error: if the command line would end with an error; the class is that of its exit code.

    Examples:
        >>> import dpnb_columnar as dpnb
        >>> census = dpnb.simulate("census.parquet", rows=500, overwrite=True)
        >>> model = dpnb.release(dpnb.aggregate(census), epsilon=1, attribute_weights="calibrated")
        >>> calibrated = dpnb.calibrate(model, dpnb.count_given(census, model))
        >>> len(model.guarantee.reserved), len(calibrated.guarantee.reserved)
        (1, 0)
    """
    planned = plan_given(model)
    if counts.query != query_given(model):
        raise DataError("counts: were counted given another model, or for another round; count the rows given this one")
    return training.train(planned, AskedRows(counts), payment_of(planned, (), ledger, account, None))
