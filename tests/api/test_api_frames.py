"""Frames through the front door: Polars frames, lazy or not, and Arrow tables count as a file of the same rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.aggregation_cases import declared
from support.people import DECLARATION, PEOPLE, TYPES, people, people_domain
from support.random_tables import frames as random_frames
from support.rows_in_python import Document, counts_of, expected_counts

import dpnb_columnar as dpnb
from dpnb_columnar import errors
from dpnb_columnar.counting import local
from dpnb_columnar.rows import frames
from dpnb_columnar.rows.frames import to_polars

pd = pytest.importorskip("pandas", reason="pandas is not installed")

FORMS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "DataFrame": lambda frame: frame,
    "LazyFrame": lambda frame: frame.lazy(),
    "Table": lambda frame: frame.to_arrow(),
}
"""Frames that say which types their columns have."""

FOREIGN: dict[str, Callable[[pl.DataFrame], Any]] = {
    "pandas": lambda frame: frame.to_pandas(),
    "pandas, objects": lambda frame: frame.to_pandas().astype(object),
    "pandas, its own types": lambda frame: frame.to_pandas().convert_dtypes(),
    "DuckDB": lambda frame: duckdb.from_arrow(frame.to_arrow()),
}
"""Frames of other libraries."""


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> Callable[[pl.DataFrame], Any]:
    return FORMS[request.param]


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(random_frames(), st.sampled_from(["Table", "DataFrame", "LazyFrame"]), st.integers(1, 40))
def test_a_frame_counts_as_a_file_of_its_rows(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[list[pa.Table], Document], form: str, cells: int
) -> None:
    tables, document = case
    table, domain = pa.concat_tables([table.select(tables[0].column_names) for table in tables]), declared(document)
    path = tmp_path_factory.mktemp("frames") / "rows.parquet"
    pq.write_table(table, path)
    frame = table if form == "Table" else FORMS[form](pl.DataFrame(table))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "PART_ROWS", cells)
        found = dpnb.aggregate(frame, domain=domain)
    assert found == dpnb.aggregate(path, domain=domain)
    assert counts_of(found) == expected_counts(table.to_pylist(), domain)


@pytest.mark.parametrize("form", [*FORMS.values(), *FOREIGN.values()], ids=[*FORMS, *FOREIGN])
def test_frames_of_every_form_train_and_predict(form: Callable[[pl.DataFrame], Any]) -> None:
    frame = people(1000)
    model = dpnb.train(form(frame), epsilon=1000, domain=people_domain(), mechanism="histogram")
    rows = form(frame)
    scored = model.predict(rows)
    assert type(scored) is type(rows)
    expected = model.predict(frame)
    assert in_polars(scored).equals(expected)
    assert (expected["predicted"] == frame["income"]).mean() > 0.8


def in_polars(frame: Any) -> pl.DataFrame:
    return frame.collect() if isinstance(frame, pl.LazyFrame) else pl.DataFrame(to_polars(frame).lazy().collect())


@pytest.mark.parametrize("form", FOREIGN.values(), ids=FOREIGN)
def test_frames_of_other_libraries_count_as_those_of_polars(form: Callable[[pl.DataFrame], Any]) -> None:
    gaps = people(200).with_columns(
        pl.when(pl.int_range(200) % 7 > 0).then(column) for column in ("age", "sex", "income")
    )
    assert dpnb.aggregate(form(gaps), domain=people_domain()) == dpnb.aggregate(gaps, domain=people_domain())


def test_the_values_of_a_pandas_column_of_objects_are_read_one_by_one() -> None:
    """Whatever else its column holds, a row counts as it would alone."""
    plain = pd.DataFrame({"age": [30, 40], "hours": [10.5, 20], "sex": ["f", "m"], "income": ["low", "high"]})
    mixed = pd.DataFrame(
        {"age": ["30", 40, 5j], "hours": [10.5, "20", []], "sex": ["f", "m", 7], "income": ["low", "high", None]}
    )
    assert dpnb.aggregate(mixed, domain=people_domain()) == dpnb.aggregate(plain, domain=people_domain())


def test_results_keep_the_index_of_a_pandas_frame() -> None:
    model = dpnb.train(people(50), epsilon=1, domain=people_domain(), mechanism="histogram")
    rows = people(5).to_pandas().set_index(pd.Index(list("abcde"), name="person"))
    scored = model.predict(rows, keep=["age"])
    assert scored.index.equals(rows.index)
    assert scored["age"].tolist() == rows["age"].tolist()


@pytest.mark.parametrize("form", [*FORMS.values(), *FOREIGN.values()], ids=[*FORMS, *FOREIGN])
def test_frames_of_every_form_are_evaluated_as_a_file_is(form: Callable[[pl.DataFrame], Any], folder: Path) -> None:
    rows = people(300)
    rows.write_parquet("rows.parquet")
    model = dpnb.train(rows, epsilon=10, domain=people_domain(), mechanism="histogram")
    expected, found = model.evaluate("rows.parquet"), model.evaluate(form(rows))
    assert (found.rows, found.confusion, found.lacking) == (300, expected.confusion, {})
    assert (found.auc, found.log_loss) == (pytest.approx(expected.auc), pytest.approx(expected.log_loss))


def test_a_model_says_in_two_lines_what_it_is() -> None:
    model = dpnb.train(people(50), epsilon="0.5", domain=people_domain(), mechanism="histogram")
    first, second = repr(model).splitlines()
    assert first == "Model of people: 'low', 'high' from 2 numeric and 1 categorical attributes"
    assert second.startswith("0.5-differentially private for one row added or removed")


def test_a_lazy_frame_is_computed_once_and_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = []

    def seen(batch: pl.DataFrame) -> pl.DataFrame:
        computed.append(batch.height)
        return batch

    frame = people(1000)
    monkeypatch.setattr(local, "PART_ROWS", 400)
    counted = dpnb.aggregate(frame.lazy().map_batches(seen, streamable=True), domain=people_domain())
    assert counted == dpnb.aggregate(frame, domain=people_domain())
    assert sum(computed) == frame.height


def test_columns_that_the_domain_does_not_name_are_not_computed() -> None:
    def fail(values: pl.Series) -> pl.Series:
        raise AssertionError("computed")

    rows = people(50).lazy().with_columns(other=pl.col("age").map_batches(fail, return_dtype=pl.Int64))
    assert dpnb.aggregate(rows, domain=people_domain()).class_counts.sum() == 50


def test_a_catalogue_entry_names_the_domain_of_a_frame(folder: Path) -> None:
    Path("datasets.toml").write_text(DECLARATION)
    assert dpnb.aggregate(people(9), dataset="people") == dpnb.aggregate(people(9), domain=people_domain())


def test_a_domain_may_be_a_mapping() -> None:
    frame, expected = people(200), dpnb.aggregate(people(200), domain=people_domain())
    assert dpnb.aggregate(frame, domain={"name": "people", **PEOPLE}) == expected
    unlabelled = {"attributes": PEOPLE["attributes"] | {"income": {"values": ["low", "high"]}}}
    assert dpnb.aggregate(frame, domain=unlabelled, label="income").class_counts.tolist() == [
        expected.class_counts.tolist()[code] for code in (0, 1)
    ]
    with pytest.raises(errors.DomainError, match=r"data.attributes.age.uper: unknown key; did you mean upper\?"):
        dpnb.aggregate(frame, domain={**PEOPLE, "attributes": {"age": {"lower": 0, "uper": 9}}})


def test_a_frame_needs_a_domain(form: Callable[[pl.DataFrame], Any]) -> None:
    with pytest.raises(errors.UsageError, match="a frame carries no domain; give domain="):
        dpnb.train(form(people(5)), epsilon=1)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda rows: rows.with_columns(age=pl.col("income").cast(pl.Int64)),
        lambda rows: rows.with_columns(age=pl.col("years")),
        lambda rows: rows.with_columns(income=pl.col("income").cast(pl.Enum(["low", "middle"]))),
    ],
    ids=["rows", "schema", "enum"],
)
def test_a_query_that_fails_is_refused_without_its_values(spoil: Callable[[pl.LazyFrame], pl.LazyFrame]) -> None:
    with pytest.raises(errors.DataError, match="the frame: its query fails") as caught:
        dpnb.aggregate(spoil(people(50).lazy()), domain=people_domain())
    assert "high" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("lazy", [False, True], ids=["relation", "Polars"])
def test_a_relation_of_duckdb_that_fails_is_refused_without_its_values(lazy: bool) -> None:
    frame = people(50).to_arrow()
    model = dpnb.train(frame, epsilon=1, domain=people_domain())
    with duckdb.connect() as connection:
        relation = connection.from_arrow(frame).project("* replace (income::integer as age)")
        rows = relation.pl(lazy=True) if lazy else relation
        for failing in (
            lambda: dpnb.train(rows, epsilon=1, domain=people_domain()),
            lambda: dpnb.aggregate(rows, domain=people_domain()),
            lambda: model.evaluate(rows),
        ):
            with pytest.raises(errors.DataError, match="the frame: its query fails") as caught:
                failing()
            assert caught.value.__suppress_context__
    if not lazy:
        with pytest.raises(errors.DataError, match="the frame: "):
            dpnb.aggregate(relation, domain=people_domain())


def test_what_is_wrong_with_a_release_is_found_before_a_frame_is_computed() -> None:
    def fail(batch: pl.DataFrame) -> pl.DataFrame:
        raise AssertionError("computed")

    rows = people(5).lazy().map_batches(fail, schema=people(5).schema)
    with pytest.raises(errors.UsageError, match="epsilon"):
        dpnb.train(rows, epsilon=0, domain=people_domain())
    with pytest.raises(errors.UsageError, match="known mechanisms"):
        dpnb.train(rows, epsilon=1, domain=people_domain(), mechanism="smoth")


def test_a_query_that_panics_is_refused() -> None:
    """Of its rows some are missing, which must not be taken for all of them."""

    def panic(rows: pl.DataFrame) -> pl.DataFrame:
        raise pl.exceptions.PanicException("secret 42")

    rows = people(1000).lazy().map_batches(panic, schema=TYPES)
    with pytest.raises(errors.DataError, match="its query fails"):
        dpnb.aggregate(rows, domain=people_domain())


def test_a_lazy_frame_that_its_library_cannot_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ibis computes with packages of its own, which may be missing, or another version than it needs."""

    def missing(frame: Any, names: Any) -> None:
        raise ModuleNotFoundError("No module named 'pyarrow_hotfix'", name="pyarrow_hotfix")

    monkeypatch.setattr(frames, "_read", missing)
    relation = duckdb.sql("SELECT 1 AS age")
    with pytest.raises(errors.UnavailableError, match=r"pyarrow_hotfix is missing.*\.compute\(\) of Dask"):
        dpnb.aggregate(relation, domain=people_domain())
