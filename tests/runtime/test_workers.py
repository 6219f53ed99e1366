"""Worker processes: what is set up in each of them."""

from __future__ import annotations

import os
import signal

import pytest

from dpnb_columnar.runtime import workers


def test_a_worker_takes_no_interrupt_and_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    before = signal.getsignal(signal.SIGINT)
    try:
        workers.set_up_worker()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert os.environ.pop("POLARS_MAX_THREADS") == "1"
    finally:
        signal.signal(signal.SIGINT, before)
