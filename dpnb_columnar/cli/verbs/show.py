"""``dpnb-columnar show``: guarantee, composition and parameters of a model."""

from __future__ import annotations

from typing import Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import print_line, print_table
from dpnb_columnar.cli.tables import awaits, print_composition, source_text


def command(
    model: options.ModelFile,
    as_json: Annotated[bool, typer.Option("--json", help="Print the model's document as JSON.")] = False,
) -> None:
    """Show a model's guarantee, composition and parameters.

    \b
    Examples:
      dpnb-columnar show census.model.json
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
    print_line(f"{loaded.domain.name}: {', '.join(loaded.domain.classes)}")
    print_line(statement(guarantee))
    if guarantee.composition:
        print_line()
        reasons = [[share.composition] for share in guarantee.composition]
        print_composition(guarantee.composition, ["why one share is enough"], reasons)
    print_line()
    parameters = list(leaves(document))
    print_table(
        ["attribute", "class", "cell", "statistic", "released", "parameter", "value"],
        [
            [
                leaf.attribute or "",
                leaf.klass or "",
                leaf.cell or "",
                leaf.statistic,
                "" if leaf.drawn is None else f"{leaf.drawn:.10g}",
                leaf.parameter,
                f"{leaf.values[leaf.position]:.6g}",
            ]
            for leaf in parameters
        ],
    )
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
    if any(leaf.statistic == square for leaf in parameters):
        print_line()
        print_line(f"{square}: of the distances from the lower end of the attribute's scale")
