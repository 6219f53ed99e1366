"""``dpnb-columnar``, and ``python -m dpnb_columnar``: the way in."""

import signal
from typing import NoReturn


def run() -> NoReturn:
    """Run the command line and exit with its code."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while modules are loaded ends without a traceback
    from dpnb_columnar.commands.main import run as run_commands

    run_commands()


if __name__ == "__main__":
    run()
