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


# MERGED FROM dpnb_columnar/runtime/confinement.py: No rows on disk unasked: Polars would put what does not fit into
# memory into a folder that everybody can read. From version 2.1 on, its streaming engine writes parts of a query to
# ``/var/tmp/polars-USER/spill`` when memory runs short, with usual permissions, and leaves them there when the
# process is killed. Frames below a size stay in memory, and there is no other way to have all of them stay there; so
# that size is set beyond all frames.

SMALLEST = "POLARS_OOC_SPILL_MIN_BYTES"
FOLDER = "POLARS_OOC_SPILL_DIR"
NEVER = str(2**63 - 1)


def keep_rows_in_memory() -> None:
    """Keep Polars from writing rows to disk in this process and its children.

    Where the environment names a folder for them, that is the curator's decision, and left alone.
    """
    if FOLDER in os.environ or os.environ.get(SMALLEST) == NEVER:
        return
    os.environ[SMALLEST] = NEVER
    if "polars" in sys.modules:  # it has read its settings, and reads them again after a change by its own means
        import polars as pl

        with pl.Config():
            pass
