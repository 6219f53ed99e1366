"""How large a planned model's document may become: a bound from public facts, before anything is charged or drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpnb_columnar.domain import Categorical, Missing
from dpnb_columnar.errors import ConfigurationError
from dpnb_columnar.mechanisms.mechanism import COUNTS
from dpnb_columnar.model.model_document import (
    LARGEST_MODEL_FILE,
    MOST_CONTAINERS,
    MOST_PARAMETERS,
    to_document,
    to_json,
)
from dpnb_columnar.model.parameters import (
    LARGEST_COUNT,
    AttributeParameters,
    AttributeWeights,
    ClassCounts,
    Histogram,
    NaiveBayes,
    Normal,
    Presence,
    Table,
)

if TYPE_CHECKING:
    from dpnb_columnar.mechanisms.release_plan import ReleasePlan

LONGEST_FLOAT = -2.2250738585072014e-308
"""Of all floats in their shortest exact form none is longer than this one: sign, 17 digits and a point, exponent."""

SEPARATOR = len(", ")
FLOAT = len(repr(LONGEST_FLOAT)) + SEPARATOR
COUNT = len(str(-LARGEST_COUNT)) + SEPARATOR
EDGE = len(str(2**33)) + SEPARATOR
"""Characters of a number in a list: a float, a released count, and an edge between bins, a code of the widest scale."""

ROW = len(" " * 10 + "[],\n")
"""Characters of a list within a list but for its numbers; none is indented further."""

LISTED = len("\n" + "\n" + " " * 8)
"""Characters by which a list of lists is longer than these, and an empty one's brackets."""

SLACK = 2**12
"""Characters of what a plan does not know to the letter: the versions of three packages; and where rounds are released
one by one, sums of shares in place of the budget (three numbers of at most 601 characters) and another heading."""


@dataclass(frozen=True, slots=True)
class ModelSize:
    """Upper bounds of a model.

    Attributes:
        bytes: Of its JSON document.
        containers: Objects and lists in it; brackets in names count as well.
        parameters: Rows of a Parquet model.
    """

    bytes: int
    containers: int
    parameters: int


def check_size(plan: ReleasePlan) -> None:
    """Refuse a plan whose model no program might read again, before it is charged.

    Raises:
        ConfigurationError: if the model may be larger than a model file is read.
    """
    size = largest_model(plan)
    limits = {
        f"{size.parameters} parameters": (size.parameters, MOST_PARAMETERS),
        f"{size.containers} lists": (size.containers, MOST_CONTAINERS),
        f"{size.bytes} bytes": (size.bytes, LARGEST_MODEL_FILE),
    }
    for found, (number, most) in limits.items():
        if number > most:
            largest, cells = max(_cells(plan), key=lambda each: each[1], default=("its label", 1))
            raise ConfigurationError(
                f"domain {plan.domain.name!r}: a model of it may have {found}, and a model file has at most {most}: "
                f"{len(plan.domain.classes)} classes, times {cells} cells of {largest}; merge categories with groups, "
                "leave attributes out, or declare fewer classes"
            )


def largest_model(plan: ReleasePlan) -> ModelSize:
    """Bound the size of a planned model.

    The document is written with everything that the plan decides: domain, guarantee, names and keys. Its other lists
    are empty, and hold, in the model, numbers alone; so the document is longer by

    * ``FLOAT`` for every float, and ``COUNT`` for every count: counts are cut off at ``LARGEST_COUNT``, and what
      separates the last number of a list is not there;
    * per list within a list ``ROW``, and per list of these ``LISTED``: each is on a line of its own, while a list of
      numbers is on one line.

    A histogram has at most the bins that its share pays for, so at most one more edge. Names may be of any alphabet,
    and are measured in bytes; numbers are ASCII. Every number of a model is a parameter or the released number that it
    was made of, so each cell of a table or histogram, and each class of a moment, is one parameter.
    """
    attributes = list(_skeletons(plan))
    classes, names = len(plan.domain.classes), len(attributes)
    text = to_json(to_document(_skeleton(plan, attributes)))
    longer = sum(_characters(part, cells, classes) for part, cells in attributes)
    lists = sum(2 * classes * (isinstance(part, Table | Histogram) + _is_counted(part)) for part, _ in attributes)
    cells = sum(cells + 2 * _is_counted(part) for part, cells in attributes)
    priors = classes * (1 if plan.domain.weight is None else 2)
    return ModelSize(
        bytes=len(text.encode()) + longer + SLACK,
        containers=text.count("[") + text.count("{") + lists,
        parameters=priors + classes * cells + (0 if plan.attribute_weights is None else classes + names),
    )


def _cells(plan: ReleasePlan) -> Iterator[tuple[str, int]]:
    """Yield the attributes that a model has parameters of, and the most cells that each has in a class.

    A moment is two cells: the mean and the deviation.
    """
    paid = {share.attribute: share.values for share in plan.shares if share.query == COUNTS}
    asked = {share.attribute for share in plan.shares}
    for attribute in plan.released.attributes:
        if plan.mechanism.private and attribute.name not in asked:
            continue  # majority: an attribute without a query has no parameters
        if isinstance(attribute, Categorical):
            yield attribute.name, attribute.size
        else:
            yield attribute.name, paid.get(attribute.name, 2 * len(plan.domain.classes)) // len(plan.domain.classes)


def _skeletons(plan: ReleasePlan) -> Iterator[tuple[AttributeParameters, int]]:
    """Yield the parameters of each attribute without their numbers, and how many cells they are of in a class."""
    declared = {attribute.name: attribute for attribute in plan.released.attributes}
    for name, cells in _cells(plan):
        attribute = declared[name]
        if isinstance(attribute, Categorical):
            yield Table(name, (), ()), cells
            continue
        presence = Presence((), ()) if attribute.missing in (Missing.SKIP, Missing.CATEGORY) else None
        if plan.mechanism.binned:
            placed = LONGEST_FLOAT if plan.mechanism.smooth else None  # by a released mean and variance
            yield Histogram(name, (), (), (), presence, placed, placed), cells
        else:
            yield Normal(name, (), None, (), (), released_deviation=(), presence=presence, bound=LONGEST_FLOAT), cells


def _skeleton(plan: ReleasePlan, attributes: list[tuple[AttributeParameters, int]]) -> NaiveBayes:
    """Make a model of what a plan decides, with the longest numbers per class and none per attribute."""
    classes, names = len(plan.domain.classes), len(attributes)
    counts = ClassCounts((-LARGEST_COUNT,) * classes, (LONGEST_FLOAT,) * classes)
    weights = None if plan.public is None else plan.public.attribute_weights
    if plan.attribute_weights is not None and weights is None:
        fitted = (LONGEST_FLOAT,) * names, (LONGEST_FLOAT,) * classes
        weights = AttributeWeights(plan.attribute_weights, *fitted, asked=(fitted,) * len(plan.rounds))
    return NaiveBayes(
        domain=plan.domain,
        guarantee=plan.guarantee(plan.shares, seeded=False),
        classes=counts,
        attributes=tuple(part for part, _ in attributes),
        software={},
        attribute_weights=weights,
        weighted_classes=None if plan.domain.weight is None else counts,
    )


def _characters(part: AttributeParameters, cells: int, classes: int) -> int:
    """Bound the characters that the numbers of an attribute add to its empty lists."""
    presence = _table_characters(2, classes) if _is_counted(part) else 0
    if isinstance(part, Normal):
        return presence + 4 * classes * FLOAT
    return presence + _table_characters(cells, classes) + (cells + 1) * EDGE * isinstance(part, Histogram)


def _table_characters(cells: int, classes: int) -> int:
    """Bound the characters of a table of counts, and of one of the probabilities that are made of them."""
    return classes * (cells * (COUNT + FLOAT) + 2 * ROW) + 2 * LISTED


def _is_counted(part: AttributeParameters) -> bool:
    """Return whether the rows that have a value are counted."""
    return not isinstance(part, Table) and part.presence is not None
