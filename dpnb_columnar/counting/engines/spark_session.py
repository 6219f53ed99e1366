"""The session that counts: one of the caller's application, or one that is started here and ended with the count.

Nothing that Spark says is passed on: its errors and its log may quote rows.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from dpnb_columnar.errors import UnavailableError, UsageError

# MERGED FROM dpnb_columnar/counting/engines/spark_session.py: Settings of Spark that counting depends on, and those
# that keep exact counts from being shown.

EXACT: Mapping[str, str] = {
    "spark.sql.caseSensitive": "true",
    "spark.sql.ansi.enabled": "true",  # decimals have a text without exponents
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.runSQLOnFiles": "false",  # a path as the name of a table would go round every check of files
    "spark.sql.legacy.charVarcharAsString": "true",  # as they are stored, without padding
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.parquet.filterPushdown": "false",  # extremes in footers are wrong for NaN in files of some writers
    "spark.sql.parquet.mergeSchema": "false",
    "spark.sql.optimizer.excludedRules": "",
}
"""What the same integers as everywhere else depend on, whatever the cluster's defaults are."""

UNSEEN: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
    "spark.log.level": "OFF",
}
"""What a session of ours shows to nobody: its web pages and its event log hold numbers of rows."""

UNLESS_SET: Mapping[str, str] = {
    "spark.app.name": "dpnb-columnar",
    "spark.io.encryption.enabled": "true",  # files of a shuffle hold exact counts
    "spark.executor.defaultJavaOptions": "-XX:-DontCompileHugeMethods",  # a domain of many columns is one
}
"""What a session of ours has unless the user's configuration of Spark says otherwise."""


LONGEST_START = 180.0
"""Seconds until a session that nobody has given us is given up."""

LONGEST_ANSWER = 10.0
"""Seconds until a master that does not take a connection is given up."""

LONGEST_END = 20.0
"""Seconds that Spark's process has to leave the cluster and remove its files."""

STANDALONE, STANDALONE_PORT = "spark://", 7077
CONNECT = "sc://"
ANYWHERE = "local[*]"
NOTHING_SHOWN = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@contextmanager
def counting_session(master: str | None) -> Iterator[Any]:
    """A ``pyspark.sql.SparkSession`` with settings of our own, on the caller's cluster.

    Args:
        master: Where to start one, such as ``spark://host:7077``, ``yarn`` or ``local[4]``; None for what Spark's
            configuration says. A session that this process has already is used, and left as it is.

    Raises:
        UsageError: The master is none that this works with, or another one than the session's.
        UnavailableError: pyspark or Java is not installed, or no session can be had.
    """
    if (master or os.environ.get("SPARK_REMOTE", "")).startswith(CONNECT):
        raise _no_connect()
    existing = _existing()
    if existing is None:
        _check_address(master)
        with _started(master) as session:
            yield _exact(session)
    elif master in (None, existing.sparkContext.master):
        yield _exact(existing)
    else:
        raise UsageError("master: this process has a session of Spark with another one; leave --master out, or stop it")


def _exact(session: Any) -> Any:
    """A session beside this one, with the settings that the counts depend on."""
    ours = session.newSession()
    for name, value in EXACT.items():
        ours.conf.set(name, value)
    return ours


def _existing() -> Any:
    """The session that this process has, or None.

    Raises:
        UsageError: It is one of Spark Connect.
        UnavailableError: pyspark is not installed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the version of pandas, which is not used
            from pyspark import SparkContext
            from pyspark.errors import PySparkRuntimeError
            from pyspark.sql import SparkSession
            from pyspark.sql.utils import is_remote
    except ImportError:
        raise UnavailableError(
            "counting with Spark needs pyspark; install it with: pip install 'dpnb-columnar[spark]'"
        ) from None
    if is_remote():
        raise _no_connect()
    context = SparkContext._active_spark_context
    if context is None:  # a session may still be known, and was stopped with its context
        return None
    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return SparkSession(context)


def _no_connect() -> UsageError:
    return UsageError(f"master: Spark Connect ({CONNECT}) is not supported; name a master, or use spark-submit")


def _check_address(master: str | None) -> None:
    """Refuse the master of a standalone cluster that nobody answers at: Spark would try for a minute."""
    if master is None or not master.startswith(STANDALONE):
        return
    for host in master.removeprefix(STANDALONE).split(","):
        with suppress(OSError, ValueError):
            parts = urlsplit(f"//{host}")
            with socket.create_connection((parts.hostname or "", parts.port or STANDALONE_PORT), LONGEST_ANSWER):
                return
    raise UnavailableError(f"{master:.200}: nobody answers there; check --master, and that the cluster runs")


@contextmanager
def _started(master: str | None) -> Iterator[Any]:
    """A session that ends with the block, however that ends, and with it the process that is started for it."""
    from pyspark import SparkContext

    known = SparkContext._gateway  # that of spark-submit, or of a session of the caller's that was stopped
    gateway, session = known or _gateway(), None
    try:
        try:
            with _bounded(gateway.proc), _interrupts_as_before(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                session = _session(gateway, master)
        except Exception:  # whatever it is made of: the connection's errors are of many libraries
            raise UnavailableError(
                f"{'' if master is None else f'{master:.200}: '}Spark gives no session; check --master, Spark's "
                "configuration (spark-defaults.conf in SPARK_CONF_DIR), and that the cluster runs"
            ) from None
        yield session
    finally:
        if known is None and gateway.proc is not None:
            _end(gateway)
        else:
            made: Any = session or SparkContext._active_spark_context
            with suppress(Exception):
                made.stop()


def _gateway() -> Any:
    """A process of Java's to talk to: a new one, or that of ``spark-submit``.

    Raises:
        UnavailableError: Java cannot be started.
    """
    from pyspark import java_gateway
    from pyspark.errors import PySparkRuntimeError

    begun: list[Any] = []

    def launch() -> None:
        with suppress(PySparkRuntimeError, OSError):
            begin: Any = java_gateway.launch_gateway
            begun.append(begin(None, dict(NOTHING_SHOWN)))

    # Apart, since pyspark waits for ever for a process that ends without a word, or never speaks.
    launching = threading.Thread(target=launch, daemon=True)
    launching.start()
    launching.join(LONGEST_START)
    if not begun:
        raise UnavailableError(
            "Spark's Java process does not start; Spark needs Java 17 or later: install it, or set JAVA_HOME"
        )
    return begun[0]


def _session(gateway: Any, master: str | None) -> Any:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    configuration = SparkConf(True, gateway.jvm)
    if master is not None:
        configuration.setMaster(master)
    for name, value in UNSEEN.items():
        configuration.set(name, value)
    for name, value in {"spark.master": ANYWHERE, **UNLESS_SET}.items():
        configuration.setIfMissing(name, value)
    return SparkSession(SparkContext(conf=configuration, gateway=gateway))


@contextmanager
def _bounded(process: subprocess.Popen[bytes] | None) -> Iterator[None]:
    """End the process if the block takes too long, whereupon the block fails."""
    if process is None:
        yield
        return
    timer = threading.Timer(LONGEST_START, process.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _interrupts_as_before() -> Iterator[None]:
    """Ctrl-C is handled as before: pyspark puts a handler of its own in the place of ours."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _end(gateway: Any) -> None:
    """End the process that was started; what pyspark remembers of it goes as well.

    Told by the end of its input and not by a call, since after a signal the connection is in the middle of one. It then
    leaves its cluster and removes its files, as it also does should this process be killed.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    process = gateway.proc
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(LONGEST_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    gateway.close()
    context: Any = SparkContext._active_spark_context
    with suppress(Exception):
        context._accumulatorServer.shutdown()
    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
