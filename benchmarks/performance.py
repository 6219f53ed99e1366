"""The tables and figures of docs/performance.md, from the runs that ``python -m benchmarks`` has measured.

Usage: python -m benchmarks.performance performance.parquet [--docs docs]

Without ``--docs`` the tables are printed. With it they are put between the markers of performance.md, and figures into
the folder beside it; what was not measured stays as it is.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.figures import FIGURES, draw
from benchmarks.findings import Findings, read_findings
from benchmarks.tables import TABLES

DOCUMENT, FOLDER = "performance.md", "performance"


def main() -> None:
    """Print the tables, or put them into the document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--docs", type=Path, help="folder of performance.md")
    options = parser.parse_args()
    findings = read_findings(options.runs)
    tables = tables_of(findings)
    if options.docs is None:
        for name, lines in tables.items():
            print("\n".join(["", name, "", *lines]))
        return
    document = options.docs / DOCUMENT
    document.write_text(replaced(document.read_text(), tables))
    (options.docs / FOLDER).mkdir(exist_ok=True)
    for name, figure in FIGURES.items():
        if measured(findings, figure.series):
            draw(figure, findings, options.docs / FOLDER / f"{name}.svg")


def tables_of(findings: Findings) -> dict[str, list[str]]:
    """Every table whose series was measured, by name."""
    return {
        name: table(findings) for name, (series, table) in TABLES.items() if not series or measured(findings, series)
    }


def measured(findings: Findings, series: str) -> bool:
    """Whether there are runs of a series."""
    return series in findings.runs["series"]


def replaced(text: str, tables: dict[str, list[str]]) -> str:
    """A document with each table between its markers.

    Raises:
        SystemExit: A table has no place there.
    """
    for name, lines in tables.items():
        begin, end = f"<!-- table {name} -->", f"<!-- end {name} -->"
        if begin not in text or end not in text:
            raise SystemExit(f"the document has no place for the table {name}: put {begin} and {end} there")
        before, _, rest = text.partition(begin)
        after = rest.partition(end)[2]
        text = "\n".join([f"{before}{begin}", "", *lines, "", f"{end}{after}"])
    return text


if __name__ == "__main__":
    main()
