"""A PostgreSQL server of the tests' own: started on loopback, with a password, and stopped again. Never a mock."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

USER = "census"
PASSWORD = 'it\'s "quoted" & spaced'
"""Hard to write in an address: it has to travel through the environment."""


@dataclass(frozen=True)
class PostgresServer:
    """A running server; ``PGPASSWORD`` must be set to its password."""

    uri: str
    password: str = PASSWORD


def binaries() -> Path | None:
    """Folder of the server's programs: those on the path, or the newest of Debian's."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    return max(Path("/usr/lib/postgresql").glob("*/bin/initdb"), default=Path()).parent if _debian() else None


def _debian() -> bool:
    return any(Path("/usr/lib/postgresql").glob("*/bin/initdb"))


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Start a server whose files go with it; skips the test where there are no server programs."""
    programs = binaries()
    if programs is None:
        pytest.skip("no PostgreSQL server programs (initdb) on the path or below /usr/lib/postgresql")
    # Not in pytest's folder: the server's own user could not get through to it.
    with TemporaryDirectory(prefix="postgres-") as folder:
        yield from _served(Path(folder), programs)


def _served(folder: Path, programs: Path) -> Iterator[PostgresServer]:
    owner = _owner()
    data, port = folder / "data", _free_port()
    secret = folder / "password"
    secret.write_text(PASSWORD)
    if owner is not None:
        for path in (folder, secret):
            os.chown(path, owner, -1)

    def program(name: str, *arguments: str) -> None:
        command = [programs / name, *arguments]
        done = subprocess.run(
            command, user=owner, cwd=folder, env=_environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    options = ("--auth=scram-sha-256", f"--pwfile={secret}", f"--username={USER}", "--encoding=UTF8", "--no-locale")
    program("initdb", f"--pgdata={data}", *options, "--no-sync")
    settings = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories='' -c fsync=off"
    program("pg_ctl", "start", "--wait", f"--pgdata={data}", f"--log={folder / 'log'}", f"--options={settings}")
    try:
        yield PostgresServer(f"postgresql://{USER}@127.0.0.1:{port}/postgres")
    finally:
        program("pg_ctl", "stop", "--mode=immediate", f"--pgdata={data}")


def _owner() -> int | None:
    """Who the server runs as: it refuses to be root."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_uid
        except KeyError:
            continue
    pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody")


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
