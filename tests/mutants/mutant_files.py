"""Read the single faults that tests must notice, and find the place of each in the package.

A room's faults stand in ``faults/ROOM.toml``. A fault names no file: its text is looked for in the whole package, so
that files may be merged, moved and renamed. What must not happen is that nobody notices when the text itself changes.
"""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FAULTS = Path(__file__).parent / "faults"
"""One file per room, named after the folder of tests that must notice its faults."""

PACKAGE = "dpnb_columnar"

NEEDED = {"id", "fault", "was", "becomes"}
OPTIONAL = {"survives"}
"""Fields of a mutant."""


class MutantError(Exception):
    """A mutant that cannot be applied, with the file of faults, its id and the remedy."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A single fault that a careless change could make.

    Attributes:
        room: The folder of tests that must notice it.
        neighbours: Further folders whose tests are run if those of the room do not.
        id: Its name, unique within its room.
        fault: What is wrong with it, in terms of privacy or correctness.
        was: The text that it replaces, which is in one place of the package.
        becomes: The text that replaces it.
        survives: Why no test can notice it, or none does; None where one must.
    """

    room: str
    neighbours: tuple[str, ...]
    id: str
    fault: str
    was: str
    becomes: str
    survives: str | None = None

    @property
    def name(self) -> str:
        return f"{self.room}/{self.id}"


def read_mutants(folder: Path = FAULTS) -> list[Mutant]:
    """Read all mutants, room by room.

    Raises:
        MutantError: if a file or an entry is malformed, or an id is there twice.
    """
    mutants = [mutant for path in sorted(folder.glob("*.toml")) for mutant in _read(path)]
    seen: set[str] = set()
    for mutant in mutants:
        if mutant.name in seen:
            raise MutantError(f"{mutant.name}: there are two of this id; rename one")
        seen.add(mutant.name)
    return mutants


def _read(path: Path) -> list[Mutant]:
    document: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    if document.keys() - {"neighbours", "mutants"} or not document.get("mutants"):
        raise MutantError(f"{path.name}: expected neighbours and mutants alone, found {', '.join(document)}")
    mutants = []
    for place, entry in enumerate(document["mutants"], 1):
        name = f"{path.stem}/{entry.get('id', f'number {place}')}"
        if missing := NEEDED - entry.keys():
            raise MutantError(f"{name}: lacks {', '.join(sorted(missing))}; write them into {path.name}")
        if unknown := entry.keys() - NEEDED - OPTIONAL:
            raise MutantError(f"{name}: no field is called {', '.join(sorted(unknown))}; delete them in {path.name}")
        if not all(isinstance(text, str) and text.strip() for key, text in entry.items() if key != "becomes"):
            raise MutantError(f"{name}: every field is a text; write all of them into {path.name}")
        mutants.append(Mutant(path.stem, tuple(document.get("neighbours", ())), **entry))
    return mutants


def package_sources(root: Path) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in sorted((root / PACKAGE).rglob("*.py"))}


def mutated(mutant: Mutant, sources: dict[Path, str]) -> tuple[Path, str]:
    """Apply a mutant: return the path of the module that it changes, and its new text.

    Raises:
        MutantError: if the text to replace is not in exactly one place, or what comes of it is no Python, or the same.
    """
    places = [path for path, source in sources.items() for _ in range(source.count(mutant.was))]
    if len(places) != 1:
        where = ", ".join(sorted({path.name for path in places})) or "no module"
        raise MutantError(
            f"{mutant.name}: its text is {len(places)} times in the package ({where}) and has to be there once; "
            f"write into faults/{mutant.room}.toml what the code is now, or more of it, or delete the mutant with it"
        )
    (path,) = places
    text = sources[path].replace(mutant.was, mutant.becomes)
    try:
        ast.parse(text)
    except SyntaxError as error:
        raise MutantError(f"{mutant.name}: what it makes of {path.name} is no Python: {error}; mend it") from None
    if mutant.was.split() == mutant.becomes.split():
        raise MutantError(f"{mutant.name}: it changes nothing that {path.name} does; mend or delete it")
    return path, text
