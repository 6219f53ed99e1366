"""Watch a query that Spark's workers carry out: how much of it they have done, and why it fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dpnb_columnar.errors import DataError, UnavailableError
from dpnb_columnar.runtime.row_progress import begin_work, is_watched, polled

DAMAGED = ("FAILED_READ_FILE", "Parquet", "FileNotFound", "EOFException", "ChecksumException", "SchemaColumnConvert")
"""Parts of the names and conditions of Spark's errors where a file cannot be read."""


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


@contextmanager
def spark_errors(name: str) -> Iterator[None]:
    """Report Spark's errors as errors of this package: Spark's own texts may quote rows.

    Raises:
        DataError: if a file cannot be read.
        UnavailableError: if Spark fails for another reason.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        if any(word in cause for cause in _causes(error) for word in DAMAGED):
            raise DataError(
                f"{name}: cannot be read to the end (damaged, cut short, or not where Spark's workers see it); write "
                "or copy it again"
            ) from None
        raise UnavailableError(
            f"{name}: Spark does not come to the end of the count (a lost cluster, or too little memory); see the logs "
            "of its executors, and try again"
        ) from None


def _causes(error: Any) -> Iterator[str]:
    """List the class names and the conditions of an error of Spark and of the errors behind it, without their texts."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        if isinstance(error, PySparkException):
            yield str(error.getCondition())
        cause = getattr(error, "java_exception", None)
        while cause is not None:
            yield str(cause.getClass().getName())
            if hasattr(cause, "getCondition"):
                yield str(cause.getCondition())
            cause = cause.getCause()
    except Py4JError:  # the connection is gone as well
        return
