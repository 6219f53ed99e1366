"""``dpnb-columnar show``: what a model predicts and from what, its guarantee, its composition and its parameters."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import print_line, print_lines, print_table, print_text, print_warning
from dpnb_columnar.domain import Numeric
from dpnb_columnar.domain.domain_text import SHORT, class_texts, predicts, value_with_label, whose_rows, with_title
from dpnb_columnar.errors import UsageError
from dpnb_columnar.runtime.outputs import atomic_output, check_target

if TYPE_CHECKING:
    from dpnb_columnar.model.parameters import NaiveBayes
    from dpnb_columnar.model.query_noise import Interval
    from dpnb_columnar.papers.release_papers import ReleasePapers

MOST_ATTRIBUTES = 10
"""Attributes that ``show`` prints unless it is asked for all."""

LONGEST_VALUE = 32
"""Characters of a value in a table."""


def command(
    model: options.ModelFile,
    every: Annotated[bool, typer.Option("--all", help="Print every attribute, and every released number.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the model's document as JSON; with --all and intervals.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            help="Write the release sheet instead: one page for whoever signs the release, to read and to print.",
            metavar="FILE.html",
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="Ledger that may have paid for the model: say as which run, and state the account on the sheet.",
            metavar="FILE",
        ),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            help="Record of the release: a TOML file that states what the model does not hold, such as title, purpose, "
            "region, whose rows, why, and who approves (docs/records.md).",
            metavar="FILE.toml",
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            help="Released scores of this model (evaluate --epsilon), to state how good it is; with --ledger, one of "
            "its releases.",
            metavar="FILE.json",
        ),
    ] = None,
    audit: Annotated[
        Path | None,
        typer.Option(
            help="What audit --output wrote, to state what was tested.", metavar="FILE.json", show_default=False
        ),
    ] = None,
    registry: Annotated[
        bool,
        typer.Option(
            "--registry", help="Print an entry of the Privacy Deployments Registry instead, as JSON; needs --record."
        ),
    ] = False,
    card: Annotated[bool, typer.Option("--card", help="Print a model card in Markdown instead.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(help="File for the entry or the card.", metavar="FILE", show_default="standard output"),
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Show what a model predicts and from what, its guarantee.

    A file of scores that evaluate --epsilon released is shown as well: its
    figures, or with --html their page.

    The attributes that tell most about the class come first: bits of
    information times weight, less what noise adds, with 95% intervals. Beside
    each stands, per class, the value that speaks for it most often, and how
    many times as likely it is there as in all rows; a dash where that may be
    noise. The release sheet draws them, with the noise where its size is
    public, and says what is protected and what is not.

    \b
    Examples:
      dpnb-columnar show census.model.json
      dpnb-columnar show census.model.json --all
      dpnb-columnar show model.parquet --json
      dpnb-columnar show holdout.scores.json --html evaluation.html
      dpnb-columnar show census.model.json --ledger census.ledger
      dpnb-columnar show census.model.json --html sheet.html --ledger census.ledger
      dpnb-columnar show census.model.json --html sheet.html --record release.toml
      dpnb-columnar show census.model.json --registry --record release.toml
      dpnb-columnar show census.model.json --card --output card.md
    """
    from dpnb_columnar.advice.outlook import composition_lines, source_text
    from dpnb_columnar.evaluation.released_scores import holds_scores
    from dpnb_columnar.model.document import to_document, to_json
    from dpnb_columnar.model.guarantee_text import statement
    from dpnb_columnar.model.model_files import read_model
    from dpnb_columnar.model.parameters import Normal

    papers = {"record": record, "scores": scores, "audit": audit}
    named = next((f"--{name}" for name, file in papers.items() if file is not None), "")
    kinds = [name for name, chosen in (("--html", html), ("--registry", registry), ("--card", card)) if chosen]
    if len(kinds) > 1:
        raise UsageError(f"{kinds[0]} cannot be combined with {kinds[1]}; write one after the other")
    if not kinds and named:
        raise UsageError(f"{named} is for a page: add --html FILE.html, --registry or --card")
    if output is not None and not (registry or card):
        raise UsageError("--output can only be used with --registry or --card; --html names its own file")
    if overwrite and html is None and output is None:
        raise UsageError("--overwrite can only be used with --html FILE.html or --output FILE")
    if as_json and ledger is not None:
        raise UsageError("--ledger cannot be combined with --json; dpnb-columnar ledger verify --model says as much")
    if kinds and (every or as_json):
        raise UsageError(f"{kinds[0]} cannot be combined with --all or --json")
    target = html or output
    if html is not None:
        from dpnb_columnar.report.figures import check_single_page

        check_single_page(html, overwrite)
    if target is not None:
        check_target(target, overwrite, [model, *(file for file in (ledger, *papers.values()) if file is not None)])
    if holds_scores(model):
        if registry or card or named:
            raise UsageError(f"{kinds[-1]} is for a model; give the model, and these scores as --scores FILE")
        _show_scores(model, html, ledger, overwrite, as_json=as_json)
        return
    loaded = read_model(model)
    if kinds:
        from dpnb_columnar.papers.release_papers import read_papers

        read = read_papers(loaded, ledger=ledger, **papers)
        _write_page(loaded, model, read, target, overwrite, kinds[0])
        return
    document = to_document(loaded)
    if as_json and every:
        from dpnb_columnar.model.probability_intervals import intervals_document

        document["intervals"] = intervals_document(loaded, document)
    if as_json:
        print_text(to_json(document).rstrip())
        return
    guarantee = loaded.guarantee
    print_line(f"{loaded.domain.name}: {predicts(loaded.domain)}")
    print_lines(f"{heading}: {text}" for heading, text in whose_rows(loaded.domain))
    print_line(statement(guarantee))
    if ledger is not None:
        _print_payment(model, ledger)
    print_line()
    _print_classes(loaded)
    print_line()
    _print_attributes(loaded, None if every else MOST_ATTRIBUTES)
    if guarantee.composition:
        print_line()
        reasons = [[share.composition] for share in guarantee.composition]
        print_lines(composition_lines(guarantee.composition, ["why one share is enough"], reasons))
    if every:
        print_line()
        _print_parameters(loaded)
    if loaded.attribute_weights is not None:
        from dpnb_columnar.report.informative_attributes import line_text

        print_line()
        print_line(
            f"attribute weights ({loaded.attribute_weights.method}): a class's score is the logarithm of its "
            "probability, plus its intercept, plus the sum over attributes of weight times log-likelihood"
        )
        if line := line_text(loaded):
            print_line(line)
        if loaded.attribute_weights.source is not None:
            print_line(f"learned from {source_text(loaded.attribute_weights.source)}")
    for bound in sorted(
        {each.bound for each in loaded.attributes if isinstance(each, Normal) and each.bound is not None}
    ):
        print_line()
        print_line(f"log-likelihoods of a value with a mean and a deviation: at most {bound:g} apart, weights aside")
    if guarantee.reserved is not None:
        from dpnb_columnar.cli.file_output import awaits

        print_line()
        print_line(awaits(guarantee.reserved, model))
    if every and any(measured.query == "mean of squares" for measured in loaded.measurements):
        print_line()
        print_line("mean of squares: of the distances from the lower end of the attribute's scale")


def _show_scores(file: Path, html: Path | None, ledger: Path | None, overwrite: bool, *, as_json: bool) -> None:
    """Show released scores, or write their page."""
    from dpnb_columnar.cli.file_output import print_json, print_scores
    from dpnb_columnar.evaluation.released_scores import load_scores

    if ledger is not None and html is not None:
        raise UsageError("--ledger with --html is for a model's release sheet; leave it out for released scores")
    scores = load_scores(file)
    if html is not None:
        from dpnb_columnar.report.evaluation_page import write_scores_page

        write_scores_page(scores, html, f"(SHA-256 {scores.model[:12]}...)", overwrite=overwrite)
        print_line(f"wrote {html}", "written", output=str(html))
    elif as_json:
        print_json(scores)
    else:
        print_scores(scores)
        if ledger is not None:
            print_line()
            _print_payment(file, ledger)


def _print_payment(file: Path, ledger: Path) -> None:
    """Print as which run a ledger was charged for a file, or that it was not."""
    from dpnb_columnar.cli.verbs.ledger import payment
    from dpnb_columnar.ledger import Ledger

    with Ledger(ledger) as opened:
        _, line = payment(file, opened)
    print_line(line)


def _write_page(
    loaded: NaiveBayes, model: Path, papers: ReleasePapers, output: Path | None, overwrite: bool, kind: str
) -> None:
    """Write the release sheet of a model file, its entry of the registry, or its card."""
    from hashlib import sha256

    from dpnb_columnar.model.document import to_json
    from dpnb_columnar.model.model_files import read_bytes

    digest, confidential = sha256(read_bytes(model)).hexdigest(), not loaded.guarantee.private
    if kind == "--registry":
        from dpnb_columnar.papers.model_card import registry_entry

        text = to_json(registry_entry(loaded, papers))
    elif kind == "--card":
        from dpnb_columnar.papers.model_card import model_card

        text = model_card(loaded, papers, model.name, digest)
    if confidential:
        print_warning("this model carries NO GUARANTEE; its sheet and its card are as confidential as the rows")
    if output is None:
        print_text(text.rstrip("\n"))
        return
    if kind != "--html":
        with atomic_output(output, overwrite=overwrite, confidential=confidential) as partial:
            partial.write_text(text, encoding="utf-8")
    else:
        from dpnb_columnar.papers.release_sheet import write_release_sheet

        write_release_sheet(loaded, model.name, digest, output, papers, overwrite=overwrite)
    print_line(f"wrote {output}", "written", output=str(output))


# Tables of a model: what it predicts, what tells the classes apart, and every released number.


def _print_classes(model: NaiveBayes) -> None:
    """Print the prior: the noisy count and the probability of each class."""
    from dpnb_columnar.advice.outlook import prior_line
    from dpnb_columnar.model.guarantee_text import persons_text
    from dpnb_columnar.model.parameters import prior_header, prior_rows

    weights = model.attribute_weights
    header, rows = prior_header(model), [[*row] for row in prior_rows(model)]
    if weights is not None and any(weights.intercepts):
        header.append("intercept")
        rows = [[*row, f"{intercept:.2f}"] for row, intercept in zip(rows, weights.intercepts, strict=True)]
    print_table(header, rows)
    if model.domain.weight is not None:
        print_line(prior_line(model.domain))
    if model.domain.unit is not None:
        print_line(persons_text(model.domain))


def _print_attributes(model: NaiveBayes, most: int | None) -> None:
    """Print so many attributes, or all (None), that tell most about the class."""
    from dpnb_columnar.report.informative_attributes import beyond_noise, informative_attributes

    if not model.attributes:
        print_line("no attribute: the largest class is predicted for every row")
        return
    ranked = informative_attributes(model)
    weighted = model.attribute_weights is not None
    print_table(
        [
            "attribute",
            "bits",
            *["weight"] * weighted,
            *(f"speaks for {name}" for name in class_texts(model.domain, SHORT)),
        ],
        [
            [
                with_title(each.name, model.domain.titles),
                each.bits_text,
                *[f"{each.weight:.2f}"] * weighted,
                *map(_shortened, each.telling),
            ]
            for each in ranked[:most]
        ],
        folded=True,
    )
    if most is not None and len(ranked) > most:
        print_line(f"  and {len(ranked) - most} more attributes: --all")
    print_line("bits: how much of the uncertainty about the class the attribute takes away by itself")
    if model.guarantee.composition:
        print_line(beyond_noise(ranked))


def _shortened(telling: str) -> str:
    """Cut a long value in what speaks for a class, not what follows it."""
    value, brace, times = telling.rpartition(" (")
    return telling if len(value) <= LONGEST_VALUE else f"{value[:LONGEST_VALUE]}...{brace}{times}"


def _print_parameters(model: NaiveBayes) -> None:
    """Print every released number beside the parameter that is made of it."""
    from dpnb_columnar.model.document import leaves, to_document
    from dpnb_columnar.model.parameters import Histogram
    from dpnb_columnar.model.probability_intervals import NoiseIntervals
    from dpnb_columnar.model.query_noise import NOT_TOLD, in_unit, model_noise
    from dpnb_columnar.report.informative_attributes import bin_texts

    bins: dict[tuple[str | None, str | None], str] = {}
    intervals = NoiseIntervals(model)
    for part in model.attributes:
        attribute = model.domain[part.attribute]
        if isinstance(part, Histogram) and isinstance(attribute, Numeric):
            codes = [f"{first}..{end - 1}" for first, end in pairwise(part.edges)]
            bins |= zip(product([part.attribute], codes), bin_texts(attribute, part.edges), strict=True)
    labels, class_labels = model.domain.value_labels, model.domain.class_labels
    print_table(
        [
            "attribute",
            "class",
            "cell",
            "statistic",
            "released",
            "exact (95 %)",
            "parameter",
            "value",
            "without noise (95 %)",
        ],
        [
            [
                leaf.attribute or "",
                value_with_label(leaf.klass or "", class_labels),
                bins.get((leaf.attribute, leaf.cell))
                or value_with_label(leaf.cell or "", labels.get(leaf.attribute or "", {})),
                leaf.statistic,
                "" if leaf.drawn is None else f"{in_unit(model.domain, leaf.query, leaf.attribute, leaf.drawn):.10g}",
                _ends_text(known.released, 10),
                leaf.parameter,
                f"{leaf.values[leaf.position]:.6g}",
                _ends_text(known.value, 4),
            ]
            for leaf in leaves(to_document(model))
            for known in [intervals.of(leaf)]
        ],
    )
    untold = [
        f"{share.query} of {share.attribute}"
        for share, noise in zip(model.guarantee.composition, model_noise(model).values(), strict=True)
        if noise is None
    ]
    if untold:
        print_line(f"noise of {', '.join(untold)}: {NOT_TOLD}")


def _ends_text(interval: Interval | None, digits: int) -> str:
    """Write both ends of an interval; nothing where there is none."""
    return "" if interval is None else f"{interval[0]:.{digits}g} to {interval[1]:.{digits}g}"
