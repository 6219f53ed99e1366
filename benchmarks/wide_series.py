"""Series of inputs that are large in something else than rows, and of passes over the rows after the first one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.processes import PROGRAM, PYTHON, contender
from benchmarks.runs import Contender, Input, Point
from benchmarks.scale import MILLION, Places, Scale, Table, aggregate_command, train_command

TURNS = 3
"""The most turns of these series."""

PREDICT, TRAIN, PLAN, INGEST = (f"dpnb-columnar {verb}" for verb in ("predict", "train", "plan", "ingest"))

PASSES = {"counts": "first pass", "scores": "pass that calibrates weights", "gradients": "round of learned weights"}
"""Passes over the rows (``contenders.inside``), and their names."""

WIDE_MODELS = ((4, 9, 100, MILLION), (4, 9, 1_000, MILLION // 10), (500, 500, 2, MILLION // 10))
"""Numeric and categorical attributes, classes and rows that models score which are wide in one of them."""

USUAL_GRID = 100

MANY_TEXTS, TEXT_ROWS = 400, MILLION // 5
TEXT_CATEGORIES = 8
MOST_CATEGORIES = 2**19
"""Categories of an attribute that with two classes has the largest table of counts, 2^20."""

COLUMNS = 10
TEXTS, INTEGERS = "ten categorical columns of text", "ten categorical columns of integers"
OTHER_TYPES = {
    f"ten categorical columns of {kind}": kind for kind in ["dictionaries", "digits", "dates", "decimals", "floats"]
}

FILES, FILE_ROWS = 3_000, 120
MANY_FILES, ONE_FILE = f"predict, {FILES:,} files", "predict, one file"

CODEBOOK_VARIABLES, CODEBOOK_CODES = 50, 8_600
"""Variables of a codebook of 46 MB, and codes of each."""

PLANNED_ATTRIBUTES = 137

BY_ROWS, BY_HOUSEHOLDS, SHUFFLED = "aggregate, by rows", "by households, in order", "by households, shuffled"


def passes(scale: Scale, places: Places) -> Iterator[Point]:
    """Measure the passes over the rows of one training: seconds inside a process."""
    rows = max(rows for rows in scale.train if rows <= scale.fit)
    census = places.census(rows)
    contenders = tuple(
        Contender(name, contender("inside", "pass", census.path, kind), inside=True) for kind, name in PASSES.items()
    )
    yield Point("passes", contenders, min(scale.turns, TURNS), (census,), rows, attributes=13, classes=2)


def wide(scale: Scale, places: Places) -> Iterator[Point]:
    """Measure scoring by models of many classes, whose probabilities are most of the work, or of many attributes."""
    for numeric, categorical, classes, rows in WIDE_MODELS:
        rows = min(rows, max(scale.predict))
        table = Table("wide", rows, numeric, categorical, classes, USUAL_GRID)
        made = table.made(places.data)
        model = places.model(made)
        only = Contender(PREDICT, _predict_command(model.path, made.path, places))
        sizes = (rows, numeric + categorical, classes, USUAL_GRID)
        yield Point("wide", (only,), min(scale.turns, TURNS), (made, model), *sizes)


def categories(scale: Scale, places: Places) -> Iterator[Point]:
    """Measure many columns of text and one of very many texts, trained on and scored; other types beside integers."""
    most, turns = max(scale.train), min(scale.turns, TURNS)
    for rows, attributes, size in ((TEXT_ROWS, MANY_TEXTS, TEXT_CATEGORIES), (MILLION, 1, MOST_CATEGORIES)):
        made = _categories(places, min(rows, most), attributes, size, "texts")
        model = places.model(made)
        contenders = (
            Contender(TRAIN, train_command(made.path, places.work / "texts.model.json")),
            Contender(PREDICT, _predict_command(model.path, made.path, places)),
        )
        yield Point("categories", contenders, turns, (made, model), min(rows, most), attributes, 2, size)
    rows = min(scale.fit, most)
    kinds = {TEXTS: "texts", INTEGERS: "integers", **OTHER_TYPES}
    inputs = tuple(_categories(places, rows, COLUMNS, TEXT_CATEGORIES, kind) for kind in kinds.values())
    contenders = tuple(
        Contender(name, train_command(made.path, places.work / "texts.model.json"))
        for name, made in zip(kinds, inputs, strict=True)
    )
    yield Point("categories", contenders, turns, inputs, rows, COLUMNS, 2, TEXT_CATEGORIES)


def _categories(places: Places, rows: int, attributes: int, size: int, kind: str) -> Input:
    path = places.data / f"categories-{rows}-{attributes}-{size}-{kind}.parquet"
    return Input(path, _input_command("texts", path, rows, attributes, size, kind))


def files(scale: Scale, places: Places) -> Iterator[Point]:
    """Measure scoring many small files, beside one file of the same rows."""
    rows = min(FILES * FILE_ROWS, max(scale.predict))
    census, folder = places.census(rows), places.work / "files"
    model = places.model(census)
    divided = Input(folder, _input_command("files", folder, census.path, min(FILES, rows)))
    contenders = tuple(
        Contender(name, _predict_command(model.path, path, places))
        for name, path in ((MANY_FILES, folder), (ONE_FILE, census.path))
    )
    yield Point("files", contenders, min(scale.turns, TURNS), (census, model, divided), rows, attributes=13, classes=2)


def declared(scale: Scale, places: Places) -> Iterator[Point]:
    """Measure what reads declarations alone: the domain of a large codebook, the plan of many attributes."""
    codebook = places.data / "wide.xml"
    made = Input(codebook, _input_command("codebook", codebook, CODEBOOK_VARIABLES, CODEBOOK_CODES))
    output = ("--output", str(places.work / "ingested.parquet"), "--overwrite")
    ingested = Contender(INGEST, (*PROGRAM, "ingest", str(codebook.with_suffix(".dat")), *output))
    turns = min(scale.turns, TURNS)
    yield Point("declared", (ingested,), turns, (made,), attributes=CODEBOOK_VARIABLES, grid=CODEBOOK_CODES)
    table = Table("declared", 1_000, (PLANNED_ATTRIBUTES + 1) // 2, PLANNED_ATTRIBUTES // 2, 2, USUAL_GRID)
    rows = table.made(places.data)
    planned = Contender(PLAN, (*PROGRAM, "plan", str(rows.path)))
    yield Point("declared", (planned,), turns, (rows,), attributes=PLANNED_ATTRIBUTES, classes=2)


def units(scale: Scale, places: Places) -> Iterator[Point]:
    """Measure counting by households, whose rows stand in order or anywhere, beside counting by rows."""
    rows = max(rows for rows in scale.train if rows <= scale.fit)
    census, counted = places.census(rows), places.work / "counted.statistics.parquet"
    made, contenders = [census], []
    for name, order in ((BY_ROWS, "ordered"), (BY_HOUSEHOLDS, "ordered"), (SHUFFLED, "shuffled")):
        path = places.data / f"households-{rows}-{order}.parquet"
        made.append(Input(path, _input_command("households", path, census.path, order)))
        unit = () if name == BY_ROWS else ("--unit", "SERIAL")
        contenders.append(Contender(name, (*aggregate_command(path, counted), *unit, "--overwrite")))
    yield Point("units", tuple(contenders), min(scale.turns, TURNS), tuple(made), rows, attributes=13, classes=2)


def _predict_command(model: Path, data: Path, places: Places) -> tuple[str, ...]:
    """Make the command that scores rows."""
    output = places.work / "scored.parquet"
    return (*PROGRAM, "predict", str(model), str(data), "--output", str(output), "--overwrite")


def _input_command(kind: str, path: Path, *arguments: object) -> tuple[str, ...]:
    """Make the command that writes an input by ``benchmarks.wide_inputs``."""
    return (PYTHON, "-m", "benchmarks.wide_inputs", kind, str(path), *map(str, arguments))
