"""Entry point of ``dpnb-columnar`` and of ``python -m dpnb_columnar``."""

import gc
import signal
from typing import NoReturn

OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""Start-up makes hundreds of thousands of objects that live as long as the process: searching them for garbage after
every 700, Python's default, takes a twentieth of the time of a small job."""


def run() -> NoReturn:
    """Run the command line and exit with its code."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while modules are loaded ends without a traceback
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    from dpnb_columnar.cli.main import run as run_commands

    run_commands()


if __name__ == "__main__":
    run()
