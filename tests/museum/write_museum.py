"""Write the files of the museum: what earlier states of the program wrote, by running them from the history of git.

Usage: python tests/museum/write_museum.py [COMMIT ...]

Each commit of ``COMMITS`` is unpacked, and makes in a process of its own whatever it can of ``COMMANDS``: models of all
mechanisms and noises, statistics, a ledger, released scores. They go to ``COMMIT.tar.xz``. What today's
program must say of them is written by ``write_readings.py``. A commit is added when a format changes, and none is ever
taken away. Models have no seed: a museum that is written anew has other noise, and so other readings.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]

COMMITS = {
    "545a3ef": "the first state whose files are promised: models of version 6",
}
"""The states that are shown, and why."""

UNPACKED = ("public.", "datasets.")
"""What begins the names of files that nobody reads again."""

CATALOGUE = """[people]
title = "People of the museum"
epsilon = "1"
rows = 240

[people.label]
column = "income"
classes = ["low", "high"]

[people.attributes.age]
lower = 0
upper = 90
step = 1

[people.attributes.job]
values = ["clerk", "farmer", "none"]
"""

MECHANISMS = (
    "smooth",
    "paper",
    "trimmed-mean",
    "global",
    "global-variance",
    "adaptive-histogram",
    "histogram",
    "majority",
)
NOISES = {
    **dict.fromkeys(("polyplace", "student-3", "student-5", "cauchy", "nissim-cauchy")),
    **dict.fromkeys(
        ("gaussian", "laplace", "classical-gaussian", "classical-laplace", "laplace-log-normal", "uniform-log-normal",
         "arsinh-normal"),
        "1e-6",
    ),
}  # fmt: skip
"""Noise of smooth releases, and the delta that it spends."""

WEIGHTS = ("none", "tempered", "calibrated", "learned")

RELATIVE = """
import os
from dataclasses import replace
from dpnb_columnar.ledger import Ledger
def relative(method):
    def charged(ledger, charge):
        names = [os.path.basename(each) for each in charge.inputs["data"]]
        return method(ledger, replace(charge, inputs={**charge.inputs, "data": names}))
    return charged
Ledger.spend, Ledger.refuse_if_unaffordable = map(relative, (Ledger.spend, Ledger.refuse_if_unaffordable))
"""
"""Has a ledger name files without their folder, which is another one wherever the museum is opened."""

HERE_ALONE = "import pathlib; pathlib.Path.absolute = lambda path: path\n"
"""Has a ledger name its witness without the folder."""

HEAD = "HEAD"
"""Stands for the last word that the command before has printed: the head of the ledger."""

KILLED = "Ledger.keep = lambda *_: os._exit(9)\n"
"""Ends a run when its charge is durable and its noise is drawn, before anything is kept."""

PROGRAM = "import sys; from dpnb_columnar.__main__ import run; sys.argv[0] = 'dpnb-columnar'; sys.exit(run())"


def commands() -> Iterator[tuple[list[str], bool]]:
    """Yield what a state of the program is asked to do, and whether it is killed; what it does not know it refuses."""
    rows, spent = "people.parquet", ["--ledger", "people.ledger", "--run-id"]
    yield ["ledger", "init", "people.ledger", "--dataset", "people", "--epsilon", "20", "--delta", "1e-3"], False
    yield ["train", rows, "--output", "finished.model.json", *spent, "finished"], False
    yield ["train", rows, "--output", "night.model.json", *spent, "night"], True
    yield ["train", rows, "--output", "learning.model.json", "--attribute-weights", "learned", *spent, "learning"], True
    yield ["train", rows, "--output", "divided.model.json", "--shares", "2:1:1", *spent, "divided"], True
    public = ["--attribute-weights", "public.parquet"]
    yield ["train", rows, "--output", "public.model.json", *public, *spent, "public"], True
    yield ["aggregate", rows, "--output", "sum.statistics.parquet"], False
    yield ["release", "sum.statistics.parquet", "--output", "released.model.json", *spent, "released"], True
    for mechanism in MECHANISMS:
        yield ["train", rows, "--output", f"{mechanism}.json", "--mechanism", mechanism], False
    yield ["train", rows, "--output", "smooth.parquet", "--mechanism", "smooth"], False
    yield ["train", rows, "--output", "replaced.json", "--mechanism", "smooth", "--neighbours", "replace-one"], False
    for noise, delta in NOISES.items():
        more = [] if delta is None else ["--delta", delta]
        yield (
            ["train", rows, "--output", f"noise-{noise}.json", "--mechanism", "smooth", "--noise", noise, *more],
            False,
        )
    for weights in WEIGHTS:
        more = ["--mechanism", "histogram", "--attribute-weights", weights]
        yield ["train", rows, "--output", f"weights-{weights}.json", *more], False
    yield ["train", rows, "--output", "weights-public.json", *public, *more[:2]], False
    waits = ["--mechanism", "histogram", "--attribute-weights", "calibrated"]
    yield ["release", "sum.statistics.parquet", "--output", "calibrates.json", *waits], False
    yield ["aggregate", rows, "--given", "calibrates.json", "--output", "scores.parquet"], False
    yield ["evaluate", "histogram.json", rows, "--epsilon", "1", "--output", "all.scores.json"], False
    yield ["evaluate", "histogram.json", rows, "--epsilon", "1", "--output", "by.scores.json", "--by", "job"], False
    yield ["ledger", "verify", "people.ledger"], False
    witness = ["--witness", "seen/people.witness", "--head", HEAD]
    yield ["ledger", "verify", "people.ledger", "--begin-witness", *witness], False


def write_rows(folder: Path) -> None:
    """Write the rows that every state counts, another file of them for the public, and their catalogue."""
    import polars as pl

    place = pl.int_range(240, eager=True)
    frame = pl.DataFrame(
        {
            "age": (place * 7) % 91,
            "job": [("clerk", "farmer", "none")[each * each % 3] for each in place],
            "income": [("low", "high")[(each * 7) % 91 > 40] for each in place],
        }
    )
    for name, rows in {"people": frame, "public": frame.reverse()}.items():
        rows.write_parquet(folder / f"{name}.parquet")
    (folder / "datasets.toml").write_text(CATALOGUE, encoding="utf-8")
    (folder / "seen").mkdir(exist_ok=True)


def write_state(commit: str) -> None:
    """Run a state of the program, and pack what it has written."""
    with TemporaryDirectory() as name:
        program, folder = Path(name) / "program", Path(name) / "folder"
        folder.mkdir()
        packed = subprocess.run(
            ["git", "archive", commit, "dpnb_columnar", "sql", "datasets.toml"],
            cwd=CHECKOUT, check=True, capture_output=True,
        )  # fmt: skip
        with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
            archive.extractall(program, filter="data")
        write_rows(folder)
        environment = {**os.environ, "PYTHONPATH": str(program), "PYTHONDONTWRITEBYTECODE": "1"}
        printed = [""]
        for wanted, killed in commands():
            arguments = [printed[-1] if each == HEAD else each for each in wanted]
            changed = (RELATIVE + KILLED * killed) * ("--run-id" in arguments) + HERE_ALONE * ("--witness" in arguments)
            command = [sys.executable, "-c", changed + PROGRAM, *arguments]
            ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
            printed = ended.stdout.split() or [""]
            if ended.returncode != 9 * killed:
                print(commit, *arguments, ended.returncode, ended.stderr.strip().splitlines()[-1:])  # it knows no such
        with tarfile.open(HERE / f"{commit}.tar.xz", "w:xz", preset=9) as archive:
            for path in sorted(folder.rglob("*")):
                inside = path.relative_to(folder).as_posix()
                if path.is_file() and not path.name.startswith(".") and not inside.startswith(UNPACKED):
                    member = tarfile.TarInfo(inside)  # without owner and time
                    member.size, content = path.stat().st_size, path.read_bytes()
                    archive.addfile(member, BytesIO(content))


if __name__ == "__main__":
    for each in sys.argv[1:] or COMMITS:
        write_state(each)
