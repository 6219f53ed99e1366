"""``dpnb-columnar audit``: tries to break the guarantee, and reports lower bounds on epsilon."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import print_line, print_table, stage
from dpnb_columnar.domain.numbers import number_text

if TYPE_CHECKING:
    from dpnb_columnar.audit.outcomes import Audit, Configuration, Outcome
    from dpnb_columnar.budget import Approximate

BROKEN = 1
"""Exit code where a check does not hold."""


def command(
    quick: Annotated[bool, typer.Option("--quick", help="Minutes in place of hours, with less power.")] = False,
    mechanism: Annotated[
        list[str] | None,
        typer.Option(
            help="Mechanism to attack; repeat for more.", metavar="NAME", show_default="every private mechanism"
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Write measurements and findings as JSON.", metavar="FILE.json", show_default=False),
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Try to break the guarantee; lower bounds on epsilon.

    Releases models of small synthetic databases that differ in one row, with
    every mechanism and noise family, and with calibrated and with learned
    attribute weights under pure noise, noise with a delta and concentrated
    noise, under both neighbouring relations; and of some that differ in one
    whole unit of rows. All pairs of a small domain are compared exactly;
    lower bounds on epsilon come from counting releases, and hold all
    together with probability 99.9 %. No user's data is read, so what is printed
    and written is not confidential. The full audit takes hours.

    Exit code 1 means that a check does not hold; the lines after the table say
    which, and for which databases.

    \b
    Examples:
      dpnb-columnar audit --quick
      dpnb-columnar audit --mechanism smooth --output audit.json
    """
    from dpnb_columnar.audit import attacks
    from dpnb_columnar.audit.outcomes import configurations
    from dpnb_columnar.model.model_document import to_json
    from dpnb_columnar.runtime.outputs import atomic_output, check_output

    chosen = configurations(mechanism or ())
    if output is not None:
        check_output(output, overwrite)
    with stage("auditing"):
        audit = attacks.audit(chosen, attacks.QUICK if quick else attacks.FULL)
    _report(audit)
    if output is not None:
        with atomic_output(output, overwrite=overwrite) as partial:
            partial.write_text(to_json(attacks.to_document(audit)), encoding="utf-8")
    if not audit.holds:
        raise typer.Exit(BROKEN)


def _report(audit: Audit) -> None:
    print_table(
        [
            *("mechanism", "noise", "neighbours", "weights", "for one", "claimed"),
            *("worst", "one number", "model", "bits", "pairs", "releases"),
        ],
        [
            [
                outcome.configuration.mechanism,
                outcome.configuration.noise or "",
                outcome.configuration.budget.neighbours,
                outcome.configuration.attribute_weights,
                _protected(outcome.configuration),
                _claimed(outcome.claim),
                *(f"{bound:.3f}" for bound in (outcome.loss, outcome.number_bound, outcome.model_bound)),
                _bits(outcome),
                outcome.pairs,
                outcome.releases,
            ]
            for outcome in audit.outcomes
        ],
    )
    print_line()
    print_line("claimed: epsilon, and delta where there is one. worst: largest epsilon of any pair, from exact")
    print_line(
        "distributions. one number, model: lower bounds on epsilon, from releases. bits: which values can appear."
    )
    broken = [("rows", finding) for finding in audit.findings]
    broken += [(str(outcome.configuration), finding) for outcome in audit.outcomes for finding in outcome.findings]
    for where, finding in broken:
        print_line(f"BROKEN {finding.check}: {where}: {finding.pair}: {finding.seen}")
    if audit.holds:
        print_line(f"every check holds (confidence {audit.confidence:.1%})")


def _protected(configuration: Configuration) -> str:
    """Say what neighbours differ in."""
    unit = "row" if configuration.unit_rows is None else f"unit of {configuration.unit_rows}"
    classes = f", {configuration.classes} classes" if configuration.classes > 2 else ""
    return unit + ", weighted" * configuration.weighted + classes


def _bits(outcome: Outcome) -> str:
    """Say whether bit patterns are public; nothing for units and weights, whose draws are those of other rows."""
    from dpnb_columnar.audit.bit_patterns import CHECKS

    if outcome.configuration.few:
        return ""
    return "differ" if outcome.broken(*CHECKS) else "alike"


def _claimed(claim: Approximate) -> str:
    return number_text(claim.epsilon) + (f", {float(claim.delta):.0e}" if claim.delta else "")
