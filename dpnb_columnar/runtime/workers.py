"""Worker processes, which are set up here before they load an engine, and items made ahead by a thread."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

from dpnb_columnar.errors import CommandLine, current_front_door, front_door

Item = TypeVar("Item")
Task = TypeVar("Task")
Result = TypeVar("Result")


def prefetch(items: Generator[Item], depth: int) -> Generator[Item]:
    """Make the next items in a thread; an error takes its item's place, and the generator is closed at the end."""
    pool = ThreadPoolExecutor(max_workers=1)
    waiting: deque[Future[Item | None]] = deque()
    try:
        while True:
            while len(waiting) <= depth:
                waiting.append(pool.submit(next, items, None))
            item = waiting.popleft().result()
            if item is None:
                return
            yield item
    finally:
        pool.shutdown(cancel_futures=True)
        items.close()


TASKS_AHEAD = 2  # tasks per worker that are handed out at a time


def run_in_processes(
    work: Callable[[Task], Result], tasks: Iterable[Task], processes: int
) -> Generator[tuple[Task, Result], None, None]:
    """Yield tasks with a function's results of worker processes, spawned since forked ones would inherit locks."""
    if processes < 2:
        for task in tasks:
            yield task, work(task)
        return
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), set_up_worker)
    try:
        remaining = iter(tasks)
        running: dict[Future[Result], Task] = {}
        while True:
            for task in islice(remaining, TASKS_AHEAD * processes - len(running)):
                running[pool.submit(_work_through, current_front_door(), work, task)] = task
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


def _work_through(door: CommandLine, work: Callable[[Task], Result], task: Task) -> Result:
    """Do a task in a worker, whose errors are worded for the front door of its parent."""
    with front_door(door):
        return work(task)


def set_up_worker() -> None:
    """Prepare a worker: its parent handles interrupts, and each of several workers needs one thread."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    """End when the parent was killed: the worker would wait for tasks for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
