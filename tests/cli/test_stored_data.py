"""DATA in object stores and on web servers: the same results as of the same files here, and nothing but these."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.object_server import KEY, SECRET, Served, object_server
from support.people import people, write_people
from support.running import Run

from dpnb_columnar.cli.main import exit_code

pytest.importorskip("obstore", reason="obstore, of the extra stores, is not installed")


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A bucket of a name that no other test has: Polars keeps what it knows of one."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "AZURE_", "GOOGLE_"))]:
        monkeypatch.delenv(name)
    with object_server(f"census-{uuid.uuid4().hex[:12]}") as served:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        monkeypatch.setenv("AWS_REGION", "eu-north-1")
        monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{served.port}")
        yield served


@pytest.fixture
def stored(store: Served, people_file: Path) -> Served:
    """The bucket with ``people.parquet``."""
    store.put("people.parquet", people_file.read_bytes())
    return store


def s3(store: Served, key: str = "people.parquet") -> str:
    return f"s3://{store.bucket}/{key}"


VERBS = [
    ("train", "DATA", "--seed", 3, "--output", "OUT.json"),
    ("train", "DATA", "--seed", 3, "--output", "OUT.json", "--attribute-weights", "calibrated"),
    ("aggregate", "DATA", "--output", "OUT.parquet"),
    ("predict", "MODEL", "DATA", "--output", "OUT.parquet"),
    ("evaluate", "MODEL", "DATA", "--epsilon", 1, "--seed", 3, "--output", "OUT.json"),
    ("split", "DATA", "--train-output", "OUT.parquet", "--test-output", "OUT.test.parquet"),
    ("evaluate", "MODEL", "DATA"),
    ("check", "DATA", "--json"),
    ("plan", "DATA", "--json", "--no-advice"),
    ("sql", "statistics", "DATA", "--dialect", "duckdb", "--table", "person"),
    ("suggest-domain", "DATA"),
]


def words_of(verb: tuple[object, ...], data: str, place: str) -> list[str]:
    """The words of a verb with its data, outputs of a name, and the model that ``model_file`` is."""
    named = {"DATA": data, "OUT": place, "MODEL": "people.model.json"}
    return [reduce(lambda text, name: text.replace(name, named[name]), named, str(word)) for word in verb]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: str(verb[0]))
@pytest.mark.parametrize("scheme", ["s3", "http"])
def test_a_verb_does_the_same_with_an_address_as_with_a_file(
    verb: tuple[object, ...], scheme: str, stored: Served, model_file: Path, run: Run
) -> None:
    address = s3(stored) if scheme == "s3" else stored.address("people.parquet")
    results = []
    for place, data in (("here", "people.parquet"), ("there", address)):
        words = words_of(verb, data, place)
        ended = run(*words)
        files = {
            path.name.removeprefix(place): path.read_bytes() for path in Path().glob(f"{place}*") if path.is_file()
        }
        results.append((ended.out.replace(address, "people.parquet").replace(place, "OUT"), files))
    assert results[0] == results[1]
    assert stored.log
    assert any(stored.authorizations) == (scheme == "s3")


def test_several_addresses_patterns_and_folders_stand_for_the_files_that_paths_would(
    store: Served, folder: Path, run: Run
) -> None:
    for state, rows in (("06", 300), ("41", 200)):
        path = folder / "lake" / f"STATE={state}" / "odd name %20 é+#.parquet"
        path.parent.mkdir(parents=True)
        write_people(path, people(rows))
        store.put(f"lake/STATE={state}/{path.name}", path.read_bytes())
    (folder / "lake" / "notes.txt").write_text("of no table")
    store.put("lake/notes.txt", b"of no table")
    (folder / "lake" / "other").mkdir()
    write_people(folder / "lake" / "other" / "z.parquet", people(100))
    store.put("lake/other/z.parquet", (folder / "lake" / "other" / "z.parquet").read_bytes())
    counted = []
    for data in (
        ["lake"],
        ["lake/*/*.parquet"],
        ["lake/**/*.parquet"],
        ["lake/STATE=0[0-7]/*.parquet"],
        ["lake/STATE=0[!0-5]/*.parquet"],
        ["lake/STATE=41/odd name %20 é+#.parquet", "lake/other/?.parquet", "lake/STATE=41"],
    ):
        results = []
        for place, names in (("here", data), ("there", [s3(store, name) for name in data])):
            run("aggregate", *names, "--output", f"{place}.parquet", "--overwrite")
            results.append(Path(f"{place}.parquet").read_bytes())
        assert results[0] == results[1], data
        counted.append(results[0])
    assert len(set(counted)) == 4  # of six, where lake/** is lake/*/*, and one pattern has another's files


def test_columns_of_folders_are_read_by_their_names(store: Served, folder: Path, run: Run) -> None:
    rows = people(400)
    for sex in ("f", "m"):
        path = folder / "lake" / f"sex={sex}" / "rows.parquet"
        path.parent.mkdir(parents=True)
        write_people(path, rows.filter(pl.col("sex") == sex).drop("sex"))
        store.put(f"lake/sex={sex}/rows.parquet", path.read_bytes())
    run("train", "lake", "--seed", 1, "--output", "here.json")
    run("train", s3(store, "lake/"), "--seed", 1, "--output", "there.json")
    assert Path("here.json").read_bytes() == Path("there.json").read_bytes()


def test_each_row_group_is_asked_for_once_in_a_pass(store: Served, folder: Path, census: Path, run: Run) -> None:
    content = census.read_bytes()
    store.put("census.parquet", content)
    run("aggregate", s3(store, "census.parquet"), "--output", "counts.parquet")
    assert sum(request.bytes for request in store.log if request.start < len(content) - 2**18) <= len(content)
    assert sum(request.bytes for request in store.log) <= len(content) + 2 * 2**18  # and the footer by two libraries


def changing(store: Served, key: str, when: int) -> None:
    """Write another object under a key just before the request of this number."""
    asked = 0

    def before(method: str, asked_key: str, start: int) -> None:
        nonlocal asked
        asked += asked_key == key
        if asked == when:
            store.put(key, store.objects["other"], store.written[key] + 60)

    store.before = before


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb[0] not in ("plan", "sql")], ids=lambda verb: verb[0])
def test_an_object_that_changes_is_refused_whenever_it_does(
    verb: tuple[object, ...], stored: Served, model_file: Path, run: Run
) -> None:
    write_people(Path("other.parquet"), people(999))
    stored.put("other", Path("other.parquet").read_bytes())
    before = stored.objects["people.parquet"]
    words = words_of(verb, s3(stored), "there")
    run(*words)
    requests = len(stored.log)
    for path in Path().glob("there*"):
        if path.is_file():
            path.unlink()
    for when in range(2, requests + 1):  # the first is the look that pins it
        stored.put("people.parquet", before, stored.written["people.parquet"] + 3600)
        changing(stored, "people.parquet", when)
        ended = run(*words, expected=65)
        assert "changed while it was read" in ended.err, when
        assert not [path for path in Path().glob("there*") if path.is_file()], when


def test_nothing_is_charged_for_an_object_that_changed(stored: Served, run: Run) -> None:
    write_people(Path("other.parquet"), people(999))
    stored.put("other", Path("other.parquet").read_bytes())
    run("ledger", "init", "l.ledger", "--dataset", "people", "--epsilon", 10)
    changing(stored, "people.parquet", 4)
    run("train", s3(stored), "--ledger", "l.ledger", "--output", "m.json", expected=65)
    spent = json.loads(run("ledger", "show", "l.ledger", "--json").out)
    assert "spend" not in json.dumps(spent) or spent["accounts"][0]["runs"] == 0
    assert not Path("m.json").exists()


def test_a_run_begun_again_counts_the_object_of_its_first_attempt_alone(stored: Served, run: Run) -> None:
    run("ledger", "init", "l.ledger", "--dataset", "people", "--epsilon", 10)
    train = ("train", s3(stored), "--ledger", "l.ledger", "--run-id", "monday", "--output", "m.json")
    run(*train)
    model = Path("m.json").read_bytes()
    run(*train, "--overwrite")
    assert Path("m.json").read_bytes() == model
    stored.put("people.parquet", stored.objects["people.parquet"], stored.written["people.parquet"] + 60)
    assert "run id monday: belongs to a release with other inputs" in run(*train, "--overwrite", expected=64).err


def test_no_credential_is_printed_or_written(stored: Served, run: Run) -> None:
    run("ledger", "init", "l.ledger", "--dataset", "people", "--epsilon", 10)
    ended = [run("train", s3(stored), "--ledger", "l.ledger", "--output", "m.json", "--log-format", "json")]
    stored.before = lambda method, key, start: 403
    ended.append(run("check", s3(stored), expected=66))
    stored.before = lambda method, key, start: "cut" if method == "GET" else None
    ended.append(run("check", s3(stored), expected=75))
    written = b"".join(path.read_bytes() for path in Path().rglob("*") if path.is_file())
    printed = "".join(each.out + each.err for each in ended)
    assert any(KEY in each for each in stored.authorizations)
    for secret in (KEY, SECRET, "AWS4-HMAC", "X-Amz"):
        assert secret not in printed
        assert secret.encode() not in written


@pytest.mark.parametrize("verb", ["train", "check", "split", "plan", "suggest-domain"])
def test_an_address_with_a_credential_is_refused_and_not_repeated(verb: str, folder: Path, run: Run) -> None:
    ended = run(verb, "s3://KEYID:hush@bucket/a.parquet", expected=64)
    assert "can be read by every user of the machine" in ended.err
    assert "hush" not in ended.out + ended.err
    assert ended.err.count("\n") == 1
    assert not [*folder.iterdir()]


def test_what_is_wrong_is_said_in_one_line(stored: Served, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    stored.put("notes.csv", b"AGE,SEX\n1,2\n")
    stored.put("cut.parquet", stored.objects["people.parquet"][:-100])
    stored.put("empty.parquet", b"")
    stored.put("table/_delta_log/00000000000000000000.json", b"{}")
    stored.put("table/YEAR=2018/a.parquet", stored.objects["people.parquet"])

    def refused(code: int, *words: str, data: str = s3(stored)) -> None:
        ended = run("check", data, expected=code)
        assert ended.err.count("\n") == 1, ended.err
        for word in words:
            assert word in ended.err

    refused(66, "no such object", data=s3(stored, "nope.parquet"))
    refused(66, "no such object", data=s3(stored, "nope/*.parquet"))
    refused(66, "no such object", data=f"s3://no-such-bucket-{stored.bucket}/people.parquet")
    refused(66, "no such object, or no such server", data=stored.address("nope.parquet"))
    refused(66, "a web server lists no files", data=stored.address("") + "*.parquet")
    refused(66, "a web server lists no files", data=stored.address(""))
    refused(65, "text, such as CSV", "copy it here", "ingest notes.csv", data=s3(stored, "notes.csv"))
    refused(65, "not a complete Parquet file", data=s3(stored, "cut.parquet"))
    refused(65, "is empty", data=s3(stored, "empty.parquet"))
    refused(65, "belongs to the Delta table", data=s3(stored, "table/YEAR=2018/a.parquet"))
    refused(65, "belongs to the Delta table", data=s3(stored, "table/"))
    refused(65, "belongs to the Delta table", data=s3(stored, "table/*/*.parquet"))
    for status, code, words in (
        (401, 66, "access denied"),
        (403, 66, "access denied"),
        (301, 66, "perhaps of another region"),
        (400, 66, "perhaps of another region"),
        (410, 66, "status 410"),
    ):
        stored.before = lambda method, key, start, status=status: status  # type: ignore[misc]
        refused(code, words, "AWS_REGION")
        assert "AWS_" not in run("check", stored.address("people.parquet"), expected=code).err
    stored.before = lambda method, key, start: None
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDNOBODY")
    refused(66, "access denied", "AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.delenv("AWS_ALLOW_HTTP")
    refused(66, "AWS_ALLOW_HTTP=true")
    stored.left_out = frozenset({"ETag", "Last-Modified"})
    refused(66, "neither its ETag nor when it was written", data=stored.address("people.parquet"))
    stored.left_out = frozenset({"Accept-Ranges"})
    refused(66, "does not give out parts of a file", data=stored.address("people.parquet"))


def test_a_time_stands_in_for_an_etag(stored: Served, run: Run) -> None:
    stored.left_out = frozenset({"ETag"})
    run("aggregate", stored.address("people.parquet"), "--output", "there.parquet")
    run("aggregate", "people.parquet", "--output", "here.parquet")
    assert Path("there.parquet").read_bytes() == Path("here.parquet").read_bytes()
    changing(stored, "people.parquet", 4)
    stored.objects["other"] = stored.objects["people.parquet"]
    assert "changed while" in run("check", stored.address("people.parquet"), expected=65).err


def test_a_connection_that_is_cut_once_costs_nothing(stored: Served, run: Run) -> None:
    cut: list[str] = []

    def before(method: str, key: str, start: int) -> str | None:
        if method == "GET" and len(cut) < 3:
            cut.append(key)
            return "cut"
        return None

    stored.before = before
    run("aggregate", s3(stored), "--output", "there.parquet")
    run("aggregate", "people.parquet", "--output", "here.parquet")
    assert len(cut) == 3
    assert Path("there.parquet").read_bytes() == Path("here.parquet").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["cut", 500, 503])
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb[0] in ("train", "predict", "split", "suggest-domain")])
def test_a_store_that_fails_for_good_ends_the_run_for_a_retry(
    verb: tuple[object, ...], fault: Any, stored: Served, model_file: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """The footer is given out, and the rows are not."""
    monkeypatch.setenv("POLARS_CLOUD_MAX_RETRIES", "1")
    write_people(Path("many.parquet"), people(100_000))
    stored.put("people.parquet", Path("many.parquet").read_bytes())
    run("ledger", "init", "l.ledger", "--dataset", "people", "--epsilon", 10)
    words = words_of(verb, s3(stored), "there")
    looked = [0]

    def before(method: str, key: str, start: int) -> Any:
        looked[0] += method == "GET"
        return fault if method == "GET" and looked[0] > 1 else None

    stored.before = before
    ended = run(*words, expected=75)
    assert "try again" in ended.err
    assert not [*Path().glob("there*")]


def test_an_address_is_no_output(stored: Served, model_file: Path, folder: Path, run: Run) -> None:
    run("train", "people.parquet", "--output", "private.json")
    before = {*folder.rglob("*")}
    address = "s3://bucket/out"
    for words in (
        ("train", "people.parquet", "--output", f"{address}.json"),
        ("train", "people.parquet", "--ledger", f"{address}.ledger"),
        ("aggregate", "people.parquet", "--output", f"{address}.parquet"),
        ("predict", model_file, "people.parquet", "--output", f"{address}.parquet"),
        ("split", "people.parquet", "--train-output", f"{address}.parquet"),
        ("split", "people.parquet", "--test-output", f"{address}.parquet"),
        ("evaluate", model_file, "people.parquet", "--html", f"{address}.html"),
        ("evaluate", "private.json", "people.parquet", "--epsilon", 1, "--output", f"{address}.json"),
        ("simulate", f"{address}.parquet"),
        ("ledger", "init", f"{address}.ledger", "--dataset", "people", "--epsilon", 1),
        ("ledger", "show", f"{address}.ledger"),
        ("suggest-domain", "people.parquet", "--output", f"{address}.toml"),
        ("show", model_file, "--html", f"{address}.html"),
        ("sql", "score", model_file, "--dialect", "duckdb", "--output", f"{address}.sql"),
    ):
        ended = run(*words, expected=73)
        assert "is an address, and what is written" in ended.err, words
        assert "s3://bucket/out" in ended.err, words
        assert ended.err.count("\n") == 1, words
        assert {*folder.rglob("*")} == before, words
    assert "hush" not in run("train", "people.parquet", "--output", "s3://me:hush@b/m.json", expected=73).err


def test_what_a_file_says_of_another_place_causes_no_request(stored: Served, folder: Path, run: Run) -> None:
    """A footer may say of each column chunk in which other file it stands."""
    import io

    import pyarrow.parquet as pq

    content = stored.objects["people.parquet"]
    metadata = pq.read_metadata("people.parquet")
    metadata.set_file_path(stored.address("elsewhere"))
    written = io.BytesIO()
    metadata.write_metadata_file(written)
    pages = content[: -8 - int.from_bytes(content[-8:-4], "little")]
    stored.put("pointing.parquet", pages + written.getvalue()[4:])
    stored.put("elsewhere", content)
    Path("pointing.parquet").write_bytes(stored.objects["pointing.parquet"])
    assert stored.address("elsewhere").encode() in stored.objects["pointing.parquet"]
    for data in ("pointing.parquet", s3(stored, "pointing.parquet")):
        exit_code([*map(str, ("aggregate", data, "--output", "counts.parquet", "--overwrite"))])
        exit_code([*map(str, ("split", data, "--overwrite"))])
    assert {request.key for request in stored.log} == {"pointing.parquet"}
