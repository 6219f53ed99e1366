"""``dpnb-columnar``, and ``python -m dpnb_columnar``: the way in."""

import gc
import signal
from typing import NoReturn

OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""Start-up makes hundreds of thousands of objects that stay: looking through them after every 700, as Python does of
itself, takes a twentieth of the time of a small job."""


def run() -> NoReturn:
    """Run the command line and exit with its code."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while modules are loaded ends without a traceback
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    from dpnb_columnar.cli.main import run as run_commands

    run_commands()


if __name__ == "__main__":
    run()
