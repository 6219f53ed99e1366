"""Series of measurements: each yields its points for a scale.

The first contender of a point is this program; the others are compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from benchmarks.processes import PROGRAM, PYTHON, contender
from benchmarks.runs import Contender, Input, Point
from benchmarks.scale import MILLION, Places, Scale, Table, aggregate_command, input_command, train_command
from benchmarks.wide_series import (
    PREDICT,
    TRAIN,
    USUAL_GRID,
    categories,
    declared,
    files,
    passes,
    units,
    wide,
)

HELP = "dpnb-columnar --help"
TYPER_HELP = "bare typer program --help"
IMPORTS = "import polars, duckdb, numpy, flint"
SHOW = "dpnb-columnar show"
FEW_ROWS = 1_000
MORE_TURNS = 3
"""Times as many turns of processes that are short, and close to each other."""

UNWEIGHTED, LEARNED = "train, no attribute weights", "train, learned attribute weights"
PARTIAL_FIT = "GaussianNB.partial_fit"
FIT = "GaussianNB.fit"
LIGHTGBM = "LightGBM, 100 trees"
DIFFPRIVLIB = "diffprivlib GaussianNB.fit"
SCAN = "bare scan, Polars"
COUNTS_POLARS = "bare grouped counts, Polars"
COUNTS_DUCKDB = "bare grouped counts, DuckDB"

RELEASE = "release"

STEPS = {
    "all": "as `train` counts",
    "lookups": "rules computed for each row",
    "counters": "rows grouped, not counted",
    "polars": "all in Polars",
    "duckdb": "all in DuckDB",
}
"""Ways to count rows (``contenders.inside``), and their names."""

STAGES = {
    "categories counted by DuckDB": "categories",
    "numbers counted by Polars": "numbers",
    "pass that calibrates weights": "scores",
    RELEASE: "release",
}
"""Parts of ``train`` by their names, as ``contenders.inside`` calls them."""

TABLE_TRAIN, TABLE_UNWEIGHTED = "train, from the table", "train, from the table, no attribute weights"
TABLE_COUNTS = "bare GROUPING SETS of the table"
SERVED_ROWS = MILLION
NO_WEIGHTS = ("--attribute-weights", "none")

PREDICT_PROBA = "GaussianNB.predict_proba"
SQL_SCORES = "dpnb-columnar sql, in DuckDB"

CALL, ESTIMATOR_CALL, GAUSSIAN_CALL = "Model.predict", "SmoothNaiveBayes.predict", "GaussianNB.predict"
CALLED_ROWS = 10

INGEST = "dpnb-columnar ingest"
IPUMSPY = "ipumspy, in chunks"
EXTRACT_COLUMNS = 10

CENSUS_ATTRIBUTES, MANY_ATTRIBUTES, MANY_CLASSES = 13, 100, 20
FULL_STATISTICS = ((MANY_ATTRIBUTES, MANY_CLASSES, 1_000), (5, 2, 65_536))
"""Attributes, all numeric, classes and grid of statistics in which no cell is empty."""

AS_DEFINED = "every distance, O(n²)"
THIS_PROGRAM = "this program"
SEARCH_GRID = 65_536

FLOATS = "five columns of floats"
INTEGERS = "five columns of integers"
FINE, FINE_GRID = "ten columns of very fine floats", 10**8
"""Floats that nearly all have a cell of their own."""

ATTRIBUTES = (1, 2, 5, 10, 20, 35, 50)
CLASSES = (2, 5, 10, 15, 20)
GRIDS = tuple(2**power for power in range(4, 17, 2))


def start(scale: Scale, places: Places) -> Iterator[Point]:
    """Measure the cost of a process before it reads many rows: the help, and verbs on a thousand rows."""
    help_texts = (Contender(HELP, (*PROGRAM, "--help")), Contender(TYPER_HELP, contender("typer_help", "--help")))
    yield Point("start", help_texts, MORE_TURNS * scale.turns)
    census = places.census(FEW_ROWS)
    trained = train_command(census.path, places.work / "few.model.json")
    model, scored = places.model(census), str(places.work / "few.scored.parquet")
    predicted = (*PROGRAM, "predict", str(model.path), str(census.path), "--output", scored, "--overwrite")
    few = (
        Contender(TRAIN, trained),
        Contender(PREDICT, predicted),
        Contender(SHOW, (*PROGRAM, "show", str(model.path))),
        Contender(IMPORTS, (PYTHON, "-c", IMPORTS)),
    )
    yield Point("start", few, MORE_TURNS * scale.turns, (census, model), FEW_ROWS, attributes=13, classes=2)


def calls(scale: Scale, places: Places) -> Iterator[Point]:
    """Measure a call that predicts ten rows: seconds inside a process that has predicted them before."""
    census = places.census(FEW_ROWS)
    model = places.model(census)
    contenders = (
        Contender(CALL, contender("calls", "model", model.path, census.path), inside=True),
        Contender(ESTIMATOR_CALL, contender("calls", "estimator"), inside=True),
        Contender(GAUSSIAN_CALL, contender("calls", "gaussian"), inside=True),
    )
    yield Point("calls", contenders, scale.turns, (census, model), CALLED_ROWS, attributes=13, classes=2)


def train(scale: Scale, places: Places) -> Iterator[Point]:
    """Measure training beside scikit-learn, LightGBM, diffprivlib, and the least that any must do: read and count."""
    for rows in scale.train:
        census = places.census(rows)
        path = census.path
        contenders = [
            Contender(TRAIN, train_command(path, places.work / "trained.model.json")),
            Contender(PARTIAL_FIT, contender("scikit_learn", "partial_fit", path)),
            Contender(SCAN, contender("bare_counts", "scan", path)),
            Contender(COUNTS_POLARS, contender("bare_counts", "polars", path)),
            Contender(COUNTS_DUCKDB, contender("bare_counts", "duckdb", path)),
        ]
        for name, weights in ((UNWEIGHTED, "none"), (LEARNED, "learned")):
            command = (*train_command(path, places.work / "trained.model.json"), "--attribute-weights", weights)
            contenders.append(Contender(name, command))
        if rows <= scale.fit:
            contenders.append(Contender(FIT, contender("scikit_learn", "fit", path)))
            contenders.append(Contender(LIGHTGBM, contender("gradient_boosting", path)))
            if places.diffprivlib:
                command = contender("scikit_learn", "fit_diffprivlib", path, python=places.diffprivlib)
                contenders.append(Contender(DIFFPRIVLIB, command))
        yield Point("train", tuple(contenders), scale.turns_of(rows), (census,), rows, attributes=13, classes=2)


def steps(scale: Scale, places: Places) -> Iterator[Point]:
    """Measure what each step of counting saves: seconds inside a process with all of them, and with all but one."""
    rows = max(rows for rows in scale.train if rows <= scale.fit)
    census = places.census(rows)
    contenders = [
        Contender(name, contender("inside", "count", census.path, step), inside=True) for step, name in STEPS.items()
    ]
    yield Point("steps", tuple(contenders), min(scale.turns, 3), (census,), rows, attributes=13, classes=2)


def stages(scale: Scale, places: Places) -> Iterator[Point]:
    """Measure the parts of training: what is imported by a whole process, the others in seconds inside a process."""
    rows = max(rows for rows in scale.train if rows <= scale.fit)
    census, counted = places.census(rows), places.work / "staged.statistics.parquet"
    arguments = {"scores": ("pass", census.path, "scores"), "release": ("release", counted)}
    contenders = [
        Contender(TRAIN, train_command(census.path, places.work / "trained.model.json")),
        Contender(IMPORTS, (PYTHON, "-c", IMPORTS)),
    ]
    for name, stage in STAGES.items():
        command = contender("inside", *arguments.get(stage, ("count", census.path, stage)))
        contenders.append(Contender(name, command, inside=True))
    inputs = (census, Input(counted, aggregate_command(census.path, counted)))
    yield Point("stages", tuple(contenders), min(scale.turns, 3), inputs, rows, attributes=13, classes=2)


def databases(scale: Scale, places: Places) -> Iterator[Point]:
    """Measure training on a table of a database, beside the bare query there and a file of the same rows."""
    rows = max(rows for rows in scale.train if rows <= scale.fit)
    census, output = places.census(rows), ("--output", str(places.work / "trained.model.json"), "--overwrite")
    declared = ("--dataset", "census_simulated", *output)
    table = places.data / f"{census.path.stem}.duckdb"
    made = Input(table, contender("databases", "duckdb", census.path, table))
    trained = (*PROGRAM, "train", str(table), "--table", "census", *declared)
    contenders = (
        Contender(TABLE_TRAIN, trained),
        Contender(TABLE_UNWEIGHTED, (*trained, *NO_WEIGHTS)),
        Contender(TABLE_COUNTS, contender("databases", "bare", table)),
    )
    yield _database_point("duckdb", contenders, scale, places, (census, made), rows)
    if places.postgresql:
        rows = min(rows, SERVED_ROWS)
        census = places.census(rows)
        served = contender("databases", "served", census.path)
        contenders = (
            Contender(TABLE_TRAIN, (*served, "train", *declared), inside=True),
            Contender(TABLE_UNWEIGHTED, (*served, "train", *declared, *NO_WEIGHTS), inside=True),
            Contender(TABLE_COUNTS, (*served, "bare"), inside=True),
        )
        yield _database_point("postgresql", contenders, scale, places, (census,), rows)


def _database_point(
    series: str, contenders: tuple[Contender, ...], scale: Scale, places: Places, inputs: tuple[Input, ...], rows: int
) -> Point:
    of_file = train_command(inputs[0].path, places.work / "trained.model.json")
    beside = (Contender(TRAIN, of_file), Contender(UNWEIGHTED, (*of_file, *NO_WEIGHTS)))
    return Point(series, (*contenders, *beside), scale.turns_of(rows), inputs, rows, attributes=13, classes=2)


def predict(scale: Scale, places: Places) -> Iterator[Point]:
    """Measure scoring, Parquet to Parquet, beside scikit-learn, each with a model trained on the same rows before."""
    for rows in scale.predict:
        census = places.census(rows)
        model, output = places.model(census), places.work / "scored.parquet"
        scored = (*PROGRAM, "predict", str(model.path), str(census.path), "--output", str(output), "--overwrite")
        inputs, contenders = [census, model], [Contender(PREDICT, scored)]
        if rows <= scale.score_beside:
            fitted = places.work / f"{census.path.stem}.pickle"
            inputs.append(Input(fitted, contender("scikit_learn", "partial_fit", census.path, fitted)))
            command = contender("scikit_learn", "predict_proba", fitted, census.path, output)
            contenders.append(Contender(PREDICT_PROBA, command))
            query = places.work / f"{census.path.stem}.sql"
            like = ("--like", str(census.path), "--table", "census", "--dialect", "duckdb", "--output", str(query))
            inputs.append(Input(query, (*PROGRAM, "sql", str(model.path), *like)))
            contenders.append(Contender(SQL_SCORES, contender("sql_scores", query, census.path, output)))
        yield Point("predict", tuple(contenders), scale.turns_of(rows), tuple(inputs), rows, attributes=13, classes=2)


def ingest(scale: Scale, places: Places) -> Iterator[Point]:
    """Measure reading a fixed-width extract beside IPUMS's own reader, for every number of persons."""
    for persons in scale.ingest:
        extract = places.data / f"extract{persons}.dat"
        made = Input(extract, input_command("extract", extract, persons))
        contenders = ingest_contenders(extract, extract.with_suffix(".xml"), places.work / "ingested.parquet")
        own = contenders if persons <= scale.ingest_beside else contenders[:1]
        turns = min(scale.turns_of(persons), 3)
        yield Point("ingest", own, turns, (made,), persons, attributes=EXTRACT_COLUMNS)


def ingest_contenders(extract: Path, codebook: Path, output: Path) -> tuple[Contender, Contender]:
    """Make the contenders of an extract: this program and IPUMS's reader."""
    return (
        Contender(INGEST, (*PROGRAM, "ingest", str(extract), "--output", str(output), "--overwrite")),
        Contender(IPUMSPY, contender("ipums_chunks", extract, codebook, output)),
    )


def release(scale: Scale, places: Places) -> Iterator[Point]:
    """Measure the release alone: seconds inside a process, from statistics in memory to a model's text."""
    for rows in scale.train:
        census = places.census(rows)
        counted = places.work / f"{census.path.stem}.statistics.parquet"
        inputs = (census, Input(counted, aggregate_command(census.path, counted)))
        yield _release_point(counted, scale.turns, inputs, rows, CENSUS_ATTRIBUTES, 2, 0)
    rows = min(10 * MILLION, max(scale.train))
    for shape in FULL_STATISTICS:
        table = places.work / f"{'x'.join(map(str, shape))}.statistics.parquet"
        made = Input(table, input_command("statistics", table, rows, *shape))
        yield _release_point(table, scale.turns, (made,), rows, *shape)


def _release_point(
    statistics: Path, turns: int, inputs: tuple[Input, ...], rows: int, attributes: int, classes: int, grid: int
) -> Point:
    only = Contender(RELEASE, contender("inside", "release", statistics), inside=True)
    return Point("release", (only,), turns, inputs, rows, attributes, classes, grid)


def search(scale: Scale, places: Places) -> Iterator[Point]:
    """Measure both smooth sensitivities of one column, beside the search of the paper: seconds inside a process."""
    for size in scale.search:
        contenders = (
            Contender(THIS_PROGRAM, contender("search", size, SEARCH_GRID, "runs"), inside=True),
            Contender(AS_DEFINED, contender("search", size, SEARCH_GRID, "distances"), inside=True),
        )
        yield Point("search", contenders, min(scale.turns, 3), rows=size, attributes=1, classes=1, grid=SEARCH_GRID)


def floats(scale: Scale, places: Places) -> Iterator[Point]:
    """Measure training on continuous columns, on the same rows as codes of the same grid, and on a much finer grid."""
    tables = [Table("floats", scale.floats, 5, 0, 2, 65_536, floats=kind) for kind in (True, False)]
    inputs = tuple(table.made(places.data) for table in tables)
    contenders = tuple(
        Contender(name, train_command(made.path, places.work / "floats.model.json"))
        for name, made in zip((FLOATS, INTEGERS), inputs, strict=True)
    )
    yield _table_point(tables[0], contenders, scale.turns_of(scale.floats), inputs)
    table = Table("floats", scale.floats, 10, 0, 2, FINE_GRID, floats=True)
    made = table.made(places.data)
    fine = Contender(FINE, train_command(made.path, places.work / "floats.model.json"))
    yield _table_point(table, (fine,), scale.turns_of(scale.floats), (made,))


def growth(scale: Scale, places: Places) -> Iterator[Point]:
    """Measure training on tables that differ in one size at a time; half of the attributes are numeric in the first."""
    rows, turns = scale.growth, max(scale.turns // 2, 1)  # the shape of the curve matters, not the last digit
    tables = [
        *(Table("attributes", rows, (number + 1) // 2, number // 2, 2, USUAL_GRID) for number in ATTRIBUTES),
        *(Table("classes", rows, 4, 9, classes, USUAL_GRID) for classes in CLASSES),
        *(Table("grid", rows, 5, 0, 2, grid) for grid in GRIDS),
    ]
    for table in tables:
        made = table.made(places.data)
        command = train_command(made.path, places.work / "grown.model.json")
        yield _table_point(table, (Contender(TRAIN, command),), turns, (made,))


def _table_point(table: Table, contenders: tuple[Contender, ...], turns: int, inputs: tuple[Input, ...]) -> Point:
    attributes = table.numeric + table.categorical
    return Point(table.series, contenders, turns, inputs, table.rows, attributes, table.classes, table.grid)


SERIES: Mapping[str, Callable[[Scale, Places], Iterator[Point]]] = {
    "start": start,
    "calls": calls,
    "train": train,
    "steps": steps,
    "stages": stages,
    "databases": databases,
    "passes": passes,
    "units": units,
    "predict": predict,
    "wide": wide,
    "files": files,
    "ingest": ingest,
    "release": release,
    "search": search,
    "floats": floats,
    "categories": categories,
    "declared": declared,
    "growth": growth,
}
"""Every series by its name, in the order of the document."""
