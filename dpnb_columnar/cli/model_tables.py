"""Tables of a released model: what it predicts, what tells the classes apart, and every released number."""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING

from dpnb_columnar.cli.console import print_line, print_table
from dpnb_columnar.domain import Numeric
from dpnb_columnar.domain.value_labels import SHORT, class_texts, worded

if TYPE_CHECKING:
    from dpnb_columnar.model.parameters import NaiveBayes

MOST_ATTRIBUTES = 10
"""Attributes that ``show`` prints unless it is asked for all."""


LONGEST_VALUE = 32
"""Characters of a value in a table."""


def print_classes(model: NaiveBayes) -> None:
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


def print_attributes(model: NaiveBayes, most: int | None) -> None:
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
            [each.name, f"{each.bits:.3f}", *[f"{each.weight:.2f}"] * weighted, *map(shortened, each.telling)]
            for each in ranked[:most]
        ],
    )
    if most is not None and len(ranked) > most:
        print_line(f"  and {len(ranked) - most} more attributes: --all")


def shortened(telling: str) -> str:
    """Cut a long value in what speaks for a class, not what follows it."""
    value, brace, times = telling.rpartition(" (")
    return telling if len(value) <= LONGEST_VALUE else f"{value[:LONGEST_VALUE]}...{brace}{times}"


def print_parameters(model: NaiveBayes) -> None:
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
                worded(leaf.klass or "", class_labels),
                bins.get((leaf.attribute, leaf.cell)) or worded(leaf.cell or "", labels.get(leaf.attribute or "", {})),
                leaf.statistic,
                "" if leaf.drawn is None else f"{leaf.drawn:.10g}",
                leaf.parameter,
                f"{leaf.values[leaf.position]:.6g}",
            ]
            for leaf in leaves(to_document(model))
        ],
    )
