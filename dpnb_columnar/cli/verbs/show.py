"""``dpnb-columnar show``: what a model predicts and from what, its guarantee, its composition and its parameters."""

from __future__ import annotations

from typing import Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import print_line
from dpnb_columnar.cli.model_tables import MOST_ATTRIBUTES, predicts, print_attributes, print_classes, print_parameters
from dpnb_columnar.cli.tables import awaits, print_composition, source_text


def command(
    model: options.ModelFile,
    every: Annotated[bool, typer.Option("--all", help="Print every attribute, and every released number.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the model's document as JSON.")] = False,
) -> None:
    """Show what a model predicts and from what, its guarantee.

    The attributes that tell most about the class come first: bits of
    information times weight, under the released model. Beside each stands, per
    class, the value that speaks for it most often, and how many times as likely
    it is there as in all rows.

    \b
    Examples:
      dpnb-columnar show census.model.json
      dpnb-columnar show census.model.json --all
      dpnb-columnar show model.parquet --json
    """
    from dpnb_columnar.model.guarantee import statement
    from dpnb_columnar.model.model import load_model
    from dpnb_columnar.model.model_document import leaves, to_document, to_json
    from dpnb_columnar.model.parameters import SPREADS, Normal

    loaded = load_model(model)
    document = to_document(loaded)
    if as_json:
        print_line(to_json(document).rstrip())
        return
    guarantee = loaded.guarantee
    print_line(f"{loaded.domain.name}: {predicts(loaded.domain)}")
    print_line(statement(guarantee))
    print_line()
    print_classes(loaded)
    print_line()
    print_attributes(loaded, None if every else MOST_ATTRIBUTES)
    if guarantee.composition:
        print_line()
        reasons = [[share.composition] for share in guarantee.composition]
        print_composition(guarantee.composition, ["why one share is enough"], reasons)
    if every:
        print_line()
        print_parameters(loaded)
    if loaded.attribute_weights is not None:
        print_line()
        print_line(
            f"attribute weights ({loaded.attribute_weights.method}): a class's score is the logarithm of its "
            "probability, plus its intercept, plus the sum over attributes of weight times log-likelihood"
        )
        if loaded.attribute_weights.source is not None:
            print_line(f"learned from {source_text(loaded.attribute_weights.source)}")
    for bound in sorted(
        {each.bound for each in loaded.attributes if isinstance(each, Normal) and each.bound is not None}
    ):
        print_line()
        print_line(f"log-likelihoods of a value with a mean and a deviation: at most {bound:g} apart, weights aside")
    if guarantee.reserved is not None:
        print_line()
        print_line(awaits(guarantee.reserved, model))
    square = SPREADS["released_square"]
    if every and any(leaf.statistic == square for leaf in leaves(document)):
        print_line()
        print_line(f"{square}: of the distances from the lower end of the attribute's scale")
