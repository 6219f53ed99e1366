"""The weights of a model in releases of their own: count what it asks the rows next, and release what they say."""

from __future__ import annotations

from os import PathLike

from dpnb_columnar import training
from dpnb_columnar.api.arguments import Data, opened_data, payment_of
from dpnb_columnar.counting import further_passes
from dpnb_columnar.counting.further_passes import CountedGiven, FurtherStatistics
from dpnb_columnar.counting.inputs import Engine
from dpnb_columnar.counting.scores import ScoreCounts
from dpnb_columnar.errors import DataError
from dpnb_columnar.mechanisms.further_releases import plan_given, query_given
from dpnb_columnar.model.model import Model
from dpnb_columnar.wording import speaking_python


@speaking_python()
def count_given(data: Data, model: Model, *, engine: str = Engine.LOCAL) -> FurtherStatistics:
    """Count what a model that left a part of its budget asks the rows next, for ``calibrate``. CONFIDENTIAL.

    That is the rows by the score that the model gives them, or the sums of a round.

    Args:
        data: Files, folders or patterns, or a frame, as for ``aggregate``; read in the model's domain.
        model: What ``release`` made of statistics with ``attribute_weights`` ``calibrated`` or ``learned``, or what
            ``calibrate`` made of it so far.
        engine: ``local``, or ``spark`` for files.

    Raises:
        dpnb_columnar.errors.Error: if the command line would end with an error; the class is that of its exit code.
    """
    plan_given(model)
    with opened_data(data, engine) as rows:
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
