"""Fuzzes every reader for as long as is wished.

Usage: python tests/fuzz [--inputs 100000] [--reader model.json] [--seed 0]

Ctrl-C ends it with what was found so far.

The same seed gives the same files. ``--reader NAME --seed N --inputs 1`` repeats one input and shows what it printed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz_parent import Fuzzer
from fuzzed_readers import READERS


def main() -> int:
    """Run, print a table, and tell whether there were defects."""
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description="Fuzz every reader of files.")
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--reader", choices=[reader.file for reader in READERS])
    parser.add_argument("--seed", type=int, default=0, help="of the first input")
    options = parser.parse_args()
    places = [place for place, reader in enumerate(READERS) if options.reader in (None, reader.file)]
    codes: dict[str, Counter[str]] = defaultdict(Counter)
    defects: Counter[str] = Counter()
    begun = time.monotonic()
    with Fuzzer() as fuzzer, suppress(KeyboardInterrupt):
        for number in range(options.inputs):
            place, seed = places[number % len(places)], options.seed + number // len(places)
            found = fuzzer.outcome(place, seed)
            codes[found.reader]["died" if found.code is None else str(found.code)] += 1
            if found.defects or options.inputs == 1:
                defects[found.reader] += bool(found.defects)
                print(f"--reader {found.reader} --seed {seed} --inputs 1: {'; '.join(found.defects)}", flush=True)
                print(f"  {found.command}\n  " + found.text.rstrip().replace("\n", "\n  "), flush=True)
    columns = sorted({code for counts in codes.values() for code in counts})
    print(f"{'reader':28}{'inputs':>9}" + "".join(f"{code:>8}" for code in columns) + f"{'defects':>9}")
    for name, counts in codes.items():
        print(f"{name:28}{counts.total():9}" + "".join(f"{counts[code]:8}" for code in columns) + f"{defects[name]:9}")
    total = sum(map(Counter.total, codes.values()))
    print(f"{total} inputs, {defects.total()} with a defect, {time.monotonic() - begun:.0f} s")
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
