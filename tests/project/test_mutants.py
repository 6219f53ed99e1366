"""The single faults that the tests must notice still are in the code, and CONTRIBUTING says how many die."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from mutants.mutant_files import Mutant, MutantError, mutated, package_sources, read_mutants

ROOT = Path(__file__).parents[2]
CONTRIBUTING = ROOT / "CONTRIBUTING.md"

FEWEST = 150
"""Faults that there are at least."""

ENTRY = """
[[mutants]]
id = "one"
fault = "A fault."
was = "x = 1"
becomes = "x = 2"
"""


@pytest.fixture(scope="module")
def sources() -> dict[Path, str]:
    return package_sources(ROOT)


def test_there_are_many() -> None:
    assert len(read_mutants()) >= FEWEST


@pytest.mark.parametrize("room", sorted({mutant.room for mutant in read_mutants()}))
def test_every_fault_is_still_there_to_be_made(room: str, sources: dict[Path, str]) -> None:
    """In one place of the package, wherever its file was moved to; what comes of it is Python."""
    problems = []
    for mutant in (mutant for mutant in read_mutants() if mutant.room == room):
        try:
            mutated(mutant, sources)
        except MutantError as error:
            problems.append(str(error))
    assert not problems, "\n".join(problems)


def test_rooms_and_neighbours_have_tests() -> None:
    folders = {folder for mutant in read_mutants() for folder in (mutant.room, *mutant.neighbours)}
    assert not [folder for folder in folders if not any((ROOT / "tests" / folder).glob("test_*.py"))]


@pytest.mark.skipif(not CONTRIBUTING.exists(), reason="a source distribution has no CONTRIBUTING.md")
def test_contributing_says_how_many_die_and_names_every_survivor() -> None:
    """The scheduled run fails where a fault does not fare as its entry says, so entries say how many die."""
    mutants, text = read_mutants(), CONTRIBUTING.read_text(encoding="utf-8")
    surviving = Counter(mutant.room for mutant in mutants if mutant.survives)
    for room, number in Counter(mutant.room for mutant in mutants).items():
        assert f"| {room} | {number} | {number - surviving[room]} | {surviving[room]} |" in text
    left = surviving.total()
    assert f"| together | {len(mutants)} | {len(mutants) - left} | {left} |" in text
    named = set(re.findall(r"^\* `([a-z]+/[a-z0-9-]+)`: ", text, re.MULTILINE))
    assert named == {mutant.name for mutant in mutants if mutant.survives}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("", "expected neighbours and mutants alone"),
        ("mutant = 1" + ENTRY, "expected neighbours and mutants alone, found mutant, mutants"),
        (ENTRY.replace("fault", "reason"), "room/one: lacks fault; write them into room.toml"),
        (ENTRY + 'file = "x.py"', "room/one: no field is called file; delete them in room.toml"),
        (ENTRY.replace('"x = 1"', '" "'), "room/one: every field is a text"),
        (ENTRY + ENTRY, "room/one: there are two of this id; rename one"),
    ],
)
def test_malformed_entries_are_refused(document: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "room.toml").write_text(document)
    with pytest.raises(MutantError, match=words):
        read_mutants(tmp_path)


@pytest.mark.parametrize(
    ("source", "becomes", "words"),
    [
        ("y = 1\n", "x = 2", r"0 times in the package \(no module\) and has to be there once"),
        ("x = 1\nx = 1\n", "x = 2", r"2 times in the package \(module.py\) and has to be there once"),
        ("x = 1\n", "x = (", "what it makes of module.py is no Python"),
        ("x = 1\n", "x  =  1", "it changes nothing that module.py does"),
    ],
)
def test_faults_that_cannot_be_made_are_told(source: str, becomes: str, words: str) -> None:
    mutant = Mutant("room", (), "one", "A fault.", "x = 1", becomes)
    with pytest.raises(MutantError, match=f"room/one: .*{words}"):
        mutated(mutant, {Path("module.py"): source})


def test_a_fault_is_made_in_the_module_that_holds_it() -> None:
    mutant = Mutant("room", (), "one", "A fault.", "x = 1", "x = 2")
    assert mutated(mutant, {Path("a.py"): "y = 1\n", Path("b.py"): "x = 1\n"}) == (Path("b.py"), "x = 2\n")
