"""Provide the Spark session that counts: one beside the caller's own session, or one started here and ended afterwards.

Nothing that Spark writes is passed on: its errors and its log may quote rows.

The Java process behind pyspark is started, stopped and ended here. Every use of a private attribute of pyspark or py4j
is in this module: ``hadoop`` and ``end_java`` say why.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from dpnb_columnar.errors import UnavailableError, UsageError

LONGEST_START = 180.0
"""Seconds to wait for Java, and then for a session, to start."""

LONGEST_END = 20.0
"""Seconds that Spark has to stop, and then its process to leave the cluster and remove its files."""


def hadoop(session: Any) -> tuple[Any, Any]:
    """Return Hadoop's Java class ``Path`` and the Hadoop configuration of a session, which open Spark's file systems.

    ``_jvm`` is private: pyspark has no public access to the file systems, and its public readers give no end of a file.
    """
    java = session.sparkContext._jvm
    return java.org.apache.hadoop.fs.Path, java.org.apache.spark.SparkContext.getOrCreate().hadoopConfiguration()


def java_is_known() -> bool:
    """Test whether pyspark has a Java process: a new ``SparkConf`` holds its settings, and none without one."""
    from py4j.protocol import Py4JError
    from pyspark import SparkConf

    try:
        return bool(SparkConf().getAll())
    except Py4JError:
        raise UnavailableError("the Java process of Spark has ended; start this program again") from None


def launch_java() -> Any:
    """Start a Java process that shows nothing, or connect to that of ``spark-submit``."""
    from pyspark import java_gateway
    from pyspark.errors import PySparkRuntimeError

    launch_gateway: Any = java_gateway.launch_gateway
    gateways: list[Any] = []

    def launch() -> None:
        with suppress(PySparkRuntimeError, OSError):
            silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            gateways.append(launch_gateway(popen_kwargs=silent))

    # In a thread, since pyspark waits for ever for a process that ends silently, or never answers.
    launching = threading.Thread(target=launch, daemon=True)
    launching.start()
    launching.join(LONGEST_START)
    if not gateways:
        raise UnavailableError(
            "Spark's Java process does not start; Spark needs Java 17 or later: install it, or set JAVA_HOME; and check"
            f" {WHERE}"
        )
    return gateways[0]


@contextmanager
def killed_if_late(process: subprocess.Popen[bytes] | None) -> Iterator[None]:
    """Kill a process if the block takes longer than ``LONGEST_START``, whereupon the block fails."""
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


def stop(started: Any) -> None:
    """Stop a Spark session or context, waiting for ``LONGEST_END`` at most."""
    from py4j.protocol import Py4JError

    def stop_quietly() -> None:
        with warnings.catch_warnings(), suppress(Py4JError, OSError):
            warnings.simplefilter("ignore")  # that the process has ended
            started.stop()

    # A thread of its own has a connection of its own: after a signal, this one's may be in the middle of a call.
    stopping = threading.Thread(target=stop_quietly, daemon=True)
    stopping.start()
    stopping.join(LONGEST_END)


def end_java(gateway: Any) -> None:
    """End the Java process of a gateway of ``launch_java``, by the end of its input; not that of ``spark-submit``."""
    from pyspark import SparkContext

    process = gateway.proc
    if process is None:
        return
    # A thread of py4j tells Java which objects nobody refers to any more, and logs a traceback where Java is ending.
    # Its public way to stop that is a call to Java, which may hang after a signal.
    gateway._gateway_client.is_connected = False
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(LONGEST_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    gateway.close()
    # pyspark forgets the process, so that the caller's next session starts a new one, with logs. It has no public way
    # to forget one, since it keeps one until Python ends.
    SparkContext._gateway = SparkContext._jvm = None


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

WHERE = "spark.master (spark-defaults.conf in SPARK_CONF_DIR, or the arguments of spark-submit)"
"""Where Spark's own configuration says which cluster counts, for errors."""

STANDALONE, STANDALONE_PORT = "spark://", 7077
CONNECT = "sc://"


@contextmanager
def counting_session() -> Iterator[Any]:
    """Provide a ``SparkSession`` with the settings of ``EXACT``, in the caller's context if there is one."""
    _check_classic()
    provided = _session_in_known_process if java_is_known() else _session_in_new_process
    with provided() as default:
        session = default.newSession()
        for name, value in EXACT.items():
            session.conf.set(name, value)
        yield session


def _check_classic() -> None:
    """Check that pyspark is installed and runs Spark itself, not through Spark Connect."""
    connect = UsageError(f"Spark Connect ({CONNECT}) is not supported; unset SPARK_REMOTE, or use spark-submit")
    if os.environ.get("SPARK_REMOTE", "").startswith(CONNECT):
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
def _session_in_known_process() -> Iterator[Any]:
    """Provide the caller's session in the Java process that pyspark has, or one that ends with the block."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    configuration, token = SparkConf(), uuid4().hex
    _configure(configuration, configuration.contains)
    with _start_errors():
        context = SparkContext.getOrCreate(configuration.set(STARTED_BY, token))
    if context.getConf().get(STARTED_BY) == token:
        started: Any = context
        try:
            started = SparkSession(context)
            yield started
        finally:
            stop(started)
    else:
        yield _session_of(context)


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
def _session_in_new_process() -> Iterator[Any]:
    """Provide a session in a Java process that is started for it, both ended with the block."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    gateway = launch_java()
    started: Any = None
    try:
        with _start_errors(), killed_if_late(gateway.proc):
            configuration, own = SparkConf(), gateway.jvm.org.apache.spark.SparkConf()
            _check_answer(own.get("spark.master", ""))
            _configure(configuration, own.contains)
            started = SparkContext(conf=configuration, gateway=gateway)
            started = SparkSession(started)
        yield started
    finally:
        if started is not None:
            stop(started)
        end_java(gateway)


def _check_answer(master: str) -> None:
    """Refuse the master of a standalone cluster that does not answer: Spark would try for a minute."""
    if not master.startswith(STANDALONE):
        return
    for host in master.removeprefix(STANDALONE).split(","):
        with suppress(OSError, ValueError):
            parts = urlsplit(f"//{host}")
            with socket.create_connection((parts.hostname or "", parts.port or STANDALONE_PORT), LONGEST_CONNECTION):
                return
    raise UnavailableError(f"{master:.200}: nobody answers there; check {WHERE}, and that the cluster runs")


def _configure(configuration: Any, has_default: Callable[[str], bool]) -> None:
    """Put the settings of a context that is started here into a ``pyspark.SparkConf``."""
    configuration.setAll(CONFIDENTIAL.items())
    configuration.setAll((name, value) for name, value in DEFAULTS.items() if not has_default(name))


@contextmanager
def _start_errors() -> Iterator[None]:
    """Report that Spark does not start, quietly, with Ctrl-C handled as before: pyspark sets its own handler."""
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
            f"cannot start a Spark session; check {WHERE}, the other settings there, and that the cluster runs"
        ) from None
    finally:
        if in_main_thread:
            signal.signal(signal.SIGINT, handler)
