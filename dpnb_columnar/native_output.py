"""What libraries of native code print on their own account: not for users, since it may quote rows."""

from __future__ import annotations

import os
import sys


def silence_native_output() -> None:
    """Give the process's standard error to Python alone; what native code writes there is thrown away.

    Polars prints a trace of its own for every panic, also for one that is caught and told in our words, and values from
    the data may stand in it. To be called once, before anything is read.
    """
    nothing = os.open(os.devnull, os.O_WRONLY)
    if sys.stderr is None:  # closed before the program began: no file of ours must take its number
        if nothing != 2:
            os.dup2(nothing, 2)
            os.close(nothing)
        return
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(nothing, 2)
    os.close(nothing)
    sys.stderr = os.fdopen(kept, "w", encoding=sys.stderr.encoding, errors=sys.stderr.errors, buffering=1)
