"""Makes one single fault after the other in a copy of the project, and says which tests notice it.

Usage: python tests/mutants [--room noise] [--id beta-doubled] [--jobs 2] [--slow] [--output report.md]

A mutant is killed by the first quick test that fails: of its room, or of the room's neighbours if it calls what the
mutant changes. One that survives must say why in ``faults/ROOM.toml``, and one that says so must survive; else the exit
code is 1. The project itself is never changed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

sys.path.insert(0, str(Path(__file__).parents[1]))

from mutants.mutant_files import Mutant, MutantError, mutated, package_sources, read_mutants
from mutants.mutant_runs import ROOT, Outcome, Result, Tree, Usual, folders_of, run_mutant


def main() -> int:
    """Run the mutants, print a table, and tell whether each fared as its entry says."""
    parser = argparse.ArgumentParser(prog="python tests/mutants", description="Run tests on single faults.")
    parser.add_argument("--room", action="append", help="only the faults of this room; may be given again")
    parser.add_argument("--id", action="append", help="only the fault of this id; may be given again")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    parser.add_argument("--slow", action="store_true", help="try the room's slow tests on what survives the quick ones")
    parser.add_argument("--output", type=Path, help="write a report in Markdown")
    options = parser.parse_args()
    try:
        mutants = chosen(read_mutants(), options.room, options.id)
        sources = package_sources(ROOT)
        for mutant in mutants:
            mutated(mutant, sources)
    except MutantError as error:
        print(error, file=sys.stderr)
        return 65
    begun = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            results = run(mutants, Path(folder), options.jobs, slow=options.slow)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 70
    print("\n".join(table(results)))
    print(f"{len(results)} mutants, {time.monotonic() - begun:.0f} s")
    if options.output:
        options.output.write_text("\n".join(report(results)) + "\n", encoding="utf-8")
    return 0 if all(result.expected for result in results) else 1


def chosen(mutants: Sequence[Mutant], rooms: Sequence[str] | None, ids: Sequence[str] | None) -> list[Mutant]:
    kept = [each for each in mutants if (not rooms or each.room in rooms) and (not ids or each.id in ids)]
    if not kept:
        raise MutantError(f"no such mutant; rooms are {', '.join(sorted({each.room for each in mutants}))}")
    return kept


def run(mutants: Sequence[Mutant], folder: Path, jobs: int, *, slow: bool) -> list[Result]:
    """Run mutants side by side, each in a copy of the project."""
    trees: SimpleQueue[Tree] = SimpleQueue()
    for job in range(jobs):
        trees.put(Tree(folder / str(job)))

    def usual(tests: str) -> Usual:
        tree = trees.get()
        try:
            return tree.usual(tests)
        finally:
            trees.put(tree)

    def outcome(mutant: Mutant) -> Result:
        tree = trees.get()
        try:
            result = run_mutant(tree, mutant, usually, slow=slow)
        finally:
            trees.put(tree)
        note = "" if result.expected else "  <-- " + ("declared to survive" if result.test else "not declared")
        print(f"{result.outcome:21}{result.seconds:5.0f} s  {mutant.name}  {result.test}{note}", flush=True)
        return result

    folders = sorted({folder for mutant in mutants for folder in folders_of(mutant)})
    with ThreadPoolExecutor(jobs) as pool:
        try:
            usually = dict(zip(folders, pool.map(usual, folders), strict=True))
            return list(pool.map(outcome, mutants))
        except BaseException:
            pool.shutdown(cancel_futures=True)  # what is under way ends by itself
            raise


def table(results: Sequence[Result]) -> list[str]:
    rooms = list(dict.fromkeys(result.mutant.room for result in results))
    lines = ["| room | mutants | killed by quick tests | survivors |", "|---|---|---|---|"]
    for room, of_room in [(room, [each for each in results if each.mutant.room == room]) for room in rooms]:
        lines.append(line(room, of_room))
    return [*lines, line("together", results)]


def line(name: str, results: Sequence[Result]) -> str:
    outcomes = Counter(result.outcome for result in results)
    left = outcomes[Outcome.SURVIVED] + outcomes[Outcome.SLOW]
    return f"| {name} | {len(results)} | {outcomes[Outcome.KILLED]} | {left} |"


def report(results: Sequence[Result]) -> list[str]:
    lines = [*table(results), "", "| mutant | fault | outcome | by | s |", "|---|---|---|---|---|"]
    for result in results:
        why = result.test or result.mutant.survives or "no test"
        cells = (result.mutant.name, result.mutant.fault, result.outcome.value, why, f"{result.seconds:.0f}")
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
