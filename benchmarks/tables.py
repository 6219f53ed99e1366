"""Tables of docs/performance.md, as lines of Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from benchmarks.findings import Findings
from benchmarks.targets import millions, targets


def described(findings: Findings) -> list[str]:
    """The machine and the versions."""
    return markdown(("measured on", ""), [[name, value] for name, value in findings.machine.items()])


def judged(findings: Findings) -> list[str]:
    """Every target beside what was measured."""
    rows = [
        [
            each.what,
            f"{'at least' if each.least else 'at most'} {each.limit:g} {each.unit}".rstrip(),
            "" if each.measured is None else f"{significant(each.measured)} {each.unit}".rstrip(),
            each.verdict,
        ]
        for each in targets(findings)
    ]
    return markdown(("what", "target", "measured", ""), rows)


def compared(series: str, sizes: Sequence[str] = ("rows",), *, rate: bool = False) -> Callable[[Findings], list[str]]:
    """A table of the contenders of a series.

    Args:
        series: Whose.
        sizes: What they differ in.
        rate: Whether to say how many rows a second there were.
    """

    def table(findings: Findings) -> list[str]:
        summary = findings.summary(series)
        alone = summary["contender"].n_unique() == 1
        header = [*sizes, "", "seconds", "processor seconds", "peak MiB", "turns"]
        header += ["rows a second"] * rate + ["ratio", "of processor seconds"] * (not alone)
        rows, previous = [], None
        for found in summary.iter_rows(named=True):
            size = [number(name, found[name]) for name in sizes]
            line = [*(size if size != previous else [""] * len(size)), found["contender"]]
            line += [significant(found["seconds"]), significant(found["cpu_seconds"]), f"{found['peak_mib']:.0f}"]
            line += [str(found["turns"])]
            line += [f"{found['rows'] / found['seconds']:,.0f}"] * rate
            ratios = [significant(found[name]) for name in ("ratio", "cpu_ratio")]
            line += ([""] * 2 if size != previous else ratios) * (not alone)
            rows.append(line)
            previous = size
        return markdown(header, rows)

    return table


TABLES: Mapping[str, tuple[str, Callable[[Findings], list[str]]]] = {
    "machine": ("", described),
    "targets": ("", judged),
    "train": ("train", compared("train")),
    "steps": ("steps", compared("steps")),
    "predict": ("predict", compared("predict", rate=True)),
    "ingest": ("ingest", compared("ingest", rate=True)),
    "release": ("release", compared("release", ("rows", "attributes", "classes", "grid"))),
    "search": ("search", compared("search")),
    "start": ("start", compared("start")),
    "floats": ("floats", compared("floats")),
}
"""By the name of its place in the document: the series it needs, if it needs one, and what makes it."""


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table; columns of numbers are aligned to the right."""
    rule = ["---:" if _are_numbers(column) else "---" for column in zip(*rows, strict=True)]
    return [f"| {' | '.join(line)} |" for line in (header, rule, *rows)]


def number(name: str, value: int) -> str:
    """A size."""
    return "" if not value else millions(value) if name == "rows" else f"{value:,}"


def significant(value: float) -> str:
    """Three digits, and no exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}" if value >= 0.001 else f"{value:.5f}"


def _are_numbers(column: Sequence[str]) -> bool:
    cells = [cell.removesuffix(" M").replace(",", "").replace(".", "") for cell in column if cell]
    return bool(cells) and all(cell.isdigit() for cell in cells)
