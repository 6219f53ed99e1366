"""The release sheet: one page on a released model, for whoever signs the release. Public: released values alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from shlex import quote

from dpnb_columnar.budget import Neighbours, total
from dpnb_columnar.budget.composition import composition_table
from dpnb_columnar.budget.costs import numbers
from dpnb_columnar.domain.declaration import digest
from dpnb_columnar.domain.description import (
    ATTRIBUTE_HEADER,
    attribute_row,
    condition_text,
    predicts,
    values_text,
    weighs_by,
)
from dpnb_columnar.domain.names import named
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.domain.value_labels import class_texts
from dpnb_columnar.ledger.export import ACCOUNT_HEADER, account_cells
from dpnb_columnar.ledger.records import Account
from dpnb_columnar.mechanisms.mechanism import CLASS_COUNTS, WEIGHTED_COUNTS
from dpnb_columnar.model.guarantee import SCOPE, Guarantee, statement
from dpnb_columnar.model.model_document import DECLARED_PUBLIC
from dpnb_columnar.model.parameters import NaiveBayes, Normal, prior_header, prior_rows
from dpnb_columnar.report.figures import ORDERED
from dpnb_columnar.report.informative_attributes import informative_attributes
from dpnb_columnar.report.page import write_single_page
from dpnb_columnar.report.sheet_figures import counts_noise, drawn

MOST_ATTRIBUTES = 10
"""Attributes whose distributions are drawn: those that tell most about the class."""

MOST_CLASSES = len(ORDERED)
"""Classes whose distributions are drawn: the largest."""

LARGEST_WORDED = 20
"""Largest epsilon whose exponential is written as a number."""


def write_release_sheet(
    model: NaiveBayes,
    name: str,
    sha256: str,
    output: Path,
    account: Account | None = None,
    *,
    charged: bool = False,
    overwrite: bool = False,
) -> None:
    """Write the release sheet of a model as one page that needs nothing else.

    A model without a guarantee is as confidential as the rows, so its sheet is readable by the owner alone.

    Args:
        model: A released model.
        name: Name of its file.
        sha256: Hexadecimal digest of its file.
        output: The page; ``check_single_page`` has accepted it.
        account: What a ledger holds about its data set; None to say nothing of it.
        charged: Whether the model is one of that account's releases.
        overwrite: Replace the page if it exists.

    Raises:
        OutputError: if the page cannot be written.
    """
    content = {**_content(model, name, sha256, account), "charged": charged}
    write_single_page(
        output, "release_sheet.html.j2", content, overwrite=overwrite, confidential=not model.guarantee.private
    )


def _content(model: NaiveBayes, name: str, sha256: str, account: Account | None) -> dict[str, object]:
    """Return the variables of the template."""
    guarantee, domain, weights = model.guarantee, model.domain, model.attribute_weights
    sizes = sorted(range(len(domain.classes)), key=lambda code: -model.priors[code])
    codes = sorted(sizes[:MOST_CLASSES])
    ranked = informative_attributes(model)
    parts = {part.attribute: part for part in model.attributes}
    shares = {(share.query, share.attribute): share for share in guarantee.composition}
    texts = class_texts(domain)
    header, rows = composition_table(guarantee.composition)
    noise = counts_noise(domain, shares.get((CLASS_COUNTS, None)))
    weight_noise = counts_noise(domain, shares.get((WEIGHTED_COUNTS, None)))
    # A name that begins with a hyphen would be an option.
    path = f"./{name}" if name.startswith("-") else name
    return {
        "title": f"Release sheet: {domain.name}",
        "lead": f"The model {predicts(domain)}.",
        "guarantee": guarantee,
        "statement": statement(guarantee),
        "scope": " ".join(SCOPE),
        "in_words": _in_words(guarantee),
        "household": None if guarantee.epsilon is None else number_text(5 * guarantee.epsilon),
        "composition": (
            [*header, "why one share is enough"],
            [[*row, share.composition] for row, share in zip(rows, guarantee.composition, strict=True)],
        ),
        "total": _listed(numbers(total(guarantee.composition))) if guarantee.composition else "",
        "reserved": _listed(numbers(total(guarantee.reserved))) if guarantee.reserved else None,
        "population": list(_population(model)),
        "attributes": (
            ATTRIBUTE_HEADER,
            [attribute_row(each, domain.value_labels.get(each.name, {})) for each in domain.attributes],
        ),
        "classes": [texts[code] for code in codes],
        "omitted_classes": len(domain.classes) - len(codes),
        "ranking": [
            [each.name, f"{each.bits:.3f}", f"{each.weight:.3g}", *(each.telling[code] for code in codes)]
            for each in ranked
        ],
        "figures": [(each.name, drawn(model, parts[each.name], shares, codes)) for each in ranked[:MOST_ATTRIBUTES]],
        "styles": ORDERED,
        "prior": (
            [*prior_header(model), "intercept"],
            [
                [*(f"{cell:,}" if isinstance(cell, int) else cell for cell in row), f"{intercept:.3g}"]
                for row, intercept in zip(prior_rows(model), model.intercepts, strict=True)
            ],
        ),
        "prior_noise": None if noise is None else f"{noise:.3g}",
        "weight": domain.weight,
        "weight_noise": None if weight_noise is None else f"{weight_noise:.3g}",
        "weights": weights,
        "bounds": sorted({part.bound for part in model.attributes if isinstance(part, Normal) and part.bound}),
        "declared_public": DECLARED_PUBLIC,
        "left_out": "" if weights is None or weights.source is None else named(weights.source.left_out),
        "account": None if account is None else [*zip(ACCOUNT_HEADER, account_cells(account), strict=True)],
        "commands": f"dpnb-columnar predict {quote(path)} rows.parquet --output scored.parquet",
        "python": f"import dpnb_columnar as dpnb\n\nscored = dpnb.load_model({path!r}).predict(rows)",
        "sql": f"dpnb-columnar sql {quote(path)} --dialect postgres --table person --output score.sql",
        "digests": [("model file", name), ("its SHA-256", sha256), ("digest of the domain", digest(domain))]
        + [(f"version of {part}", version) for part, version in model.software.items()],
    }


def _listed(amounts: Mapping[str, Fraction]) -> str:
    return ", ".join(f"{name} {number_text(number)}" for name, number in amounts.items())


def _in_words(guarantee: Guarantee) -> str:
    """Say the guarantee without a formula; empty where there is none, or no number would mean anything."""
    if not guarantee.private or guarantee.epsilon is None or guarantee.epsilon > LARGEST_WORDED:
        return ""
    other = "been left out" if guarantee.neighbours is Neighbours.ADD_REMOVE else "said something else"
    whose, it = "a person who has one row in the data", "that row"
    if guarantee.unit is not None:
        whose, it = "a unit, such as a household, or anybody in it", "all rows of that unit"
    aside = f", a probability of {number_text(guarantee.delta)} aside" if guarantee.delta else ""
    return (
        f"Whatever someone concludes from this model about {whose}, they are at most "
        f"{math.exp(guarantee.epsilon):.3g} times as likely to conclude it as they would be had {it} {other}"
        f"{aside}, whatever else they know."
    )


def _population(model: NaiveBayes) -> Iterator[tuple[str, str]]:
    """Say which rows count, by the declared domain."""
    domain = model.domain
    label = domain.label
    missing = f"; these values mean missing: {named(label.missing_values)}" if label.missing_values else ""
    if label.condition is not None:
        negative, positive = label.classes
        yield "what is predicted", f"whether {condition_text(domain)}"
        yield "classes", f"{positive} where that is true, {negative} where it is false"
        yield (
            "rows that count",
            f"those of which the condition is true or false: missing values may make it neither{missing}",
        )
    else:
        yield "what is predicted", f"the column {label.column}"
        yield "classes", values_text(label.classes, label.groups, domain.class_labels)
        yield "rows that count", f"those whose {label.column} is one of the classes{missing}"
    if domain.row_dropping:
        yield "rows left out", f"those without a value of {named([each.name for each in domain.row_dropping])}"
    if domain.unit is None:
        yield "unit of protection", "one row"
    else:
        yield "unit of protection", f"one unit of {named(domain.unit.columns)}, whatever its rows"
        yield "rows of a unit that count", f"at most {domain.unit.rows}; rows without a unit do not count"
    if domain.weight is not None:
        yield "weight of a row, in the prior alone", weighs_by(domain.weight)
    if unused := [each.name for each in domain.attributes if each.name not in {p.attribute for p in model.attributes}]:
        yield "attributes not released", named(unused)
