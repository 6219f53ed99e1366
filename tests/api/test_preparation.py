"""What comes before a release, in Python: rows to try, extracts, rows held out, domains."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from support.extracts import PEOPLE as PEOPLE_LINES
from support.extracts import TOWNSPEOPLE, write_extract
from support.people import DECLARATION, PEOPLE, people, people_domain, write_people
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar import errors
from dpnb_columnar.domain import Domain, UnlabelledDomain
from dpnb_columnar.simulation import COLUMN_TYPES

pd = pytest.importorskip("pandas", reason="pandas is not installed")


def test_simulated_rows_train_as_they_are(folder: Path, run: Run) -> None:
    path = dpnb.simulate("census.parquet", rows=500, seed=3)
    assert path == Path("census.parquet")
    assert pl.read_parquet(path).columns == [*COLUMN_TYPES]
    run("simulate", "other.parquet", "--rows", 500, "--seed", 3)
    assert path.read_bytes() == Path("other.parquet").read_bytes()
    assert dpnb.simulate(path, rows=5, overwrite=True) == path
    with pytest.raises(errors.UsageError, match=r"end its name in \.parquet"):
        dpnb.simulate("census.csv")


def test_frames_are_split_as_files_of_their_rows_are(folder: Path) -> None:
    rows = people(400).with_columns(home=pl.int_range(400) // 3)
    write_people(folder / "people.parquet", rows)
    for by in ((), "home", ["home", "sex"]):
        train, test = dpnb.split("people.parquet", by=by, overwrite=True)
        expected = [pl.read_parquet(each) for each in (train, test)]
        parts = dpnb.split(rows, by=by)
        assert all(one.equals(two) for one, two in zip(parts, expected, strict=True))
        tables = dpnb.split(rows.to_arrow(), by=by)
        assert all(isinstance(each, pa.Table) for each in tables)
        assert pl.DataFrame(tables.test).equals(expected[1])
        frames = dpnb.split(rows.to_pandas(), by=by)
        assert isinstance(frames.test, pd.DataFrame)
        assert frames.test["age"].tolist() == expected[1]["age"].to_list()
        three = dpnb.split(rows, by=by, validation=0.3)
        assert len(three.train) + len(three.validation) + len(three.test) == 400
        assert three.test.equals(expected[1])
        files = dpnb.split("people.parquet", by=by, validation="0.3", overwrite=True)
        assert [path.name for path in files] == [
            "people.train.parquet",
            "people.validation.parquet",
            "people.test.parquet",
        ]
        assert all(pl.read_parquet(path).equals(frame) for path, frame in zip(files, three, strict=True))
        # The rows that are held out are told by the index that they keep.
        assert sorted([*frames.train.index, *frames.test.index]) == [*range(400)]


def test_a_part_that_is_a_frame_is_split_again_as_its_file(folder: Path) -> None:
    rows = people(3000).with_row_index("row")
    write_people(folder / "people.parquet", rows)
    files, parts = dpnb.split("people.parquet"), dpnb.split(rows)
    again = dpnb.split(files.train, test=0.4)
    for part, frame in (
        (parts, parts.train),
        (dpnb.split(rows.to_arrow()), None),
        (dpnb.split(rows.to_pandas()), None),
    ):
        divided = dpnb.split(part.train if frame is None else frame, test=0.4)
        assert {*pl.DataFrame(divided.test)["row"]} == {*pl.read_parquet(again.test)["row"]}
    assert 0.36 < len(dpnb.split(parts.train, test=0.4).test) / len(parts.train) < 0.44
    assert dpnb.split(rows).test.equals(parts.test)
    with pytest.warns(UserWarning, match="the part test has no row; .* then give another seed"):
        dpnb.split(parts.train.clone())  # of another frame nothing is known
    with pytest.warns(UserWarning, match='the part test has fewer rows than test="0.4" asks for'):
        assert len(dpnb.split(parts.train.clone(), test=0.4).test) < 0.3 * len(parts.train)


def test_extracts_become_parquet(folder: Path, run: Run) -> None:
    Path("rows.csv").write_text("age,sex,town\n30,f,A\n40,m,B\n")
    Path("types.toml").write_text('age = "integer"\n')
    made = dpnb.ingest("rows.csv", "rows.parquet", types="types.toml", columns=["age", "town"])
    assert pl.read_parquet(made.output).to_dict(as_series=False) == {"age": [30, 40], "town": ["A", "B"]}
    assert made.domain is None
    assert (
        repr(made).splitlines()
        == run("ingest", "rows.csv", "--output", "r.parquet", "--types", "types.toml", "--columns", "age,town")
        .out.replace("r.parquet", "rows.parquet")
        .splitlines()[:-1]
    )
    with pytest.raises(errors.UsageError, match="extracts: not names of files"):
        dpnb.ingest(5, "rows.parquet")  # type: ignore[arg-type]


def test_every_argument_of_ingest_is_the_option_of_its_name(folder: Path, run: Run) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, PEOPLE_LINES)
    Path("town.xml").rename("book.xml")
    made = dpnb.ingest("town.dat", "a.parquet", codebook="book.xml", where="AGE >= 10", name="village")
    assert made.domain is not None
    assert made.domain.name == "village"
    command = "ingest town.dat --codebook book.xml --name village --output b.parquet --where"
    run(*command.split(), "AGE >= 10")
    assert made.output.read_bytes() == Path("b.parquet").read_bytes()
    with pytest.raises(errors.OutputError, match="overwrite=True"):
        dpnb.ingest("town.dat", "a.parquet", codebook="book.xml")
    dpnb.ingest("town.dat", "a.parquet", codebook="book.xml", overwrite=True)
    assert pl.read_parquet("a.parquet").height == len(PEOPLE_LINES) > pl.read_parquet("b.parquet").height
    people(20).write_csv("people.csv")
    Path("mine.toml").write_text(DECLARATION)
    described = dpnb.ingest("people.csv", "people.parquet", dataset="mine.toml:people")
    assert described.domain == people_domain()


def test_domains_are_read_from_wherever_they_are_declared(folder: Path) -> None:
    write_people(folder / "people.parquet")
    assert dpnb.read_domain("people.parquet") == people_domain()
    assert dpnb.read_domain({"name": "people", **PEOPLE}) == people_domain()
    Path("other.toml").write_text(DECLARATION)
    assert dpnb.read_domain(dataset="other.toml:people") == people_domain()
    by_sex = dpnb.read_domain("people.parquet", label="sex")
    assert isinstance(by_sex, Domain)
    assert by_sex.classes == ("f", "m")
    assert isinstance(dpnb.read_domain({"attributes": PEOPLE["attributes"]}), UnlabelledDomain)
    with pytest.raises(errors.UsageError, match="source and dataset both name a domain"):
        dpnb.read_domain(PEOPLE, dataset="people")
    with pytest.raises(errors.MissingInputError, match=r"nothing\.parquet"):
        dpnb.read_domain("nothing.parquet")


def test_models_are_saved_and_evaluated_by_functions_too(folder: Path) -> None:
    rows = people(200)
    model = dpnb.train(rows, epsilon=1, domain=people_domain(), mechanism="histogram")
    dpnb.save(model, "model.json")
    assert dpnb.load_model("model.json") == model
    figures = dpnb.evaluate(model, rows)
    assert (figures.rows, figures.confusion) == (200, model.evaluate(rows).confusion)
