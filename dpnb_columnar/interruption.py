"""Short steps that a signal must not cut in two: the process ends when the step is done."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_under_way = 0
_put_off: list[Callable[[], None]] = []


@contextmanager
def undisturbed() -> Iterator[None]:
    """Have a signal end the process after this block rather than within. For milliseconds, not for waiting.

    Handlers of signals run in the main thread, so blocks of others are cut short as before.
    """
    global _under_way
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _under_way += 1
    try:
        yield
    finally:
        _under_way -= 1
        if _put_off and not _under_way:
            _put_off.pop()()


def put_off(end: Callable[[], None]) -> bool:
    """Have ``end`` called when the step that is under way is done.

    Returns:
        Whether there is such a step; if not, nothing is called.
    """
    if _under_way:
        _put_off.append(end)
    return bool(_under_way)
