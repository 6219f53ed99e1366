"""The Python interface, on the same code as the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

from dpnb_columnar import training
from dpnb_columnar.api.arguments import (
    Data,
    Epsilon,
    budget_of,
    declared_domain,
    declared_rows,
    entry_rows,
    opened_data,
    payment_of,
)
from dpnb_columnar.api.models import evaluate as evaluate
from dpnb_columnar.api.models import load_model as load_model
from dpnb_columnar.api.models import load_scores as load_scores
from dpnb_columnar.api.models import release_scores as release_scores
from dpnb_columnar.api.models import save as save
from dpnb_columnar.api.planning import plan as plan
from dpnb_columnar.api.preparation import check as check
from dpnb_columnar.api.preparation import ingest as ingest
from dpnb_columnar.api.preparation import read_domain as read_domain
from dpnb_columnar.api.preparation import simulate as simulate
from dpnb_columnar.api.preparation import split as split
from dpnb_columnar.budget import Neighbours
from dpnb_columnar.counting import further_passes
from dpnb_columnar.counting.countable import Counted
from dpnb_columnar.counting.further_passes import CountedGiven
from dpnb_columnar.counting.gradients import FurtherStatistics
from dpnb_columnar.counting.inputs import Engine
from dpnb_columnar.counting.scores import ScoreCounts
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.domain import Declaration
from dpnb_columnar.domain.catalogue import entry_declaring
from dpnb_columnar.domain.units_and_weights import Number
from dpnb_columnar.errors import DataError
from dpnb_columnar.mechanisms.attribute_weights import AUTO
from dpnb_columnar.mechanisms.further_releases import plan_given, query_given, without_further_passes
from dpnb_columnar.mechanisms.release_plan import plan as plan_release
from dpnb_columnar.model.model import Model
from dpnb_columnar.public_sample import weights_chosen
from dpnb_columnar.wording import speaking_python


@speaking_python()
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
    """
    with opened_data(data, engine, table) as rows:
        resolved = declared_domain(rows, domain, dataset, catalogue, label).by_unit(unit, unit_rows)
        resolved = resolved.by_weight(weight, weight_cap, weight_step)
        return replace(rows.check(resolved.domain).count(), whole_units=whole_units)


@speaking_python()
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
    """
    counted = Counted(statistics)
    known = declared_rows(rows, delta, attribute_weights)
    budget = budget_of(epsilon, delta, neighbours, known, shares)
    if attribute_weights == AUTO and known is None:
        known = entry_rows(entry_declaring(statistics.domain))
    chosen = weights_chosen(attribute_weights, statistics.domain, mechanism, parts=statistics.parts)
    planned = without_further_passes(
        plan_release(statistics.domain, budget, mechanism, noise, chosen, known, can_score=counted.can_score)
    )
    return training.train(planned, counted, payment_of(planned, (), ledger, account, None))


@speaking_python()
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
    """
    known = declared_rows(rows, delta, attribute_weights)
    budget = budget_of(epsilon, delta, neighbours, known, shares)
    with opened_data(data, engine, table) as opened:
        resolved = declared_domain(opened, domain, dataset, catalogue, label).by_unit(unit, unit_rows)
        resolved = resolved.by_weight(weight, weight_cap, weight_step)
        if attribute_weights == AUTO and known is None:
            known = entry_rows(entry_declaring(resolved.domain) if domain is not None else resolved.entry)
        chosen = weights_chosen(attribute_weights, resolved.domain, mechanism, opened.files, label)
        planned = plan_release(resolved.domain, budget, mechanism, noise, chosen, known, can_score=opened.can_score)
        return training.train(planned, opened, payment_of(planned, opened.names, ledger, account, run_id))


@speaking_python()
def count_given(data: Data, model: Model, *, table: str | None = None, engine: str = Engine.LOCAL) -> FurtherStatistics:
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
    """
    plan_given(model)
    with opened_data(data, engine, table) as rows:
        return further_passes.count_given(rows.check(model.domain), query_given(model))


@speaking_python()
def calibrate(
    model: Model,
    counts: FurtherStatistics,
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
    """
    planned = plan_given(model)
    counted = counts.scores if isinstance(counts, ScoreCounts) else counts.query
    if counted != query_given(model):
        raise DataError("counts: were counted given another model, or for another round; count the rows given this one")
    return training.train(planned, CountedGiven(counts), payment_of(planned, (), ledger, account, None))
