"""Runs inputs in a process of its own, which may crash, grow or hang: the one that started it notices."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
import traceback
from multiprocessing.connection import Connection
from pathlib import Path, PurePath
from random import Random
from typing import Any

from fuzz_outcome import MOST_MEMORY, Outcome, defects_of
from fuzzed_readers import READERS, Reader
from mutations import mutated

from dpnb_columnar.cli.main import exit_code
from dpnb_columnar.runtime.confinement import discard_native_errors

ADDRESS_SPACE = 8 * 2**30
EXECUTING = ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.fork", "socket.connect")


class Child:
    """Everything that stays the same from input to input."""

    def __init__(self, corpus: Path, scratch: Path) -> None:
        files = sorted(path for path in corpus.rglob("*") if path.is_file())
        self.seeds = {str(path.relative_to(corpus)): path.read_bytes() for path in files}
        self.scratch = scratch
        self.work = scratch / "inner" / "work"
        shutil.rmtree(scratch / "inner", ignore_errors=True)
        self.work.mkdir(parents=True)
        for name, content in self.seeds.items():
            (self.work / name).parent.mkdir(parents=True, exist_ok=True)
            (self.work / name).write_bytes(content)
        self.printed = os.open(scratch / "printed", os.O_RDWR)
        self.taken()
        self.watching = False
        self.executed: list[str] = []
        sys.dont_write_bytecode = True  # what a verb imports first would be written beside it
        sys.addaudithook(self.audit)

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note what would run a program, reach a server, or write elsewhere."""
        if not self.watching:
            return
        if event.startswith(EXECUTING):
            self.executed.append(event)
        elif event == "open" and isinstance(arguments[0], str) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
            path = Path(os.path.abspath(arguments[0]))  # noqa: PTH100 links are not to be followed
            if self.work not in path.parents and not str(path).startswith(("/dev/", "/proc/")):
                self.executed.append(f"writes {path}")

    def run(self, reader: Reader, seed: int) -> Outcome:
        random = Random(f"{reader.file} {seed}")
        command = random.choice(reader.commands).format(reader.file)
        others = [content for content in self.seeds.values() if len(content) < 2**20]
        changed = random.choice([name for name in self.seeds if PurePath(name).match(reader.file)])
        target = self.work / changed
        target.write_bytes(mutated(random, changed, self.seeds[changed], others))
        before = self.listing()
        self.watching, self.executed = True, []
        base = begin_peak()
        code, text = self.command(command)
        grown = peak() - base
        self.watching = False
        named = [changed, *(word for word in command.split() if (self.work / word).exists())]
        defects = [*defects_of(code, text, named), *self.executed]
        if grown > MOST_MEMORY:
            defects.append(f"{grown >> 20} MiB more")
        if "internal error" in defects:
            text = self.traceback(command)
        left = self.listing() ^ before
        if odd := sorted(name for name in left if not name.startswith("inner/work/out.")):
            defects.append(f"files left or gone: {odd}")
        if code and left:
            defects.append(f"failed, but left {sorted(left)}")
        for name in left:
            (self.scratch / name).unlink(missing_ok=True)
        target.write_bytes(self.seeds[changed])
        return Outcome(reader.file, seed, command, code, tuple(defects), text[:3000])

    def listing(self) -> set[str]:
        return {str(path.relative_to(self.scratch)) for path in self.scratch.rglob("*")}

    def command(self, line: str) -> tuple[int, str]:
        """Run a command line: exit code, and what was printed, also by native code."""
        os.chdir(self.work)
        try:
            code = exit_code(line.split())
        finally:
            text = self.taken()
        return code, text

    def taken(self) -> str:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        size = os.fstat(self.printed).st_size
        text = os.pread(self.printed, min(size, 2**20), 0).decode("utf-8", "replace")
        os.ftruncate(self.printed, 0)
        return text

    def traceback(self, line: str) -> str:
        os.environ["DPNB_TRACEBACK"] = "confidential"
        try:
            self.command(line)
        except BaseException:  # what it is is the question
            return traceback.format_exc(limit=-12)[-3000:]
        finally:
            del os.environ["DPNB_TRACEBACK"]
        return "does not happen again"


def begin_peak() -> int:
    """Bytes of memory now; from here on the peak is measured anew."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def serve(connection: Connection, corpus: Path, scratch: Path) -> None:
    """Run inputs as they are asked for, until there is no one left to ask."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import warnings

    warnings.simplefilter("ignore")
    os.environ["COLUMNS"] = "100"
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    printed = os.open(scratch / "printed", os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    discard_native_errors()
    if not corpus.exists():
        from seed_files import write_seed_files

        making = corpus.with_name("making")
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir()
        os.chdir(making)
        write_seed_files(making)
        making.rename(corpus)
    child = Child(corpus, scratch)
    connection.send("ready")
    while True:
        try:
            place, seed = connection.recv()
        except EOFError:
            return
        connection.send(child.run(READERS[place], seed))
