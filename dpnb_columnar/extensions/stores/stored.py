"""Files in object stores and on web servers: found, pinned to what they were, and read by ranges. CONFIDENTIAL.

ETag, time and length are noted when an address is resolved; each range, and each pass, is compared with them. obstore
and Polars take credentials from the environment: none passes through this module, and no text of theirs is printed.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property, partial
from itertools import islice
from pathlib import PurePosixPath
from typing import IO, Any, cast
from urllib.parse import quote, unquote

from dpnb_columnar.errors import Error, MissingInputError, TemporaryError, UnavailableError, UsageError
from dpnb_columnar.rows.input_files import StoredObject, changed_error, in_parallel
from dpnb_columnar.rows.sources import ADDRESS, SCHEMES, TABLE_FORMATS, table_error

WEB = ("http", "https")  # servers that list nothing, and whose addresses may have a query

SIGNED = re.compile(r"\?(.*&)?(X-(Amz|Goog)-|AWSAccessKeyId=|GoogleAccessId=|Signature=|sig=|se=|sv=)", re.IGNORECASE)
"""A signed query in the address of an object, whose question mark is a pattern otherwise."""

ENVIRONMENT = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true for what is public; AWS_REGION; "
    "AWS_ENDPOINT_URL for another service than Amazon's, and AWS_ALLOW_HTTP=true for one without TLS",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS, or GOOGLE_SKIP_SIGNATURE=true for what is public",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY or another credential, or "
    "AZURE_SKIP_SIGNATURE=true for what is public",
}
"""Environment variables that say how a store is reached, as its library names them."""

TAIL = 2**16  # bytes at the end of an object that are read at once, and kept: most footers are shorter

BLOCK = 2**22
"""Most bytes that one request asks for here: obstore gives it 30 seconds, and asks ten times where it fails."""

STATUS = re.compile(r"status code: (\d{3})")  # HTTP's status in the text of an error

BUSY = (408, 429)  # statuses below 500 that pass: the request took too long, or there were too many


@dataclass(frozen=True)
class Store:
    """A bucket, a container, or a web server."""

    scheme: str
    place: str

    def address(self, key: str) -> str:
        return f"{self.scheme}://{self.place}/{quote(key) if self.scheme in WEB else key}"

    @cached_property
    def client(self) -> Any:
        """Obstore's client for it, which reads the environment once for a command or a call."""
        address = f"{self.scheme}://{self.place}"
        options = {"client_options": {"allow_http": self.scheme == "http"}} if self.scheme in WEB else {}
        with store_errors(self, address):
            return obstore_module().store.from_url(address, **options)


def obstore_module() -> Any:
    """Import obstore."""
    try:
        import obstore
        import obstore.store
    except ImportError:
        raise UnavailableError(
            "reading from an object store or a web server needs obstore; install it with: "
            "pip install 'dpnb-columnar[stores]'"
        ) from None
    return obstore


@dataclass(frozen=True)
class ObjectOfStore(StoredObject):
    """An object of a store, which is read by ranges."""

    store: Store
    key: str
    size: int
    e_tag: str | None  # None where the store has none
    modified: str  # when it was written, to the second, by ISO 8601; empty where the store does not say

    def __str__(self) -> str:
        return self.store.address(self.key)

    def open(self, mode: str = "rb") -> IO[bytes]:
        return cast("IO[bytes]", _Reader(self))

    def read(self, start: int, end: int) -> bytes:
        """Read bytes by one request."""
        with store_errors(self.store, str(self)):
            result = obstore_module().get(self.store.client, self.key, options={"range": (start, end)})
            self.check(result.meta)
            return bytes(result.bytes())

    @cached_property
    def tail(self) -> bytes:
        """Its last bytes, which hold the footer or most of it."""
        return self.read(max(self.size - TAIL, 0), self.size) if self.size else b""

    def check(self, meta: Any) -> None:
        if (meta["size"], meta["e_tag"], _time(meta)) != (self.size, self.e_tag, self.modified):
            raise changed_error(self)

    def look(self) -> None:
        self.check(_head(self.store, self.key))


class _Reader(io.RawIOBase):
    """The bytes of an object, each range of which is compared with what the object was."""

    def __init__(self, item: ObjectOfStore) -> None:
        super().__init__()
        self._item, self._place = item, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._item.size}[whence]
        self._place = max(start + offset, 0)
        return self._place

    def readinto(self, buffer: Any) -> int:
        item, start = self._item, min(self._place, self._item.size)
        end = min(start + len(buffer), item.size)
        first_kept = item.size - TAIL
        if start >= first_kept:
            content = item.tail[start - max(first_kept, 0) : end - max(first_kept, 0)]
        else:
            places = range(start, end, BLOCK)
            content = b"".join(item.read(place, min(place + BLOCK, end)) for place in places)
        buffer[: len(content)] = content
        self._place = start + len(content)
        return len(content)

    def readall(self) -> bytes:
        return self.read(max(self._item.size - self._place, 0))


def resolve_address(item: str) -> list[ObjectOfStore]:
    """List the objects of an address or a pattern; an address that no object has stands for the files below it."""
    store, key = _parsed(item)
    fixed = re.split(r"[*?\[]", key, maxsplit=1)[0]
    if store.scheme in WEB and fixed != key:
        raise MissingInputError(f"{item}: a web server lists no files, so there is no pattern of them; name each one")
    if fixed == key and key and not key.endswith("/"):
        try:
            found = _looked_at(store, key)
        except _NotFoundError:
            if store.scheme in WEB:
                raise
        else:
            _refuse_tables(store, [key])
            return [found]
        fixed = f"{key}/"
    elif store.scheme in WEB:
        raise MissingInputError(f"{item}: a web server lists no files; name each one")
    folder = fixed[: fixed.rfind("/") + 1]
    below = _listed(store, folder, item)
    keys = _below(folder, below) if fixed in (key, f"{key}/") else sorted(each for each in below if matches(each, key))
    _refuse_tables(store, keys or [fixed])
    if not keys:
        raise MissingInputError(
            f"{item}: no such object, and no Parquet file below it; give the address of a file, of a folder, or a "
            "quoted pattern"
        )
    return in_parallel(partial(_looked_at, store), keys)


def _parsed(item: str) -> tuple[Store, str]:
    match = ADDRESS.match(item)
    assert match is not None
    scheme = SCHEMES[match[1].lower()]
    place, _, key = match[2].partition("/")
    user, at, _ = place.rpartition("@")
    account = scheme == "abfss" and ":" not in user and "?" not in user
    if (at and not account) or (scheme in WEB and re.search(r"[?#]", match[2])) or SIGNED.search(match[2]):
        raise UsageError(
            "an address with a user, a password, a query or a signature can be read by every user of the machine, and "
            "is recorded; leave it out, and set credentials in the environment (docs/extracts.md)"
        )
    if not place or re.search(r"[?*\[\s]", place):
        raise UsageError(
            f"{item}: no address of an object; write {scheme}://{'HOST' if scheme in WEB else 'BUCKET'}/NAME"
        )
    return Store(scheme, place), unquote(key) if scheme in WEB else key


def matches(key: str, pattern: str) -> bool:
    """Test whether a key matches a pattern as ``glob`` reads it: ``**`` alone crosses slashes."""
    part, slash, rest = pattern.partition("/")
    own, own_slash, own_rest = key.partition("/")
    if part == "**" and slash and (matches(key, rest) or (own and own_slash and matches(own_rest, pattern))):
        return True
    return fnmatchcase(own, part) and slash == own_slash and (not slash or matches(own_rest, rest))


def _below(folder: str, keys: Iterable[str]) -> list[str]:
    """List the Parquet files in a folder, and in its folders named ``COLUMN=VALUE``, as ``files_below`` does."""
    inside = [key for key in keys if key.startswith(folder) and key.endswith(".parquet")]
    folders = {key: key[len(folder) :].split("/")[:-1] for key in inside}
    kept = [key for key in inside if all("=" in part for part in folders[key])]
    return sorted(kept, key=lambda key: [*((1, part) for part in folders[key]), (0, key)])


def _listed(store: Store, prefix: str, name: str, chunks: int | None = None) -> list[str]:
    """List the keys that begin with a prefix: all, or the first ``chunks`` times 100."""
    with store_errors(store, name, "list"):
        listed = islice(obstore_module().list(store.client, prefix, chunk_size=100), chunks)
        return [each["path"] for chunk in listed for each in chunk]


def _head(store: Store, key: str) -> Any:
    with store_errors(store, store.address(key)):
        return obstore_module().head(store.client, key)


def _looked_at(store: Store, key: str) -> ObjectOfStore:
    """Look at an object, and read the footer's bytes."""
    meta = _head(store, key)
    looked_at = ObjectOfStore(store, key, meta["size"], meta["e_tag"], _time(meta))
    if looked_at.e_tag is None and not looked_at.modified:
        raise MissingInputError(
            f"{looked_at}: its server tells neither its ETag nor when it was written, so that a change could not be "
            "seen; copy it here"
        )
    _ = looked_at.tail
    return looked_at


def _time(meta: Any) -> str:
    """Return when an object was written; empty where its server does not say, for which obstore has 1970."""
    time = meta["last_modified"]
    return f"{time:%Y-%m-%dT%H:%M:%SZ}" if time.timestamp() > 0 else ""


def _refuse_tables(store: Store, keys: Sequence[str]) -> None:
    """Refuse what is in the folder of a table, as ``refuse_table_files`` does; a log that cannot be seen is none."""
    if store.scheme in WEB:  # which list nothing
        return
    folders = {above.as_posix(): key for key in keys for above in PurePosixPath(f"/{key}x").parents}

    def log(folder: str) -> list[Any]:
        found = []
        for kind in TABLE_FORMATS:
            prefix = f"{folder}/{kind.log}/".lstrip("/")
            try:
                inside = _listed(store, prefix, store.address(prefix), 1)
            except MissingInputError:  # these credentials may not list; a busy store lets no file through
                continue
            if any(kind.entry is None or PurePosixPath(key).match(kind.entry) for key in inside):
                found.append(kind)
        return found

    for (folder, key), kinds in zip(folders.items(), in_parallel(log, [*folders]), strict=True):
        if kinds:
            table = store.address(folder.lstrip("/")) if folder.strip("/") else f"{store.scheme}://{store.place}"
            raise table_error(store.address(key), table, replace(kinds[0], extra=None))  # read here alone


class _NotFoundError(MissingInputError):
    """There is no such object."""


@contextmanager
def store_errors(store: Store, name: str, asked: str = "read") -> Iterator[None]:
    """Report errors of a store as errors of this package, without the library's text."""
    try:
        yield
    except Error:
        raise
    except Exception as error:
        if not isinstance(error, OSError | ValueError) and not type(error).__module__.startswith("obstore"):
            raise
        raise _error_of(store, name, asked, error) from None


def _error_of(store: Store, name: str, asked: str, error: Exception) -> Error:
    text, kind = str(error), type(error).__name__
    status = int(found[1]) if (found := STATUS.search(text)) else 0
    variables = ENVIRONMENT.get({"abfss": "az"}.get(store.scheme, store.scheme))
    remedy = f"; set in the environment {variables}" if variables else ""
    if status in BUSY or status >= 500:  # of the service that gives out credentials, too
        return TemporaryError(f"{name}: its store fails (status {status}); try again later")
    if "://169.254.169.254/" in text or "Account must be specified" in text or "//metadata.google" in text:
        return MissingInputError(f"{name}: no credentials for it are there{remedy}")
    if isinstance(error, FileNotFoundError) or status == 404:
        container = "server" if store.scheme in WEB else "container" if store.scheme in ("az", "abfss") else "bucket"
        return _NotFoundError(f"{name}: no such object, or no such {container}; check the address")
    if kind in ("PermissionDeniedError", "UnauthenticatedError"):
        right = "list what is below it" if asked == "list" else "read it"
        return MissingInputError(f"{name}: access denied; give these credentials the right to {right}{remedy}")
    if status in (301, 307, 400) or "incorrectly configured region" in text:
        return MissingInputError(f"{name}: its store refuses the request, perhaps of another region{remedy}")
    if status == 416:
        return changed_error(name)
    if kind == "NotSupportedError":
        return MissingInputError(f"{name}: its server does not give out parts of a file; copy it here")
    if "HTTP error: builder error" in text:
        return MissingInputError(f"{name}: its endpoint is no address, or one without TLS{remedy}")
    if "InvalidCertificate(" in text:
        return MissingInputError(
            f"{name}: the certificate of its server is not trusted here; name the file of its issuer's in SSL_CERT_FILE"
        )
    if status:
        return MissingInputError(f"{name}: its store refuses the request (status {status}){remedy}")
    return TemporaryError(
        f"{name}: its store does not answer, or the connection was lost; check the address, or try again"
    )
