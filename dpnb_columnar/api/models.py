"""Released models: kept, read again, compared with labelled rows."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar import training
from dpnb_columnar.api.arguments import (
    Data,
    Epsilon,
    budget_of,
    opened_data,
    opened_paths,
    refuse_table,
    score_payment_of,
)
from dpnb_columnar.budget import Neighbours
from dpnb_columnar.counting.inputs import Engine
from dpnb_columnar.mechanisms.score_release import plan_scores
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.model import load_model as read_model
from dpnb_columnar.model.released_scores import ReleasedScores
from dpnb_columnar.model.released_scores import load_scores as read_scores_file
from dpnb_columnar.rows.frames import is_frame
from dpnb_columnar.wording import speaking_python

if TYPE_CHECKING:
    from dpnb_columnar.model.evaluation import Evaluation


@speaking_python()
def save(model: Model, path: str | PathLike[str], *, overwrite: bool = False) -> None:
    """Write a model, which is public: as ``model.save``.

    Args:
        model: The model.
        path: File to write: ``.json``, or ``.parquet`` for one row per parameter.
        overwrite: Whether to replace an existing file.

    Raises:
        dpnb_columnar.errors.Error: if the name ends otherwise, or the file exists or cannot be written.
    """
    model.save(Path(path), overwrite=overwrite)


@speaking_python()
def load_model(path: str | PathLike[str]) -> Model:
    """Read a released model.

    Args:
        path: Model file, JSON or Parquet.

    Raises:
        dpnb_columnar.errors.Error: if the file is missing, or not a model that this program reads.
    """
    return read_model(Path(path))


@speaking_python()
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
    """
    if is_frame(data):
        refuse_table(table)
        return model.evaluate(data)
    from dpnb_columnar.model.exact_evaluation import evaluate as evaluate_rows
    from dpnb_columnar.model.exact_evaluation import open_evaluated

    return evaluate_rows(model, open_evaluated(opened_paths(data, table).open, model.domain))


@speaking_python()
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
    """
    planned = plan_scores(model, budget_of(epsilon, 0, neighbours))
    with opened_data(data, engine, table) as opened:
        payment = score_payment_of(planned, opened.names, ledger, account, run_id)
        return training.carry_out(training.ScoringTask(planned), opened, payment)


@speaking_python()
def load_scores(path: str | PathLike[str]) -> ReleasedScores:
    """Read released scores.

    Args:
        path: JSON file that ``ReleasedScores.save`` or ``evaluate --epsilon`` wrote.

    Raises:
        dpnb_columnar.errors.Error: if the file is missing, or does not hold released scores.
    """
    return read_scores_file(Path(path))
