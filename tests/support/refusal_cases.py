"""Situations that the command line refuses: exit codes, and what the message tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from dpnb_columnar.domain.declaration import DOMAIN_KEY, domain_metadata
from support.people import DECLARATION, PEOPLE, people, people_domain, spoil_rows, write_people

FILE = Path("people.parquet")


def changed(**columns: Any) -> Callable[[], object]:
    """``people.parquet`` with columns replaced."""
    return lambda: write_people(FILE, people(50).with_columns(**columns))


def declared(part: str, **fields: Any) -> Callable[[], object]:
    """``people.parquet`` with another declaration of one attribute, or of the label."""

    def write() -> None:
        document = {"label": PEOPLE["label"], "attributes": dict(PEOPLE["attributes"])}
        if part == "label":
            document["label"] = fields
        else:
            document["attributes"][part] = fields
        text = str({"name": "people", **document}).replace("'", '"')
        people(50).write_parquet(FILE, metadata={DOMAIN_KEY: text})

    return write


def cut_short() -> None:
    content = write_people(FILE).read_bytes()
    FILE.write_bytes(content[: len(content) // 2])


def catalogue(text: str) -> Callable[[], object]:
    """``people.parquet`` without a domain, beside a catalogue of its own."""

    def write() -> None:
        write_people(FILE, document=None)
        Path("datasets.toml").write_text(text)

    return write


def two_kinds() -> None:
    write_people(FILE)
    write_people(Path("people-2.parquet"), people(10).with_columns(pl.col("age").cast(pl.String)))


def two_domains() -> None:
    write_people(FILE)
    other = {**PEOPLE, "attributes": {"age": PEOPLE["attributes"]["age"]}}
    write_people(Path("people-2.parquet"), document=other)


def write_twice(path: Path) -> None:
    """Write a Parquet file with two columns of one name."""
    table = people(50).to_arrow()
    twice = pa.table([*table.columns, table["age"]], names=[*table.column_names, "age"])
    pq.write_table(twice.replace_schema_metadata(domain_metadata(people_domain())), path)


def output_exists() -> None:
    write_people(FILE)
    Path("people.model.json").write_text("precious")


def output_is_a_folder() -> None:
    write_people(FILE)
    Path("people.model.json").mkdir()


@dataclass(frozen=True)
class Refusal:
    """A situation, and how it is refused.

    Attributes:
        prepare: Makes the files, in the working directory.
        code: Exit code.
        told: Texts that the message holds.
        arguments: Of ``train``, besides the data.
        data: Paths given.
    """

    prepare: Callable[[], object]
    code: int
    told: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    data: tuple[str, ...] = (str(FILE),)


def usage(told: str, *arguments: str) -> Refusal:
    return Refusal(lambda: write_people(FILE), 64, (told,), arguments)


DATA = {
    "missing column": Refusal(
        lambda: write_people(FILE, people(50).rename({"hours": "hour"})),
        65,
        ("people.parquet", "'hours'", "is it 'hour'?", "age, hour, sex, income", "rename"),
    ),
    "missing label": Refusal(
        lambda: write_people(FILE, people(50).drop("income")), 65, ("people.parquet", "'income'", "correct the domain")
    ),
    "date for a number": Refusal(
        changed(age=pl.date(2018, 12, 31)), 65, ("people.parquet", "'age'", "Date", "declared numeric", "cast")
    ),
    "list": Refusal(changed(age=pl.lit([1])), 65, ("people.parquet", "'age'", "List", "cast it to a number")),
    "number for a category": Refusal(
        changed(sex=pl.lit(1)), 65, ("people.parquet", "'sex'", "cannot hold the declared f, m", "cast")
    ),
    "number for a class": Refusal(
        changed(income=pl.lit(1)),
        65,
        ("people.parquet", "'income'", "cannot hold the declared low, high", "correct classes"),
    ),
    "column of nulls without a type": Refusal(
        changed(hours=pl.lit(None)), 65, ("people.parquet", "'hours'", "no value at all", "cast")
    ),
    "columns that differ in case": Refusal(
        changed(AGE=pl.col("age")), 65, ("people.parquet", "'age', 'AGE'", "rename or drop")
    ),
    "columns of one name": Refusal(
        lambda: write_twice(FILE), 65, ("people.parquet: has more than one column named 'age'; rename or drop",)
    ),
    "files of different types": Refusal(
        two_kinds, 65, ("people-2.parquet", "'age'", "cast"), data=("people.parquet", "people-2.parquet")
    ),
    "cut short": Refusal(cut_short, 65, ("people.parquet", "damaged or cut short", "copy it again")),
    "damaged rows": Refusal(
        lambda: spoil_rows(write_people(FILE)), 65, ("people.parquet", "cannot be read to the end", "copy it again")
    ),
    "empty file": Refusal(FILE.touch, 65, ("people.parquet", "is empty, without a single byte")),
    "not Parquet": Refusal(
        lambda: FILE.write_text("age,sex\n30,f\n"), 65, ("people.parquet: text, such as CSV", "dpnb-columnar ingest")
    ),
    "no such file": Refusal(lambda: None, 66, ("people.parquet", "no such file")),
    "no match": Refusal(lambda: None, 66, ("part-*.parquet", "quoted pattern"), data=("part-*.parquet",)),
}

DECLARATIONS = {
    "no domain": Refusal(
        lambda: write_people(FILE, document=None),
        78,
        ("people.parquet", "carries no domain", "--dataset", "datasets.toml"),
    ),
    "bounds reversed": Refusal(
        declared("age", lower=100, upper=0),
        78,
        ("people.parquet", "people.attributes.age.lower", "are the bounds reversed?"),
    ),
    "no bounds": Refusal(declared("age", lower=0), 78, ("people.attributes.age.upper", "bounds are declared")),
    "no classes": Refusal(declared("label", column="income"), 78, ("people.label.classes", "at least two class names")),
    "one class": Refusal(
        declared("label", column="income", classes=["low"]), 78, ("people.label.classes", "at least two class names")
    ),
    "bounds reversed in a catalogue": Refusal(
        catalogue(DECLARATION.replace("lower = 0, upper = 98", "lower = 98, upper = 0")),
        78,
        ("datasets.toml", "people.attributes.hours.lower", "are the bounds reversed?"),
    ),
    "catalogue that is no TOML": Refusal(catalogue("[people"), 78, ("datasets.toml", "not a TOML file")),
    "epsilon 0 in a catalogue": Refusal(
        catalogue(DECLARATION.replace("[people]\n", '[people]\nepsilon = "0"\n')),
        78,
        ("datasets.toml, entry people", "above 0"),
    ),
    "epsilon in words in a catalogue": Refusal(
        catalogue(DECLARATION.replace("[people]\n", '[people]\nepsilon = "little"\n')),
        78,
        ("datasets.toml", "people.epsilon", "expected a number"),
    ),
    "different domains": Refusal(
        two_domains, 78, ("people.parquet", "same domain", "--dataset"), data=("people.parquet", "people-2.parquet")
    ),
}

OPTIONS = {
    "epsilon 0": usage("above 0", "--epsilon", "0"),
    "epsilon negative": usage("above 0", "--epsilon", "-1"),
    "epsilon NaN": usage("finite", "--epsilon", "NaN"),
    "epsilon inf": usage("finite", "--epsilon", "inf"),
    "epsilon 1e400": usage("'1e400'", "--epsilon", "1e400"),
    "epsilon 1e-400": usage("'1e-400'", "--epsilon", "1e-400"),
    "epsilon text": usage("'much'", "--epsilon", "much"),
    "epsilon empty": usage("expected a number", "--epsilon", ""),
    "epsilon beyond reason": usage("1000", "--epsilon", "1001"),
    "epsilon too small": usage("0.0001", "--epsilon", "0.00001"),
    "mechanism": usage("smooth, paper", "--mechanism", "smoth"),
    "noise": usage("polyplace, student-3, cauchy", "--noise", "gauss"),
    "delta without use": usage("delta: mechanism histogram spends none; leave --delta out", "--delta", "1e-6"),
    "delta of counts": usage("delta: mechanism majority spends none", "--mechanism", "majority", "--delta", "1e-6"),
    "delta too large": usage("the largest accepted is 0.05", "--delta", "0.1"),
    "delta below 0": usage("must not be negative", "--delta=-1e-6"),
    "digits without end": usage("fewer digits", "--epsilon", "1." + "3" * 280, "--shares", "1." + "7" * 280 + ":1:1"),
    "delta in words": usage("give a number such as 1e-6", "--delta", "small"),
    "noise without use": usage("leave --noise out", "--mechanism", "histogram", "--noise", "cauchy"),
    "two shares": usage("2:1:1", "--shares", "2:1"),
    "share 0": usage("2:1:1", "--shares", "2:0:1"),
    "shares in words": usage("2:1:1", "--shares", "a:b:c"),
    "neighbours": usage("replace-one", "--neighbours", "friends"),
    "data set": usage("did you mean adult?", "--dataset", "adlt"),
    "data set unlike any": usage("known names: adult, mushroom", "--dataset", "zzz"),
    "suffix": usage("end its name in .json or .parquet", "--output", "people.pkl"),
    "option": usage("No such option", "--epsilom", "1"),
}

OUTPUTS = {
    "output exists": Refusal(
        output_exists,
        73,
        ("people.model.json", "exists already", "--overwrite"),
    ),
    "output is a folder": Refusal(output_is_a_folder, 73, ("people.model.json", "is a folder")),
    "folder of the output is missing": Refusal(
        lambda: write_people(FILE),
        73,
        ("models/people.json", "does not exist", "create models"),
        ("--output", "models/people.json"),
    ),
}

REFUSALS = DATA | DECLARATIONS | OPTIONS | OUTPUTS
