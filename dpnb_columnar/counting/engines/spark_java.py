"""Start, stop and end the Java process behind pyspark, and reach its file systems.

Every use of a private attribute of pyspark or py4j is in this module: ``hadoop``, ``end_java`` and ``_forget_java``
say why.
"""

from __future__ import annotations

import subprocess
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dpnb_columnar.errors import UnavailableError

LONGEST_START = 180.0
"""Seconds to wait for Java, and then for a session, to start."""

LONGEST_END = 20.0
"""Seconds that Spark has to stop, and then its process to leave the cluster and remove its files."""


def hadoop(session: Any) -> tuple[Any, Any]:
    """Return Hadoop's Java class ``Path`` and the Hadoop configuration of a session, which open Spark's file systems.

    ``_jvm`` is private: pyspark has no public access to the file systems. Its public readers do not give the end of a
    file, where the domain and the digest of a part are: ``parquet`` gives types alone, and ``binaryFile`` reads the
    whole file.
    """
    java = session.sparkContext._jvm
    return java.org.apache.hadoop.fs.Path, java.org.apache.spark.SparkContext.getOrCreate().hadoopConfiguration()


def java_is_known() -> bool:
    """Test whether pyspark has a Java process: a new ``SparkConf`` holds that process's settings, and none without one.

    Raises:
        UnavailableError: if the process has ended.
    """
    from py4j.protocol import Py4JError
    from pyspark import SparkConf

    try:
        return bool(SparkConf().getAll())
    except Py4JError:
        raise UnavailableError("the Java process of Spark has ended; start this program again") from None


def launch_java() -> Any:
    """Start a Java process that shows nothing, or connect to that of ``spark-submit``.

    Returns:
        The py4j gateway to it; its ``proc`` is None for that of ``spark-submit``.

    Raises:
        UnavailableError: if Java cannot be started.
    """
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
            "Spark's Java process does not start; Spark needs Java 17 or later: install it, or set JAVA_HOME"
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
    """Stop a Spark session or context, waiting for ``LONGEST_END`` at most.

    A thread of its own has a connection of its own: after a signal, this thread's connection may be in the middle of a
    call.
    """
    from py4j.protocol import Py4JError

    def stop_quietly() -> None:
        with warnings.catch_warnings(), suppress(Py4JError, OSError):
            warnings.simplefilter("ignore")  # that the process has ended
            started.stop()

    stopping = threading.Thread(target=stop_quietly, daemon=True)
    stopping.start()
    stopping.join(LONGEST_END)


def end_java(gateway: Any) -> None:
    """End the Java process of a gateway of ``launch_java``; that of ``spark-submit`` is left to it.

    The process is told by the end of its input. It then leaves its cluster and removes its files, as it also does where
    this process is killed.
    """
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
    _forget_java()


def _forget_java() -> None:
    """Make pyspark forget its Java process, so that the caller's next session starts a new one.

    The attributes are private: pyspark has no public way to forget a process, since it keeps one until Python ends. The
    one started here cannot be left to the caller, who would see no log and no output of its own sessions in it.
    """
    from pyspark import SparkContext

    SparkContext._gateway = SparkContext._jvm = None
