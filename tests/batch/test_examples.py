"""What docs/batch.md tells people to run, and the examples beside it, run over small extracts."""

from __future__ import annotations

import configparser
import json
import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import duckdb
import polars as pl
import pytest
from support.examples import DOCUMENT, EXAMPLES, blocks, charged, exit_codes, section, shell
from support.running import Run

from dpnb_columnar import errors
from dpnb_columnar.api import load_model
from dpnb_columnar.errors import Error

SERVICE = EXAMPLES / "dpnb-train.service"
PLACE = "/srv/census"
"""Where the examples say that the data is."""

COMMAND = "/opt/dpnb/bin/dpnb-columnar"
"""Where those of them that have no PATH say that the command is."""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="no sqlite3, which makes the backup")
def test_every_command_of_the_document_runs(place: Path) -> None:
    Path("census.ledger").unlink()
    commands = blocks("sh", DOCUMENT.read_text())
    assert len(commands) == 4
    shell("".join(commands))
    runs = charged()
    assert [run for run in runs if not run.startswith("weights-of-")] == [f"2026-11-{day}" for day in (21, 23)]
    assert len(runs) == 2 + 1
    releases = json.loads(Path("releases.json").read_text())["releases"]
    rows = pl.read_csv("releases.csv", infer_schema=False).to_dicts()
    assert rows == [
        {name: str(release[name]) if release[name] is not None else None for name in rows[0]} for release in releases
    ]
    assert rows[0]["run"] == "2026-11-21"
    assert load_model(Path("calibrated.json")).guarantee.epsilon == Fraction(1, 10)


@pytest.mark.slow
def test_parts_that_are_counted_one_by_one_give_the_model_of_all_rows(program: None, folder: Path, run: Run) -> None:
    for seed, part in enumerate(("nevada", "oregon")):
        run("simulate", f"census-{part}.parquet", "--rows", 500, "--seed", seed)
    commands = blocks("sh", (DOCUMENT.parent / "scale.md").read_text())[-1]
    shell(commands.replace("--epsilon 0.1", "--epsilon 0.1 --seed 1"))
    run("aggregate", "census-nevada.parquet", "census-oregon.parquet", "--output", "all.statistics.parquet")
    run("release", "all.statistics.parquet", "--epsilon", 0.1, "--seed", 1, "--output", "together.parquet")
    assert Path("census.model.parquet").read_bytes() == Path("together.parquet").read_bytes()
    assert not Path("counted").exists()


@pytest.mark.parametrize(
    ("kind", "file"),
    [("toml", "job.toml"), ("python", "dpnb_airflow.py"), ("text", "crontab"), ("text", "dpnb-train.service")],
)
def test_what_the_document_shows_of_an_example_stands_in_it(kind: str, file: str) -> None:
    lines = {line.strip() for line in (EXAMPLES / file).read_text().splitlines()}
    lines.add(f"from {Path(file).stem} import DpnbOperator")
    assert any({line.strip() for line in block.splitlines()} <= lines for block in blocks(kind, DOCUMENT.read_text()))


def test_every_error_has_its_row_in_the_table() -> None:
    codes = {error.exit_code for error in vars(errors).values() if isinstance(error, type) and issubclass(error, Error)}
    assert set(exit_codes()) == {0, 1, 129, 130, 137, 143, 152, *codes}  # 1 is Python's own, where it does not start


def test_job_shows_its_settings(place: Path, run: Run) -> None:
    told = run("train", "--config", "job.toml", "--log-format", "text", "--dry-run").out
    assert re.search(r"--epsilon +0\.1 +job\.toml", told)
    assert not Path("census.model.json").exists()


@pytest.mark.slow
def test_cron_trains_and_scores_once_a_night(place: Path) -> None:
    lines = [line for line in Path("crontab").read_text().splitlines() if re.match(r"[0-9*]", line)]
    commands = [line.split(maxsplit=5)[5] for line in lines]
    assert all("%" not in command for command in commands)
    for command in commands * 2:
        assert PLACE in command
        assert COMMAND in command
        shell(command.replace(PLACE, str(place)).replace(COMMAND, "dpnb-columnar"))
    assert len(charged()) == 1
    assert pl.read_parquet("scored.parquet").height == 100


def unit(path: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(path.read_text())
    return parser


@pytest.mark.slow
def test_systemd_trains_once_a_night(place: Path) -> None:
    service = unit(SERVICE)["Service"]
    assert service["WorkingDirectory"] == PLACE
    for _ in range(2):
        assert COMMAND in service["ExecStart"]
        shell(service["ExecStart"].replace("$$", "$").replace(COMMAND, "dpnb-columnar"))
    assert len(charged()) == 1


def test_systemd_begins_again_what_the_table_says() -> None:
    prevented = {int(code) for code in unit(SERVICE)["Service"]["RestartPreventExitStatus"].split()}
    assert prevented == {code for code, again in exit_codes().items() if code and not again}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_systemd_knows_every_setting_of_the_units(tmp_path: Path) -> None:
    for name in ("dpnb-train.service", "dpnb-train.timer"):
        shutil.copy(EXAMPLES / name, tmp_path)
    ended = subprocess.run(
        ["systemd-analyze", "verify", *map(str, tmp_path.iterdir())], capture_output=True, text=True, check=False
    )
    assert "Unknown" not in ended.stderr
    assert "Failed to parse" not in ended.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("make") is None, reason="no make here")
def test_make_trains_once_a_day_whatever_changes(place: Path) -> None:
    shell("make scored.parquet")
    assert pl.read_parquet("scored.parquet").height == 100
    Path("census.parquet").touch()
    assert "up to date" in shell("make scored.parquet")
    Path("new.parquet").touch()
    shell("make scored.parquet")
    assert len(charged()) == 1


def assert_scored(scored: pl.DataFrame) -> None:
    """What dbt has scored is what ``predict`` does."""
    predicted = pl.read_parquet("scored.parquet")
    assert scored.columns == predicted.columns
    keys = [name for name in predicted.columns if not name.startswith("probability")]
    for name in predicted.columns:
        found, expected = (frame.sort(predicted.columns)[name].to_list() for frame in (scored, predicted))
        assert found == (expected if name in keys else pytest.approx(expected))


@pytest.mark.slow
def test_dbts_model_scores_as_predict_does(place: Path) -> None:
    shell("dpnb-columnar train --config job.toml && dpnb-columnar predict --config job.toml")
    shell(blocks("sh", section("dbt"))[0])
    model = Path("dbt/models/scored.sql").read_text()
    assert ";" not in model.splitlines()[-1]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE person AS FROM 'new.parquet'")
        assert_scored(connection.sql(model.replace('{{ ref("person") }}', "person")).pl())


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("dbt") is None, reason="dbt (dbt-duckdb) is not installed")
def test_dbt_builds_the_project(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CENSUS_FOLDER", str(place))
    shell("dpnb-columnar train --config job.toml && dpnb-columnar predict --config job.toml")
    shell(blocks("sh", section("dbt"))[0])
    shell("cd dbt && dbt build --profiles-dir .")
    with duckdb.connect("dbt/census.duckdb") as connection:
        assert_scored(connection.sql("FROM scored").pl())
