"""A server on loopback that speaks as much HTTP, and as much of S3's, as readers of objects need; it keeps a log."""

from __future__ import annotations

import hashlib
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

KEY, SECRET = "AKIDCURATOR00EXAMPLE", "s3cr3t-of-the-curator"
"""Credentials that the bucket takes; no output may hold them."""


class Request(NamedTuple):
    """A request that was answered: what was asked, and how many bytes of content were given."""

    method: str
    key: str
    start: int
    bytes: int


@dataclass
class Served:
    """What a server gives out, and how."""

    port: int = 0
    bucket: str = ""
    objects: dict[str, bytes] = field(default_factory=dict)
    written: dict[str, float] = field(default_factory=dict)
    log: list[Request] = field(default_factory=list)
    before: Callable[[str, str, int], int | str | None] = lambda method, key, start: None
    left_out: frozenset[str] = frozenset()
    authorizations: list[str] = field(default_factory=list)

    def put(self, key: str, content: bytes, written: float | None = None) -> None:
        self.objects[key], self.written[key] = content, time.time() if written is None else written

    def address(self, key: str) -> str:
        """Return the address of an object as a file of a web server."""
        return f"http://127.0.0.1:{self.port}/{self.bucket}/{quote(key)}"


@lru_cache(maxsize=64)
def _digest(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        served: Served = self.server.served
        parts = urlsplit(self.path)
        _, bucket, key = [*parts.path.split("/", 2), ""][:3]
        key, query = unquote(key), parse_qs(parts.query)
        authorization = self.headers.get("Authorization", "")
        served.authorizations.append(authorization)
        if authorization and f"Credential={KEY}/" not in authorization:
            return self._end(403, b"<Error><Code>InvalidAccessKeyId</Code></Error>")
        if bucket != served.bucket:
            return self._end(404, b"<Error><Code>NoSuchBucket</Code></Error>")
        if "list-type" in query:
            if isinstance(status := served.before("LIST", query.get("prefix", [""])[0], 0), int):
                return self._end(status, b"")
            return self._end(200, _listing(served, query.get("prefix", [""])[0]))
        content = served.objects.get(key)
        start, end = _range(self.headers.get("Range"), len(content or b""))
        status = served.before(self.command, key, start)
        content = served.objects.get(key)
        if content is None:
            return self._end(404, b"<Error><Code>NoSuchKey</Code></Error>")
        if isinstance(status, int):
            return self._end(status, b"")
        start, end = _range(self.headers.get("Range"), len(content))
        if start >= end and self.headers.get("Range") is not None:
            return self._end(416, b"")
        body = content[start:end] if with_body else b""
        served.log.append(Request(self.command, key, start, len(body)))
        headers = {
            "ETag": f'"{_digest(content)}"',
            "Last-Modified": formatdate(served.written[key], usegmt=True),
            "Accept-Ranges": "bytes",
            "Content-Length": str(end - start),
        }
        ranged = self.headers.get("Range") is not None and "Accept-Ranges" not in served.left_out
        if ranged:
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(content)}"
        elif with_body:
            body, headers["Content-Length"] = content, str(len(content))
        self.send_response(206 if ranged else 200)
        for name, value in headers.items():
            if name not in served.left_out:
                self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body[: len(body) // 2] if status == "cut" else body)
        if status == "cut":
            self.wfile.flush()
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    def _end(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", "application/xml")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _range(header: str | None, size: int) -> tuple[int, int]:
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", header or "")
    if match is None:
        return 0, size
    if not match[1]:
        return max(size - int(match[2]), 0), size
    return int(match[1]), min(int(match[2]) + 1, size) if match[2] else size


def _listing(served: Served, prefix: str) -> bytes:
    entries = "".join(
        f"<Contents><Key>{escape(key)}</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified>"
        f"<ETag>&quot;{_digest(content)}&quot;</ETag><Size>{len(content)}</Size></Contents>"
        for key, content in sorted(served.objects.items())
        if key.startswith(prefix)
    )
    return (
        f"<ListBucketResult><Name>{served.bucket}</Name><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>"
    ).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of connections that a reader has closed."""


@contextmanager
def object_server(bucket: str) -> Iterator[Served]:
    server: Any = _Server(("127.0.0.1", 0), _Handler)
    server.served = Served(server.server_port, bucket)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
