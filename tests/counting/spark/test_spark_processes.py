"""Runs of a process of their own that start a Spark of their own: what they say, what they leave, how they end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.patience import patience
from support.people import PEOPLE, people, people_domain, write_people
from support.spark import DEFAULTS, SHORT_LIVED, command_line, configured, environment, free_port, wait_for

from dpnb_columnar.domain.declaration import domain_metadata

LOCAL = ("--engine", "spark")
SECRET = "SECRET-7351"


@pytest.fixture
def variables(spark_installed: None, tmp_path: Path, folder: Path) -> dict[str, str]:
    """The environment of a process, in an empty working directory; its temporary files are below it."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    work = tmp_path / "work"
    work.mkdir()
    os.chdir(work)
    java = f"{SHORT_LIVED} -Djava.io.tmpdir={temporary}"
    options = f"{DEFAULTS}spark.master local[2]\nspark.driver.extraJavaOptions {java}\nspark.local.dir {temporary}\n"
    return environment(configured(tmp_path / "conf", options)) | {"TMPDIR": str(temporary)}


def ended(variables: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command_line(*arguments), env=variables, capture_output=True, text=True, check=False, timeout=patience(280)
    )


def with_master(variables: dict[str, str], master: str) -> dict[str, str]:
    """Write another master into the configuration of Spark."""
    file = Path(variables["SPARK_CONF_DIR"]) / "spark-defaults.conf"
    file.write_text(file.read_text().replace("spark.master local[2]", f"spark.master {master}"))
    return variables


def left(variables: dict[str, str]) -> list[str]:
    return sorted(path.name for path in Path(variables["TMPDIR"]).iterdir() if not path.name.startswith("hsperfdata"))


OBSERVED = """
import sys
from pathlib import Path
from dpnb_columnar.cli.main import run
from dpnb_columnar.counting.engines import spark, spark_session

spark_session.LONGEST_END = 120  # also on a busy machine
facts, *arguments = sys.argv[1:]
answer = spark.answer

def observed(*given):
    from pyspark import SparkContext
    context = SparkContext.getOrCreate()
    shown = [context.getConf().get(f"spark.{name}.enabled") for name in ("eventLog", "io.encryption")]
    Path(facts).write_text(f"{context.uiWebUrl} {' '.join(shown)}\\n")
    return answer(*given)

spark.answer = observed
try:
    run(arguments)
finally:
    from pyspark import SparkConf, SparkContext
    with open(facts, "a") as file:
        print(SparkConf().getAll(), SparkContext._active_spark_context, file=file)
"""


def test_a_run_says_nothing_of_spark_shows_no_numbers_of_rows_and_leaves_nothing_behind(
    variables: dict[str, str], tmp_path: Path
) -> None:
    """Whatever the cluster's defaults are. Afterwards pyspark is as before: the caller's next session starts anew."""
    write_people(Path("people.parquet"))
    events, facts = tmp_path / "events", tmp_path / "facts"
    events.mkdir()
    configuration = Path(variables["SPARK_CONF_DIR"]) / "spark-defaults.conf"
    with configuration.open("a") as file:
        file.write(f"spark.ui.enabled true\nspark.eventLog.enabled true\nspark.eventLog.dir {events}\n")
    train = ["train", "people.parquet", "--epsilon", "0.5", "--mechanism", "smooth"]
    command = [sys.executable, "-c", OBSERVED, str(facts), *train, *LOCAL]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=patience(280))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "domain people, from the metadata of the data",
        "epsilon 0.5 (add-remove neighbours), mechanism smooth, 6 queries",
        "wrote people.model.json",
    ]
    assert facts.read_text() == "None false true\n[] None\n"
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["people.model.json", "people.parquet"]
    assert list(events.iterdir()) == []
    assert left(variables) == []


COLLECTED_LATE = """
import gc, signal, time
from dpnb_columnar.counting.engines.spark_session import end_java, launch_java

gateway = launch_java()
collected = [gateway.jvm.java.util.ArrayList(), gateway.jvm.java.util.ArrayList()]
collected.pop()
gc.collect()
time.sleep(2)  # py4j tells Java, over a connection that it keeps

class Input:
    def close(self):
        gateway.proc.send_signal(signal.SIGSTOP)
        collected.pop()
        gc.collect()
        time.sleep(2)  # py4j would tell Java now, which ends without having read it
        gateway.proc.kill()

held, gateway.proc.stdin = gateway.proc.stdin, Input()
end_java(gateway)
"""


def test_a_reference_collected_while_java_ends_is_no_error(variables: dict[str, str]) -> None:
    """py4j would tell Java so, and log that nobody answers: as it happens, in the middle of a scheduled run's log."""
    command = [sys.executable, "-c", COLLECTED_LATE]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=patience(280))
    assert (done.returncode, done.stderr) == (0, "")


def test_under_spark_submit(variables: dict[str, str]) -> None:
    """In the process that it has started; the exit code comes through."""
    import pyspark

    write_people(Path("people.parquet"))
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    launcher = Path(__file__).parents[3] / "cli.py"
    for arguments, code in ((("people.parquet", "--seed", "3"), 0), (("gone.parquet",), 66)):
        command = [submit, "--master", "local[2]", launcher, "train", *arguments, "--engine", "spark"]
        variables["PYSPARK_PYTHON"] = sys.executable
        done = subprocess.run(
            command, env=variables, capture_output=True, text=True, check=False, timeout=patience(280)
        )
        assert done.returncode == code, done.stderr
    here = ended(variables, "train", "people.parquet", "--seed", 3, "--output", "here.json")
    assert here.returncode == 0
    assert Path("people.model.json").read_bytes() == Path("here.json").read_bytes()


OTHERS = """
import warnings
warnings.simplefilter("ignore")
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession
import dpnb_columnar as dpnb

def counted():
    return dpnb.aggregate("people.parquet", engine="spark").class_counts.sum()

context = SparkContext(conf=SparkConf().setMaster("local[1]").set("spark.ui.enabled", "false"))
context.setLogLevel("OFF")
print(counted(), counted(), context._jsc is not None, SparkContext._active_spark_context is context)
SparkSession.builder.getOrCreate().stop()
print(counted(), counted(), SparkContext._active_spark_context)
context = SparkContext(conf=SparkConf().setMaster("local[1]").set("spark.ui.enabled", "false"))
SparkSession(context)
context.stop()
print(counted(), SparkContext._active_spark_context)
"""


def test_what_the_program_has_of_spark_is_used_and_left_as_it_is(variables: dict[str, str]) -> None:
    """A context without a session; then nothing but the process of one that was stopped, by either of its two ends."""
    write_people(Path("people.parquet"), people(100))
    command = [sys.executable, "-W", "ignore", "-c", OTHERS]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=patience(280))
    assert done.stdout.splitlines() == ["100 100 True True", "100 100 None", "100 None"], done.stderr


def test_spark_connect_is_refused(variables: dict[str, str]) -> None:
    write_people(Path("people.parquet"))
    for name, value in (("SPARK_CONNECT_MODE_ENABLED", "1"), ("SPARK_REMOTE", "sc://127.0.0.1")):
        done = ended(variables | {name: value}, "train", "people.parquet", "--engine", "spark")
        assert done.returncode == 64, done.stderr
        assert "Spark Connect (sc://) is not supported" in done.stderr


NO_ANSWER = """
import sys
from dpnb_columnar.counting.engines import spark_session
spark_session.LONGEST_START = 2
from dpnb_columnar.cli.main import run
run(sys.argv[1:])
"""


@pytest.mark.parametrize("what", ["exit 0", "sleep 60"])
def test_a_java_that_never_answers_is_given_up(variables: dict[str, str], tmp_path: Path, what: str) -> None:
    write_people(Path("people.parquet"))
    launcher = tmp_path / "home" / "bin" / "spark-submit"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(f"#!/bin/sh\n{what}\n")
    launcher.chmod(0o700)
    command = [sys.executable, "-c", NO_ANSWER, "train", "people.parquet", *LOCAL]
    here = variables | {"SPARK_HOME": str(launcher.parents[1])}
    done = subprocess.run(
        command, env=here, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=patience(50)
    )
    assert done.returncode == 69
    assert "Java process does not start" in done.stderr


def test_a_failing_run_quotes_no_row(variables: dict[str, str]) -> None:
    frame = people(20_000).with_columns(sex=SECRET + "-" + people(20_000)["sex"])
    table = frame.to_arrow().replace_schema_metadata(domain_metadata(people_domain(PEOPLE)))
    pq.write_table(recoded(table), "people.parquet", row_group_size=5000, compression="none", use_dictionary=False)
    content = bytearray(Path("people.parquet").read_bytes())
    places = range(len(content) // 2, len(content) * 3 // 4)
    content[places.start : places.stop] = bytes(byte ^ 0xA5 for byte in content[places.start : places.stop])
    assert SECRET.encode() in content
    Path("people.parquet").write_bytes(content)
    done = ended(variables, "train", "people.parquet", *LOCAL)
    assert done.returncode == 65, done.stderr
    assert "people.parquet: cannot be read to the end" in done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not Path("people.model.json").exists()
    assert left(variables) == []


def recoded(table: pa.Table) -> pa.Table:
    """Texts of one length in the place of views, which the writer would make anyway."""
    return table.set_column(2, "sex", table["sex"].cast(pa.string()))


def test_without_pyspark(variables: dict[str, str]) -> None:
    write_people(Path("people.parquet"))
    program = "import sys; sys.modules['pyspark'] = None; from dpnb_columnar.__main__ import run; run()"
    command = [sys.executable, "-c", program, "train", "people.parquet", *LOCAL]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=patience(120))
    assert done.returncode == 69
    assert "pip install 'dpnb-columnar[spark]'" in done.stderr


def test_without_java(variables: dict[str, str], tmp_path: Path) -> None:
    write_people(Path("people.parquet"))
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("bash", "sh", "env", "dirname", "cd", "ls", "uname", "ps", "readlink", "basename"):
        if found := shutil.which(tool):
            (tools / tool).symlink_to(found)
    alone = {name: value for name, value in variables.items() if name != "JAVA_HOME"} | {"PATH": str(tools)}
    done = ended(alone, "train", "people.parquet", *LOCAL)
    assert done.returncode == 69, done.stderr
    assert "Java process does not start; Spark needs Java 17 or later" in done.stderr


def test_a_master_that_is_not_there(variables: dict[str, str]) -> None:
    write_people(Path("people.parquet"))
    address = f"spark://127.0.0.1:{free_port()}"
    done = ended(with_master(variables, address), "train", "people.parquet", *LOCAL)
    assert done.returncode == 69
    assert f"{address}: nobody answers there" in done.stderr


def test_a_master_that_is_none(variables: dict[str, str]) -> None:
    write_people(Path("people.parquet"))
    done = ended(with_master(variables, "nonsense"), "train", "people.parquet", *LOCAL)
    assert done.returncode == 69
    assert (
        "does not start; Spark needs Java 17 or later: install it, or set JAVA_HOME; and check spark.master ("
        in done.stderr
    )
    assert left(variables) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_ends_a_run_and_its_spark(variables: dict[str, str], number: signal.Signals) -> None:
    """Within a count that would last for minutes: every file is a partition."""
    for part in range(300):
        write_people(Path(f"people-{part}.parquet"), people(50, seed=part))
    configured(
        Path(variables["SPARK_CONF_DIR"]),
        (Path(variables["SPARK_CONF_DIR"]) / "spark-defaults.conf").read_text()
        + "spark.sql.files.maxPartitionBytes 1k\n",
    )
    command = command_line("train", "people-*.parquet", "--log-format", "json", *LOCAL)
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if b'"counting"' in line:
                    break
            time.sleep(0.5)  # into the call
            children = spark_of(process.pid)
            assert len(children) == 1
            process.send_signal(number)
            process.communicate(timeout=patience(60))
        finally:
            process.kill()
    assert process.returncode == 128 + number
    assert not Path("people.model.json").exists()
    assert not [path for path in Path.cwd().iterdir() if path.suffix in (".partial", ".lock")]
    wait_for(lambda: not any(Path(f"/proc/{child}").exists() for child in children), "the end of Spark")
    assert left(variables) == []


def spark_of(process: int) -> list[int]:
    """Process numbers of the Java processes that a process has started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = entry.read_text().rpartition(")")[2].split()
            arguments = (entry.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if int(words[1]) == process and b"org.apache.spark" in arguments:
            found.append(int(entry.parent.name))
    return found
