"""Items made ahead of their use, by a thread of their own."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def prefetch(items: Generator[T], depth: int) -> Generator[T]:
    """Make the next items in a thread while the current one is used.

    An error appears in place of the item whose making raised it. The generator is closed at the end, also when the
    consumer stops early or fails.

    Args:
        items: Source of the items, none of which is None.
        depth: Most items that are made and held while one is used.
    """
    pool = ThreadPoolExecutor(max_workers=1)
    waiting: deque[Future[T | None]] = deque()
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
