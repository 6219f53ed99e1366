"""The weights of a model in a release of their own: count its scores, and release what they say."""

from __future__ import annotations

from os import PathLike

from dpnb_columnar import training
from dpnb_columnar.api.arguments import Data, opened_data, payment_of
from dpnb_columnar.counting.countable import CountedScores
from dpnb_columnar.counting.inputs import Engine
from dpnb_columnar.counting.scores import ScoreCounts
from dpnb_columnar.errors import DataError
from dpnb_columnar.mechanisms.plan import plan_given
from dpnb_columnar.mechanisms.score_calibration import scores_given
from dpnb_columnar.model.model import Model
from dpnb_columnar.wording import speaking_python


@speaking_python()
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
    with opened_data(data, engine) as rows:
        return rows.check(model.domain).count_scores(scores_given(model))


@speaking_python()
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
    return training.train(planned, CountedScores(counts), payment_of(planned, (), ledger, account, None))
