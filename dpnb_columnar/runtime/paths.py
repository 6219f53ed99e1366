"""Ask what stands at a path. A disk that fails is an error, and no absence.

From Python 3.14 on, ``Path.exists`` and its like answer False whatever goes wrong: a name that is too long, a folder
that may not be searched or a failing disk would be a file that is not there, whose place another one may take.
"""

from __future__ import annotations

import errno
import stat
from pathlib import Path

ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP})
"""Errors that say that nothing is there."""


def exists(path: Path) -> bool:
    """Tell whether anything stands at a path, links followed."""
    return bool(_mode(path))


def is_file(path: Path) -> bool:
    """Tell whether a regular file stands at a path, as ``exists``."""
    return stat.S_ISREG(_mode(path))


def is_folder(path: Path) -> bool:
    """Tell whether a folder stands at a path, as ``exists``."""
    return stat.S_ISDIR(_mode(path))


def _mode(path: Path) -> int:
    """Return the kind and the permissions of what stands there; 0 where nothing does."""
    try:
        return path.stat().st_mode
    except OSError as error:
        if error.errno not in ABSENT:
            raise
    except ValueError:  # a character that no name has
        pass
    return 0
