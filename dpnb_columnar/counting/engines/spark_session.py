"""Provide the Spark session that counts: one beside the caller's own session, or one started here and ended afterwards.

Nothing that Spark writes is passed on: its errors and its log may quote rows.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from dpnb_columnar.counting.engines.spark_java import end_java, java_is_known, killed_if_late, launch_java, stop
from dpnb_columnar.errors import UnavailableError, UsageError

EXACT: Mapping[str, str] = {
    "spark.sql.caseSensitive": "true",
    "spark.sql.ansi.enabled": "true",  # decimals have a text without exponents
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.runSQLOnFiles": "false",  # a path as the name of a table would bypass every check of files
    "spark.sql.legacy.charVarcharAsString": "true",  # texts as they are stored, without padding
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.parquet.filterPushdown": "false",  # extremes in footers are wrong for NaN in files of some writers
    "spark.sql.parquet.mergeSchema": "false",
    "spark.sql.optimizer.excludedRules": "",
}
"""Settings that the exact counts depend on, whatever the cluster's defaults are."""

CONFIDENTIAL: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
    "spark.log.level": "OFF",
}
"""Settings that keep a session started here from showing numbers of rows, in its web pages, event log or log."""

DEFAULTS: Mapping[str, str] = {
    "spark.master": "local[*]",
    "spark.app.name": "dpnb-columnar",
    "spark.io.encryption.enabled": "true",  # files of a shuffle hold exact counts
    "spark.executor.defaultJavaOptions": "-XX:-DontCompileHugeMethods",  # the query of a wide domain is a huge method
}
"""Settings of a session started here where the user's configuration of Spark has none."""

STARTED_BY = "spark.dpnb_columnar.started_by"
"""Setting that tells a context started here from one of the caller's."""

LONGEST_CONNECTION = 10.0
"""Seconds to wait for a master to accept a connection."""

STANDALONE, STANDALONE_PORT = "spark://", 7077
CONNECT = "sc://"


@contextmanager
def counting_session(master: str | None) -> Iterator[Any]:
    """Provide a ``pyspark.sql.SparkSession`` with the settings of ``EXACT``, on the caller's cluster.

    Where this process has a Spark context already, the session runs in it, beside the caller's sessions, whose settings
    stay as they are. Otherwise a context is started, and it ends with the block, however that ends.

    Args:
        master: Address of the cluster, such as ``spark://host:7077``, ``yarn`` or ``local[4]``; None for the one of
            Spark's configuration.

    Raises:
        UsageError: if the address is one of Spark Connect, or differs from that of the process's context.
        UnavailableError: if pyspark or Java is not installed, or if Spark does not start.
    """
    _check_classic(master)
    provided = _session_in_known_process if java_is_known() else _session_in_new_process
    with provided(master) as default:
        session = default.newSession()
        for name, value in EXACT.items():
            session.conf.set(name, value)
        yield session


def _check_classic(master: str | None) -> None:
    """Check that pyspark is installed and runs Spark itself, not through Spark Connect.

    Raises:
        UsageError: if the address, or the environment, asks for Spark Connect.
        UnavailableError: if pyspark is not installed.
    """
    connect = UsageError(f"master: Spark Connect ({CONNECT}) is not supported; name a master, or use spark-submit")
    if (master or os.environ.get("SPARK_REMOTE", "")).startswith(CONNECT):
        raise connect
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the version of pandas, which is not used
            from pyspark.sql.utils import is_remote
    except ImportError:
        raise UnavailableError(
            "counting with Spark needs pyspark; install it with: pip install 'dpnb-columnar[spark]'"
        ) from None
    if is_remote():
        raise connect


@contextmanager
def _session_in_known_process(master: str | None) -> Iterator[Any]:
    """Provide the caller's session in the Java process that pyspark has, or one that ends with the block.

    Raises:
        UsageError: if the process has a context of another master.
        UnavailableError: if Spark does not start.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    configuration, token = SparkConf(), uuid4().hex
    _configure(configuration, configuration.contains, master)
    with _start_errors(master):
        context = SparkContext.getOrCreate(configuration.set(STARTED_BY, token))
    if context.getConf().get(STARTED_BY) == token:
        started: Any = context
        try:
            started = SparkSession(context)
            yield started
        finally:
            stop(started)
    elif master in (None, context.master):
        yield _session_of(context)
    else:
        raise UsageError("master: this process has a session of Spark with another one; leave --master out, or stop it")


def _session_of(context: Any) -> Any:
    """Return the active session of a context, or else its default session, which is made if need be."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    with suppress(PySparkRuntimeError):
        active = SparkSession.active()
        if active.sparkContext is context:  # it may be one that was stopped with its context
            return active
    return SparkSession(context)


@contextmanager
def _session_in_new_process(master: str | None) -> Iterator[Any]:
    """Provide a session in a Java process that is started for it, both ended with the block.

    Raises:
        UnavailableError: if Java or Spark does not start.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    _check_answer(master)
    gateway = launch_java()
    started: Any = None
    try:
        with _start_errors(master), killed_if_late(gateway.proc):
            configuration = SparkConf()
            _configure(configuration, gateway.jvm.org.apache.spark.SparkConf().contains, master)
            started = SparkContext(conf=configuration, gateway=gateway)
            started = SparkSession(started)
        yield started
    finally:
        if started is not None:
            stop(started)
        end_java(gateway)


def _check_answer(master: str | None) -> None:
    """Refuse the master of a standalone cluster that does not answer: Spark would try for a minute.

    Raises:
        UnavailableError: if none of the masters accepts a connection.
    """
    if master is None or not master.startswith(STANDALONE):
        return
    for host in master.removeprefix(STANDALONE).split(","):
        with suppress(OSError, ValueError):
            parts = urlsplit(f"//{host}")
            with socket.create_connection((parts.hostname or "", parts.port or STANDALONE_PORT), LONGEST_CONNECTION):
                return
    raise UnavailableError(f"{master:.200}: nobody answers there; check --master, and that the cluster runs")


def _configure(configuration: Any, has_default: Callable[[str], bool], master: str | None) -> None:
    """Put the settings of a context that is started here into a ``pyspark.SparkConf``.

    Args:
        configuration: Configuration to change.
        has_default: Whether Spark's own configuration has a setting.
        master: Address of the cluster; None for the one of Spark's configuration.
    """
    configuration.setAll(CONFIDENTIAL.items())
    configuration.setAll((name, value) for name, value in DEFAULTS.items() if not has_default(name))
    if master is not None:
        configuration.setMaster(master)


@contextmanager
def _start_errors(master: str | None) -> Iterator[None]:
    """Report that Spark does not start, quietly and with Ctrl-C handled as before: pyspark sets a handler of its own.

    Raises:
        UnavailableError: if the block fails.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    in_main_thread = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if in_main_thread else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (Py4JError, PySparkException, OSError):
        raise UnavailableError(
            f"{'' if master is None else f'{master:.200}: '}Spark gives no session; check --master, Spark's "
            "configuration (spark-defaults.conf in SPARK_CONF_DIR), and that the cluster runs"
        ) from None
    finally:
        if in_main_thread:
            signal.signal(signal.SIGINT, handler)
