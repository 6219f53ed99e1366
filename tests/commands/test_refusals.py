"""Refusals: an exit code that a scheduler can act on, and one text that names the file, the column and the remedy."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from people import DECLARATION, PEOPLE, TYPES, people, spoil_rows, write_people
from running import Run

from dpnb_columnar.domain.metadata import DOMAIN_KEY

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
    "text for a number": Refusal(
        changed(age=pl.col("age").cast(pl.String)),
        65,
        ("people.parquet", "'age'", "String", "declared numeric", "cast"),
    ),
    "list": Refusal(changed(age=pl.lit([1])), 65, ("people.parquet", "'age'", "List", "cast it to a number")),
    "number for a category": Refusal(
        changed(sex=pl.lit(1)), 65, ("people.parquet", "'sex'", "no declared value can occur", "cast")
    ),
    "number for a class": Refusal(
        changed(income=pl.lit(1)), 65, ("people.parquet", "'income'", "no declared class can occur", "correct classes")
    ),
    "column of nulls without a type": Refusal(
        changed(hours=pl.lit(None)), 65, ("people.parquet", "'hours'", "no value at all", "cast")
    ),
    "columns that differ in case": Refusal(
        changed(AGE=pl.col("age")), 65, ("people.parquet", "'age', 'AGE'", "rename or drop")
    ),
    "files of different types": Refusal(
        two_kinds, 65, ("people-2.parquet", "'age'", "cast"), data=("people.parquet", "people-2.parquet")
    ),
    "cut short": Refusal(cut_short, 65, ("people.parquet", "damaged or cut short", "copy it again")),
    "damaged rows": Refusal(
        lambda: spoil_rows(write_people(FILE)), 65, ("people.parquet", "cannot be read to the end", "copy it again")
    ),
    "empty file": Refusal(FILE.touch, 65, ("people.parquet", "not a complete Parquet file")),
    "not Parquet": Refusal(
        lambda: FILE.write_text("age,sex\n30,f\n"), 65, ("people.parquet", "not a complete Parquet file")
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
    "mechanism": usage("smooth, histogram", "--mechanism", "smoth"),
    "noise": usage("polyplace, cauchy", "--noise", "gauss"),
    "noise that counts get": usage("laplace needs a constant sensitivity", "--noise", "laplace"),
    "noise without use": usage("leave --noise out", "--mechanism", "histogram", "--noise", "cauchy"),
    "two weights": usage("2:1:1", "--weights", "2:1"),
    "weight 0": usage("2:1:1", "--weights", "2:0:1"),
    "weights in words": usage("2:1:1", "--weights", "a:b:c"),
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


@pytest.mark.parametrize("name", REFUSALS)
def test_train_refuses(name: str, folder: Path, run: Run) -> None:
    refusal = REFUSALS[name]
    refusal.prepare()
    before = contents(folder)
    ended = run("train", *refusal.data, *refusal.arguments, expected=refusal.code)
    for text in refusal.told:
        assert text in ended.err
    assert contents(folder) == before


TAKEN_ALIKE = {
    "plan": [name for name in DATA | DECLARATIONS if name != "damaged rows"],  # it opens no row
    "aggregate": [name for name in DATA | DECLARATIONS if "epsilon" not in name],
    "check": [name for name in DATA | DECLARATIONS if "epsilon" not in name],
}


@pytest.mark.parametrize(("verb", "name"), [(verb, name) for verb, names in TAKEN_ALIKE.items() for name in names])
def test_other_verbs_that_take_data_refuse_it_alike(verb: str, name: str, folder: Path, run: Run) -> None:
    refusal = REFUSALS[name]
    refusal.prepare()
    ended = run(verb, *refusal.data, expected=refusal.code)
    for text in refusal.told:
        assert text in ended.err


@pytest.mark.parametrize("name", OPTIONS)
def test_plan_refuses_the_same_options(name: str, people_file: Path, run: Run) -> None:
    refusal = REFUSALS[name]
    told = "No such option" if name == "suffix" else refusal.told[0]
    assert told in run("plan", people_file, *refusal.arguments, expected=64).err


@pytest.mark.parametrize("name", [name for name in OPTIONS if not name.startswith("data set")])
def test_release_refuses_the_same_options(name: str, people_file: Path, run: Run) -> None:
    run("aggregate", people_file)
    output = () if name == "suffix" else ("--output", "people.json")
    refusal = REFUSALS[name]
    ended = run("release", "people.statistics.parquet", *output, *refusal.arguments, expected=64)
    assert refusal.told[0] in ended.err


def test_every_message_is_one_for_people(folder: Path, run: Run) -> None:
    """No class names, no reprs of ours, no Rust: the first line says whose message it is."""
    for name, refusal in REFUSALS.items():
        for path in folder.iterdir():
            path.rmdir() if path.is_dir() else path.unlink()
        refusal.prepare()
        text = run("train", *refusal.data, *refusal.arguments, expected=refusal.code).err
        assert text.startswith(("dpnb-columnar: ", "Usage: dpnb-columnar train")), name
        assert not re.search(r"Error\(|Fraction|Decimal\(|PosixPath|os error|panicked|0x[0-9a-f]{6}", text), name


# What train must not tell: it depends on rows. check tells the curator.

UNSUITABLE = {
    "attribute without a value": ({"hours": pl.lit(None, pl.Int64)}, ("'hours'", "no value in any row", "fill it")),
    "category without a value": ({"sex": pl.lit(None, pl.String)}, ("'sex'", "no value in any row", "fill it")),
    "label without a value": ({"income": pl.lit(None, pl.String)}, ("income", "no value in any row", "fill it")),
    "class not declared": (
        {"income": pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("middling")).otherwise("income")},
        ("income", "not declared classes", "add them to classes"),
    ),
    "class without rows": ({"income": pl.lit("low")}, ("no row in class high", "take it out of the domain")),
    "no category declared": ({"sex": pl.lit("x")}, ("no row fits the domain",)),
}


@pytest.mark.parametrize("name", UNSUITABLE)
def test_check_refuses_what_train_must_not_tell(name: str, folder: Path, run: Run) -> None:
    columns, told = UNSUITABLE[name]
    write_people(FILE)
    usual = [run("train", FILE), run("plan", FILE)]
    Path("people.model.json").unlink()
    write_people(FILE, people(1000).with_columns(**columns))
    assert [run("train", FILE), run("plan", FILE)] == usual
    ended = run("check", FILE, expected=65)
    assert "people.parquet" in ended.err
    for text in told:
        assert text in ended.out
    assert "middling" not in ended.err + ended.out


def test_no_rows_at_all_are_refused_by_check_alone(folder: Path, run: Run) -> None:
    write_people(FILE, pl.DataFrame(schema=TYPES))
    run("train", FILE)
    assert "no row fits the domain" in run("check", FILE, expected=65).out


@pytest.mark.parametrize("verb", ["simulate", "aggregate", "release", "predict"])
def test_every_verb_that_writes_keeps_an_existing_file(verb: str, model_file: Path, run: Run) -> None:
    run("aggregate", FILE)
    precious = Path("precious.parquet")
    precious.write_text("precious")
    arguments = {
        "simulate": (precious, "--rows", 10),
        "aggregate": (FILE, "--output", precious),
        "release": ("people.statistics.parquet", "--output", precious),
        "predict": (model_file, FILE, "--output", precious),
    }[verb]
    told = run(verb, *arguments, expected=73).err
    assert "precious.parquet" in told
    assert "--overwrite" in told
    assert precious.read_text() == "precious"
    run(verb, *arguments, "--overwrite")
    assert precious.read_bytes().startswith(b"PAR1")


@pytest.mark.parametrize("verb", ["simulate", "aggregate", "predict", "datasets"])
def test_name_that_hides_the_format_is_refused(verb: str, model_file: Path, run: Run) -> None:
    arguments = {
        "simulate": ("out.csv",),
        "aggregate": (FILE, "--output", "out.csv"),
        "predict": (model_file, FILE, "--output", "out.csv"),
        "datasets": ("prepare", "adult", "--from", ".", "--output", "out.csv"),
    }[verb]
    assert "out.csv: is written as Parquet; end its name in .parquet" in run(verb, *arguments, expected=64).err


@pytest.mark.parametrize("verb", ["train", "aggregate", "release", "predict"])
def test_input_is_never_replaced(verb: str, model_file: Path, run: Run) -> None:
    run("aggregate", FILE)
    statistics = Path("people.statistics.parquet")
    lost = statistics if verb == "release" else FILE
    before = lost.read_bytes()
    Path("link.parquet").symlink_to(lost)
    given = {"release": (statistics,), "predict": (model_file, FILE)}.get(verb, (FILE,))
    for output in (lost, "link.parquet"):
        told = run(verb, *given, "--output", output, "--overwrite", expected=73).err
        assert "is an input as well, and would be lost; choose another --output" in told
    assert lost.read_bytes() == before


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() if path.is_file() else b"" for path in folder.iterdir()}
