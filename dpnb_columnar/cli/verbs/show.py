"""``dpnb-columnar show``: what a model predicts and from what, its guarantee, its composition and its parameters."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpnb_columnar.advice.plan_text import composition_lines, source_text
from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import print_line, print_lines, print_table, print_warning
from dpnb_columnar.cli.next_commands import awaits
from dpnb_columnar.domain import Numeric
from dpnb_columnar.domain.declared_domain import SHORT, class_texts, predicts, value_with_label
from dpnb_columnar.errors import UsageError
from dpnb_columnar.runtime.outputs import check_target

if TYPE_CHECKING:
    from dpnb_columnar.model.model import Model
    from dpnb_columnar.model.parameters import NaiveBayes

MOST_ATTRIBUTES = 10
"""Attributes that ``show`` prints unless it is asked for all."""

LONGEST_VALUE = 32
"""Characters of a value in a table."""


def command(
    model: options.ModelFile,
    every: Annotated[bool, typer.Option("--all", help="Print every attribute, and every released number.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the model's document as JSON.")] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            help="Write the release sheet instead: one page for whoever signs the release, to read and to print.",
            metavar="FILE.html",
            show_default=False,
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="Ledger that may have paid for the model: say as which run, and state the account on the sheet.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Show what a model predicts and from what, its guarantee.

    A file of scores that evaluate --epsilon released is shown as well: its
    figures, or with --html their page.

    The attributes that tell most about the class come first: bits of
    information times weight, under the released model. Beside each stands, per
    class, the value that speaks for it most often, and how many times as likely
    it is there as in all rows. The release sheet draws them, with the noise
    where its size is public, and says what is protected and what is not.

    \b
    Examples:
      dpnb-columnar show census.model.json
      dpnb-columnar show census.model.json --all
      dpnb-columnar show model.parquet --json
      dpnb-columnar show holdout.scores.json --html evaluation.html
      dpnb-columnar show census.model.json --ledger census.ledger
      dpnb-columnar show census.model.json --html sheet.html --ledger census.ledger
    """
    from dpnb_columnar.model.guarantee import correction_text, statement
    from dpnb_columnar.model.model import load_model
    from dpnb_columnar.model.model_document import leaves, to_document, to_json
    from dpnb_columnar.model.parameters import SPREADS, Normal
    from dpnb_columnar.model.recomputation import FIRST_CHECKED
    from dpnb_columnar.model.released_scores import holds_scores

    if html is None and overwrite:
        raise UsageError("--overwrite can only be used with --html FILE.html")
    if as_json and ledger is not None:
        raise UsageError("--ledger cannot be combined with --json; dpnb-columnar ledger verify --model says as much")
    if html is not None and (every or as_json):
        raise UsageError("--html cannot be combined with --all or --json")
    if html is not None:
        from dpnb_columnar.report.page import check_single_page

        check_single_page(html, overwrite)
        check_target(html, overwrite, [model, *([ledger] if ledger else [])])
    if holds_scores(model):
        _show_scores(model, html, ledger, overwrite, as_json=as_json)
        return
    loaded = load_model(model)
    if html is not None:
        _write_sheet(loaded, model, html, ledger, overwrite)
        return
    document = to_document(loaded)
    if as_json:
        print_line(to_json(document).rstrip())
        if correction := correction_text(loaded.guarantee):
            print_warning(f"{model}: {correction}")
        return
    guarantee = loaded.guarantee
    print_line(f"{loaded.domain.name}: {predicts(loaded.domain)}")
    print_line(statement(guarantee))
    if loaded.version < FIRST_CHECKED:
        print_line(
            f"made by an earlier version (document {loaded.version}): whether its parameters follow from its released "
            "values is not checked"
        )
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
    if guarantee.reserved:
        print_line()
        print_line(awaits(guarantee.reserved, model))
    square = SPREADS["released_square"]
    if every and any(leaf.statistic == square for leaf in leaves(document)):
        print_line()
        print_line(f"{square}: of the distances from the lower end of the attribute's scale")


def _show_scores(file: Path, html: Path | None, ledger: Path | None, overwrite: bool, *, as_json: bool) -> None:
    """Show released scores, or write their page.

    Raises:
        UsageError: if a ledger is named for the page.
    """
    from dpnb_columnar.cli.file_output import print_json, print_scores
    from dpnb_columnar.model.released_scores import load_scores

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
    from dpnb_columnar.cli.ledger_payment import payment
    from dpnb_columnar.ledger import Ledger

    with Ledger(ledger) as opened:
        _, line = payment(file, opened)
    print_line(line)


def _write_sheet(loaded: Model, model: Path, output: Path, ledger: Path | None, overwrite: bool) -> None:
    """Write the release sheet of a model file."""
    from hashlib import sha256

    from dpnb_columnar.ledger import Ledger
    from dpnb_columnar.model.model_document import document_digest
    from dpnb_columnar.report.release_sheet import write_release_sheet

    account, charged = None, False
    if ledger is not None:
        with Ledger(ledger) as opened:
            account = opened.account(loaded.domain.name)
            spend = opened.spend_of(document_digest(loaded))
            charged = spend is not None and spend.dataset == account.dataset
    digest = sha256(model.read_bytes()).hexdigest()
    write_release_sheet(loaded, model.name, digest, output, account, charged=charged, overwrite=overwrite)
    if not loaded.guarantee.private:
        print_warning("this model carries NO GUARANTEE; its sheet is as confidential as the rows")
    print_line(f"wrote {output}", "written", output=str(output))


# Tables of a model: what it predicts, what tells the classes apart, and every released number.


def _print_classes(model: NaiveBayes) -> None:
    """Print the prior: the noisy count and the probability of each class."""
    from dpnb_columnar.advice.plan_text import prior_line
    from dpnb_columnar.model.parameters import prior_header, prior_rows

    weights = model.attribute_weights
    header, rows = prior_header(model), [[*row] for row in prior_rows(model)]
    if weights is not None and any(weights.intercepts):
        header.append("intercept")
        rows = [[*row, f"{intercept:.2f}"] for row, intercept in zip(rows, weights.intercepts, strict=True)]
    print_table(header, rows)
    if model.domain.weight is not None:
        print_line(prior_line(model.domain.weight))


def _print_attributes(model: NaiveBayes, most: int | None) -> None:
    """Print the attributes that tell most about the class.

    Args:
        model: A released model.
        most: How many; None for all.
    """
    from dpnb_columnar.report.informative_attributes import informative_attributes

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
            [each.name, f"{each.bits:.3f}", *[f"{each.weight:.2f}"] * weighted, *map(_shortened, each.telling)]
            for each in ranked[:most]
        ],
    )
    if most is not None and len(ranked) > most:
        print_line(f"  and {len(ranked) - most} more attributes: --all")
    print_line("bits: how much of the uncertainty about the class the attribute takes away by itself")


def _shortened(telling: str) -> str:
    """Cut a long value in what speaks for a class, not what follows it."""
    value, brace, times = telling.rpartition(" (")
    return telling if len(value) <= LONGEST_VALUE else f"{value[:LONGEST_VALUE]}...{brace}{times}"


def _print_parameters(model: NaiveBayes) -> None:
    """Print every released number beside the parameter that is made of it."""
    from dpnb_columnar.model.model_document import leaves, to_document
    from dpnb_columnar.model.parameters import Histogram
    from dpnb_columnar.report.informative_attributes import bin_texts

    bins: dict[tuple[str | None, str | None], str] = {}
    for part in model.attributes:
        attribute = model.domain[part.attribute]
        if isinstance(part, Histogram) and isinstance(attribute, Numeric):
            codes = [f"{first}..{end - 1}" for first, end in pairwise(part.edges)]
            bins |= zip(product([part.attribute], codes), bin_texts(attribute, part.edges), strict=True)
    labels, class_labels = model.domain.value_labels, model.domain.class_labels
    print_table(
        ["attribute", "class", "cell", "statistic", "released", "parameter", "value"],
        [
            [
                leaf.attribute or "",
                value_with_label(leaf.klass or "", class_labels),
                bins.get((leaf.attribute, leaf.cell))
                or value_with_label(leaf.cell or "", labels.get(leaf.attribute or "", {})),
                leaf.statistic,
                "" if leaf.drawn is None else f"{leaf.drawn:.10g}",
                leaf.parameter,
                f"{leaf.values[leaf.position]:.6g}",
            ]
            for leaf in leaves(to_document(model))
        ],
    )
