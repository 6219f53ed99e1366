"""Named bombs, each refused by the command line in one line about the file, in a process of bounded memory."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fuzz_outcome import LONGEST_ERROR
from support.codebook_cases import ddi_of, layout_of
from support.extracts import PEOPLE, TOWNSPEOPLE, write_extract
from support.people import DECLARATION, people_domain, write_people
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.domain.declaration import DOMAIN_KEY
from dpnb_columnar.domain.declared_domain import digest
from dpnb_columnar.model.document import MOST_CONTAINERS, MOST_PARAMETERS
from dpnb_columnar.model.model_files import MODEL_KEY

MANY = 10**6
MEBIBYTES = 1024
BOUNDED = """
import pathlib, resource, sys
from dpnb_columnar.cli.main import exit_code
resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))
code = exit_code(sys.argv[1:])
print(int(pathlib.Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) // 1024)
sys.exit(code)
"""
"""Runs a command line, then prints the most memory the process had, in MiB."""

Bomb = tuple[str, int, str]
"""Command line, exit code, words of the message."""


def codebook(folder: Path, text: str | bytes, name: str = "town.xml") -> Bomb:
    write_extract(folder / "town.dat", TOWNSPEOPLE, PEOPLE)
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return f"ingest town.dat --codebook {name} --output out.parquet", 78, name


def billion_laughs(folder: Path) -> Bomb:
    entities = "".join(f'<!ENTITY l{level} "{f"&l{level - 1};" * 10}">' for level in range(1, 12))
    return codebook(folder, f'<!DOCTYPE codeBook [<!ENTITY l0 "ha">{entities}]><codeBook>&l11;</codeBook>')


def external_entity(folder: Path) -> Bomb:
    (folder / "secret.txt").write_text("a secret")
    return codebook(folder, '<!DOCTYPE c [<!ENTITY s SYSTEM "secret.txt">]><codeBook ID="&s;">&s;</codeBook>')


def endless_codebook(folder: Path) -> Bomb:
    return codebook(folder, gzip.compress(b"<codeBook>" + b" " * (65 * 2**20), 1), "town.xml.gz")


def nested_xml(folder: Path) -> Bomb:
    return codebook(folder, "<codeBook>" + "<a>" * MANY)


def nested_layout(folder: Path) -> Bomb:
    return codebook(folder, "name = " + "[" * MANY, "town.toml")


def long_dotted_key(folder: Path) -> Bomb:
    return codebook(folder, "a." * MANY + "a = 1", "town.toml")


def control_characters_in_a_label(folder: Path) -> Bomb:
    return codebook(folder, layout_of(TOWNSPEOPLE).replace('name = "AGE"', 'name = "A\\u001b[2J"'), "town.toml")


def nested_catalogue(folder: Path) -> Bomb:
    write_people(folder / "people.parquet", document=None)
    (folder / "datasets.toml").write_text("people = " + "[" * MANY)
    return "train people.parquet", 78, "datasets.toml"


def many_faults(folder: Path) -> Bomb:
    write_people(folder / "people.parquet", document=None)
    faults = "".join(f"a{place} = 1\n" for place in range(9_000))
    (folder / "datasets.toml").write_text(DECLARATION + faults)
    return "train people.parquet", 78, "and 8980 more"


def nested_model(folder: Path) -> Bomb:
    (folder / "model.json").write_text("[" * MANY + "]" * MANY)
    return "show model.json", 65, "model.json"


def model_of_empty_lists(folder: Path) -> Bomb:
    (folder / "model.json").write_text("[" + "[]," * MOST_CONTAINERS + "[]]")
    return "show model.json", 65, "model.json"


def repeated_key_in_a_model(folder: Path) -> Bomb:
    (folder / "model.json").write_text('{"format": "dpnb_columnar model", "version": 1, "version": 1}')
    return "show model.json", 65, "not a JSON file"


def parquet(path: Path, metadata: dict[str, str], columns: dict[str, object]) -> None:
    table = pa.table(columns).replace_schema_metadata(metadata)
    pq.write_table(table, path, compression="zstd")


def endless_parquet_model(folder: Path) -> Bomb:
    """Millions of rows in a few kilobytes."""
    parameter = pa.DictionaryArray.from_arrays(pa.array(bytes(MOST_PARAMETERS + 1), pa.int8()), ["probability"])
    parquet(folder / "model.parquet", {MODEL_KEY: "{}"}, {"parameter": parameter})
    return "show model.parquet", 65, "model.parquet"


def statistics_of_long_texts(folder: Path) -> Bomb:
    """A text of 256 KiB, in a dictionary, in each of 100,000 rows."""
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 10**5, pa.int32()), ["x" * 2**18])
    zeros = pa.array([0] * 10**5)
    columns = {"attribute": text, "class": zeros, "code": zeros, "count": zeros, "domain": text}
    table = pa.table(columns)
    pq.write_table(table, folder / "counts.parquet", compression="zstd", store_schema=False)
    (folder / "datasets.toml").write_text(DECLARATION)
    return "release counts.parquet --dataset people --output out.json", 65, "counts.parquet"


def endless_counts(folder: Path) -> Bomb:
    (folder / "datasets.toml").write_text(DECLARATION)
    with gzip.open(folder / "counts.csv.gz", "wb", 1) as file:
        file.write(b"attribute,class,code,count,domain\n")
        for _ in range(600):
            file.write(b"age,0,0,1,x\n" * (2**20 // 12))
    return "release counts.csv.gz --dataset people --output out.json", 65, "MiB"


def counts_packed_twice(folder: Path) -> Bomb:
    """What is unpacked is itself compressed; it is not unpacked again."""
    (folder / "datasets.toml").write_text(DECLARATION)
    (folder / "counts.csv.gz").write_bytes(gzip.compress(gzip.compress(bytes(2**26), 1)))
    return "release counts.csv.gz --dataset people --output out.json", 65, "not a CSV file"


def large_metadata(folder: Path) -> Bomb:
    """A declaration of 100 MB in the file's metadata."""
    parquet(folder / "people.parquet", {DOMAIN_KEY: '{"name": "' + "x" * 10**8 + '"}'}, {"age": [1]})
    return "train people.parquet", 78, "people.parquet"


def path_as_a_name(folder: Path) -> Bomb:
    """The domain's name would name the output, were it not for the file's own."""
    declaration = {"name": "../../x\nFORGED", "label": {"column": "b", "classes": [0, 1]}, "attributes": {}}
    parquet(folder / "people.parquet", {DOMAIN_KEY: json.dumps(declaration)}, {"a": [1], "b": [1]})
    return "train people.parquet", 78, "control character"


def column_names_of_a_terminal(folder: Path) -> Bomb:
    names = {f"{place}\x1b[31m\nFORGED": [1] for place in range(5_000)}
    declaration = {
        "label": {"column": "b", "classes": [0, 1]},
        "attributes": {"a": {"lower": 0, "upper": 1, "step": 1}},
    }
    parquet(folder / "people.parquet", {DOMAIN_KEY: json.dumps({"name": "p", **declaration})}, names)
    return "train people.parquet", 65, "and 4980 more"


def wide_header(folder: Path) -> Bomb:
    (folder / "wide.csv").write_text(",".join(f"c{place}" for place in range(100_000)) + "\n")
    return "ingest wide.csv --output out.parquet", 65, "more than 10000 columns"


def archive(folder: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(folder / "csv_p.zip", "w", method) as new:
        for name, content in members.items():
            new.writestr(zipfile.ZipInfo(name), content, compress_type=method)


def archive_of_many(folder: Path) -> Bomb:
    archive(folder, {f"psam_p{place}.csv": b"" for place in range(10_001)})
    return "ingest csv_p.zip --output out.parquet", 65, "more than 10000 files"


def archive_packed_with_lzma(folder: Path) -> Bomb:
    """Its headers may ask for four gibibytes of dictionary."""
    archive(folder, {"psam_p01.csv": b"A\n1\n"}, zipfile.ZIP_LZMA)
    return "ingest csv_p.zip --output out.parquet", 65, "unknown way"


def archive_in_an_archive(folder: Path) -> Bomb:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as new:
        new.writestr("psam_p01.csv", bytes(2**24))
    archive(folder, {"psam_p01.csv": inner.getvalue()})
    return "ingest csv_p.zip --output out.parquet", 65, "no header"


def endless_line(folder: Path) -> Bomb:
    codebook(folder, ddi_of(TOWNSPEOPLE))
    (folder / "town.dat.gz").write_bytes(gzip.compress(b" " * 2**25, 1))
    return "ingest town.dat.gz --output out.parquet", 65, "has no end"


def view_that_reads_a_file(folder: Path) -> Bomb:
    (folder / "secret.txt").write_text("m")
    (folder / "datasets.toml").write_text(DECLARATION)
    with duckdb.connect(folder / "people.duckdb") as connection:
        connection.execute(
            "CREATE VIEW person AS SELECT 1 AS age, 1 AS hours, content AS sex, 'low' AS income "
            f"FROM read_text('{folder / 'secret.txt'}')"
        )
    return "release people.duckdb --table person --dataset people --output out.json", 65, "refused"


def table_of_intervals(folder: Path) -> Bomb:
    (folder / "datasets.toml").write_text(DECLARATION)
    with duckdb.connect(folder / "people.duckdb") as connection:
        connection.execute(
            "CREATE TABLE person AS "
            "SELECT INTERVAL 1 DAY AS age, union_value(k := 1) AS hours, 'm' AS sex, 'low' AS income"
        )
    return "release people.duckdb --table person --dataset people --output out.json", 65, "people.duckdb"


def endless_types(folder: Path) -> Bomb:
    (folder / "rows.csv").write_text("a\n1\n")
    return "ingest rows.csv --types /dev/zero --output out.parquet", 78, "/dev/zero"


def endless_query(folder: Path) -> Bomb:
    with duckdb.connect(folder / "rows.duckdb") as connection:
        connection.execute("CREATE TABLE kept (a INTEGER)")
    model = dpnb.train(write_people(folder / "people.parquet"), epsilon=1)
    dpnb.save(model, folder / "model.json")
    return "predict model.json rows.duckdb --query /dev/zero --output out.parquet", 65, "/dev/zero: more than"


BOMBS: tuple[Callable[[Path], Bomb], ...] = (
    *(billion_laughs, external_entity, endless_codebook, nested_xml, nested_layout, long_dotted_key),
    *(control_characters_in_a_label, nested_catalogue, many_faults, nested_model, model_of_empty_lists),
    *(repeated_key_in_a_model, endless_parquet_model, statistics_of_long_texts, endless_counts, counts_packed_twice),
    *(large_metadata, path_as_a_name, column_names_of_a_terminal, wide_header, archive_of_many),
    *(archive_packed_with_lzma, archive_in_an_archive, endless_line, view_that_reads_a_file, table_of_intervals),
    *(endless_types, endless_query),
)


@pytest.mark.slow
@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.__name__)
def test_bomb_is_refused(folder: Path, bomb: Callable[[Path], Bomb]) -> None:
    command, code, words = bomb(folder)
    there = set(folder.rglob("*"))
    ended = subprocess.run(
        [sys.executable, "-c", BOUNDED, *command.split()], capture_output=True, text=True, check=False
    )
    assert ended.returncode == code, ended.stderr
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "panicked" not in ended.stderr
    assert "\nFORGED" not in ended.stderr
    assert "\x1b" not in ended.stderr
    assert "secret" not in ended.stderr.replace("secret.txt", "")
    assert len(ended.stderr) < LONGEST_ERROR
    assert int(ended.stdout.splitlines()[-1]) < MEBIBYTES
    assert set(folder.rglob("*")) == there


def test_view_over_the_files_own_table_is_read(folder: Path, run: Run) -> None:
    (folder / "datasets.toml").write_text(DECLARATION)
    write_people(folder / "people.parquet")
    with duckdb.connect(folder / "people.duckdb") as connection:
        connection.execute("CREATE TABLE kept AS FROM 'people.parquet'; CREATE VIEW person AS FROM kept")
    run("release", "people.duckdb", "--table", "person", "--dataset", "people", "--output", "out.json")


def test_counts_in_a_dictionary_of_texts_are_read(folder: Path, run: Run) -> None:
    """What the bound on repeated texts must not refuse: a result as other programs write it."""
    (folder / "datasets.toml").write_text(DECLARATION)
    rows = [(None, 0, 0, 5), ("age", 0, 7, 5), ("hours", 0, 7, 5), ("sex", 0, 1, 5)]
    columns = dict(zip(("attribute", "class", "code", "count"), map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table({**columns, "domain": [digest(people_domain())] * 4}), "counts.parquet")
    run("release", "counts.parquet", "--dataset", "people", "--output", "out.json")
