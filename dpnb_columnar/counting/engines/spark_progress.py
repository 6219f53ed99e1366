"""Report how much of a query Spark's workers have done, by the tasks of the stage that reads the rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dpnb_columnar.runtime.row_progress import begin_work, is_watched, polled


@contextmanager
def reported_stage(session: Any, rows: int | None) -> Iterator[None]:
    """Report how many of some rows the query within this block has read, as the share of tasks that are finished.

    Its first stage reads the rows, in tasks of about as many bytes each; the stages after it add up cells.

    Args:
        session: The ``pyspark.sql.SparkSession`` that runs the query.
        rows: How many rows there are; None to tell the share alone.
    """
    if not is_watched():
        yield
        return
    total, unit = (1, "") if rows is None else (rows, "rows")
    stage = _FirstStage(session.sparkContext.statusTracker())
    with polled(begin_work(total, unit), lambda: total * stage.share()):
        yield


class _FirstStage:
    """The first stage that runs from now on."""

    def __init__(self, tracker: Any) -> None:
        self._tracker = tracker
        self._number: int | None = None

    def share(self) -> float:
        """Return the share of its tasks that are finished; 0 where Spark does not say."""
        from py4j.protocol import Py4JError

        try:
            if self._number is None:
                self._number = min(self._tracker.getActiveStageIds(), default=None)
            known = None if self._number is None else self._tracker.getStageInfo(self._number)
        except Py4JError:  # Spark is gone; the query itself tells
            return 0.0
        return known.numCompletedTasks / known.numTasks if known and known.numTasks else 0.0
