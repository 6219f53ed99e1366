"""A witness: where it knows more than the ledger nothing is spent, and a kill at any moment leaves the two in order."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from support.ledger_cases import TENTH, charge, forge, new_ledger
from support.people import write_people
from support.running import Run

from dpnb_columnar.core.budget import Approximate, Neighbours
from dpnb_columnar.errors import ConfigurationError, DataError, Error, MissingInputError, OutputError, UsageError
from dpnb_columnar.ledger import Ledger

LIMIT = Approximate(Fraction(1), Fraction(0))

Files = tuple[Path, Path]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """A ledger with one account, and its witness in another folder."""
    (tmp_path / "other").mkdir()
    ledger, witness = tmp_path / "census.ledger", tmp_path / "other" / "census.witness"
    with Ledger.create(ledger, witness) as opened:
        opened.open_account("census", LIMIT, Neighbours.ADD_REMOVE)
    return ledger, witness


def known(witness: Path) -> int:
    entries: int = json.loads(witness.read_text(encoding="utf-8"))["entries"]
    return entries


def test_a_witness_knows_every_entry(files: Files) -> None:
    ledger, witness = files
    assert known(witness) == 2
    with Ledger(ledger, witness) as opened:
        opened.spend(charge("a"))
        assert known(witness) == 3
        opened.keep("a", "{}")
        assert known(witness) == 4
        opened.open_account("oregon", LIMIT, Neighbours.ADD_REMOVE)
        assert known(witness) == 5
        assert json.loads(witness.read_text(encoding="utf-8"))["head"] == opened.head()
    assert witness.stat().st_mode & 0o777 == 0o600


ACTS: dict[str, Callable[[Ledger], object]] = {
    "refuse_if_unaffordable": lambda ledger: ledger.refuse_if_unaffordable(charge("b")),
    "spend": lambda ledger: ledger.spend(charge("b")),
    "spend again": lambda ledger: ledger.spend(charge("a")),
    "open_account": lambda ledger: ledger.open_account("oregon", LIMIT, Neighbours.ADD_REMOVE),
    "begin_witness": lambda ledger: ledger.begin_witness(ledger.head()),
    "witnessed": lambda ledger: ledger.witnessed(),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("before", ["an account", "a spend", "another spend in its place", "nothing"])
def test_a_ledger_that_was_rolled_back_spends_nothing(before: str, act: str, files: Files, tmp_path: Path) -> None:
    ledger, witness = files
    backup = tmp_path / "backup"
    if before == "nothing":
        Ledger.create(backup).close()
    with Ledger(ledger, witness) as opened:
        if before == "another spend in its place":
            shutil.copy(ledger, backup)
            another = shutil.copy(witness, tmp_path / "other" / "another")
        for number, run in enumerate("ac"):
            if before == ("an account", "a spend")[number]:
                shutil.copy(ledger, backup)
            opened.spend(charge(run))
    if before == "another spend in its place":
        with Ledger(backup, another) as opened:
            for run in "azy":
                opened.spend(charge(run))
    backup.replace(ledger)
    content = ledger.read_bytes()
    with Ledger(ledger, witness) as opened, pytest.raises(DataError, match=r"was rolled back: .* has seen entry 4"):
        ACTS[act](opened)
    assert ledger.read_bytes() == content
    assert known(witness) == 4


WITHOUT_IT = "without which a roll-back is not noticed"


@pytest.mark.parametrize("act", ["refuse_if_unaffordable", "spend", "spend again", "open_account", "witnessed"])
@pytest.mark.parametrize("restored", [False, True], ids=["as it is", "from the backup of a new ledger"])
def test_a_ledger_does_not_forget_that_it_has_a_witness(restored: bool, act: str, files: Files, tmp_path: Path) -> None:
    ledger, witness = files
    shutil.copy(ledger, tmp_path / "backup")
    with Ledger(ledger, witness) as opened:
        opened.spend(charge("a"))
        opened.keep("a", "{}")
    if restored:
        (tmp_path / "backup").replace(ledger)
    content = ledger.read_bytes()
    with Ledger(ledger) as opened:
        with pytest.raises(MissingInputError) as refused:
            ACTS[act](opened)
        assert opened.recorded_witness() == witness
    assert str(refused.value) == (f'{ledger}: this ledger has a witness, {WITHOUT_IT}; name it: witness="{witness}"')
    assert ledger.read_bytes() == content


def test_a_ledger_of_an_earlier_program_has_the_witness_that_it_is_first_charged_with(
    files: Files, tmp_path: Path
) -> None:
    """Its witness was begun, and no entry records it."""
    _, witness = files
    witness.unlink()
    ledger = new_ledger(tmp_path / "former.ledger")
    with Ledger(ledger) as opened:
        opened.spend(charge("a"))  # as before, where there is none
        assert opened.recorded_witness() is None
        head = opened.head()
        first = next(opened.entries()).digest
    document = {"format": "dpnb_columnar witness", "version": 1, "first": first, "entries": 2, "head": head}
    witness.write_text(json.dumps(document), encoding="utf-8")
    witness.chmod(0o600)
    with Ledger(ledger, witness) as opened:
        opened.refuse_if_unaffordable(charge("b"))
        opened.spend(charge("a"))
        assert opened.recorded_witness() is None  # nothing was written
        opened.spend(charge("b"))
        assert opened.recorded_witness() == witness
        assert opened.verify().entries == known(witness) == 4
    with Ledger(ledger) as opened, pytest.raises(MissingInputError, match="this ledger has a witness"):
        opened.spend(charge("c"))


def test_a_witness_that_is_behind_catches_up(files: Files) -> None:
    ledger, witness = files
    content = witness.read_bytes()
    with Ledger(ledger, witness) as opened:
        for run in "abc":
            opened.spend(charge(run))
    witness.write_bytes(content)
    with Ledger(ledger, witness) as opened:
        opened.spend(charge("a"))
    assert known(witness) == 5


def test_a_witness_that_is_not_there_is_no_witness(files: Files) -> None:
    ledger, witness = files
    witness.unlink()
    with Ledger(ledger, witness) as opened:
        for act in ("refuse_if_unaffordable", "spend", "open_account", "witnessed"):
            with pytest.raises(MissingInputError, match=r"no such witness; mount .* --begin-witness --head DIGEST$"):
                ACTS[act](opened)
        assert not witness.exists()
        opened.begin_witness(opened.head())
        opened.spend(charge("a"))
    assert known(witness) == 4


def test_a_witness_is_begun_by_the_newest_head_alone(files: Files, tmp_path: Path) -> None:
    """A ledger that was rolled back has another head than was noted, however old the backup and the note are."""
    ledger, witness = files
    heads, backups = [], []
    with Ledger(ledger, witness) as opened:
        for run in "abc":
            opened.spend(charge(run))
            opened.keep(run, "{}")
            heads.append(opened.head())
            backups.append(shutil.copy(ledger, tmp_path / f"backup-{run}"))
    witness.unlink()
    for place, backup in enumerate(backups):
        content = backup.read_bytes()
        with Ledger(backup, witness) as opened:
            for head in [*heads[:place], *heads[place + 1 :], "0" * 64]:
                with pytest.raises(UsageError, match=f"{head}.* is not the digest of the last entry"):
                    opened.begin_witness(head)
        assert not witness.exists()
        assert backup.read_bytes() == content
    with Ledger(ledger, witness) as opened:
        opened.begin_witness(heads[-1])
        assert known(witness) == opened.verify().entries == 9


def test_a_witness_that_was_killed_as_it_was_begun_is_begun_by_the_same_head(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entry that records it is there then, and the file is not."""
    ledger, witness = files
    witness.unlink()
    with Ledger(ledger, witness) as opened:
        head = opened.head()
        with monkeypatch.context() as killed:
            killed.setattr(Ledger, "_write_witness", lambda ledger: None)
            opened.begin_witness(head)
        assert not witness.exists()
        opened.begin_witness(head)
        assert known(witness) == opened.verify().entries == 4


def test_a_witness_is_begun_once_and_of_something(files: Files, tmp_path: Path) -> None:
    ledger, witness = files
    content = witness.read_bytes()
    with Ledger(ledger, witness) as opened, pytest.raises(UsageError, match="is there already"):
        opened.begin_witness(opened.head())
    assert witness.read_bytes() == content
    witness.unlink()
    with Ledger.create(tmp_path / "new.ledger", witness) as opened, pytest.raises(UsageError, match="has no entry"):
        opened.begin_witness(opened.head())
    assert not witness.exists()


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[]", "x" * 5000, "[" * 4000, '{"format": "dpnb_columnar witness", "version": 2}', "\udcff"],
    ids=["empty", "object", "list", "long", "deep", "later", "bytes"],
)
def test_what_is_no_witness_is_refused(content: str, files: Files) -> None:
    ledger, witness = files
    witness.write_text(content, encoding="utf-8", errors="surrogateescape")
    with Ledger(ledger, witness) as opened, pytest.raises(DataError, match="not a witness of a ledger"):
        opened.spend(charge("a"))


def test_a_witness_of_another_ledger_is_refused(files: Files, tmp_path: Path) -> None:
    other = tmp_path / "oregon.ledger"
    with Ledger.create(other) as opened:
        opened.open_account("oregon", LIMIT, Neighbours.ADD_REMOVE)
    with Ledger(other, files[1]) as opened, pytest.raises(DataError, match="is the witness of another ledger"):
        opened.spend(charge("a", dataset="oregon"))


def test_a_witness_lies_elsewhere_and_is_its_owners_alone(files: Files) -> None:
    ledger, witness = files
    witness.chmod(0o620)
    with Ledger(ledger, witness) as opened, pytest.raises(ConfigurationError, match="chmod go-w"):
        opened.spend(charge("a"))


@pytest.mark.parametrize("link", ["none", "of the witness", "of the witness's folder", "of the ledger"])
def test_a_witness_in_the_ledgers_folder_is_refused_by_any_link(link: str, files: Files, tmp_path: Path) -> None:
    ledger, witness = files
    inside = Path(shutil.move(witness, ledger.with_name("inside")))
    named, ledger_named = inside, ledger
    if link == "of the witness":
        named = witness
        named.symlink_to(inside)
    elif link == "of the witness's folder":
        folder = tmp_path / "other" / "folder"
        folder.symlink_to(ledger.parent, target_is_directory=True)
        named = folder / inside.name
    elif link == "of the ledger":
        ledger_named = tmp_path / "other" / "named.ledger"
        ledger_named.symlink_to(ledger)
    content = ledger.read_bytes(), inside.read_bytes()
    with Ledger(ledger_named, named) as opened:
        for act in ("spend", "open_account", "begin_witness", "witnessed"):
            with pytest.raises(UsageError, match="in the ledger's own folder"):
                ACTS[act](opened)
    assert (ledger.read_bytes(), inside.read_bytes()) == content


def test_a_witness_by_a_link_is_written_where_it_lies(files: Files, tmp_path: Path) -> None:
    ledger, witness = files
    link = tmp_path / "link"
    link.symlink_to(witness)
    with Ledger(ledger, link) as opened:
        opened.spend(charge("a"))
    assert link.is_symlink()
    assert known(witness) == 3


@pytest.mark.parametrize("inputs", [None, "{", "[]", "{}", '{"path": 1}'])
def test_a_record_of_no_witness_is_damage(inputs: str | None, files: Files) -> None:
    """Its file is not taken for a ledger that never had one."""
    ledger, _ = files
    forge(ledger, 1, inputs=inputs)
    for act in (Ledger.verify, ACTS["spend"], ACTS["open_account"]):
        with Ledger(ledger) as opened, pytest.raises(DataError, match=r"entry 1 \(witness\): it "):
            act(opened)


def test_a_witness_that_cannot_be_written_is_not_recorded(files: Files, tmp_path: Path) -> None:
    absent = tmp_path / "absent" / "census.witness"
    with Ledger.create(tmp_path / "new.ledger", absent) as opened:
        with pytest.raises(OutputError, match="its folder does not exist; create "):
            opened.open_account("census", LIMIT, Neighbours.ADD_REMOVE)
        assert not [*opened.entries()]
        absent.parent.mkdir()
        opened.open_account("census", LIMIT, Neighbours.ADD_REMOVE)
    ledger, witness = files
    witness.unlink()
    with Ledger(ledger, tmp_path / "missing" / "w") as opened:
        head = opened.head()
        with pytest.raises(OutputError, match="its folder does not exist; create "):
            opened.begin_witness(head)
        assert opened.head() == head


def test_a_pipe_is_no_witness_and_is_not_waited_for(files: Files) -> None:
    ledger, witness = files
    witness.unlink()
    os.mkfifo(witness, 0o600)
    with Ledger(ledger, witness) as opened, pytest.raises(DataError, match="not a witness"):
        opened.spend(charge("a"))


@pytest.mark.slow
def test_no_run_puts_the_witness_back(files: Files) -> None:
    """Eight at once: the last entry is known whoever comes last."""
    ledger, witness = files
    failures: list[Error] = []

    def spend(first: int) -> None:
        with Ledger(ledger, witness) as opened:
            for number in range(first, first + 5):
                try:
                    opened.spend(charge(f"run-{number}", TENTH if number % 20 == 0 else type(TENTH)(Fraction(1, 1000))))
                except Error as error:
                    failures.append(error)

    threads = [threading.Thread(target=spend, args=(place * 5,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert known(witness) == 42


# --- the front doors ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_line_notices_a_roll_back(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write_people(folder / "people.parquet")
    (folder / "other").mkdir()
    options = ["--ledger", "people.ledger", "--epsilon", "0.5", "--mechanism", "histogram"]
    run("ledger", "init", "people.ledger", "--dataset", "people", "--epsilon", "2", "--witness", "other/w")
    shutil.copy("people.ledger", "backup")
    monkeypatch.setenv("DPNB_WITNESS", "other/w")
    run("train", "people.parquet", *options, "--output", "a.json", "--run-id", "a")
    assert "other/w: has seen 4 entries\n" in run("ledger", "verify", "people.ledger", "--witness", "other/w").out
    assert known(folder / "other" / "w") == 4
    Path("backup").replace("people.ledger")
    refused = run("train", "people.parquet", *options, "--output", "b.json", "--run-id", "b", expected=65)
    assert "people.ledger: was rolled back: other/w has seen entry 4" in refused.err
    assert not Path("b.json").exists()
    assert "was rolled back" in run("ledger", "verify", "people.ledger", "--witness", "other/w", expected=65).err
    monkeypatch.delenv("DPNB_WITNESS")
    refused = run("train", "people.parquet", *options, "--output", "b.json", "--run-id", "b", expected=66)
    place = folder / "other" / "w"
    assert f"people.ledger: this ledger has a witness, {WITHOUT_IT}; name it: --witness {place}\n" in refused.err
    assert not Path("b.json").exists()
    ended = run("train", "people.parquet", "--witness", "other/w", "--output", "c.json", expected=64)
    assert "--witness is for a ledger" in ended.err


def test_verify_writes_no_witness_unless_it_is_asked_to(files: Files, run: Run) -> None:
    ledger, witness = files
    verify = ("ledger", "verify", ledger, "--witness", witness)
    content = witness.read_bytes()
    with Ledger(ledger, witness) as opened:
        first = opened.head()
        opened.spend(charge("a"))
        head = opened.head()
    witness.write_bytes(content)
    assert f"{witness}: has seen 2 entries; the next run that is given it" in run(*verify).out
    assert known(witness) == 2
    begin = (*verify, "--begin-witness", "--head")
    assert "is there already; leave --begin-witness out" in run(*begin, head, expected=64).err
    witness.unlink()
    assert "no such witness; mount its disk" in run(*verify, expected=66).err
    assert "the head that was noted after the last run with --head" in run(*begin[:-1], expected=64).err
    assert f"--head {first} is not the digest of the last entry" in run(*begin, first, expected=64).err
    assert "the noted head is not in the chain" in run(*begin, "a" * 64, expected=65).err
    assert not witness.exists()
    begun = run(*begin, head).out
    assert f"{ledger}: 4 entries, " in begun
    assert f"{witness}: has seen 4 entries\n" in begun
    with Ledger(ledger) as opened:
        assert begun.endswith(f"head {opened.head()}\n")
    assert "name its file with --witness" in run("ledger", "verify", ledger, "--begin-witness", expected=64).err


def test_what_is_shown_without_the_witness_says_so(files: Files, run: Run) -> None:
    ledger, witness = files
    said = f"its witness {witness} was not read; compare the two: dpnb-columnar ledger verify {ledger} --witness"
    for verb in ("show", "verify"):
        assert said in run("ledger", verb, ledger).out
    assert said not in run("ledger", "verify", ledger, "--witness", witness).out
    assert json.loads(run("ledger", "show", ledger, "--json").out)["witness"] == str(witness)
    without = new_ledger(ledger.with_name("without.ledger"))
    assert "witness" not in run("ledger", "show", without).out + run("ledger", "verify", without).out
    assert json.loads(run("ledger", "show", without, "--json").out)["witness"] is None


def test_an_account_is_opened_beside_others_by_the_witness_alone(files: Files, run: Run) -> None:
    """A ledger that was rolled back may have lost an account, whose limit would be open once more."""
    ledger, witness = files
    init = ("ledger", "init", ledger, "--dataset", "oregon", "--epsilon", 1)
    assert f"name it: --witness {witness}" in run(*init, expected=66).err
    run(*init, "--witness", witness)
    assert known(witness) == 3


# --- kills --------------------------------------------------------------------------------------------------------

KILLER = Path(__file__).parents[1] / "support" / "killed_at_call.c"

ATTEMPT = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from support.ledger_cases import charge
from dpnb_columnar.ledger import Ledger
folder = Path(sys.argv[2])
import ctypes
arm = ctypes.CDLL(None).kill_at_call
for line in sys.stdin:  # a number of calls, and the folder of one attempt
    number, name = line.split()
    child = os.fork()
    if not child:
        arm(int(number))
        with Ledger(folder / name / "x.ledger", folder / name / "other" / "w") as ledger:
            ledger.spend(charge("a"))
            os.write(1, b"drawn ")
            ledger.keep("a", "{}")
            os.write(1, b"seen ")
        os._exit(0)
    os.write(1, f"{os.waitpid(child, 0)[1]}\\n".encode())
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler, by which kills are placed")
@pytest.mark.skipif(sys.platform != "linux", reason="calls are counted by the dynamic linker of Linux")
def test_a_kill_at_any_call_leaves_what_is_accepted_and_no_roll_back_that_is(files: Files, tmp_path: Path) -> None:
    """Before each system call that opens, writes, synchronises, renames or removes; and one run that ends by itself."""
    library = tmp_path / "killer.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, KILLER, "-ldl"], check=True)
    command = [sys.executable, "-c", ATTEMPT, str(Path(__file__).parents[1]), str(tmp_path)]
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            status, number, drawn, behind = -1, 0, 0, 0
            while status != 0:
                number += 1
                folder = tmp_path / str(number)
                (folder / "other").mkdir(parents=True)
                shutil.copy(files[0], folder / "x.ledger")
                shutil.copy(files[1], folder / "other" / "w")
                process.stdin.write(f"{number} {number}\n")
                process.stdin.flush()
                *said, ended = process.stdout.readline().split()
                status = int(ended)
                assert status in (0, signal.SIGKILL)
                drawn += bool(said)
                behind += _check(folder, said, files[0])
                assert number < 2000
            assert number > 40
            assert drawn > 5
            assert behind > 2
        finally:
            process.kill()


def _check(folder: Path, said: list[str], account_alone: Path) -> bool:
    """The state goes on, and a roll-back of what was used is refused. Returns whether the witness was behind."""
    ledger, witness = folder / "x.ledger", folder / "other" / "w"
    with Ledger(ledger) as opened:
        entries = opened.verify().entries
    before = known(witness)
    assert before <= entries <= before + 1
    if said:
        rolled_back = folder / "back" / "x.ledger"
        rolled_back.parent.mkdir()
        shutil.copy(account_alone, rolled_back)
        with Ledger(rolled_back, witness) as opened, pytest.raises(DataError, match="was rolled back"):
            opened.spend(charge("a"))
        assert before >= 4 if "seen" in said else before >= 3
    with Ledger(ledger, witness) as opened:
        opened.spend(charge("a"))
        opened.keep("a", "{}")
        assert opened.verify().entries == known(witness) == 4
    return before < entries
