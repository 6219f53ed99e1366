"""Seconds of a part of a process, printed for who measures it (``points.Contender.inside``)."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable


def print_seconds(part: Callable[[], object], repetitions: int = 1) -> None:
    """Run a part and print its wall and processor seconds, medians if it is repeated."""
    seconds, cpu_seconds = [], []
    for _ in range(repetitions):
        start, cpu_start = time.perf_counter(), time.process_time()
        part()
        seconds.append(time.perf_counter() - start)
        cpu_seconds.append(time.process_time() - cpu_start)
    print(json.dumps({"seconds": statistics.median(seconds), "cpu_seconds": statistics.median(cpu_seconds)}))
