"""The Python interface, on the same code as the command line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from dpnb_columnar import training
from dpnb_columnar.budget import Budget, Neighbours, is_rule, parse_delta, parse_division, parse_epsilon, parse_rows
from dpnb_columnar.counting.countable import Counted, CountedScores
from dpnb_columnar.counting.find_domain import ResolvedDomain
from dpnb_columnar.counting.inputs import Engine, FrameInput, Input, opened_input
from dpnb_columnar.counting.scores import ScoreCounts
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.domain import Declaration, Domain, document_of, labelled, read_domain
from dpnb_columnar.domain.catalogue import Entry, entry_declaring
from dpnb_columnar.errors import ConfigurationError, DataError, UsageError
from dpnb_columnar.ledger.payment import Payment, payment_for
from dpnb_columnar.mechanisms.attribute_weights import AUTO
from dpnb_columnar.mechanisms.plan import ReleasePlan, plan, plan_given, without_second_pass
from dpnb_columnar.mechanisms.public_sample import weights_chosen
from dpnb_columnar.mechanisms.score_calibration import scores_given
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.model import load_model as read_model
from dpnb_columnar.rows.frames import Frame, is_frame

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]
Data: TypeAlias = "Paths | Frame"
Epsilon = str | int | float | Decimal | Fraction


def aggregate(
    data: Data,
    *,
    domain: Declaration | None = None,
    dataset: str | None = None,
    catalogue: str | PathLike[str] | None = None,
    label: str | None = None,
    engine: str = Engine.LOCAL,
) -> Statistics:
    """Count every cell of the domain over Parquet files, or over a frame. The result is CONFIDENTIAL.

    Args:
        data: Files, folders or patterns; or a Polars DataFrame, LazyFrame or Arrow table, which counts as a file of the
            same rows would, in the domain named by ``domain`` or ``dataset``.
        domain: Domain to count in; None for the one the files carry, or a catalogue holds for them.
        dataset: Catalogue entry to take the domain from.
        catalogue: The one catalogue to look for the entry in, which goes before a domain that the files carry; None for
            ``datasets.toml`` in the working directory, then the packaged one.
        label: What to predict: a condition, such as ``INCWAGE > 1000``, or a categorical column of the domain; None
            for what the domain declares.
        engine: ``local``, or ``spark`` for files: in this process's session of Spark, or in a new one.

    Raises:
        dpnb_columnar.errors.Error: if the command line would end with an error; the class is that of its exit code.
    """
    with _opened(data, engine) as rows:
        return rows.check(_declared(rows, domain, dataset, catalogue, label).domain).count()


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
            nothing. ``calibrated`` releases the tables, and leaves a tenth of the budget for weights that are fitted to
            the rows given these: ``count_scores`` counts them, ``calibrate`` releases them. ``auto`` chooses
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
    known = _declared_rows(rows, delta, attribute_weights)
    budget = budget_of(epsilon, delta, neighbours, known, shares)
    if attribute_weights == AUTO and known is None:
        known = _entry_rows(entry_declaring(statistics.domain))
    chosen = weights_chosen(attribute_weights, statistics.domain, mechanism, parts=statistics.parts)
    planned = without_second_pass(
        plan(statistics.domain, budget, mechanism, noise, chosen, known, can_score=counted.can_score)
    )
    return training.train(planned, counted, _payment(planned, (), ledger, account, None))


def train(
    data: Data,
    *,
    epsilon: Epsilon,
    delta: Epsilon = 0,
    rows: int | None = None,
    domain: Declaration | None = None,
    dataset: str | None = None,
    catalogue: str | PathLike[str] | None = None,
    label: str | None = None,
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
    """Train a differentially private model on Parquet files or a frame: ``aggregate``, then ``release``.

    A fault in the arguments is reported before a row is read.

    Args:
        data: Files, folders or patterns; or a Polars DataFrame, LazyFrame or Arrow table, as for ``aggregate``.
        epsilon: Privacy budget, as for ``release``.
        delta: The delta of (epsilon, delta)-differential privacy, or a rule for it, as for ``release``.
        rows: The declared number of rows, as for ``release``.
        domain: Domain to count in; None for the one that the files carry, or that a catalogue declares for them.
        dataset: Catalogue entry to take the domain from.
        catalogue: The one catalogue to look for the entry in, which goes before a domain that the files carry; None for
            ``datasets.toml`` in the working directory, then the packaged one.
        label: What to predict: a condition, or a categorical column of the domain; None for the declared label.
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
    known = _declared_rows(rows, delta, attribute_weights)
    budget = budget_of(epsilon, delta, neighbours, known, shares)
    with _opened(data, engine) as opened:
        resolved = _declared(opened, domain, dataset, catalogue, label)
        if attribute_weights == AUTO and known is None:
            known = _entry_rows(entry_declaring(resolved.domain) if domain is not None else resolved.entry)
        chosen = weights_chosen(attribute_weights, resolved.domain, mechanism, opened.files, label)
        planned = plan(resolved.domain, budget, mechanism, noise, chosen, known, can_score=opened.can_score)
        return training.train(planned, opened, _payment(planned, opened.names, ledger, account, run_id))


def count_scores(data: Data, model: Model, *, engine: str = Engine.LOCAL) -> ScoreCounts:
    """Count the rows by the score that a model gives them, for ``calibrate``. The result is CONFIDENTIAL.

    Args:
        data: Files, folders or patterns, or a frame, as for ``aggregate``; read in the model's domain.
        model: What ``release`` made of statistics with ``attribute_weights="calibrated"``.
        engine: ``local``, or ``spark`` for files.

    Raises:
        dpnb_columnar.errors.Error: if the command line would end with an error; the class is that of its exit code.
    """
    plan_given(model)
    with _opened(data, engine) as rows:
        return rows.check(model.domain).count_scores(scores_given(model))


def calibrate(
    model: Model,
    counts: ScoreCounts,
    *,
    ledger: str | PathLike[str] | None = None,
    account: str | None = None,
) -> Model:
    """Release the attribute weights of a model, for the part of the budget that it left for them.

    Args:
        model: What ``release`` made of statistics with ``attribute_weights="calibrated"``.
        counts: What ``count_scores`` counted given this model. Confidential.
        ledger: File of the ledger that pays; None where nobody accounts. It pays for the weights of a model once.
        account: Data set of the ledger that is charged; None for the domain's name.

    Raises:
        dpnb_columnar.errors.Error: if the command line would end with an error; the class is that of its exit code.
    """
    planned = plan_given(model)
    if counts.scores != scores_given(model):
        raise DataError("counts: were counted given another model, whose scores differ; count the rows given this one")
    return training.train(planned, CountedScores(counts), _payment(planned, (), ledger, account, None))


def load_model(path: str | PathLike[str]) -> Model:
    """Read a released model, JSON or Parquet.

    Raises:
        dpnb_columnar.errors.Error: if the file is missing, or not a model that this program reads.
    """
    return read_model(Path(path))


def _payment(
    plan: ReleasePlan,
    data: Sequence[str],
    ledger: str | PathLike[str] | None,
    account: str | None,
    run_id: str | None,
) -> Payment | None:
    """Make the payment of a release; None where nobody accounts.

    Raises:
        UsageError: if arguments do not go together, or as ``payment_for``.
    """
    if ledger is None:
        if account is not None or run_id is not None:
            raise UsageError("account and run_id are for a ledger; name its file with ledger")
        return None
    if run_id is not None and not data:
        raise UsageError(
            "run_id: what is held in memory has no name by which a ledger could tell it from other data; leave run_id "
            "out, or give files"
        )
    return payment_for(plan, Path(ledger), data, account, run_id)


@contextmanager
def _opened(data: Data, engine: str) -> Iterator[Input]:
    """Open the frame, or the files that paths stand for.

    Raises:
        UsageError: if the engine is unknown, or counts files and is given a frame.
    """
    if engine not in list(Engine):
        raise UsageError(f"engine: no {engine!r:.80}; known engines: {', '.join(Engine)}")
    if is_frame(data):
        if engine != Engine.LOCAL:
            raise UsageError(f"engine: {engine} counts files; a frame is counted here, so leave engine out")
        yield FrameInput(data)
        return
    paths = [data] if isinstance(data, str | PathLike) else data
    if not isinstance(paths, Sequence) or not all(isinstance(path, str | PathLike) for path in paths):
        raise UsageError(
            "data: neither names of files nor a frame of a known library (Polars, Arrow, pandas, DuckDB and the like)"
        )
    with opened_input(Engine(engine), [str(path) for path in paths], None, None) as rows:
        yield rows


def _declared(
    rows: Input,
    domain: Declaration | None,
    dataset: str | None,
    catalogue: str | PathLike[str] | None,
    label: str | None,
) -> ResolvedDomain:
    """Return the domain given, or find the domain of the rows.

    Raises:
        UsageError: if two domains are named.
    """
    if domain is None:
        return rows.find_domain(dataset, label, None if catalogue is None else Path(catalogue))
    if dataset is not None or catalogue is not None:
        other = "catalogue" if dataset is None else "dataset"
        raise UsageError(f"domain and {other} both name a domain; give one of them")
    return ResolvedDomain(_checked(domain, label), "domain")


def _checked(domain: Declaration, label: str | None) -> Domain:
    """Check a domain that was made by hand by the rules of a declared one.

    Raises:
        ConfigurationError: if the domain breaks them.
    """
    try:
        document = document_of(domain if label is None else labelled(domain, label))
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ConfigurationError(f"domain: cannot be written as a declaration ({error}); use read_domain") from None
    return read_domain(domain.name, document, "domain")


def budget_of(
    epsilon: Epsilon, delta: Epsilon, neighbours: str, rows: int | None = None, shares: str | None = None
) -> Budget:
    """Make the budget that arguments of ``release`` stand for.

    Raises:
        UsageError: if an argument is faulty.
    """
    known = [relation.value for relation in Neighbours]
    if neighbours not in known:
        raise UsageError(f"neighbours: no {neighbours!r}; known relations: {', '.join(known)}")
    division = None if shares is None else parse_division(shares)
    return Budget(parse_epsilon(epsilon), Neighbours(neighbours), division, parse_delta(delta, rows))


def _declared_rows(rows: int | None, delta: Epsilon, attribute_weights: str | PathLike[str]) -> int | None:
    """Check a declared number of rows.

    Raises:
        UsageError: if it is out of range, or nothing depends on it.
    """
    if rows is None:
        return None
    if attribute_weights != AUTO and not is_rule(delta):
        raise UsageError(
            "rows: only a rule for delta and attribute_weights auto depend on them; give delta 1/n or 1/n^2, or leave "
            "rows out"
        )
    return parse_rows(rows)


def _entry_rows(entry: Entry | None) -> int | None:
    """Return the number of rows that a catalogue entry declares, if any."""
    return None if entry is None or entry.rows is None else parse_rows(entry.rows)
