"""What is fuzzed: a reader is one line here, with a valid file in ``seed_files.py``."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec


@dataclass(frozen=True)
class Reader:
    """A file that the command line reads."""

    file: str
    commands: tuple[str, ...]


PREDICT = "predict {} people.parquet --output out.parquet"
RELEASE = "release {} --output out.json"
SECOND = "release {} --given tables.json --output out.json"
INGEST = "ingest {} --output out.parquet"

READERS = (
    Reader(
        "model.json",
        (
            "show model.json",
            PREDICT,
            "evaluate model.json people.parquet",
            "sql score model.json --dialect duckdb --table t",
            "sql score {} --dialect postgres --table t --parameters-table terms --parameters out.csv --output out.sql",
            "show {} --html out.html",
            "evaluate {} people.parquet --html out.html",
            "export {} --to spss --output out.sps",
            "export {} --to sas --output out.sas",
            PREDICT + " --explain --top 2",
        ),
    ),
    Reader(
        "histogram.json",
        (
            "show {} --json",
            "show {} --all",
            PREDICT + " --intervals",
            "export {} --to r --output out.R",
            "show {} --html out.html",
        ),
    ),
    Reader("three.json", ("show {} --all", PREDICT, "export {} --to stata --output out.do")),
    Reader(
        "capped.json",
        ("show {} --all", PREDICT + " --intervals", "evaluate {} capped.parquet --epsilon 1 --output out.json"),
    ),
    Reader("gaussian.json", ("show gaussian.json", PREDICT)),
    Reader("model.parquet", ("show model.parquet", PREDICT)),
    Reader("groups.json", ("show {}", "show {} --json", "show {} --html out.html")),
    Reader("scores.json", ("show {}", "show {} --json", "show {} --html out.html")),
    Reader(
        "release.toml",
        (
            "show histogram.json --html out.html --record {}",
            "show histogram.json --registry --record {} --output out.json",
            "show histogram.json --card --record {} --output out.md",
        ),
    ),
    Reader("audit.json", ("show histogram.json --html out.html --audit {}",)),
    Reader("people.statistics.parquet", (RELEASE, RELEASE + " --mechanism histogram", RELEASE + " --dataset people")),
    Reader("second.parquet", (SECOND,)),
    Reader("second.csv", (SECOND,)),
    Reader("tables.json", ("show tables.json", "aggregate people.parquet --given {} --output out.parquet")),
    Reader("learned.json", ("show learned.json", "aggregate people.parquet --given {} --output out.parquet")),
    Reader("counts.csv", (RELEASE + " --dataset people", RELEASE + " --domain people.parquet")),
    Reader("counts.csv.gz", (RELEASE + " --dataset people",)),
    Reader("counts.parquet", (RELEASE + " --dataset people",)),
    Reader(
        "people.parquet",
        (
            "train {} --output out.json",
            "check {}",
            "plan {}",
            "predict model.json {} --output out.parquet --key age",
            "domain show {}",
            "suggest-domain {}",
            "aggregate {} --output out.parquet",
            "release counts.csv --domain {} --output out.json",
            "evaluate model.json {}",
            "evaluate histogram.json {} --epsilon 1 --output out.json --html out.html",
            "split {} --train-output out.a.parquet --test-output out.b.parquet",
        ),
    ),
    Reader(
        "units.parquet",
        (
            "train {} --output out.json",
            "aggregate {} --output out.parquet",
            "check {}",
            "plan {} --no-advice",
            "split {} --by household --train-output out.a.parquet --test-output out.b.parquet",
        ),
    ),
    Reader(
        "capped.parquet",
        (
            "train {} --output out.json",
            "aggregate {} --output out.parquet",
            "check {}",
            "plan {} --no-advice",
            "domain edit {} --output out.toml",
            "split {} --validation 1/4 --train-output out.a.parquet --test-output out.b.parquet "
            "--validation-output out.c.parquet",
        ),
    ),
    Reader("units.statistics.parquet", (RELEASE, RELEASE + " --whole-units")),
    Reader(
        "sample.parquet",
        (
            "plan people.parquet --mechanism histogram --attribute-weights {} --no-advice",
            "train people.parquet --mechanism histogram --attribute-weights {} --output out.json",
            "evaluate public.json people.parquet --public {}",
        ),
    ),
    Reader(
        "datasets.toml",
        ("train plain.parquet --output out.json", "datasets list", "domain show plain.parquet", "plan people.parquet"),
    ),
    Reader(
        "town.xml",
        (
            "ingest town.dat --output out.parquet",
            "domain show {}",
            "ingest town.csv --codebook {} --output out.parquet",
        ),
    ),
    Reader("houses.xml", ("ingest houses.dat --output out.parquet",)),
    Reader("book.xml.gz", ("ingest town.dat --codebook {} --output out.parquet",)),
    Reader("layout.toml", ("ingest town.dat --codebook {} --output out.parquet", "domain show {}")),
    Reader("houses.toml", ("ingest houses.dat --codebook {} --output out.parquet",)),
    Reader("flags.csv", ("ingest csv_pfl.zip --codebook {} --imputed missing --output out.parquet", "domain show {}")),
    Reader("csv_pfl.zip", (INGEST + " --codebook flags.csv --imputed missing",)),
    Reader("bare.csv", (INGEST + " --no-header --names names.txt --dataset people",)),
    Reader("names.txt", ("ingest bare.csv --no-header --names {} --dataset people --output out.parquet",)),
    Reader("dictionary.csv", ("ingest csv_pde.zip --codebook {} --output out.parquet", "domain show {}")),
    Reader("town.dat", (INGEST, INGEST + " --columns AGE,TOWN")),
    Reader("houses.dat", (INGEST,)),
    Reader("packed.dat.gz", (INGEST,)),
    Reader("town.csv", (INGEST, INGEST + " --codebook town.xml")),
    Reader("csv_pde.zip", (INGEST, INGEST + " --codebook dictionary.csv")),
    Reader(
        "people.ledger",
        (
            "ledger show {}",
            "ledger verify {}",
            "train people.parquet --ledger {} --run-id night --epsilon 0.1 --output out.json",
            "train people.parquet --ledger {} --output out.json --dry-run",
        ),
    ),
    Reader(
        "watched.ledger",
        (
            "ledger show {}",
            "ledger verify {} --witness other/people.witness",
            "train people.parquet --ledger {} --run-id night --epsilon 0.1 --output out.json",
        ),
    ),
    Reader(
        "other/people.witness",
        (
            "ledger verify watched.ledger --witness {}",
            "train people.parquet --ledger watched.ledger --witness {} --run-id night --epsilon 0.1 --output out.json",
        ),
    ),
    Reader(
        "rows.duckdb",
        (
            "predict model.json {} --table person --output out.parquet",
            "release {} --table person --dataset people --output out.json",
            "train {} --table person --dataset people --output out.json",
            "check {} --table person --dataset people",
            "evaluate model.json {} --table person",
            "suggest-domain {} --table person",
        ),
    ),
    Reader(
        "rows.sqlite",
        (
            "predict model.json {} --table person --output out.parquet",
            "release {} --table person --dataset people --output out.json",
            "train {} --table person --dataset people --output out.json",
            "check {} --table person --dataset people",
            "evaluate model.json {} --table person",
            "suggest-domain {} --table person",
        ),
    ),
)

LAKE = (
    "train {0} --dataset people --output out.json",
    "check {0} --dataset people",
    "predict model.json {0} --output out.parquet",
    "split {0} --train-output out.a.parquet --test-output out.b.parquet",
)

if find_spec("deltalake") and find_spec("pyiceberg"):
    READERS += tuple(
        Reader(file, tuple(command.format(table) for command in LAKE))
        for table, files in (
            ("delta", ("delta/_delta_log/*.json", "delta/*.parquet", "delta/*.bin")),
            (
                "ice/people",
                ("ice/people/metadata/00003-*.json", "ice/people/metadata/*.avro", "ice/people/data/*.parquet"),
            ),
        )
        for file in files
    )
