"""``dpnb-columnar audit``: tries to break the guarantee, of the installed program or of one model.

Of the program it reports lower bounds on epsilon, which are public. Of a model it reads exact rows: CONFIDENTIAL.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import print_line, print_table, stage
from dpnb_columnar.domain.names import number_text
from dpnb_columnar.errors import UsageError
from dpnb_columnar.registry import extension

if TYPE_CHECKING:
    from dpnb_columnar.extensions.audit.outcomes import Audit, Configuration

BROKEN = 1
"""Exit code where a check does not hold."""

OF_PROGRAM = {"quick": "--quick", "mechanism": "--mechanism"}
"""Parameters that attack the installed program, and cannot be used with --model."""

OF_MODEL = {
    **{"members": "--members", "others": "--others", "sensitive": "--sensitive"},
    **{"html": "--html", "as_json": "--json"},
}
"""Parameters that can only be used with --model."""


def command(
    context: typer.Context,
    quick: Annotated[bool, typer.Option("--quick", help="Minutes in place of hours, with less power.")] = False,
    mechanism: Annotated[
        list[str] | None,
        typer.Option(
            help='Mechanism to attack, or "score counts" for released scores; repeat for more.',
            metavar="NAME",
            show_default="every private mechanism, and released scores",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="Attack this model instead, by rows that trained it and rows that did not. CONFIDENTIAL.",
            metavar="MODEL",
        ),
    ] = None,
    members: Annotated[
        list[str] | None,
        typer.Option(
            help="Rows that trained the model, all or some: a Parquet file, a folder or a quoted pattern; repeat for "
            "more.",
            metavar="DATA",
        ),
    ] = None,
    others: Annotated[
        list[str] | None,
        typer.Option(
            help="Rows of the same population that did not, such as split holds out; repeat for more.",
            metavar="DATA",
        ),
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="Attributes whose values are guessed.", metavar="NAME,...", show_default="all")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --model, print JSON.")] = False,
    html: Annotated[Path | None, typer.Option(help="With --model, write a page as well.", metavar="FILE.html")] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Write measurements and findings as JSON.", metavar="FILE.json"),
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Try to break the guarantee; lower bounds on epsilon.

    Releases models of small synthetic databases that differ in one row, with
    every mechanism and noise family, and with calibrated and with learned
    attribute weights under pure noise, noise with a delta and concentrated
    noise, under both neighbouring relations; and of some that differ in one
    whole unit of rows. Releases scores of a fixed model likewise, of all rows and
    by group. All pairs of a small domain are compared exactly;
    lower bounds on epsilon come from counting releases, and hold all
    together with probability 99.9 %. No user's data is read, so what is printed
    and written is not confidential. The full audit takes hours.

    With --model, attacks one model as an output checker asks: who was a member,
    by the likelihood ratio and by the best of several scores, and what a member's
    values are; beside the bounds that the guarantee implies for every attack, and
    whether anything exceeds them beyond sampling error. Reads exact rows:
    CONFIDENTIAL. Half of the rows choose scores and thresholds, the other half
    measures them. Members and others are divided as split does; rows that are in
    both are refused. See docs/audit.md.

    Exit code 1 means that a check does not hold, or that a bound is exceeded; the
    lines after the table say which, and for which databases.

    \b
    Examples:
      dpnb-columnar audit --quick
      dpnb-columnar audit --mechanism smooth --output audit.json
      dpnb-columnar audit --model census.model.json --members census.train.parquet \\
        --others census.test.parquet --html attack.html
      dpnb-columnar audit --model census.model.json --members census.train.parquet \\
        --others census.test.parquet --sensitive INCWAGE,RACE
    """
    if output is not None and output.suffix.lower() != ".json":
        raise UsageError(f"{output}: measurements and findings are written as JSON; end its name in .json")
    sources = {name: context.get_parameter_source(name) for name in (OF_PROGRAM | OF_MODEL)}
    typed = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    if model is not None:
        if refused := [OF_PROGRAM[name] for name in typed if name in OF_PROGRAM]:
            raise UsageError(f"{refused[0]} is for attacks on the program; leave it or --model out")
        if not members or not others:
            raise UsageError(
                f"Missing option '--{'others' if members else 'members'}': --model is attacked by rows that trained it "
                "(--members) and rows that did not (--others)"
            )
        attack = extension("attack.model_attack", "audit --model")
        guessed = sensitive.split(",") if sensitive else ()
        if attack.attack_files(model, members, others, guessed, html, output, overwrite, as_json):
            raise typer.Exit(BROKEN)
        return
    if refused := [OF_MODEL[name] for name in typed if name in OF_MODEL]:
        raise UsageError(
            f"{refused[0]} can only be used with --model, which attacks one model; add that or leave it out"
        )
    from dpnb_columnar.extensions.audit import attacks
    from dpnb_columnar.extensions.audit.outcomes import configurations
    from dpnb_columnar.model.document import to_json
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
                number_text(outcome.claim.epsilon)
                + (f", {float(outcome.claim.delta):.0e}" if outcome.claim.delta else ""),
                *(f"{bound:.3f}" for bound in (outcome.loss, outcome.number_bound, outcome.model_bound)),
                {True: "alike", False: "differ", None: ""}[outcome.bit_patterns],
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
    unit = "row" if configuration.unit_rows is None else f"unit of {configuration.unit_rows}"
    classes = f", {configuration.classes} classes" if configuration.classes > 2 else ""
    return unit + ", weighted" * configuration.weighted + classes + ", groups" * bool(configuration.by)
