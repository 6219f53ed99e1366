"""Work that is done ahead, in a thread of its own, while what was done before is being used."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def ahead(items: Generator[T], depth: int) -> Generator[T]:
    """The same items, made by a thread of their own.

    Errors appear where the item would have. The generator is closed in the end, however that comes.

    Args:
        items: None of them is None.
        depth: How many are made at most while one is used, and held.
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
