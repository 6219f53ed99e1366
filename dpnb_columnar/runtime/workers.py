"""Processes side by side. Nothing heavy is imported here, so that a process can be set up before it loads anything."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

WAITING = 2
"""Tasks per process that are handed out at a time."""


def side_by_side(
    work: Callable[[Task], Result], tasks: Iterable[Task], processes: int
) -> Generator[tuple[Task, Result], None, None]:
    """Results as they are finished, with their tasks; in order in a single process, which is this one.

    Tasks begin in order. Processes start afresh: forked ones would inherit the locks of the engines' threads. They end
    at once when the generator is closed, an interrupt included, and when the caller is killed.

    Args:
        work: A module's function, for it is found by its name in the other processes.
        tasks: What to call it with.
        processes: How many to start, at least 1.
    """
    if processes < 2:
        for task in tasks:
            yield task, work(task)
        return
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), set_up)
    try:
        remaining = iter(tasks)
        running: dict[Future[Result], Task] = {}
        while True:
            for task in islice(remaining, WAITING * processes - len(running)):
                running[pool.submit(work, task)] = task
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                task = running.pop(future)
                yield task, future.result()
    except BaseException:
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def set_up() -> None:
    """Prepare a process: interrupts are its parent's to handle, and processes side by side need one thread each."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    threading.Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    """A process whose parent was killed would wait for tasks for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
