"""Asks a process for outcomes, and starts another when it dies or does not answer."""

from __future__ import annotations

import multiprocessing
import signal
import tempfile
from pathlib import Path, PurePath
from types import TracebackType

from fuzz_child import serve
from fuzz_outcome import MOST_SECONDS, Outcome
from fuzzed_readers import READERS

START_SECONDS = 120.0

ABORTS = {(".parquet", -signal.SIGABRT), ("log", -signal.SIGSEGV), (".avro", -signal.SIGSEGV)}
"""Files whose reader may end the process: Polars has no room for what a page claims, Delta's library reads nested JSON
by recursion, and Iceberg's decodes manifests in C. docs/batch.md says so, and test_kills that nothing is
charged."""


class Fuzzer:
    """Runs inputs, each whatever the one before has done."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="fuzz-")
        self._process: multiprocessing.process.BaseProcess | None = None

    def __enter__(self) -> Fuzzer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._folder.cleanup()

    def outcome(self, place: int, seed: int) -> Outcome:
        """Give one changed file to the reader at this place of ``READERS``."""
        if self._process is None:
            self._start()
        try:
            self._connection.send((place, seed))
            if self._connection.poll(MOST_SECONDS):
                found: Outcome = self._connection.recv()
                return found
            defect: str | None = f"no answer within {MOST_SECONDS} s"
        except (EOFError, ConnectionResetError, BrokenPipeError):
            self._process.join()
            kind = "log" if "_delta_log/" in READERS[place].file else PurePath(READERS[place].file).suffix
            if (kind, self._process.exitcode) in ABORTS:
                defect = None
            else:
                defect = f"the process died with {self._process.exitcode}"
        text = self._printed()
        self.stop()
        return Outcome(READERS[place].file, seed, "", None, (defect,) if defect else (), text)

    def stop(self) -> None:
        if self._process is not None:
            self._connection.close()
            self._process.kill()
            self._process.join()
            self._process = None

    def _start(self) -> None:
        folder = Path(self._folder.name)
        (folder / "scratch").mkdir(exist_ok=True)
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, folder / "corpus", folder / "scratch"), daemon=True)
        self._process.start()
        theirs.close()
        if not self._connection.poll(START_SECONDS):
            raise RuntimeError("the process that runs inputs did not start")
        try:
            self._connection.recv()
        except EOFError:
            raise RuntimeError(self._printed()) from None

    def _printed(self) -> str:
        return (Path(self._folder.name) / "scratch" / "printed").read_text(errors="replace")[-2000:]
