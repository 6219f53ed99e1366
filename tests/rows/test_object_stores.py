"""Objects of stores as files: patterns as of paths, ranges as of bytes, and refusals of what changed or is secret."""

from __future__ import annotations

import glob
import os
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.object_server import KEY, SECRET, Served, object_server

from dpnb_columnar.errors import DataError, Error, MissingInputError, TemporaryError, UnavailableError, UsageError
from dpnb_columnar.extensions.stores import stored as object_stores
from dpnb_columnar.extensions.stores.stored import BLOCK, TAIL, ObjectOfStore, Store, resolve_address
from dpnb_columnar.rows.input_files import check_unchanged, files_below, resolve_files
from dpnb_columnar.rows.sources import is_address

NAMES = st.sampled_from(["a.parquet", "b.parquet", "[x].parquet", "A=1", "B=2", "c", "a.csv", "odd +#é%20.parquet"])
PATTERNS = st.sampled_from(
    ["*", "**", "?.parquet", "*.parquet", "[ab].parquet", "[!a].parquet", "A=*", "c", "[x].parquet"]
)

LAST = st.sampled_from(["a.parquet", "b.parquet", "[x].parquet", "z.csv"])


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    pytest.importorskip("obstore", reason="obstore, of the extra stores, is not installed")
    with object_server(f"bucket-{uuid.uuid4().hex[:12]}") as served:
        for name, value in (
            ("AWS_ACCESS_KEY_ID", KEY),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
            ("AWS_REGION", "eu-north-1"),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_ENDPOINT_URL", f"http://127.0.0.1:{served.port}"),
        ):
            monkeypatch.setenv(name, value)
        yield served


def stored(store: Served, content: bytes) -> ObjectOfStore:
    store.put("rows", content)
    (found,) = resolve_address(f"s3://{store.bucket}/rows")
    return found


@given(st.lists(st.tuples(st.lists(NAMES, max_size=2), LAST)), st.lists(PATTERNS, min_size=1, max_size=3))
def test_patterns_match_the_keys_of_paths_that_glob_matches(
    tmp_path_factory: pytest.TempPathFactory, files: list[tuple[list[str], str]], pattern: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("lake")
    for parts, name in files:
        path = folder.joinpath(*[f"{part}.d" if "=" not in part else part for part in parts], name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    keys = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    matched = glob.glob("/".join(pattern), root_dir=folder, recursive=True)  # noqa: PTH207
    expected = sorted({os.path.normpath(each) for each in matched if (folder / each).is_file()})
    if pattern[-1] == "**":  # that of folders, too, which no store has
        pattern = [*pattern, "*"]
    assert sorted(key for key in keys if object_stores.matches(key, "/".join(pattern))) == expected
    assert object_stores._below("", keys) == [path.relative_to(folder).as_posix() for path in files_below(folder)]


def test_any_range_is_that_of_the_content(store: Served) -> None:
    content = os.urandom(BLOCK + TAIL + 1000)
    found = stored(store, content)
    assert (found.size, str(found), found.name) == (len(content), f"s3://{store.bucket}/rows", "rows")
    store.log.clear()
    places = [
        *(0, 1, 999, BLOCK - 1, len(content) - TAIL - 5, len(content) - TAIL, len(content) - 3, len(content)),
        len(content) + 9,
    ]
    with found.open() as stream:
        for start in places:
            for size in (0, 1, 7, 5000):
                assert stream.seek(start) == start
                assert stream.read(size) == content[start : start + size]
                assert stream.tell() == min(start, len(content)) + len(content[start : start + size])
        stream.seek(0)
        store.log.clear()
        assert stream.read() == content
    assert [request.bytes for request in store.log] == [BLOCK, TAIL + 1000]


def test_of_a_short_object_no_range_is_asked_for_twice(store: Served) -> None:
    found = stored(store, b"0123456789")
    asked = len(store.log)
    with found.open() as stream:
        stream.seek(-4, os.SEEK_END)
        assert (stream.read(2), stream.read(), stream.read()) == (b"67", b"89", b"")
    assert len(store.log) == asked
    assert stored(store, b"").open().read() == b""


@pytest.mark.parametrize("change", ["content", "time"])
def test_a_range_of_another_object_is_not_given_out(change: str, store: Served) -> None:
    content = os.urandom(TAIL + 1000)
    found = stored(store, content)
    found.look()
    found.read(0, 10)
    store.put("rows", content[::-1] if change == "content" else content, store.written["rows"] + 5 * (change == "time"))
    for refused in (found.look, lambda: found.read(0, 10), lambda: check_unchanged([Path("x"), found])):
        with pytest.raises(DataError, match="changed while it was read"):
            refused()


def test_an_object_that_became_shorter_has_changed(store: Served) -> None:
    found = stored(store, os.urandom(TAIL + 1000))
    store.put("rows", b"short")
    with pytest.raises(DataError, match="changed while it was read"):
        found.read(900, 1000)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let obstore ask once, where it asks ten times otherwise."""
    store_module = pytest.importorskip("obstore.store")
    monkeypatch.setattr(store_module, "from_url", partial(store_module.from_url, retry_config={"max_retries": 0}))


@pytest.mark.parametrize("asked", ["HEAD", "GET", "LIST"])
@pytest.mark.parametrize(
    ("status", "refusal"),
    [
        *((status, TemporaryError) for status in (408, 429, 500, 502, 503, 504)),
        *((status, MissingInputError) for status in (401, 402, 403)),
    ],
)
@pytest.mark.usefixtures("impatient")
def test_a_store_that_is_busy_can_be_asked_again(status: int, refusal: type[Error], asked: str, store: Served) -> None:
    store.put("rows", b"1")
    store.before = lambda method, key, start: status if method == asked else None
    with pytest.raises(refusal):
        resolve_address(f"s3://{store.bucket}/{'*' if asked == 'LIST' else 'rows'}")


@pytest.mark.parametrize("status", [408, 429, 503])
@pytest.mark.usefixtures("impatient")
def test_a_file_is_read_where_a_store_does_not_list_and_not_where_it_is_busy(status: int, store: Served) -> None:
    """Else the files of a lake table would be let through while its log is not listed."""
    store.put("rows", b"1")
    store.before = lambda method, key, start: 403 if method == "LIST" else None
    resolve_address(f"s3://{store.bucket}/rows")
    store.before = lambda method, key, start: status if method == "LIST" else None
    with pytest.raises(TemporaryError, match="try again later"):
        resolve_address(f"s3://{store.bucket}/rows")


def test_a_service_of_credentials_that_is_busy_can_be_asked_again() -> None:
    text = "Error performing PUT http://169.254.169.254/latest/api/token, after 10 retries"
    error = object_stores._error_of(Store("s3", "b"), "s3://b/k", "read", OSError(f"{text}: status code: 429 Busy"))
    assert isinstance(error, TemporaryError)
    assert "no credentials" in str(object_stores._error_of(Store("s3", "b"), "s3://b/k", "read", OSError(text)))


def test_an_object_is_there_once_whatever_patterns_lead_to_it(store: Served) -> None:
    store.put("a.parquet", b"1")
    store.put("b.parquet", b"2")
    addresses = [f"s3://{store.bucket}/{key}" for key in ("b.parquet", "*.parquet", "")]
    found = resolve_files([*addresses, f"s3a://{store.bucket}/a.parquet"])
    assert [file.name for file in found] == ["b.parquet", "a.parquet"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s3://b/k", True),
        ("S3://b/k", True),
        ("https://h/k", True),
        ("abfss://c@a.dfs.core.windows.net/k", True),
        ("hdfs://h/k", False),
        ("file:///k", False),
        ("s3:/b/k", False),
        ("c:/k", False),
        ("a/s3://b", False),
        ("", False),
    ],
)
def test_addresses(text: str, expected: bool) -> None:
    assert is_address(text) == expected


@pytest.mark.parametrize("text", ["s3://u:p@b/k", "s3://u@b/k", "https://h/k?a=1", "https://h/k#a", "s3://b/k?sig=1"])
def test_an_address_with_a_secret_is_refused_before_anything_is_asked(text: str) -> None:
    with pytest.raises(UsageError, match="set credentials in the environment"):
        resolve_address(text)


@pytest.mark.parametrize("text", ["s3://", "s3:///k", "https:///k", "s3://b*/k"])
def test_an_address_of_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no address of an object"):
        resolve_address(text)


def test_without_obstore_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "obstore", None)
    with pytest.raises(UnavailableError, match=r"pip install 'dpnb-columnar\[stores\]'"):
        resolve_address("s3://bucket/rows.parquet")


def test_what_a_ledger_records_tells_nothing_of_the_content(store: Served) -> None:
    store.put("rows", b"1" * 1000, 1_700_000_000)
    (found,) = resolve_address(f"s3://{store.bucket}/rows")
    store.put("rows", b"2" * 2000, 1_700_000_000)
    (other,) = resolve_address(f"s3://{store.bucket}/rows")
    assert found.e_tag != other.e_tag
    assert found.pinned == other.pinned == f"s3://{store.bucket}/rows of 2023-11-14T22:13:20Z"
