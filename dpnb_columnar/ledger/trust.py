"""Whether a ledger's file is one that only its owner can change, under one name; if not, its entries prove nothing."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

from dpnb_columnar.errors import ConfigurationError, MissingInputError
from dpnb_columnar.leftovers import remove_abandoned

COMPANIONS = ("-journal", "-wal", "-shm")
"""What SQLite appends to a database's name for the files that it reads together with it, and believes."""


def check_file(path: Path) -> Path:
    """Refuse what is no file of ours to trust.

    Returns:
        The file itself, where the name is a link: SQLite finds a journal by the name that it is given.

    Raises:
        MissingInputError: It is not there.
        ConfigurationError: It is no regular file or has several names, or others than its owner can change it, or
            the files that SQLite reads together with it.
    """
    try:
        real = path.resolve(strict=True)
        status = real.stat()
    except (OSError, RuntimeError):  # RuntimeError: a loop of links
        raise MissingInputError(
            f"{path}: no such ledger; make one: dpnb-columnar ledger init {shlex.quote(str(path))} "
            "--dataset NAME --epsilon NUMBER"
        ) from None
    if not stat.S_ISREG(status.st_mode):
        raise ConfigurationError(f"{path}: is not a regular file; name a ledger")
    if os.name == "posix" and status.st_mode & stat.S_IWOTH:
        raise ConfigurationError(
            f"{path}: every user of this machine can write to it, so that its entries prove nothing; "
            f"chmod o-w {shlex.quote(str(path))}"
        )
    for folder in sorted({path.absolute().parent, real.parent}):
        check_folder(path, folder)
    if status.st_nlink > 1:
        _check_single_name(path, real)
    for companion in COMPANIONS:
        _check_companion(path, real.with_name(real.name + companion), status.st_uid)
    return real


def check_folder(path: Path, folder: Path) -> None:
    """Refuse a folder in which everybody can make files: a journal that is put there undoes entries.

    Raises:
        ConfigurationError: It is one, sticky or not.
    """
    try:
        mode = folder.stat().st_mode
    except OSError:
        return  # whoever uses it will hear what is wrong with it
    if os.name == "posix" and mode & stat.S_IWOTH:
        shared = mode & stat.S_ISVTX  # such as /tmp, which has to stay open
        remedy = "keep it in a folder of your own" if shared else f"chmod o-w {shlex.quote(str(folder))}"
        raise ConfigurationError(
            f"{path}: its folder is open to all, so that every user of this machine can undo its entries; {remedy}"
        )


def _check_single_name(path: Path, real: Path) -> None:
    """Refuse a second name: what a killed run has left in the journal of one is not found under the other."""
    remove_abandoned(real.parent, real.name)  # a new ledger has two until its maker, perhaps killed, takes one away
    try:
        names = real.stat().st_nlink
    except OSError:
        return  # whoever opens it will hear what is wrong with it
    if names > 1:
        raise ConfigurationError(
            f"{path}: has other names (hard links), under which a spend could be lost; find them with "
            "find FOLDER -samefile FILE, and remove all names but one"
        )


def _check_companion(path: Path, companion: Path, owner: int) -> None:
    try:
        status = companion.lstat()
    except OSError:
        return  # usually there is none
    if not stat.S_ISREG(status.st_mode) or status.st_uid != owner:
        raise ConfigurationError(
            f"{path}: {companion} is a link, or not a file of the ledger's owner, and could undo entries; "
            "find out who put it there, then remove it"
        )
